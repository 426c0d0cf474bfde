"""Base class of solid shapes, with a surface for graphics and an inertia."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..util.construction import ConstructorMeta
from .frame import Frame

IN_THE_MIDDLE = Frame()
# Colors that matplotlib accepts; its own type leaves out lists and arrays.
ColorLike = str | Sequence[float] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Shape(metaclass=ConstructorMeta):
    """Geometry of a body, or of a part of it, for graphics and inertia.

    Parameters
    ----------
    frame : Frame
        Center and axes of the shape in the body; default: the center of mass and the body axes.
    color : optional
        Any matplotlib color, such as "gray", "#4477aa" or (r, g, b); default: that of the body.

    Examples
    --------
    >>> quirk.shapes.Box((1, 1, 1), frame=quirk.Frame([0, 0, 1]), color="gray").frame.origin
    array([0., 0., 1.])
    """

    frame: Frame = IN_THE_MIDDLE
    color: ColorLike | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, Frame):
            raise InputError(
                f"{type(self).__name__}: frame must be a quirk.Frame in body coordinates; got {self.frame!r}"
            )
        if self.color is not None:
            from matplotlib.colors import is_color_like  # slow to import, and most shapes need no color

            if not is_color_like(self.color):
                raise InputError(
                    f'{type(self).__name__}: color must be one that matplotlib knows, such as "gray", "#4477aa" or '
                    f"(r, g, b); got {self.color!r}"
                )

    def faces(self) -> list[np.ndarray]:
        """Return the polygons of the surface, each an array (k, 3) of its k corners, m, body coordinates."""
        return [face @ self.frame.matrix.T + self.frame.origin for face in self.surface()]

    @abstractmethod
    def inertia(self, mass: float | np.ndarray) -> np.ndarray:
        """Return the inertia (3, 3), kg m^2, of a solid of this shape, or (k, 3, 3) for masses (k,).

        The inertia refers to the center and axes of the shape; `mass` is in kg.
        """

    @abstractmethod
    def surface(self) -> list[np.ndarray]:
        """Return the polygons of the surface, each an array (k, 3) of its k corners, m.

        Coordinates are along the shape's axes, from its center.
        """

    def _set(self, argument: str, value: Any) -> None:
        object.__setattr__(self, argument, value)  # shapes are frozen dataclasses
