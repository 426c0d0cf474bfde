"""Where accelerations jump within a step of a run, as loads do that change abruptly with the state.

By how much later a motion with changed parameters comes there is not known then, so what the jump adds to derivatives
is missing. The jump shows in the velocities at the ends of steps: error control makes the step across it so short that
accelerations change incomparably faster in it than in the steps beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.layout import Slots
from quirk.dynamics.model.model import Model
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.run_state import STEP_END, STEP_HEAD, STEP_START
from quirk.dynamics.sparse.variation.variation import Steps
from quirk.errors import SensitivityWarning, outside

# Accelerations jump where they change so many times as fast as in the steps beside,
FASTER = 1000.0
# by so many times what round-off makes of them, and by more than this part of the largest.
CERTAIN, NOTICED = 1e3, 1e-6
# A jump at the end of a step, as where a function of time jumps, is no jump within it. One within a step shows in the
# mean acceleration there, which differs by more than this part of the jump from both of those beside it.
WITHIN = 2.0 / FASTER
# Steps by series come close to a jump from one side, ever shorter, and go on from the other in one that is so many
# times as long. So close to the start of the steps is what the event there has to do with.
SUDDENLY = 1e3
# Fewer steps have none with two on either side. Of so many jumps at most the times are told.
FEWEST, TOLD = 5, 3


def warn_of_jumps(owner: str, remedy: str, parts: Sequence[Steps], solver: Solver) -> None:
    """Warn if accelerations jump within steps.

    Parameters
    ----------
    owner : in whose name
    remedy : what to do about it
    parts : the steps of one stretch of a run
    solver : of the model by which it was computed
    """
    found = [(times_of_jumps(steps, solver.model, solver.slots), times_met(steps, solver)) for steps in parts]
    times = np.unique(np.concatenate([np.concatenate(both) for both in found]))
    if not len(times):
        return
    listed = ", ".join(f"{t:.6g}" for t in times[:TOLD]) + (" and later" if len(times) > TOLD else "")
    warnings.warn(
        f"{owner}: accelerations jump within a step at t = {listed} s, as a load changes abruptly with the state: "
        f"derivatives behind it lack what follows from the time at which that happens; {remedy}",
        SensitivityWarning,
        stacklevel=outside(),
    )


def times_of_jumps(steps: Steps, model: Model, slots: Slots) -> np.ndarray:
    """Return at the starts of which steps (k,), s, accelerations jump."""
    start, end = steps.trail[:, STEP_START], steps.trail[:, STEP_END]
    if len(start) < FEWEST:
        return np.zeros(0)
    velocity = _velocities(steps, model, slots)
    length, middle = end - start, 0.5 * (start + end)
    mean = np.diff(velocity, axis=0) / length[:, None]
    step = np.abs(np.diff(mean, axis=0)).max(axis=1)  # from one to the next
    rate = step / np.diff(middle)
    # Across steps from the third to the last but two: between the means of the steps beside.
    jump = np.abs(mean[3:-1] - mean[1:-3]).max(axis=1)
    beside = np.maximum(rate[:-3], rate[3:])
    noise = np.finfo(float).eps * np.abs(velocity).max() / np.minimum(length[1:-3], length[3:-1])
    found = jump > FASTER * beside * (middle[3:-1] - middle[1:-3])
    found &= (jump > CERTAIN * noise) & (jump > NOTICED * np.abs(mean).max())
    found &= np.minimum(step[1:-2], step[2:-1]) > WITHIN * jump
    return np.asarray(start[2:-2][found])


def times_met(steps: Steps, solver: Solver) -> np.ndarray:
    """Return the ends of which steps (k,), s, accelerations jump at, where steps became ever shorter before.

    They are on either side of the jump at both ends of the last of these, and differ incomparably more than they change
    in the steps beside it.
    """
    start, end = steps.trail[:, STEP_START], steps.trail[:, STEP_END]
    length = end - start
    found = []
    sudden = (length[:-1] * SUDDENLY < length[1:]) & ((end[:-1] - start[0]) * SUDDENLY > length[1:])
    for k in np.flatnonzero(sudden):
        last = steps.trail[k + 2, STEP_HEAD:] if k + 2 < len(start) else solver.slots.state_to_lanes(steps.end)
        states, times = [*steps.trail[k - 1 : k + 2, STEP_HEAD:], last], [*start[k - 1 : k + 2], end[k + 1]]
        earlier, before, after, beyond = (_accelerations(solver, y, t) for y, t in zip(states, times, strict=True))
        jump, rates = np.abs(after - before).max(), (np.abs(before - earlier), np.abs(beyond - after))
        goes_on = length[k] * max(rates[0].max() / length[k - 1], rates[1].max() / length[k + 1])
        if jump > FASTER * goes_on and jump > NOTICED * max(np.abs(before).max(), np.abs(after).max()):
            found.append(end[k])
    return np.array(found)


def _accelerations(solver: Solver, y: np.ndarray, t: float) -> np.ndarray:
    """Accelerations over the size of the system, and angular ones, at a state in lanes (6 bodies,), 1/s^2."""
    y = y.copy()
    solver.settle(y, float(t))
    rates = solver.slots.body_states(solver.rates(float(t), y)[None])[0, :, 7:]
    rates[:, :3] /= solver.model.length
    return rates.ravel()


def _velocities(steps: Steps, model: Model, slots: Slots) -> np.ndarray:
    """Velocities over the size of the system, and angular ones, at the ends of all steps (n + 1, 6 bodies), 1/s."""
    end = steps.end[: STATE_SIZE * slots.bodies].reshape(1, -1, STATE_SIZE)
    rows = np.concatenate([slots.body_states(steps.trail[:, STEP_HEAD:])[..., 7:], end[..., 7:]])
    rows[..., :3] /= model.length
    return rows.reshape(len(rows), -1)
