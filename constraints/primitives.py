"""The four elementary constraints (primitives) of which joints are composed, and functions that evaluate them.

Each is a bilinear form Phi = x . y - c of two vectors x and y, its factors. A body i has points p_i = r + R s and
directions a = R a', body j has points p_j and directions b, and d = p_j - p_i:

=============  ============================  ====
coincidence    Phi = d                       3 rows
dot-1          Phi = a . b - c               1 row
dot-2          Phi = a . d - c               1 row
distance       Phi = d . d - c               1 row
=============  ============================  ====

The rows of a coincidence are e . d for the inertial axes e = x, y and z, so that their factors are e and d. `FACTORS`
holds the factors of each kind of primitive; rows, units, derivatives and tables are computed from the factors.

`constraint_time_derivatives` computes Phi and its time derivatives. The K-th derivative of Phi is linear in the K-th
derivatives x^(K) of all positions and orientations: it is A x^(K) - gamma_K. The right-hand side gamma_K of the
constraint rows A x^(K) = gamma_K is therefore minus the K-th derivative of Phi, evaluated with x^(K) = 0; gamma_2 is
the right-hand side of the equation for accelerations. `constraint_wrenches` computes the Jacobian A and its time
derivatives. A row of A is also the load of a unit multiplier.

Sources: Haug's primitives as in "Common Kinematic Constraints in 3D", eqs. 1-34; the sign is that of p_j - p_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..jit.compilation import entry
from .relation import FORCE, TORQUE
from .time_derivatives import cross_derivatives, fixed_vector_derivatives, product_derivatives

X, Y, Z = range(3)
_LETTERS = "xyz"

# Factors x and y of Phi = x . y - c: the three inertial axes, one in each row; an axis of the joint frame, of frame i
# for x and of frame j for y; and d, the vector between the joint points.
INERTIAL, AXIS, SEPARATION = range(3)

# Kinds of primitives, and the factors x and y of each kind. Factor y is AXIS or SEPARATION; it is SEPARATION if x is
# INERTIAL.
COINCIDENCE, DOT1, DOT2, DISTANCE = range(4)
FACTORS = np.array([(INERTIAL, SEPARATION), (AXIS, AXIS), (AXIS, SEPARATION), (SEPARATION, SEPARATION)])


@dataclass(frozen=True)
class Primitive:
    """One elementary constraint of a joint.

    Attributes
    ----------
    kind : COINCIDENCE, DOT1, DOT2 or DISTANCE
    axis_i, axis_j : axes (X, Y or Z) of the joint frames i and j in the constraint
    offset : the constant c
    """

    kind: int
    axis_i: int = X
    axis_j: int = X
    offset: float = 0.0

    @cached_property
    def factors(self) -> tuple[int, int]:
        """The factors x and y of Phi: INERTIAL, AXIS or SEPARATION."""
        x, y = FACTORS[self.kind].tolist()
        return x, y

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the rows: the constrained quantities."""
        x, y = self.factors
        if x == INERTIAL:
            return tuple(f"coincidence along {c}" for c in _LETTERS)
        names = [
            "d" if factor == SEPARATION else f"{_LETTERS[axis]}_{frame}"
            for factor, axis, frame in ((x, self.axis_i, "i"), (y, self.axis_j, "j"))
        ]
        return (" . ".join(names),)

    @cached_property
    def units(self) -> tuple[int, ...]:
        """Units of the multipliers of the rows: FORCE if a factor is the vector d = p_j - p_i, otherwise TORQUE."""
        return (FORCE if SEPARATION in self.factors else TORQUE,) * len(self.labels)

    @property
    def numbers(self) -> tuple[float]:
        """Constants of the rows: c."""
        return (self.offset,)

    @property
    def scale(self) -> float:
        """Derivative of Phi with respect to the constrained length or angle: 2 l for a squared distance l^2, else 1."""
        return 2 * math.sqrt(self.offset) if self.is_square else 1.0

    @property
    def is_square(self) -> bool:
        """Whether Phi is the square of a length minus c."""
        return self.factors == (SEPARATION, SEPARATION)


coincidence = Primitive(COINCIDENCE)


def dot1(axis_i: int, axis_j: int) -> Primitive:
    """Return the primitive that keeps the axis `axis_i` of frame i perpendicular to `axis_j` of frame j."""
    return Primitive(DOT1, axis_i, axis_j)


def dot2(axis_i: int) -> Primitive:
    """Return the primitive that keeps d = p_j - p_i perpendicular to the axis `axis_i` of frame i."""
    return Primitive(DOT2, axis_i)


def distance(length: float) -> Primitive:
    """Return the primitive that keeps p_j at a distance of `length`, m, from p_i."""
    return Primitive(DISTANCE, offset=length**2)


class PrimitiveTable(NamedTuple):
    """Arrays of all primitives of a model: P primitives with m rows in total.

    Attributes
    ----------
    kind : (P,) COINCIDENCE, DOT1, DOT2 or DISTANCE
    row : (P,) index of the first row
    body : (P, 2) indices of bodies i and j
    arm : (P, 2, 3) joint points in body coordinates, m
    direction : (P, 2, 3) axes in body coordinates
    offset : (P,) constants c
    """

    kind: np.ndarray
    row: np.ndarray
    body: np.ndarray
    arm: np.ndarray
    direction: np.ndarray
    offset: np.ndarray


