"""Power of the constraint rows whose work is integrated: rows of drivers and of user-defined constraints."""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import WIDTH, at, put

from .applied import MULTIPLIER, ROW_WORK_IN_Y, WORKING_ENTRIES
from .bodies import VELOCITIES, motion_of
from .mechanism import Mechanism
from .rows import along_of


@kernel
def row_power(mechanism: Mechanism, working: np.ndarray, y: np.ndarray, ydot: np.ndarray) -> None:
    """Write the powers (W) of constraint rows whose work is integrated to `ydot`, the derivative of the state y.

    `working` are the rows, as in `Forces`. The power of a row is its multiplier, in work.x, times the product of the
    row, in work.G, and the velocities.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    count, previous = working.shape[0] // WORKING_ENTRIES, -1
    if count == 0:
        return
    motion_of(constants, y, y, VELOCITIES, work.motion)
    for n in range(count):
        put(ydot, working[WORKING_ENTRIES * n + ROW_WORK_IN_Y], 0.0)
    for n in range(count):
        x, place = working[WORKING_ENTRIES * n + MULTIPLIER], working[WORKING_ENTRIES * n + ROW_WORK_IN_Y]
        node = x // WIDTH
        if node != previous:
            along_of(nodes, node, work.G, work.motion, work.rhs)
            previous = node
        put(ydot, place, at(ydot, place) + at(work.x, x) * at(work.rhs, x))
