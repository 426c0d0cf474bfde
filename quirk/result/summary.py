"""Text summary of a run: `Result.summary`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.mobility import nearly_dependent, nearly_dependent_text
from ..forces import Controller
from ..forces.joint_actuation import Actuated
from ..forces.stick_slip import sticking_elements
from ..util.rounding import loads_rounded_off
from .singular_passages import singular_passages

if TYPE_CHECKING:
    from .result import Result


# Maximum number of rows for which the uniqueness of loads, a dense analysis, is computed without request.
MOST_ROWS = 500

# Maximum number of joints with a separate line, and of names in one line.
MOST_LOADS, MOST_NAMED = 16, 8

# Loads below this fraction of the largest are not listed.
IDLE = 1e-9


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _listed(names: Sequence[str]) -> str:
    """Return names in one line, shortened if there are many."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _remarks(remarks: Sequence[str]) -> str:
    """Return remarks in one line, shortened if there are many."""
    more = [f"and {len(remarks) - MOST_NAMED} more"] if len(remarks) > MOST_NAMED else []
    return "; ".join([*remarks[:MOST_NAMED], *more])


def _segments(result: Result) -> list[str]:
    """Return a line, in a list, with the number of constraint rows in each segment of a run.

    The list is empty for a single segment.
    """
    if len(result.segments) < 2:
        return []
    rows = [segment.model.rows for segment in result.segments]
    redundant = [count - segment.rank for count, segment in zip(rows, result.segments, strict=True)]
    worst = int(np.argmax(redundant))
    begun = result.segments[worst].time[0]
    said = f"up to {redundant[worst]} redundant, from {begun:.6g} s on" if redundant[worst] else "none redundant"
    count = f"{min(rows)}" if min(rows) == max(rows) else f"{min(rows)} to {max(rows)}"
    return [f"segments               {len(rows)}, with {count} rows, {said}"]


def _passages(result: Result) -> list[str]:
    """Return a line, in a list, that names the singular configurations of the run, at which branches of motion meet."""
    passed = singular_passages(result.segments)
    return (
        [f"singular configurations passed, where branches of motion meet: {_remarks([*map(str, passed)])}"]
        if passed
        else []
    )


def _events(result: Result) -> list[str]:
    """Return a line for each event, with the number of its occurrences and the first and last time."""
    names = result.events.name
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    kept = sorted(counts, key=lambda name: -counts[name])[:MOST_NAMED]
    lines = []
    for name in (name for name in counts if name in kept):
        times = result.events.of(name).time
        when = f"at {times[0]:.6g} s" if len(times) == 1 else f"from {times[0]:.6g} to {times[-1]:.6g} s"
        lines.append(f"{name}: {_count(len(times), 'event', 'events')}, {when}")
    left = [count for name, count in counts.items() if name not in kept]
    if left:
        lines.append(f"and {sum(left)} events of {len(left)} other names")
    return lines


def _frictions(result: Result) -> list[str]:
    """Return a line that lists which friction elements stick and which slide at the end."""
    found: dict[str, list[str]] = {}
    for force in sticking_elements(result.system.forces):
        view = result[force.name]
        idle = not view.force()[-1].any() and not view.torque()[-1].any()
        state = "has no load" if idle else "sticks" if view.sticking[-1] else "slides"
        found.setdefault(state, []).append(force.name)
    said = [f"{state}: {_listed(names)}" for state, names in sorted(found.items())]
    return [f"friction at the end    {'; '.join(said)}"] if said else []


