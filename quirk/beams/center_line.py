"""Center line of an unloaded beam: points and section axes as functions of arc length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError
from ..util import validate

# Number of interpolation intervals per segment of a curved beam, and degree of the interpolating splines.
POINTS_PER_ELEMENT, DEGREE = 16, 5
# Minimum number of interpolation intervals of a curved beam.
FEWEST_POINTS = 200
# Sine of the angle between the beam and `up` below which the axes of the section are undefined.
PARALLEL = 1e-6
# Number of Newton steps that compute the curve parameter for an arc length. They start from linear interpolation in a
# fine table and converge quadratically.
NEWTON_STEPS = 8

Curve = Callable[[np.ndarray], np.ndarray]


class CenterLine:
    """Points and section axes of an unloaded beam, as functions of arc length.

    Parameters
    ----------
    owner : str
        Name of the beam, for error messages.
    length : float
        Unloaded length, m.
    point, tangent : functions of arc lengths (k,), m
        Points (k, 3), m, and unit tangents (k, 3), inertial frame.
    up : (3,) or None
        Direction of the z axis of the sections, before the twist; the part perpendicular to the beam is used.
    twist : function of fractions of the length (k,)
        Angles (k,), rad, of the sections about the x axis.
    """

    def __init__(self, owner: str, length: float, point: Curve, tangent: Curve, up: Any, twist: Curve) -> None:
        self.owner, self.length, self.point, self._tangent = owner, length, point, tangent
        self._up, self._twist = up, twist

    def axes(self, s: np.ndarray) -> np.ndarray:
        """Return the section axes at arc lengths `s` (k,), m, inertial frame, as columns of matrices (k, 3, 3)."""
        x = self._tangent(s)
        z = self._up - (x @ self._up)[:, None] * x
        size = np.linalg.norm(z, axis=1, keepdims=True)
        if size.min() < PARALLEL:
            at = float(s[np.argmin(size)])
            raise InputError(
                f"{self.owner}: up must not be parallel to the beam, as it is {at:.3g} m from its start; give another"
            )
        z = z / size
        y = np.cross(z, x)
        angle = self._twist(s / self.length)[:, None]
        cosine, sine = np.cos(angle), np.sin(angle)
        return np.stack([x, cosine * y + sine * z, cosine * z - sine * y], axis=-1)


def center_line(owner: str, start: Any, end: Any, curve: Any, up: Any, twist: Any, elements: int) -> CenterLine:
    """Return the center line of a beam; the arguments are those of `Beam`."""
    turned = _twist(owner, twist)
    if curve is not None:
        if start is not None or end is not None:
            raise InputError(f"{owner}: give start and end, or curve, not both")
        length, point, tangent = _curved(owner, curve, elements)
    else:
        if start is None or end is None:
            raise InputError(f"{owner}: needs start and end, or curve")
        length, point, tangent = _straight(owner, start, end)
    if up is None:
        first = tangent(np.zeros(1))[0]
        up = np.array([0.0, 0.0, 1.0] if np.hypot(first[0], first[1]) > PARALLEL else [0.0, 1.0, 0.0])
    return CenterLine(owner, length, point, tangent, validate.direction(owner, "up", up), turned)


def _twist(owner: str, twist: Any) -> Curve:
    if not callable(twist):
        total = validate.number(owner, "twist", twist)
        return lambda fraction: total * fraction
    return lambda fraction: np.array([validate.number(owner, "twist", twist(float(x))) for x in fraction])


def _straight(owner: str, start: Any, end: Any) -> tuple[float, Curve, Curve]:
    first, last = validate.array(owner, "start", start, (3,)), validate.array(owner, "end", end, (3,))
    length = float(np.linalg.norm(last - first))
    if length <= validate.ZERO_LENGTH * max(np.abs(first).max(), np.abs(last).max()):
        raise InputError(f"{owner}: start and end must differ; got {first.tolist()} and {last.tolist()}")
    direction = (last - first) / length
    return length, lambda s: first + s[:, None] * direction, lambda s: np.tile(direction, (len(s), 1))


def _curved(owner: str, curve: Any, elements: int) -> tuple[float, Curve, Curve]:
    """Return the length (m) of a smooth curve, and functions of arc length for its points and tangents.

    `curve` is the user's argument: points or a function; `elements` is the number of segments.
    """
    from scipy.interpolate import make_interp_spline

    if callable(curve):
        place = np.linspace(0.0, 1.0, max(FEWEST_POINTS, POINTS_PER_ELEMENT * elements) + 1)
        points = np.array([validate.array(owner, "curve", curve(float(u)), (3,)) for u in place])
    else:
        numbers = validate.numbers(curve)
        if numbers is None or numbers.ndim != 2 or numbers.shape[1] != 3 or len(numbers) < 2:
            raise InputError(f"{owner}: curve must be points (n, 3) or a function of 0 to 1; got {curve!r}")
        points = validate.array(owner, "curve", curve, numbers.shape)
        place = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if (np.linalg.norm(np.diff(points, axis=0), axis=1) <= validate.ZERO_LENGTH * np.abs(points).max()).any():
        raise InputError(f"{owner}: neighboring points of curve must differ")
    spline = make_interp_spline(place, points, k=min(DEGREE, len(points) - 1))
    slope = spline.derivative()
    # The arc length is the integral of the norm of the curve's derivative, which is smooth.
    fine = np.linspace(place[0], place[-1], max(FEWEST_POINTS, POINTS_PER_ELEMENT * max(elements, len(points))) + 1)
    speed = make_interp_spline(fine, np.linalg.norm(slope(fine), axis=1), k=DEGREE)
    arc = speed.antiderivative()
    lengths = arc(fine)

    def place_of(s: np.ndarray) -> np.ndarray:
        u = np.interp(s, lengths, fine)
        for _ in range(NEWTON_STEPS):
            u = np.clip(u - (arc(u) - s) / speed(u), fine[0], fine[-1])
        return np.asarray(u)

    def tangent(s: np.ndarray) -> np.ndarray:
        along = slope(place_of(s))
        return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True))

    return float(lengths[-1]), lambda s: spline(place_of(s)), tangent
