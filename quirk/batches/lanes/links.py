"""Forests of joints in SIMD lanes: tables, constants and layout for the recursion over joints.

A link is a body with the joint to its parent, which is the next body toward the root; bodies without a parent are free.
The joint point of a link is the point of this joint; for a free body it is the center of mass. Links are stored from
the tips to the roots, as in runs of a single system (`quirk.dynamics.sparse.kernels.recursion`). Vectors are in
inertial axes, whereas runs of a single system use joint axes: in lanes, rotating inertias from joint to joint would be
slower.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.dynamics.model.model import Model
from quirk.dynamics.sparse.kernels.recursion import FREE
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.symbolic.placed_joint import PlacedJoint
from quirk.dynamics.sparse.symbolic.tables_of_recursion import links, stored_sums

# Integer data of each link: kind of its joint; indices of its body and its parent body, where the number of bodies
# denotes the ground; and three indices in the array of sums: of the sum over the children of the body, of the sum over
# the preceding children of its parent, and of the latter sum with this link added, -1 if the parent is the ground.
KIND, BODY, PARENT, CHILDREN, ADDED_TO, SUM = range(6)
LINK_ENTRIES = 6

# Constants of each link: mass; center of mass relative to the joint point, body axes; joint point relative to the joint
# point of the parent, axes of the parent, for a sliding joint at zero travel; z axis of the joint, body axes; the
# inertia about the joint point J = j 1 + v v^T - u u^T, body axes, as its middle principal moment j and the vectors u
# and v; joint point relative to the center of mass of the parent, and z axis of the joint, both in the axes of the
# parent; x axis of a weld or slider, in the axes of body and parent. The z axis is the axis of the joint; a universal
# joint has one axis fixed in the body and one fixed in the parent. J is split because the part j 1 does not contribute
# to omega x J omega, but its round-off would make slender bodies spin.
MASS, CENTER, ARM, AXIS, MIDDLE, LESS, MORE, POINT_ON_PARENT, AXIS_ON_PARENT = 0, 1, 4, 7, 10, 11, 14, 17, 20
CROSS, CROSS_ON_PARENT = 23, 26
LINK_NUMBERS = 29

# Quantities computed for each link, in inertial axes: CENTER and the present ARM; the velocity-dependent relative
# acceleration of the joint point, and angular acceleration; the second derivative of CENTER at constant angular
# velocity. Then for each degree of freedom: its axis, the momentum of unit velocity along or about the axis, the
# inverse of its inertia, and its acceleration for a parent without acceleration. The first degree of freedom is the
# rotation about the z axis of the joint, or the translation of a slider. The second one, at an offset of SECOND
# elements, is the translation of a cylindrical joint, or the second rotation of a universal joint, about the component
# of the parent's axis perpendicular to the body's axis. A ball joint or a free body with the articulated inertia (M, H,
# J) has instead: the inverse of J (xx, xy, xz, yy, yz, zz), the rows of H J^-1, and the angular acceleration for a
# joint point without acceleration; a free body also has the inverse of M - H J^-1 H^T and the acceleration of its joint
# point.
FROM_POINT, TO_POINT, SHIFT, TURN, BEND = 0, 3, 6, 9, 12
DIRECTION, MOMENTUM, COMPLIANCE, ALONE = 15, 18, 24, 25
INVERSE, GIVEN, ALONE_TURN, INVERSE_OF_SHIFTS, ALONE_SHIFT = 15, 21, 30, 33, 39
SECOND = 11
LINK_WORK = 42

# Layout of a sum over the children of a body: 21 components of the articulated inertia as in
# `quirk.dynamics.sparse.kernels.inertia`, followed by force and moment.
SUM_FORCE, SUM_MOMENT = 21, 24
SUM_NUMBERS = 27

# Number of geometry data of each link for each member: joint point relative to the centers of mass of body and parent,
# z axis of the joint, and x axis of a weld or slider, each in the axes of the body and of the parent.
LINK_GEOMETRY = 18


def suits(solver: Solver) -> bool:
    """Return whether lanes can compute the accelerations of a system by recursion over its joints."""
    laws = solver.applied.table
    needs_rows = solver.closings.nodes.size or solver.frictions.element.size or laws.working.size
    return bool(solver.recursion.entries.size and not needs_rows)


def placed_joints(solver: Solver) -> list[PlacedJoint]:
    """Return the joints of a system whose accelerations are computed by recursion."""
    return [joint for joint in solver.tables.joints if joint is not None]


def link_entries(model: Model, joints: Sequence[PlacedJoint]) -> np.ndarray:
    """Return the integer data of all links as a flat array.

    They are the kind of the joint, its bodies, and indices of sums of inertias (KIND to SUM). `joints` are the joints
    of the forest.
    """
    chain, n = links(model, joints), len(model.mass)
    assert chain is not None
    place = np.empty(n + 1, dtype=np.int64)
    place[[*chain.body, n]] = np.arange(n + 1)
    sums = stored_sums(place[chain.parent].tolist(), (chain.kind != FREE).tolist(), n)
    return np.column_stack([chain.kind, chain.body, chain.parent, sums]).astype(np.int64).ravel()


def link_geometry(model: Model, joints: Sequence[PlacedJoint]) -> np.ndarray:
    """Return the geometry of the links of a model as a flat array, in the axes of body and parent.

    If the recursion does not apply to the model, the array is filled with NaN.
    """
    chain = links(model, joints)
    if chain is None:
        return np.full(LINK_GEOMETRY * len(model.mass), np.nan)
    return np.concatenate([chain.point, chain.axis, chain.cross], axis=1).reshape(-1)


def link_numbers(entries: np.ndarray, geometry: np.ndarray, mass: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Return the constants (count, LINK_NUMBERS n) of the links of `count` members with n bodies.

    Parameters
    ----------
    entries : integer data of the links, see `link_entries`
    geometry : (count, LINK_GEOMETRY n), see `link_geometry`
    mass, inertia : (count, n) and (count, n, 3, 3), kg and kg m^2, in the order of the bodies
    """
    count, n = mass.shape
    body, parent = entries.reshape(n, LINK_ENTRIES)[:, [BODY, PARENT]].T
    vectors = np.moveaxis(geometry.reshape(count, n, LINK_GEOMETRY // 3, 3), 2, 0)
    on_body, on_parent, axis, axis_on_parent, across, across_on_parent = vectors
    points = np.zeros((count, n + 1, 3))
    points[:, body] = on_body
    m, c = mass[:, body], -on_body
    about_point = inertia[:, body] + m[..., None, None] * (
        (c * c).sum(axis=2)[..., None, None] * np.eye(3) - c[..., :, None] * c[..., None, :]
    )
    finite = np.where(np.isfinite(about_point), about_point, 0.0)
    moments, axes = np.linalg.eigh(finite)
    less, more = np.moveaxis(axes[..., [0, 2]] * np.sqrt(np.diff(moments, axis=2))[..., None, :], 3, 0)
    columns = {
        MASS: m[..., None], CENTER: c, ARM: on_parent - points[:, parent], AXIS: axis,
        MIDDLE: moments[..., 1:2], LESS: less, MORE: more, POINT_ON_PARENT: on_parent, AXIS_ON_PARENT: axis_on_parent,
        CROSS: across, CROSS_ON_PARENT: across_on_parent,
    }  # fmt: skip
    numbers = np.empty((count, n, LINK_NUMBERS))
    for first, values in columns.items():
        numbers[..., first : first + values.shape[2]] = values
    return numbers.reshape(count, -1)
