"""Storage of states at output times."""

from __future__ import annotations

import numpy as np

from .step import IntegrationError, InterpolatedStep, Projection


class Recorder:
    """Storage of the states of a run at given output times, or at the end of every step.

    Parameters
    ----------
    times : (nt,) increasing output times, or None for the ends of all steps
    manifold : projection of interpolated states onto the constraints; states at the ends of steps are not projected
    """

    def __init__(self, times: np.ndarray | None, manifold: Projection | None) -> None:
        self.manifold = manifold
        self.pending = None if times is None else list(times[::-1])
        self._count = 0 if times is None else len(times)
        self.times: list[float] = []
        self.states: list[np.ndarray] = []

    @property
    def behind(self) -> int:
        """Number of output times that have been passed."""
        return 0 if self.pending is None else self._count - len(self.pending)

    def keep(self, t: float, y: np.ndarray) -> None:
        """Store the state y (N,) at time t, the end of a step, whether or not t is an output time."""
        while self.pending and self.pending[-1] <= t:
            self.pending.pop()
        self._keep(t, y)

    def clear(self) -> None:
        """Discard the stored states, after the caller has copied them."""
        self.times, self.states = [], []

    def add(self, step: InterpolatedStep) -> None:
        """Store the states at the output times within a step."""
        if self.pending is None:
            self._keep(step.t_new, step.y_new)
            return
        while self.pending and self.pending[-1] <= step.t_new:
            t = self.pending.pop()
            self._keep(t, step.y_new if t >= step.t_new else self._between(step, t))

    def _between(self, step: InterpolatedStep, t: float) -> np.ndarray:
        y = step.sample(t)
        if not np.isfinite(y).all():
            raise IntegrationError("the state is not finite between two steps", t)
        if self.manifold is None:
            return y
        projected = self.manifold.project(t, y)
        if projected is None:
            raise IntegrationError("the state left the constraints between two steps", t)
        return projected

    def _keep(self, t: float, y: np.ndarray) -> None:
        self.times.append(t)
        self.states.append(np.array(y))
