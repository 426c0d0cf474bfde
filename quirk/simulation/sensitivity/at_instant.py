"""Derivatives of accelerations, loads and other quantities at one time, from the derivatives of the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quirk.analysis.linear.operating_point import OperatingVariation, Point
from quirk.analysis.linear.outputs import Named, quantities
from quirk.analysis.linear.quantity_derivatives import QuantityDerivatives
from quirk.constraints import Constraint
from quirk.events.names import Reading
from quirk.events.quantity import Quantity
from quirk.result.segment import Segment

from .change import ParameterChange, after_replacements, as_motions, directions_of, motions_of, with_motions
from .geometry_derivatives import explicit_changes

if TYPE_CHECKING:
    from quirk.system.system import System

OWNER = "Result: sensitivity"


class Instant:
    """State of a run at one output time, with its derivatives with respect to D parameters.

    Attributes
    ----------
    variation : derivatives of the state and of its time derivative with respect to the parameters
    """

    def __init__(self, point: Point, variation: OperatingVariation, changes: Sequence[ParameterChange]) -> None:
        self._point, self.variation, self._parameter_changes = point, variation, changes

    def read(self, names: Sequence[str]) -> np.ndarray:
        """Return the derivatives (q, D) of q named quantities with respect to the D parameters."""
        point = self._point
        listed = quantities(OWNER, "a quantity", point.system, names)
        return np.array([self._read(quantity) for quantity in listed])

    def _read(self, quantity: Named) -> np.ndarray:
        if isinstance(quantity.of, Reading) and quantity.of.of is not None and quantity.of.of.name not in self._active:
            return np.zeros(len(self._parameter_changes))  # disabled parts exert no load
        return quantity.read(self._changes)[1] + self._explicit(quantity)

    @cached_property
    def _active(self) -> set[str]:
        """Names of the active constraints and force elements."""
        model = self._point.model
        return {*model.joint_rows, *(element.name for element, _ in model.forces)}

    @cached_property
    def _changes(self) -> QuantityDerivatives:
        return QuantityDerivatives(self._point, self.variation)

    def _explicit(self, quantity: Named) -> np.ndarray:
        """Return the derivatives (D,) of a quantity with respect to D parameters at constant state.

        They are nonzero if parameters displace joint frames on which the quantity depends.
        """
        if not isinstance(quantity.of, Quantity) or not any(
            isinstance(part, Constraint) for part in quantity.of.parts.values()
        ):
            return np.zeros(len(self._parameter_changes))
        return explicit_changes(quantity.of, self._changes, self._parameter_changes)


def instants(
    system: System, segment: Segment, variations: np.ndarray, changes: Sequence[ParameterChange]
) -> Iterator[Instant]:
    """Yield the state at each output time of a segment, with its derivatives with respect to D parameters.

    `variations` (nt, D, 13 n + k) are the derivatives of the state vectors of n bodies and k auxiliary states, and
    `changes` the derivatives of the system.
    """
    solver, model = segment.plant.solver(), segment.model
    changes = after_replacements(changes, system, segment.replaced)
    parameters, motions = directions_of(model, changes), motions_of(model, changes)
    differential = None
    for row, t in enumerate(segment.time):
        if row == 0:
            solver.settle_state(segment.state_at(row), float(t))
        point = Point.along(system, segment.plant, solver, segment.state_at(row), float(t), segment.angles[row])
        if differential is not None:
            point.differential = differential
        differential = point.differential
        point.loaded  # noqa: B018  before the solver is used for tangents
        bodies, internal = as_motions(model, segment.flat[row], variations[row])
        parameters.bodies[:], parameters.internal[:] = bodies, internal
        yield Instant(point, point.variation(with_motions(parameters, motions, float(t))), changes)
