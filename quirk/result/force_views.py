"""Time histories of one force element: loads, coordinates, energy and power at nt times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..beams.segment import STRAINS, BeamSegment
from ..bodies import rotation
from ..bodies.body import Body
from ..constraints.unilateral import Unilateral
from ..dynamics.model.applied_loads import Exerted
from ..errors import InputError
from ..forces import AttitudeControl, Controller, Friction, JointFriction
from ..forces.ball_friction import BallFriction
from ..forces.elastic_rope import ElasticRope
from ..forces.joint_actuation import Actuated
from ..forces.spring import BetweenPoints
from ..forces.stored_loads import stored_loads
from ..util import validate
from ..util.misuse import explained
from .driven_slip import slip_is_driven
from .idle_slip import idle_slip

if TYPE_CHECKING:
    from ..forces import ForceElement
    from .contact_loads import ContactLoads
    from .result import Result
    from .segment import Segment

# Maximum number of coordinates that an error message lists.
MOST_LISTED = 3
FRAMES = ("inertial", "i", "j")
# Units of a force element's coordinate, of its rate and of the load along it, by the unit of the coordinate.
UNITS = {
    "m": {"m": "m", "m/s": "m/s", "N": "N"},
    "rad": {"m": "rad", "m/s": "rad/s", "N": "N m"},
    "m/s": {"m": "m/s", "m/s": "m/s^2", "N": "N"},
    "rad/s": {"m": "rad/s", "m/s": "rad/s^2", "N": "N m"},
    "": {"m": "", "m/s": "1/s", "N": "N m"},
    "1/m": {"m": "1/m", "m/s": "1/(m s)", "N": "N m^2"},
    "N": {"m": "N", "m/s": "N/s"},
    "N m": {"m": "N m", "m/s": "N m/s", "N": "N m"},
    "m or rad": {"m": "m or rad", "m/s": "m/s or rad/s", "N": "N or N m"},
}


@explained
class ForceView:
    """Loads, coordinates and energy of one force element over nt times.

    Attributes
    ----------
    of : the force element of the system; events may replace it during the run
    """

    def __init__(self, result: Result, element: ForceElement) -> None:
        self._result, self.of = result, element

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.of} at {len(self._result.time)} times>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_force

        return of_force(self, self._result)

    @property
    def exerted(self) -> Exerted:
        """Loads, energy and coordinates of the element over time, as computed by its force law.

        Loads are in the inertial frame, moments about the centers of mass. All values are zero while the element is
        disabled.
        """
        found: Exerted | None = self._result._exerted.get(self.of.name)
        if found is not None:
            return found
        nt, ends = len(self._result.time), len(self.of.ends)
        coordinates, rates = np.zeros((nt, len(self.of.coordinates), 3)), np.zeros((nt, len(self.of.internal), 1))
        return Exerted(np.zeros((nt, ends, 1, 6)), np.zeros(nt), coordinates, rates)

    @property
    def energy(self) -> np.ndarray:
        """Stored energy (nt,), J; zero for elements that do not store energy."""
        return self.exerted.energy

    @property
    def power(self) -> np.ndarray:
        """Power (nt,) of the element's loads on all bodies, W."""
        return self._result.power.of.get(self.of.name, np.zeros(len(self._result.time)))

    def force(self, frame: str = "inertial", end: int = -1) -> np.ndarray:
        """Return the force (nt, 3), N, on the body of one end of the element, by default the last.

        `end` is the index of the body among the bodies on which the element acts. `frame` selects the axes: "inertial",
        or "i" or "j" for the axes of body i or j.
        """
        return self._in_frame(self.exerted.loads[:, self._end(end), 0, :3], frame)

    def torque(self, frame: str = "inertial", end: int = -1) -> np.ndarray:
        """Return the torque (nt, 3), N m, on the body of one end, about the origin of the element's frame on this body.

        `frame` and `end` are as for `force`; by default the body is the last.
        """
        end = self._end(end)
        load = self.exerted.loads[:, end, 0]
        return self._in_frame(load[:, 3:] - np.cross(self._arm(end), load[:, :3]), frame)

    def coordinate(self, name: str | None = None) -> np.ndarray:
        """Return a coordinate (nt,) of the element, m or rad; the name is optional if there is only one.

        It is zero while the element is disabled; `result.active` says when that is.
        """
        return self.exerted.coordinates[:, self._number(name), 0]

    def rate(self, name: str | None = None) -> np.ndarray:
        """Return the rate (nt,) of a coordinate, m/s or rad/s; the name is optional if there is only one.

        It is zero while the element is disabled.
        """
        return self.exerted.coordinates[:, self._number(name), 1]

    def along(self, name: str | None = None) -> np.ndarray:
        """Return the force (N) or torque (N m), (nt,), along a coordinate, without the contribution of stored energy.

        The values are those of the method `along` of the element.
        """
        return self.exerted.coordinates[:, self._number(name), 2]

    def load(self, name: str | None = None) -> np.ndarray:
        """Return the total force (N) or torque (N m), (nt,), of the element along a coordinate.

        It is positive if it acts to increase the coordinate: a spring under tension has a negative load along its
        length.

        Raises
        ------
        InputError
            If the loads of the element are not along its coordinates; then use `force` and `torque`.
        """
        number = self._number(name)
        if isinstance(self.of, BetweenPoints):
            line = self._point(1) - self._point(0)
            length = np.linalg.norm(line, axis=1)
            return np.einsum("ti,ti->t", self.force(), line) / np.where(length > 0, length, 1.0)
        if not self.loads_coordinates:
            raise InputError(f"{self.of}: it does not act only along its coordinates; use force() and torque()")
        return self.along(name) + self._stored_loads()[:, number]

    @property
    def loads_coordinates(self) -> bool:
        """Whether all loads of the element are along its coordinates, so that `load` is defined."""
        return isinstance(self.of, BetweenPoints) or not (
            self.of.has("potential") or self.of.has("load") or self.of.has("shown")
        )

    def _stored_loads(self) -> np.ndarray:
        """Return the loads (nt, C), N or N m, along C coordinates that result from the energy stored in them."""
        if not self.of.has("stored"):
            return np.zeros((len(self._result.time), len(self.of.coordinates)))
        x, found, first = self.exerted.coordinates[:, :, 0], [], 0
        for segment in self._result.segments:
            rows = range(first, first := first + len(segment.time))
            element = next((one for one, _ in segment.model.forces if one.name == self.of.name), None)
            for row, t in zip(rows, segment.instants.tolist(), strict=True):
                internal = {name: self.internal(name)[row] for name in self.of.internal}
                found.append(np.zeros(x.shape[1]) if element is None else stored_loads(element, t, x[row], internal))
        return np.array(found)

    @property
    def effort(self) -> np.ndarray:
        """Force (N) or torque (N m), (nt,), of an actuator along its joint coordinate.

        A positive effort acts to increase the coordinate.
        """
        if not isinstance(self.of, Actuated | Controller):
            several = self.of.has("along") and len(self.of.coordinates) > 1
            joints = [f'along("{name}")' for name in self.of.coordinates[:MOST_LISTED]] if several else []
            ways = f"{' or '.join(joints)} for the effort along one coordinate" if joints else "force() and torque()"
            raise InputError(f"{self.of}: only drivers and actuators of one joint have effort; use {ways}")
        return self.along()

    def internal(self, name: str | None = None) -> np.ndarray:
        """Return an internal variable (nt,) of the element; the name is optional if there is only one."""
        known = self.of.internal
        if name is None and len(known) == 1:
            name = known[0]
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise InputError(f"{self.of}: it has no internal variable {name!r}; its internal variables: {listed}")
        return self._result.state.internal[self.of.name][:, known.index(name)]

    @property
    def length(self) -> np.ndarray:
        """Length (nt,), m, of an element between two points."""
        return self.coordinate("length")

    def _number(self, name: str | None) -> int:
        known = self.of.coordinates
        if name is None and len(known) == 1:
            return 0
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise InputError(f"{self.of}: it has no coordinate {name!r}; its coordinates: {listed}")
        return known.index(name)

    def _end(self, end: int) -> int:
        count = len(self.of.acting_ends)
        if not isinstance(end, int | np.integer) or not -count <= end < count:
            raise InputError(f"{self.of}: end must be the number of one of its {count} ends; got {end!r}")
        return int(end) % count

    def _arm(self, end: int) -> np.ndarray:
        """Return the vectors (nt, 3), m, from a body's center of mass to the frame of the element, inertial frame.

        `end` is the index of the body among the bodies of the element.
        """
        return np.concatenate([R @ element.ends[end][1].origin for element, R in self._acting(end)])

    def _point(self, end: int) -> np.ndarray:
        """Return the origin (nt, 3), m, inertial frame, of the element's frame on one of its bodies.

        `end` is the index of the body among the bodies of the element.
        """
        body, frame = self.of.ends[end]
        if not isinstance(body, Body):
            return np.broadcast_to(frame.origin, (len(self._result.time), 3))
        found: np.ndarray = self._result[body.name].path(frame.origin).position
        return found

    def _rotations(self, end: int) -> np.ndarray:
        return np.concatenate([R for _, R in self._acting(end)])

    def _acting(self, end: int) -> Iterator[tuple[ForceElement, np.ndarray]]:
        """Yield, for each segment, the force element with this name that acts in it, and the axes of one of its bodies.

        Events may have replaced the element. `end` is the index of the body among the element's bodies; the axes are
        (nt, 3, 3). While the element is disabled, the yielded element has no load, and the axes are arbitrary.
        """
        for segment in self._result.segments:
            acting = [(element, rows) for element, rows in segment.model.forces if element.name == self.of.name]
            element, rows = acting[0] if acting else (self.of, (-1,) * len(self.of.ends))
            R = np.broadcast_to(np.eye(3), (len(segment.time), 3, 3))
            if 0 <= rows[end] < len(segment.model.mass):
                R = rotation.matrix(rotation.unit(segment.state.orientation[:, rows[end]]))
            yield element, R

    def _in_frame(self, vectors: np.ndarray, frame: str) -> np.ndarray:
        frame = validate.choice(f"{self.of}", "frame", frame, FRAMES)
        if frame == "inertial":
            return vectors
        R = self._rotations(self._end({"i": 0, "j": 1}[frame]))
        return np.einsum("tki,tk->ti", R, vectors)


