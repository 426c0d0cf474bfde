"""Constraint rows A, right-hand sides b, residuals Phi and their rates Phi_dot, in the dense reference solver.

There are n bodies and m rows; K is the number of time derivatives. The last body, with index n, is the ground. A
relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import Kinematics
from quirk.constraints.primitives import constraint_time_derivatives, constraint_wrenches
from quirk.constraints.relation import RelationLayout, layout_of

from ..model.model import Model, PlacedRelation
from ..model.time_derivatives import PoseDerivatives, factorials


@dataclass(frozen=True)
class ConstraintRows:
    """The m rows of A xdd = b over xdd = (rdd_0, qdd_0, rdd_1, qdd_1, ...) for n bodies, with Phi and its rate.

    Attributes
    ----------
    A : (m, 7 n) constraint rows
    b : (m,) right-hand sides
    phi, phi_dot : (m,) residual of each row at the state, and its rate
    labels : names of the m rows, "joint: constrained quantity"
    """

    A: np.ndarray
    b: np.ndarray
    phi: np.ndarray
    phi_dot: np.ndarray
    labels: list[str]

    def __repr__(self) -> str:
        return f"<ConstraintRows: {self.A.shape[0]} rows over {self.A.shape[1] // 7} bodies>"

    def _repr_html_(self) -> str:
        from quirk.graphics.notebook.systems import of_rows

        return of_rows(self)


def constraint_rows(model: Model, kin: Kinematics, t: float) -> ConstraintRows:
    """Return all constraint rows at a state.

    The columns that multiply quaternion accelerations are A_q = A_omega T, for the rows A_omega over angular velocities
    and omega = T q'. The time derivative of T does not contribute, as in the ball-joint notes.
    """
    phi = residuals(model, kin, t, 2)
    A_body = tangent_rows(model, kin, t).reshape(model.rows, len(model.mass), 6)
    T = rotation.T_matrix(kin.orientation[:-1])
    A = np.concatenate([A_body[..., :3], np.einsum("mni,nij->mnj", A_body[..., 3:], T)], axis=2)
    return ConstraintRows(A.reshape(model.rows, 7 * len(model.mass)), -phi[:, 2], phi[:, 0], phi[:, 1], model.labels)


# Known values of each relation: Phi with derivatives (rows, 3), and gradients (rows, frames, 6) in the inertial frame.
Known = Sequence[tuple[np.ndarray, np.ndarray]]


def residuals(model: Model, kin: Kinematics, t: float, order: int, stored: Known | None = None) -> np.ndarray:
    """Return Phi and its time derivatives up to `order`, (m, order + 1), for bodies with zero accelerations.

    The second derivative of Phi is then -b. `stored` are previously computed values of relations (constraint
    functions).
    """
    return residual_derivatives(model, PoseDerivatives.of(kin, order), t, stored)


def residual_derivatives(model: Model, motion: PoseDerivatives, t: float, stored: Known | None = None) -> np.ndarray:
    """Return the residuals Phi of m rows and their time derivatives, (m, K + 1), along a motion.

    K is the order of the motion. `stored` are previously computed values of relations (constraint functions).
    """
    order = motion.order
    phi = np.zeros((model.rows, order + 1))
    scratch = np.zeros((3, order + 1, 3))
    constraint_time_derivatives(model.table, motion.rotation, motion.position, motion.spin, scratch, phi)
    for r, placed in enumerate(model.relations):
        phi[placed.rows] = relation_rows(placed, motion, t)[0] if stored is None else stored[r][0][:, : order + 1]
    return phi


def relation_rows(
    placed: PlacedRelation, motion: PoseDerivatives, t: float, gradient_order: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residuals Phi of a relation (constraint function) and its gradients, with time derivatives.

    Returns
    -------
    derivatives : (rows, K + 1) Phi and its time derivatives
    gradients : (rows, frames, gradient_order + 1, 6) gradients with respect to poses and their time derivatives,
        inertial frame
    """
    relation = placed.relation
    # At least one derivative: relations on velocities are defined by it.
    order = max(motion.order, gradient_order, 1)
    layout = layout_of(relation, len(placed.bodies), order, gradient_order)
    outputs = np.zeros(layout.outputs)
    placed.fill(layout, False, t, relation_inputs(placed, layout, motion, t), outputs)
    rows, terms = layout.rows, gradient_order + 1
    derivatives = outputs[: layout.first_gradient].reshape(rows, order + 1)
    gradients = outputs[layout.first_gradient :].reshape(rows, layout.frames, terms, 8)[..., :6]
    return derivatives[:, : motion.order + 1], gradients * factorials(gradient_order)[:, None]


