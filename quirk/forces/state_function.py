"""Functions of the whole state, f(t, state), as values of force elements.

The function is adapted to receive the motion of each body that it reads as arguments. It is then evaluated, compiled
and differentiated like a function of the motion of one body. A jet is a number with derivatives.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import Jet, where
from ..bodies.body import GROUND, Body, Ground
from ..bodies.frame import Frame
from ..bodies.rotation import matrix
from ..constraints import Constraint
from ..errors import InputError
from ..functions.array_api import python_of
from ..functions.user_function import of_floats
from .state_view import Plain, RecordingView, StateView, TracedView
from .value import STATE_CALL, Value

if TYPE_CHECKING:
    from .element import ForceElement

# Sizes of the arguments for each body: position, orientation, velocity and angular velocity.
SIZES = (3, 4, 3, 3)


class MovingBody:
    """Motion of one body, from its position, orientation and velocities, for views of the state.

    Attributes
    ----------
    position, velocity : (3,) of the center of mass in the inertial frame, m and m/s
    orientation : (4,) unit quaternion (w, x, y, z), body to inertial
    angular_velocity : (3,) body axes, rad/s
    """

    def __init__(self, position: Any, orientation: Any, velocity: Any, angular_velocity: Any) -> None:
        self.position, self.orientation = position, orientation
        self.velocity, self.angular_velocity = velocity, angular_velocity

    @cached_property
    def rotation(self) -> Any:
        """Rotation matrix (3, 3) from body axes to the inertial frame; its columns are the axes of the body."""
        w, x, y, z = self.orientation
        return np.array(
            [
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ],
            dtype=object,
        )

    @cached_property
    def spin(self) -> Any:
        """Angular velocity (3,) in the inertial frame, rad/s."""
        return self.rotation @ self.angular_velocity

    def turned(self, matrix: Any) -> Any:
        """Transform a matrix (3, 3), whose columns are vectors, from body axes to the inertial frame."""
        return self.rotation @ matrix

    def point(self, local: Any) -> Any:
        """Return the position (3,) in the inertial frame, m, of the point with body coordinates `local` (3,), m."""
        return self.position + self.rotation @ np.asarray(local, dtype=object)

    def velocity_of(self, local: Any) -> Any:
        """Return the velocity (3,) in the inertial frame, m/s, of the point with body coordinates `local` (3,), m."""
        return self.velocity + np.cross(self.spin, self.rotation @ np.asarray(local, dtype=object))


class PresentBody:
    """Motion of a body at one instant, with the interface of `MovingBody`.

    Positions and rotation matrices are jets with first time derivatives; velocities are floats.
    """

    def __init__(
        self, position: np.ndarray, orientation: np.ndarray, velocity: np.ndarray, angular_velocity: np.ndarray
    ) -> None:
        a, b, c = angular_velocity
        self._R = matrix(np.asarray(orientation, dtype=float))
        self._rate = self._R @ np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
        self._position, self.orientation = np.asarray(position, dtype=float), orientation
        self.velocity, self.angular_velocity = np.asarray(velocity, dtype=float), angular_velocity

    @property
    def position(self) -> Any:
        """Position of the center of mass in the inertial frame, m."""
        return _jets(self._position, self.velocity)

    @property
    def rotation(self) -> Any:
        """Rotation matrix (3, 3) from body axes to the inertial frame; its columns are the axes of the body."""
        return _jets(self._R, self._rate)

    @property
    def spin(self) -> Any:
        """Angular velocity (3,) in the inertial frame, rad/s."""
        return self._R @ self.angular_velocity

    def turned(self, matrix: np.ndarray) -> Any:
        """Transform a matrix (3, 3), whose columns are vectors, from body axes to the inertial frame."""
        return _jets(self._R @ matrix, self._rate @ matrix)

    def point(self, local: Any) -> Any:
        """Return the position (3,) in the inertial frame, m, of the point with body coordinates `local` (3,), m."""
        local = np.asarray(local, dtype=float)
        return _jets(self._position + self._R @ local, self.velocity + self._rate @ local)

    def velocity_of(self, local: Any) -> Any:
        """Return the velocity (3,) in the inertial frame, m/s, of the point with body coordinates `local` (3,), m."""
        return self.velocity + self._rate @ np.asarray(local, dtype=float)


class StateCall:
    """A function f(t, state), wrapped as a function of the time and the motions of the bodies that it reads.

    Parameters
    ----------
    function : user function
    parts : bodies and constraints that the function reads, by name
    bodies : names of the bodies whose motions are passed; a motion is position, orientation, velocity and angular
        velocity, as for `Force`
    """

    takes_jets = True

    def __init__(self, function: Callable[..., Any], parts: Mapping[str, Any], bodies: Sequence[str]) -> None:
        self.user_function, self._parts, self._bodies = python_of(function), dict(parts), tuple(bodies)

    def __call__(self, t: Any, *arguments: Any) -> Any:
        """Return the value of the function, for floats and arrays, or for jets."""
        each = [arguments[k : k + 4] for k in range(0, len(arguments), 4)]
        if not isinstance(t, Jet):
            return self.user_function(t, Plain(self._view([PresentBody(*motion) for motion in each])))
        view = self._view([MovingBody(*motion) for motion in each])
        value, checks = of_floats(self.user_function, t, view, wrap=TracedView)
        for x in checks:
            value = _checked(value, Jet([x], t.gradient).bare * 0.0 == 0.0)
        return value

    @property
    def parts_read(self) -> tuple[Any, ...]:
        """Hashable key of the parts that the function reads: names, types, frames of constraints, order of bodies."""
        frames = {
            name: tuple(x.tobytes() for _, frame in part.ends for x in (frame.origin, frame.matrix))
            for name, part in self._parts.items()
            if isinstance(part, Constraint)
        }
        return tuple((name, type(part), frames.get(name)) for name, part in self._parts.items()), self._bodies

    def _view(self, moving: Sequence[MovingBody | PresentBody]) -> StateView:
        places = {GROUND.name: ground(), **dict(zip(self._bodies, moving, strict=True))}
        return StateView(self._parts, places)


def ground() -> PresentBody:
    """Return the motion of the ground: a body at rest in the inertial frame."""
    return PresentBody(np.zeros(3), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))


def in_state(element: ForceElement, parts: Mapping[str, Any]) -> ForceElement:
    """Return a force element for a system with the given parts; a copy if its values include functions of the state.

    The copy has additional ends at the centers of mass of the bodies that its functions read.
    """
    values = {name: value for name in element.parameters if isinstance(value := getattr(element, name), Value)}
    values = {name: value for name, value in values.items() if value.of_state}
    if not values:
        return element
    known = {name: part for name, part in parts.items() if isinstance(part, Body | Constraint)}
    made: dict[str, Any] = {}
    read: dict[str, Body] = {}
    calls = {}
    for name, value in values.items():
        names = names_read(f"{value.owner}: its {value.argument}", value.source, known, value.forms)
        calls[name] = {part: known[part] for part in names}
        for part in calls[name].values():
            bodies = (part,) if isinstance(part, Body) else (part.body_i, part.body_j)
            read.update({body.name: body for body in bodies if not isinstance(body, Ground)})
    for name, value in values.items():
        made[name] = own = copy(value)
        own.function, own.sizes = StateCall(value.source, calls[name], list(read)), SIZES * len(read)
    ends = (*element.acting_ends, *((body, Frame()) for body in read.values()))
    return element.with_values({**made, "ends": ends, "reading": len(read)})


def names_read(
    title: str, function: Callable[..., Any], parts: Mapping[str, Any], forms: Mapping[str, int]
) -> list[str]:
    """Return the names of the parts that a function of (t, state) reads.

    The result contains the names that the function reads at the initial state, and all names of parts that occur as
    strings in its code, because the function may read them at other states. `forms` are the forms in which the function
    could be called, with their numbers of arguments, for errors.

    Raises
    ------
    InputError
        If the function fails at the initial state.
    """
    bodies = [part for part in parts.values() if isinstance(part, Body)]
    places = {body.name: PresentBody(*_initial(body)) for body in bodies}
    recording = RecordingView(StateView(parts, {GROUND.name: ground(), **places}))
    try:
        function(0.0, recording)
    except InputError as error:
        raise InputError(f"{title} function: {error}") from error
    except Exception as error:
        raise InputError(
            f"{title} function, called as {STATE_CALL}, failed at the initial state: {type(error).__name__}: {error}"
            f" ({', '.join(f'{form} has {count} arguments without defaults' for form, count in forms.items())})"
        ) from error
    named = texts_in(getattr(function, "__code__", None))
    return list(dict.fromkeys([*(name for name in parts if name in named), *recording.names]))


def texts_in(code: Any) -> set[str]:
    """Return all string constants in a code object and its nested code objects."""
    found: set[str] = set()
    if isinstance(code, types.CodeType):
        for constant in code.co_consts:
            found |= {constant} if isinstance(constant, str) else texts_in(constant)
    return found


def _initial(body: Body) -> tuple[Any, ...]:
    return body.position, body.orientation, body.velocity, body.angular_velocity


def _jets(values: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return an array of jets with the given values and rates, in the same shape."""
    made = np.empty(values.shape, dtype=object)
    made.ravel()[:] = [
        Jet([x, rate], []) for x, rate in zip(values.ravel().tolist(), rates.ravel().tolist(), strict=True)
    ]
    return made


def _checked(value: Any, valid: Any) -> Any:
    """Return `value`, a jet or an array of jets, with NaN where the condition `valid` is false."""
    if isinstance(value, list | tuple | np.ndarray):
        return np.array([_checked(entry, valid) for entry in value], dtype=object)
    return where(valid, value, math.nan)
