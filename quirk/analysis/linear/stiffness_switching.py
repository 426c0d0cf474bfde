"""Jumps of stiffness between two neighboring states, for example where a one-sided spring engages."""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.directions import FREEDOMS, SHIFT, VELOCITY, Directions
from quirk.dynamics.model.tangents import Tangent
from quirk.forces import ForceElement

from .operating_point import OperatingVariation, Point
from .quantity_derivatives import QuantityDerivatives

# Difference of a stiffness, relative to its largest entry, that counts as a jump.
JUMPS = 1e-3


def switched_elements(point: Point, neighbor: Point) -> list[ForceElement]:
    """Return the force elements whose stiffness or damping jumps between two neighboring operating points."""
    elements = [element for element, _ in point.model.forces]
    pairs = ((element, _by_bodies(point, k), _by_bodies(neighbor, k)) for k, element in enumerate(elements))
    return [
        element
        for element, a, b in pairs
        if np.abs(a - b).max(initial=0.0) > JUMPS * max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    ]


def _by_bodies(point: Point, number: int) -> np.ndarray:
    """Return the derivatives (b, 6, 12 b) of a force element's loads on its b bodies.

    They are with respect to poses and velocities of these bodies at the operating point `point`, with the
    characteristic length of the system as unit of length; `number` is the index of the element.
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