def relation_inputs(placed: PlacedRelation, layout: RelationLayout, motion: PoseDerivatives, t: float) -> np.ndarray:
    """Return the inputs of a relation (constraint function) at time t (s) of a motion, in the order of `layout`."""
    relation, order = placed.relation, layout.order
    parts = [np.array(relation.numbers)]
    factorial = factorials(order)[:, None]
    owner = f"{placed.owner}, motion"
    parts += [drive.derivatives_for(owner, t, order) / factorial[:, 0] for drive in relation.motions]
    for body, frame in zip(placed.bodies, placed.frames, strict=True):
        position, spin = np.zeros((order + 1, 3)), np.zeros((order, 3))
        position[: motion.order + 1] = motion.position[body]
        spin[: motion.spin.shape[1]] = motion.spin[body, :order]
        parts += [frame, (position / factorial).ravel(), motion.rotation[body].ravel()]
        parts += [(spin / factorial[:-1]).ravel()]
    return np.concatenate(parts)


def spatial_rows(model: Model, kin: Kinematics, t: float, stored: Known | None = None) -> np.ndarray:
    """Return the constraint rows (m, n + 1, 6) over velocities and angular velocities in the inertial frame.

    For a unit multiplier of a row, the first three components are the force on a body, and the last three the moment
    about its center of mass. `stored` are previously computed values of relations (constraint functions).
    """
    # User-defined rows may depend on velocities.
    return row_derivatives(model, PoseDerivatives.of(kin, 1), t, 0, stored)[..., 0, :]


def row_derivatives(
    model: Model, motion: PoseDerivatives, t: float, order: int | None = None, stored: Known | None = None
) -> np.ndarray:
    """Return the rows of `spatial_rows` with K time derivatives along a motion, (m, n + 1, K + 1, 6).

    K is `order`, by default the order of the motion. K must be 0 if previously computed values of relations are
    passed as `stored`.
    """
    order = motion.order if order is None else order
    low = motion.truncated(order)
    rows = np.zeros((model.rows, len(motion.rotation), order + 1, 6))
    wrench = np.zeros((model.rows, 3, order + 1, 3))
    constraint_wrenches(model.table, low.rotation, low.position, low.spin, np.zeros((4, order + 1, 3)), wrench)
    m = np.flatnonzero(model.row_primitive >= 0)
    i, j = model.table.body[model.row_primitive[m]].T
    rows[m, i, :, :3], rows[m, i, :, 3:] = -wrench[m, 0], wrench[m, 1]
    rows[m, j, :, :3], rows[m, j, :, 3:] = wrench[m, 0], wrench[m, 2]
    for r, placed in enumerate(model.relations):
        gradient = relation_rows(placed, motion, t, order)[1] if stored is None else stored[r][1][:, :, None]
        for f, body in enumerate(placed.bodies):
            rows[placed.rows, body] += gradient[:, f]
    return rows


def tangent_rows(model: Model, kin: Kinematics, t: float) -> np.ndarray:
    """Return the constraint rows (m, 6 n) over velocities (inertial frame) and angular velocities (body axes).

    The order of columns is (v_0, omega_0, v_1, ...).
    """
    return in_body_axes(model, kin, spatial_rows(model, kin, t))


def in_body_axes(model: Model, kin: Kinematics, spatial: np.ndarray) -> np.ndarray:
    """Convert rows (m, n + 1, 6), as returned by `spatial_rows`, to rows (m, 6 n) with angular velocities in body axes.

    The result is ordered like that of `tangent_rows`.
    """
    A = spatial[:, :-1]
    turned = np.einsum("nkl,mnk->mnl", kin.rotation[:-1], A[..., 3:])
    return np.concatenate([A[..., :3], turned], axis=2).reshape(model.rows, 6 * len(model.mass))
