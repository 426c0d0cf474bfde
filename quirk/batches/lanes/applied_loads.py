"""Applied loads on the bodies of eight members in SIMD lanes."""

from __future__ import annotations

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import (
    FORCE,
    TORQUE,
)
from quirk.dynamics.sparse.kernels.applied import (
    ELEMENT_SIZE,
    KINEMATICS_AT,
    OUTPUT,
    SIDE,
    SIDE_END,
    SIDE_ENTRIES,
    Forces,
    refer,
    run_law,
)
from quirk.dynamics.sparse.kernels.bodies import KIN
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put, splat, store

from .probes import NOWHERE, LaneProbes, probe
from .records import (
    ABRUPT,
)


@kernel
def applied_in_lanes(
    forces: Forces, sides: np.ndarray, inputs: np.ndarray, t: float, y: np.ndarray, kin: np.ndarray, settled: bool,
    probes: LaneProbes, group: int, stage: int, before: float, notes: np.ndarray,
) -> None:  # fmt: skip
    """Write the applied loads on all bodies at time t (s) to the entries FORCE and TORQUE of `kin`.

    The force laws are evaluated for one member after the other.

    Parameters
    ----------
    forces : force laws, and working arrays for one member
    inputs : inputs of the laws of the eight members
    sides : for each frame of the laws, the offsets of its body in arrays of states and of kinematics
    y, kin : states and kinematics of the bodies
    settled : whether the evaluation is at the end of a step, where the reference angles for counting full turns are
        updated
    probes : records of user functions; `group` is the index of the group of members, `stage` the index of the stage,
        and `before` the start time of the step, s; see `probe`
    notes : flags, in which ABRUPT is set if a user function may have jumped in the step
    """
    for block in range(kin.shape[0] // KIN):
        for c in range(6):
            store(kin, block * KIN + 8 * (FORCE + c), splat(0.0))
    count, elements = forces.inputs.shape[0], forces.entries.shape[0] // ELEMENT_SIZE
    for lane in range(8 if elements > 0 else 0):
        for k in range(count):
            forces.inputs[k] = inputs[count * lane + k]
        for k in range(sides.shape[0]):
            forces.sides[k] = sides[k] + lane
        for e in range(elements):
            o = ELEMENT_SIZE * e
            run_law(forces, e, t, y, kin)
            first, out = forces.entries[o + SIDE], forces.entries[o + OUTPUT]
            for s in range(first, forces.entries[o + SIDE_END]):
                k = forces.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
                for c in range(3):
                    place_ = out + LANES * (s - first) + c
                    kin[k + 8 * (FORCE + c)] += at(forces.outputs, place_)
                    kin[k + 8 * (TORQUE + c)] += at(forces.outputs, place_ + 3)
        if settled:
            refer(forces, t)
            for k in range(count):
                inputs[count * lane + k] = forces.inputs[k]
        if (
            probes.samples.limit.shape[0] > 0
            and stage != NOWHERE
            and probe(probes, forces, 8 * group + lane, stage, before, t)
        ):
            put(notes, 8 * ABRUPT + lane, 1.0)
