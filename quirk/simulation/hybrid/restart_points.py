"""Runs in legs: each begins from what is known of the one before it and from nothing else.

A run that keeps what it computes on disk, and goes on from there after it was killed, is bit-identical with one that
was not killed if both begin anew at the same places. So each leg has a fixed number of steps, and a run of several
legs is the same whether one process computes them or many.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from quirk.dynamics.sparse.stepping.compiled_run import ResumePoint
from quirk.system.configuration import Configuration

# Steps of a leg, accepted or rejected: of a second or so in compiled code, of 2 microseconds a step and body; and of as
# long in Python.
COMPILED_STEPS, LEAST_STEPS, MOST_STEPS, PYTHON_STEPS = 400_000, 50, 20_000, 1000


@dataclass(frozen=True)
class RestartPoint:
    """Where a leg begins.

    Attributes
    ----------
    t : s
    y : (13 n + k,) on the constraints
    angles : (K, 3) of all joints, rad, with all turns made
    base : which parts are active, besides what contacts and friction do
    pace : how to go on
    often : how often each event has happened
    """

    t: float
    y: np.ndarray
    angles: np.ndarray
    base: Configuration
    pace: ResumePoint = field(default_factory=ResumePoint)
    often: Counter[str] = field(default_factory=Counter)


def steps_of_leg(bodies: int, compiled: bool) -> int:
    """Return of how many steps a leg is."""
    if not compiled:
        return PYTHON_STEPS
    return max(LEAST_STEPS, min(COMPILED_STEPS // max(bodies, 1), MOST_STEPS))
