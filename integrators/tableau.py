"""Butcher tableaux of explicit Runge-Kutta methods, verified at construction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import comb

import numpy as np

# Tolerance of the order conditions: coefficients are doubles of numbers with up to 18 digits; a typing error exceeds
# it.
CHECK_TOLERANCE = 1e-12


def from_rows(rows: tuple[dict[int, float], ...], width: int) -> np.ndarray:
    """Return an array (len(rows), width) from its nonzero entries; each row is a dict of values by column."""
    array = np.zeros((len(rows), width))
    for row, entries in zip(array, rows, strict=True):
        row[list(entries)] = list(entries.values())
    return array


def bernstein(theta: float, degree: int) -> np.ndarray:
    """Return the Bernstein polynomials B_j = C(d, j) theta^j (1 - theta)^(d - j), j = 1 to d, of degree d."""
    j = np.arange(1, degree + 1)
    return _binomials(degree) * theta**j * (1 - theta) ** (degree - j)


def from_powers(weights: list[list[float]]) -> np.ndarray:
    """Convert weights of the powers theta, ..., theta^d to weights (n, d) of the Bernstein polynomials of degree d.

    `weights` has n lists of d weights.
    """
    d = len(weights[0])
    return np.array(weights) @ [[comb(j, p) / comb(d, p) for j in range(1, d + 1)] for p in range(1, d + 1)]


@cache
def _binomials(degree: int) -> np.ndarray:
    return np.array([comb(degree, j) for j in range(1, degree + 1)], dtype=float)


@dataclass(frozen=True, eq=False)
class Tableau:
    """An explicit Runge-Kutta method of s stages, with error estimates and a continuous extension.

    The stages are k_i = f(t + c_i h, y + h sum_j a_ij k_j), and y_new = y + h sum_i b_i k_i. One more evaluation,
    k_s = f(t + h, y_new), is the first stage of the next step; error estimates and dense output may use it.

    Attributes
    ----------
    name : str, name of the method
    order : int, order of y_new
    c : (s,) nodes
    a : (s, s) strictly lower triangular
    b : (s,) weights
    errors : tuple of (s + 1,)
        Weights of the error estimates, empty for fixed-step methods. Two estimates e and e3 are combined as
        e^2 / sqrt(e^2 + 0.01 e3^2) (Hairer, Norsett and Wanner, II.10).
    error_order : int
        Order of the embedded method; the estimate is of order h^(error_order + 1).
    extra_c, extra_a : (x,), (x, s + 1 + x)
        Coefficients of x additional stages for dense output.
    dense : (s + 1 + x, d)
        Weights of the continuous extension, y(t + theta h) = y + h sum_k k_k sum_j dense[k, j - 1] B_j(theta), with the
        Bernstein polynomials B_j of degree d. Powers of theta would be equivalent, but at order 9 their weights of 1e4
        cancel, which loses four digits.
    """

    name: str
    order: int
    c: np.ndarray
    a: np.ndarray
    b: np.ndarray
    dense: np.ndarray
    errors: tuple[np.ndarray, ...] = ()
    error_order: int = 0
    extra_c: np.ndarray = field(default_factory=lambda: np.zeros(0))
    extra_a: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        s = self.stages
        c, a, b, degree = self.c, self.a, self.b, self.dense.shape[1]
        closing = np.append(b, np.zeros(len(self.dense) - s))
        conditions = {
            "the row sums of a are c": a.sum(axis=1) - c,
            "a is strictly lower triangular": np.triu(a),
            "the quadrature conditions hold": np.array([b @ c ** (k - 1) - 1 / k for k in range(1, self.order + 1)]),
            "b.a.c is 1/6": b @ a @ c - 1 / 6 if self.order >= 3 else 0.0,
            "b.(c a c) is 1/8": b @ (c * (a @ c)) - 1 / 8 if self.order >= 4 else 0.0,
            "error weights sum to zero": np.array([e.sum() for e in self.errors]),
            "the row sums of extra_a are extra_c": self.extra_a.sum(axis=-1) - self.extra_c,
            "dense output ends at y_new": self.dense[:, -1] - closing,
            "dense output keeps constants": self.dense.sum(axis=0) - np.arange(1, degree + 1) / degree,
        }
        for condition, miss in conditions.items():
            if np.abs(miss).max(initial=0.0) > CHECK_TOLERANCE:
                raise ValueError(f"tableau {self.name}: not true that {condition}; off by {miss}")
        for array in (c, a, b, self.dense, self.extra_c, self.extra_a, *self.errors):
            array.setflags(write=False)

    @property
    def stages(self) -> int:
        """Number s of stages of a step, excluding the evaluation at its end."""
        return len(self.b)

    @property
    def buffers(self) -> int:
        """Number of slopes of a step: at its stages, at its end, and at additional stages for dense output."""
        return len(self.dense)

    @property
    def adaptive(self) -> bool:
        """Whether the method has an error estimate."""
        return bool(self.errors)
