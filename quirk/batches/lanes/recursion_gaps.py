"""Relative positions and velocities at the joints of a forest in SIMD lanes: gaps, tilts, and joint axes.

A gap is the translation of a body, and a tilt its rotation, that satisfies the constraint rows of its joint.
The formulas are those of runs of a single system (`quirk.dynamics.sparse.kernels.recursion_gaps`). Index arguments are
offsets into flat arrays at which data begin: n of the link in `numbers` (constants), k of the body and p of its parent
in `kin` (kinematics), s of the body and q of its parent in the states y. Gaps are in the axes of the parent, tilts in
body axes.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.layout import OMEGA, POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import columns_times, cross, dot, load3, minus, plus, rows_times, times
from quirk.jit.simd import root
from quirk.jit.tracing import traced

from .links import AXIS, AXIS_ON_PARENT, CENTER, CROSS, CROSS_ON_PARENT, POINT_ON_PARENT


@traced
def pose_gap(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the translation of a body, in the axes of its parent, that makes the two points of a joint coincide.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body), p of `kin` (kinematics of the parent) and q of y (state of the parent).
    """
    r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
    # Subtract positions first: far from the origin their difference is exact, whereas sums with arms are not.
    apart = minus(minus(load3(y, s + 8 * POSITION), load3(y, q + 8 * POSITION)), r)
    return minus(load3(numbers, n + 8 * POINT_ON_PARENT), columns_times(kin, p + 8 * ROTATION, apart))


@traced
def velocity_gap(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the velocity change of a body that makes the velocities of the two joint points equal.

    The points are close to each other. The result is in the axes of the parent. Data begin at offsets n of `numbers`
    (constants of the link), k of `kin` (kinematics of the body), s of y (state of the body), p of `kin` (kinematics of
    the parent) and q of y (state of the parent).
    """
    r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
    apart = minus(load3(y, s + 8 * VELOCITY), load3(y, q + 8 * VELOCITY))
    apart = minus(apart, cross(load3(kin, k + 8 * SPIN), r))
    on_parent = cross(load3(y, q + 8 * OMEGA), load3(numbers, n + 8 * POINT_ON_PARENT))
    return minus(on_parent, columns_times(kin, p + 8 * ROTATION, apart))


def across(numbers: Any, n: Any, a: Any) -> Any:
    """Return a vector a, in the axes of the parent, minus its component along the axis of a sliding joint.

    The constants of the link begin at offset n of `numbers`.
    """
    axis = load3(numbers, n + 8 * AXIS_ON_PARENT)
    return minus(a, times(axis, dot(axis, a)))


@traced
def sliding_pose_gap(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the translation of a body, perpendicular to its joint axis, that brings its joint point onto the axis.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body), p of `kin` (kinematics of the parent) and q of y (state of the parent).
    """
    return across(numbers, n, pose_gap(numbers, y, kin, n, k, p, s, q))


@traced
def sliding_velocity_gap(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the velocity change of a body, perpendicular to a joint axis, that keeps its joint point on the axis.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body), p of `kin` (kinematics of the parent) and q of y (state of the parent).
    """
    _, along = travel_of(numbers, y, kin, n, k, p, s, q)
    gap = velocity_gap(numbers, y, kin, n, k, p, s, q)
    return across(numbers, n, plus(gap, cross(load3(y, q + 8 * OMEGA), along)))


def travel_of(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the axis of a sliding joint, and the travel along it, as vectors in the axes of the parent.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body), p of `kin` (kinematics of the parent) and q of y (state of the parent).
    """
    axis = load3(numbers, n + 8 * AXIS_ON_PARENT)
    return axis, times(axis, -dot(axis, pose_gap(numbers, y, kin, n, k, p, s, q)))


def sliding_rate(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the rate of travel of a sliding joint, m/s.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body), p of `kin` (kinematics of the parent) and q of y (state of the parent).
    """
    return -dot(load3(numbers, n + 8 * AXIS_ON_PARENT), velocity_gap(numbers, y, kin, n, k, p, s, q))


def axis_on_parent(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the joint axis that is fixed in the parent, as a vector in body axes.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and p of `kin`
    (kinematics of the parent).
    """
    on_parent = rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * AXIS_ON_PARENT))
    return columns_times(kin, k + 8 * ROTATION, on_parent)


def second_axis(axis: Any, on_parent: Any) -> Any:
    """Return the second axis of a universal joint: the unit vector along the component of `on_parent` across `axis`.

    `axis` is the joint axis fixed in the body, `on_parent` that fixed in the parent.
    """
    projected = minus(on_parent, times(axis, dot(axis, on_parent)))
    return times(projected, 1.0 / root(dot(projected, projected)))


def hinge_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that aligns the axis of its hinge with the axis fixed to the parent.

    The axes are aligned to be parallel or antiparallel, whichever is nearer. Data begin at offsets n of `numbers`
    (constants of the link), k of `kin` (kinematics of the body) and p of `kin` (kinematics of the parent).
    """
    axis, on_parent = load3(numbers, n + 8 * AXIS), axis_on_parent(numbers, kin, n, k, p)
    return times(cross(axis, on_parent), dot(axis, on_parent))


@traced
def hinge_pose_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that aligns the two axes of its hinge.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and p of `kin`
    (kinematics of the parent).
    """
    return hinge_tilt(numbers, kin, n, k, p)


@traced
def weld_pose_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that aligns the z and x axes of its weld with those on the parent.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and p of `kin`
    (kinematics of the parent).
    """
    on_parent = rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * CROSS_ON_PARENT))
    on_parent = columns_times(kin, k + 8 * ROTATION, on_parent)
    z, x = load3(numbers, n + 8 * AXIS), load3(numbers, n + 8 * CROSS)
    about_z = dot(x, on_parent) * dot(cross(z, x), on_parent)
    return plus(hinge_tilt(numbers, kin, n, k, p), times(z, about_z))


@traced
def universal_pose_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that makes the two axes of its universal joint perpendicular.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and p of `kin`
    (kinematics of the parent).
    """
    return times(hinge_tilt(numbers, kin, n, k, p), -1.0)


def spin_to_parent(y: Any, kin: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the angular velocity of the parent minus that of the body, in body axes.

    Data begin at offsets k of `kin` (kinematics of the body), s of y (state of the body) and p of `kin` (kinematics of
    the parent).
    """
    return minus(columns_times(kin, k + 8 * ROTATION, load3(kin, p + 8 * SPIN)), load3(y, s + 8 * OMEGA))


@traced
def hinge_velocity_tilt(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the change of a body's angular velocity, body axes, that leaves only relative rotation about its hinge.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body) and p of `kin` (kinematics of the parent).
    """
    relative, axis = spin_to_parent(y, kin, k, p, s), load3(numbers, n + 8 * AXIS)
    return minus(relative, times(axis, dot(axis, relative)))


@traced
def weld_velocity_tilt(y: Any, kin: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the change of a body's angular velocity, body axes, that makes it equal to the parent's.

    Data begin at offsets k of `kin` (kinematics of the body), s of y (state of the body) and p of `kin` (kinematics of
    the parent).
    """
    return spin_to_parent(y, kin, k, p, s)


@traced
def universal_velocity_tilt(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the change of a body's angular velocity, body axes, that leaves only rotations about its universal joint.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body), s of y (state of
    the body) and p of `kin` (kinematics of the parent).
    """
    axis = load3(numbers, n + 8 * AXIS)
    normal = cross(axis, second_axis(axis, axis_on_parent(numbers, kin, n, k, p)))
    return times(normal, dot(normal, spin_to_parent(y, kin, k, p, s)))
