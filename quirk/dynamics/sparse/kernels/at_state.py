"""Entry point from Python into compiled code for tasks at a single state, such as an evaluation or a projection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quirk.jit.compilation import entry
from quirk.jit.record import record

from .bodies import normalise, poses
from .constraint_solve import add_constraint_loads
from .factorisation import factorise_rows
from .mechanism import Mechanism
from .orthogonal import substitute, triangularise
from .project import project, renew
from .redundancy import count_independent, mass_metric_rows, select_rows, uniform_rows
from .round_off_detection import evaluate_on_constraints
from .rows import residuals
from .workspace import RANK, TOLERANCE


@record
class StateQuery(NamedTuple):
    """A state, with the parameters and results of one task of `at_state`.

    Names in capitals are the tasks, constants of this module.

    Attributes
    ----------
    y : (size,) the state, modified by NORMALISE and PROJECT
    ydot : (size,) the derivative y', computed by EVALUATE
    alpha, beta : Baumgarte's rates, 1/s
    length : characteristic length of the system, m
    rank : required number of independent rows, for EVALUATE and CHOOSE
    counts : numbers of iterations and factorizations of projections, to which PROJECT adds its own
    """

    y: np.ndarray
    ydot: np.ndarray
    alpha: float
    beta: float
    length: float
    rank: int
    counts: Any


# Tasks of `at_state`:
#   EVALUATE: compute y'
#   NORMALISE: scale the quaternions to unit length
#   PROJECT: project y onto the constraints
#   COUNT: count the independent rows
#   CHOOSE: select `rank` independent rows
#   PHI, PHI_RATE: write the constraint residuals, or their rates, to work.rhs
#   TRIANGULARISE: factorize the rows in work.G by Householder reflections
#   SUBSTITUTE: solve for the right-hand side in work.rhs with this factorization
#   IMPULSE: add the constraint impulses that change the rates of the rows by work.goal to the impulses in work.wrench
EVALUATE, NORMALISE, PROJECT, COUNT, CHOOSE, PHI, PHI_RATE, TRIANGULARISE, SUBSTITUTE, IMPULSE = range(10)

# Number of solves for impulses. It suffices for accuracy up to round-off; as impulses are rare, convergence is not
# tested.
IMPULSE_PASSES = 4


@entry(needed_by="every state needs", effort=5)
def at_state(task: int, mechanism: Mechanism, t: float, query: StateQuery) -> bool:
    """Perform a task, such as a projection, for the state in `query` at time t (s); return False if it fails.

    `task` is a constant of this module: EVALUATE, NORMALISE, PROJECT, COUNT, CHOOSE, PHI, PHI_RATE, TRIANGULARISE,
    SUBSTITUTE or IMPULSE. A single compiled function performs all tasks, so that the functions they have in common are
    compiled only once.
    """
    work, y = mechanism.work, query.y
    constrained = mechanism.nodes.rows.shape[0] > 0
    if task == EVALUATE:
        evaluate_on_constraints(mechanism, t, y, query.alpha, query.beta, query.rank, query.ydot)
    elif task in (NORMALISE, PROJECT):
        normalise(mechanism.constants, y)
        if constrained and task == PROJECT:
            renew(mechanism, t, y)
            return project(mechanism, t, y, query.length, query.counts, False)
    elif task == COUNT:
        uniform_rows(mechanism, t, y)
        count_independent(work, work.summary[TOLERANCE])
    elif task == CHOOSE:
        return select_rows(mechanism, t, y, query.rank)
    elif task == TRIANGULARISE:
        work.summary[RANK] = triangularise(
            work.fronts, work.triangle, work.G, work.scale, work.weight, work.lengths, work.floor,
            work.summary[TOLERANCE],
        )  # fmt: skip
    elif task == SUBSTITUTE:
        substitute(work.fronts, work.triangle, work.rhs, work.x)
    elif task == IMPULSE:
        mass_metric_rows(mechanism, t, y)
        factorise_rows(mechanism)
        add_constraint_loads(mechanism, IMPULSE_PASSES)
    else:
        poses(mechanism.constants, y, work.kin)
        residuals(mechanism.nodes, t, y, work.kin, 0 if task == PHI else 1, work.rhs)
    return True
