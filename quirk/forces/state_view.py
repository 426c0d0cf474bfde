"""View of a system's state, for functions of forces and events: bodies and joints by name.

Numbers are floats or jets; a jet is a number with derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..bodies.frame import Frame
from ..constraints import Constraint, Joint
from ..constraints.angle import angles_123, cross_angle, free_angle
from ..constraints.primitives import X, Y
from ..constraints.relative import crossed
from ..errors import InputError
from ..functions.tracer import refusing
from ..functions.tracer_conversions import traced_arguments, untraced
from ..util.misuse import unknown_attribute
from .value import as_floats


class BodyNow:
    """A body at one instant; vectors in the inertial frame unless stated otherwise.

    Attributes
    ----------
    position, velocity : (3,) of the center of mass, m and m/s
    rotation : (3, 3) axes of the body as columns
    orientation : (4,) unit quaternion (w, x, y, z), body to inertial
    spin, angular_velocity : (3,) rad/s, in the inertial frame and in body axes
    speed, angular_speed : magnitudes of velocity and angular velocity
    """

    __getattr__ = unknown_attribute

    def __init__(self, place: Any) -> None:
        self._place = place

    @cached_property
    def position(self) -> Any:
        """Position (3,) of the center of mass in the inertial frame, m."""
        return self._place.position

    @cached_property
    def rotation(self) -> Any:
        """Rotation matrix (3, 3) from body axes to the inertial frame; its columns are the axes of the body."""
        return self._place.rotation

    @cached_property
    def velocity(self) -> Any:
        """Velocity (3,) of the center of mass in the inertial frame, m/s."""
        return self._place.velocity

    @cached_property
    def orientation(self) -> Any:
        """Unit quaternion (4,), (w, x, y, z), body to inertial."""
        return self._place.orientation

    @cached_property
    def spin(self) -> Any:
        """Angular velocity (3,) in the inertial frame, rad/s."""
        return self._place.spin

    @cached_property
    def angular_velocity(self) -> Any:
        """Angular velocity (3,) in body axes, rad/s."""
        return self._place.angular_velocity

    @property
    def speed(self) -> Any:
        """Magnitude of the velocity of the center of mass, m/s."""
        return _length(self.velocity)

    @property
    def angular_speed(self) -> Any:
        """Magnitude of the angular velocity, rad/s."""
        return _length(self.spin)

    def turned(self, matrix: Any) -> Any:
        """Transform a matrix (3, 3), whose columns are vectors, from body axes to the inertial frame."""
        return self._place.turned(matrix)

    def point(self, local: Any) -> Any:
        """Return the position (3,) in the inertial frame, m, of a point of the body.

        `local` (3,) is the point in body coordinates, m.
        """
        return self._place.point(local)

    def velocity_of(self, local: Any) -> Any:
        """Return the velocity (3,) in the inertial frame, m/s, of a point fixed in the body.

        `local` (3,) is the point in body coordinates, m.
        """
        return self._place.velocity_of(local)


class FrameNow:
    """A frame fixed in a body at one instant.

    Parameters
    ----------
    body : BodyNow
    frame : Frame in the coordinates of the body
    """

    def __init__(self, body: BodyNow, frame: Frame) -> None:
        self._body, self._frame = body, frame

    @cached_property
    def position(self) -> Any:
        """Position (3,) of the frame's origin in the inertial frame, m."""
        return self._body.point(self._frame.origin)

    @cached_property
    def rotation(self) -> Any:
        """Rotation matrix (3, 3) from the frame to the inertial frame; its columns are the axes of the frame."""
        return self._body.turned(self._frame.matrix)


