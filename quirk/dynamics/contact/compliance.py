"""Solution of contact problems with redundant contacts, as the limit of contacts with vanishing compliance.

The motion of rigid bodies does not determine how a load is distributed over redundant contacts. The distribution is
unique if all contacts have the same compliance e. A closed contact then has the normal force n = max(0, -w_n / e), and
the friction force t is the projection of -w_t / e onto the disk |t| <= mu n, where w_n and w_t are the normal and
tangential accelerations. In the limit e -> 0 the accelerations are those of rigid bodies, and the loads are those of
minimum norm within the friction cones. For each e the loads satisfy piecewise smooth equations, which are solved by a
semismooth Newton method (Alart and Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991)), starting from the solution
for the previous, larger e.

A contact problem has r rows, one for each gap and for each slip component; loads z and accelerations w are (r,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .contact_modes import Case, Grip, Problem, load_of

# Continuation in the compliance, relative to the largest response of a row to a unit force along itself. SOFT: first
# value, at which contacts hardly interact. STIFF: last value, at which sticking contacts yield by round-off only.
# LOWER: smallest factor from one value to the next. LEAST_LOWER: factor so close to 1 that the continuation has failed.
SOFT, STIFF, LOWER, LEAST_LOWER = 1.0, 1e-10, 1e-2, 0.5
# Newton's method at one compliance: maximum number of iterations; residual over the loads at which it has converged,
# and at which it is accepted if the residual no longer decreases.
MOST_ITERATIONS, CONVERGED, NEARLY = 60, 1e-12, 1e-7
# Maximum number of halvings of a Newton step while the residual grows.
HALVED = 6
# Slip below this fraction of the largest acceleration is due to the last compliance, so the friction sticks.
GIVES_WAY = 1e-8
# Contacts with less than this fraction of the largest load count as unloaded.
NO_LOAD = 1e-9
# Friction known to be at its limit is reduced by this fraction, so that the direction of slip is determined; along a
# line, where only the sign matters, by more than the relative accuracy of loads, about round-off / STIFF.
LOWERED, LOWERED_ON_LINE = 1e-6, 1e-5


def yielding(problem: Problem, contacts: Sequence[int]) -> Case | None:
    """Return the contact modes for which the loads have minimum norm, or None if the search fails.

    The modes state which contacts are loaded and which friction elements slide. `contacts` are the rows of all closed
    contacts. Friction that can stick is first computed with the static coefficient and, if it slides, again with the
    sliding coefficient.
    """
    grips = problem.grips
    slides = [grip.at_limit or grip.moving is not None for grip in grips]
    z = np.zeros(len(problem.q))
    for _ in range(len(grips) + 1):
        limits = [_limit(grip, known) for grip, known in zip(grips, slides, strict=True)]
        z_next = _loads(problem, contacts, limits, z)
        if z_next is None:
            return None
        z, case = z_next, _case(problem, contacts, limits, z_next)
        new = [k for k, e in enumerate(case.sliding) if e is not None and not slides[k] and grips[k].moving is None]
        if all(grips[k].static == grips[k].coefficient for k in new):
            return case
        for k in new:
            slides[k] = True
        z = np.zeros(len(problem.q))
    return None


def _limit(grip: Grip, slides: bool) -> float:
    if not slides:
        return grip.static
    lowered = LOWERED_ON_LINE if len(grip.rows) == 1 else LOWERED
    return grip.coefficient * (1.0 - lowered) if grip.at_limit and grip.moving is None else grip.coefficient


def _loads(problem: Problem, contacts: Sequence[int], limits: Sequence[float], z: np.ndarray) -> np.ndarray | None:
    """Return the loads (r,) at the smallest compliance, or None if Newton's method fails.

    The compliance is decreased step by step, with the loads z (r,) as initial guess. `contacts` are the rows of all
    closed contacts, and `limits` the friction coefficients in effect, one for each friction element.
    """
    largest = float((np.diag(problem.W) / problem.compliance).max(initial=0.0))
    answers = np.array([np.linalg.eigvalsh(problem.W[np.ix_(g.rows, g.rows)])[-1] for g in problem.grips])
    part, lower = SOFT, LOWER
    while largest > 0 and lower < LEAST_LOWER:
        soft = part * largest * problem.compliance
        solution = _newton(_Soft(problem, list(contacts), limits, soft, answers), z)
        if solution is None:
            part, lower = part / lower, np.sqrt(lower)
        else:
            z, lower = solution, max(LOWER, lower * lower)
            if part <= STIFF:
                return z
        part = max(STIFF, part * lower)
    return None


@dataclass(frozen=True)
class _Soft:
    """A contact problem with compliant contacts.

    Attributes
    ----------
    problem : the contact problem of rigid bodies
    contacts : rows of all closed contacts
    limits : friction coefficient in effect for each friction element
    soft : (r,) compliance of each row
    answers : for each friction element, the largest acceleration along its rows due to a unit force along its rows
    """

    problem: Problem
    contacts: list[int]
    limits: Sequence[float]
    soft: np.ndarray
    answers: np.ndarray


def _newton(of: _Soft, z: np.ndarray) -> np.ndarray | None:
    """Return the loads (r,) of a compliant contact problem by Newton's method from the loads z, or None if it fails."""
    rest, J = _equations(of, z)
    size = float(np.linalg.norm(rest))
    for _ in range(MOST_ITERATIONS):
        if size <= CONVERGED * max(float(np.linalg.norm(z)), np.finfo(float).tiny):
            return z
        try:
            step = np.linalg.solve(J, rest)
        except np.linalg.LinAlgError:
            return None
        for part in (*(0.5**n for n in range(HALVED)), 1.0):
            tried = z - part * step
            rest_tried, J_tried = _equations(of, tried)
            size_tried = float(np.linalg.norm(rest_tried))
            if size_tried <= (1.0 - 0.1 * part) * size:
                break
        if not np.isfinite(size_tried):
            return None
        if size_tried > 0.5 * size and size <= NEARLY * float(np.linalg.norm(z)):
            return z
        z, rest, J, size = tried, rest_tried, J_tried, size_tried
    return None


