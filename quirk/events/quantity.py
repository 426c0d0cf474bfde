"""Watched quantities of events: functions of time, poses and velocities of a few bodies.

Quantities are implemented as force elements without load, which have compiled code, counted turns and gradients.
"Parts" are the bodies and constraints of a system.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autodiff.jet import Jet, where
from ..bodies.body import GROUND, Body, Ground
from ..bodies.frame import Frame
from ..constraints import Constraint
from ..constraints.angle import counts_turns
from ..constraints.relation import Relation, frame_numbers
from ..constraints.relative import crossed
from ..constraints.unilateral import Unilateral
from ..errors import InputError
from ..forces import ForceElement
from ..forces.state_function import texts_in
from ..forces.state_view import Plain, StateView, TracedView
from ..functions.user_function import check_arguments, of_floats
from ..jit.scalar import is_traced
from .dimension import Dimension

# User function f(t, state) of the time, s, and a `StateView`.
Function = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class WatchedAngle:
    """Joint angle with all turns counted that determines a watched quantity: a factor times the angle, plus an offset.

    Attributes
    ----------
    joint : name of the constraint with the angle
    axis : index 0, 1 or 2 of the angle among the 1-2-3 angles of the constraint, or the angles of a cross
    factor, offset : coefficients of the quantity; the offset is in rad
    """

    joint: str
    axis: int
    factor: float = 1.0
    offset: float = 0.0

    def near(self, angles: Mapping[str, Any]) -> float:
        """Return the quantity, rad, for the 1-2-3 angles (3,), rad, of joints by name; zero for an unknown joint."""
        known = angles.get(self.joint)
        return 0.0 if known is None else self.factor * float(known[self.axis]) + self.offset

    def rate(self, rates: Mapping[str, Any]) -> float:
        """Return the rate of the quantity, rad/s, for the rates (3,), rad/s, of the 1-2-3 angles of joints by name."""
        known = rates.get(self.joint)
        return 0.0 if known is None else self.factor * float(known[self.axis])


class Quantity(ForceElement):
    """Watched value of an event, implemented as a force law that exerts no load.

    The coordinate of the law is the value minus the level. With a unit multiplier, the loads of the law are the
    gradient of the value.

    Parameters
    ----------
    name : name of the event
    title : title of the event for error messages
    function : function of the time, s, and a `StateView` that returns the value
    level : value at which the event occurs
    parts : bodies and constraints that the function may use, by name
    joint : constraint whose relative angle is the value, with all turns counted, or None
    axis : index 0, 1 or 2 of this angle among the 1-2-3 angles of the constraint, or None
    of_user : whether the function is user-defined
    """

    coordinates = ("value",)
    parameters = ("level",)
    aside = ("parts", "joint", "title")
    drawing = ""
    undefined = "its function is not a number"

    def __init__(
        self,
        name: str,
        title: str,
        function: Function,
        level: float,
        parts: Mapping[str, Any],
        joint: Constraint | None = None,
        axis: int | None = None,
        *,
        of_user: bool = True,
    ) -> None:
        self.function, self.level, self.parts, self.title = function, level, dict(parts), title
        self.joint, self.axis = joint, axis
        self.written_by_user = of_user
        self.turning = () if joint is None else (0,)
        bodies = [body for part in parts.values() for body in _bodies_of(part)]
        self.places = tuple(dict.fromkeys(body.name for body in bodies)) or (GROUND.name,)
        by_name = {GROUND.name: GROUND, **{body.name: body for body in bodies}}
        super().__init__(name, *((by_name[own], Frame()) for own in self.places))

    level: float

    def coordinate(self, t: Any, *frames: Any) -> Any:
        """Return the value minus the level, from the time and the moving frames of the bodies."""
        view = StateView(self.parts, dict(zip(self.places, frames, strict=True)))
        if is_traced(t.value):
            value = _of_view(self.function, t, view) if self.written_by_user else self.function(t, view)
        else:
            value = self._of_numbers(t, view)
        return 1.0 * value - self.level

    def _of_numbers(self, t: Jet, view: StateView) -> Any:
        """Return the watched value at one state as a jet, a number with derivatives.

        `view` is the state as passed to the function. A user function that does not accept jets is evaluated with
        floats; the rate of the value is then unknown.
        """
        if not self.written_by_user:
            return self.function(t, view)
        try:
            value = _of_view(self.function, t, view)
            if isinstance(value, Jet | float):
                return value
        except Exception:  # it may fail on jets in any way
            pass
        value = self.function(float(t.value), Plain(view))
        number = number_of(value)
        if number is None:
            raise ValueError(f"it must return a number that crosses zero; got {value!r}")
        return Jet([number], t.gradient)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return 1, the multiplier for which the loads of this force law are the gradient of the watched value.

        The time, the value `x` and its `rate` are unused.
        """
        return 1.0

    def turns_near(self, angles: Mapping[str, Any]) -> list[float]:
        """Return the watched joint angle minus the level, rad, as a list of one float.

        The list is empty if the quantity is not a joint angle. `angles` are the 1-2-3 angles (3,), rad, of joints by
        name, with all turns counted.
        """
        return [self.watched_angle.near(angles)] if self.turning else []

    def turn_rates(self, rates: Mapping[str, Any]) -> list[float]:
        """Return the rate of the watched joint angle, rad/s, as a list of one float.

        The list is empty if the quantity is not a joint angle. `rates` are the rates (3,), rad/s, of the 1-2-3 angles
        of joints by name.
        """
        return [self.watched_angle.rate(rates)] if self.turning else []

    @property
    def watched_angle(self) -> WatchedAngle:
        """The joint angle that is the value; only for a quantity with a `joint`."""
        assert self.joint is not None and self.axis is not None
        return WatchedAngle(self.joint.name, self.axis, offset=-self.level)

    @property
    def built_in(self) -> bool:
        """Whether the function is part of QuIRK, in contrast to user-defined functions."""
        return not self.written_by_user

    @property
    def dimension(self) -> Dimension:
        """Dimension of the value; unknown for user-defined functions."""
        return Dimension.UNKNOWN if self.written_by_user else getattr(self.function, "dimension", Dimension.UNKNOWN)

    @property
    def sources(self) -> list[Any]:
        """List with the function of the value if it is user-defined, otherwise an empty list."""
        return [self.function] if self.written_by_user else []

    @property
    def structure(self) -> tuple[Any, ...]:
        """Key of the compiled code: all properties of the law that determine its code, except values of parameters.

        It includes the frames, free axes and kinds of angles of the constraints that the function may use.
        """
        constraints = [part for part in self.parts.values() if not isinstance(part, Body | Ground)]
        frames = [frame for part in constraints for frame in (part.frame_i, part.frame_j)]
        free = ("rotation_axis", "translation_axis", "of_three")
        coordinates = [getattr(part, attribute, None) for part in constraints for attribute in free]
        crosses = [crossed(part) for part in constraints]
        return *super().structure, *coordinates, *crosses, *(frame_numbers(frame).tobytes() for frame in frames)

    def as_law(self, traced: bool) -> Quantity:
        """Return the quantity itself: its method `coordinate` already calls a compilable copy of the user function.

        `traced` is unused.
        """
        return self

    def __str__(self) -> str:
        return self.title


