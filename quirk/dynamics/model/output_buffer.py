"""The states that a run keeps, until somebody takes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """States of a run: times (nt,), s, flat states (nt, 13 n + k), and quadrants (nt, 2 K) of the joints' turns."""

    time: np.ndarray
    flat: np.ndarray
    quadrants: np.ndarray


class OutputBuffer:
    """Collects rows.

    Attributes
    ----------
    numbers : how many are waiting to be taken
    last : time of the row added last, s, taken or not
    """

    def __init__(self) -> None:
        self._parts: list[Rows] = []
        self.numbers, self.last = 0, -np.inf

    def add(self, time: np.ndarray, flat: np.ndarray, quadrants: np.ndarray) -> None:
        """Add rows; quadrants may be flat."""
        self._parts.append(Rows(time, flat, quadrants.reshape(len(time), -1).astype(np.int32)))
        self.numbers += flat.size
        self.last = float(time[-1])

    def take(self) -> Rows:
        """Return all rows that were added since the last call; there must be some."""
        parts, self._parts, self.numbers = self._parts, [], 0
        return parts[0] if len(parts) == 1 else Rows(*map(np.concatenate, zip(*parts, strict=True)))
