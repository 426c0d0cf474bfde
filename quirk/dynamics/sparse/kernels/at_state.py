"""What Python asks of one state, in compiled code: each an entry of its own."""

from __future__ import annotations

import numpy as np

from quirk.compiled import entry

from .bodies import normalise, poses
from .evaluate import evaluate, factorise_at
from .mechanism import Mechanism
from .orthogonal import substitute, triangularise
from .project import project
from .redundancy import choose, judge, uniform_rows, watch
from .rows import residuals
from .work import RANK, TOLERANCE, Work

NOTICE = "compiling what runs need, usually for 10 to 40 s"


@entry(notice=NOTICE)
def rates_at(
    mechanism: Mechanism, t: float, y: np.ndarray, alpha: float, beta: float, rank: int, ydot: np.ndarray
) -> None:
    """Fill `ydot` with y' at (t, y); see `evaluate`. At least `rank` rows are independent there."""
    evaluate(mechanism, t, y, alpha, beta, ydot)
    if mechanism.nodes.rows.shape[0] > 0 and watch(mechanism, t, y, rank):
        evaluate(mechanism, t, y, alpha, beta, ydot)


@entry(notice=NOTICE)
def project_at(
    mechanism: Mechanism, t: float, y: np.ndarray, on_constraints: bool, length: float, counts: np.ndarray
) -> bool:
    """Bring quaternions to unit length and, if asked for, y onto the constraints; False if it is too far from them."""
    normalise(mechanism.constants, y)
    if not on_constraints or mechanism.nodes.rows.shape[0] == 0:
        return True
    factorise_at(mechanism, t, y)
    return project(mechanism, t, y, length, counts)


@entry(notice=NOTICE)
def count_at(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Count the rows that are independent at (t, y), for work.summary[RANK]."""
    uniform_rows(mechanism, t, y)
    judge(mechanism.work, mechanism.work.summary[TOLERANCE])


@entry(notice=NOTICE)
def choose_at(mechanism: Mechanism, t: float, y: np.ndarray, rank: int) -> bool:
    """Choose `rank` independent rows at (t, y); False if fewer are."""
    return choose(mechanism, t, y, rank)


@entry(notice=NOTICE)
def residuals_at(mechanism: Mechanism, t: float, y: np.ndarray, order: int) -> None:
    """Fill work.rhs with Phi at (t, y) for order 0 and with Phi_dot for order 1."""
    work = mechanism.work
    poses(mechanism.constants, y, work.kin)
    residuals(mechanism.nodes, t, y, work.kin, order, work.rhs)


@entry(notice=NOTICE)
def triangularise_rows(work: Work) -> None:
    """Factorise the rows in work.G by reflections; see `triangularise`."""
    work.summary[RANK] = triangularise(
        work.fronts, work.triangle, work.G, work.scale, work.weight, work.lengths, work.floor, work.summary[TOLERANCE]
    )


@entry(notice=NOTICE)
def substitute_rows(work: Work) -> None:
    """Fill work.x with the multipliers for work.rhs, by the factorisation of `triangularise_rows`."""
    substitute(work.fronts, work.triangle, work.rhs, work.x)
