"""HTML representations of results, and of their views, event logs and constraint reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from quirk.util.rounding import rounded_off

from .drawings import curves
from .systems import in_words
from .tables import box, counted, facts, listed, note, table

if TYPE_CHECKING:
    from quirk.result.body_views import BodyView
    from quirk.result.constraint_health import Health
    from quirk.result.event_log import EventLog
    from quirk.result.force_views import ForceView
    from quirk.result.joint_views import JointView
    from quirk.result.result import Result

# Maximum number of body states (bodies times output times) of a result whose energies and loads are computed for
# display.
MOST_STATES = 20_000

# Text shown for quantities that are not computed.
LEFT_OUT = "not computed for a result of this size; use "


def of_result(result: Result) -> str:
    """Return HTML with a summary of a result: statistics, energy drift, constraint residuals and energies over time."""
    cost, options = result.statistics, result.options
    entries: dict[str, object] = {
        "system": in_words(result.system),
        "times": f"{len(result.time)} from {result.time[0]:g} to {result.time[-1]:g} s",
        "method": ", ".join(dict.fromkeys(str(each.get("method", "kinematics")) for each in options)) or "unknown",
        "steps": f"{cost.steps}, {cost.rejected} rejected, {cost.evaluations} evaluations, in {cost.wall_time:.2g} s",
        "independent rows": f"{result.rank} of {result._model.rows}, at the end",
    }
    if len(result.segments) > 1:
        entries["segments"] = len(result.segments)
    if result.events:
        entries["events"] = _events(result)
    if not small(result):
        return box(_title(result), facts(entries), note(f"energies: {LEFT_OUT}result.energy or result.summary()"))
    energy, residual = result.energy, result.residual
    entries["energy"] = (
        f"drift {energy.drift:.1e} of the largest kinetic energy, {energy.kinetic.max():.6g} J"
        if result.conservative
        else f"{energy.total[0]:.6g} J at the start, {energy.total[-1]:.6g} J at the end"
    )
    entries["largest residual"] = (
        f"{residual.position.max():.1e} at position level, {residual.velocity.max():.1e} at velocity level"
    )
    energies = {"total": energy.total, "kinetic": energy.kinetic, "potential": energy.potential}
    # The zero of the potential energy is arbitrary, so that its initial value may be much larger than its changes.
    changes = {name: values - values[0] for name, values in energies.items()}
    return box(_title(result), facts(entries), curves("energies less those at the start", result.time, changes, "J"))


def _title(result: Result) -> str:
    return f"{type(result).__name__}: {result.status}, {result.time[-1]:g} s"


def _events(result: Result) -> str:
    counts = Counter(result.events.name)
    return f"{counts.total()}: {listed([f'{name} ({count})' for name, count in counts.items()])}"


def small(result: Result) -> bool:
    """Whether a result is so small that its energies and loads can be computed at all times for display."""
    return len(result.time) * len(result.system.bodies) <= MOST_STATES


def of_body(view: BodyView) -> str:
    """Return HTML with initial, final and extreme values of a body's motion."""
    quantities = {
        "position": (view.position, "m"),
        "velocity": (view.velocity, "m/s"),
        "orientation (w, x, y, z)": (view.orientation, ""),
        "angular velocity, body axes": (view.angular_velocity, "rad/s"),
    }
    more = "also .acceleration, .jerk, .snap, .angular_acceleration, .euler_angles(sequence), .path(point)"
    return box(f"{view.of} in a result", over_time(quantities), note(more))


def of_joint(view: JointView, result: Result) -> str:
    """Return HTML with the relative motion of a joint's frames and, for small results, the joint load."""
    quantities = {
        "displacement, frame i": (view.displacement, "m"),
        "rotation": (view.rotation, "rad"),
        "velocity, frame i": (view.velocity, "m/s"),
        "angular velocity, frame i": (view.angular_velocity, "rad/s"),
    }
    if view.of.effort_unit is not None and small(result):
        quantities["effort"] = view.effort, view.of.effort_unit
    ends = f"{view.of.body_i.name} to {view.of.body_j.name}"
    if not small(result):
        loads = note(f"loads: {LEFT_OUT}.force() and .torque()")
    else:
        quantities |= {"force on body j": (view.force(), "N"), "torque on body j": (view.torque(), "N m")}
        loads = ""
    return box(f"{view.of}, {ends}, in a result", over_time(quantities), loads)


def of_force(view: ForceView, result: Result) -> str:
    """Return HTML with the loads of a force element on its bodies, for small results."""
    element = view.of
    if not small(result):
        return box(f"{element} in a result", note(f"loads: {LEFT_OUT}.force() and .torque()"))
    quantities: dict[str, tuple[np.ndarray, str]] = {}
    if len(element.acting_ends) <= 2:
        for k, (body, _) in enumerate(element.acting_ends):
            quantities[f"force on {body.name}"] = view.force(end=k), "N"
            quantities[f"torque on {body.name}"] = view.torque(end=k), "N m"
    for name in element.coordinates:
        quantities[name] = view.coordinate(name), ""
    for name in element.internal:
        quantities[name] = view.internal(name), ""
    if element.stores:
        quantities["energy"] = view.energy, "J"
    return box(f"{element} in a result", over_time(quantities))


def over_time(quantities: Mapping[str, tuple[np.ndarray, str]]) -> str:
    """Return an HTML table with the initial, final and extreme values of quantities.

    `quantities` contains pairs of an array (nt,) or (nt, k) over time and its unit, by name.
    """

    def row(name: str, values: np.ndarray, unit: str) -> tuple[object, ...]:
        largest = float((np.abs(values) if values.ndim == 1 else np.linalg.norm(values, axis=1)).max())
        first, last = (rounded_off(x, largest) for x in (values[0], values[-1]))
        return name, first, last, largest, unit

    rows = (row(name, values, unit) for name, (values, unit) in quantities.items())
    return table(["quantity", "at the start", "at the end", "largest", "unit"], rows, len(quantities), "the view")


def of_happenings(events: EventLog) -> str:
    """Return an HTML table of the first events of a run, in chronological order."""
    rows = ((row.time, row.name, "rising" if row.direction > 0 else "falling", row.energy_loss) for row in events)
    head = ["time (s)", "event", "direction", "energy lost (J)"]
    return box(counted(len(events), "event", "events"), table(head, rows, len(events), "this list"))


def of_health(health: Health) -> str:
    """Return HTML with the extreme values of a report on the constraints."""
    if not len(health.time):
        return box("Health")
    low = int(np.argmin(health.smallest_singular_value))
    near = [f"{label} ({distance:.1e})" for label, distance in health.nearly_dependent.items()]
    entries: dict[str, object] = {
        "rank": f"{health.rank.min()} to {health.rank.max()}",
        "smallest singular value": f"{health.smallest_singular_value[low]:.3g} at t = {health.time[low]:g} s",
        "nearly redundant rows (distance from others)": listed(near),
        "largest residual": f"{health.position.max():.1e} at position level, {health.velocity.max():.1e} at "
        "velocity level",
        "| |q| − 1 |": f"{health.norm.max():.1e}",
        "power of constraints": f"{health.power.min():.6g} to {health.power.max():.6g} W",
        "power balance": f"{np.abs(health.power_balance).max():.1e} W",
    }
    return box(f"Health of the constraints at {len(health.time)} times", facts(entries))
