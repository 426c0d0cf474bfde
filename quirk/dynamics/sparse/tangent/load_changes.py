"""Derivatives of accelerations and loads along a motion, from variations of its states and of parameters.

A flat state (13 n + k,) consists of 13 components for each of n bodies and of k auxiliary states; there are nt times, K
joints and D directions, in which states and parameters vary. The computation is divided into passes (`LoadPass`), each
for up to eight directions and some of the times. A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.model.layout import WRENCH_SIZE
from quirk.jit.simd import WIDTH, aligned

from ..solver.solver import Solver
from ..variation.variation import ChangedMotion, moved_by
from .elements import OF_RELATIONS
from .loads import WITH_CHANGES, WITH_ENERGY, WRENCH, LoadPass, loads_along, shared_joints
from .tangent import Differential

# Number of states per call of compiled code; Ctrl-C takes effect between calls.
AT_ONCE = 200


@dataclass(frozen=True)
class VariedMotion:
    """A motion at nt times, and its variations in D directions.

    Attributes
    ----------
    times, states : (nt,) times, s, and (nt, 13 n + k) states that satisfy the constraints
    angles : (nt, K, 3) angles of K joints with full turns, rad
    changes : (nt, D, 13 n + k) variations of the states
    """

    times: np.ndarray
    states: np.ndarray
    angles: np.ndarray
    changes: np.ndarray

    def part(self, rows: slice, eight: slice) -> VariedMotion:
        """Return the motion at the times `rows`, with its variations in the directions `eight`; both are slices."""
        return VariedMotion(self.times[rows], self.states[rows], self.angles[rows], self.changes[rows, eight])


@dataclass(frozen=True)
class ChangedLoads:
    """Derivatives of accelerations at nt states in D directions, and loads with their derivatives.

    Attributes
    ----------
    accelerations : (nt, n, 6, D) derivatives for n bodies, linear in the inertial frame and angular in body axes
    joints : (nt, C, 6, 1 + D) force, and moment about its center of mass, of each constraint on body j, inertial frame
        The first column contains the loads, the others their derivatives.
    forces : (nt, E, 7, 1 + D) force and moment of each force element on the body of its last frame, then its energy, J
    """

    accelerations: np.ndarray
    joints: np.ndarray
    forces: np.ndarray


def changed_loads(
    differential: Differential, motion: VariedMotion, directions: Directions, motions: Sequence[ChangedMotion]
) -> ChangedLoads:
    """Return the derivatives of accelerations and loads along a motion, with respect to its D directions.

    The solver of `differential` must not be used by another object at the same time.

    Parameters
    ----------
    motion : the motion, and its variations in D directions
    directions : variations of the parameters in the same D directions, without a state part
    motions : variations of prescribed motions

    Raises
    ------
    InputError
        If a user function fails at the last state.
    """
    solver, nt = differential.solver, len(motion.times)
    solver.settle(solver.slots.state_to_lanes(motion.states[0]), float(motion.times[0]))
    sides = _sides(differential)
    # The distribution of loads over redundant rows is computed at one state at a time.
    at_once = 1 if solver.redundant else AT_ONCE
    along = []
    for first in range(0, directions.count, WIDTH):
        differential.set_directions(directions, first)
        eight = slice(first, first + WIDTH)
        table, kept, moved = moved_by(
            differential, [m for m in motions if eight.start <= m.direction < eight.stop], first
        )
        parts = []
        for begin in range(0, nt, at_once):
            part = motion.part(slice(begin, begin + at_once), eight)
            places, references = solver.applied.references(part.times, part.angles)
            count = part.changes.shape[1]
            loads = LoadPass(
                directions=count,
                rank=int(solver.counts.best_rank),
                motions=table,
                moved=moved,
                taylor=np.zeros(OF_RELATIONS + 1),
                stop=solver.applied.stop,
                times=part.times.copy(),
                states=_aligned(np.array([solver.slots.state_to_lanes(y) for y in part.states])),
                changes=_aligned(_in_lanes(solver, part.changes)),
                places=places,
                references=references.ravel(),
                sides=sides,
                acting=np.array([len(element.acting_ends) for element, _ in solver.model.forces], dtype=np.int64),
                slope=aligned(solver.size),
                wrenches=aligned(len(part.times) * count * len(solver.work.wrench)),
                joints=np.zeros(len(part.times) * len(solver.model.joint_rows) * WRENCH * WITH_CHANGES),
                forces=np.zeros(len(part.times) * len(solver.model.forces) * WITH_ENERGY * WITH_CHANGES),
            )
            _compute(differential, loads)
            parts.append(_read(solver, loads))
        del kept  # the addresses of motions are in use until here
        along.append([np.concatenate(of) for of in zip(*parts, strict=True)])
    accelerations, joints, forces = zip(*along, strict=True)
    return ChangedLoads(np.concatenate(accelerations, axis=-1), _joined(joints), _joined(forces))


def _compute(differential: Differential, loads: LoadPass) -> None:
    """Compute the loads and their derivatives at all states of one pass (up to eight directions), by compiled code.

    If constraints are redundant, the multipliers of minimum norm are used; the pass then has a single state.
    """
    solver, t = differential.solver, float(loads.times[-1])
    with solver.applied.calling():
        loads_along(solver.mechanism, differential.tangents, loads)
    solver.applied.check(t)
    if solver.redundant:
        differential.share(loads.states, t, loads.directions)
        with solver.applied.calling():
            shared_joints(solver.mechanism, differential.tangents, loads)


def _read(solver: Solver, loads: LoadPass) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the derivatives of accelerations, and loads with their derivatives, computed in one pass.

    These are the loads of joints and of force elements. Shapes are as in `ChangedLoads`, for at most eight directions.
    """
    nt, count, model = len(loads.times), loads.directions, solver.model
    wrenches = solver.slots.from_lanes(loads.wrenches.reshape(nt, count, -1), WRENCH_SIZE)
    linear = wrenches[..., :3] / model.mass[:, None]
    angular = np.einsum("nij,tdnj->tdni", model.inverse_root, wrenches[..., 3:])
    return (
        np.moveaxis(np.concatenate([linear, angular], axis=-1), 1, -1),
        loads.joints.reshape(nt, -1, WRENCH, WITH_CHANGES)[..., : 1 + count].copy(),
        loads.forces.reshape(nt, -1, WITH_ENERGY, WITH_CHANGES)[..., : 1 + count].copy(),
    )


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays (..., 9), each with a value and eight derivatives, to one array (..., 1 + D).

    D is the total number of derivatives.
    """
    return np.concatenate([parts[0][..., :1], *(part[..., 1:] for part in parts)], axis=-1)


def _sides(differential: Differential) -> np.ndarray:
    """Return a flat array of the frames on body j of all constraints, at which their loads are computed.

    Each frame has three entries: the indices of the constraint, of the relation (constraint function) among all
    relations, and of the frame in the relation.
    """
    model = differential.solver.model
    j = {constraint.name: pair[1] for constraint, pair in model.joint_bodies}
    entries = [
        (number, r, frame)
        for number, (name, rows) in enumerate(model.joint_rows.items())
        for r, placed in enumerate(differential.relations)
        if rows.start <= placed.rows.start < rows.stop
        for frame, body in enumerate(placed.bodies)
        if body == j[name]
    ]
    return np.array(entries, dtype=np.int64).ravel()


def _in_lanes(solver: Solver, changes: np.ndarray) -> np.ndarray:
    """Convert state variations (nt, D, 13 n + k) to the layout of compiled code (nt, D, size).

    Unused elements are zero.
    """
    slots, lead = solver.slots, changes.shape[:2]
    first = STATE_SIZE * slots.bodies
    rows = np.zeros((*lead, slots.lanes, STATE_SIZE))
    rows[:, :, slots.slot[:-1]] = changes[..., :first].reshape(*lead, slots.bodies, STATE_SIZE)
    lanes = np.zeros((*lead, solver.size))
    blocks = rows.reshape(*lead, slots.lanes // WIDTH, WIDTH, STATE_SIZE).swapaxes(-1, -2)
    lanes[..., : slots.first_auxiliary] = blocks.reshape(*lead, -1)
    lanes[..., slots.first_auxiliary : slots.first_auxiliary + slots.auxiliary] = changes[..., first:]
    return lanes


def _aligned(numbers: np.ndarray) -> np.ndarray:
    """Return a copy of an array of floats as a flat array that is aligned for vector loads."""
    flat = aligned(numbers.size, fill=False)
    flat[:] = numbers.ravel()
    return flat
