"""Collects the states a user asked for while steps go by."""

from __future__ import annotations

import numpy as np

from .step import IntegrationError, Projection, Sampled


class Recorder:
    """States at the asked times, or at every step's end.

    Parameters
    ----------
    times : (nt,) increasing, or None for the ends of all steps
    manifold : applied to states between steps, so that they meet the constraints as those at the ends do
    """

    def __init__(self, times: np.ndarray | None, manifold: Projection | None) -> None:
        self.manifold = manifold
        self.pending = None if times is None else list(times[::-1])
        self._count = 0 if times is None else len(times)
        self.times: list[float] = []
        self.states: list[np.ndarray] = []

    @property
    def behind(self) -> int:
        """How many of the asked times are behind."""
        return 0 if self.pending is None else self._count - len(self.pending)

    def keep(self, t: float, y: np.ndarray) -> None:
        """Keep a state between two steps, whether it was asked for or not."""
        while self.pending and self.pending[-1] <= t:
            self.pending.pop()
        self._keep(t, y)

    def clear(self) -> None:
        """Forget the states, which somebody has taken."""
        self.times, self.states = [], []

    def add(self, step: Sampled) -> None:
        """Keep what this step holds of the asked times."""
        if self.pending is None:
            self._keep(step.t_new, step.y_new)
            return
        while self.pending and self.pending[-1] <= step.t_new:
            t = self.pending.pop()
            self._keep(t, step.y_new if t >= step.t_new else self._between(step, t))

    def _between(self, step: Sampled, t: float) -> np.ndarray:
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
