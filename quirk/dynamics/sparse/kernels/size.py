"""Largest acceleration of a system, by which errors of accelerations are scaled, and the ratio of its inertias.

Angular accelerations are multiplied by the characteristic length of the body, about its largest distance from the
center of mass to a joint; see `quirk.dynamics.model.metric.body_lengths`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import FACTOR, GRAVITY, INVERSE_FACTOR, INVERSE_MASS, MASS, MOMENT
from quirk.dynamics.model.vectors import dot, load3, rows_times, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import greater, highest, load, splat, total
from quirk.jit.tracing import traced

from .bodies import CON, WRENCH
from .mechanism import Mechanism

# Largest ratio of inertias, see `mass_ratio`, at which round-off of loads does not noticeably change accelerations.
MODERATE = 1e6
# Largest ratio of inertias for recursion with loop-closing rows, whose errors are proportional to this ratio. At this
# limit the largest error in 300 mechanisms was 1e-12 of the largest acceleration.
MODERATE_IN_LOOPS = 1e5


@kernel
def largest_acceleration(mechanism: Mechanism) -> float:
    """Return the largest acceleration of a body due to the loads in work.wrench, at least that of gravity, m/s^2.

    Angular accelerations are multiplied by the characteristic length of the body.
    """
    constants, gravity = mechanism.constants, 0.0
    for c in range(0, constants.shape[0], CON):
        field = load3(constants, c + 8 * GRAVITY)
        gravity = max(gravity, highest(dot(field, field)))
    return max(size_of(mechanism, mechanism.work.wrench), gravity**0.5)


@kernel
def size_of(mechanism: Mechanism, wrench: np.ndarray) -> float:
    """Return the largest acceleration of a body due to the loads in `wrench`, m/s^2.

    Angular accelerations are multiplied by the characteristic length of the body.
    """
    constants, alike = mechanism.constants, mechanism.work.uniform.constants
    largest, check = 0.0, splat(0.0)
    for block in range(constants.shape[0] // CON):
        c, f = block * CON, block * WRENCH
        linear = times(load3(wrench, f), load(constants, c + 8 * INVERSE_MASS))
        angular = rows_times(constants, c + 8 * FACTOR, load3(wrench, f + MOMENT))
        turn = times(angular, load(alike, c + 8 * INVERSE_FACTOR))
        squares = greater(dot(linear, linear), dot(turn, turn))
        largest, check = max(largest, highest(squares)), check + squares
    # The maximum ignores nan; the sum propagates it.
    return largest**0.5 + 0.0 * total(check)


@kernel
def bound_of(mechanism: Mechanism, magnitudes: np.ndarray) -> float:
    """Return an upper bound of the accelerations due to loads of given magnitudes and any signs, m/s^2.

    `magnitudes` has the layout of `Workspace.wrench`. Angular accelerations are multiplied by the characteristic length
    of the body.
    """
    constants, alike = mechanism.constants, mechanism.work.uniform.constants
    largest = 0.0
    for block in range(constants.shape[0] // CON):
        c, f = block * CON, block * WRENCH
        linear, moment = (
            times(load3(magnitudes, f), load(constants, c + 8 * INVERSE_MASS)),
            load3(magnitudes, f + MOMENT),
        )
        turn = dot(moment, moment) * inverse_inertia(constants, alike, c)
        largest = max(largest, highest(greater(dot(linear, linear), turn)))
    return largest**0.5


@kernel
def mass_ratio(mechanism: Mechanism) -> float:
    """Return the ratio of the largest mass of all bodies to the smallest inertia of all bodies.

    An inertia is a mass, or a principal moment of inertia over the squared characteristic length of the body, kg.
    """
    constants, alike = mechanism.constants, mechanism.work.uniform.constants
    heaviest = lightest = splat(0.0)
    for c in range(0, constants.shape[0], CON):
        heaviest = greater(heaviest, load(constants, c + 8 * MASS))
        lightest = greater(
            greater(lightest, load(constants, c + 8 * INVERSE_MASS)), inverse_inertia(constants, alike, c)
        )
    return highest(heaviest) * highest(lightest)


@traced
def inverse_inertia(constants: Any, alike: Any, c: Any) -> Any:
    """Return the sums of the inverse principal moments of inertia of eight bodies, times the squared length, 1/kg.

    `constants` and `alike` are the constants of the bodies in the mass metric, which contain the inertias, and in the
    uniform metric, which contain the lengths. The block of eight bodies begins at index c of both arrays.
    """
    entries = [load(constants, c + 8 * (FACTOR + k)) for k in range(9)]
    squares = sum([w * w for w in entries[1:]], entries[0] * entries[0])
    length = load(alike, c + 8 * INVERSE_FACTOR)
    return squares * (length * length)
