"""Work of all loads along virtual displacements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.state import State
from ..dynamics.dense.rows import spatial_rows
from ..dynamics.model.joint_angles import angles_at
from ..dynamics.sparse.solver.along_states import dynamics_along
from ..errors import InputError
from ..system.quantities import VirtualWork
from ..system.queries import solved
from ..util import validate

if TYPE_CHECKING:
    from ..system.system import System


def virtual_work(system: System, state: State, t: float, displacement: Any) -> VirtualWork:
    """Return the virtual work (J) of all applied and constraint loads, by name; see `System.virtual_work`."""
    model, given = system.model, _checked(displacement, len(system.bodies))
    kin, motion = solved(system, state, t, "sparse")
    # In the inertial frame, with zero for the ground.
    moved = np.zeros((*given.shape[:-2], len(model.mass) + 1, 6))
    moved[..., :-1, :3] = given[..., :3]
    moved[..., :-1, 3:] = np.einsum("nij,...nj->...ni", kin.rotation[:-1], given[..., 3:])
    applied = {"gravity": np.einsum("n,i,...ni->...", model.mass, model.gravity, given[..., :3])}
    angles = angles_at(model, state, t)[None]
    acts = dynamics_along(system.plant.solver(), np.array([t]), model.auxiliary.flat(state)[None], angles).forces
    for element, rows in model.forces:
        loads = acts[element.name].loads[0, :, 0]
        applied[element.name] = np.einsum("fc,...fc->...", loads, moved[..., list(rows), :])
    by_row = np.einsum("mnc,...nc->...m", spatial_rows(model, kin, t), moved) * motion.multipliers
    constraints = {name: by_row[..., rows].sum(axis=-1) for name, rows in model.joint_rows.items()}
    return VirtualWork(applied, constraints)


def _checked(displacement: Any, bodies: int) -> np.ndarray:
    """Return the user's virtual displacement of n = `bodies` bodies as an array (n, 6), or k of them as (k, n, 6).

    Raises
    ------
    InputError
        If the shape is wrong.
    """
    given = validate.numbers(displacement)
    if given is None or given.ndim not in (2, 3) or given.shape[-2:] != (bodies, 6):
        raise InputError(
            f"System.virtual_work: displacement must have shape ({bodies}, 6) or (k, {bodies}, 6), for each body a "
            f"translation in the inertial frame and a rotation vector in body axes; got {displacement!r}"
        )
    return validate.array("System.virtual_work", "displacement", given, given.shape)
