"""Watched quantities by name, such as "time", "rod.speed", "hinge.angle", "latch.force.x" and "energy.kinetic".

The first word is the name of a part: a body, constraint or force of the system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..constraints import Constraint, Joint
from ..constraints.angle import counts_turns
from ..constraints.unilateral import Unilateral
from ..errors import InputError
from ..forces import ForceElement
from ..forces.load_shares import ForcesOfRows, SharedRows
from ..functions import degrees
from ..util import validate
from ..util.construction import remembered
from ..util.suggestion import nearest_names, quoted, suggestion
from .dimension import Dimension
from .quantity import Gap, Quantity

AXES = {"x": 0, "y": 1, "z": 2}
VECTORS_OF_BODIES = ("position", "velocity", "spin", "angular_velocity")
NUMBERS_OF_BODIES = ("speed", "angular_speed")
# Quantities of joints: their name, the attribute of the view, and whether it is the rate of that attribute.
OF_JOINTS = {
    "angle": ("angle", False),
    "rotation": ("angle", False),
    "angle_rate": ("angle", True),
    "travel": ("travel", False),
    "translation": ("travel", False),
    "travel_rate": ("travel", True),
    "distance": ("distance", False),
}
# Dimensions of the attributes of bodies and joints that are not lengths.
NO_LENGTHS = {
    "angle": Dimension.ANGLE,
    "rotation": Dimension.ANGLE,
    "velocity": Dimension.SPEED,
    "speed": Dimension.SPEED,
    "spin": Dimension.ANGULAR_SPEED,
    "angular_velocity": Dimension.ANGULAR_SPEED,
    "angular_speed": Dimension.ANGULAR_SPEED,
}
RATES = {Dimension.LENGTH: Dimension.SPEED, Dimension.ANGLE: Dimension.ANGULAR_SPEED}
LOADS = ("force", "torque")
ENERGIES = ("kinetic", "potential", "total")


@dataclass(frozen=True)
class Reading:
    """Watched quantity that requires an evaluation of the whole system, such as a constraint load or an energy.

    Attributes
    ----------
    of : constraint or force element; None for an energy of the system
    quantity : "force", "torque", "energy", "kinetic", "potential", "total", or the name of a coordinate of a force
        element; "multiplier" for the multiplier of a constraint; "solvable" for a function that is positive while
        friction has a unique solution; see also `Shared` and `CommonMargin`
    axis : index of the inertial axis of a component of the load, or None for its magnitude
    level : value at which the event occurs, in the unit of the quantity
    """

    of: Constraint | ForceElement | None
    quantity: str
    axis: int | None
    level: float

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore the fields from a pickle; pickles of earlier versions call the field `quantity` "what"."""
        vars(self).update({"quantity" if name == "what" else name: value for name, value in state.items()})


