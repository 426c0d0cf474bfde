"""Present values of named quantities of all members of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.body import Body
from ..constraints import Constraint
from ..dynamics.model.joint_angles import Turns
from ..dynamics.plant import CompiledModel
from ..errors import InputError
from ..integrators import Statistics
from ..result.named_quantities import OF_BODIES as KNOWN_OF_BODIES
from ..result.named_quantities import OF_JOINTS as KNOWN_OF_JOINTS
from ..result.named_quantities import curve
from ..result.result import Result
from ..result.segment import Segment
from ..system.system import System
from ..util.suggestion import nearest_names, quoted

if TYPE_CHECKING:
    from .batch import Batch

OWNER = "Batch.observe"
# Quantities that poses and velocities determine; others depend on masses, inputs and force laws of the members.
OF_BODIES = ("position", "velocity", "angular_velocity", "spin", "speed", "angular_speed")
OF_JOINTS = (
    "angle", "angle_rate", "travel", "travel_rate", "displacement", "velocity", "rotation", "rotation_rate",
    "angular_velocity", "distance", "",
)  # fmt: skip
# Quantities of bodies and joints that only results have.
OF_RESULTS = {*KNOWN_OF_BODIES, *KNOWN_OF_JOINTS, "effort", "energy", "power"}
# Quantities of joints that count full turns, and the name of a joint by itself, which means its angle.
OF_TURNS = ("angle", "rotation", "")


class BatchObservation:
    """Function without arguments that returns the present values (count, k) of k quantities of all members.

    Parameters
    ----------
    batch : the observed batch
    names : names of the quantities
    alike : whether joint frames are equal in all members, so that all members are evaluated together

    Attributes
    ----------
    names : tuple of str, names of the quantities
    turning : names of the joints whose angles are among the quantities, and whose full turns are counted
    """

    def __init__(self, batch: Batch, names: Iterable[str], alike: bool) -> None:
        listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else []
        if not listed or not all(isinstance(name, str) for name in listed):
            raise InputError(f'{OWNER}: names must be a list of quantities such as "hinge.angle"; got {names!r}')
        self.names, self._batch, self._alike = tuple(listed), batch, alike
        read = [_part_read(batch.system, name) for name in listed]
        self.turning = {part.name for part, kind in read if isinstance(part, Constraint) and kind in OF_TURNS}
        self()  # names of quantities that there are not

    def __call__(self) -> np.ndarray:
        """Return the present values (count, k) of the quantities."""
        if self._alike:
            return self._values(self._batch.system, np.arange(self._batch.count))
        members = range(self._batch.count)
        return np.concatenate([self._values_of_member(k) for k in members])

    def __repr__(self) -> str:
        return f"<BatchObservation: {', '.join(self.names)}>"

    def _values_of_member(self, k: int) -> np.ndarray:
        """Return the values (1, quantities) of member k; an InputError names the member."""
        try:
            return self._values(self._batch.member(k), np.array([k]))
        except InputError as error:
            raise InputError(f"{OWNER}: member {k}: {error}") from error

    def _values(self, system: System, members: np.ndarray) -> np.ndarray:
        """Return the values (m, k) of the k quantities of m members.

        `members` are their indices; joints and their frames are read from `system`.
        """
        result = Result(system, [_Members(system.plant, self._batch, members)], Statistics(), "completed")
        return np.transpose([curve(OWNER, result, name).values for name in self.names])


class _Members(Segment):
    """Result segment in which the present states of m members of a batch take the place of states at m times."""

    def __init__(self, plant: CompiledModel, batch: Batch, members: np.ndarray) -> None:
        state, joints = batch.state, plant.model.joints
        bodies = state.bodies[members]
        bodies[..., 3:7] /= np.linalg.norm(bodies[..., 3:7], axis=-1, keepdims=True)
        rows = bodies.reshape(len(members), -1)
        self._near = np.zeros((len(members), len(joints.ends), 3))
        for name, angles in state.angles.items():
            if name in joints.number:
                self._near[:, joints.number[name]] = angles[members]
        flat = np.concatenate([rows, np.zeros((len(members), plant.model.auxiliary.size))], axis=1)
        turns = Turns(joints, np.zeros((len(members), len(joints.ends), 2)), np.zeros((len(joints.ends), 3)))
        super().__init__(plant, batch.time[members], flat, turns, 0)

    @cached_property
    def angles(self) -> np.ndarray:
        """1-2-3 angles (m, K, 3) of K joints, rad, with full turns chosen nearest to the angles in `BatchState`."""
        return self.model.joints.nearest_angles(self.state, self._near)


def _part_read(system: System, name: str) -> tuple[Any, str]:
    """Return the part of the system to which a named quantity belongs, or None, and its kind, such as "angle".

    An InputError is raised if the quantity is not determined by poses and velocities.
    """
    parts: list[Any] = [*system.bodies, *system.constraints, *system.forces]
    named = [part for part in parts if f"{name}.".startswith(f"{part.name}.")]
    if name == "time" or (not named and not name.startswith("energy.")):
        return None, ""  # `curve` reports unknown names with near ones
    part = max(named, key=lambda one: len(one.name), default=None)
    kind = "" if part is None else name[len(part.name) + 1 :].partition(".")[0]
    allowed = OF_BODIES if isinstance(part, Body) else OF_JOINTS if isinstance(part, Constraint) else ()
    if kind in allowed or kind.startswith("euler_"):
        return part, kind
    meant = nearest_names(kind, filter(None, allowed))
    if part is not None and meant and kind not in OF_RESULTS:
        near = quoted(f"{part.name}.{quantity}" for quantity in meant)
        raise InputError(f'{OWNER}: there is no quantity "{name}"; did you mean {near}?')
    raise InputError(
        f'{OWNER}: {name}: an observation reads poses and velocities, such as "hinge.angle" or "rod.velocity.x"; '
        "loads, accelerations and energies are groups of batch.simulate(quantities=...)"
    )
