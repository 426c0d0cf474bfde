"""Appearance of joints in graphics."""

from __future__ import annotations

from dataclasses import dataclass

from ..bodies.shape import ColorLike
from ..util.construction import ConstructorMeta


@dataclass(frozen=True)
class Drawing(metaclass=ConstructorMeta):
    """Graphics options of a joint.

    Attributes
    ----------
    show : whether the joint is drawn
    axis_radius, axis_length : size of the drawn axes, m; None for a size derived from that of the system
    color : any matplotlib color; None for the default

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1)
    >>> joint = quirk.Generic("joint", quirk.GROUND, ball, drawing=quirk.Drawing(color="red", axis_length=0.3))
    >>> joint.drawing.color
    'red'
    """

    show: bool = True
    axis_radius: float | None = None
    axis_length: float | None = None
    color: ColorLike | None = None
