"""Relative positions and velocities at the joints of the recursion: constraint residuals, and travel of joints.

The arrays are described in the module `recursion`; y is the state of all bodies.

The joint point of a body on a slider or cylindrical joint moves along the axis of the joint, which is fixed in the
parent. Its displacement s along the axis changes the arm from the joint point of the parent, and adds omega_p x
(omega_p x s) + 2 omega_p x s' to the relative acceleration due to velocities, with the angular velocity omega_p of the
parent.

A universal joint rotates at rates a and b about two axes: n, fixed in the parent, and z, fixed in the body. The
rotation of z relative to the parent adds a b n x z to the relative angular acceleration due to velocities.

Arguments are indices of the first element of a block of eight bodies: s in states, p in `posture`, c in `bodies`, j in
`joints`, and i in `parents`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quirk.dynamics.model.layout import POSITION, VELOCITY
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import greater, highest, load, root, splat, zero_of
from quirk.jit.tracing import traced

from .bodies import POSES, STATE
from .recursion import (
    ARM_OF_BODY,
    AXIS,
    CENTER,
    CROSS_AXIS,
    CROSSED,
    HINGED,
    JOINT_NUMBERS,
    OMEGA,
    POINT_FROM_CENTER,
    PRESENT_ARM,
    QUATERNION,
    SHIFT_BIAS,
    SLIDING,
    WELDED,
    Recursion,
)
from .recursion_bodies import BODIES, JOINTS, POSTURES
from .recursion_vectors import (
    back,
    gathered_components,
    indices_of,
    load_four,
    load_rows,
    matrix_of,
    rotated,
    store_rows,
)


class Neighbors(NamedTuple):
    """Orientations and angular velocities of eight bodies and of their parents.

    The joint frame of a body is that of the joint to its parent.

    Attributes
    ----------
    mine, other : rotation matrices, by rows, to the inertial frame: from the joint frames of the bodies, and from those
        of the parents
    omega, of_parent : angular velocities of the bodies, and of the parents, each in its own joint frame, rad/s
    at_state : indices of the first element of each parent in states
    """

    mine: Any
    other: Any
    omega: Any
    of_parent: Any
    at_state: Any

    @classmethod
    def of(cls, posture: Any, parents: Any, i: Any, p: Any) -> Neighbors:
        """Return the orientations and angular velocities of eight bodies and their parents from `posture`.

        The data of the bodies begin at element p of `posture`, and the indices of their parents at element i of
        `parents`.
        """
        at_posture = indices_of(parents, i)
        return cls(
            matrix_of(load_four(posture, p)),
            matrix_of(gathered_components(posture, at_posture, QUATERNION, 4)),
            load3(posture, p + 8 * OMEGA),
            gathered_components(posture, at_posture, OMEGA, 3),
            indices_of(parents, i + 8),
        )

    def in_joint(self, a: Any) -> Any:
        """Transform vectors a from the joint frames of the parents to the joint frames of the bodies."""
        return back(self.mine, rotated(self.other, a))

    def position_gap(self, bodies: Any, y: Any, s: Any, c: Any) -> Any:
        """Return the vectors (m) from joint points on the parents to the joint points on eight bodies.

        They are in the joint frames of the parents. The positions of the bodies begin at element s of the states y,
        their constants at element c of `bodies`.
        """
        apart = minus(load3(y, s + 8 * POSITION), gathered_components(y, self.at_state, POSITION, 3))
        apart = minus(apart, rotated(self.mine, load3(bodies, c + 8 * CENTER)))
        return minus(back(self.other, apart), load3(bodies, c + 8 * POINT_FROM_CENTER))

    def velocity_gap(self, bodies: Any, y: Any, s: Any, c: Any) -> Any:
        """Return the velocities (m/s) of joint points on eight bodies relative to the joint points on their parents.

        They are in the joint frames of the parents. The rotation of the vector between both points, which is short, is
        neglected. The velocities of the bodies begin at element s of the states y, their constants at element c of
        `bodies`.
        """
        apart = minus(load3(y, s + 8 * VELOCITY), gathered_components(y, self.at_state, VELOCITY, 3))
        return minus(
            back(self.other, minus(apart, rotated(self.mine, cross(self.omega, load3(bodies, c + 8 * CENTER))))),
            cross(self.of_parent, load3(bodies, c + 8 * POINT_FROM_CENTER)),
        )

    def second_axis(self, bodies: Any, c: Any) -> Any:
        """Return components x and y, in joint frames, of the unit vector along the second axis of universal joints.

        The second axis is fixed in the parent. The unit vector is along the projection of this axis onto the xy plane
        of the joint frame. The components are zero for other joints. The constants of the eight bodies begin at element
        c of `bodies`.
        """
        x, y, _ = self.in_joint(load3(bodies, c + 8 * AXIS))
        crossed = load(bodies, c + 8 * CROSSED)
        scale = crossed / root((x * x + y * y) * crossed + (1.0 - crossed))
        return x * scale, y * scale


def locking_pose(bodies: Any, y: Any, neighbors: Neighbors, s: Any, c: Any) -> Any:
    """Return the small relative displacements of eight joints that would remove the residuals of welds.

    The displacements are translations in the joint frames of the parents and rotations in joint frames. Joints other
    than welds need only some of the components. The data of the eight joints begin at element s of the states y and c
    of `bodies`.
    """
    gap = neighbors.position_gap(bodies, y, s, c)
    x, y_, z = neighbors.in_joint(load3(bodies, c + 8 * AXIS))
    across, about, _ = neighbors.in_joint(load3(bodies, c + 8 * CROSS_AXIS))
    # The axes may be parallel or antiparallel.
    return times(gap, -1.0), (0.0 - y_ * z, x * z, across * about)


def locking_velocity(bodies: Any, y: Any, neighbors: Neighbors, s: Any, c: Any) -> Any:
    """Return the corrections of the relative velocities of eight joints that satisfy their constraints.

    The linear corrections are minus the relative velocities of the joint points, in the joint frame of the parent. The
    angular corrections are minus the constrained components of the relative angular velocities, in the joint frame. The
    data of the eight joints begin at element s of the states y and c of `bodies`.
    """
    gap = neighbors.velocity_gap(bodies, y, s, c)
    x, y_, z = minus(neighbors.in_joint(neighbors.of_parent), neighbors.omega)
    held = load(bodies, c + 8 * HINGED)
    return times(gap, -1.0), (x * held, y_ * held, z * load(bodies, c + 8 * WELDED))


def across(bodies: Any, c: Any, a: Any) -> Any:
    """Return vectors a minus their components along the axes of slider and cylindrical joints.

    The vectors are in the joint frames of the parents. The constants of the eight bodies begin at element c of
    `bodies`.
    """
    axis = load3(bodies, c + 8 * AXIS)
    return minus(a, times(axis, dot(axis, a) * load(bodies, c + 8 * SLIDING)))


@traced
def pose_gap(
    bodies: Any, posture: Any, parents: Any, joints: Any, y: Any, i: Any, s: Any, p: Any, c: Any, j: Any
) -> None:
    """Set the prescribed relative displacements of eight joints to minus their constraint residuals at the poses in y.

    The joints must be hinges, ball joints, welds or free bodies. The results are stored in `joints`, beginning at
    element j. The data of the eight joints begin at element i of `parents`, s of y, p of `posture` (orientations of
    joint frames) and c of `bodies`.
    """
    store_gaps(joints, j, *locking_pose(bodies, y, Neighbors.of(posture, parents, i, p), s, c))


@traced
def velocity_gap(
    bodies: Any, posture: Any, parents: Any, joints: Any, y: Any, i: Any, s: Any, p: Any, c: Any, j: Any
) -> None:
    """Set the prescribed relative velocities of eight joints to minus the rates of their residuals in state y.

    The joints must be hinges, ball joints, welds or free bodies. The results are stored in `joints`, beginning at
    element j. The data of the eight joints begin at element i of `parents`, s of y, p of `posture` (orientations and
    angular velocities of joint frames) and c of `bodies`.
    """
    store_gaps(joints, j, *locking_velocity(bodies, y, Neighbors.of(posture, parents, i, p), s, c))


@traced
def pose_gap_of_any(
    bodies: Any, posture: Any, parents: Any, joints: Any, y: Any, i: Any, s: Any, p: Any, c: Any, j: Any
) -> None:
    """Set the prescribed relative displacements of eight joints to minus their constraint residuals at the poses in y.

    The joints may be of any kind. The rotation of a universal joint is about the common normal of its axes, by the
    angle that makes them perpendicular. The results are stored in `joints`, beginning at element j. The data of the
    eight joints begin at element i of `parents`, s of y, p of `posture` (orientations of joint frames) and c of
    `bodies`.
    """
    shift, turn = locking_pose(bodies, y, Neighbors.of(posture, parents, i, p), s, c)
    store_gaps(joints, j, across(bodies, c, shift), times(turn, 1.0 - 2.0 * load(bodies, c + 8 * CROSSED)))


@traced
def velocity_gap_of_any(
    bodies: Any, posture: Any, parents: Any, joints: Any, y: Any, i: Any, s: Any, p: Any, c: Any, j: Any
) -> None:
    """Set the prescribed relative velocities of eight joints to minus the rates of their residuals in state y.

    The joints may be of any kind; the poses in y must satisfy the constraints. The results are stored in `joints`,
    beginning at element j. The data of the eight joints begin at element i of `parents`, s of y, p of `posture`
    (orientations and angular velocities of joint frames) and c of `bodies`.
    """
    neighbors = Neighbors.of(posture, parents, i, p)
    shift, turn = locking_velocity(bodies, y, neighbors, s, c)
    travel = travel_of(bodies, c, neighbors.position_gap(bodies, y, s, c))
    shift = plus(shift, cross(neighbors.of_parent, times(load3(bodies, c + 8 * AXIS), travel)))
    # Of a universal joint only the rotation about the direction w = z x n is prescribed.
    nx, ny = neighbors.second_axis(bodies, c)
    x, y_, _ = minus(neighbors.in_joint(neighbors.of_parent), neighbors.omega)
    rate = nx * y_ - ny * x
    store_gaps(joints, j, across(bodies, c, shift), (turn[0] - ny * rate, turn[1] + nx * rate, turn[2]))


def store_gaps(joints: Any, j: Any, shift: Any, turn: Any) -> None:
    """Store the prescribed relative displacements of eight joints, from element j of `joints` on.

    `shift` are the translations, `turn` the rotations. They are stored in the elements that otherwise contain the
    relative accelerations due to velocities.
    """
    zero = zero_of(joints)
    store_rows(joints, j + SHIFT_BIAS, JOINT_NUMBERS, [*shift, zero, *turn, zero])


@kernel
def gaps(recursion: Recursion, y: np.ndarray, level: int) -> None:
    """Set the prescribed relative displacements of all joints to minus their constraint residuals at state y.

    If `level` is not POSES, the prescribed relative velocities are set to minus the rates of the residuals. The results
    are stored in `recursion.joints`.
    """
    bodies, posture, parents, joints = recursion.bodies, recursion.posture, recursion.parents, recursion.joints
    for block in range(posture.shape[0] // POSTURES):
        i, s, p, c, j = block * 16, block * STATE, block * POSTURES, block * BODIES, block * JOINTS
        if recursion.travels:
            if level == POSES:
                pose_gap_of_any(bodies, posture, parents, joints, y, i, s, p, c, j)
            else:
                velocity_gap_of_any(bodies, posture, parents, joints, y, i, s, p, c, j)
        elif level == POSES:
            pose_gap(bodies, posture, parents, joints, y, i, s, p, c, j)
        else:
            velocity_gap(bodies, posture, parents, joints, y, i, s, p, c, j)


def travel_of(bodies: Any, c: Any, gap: Any) -> Any:
    """Return the components of vectors `gap` along the axes of slider and cylindrical joints.

    They are zero for other joints. The vectors are in the joint frames of the parents. The constants of the eight
    bodies begin at element c of `bodies`.
    """
    return dot(load3(bodies, c + 8 * AXIS), gap) * load(bodies, c + 8 * SLIDING)


@traced
def store_travel(
    bodies: Any, posture: Any, parents: Any, joints: Any, y: Any, i: Any, s: Any, p: Any, c: Any, j: Any
) -> None:
    """Store the arms and second axes of eight joints at state y, and complete their accelerations due to velocities.

    The arm is the vector from the joint point of the parent to that of the body, which depends on the state for slider
    and cylindrical joints. The second axis of a universal joint is fixed in the parent. Sliding and rotation about two
    axes contribute to the relative accelerations due to velocities; these contributions, given in the module docstring,
    are added. The results are stored in `joints`, beginning at element j. The data of the eight joints begin at element
    i of `parents`, s of y, p of `posture` (orientations and angular velocities of joint frames) and c of `bodies`.
    """
    neighbors, zero = Neighbors.of(posture, parents, i, p), zero_of(joints)
    axis, of_parent = load3(bodies, c + 8 * AXIS), neighbors.of_parent
    travel = travel_of(bodies, c, neighbors.position_gap(bodies, y, s, c))
    rate = travel_of(bodies, c, neighbors.velocity_gap(bodies, y, s, c))
    shift = cross(of_parent, plus(times(cross(of_parent, axis), travel), times(axis, 2.0 * rate)))
    nx, ny = neighbors.second_axis(bodies, c)
    x, y_, z = minus(neighbors.omega, neighbors.in_joint(of_parent))
    rates = (x * nx + y_ * ny) * z
    bx, by, bz, _, dx, dy, dz, _ = load_rows(joints, j + SHIFT_BIAS, JOINT_NUMBERS)
    shift, turn = plus((bx, by, bz), shift), (dx + ny * rates, dy - nx * rates, dz)
    store_rows(joints, j + SHIFT_BIAS, JOINT_NUMBERS, [*shift, zero, *turn, zero])
    arm = plus(load3(bodies, c + 8 * ARM_OF_BODY), times(axis, travel))
    ax, ay, az = times(arm, load(bodies, c + 8 * SLIDING))
    store_rows(joints, j + PRESENT_ARM - 4, JOINT_NUMBERS, [zero, zero, zero, zero, ax + nx, ay + ny, az, zero])


@kernel
def travels(recursion: Recursion, y: np.ndarray) -> None:
    """Store the arms and second axes of all joints at state y, and complete their accelerations due to velocities.

    The arm is the vector from the joint point of the parent to that of the body, which depends on the state for slider
    and cylindrical joints. The second axis of a universal joint is fixed in the parent. Sliding and rotation about two
    axes contribute to the relative accelerations due to velocities; these contributions, given in the module docstring,
    are added. The results are stored in `recursion.joints`.
    """
    bodies, posture, parents, joints = recursion.bodies, recursion.posture, recursion.parents, recursion.joints
    for block in range(posture.shape[0] // POSTURES):
        i, s, p, c, j = block * 16, block * STATE, block * POSTURES, block * BODIES, block * JOINTS
        store_travel(bodies, posture, parents, joints, y, i, s, p, c, j)


@traced
def slid_of(
    bodies: Any, posture: Any, parents: Any, joints: Any, y: Any, i: Any, s: Any, p: Any, c: Any, j: Any
) -> Any:
    """Return the squares of the distances (m^2) by which eight joints have slid since their arms were stored.

    The arm is the vector from the joint point of the parent to that of the body. The data of the eight joints begin at
    element i of `parents`, s of the states y, p of `posture` (orientations and angular velocities of joint frames), c
    of `bodies` and j of `joints`.
    """
    _, _, _, _, x, y_, z, _ = load_rows(joints, j + PRESENT_ARM - 4, JOINT_NUMBERS)
    gap = Neighbors.of(posture, parents, i, p).position_gap(bodies, y, s, c)
    slid = travel_of(bodies, c, minus(plus(gap, load3(bodies, c + 8 * ARM_OF_BODY)), (x, y_, z)))
    return slid * slid


@kernel
def slid_since(recursion: Recursion, y: np.ndarray) -> float:
    """Return the largest distance (m) by which a joint has slid between the last factorization and the state y.

    The orientations in `recursion.posture` must be those of the factorization.
    """
    bodies, posture, parents, joints = recursion.bodies, recursion.posture, recursion.parents, recursion.joints
    largest = splat(0.0)
    for block in range(posture.shape[0] // POSTURES):
        i, s, p, c, j = block * 16, block * STATE, block * POSTURES, block * BODIES, block * JOINTS
        largest = greater(largest, slid_of(bodies, posture, parents, joints, y, i, s, p, c, j))
    return highest(largest) ** 0.5