@explained
class FrictionView(ForceView):
    """Friction force and slip over nt times, during sliding and sticking.

    During sticking, the load computed by the force law, `exerted`, is zero. If several contacts share a sticking force,
    one possible distribution is reported; `force` then differs from `exerted` if a sliding contact shares its load with
    sticking contacts. Sticking joints that hold the same degree of freedom share the effort within their limits.
    """

    of: Friction | JointFriction

    @property
    def sticking(self) -> np.ndarray:
        """Mask (nt,), bool, of the times at which nothing slips; False while the element or its contact is inactive.

        Slip may be prevented by this friction element or by other constraints. At an instant at which slip begins or
        reverses, the value is that after the instant, so that friction that begins to slide does not stick.
        """
        pairs = zip(self._result.segments, self._result._contact_loads, strict=True)
        return np.concatenate([self._sticks_in(segment, contacts) for segment, contacts in pairs])

    def _sticks_in(self, segment: Segment, contacts: ContactLoads | None) -> np.ndarray:
        count = len(segment.time)
        acting: list[Any] = self._acting_in(segment)
        if not acting:
            return np.full(count, self._is_held_in(segment, contacts))
        slip = self._slip_in(segment.dynamics.forces[self.of.name])
        element = acting[0]
        slow = np.asarray(np.linalg.norm(slip, axis=1) <= self._floor(element))
        direction = np.atleast_1d(element.direction if isinstance(element, Friction) else element.direction_of_slip)
        if slow.any() and direction.any():
            system, row = self._result.system, int(np.argmax(slow))
            slow &= slip_is_driven(system, segment, element, direction, row)
        return slow

    def _acting_in(self, segment: Segment) -> list[ForceElement]:
        return [element for element, _ in segment.model.forces if element.name == self.of.name]

    def _is_held_in(self, segment: Segment, contacts: ContactLoads | None) -> bool:
        """Whether the friction sticks in a segment in which its force law does not act."""
        held = self.of.name in segment.model.joint_rows or self._redundant_in(segment)
        return held or (contacts is not None and self.of.name in contacts.sticking)

    def _redundant_in(self, segment: Segment) -> bool:
        """Whether a joint sticks in a segment without a constraint row, because other rows already prevent its slip.

        These rows belong to constraints or to other friction elements. The force law is not active in the segment.
        """
        enabled = segment.switched.get(self.of.name, self._result.system.is_active(self.of.name))
        return enabled and not isinstance(self.of.on, Unilateral) and self.of.acts_beside(segment.active)

    @property
    def slip(self) -> np.ndarray:
        """Slip velocity (nt, d), m/s, or rad/s about an axis for `JointFriction`.

        It is zero during sticking, and while the contact is open or the joint is disabled. While the element itself is
        disabled, it is the relative velocity of the surfaces or of the joint.
        """
        found, last = self._slip_in(self.exerted).copy(), 0
        for segment, contacts in zip(self._result.segments, self._result._contact_loads, strict=True):
            rows = slice(last, last := last + len(segment.time))
            touching = segment.active | (contacts.touching if contacts is not None else frozenset())
            idle = not self._acting_in(segment) and not self._is_held_in(segment, contacts)
            if idle and self.of.acts_beside(touching):
                found[rows] = self._slip_per_speed * idle_slip(self._result.system, segment, self.of)
        return found

    @property
    def _slip_per_speed(self) -> float:
        """Slip, m/s or rad/s, per unit of the slip speed of the friction element, m/s."""
        return self.of.load_per_effort if isinstance(self.of, JointFriction) else 1.0

    def _slip_in(self, exerted: Exerted) -> np.ndarray:
        """Return the components of slip (nt, d), m/s or rad/s, from the loads `exerted` computed by the force law."""
        return exerted.coordinates[:, 1:, 0]

    def _floor(self, acting: Any) -> float:
        """Return the threshold, m/s or rad/s, below which slip of the friction element `acting` counts as zero."""
        return float(getattr(acting, "floor", 0.0))

    def force(self, frame: str = "inertial", end: int = -1) -> np.ndarray:
        """Return the friction force (nt, 3), N, on body j, or on body i for end 0.

        `frame` selects its axes: "inertial", or "i" or "j" for the axes of body i or j.
        """
        held, sign = self._sticking_loads(), 1.0 if self._end(end) else -1.0
        return super().force(frame, end) + self._in_frame(sign * held[:, 0], frame)

    def torque(self, frame: str = "inertial", end: int = -1) -> np.ndarray:
        """Return the torque (nt, 3), N m, on body j, or body i for end 0, about the origin of the frame on that body.

        `frame` is as for `force`.
        """
        held = self._sticking_loads()
        if self._end(end):
            moment = held[:, 1]
        else:
            apart = self._point(1) - self._point(0)
            moment = -held[:, 1] - np.cross(apart, held[:, 0])
        return super().torque(frame, end) + self._in_frame(moment, frame)

    def _sticking_loads(self) -> np.ndarray:
        """Return force and torque (nt, 2, 3), N and N m, on body j during sticking, inertial frame.

        The torque is about the origin of frame j.
        """
        none = np.zeros((len(self._result.time), 2, 3))
        return self._result._joint_loads.get(self.of.name, none)


