"""Gymnasium environment that simulates a system; this module requires Gymnasium."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from ..bodies.state import State
from ..errors import InputError
from ..system.system import System
from ..util import validate
from .run import STOPPED, Run

OWNER = "gym_environment"
# Difference, in periods, by which the end of an episode may exceed its last step: round-off of sums of periods.
SAME_TIME = 1e-6


class Environment(gymnasium.Env):
    """Gymnasium environment that simulates a system. Create one with `gym_environment`, which describes the arguments.

    Attributes
    ----------
    run : Run of the present episode
    observation_space : Box of unbounded float64 observations
    action_space : Box of float32 actions, with the bounds of the inputs
    """

    def __init__(
        self,
        system: System,
        bounds: Mapping[str, tuple[np.ndarray, np.ndarray]],
        observations: Iterable[str],
        reward: Callable[[np.ndarray, np.ndarray], float],
        period: float,
        duration: float | None,
        terminated: Callable[[np.ndarray], bool] | None,
        initial: Callable[[np.random.Generator], State] | None,
        options: Mapping[str, Any],
        render_mode: str | None,
    ) -> None:
        self.metadata = {"render_modes": ["human"], "render_fps": round(1 / period)}
        self._system, self._options, self.render_mode = system, dict(options), render_mode
        self._period, self._duration = period, duration
        self._reward, self._terminated, self._initial = reward, terminated, initial
        self._view: Any = None
        self._shapes = {name: low.shape for name, (low, _) in bounds.items()}
        low, high = (np.concatenate([pair[side].ravel() for pair in bounds.values()]) for side in (0, 1))
        self.action_space = self._bounds = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
        run = self._run_from(None)
        # Run from the initial state of the system; episodes that start from this state restore its snapshot.
        self._default = run, run.observe(observations), run.save()
        self.run, self._observe, _ = self._default
        self.observation_space = Box(-np.inf, np.inf, (len(self._observe.names),), np.float64)
        self._ready = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode, and return its first observation and its info.

        The option "initial_state", a `quirk.State`, replaces the state returned by `initial`.
        """
        super().reset(seed=seed)
        state = None if options is None else options.get("initial_state")
        if state is None and self._initial is not None:
            state = self._initial(self.np_random)
            if not isinstance(state, State):
                raise InputError(f"{OWNER}: initial must return a quirk.State; got {state!r}")
        self.close()
        if state is None:
            self.run, self._observe, saved = self._default
            self.run.restore(saved)
        else:
            self.run = self._run_from(state)
            self._observe = self.run.observe(self._observe.names)
        self._steps, self._ready = 0, True
        if self.render_mode == "human":
            self.render()
        return self._observe(), self._info("reset")

    def step(self, action: ArrayLike) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action for one period, and return observation, reward, terminated, truncated and info."""
        if not self._ready:
            raise InputError(f"{OWNER}: the episode is over or has not begun: call reset()")
        values = validate.array(OWNER, "action", action, self._bounds.low.shape)
        applied = np.clip(values, self._bounds.low, self._bounds.high)
        place = 0
        for name, shape in self._shapes.items():
            size = math.prod(shape)
            part, place = applied[place : place + size], place + size
            self.run.inputs[name] = part if shape else float(part[0])
        reason = self._advance()
        observation = self._observe()
        ended = reason == STOPPED or bool(self._terminated is not None and self._terminated(observation))
        reward = validate.number(OWNER, "the reward", self._reward(observation, applied))
        over = self._duration is not None and self.run.time > self._duration - SAME_TIME * self._period
        self._ready = not ended
        return observation, reward, ended, over, self._info(reason)

    def render(self) -> None:
        """Show the run in the browser."""
        if self.render_mode == "human" and self._view is None:
            self._view = self.run.view()

    def close(self) -> None:
        """Close the view in the browser."""
        if self._view is not None:
            self._view.close()
            self._view = None

    def _run_from(self, state: State | None) -> Run:
        """Return a run that starts from `state`, or from the initial state of the system if `state` is None."""
        return Run(self._system, inputs=list(self._shapes), initial_state=state, **self._options)

    def _advance(self) -> str:
        """Advance the run by one period, past all events in the period; return the reason of its last pause."""
        self._steps += 1
        self._happened: list[Any] = []
        while True:
            reason = self.run.advance_to(self._steps * self._period)
            self._happened += self.run.events
            if reason == STOPPED or self.run.time >= self._steps * self._period:
                return reason

    def _info(self, reason: str) -> dict[str, Any]:
        """Return the info dict of a step: time, s, why the run paused last, and the names of the events in the step."""
        happened = [] if reason == "reset" else [one.name for one in self._happened]
        return {"time": self.run.time, "reason": reason, "events": happened}
