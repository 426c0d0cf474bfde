"""Buffer of the output states of a run."""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """States of a run at nt output times.

    Attributes
    ----------
    time : (nt,) s
    flat : (nt, 13 n + k) states of n bodies and k auxiliary states
    quadrants : (nt, 2 K) quadrants of the angles of K joints, counted over full turns
    """

    time: np.ndarray
    flat: np.ndarray
    quadrants: np.ndarray


class OutputBuffer:
    """Buffer for output states of a run until they are retrieved.

    Attributes
    ----------
    numbers : number of floats stored in the buffer
    last : time of the last added state, s, whether or not it is still in the buffer
    """

    def __init__(self) -> None:
        self._parts: list[Rows] = []
        self.numbers, self.last = 0, -np.inf

    def add(self, time: np.ndarray, flat: np.ndarray, quadrants: np.ndarray) -> None:
        """Add states at nt >= 1 output times to the buffer.

        Parameters
        ----------
        time : (nt,) times, s
        flat : (nt, 13 n + k) states
        quadrants : (nt, 2 K) or (2 nt K,) quadrants of the two plane vectors of each of K joints, counted over full
            turns; the module `joint_angles` defines these vectors
        """
        self._parts.append(Rows(time, flat, quadrants.reshape(len(time), -1).astype(np.int32)))
        self.numbers += flat.size
        self.last = float(time[-1])

    def count_at(self, t: float) -> int:
        """Return the number of states in the buffer at time t, s."""
        later = takewhile(lambda part: part.time[-1] >= t, reversed(self._parts))
        return sum(int((part.time == t).sum()) for part in later)

    def take(self) -> Rows:
        """Return all states in the buffer, and empty it; there must be at least one state."""
        parts, self._parts, self.numbers = self._parts, [], 0
        return parts[0] if len(parts) == 1 else Rows(*map(np.concatenate, zip(*parts, strict=True)))
