"""Energy, momentum and constraint residuals of a system over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..util.misuse import explained


@explained
@dataclass(frozen=True)
class Energy:
    """Energies over nt times, J; gravity has zero energy at the inertial origin.

    Attributes
    ----------
    kinetic, potential : (nt,) energies of the whole system
    potential_of : potential energy (nt,) of each force element and of "gravity", by name
    """

    kinetic: np.ndarray
    potential: np.ndarray
    potential_of: dict[str, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """Kinetic plus potential energy (nt,), J."""
        return self.kinetic + self.potential

    @property
    def drift(self) -> float:
        """Largest deviation of the total energy from its initial value, relative to the largest kinetic energy."""
        # The kinetic energy of a system at rest is round-off.
        largest = max(float(self.kinetic.max()), 1e-15 * float(np.abs(self.potential).max()))
        return float(np.abs(self.total - self.total[0]).max()) / largest if largest > 0 else 0.0

    def __repr__(self) -> str:
        return f"<Energy: {self.total[0]:.6g} J at the start, {self.total[-1]:.6g} J at the end>"


@explained
@dataclass(frozen=True)
class Momentum:
    """Momenta over nt times in the inertial frame.

    Attributes
    ----------
    linear : (nt, 3) kg m/s
    angular : (nt, 3) kg m^2/s, about the inertial origin unless another reference point was selected
    """

    linear: np.ndarray
    angular: np.ndarray

    def __repr__(self) -> str:
        return f"<Momentum: linear and angular, at {len(self.linear)} times>"


@explained
@dataclass(frozen=True)
class Residual:
    """Residuals of the constraints over nt times.

    Rows have different units: residuals Phi are, for example, lengths (m), squares of lengths (m^2) or sines of angles.

    Attributes
    ----------
    position : (nt,) largest ``|Phi|`` over all rows
    velocity : (nt,) largest ``|Phi_dot|`` over all rows
    """

    position: np.ndarray
    velocity: np.ndarray

    def __repr__(self) -> str:
        return f"<Residual: up to {self.position.max():.1e} in position, {self.velocity.max():.1e} in velocity>"
