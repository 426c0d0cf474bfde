"""Assembly with prescribed joint coordinates and rates; the other coordinates follow from loop closure.

A prescribed coordinate is a triple: the joint, the name of its coordinate, and the value in rad or m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.state import Kinematics, State
from ..constraints import Drive, Joint
from ..constraints.drive import LETTERS, driven_coordinate
from ..dynamics.dense.rows import residuals
from ..errors import AssemblyError, InputError
from ..functions import degrees
from ..functions.motion import Motion
from ..util import validate
from .assembly import assemble, with_poses, with_velocity
from .nearest import LONGEST_STEP

if TYPE_CHECKING:
    from ..system.system import System


def assembled(
    system: System,
    start: State,
    t: float,
    coordinates: Mapping[str, Any] | None = None,
    rates: Mapping[str, Any] | None = None,
) -> State:
    """Return the nearest state that satisfies the constraints and has prescribed joint coordinates and rates.

    See `System.assemble`.
    """
    if coordinates is None and rates is None:
        return _with_memory(assemble(system, start, t), start)
    coordinates, rates = coordinates or {}, rates or {}
    wanted, speeds = joint_targets(system, "coordinates", coordinates), joint_targets(system, "rates", rates)
    state = _with_coordinates(system, start, t, wanted)
    found = _with_memory(_moving(system, state, start, t, speeds), start)
    found.angles = dict(start.angles)
    for joint, name, value in wanted:
        if name.startswith("rotation"):
            angles = np.array(found.angles.get(joint.name, np.zeros(3)), dtype=float)
            angles[LETTERS.index(name[-1])] = value
            found.angles[joint.name] = angles
    return found


def _with_memory(found: State, start: State) -> State:
    """Return a state with what poses and velocities do not contain: turns, internal variables and changes by events."""
    internal = {name: array.copy() for name, array in start.internal.items()}
    return replace(
        found, angles=start.angles, internal=internal, switched=dict(start.switched), replaced=dict(start.replaced)
    )


def _with_coordinates(system: System, state: State, t: float, targets: list[tuple[Joint, str, float]]) -> State:
    """Return the state with the nearest poses that satisfy the constraints and have the prescribed coordinates.

    `targets` contains the prescribed coordinates as triples; see the module's docstring.
    """
    if not targets:
        return assemble(system, state, t)
    # Large displacements are subdivided, so that loops can follow.
    begin = [coordinate(system, state, joint, name) for joint, name, _ in targets]
    displacements = [
        value - x if name.startswith("translation") else np.remainder(value - x + np.pi, 2 * np.pi) - np.pi
        for (_, name, value), x in zip(targets, begin, strict=True)
    ]
    sizes = [
        abs(way) / (system.model.length if name.startswith("translation") else 1.0)
        for (_, name, _), way in zip(targets, displacements, strict=True)
    ]
    parts = max(1, int(np.ceil(max(sizes) / LONGEST_STEP)))
    for part in range(1, parts + 1):
        values = [x + way * part / parts for x, way in zip(begin, displacements, strict=True)]
        holds = [_drive_at(joint, name, value, 0.0, t) for (joint, name, _), value in zip(targets, values, strict=True)]
        try:
            state = with_poses(system.with_constraints(holds), state, t)
        except AssemblyError as error:
            asked = ", ".join(f"{joint.name} {name} = {value:g}" for joint, name, value in targets)
            raise AssemblyError(f"System.assemble: {asked} cannot be reached: {error}") from error
    return state


def _moving(system: System, state: State, start: State, t: float, speeds: list[tuple[Joint, str, float]]) -> State:
    """Return the state with the nearest velocities that satisfy the constraints and have the prescribed rates.

    `state` contains the poses, `start` the velocities to which the result is nearest, and `speeds` the prescribed
    rates as triples: joint, name of the coordinate, and rate, rad/s or m/s.
    """
    if not speeds:
        # The drivers that hold the coordinates would also stop them.
        moving = State(*state.parts[:2], *start.parts[2:], bodies=start.bodies)
        return with_velocity(system, moving, t)
    holds = [_drive_at(joint, name, coordinate(system, state, joint, name), rate, t) for joint, name, rate in speeds]
    held = system.with_constraints(holds)
    moving = State(*state.parts[:2], *start.parts[2:], bodies=start.bodies)
    try:
        return with_velocity(held, moving, t)
    except AssemblyError as error:
        raise AssemblyError(f"System.assemble: these rates contradict each other: {error}") from error


def joint_targets(system: System, argument: str, values_by_joint: Mapping[str, Any]) -> list[tuple[Joint, str, float]]:
    """Return the coordinates or rates prescribed in a user's dict as triples: joint, coordinate name, and value.

    `argument` is the name of the user's argument, "coordinates" or "rates".
    """
    owner = f"System.assemble: {argument}"
    if not isinstance(values_by_joint, Mapping):
        raise InputError(f"{owner} must be a dict of values by joint; got {values_by_joint!r}")
    found = []
    for name, values in values_by_joint.items():
        joint = system[name]
        if not isinstance(joint, Joint):
            raise InputError(f"{owner}: {joint} is not a joint")
        by_name = values if isinstance(values, Mapping) else {None: values}
        for part, value in by_name.items():
            kind, axis = driven_coordinate(f"{owner}[{name!r}]", joint, part)
            value = validate.number(owner, repr(name), value)
            if argument == "coordinates" and kind == "rotation":
                behind = f"; if {joint} has made further turns, set them in the angles of the returned state"
                degrees.within_turn(owner, repr(name), value, behind)
            found.append((joint, f"{kind} {LETTERS[axis]}", value))
    return found


def _drive_at(joint: Joint, name: str, value: float, rate: float, t: float) -> Drive:
    return Drive(f"{joint.name} {name} = {value:.6g}", joint, Motion.polynomial([value - rate * t, rate]), name)


def coordinate(system: System, state: State, joint: Joint, name: str) -> float:
    """Return the joint coordinate called `name` at a state, rad or m.

    The coordinate is the residual of a driver whose prescribed motion is zero.
    """
    drive = _drive_at(joint, name, 0.0, 0.0, 0.0)
    model = system.with_constraints([drive]).model
    return float(residuals(model, Kinematics.of(state), 0.0, 0)[model.joint_rows[drive.name], 0][0])
