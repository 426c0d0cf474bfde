"""Strains of elastic beam segments as unknowns of Newton's method, besides the displacements of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from quirk.beams import BeamSegment
from quirk.dynamics.sparse.kernels.applied import ELEMENT_SIZE, INPUT

from .operating_point import Point

if TYPE_CHECKING:
    from quirk.system.system import System


@dataclass(frozen=True)
class BeamStrains:
    """The active beam segments of a system.

    Attributes
    ----------
    names : names of the N segments
    first_inputs : (N,) index of each segment's first reference strain among the inputs of all compiled force laws
    """

    names: list[str]
    first_inputs: np.ndarray

    @classmethod
    def of(cls, system: System) -> BeamStrains:
        """Return the active beam segments of a system."""
        forces = [element for element, _ in system.model.forces]
        segments = {row: element for row, element in enumerate(forces) if isinstance(element, BeamSegment)}
        entries = system.plant.solver().applied.table.entries
        first = [
            int(entries[ELEMENT_SIZE * row + INPUT]) + _input_offset(segment, "reference")
            for row, segment in segments.items()
        ]
        return cls([segment.name for segment in segments.values()], np.array(first, dtype=int))

    def strains(self, point: Point) -> np.ndarray:
        """Return the strains (N, 6) of the N segments at an operating point."""
        return np.array([point.laws[name].coordinates[:, 0] for name in self.names])

    def rates(self, point: Point, moves: np.ndarray, turns: np.ndarray) -> np.ndarray:
        """Return the changes (N, 6) of the strains, to first order, for displacements from an operating point.

        `moves` (n, 3) are displacements of n bodies, m, inertial frame, and `turns` (n, 3) rotations, rad, body axes.
        """
        moving = replace(point.state, velocity=moves, angular_velocity=turns)
        found = point.laws_at(moving)
        return np.array([found[name].coordinates[:, 1] for name in self.names])

    @contextmanager
    def at(self, point: Point, strains: np.ndarray, actual: np.ndarray) -> Iterator[None]:
        """Context manager in which N beam segments exert the loads of prescribed strains, at an operating point.

        `strains` (N, 6) are the prescribed strains, and `actual` (N, 6) those at the point. The reference strains in
        the compiled laws are changed by the difference and restored on exit.
        """
        inputs = point.solver.applied.table.inputs
        places = self.first_inputs[:, None] + np.arange(strains.shape[1])
        kept = inputs[places].copy()
        inputs[places] = kept + actual - strains
        try:
            yield
        finally:
            inputs[places] = kept


def _input_offset(element: BeamSegment, parameter: str) -> int:
    """Return the index, among the inputs of a beam segment's force law, at which the values of `parameter` begin."""
    names = element.parameters[: element.parameters.index(parameter)]
    return sum(np.size(getattr(element, name)) for name in names)
