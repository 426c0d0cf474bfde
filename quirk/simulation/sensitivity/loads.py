"""Derivatives of accelerations and loads along a segment of a run, computed together for all outputs.

In shapes, nt is the number of output times, n the number of bodies, and D the number of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import STATE_SIZE
from quirk.constraints import Constraint
from quirk.constraints.relation import layout_of
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.dynamics.sparse.tangent.load_changes import VariedMotion, changed_loads
from quirk.dynamics.sparse.tangent.tangent import Differential
from quirk.errors import InputError
from quirk.events.names import Reading
from quirk.forces import ForceElement, Friction
from quirk.result.segment import Segment

from .change import ParameterChange, after_replacements, directions_of, motions_of

if TYPE_CHECKING:
    from quirk.system.system import System

FORCE, MOMENT, ENERGY = slice(0, 3), slice(3, 6), 6


def is_load(quantity: object) -> TypeGuard[Reading]:
    """Whether a quantity is a force, a torque or the energy of a single constraint or force element."""
    # Subclasses of Reading, such as loads shared by resting contacts, combine several multipliers.
    if type(quantity) is not Reading:
        return False
    return isinstance(quantity.of, Constraint | ForceElement) and quantity.quantity in ("force", "torque", "energy")


class SegmentLoads:
    """Derivatives of accelerations and loads with respect to D parameters, at the nt outputs of a segment.

    Parameters
    ----------
    system, segment : system and segment of the result
    variations : (nt, D, 13 n + k) derivatives of the state vectors of n bodies and k auxiliary states
    changes : derivatives of the system and its initial state with respect to each parameter

    Attributes
    ----------
    accelerations : (nt, n, 6, D) derivatives of accelerations, linear in the inertial frame and angular in body axes
    """

    def __init__(
        self, system: System, segment: Segment, variations: np.ndarray, changes: Sequence[ParameterChange]
    ) -> None:
        self._model, self._state, self._variations = segment.model, segment.state, variations
        self._relations = as_relations(segment.model)
        self._elements = {element.name: k for k, (element, _) in enumerate(self._model.forces)}
        changes = after_replacements(changes, system, segment.replaced)
        self._directions = directions_of(self._model, changes)
        motion = VariedMotion(segment.time, segment.flat, segment.angles, variations)
        motions = motions_of(self._model, changes)
        self._loads = changed_loads(Differential(segment.plant.solver()), motion, self._directions, motions)
        self.accelerations = self._loads.accelerations

    @property
    def complete(self) -> bool:
        """Whether all derivatives are finite."""
        loads = self._loads
        return all(np.isfinite(part).all() for part in (loads.accelerations, loads.joints, loads.forces))

    def has_derivatives(self, reading: Reading) -> bool:
        """Whether derivatives of the load or energy `reading` can be computed; friction forces have none."""
        if isinstance(reading.of, Constraint):
            return True
        assert isinstance(reading.of, ForceElement)
        number = self._elements.get(reading.of.name)
        # An event may have replaced the element. Friction depends on other loads. A coordinate may be called like a
        # load.
        element = reading.of if number is None else self._model.forces[number][0]
        return not isinstance(element, Friction) and reading.quantity not in element.coordinates

    def of(self, reading: Reading) -> np.ndarray:
        """Return the derivatives (nt, D) of the load or energy `reading`; zero for disabled constraints and forces."""
        model, none = self._model, np.zeros(self._variations.shape[:2])
        if isinstance(reading.of, Constraint):
            names = list(model.joint_rows)
            if reading.of.name not in names:
                return none
            loads = self._loads.joints[:, names.index(reading.of.name)]
            body = next(pair[1] for constraint, pair in model.joint_bodies if constraint.name == reading.of.name)
            origin, moved = reading.of.frame_j.origin, self._moved_with_j(reading.of.name)
            return _component(self._at(loads, body, origin, moved), reading)
        assert isinstance(reading.of, ForceElement)
        number = self._elements.get(reading.of.name)
        if number is None:
            return none
        loads, (element, rows) = self._loads.forces[:, number], model.forces[number]
        if reading.quantity == "energy":
            return loads[:, ENERGY, 1:]
        layout, last = element.layout(), len(element.acting_ends) - 1
        first = layout.first_frame + last * layout.frame_size
        moved = self._inputs(self._directions.laws.get(number, {}), first)
        return _component(self._at(loads, rows[last], element.ends[last][1].origin, moved), reading)

    def _moved_with_j(self, name: str) -> np.ndarray:
        """Return the derivatives (3, D) of the origin of frame j of the constraint `name`, in coordinates of body j."""
        rows = self._model.joint_rows[name]
        placed = [(r, p) for r, p in enumerate(self._relations) if rows.start <= p.rows.start < rows.stop]
        if not placed:
            return np.zeros((3, self._directions.count))
        number, relation = placed[-1]
        layout = layout_of(relation.relation, len(relation.bodies), 2)
        inputs = self._directions.relations.get(number, {})
        return self._inputs(inputs, layout.first_frame + layout.frame_size)

    def _inputs(self, derivatives: Mapping[int, np.ndarray], first: int) -> np.ndarray:
        """Return the derivatives (3, D) of three consecutive inputs of a force law or relation.

        `first` is the index of the first of them, and `derivatives` are the derivatives of inputs by index.
        """
        return np.array([derivatives.get(first + c, np.zeros(self._directions.count)) for c in range(3)])

    def _at(self, loads: np.ndarray, body: int, origin: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Return loads and their derivatives, (nt, 6, 1 + D), with moments about a point of a body.

        The moments in `loads` are about the center of mass; `body` is the index of the body. The point has the
        coordinates `origin` (3,) in the body, with derivatives `moved` (3, D).
        """
        count = len(self._variations)
        if body == len(self._model.mass):
            arm, moving = np.broadcast_to(origin, (count, 3)), np.broadcast_to(moved, (count, *moved.shape))
        else:
            q, first = self._state.orientation[:, body], STATE_SIZE * body + 3
            change = self._variations[:, :, first : first + 4]
            R = rotation.matrix(q)
            # The rotation in body axes is twice the vector part of q* dq.
            turn = 2 * rotation.multiply(np.broadcast_to(rotation.conjugate(q)[:, None], change.shape), change)[..., 1:]
            arm, shift = R @ origin, np.cross(turn, origin)
            moving = R @ (np.swapaxes(shift, 1, 2) + moved)
        shifted = loads.copy()
        force, d_force = loads[:, FORCE, 0], loads[:, FORCE, 1:]
        shifted[:, MOMENT, 0] -= np.cross(arm, force)
        shifted[:, MOMENT, 1:] -= np.cross(moving, force[..., None], axis=1) + np.cross(arm[..., None], d_force, axis=1)
        return shifted


def loads_along(
    system: System, segment: Segment, variations: np.ndarray, changes: Sequence[ParameterChange]
) -> SegmentLoads | None:
    """Return the derivatives of accelerations and loads along a segment with respect to D parameters.

    `variations` (nt, D, 13 n + k) are the derivatives of the state vectors, and `changes` the derivatives of the
    system. Returns None if a derivative is not finite or a function fails.
    """
    try:
        loads = SegmentLoads(system, segment, variations, changes)
    except InputError:
        return None
    return loads if loads.complete else None


def _component(load: np.ndarray, reading: Reading) -> np.ndarray:
    """Return the derivatives (nt, D) of a component of a load, or of its magnitude.

    `load` (nt, 6, 1 + D) contains the load, followed by its derivatives; `reading` names the component.
    """
    vector = load[:, MOMENT if reading.quantity == "torque" else FORCE]
    if reading.axis is not None:
        return vector[:, reading.axis, 1:]
    size = np.linalg.norm(vector[..., 0], axis=1)
    along = np.einsum("tc,tcd->td", vector[..., 0], vector[..., 1:])
    return np.divide(along, size[:, None], out=np.full(along.shape, np.nan), where=size[:, None] > 0)
