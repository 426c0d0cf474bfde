"""Outputs y of a linear system: quantities by name, with exact derivatives along D directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.state import State
from quirk.constraints import Constraint
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.model.applied_loads import coordinate_at, exerted
from quirk.dynamics.model.directions import OMEGA, SHIFT, VELOCITY, Directions
from quirk.dynamics.model.energy import gravity_energy, kinetic_energy
from quirk.errors import InputError
from quirk.events.names import Reading, named
from quirk.events.quantity import Gap, Quantity
from quirk.forces import Friction
from quirk.forces.element import ForceElement
from quirk.forces.stick_slip import StickSlip
from quirk.system.system import System

from .operating_point import Point
from .quantity_derivatives import QuantityDerivatives

# Gaps below this fraction of the system's length (or of 1 rad) are closed.
CLOSED = 1e-9
# Function that returns the value of an output and its derivatives (D,) in D directions.
Output = Callable[[QuantityDerivatives], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Named:
    """A named quantity of a system, such as "hinge.angle".

    Attributes
    ----------
    name : name of the quantity
    of : definition of the quantity: a coordinate of a force element, a gap, or a load or energy
    owner : name of the caller in errors
    """

    name: str
    of: Quantity | Gap | Reading
    owner: str

    def read(self, changes: QuantityDerivatives) -> tuple[float, np.ndarray]:
        """Return the value of the quantity, and its derivatives (D,) along D directions.

        `changes` contains the derivatives of the motion of the bodies along these directions.
        """
        if isinstance(self.of, Reading):
            return self._reading(self.of, changes)
        value, moved = changes.coordinate(self.of, rows_of(changes.point, self.of))
        return value, moved[0]

    def _reading(self, reading: Reading, changes: QuantityDerivatives) -> tuple[float, np.ndarray]:
        point = changes.point
        if reading.of is None:
            return _energy(reading.quantity, changes)
        if isinstance(reading.of, Constraint):
            if reading.of.name not in point.model.joint_rows:
                self._check_open(reading.of, point)
                return 0.0, np.zeros(changes.variation.directions.count)
            if _shares_sliding_load(reading.of, point):
                raise self._undetermined(reading.of)
            load, moved = changes.joint_load(reading.of)
            return _component(load, moved, reading)
        numbers = {element.name: k for k, (element, _) in enumerate(point.model.forces)}
        number = numbers.get(reading.of.name)
        if number is None and isinstance(reading.of, StickSlip):
            held = next((one for one, _ in point.model.joint_bodies if one.name == reading.of.name), None)
            if held is None or reading.quantity in reading.of.coordinates:
                return 0.0, np.zeros(changes.variation.directions.count)  # it sticks, or has no load
            return _component(*changes.joint_load(held), reading)
        if number is None:
            raise InputError(f'{self.owner}: "{self.name}": {reading.of} is disabled, and has no load')
        element, rows = point.model.forces[number]
        if reading.quantity in element.coordinates:
            value, along = changes.coordinate(element, rows, element.coordinates.index(reading.quantity))
            return value, along[0]
        loads, moved, energy, stored = changes.load(number)
        if reading.quantity == "energy":
            return energy, stored
        # On the body of the last end on which it acts, about the origin of its frame.
        last = len(element.acting_ends) - 1
        body, origin = rows[last], element.ends[last][1].origin
        load, change = loads[last].copy(), moved[last].copy()
        arm, moving = point.kin.rotation[body] @ origin, np.einsum("rcd,c->rd", changes.rotation[body], origin)
        moving += point.kin.rotation[body] @ changes.last_origin(number)
        change[3:] -= np.cross(moving, load[:3, None], axis=0) + np.cross(arm[:, None], change[:3], axis=0)
        load[3:] -= np.cross(arm, load[:3])
        return _component(load, change, reading)

    def _check_open(self, constraint: Constraint, point: Point) -> None:
        """Raise an InputError unless a constraint without rows is an enabled contact, stop or rope with open gaps."""
        if not isinstance(constraint, Unilateral) or not point.system.is_active(constraint.name):
            raise InputError(f'{self.owner}: "{self.name}": {constraint} is disabled, and has no load')
        for gap in (Gap(constraint, number) for number in range(len(constraint.gaps))):
            value = float(coordinate_at(gap, rows_of(point, gap), point.motion, point.t, point.state.angles).value)
            if abs(value) <= CLOSED * (1.0 if gap.turning else point.model.length):
                raise self._undetermined(constraint)

    def _undetermined(self, constraint: Constraint) -> InputError:
        return InputError(
            f'{self.owner}: "{self.name}": {constraint} touches without a load, or shares it with others, so that its '
            "load has no derivative: leave it out"
        )


def quantities(owner: str, argument: str, system: System, names: Iterable[Any]) -> list[Named]:
    """Return the quantities of a system for a list of names such as "hinge.angle"; see `quirk.events.names`.

    `owner` and `argument` are the names of the caller and its argument in errors.
    """
    if isinstance(names, str):
        raise InputError(f'{owner}: {argument} must be a list, such as ["{names}"]; got the text {names!r}')
    parts = {part.name: part for part in system}
    found = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f'{owner}: {argument} must be names such as "hinge.angle" or "rod.position.x"; got {name!r}'
            )
        whose = f"{owner}: {argument}"
        found.append(Named(name, named(whose, name, name, 0.0, parts), whose))
    return found


def _shares_sliding_load(constraint: Constraint, point: Point) -> bool:
    """Whether a contact on which bodies slide shares its load with other contacts."""
    frictions = (element for element, _ in point.model.forces if isinstance(element, Friction))
    terms = (term for one in frictions if one.on.name == constraint.name for term in one.shares.terms)
    return any(name != constraint.name for name, _, _ in terms)


def rows_of(point: Point, element: ForceElement) -> tuple[int, ...]:
    """Return the indices of the bodies on which an element depends.

    `element` is a coordinate, a gap or a force element, and `point` the operating point with the model. The ground has
    the index n, the number of bodies.
    """
    names = point.model.body_names
    return tuple(names.index(b.name) if b.name in names else len(names) for b in element.bodies)


def value_of(owner: str, system: System, state: State, t: float, name: str) -> float:
    """Return the value of a quantity at a state and time t (s), in SI units.

    An unknown `name` raises an InputError that names `owner`.
    """
    point = Point(system, state, t)
    (one,) = quantities(owner, "name", system, [name])
    return one.read(QuantityDerivatives(point, point.variation(Directions.none(point.model, 0))))[0]


def _component(load: np.ndarray, moved: np.ndarray, reading: Reading) -> tuple[float, np.ndarray]:
    """Return a component or the magnitude of a force or torque, and its derivatives (D,) along D directions.

    `load` (6,) are force and torque, and `moved` (6, D) their derivatives; `reading` selects the component.
    """
    first = 3 if reading.quantity == "torque" else 0
    vector, change = load[first : first + 3], moved[first : first + 3]
    if reading.axis is not None:
        return float(vector[reading.axis]), change[reading.axis]
    size = float(np.linalg.norm(vector))
    return size, vector @ change / size if size > 0 else np.full(moved.shape[1], np.nan)


def _energy(kind: str, changes: QuantityDerivatives) -> tuple[float, np.ndarray]:
    """Return an energy of the system, J, and its derivatives (D,) along D directions.

    `kind` is "kinetic", "potential" or "total"; `changes` contains the derivatives of the motion along the directions.
    """
    point, model, state = changes.point, changes.point.model, changes.point.state
    given = changes.variation.directions.bodies
    kinetic = (
        float(kinetic_energy(model, state)),
        np.einsum("n,ni,nid->d", model.mass, state.velocity, given[:, VELOCITY]),
    )
    spin = np.einsum("ni,nij,njd->d", state.angular_velocity, model.inertia, given[:, OMEGA])
    kinetic = kinetic[0], kinetic[1] + spin
    potential = (
        float(gravity_energy(model, state)),
        -np.einsum("n,i,nid->d", model.mass, model.gravity, given[:, SHIFT]),
    )
    for number, (element, rows) in enumerate(model.forces):
        if element.stores:
            stored = exerted(element, rows, point.motion, point.t, 0, state.angles, state.internal).energy
            potential = potential[0] + float(stored), potential[1] + changes.load(number)[3]
    sums = {"kinetic": kinetic, "potential": potential}
    return sums[kind] if kind in sums else (kinetic[0] + potential[0], kinetic[1] + potential[1])
