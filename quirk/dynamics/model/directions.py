"""Directions for directional derivatives: variations of the state, the time and the parameters of a system.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .model import Model

# Rows per body: displacement of the center of mass in the inertial frame, rotation in body axes (R becomes R
# exp(turn)), variation of the velocity in the inertial frame and of the angular velocity in body axes.
SHIFT, TURN, VELOCITY, OMEGA = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)
FREEDOMS = 12

# Variations (D,) of inputs of a law or relation, by index of the input.
Inputs = Mapping[int, np.ndarray]


@dataclass(frozen=True)
class Directions:
    """D directions for directional derivatives of a system with n bodies.

    Each direction is a variation of the state, the time and the parameters. Inputs of force laws and relations that are
    not listed do not vary. Names in capitals are constants of this module.

    Attributes
    ----------
    bodies : (n, 12, D) variation of the state of each body, in the order of SHIFT, TURN, VELOCITY, OMEGA
    time : (D,) variation of time, s
    internal : (k, D) variations of the k auxiliary states; variations of work have no effect
    mass, inertia, gravity : (n, D), (n, 3, 3, D) and (3, D), variations of these parameters
    laws, relations : for each force element or relation, by its index, the variations (D,) of its inputs, by index
        Relations are counted as in `quirk.dynamics.model.primitives_as_relations`.
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
        """Return D = `count` directions without variations, as arrays of zeros to be filled."""
        n = len(model.mass)
        return cls(
            bodies=np.zeros((n, FREEDOMS, count)),
            time=np.zeros(count),
            internal=np.zeros((model.auxiliary.size, count)),
            mass=np.zeros((n, count)),
            inertia=np.zeros((n, 3, 3, count)),
            gravity=np.zeros((3, count)),
        )

    @classmethod
    def of_shapes(cls, model: Model, shapes: np.ndarray, internal: np.ndarray) -> Directions:
        """Return 2 k directions of the state from k complex variations: first their real, then their imaginary parts.

        `shapes` (k, n, 12) are variations of n bodies, `internal` (k, s) variations of s internal variables.
        """
        directions = cls.none(model, 2 * len(shapes))
        moved, inside = np.moveaxis(shapes, 0, -1), internal.T
        directions.bodies[:] = np.concatenate([moved.real, moved.imag], axis=-1)
        directions.internal[: len(inside)] = np.concatenate([inside.real, inside.imag], axis=-1)
        return directions
