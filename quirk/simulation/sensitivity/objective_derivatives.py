"""Quantities of an objective at the output times, and their derivatives with respect to states and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.analysis.linear.operating_point import OperatingVariation, Point
from quirk.analysis.linear.outputs import Named, quantities, rows_of
from quirk.analysis.linear.quantity_derivatives import QuantityDerivatives
from quirk.bodies.body import Body
from quirk.dynamics.model.directions import FREEDOMS, Directions
from quirk.dynamics.model.tangents import Tangent
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import InputError
from quirk.events.names import Reading
from quirk.events.quantity import Quantity
from quirk.result.segment import Segment
from quirk.system.system import System

from .change import ParameterChange, after_replacements, as_weights, directions_of
from .geometry_derivatives import explicit_changes

OWNER, ARGUMENT = "simulate: objective", "a quantity"


class ObjectiveDerivatives:
    """Quantities of an objective along one segment of a run, with their derivatives.

    Parameters
    ----------
    system : System
    segment : segment of the result
    rows : indices of the outputs on which the objective depends
    solver : solver of the segment's model
    changes : derivatives of the system with respect to the D parameters
    """

    def __init__(
        self, system: System, segment: Segment, rows: Sequence[int], solver: Solver, changes: Sequence[ParameterChange]
    ) -> None:
        self._changes = after_replacements(changes, system, segment.replaced)
        self._rows, self._shape = rows, segment.flat.shape
        self._points = list[Point]()
        self._listed: list[Named] = []
        for row in rows:
            state, t = segment.state_at(row), float(segment.time[row])
            if not self._points:
                solver.settle_state(state, t)
            self._points.append(Point.along(system, segment.plant, solver, state, t, segment.angles[row]))

    def values(self, names: Sequence[str]) -> np.ndarray:
        """Return the values (r, q) of q named quantities at r output times.

        Their definitions are stored, for `pulled_back`.
        """
        if not self._points:
            return np.zeros((0, len(names)))
        self._listed = quantities(OWNER, ARGUMENT, self._points[0].system, names)
        for quantity in self._listed:
            self._check(quantity)
        return np.array(
            [
                [quantity.read(_changes(point, Directions.none(point.model, 0)))[0] for quantity in self._listed]
                for point in self._points
            ]
        )

    def pulled_back(self, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the objective with respect to the states (nt, 13 n + k) and D parameters (D,).

        `slopes` (r, q) are the derivatives of the objective with respect to the q quantities at r output times.
        """
        sources = np.zeros(self._shape)
        by_parameters = np.zeros(len(self._changes))
        if not self._points:
            return sources, by_parameters
        for quantity, by_time in zip(self._listed, slopes.T, strict=True):
            varied = self._varied(quantity)
            for point, slope, row in zip(self._points, by_time, self._rows, strict=True):
                if slope == 0.0:
                    continue
                self._by_state(point, quantity, slope, sources[row])
                if varied:
                    by_parameters[varied] += slope * self._by_parameters(
                        point, quantity, [self._changes[d] for d in varied]
                    )
        return sources, by_parameters

    def _check(self, quantity: Named) -> None:
        of = quantity.of
        coordinate = isinstance(of, Reading) and of.of is not None and of.quantity in getattr(of.of, "coordinates", ())
        if not (isinstance(of, Quantity) or coordinate):
            raise InputError(
                f'{OWNER}: "{quantity.name}": objectives must depend on poses and velocities only, not on loads or '
                "energies"
            )

    def _by_state(self, point: Point, quantity: Named, slope: float, out: np.ndarray) -> None:
        """Add `slope` times the gradient (13 n + k,) of a quantity with respect to the state vector to the array `out`.

        `point` is the operating point at this state.
        """
        model = point.model
        bodies = [row for row in _rows(point, quantity) if row < len(model.mass)]
        internal = model.auxiliary.size
        directions = Directions.none(model, FREEDOMS * len(bodies) + internal)
        for k, row in enumerate(bodies):
            directions.bodies[row, :, FREEDOMS * k : FREEDOMS * (k + 1)] = np.eye(FREEDOMS)
        directions.internal[:, FREEDOMS * len(bodies) :] = np.eye(internal)
        moved = slope * quantity.read(_changes(point, directions))[1]
        by_motions = np.zeros((len(model.mass), FREEDOMS))
        by_motions[bodies] = moved[: FREEDOMS * len(bodies)].reshape(-1, FREEDOMS)
        out += as_weights(point.state.orientation, by_motions, moved[FREEDOMS * len(bodies) :])

    def _varied(self, quantity: Named) -> list[int]:
        """Return the indices of the parameters that affect the constraints and forces of a quantity."""
        names = {part.name for part in _parts(quantity) if not isinstance(part, Body)}
        return [d for d, change in enumerate(self._changes) if any(name in names for _, name, _ in change.numbers)]

    def _by_parameters(self, point: Point, quantity: Named, changes: Sequence[ParameterChange]) -> np.ndarray:
        """Return the derivatives of a quantity with respect to the parameters, at constant state.

        `point` is the operating point, and `changes` are the derivatives of the system with respect to each parameter.
        """
        along = _changes(point, directions_of(point.model, changes))
        moved = quantity.read(along)[1]
        return moved + explicit_changes(quantity.of, along, changes) if isinstance(quantity.of, Quantity) else moved


def _changes(point: Point, directions: Directions) -> QuantityDerivatives:
    """Return the variations of poses and velocities at an operating point along given directions.

    Variations of accelerations are not computed.
    """
    nothing, internal = np.zeros(0), np.zeros((0, directions.count))
    tangent = Tangent(nothing, nothing, nothing, nothing, nothing, nothing)
    return QuantityDerivatives(
        point, OperatingVariation(directions, tangent, np.zeros_like(directions.bodies), internal)
    )


def _parts(quantity: Named) -> list[Any]:
    return list(quantity.of.parts.values()) if isinstance(quantity.of, Quantity) else [_element(quantity)]


def _element(quantity: Named) -> Any:
    """Return the constraint or force element to which a quantity belongs."""
    return quantity.of.of if isinstance(quantity.of, Reading) else quantity.of


def _rows(point: Point, quantity: Named) -> list[int]:
    """Return the indices of the bodies on which a quantity depends, in increasing order and without repetition.

    `point` is an operating point, whose model has the bodies.
    """
    return sorted(set(rows_of(point, _element(quantity))))
