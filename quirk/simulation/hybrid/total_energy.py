"""Total energy of a system at an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quirk.bodies.state import Kinematics, State
from quirk.dynamics.model.applied_loads import exerted
from quirk.dynamics.model.energy import gravity_energy, kinetic_energy
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.system.system import System

from .event_actions import EventState


def total_energy(system: System, event: EventState) -> float:
    """Return the total energy (J) of a system in its state before or after an event, `event`."""
    model = system.plant_for(event.configuration).model
    state = model.auxiliary.state(event.y)
    total = float(kinetic_energy(model, state) + gravity_energy(model, state))
    stores = [(element, rows) for element, rows in model.forces if element.stores]
    return total + stored_energy(stores, event.t, state) if stores else total


def stored_energy(stores: Sequence[Any], t: float, state: State) -> float:
    """Return the sum of the energies (J) stored in force elements at time t (s) and a state.

    `stores` are pairs of a force element and the indices of its bodies.
    """
    kin = Kinematics.of(state)
    moving = PoseDerivatives.of(kin, 1)
    return sum(float(exerted(e, rows, moving, t, 0, kin.angles, kin.internal).energy) for e, rows in stores)
