"""Restart points of runs with checkpoints: states from which the rest of a run can be computed.

A run that is resumed after an interruption is bitwise identical to an uninterrupted one if both restart at the same
points. Therefore restart points are a fixed number of steps apart, and results do not depend on the number of
processes that compute a run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.system.configuration import Configuration

# Number of steps between restart points, accepted or rejected: about a second of compiled code, at 2 microseconds per
# step and body, and of Python.
COMPILED_STEPS, LEAST_STEPS, MOST_STEPS, PYTHON_STEPS = 400_000, 50, 20_000, 1000


@dataclass(frozen=True)
class RestartPoint:
    """Data from which a run is restarted.

    Attributes
    ----------
    t : time, s
    y : (13 n + k,) state vector of n bodies and k auxiliary states, which satisfies the constraints
    angles : (K, 3) 1-2-3 angles of K joints with all turns counted, rad
    base : active constraints and forces, without contacts and without the state of friction
    resume_point : step size, and cost statistics for method switching
    occurrences : number of occurrences of each event
    """

    t: float
    y: np.ndarray
    angles: np.ndarray
    base: Configuration
    resume_point: ResumePoint = field(default_factory=ResumePoint)
    occurrences: Counter[str] = field(default_factory=Counter)


def steps_between_restarts(bodies: int, compiled: bool) -> int:
    """Return the number of integration steps between two restart points.

    `bodies` is the number of bodies; `compiled` is False if steps are taken in Python.
    """
    if not compiled:
        return PYTHON_STEPS
    return max(LEAST_STEPS, min(COMPILED_STEPS // max(bodies, 1), MOST_STEPS))
