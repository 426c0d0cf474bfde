"""Solid shapes: their surfaces for graphics, and their inertia for uniform density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..util import validate
from .frame import axes_with_z
from .mesh import Mesh
from .shape import ColorLike, Shape

__all__ = ["Box", "Cylinder", "Ellipsoid", "Mesh", "Shape"]

# Number of segments that approximate a circle in graphics; inertia is exact.
SEGMENTS = 20


@dataclass(frozen=True)
class Box(Shape):
    """A box with edges of length `size` (3,), m, along its axes.

    Examples
    --------
    >>> quirk.shapes.Box((1.0, 2.0, 3.0)).inertia(12.0).diagonal()
    array([13., 10.,  5.])
    """

    size: Sequence[float] | np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("size", lengths("Box", "size", self.size))

    def inertia(self, mass: float | np.ndarray) -> np.ndarray:
        """Return the inertia (3, 3), kg m^2, about the center, or (k, 3, 3) for masses (k,).

        The moment of inertia about the axis along the edges of length a is mass/12 (b^2 + c^2), with b and c the
        lengths of the other edges.
        """
        return np.multiply.outer(mass / 12, _perpendicular_squares(np.array(self.size)))

    def surface(self) -> list[np.ndarray]:
        """Return the six faces as arrays (4, 3) of their corners, m."""
        half = 0.5 * np.array(self.size)
        square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        sides = []
        for axis in range(3):
            for side in (-1, 1):
                corners = np.insert(square, axis, side, axis=1)
                sides.append(corners * half)
        return sides


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid with semi-axes of length `semi_axes` (3,), m, along its axes.

    Examples
    --------
    >>> quirk.shapes.Ellipsoid((1.0, 1.0, 2.0)).inertia(5.0).diagonal()
    array([5., 5., 2.])
    """

    semi_axes: Sequence[float] | np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("semi_axes", lengths("Ellipsoid", "semi_axes", self.semi_axes))

    def inertia(self, mass: float | np.ndarray) -> np.ndarray:
        """Return the inertia (3, 3), kg m^2, about the center, or (k, 3, 3) for masses (k,).

        The moment of inertia about the semi-axis a is mass/5 (b^2 + c^2), with b and c the other semi-axes.
        """
        return np.multiply.outer(mass / 5, _perpendicular_squares(np.array(self.semi_axes)))

    def surface(self) -> list[np.ndarray]:
        """Return the surface as quadrilaterals between circles of latitude and longitude, each an array (4, 3), m."""
        latitude = np.linspace(-np.pi / 2, np.pi / 2, SEGMENTS // 2 + 1)
        longitude = np.linspace(0, 2 * np.pi, SEGMENTS + 1)
        u, v = np.meshgrid(latitude, longitude, indexing="ij")
        grid = np.stack([np.cos(u) * np.cos(v), np.cos(u) * np.sin(v), np.sin(u)], axis=-1)
        grid *= np.array(self.semi_axes)
        return [
            np.array([grid[a, b], grid[a, b + 1], grid[a + 1, b + 1], grid[a + 1, b]])
            for a in range(len(latitude) - 1)
            for b in range(len(longitude) - 1)
        ]


@dataclass(frozen=True)
class Cylinder(Shape):
    """A circular cylinder of `radius` and `length`, m, along `axis`: "x", "y", "z" or a vector (3,) in its axes.

    Examples
    --------
    >>> quirk.shapes.Cylinder(1.0, 3.0, axis="z").inertia(4.0).diagonal()
    array([4., 4., 2.])
    """

    radius: float
    length: float
    axis: ArrayLike = "z"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("radius", validate.positive("Cylinder", "radius", self.radius))
        self._set("length", validate.positive("Cylinder", "length", self.length))
        self._set("axis", tuple(validate.direction("Cylinder", "axis", self.axis).tolist()))

    def inertia(self, mass: float | np.ndarray) -> np.ndarray:
        """Return the inertia (3, 3), kg m^2, about the center, or (k, 3, 3) for masses (k,).

        The moment of inertia is mass r^2/2 about the axis, and mass (3 r^2 + l^2)/12 about perpendicular axes.
        """
        axis = np.array(self.axis, dtype=float)
        along = np.outer(axis, axis)
        across = np.eye(3) - along
        per_mass = 0.5 * self.radius**2 * along + (3 * self.radius**2 + self.length**2) / 12 * across
        return np.multiply.outer(mass, per_mass)

    def surface(self) -> list[np.ndarray]:
        """Return the two end disks and the rectangles of the lateral surface, as arrays (k, 3) of corners, m."""
        angle = np.linspace(0, 2 * np.pi, SEGMENTS + 1)
        x, y, z = axes_with_z(np.array(self.axis)).T
        rim = self.radius * (np.outer(np.cos(angle), x) + np.outer(np.sin(angle), y))
        top, bottom = rim + 0.5 * self.length * z, rim - 0.5 * self.length * z
        mantle = [np.array([bottom[k], bottom[k + 1], top[k + 1], top[k]]) for k in range(SEGMENTS)]
        return [bottom[:-1], top[:-1], *mantle]


def solid_cylinder(owner: str, radius: float, length: float, axis: ArrayLike, color: ColorLike | None) -> Cylinder:
    """Return a cylinder with checked dimensions, m; `owner` names the body in errors."""
    return Cylinder(
        validate.positive(owner, "radius", radius),
        validate.positive(owner, "length", length),
        validate.direction(owner, "axis", axis),
        color=color,
    )


def lengths(owner: str, argument: str, value: Any) -> tuple[float, float, float]:
    """Return three positive lengths, m, as a tuple; raise an InputError for any other value.

    `owner` and `argument` name the object under construction and its argument in the error message.
    """
    given = validate.array(owner, argument, value, (3,))
    a, b, c = (validate.positive(owner, f"{argument}[{k}]", x) for k, x in enumerate(given))
    return a, b, c


def _perpendicular_squares(lengths: np.ndarray) -> np.ndarray:
    """Return the matrix diag(b^2 + c^2, a^2 + c^2, a^2 + b^2) of three lengths a, b, c."""
    squares = lengths**2
    return np.diag(squares.sum() - squares)
