"""The books of a run: the power of all that does work, by name, and whether it balances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .dynamics.energy import kinetic_energy

if TYPE_CHECKING:
    from .result import Result

GRAVITY = "gravity"
# Of splines through powers: an odd one, at which times of output every hundredth of a second leave round-off.
DEGREE = 7


class Power(Mapping[str, np.ndarray]):
    """Power (nt,), W, of each force and constraint by name, and of "gravity": what it does on the bodies.

    Constraints whose points do not move on their own, and ideal joints between bodies, have none; drivers have that
    which they put in. The kinetic energy grows at the rate `total`.

    Attributes
    ----------
    of : the same as a dict
    """

    def __init__(
        self, of: dict[str, np.ndarray], time: np.ndarray, kinetic: np.ndarray, stored: dict[str, np.ndarray]
    ) -> None:
        self.of, self._time, self._kinetic, self._stored = of, time, kinetic, stored

    def __getitem__(self, name: str) -> np.ndarray:
        return self.of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)

    @property
    def total(self) -> np.ndarray:
        """The sum of all (nt,), W: the rate of the kinetic energy."""
        return np.sum(list(self.of.values()), axis=0)

    @cached_property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,), J, of each since the first time, by a spline of degree 7 through its power at the times.

        So it is as good as the times are close; `uncertainty` says how good.
        """
        return dict(zip(self.of, self._integrals(DEGREE).T, strict=True))

    @cached_property
    def uncertainty(self) -> float:
        """By how much the sum of all work differs, J, if splines of degree 5 are taken instead."""
        differences = (self._integrals(DEGREE) - self._integrals(DEGREE - 2)).sum(axis=1)
        return float(np.abs(differences).max(initial=0.0))

    def _integrals(self, degree: int) -> np.ndarray:
        """Integrals (nt, k) of all powers over time."""
        from scipy.interpolate import make_interp_spline  # takes 0.2 s to import

        degree = min(degree, len(self._time) - 1)
        powers = np.stack(list(self.of.values()), axis=1)
        if degree < 1:
            return np.zeros_like(powers)
        work = make_interp_spline(self._time, powers, k=degree).antiderivative()(self._time)
        return np.asarray(work - work[0])

    @property
    def dissipated(self) -> np.ndarray:
        """Work (nt,), J, that force elements have taken out of the motion, less what they have stored of it."""
        work = self.work
        kept = [stored - stored[0] + work[name] for name, stored in self._stored.items()]
        return -np.sum([np.zeros_like(self._time), *kept], axis=0)

    @property
    def balance(self) -> np.ndarray:
        """Change of the kinetic energy less all work (nt,), J: zero but for errors of integration and of `work`."""
        return self._kinetic - self._kinetic[0] - np.sum(list(self.work.values()), axis=0)


def power_of(result: Result) -> Power:
    """Return the power of everything in a run."""
    model, state, motion = result.model, result.state, result.dynamics
    nt, n = len(result.time), len(model.mass)
    spin = np.zeros((nt, n + 1, 6))  # velocity and angular velocity in N; the ground comes last
    spin[:, :n, :3] = state.velocity
    rotation = np.array([kin.rotation[:-1] for kin in result.kinematics]).reshape(nt, n, 3, 3)
    spin[:, :n, 3:] = np.einsum("tnij,tnj->tni", rotation, state.angular_velocity)
    of = {GRAVITY: np.einsum("n,i,tni->t", model.mass, model.gravity, state.velocity)}
    for element, rows in model.forces:
        of[element.name] = np.einsum("tfc,tfc->t", motion.forces[element.name].loads[:, :, 0], spin[:, list(rows)])
    by_row = result.row_power
    for constraint, _ in model.joint_bodies:
        of[constraint.name] = by_row[:, model.joint_rows[constraint.name]].sum(axis=1)
    stored = {element.name: motion.forces[element.name].energy for element, _ in model.forces}
    return Power(of, result.time, kinetic_energy(model, state), stored)
