"""Tables of a forest of joints for the recursion over them: order of bodies, joint frames and inertias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import STATE_SIZE
from quirk.constraints.primitives import COINCIDENCE, DOT1, DOT2, PrimitiveTable
from quirk.dynamics.model.layout import WRENCH_SIZE, Slots
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH, aligned

from ..kernels.recursion import (
    ALIGNED,
    ALIGNMENT,
    ARM,
    ARM_OF_BODY,
    ARTICULATED,
    AXIS,
    BALL,
    BALL_NUMBERS,
    BODY_CONSTANTS,
    BODY_NUMBERS,
    CENTER,
    CROSS_AXIS,
    CROSSED,
    CYLINDRICAL,
    DRIVEN_ENTRIES,
    DRIVEN_HINGE,
    DRIVEN_SLIDER,
    DRIVER,
    FREE,
    FREE_NUMBERS,
    HINGE,
    HINGED,
    INERTIA,
    JOINT_NUMBERS,
    LOWER,
    MASS,
    MASS_AFTER,
    MASS_MOMENT,
    POINT_FROM_CENTER,
    POSTURE,
    ROW,
    SECOND_NUMBERS,
    SLIDER,
    SLIDING,
    SLOT,
    TURNS,
    UNIVERSAL,
    UNLIKE,
    WELD,
    WELDED,
    Recursion,
)
from ..kernels.relations import INPUT, MOTION, NUMBERS, Relations
from .placed_joint import PlacedJoint

# Rotations of the z axis to x, y and z, as quaternions without round-off; and a rotation by half a turn about x.
TO_AXES = np.array([[0.5, 0.5, 0.5, 0.5], [0.5, -0.5, -0.5, -0.5], [1.0, 0.0, 0.0, 0.0]])
HALF_TURN = np.array([0.0, 1.0, 0.0, 0.0])
# Unit vectors whose components differ from 0 and 1 by less than this are along a coordinate axis, except for round-off.
NEAR_AXIS = 1e-15

# Number of elements in `Recursion.blocks` for a joint of each kind.
BLOCKS = np.zeros(9, dtype=np.int64)
BLOCKS[[BALL, FREE, CYLINDRICAL, UNIVERSAL]] = BALL_NUMBERS, FREE_NUMBERS, SECOND_NUMBERS, SECOND_NUMBERS

# Kinds of joints, and the kinds of primitives of which each consists.
PRIMITIVES = {
    BALL: [COINCIDENCE],
    HINGE: [COINCIDENCE, DOT1, DOT1],
    WELD: [COINCIDENCE, DOT1, DOT1, DOT1],
    SLIDER: [DOT1, DOT1, DOT1, DOT2, DOT2],
    CYLINDRICAL: [DOT1, DOT1, DOT2, DOT2],
    UNIVERSAL: [COINCIDENCE, DOT1],
}

# The axis of a joint is perpendicular to a direction if the cosine of their angle is at most this, which is round-off.
PERPENDICULAR = 1e-14


class Links(NamedTuple):
    """Forest of n bodies, ordered from the tips to the roots, and the joint of each body to its parent.

    Attributes
    ----------
    body, parent : (n,) index of each body and of its parent; the ground, also the parent of free bodies, has index n
    kind : (n,) kind of the joint, FREE for free bodies
    point : (n, 2, 3) joint point in the axes of the body and of the parent, m
    axis : (n, 2, 3) z axis of the joint in the axes of the body and of the parent, zero for ball joints. For universal
        joints: the axis fixed in the body, in axes of the body, and the axis fixed in the parent, in axes of the parent
    cross : (n, 2, 3) x axis of a weld or slider in the axes of the body and of the parent
    driver : (n,) index of the driver of a driven joint, otherwise -1
    sense : (n,) 1 if the driven coordinate increases when the body turns about or slides along its axis, otherwise -1
    """

    body: np.ndarray
    parent: np.ndarray
    kind: np.ndarray
    point: np.ndarray
    axis: np.ndarray
    cross: np.ndarray
    driver: np.ndarray
    sense: np.ndarray


class Axes(NamedTuple):
    """Kinds, axes and points of m joints.

    Attributes
    ----------
    kind : (m,) kind of each joint, FREE for joints that cannot be part of a recursion
    axis : (m, 2, 3) z axis of each joint in the axes of bodies i and j, see `Links`
    cross : (m, 2, 3) x axis of welds and sliders in the axes of bodies i and j
    point : (m, 2, 3) joint points in the axes of bodies i and j, m
    driver : (m,) index of the driver of each driven joint, otherwise -1
    sense : (m,) 1 if the driven coordinate increases when body j turns about or slides along the axis, otherwise -1
    """

    kind: np.ndarray
    axis: np.ndarray
    cross: np.ndarray
    point: np.ndarray
    driver: np.ndarray
    sense: np.ndarray

    def of(self, joints: Sequence[int]) -> Axes:
        """Return the kinds, axes and points of the joints with the given indices."""
        return Axes(*(values[joints] for values in self))


def axes_of(model: Model, joints: Sequence[PlacedJoint]) -> Axes:
    """Return the kinds, axes and points of joints; the kind is FREE for joints whose kind is not in PRIMITIVES."""
    m, t = len(joints), model.table
    kind, axes, cross, point = np.full(m, FREE), *np.zeros((3, m, 2, 3))
    undriven = np.full(m, -1), np.ones(m, dtype=np.int64)
    made = np.array(
        [k for k, joint in enumerate(joints) if joint.relation is None and joint.primitives], dtype=np.int64
    )
    if not made.size:
        return Axes(kind, axes, cross, point, *undriven)
    first, count = np.zeros((2, m), dtype=np.int64)
    first[made] = [joints[k].primitives[0] for k in made]
    count[made] = [len(joints[k].primitives) for k in made]
    for one, primitives in PRIMITIVES.items():
        alike = np.flatnonzero(count == len(primitives))
        rows = first[alike][:, None] + np.arange(len(primitives))
        kind[alike[((t.kind[rows] == primitives) & (t.offset[rows] == 0.0)).all(axis=1)]] = one
    hinged, framed = np.isin(kind, (HINGE, CYLINDRICAL)), np.isin(kind, (WELD, SLIDER))
    crossed, slides = kind == UNIVERSAL, np.isin(kind, (SLIDER, CYLINDRICAL))
    # Primitives that give the first direction of the axes, and the joint point.
    of_axes, of_point = np.where(slides, first, first + 1), np.where(slides, first + count - 2, first)
    axes[hinged] = _axes(*np.moveaxis(t.direction[of_axes[hinged][:, None] + [0, 1]], 1, 0))
    axes[framed], cross[framed] = _weld_axes(*np.moveaxis(t.direction[of_axes[framed][:, None] + [0, 1, 2]], 1, 0))
    axes[crossed] = t.direction[of_axes[crossed]]
    kind[(kind != BALL) & ~(np.linalg.norm(axes, axis=2) > 0.5).all(axis=1)] = FREE
    slides &= kind != FREE
    kind[np.flatnonzero(slides)[~_slide_along(t, axes[slides, 0], of_point[slides])]] = FREE
    point[made] = t.arm[of_point[made]]
    return Axes(kind, _exact(axes), _exact(cross), point, *undriven)


def links(model: Model, joints: Sequence[PlacedJoint]) -> Links | None:
    """Return the forest that the joints of a system form, for recursion over them.

    None is returned if there are no joints, if the kind of a joint is not in PRIMITIVES, or if a joint closes a loop.
    """
    axes = axes_of(model, joints)
    if not joints or (axes.kind == FREE).any():
        return None
    return links_along(axes, joints, len(model.mass))


def links_along(axes: Axes, joints: Sequence[PlacedJoint], n: int) -> Links | None:
    """Return the forest of n bodies that joints form; None if a joint closes a loop.

    `axes` are the kinds, axes and points of the joints.
    """
    order = _depth_first([joint.bodies for joint in joints], n)
    if order is None:
        return None
    body, joint, side = np.array(order).T
    at = (np.maximum(joint, 0)[:, None], np.stack([side, 1 - side], axis=1))
    ends = np.array([joint.bodies for joint in joints])[at]
    jointed = joint >= 0
    return Links(
        body=body,
        parent=np.where(jointed, ends[:, 1], n),
        kind=np.where(jointed, axes.kind[joint], FREE),
        point=np.where(jointed[:, None, None], axes.point[at], 0.0),
        axis=np.where(jointed[:, None, None], axes.axis[at], 0.0),
        cross=np.where(jointed[:, None, None], axes.cross[at], 0.0),
        driver=np.where(jointed, axes.driver[joint], -1),
        sense=axes.sense[joint] * np.where(side == 1, 1, -1),
    )


def _weld_axes(first_row: np.ndarray, second_row: np.ndarray, third_row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the z and x axes (m, 2, 3) of m welds, in the axes of bodies i and j.

    `first_row`, `second_row` and `third_row` (m, 2, 3) are the directions in bodies i and j that the rows keep
    perpendicular. They must be (z_i, x_j), (z_i, y_j) and (x_i, y_j), for the axes x, y and z of the joint frames;
    otherwise zeros are returned.
    """
    z, x = np.zeros((2, *first_row.shape))
    same = ((first_row[:, 0] == second_row[:, 0]) & (second_row[:, 1] == third_row[:, 1])).all(axis=1)
    z[same, 0], x[same, 0] = first_row[same, 0], third_row[same, 0]
    z[same, 1], x[same, 1] = np.cross(first_row[same, 1], second_row[same, 1]), first_row[same, 1]
    return z, x


