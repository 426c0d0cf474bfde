"""Modes of small motions as `Result` objects, for plots and animations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.dynamics.model.directions import OMEGA, SHIFT, TURN, VELOCITY
from quirk.dynamics.model.joint_angles import Turns, angles_at
from quirk.integrators import Statistics
from quirk.util import validate

if TYPE_CHECKING:
    from quirk.result.result import Result
    from quirk.system.system import System

    from .modes import Modes

# Number of output times per period of a mode.
PICTURES = 48


def as_result(system: System, modes: Modes, number: int, amplitude: float, periods: int) -> Result:
    """Return a mode as a motion of the bodies about its state; see `Modes.result`.

    For a mode of a steady motion, the steady motion itself is omitted, so that the bodies oscillate about the state.
    """
    from quirk.result.result import Result
    from quirk.result.segment import Segment

    amplitude = validate.positive("Modes.result", "amplitude", amplitude)
    periods = validate.whole("Modes.result", "periods", periods)
    rate = abs(modes.eigenvalues[number].imag) or 2 * np.pi
    phases = 2 * np.pi * np.linspace(0.0, periods, PICTURES * periods + 1)
    model, start = system.model, modes.state
    flat = []
    for phase in phases:
        # Start at the equilibrium state, in the middle of the oscillation.
        moved = amplitude * (modes.shapes[number] * np.exp(1j * (phase - 0.5 * np.pi))).real
        turned = rotation.multiply(start.orientation, rotation.exp(moved[:, TURN]))
        parts = start.position + moved[:, SHIFT], turned, moved[:, VELOCITY], moved[:, OMEGA]
        flat.append(model.auxiliary.flat(State(*parts, internal=start.internal)))
    states = np.array(flat)
    orientation = model.auxiliary.state(states).orientation
    quadrants = np.array([model.joints.first_quadrants(q) for q in orientation])
    turns = Turns.since(model.joints, start.orientation, angles_at(model, start, modes.time), quadrants)
    segment = Segment(system.plant, phases / rate, states, turns, 0)
    return Result(system, [segment], Statistics(), "completed")
