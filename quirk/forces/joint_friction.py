"""Dry and viscous friction in a joint, independent of the load on the joint."""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import where
from ..bodies.body import Body
from ..constraints import Joint, Spherical, Universal
from ..constraints.angle import cross_angle
from ..constraints.primitives import X, Y, Z
from ..constraints.slip import AboutAngle, AboutCrossAxis, AlongAxis
from ..constraints.sticking import Sticking, StickingJoint
from ..errors import InputError
from ..util import validate
from .joint_actuation import OfJoint, free_axis
from .load_shares import LoadShares
from .place import Place
from .stick_slip import CONSTANT, NO_SHARES, StickSlip

# Axes of the two angles of a universal joint: x of frame i and y of frame j.
CROSS_AXES = {"rotation x": X, "rotation y": Y}


class JointFriction(OfJoint, StickSlip):
    """Viscous and dry friction in a joint, independent of the load on the joint.

    By default dry friction is a smooth function of the joint rate v: the effort on body j is ``-viscous v - (coulomb +
    (static - coulomb) exp(-(v / stribeck)^2)) tanh(v / creep)``, N m for rotation, N for translation. There is no true
    sticking: under a constant effort F below `static`, with `stribeck` well above `creep`, the joint creeps at ``creep
    artanh(F / static)``, 0.55 creep for F = static / 2. At the speed `creep` dry friction has 76 % of its full value,
    at three times that speed 99.5 %. Small values of `creep` make runs slow.

    If `sticking` is True, the joint sticks and slides, and runs locate the transitions in time. It stays at rest as
    long as the required effort is at most `static`. While it slides, the effort is ``-viscous v - coulomb sign(v)`` or,
    with `stribeck`, the expression above with sign(v) in place of the tanh. For friction proportional to the load on
    a joint use `Friction`.

    Parameters
    ----------
    joint : Joint
        Joint with a free rotation or a free translation, a `Universal`, or a `Spherical`, whose friction is a torque
        opposite to the relative angular velocity.
    viscous : float
        Coefficient of viscous friction, N m s/rad or N s/m, not negative.
    coulomb : float
        Dry friction during motion, N m or N, not negative.
    static : float, optional
        Dry friction near standstill, N m or N; at least `coulomb`, which is the default.
    stribeck : float, optional
        Speed over which friction decreases from `static` to `coulomb`, rad/s or m/s; required if `static` and
        `coulomb` differ and `sticking` is False. If None and `sticking` is True, friction falls to `coulomb` when the
        joint starts to slide.
    creep : float, optional
        Speed over which dry friction reverses, rad/s or m/s, positive; required with dry friction that does not stick.
    coordinate : "rotation" or "translation", optional
        Coordinate of a joint that has both. For a `Universal`, "rotation x" is the angle about its axis fixed in body
        i, and "rotation y" the one about its axis fixed in body j, as for `Drive`.
    sticking : bool
        Whether the joint sticks at rest, with events at the transitions between sticking and sliding.

    Examples
    --------
    >>> rotor = quirk.Body("rotor", 1.0, [1, 1, 2], angular_velocity=[0, 0, 5.0])
    >>> axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
    >>> system = quirk.System([rotor, axle, quirk.JointFriction("rub", axle, viscous=0.2)])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[ 0. ,  0. , -0.5]])

    A brake stops the rotor after 2.5 s and holds it:

    >>> brake = quirk.JointFriction("brake", axle, coulomb=4.0, sticking=True)
    >>> result = quirk.simulate(quirk.System([rotor, axle, brake]), 4.0, output=1.0)
    >>> result.joint("axle").angle[-1].round(9), result.events.of("brake").time.round(9)
    (np.float64(6.25), array([2.5]))
    """

    parameters: tuple[str, ...] = ("viscous", "coulomb", "static", "stribeck", "creep")
    aside = ("joint", "on", "slip", "radii", "floor")
    takes = CONSTANT
    part = 0

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, **options: Any) -> JointFriction:
            """Create a `JointFriction`, or an object of its subclass for ball joints."""
            if cls is JointFriction and isinstance(options.get("joint", args[1] if len(args) > 1 else None), Spherical):
                from .ball_friction import BallFriction

                cls = BallFriction
            return object.__new__(cls)

    def __init__(
        self,
        name: str,
        joint: Joint,
        *,
        viscous: float = 0.0,
        coulomb: float = 0.0,
        static: float | None = None,
        stribeck: float | None = None,
        creep: float | None = None,
        coordinate: str | None = None,
        sticking: bool = False,
    ) -> None:
        self.of_cross = isinstance(joint, Universal)
        if self.of_cross:
            owner, axis, rotates = *_axis_of_cross(name, joint, coordinate), True
        elif isinstance(joint, Spherical):
            owner, axis, rotates = _title_of_ball(name, joint, coordinate), Z, True
        else:
            owner, axis, rotates = free_axis("JointFriction", name, joint, coordinate)
        self.viscous = validate.non_negative(owner, "viscous", viscous)
        self.coulomb = validate.non_negative(owner, "coulomb", coulomb)
        self.static = self.coulomb if static is None else validate.non_negative(owner, "static", static)
        if self.static < self.coulomb:
            raise InputError(f"{owner}: static must be at least coulomb, {self.coulomb:g}; got {self.static:g}")
        self.switches = validate.flag(owner, "sticking", sticking)
        # Friction without a limit never sticks.
        self.sticks = self.switches and self.static > 0
        if sticking and creep is not None:
            raise InputError(f"{owner}: creep has no effect on friction that sticks: leave out creep or sticking")
        unit = "rad/s" if rotates else "m/s"
        for argument, speed, needed in (
            ("stribeck", stribeck, self.static > self.coulomb and not sticking),
            ("creep", creep, self.static > 0 and not sticking),
        ):
            if needed and speed is None:
                raise InputError(f"{owner}: {argument} must be given, a speed in {unit}: see JointFriction")
            setattr(self, argument, validate.positive(owner, argument, 1.0 if speed is None else speed))
        self.falls_at_once = self.sticks and stribeck is None
        # Set by runs: the sense of the slip, 1 or -1, or 0 for that of the rate; and the slip that counts as zero, m/s.
        self.direction, self.floor = 0.0, 0.0
        if self.sticks:
            self.parameters = ("viscous", "coulomb", "static", "stribeck", "direction")
        self.on, self.slip = joint, AlongAxis(axis, not rotates, rotates)
        if rotates and joint.of_three:
            self.slip = AboutAngle(axis)
        if self.of_cross:
            self.slip = AboutCrossAxis(axis)
        # Friction that does not stick has no slip, so that its numbers do not depend on masses.
        self.radii = np.array([arm_of(joint) if rotates and self.sticks else 1.0, 0.0])
        super().__init__(name, joint, axis, rotates)

    stribeck: float
    creep: float

    @property
    def reads_angle(self) -> bool:
        """Always False: the effort depends only on the rate of the joint coordinate."""
        return False

    def acts_beside(self, active: Container[str]) -> bool:
        """Whether the friction acts while the constraints named in `active` are enabled.

        It acts if its joint is enabled, or if the joint was created with ``active=False`` and only measures a
        coordinate.
        """
        return super().acts_beside(active) or not self.joint.active

    def coordinate(self, t: Any, i: Place, j: Place) -> Any:
        """Return the joint's angle (rad) or displacement (m), as defined for `result[joint]`."""
        return cross_angle(i, j, self.axis) if self.of_cross else super().coordinate(t, i, j)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the friction torque (N m) or force (N) at a joint rate; it is independent of t and x."""
        if not self.sticks:
            return -self.viscous * rate - self._dry_friction(rate) * np.tanh(rate / self.creep)
        sense = where(rate > 0.0, 1.0, where(rate < 0.0, -1.0, 0.0))
        sense = where(self.direction * self.direction > 0.0, self.direction, sense)
        return -self.viscous * rate - self._dry_friction(rate) * sense

    def _dry_friction(self, rate: Any) -> Any:
        """Return the magnitude of dry friction at a rate, N m or N."""
        part = rate / self.stribeck
        above = 0.0 if self.falls_at_once else self.static - self.coulomb
        return self.coulomb + above * np.exp(-part * part)

    @property
    def direction_of_slip(self) -> tuple[float, ...]:
        """Direction of the slip when sliding began, (1,) or (-1,); () if no run has set it."""
        return (self.direction,) if self.direction else ()

    @property
    def load_per_effort(self) -> float:
        """Normal load per unit of effort, for the single slip component.

        The slip of a rotation is its rate times an arm (m), so that the factor is 1 / arm, in 1/m; for a translation it
        is 1.
        """
        return 1.0 / float(self.radii[0])

    def sliding_coefficient(self, speed: float) -> float:
        """Return the magnitude of the friction torque (N m) or force (N) at a slip speed (m/s)."""
        rate = speed / float(self.radii[0])
        return float(self._dry_friction(rate) + self.viscous * rate)

    def sliding(
        self,
        direction: tuple[float, ...],
        floor: float,
        side: int = 1,
        part: int = 0,
        shares: LoadShares | None = None,
        begins: bool = False,
    ) -> JointFriction:
        """Return a copy of the friction in the sliding state.

        `direction`, (1,) or (-1,), is the sign of the initial slip. At slip speeds below `floor`, m/s, the effort is
        opposite to `direction`. The other arguments, which apply to contacts, are not used.
        """
        return _sliding(self, float(direction[0]), floor)

    def sticking(
        self,
        which: tuple[int, ...],
        side: int = 1,
        part: int = 0,
        value: Any = None,
        shares: LoadShares = NO_SHARES,
    ) -> Sticking:
        """Return the constraint that holds the joint while the friction sticks.

        It holds the joint coordinate at the number in `value` (rad or m) or, if `value` is None, its rate at zero.
        `which` are the indices of the slip components that are held; `side`, `part` and `shares` are not used.
        """
        return super().sticking(which, side, part) if value is None else _sticking_constraint(self, float(value[0]))


@lru_cache(1024)
def _sticking_constraint(friction: JointFriction, value: float) -> StickingJoint:
    return StickingJoint(friction, value)


@lru_cache(1024)
def _sliding(friction: JointFriction, direction: float, floor: float) -> JointFriction:
    return friction.with_values({"direction": direction, "floor": floor})


def _axis_of_cross(name: str, joint: Joint, coordinate: str | None) -> tuple[str, int]:
    """Return the element's title for errors, and the index of a rotation axis of a universal joint.

    "rotation x" selects X of frame i, "rotation y" selects Y of frame j.
    """
    owner = f'JointFriction "{validate.name("JointFriction", name)}"'
    if coordinate not in CROSS_AXES:
        raise InputError(
            f'{owner}: {joint} turns about two axes, each with friction of its own: give coordinate="rotation x" '
            f'or "rotation y"; got {coordinate!r}'
        )
    return owner, CROSS_AXES[coordinate]


def _title_of_ball(name: str, joint: Joint, coordinate: str | None) -> str:
    """Return the title of the friction of a ball joint for errors.

    An InputError is raised if a `coordinate` is given, because the friction acts on all rotations.
    """
    owner = f'JointFriction "{validate.name("JointFriction", name)}"'
    if coordinate is not None:
        raise InputError(
            f"{owner}: {joint} has friction against its rotation about any axis: leave out coordinate; for friction "
            'about one of its angles, use a quirk.Free joint with angle="x", "y" or "z"'
        )
    return owner


def arm_of(joint: Joint) -> float:
    """Return the arm (m) that converts the rate of a rotation to a slip speed.

    It is the largest radius of gyration of the bodies of the joint, and affects only tolerances.
    """
    bodies = (body for body in (joint.body_i, joint.body_j) if isinstance(body, Body))
    return max(float(np.sqrt(np.trace(body.inertia) / body.mass)) for body in bodies)
