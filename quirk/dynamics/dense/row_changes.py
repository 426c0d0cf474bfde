"""Directional derivatives of constraint rows and constraint loads, in the dense reference solver.

Relations (constraint functions) are evaluated on dual numbers, which are numbers with derivatives. There are n bodies,
m rows and D directions. Phi denotes the residuals of the rows.
"""

from __future__ import annotations

import numpy as np

from quirk.autodiff.dual import Dual, DualArray
from quirk.bodies.state import Kinematics, State
from quirk.constraints.relation import LANES, layout_of
from quirk.jit.simd import WIDTH

from ..model.directions import OMEGA, SHIFT, TURN, VELOCITY, Directions, Inputs
from ..model.model import Model, PlacedRelation
from ..model.primitives_as_relations import as_relations
from ..model.time_derivatives import PoseDerivatives
from .rows import relation_inputs


def row_changes(
    model: Model, state: State, t: float, directions: Directions, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of the rows in D directions at a state, for bodies with zero accelerations.

    Returns
    -------
    loads : (n, 6, D) derivatives of the constraint loads at constant multipliers (m,), inertial frame
    levels : (m, 3, D) derivatives of Phi and its first two time derivatives
    """
    motion = PoseDerivatives.of(Kinematics.of(state), 2)
    parts = [
        EightDirections(model, motion, t, directions, first, multipliers) for first in range(0, directions.count, WIDTH)
    ]
    loads, levels = (np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in ("loads", "levels"))
    return loads[..., : directions.count], levels[..., : directions.count]


class EightDirections:
    """Derivatives of rows in eight directions at constant accelerations and multipliers, for n bodies and m rows.

    Attributes
    ----------
    loads : (n, 6, 8) derivatives of forces and moments about the centers of mass on all bodies, inertial frame
    levels : (m, 3, 8) derivatives of Phi and its first two time derivatives
    rows : (m, n + 1, 6, 8) derivatives of the rows over velocities and angular velocities in the inertial frame
    """

    def __init__(
        self,
        model: Model,
        motion: PoseDerivatives,
        t: float,
        directions: Directions,
        first: int,
        multipliers: np.ndarray,
    ) -> None:
        n = len(model.mass)
        self.columns = slice(first, first + WIDTH)
        self.model, self.motion, self.directions = model, motion, directions
        self.time = Dual(t, self.padded(directions.time))
        self._move()
        self.loads = np.zeros((n + 1, 6, WIDTH))
        self.levels, self.rows = np.zeros((model.rows, 3, WIDTH)), np.zeros((model.rows, n + 1, 6, WIDTH))
        for r, placed in enumerate(as_relations(model)):
            self._relation(placed, directions.relations.get(r, {}))
        self.loads = self.loads[:-1] + np.einsum("mncd,m->ncd", self.rows[:, :-1], multipliers)

    def padded(self, x: np.ndarray) -> np.ndarray:
        """Return the eight columns of an array (..., D) that belong to these directions; missing columns are zero."""
        taken = x[..., self.columns]
        return np.concatenate([taken, np.zeros((*x.shape[:-1], WIDTH - taken.shape[-1]))], axis=-1)

    def _move(self) -> None:
        """Compute the derivatives of poses, velocities and accelerations of n bodies in the eight directions.

        Derivatives of rotations are in the inertial frame.
        """
        motion = self.motion
        bodies = np.concatenate([self.padded(self.directions.bodies), np.zeros((1, 12, WIDTH))])
        turn, omega = (np.einsum("nij,njd->nid", motion.rotation, bodies[:, part]) for part in (TURN, OMEGA))
        w, w1 = motion.spin[:, 0, :, None], motion.spin[:, 1, :, None]
        self.position, self.velocity = bodies[:, SHIFT], bodies[:, VELOCITY]
        self.rotation = np.stack([np.cross(turn, motion.rotation[:, :, c, None], axis=1) for c in range(3)], axis=2)
        self.spin, self.spin_rate = np.cross(turn, w, axis=1) + omega, np.cross(turn, w1, axis=1)
        # q' = (0, turn) q / 2
        q0, q = motion.orientation[:, :1, None], motion.orientation[:, 1:, None]
        scalar = -np.sum(turn * q, axis=1, keepdims=True)
        self.orientation = 0.5 * np.concatenate([scalar, q0 * turn + np.cross(turn, q, axis=1)], axis=1)

    def _relation(self, placed: PlacedRelation, change: Inputs) -> None:
        relation, t = placed.relation, self.time.value
        layout = layout_of(relation, len(placed.bodies), 2)
        values = relation_inputs(placed, layout, self.motion, t)
        deltas = np.zeros((layout.inputs, WIDTH))
        for m, motion in enumerate(relation.motions):
            rates = motion.derivatives(t, 3)[1:] / np.array([1.0, 1.0, 2.0])
            place = layout.numbers + 3 * m
            deltas[place : place + 3] = rates[:, None] * self.time.delta
        for f, body in enumerate(placed.bodies):
            o = layout.first_frame + f * layout.frame_size + 12
            deltas[o : o + 24] = np.concatenate([
                self.position[body], self.velocity[body], np.zeros((3, WIDTH)), self.rotation[body].reshape(9, -1),
                self.spin[body], self.spin_rate[body],
            ])  # fmt: skip
        self.add_directions(deltas, change)
        count = layout.outputs
        outputs = dual_array(np.zeros(count), np.zeros((count, WIDTH)))
        placed.fill_dual(layout, self.time, dual_array(values, deltas), outputs)
        slopes = outputs.values[count:].reshape(count, WIDTH)
        self.levels[placed.rows] = slopes[: layout.first_gradient].reshape(layout.rows, 3, WIDTH)
        gradient = slopes[layout.first_gradient :].reshape(layout.rows, layout.frames, LANES, WIDTH)
        for f, body in enumerate(placed.bodies):
            self.rows[placed.rows, body] += gradient[:, f, :6]

    def add_directions(self, deltas: np.ndarray, inputs: Inputs) -> None:
        """Add the variations of parameters in the eight directions to the derivatives of a law's inputs.

        `deltas` (inputs, 8) are the derivatives of the inputs. `inputs` contains the variations (D,) of the inputs of
        the force law or relation that vary, by index of the input.
        """
        for place, change in inputs.items():
            deltas[place] += self.padded(change)


def dual_array(values: np.ndarray, deltas: np.ndarray) -> DualArray:
    """Return an array of N dual numbers with the given values (N,) and derivatives (N, 8)."""
    return DualArray(np.concatenate([values, deltas.ravel()]), len(values))
