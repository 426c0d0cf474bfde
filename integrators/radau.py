"""Radau IIA collocation methods for stiff systems, for any odd number of points."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.polynomial import legendre

from .tableau import CHECK_TOLERANCE


@dataclass(frozen=True)
class RadauIIA:
    """Radau IIA collocation at s points 0 < c_1 < ... < c_s = 1, of order 2 s - 1 and stage order s; L-stable.

    The increments Z = h A f(y + Z) are computed by Newton's method. A transformation decouples its linear systems into
    systems with the matrices I - (h / mu) J, with the Jacobian J and the eigenvalues mu of A^-1, one of them real
    (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8). The error estimate is (I - h gamma J)^-1
    (gamma h f(y) + sum e_i Z_i), of order h^(s + 1), with gamma the inverse of the real eigenvalue.

    Attributes
    ----------
    name : str, name of the method
    points : int, odd number s of points
    a : (s, s) coefficients A of the tableau
    nodes : (s,) points c
    back, forth, of_slopes : (s, s)
        Transformations Z = back W and W = forth Z to the decoupled systems; of_slopes is the real or imaginary part of
        forth / mu. The rows of the real array W are the component of the real eigenvalue, then the real and the
        imaginary part of each complex pair.
    inverse : (s,) 1 / mu in the same order
    e : (s,) weights of the error estimate
    highest : (2, s + 1)
        Weights of the values at the start and at the points of a step in the two highest Legendre coefficients of the
        interpolating polynomial.
    """

    name: str
    points: int
    a: np.ndarray = field(init=False)
    nodes: np.ndarray = field(init=False)
    back: np.ndarray = field(init=False)
    forth: np.ndarray = field(init=False)
    of_slopes: np.ndarray = field(init=False)
    inverse: np.ndarray = field(init=False)
    e: np.ndarray = field(init=False)
    highest: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        if self.points % 2 == 0:
            raise ValueError(f"method {self.name}: the number of points must be odd; got {self.points}")
        for name, array in self._coefficients().items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        s, k = self.points, np.arange(1, 2 * self.points)
        gamma, nodes = self.inverse[0], self.nodes
        conditions = {
            "the quadrature conditions hold": self.b[1:] @ nodes[:, None] ** (k - 1) - 1 / k,
            "stages are of order s": self.a @ nodes[:, None] ** (k[:s] - 1) - nodes[:, None] ** k[:s] / k[:s],
            "back and forth are inverse": self.back @ self.forth - np.eye(s),
            "the estimate has order s": self.e @ nodes[:, None] ** k[:s] + gamma * (k[:s] == 1),
        }
        for condition, miss in conditions.items():
            if np.abs(miss).max() > 100 * CHECK_TOLERANCE:
                raise ValueError(f"method {self.name}: not true that {condition}; off by {miss}")

    def _coefficients(self) -> dict[str, np.ndarray]:
        """Return all coefficients by name, computed for the number of points."""
        s = self.points
        # The right Radau points are the roots of P_(s-1) - P_s on [-1, 1].
        defining = np.array([*np.zeros(s - 1), 1.0, -1.0])
        x = legendre.legroots(defining)
        x -= legendre.legval(x, defining) / legendre.legval(x, legendre.legder(defining))
        x[-1] = 1.0
        difference = np.array([*np.zeros(s - 1), 1.0, -1.0])
        x = np.append(
            x[:-1] - legendre.legval(x[:-1], difference) / legendre.legval(x[:-1], legendre.legder(difference)), 1.0
        )
        nodes = (x + 1) / 2
        values = legendre.legvander(x, s - 1)
        integrals = np.column_stack([legendre.legval(x, legendre.legint(c, lbnd=-1)) for c in np.eye(s)]) / 2
        a = integrals @ np.linalg.inv(values)
        mu, vectors = np.linalg.eig(np.linalg.inv(a))
        real = int(np.argmin(np.abs(mu.imag)))
        pairs = [int(k) for k in np.argsort(mu.imag) if mu[k].imag > 0 and k != real]
        vectors = vectors / vectors[-1]
        forth = np.linalg.inv(vectors)
        gamma = 1 / mu[real].real
        # The embedded method includes the slope at the start with weight gamma.
        closing = -gamma * legendre.legvander(np.array([-1.0]), s - 1)[0] @ np.linalg.inv(values)
        return {
            "a": a,
            "nodes": nodes,
            "back": _columns(vectors, real, pairs),
            "forth": _rows(forth, real, pairs),
            "of_slopes": _rows(forth / mu[:, None], real, pairs),
            "inverse": _rows(1 / mu, real, pairs),
            "e": closing @ np.linalg.inv(a),
            "highest": np.linalg.inv(legendre.legvander(np.concatenate([[-1.0], x]), s))[-2:],
        }

    @property
    def order(self) -> int:
        """Order of the error estimate, used by the step-size control; the order of the method is 2 s - 1."""
        return self.points

    @property
    def stages(self) -> int:
        """Number of distinct evaluation times in a step: the start and all points."""
        return self.points + 1

    @property
    def c(self) -> np.ndarray:
        """Evaluation times as fractions of the step, (s + 1,)."""
        return np.concatenate([[0.0], self.nodes])

    @property
    def b(self) -> np.ndarray:
        """Quadrature weights of the evaluations, (s + 1,)."""
        return np.concatenate([[0.0], self.a[-1]])


def _columns(matrix: np.ndarray, real: int, pairs: list[int]) -> np.ndarray:
    """Convert a complex matrix, whose columns are conjugate pairs and one real column, to a real one (s, s).

    The real column comes first, then two columns for each pair. Their product with real coordinates equals that of the
    complex matrix with conjugate coordinates. `real` and `pairs` are the indices of the real column and of one column
    of each pair.
    """
    complex_ones = [part for k in pairs for part in (2 * matrix[:, k].real, -2 * matrix[:, k].imag)]
    return np.ascontiguousarray(np.column_stack([matrix[:, real].real, *complex_ones]))


def _rows(matrix: np.ndarray, real: int, pairs: list[int]) -> np.ndarray:
    """Convert a complex matrix, whose rows are conjugate pairs and one real row, to a real one (s, s).

    The real row comes first, then the real and the imaginary part of each pair. `real` and `pairs` are the indices of
    the real row and of one row of each pair.
    """
    return np.array([matrix[real].real, *(part for k in pairs for part in (matrix[k].real, matrix[k].imag))])


# Order 9: the fastest on stiff mechanisms for errors from 1e-3 to 1e-9, among 3, 5 and 7 points.
RADAU_IIA9 = RadauIIA("RadauIIA9", 5)
