"""Magnitudes of event functions, and of the positions and velocities from which they are computed.

Round-off is proportional to these magnitudes. The natural scale of an event function is the largest position or
velocity of its dimension in the whole system, because the quantity itself may be zero at rest.
"""

from __future__ import annotations

import numpy as np

from quirk.events.dimension import Dimension
from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.bodies import largest_distance, speed
from ..kernels.mechanism import Mechanism
from ..kernels.size import largest_acceleration
from .run_state import RunState, Settings

# Largest displacement by loads within a step, over the characteristic length, whose round-off counts.
MOST_DISPLACED = 1e5


@kernel
def unit(dimension: int, length: float, rate: float) -> float:
    """Return the typical magnitude of a quantity of a `Dimension`; 0 if the dimension is unknown.

    It is computed from a length (m) and a rate (1/s), for example their product for a speed.
    """
    if dimension == Dimension.LENGTH:
        return length
    if dimension == Dimension.ANGLE:
        return 1.0
    if dimension == Dimension.SPEED:
        return length * rate
    return rate if dimension == Dimension.ANGULAR_SPEED else 0.0


@kernel
def scale_at_rest(settings: Settings, run: RunState, e: int) -> float:
    """Return the natural scale of event function e, which is positive even at rest; 0 if its dimension is unknown.

    The scale of velocities is at least one characteristic length in the duration of the run, because slower motions are
    within the round-off of positions.
    """
    duration = run.clock.requested - settings.start
    least = unit(run.watched.dimension[e], settings.length, 1.0 / duration if duration > 0.0 else 0.0)
    return max(run.watched.natural_scale[e], least)


@kernel
def update_scales(mechanism: Mechanism, settings: Settings, run: RunState, y: np.ndarray, h: float) -> None:
    """Update the largest magnitude and the natural scale of each event function at state y.

    `run.watched.start` contains the values of the functions, and h (s) is the size of the step that ended there. The
    accelerations of bodies at rest are round-off of those due to loads, which displaces them in long steps.
    """
    watched, length = run.watched, settings.length
    distance, rate = largest_distance(mechanism.constants, y), speed(mechanism.constants, y, length)
    distance += min(largest_acceleration(mechanism) * h * h, MOST_DISPLACED * length)
    for e in range(watched.side.shape[0]):
        watched.scale[e] = max(watched.scale[e], abs(at(watched.start, 2 * e)))
        natural = unit(watched.dimension[e], length, rate)
        if watched.dimension[e] == Dimension.LENGTH or watched.dimension[e] == Dimension.ANGLE:
            # Round-off of positions is proportional to the distance from the origin, and rotates bodies whose joints
            # are about one characteristic length apart.
            natural *= 1.0 + distance / length
        watched.natural_scale[e] = max(watched.natural_scale[e], natural)
