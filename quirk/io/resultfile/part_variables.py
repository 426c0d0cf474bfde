"""Variables of bodies, joints and force elements over time.

Each function adds variables of the selected parts to a table; `chosen` is the selection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.forces import ForceElement
from quirk.result.force_views import UNITS, ForceView, FrictionView, unit_of_coordinate, unit_of_internal
from quirk.result.joint_views import JointView

from .selection import Chosen
from .variable import BODY, INERTIAL, JOINT_I, VariableTable

FRAMES = {
    "inertial": INERTIAL,
    "i": "axes of body i",
    "j": "axes of body j",
    "joint i": JOINT_I,
    "joint j": "axes of joint frame j",
}
OF_COM = "of the center of mass"


def motion(table: VariableTable, chosen: Chosen) -> None:
    """Add positions, orientations and velocities of bodies."""
    state = chosen.result.state
    rows = body_rows(chosen)
    table.labels["body"] = [body.name for body in chosen.bodies]
    table.add("position", "time body axis", state.position[:, rows], f"position {OF_COM}", "m", INERTIAL)
    what = "unit quaternion (w, x, y, z), turns body vectors into inertial ones"
    table.add("orientation", "time body quaternion", state.orientation[:, rows], what, "1", INERTIAL)
    table.add("velocity", "time body axis", state.velocity[:, rows], f"velocity {OF_COM}", "m/s", INERTIAL)
    table.add("angular_velocity", "time body axis", state.angular_velocity[:, rows], "angular velocity", "rad/s", BODY)
    table.add("mass", "body", np.array([body.mass for body in chosen.bodies]), "mass", "kg")


def accelerations(table: VariableTable, chosen: Chosen) -> None:
    """Add linear and angular accelerations of bodies."""
    linear, angular = chosen.result._accelerations
    _derivative(table, chosen, ("acceleration", "angular_acceleration"), (linear, angular), ("m/s^2", "rad/s^2"))


def derivatives(table: VariableTable, chosen: Chosen) -> None:
    """Add jerk and snap of bodies, the first and second time derivatives of their accelerations."""
    for order, name, power in ((2, "jerk", 3), (3, "snap", 4)):
        found = chosen.result._acceleration_derivative(order)
        _derivative(table, chosen, (name, f"angular_{name}"), found, (f"m/s^{power}", f"rad/s^{power}"))


def _derivative(
    table: VariableTable,
    chosen: Chosen,
    names: tuple[str, str],
    rates: tuple[np.ndarray, np.ndarray],
    units: tuple[str, str],
) -> None:
    table.labels["body"] = [body.name for body in chosen.bodies]
    rows = body_rows(chosen)
    for name, values, unit, frame in zip(names, rates, units, (INERTIAL, BODY), strict=True):
        what = name.replace("_", " ") + (f" {OF_COM}" if frame == INERTIAL else ", derivative of body components")
        table.add(name, "time body axis", values[:, rows], what, unit, frame)


def joints(table: VariableTable, chosen: Chosen) -> None:
    """Add relative coordinates of joints, and positions of their frames."""
    views = [chosen.result[constraint.name] for constraint in chosen.constraints]
    name_joints(table, chosen)
    for name, attribute, long_name, units in (
        ("joint_displacement", "displacement", "origin of joint frame j from that of joint frame i", "m"),
        ("joint_velocity", "velocity", "rate of joint_displacement, as seen from joint frame i", "m/s"),
        ("joint_rotation", "rotation", "1-2-3 angles of joint frame j in joint frame i, all turns counted", "rad"),
        ("joint_rotation_rate", "rotation_rate", "rate of joint_rotation", "rad/s"),
        ("joint_angular_velocity", "angular_velocity", "angular velocity of body j relative to body i", "rad/s"),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            found = _stacked(chosen, [getattr(view, attribute) for view in views], 3)
        table.add(name, "time joint axis", found, long_name, units, JOINT_I)


def loads(table: VariableTable, chosen: Chosen) -> None:
    """Add constraint forces and torques of joints, and their points of application."""
    views = [chosen.result[constraint.name] for constraint in chosen.constraints]
    name_joints(table, chosen)
    frame, on = FRAMES[chosen.frame], "on body j by body i"
    shared = "; where the motion does not determine it, that of least norm"
    force = _stacked(chosen, [view.force(chosen.frame) for view in views], 3)
    table.add("joint_force", "time joint axis", force, f"force {on}, at joint_point_j{shared}", "N", frame)
    torque = _stacked(chosen, [view.torque(chosen.frame) for view in views], 3)
    table.add("joint_torque", "time joint axis", torque, f"torque {on}, about joint_point_j{shared}", "N m", frame)
    _add_efforts(table, [view for view in views if view.of.effort_unit is not None])
    for end, letter in enumerate("ij"):
        points = _stacked(chosen, [view.frames[end].origin for view in views], 3)
        what = f"origin of joint frame {letter}"
        table.add(f"joint_point_{letter}", "time joint axis", points, what, "m", INERTIAL)


def _add_efforts(table: VariableTable, drivers: list[JointView]) -> None:
    """Add the force or torque along the coordinate of each drive or other driving constraint."""
    if not drivers:
        return
    table.labels["driver"] = [view.of.name for view in drivers]
    units = tuple(str(view.of.effort_unit) for view in drivers)
    table.describe("driver_effort_unit", "driver", list(units), "unit of the effort")
    what = "force or torque of the driver along its coordinate: times the rate of this, the power that it puts in"
    said = units[0] if len(set(units)) == 1 else "follows from driver_effort_unit"
    table.add("driver_effort", "time driver", np.stack([view.effort for view in drivers], axis=1), what, said,
              units_of=units)  # fmt: skip


def activity(table: VariableTable, chosen: Chosen) -> None:
    """Add variables that state which constraints and forces are active, and the number of independent rows."""
    result = chosen.result
    name_joints(table, chosen)
    active = [result.active(constraint.name) for constraint in chosen.constraints]
    table.add(
        "joint_active", "time joint", _stacked(chosen, active), "whether the constraint is switched on, or pushes"
    )
    _name_forces(table, chosen)
    acting = [result.active(force.name) for force in chosen.forces]
    table.add("force_active", "time force", _stacked(chosen, acting), "whether the force acts")
    ranks = np.concatenate([np.full(len(s.time), s.rank) for s in result.segments])
    table.add("rank", "time", ranks, "number of independent constraint rows along the segment", "1")


def forces(table: VariableTable, chosen: Chosen) -> None:
    """Add loads, energies and coordinates of force elements."""
    views = [chosen.result[force.name] for force in chosen.forces]
    _name_forces(table, chosen)
    energies = _stacked(chosen, [view.energy for view in views])
    table.add("force_energy", "time force", energies, "energy stored in the force element", "J")
    if any(isinstance(view, FrictionView) for view in views):
        none = np.zeros(len(chosen.result.time), dtype=bool)
        found = [view.sticking if isinstance(view, FrictionView) else none for view in views]
        table.add("force_sticking", "time force", _stacked(chosen, found), "whether friction sticks")
    _add_ends(table, chosen)
    _add_coordinates(table, chosen)
    _add_internal(table, chosen)


def _add_ends(table: VariableTable, chosen: Chosen) -> None:
    """Add the loads of each force element on each of its bodies.

    The variables have a dimension `force_end`, with one label for each pair of an element and a body.
    """
    ends = [(force, end) for force in chosen.forces for end in range(len(force.acting_ends))]
    if not ends:
        return
    names = [_end_name(force, end) for force, end in ends]
    table.labels["force_end"] = [f"{force.name}.{name}" for (force, _), name in zip(ends, names, strict=True)]
    table.describe("force_end_force", "force_end", [force.name for force, _ in ends], "name of the force")
    table.describe("force_end_body", "force_end", [f.ends[k][0].name for f, k in ends], "body on which it acts there")
    applied = _stacked(chosen, [chosen.result[force.name].force(end=end) for force, end in ends], 3)
    table.add("force_end_applied_force", "time force_end axis", applied, "force on the body", "N", INERTIAL)
    applied = _stacked(chosen, [chosen.result[force.name].torque(end=end) for force, end in ends], 3)
    what = "torque on the body about the origin of the force's frame there"
    table.add("force_end_applied_torque", "time force_end axis", applied, what, "N m", INERTIAL)


def _end_name(force: ForceElement, end: int) -> str:
    """Return the label of a pair of a force element and one of its bodies.

    The label contains the name of the body, with a number if the element acts on it several times. `end` is the index
    of the body among the bodies of the element.
    """
    names = [body.name for body, _ in force.acting_ends]
    name = names[end]
    return name if names.count(name) == 1 else f"{name} {names[: end + 1].count(name)}"


def _add_coordinates(table: VariableTable, chosen: Chosen) -> None:
    places = [(force, c) for force in chosen.forces for c in force.coordinates]
    if not places:
        return
    table.labels["force_coordinate"] = [f"{force.name}.{c}" for force, c in places]
    table.describe("force_coordinate_force", "force_coordinate", [f.name for f, _ in places], "name of the force")
    table.describe("force_coordinate_name", "force_coordinate", [c for _, c in places], "name of the coordinate")
    units = [unit_of_coordinate(force, c) for force, c in places]
    table.describe("force_coordinate_unit", "force_coordinate", units, "unit of the coordinate")
    methods: tuple[tuple[str, Callable[..., Any], str, str], ...] = (
        ("value", lambda view, c: view.coordinate(c), "coordinate of the force element", "m"),
        ("rate", lambda view, c: view.rate(c), "rate of the coordinate", "m/s"),
        ("load", _load, "force or torque along the coordinate; none where the element acts otherwise, too", "N"),
    )
    for name, read, long_name, of_length in methods:
        found = _stacked(chosen, [read(chosen.result[force.name], c) for force, c in places])
        given = tuple(UNITS[unit].get(of_length, "") for unit in units)
        said = given[0] if len(set(given)) == 1 else "follows from force_coordinate_unit"
        table.add(f"force_coordinate_{name}", "time force_coordinate", found, long_name, said, units_of=given,
                  partial=name == "load")  # fmt: skip


def _load(view: ForceView, coordinate: str) -> np.ndarray:
    return view.load(coordinate) if view.loads_coordinates else np.full(len(view.rate(coordinate)), np.nan)


def _add_internal(table: VariableTable, chosen: Chosen) -> None:
    places = [(force, name) for force in chosen.forces for name in force.internal]
    if not places:
        return
    table.labels["internal"] = [f"{force.name}.{name}" for force, name in places]
    table.describe("internal_force", "internal", [force.name for force, _ in places], "name of the force")
    table.describe("internal_name", "internal", [name for _, name in places], "name of the internal variable")
    found = _stacked(chosen, [chosen.result[force.name].internal(name) for force, name in places])
    units = tuple(unit_of_internal(force, name) for force, name in places)
    table.describe("internal_unit", "internal", list(units), "unit of the internal variable")
    said = units[0] if len(set(units)) == 1 else "follows from internal_unit"
    table.add("internal_value", "time internal", found, "internal variable of the force element", said, units_of=units)


def body_rows(chosen: Chosen) -> Any:
    """Return the indices of the selected bodies in arrays of all bodies.

    If all bodies are selected, the result is a slice, which avoids a copy.
    """
    if chosen.bodies is chosen.result.system.bodies:
        return slice(None)
    return [chosen.result.system.bodies.index(body) for body in chosen.bodies]


def name_joints(table: VariableTable, chosen: Chosen) -> None:
    """Add the names of the selected joints, their types and their bodies."""
    table.labels["joint"] = [constraint.name for constraint in chosen.constraints]
    kinds = [type(constraint).__name__ for constraint in chosen.constraints]
    table.describe("joint_kind", "joint", kinds, "kind of the constraint")
    for letter, end in (("i", "body_i"), ("j", "body_j")):
        names = [getattr(constraint, end).name for constraint in chosen.constraints]
        table.describe(f"joint_body_{letter}", "joint", names, f"body {letter}")


def _name_forces(table: VariableTable, chosen: Chosen) -> None:
    table.labels["force"] = [force.name for force in chosen.forces]
    table.describe("force_kind", "force", [type(force).__name__ for force in chosen.forces], "kind of the force")


def _stacked(chosen: Chosen, arrays: list[np.ndarray], *shape: int) -> np.ndarray:
    """Return k arrays (nt, ...) as one array (nt, k, ...), with `nt` output times.

    `shape` is the shape of one entry, which is needed if there are no arrays.
    """
    return np.stack(arrays, axis=1) if arrays else np.zeros((len(chosen.result.time), 0, *shape))
