"""Constants of the compiled solver for the uniform metric, in which redundant rows are detected.

The metric, described in `quirk.dynamics.model.metric`, does not depend on masses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.dynamics.model.layout import FACTOR, INVERSE_FACTOR, INVERSE_MASS, Slots
from quirk.dynamics.model.metric import body_lengths
from quirk.dynamics.model.model import Model

from ..kernels.relations import Relations
from ..kernels.workspace import Uniform
from .fronts import Orthogonal


def uniform(
    model: Model,
    slots: Slots,
    constants: np.ndarray,
    bodies: Sequence[tuple[int, ...]],
    relations: Relations,
    fronts: Orthogonal,
) -> Uniform:
    """Return the constants of the uniform metric, which replace those of the mass metric to detect redundant rows.

    Parameters
    ----------
    slots : order of the n bodies in flat arrays
    constants : (n, CONSTANTS_SIZE) constants of the bodies in the mass metric
    bodies : indices of the bodies of each node (joint), none for hubs; the ground has index n
    relations : tables of the constraints that are defined by functions
    fronts : pattern of the orthogonal factorization
    """
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