@dataclass(frozen=True)
class Shared(Reading):
    """Watched force or friction margin of redundant contacts, which share a load.

    The quantity depends on the multipliers of several constraint rows.

    Attributes
    ----------
    quantity : "share" for one force, N; "cone" for the margin of the friction cone, N
    rows : the h rows, each as the name of a constraint and the index of its row
    offsets : (k,) constants of the k forces; one force, or a normal load and two components of friction
    weights : (k, h) coefficients of the forces with respect to the multipliers of the rows, at the last event
    present : how the weights are computed at each state; None if they are constant
    """

    rows: tuple[tuple[str, int], ...] = ()
    offsets: tuple[float, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()
    present: ForcesOfRows | None = None


@dataclass(frozen=True)
class KeptRows(Reading):
    """Watched independence of the kept rows among those that share loads; zero where the run must keep other rows.

    Attributes
    ----------
    quantity : "kept rows"
    shared : the rows that share loads
    """

    shared: SharedRows


@dataclass(frozen=True)
class CommonMargin(Reading):
    """Watched margin, N, before several contacts or joints that share a load slip together.

    The margin is the distance from the friction limits for the best distribution of the load over the m contacts. A
    joint with a constant friction limit counts as a contact with constant normal load; a joint with a limit in
    proportion to its load as a contact with this load. Friction of sliding contacts is proportional to their normal
    loads, which are not negative. There are c = 3 m + 6 b components: normal load and two friction components of each
    contact, and two bearing forces, in axes of body i, of each of b joints with a limit in proportion to their load.

    Attributes
    ----------
    quantity : "common margin"
    members : names of the friction elements that stick
    rows : the h rows, each as the name of a constraint and the index of its row
    constants : (c,) constant part of the load
    weights : (c, h) coefficients of one distribution of the load with respect to the multipliers of the rows, at the
        last event
    basis : (c, d) distributions with zero resultant, as columns; without the effect of sliding friction, and without
        the part that is computed at each state
    coefficients : (m,) coefficients of static friction; 0 for contacts that slide or have no friction
    sliding : (m,) name of the sliding friction element of each contact, or None
    joints : (b,) the joints with a limit in proportion to their load
    places : (b,) index of each of these joints among the m contacts
    bearings : (6 b, 6) bearing forces of these joints per unit of their force and torque, in axes of body i; the
        bearing forces due to the joint loads of the run are added to the components
    present : how weights and basis are computed at each state; None if they are constant
    """

    members: tuple[str, ...] = ()
    rows: tuple[tuple[str, int], ...] = ()
    constants: tuple[float, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()
    basis: tuple[tuple[float, ...], ...] = ()
    coefficients: tuple[float, ...] = ()
    sliding: tuple[str | None, ...] = ()
    joints: tuple[Constraint, ...] = ()
    places: tuple[int, ...] = ()
    bearings: tuple[tuple[float, ...], ...] = ()
    present: ForcesOfRows | None = None


@dataclass(frozen=True)
class Read:
    """Function of (t, state) that returns one attribute of a body or joint; equal functions share machine code.

    Attributes
    ----------
    name : name of the body or joint
    attribute : name of the attribute, such as "position"
    axis : index of the component of a vector attribute, or None for a scalar attribute
    rate : whether the time derivative of the attribute is returned
    """

    name: str
    attribute: str
    axis: int | None = None
    rate: bool = False

    def __call__(self, t: Any, state: Any) -> Any:
        """Return the attribute of the body or joint, or its rate; `state` is a `StateView`."""
        found = getattr(state[self.name], self.attribute)
        found = found if self.axis is None else found[self.axis]
        return found.rate if self.rate and isinstance(found, Jet) else found

    @property
    def dimension(self) -> Dimension:
        """Dimension of the attribute or its rate."""
        dimension = NO_LENGTHS.get(self.attribute, Dimension.LENGTH)
        return RATES[dimension] if self.rate else dimension


@dataclass(frozen=True)
class PointDistance:
    """Function of (t, state) that returns the distance between two points, each fixed in a body.

    Attributes
    ----------
    names : names of the two bodies
    points : the two points (3,), m, in the coordinates of their bodies
    """

    names: tuple[str, str]
    points: tuple[tuple[float, ...], tuple[float, ...]]

    def __call__(self, t: Any, state: Any) -> Any:
        """Return the distance between the two points, m, at time t (s); `state` is a `StateView`."""
        one, two = (state[name].point(point) for name, point in zip(self.names, self.points, strict=True))
        return ((two - one) @ (two - one)).sqrt()

    @property
    def dimension(self) -> Dimension:
        """Dimension of the distance."""
        return Dimension.LENGTH


def clock(t: Any, state: Any) -> Any:
    """Return the time (s); the watched quantity named "time"."""
    return t


@dataclass(frozen=True)
class Separation:
    """Distance between points of two bodies, as a quantity for events; see `distance_between`."""

    body_i: Any
    body_j: Any
    point_i: Any
    point_j: Any


@remembered
def distance_between(
    body_i: Body | Ground, body_j: Body | Ground, point_i: ArrayLike = (0, 0, 0), point_j: ArrayLike = (0, 0, 0)
) -> Separation:
    """Return the distance (m) between a point of body i and a point of body j, as a quantity for events.

    Points (3,) are in the coordinates of their bodies, m; default: the centers of mass.

    Examples
    --------
    >>> a = quirk.Body.sphere("a", 1.0, 0.1)
    >>> b = quirk.Body.sphere("b", 1.0, 0.1, position=[3, 0, 0], velocity=[-1, 0, 0])
    >>> near = quirk.Event("near", quirk.distance_between(a, b), level=1.0, direction=-1)
    >>> quirk.simulate(quirk.System([a, b, near]), 4.0, output=1.0).events.time.round(6)
    array([2.])
    """
    for argument, body in (("body_i", body_i), ("body_j", body_j)):
        if not isinstance(body, Body | Ground):
            raise InputError(f"distance_between: {argument} must be a quirk.Body or quirk.GROUND; got {body!r}")
    points = (
        validate.array("distance_between", argument, point, (3,))
        for argument, point in (("point_i", point_i), ("point_j", point_j))
    )
    return Separation(body_i, body_j, *points)


def named(title: str, event: str, text: str, level: float, parts: Mapping[str, Any]) -> Quantity | Gap | Reading:
    """Return the watched quantity with the name `text`, or raise an InputError with the known names.

    `event` is the name of the event, `title` its title in error messages, and `level` the value at which it occurs, in
    the unit of the quantity. `parts` are all bodies, constraints and forces of the system by name.
    """
    if text == "time":
        return Quantity(event, title, clock, level, {}, of_user=False)
    owner, rest = _split(text, parts)
    if owner == "energy" and owner not in parts:
        if len(rest) == 1 and rest[0] in ENERGIES:
            return Reading(None, rest[0], None, level)
        raise _unknown(title, text, [f"energy.{kind}" for kind in ENERGIES])
    part = parts.get(owner)
    if isinstance(part, Body):
        return _of_body(title, event, text, level, part, rest)
    if isinstance(part, Constraint):
        return _of_constraint(title, event, text, level, part, rest)
    if isinstance(part, ForceElement):
        return _of_force(title, text, level, part, rest)
    meant = quoted(".".join([name, *rest]) for name in nearest_names(owner, [*parts, "time", "energy"]))
    raise InputError(
        f'{title}: "{text}" does not start with a name of the system{f"; did you mean {meant}? A" if meant else ": a"} '
        'quantity is "time", "energy.kinetic", or a part and one of its quantities, such as "rod.speed", "hinge.angle" '
        'or "latch.force"'
    )


def separation(title: str, event: str, of: Separation, level: float) -> Quantity:
    """Return the watched quantity for the distance `of` between two points.

    `event` is the name of the event, `title` its title in error messages, and `level` the distance, m, at which it
    occurs.
    """
    bodies = of.body_i, of.body_j
    apart = PointDistance((bodies[0].name, bodies[1].name), (tuple(of.point_i), tuple(of.point_j)))
    return Quantity(event, title, apart, level, {body.name: body for body in bodies}, of_user=False)


def _split(text: str, parts: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Split a quantity's name, such as "rod.position.x", into the name of a part and the list of the remaining words.

    Names of parts may contain dots; the longest name that exists in `parts` is used.
    """
    words = text.split(".")
    for count in range(len(words), 0, -1):
        if ".".join(words[:count]) in parts:
            return ".".join(words[:count]), words[count:]
    return words[0], words[1:]


def _of_body(title: str, event: str, text: str, level: float, body: Body, path: list[str]) -> Quantity:
    name = body.name
    if len(path) == 1 and path[0] in NUMBERS_OF_BODIES:
        return Quantity(event, title, Read(name, path[0]), level, {name: body}, of_user=False)
    if len(path) == 2 and path[0] in VECTORS_OF_BODIES and path[1] in AXES:
        return Quantity(event, title, Read(name, path[0], AXES[path[1]]), level, {name: body}, of_user=False)
    choices = [f"{name}.{n}" for n in NUMBERS_OF_BODIES] + [f"{name}.{n}.x" for n in VECTORS_OF_BODIES]
    raise _unknown(title, text, choices)


def _of_constraint(
    title: str, event: str, text: str, level: float, constraint: Constraint, path: list[str]
) -> Quantity | Gap | Reading:
    name = constraint.name
    if path == ["gap"] and isinstance(constraint, Unilateral) and len(constraint.gaps) == 1:
        return Gap(constraint, 0, -level)
    if path and path[0] in LOADS and (len(path) == 1 or (len(path) == 2 and path[1] in AXES)):
        return Reading(constraint, path[0], AXES[path[1]] if len(path) == 2 else None, level)
    words = path or [kind for kind in ("angle", "travel") if _free_axis(constraint, kind) is not None][:1]
    if len(words) == 1 and words[0] in OF_JOINTS:
        what, rate = OF_JOINTS[words[0]]
        if what == "distance" or _free_axis(constraint, what) is not None:
            axis = _free_axis(constraint, what) if what == "angle" and not rate else None
            return _of_frames(title, event, Read(name, what, rate=rate), level, constraint, axis)
    if len(path) == 2 and path[0] in ("displacement", "rotation") and path[1] in AXES:
        read, axis = Read(name, path[0], AXES[path[1]]), AXES[path[1]] if path[0] == "rotation" else None
        return _of_frames(title, event, read, level, constraint, axis)
    free = [f"{name}.{kind}" for kind in OF_JOINTS if _free_axis(constraint, OF_JOINTS[kind][0]) is not None]
    others = ["distance", "displacement.x", "rotation.x", "force", "force.x", "torque", "torque.x"]
    raise _unknown(title, text, [*free, *(f"{name}.{what}" for what in others)])


def _of_frames(title: str, event: str, read: Read, level: float, constraint: Constraint, axis: int | None) -> Quantity:
    """Return the watched quantity `read` of the relative pose or motion of both frames of a constraint.

    `axis` is the index 0, 1 or 2 of the angle that is read among the 1-2-3 angles of the constraint, or None for a
    quantity that is no angle.
    """
    parts = {constraint.name: constraint}
    if axis is not None:
        degrees.counting_turns(title, "level", level)
        if counts_turns(constraint, axis):
            return Quantity(event, title, read, level, parts, constraint, axis, of_user=False)
    return Quantity(event, title, read, level, parts, of_user=False)


def _free_axis(constraint: Constraint, kind: str) -> int | None:
    """Return the index of the free axis of a joint, or None if the joint has no free axis or several.

    `kind` is "angle" for the rotation axis or "travel" for the translation axis.
    """
    attribute = {"angle": "rotation_axis", "travel": "translation_axis"}.get(kind)
    return getattr(constraint, attribute, None) if attribute and isinstance(constraint, Joint) else None


def _of_force(title: str, text: str, level: float, element: ForceElement, path: list[str]) -> Reading:
    single = [*element.coordinates, *(["energy"] if element.stores else [])]
    if len(path) == 1 and (path[0] in single or path[0] in LOADS):
        return Reading(element, path[0], None, level)
    if len(path) == 2 and path[0] in LOADS and path[1] in AXES:
        return Reading(element, path[0], AXES[path[1]], level)
    names = [*single, *LOADS, *(f"{kind}.x" for kind in LOADS)]
    raise _unknown(title, text, [f"{element.name}.{what}" for what in names])


def _unknown(title: str, text: str, choices: list[str]) -> InputError:
    return InputError(f'{title}: no quantity is called "{text}"; {suggestion(text, choices, every=True)}')