class JointNow:
    """Pose of frame j of a constraint relative to its frame i, at one instant.

    Attributes
    ----------
    angle : rad, in (-pi, pi], about the joint's single free axis
    travel : m, along the joint's single free axis
    angle_rate, travel_rate : rad/s and m/s
    displacement : (3,) position of the origin of frame j, in frame i, m
    rotation : (3,) 1-2-3 angles of frame j relative to frame i, rad, in (-pi, pi]; of a universal joint, the angles
        about its two axes and zero
    distance : distance between the origins of both frames, m
    tilt : one minus the cosine of the rotation angle between the frames
    """

    __getattr__ = unknown_attribute

    def __init__(self, constraint: Constraint, i: BodyNow, j: BodyNow) -> None:
        self._constraint = constraint
        self._i, self._j = FrameNow(i, constraint.frame_i), FrameNow(j, constraint.frame_j)

    @property
    def angle(self) -> Any:
        """Angle about the joint's single free axis, rad, in (-pi, pi].

        The angle jumps by a full turn at the ends of this range. The named quantity, such as "hinge.angle", counts
        revolutions and is continuous.
        """
        of_three = isinstance(self._constraint, Joint) and self._constraint.of_three
        return free_angle(self._i, self._j, self._axis("rotation"), of_three)

    @property
    def travel(self) -> Any:
        """Displacement along the joint's single free axis, m."""
        return self._i.rotation[:, self._axis("translation")] @ self._displacement

    @property
    def angle_rate(self) -> Any:
        """Rate of the angle about the free axis, rad/s."""
        return _rate(self.angle)

    @property
    def travel_rate(self) -> Any:
        """Rate of the displacement along the free axis, m/s."""
        return _rate(self.travel)

    @property
    def displacement(self) -> Any:
        """Position (3,) of the origin of frame j, in frame i, m."""
        return self._i.rotation.T @ self._displacement

    @property
    def rotation(self) -> Any:
        """1-2-3 angles (3,) of frame j relative to frame i, rad, in (-pi, pi].

        For a `Universal` these are the angles about its two axes and zero. The named quantities, such as
        "hinge.rotation.z", count revolutions and are continuous.
        """
        if crossed(self._constraint):
            first, second = (cross_angle(self._i, self._j, axis) for axis in (X, Y))
            return np.array([first, second, 0.0 * first], dtype=object)
        return np.array(angles_123(self._i, self._j), dtype=object)

    @property
    def tilt(self) -> Any:
        """One minus the cosine of the angle between frames i and j."""
        return 1.5 - 0.5 * sum(self._i.rotation[:, c] @ self._j.rotation[:, c] for c in range(3))

    @property
    def distance(self) -> Any:
        """Distance between the origins of both frames, m."""
        return _length(self._displacement)

    @property
    def _displacement(self) -> Any:
        return self._j.position - self._i.position

    def _axis(self, coordinate: str) -> int:
        axis = getattr(self._constraint, f"{coordinate}_axis", None) if isinstance(self._constraint, Joint) else None
        if axis is None:
            verb = "turns about" if coordinate == "rotation" else "slides along"
            raise InputError(f"{self._constraint} is no joint that {verb} a single axis")
        return int(axis)


class StateView:
    """View of a system's state in which ``state["rod"]`` is a `BodyNow` and ``state["hinge"]`` a `JointNow`.

    Parameters
    ----------
    parts : bodies and constraints by name
    places : moving frame of each body, by name
    """

    def __init__(self, parts: Mapping[str, Any], places: Mapping[str, Any]) -> None:
        self._parts, self._places = parts, places

    def __getitem__(self, name: Any) -> Any:
        name = getattr(name, "name", name)
        if name in self._places:
            return BodyNow(self._places[name])
        part = self._parts.get(name)
        if not isinstance(part, Constraint):
            known = ", ".join(f'"{own}"' for own in self._parts) or "none"
            raise InputError(
                f'the state has no body or constraint "{name}", or the function did not read it when the run began: '
                f"read it before any condition, or write its name as text; it has: {known}"
            )
        return JointNow(part, *(BodyNow(self._places[body.name]) for body in (part.body_i, part.body_j)))


class Plain:
    """Proxy of a view of the state that returns floats in place of jets, for functions that accept only floats."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getitem__(self, name: Any) -> Plain:
        return Plain(self._of[name])

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        return (lambda *given: as_floats(found(*given))) if callable(found) else as_floats(found)


class RecordingView:
    """View of a system's state that records the names of the parts that a function reads."""

    def __init__(self, view: StateView) -> None:
        self._view, self.names = view, list[str]()

    def __getitem__(self, name: Any) -> Any:
        found = Plain(self._view[name])
        self.names.append(getattr(name, "name", name))
        return found


class TracedView:
    """View of a system's state that returns tracers instead of numbers, for tracing a function to machine code."""

    # Operators and conversions to text are refused, as for other objects.
    __eq__ = __ne__ = __bool__ = __repr__ = __str__ = __format__ = refusing("a state is used for more than its parts")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: Any) -> None:
        self._quirk_of = of

    def __getitem__(self, name: Any) -> TracedView:
        return TracedView(self._quirk_of[name])

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._quirk_of, name)
        if callable(found) and not isinstance(found, Jet):
            return lambda *given: traced_arguments([found(*map(untraced, given))])[0]
        return traced_arguments([found])[0]


def _rate(x: Any) -> Any:
    return x.rate if isinstance(x, Jet) else 0.0


def _length(vector: Any) -> Any:
    return np.sqrt(vector @ vector)
