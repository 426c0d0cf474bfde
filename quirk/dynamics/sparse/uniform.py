"""The arrays of the compiled solver for bodies all alike, in which rows are judged; see `quirk.dynamics.metric`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quirk.record import record

from ..metric import body_lengths
from ..model import Model
from .fronts import Orthogonal
from .layout import FACTOR, INVERSE_FACTOR, INVERSE_MASS, Slots
from .relations import Relations


@record
class Uniform(NamedTuple):
    """What replaces arrays of the same names.

    constants: of bodies · inverse_mass, side_inverse_mass: summed over the bodies of nodes, and of the sides of
    relations · scale, weight: factors of forces in the orthogonal factorisation.
    """

    constants: np.ndarray
    inverse_mass: np.ndarray
    side_inverse_mass: np.ndarray
    scale: np.ndarray
    weight: np.ndarray


def uniform(
    model: Model,
    slots: Slots,
    constants: np.ndarray,
    bodies: Sequence[tuple[int, ...]],
    relations: Relations,
    fronts: Orthogonal,
) -> Uniform:
    """Return the arrays of a model whose `constants` (n, CONSTANTS_SIZE) and `bodies` of each node are given."""
    n = len(model.mass)
    alike, length = constants.copy(), body_lengths(model)
    alike[:, INVERSE_MASS] = 1.0
    alike[:, FACTOR : FACTOR + 9] = (np.eye(3) / length[:, None, None]).reshape(n, 9)
    alike[:, INVERSE_FACTOR : INVERSE_FACTOR + 9] = (np.eye(3) * length[:, None, None]).reshape(n, 9)
    return Uniform(
        constants=slots.to_lanes(alike),
        inverse_mass=np.array([sum(body < n for body in those) for those in bodies], dtype=float),
        side_inverse_mass=np.sign(relations.inverse_mass),
        scale=np.sign(fronts.scale),
        weight=np.sign(fronts.weight),
    )
