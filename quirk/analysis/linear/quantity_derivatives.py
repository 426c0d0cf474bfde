"""Derivatives of quantities along D directions, by evaluation of force laws and constraints with dual numbers.

Terms: a dual number has a value and derivatives along eight directions; a direction is a small variation of poses,
velocities, internal variables and parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.autodiff.dual import Dual, DualArray
from quirk.autodiff.jet import Jet
from quirk.bodies.rotation import skew
from quirk.constraints import Constraint
from quirk.constraints.relation import LANES, layout_of
from quirk.dynamics.dense.rows import relation_inputs
from quirk.dynamics.model.applied_loads import law_inputs
from quirk.dynamics.model.directions import OMEGA, SHIFT, TURN, VELOCITY, Inputs
from quirk.dynamics.model.model import PlacedRelation
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.forces import ForceElement, Friction
from quirk.forces.calls import DualCall
from quirk.forces.law import run
from quirk.forces.law_inputs import continued_turns
from quirk.forces.law_layout import LawLayout
from quirk.forces.place import PLACEMENT, Place
from quirk.jit.simd import WIDTH

from .operating_point import OperatingVariation, Point


class QuantityDerivatives:
    """Derivatives of the motion of n bodies along D directions, and of quantities that depend on this motion.

    Index n of the bodies is the ground.

    Attributes
    ----------
    position, velocity, acceleration, spin, spin_rate : (n + 1, 3, D) derivatives, inertial frame
    rotation : (n + 1, 3, 3, D) derivatives of the rotation matrices, body axes to inertial frame
    orientation : (n + 1, 4, D) derivatives of the quaternions
    """

    def __init__(self, point: Point, variation: OperatingVariation) -> None:
        self.point, self.variation = point, variation
        self._joint_loads: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        kin, motion = point.kin, point.motion
        ground = np.zeros((1, 12, variation.directions.count))
        given = np.concatenate([variation.directions.bodies, ground])
        rate = np.concatenate([variation.bodies, ground])
        self.position, self.velocity, self.acceleration = given[:, SHIFT], given[:, VELOCITY], rate[:, VELOCITY]
        turn, omega, angular = (
            np.einsum("nij,njd->nid", kin.rotation, part) for part in (given[:, TURN], given[:, OMEGA], rate[:, OMEGA])
        )
        turning = skew(np.moveaxis(turn, 1, 2))
        self.rotation = np.einsum("ndij,njk->nikd", turning, kin.rotation)
        self.spin, self.spin_rate = (
            np.einsum("ndij,nj->nid", turning, motion.spin[:, k]) + own for k, own in enumerate((omega, angular))
        )
        # q' = (0, turn) q / 2
        q0, q = kin.orientation[:, :1, None], kin.orientation[:, 1:, None]
        scalar = -np.sum(turn * q, axis=1, keepdims=True)
        vector = q0 * turn + np.einsum("ndij,nj->nid", turning, q[..., 0])
        self.orientation = 0.5 * np.concatenate([scalar, vector], axis=1)

    def coordinate(self, element: ForceElement, rows: Sequence[int], number: int = 0) -> tuple[float, np.ndarray]:
        """Return a coordinate of a force element, and derivatives (3, D) along D directions.

        The derivatives are those of the coordinate, of its rate and of its second time derivative; they are NaN where
        undefined, for example for the second time derivative of a velocity. `rows` are the indices of the element's
        bodies, and `number` is the index of the coordinate.
        """
        taylor, changes = self.coordinate_terms(element, rows, number, {})
        return taylor[0], changes

    def coordinate_terms(
        self, element: ForceElement, rows: Sequence[int], number: int, seeds: Inputs
    ) -> tuple[list[float], np.ndarray]:
        """Return the Taylor coefficients in time of a coordinate of a force element, and its derivatives (3, D).

        The derivatives along D directions are those of the coordinate, of its rate and of its second time derivative.
        `rows` are the indices of the element's bodies, and `number` is the index of the coordinate. `seeds` are
        additional variations (D,) of inputs of the force law, by index of the input.
        """
        layout = element.layout(1)
        values, deltas = self._law(element, layout, rows)
        places = _input_map(element.layout(), layout)
        for place, change in seeds.items():
            deltas[places[place]] += change
        found: list[list[Any]] = []
        for inputs in _dual_numbers(values, deltas):
            frames = [Place(layout, f, inputs, False) for f in range(layout.frames)]
            time = Jet([Dual(self.point.t, 0), 1.0, 0.0], [None] * layout.frames)
            given = element.coordinate(time, *frames) if element.has("coordinate") else element.shown(time, *frames)
            listed = list(given) if isinstance(given, list | tuple | np.ndarray) else [given]
            jets = [x if isinstance(x, Jet) else Jet([x, 0.0, 0.0], [None] * layout.frames) for x in listed]
            found.append(
                (continued_turns(element, layout, time, jets, inputs) if element.turning else jets)[number].taylor
            )
        changes = [np.concatenate([_order_derivative(terms, k) for terms in found])[: self._count] for k in range(3)]
        return [float(x.value if isinstance(x, Dual) else x) for x in found[0][:3]], np.array(changes)

    def load(self, number: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Return loads and energy of the force element with index `number` in the model, with their derivatives.

        Returns
        -------
        loads : (frames, 6) force and moment about the center of mass on the body of each frame, inertial frame, N and N
            m
        moved : (frames, 6, D) derivatives of the loads along D directions
        energy : stored energy, J
        change : (D,) derivatives of the energy
        """
        element, rows = self.point.model.forces[number]
        layout = element.layout()
        values, deltas = self._law(element, layout, rows)
        if isinstance(element, Friction):
            place, k = element.place_of("size"), self.point.frictions.index(element)
            values[place] = self.point.magnitudes[k]
            deltas[place] = self.variation.tangent.friction[:, k]
        outputs = []
        for inputs in _dual_numbers(values, deltas):
            made = DualArray(np.zeros((1 + WIDTH) * layout.outputs), layout.outputs)
            calls = [DualCall(value) for value in element.functions]
            run(element, layout, calls, Dual(self.point.t, np.zeros(WIDTH)), inputs, made)
            outputs.append(made.values)
        size = layout.outputs
        changes = np.concatenate([x[size:].reshape(size, WIDTH) for x in outputs], axis=1)[:, : self._count]
        loads = outputs[0][: layout.energy].reshape(layout.frames, LANES)[:, :6]
        moved = changes[: layout.energy].reshape(layout.frames, LANES, -1)[:, :6]
        return loads, moved, float(outputs[0][layout.energy]), changes[layout.energy]

    def joint_load(self, constraint: Constraint) -> tuple[np.ndarray, np.ndarray]:
        """Return the force and torque (6,) of a constraint on body j at its joint point, and their derivatives (6, D).

        Forces (N) and torques (N m) are in the inertial frame. The derivatives are along D directions.
        """
        if constraint.name not in self._joint_loads:
            self._joint_loads[constraint.name] = self._joint_load(constraint)
        return self._joint_loads[constraint.name]

    def _joint_load(self, constraint: Constraint) -> tuple[np.ndarray, np.ndarray]:
        model, multipliers = self.point.model, self.point.loaded.multipliers
        own = model.joint_rows[constraint.name]
        j = next(pair[1] for one, pair in model.joint_bodies if one.name == constraint.name)
        wrench, change = np.zeros(6), np.zeros((6, self._count))
        origin = np.zeros((3, self._count))
        for number, placed in enumerate(as_relations(model)):
            if own.start <= placed.rows.start < own.stop:
                rows, moved = self._rows(number, placed, j)
                wrench += multipliers[placed.rows] @ rows
                change += np.einsum("m,mcd->cd", multipliers[placed.rows], moved)
                change += np.einsum("dm,mc->cd", self.variation.tangent.multipliers[:, placed.rows], rows)
                origin = self._origin_of_j(number, placed)
        arm = self.point.kin.rotation[j] @ constraint.frame_j.origin
        moving = np.einsum("rcd,c->rd", self.rotation[j], constraint.frame_j.origin)
        moving += self.point.kin.rotation[j] @ origin
        change[3:] -= np.cross(moving, wrench[:3, None], axis=0) + np.cross(arm[:, None], change[:3], axis=0)
        wrench[3:] -= np.cross(arm, wrench[:3])
        return wrench, change

    def last_origin(self, number: int) -> np.ndarray:
        """Return the derivatives (3, D) of the origin of the last frame of a force element, in body coordinates.

        The origin varies only with the parameters of the element; `number` is the index of the element. The derivatives
        are along D directions.
        """
        element = self.point.model.forces[number][0]
        layout, last = element.layout(), len(element.acting_ends) - 1
        given = self.variation.directions.laws.get(number, {})
        first = layout.first_frame + last * layout.frame_size
        return np.array([given.get(first + c, np.zeros(self._count)) for c in range(3)])

    def _origin_of_j(self, number: int, placed: PlacedRelation) -> np.ndarray:
        """Return the derivatives (3, D) of the origin of frame j of a constraint, in body coordinates.

        `number` is the index of the constraint among the relations of the model, and `placed` is the constraint with
        its bodies.
        """
        layout = layout_of(placed.relation, len(placed.bodies), 2)
        given = self.variation.directions.relations.get(number, {})
        first = layout.first_frame + layout.frame_size
        return np.array([given.get(first + c, np.zeros(self._count)) for c in range(3)])

    @property
    def _count(self) -> int:
        return self.variation.directions.count

    def _law(self, element: ForceElement, layout: LawLayout, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs (inputs,) of a force law, and their derivatives (inputs, D) along D directions.

        `layout` is the layout of the inputs, and `rows` are the indices of the element's bodies.
        """
        point, count = self.point, self._count
        motion = point.motion.truncated(layout.order + 1)
        values = law_inputs(element, layout, rows, motion, point.t, point.state.angles)
        deltas = np.zeros((layout.inputs, count))
        if element.internal:
            own = point.model.auxiliary.internal[element.name]
            variables = slice(layout.first_internal, layout.first_frame, layout.order + 2)
            values[variables] = point.model.auxiliary.numbers(point.model.auxiliary.flat(point.state))[own]
            deltas[variables] = self.variation.directions.internal[own]
        # Indices refer to the layout without derivatives; indices of parameters and frames are equal in both layouts.
        number = next((k for k, (one, _) in enumerate(point.model.forces) if one is element), None)
        if number is not None:
            places = _input_map(element.layout(), layout)
            for place, change in self.variation.directions.laws.get(number, {}).items():
                deltas[places[place]] += change
        for f, body in enumerate(rows):
            terms = [self.position[body], self.velocity[body], 0.5 * self.acceleration[body]][: layout.order + 2]
            spins = [self.spin[body], self.spin_rate[body]][: layout.order + 1]
            o = layout.first_frame + f * layout.frame_size + PLACEMENT
            parts = [*terms, self.rotation[body].reshape(9, count), *spins, self.orientation[body]]
            deltas[o : layout.first_frame + (f + 1) * layout.frame_size] = np.concatenate(parts)
        return values, deltas

    def _rows(self, number: int, placed: PlacedRelation, body: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the r rows of a constraint for one body, (r, 6), and their derivatives (r, 6, D) along D directions.

        The six columns belong to linear and angular motion in the inertial frame. `number` is the index of the
        constraint among the relations of the model, `placed` the constraint with its bodies, and `body` the index of
        the body.
        """
        point, count = self.point, self._count
        layout = layout_of(placed.relation, len(placed.bodies), 2)
        values, deltas = relation_inputs(placed, layout, point.motion, point.t), np.zeros((layout.inputs, count))
        for f, moved in enumerate(placed.bodies):
            o = layout.first_frame + f * layout.frame_size + PLACEMENT
            parts = [self.position[moved], self.velocity[moved], 0.5 * self.acceleration[moved]]
            parts += [self.rotation[moved].reshape(9, count), self.spin[moved], self.spin_rate[moved]]
            deltas[o : layout.first_frame + (f + 1) * layout.frame_size] = np.concatenate(parts)
        for place, change in self.variation.directions.relations.get(number, {}).items():
            deltas[place] += change
        found = []
        for inputs in _dual_numbers(values, deltas):
            outputs = DualArray(np.zeros((1 + WIDTH) * layout.outputs), layout.outputs)
            placed.fill_dual(layout, Dual(point.t, np.zeros(WIDTH)), inputs, outputs)
            found.append(outputs.values)
        size, shape = layout.outputs, (layout.rows, layout.frames, LANES)
        changes = np.concatenate([x[size:].reshape(size, WIDTH) for x in found], axis=1)[:, :count]
        here = [f for f, own in enumerate(placed.bodies) if own == body]
        rows = found[0][layout.first_gradient : size].reshape(shape)[:, here, :6].sum(axis=1)
        return rows, changes[layout.first_gradient :].reshape(*shape, count)[:, here, :6].sum(axis=1)


def _input_map(value_layout: LawLayout, layout: LawLayout) -> dict[int, int]:
    """Return, for each input of a force law without time derivatives, its index among the inputs with time derivatives.

    `value_layout` is the layout of the inputs without time derivatives, and `layout` is the one with time derivatives.
    """
    found = {k: k for k in range(value_layout.first_motion)}
    for m in range(value_layout.motions):
        for k in range(value_layout.order + 2):
            found[value_layout.first_motion + m * (value_layout.order + 2) + k] = (
                layout.first_motion + m * (layout.order + 2) + k
            )
    for f in range(value_layout.frames):
        for c in range(PLACEMENT):
            here = layout.first_frame + f * layout.frame_size + c
            found[value_layout.first_frame + f * value_layout.frame_size + c] = here
    return found


def _dual_numbers(values: np.ndarray, deltas: np.ndarray) -> list[DualArray]:
    """Return N dual numbers from their values (N,) and their derivatives `deltas` (N, D) along D directions.

    As a dual number has eight derivatives, there is one array of N dual numbers for every eight directions.
    """
    made = []
    for first in range(0, max(1, deltas.shape[1]), WIDTH):
        taken = np.zeros((len(values), WIDTH))
        part = deltas[:, first : first + WIDTH]
        taken[:, : part.shape[1]] = part
        made.append(DualArray(np.concatenate([values, taken.ravel()]), len(values)))
    return made


def _order_derivative(taylor: list[Any], k: int) -> np.ndarray:
    """Return the derivatives (8,) of the k-th time derivative of a quantity along eight directions.

    `taylor` are the Taylor coefficients of the quantity in time, as dual numbers. The result is NaN if coefficient k is
    not available.
    """
    if k >= len(taylor):
        return np.full(WIDTH, np.nan)
    delta = taylor[k].delta if isinstance(taylor[k], Dual) else 0
    return (2.0 if k == 2 else 1.0) * (np.zeros(WIDTH) + delta)
