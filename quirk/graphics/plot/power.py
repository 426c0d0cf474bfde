"""Plots of power and of the energy balance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from quirk.forces import AttitudeControl, Force, ReactionWheel, Thruster, Torque
from quirk.forces.joint_actuation import Actuated
from quirk.forces.tree_control import TreeControl
from quirk.result.power import IMPACTS

from .figures import literal_text
from .line_styles import OF_SUMS
from .sheet import Sheet

if TYPE_CHECKING:
    from quirk.result.result import Result

# Maximum number of curves with different colors.
MOST = 10
# Force elements that may supply energy to the motion: motors, controllers and prescribed loads.
SUPPLIES = (Actuated, TreeControl, AttitudeControl, Force, Torque, ReactionWheel, Thruster)
# Power below this fraction of the largest power is round-off of ideal constraints.
IDLE = 1e-9


def draw_power(sheet: Sheet, result: Result) -> None:
    """Draw the power of each force and of each constraint that does work, their sum, and the dissipated energy."""
    powers, work = sheet.axes(2, 1, sharex=True, height_ratios=(2, 1))
    for name, power in largest(result.power).items():
        powers.plot(result.time, power, label=literal_text(name))
    powers.plot(result.time, result.power.total, label="total", **OF_SUMS)
    sheet.finish(powers, "power on the bodies", "Power", "W", "")
    work.plot(result.time, result.power.dissipated)
    sheet.finish(work, "energy dissipated by forces minus work of motors", "Energy", "J")


def draw_balance(sheet: Sheet, result: Result) -> None:
    """Draw the changes of all energies since the start, and the error of the energy balance."""
    energies, rest = sheet.axes(2, 1, sharex=True, height_ratios=(2, 1))
    energy, power = result.energy, result.power
    work = power.work
    constraints = [work[name] for name in result._constraint_power]
    put_in = np.sum([np.zeros_like(result.time), *constraints], axis=0)
    supplies = [name for name, element in result._elements.items() if isinstance(element, SUPPLIES)]
    supplied = power._released(supplies)
    for label, values in (
        ("kinetic", energy.kinetic - energy.kinetic[0]),
        ("potential", energy.potential - energy.potential[0]),
        ("dissipated by forces", power.dissipated + supplied),
        *([("work of motors and prescribed loads", supplied)] if supplies else []),
        ("work of constraints", put_in),
        *([("work of impacts", work[IMPACTS])] if IMPACTS in work and work[IMPACTS].any() else []),
    ):
        energies.plot(result.time, values, label=label)
    sheet.finish(energies, "energy since the start", "Energy", "J", "")
    missing = np.abs(power.balance)
    rest.semilogy(result.time, np.where(missing > 0, missing, np.nan), ".", markersize=3, label="missing")
    # Work that the run integrates with the motion has no uncertainty.
    if power.uncertainty > 0:
        rest.axhline(power.uncertainty, label="uncertainty of the work", **OF_SUMS)
    sheet.finish(rest, "balance", "Energy", "J")


def largest(curves: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the curves (nt,) with the largest values by name, and the sum of the others.

    Curves that are identically zero are omitted.
    """
    reach = {name: float(np.abs(curve).max()) for name, curve in curves.items()}
    least = IDLE * max(reach.values(), default=0.0)
    busy = [name for name in sorted(curves, key=reach.__getitem__, reverse=True) if reach[name] > least]
    kept = busy if len(busy) <= MOST else busy[: MOST - 1]
    others = busy[len(kept) :]
    drawn = {name: curve for name, curve in curves.items() if name in kept}
    if others:
        drawn[f"{len(others)} others"] = np.sum([curves[name] for name in others], axis=0)
    return drawn
