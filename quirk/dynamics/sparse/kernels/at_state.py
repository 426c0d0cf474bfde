"""What Python asks of one state, in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.compilation import entry
from quirk.jit.record import record

from .bodies import normalise, poses
from .evaluate import evaluate, factorise_at
from .factorisation import factorise_rows
from .impose import impose
from .mechanism import Mechanism
from .orthogonal import substitute, triangularise
from .project import project
from .redundancy import choose, judge, uniform_rows, watch, weighed_rows
from .rows import residuals
from .work import RANK, TOLERANCE


@record
class StateQuery(NamedTuple):
    """A state, and what goes with it.

    y (size,): changed by NORMALISE and PROJECT · ydot (size,): filled by EVALUATE · alpha, beta: Baumgarte's rates,
    1/s · length: of the system, m · rank: how many rows are independent, for EVALUATE and CHOOSE · counts: of
    projections
    """

    y: np.ndarray
    ydot: np.ndarray
    alpha: float
    beta: float
    length: float
    rank: int
    counts: np.ndarray


# What `at_state` can be asked to do: find y'; bring quaternions to unit length, or all of y onto the constraints; count
# the independent rows; choose `rank` of them; find Phi, or its rate, in work.rhs; factorize the rows in work.G by
# reflections; solve for work.rhs with these; add impulses of constraints to those in work.wrench so that rates of rows
# change by work.goal.
EVALUATE, NORMALISE, PROJECT, COUNT, CHOOSE, PHI, PHI_RATE, TRIANGULARISE, SUBSTITUTE, IMPULSE = range(10)

# Solves for impulses: they happen rarely, and are to be right to the last digits.
IMPULSE_PASSES = 4


@entry(needed_by="every state needs", effort=20)
def at_state(task: int, mechanism: Mechanism, t: float, desk: StateQuery) -> bool:
    """Do one of the tasks at (t, y); False if it cannot be done there.

    One entry, since each is compiled with all the kernels that it needs, and these tasks share most of theirs.
    """
    work, y = mechanism.work, desk.y
    constrained = mechanism.nodes.rows.shape[0] > 0
    if task == EVALUATE:
        evaluate(mechanism, t, y, desk.alpha, desk.beta, desk.ydot)
        if constrained and watch(mechanism, t, y, desk.rank):
            evaluate(mechanism, t, y, desk.alpha, desk.beta, desk.ydot)
    elif task in (NORMALISE, PROJECT):
        normalise(mechanism.constants, y)
        if constrained and task == PROJECT:
            factorise_at(mechanism, t, y)
            return project(mechanism, t, y, desk.length, desk.counts, False)
    elif task == COUNT:
        uniform_rows(mechanism, t, y)
        judge(work, work.summary[TOLERANCE])
    elif task == CHOOSE:
        return choose(mechanism, t, y, desk.rank)
    elif task == TRIANGULARISE:
        work.summary[RANK] = triangularise(
            work.fronts, work.triangle, work.G, work.scale, work.weight, work.lengths, work.floor,
            work.summary[TOLERANCE],
        )  # fmt: skip
    elif task == SUBSTITUTE:
        substitute(work.fronts, work.triangle, work.rhs, work.x)
    elif task == IMPULSE:
        weighed_rows(mechanism, t, y)
        factorise_rows(mechanism)
        impose(mechanism, IMPULSE_PASSES)
    else:
        poses(mechanism.constants, y, work.kin)
        residuals(mechanism.nodes, t, y, work.kin, 0 if task == PHI else 1, work.rhs)
    return True