def _loads(result: Result) -> list[str]:
    """Return lines with the largest force and torque of each joint.

    If there are many joints, only those with the largest loads are listed.
    """
    loads = result._joint_loads
    none = np.zeros((1, 2, 3))
    largest = {c.name: np.linalg.norm(loads.get(c.name, none), axis=2).max(axis=0) for c in result._loaded}
    # The constraints of planar bodies to their plane, and those of rotors, are listed only if they carry a load.
    companions = {part.name for part in result.system.companions}
    loads_shown = loads_rounded_off(np.stack(list(largest.values()))[:, :, None], result._model.length)[:, :, 0]
    largest = dict(zip(largest, loads_shown, strict=True))
    least = IDLE * max(max(pair) for pair in largest.values())
    shown = {name: pair for name, pair in largest.items() if name not in companions or max(pair) > least}
    kept = _largest(shown) if len(shown) > MOST_LOADS else list(shown)
    header = f"largest joint load at {len(result.time)} times"
    width = max([len(header), *(len(name) for name in kept)])
    lines = [f"{header:<{width}}      force (N)   torque (N m)"]
    lines += [f"{name:<{width}}   {shown[name][0]:12.5g}   {shown[name][1]:12.5g}" for name in kept]
    if len(kept) < len(shown):
        lines.append(f"and {len(shown) - len(kept)} more, with smaller forces and torques")
    return lines


def _largest(loads: dict[str, np.ndarray]) -> list[str]:
    """Return the names of the joints with the largest torques and forces, at most `MOST_LOADS`.

    `loads` are the largest force (N) and torque (N m) of each joint by name.
    """
    by_force, by_torque = (sorted(loads, key=lambda name: -loads[name][which]) for which in (0, 1))
    least = IDLE * max(max(pair) for pair in loads.values())
    kept = [name for name in by_torque if loads[name][1] > least][: MOST_LOADS // 2]
    kept += [name for name in by_force if name not in kept][: MOST_LOADS - len(kept)]
    return [name for name in loads if name in kept]


def _energy_balance(result: Result) -> list[str]:
    """Return the summary's lines about the energy balance: one, or none if no energy is supplied or dissipated."""
    if result.conservative or len(result.time) < 2:
        return []
    power = result.power
    works = power.work_since_first_output.values()
    left, largest = np.abs(power.balance).max(), max(np.abs(work).max() for work in works)
    splines = f", summed up between outputs to {power.uncertainty:.1e} J" if power.uncertainty > 0 else ""
    return [f"power balance          {left:.1e} J left of work up to {largest:.6g} J{splines}"]


def summary(result: Result) -> str:
    """Return a text summary of the system, the accuracy of energy and constraints, events, and the largest joint loads.

    It has at most about forty lines, for any number of bodies and events.
    """
    system, energy = result.system, result.energy
    lines = [
        f"{_count(len(system.bodies), 'body', 'bodies')}, "
        f"{_count(len(result._model.joint_rows), 'constraint', 'constraints')} "
        f"({result._model.rows} rows, {result.rank} independent); "
        f"degrees of freedom: {6 * len(system.bodies) - result.rank}",
        result._course,
        f"energy drift           {energy.drift:.1e} of the largest kinetic energy, {energy.kinetic.max():.6g} J"
        if result.conservative
        else f"energy                 {energy.total[0]:.6g} J at the start, {energy.total[-1]:.6g} J at the end",
        *_energy_balance(result),
        f"constraint residual    {result.residual.position.max():.1e} at position level, "
        f"{result.residual.velocity.max():.1e} at velocity level",
    ]
    lines += [*_segments(result), *_frictions(result), *_events(result)]
    if result._loaded:
        lines += _loads(result)
        if result.rank < result._model.rows <= MOST_ROWS and result.mobility.shared:
            lines.append(f"not unique, shared by least squares: {_listed(result.mobility.shared)}")
    if result.statistics.methods:
        changes = [f"{name} at t = {t:.6g} s" for t, name in result.statistics.methods]
        lines.append(f"methods that took over: {_remarks(changes)}")
    called = result.statistics.in_python
    if called:
        listed = [f"{who}: {calls} calls, {spent:.2g} s" for who, (calls, spent) in called.items()]
        lines.append(f"functions that ran in Python, not as machine code: {_remarks(listed)}")
    lines += _passages(result)
    near = nearly_dependent(result._model, result._row_independence)
    if near:
        lines.append(nearly_dependent_text(near))
    if any(isinstance(force, Actuated | Controller) for force in system.forces) and result._model.rows <= MOST_ROWS:
        held = result.mobility.held_motors
        lines += [f"motors that move nothing, constraints hold their coordinates: {_listed(held)}"] if held else []
    return "\n".join(lines)
