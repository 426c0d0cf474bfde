"""Estimated time of an evaluation by recursion over a forest of joints with loop-closing constraint rows.

The coefficients were measured on one machine, for 30 mechanisms of 3 to 100 bodies. The choice of a method depends only
on their ratios, which are similar on other machines. The tables are described in `closings`.
"""

from __future__ import annotations

from quirk.jit.compilation import kernel
from quirk.jit.simd import WIDTH, at

from .closing_solve import rows_end, stride
from .closings import CLOSING, CLOSING_END, CLOSING_ENTRIES, FIRST_ROW, GROUP_ENTRIES, REACH
from .mechanism import Mechanism
from .recursion import JOINT_ENTRIES
from .workspace import PASSES

# Measured times, microseconds: per body; per loop-closing constraint; per visit of a joint (transmission of eight
# columns); per column; and per row of the matrix in a reflection of eight columns.
PER_BODY, PER_CLOSING, PER_VISIT, PER_COLUMN, PER_REFLECTED = 0.075, 0.06, 0.03, 0.05, 0.0006

# Recursion is used if its estimated time is below this fraction of the estimated time of elimination of all rows.
WORTH_IT = 0.9


@kernel
def faster_than_rows(mechanism: Mechanism, visits: int) -> bool:
    """Return whether an evaluation by recursion is estimated to be faster than elimination of all constraint rows.

    `visits` is the number of times that a joint transmits eight wrenches in one evaluation, summed over all joints.
    """
    closings, effort = mechanism.closings, mechanism.closings.effort
    own = PER_BODY * (mechanism.recursion.entries.shape[0] // JOINT_ENTRIES) + PER_VISIT * visits
    own += PER_CLOSING * closings.nodes.shape[0]
    for g in range(closings.kept.shape[0]):
        own += PER_COLUMN * at(closings.kept, g) + PER_REFLECTED * reflected(mechanism, g)
    passes = at(mechanism.work.summary, PASSES)
    return own < WORTH_IT * (effort[0] + (passes * effort[1] if passes > 1 else 0.0))


@kernel
def reflected(mechanism: Mechanism, g: int) -> int:
    """Return the number of vectors of eight elements that the reflections change in the matrix of one group.

    g is the index of the group, whose loop-closing constraints share degrees of freedom on their paths to the roots.
    """
    closings, blocks, found = mechanism.closings, stride(mechanism.closings, g) // WIDTH, 0
    for n in range(closings.groups[GROUP_ENTRIES * g + CLOSING], closings.groups[GROUP_ENTRIES * g + CLOSING_END]):
        reach = closings.closings[CLOSING_ENTRIES * n + REACH]
        for r in range(closings.closings[CLOSING_ENTRIES * n + FIRST_ROW], rows_end(closings, n)):
            p = int(at(closings.lane, r))
            if p >= 0:
                found += (reach - p) * (blocks - p // WIDTH)
    return found
