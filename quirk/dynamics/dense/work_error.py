"""Ratio of error to tolerance of the integrated work, for runs with the dense solver.

The pivot of a row is its squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from quirk.bodies.state import State

from ..model.energy import kinetic_energy
from ..model.model import Model
from ..model.work_tolerance import of_energies, per_time


@dataclass(frozen=True)
class WorkingLoads:
    """Sums over all loads that do work at one state.

    Attributes
    ----------
    forces, moments, multipliers : sums of the magnitudes of forces, N, moments, N m, and multipliers of constraint rows
    power : sum of the magnitudes of the power of the constraint rows, W
    scaled, largest : sum of the magnitudes of the working loads of force elements, and the largest magnitude of all
        loads, in the mass metric, N / kg^(1/2)
    least : smallest ratio of the pivot of a row to its squared norm
    """

    forces: float = 0.0
    moments: float = 0.0
    multipliers: float = 0.0
    power: float = 0.0
    scaled: float = 0.0
    largest: float = 0.0
    least: float = 1.0

    def with_force(self, loads: np.ndarray, roots: np.ndarray, works: bool) -> WorkingLoads:
        """Return the sums increased by the loads of a force element; `works` is true if the element does work.

        `loads` (frames, 6) are the force and moment at each frame, and `roots` (frames, 2) the square roots of the
        inverse mass and inverse inertia of its body.
        """
        x, y, z = np.moveaxis(loads.reshape(-1, 2, 3), 2, 0)
        sizes = np.hypot(np.hypot(x, y), z)  # squares of small loads would underflow
        scaled = (sizes * roots).sum(axis=1)
        sums = replace(self, largest=max(self.largest, float(scaled.max(initial=0.0))))
        if not works:
            return sums
        forces, moments = (float(size) for size in sizes.sum(axis=0))
        return replace(sums, forces=sums.forces + forces, moments=sums.moments + moments,
                       scaled=sums.scaled + float(scaled.sum()))  # fmt: skip

    def with_rows(
        self, multipliers: np.ndarray, power: np.ndarray, lengths: np.ndarray, works: np.ndarray, least: float
    ) -> WorkingLoads:
        """Return the sums increased by the loads of all constraint rows.

        Parameters
        ----------
        multipliers : (m,) multipliers of all rows
        power : (m,) power of all rows, W
        lengths : (m,) norms of the rows in the mass metric
        works : (m,) whether the work of each row is integrated
        least : smallest ratio of the pivot of a row to its squared norm
        """
        sizes, scaled = np.abs(multipliers), np.abs(multipliers) * lengths
        return replace(
            self,
            multipliers=self.multipliers + float(sizes[works].sum()),
            power=self.power + float(np.abs(power)[works].sum()),
            largest=max(self.largest, float(scaled.max(initial=0.0))),
            least=least,
        )


class WorkError:
    """Ratio of error to tolerance of the work in each step of a run.

    The tolerance is described in `quirk.dynamics.model.work_tolerance`.
    """

    def __init__(self, model: Model, rtol: float, atol: float, y: np.ndarray) -> None:
        self._model, self._rtol, self._atol = model, rtol, atol
        self._start, self._exchanged = y, model.auxiliary.exchanged(y)

    def ratio(self, loads: WorkingLoads, error: np.ndarray, y: np.ndarray, y_new: np.ndarray, h: float) -> float:
        """Return the ratio of error to tolerance of the work in a step of length h (s) from y to y_new (13 n + k,).

        `error` (13 n + k,) is the error estimate of y_new; `loads` are the sums over the working loads at the end of
        the step. Steps must be passed in order of time. States have 13 components for each of n bodies, and k auxiliary
        states.
        """
        auxiliary = self._model.auxiliary
        wrong = float(np.abs(auxiliary.works(error)).sum())
        if wrong == 0.0:
            return 0.0
        if y is not self._start:
            self._exchanged += auxiliary.exchanged(y - self._start)
            self._start = y
        state: State = auxiliary.state(y_new)
        fastest, turning = (np.linalg.norm(v, axis=1).max() for v in (state.velocity, state.angular_velocity))
        power = loads.forces * fastest + loads.moments * turning + loads.power
        energies = 2 * float(kinetic_energy(self._model, state)) + self._exchanged + auxiliary.exchanged(y_new - y)
        magnitudes = loads.forces + loads.moments + loads.multipliers
        tolerance = of_energies(energies, self._rtol)
        shaken = h * loads.scaled * loads.largest
        tolerance += h * per_time(magnitudes, power, shaken, loads.least, self._rtol, self._atol)
        return wrong / tolerance if wrong < np.inf and tolerance > 0.0 else np.inf
