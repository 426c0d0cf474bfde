"""Environments for reinforcement learning with the Gymnasium interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.state import State
from ..errors import InputError
from ..system.system import System
from ..util import validate
from ..util.misuse import explained
from .run_inputs import LoopInput, checked_input

if TYPE_CHECKING:
    from .environment import Environment

OWNER = "gym_environment"


@explained
def gym_environment(
    system: System,
    *,
    actions: Mapping[str, Any] | Iterable[str],
    observations: Iterable[str],
    reward: Callable[[np.ndarray, np.ndarray], float],
    period: float,
    duration: float | None = None,
    terminated: Callable[[np.ndarray], bool] | None = None,
    initial: Callable[[np.random.Generator], State] | None = None,
    method: str = "auto",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    max_step: float | None = None,
    render_mode: str | None = None,
) -> Environment:
    """Return a `gymnasium.Env` of a system, for reinforcement learning; see docs/learning.md.

    This function requires ``pip install "quirk-dynamics[gym]"``. A step of the environment applies constant actions for
    `period` seconds in a `quirk.Run`; the step size of the integration is independent of the period.

    Parameters
    ----------
    system : System
    actions : dict, or list of str
        Lower and upper bounds of each input by name, such as ``{"drive": (-10, 10)}``. Inputs are as for `Run`; the
        bounds of a `Force` or `Torque` are scalars or (3,), and of a `ComputedTorque` scalars or (joints,). For a list
        of names, the bounds are the limits of the actuators.
    observations : list of str
        Quantities, as for `Run.observe`, such as "hinge.angle" and "rod.velocity.x", in SI units and rad.
    reward : function of (observation, action)
        Reward of a step, from the observation at its end.
    period : float
        Interval between actions, s.
    duration : float, optional
        Time after which an episode is truncated, s; by default episodes are not truncated.
    terminated : function of (observation), optional
        Whether the episode has ended in a terminal state. An event with the action "stop" also ends the episode.
    initial : function of a numpy.random.Generator, optional
        Function that returns the initial state of an episode; default: the initial state of the system.
    method, rtol, atol, step, max_step
        As for `simulate`.
    render_mode : None or "human"
        With "human", the run is shown in the browser.

    Returns
    -------
    gymnasium.Env
        Actions are float32 arrays and observations float64 arrays, in the order of the names. `env.run` is the
        `quirk.Run` of the episode. A step that fails raises `SimulationError`.

    Raises
    ------
    InputError
        If an argument cannot be used, or Gymnasium is not installed.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> system = quirk.System([rod, hinge, quirk.JointTorque("motor", hinge, 0.0)], gravity=[0, 0, -9.81])
    >>> env = quirk.gym_environment(
    ...     system, actions={"motor": (-6, 6)}, observations=["hinge.angle", "hinge.angle_rate"],
    ...     reward=lambda observation, action: -observation[0] ** 2, period=0.02, duration=4.0)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([-5.0])
    >>> observation.shape, terminated, truncated, info["time"]
    ((2,), False, False, 0.02)
    """
    if not isinstance(system, System):
        raise InputError(f"{OWNER}: system must be a quirk.System; got {system!r}")
    try:
        from .environment import Environment
    except ImportError:
        raise InputError(f'{OWNER}: Gymnasium is not installed: pip install "quirk-dynamics[gym]"') from None
    period = validate.positive(OWNER, "period", period)
    if duration is not None:
        duration = validate.positive(OWNER, "duration", duration)
    for name, function in (("reward", reward), ("terminated", terminated), ("initial", initial)):
        if not callable(function) and (function is not None or name == "reward"):
            raise InputError(f"{OWNER}: {name} must be a function; got {function!r}")
    return Environment(
        system, checked_bounds(system, actions), observations, reward, period, duration, terminated, initial,
        {"method": method, "rtol": rtol, "atol": atol, "step": step, "max_step": max_step},
        validate.choice(OWNER, "render_mode", render_mode, (None, "human")),
    )  # fmt: skip


def checked_bounds(system: System, actions: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the lower and upper bounds of each input, by name, from the argument `actions` of `gym_environment`."""
    if isinstance(actions, str) or not isinstance(actions, Iterable):
        raise InputError(f'{OWNER}: actions must be bounds by name, such as {{"drive": (-10, 10)}}; got {actions!r}')
    given = actions if isinstance(actions, Mapping) else dict.fromkeys(actions)
    found = {}
    for name, bounds in given.items():
        entry = checked_input(system, name)
        found[entry.name] = _bounds(entry, bounds)
    if not found:
        raise InputError(f"{OWNER}: actions names no input")
    return found


def _bounds(entry: LoopInput, bounds: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of an input, as arrays of its shape.

    `bounds` is the pair passed by the user, or None for the limits of the actuator.
    """
    argument = f"the bounds of {entry.element} in actions"
    if bounds is None:
        bounds = entry.limits
        if bounds is None:
            raise InputError(f"{OWNER}: {argument} must be given: actions={{{entry.name!r}: (low, high)}}")
    try:
        low, high = (np.broadcast_to(np.asarray(bound, float), entry.shape).copy() for bound in bounds)  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise InputError(f"{OWNER}: {argument} must be a pair (low, high); got {bounds!r}") from None
    if not (np.isfinite([low, high]).all() and (low < high).all()):
        raise InputError(f"{OWNER}: {argument} must be finite, and the lower bound less than the upper; got {bounds!r}")
    return low, high
