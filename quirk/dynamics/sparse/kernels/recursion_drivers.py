"""Joints of a forest whose motion is prescribed: accelerations, residuals, and the loads and powers of their drivers.

The arrays are described in the module `recursion`. A driven hinge or slider has no degree of freedom: it is a weld with
a given relative acceleration. The multiplier of its driver is the moment about, or the force along, its axis.
"""

from __future__ import annotations

import numpy as np

from quirk.functions.motion_kernels import motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.simd import WIDTH, add, at, load4, put
from quirk.jit.tracing import traced

from .bodies import rotations
from .mechanism import Mechanism
from .recursion import (
    AXIS_IN_BODIES,
    DRIVEN_ENTRIES,
    DRIVEN_HINGE,
    DRIVER,
    FREEDOM,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIND,
    MOTION,
    MOTION_INPUT,
    SENSE,
    SHIFT,
    SHIFT_BIAS,
    SLOT,
    TURN,
    TURN_BIAS,
    WORK_IN_Y,
    Recursion,
)
from .recursion_freedoms import load_of
from .relations import ORDER
from .rows import residuals_of


@kernel
def driven(mechanism: Mechanism) -> bool:
    """Return whether the motion of any joint of the forest is prescribed."""
    return mechanism.recursion.driven.shape[0] > 0


@kernel
def prescribe_accelerations(mechanism: Mechanism, t: float) -> None:
    """Add the accelerations along driven coordinates at time t (s) to the relative accelerations due to velocities."""
    recursion, relations = mechanism.recursion, mechanism.nodes.relations
    for o in range(0, recursion.driven.shape[0], DRIVEN_ENTRIES):
        first = recursion.driven[o + MOTION_INPUT]
        motion_taylor(relations.motions, recursion.driven[o + MOTION], t, ORDER, relations.inputs, first)
        displace_driven(recursion, o, 2.0 * at(relations.inputs, first + 2))


@kernel
def displace_driven(recursion: Recursion, o: int, value: float) -> None:
    """Add a value along the coordinate of a driven joint to the prescribed relative displacement of the joint.

    The value may also be a relative velocity or acceleration; all three use the same elements of `joints`. The integers
    of the joint begin at element o of `recursion.driven`.
    """
    joints, t = recursion.joints, recursion.driven[o + SLOT]
    j, along = JOINT_NUMBERS * t, value * recursion.driven[o + SENSE]
    if at(recursion.entries, JOINT_ENTRIES * t + KIND) == DRIVEN_HINGE:
        add(joints, j + TURN_BIAS + 2, along)
        return
    axis = recursion.driven[o + AXIS_IN_BODIES]
    for c in range(3):
        add(joints, j + SHIFT_BIAS + c, along * at(recursion.bodies, axis + WIDTH * c))


@kernel
def close_driven_gaps(mechanism: Mechanism, t: float, y: np.ndarray, level: int) -> None:
    """Add the relative displacements of driven joints that remove the residuals of their drivers.

    They are added to the prescribed relative displacements of the joints, or to the prescribed relative velocities.
    `level` selects poses or velocities. t is the time (s), and y the state, whose rotation matrices are written to
    work.kin.
    """
    recursion, work = mechanism.recursion, mechanism.work
    rotations(y, work.kin)
    for o in range(0, recursion.driven.shape[0], DRIVEN_ENTRIES):
        node = recursion.driven[o + DRIVER]
        residuals_of(mechanism.nodes, node, t, y, work.kin, level, work.residual)
        displace_driven(recursion, o, -at(work.residual, WIDTH * node))


@kernel
def loads_of_drivers(mechanism: Mechanism, ydot: np.ndarray) -> None:
    """Write the multipliers of the drivers of joints to work.x, and their powers (W) to the state derivative `ydot`.

    The accelerations of the bodies must be in `recursion.joints`, and the rates of the prescribed motions among the
    inputs of relations.
    """
    recursion, relations = mechanism.recursion, mechanism.nodes.relations
    for o in range(0, recursion.driven.shape[0], DRIVEN_ENTRIES):
        rate = at(relations.inputs, recursion.driven[o + MOTION_INPUT] + 1)
        load = recursion.driven[o + SENSE] * load_of_driver(
            recursion.joints, JOINT_NUMBERS * recursion.driven[o + SLOT]
        )
        put(mechanism.work.x, WIDTH * recursion.driven[o + DRIVER], load)
        put(ydot, recursion.driven[o + WORK_IN_Y], load * rate)


@traced
def load_of_driver(joints: np.ndarray, j: int) -> float:
    """Return the moment about the axis of a driven hinge, or the force along the axis of a driven slider.

    The data of the joint begin at element j of `joints`.
    """
    return load_of(joints, j + FREEDOM, load4(joints, j + SHIFT), load4(joints, j + TURN))
