"""How forces are shared out among contacts and friction of which some depend on others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .frictional_case import DEPENDENT, NOTHING, Case, Found, Problem, acts, excess, held_rows, load_of

# Most rounds in which forces are shared out anew.
EASINGS = 40


def eased(problem: Problem, z: np.ndarray, case: Case) -> np.ndarray:
    """Forces that do the same, shared out so that what sticks is within its cone, if they can be.

    The largest part of its limit that any takes is made least, by Lawson's weights (Rice and Usow, Math. Comput. 22
    (1968)).
    """
    W, small = problem.W, NOTHING * np.abs(z).max(initial=0.0)
    sticking = [
        grip
        for grip, e in zip(problem.grips, case.sliding, strict=True)
        if e is None and acts(grip, case) and grip.static < np.inf
    ]
    if not any(excess(grip, z, case) > small for grip in sticking):
        return z
    rows = np.flatnonzero(held_rows(W, problem.grips, case))
    scale = np.sqrt(np.diag(W)[rows])
    sizes, vectors = np.linalg.eigh(W[np.ix_(rows, rows)] / scale[:, None] / scale)
    free = np.zeros((len(z), int((sizes < DEPENDENT * sizes[-1]).sum())))
    free[rows] = vectors[:, : free.shape[1]] / scale[:, None]
    if not free.shape[1]:
        return z
    weights, found = np.ones(len(sticking)), z
    for _ in range(EASINGS):
        limits = np.array([grip.static * max(load_of(grip, found, case)[0], small) + small for grip in sticking])
        parts = [(np.sqrt(x) / limit, grip.rows) for x, limit, grip in zip(weights, limits, sticking, strict=True)]
        A = np.concatenate([size * free[own] for size, own in parts])
        b = np.concatenate([size * z[own] for size, own in parts])
        found = z - free @ np.linalg.lstsq(A, b, rcond=DEPENDENT)[0]
        if all(excess(grip, found, case) <= 0.0 for grip in sticking):
            return found
        ratios = np.array([np.linalg.norm(found[g.rows]) / limit for g, limit in zip(sticking, limits, strict=True)])
        weights = weights * ratios
        weights = weights / max(weights.sum(), np.finfo(float).tiny)
    return z


def supporting(W: np.ndarray, z: np.ndarray, contacts: list[int]) -> list[int] | None:
    """Return those of the contacts that push on which independent forces alone do the same; None if all are needed."""
    V = W[np.ix_(contacts, contacts)]
    scale = np.sqrt(np.diag(V))
    sizes, vectors = np.linalg.eigh(V / scale[:, None] / scale)
    if not contacts or sizes[0] > DEPENDENT * sizes[-1]:
        return None
    from scipy.optimize import nnls  # takes a quarter of a second to import

    kept = sizes > DEPENDENT * sizes[-1]
    root = np.sqrt(sizes[kept])[:, None] * vectors[:, kept].T
    x, _ = nnls(root, root @ (z[contacts] * scale))
    return [c for c, force in zip(contacts, x, strict=True) if force > NOTHING * x.max()]


@dataclass(frozen=True)
class Sharing:
    """How the forces along all rows that are held follow from the multipliers of those that are rows of the equation.

    z = offset + weights x, the shortest change from what they are where this was made: unique where no row depends on
    others, and one way to share them out where some do.

    Attributes
    ----------
    rows : (h,) numbers of the rows whose multipliers are x
    offset : (r,)
    weights : (r, h)
    """

    rows: np.ndarray
    offset: np.ndarray
    weights: np.ndarray


def sharing(W: np.ndarray, found: Found) -> Sharing:
    """Return how forces are shared out from where they have been found."""
    every, rows = np.flatnonzero(found.held), np.flatnonzero(found.rows)
    weights, offset = np.zeros((len(W), len(rows))), np.zeros(len(W))
    if len(every) == len(rows):
        weights[rows, np.arange(len(rows))] = 1.0
        return Sharing(rows, offset, weights)
    scale = np.sqrt(np.diag(W)[every])
    V = W[np.ix_(every, every)] / scale[:, None] / scale
    x = np.linalg.solve(W[np.ix_(rows, rows)], W[np.ix_(rows, every)] @ found.z[every])
    weights[every] = (np.linalg.pinv(V, rcond=DEPENDENT) @ (W[np.ix_(every, rows)] / scale[:, None])) / scale[:, None]
    offset[every] = found.z[every] - weights[every] @ x
    return Sharing(rows, offset, weights)
