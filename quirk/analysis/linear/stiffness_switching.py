"""Where the stiffness of force elements jumps between two places next to each other, as one-sided springs touch."""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.directions import FREEDOMS, SHIFT, VELOCITY, Directions
from quirk.dynamics.model.tangents import Tangent
from quirk.forces import ForceElement

from .operating_point import OperatingVariation, Point
from .quantity_derivatives import QuantityDerivatives

# A stiffness jumps if it changes by more than this part of its largest number.
JUMPS = 1e-3


def switched(one: Point, other: Point) -> list[ForceElement]:
    """Return the force elements whose stiffness or damping jumps between two points, which are next to each other."""
    elements = [element for element, _ in one.model.forces]
    pairs = ((element, _by_bodies(one, k), _by_bodies(other, k)) for k, element in enumerate(elements))
    return [
        element
        for element, a, b in pairs
        if np.abs(a - b).max(initial=0.0) > JUMPS * max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    ]


def _by_bodies(point: Point, number: int) -> np.ndarray:
    """How the loads of a force element on its bodies (b, 6) change with their poses and velocities (b, 6, 12 bodies).

    With the length of the system as unit.
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
