"""Characteristic magnitudes of the quantities of a run, which define round-off thresholds."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from quirk.result.result import Result

# Quantities below this fraction of their characteristic magnitude are zero up to round-off: constraints are satisfied
# with this accuracy.
PART = 1e-10


class Magnitudes:
    """Characteristic lengths, speeds, forces and energies of a run."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def round_off(self, unit: str) -> float:
        """Return the threshold below which quantities with the given unit count as zero; 0 for unknown units."""
        known = {
            "": lambda: 1.0,
            "rad": lambda: 1.0,
            "deg": lambda: np.degrees(1.0),
            "rad/s": lambda: self.spin,
            "deg/s": lambda: np.degrees(self.spin),
            "m": lambda: self.length,
            "m/s": lambda: self.speed,
            "m/s$^2$": lambda: self.acceleration,
            "N": lambda: self.force,
            "N m": lambda: self.force * self.length,
            "J": lambda: self.energy,
            "W": lambda: self.force * self.speed,
            "kg m/s": lambda: self.mass * self.speed,
            "kg m$^2$/s": lambda: self.mass * self.speed * self.length,
        }
        return PART * float(known[unit]()) if unit in known else 0.0

    @property
    def mass(self) -> float:
        """Total mass of all bodies, kg."""
        return float(self._result._model.mass.sum())

    @cached_property
    def length(self) -> float:
        """Characteristic length, m: the larger of the size of the system and the extent of its motion."""
        position = self._result.state.position
        return max(self._result._model.length, float(np.ptp(position, axis=0).max(initial=0.0)))

    @cached_property
    def speed(self) -> float:
        """Largest speed of any point, m/s."""
        linear = float(np.linalg.norm(self._result.state.velocity, axis=2).max(initial=0.0))
        return max(linear, self._turning * self._result._model.length)

    @cached_property
    def spin(self) -> float:
        """Largest angular speed, rad/s."""
        return max(self._turning, self.speed / self.length)

    @cached_property
    def force(self) -> float:
        """Largest force, N.

        The maximum is taken over joint forces, joint torques divided by the characteristic length, weights and
        centripetal forces.
        """
        loads = self._result._joint_loads
        sizes = [np.linalg.norm(load, axis=2).max(axis=0, initial=0.0) for load in loads.values()]
        held = [max(float(force), float(torque) / self.length) for force, torque in sizes]
        return max([self.mass * self.acceleration, *held])

    @cached_property
    def acceleration(self) -> float:
        """The larger of the gravitational and the largest centripetal acceleration, m/s^2."""
        return max(float(np.linalg.norm(self._result.system.gravity)), self.speed**2 / self.length)

    @cached_property
    def energy(self) -> float:
        """The larger of the largest kinetic energy and the range of the potential energy, J."""
        energy = self._result.energy
        return max(float(energy.kinetic.max(initial=0.0)), float(np.ptp(energy.potential)))

    @cached_property
    def _turning(self) -> float:
        return float(np.linalg.norm(self._result.state.angular_velocity, axis=2).max(initial=0.0))
