"""Browser view of a mechanism with sliders for its joint coordinates; all loops stay closed."""

from __future__ import annotations

import threading
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quirk.analysis.joint_coordinates import coordinate
from quirk.bodies.state import Kinematics, State
from quirk.constraints import Constraint, Drive, Joint
from quirk.constraints.constraint import TwoAxisJoint
from quirk.constraints.drive import LETTERS
from quirk.constraints.relation import Relation
from quirk.dynamics.dense.rows import residuals
from quirk.errors import AssemblyError, InputError
from quirk.functions.motion import Motion
from quirk.util import validate

from . import contents
from .handle import View
from .poses import Poses
from .serving import announced, server_at, stopped
from .stage import ViewerStage

if TYPE_CHECKING:
    from quirk.system.system import System

# Largest step of the mechanism toward a slider's value: of an angle, rad, and of a displacement, relative to the size
# of the mechanism. Where the motion is blocked, steps are halved down to the fraction 1 / FINEST.
STEP, PART, FINEST = 0.1, 0.04, 16
# Range of a displacement slider to each side of the initial value, relative to the size of the mechanism.
REACH = 1.0
# Interval, s, between checks for moved sliders.
IDLE = 0.05


class SliderCoordinate(NamedTuple):
    """A joint coordinate with a slider.

    Attributes
    ----------
    joint : Joint
    name : name of the coordinate, such as "rotation z"
    low, high, step : range and step of the slider, rad or m
    """

    joint: Joint
    name: str
    low: float
    high: float
    step: float

    @property
    def label(self) -> str:
        """Label of the slider."""
        kind, _ = self.name.split()
        return f"{self.joint.name} {self.name} ({'rad' if kind == 'rotation' else 'm'})"


def view(
    system: System,
    *,
    labels: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    block: bool = False,
) -> SliderMechanism:
    """Show a system in the browser with sliders for its joint coordinates; see `System.view`."""
    labels, block = validate.flag("view", "labels", labels), validate.flag("view", "block", block)
    server = server_at(host, port)
    try:
        mechanism = SliderMechanism(server, system, labels)
    except BaseException:
        stopped(server)
        raise
    announced("the mechanism", mechanism.url, block)
    if block:
        mechanism.wait()
    return mechanism


