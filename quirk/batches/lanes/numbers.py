"""Parameters of the members of a batch, and memory layout of groups of eight members.

Notation: C is the number of loop-closing rows, and T the number of joints of the spanning forest
(`quirk.batches.lanes.plan`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.layout import CONSTANTS_SIZE, GRAVITY, KINEMATICS_SIZE, MASS, ORIENTATION, UNLIKE
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH, aligned

from .links import LINK_ENTRIES, LINK_WORK, SUM, SUM_NUMBERS, link_geometry, link_numbers
from .plan import LanePlan
from .records import (
    ALONG_I,
    ALONG_J,
    ARM_CHILD,
    ARM_I,
    ARM_J,
    ARM_PARENT,
    AXIS_I,
    AXIS_J,
    BODY_INERTIA,
    BODY_LOAD,
    CLOSING_NUMBERS,
    CLOSING_WORK,
    CONSTANT,
    DIRECTION,
    FREEDOM,
    FREEDOMS,
    JOINT_NUMBERS,
    JOINT_WORK,
    NOTES,
    OFFSET,
    ROTATION_ROWS,
    ROW_NUMBERS,
    LaneNumbers,
    LaneWork,
)


@dataclass
class MemberNumbers:
    """Parameters of all members of a batch with n bodies.

    Attributes
    ----------
    mass : (count, n) kg
    inertia : (count, n, 3, 3) about the centers of mass, body axes, kg m^2
    gravity : (count, 3) m/s^2
    joints, closing : geometry of joints and of loop-closing rows, (count, JOINT_NUMBERS T) and (count, CLOSING_NUMBERS
        C), see `records`; if recursion over links is used, (count, LINK_GEOMETRY n) and (count, 0), see `links`
    inputs : (count, inputs) inputs of all force laws
    """

    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    joints: np.ndarray
    closing: np.ndarray
    inputs: np.ndarray

    @classmethod
    def repeated(cls, model: Model, plan: LanePlan, inputs: np.ndarray, count: int) -> MemberNumbers:
        """Return the parameters of `count` members equal to `model`, with the `inputs` of its force laws."""
        joints, closing = geometry_of(model, plan)
        numbers = (model.mass, model.inertia, model.gravity, joints, closing, inputs)
        return cls(*(np.repeat(x[None], count, axis=0) for x in numbers))

    def of(self, chosen: np.ndarray) -> MemberNumbers:
        """Return the parameters of the members with the indices `chosen`."""
        return MemberNumbers(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def equals(self, other: MemberNumbers) -> bool:
        """Whether all parameters, including addresses of functions, are bitwise equal to the parameters of `other`."""
        names = [field.name for field in fields(self)]
        return all(getattr(self, name).tobytes() == getattr(other, name).tobytes() for name in names)


def geometry_of(model: Model, plan: LanePlan) -> tuple[np.ndarray, np.ndarray]:
    """Return the geometry of a model for SIMD lanes, as two flat arrays: joints, and loop-closing rows.

    The first array has the arms, axes and constants of the joints of the spanning forest, or of links.
    """
    if plan.recursive:
        return link_geometry(model, plan.recursive), np.zeros(0)
    t, entries = model.table, plan.tables.joints.reshape(-1, 5)
    joints = np.zeros((len(plan.rows), JOINT_NUMBERS))
    for numbers, (_, _, child_is_j, *_), (point, turns) in zip(joints, entries, plan.rows, strict=True):
        if point >= 0:
            arm_i, arm_j = t.arm[point]
            numbers[ARM_CHILD : ARM_CHILD + 3], numbers[ARM_PARENT : ARM_PARENT + 3] = (
                (arm_j, arm_i) if child_is_j else (arm_i, arm_j)
            )
        for k, p in enumerate(turns):
            row = ROTATION_ROWS + ROW_NUMBERS * k
            numbers[row + AXIS_I : row + AXIS_I + 3], numbers[row + AXIS_J : row + AXIS_J + 3] = t.direction[p]
            numbers[row + OFFSET] = t.offset[p]
    closing = np.zeros((len(plan.closing), CLOSING_NUMBERS))
    for numbers, p in zip(closing, plan.closing, strict=True):
        numbers[ARM_I : ARM_I + 3], numbers[ARM_J : ARM_J + 3] = t.arm[p]
        numbers[ALONG_I : ALONG_I + 3], numbers[ALONG_J : ALONG_J + 3] = t.direction[p]
        numbers[CONSTANT] = t.offset[p]
    return joints.ravel(), closing.ravel()


def in_lanes(rows: np.ndarray) -> np.ndarray:
    """Return data (count, k) of the members as a flat array in the memory layout of SIMD vectors.

    Each group of eight members is stored as k blocks of eight adjacent elements, one element for each member (lane).
    The last group is filled up with copies of the last member.
    """
    count, width = rows.shape
    groups = -(-count // WIDTH)
    padded = np.concatenate([rows, np.repeat(rows[-1:], groups * WIDTH - count, axis=0)])
    flat = aligned(padded.size)
    flat[:] = padded.reshape(groups, WIDTH, width).swapaxes(1, 2).ravel()
    return flat


def by_member(inputs: np.ndarray) -> np.ndarray:
    """Return the inputs (count, inputs) of the force laws as a flat array, one member after the other.

    Copies of the last member are appended until the number of members is a multiple of eight.
    """
    return np.concatenate([inputs, np.repeat(inputs[-1:], -len(inputs) % WIDTH, axis=0)]).ravel()


def from_lanes(flat: np.ndarray, count: int) -> np.ndarray:
    """Return data (count, k) of the members from their flat array in the memory layout of SIMD vectors.

    This is the inverse of `in_lanes`.
    """
    groups = -(-count // WIDTH)
    return flat.reshape(groups, -1, WIDTH).swapaxes(1, 2).reshape(groups * WIDTH, -1)[:count]


def states_in_lanes(states: np.ndarray) -> np.ndarray:
    """Return states (count, n, 13) as a flat array in the memory layout of SIMD vectors.

    The ground is added after the n bodies.
    """
    count, n = states.shape[:2]
    groups = -(-count // WIDTH)
    flat = aligned(groups * (n + 1) * STATE_SIZE * WIDTH)
    by_group = flat.reshape(groups, n + 1, STATE_SIZE, WIDTH)
    by_group[:, n, ORIENTATION] = 1.0
    for lane in range(WIDTH):
        members = states[lane::WIDTH]
        by_group[: len(members), :n, :, lane] = members
        by_group[len(members) :, :n, :, lane] = states[-1]
    return flat


def states_from_lanes(flat: np.ndarray, count: int, n: int) -> np.ndarray:
    """Return states (count, n, 13) from their flat array in the memory layout of SIMD vectors.

    This is the inverse of `states_in_lanes`.
    """
    return from_lanes(flat, count).reshape(count, n + 1, STATE_SIZE)[:, :n]


def packed(plan: LanePlan, members: MemberNumbers, bodies: np.ndarray) -> LaneNumbers:
    """Return the parameters of members in groups of eight, in the memory layout of SIMD vectors.

    `bodies` are the indices of the bodies to which the frames of the force laws are fixed.
    """
    inertia = members.inertia
    count, n = members.mass.shape
    constants = np.zeros((count, n + 1, CONSTANTS_SIZE))
    constants[:, :n, MASS] = members.mass
    constants[:, :n, GRAVITY : GRAVITY + 3] = members.gravity[:, None]
    middle = np.linalg.eigvalsh(inertia)[..., 1]
    constants[:, :n, UNLIKE : UNLIKE + 9] = (inertia - middle[..., None, None] * np.eye(3)).reshape(count, n, 9)
    links = np.zeros((count, 0))
    if plan.recursive:
        links = link_numbers(plan.tables.links, members.joints, members.mass, inertia)
    sides = np.stack([WIDTH * STATE_SIZE * bodies, WIDTH * KINEMATICS_SIZE * bodies], axis=1)
    return LaneNumbers(
        constants=in_lanes(constants.reshape(count, -1)),
        moments=in_lanes(inertia[:, :, *np.triu_indices(3)].reshape(count, -1)),
        joints=in_lanes(members.joints),
        closing=in_lanes(members.closing),
        links=in_lanes(links),
        inputs=by_member(members.inputs),
        sides=sides.ravel().astype(np.int64),
        principal=not inertia[..., *np.triu_indices(3, 1)].any(),
    )


def workspace(plan: LanePlan, n: int, buffers: int) -> LaneWork:
    """Return the working arrays for the steps of a group of eight members.

    `n` is the number of bodies, and `buffers` the number of slopes y' of a step that are stored.
    """
    joints, closing, state = len(plan.rows), len(plan.closing), WIDTH * STATE_SIZE * (n + 1)
    entries = plan.tables.links.reshape(-1, LINK_ENTRIES)
    bodies = WIDTH * BODY_LOAD * (n + 1)
    work = LaneWork(
        kin=aligned(WIDTH * KINEMATICS_SIZE * (n + 1)),
        kin_new=aligned(WIDTH * KINEMATICS_SIZE * (n + 1)),
        inertia=aligned(WIDTH * BODY_INERTIA * (n + 1)),
        load=aligned(bodies),
        motion=aligned(bodies),
        joints=aligned(WIDTH * JOINT_WORK * joints),
        closing=aligned(WIDTH * CLOSING_WORK * closing),
        free=aligned(bodies),
        responses=aligned(bodies * closing),
        factor=aligned(WIDTH * closing**2),
        links=aligned(WIDTH * LINK_WORK * len(entries)),
        sums=aligned(WIDTH * SUM_NUMBERS * (int(entries[:, SUM].max(initial=0)) + 1)),
        locked=aligned(bodies),
        slopes=aligned(state * buffers),
        stage=aligned(state),
        notes=aligned(WIDTH * NOTES),
    )
    work.stage.reshape(n + 1, STATE_SIZE, WIDTH)[n, ORIENTATION] = 1.0
    # Degrees of freedom that no row restricts are along the inertial axes.
    own = work.joints.reshape(joints, JOINT_WORK, WIDTH)
    for numbers, (point, turns) in zip(own, plan.rows, strict=True):
        first = FREEDOMS if point >= 0 else FREEDOMS + 3 * FREEDOM
        for k in range(3):
            if point < 0:
                numbers[FREEDOMS + FREEDOM * k + DIRECTION + k] = 1.0
            if not turns:
                numbers[first + FREEDOM * k + DIRECTION + k] = 1.0
    return work