def _equations(of: _Soft, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual (r,) of a compliant contact problem at loads z (r,), and its Jacobian (r, r).

    The equations are scaled so that the residual has the units of loads.
    """
    problem, soft, contacts = of.problem, of.soft, of.contacts
    W = problem.W
    pressed = problem.w(z) + soft * z
    slope = W + np.diag(soft)
    rest, J = z.copy(), np.eye(len(z))
    give = np.diag(slope)[contacts]
    closed = [c for c, x in zip(contacts, z[contacts] - pressed[contacts] / give, strict=True) if x > 0]
    give = np.diag(slope)[closed]
    rest[closed], J[closed] = pressed[closed] / give, slope[closed] / give[:, None]
    everything = Case(set(contacts), [None] * len(problem.grips), z)
    for grip, limit, answer in zip(problem.grips, of.limits, of.answers, strict=True):
        rows = grip.rows
        N, N_slopes = load_of(grip, z, everything)
        N, N_slopes = (N, N_slopes) if N > 0 else (0.0, 0.0 * N_slopes)
        if grip.moving is not None:
            rest[rows] += limit * N * grip.moving
            J[rows] += limit * np.outer(grip.moving, N_slopes)
            continue
        stiff = float(answer + soft[rows[0]])
        tried = z[rows] - pressed[rows] / stiff
        size = float(np.linalg.norm(tried))
        if limit == np.inf or size <= limit * N:
            rest[rows], J[rows] = pressed[rows] / stiff, slope[rows] / stiff
            continue
        e = tried / size
        turning = -slope[rows] / stiff
        turning[:, rows] += np.eye(len(rows))
        rest[rows] -= limit * N * e
        J[rows] -= limit * (np.outer(e, N_slopes) + N / size * (np.eye(len(rows)) - np.outer(e, e)) @ turning)
    return rest, J


def _case(problem: Problem, contacts: Sequence[int], limits: Sequence[float], z: np.ndarray) -> Case:
    """Return the contact modes that correspond to the loads z (r,) at the smallest compliance.

    `contacts` are the rows of all closed contacts, and `limits` the friction coefficients in effect.
    """
    w, largest = problem.w(z), z[list(contacts)].max(initial=0.0)
    pushing = {c for c in contacts if z[c] > NO_LOAD * largest}
    scale = np.sqrt(np.where(np.diag(problem.W) > 0, np.diag(problem.W), 1.0))
    gives = GIVES_WAY * float(((np.abs(problem.W) @ np.abs(z) + np.abs(problem.q)) / scale).max(initial=0.0))
    case = Case(pushing, [], z)
    slips = [float((np.abs(w[grip.rows]) / scale[grip.rows]).max()) > gives for grip in problem.grips]
    # If no friction at its limit slips faster than compliance allows, all of it begins to slide.
    begins = not any(slip and grip.at_limit for grip, slip in zip(problem.grips, slips, strict=True))
    # If other friction slides, its force depends on the distribution of loads: friction at its limit then counts as
    # sliding, even without slip.
    shares = any(grip.moving is not None for grip in problem.grips)
    for grip, limit, slip in zip(problem.grips, limits, slips, strict=True):
        if grip.moving is not None:
            case.sliding.append(grip.moving)
            continue
        N, _ = load_of(grip, z, replace(case, sliding=[]))
        force = z[grip.rows]
        size = float(np.linalg.norm(force))
        full = limit < np.inf and N > 0 and size >= limit * N * (1.0 - 1e-9)
        moves = slip or shares or (grip.at_limit and begins)
        case.sliding.append(-force / size if full and moves and size > 0 else None)
    return case