@explained
class JointFrictionView(FrictionView):
    """Effort (nt,) and slip of joint friction over time, during sliding and sticking."""

    of: JointFriction

    def _sticks_in(self, segment: Segment, contacts: ContactLoads | None) -> np.ndarray:
        return super()._sticks_in(segment, contacts) if self.of.sticks else np.zeros(len(segment.time), dtype=bool)

    def _slip_in(self, exerted: Exerted) -> np.ndarray:
        return exerted.coordinates[:, :, 1]

    def _floor(self, acting: Any) -> float:
        return super()._floor(acting) * self.of.load_per_effort

    def coordinate(self, name: str | None = None) -> np.ndarray:
        """Return the angle (rad) or displacement (m) of the joint (nt,)."""
        self._number(name)
        joint = self._result.joint(self.of.joint.name)
        return (joint.rotation if self.of.rotates else joint.displacement)[:, self.of.axis]

    def along(self, name: str | None = None) -> np.ndarray:
        """Return the friction effort (nt,), N m or N, that acts on body j, during sliding and sticking."""
        held = self._result.multipliers.get(self.of.name, np.zeros((len(self._result.time), 1)))
        return super().along(name) + held[:, 0] / self.of.load_per_effort


@explained
class BallFrictionView(FrictionView):
    """Torque and slip of the friction of a ball joint over time, during sliding and sticking."""

    of: BallFriction

    def _sticks_in(self, segment: Segment, contacts: ContactLoads | None) -> np.ndarray:
        return super()._sticks_in(segment, contacts) if self.of.sticks else np.zeros(len(segment.time), dtype=bool)

    def _floor(self, acting: Any) -> float:
        return super()._floor(acting) * self.of.load_per_effort

    def along(self, name: str | None = None) -> np.ndarray:
        """Return the friction torque (nt,), N m, on body j about the axis of a coordinate such as "rate_x".

        The axes are those of frame i. For the coordinate "ahead", it is the torque along the slip, which is negative.
        """
        number = self._number(name)
        torque = self.torque("i", end=1) @ self.of.ends[0][1].matrix
        return -np.linalg.norm(torque, axis=1) if number == 0 else torque[:, number - 1]


