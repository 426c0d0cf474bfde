"""Detection of acceleration jumps within steps of a run, due to loads that are discontinuous in the state.

The time of a jump within a step varies with the parameters, but this variation is unknown, so that its contribution to
derivatives is missing. Jumps are detected from the velocities at the ends of steps: error control makes the step across
a jump so short that accelerations change much faster in this step than in its neighbors.
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

# Minimum ratio of the rate of change of accelerations in a step with a jump to the rates in neighboring steps.
FASTER = 1000.0
# Minimum ratio of a jump of accelerations to its round-off, and to the largest acceleration.
CERTAIN, NOTICED = 1e3, 1e-6
# Jumps at the ends of steps, as of functions of time, are ignored: the mean acceleration in a step with a jump must
# differ from the means in both neighboring steps by more than this fraction of the jump.
WITHIN = 2.0 / FASTER
# Steps of Taylor series become ever shorter before a jump; the step after the jump is longer by at least this factor. A
# jump belongs to the event at the start of the steps if its distance from the start, times this factor, is less than
# the length of that step.
SUDDENLY = 1e3
# Minimum number of steps, as two are needed on either side; and maximum number of jumps whose times are listed.
FEWEST, TOLD = 5, 3


def warn_of_jumps(owner: str, remedy: str, parts: Sequence[Steps], solver: Solver) -> None:
    """Warn if accelerations jump within integration steps.

    Parameters
    ----------
    owner : name of the calling function, at the beginning of the message
    remedy : advice, at the end of the message
    parts : steps of one interval of a run
    solver : solver of the model of these steps
    """
    by_part = [(times_of_jumps(steps, solver.model, solver.slots), jump_times(steps, solver)) for steps in parts]
    times = np.unique(np.concatenate([np.concatenate(both) for both in by_part]))
    if not len(times):
        return
    listed = ", ".join(f"{t:.6g}" for t in times[:TOLD]) + (" and later" if len(times) > TOLD else "")
    warnings.warn(
        f"{owner}: accelerations jump within a step at t = {listed} s, as a load depends discontinuously on the state: "
        f"later derivatives lack the effect of changes of the time of the jump; {remedy}",
        SensitivityWarning,
        stacklevel=outside(),
    )


def times_of_jumps(steps: Steps, model: Model, slots: Slots) -> np.ndarray:
    """Return the start times (k,), s, of the k steps in which accelerations jump.

    `slots` is the memory layout of the states in `steps`.
    """
    start, end = steps.trail[:, STEP_START], steps.trail[:, STEP_END]
    if len(start) < FEWEST:
        return np.zeros(0)
    velocity = _velocities(steps, model, slots)
    length, middle = end - start, 0.5 * (start + end)
    mean = np.diff(velocity, axis=0) / length[:, None]
    step = np.abs(np.diff(mean, axis=0)).max(axis=1)  # between neighboring steps
    rate = step / np.diff(middle)
    # Jump across steps from the third to the third last: difference of the means in the neighboring steps.
    jump = np.abs(mean[3:-1] - mean[1:-3]).max(axis=1)
    beside = np.maximum(rate[:-3], rate[3:])
    noise = np.finfo(float).eps * np.abs(velocity).max() / np.minimum(length[1:-3], length[3:-1])
    jumps = jump > FASTER * beside * (middle[3:-1] - middle[1:-3])
    jumps &= (jump > CERTAIN * noise) & (jump > NOTICED * np.abs(mean).max())
    jumps &= np.minimum(step[1:-2], step[2:-1]) > WITHIN * jump
    return np.asarray(start[2:-2][jumps])


def jump_times(steps: Steps, solver: Solver) -> np.ndarray:
    """Return the times (k,), s, of k acceleration jumps.

    A jump is located by a sequence of ever shorter steps, the last of which crosses it: the accelerations at the ends
    of this step differ much more than at the ends of its neighbors.
    """
    start, end = steps.trail[:, STEP_START], steps.trail[:, STEP_END]
    length = end - start
    jumps = []
    sudden = (length[:-1] * SUDDENLY < length[1:]) & ((end[:-1] - start[0]) * SUDDENLY > length[1:])
    for k in np.flatnonzero(sudden):
        last = steps.trail[k + 2, STEP_HEAD:] if k + 2 < len(start) else solver.slots.state_to_lanes(steps.end)
        states, times = [*steps.trail[k - 1 : k + 2, STEP_HEAD:], last], [*start[k - 1 : k + 2], end[k + 1]]
        earlier, before, after, beyond = (_accelerations(solver, y, t) for y, t in zip(states, times, strict=True))
        jump, rates = np.abs(after - before).max(), (np.abs(before - earlier), np.abs(beyond - after))
        continued = length[k] * max(rates[0].max() / length[k - 1], rates[1].max() / length[k + 1])
        if jump > FASTER * continued and jump > NOTICED * max(np.abs(before).max(), np.abs(after).max()):
            jumps.append(end[k])
    return np.array(jumps)


def _accelerations(solver: Solver, y: np.ndarray, t: float) -> np.ndarray:
    """Return the accelerations of n bodies as one array (6 n,), 1/s^2, for a state in the solver's memory layout.

    Linear accelerations are divided by the characteristic length of the system to give this unit.
    """
    y = y.copy()
    solver.settle(y, float(t))
    rates = solver.slots.body_states(solver.rates(float(t), y)[None])[0, :, 7:]
    rates[:, :3] /= solver.model.length
    return rates.ravel()


def _velocities(steps: Steps, model: Model, slots: Slots) -> np.ndarray:
    """Return the velocities of n bodies at the ends of s consecutive steps, (s + 1, 6 n), 1/s.

    Linear velocities are divided by the characteristic length of the system to give this unit. `slots` is the memory
    layout of the states in `steps`.
    """
    end = steps.end[: STATE_SIZE * slots.bodies].reshape(1, -1, STATE_SIZE)
    rows = np.concatenate([slots.body_states(steps.trail[:, STEP_HEAD:])[..., 7:], end[..., 7:]])
    rows[..., :3] /= model.length
    return rows.reshape(len(rows), -1)