def _axes(first_row: np.ndarray, second_row: np.ndarray) -> np.ndarray:
    """Return the axes (m, 2, 3) of m hinges, in the axes of bodies i and j.

    `first_row` and `second_row` (m, 2, 3) are the directions in bodies i and j that the rows keep perpendicular. In one
    of the bodies both rows must have the same direction, the axis of the hinge; otherwise zeros are returned.
    """
    axes = np.zeros_like(first_row)
    for side in (1, 0):
        across = np.cross(first_row[:, 1 - side], second_row[:, 1 - side])
        across /= np.maximum(np.linalg.norm(across, axis=1), 0.5)[:, None]
        same = (first_row[:, side] == second_row[:, side]).all(axis=1)
        axes[same, side], axes[same, 1 - side] = first_row[same, side], across[same]
    return axes


def _exact(axes: np.ndarray) -> np.ndarray:
    """Return unit vectors (..., 3) without round-off in those that are along a coordinate axis.

    The position of a body that slides far along a coordinate axis then has no round-off error across the axis.
    """
    near = np.abs(axes - np.round(axes)).max(axis=-1, keepdims=True, initial=0.0) < NEAR_AXIS
    return np.where(near, np.round(axes), axes)


def _slide_along(t: PrimitiveTable, axes: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return, for each of m joints, whether two dot-2 primitives let a point slide exactly along the axis of the joint.

    A dot-2 primitive keeps a point in a plane. `t` is the table of all primitives. `axes` (m, 3) are the axes of the
    joints in the axes of bodies i, and `first` (m,) is the index of the first of the two primitives.
    """
    one, two = t.direction[first, 0], t.direction[first + 1, 0]
    across = np.linalg.norm(np.cross(one, two), axis=1) > 0.5
    along = np.abs([(one * axes).sum(axis=1), (two * axes).sum(axis=1)]).max(axis=0, initial=0.0) <= PERPENDICULAR
    same = (t.arm[first] == t.arm[first + 1]).all(axis=(1, 2))
    return np.asarray(across & along & same)


def _depth_first(ends: Sequence[tuple[int, ...]], n: int) -> list[tuple[int, int, int]] | None:
    """Return (body, joint, side) for each of n bodies, in an order from the tips to the roots; None if there is a loop.

    `joint` is the joint of the body to its parent, -1 for free bodies, and `side` is the place of the body in this
    joint. Each body follows directly after all bodies that are connected to the ground through it. `ends` are the
    indices of both bodies of each joint; the ground has index n.
    """
    at_body: list[list[int]] = [[] for _ in range(n + 1)]
    for k, bodies in enumerate(ends):
        for body in bodies:
            at_body[body].append(k)
    order: list[tuple[int, int, int]] = []
    reached, used = [False] * (n + 1), [False] * len(ends)
    for root in (n, *range(n)):
        if reached[root]:
            continue
        reached[root] = True
        pending = [(root, -1, 0)]
        while pending:
            link = pending.pop()
            if link[0] < n:
                order.append(link)
            for k in at_body[link[0]]:
                if used[k]:
                    continue
                used[k] = True
                side = 1 if ends[k][0] == link[0] else 0
                child = ends[k][side]
                if reached[child]:
                    return None
                reached[child] = True
                pending.append((child, k, side))
    return order[::-1]


def alignments(axes: np.ndarray) -> np.ndarray:
    """Return the rotations that turn the z axis to unit vectors (m, 3), as quaternions (m, 4).

    The rotations to coordinate axes are free of round-off.
    """
    rows, largest = np.arange(len(axes)), np.abs(axes).argmax(axis=1)
    sign = np.sign(axes[rows, largest])
    q = TO_AXES[largest]
    q = np.where(sign[:, None] < 0.0, rotation.multiply(q, HALF_TURN), q)
    unit = np.eye(3)[largest] * sign[:, None]
    rest = np.cross(unit, axes)
    tilt = rotation.unit(np.column_stack([1.0 + (unit * axes).sum(axis=1), rest]))
    inclined = np.any(rest != 0.0, axis=1, keepdims=True)
    return np.where(inclined, rotation.multiply(tilt, q), q)


def frames_along(z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the orientations of frames with given z and x axes (m, 3), as quaternions (m, 4)."""
    q = alignments(z)
    turned = _back(rotation.matrix(q), x)
    half = 0.5 * np.arctan2(turned[:, 1], turned[:, 0])
    about_z = np.column_stack([np.cos(half), *np.zeros((2, len(half))), np.sin(half)])
    return np.asarray(rotation.multiply(q, about_z))


class _JointFrames(NamedTuple):
    """Joint frames of the bodies of a forest, in the order of flat arrays with padding.

    Attributes
    ----------
    turned, frames : (lanes, 4) and (lanes, 3, 3) rotations from joint frames to body axes, quaternions and matrices
    origins : (lanes, 3) joint points relative to the centers of mass, in body axes, m
    """

    turned: np.ndarray
    frames: np.ndarray
    origins: np.ndarray

    @classmethod
    def of(cls, chain: Links, lanes: int) -> _JointFrames:
        """Return the joint frames of the bodies of the forest `chain`, in arrays of size `lanes`."""
        n, turned, origins = len(chain.body), np.tile(rotation.IDENTITY, (lanes, 1)), np.zeros((lanes, 3))
        hinged = np.isin(chain.kind, (HINGE, CYLINDRICAL, DRIVEN_HINGE, UNIVERSAL))
        turned[:n][hinged] = alignments(chain.axis[hinged, 0])
        welded = np.isin(chain.kind, (WELD, SLIDER, DRIVEN_SLIDER))
        if welded.any():
            turned[:n][welded] = frames_along(chain.axis[welded, 0], chain.cross[welded, 0])
        origins[:n] = chain.point[:, 0]
        return cls(turned, rotation.matrix(turned), origins)


class _Inertias(NamedTuple):
    """Mass properties of n bodies about their joint points, in their joint frames.

    Attributes
    ----------
    mass, center : (n,) and (n, 3) mass, kg, and center of mass relative to the joint point, m
    moment, inertia : (n, 3) and (n, 3, 3) mass times the center of mass, kg m, and moments of inertia, kg m^2
    """

    mass: np.ndarray
    center: np.ndarray
    moment: np.ndarray
    inertia: np.ndarray

    @classmethod
    def of(cls, model: Model, chain: Links, frames: np.ndarray) -> _Inertias:
        """Return the mass properties of the bodies of `chain`; `frames` (n, 3, 3) rotate joint frames to body axes."""
        mass, center = model.mass[chain.body], -_back(frames, chain.point[:, 0])
        inertia = np.swapaxes(frames, 1, 2) @ model.inertia[chain.body] @ frames
        squares = (center * center).sum(axis=1)[:, None, None] * np.eye(3) - center[:, :, None] * center[:, None, :]
        return cls(mass, center, mass[:, None] * center, inertia + mass[:, None, None] * squares)


def recursion(
    model: Model, chain: Links | None, slots: Slots, joints: Sequence[PlacedJoint], place: dict[int, int],
    relations: Relations,
) -> Recursion:  # fmt: skip
    """Return the tables for the recursion over a forest of joints; they are empty if `chain` is None.

    The bodies of the forest `chain` must be in the order of `slots`, the order of the bodies in flat arrays. `place` is
    the node of each joint.
    """
    if chain is None:
        nothing = np.zeros((5, 0), dtype=np.int64)
        chain, lanes = Links(*nothing[:3], *np.zeros((3, 0, 2, 3)), *nothing[3:]), 0
    else:
        lanes = slots.lanes
    n, slot, at = len(chain.body), slots.slot[chain.parent], _JointFrames.of(chain, lanes)
    inertias = _Inertias.of(model, chain, at.frames[:n])
    arm = _back(at.frames[slot], chain.point[:, 1] - at.origins[slot])

    places, blocks = stored_sums(slot.tolist(), (chain.kind != FREE).tolist(), n), BLOCKS[chain.kind]
    driven = _driven(model, chain, slots, joints, place, relations)
    first_block = np.cumsum(blocks) - blocks
    first_block[driven[:, SLOT]] = driven[:, DRIVER]
    entries = np.column_stack([chain.kind, JOINT_NUMBERS * slot, ARTICULATED * places, first_block])
    parents = np.full(lanes, n)
    parents[:n] = slot
    in_blocks = (
        (parents // WIDTH * size * WIDTH + parents % WIDTH).reshape(-1, WIDTH) for size in (POSTURE, STATE_SIZE)
    )
    return Recursion(
        entries=entries.astype(np.int32).ravel(),
        parents=np.hstack(list(in_blocks)).astype(np.int32).ravel(),
        driven=driven.astype(np.int32).ravel(),
        body_constants=_body_constants(inertias, arm),
        bodies=_constants_in_blocks(chain, at, at.frames[slot], inertias, arm),
        gravity=np.array(model.gravity, dtype=float),
        posture=aligned(POSTURE * lanes),
        joints=aligned(JOINT_NUMBERS * lanes),
        articulated=aligned(ARTICULATED * (int(places.max(initial=0)) + 1)),
        blocks=aligned(int(blocks.sum())),
        moved=aligned(WRENCH_SIZE * lanes),
        travels=bool(np.isin(chain.kind, (SLIDER, CYLINDRICAL, DRIVEN_SLIDER, UNIVERSAL)).any()),
    )


def _body_constants(inertias: _Inertias, arm: np.ndarray) -> np.ndarray:
    """Return `Recursion.body_constants` from the mass properties and the arms (n, 3) of n bodies, m.

    An arm is the vector from the joint point of the parent to that of the body, in the frame of the parent.
    """
    n = len(arm)
    constants = aligned(BODY_NUMBERS * n)
    numbers = constants.reshape(n, BODY_NUMBERS)
    numbers[:, LOWER : LOWER + 12].reshape(n, 3, ROW)[:, :, :3] = rotation.skew(inertias.moment)
    numbers[:, TURNS : TURNS + 12].reshape(n, 3, ROW)[:, :, :3] = inertias.inertia
    numbers[:, ARM : ARM + 3], numbers[:, MASS_AFTER] = arm, inertias.mass
    return constants


def _constants_in_blocks(
    chain: Links, at: _JointFrames, of_parent: np.ndarray, inertias: _Inertias, arm: np.ndarray
) -> np.ndarray:
    """Return `Recursion.bodies`, the constants of the bodies of a forest in blocks of eight.

    `of_parent` (n, 3, 3) are the rotations from the joint frames of the parents to their body axes, `arm` (n, 3) the
    vectors from their joint points to those of the bodies, in their joint frames, m.
    """
    slides, crossed = np.isin(chain.kind, (SLIDER, CYLINDRICAL, DRIVEN_SLIDER)), chain.kind == UNIVERSAL
    welded = np.isin(chain.kind, (WELD, SLIDER, DRIVEN_SLIDER))
    hinged = np.isin(chain.kind, (HINGE, CYLINDRICAL, DRIVEN_HINGE))
    lanes, upper = len(at.turned), np.triu_indices(3)
    bodies = np.zeros((lanes, BODY_CONSTANTS))
    bodies[:, ALIGNED : ALIGNED + 4], bodies[:, ALIGNMENT : ALIGNMENT + 9] = at.turned, at.frames.reshape(lanes, 9)
    middle = np.linalg.eigvalsh(inertias.inertia)[:, 1, None, None] * np.eye(3)
    columns = {
        ARM_OF_BODY: arm, MASS: inertias.mass[:, None], MASS_MOMENT: inertias.moment,
        INERTIA: inertias.inertia[:, *upper], CENTER: inertias.center, AXIS: _back(of_parent, chain.axis[:, 1]),
        POINT_FROM_CENTER: _back(of_parent, chain.point[:, 1]), HINGED: (hinged | welded)[:, None],
        UNLIKE: (inertias.inertia - middle)[:, *upper], CROSS_AXIS: _back(of_parent, chain.cross[:, 1]),
        WELDED: welded[:, None], SLIDING: slides[:, None], CROSSED: crossed[:, None],
    }  # fmt: skip
    for first, values in columns.items():
        bodies[: len(arm), first : first + values.shape[1]] = values
    constants = aligned(bodies.size)
    constants[:] = bodies.reshape(-1, WIDTH, BODY_CONSTANTS).swapaxes(1, 2).ravel()
    return constants


def _driven(
    model: Model, chain: Links, slots: Slots, joints: Sequence[PlacedJoint], place: dict[int, int], relations: Relations
) -> np.ndarray:
    """Return the integers (d, DRIVEN_ENTRIES) of d driven joints of a forest; arguments are those of `recursion`."""
    driven = []
    for slot in np.flatnonzero(chain.driver >= 0).tolist():
        driver = int(chain.driver[slot])
        row, r = joints[driver].rows.start, joints[driver].relation
        assert r is not None
        axis = slots.offset(int(chain.body[slot]), BODY_CONSTANTS) + WIDTH * AXIS
        first_input = relations.entry(r, INPUT) + relations.entry(r, NUMBERS)
        work = slots.first_auxiliary + int(model.work_of_row[row])
        driven.append(
            [slot, place[driver], relations.entry(r, MOTION), first_input, work, axis, int(chain.sense[slot])]
        )
    return np.array(driven, dtype=np.int64).reshape(-1, DRIVEN_ENTRIES)


def _back(R: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return R^T a for matrices (n, 3, 3) and vectors (n, 3)."""
    return np.einsum("nji,nj->ni", R, a)


def stored_sums(parents: Sequence[int], jointed: Sequence[bool], n: int) -> np.ndarray:
    """Return the places (n, 3) at which the recursion stores sums of articulated inertias, for each of n bodies.

    The first place contains the sum over the children of the body. From the second, the sum over the preceding children
    of the parent is read; it is 0 for the first child. At the third, this sum plus the inertia of the body is stored;
    it is -1 for free bodies and children of the ground. Place 0 always contains zero. A place is reused after its sum
    has been read, so that all sums fit into the processor's cache. `parents` are the slots of the parent bodies, with n
    for the ground, and `jointed` is true for bodies with a joint to their parent.
    """
    places = np.zeros((n, 3), dtype=np.int64)
    at_body: dict[int, int] = {}
    unused, made = [], 1
    for slot, (parent, joined) in enumerate(zip(parents, jointed, strict=True)):
        mine = at_body.pop(slot, 0)
        if mine:
            unused.append(mine)
        added_to, total = 0, -1
        if joined and parent < n:
            added_to = at_body.get(parent, 0)
            if not added_to:
                if not unused:
                    unused.append(made)
                    made += 1
                at_body[parent] = unused.pop()
            total = at_body[parent]
        places[slot] = mine, added_to, total
    return places


def new_recursion_arrays(tables: Recursion) -> Recursion:
    """Return a copy of the tables with new arrays for the results of compiled code."""
    written = ("posture", "joints", "articulated", "blocks", "moved")
    arrays: dict[str, Any] = {name: aligned(len(getattr(tables, name))) for name in written}
    return tables._replace(**arrays)
