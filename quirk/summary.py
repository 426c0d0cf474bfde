"""A run in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .forces import Controller
from .forces.joint_actuation import Actuated
from .mobility import nearly_dependent, said_nearly

if TYPE_CHECKING:
    from .result import Result


# Which loads are unique takes a dense analysis: it is not made for larger systems unless asked for.
MOST_ROWS = 500

# Loads below this part of the largest stand for none.
IDLE = 1e-9


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _books(result: Result) -> list[str]:
    """A line that says whether power and energy balance, where energy is put in or taken out."""
    if result.conservative or len(result.time) < 2:
        return []
    power = result.power
    left, largest = np.abs(power.balance).max(), max(np.abs(work).max() for work in power.work.values())
    splines = f", summed up between outputs to {power.uncertainty:.1e} J" if power.uncertainty > 0 else ""
    return [f"power balance          {left:.1e} J left of work up to {largest:.6g} J{splines}"]


def summary(result: Result) -> str:
    """Return what was simulated, how well energy and constraints were kept, and the largest joint loads."""
    system, energy = result.system, result.energy
    lines = [
        f"{_count(len(system.bodies), 'body', 'bodies')}, "
        f"{_count(len(result.model.joint_rows), 'constraint', 'constraints')} "
        f"({result.model.rows} rows, {result.rank} independent); "
        f"degrees of freedom: {6 * len(system.bodies) - result.rank}",
        result.course,
        f"energy drift           {energy.drift:.1e} of the largest kinetic energy, {energy.kinetic.max():.6g} J"
        if result.conservative
        else f"energy                 {energy.total[0]:.6g} J at the start, {energy.total[-1]:.6g} J at the end",
        *_books(result),
        f"constraint residual    {result.residual.position.max():.1e} at position level, "
        f"{result.residual.velocity.max():.1e} at velocity level",
    ]
    loaded = result.loaded
    if loaded:
        largest = {
            c.name: [np.linalg.norm(load, axis=1).max() for load in (result[c.name].force(), result[c.name].torque())]
            for c in loaded
        }
        # What keeps bodies in their plane is worth a line where it has to.
        companions = {part.name for body in system.bodies for part in body.companions}
        least = IDLE * max(max(loads) for loads in largest.values())
        shown = {name: loads for name, loads in largest.items() if name not in companions or max(loads) > least}
        header = f"largest joint load at {len(result.time)} times"
        width = max([len(header), *(len(name) for name in shown)])
        lines.append(f"{header:<{width}}      force (N)   torque (N m)")
        lines += [f"{name:<{width}}   {force:12.5g}   {torque:12.5g}" for name, (force, torque) in shown.items()]
        if result.rank < result.model.rows <= MOST_ROWS and result.mobility.shared:
            lines.append(f"not unique, shared by least squares: {', '.join(result.mobility.shared)}")
    called = result.statistics.in_python
    if called:
        listed = (f"{who}: {calls} calls, {spent:.2g} s" for who, (calls, spent) in called.items())
        lines.append(f"functions that ran in Python, not as machine code: {'; '.join(listed)}")
    near = nearly_dependent(result.model, result.verdict)
    if near:
        lines.append(said_nearly(near))
    if any(isinstance(force, Actuated | Controller) for force in system.forces) and result.model.rows <= MOST_ROWS:
        held = result.mobility.held_motors
        lines += [f"motors that move nothing, constraints hold their coordinates: {', '.join(held)}"] if held else []
    return "\n".join(lines)
