"""Watched rate of the gap of a closed contact, which other rows than its own hold at zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..forces import ForceElement
from .quantity import Gap


class GapRate(ForceElement):
    """Event function of a closed gap without a constraint row of its own: positive while its rate is small.

    The value is limit - rate^2 / limit, m/s or rad/s; it is zero where the magnitude of the rate equals the limit.

    Parameters
    ----------
    gap : the gap, of the part in contact of a bounded surface
    limit : rate, m/s or rad/s
    """

    coordinates = ("rate",)
    parameters = ("numbers_of_gap", "limit")
    aside = ("title",)
    drawing = ""

    def __init__(self, gap: Gap, limit: float) -> None:
        self.function, self.of_source, self.title = gap.function, gap.of_source, gap.title
        self.numbers_of_gap, self.limit, self.undefined = gap.numbers_of_gap, limit, gap.undefined
        super().__init__(gap.name, *gap.ends)

    numbers_of_gap: np.ndarray
    limit: float

    def load(self, t: Any, *frames: Any) -> Any:
        """Return no force (N) and no torque (N m) on each body, from the time and the frames."""
        return [(0.0, 0.0) for _ in frames]

    def shown(self, t: Any, *frames: Any) -> Any:
        """Return v - r^2 / v, m/s or rad/s, with the rate r of the gap and its limit v."""
        (gap,) = self.function(t, list(frames), list(self.numbers_of_gap), [])
        return self.limit - gap.rate * gap.rate / self.limit

    @property
    def built_in(self) -> bool:
        """Whether the gap function is part of QuIRK, in contrast to user-defined functions."""
        return self.of_source is None

    @property
    def sources(self) -> list[Any]:
        """List with the gap function if it is user-defined, otherwise an empty list."""
        return [] if self.of_source is None else [self.of_source]

    @property
    def wakes(self) -> bool:
        """Always False: the value never changes in short pulses, even if the gap is a user function."""
        return False

    def as_law(self, traced: bool) -> GapRate:
        """Return the element itself: its gap function is already a compilable copy of the user function."""
        return self

    def __str__(self) -> str:
        return self.title
