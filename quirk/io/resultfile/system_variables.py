"""Variables of the whole system over time, and of its events.

Each function adds variables to a table; `chosen` is the user's selection.
"""

from __future__ import annotations

import numpy as np

from .selection import Chosen
from .variable import INERTIAL, VariableTable, text


def energy(table: VariableTable, chosen: Chosen) -> None:
    """Add kinetic, potential and total energy."""
    found = chosen.result.energy
    table.add("kinetic_energy", "time", found.kinetic, "kinetic energy", "J")
    what = "potential energy of gravity, zero at the inertial origin"
    table.add("gravity_energy", "time", found.potential_of["gravity"], what, "J")
    table.add("potential_energy", "time", found.potential, "potential energy of gravity and force elements", "J")
    table.add("total_energy", "time", found.total, "kinetic and potential energy", "J")


def power(table: VariableTable, chosen: Chosen) -> None:
    """Add the power and work of gravity and of each constraint and force that does work on the bodies."""
    found = chosen.result.power
    names = list(found.work)
    table.labels["source"] = names
    none = np.zeros_like(chosen.result.time)
    powers = np.stack([found.of.get(name, none) for name in names], axis=1)
    table.add("power", "time source", powers, "power on the bodies", "W")
    table.add("work", "time source", np.stack(list(found.work.values()), axis=1), "work since the start", "J")
    table.add("power_balance", "time", found.balance, "change of the kinetic energy less all work: errors", "J")


def momentum(table: VariableTable, chosen: Chosen) -> None:
    """Add the total linear and angular momentum of all bodies, and their center of mass."""
    found, center = chosen.result.momentum, chosen.result.center_of_mass()
    table.add("center_of_mass", "time axis", center.position, "center of mass of all bodies", "m", INERTIAL)
    table.add("linear_momentum", "time axis", found.linear, "linear momentum of all bodies", "kg m/s", INERTIAL)
    what = "angular momentum of all bodies about the inertial origin"
    table.add("angular_momentum", "time axis", found.angular, what, "kg m^2/s", INERTIAL)


def residuals(table: VariableTable, chosen: Chosen) -> None:
    """Add the largest residuals of the constraints."""
    found = chosen.result.residual
    what = "largest residual of any constraint row"
    table.add("position_residual", "time", found.position, what, "m, m^2 or rad")
    table.add("velocity_residual", "time", found.velocity, f"{what}, its rate", "m/s, m^2/s or rad/s")


def events(table: VariableTable, chosen: Chosen) -> None:
    """Add the events of the run and their impulses."""
    rows = list(chosen.result.events)
    table.add("event_name", "event", text([row.name for row in rows]), "name of the event or contact")
    table.add("event_time", "event", np.array([row.time for row in rows], dtype=float), "time of the event", "s")
    ways = np.array([row.direction for row in rows], dtype=np.int8)
    table.add("event_direction", "event", ways, "1 where the quantity rises, -1 where it falls", "1")
    for side in ("before", "after"):
        energies = np.array([getattr(row, f"energy_{side}") for row in rows], dtype=float)
        table.add(f"event_energy_{side}", "event", energies, f"total energy {side} the event", "J")
    kept = np.array([row.restitution_kept for row in rows], dtype=float)
    what = "part of the restitution of its contacts that an impact kept, so as to gain no energy"
    table.add("event_restitution_kept", "event", kept, what, "1")
    struck = [(k, name, given) for k, row in enumerate(rows) for name, given in row.impulse.items()]
    numbers = np.array([k for k, _, _ in struck], dtype=np.int64)
    table.add("impulse_event", "impulse", numbers, "number of the event in which the impulse was exerted, from 0", "1")
    table.add(
        "impulse_joint", "impulse", text([name for _, name, _ in struck]), "constraint or friction that exerted it"
    )
    for part, units, what in (
        ("force", "N s", "impulse on body j by body i"),
        ("torque", "N m s", "angular impulse on body j by body i about the joint point of body j"),
    ):
        values = np.array([getattr(given, part) for _, _, given in struck], dtype=float).reshape(-1, 3)
        table.add(f"impulse_{part}", "impulse axis", values, what, units, INERTIAL)
