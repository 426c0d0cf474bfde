"""Derivatives of quantities with respect to joint frames and parameters of gaps, while the state is held constant.

D is the number of scalar parameters with respect to which derivatives are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from quirk.analysis.linear.outputs import rows_of
from quirk.analysis.linear.quantity_derivatives import QuantityDerivatives
from quirk.bodies import rotation
from quirk.bodies.frame import Frame
from quirk.constraints import Constraint
from quirk.events.quantity import Gap, Quantity

from .change import FRAME, ParameterChange
from .part_parameters import RELATION

# Difference quotients: first step over the magnitude of the parameter, and number of halvings for the extrapolation.
# Quantities depend smoothly on the frames.
STEP, HALVINGS = 1e-2, 4


def gap_changes(gap: Gap, derivatives: QuantityDerivatives, numbers: np.ndarray) -> np.ndarray:
    """Return the derivatives (D,) of a gap with respect to D parameters that change its constants, at constant state.

    `derivatives` holds the operating point at which the gap is evaluated, and `numbers` (k, D) are the derivatives of
    the k constants of the gap with respect to the parameters.
    """
    total = np.zeros(numbers.shape[1])
    for k, change in enumerate(numbers):
        if not change.any():
            continue
        size = STEP * max(1.0, abs(gap.numbers_of_gap[k]))

        def at_distance(x: float, k: int = k) -> float:
            moved = gap.numbers_of_gap.copy()
            moved[k] += x
            varied = gap.with_values({"numbers_of_gap": moved})
            return derivatives.coordinate(varied, rows_of(derivatives.point, varied))[0]

        table = [
            (at_distance(size * 0.5**j) - at_distance(-size * 0.5**j)) / (2 * size * 0.5**j) for j in range(HALVINGS)
        ]
        total += _extrapolated(table) * change
    return total


def _extrapolated(table: list[float]) -> float:
    for k in range(1, HALVINGS):
        table = [(4**k * b - a) / (4**k - 1) for a, b in pairwise(table)]
    return table[0]


def explicit_changes(
    quantity: Quantity, derivatives: QuantityDerivatives, changes: Sequence[ParameterChange]
) -> np.ndarray:
    """Return the derivatives (D,) of a quantity with respect to D parameters that displace its joint frames.

    The state is held constant. `derivatives` holds the operating point at which the quantity is evaluated, and
    `changes` are the derivatives of the system with respect to the parameters.
    """
    total = np.zeros(len(changes))
    for d, change in enumerate(changes):
        moved = {name: _frames(part, change) for name, part in quantity.parts.items() if isinstance(part, Constraint)}
        moved = {name: frames for name, frames in moved.items() if frames is not None}
        if not moved:
            continue
        total[d] = _extrapolated([_difference(quantity, derivatives, moved, STEP * 0.5**k) for k in range(HALVINGS)])
    return total


def _frames(constraint: Constraint, change: ParameterChange) -> np.ndarray | None:
    """Return the derivatives (24,) of both frames of a constraint with respect to a parameter, or None if all are zero.

    For each frame they are the derivatives of the origin (3) and of the axes (9, by rows), in body coordinates.
    """
    for (kind, name, _), numbers in change.numbers.items():
        if kind == RELATION and name == constraint.name and len(constraint.ends) == 2:
            frames = numbers[-2 * FRAME :]
            return frames if frames.any() else None
    return None


def _difference(quantity: Quantity, derivatives: QuantityDerivatives, moved: dict[str, Any], h: float) -> float:
    values = []
    for step in (h, -h):
        parts = {name: _with_frames(part, moved.get(name), step) for name, part in quantity.parts.items()}
        varied = quantity.with_values({"parts": parts})
        values.append(derivatives.coordinate(varied, rows_of(derivatives.point, varied))[0])
    return (values[0] - values[1]) / (2 * h)


def _with_frames(part: Any, change: np.ndarray | None, step: float) -> Any:
    """Return a copy of a constraint with displaced frames: by `step` times their derivatives `change` (24,).

    If `change` is None, the constraint itself is returned.
    """
    if change is None:
        return part
    displaced = copy(part)
    for name, of in (("frame_i", change[:FRAME]), ("frame_j", change[FRAME:])):
        frame: Frame = getattr(part, name)
        spin = frame.matrix.T @ of[3:].reshape(3, 3)
        turn = 0.5 * np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]])
        turned = frame.matrix @ rotation.matrix(rotation.exp(step * turn))
        object.__setattr__(displaced, name, Frame(frame.origin + step * of[:3], rotation.from_matrix(turned)))
    return displaced