@entry
def constraint_time_derivatives(
    table: PrimitiveTable,
    R: np.ndarray,
    translation: np.ndarray,
    spin: np.ndarray,
    scratch: np.ndarray,
    phi: np.ndarray,
) -> None:
    """Fill `phi` (m, K + 1) with Phi and its first K time derivatives for all m rows.

    `R` (n, 3, 3) are the rotation matrices of n bodies, body to inertial; the ground counts as a body. `translation`
    (n, K + 1, 3) are the centers of mass and `spin` (n, K, 3) the angular velocities, with time derivatives, both in
    the inertial frame. `scratch` (3, K + 1, 3) is overwritten.
    """
    order = phi.shape[1] - 1
    u, w, d = scratch[0], scratch[1], scratch[2]
    for p in range(table.kind.shape[0]):
        i, j = table.body[p, 0], table.body[p, 1]
        x_factor, y_factor, row = FACTORS[table.kind[p], 0], FACTORS[table.kind[p], 1], table.row[p]
        if x_factor == SEPARATION or y_factor == SEPARATION:
            fixed_vector_derivatives(R[j], spin[j], table.arm[p, 1], w)
            fixed_vector_derivatives(R[i], spin[i], table.arm[p, 0], u)
            for k in range(order + 1):
                for c in range(3):
                    # Positions are subtracted first: far from the origin their difference is exact, but a sum is not.
                    d[k, c] = (translation[j, k, c] - translation[i, k, c]) + (w[k, c] - u[k, c])
        if x_factor == INERTIAL:
            for k in range(order + 1):
                for c in range(3):
                    phi[row + c, k] = d[k, c]
            continue
        if x_factor == AXIS:
            fixed_vector_derivatives(R[i], spin[i], table.direction[p, 0], u)
        if y_factor == AXIS:
            fixed_vector_derivatives(R[j], spin[j], table.direction[p, 1], w)
        product_derivatives(u if x_factor == AXIS else d, w if y_factor == AXIS else d, phi[row])
        phi[row, 0] -= table.offset[p]


@entry
def constraint_wrenches(
    table: PrimitiveTable,
    R: np.ndarray,
    translation: np.ndarray,
    spin: np.ndarray,
    scratch: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Fill `wrench` (m, 3, K + 1, 3) with the load of a unit multiplier of each of m rows.

    The second axis of the array is the force on body j, the moment on body i and the moment on body j; the third is the
    time derivative, from 0 to K. All vectors are in the inertial frame. The opposite force acts on body i; moments are
    about the centers of mass. Hence Phi_dot = f . (v_j - v_i) + m_i . omega_i + m_j . omega_j. `R`, `translation` and
    `spin` are the rotation matrices, centers of mass and angular velocities of all bodies with time derivatives, as for
    `constraint_time_derivatives`; the angular velocity needs one derivative less. `scratch` (4, K + 1, 3) is
    overwritten.
    """
    order = wrench.shape[2] - 1
    u, w, s_i, s_j = scratch[0], scratch[1], scratch[2], scratch[3]
    for p in range(table.kind.shape[0]):
        i, j = table.body[p, 0], table.body[p, 1]
        x_factor, y_factor, row = FACTORS[table.kind[p], 0], FACTORS[table.kind[p], 1], table.row[p]
        if x_factor == AXIS:
            fixed_vector_derivatives(R[i], spin[i], table.direction[p, 0], u)
        else:
            fixed_vector_derivatives(R[j], spin[j], table.direction[p, 1], u)
        if x_factor == AXIS and y_factor == AXIS:
            fixed_vector_derivatives(R[j], spin[j], table.direction[p, 1], w)
            for k in range(order + 1):
                for c in range(3):
                    wrench[row, 0, k, c] = 0.0
            cross_derivatives(u, w, wrench[row, 1])
            cross_derivatives(w, u, wrench[row, 2])
            continue
        fixed_vector_derivatives(R[i], spin[i], table.arm[p, 0], s_i)
        fixed_vector_derivatives(R[j], spin[j], table.arm[p, 1], s_j)
        for k in range(order + 1):
            for c in range(3):
                w[k, c] = (translation[j, k, c] - translation[i, k, c]) + (s_j[k, c] - s_i[k, c])
                # The forces act at the joint points; an axis u has a moment in addition, that rotates it against d.
                s_i[k, c] += w[k, c] if x_factor == AXIS else 0.0
                s_j[k, c] -= w[k, c] if y_factor == AXIS else 0.0
        for component in range(3 if x_factor == INERTIAL else 1):
            force = wrench[row + component, 0]
            for k in range(order + 1):
                for c in range(3):
                    if x_factor == INERTIAL:
                        force[k, c] = 1.0 if k == 0 and c == component else 0.0
                    else:
                        force[k, c] = 2.0 * w[k, c] if x_factor == y_factor else u[k, c]
            cross_derivatives(force, s_i, wrench[row + component, 1])
            cross_derivatives(s_j, force, wrench[row + component, 2])