class Gap(ForceElement):
    """Watched gap of a unilateral constraint, such as a contact or a rope.

    Parameters
    ----------
    constraint : the unilateral constraint
    number : index of the gap in the constraint
    slack : offset that is added to the gap, m or rad
    relation : gap function that replaces the constraint's, for one face or edge of a bounded surface; or None

    Attributes
    ----------
    label : label of the gap
    """

    coordinates = ("gap",)
    parameters = ("numbers_of_gap", "slack")
    aside: tuple[str, ...] = ("title", "turned_joint", "label")
    drawing = ""

    def __init__(
        self, constraint: Unilateral, number: int, slack: float = 0.0, relation: Relation | None = None
    ) -> None:
        relation = constraint.gaps[number] if relation is None else relation
        self.label = constraint.gaps[number].labels[0]
        self.function, self.of_source = relation.function, relation.source
        self.numbers_of_gap, self.slack = np.array(relation.numbers), slack
        self.title = f"{constraint}"
        self.axis, joint = constraint.turning, constraint.joint
        self.turned_joint = None if joint is None else joint.name
        self.turning = (0,) if joint is not None and self.axis is not None and counts_turns(joint, self.axis) else ()
        self.undefined = relation.undefined or "its gap is not a number"
        super().__init__(constraint.name, *constraint.ends)

    numbers_of_gap: np.ndarray
    slack: float

    def coordinate(self, t: Any, *frames: Any) -> Any:
        """Return the gap plus the offset (m or rad) from the time and the moving frames of the bodies."""
        (gap,) = self.function(t, list(frames), list(self.numbers_of_gap), [])
        return gap + self.slack

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return 1, the multiplier for which the loads of this force law are the gradient of the gap.

        The time, the gap `x` and its `rate` are unused.
        """
        return 1.0

    def turns_near(self, angles: Mapping[str, Any]) -> list[float]:
        """Return the distance of the joint's angle from its limit, rad, as a list of one float.

        The list is empty for gaps that are not angles. `angles` are the 1-2-3 angles (3,), rad, of joints by name, with
        all turns counted.
        """
        return [self.watched_angle.near(angles)] if self.turning else []

    def turn_rates(self, rates: Mapping[str, Any]) -> list[float]:
        """Return the rate of the joint's distance from its limit, rad/s, as a list of one float.

        The list is empty for gaps that are not angles. `rates` are the rates (3,), rad/s, of the 1-2-3 angles of joints
        by name.
        """
        return [self.watched_angle.rate(rates)] if self.turning else []

    @property
    def watched_angle(self) -> WatchedAngle:
        """The joint angle on which the gap depends; only for the gap of an angle from its limit."""
        assert self.turned_joint is not None and self.axis is not None
        sign, limit = (float(x) for x in self.numbers_of_gap)
        return WatchedAngle(self.turned_joint, self.axis, sign, self.slack - sign * limit)

    @property
    def built_in(self) -> bool:
        """Whether the gap function is part of QuIRK, in contrast to user-defined functions."""
        return self.of_source is None

    @property
    def dimension(self) -> Dimension:
        """Dimension of the gap; unknown for user-defined functions."""
        if self.of_source is not None:
            return Dimension.UNKNOWN
        return Dimension.LENGTH if self.axis is None else Dimension.ANGLE

    @property
    def sources(self) -> list[Any]:
        """List with the gap function if it is user-defined, otherwise an empty list."""
        return [] if self.of_source is None else [self.of_source]

    def as_law(self, traced: bool) -> Gap:
        """Return the gap itself: its gap function is already a compilable copy of the user function.

        `traced` is unused.
        """
        return self

    def __str__(self) -> str:
        return self.title


def used_parts(title: str, function: Function, parts: Mapping[str, Any], probe: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the bodies and constraints that a user function may use, by name.

    The names are found among the string constants of the function's code, and by a call of the function at one state.

    Parameters
    ----------
    title : title of the event, for error messages
    function : user function of (t, state)
    parts : all parts of the system by name
    probe : function that calls the user function with a recording view of the state, and returns the names used
    """
    if not callable(function):
        raise InputError(f"{title}: function must be a function of (t, state), or a quantity by name; got {function!r}")
    check_arguments(title, "function", function, {"f(t, state)": 2})
    named = texts_in(getattr(function, "__code__", None))
    found = {name: parts[name] for name in parts if name in named}
    for name in probe(function):
        found[name] = parts[name]
    return found


def number_of(value: Any) -> float | None:
    """Return the value of a user function as a float, or None if it is not a single number; booleans are none."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    is_number = isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
    return float(value) if is_number else None


def _of_view(function: Function, t: Jet, view: StateView) -> Any:
    """Return the value of a user function at time t, a jet; NaN where Python would raise an error.

    `view` is the state as passed to the function.
    """
    value, checks = of_floats(function, t, view, wrap=TracedView)
    for x in checks:
        value = where(Jet([x], t.gradient).bare * 0.0 == 0.0, value, math.nan)
    return value


def _bodies_of(part: Any) -> tuple[Any, ...]:
    if isinstance(part, Body | Ground):
        return (part,)
    return (part.body_i, part.body_j)
