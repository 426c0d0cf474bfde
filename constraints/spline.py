"""Interpolating splines in space or in a plane, and tables of their coefficients for constraint functions.

A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..errors import InputError
from ..functions.spline import interpolated
from ..util import validate
from .closest_point import TERMS, group_size

# Distance below which points coincide, relative to the length or size of the curve.
SAME = 1e-12
# Extension of open curves beyond their ends, relative to their length, for round-off and trial steps.
MARGIN = 1e-6


DEGREES = (3, 5)


class Spline:
    """An interpolating spline, parameterized by chord length.

    Parameters
    ----------
    owner, argument : names for error messages
    points : (n, dimension)
        Points in order along the curve, m. At least 2, or 3 for a closed curve, whose first point may be repeated at
        the end.
    closed : bool
        Whether the curve is closed from the last point to the first.
    degree : 3 or 5
        Degree of the polynomials; derivatives up to order degree - 1 are continuous. Open curves with few points have a
        lower degree.

    Attributes
    ----------
    points : (n, dimension) m
    closed : bool
    breaks : (p + 1,) m, parameter at the ends of the pieces
    coefficients : (p, dimension, TERMS) for p pieces, in ascending powers of the parameter from the start of the piece
    """

    def __init__(self, owner: str, argument: str, points: Any, closed: bool, dimension: int, degree: int) -> None:
        self.closed = validate.flag(owner, "closed", closed)
        if degree not in DEGREES:
            raise InputError(f"{owner}: degree must be 3 or 5; got {degree!r}")
        knots = self._checked(owner, argument, points, dimension)
        self.points = knots[:-1] if self.closed else knots
        chords = np.linalg.norm(np.diff(knots, axis=0), axis=1)
        if chords.min() <= SAME * chords.sum():
            k = int(chords.argmin())
            raise InputError(f"{owner}: {argument}[{k}] and the point after it coincide, at {knots[k].tolist()}")
        s = np.concatenate([[0.0], np.cumsum(chords)])
        k = degree if self.closed else min(degree, len(s) - 1)
        self.breaks, fitted = interpolated(s, knots, k, self.closed)
        self.coefficients = np.zeros((*fitted.shape[:2], TERMS))
        self.coefficients[..., : k + 1] = fitted

    def _checked(self, owner: str, argument: str, points: Any, dimension: int) -> np.ndarray:
        """Return the points as an array (n, dimension), after checking that they are finite.

        For a closed curve the result repeats the first point at the end.
        """
        given, least = validate.numbers(points), 3 if self.closed else 2
        if given is None or given.ndim != 2 or given.shape[1] != dimension or not np.isfinite(given).all():
            raise InputError(f"{owner}: {argument} must be an array (n, {dimension}) of finite numbers; got {points!r}")
        if self.closed and len(given) > 1:
            again = np.linalg.norm(given[-1] - given[0]) <= SAME * np.ptp(given, axis=0).max()
            given = np.vstack([given[:-1] if again else given, given[:1]])
        if len(given) < least + self.closed:
            kind = "a closed" if self.closed else "an open"
            count = len(given) - self.closed
            raise InputError(f"{owner}: {argument} must be at least {least} points for {kind} curve; got {count}")
        return given

    def derivatives(self, s: Any) -> np.ndarray:
        """Return points, and first and second derivatives with respect to the parameter, as an array (3, m, dimension).

        `s` (m,) are the parameters, m.
        """
        s = np.asarray(s, dtype=float)
        s = np.mod(s, self.breaks[-1]) if self.closed else s
        k = np.clip(np.searchsorted(self.breaks, s, side="right") - 1, 0, len(self.coefficients) - 1)
        u, powers = s - self.breaks[k], np.arange(TERMS)
        lowered = [math.perm(m, n) if m >= n else 0 for n in range(3) for m in range(TERMS)]
        factors = np.reshape(lowered, (3, 1, TERMS)) * u[:, None] ** np.maximum(powers - np.arange(3)[:, None, None], 0)
        return np.einsum("mct,nmt->nmc", self.coefficients[k], factors)

    @property
    def table(self) -> tuple[float, ...]:
        """Coefficients of the curve as constants of a function, in the layout of `constraints.closest_point`."""
        lengths = np.diff(self.breaks)
        # Control points of each piece, whose convex hull contains the piece.
        scaled = self.coefficients * lengths[:, None, None] ** np.arange(TERMS)
        rows = [[math.comb(i, m) / math.comb(TERMS - 1, m) for m in range(TERMS)] for i in range(TERMS)]
        hull = np.einsum("im,kcm->kic", rows, scaled)
        margin = 0.0 if self.closed else MARGIN * self.breaks[-1]
        # The spheres also contain the extensions beyond the ends.
        reach = margin * np.linalg.norm(self.coefficients[:, :, 1], axis=1).max()
        size = group_size(len(lengths))
        groups = [hull[k : k + size].reshape(-1, hull.shape[2]) for k in range(0, len(hull), size)]
        pieces = np.column_stack(
            [lengths, [_sphere(points, reach) for points in hull], self.coefficients.reshape(len(hull), -1)]
        )
        flat = [np.array([len(hull), margin]), pieces.ravel(), *(_sphere(points, reach) for points in groups)]
        return tuple(np.concatenate(flat).tolist())


def _sphere(points: np.ndarray, margin: float) -> np.ndarray:
    """Return the radius and center of a sphere that encloses points (n, dimension), m, with a margin, m."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return np.array([np.linalg.norm(points - center, axis=1).max() + margin, *center])


def along(coefficients: Sequence[Any], u: Jet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the point (m), tangent and second derivative of a polynomial piece at parameter u, as arrays of jets.

    The derivatives are with respect to u. `coefficients` holds TERMS entries in ascending powers for each coordinate of
    the curve.
    """
    rows = [coefficients[k : k + TERMS] for k in range(0, len(coefficients), TERMS)]
    parts = []
    for order in range(3):
        powers = [[math.perm(m, order) * row[m] for m in range(order, TERMS)] for row in rows]
        parts.append(np.array([_polynomial(terms, u) for terms in powers], dtype=object))
    return parts[0], parts[1], parts[2]


def _polynomial(terms: Sequence[Any], u: Jet) -> Jet:
    """Return the value of a polynomial at u; `terms` are its coefficients in ascending powers."""
    result = u * terms[-1] + terms[-2]
    for term in reversed(terms[:-2]):
        result = result * u + term
    return result