class SliderMechanism(View):
    """View of a system with sliders that change its state.

    Attributes
    ----------
    url : address for browsers on this machine
    state : the present state, at rest
    coordinates : the coordinates with sliders
    """

    def __init__(self, server: Any, system: System, labels: bool) -> None:
        super().__init__(server)
        # The system is a copy that shares all parts; drivers are disabled because they would prevent the motion.
        self._system = copy(system)
        self._system.disable(*(c.name for c in system.constraints if _drives(c)))
        self.state = system.initial_state()
        drawn = contents.of_state(self._system, self.state)
        self._stage = ViewerStage(server, drawn, labels=labels)
        self._drawn, self._size = drawn, drawn.extent.size
        self.coordinates = coordinates_of(self._system, self.state, self._size)
        self._held = [_with_driver(self._system, coordinate) for coordinate in self.coordinates]
        self._still = np.zeros_like(self.state.velocity)
        self._wanted: dict[int, float] = {}
        self._lock = threading.Lock()
        self.add_looks(self._stage, labels, False, 1.0)
        self._sliders = [self._slider(server.gui, k, one) for k, one in enumerate(self.coordinates)]
        self._message = server.gui.add_markdown("" if self.coordinates else "No joint of it has an axis.")
        self._thread = threading.Thread(target=self._run, name="quirk view", daemon=True)
        self._thread.start()

    def drag(self, joint: str, value: float, coordinate: str | None = None) -> float:
        """Move a slider to a value, rad or m, and return the nearest value that the mechanism reaches.

        `coordinate` is "rotation" or "translation", for joints with both.

        Raises
        ------
        InputError
            If there is no such slider.
        """
        found = [
            k
            for k, one in enumerate(self.coordinates)
            if one.joint.name == joint and (coordinate is None or one.name.startswith(coordinate))
        ]
        if len(found) != 1:
            known = ", ".join(one.label for one in self.coordinates) or "none"
            raise InputError(f"view: {joint!r} is not one of its sliders, or more than one; there are: {known}")
        (number,) = found
        with self._lock:
            return self._follow(number, validate.number("view", "value", value))

    def _slider(self, gui: Any, number: int, selected: SliderCoordinate) -> Any:
        value = float(np.clip(self._value(number), selected.low, selected.high))
        slider = gui.add_slider(selected.label, selected.low, selected.high, selected.step, value)

        @slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # set by a user, not by the program
                self._wanted[number] = float(slider.value)

        return slider

    def _run(self) -> None:
        """Move the mechanism according to the sliders, until the view is closed."""
        while not self._closed.wait(IDLE):
            while self._wanted and not self._closed.is_set():
                number = next(iter(self._wanted))
                with self._lock:
                    self._follow(number, self._wanted.pop(number))

    def _follow(self, number: int, target: float) -> float:
        """Move coordinate `number` toward the value `target`, rad or m, and return the value reached."""
        one = self.coordinates[number]
        reached = self._value(number)
        longest = STEP if one.name.startswith("rotation") else PART * self._size
        step, least = longest, longest / FINEST
        while abs(target - reached) > 0 and step >= least:
            value = target if abs(target - reached) <= step else reached + float(np.copysign(step, target - reached))
            try:
                state = self._held[number].assemble(self.state, t=value)
            except AssemblyError:
                step /= 2  # a smaller step may still be possible
                continue
            self.state = State(state.position, state.orientation, self._still, self._still, bodies=state.bodies)
            reached = value
            self._stage.move(Poses.of_state(self._system, self.state))
        stops = f"**{one.label}** stops at {reached:.4g}: {target:.4g} cannot be reached with all loops closed."
        self._message.content = "" if reached == target else stops
        for k, (slider, other) in enumerate(zip(self._sliders, self.coordinates, strict=True)):
            slider.value = float(np.clip(reached if k == number else self._value(k), other.low, other.high))
        return reached

    def _value(self, number: int) -> float:
        """Return the present value of coordinate `number`, rad or m."""
        model = self._held[number].model
        rows = model.joint_rows[_drive_name(self.coordinates[number])]
        # The drive prescribes the time as the value: at time zero its residual is the coordinate.
        return float(residuals(model, Kinematics.of(self.state), 0.0, 0)[rows, 0][0])


def _drive_name(selected: SliderCoordinate) -> str:
    return f"slider {selected.label}"


def _with_driver(system: System, selected: SliderCoordinate) -> System:
    """Return the system with a driver that makes the coordinate `selected` equal to the time."""
    drive = Drive(_drive_name(selected), selected.joint, Motion.polynomial([0.0, 1.0]), selected.name)
    return system.with_constraints([drive])


def coordinates_of(system: System, state: State, size: float) -> list[SliderCoordinate]:
    """Return the joint coordinates that are shown with sliders.

    These are the coordinates of active joints with one free axis, or with two axes that intersect. `size` is the size
    of the mechanism, m.
    """
    found = []
    companions = system.companions
    for joint in system.constraints:
        if not isinstance(joint, Joint) or joint in companions or not system.is_active(joint.name):
            continue
        names = [
            f"{kind} {LETTERS[axis]}"
            for kind, axis in (("rotation", joint.rotation_axis), ("translation", joint.translation_axis))
            if axis is not None
        ]
        if isinstance(joint, TwoAxisJoint) and not names:
            names = ["rotation x", "rotation y"]
        for name in names:
            if name.startswith("rotation"):
                found.append(SliderCoordinate(joint, name, -np.pi, np.pi, 0.001))
            else:
                now = coordinate(system, state, joint, name)
                found.append(SliderCoordinate(joint, name, now - REACH * size, now + REACH * size, 1e-3 * size))
    return found


def _drives(constraint: Constraint) -> bool:
    """Whether a constraint is a driver."""
    return any(isinstance(primitive, Relation) and primitive.motions for primitive in constraint.primitives)