def view_of_force(result: Result, force: ForceElement) -> ForceView:
    """Return the view of a force element."""
    if isinstance(force, BallFriction):
        return BallFrictionView(result, force)
    if isinstance(force, JointFriction) and force.switches:
        return JointFrictionView(result, force)
    return FrictionView(result, force) if isinstance(force, Friction) else ForceView(result, force)


def unit_of_coordinate(force: ForceElement, coordinate: str) -> str:
    """Return the unit of a coordinate of a force element, such as "rad"."""
    if isinstance(force, Friction):
        return "m/s"
    if isinstance(force, BallFriction):
        return "rad/s"
    if isinstance(force, BeamSegment):
        return "1/m" if STRAINS.index(coordinate) >= 3 else ""
    if isinstance(force, ElasticRope):
        return force.unit_of(coordinate)
    if isinstance(force, AttitudeControl) and coordinate != "angle":
        return "N m"
    if force.coordinates.index(coordinate) in force.turning or coordinate.startswith(("angle", "about ")):
        return "rad"
    return "m" if force.built_in else "m or rad"


def unit_of_internal(force: ForceElement, name: str) -> str:
    """Return the unit of an internal variable of a force element, or a placeholder for user-defined elements."""
    if isinstance(force, ElasticRope):
        return "m"
    if isinstance(force, Controller) and name == "integral":
        return "rad s" if force.rotates else "m s"
    return "as the element says"
