"""Directions of sliding friction in a compiled solver at the start of an integration.

The steps of a run keep the direction of slip while slip is too slow to have one, and the force law then takes the one
of the two directions along the slip that is nearer to it. So the force does not jump where slip passes zero, and the
end of slip can be located within a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from quirk.forces.friction import Friction
from quirk.forces.law_layout import COORDINATE

from .solver import Solver


def set_slip_directions(solver: Solver, directions: Mapping[str, Sequence[float] | np.ndarray]) -> None:
    """Set the direction of slip of each sliding friction element, so that its force does not jump.

    `directions` are unit vectors (d,) along the slip, by name of the friction element.
    """
    inputs = solver.applied.table.inputs
    for element, first, _ in _sliding_elements(solver):
        inputs[first : first + element.slip.size] = directions[element.name]
        inputs[first + element.place_of("following") - element.place_of("direction")] = 1.0


def slip_directions_at(solver: Solver, t: float, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return unit vectors (d,) along the slip at time t (s) and state y (13 n + k,), by name of the friction element.

    Where there is no slip, or it has just begun and is slower than its floor, they are the directions in which it
    begins.
    """
    found, sliding = {}, _sliding_elements(solver)
    if sliding:
        solver.rates(t, solver.slots.state_to_lanes(y))
    for element, _, first in sliding:
        slip = solver.applied.table.outputs[first + COORDINATE * np.arange(1, element.slip.size + 1)]
        speed = float(np.linalg.norm(slip))
        moves = speed > (element.floor if element.begins else 0.0)
        found[element.name] = slip / speed if moves else element.direction
    return found


def _sliding_elements(solver: Solver) -> list[tuple[Friction, int, int]]:
    """Return the sliding `Friction` elements.

    Each item consists of the element, the place of its direction among the inputs of all force laws, and the place of
    its first coordinate, after which its slip components follow, among their outputs.
    """
    table = solver.frictions
    elements = [element for element, _ in solver.model.forces if isinstance(element, Friction)]
    return list(zip(elements, table.direction.tolist(), table.slip.tolist(), strict=True))
