"""Jumps of stiffness between two neighboring states, for example where a one-sided spring engages."""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.directions import FREEDOMS, SHIFT, VELOCITY, Directions
from quirk.dynamics.model.tangents import Tangent
from quirk.forces import ForceElement

from .operating_point import OperatingVariation, Point
from .quantity_derivatives import QuantityDerivatives

# A stiffness jumps between two states if it differs by more than JUMPS times its largest entry, and if its value
# halfway deviates from the mean by more than UNEVEN times the difference. The deviation is half the difference at a
# jump, and about zero if the stiffness varies smoothly.
JUMPS, UNEVEN = 1e-3, 0.25


def switched_elements(point: Point, halfway: Point, neighbor: Point) -> list[ForceElement]:
    """Return the force elements whose stiffness or damping jumps between the operating points `point` and `neighbor`.

    `halfway` is an operating point between them, which serves to distinguish jumps from continuous changes.
    """
    elements = [element for element, _ in point.model.forces]
    return [
        element
        for k, element in enumerate(elements)
        if _jumps(*(_by_bodies(place, k) for place in (point, halfway, neighbor)))
    ]


def _jumps(first: np.ndarray, halfway: np.ndarray, last: np.ndarray) -> bool:
    """Whether a stiffness jumps between the first and the last of three successive points."""
    largest = max(np.abs(first).max(initial=0.0), np.abs(last).max(initial=0.0))
    difference = np.abs(last - first).max(initial=0.0)
    apart = np.abs(halfway - (first + last) / 2).max(initial=0.0)
    return bool(difference > JUMPS * largest and apart > UNEVEN * difference)


def _by_bodies(point: Point, number: int) -> np.ndarray:
    """Return the derivatives (b, 6, 12 b) of the loads of a force element on its b bodies.

    The derivatives are with respect to poses and velocities of the b bodies at the operating point `point`; `number` is
    the index of the element. The characteristic length of the system is the unit of length.
    """
    model, rows = point.model, point.model.forces[number][1]
    bodies = sorted({row for row in rows if row < len(model.mass)})
    directions = Directions.none(model, FREEDOMS * len(bodies))
    unit = np.ones(FREEDOMS)
    unit[SHIFT] = unit[VELOCITY] = model.length
    for k, row in enumerate(bodies):
        directions.bodies[row, :, FREEDOMS * k : FREEDOMS * (k + 1)] = np.diag(unit)
    nothing, internal = np.zeros(0), np.zeros((0, directions.count))
    tangent = Tangent(nothing, nothing, nothing, nothing, nothing, nothing)
    changes = QuantityDerivatives(
        point, OperatingVariation(directions, tangent, np.zeros_like(directions.bodies), internal)
    )
    found = changes.load(number)[1][[frame for frame, row in enumerate(rows) if row in bodies]]
    found[:, 3:] /= model.length
    return found
