"""Constraint rows A, b, Phi and Phi_dot of a whole model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk import rotation
from quirk.constraints.primitives import constraint_tower, constraint_wrenches
from quirk.state import Kinematics

from .model import Model


@dataclass(frozen=True)
class ConstraintRows:
    """A xdd = b over xdd = (rdd_0, qdd_0, rdd_1, qdd_1, ...), with Phi and its rate.

    Attributes
    ----------
    A : (m, 7 n)
    b : (m,)
    phi, phi_dot : (m,) how far the state is from satisfying each row, and how fast that changes
    labels : m strings, "joint: what the row holds"
    """

    A: np.ndarray
    b: np.ndarray
    phi: np.ndarray
    phi_dot: np.ndarray
    labels: list[str]


def constraint_rows(model: Model, kin: Kinematics) -> ConstraintRows:
    """Evaluate all rows; A_q = A_omega T as in the ball-joint notes, where T's rate drops out."""
    phi = residuals(model, kin, 2)
    A_body = tangent_rows(wrenches(model, kin), model, kin).reshape(model.rows, len(model.mass), 6)
    T = rotation.T_matrix(kin.orientation[:-1])
    A = np.concatenate([A_body[..., :3], np.einsum("mni,nij->mnj", A_body[..., 3:], T)], axis=2)
    return ConstraintRows(A.reshape(model.rows, 7 * len(model.mass)), -phi[:, 2], phi[:, 0], phi[:, 1], model.labels)


def residuals(model: Model, kin: Kinematics, order: int) -> np.ndarray:
    """Phi and its derivatives up to `order` (m, order + 1), for bodies without acceleration.

    Column 2 is then -b: what is left of Phi's second derivative when A xdd is taken away.
    """
    n = len(kin.position)
    translation = np.zeros((n, order + 1, 3))
    spin = np.zeros((n, max(order, 1), 3))
    translation[:, 0] = kin.position
    if order > 0:
        translation[:, 1] = kin.velocity
        spin[:, 0] = kin.spin
    phi = np.zeros((model.rows, order + 1))
    scratch = np.zeros((3, order + 1, 3))
    constraint_tower(model.table, kin.rotation, translation, spin, scratch, phi)
    return phi


def wrenches(model: Model, kin: Kinematics) -> np.ndarray:
    """Per row the force on j and the moments on i and j about their centres of mass (m, 3, 3), N."""
    wrench = np.zeros((model.rows, 3, 3))
    constraint_wrenches(model.table, kin.rotation, kin.position, np.zeros((4, 1, 3)), wrench)
    return wrench


def tangent_rows(wrench: np.ndarray, model: Model, kin: Kinematics) -> np.ndarray:
    """Rows (m, 6 n) over (v_0, omega_0, v_1, ...), v in N and omega in body axes."""
    m = model.rows
    i, j = model.row_body.T
    A = np.zeros((m, len(kin.position), 6))
    rows = np.arange(m)
    A[rows, i, :3] = -wrench[:, 0]
    A[rows, j, :3] = wrench[:, 0]
    A[rows, i, 3:] = np.einsum("mkl,mk->ml", kin.rotation[i], wrench[:, 1])
    A[rows, j, 3:] = np.einsum("mkl,mk->ml", kin.rotation[j], wrench[:, 2])
    return A[:, :-1].reshape(m, 6 * len(model.mass))
