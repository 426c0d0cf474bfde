"""Directions in which a state, the time and the parameters of a system may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .model import Model

# Of each body: displacement of the center of mass in N, turn in body axes (R changes to R exp(turn)), change of the
# velocity in N and of the angular velocity in body axes.
SHIFT, TURN, VELOCITY, OMEGA = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)
FREEDOMS = 12

# Changes (D,) of inputs of a law or relation, by their place among the inputs.
Inputs = Mapping[int, np.ndarray]


@dataclass(frozen=True)
class Directions:
    """D directions; what is not given does not change.

    Attributes
    ----------
    bodies : (n, 12, D) how each body moves, as above
    time : (D,) s
    internal : (k, D) of all that a run carries beside the motion, of which internal variables count
    mass, inertia, gravity : (n, D), (n, 3, 3, D), (3, D)
    laws, relations : of force elements and of relations (`quirk.dynamics.model.primitives_as_relations`) by number
    """

    bodies: np.ndarray
    time: np.ndarray
    internal: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    laws: Mapping[int, Inputs] = field(default_factory=dict)
    relations: Mapping[int, Inputs] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number D of directions."""
        return len(self.time)

    @classmethod
    def none(cls, model: Model, count: int) -> Directions:
        """Return so many directions in which nothing changes, with arrays to be filled."""
        n = len(model.mass)
        return cls(
            bodies=np.zeros((n, FREEDOMS, count)),
            time=np.zeros(count),
            internal=np.zeros((model.carried.size, count)),
            mass=np.zeros((n, count)),
            inertia=np.zeros((n, 3, 3, count)),
            gravity=np.zeros((3, count)),
        )

    @classmethod
    def of_shapes(cls, model: Model, shapes: np.ndarray, internal: np.ndarray) -> Directions:
        """Return the real parts of k complex changes, then the imaginary ones: 2 k directions.

        `shapes` (k, n, 12) are of the bodies, `internal` (k, s) of the internal variables.
        """
        found = cls.none(model, 2 * len(shapes))
        moved, inside = np.moveaxis(shapes, 0, -1), internal.T
        found.bodies[:] = np.concatenate([moved.real, moved.imag], axis=-1)
        found.internal[: len(inside)] = np.concatenate([inside.real, inside.imag], axis=-1)
        return found
