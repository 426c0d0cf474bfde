"""Friction proportional to constraint loads, in the dense reference solver.

The magnitude of a friction force is f = mu N, and the normal load N depends on the magnitudes of all friction forces.
This module is the reference for `quirk.dynamics.sparse.kernels.friction`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.errors import InputError
from quirk.forces.friction import NORMAL, Friction

from ..model.applied_loads import Exerted, exerted, summed
from ..model.constrained_motion import ConstrainedMotion
from ..model.friction_normal_load import NormalLoad
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .joint_loads import joint_loads
from .shared_rows import share_of

Solve = Callable[[np.ndarray, np.ndarray], ConstrainedMotion]

MOST_ITERATIONS, CONVERGED = 50, 1e-14


def with_friction(
    model: Model, t: float, kin: Kinematics, acts: Sequence[Exerted], solve: Solve
) -> tuple[list[Exerted], ConstrainedMotion]:
    """Return the loads of all force elements, including friction, and the motion due to these loads.

    Parameters
    ----------
    acts : loads of each force element, without friction
    solve : function that returns the motion of n bodies under forces (n, 3), inertial frame, and torques (n, 3), body
        axes
    """
    acts = list(acts)
    for k, (unit, size) in magnitudes(model, t, kin, acts, solve).items():
        acts[k] = replace(unit, loads=size * unit.loads)
    return acts, _motion(model, kin, acts, solve)


def magnitudes(
    model: Model, t: float, kin: Kinematics, acts: Sequence[Exerted], solve: Solve
) -> dict[int, tuple[Exerted, float]]:
    """Return, by index of the friction element, its loads at unit magnitude and its magnitude.

    `acts` are the loads of each force element without friction. `solve` is a function that returns the motion of n
    bodies under forces (n, 3), inertial frame, and torques (n, 3), body axes. t is the time, s.
    """
    frictions = {k: element for k, (element, _) in enumerate(model.forces) if isinstance(element, Friction)}
    if not frictions:
        return {}
    base = _motion(model, kin, acts, solve)
    units, answers = [], []
    for k, element in frictions.items():
        with_unit = element.with_values({"size": 1.0})
        units.append(exerted(with_unit, model.forces[k][1], PoseDerivatives.of(kin, 1), t, 0, kin.angles, kin.internal))
        answers.append(_motion(model, kin, [*acts[:k], units[-1], *acts[k + 1 :]], solve))

    def motion(more: np.ndarray) -> ConstrainedMotion:
        return _motion(model, kin, acts, solve, more)

    loads = [
        _load(model, t, kin, friction, base, answers, share_of(friction, model, t, kin, motion))
        for friction in frictions.values()
    ]
    sizes = (float(size) for size in _solved(loads))
    return dict(zip(frictions, zip(units, sizes, strict=True), strict=True))


def _motion(
    model: Model, kin: Kinematics, acts: Sequence[Exerted], solve: Solve, more: np.ndarray | float = 0.0
) -> ConstrainedMotion:
    """Return the motion due to the loads `acts` of all force elements, and to `more` loads (n, 6), inertial frame."""
    loads = np.hstack(summed(model, (acting.loads[:, 0] for acting in acts))) + more
    return solve(loads[:, :3], np.einsum("nji,nj->ni", kin.rotation[:-1], loads[:, 3:]))


# Function from the magnitudes of all friction elements to mu N and its gradient.
Load = Callable[[np.ndarray], tuple[float, np.ndarray]]


def _load(
    model: Model,
    t: float,
    kin: Kinematics,
    friction: Friction,
    base: ConstrainedMotion,
    answers: Sequence[ConstrainedMotion],
    share: tuple[np.ndarray, np.ndarray],
) -> Load:
    mu, (own, weights) = friction.coefficient, share
    if friction.takes == NORMAL:
        first = float(weights[:, 0] @ base.multipliers[own])
        slopes = np.array([weights[:, 0] @ answer.multipliers[own] - first for answer in answers])
        return lambda f: (mu * float(first + slopes @ f), mu * slopes)
    rows = model.joint_rows.get(friction.on.name, slice(0, 0))
    if rows.stop == rows.start:
        return lambda f: (0.0, np.zeros(len(f)))

    body, frame = friction.ends[0]
    R = kin.rotation[model.body_names.index(body.name)] if body.name in model.body_names else np.eye(3)

    def load(motion: ConstrainedMotion) -> np.ndarray:
        joint = np.concatenate(joint_loads(model, kin, t, motion.multipliers)[friction.on.name])
        return np.asarray(joint + ((motion.multipliers[own] @ weights).reshape(2, 3) @ R.T).ravel())

    axis = R @ frame.matrix[:, friction.axis]
    response = np.array([load(answer) - load(base) for answer in answers]).T
    joint = NormalLoad(friction, axis, load(base), response)

    def scaled(f: np.ndarray) -> tuple[float, np.ndarray]:
        N, slopes = joint(f)
        return mu * N, mu * slopes

    return scaled


def _solved(loads: Sequence[Load]) -> np.ndarray:
    """Return the friction magnitudes f that satisfy f = mu N(f), by Newton's method.

    Each function in `loads` returns mu N of one friction element and its gradient.
    """
    f = np.zeros(len(loads))
    for _ in range(MOST_ITERATIONS):
        values = [load(f) for load in loads]
        matrix = np.eye(len(f)) - np.array([slopes for _, slopes in values])
        change = np.linalg.solve(matrix, np.array([N for N, _ in values]) - f)
        f = f + change
        if np.abs(change).max() <= CONVERGED * np.abs(f).max():
            return f
    raise InputError(Friction.undefined)
