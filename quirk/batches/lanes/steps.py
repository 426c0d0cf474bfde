"""Integration steps of the members of batches in SIMD lanes, with a projection onto the constraints after each step."""

from __future__ import annotations

import numpy as np

from quirk.dynamics.sparse.kernels.applied import (
    Forces,
)
from quirk.dynamics.sparse.kernels.bodies import CON, STATE, normalise
from quirk.integrators.combinations import Weights
from quirk.jit.compilation import kernel
from quirk.jit.simd import load, store
from quirk.jit.unlocked import unlocked_entry

from .evaluation import evaluate_in_lanes
from .probes import NOWHERE, LaneProbes
from .projection import project_in_lanes
from .records import (
    NOT_A_NUMBER,
    LaneNumbers,
    LaneSteps,
    LaneTables,
    LaneWork,
)


@kernel
def steps_of_group(
    tables: LaneTables, numbers: LaneNumbers, work: LaneWork, forces: Forces, weights: Weights, steps: LaneSteps,
    first: int, count: int, y: np.ndarray, group: int, probes: LaneProbes,
) -> None:  # fmt: skip
    """Advance the states y of a group of eight members by `count` integration steps, in place.

    `first` is the number of steps taken before, and `group` the index of the group. `steps` are the times of the run,
    `forces` the force laws, `weights` the tableau of the method, and `probes` the records of user functions.
    """
    size = y.shape[0]
    constants = numbers.constants[CON * (size // STATE) * group : CON * (size // STATE) * (group + 1)]
    for n in range(first, first + count):
        t = steps.start + n * steps.step
        t_new = steps.end if n + 1 >= steps.total else steps.start + (n + 1) * steps.step
        h = t_new - t
        for stage in range(weights.stages):
            here, after = (y if stage == 0 else work.stage), (work.stage if stage + 1 < weights.stages else y)
            # The functions of the previous step are tested at the start of the next step.
            if stage == 0 and n > 0:
                probed, before = probes.stages, steps.start + (n - 1) * steps.step
            else:
                probed, before = stage, t
            evaluate_in_lanes(
                tables, numbers, work, forces, t + weights.c[stage] * h, here,
                work.slopes[stage * size : (stage + 1) * size], group, n > 0 and stage == 0, probes, probed, before,
                weights, stage + 1, h, y, after,
            )  # fmt: skip
        normalise(constants, y)
        if tables.project:
            project_in_lanes(tables, numbers, work, y, group)
        if n + 1 == steps.total and probes.samples.limit.shape[0] > 0:
            slope = work.slopes[:size]
            evaluate_in_lanes(
                tables, numbers, work, forces, t_new, y, slope, group, False, probes, probes.stages, t, weights, -1, h,
                y, y,
            )  # fmt: skip
    lost = load(work.notes, 8 * NOT_A_NUMBER)
    for o in range(0, size, 8):
        x = load(y, o)
        lost = lost + (x - x)
    store(work.notes, 8 * NOT_A_NUMBER, lost)


@unlocked_entry(needed_by="batches with fixed steps need", effort=25)
def march_in_lanes(
    tables: LaneTables, numbers: LaneNumbers, work: LaneWork, forces: Forces, weights: Weights, steps: LaneSteps,
    first: int, count: int, begin: int, end: int, states: np.ndarray, notes: np.ndarray, probes: LaneProbes,
) -> None:  # fmt: skip
    """Advance the states of groups `begin` to `end` - 1 by `count` integration steps, in place.

    `steps` are the times of the run, `first` is the number of steps taken before, and `weights` is the tableau of the
    method. If `count` is 0, the states are projected onto the constraints instead. `notes` receives the results of the
    checks of each group.
    """
    size, notes_size = work.stage.shape[0], work.notes.shape[0]
    for group in range(begin, end):
        y = states[size * group : size * (group + 1)]
        for o in range(0, notes_size, 8):
            store(work.notes, o, load(notes, notes_size * group + o))
        if count > 0:
            steps_of_group(tables, numbers, work, forces, weights, steps, first, count, y, group, probes)
        else:
            evaluate_in_lanes(
                tables, numbers, work, forces, steps.start, y, work.slopes[:size], group, False, probes, NOWHERE, 0.0,
                weights, -1, 0.0, y, y,
            )  # fmt: skip
            if tables.project:
                project_in_lanes(tables, numbers, work, y, group)
        for o in range(0, notes_size, 8):
            store(notes, notes_size * group + o, load(work.notes, o))
