"""Coulomb friction with unilateral contact: search for the modes, loads and accelerations (or impulses and velocities).

A contact problem has r rows, one for each gap and for each slip component. Forces z (r,) along the rows cause the
accelerations w = W z + q (r,). Contacts satisfy z >= 0, w >= 0 and z w = 0. Sticking friction has w = 0 and
|z| <= mu_s N, where N is the normal load of its contact or joint. Sliding friction has the force -mu N e, where the
unit vector e is the direction of the slip or, for incipient sliding, of the acceleration w of the slip.

A mode states whether a contact is loaded or open, or whether friction sticks or slides. The search repeatedly changes
the mode with the worst violation. For given modes, the equations for z are linear except for the normal loads N of
joints, which are norms, and for directions of slip.

If rows are dependent, the distribution of forces among contacts is not unique; one distribution is returned. A maximal
set of independent rows is then added to the equation of motion, and all forces follow from their multipliers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .compliance import yielding
from .contact_modes import (
    DEPENDENT,
    NOTHING,
    Case,
    ContactModes,
    Grip,
    Problem,
    acts,
    ahead_of,
    excess,
    forces_in,
    held_rows,
    load_of,
)
from .gauss_seidel import swept
from .lcp import completed
from .loads_at_rest import held_by_all

# Relative tolerance of a friction force at its limit, used if an event has located the instant.
AT_LIMIT = 1e-10
# Relative reduction of friction limits in a second search if the first one fails; large compared with the accuracy of
# slip directions.
LOWERED = 1e-6
# Maximum number of mode changes in a search, and of visits to the same modes (cycling).
MOST_CHANGES, MOST_REPEATED = 100, 8
# Accuracy of loads from the compliance limit, over the largest load.
SHARED = 1e-6
# Tensile loads of contacts below this fraction of the largest force are round-off, in this search and in runs.
UNLOADED = 1e-9


def coulomb(
    W: np.ndarray,
    q: np.ndarray,
    contacts: Sequence[int],
    grips: Sequence[Grip],
    noise: np.ndarray | float = 0.0,
    compliance: np.ndarray | float = 1.0,
) -> ContactModes | None:
    """Return contact modes that satisfy all inequalities, with their forces, or None if the search fails.

    For dependent contacts, the loads are those of minimum norm, as for contacts with equal compliance.

    Parameters
    ----------
    W : (r, r) accelerations along r rows per unit force along each row
    q : (r,) accelerations without these forces
    contacts : indices of the rows of all closed contacts
    grips : all friction elements
    noise : (r,) round-off of w
    compliance : (r,) relative compliances of the rows, for dependent contacts
    """
    shape = q.shape
    problem = Problem(W, q, grips, np.broadcast_to(noise, shape), np.broadcast_to(compliance, shape))
    if grips and _dependent(problem, contacts):
        modes = _all_held(problem, contacts) or _shared_out(problem, contacts)
        if modes is not None:
            return modes
    modes = _found(problem, contacts)
    if modes is None and grips:
        modes = _found(replace(problem, grips=[_lowered(grip) for grip in grips]), contacts)
    return modes


def _dependent(problem: Problem, contacts: Sequence[int]) -> bool:
    """Return whether the rows of closed contacts and non-sliding friction are linearly dependent."""
    sticking = [row for grip in problem.grips if grip.moving is None for row in grip.rows]
    rows = [row for row in (*contacts, *sticking) if problem.W[row, row] > 0]
    scale = np.sqrt(np.diag(problem.W)[rows])
    sizes = np.linalg.eigvalsh(problem.W[np.ix_(rows, rows)] / scale[:, None] / scale)
    return bool(sizes[0] <= DEPENDENT * sizes[-1]) if rows else False


def _all_held(problem: Problem, contacts: Sequence[int]) -> ContactModes | None:
    """Return contact modes in which all contacts and all friction that does not slide yet remain at rest, or None.

    Sliding contacts that would be in tension are opened. The result is None if the loads violate an inequality.
    """
    if any(grip.at_limit for grip in problem.grips):
        return None
    joints = [grip for grip in problem.grips if grip.contact is None]
    driven = [row for grip in joints for row in grip.rows if problem.W[row, row] == 0]
    if (np.abs(problem.q) > problem.slow(np.zeros(len(problem.q))))[driven].any():
        return None
    closed, sliding = [*contacts], {grip.contact for grip in problem.grips if grip.moving is not None}
    while closed or joints:
        grips = [grip for grip in problem.grips if grip.contact is None or grip.contact in closed]
        loads = held_by_all(problem.W, problem.q, closed, grips, problem.compliance)
        if loads is None:
            return None
        z, margin = loads
        if margin > 0:
            opened = [c for c in contacts if c not in closed]
            if (problem.w(z)[opened] < -problem.slow(z)[opened]).any():
                return None
            return _settled(problem, z, Case({*closed}, [grip.moving for grip in problem.grips], z))
        pulled = min(sliding.intersection(closed), key=lambda c: z[c], default=None)
        if pulled is None or z[pulled] > 0:
            return None
        closed.remove(pulled)
    return None


def _shared_out(problem: Problem, contacts: Sequence[int]) -> ContactModes | None:
    """Return the contact modes in the limit of vanishing compliance, or None if the search fails.

    Their loads are computed again for rigid contacts, to the accuracy of round-off.
    """
    case = yielding(problem, contacts)
    if case is None:
        return None
    z = _without_pull(problem, case)
    if z is None or not _agrees(problem, z, contacts, case):
        return None
    case.near = z
    return _settled(problem, z, case)


def _without_pull(problem: Problem, case: Case) -> np.ndarray | None:
    """Return the forces (r,) after contacts in tension are opened one by one, or None if Newton's method fails.

    Modes in the limit of vanishing compliance may count a barely unloaded contact as loaded; a run would open it
    immediately. The contact modes `case` are modified.
    """
    while True:
        z = forces_in(problem, case, turning=False)
        worst = None if z is None else min(case.pushing, key=lambda c: z[c], default=None)
        if z is None or worst is None or z[worst] >= -UNLOADED * np.abs(z).max():
            return z
        case.pushing.discard(worst)
        case.near = z


def _agrees(problem: Problem, z: np.ndarray, contacts: Sequence[int], case: Case) -> bool:
    """Return whether the forces z (r,) satisfy all inequalities of contact and friction.

    `contacts` are the rows of all closed contacts, and `case` are the contact modes. The tolerance is the accuracy of
    the search by vanishing compliance, not round-off.
    """
    w, largest = problem.w(z), np.abs(z).max(initial=0.0)
    slow = problem.slow(z) * SHARED / NOTHING
    if (z[list(contacts)] < -SHARED * largest).any() or (w[list(contacts)] < -slow[list(contacts)]).any():
        return False
    for grip, e in zip(problem.grips, case.sliding, strict=True):
        if not acts(grip, case):
            continue
        if e is None and grip.static < np.inf and excess(grip, z, case) > SHARED * largest:
            return False
        if e is not None and grip.moving is None and float(w[grip.rows] @ e) < -slow[grip.rows].max():
            return False
    return True


def _lowered(grip: Grip) -> Grip:
    """Return a copy of a friction element with slightly lower coefficients.

    Slightly different coefficients separate elements that reach their limits simultaneously.
    """
    return replace(grip, coefficient=(1.0 - LOWERED) * grip.coefficient, static=(1.0 - LOWERED) * grip.static)


def _found(problem: Problem, contacts: Sequence[int]) -> ContactModes | None:
    """Search for contact modes that satisfy all inequalities, from several initial guesses; contacts may be dependent.

    The initial guesses are: all friction without slip sticks; all friction without slip slides along the accelerations
    without friction; and the modes found by projected Gauss-Seidel sweeps. The result is None if all searches fail.
    """
    q, grips, none = problem.q, problem.grips, np.zeros(len(problem.q))
    slow = problem.slow(none)
    # Friction that never slips can stick at a contact without load.
    rough = {grip.contact for grip in grips if grip.static == np.inf}
    pushing = {c for c in contacts if q[c] < 0 or (c in rough and q[c] <= slow[c])}
    moving = [grip.moving for grip in grips]
    modes = _search(problem, contacts, Case({*pushing}, [*moving], none))
    if modes is not None or not grips:
        return modes
    sliding = [
        ahead_of(q[grip.rows]) if e is None and grip.static < np.inf else e
        for grip, e in zip(grips, moving, strict=True)
    ]
    modes = _search(problem, contacts, Case({*pushing}, sliding, none))
    for case in swept(problem, contacts) if modes is None else ():
        modes = _search(problem, contacts, case)
        if modes is not None:
            return modes
    return modes


def _search(problem: Problem, contacts: Sequence[int], case: Case) -> ContactModes | None:
    """Change one contact mode at a time until all inequalities hold; return the modes, or None if the search cycles.

    `case` are the initial modes, and `contacts` the rows of all closed contacts.
    """
    seen: Counter[tuple] = Counter()
    for _ in range(MOST_CHANGES):
        z = forces_in(problem, case)
        if z is None:
            return None
        case.near = z
        if not _changed(problem, z, contacts, case):
            return _settled(problem, z, case)
        seen[case.key] += 1
        if seen[case.key] > MOST_REPEATED:
            return None
    return None


def _changed(problem: Problem, z: np.ndarray, contacts: Sequence[int], case: Case) -> bool:
    """Change the contact mode with the worst violation of its inequality; return False if there is no violation.

    z are the forces for the contact modes `case`, and `contacts` the rows of all closed contacts.
    """
    small, slow, w = NOTHING * np.abs(z).max(initial=0.0), problem.slow(z), problem.w(z)
    # Friction that should slide may, while constrained, load or open its contact: check it first.
    if _slips(z, w, slow, small, problem.grips, case):
        return True
    worst = min(case.pushing, key=lambda c: z[c], default=None)
    if worst is not None and z[worst] < -small:
        case.pushing.discard(worst)
        return True
    open_ones = [c for c in contacts if c not in case.pushing]
    worst = min(open_ones, key=lambda c: w[c] / slow[c], default=None)
    if worst is not None and w[worst] < -slow[worst]:
        case.pushing.add(worst)
        return True
    return _turns(w, slow, problem.grips, case)


def _slips(z: np.ndarray, w: np.ndarray, slow: np.ndarray, small: float, grips: Sequence[Grip], case: Case) -> bool:
    """Switch the friction element with the worst violation from sticking to sliding; return False if none violates.

    A violation is a force outside the friction cone, or any slip. z and w (r,) are the forces and accelerations; below
    `small` and `slow` (r,) they count as zero. `grips` are the friction elements, and `case` are the contact modes,
    which are modified.
    """
    worst: int | None = None
    most = 0.0
    for k, (grip, e) in enumerate(zip(grips, case.sliding, strict=True)):
        N, _ = load_of(grip, z, case)
        if e is not None or not acts(grip, case):
            continue
        force = float(np.linalg.norm(z[grip.rows]))
        limit = grip.static * (1.0 - AT_LIMIT if grip.at_limit else 1.0)
        # Friction with infinite coefficient sticks even without load.
        limit = limit * max(N, 0.0) if limit < np.inf else np.inf
        beyond = force - limit - small
        if (np.abs(w[grip.rows]) > slow[grip.rows]).any() and limit < np.inf:
            beyond = np.inf
        if beyond > most:
            worst, most = k, beyond
    if worst is None:
        return False
    rows = grips[worst].rows
    along = -z[rows] if most < np.inf else w[rows]
    case.sliding[worst] = along / np.linalg.norm(along)
    return True


def _turns(w: np.ndarray, slow: np.ndarray, grips: Sequence[Grip], case: Case) -> bool:
    """Switch one friction element from sliding to sticking if its slip is opposite to its assumed direction.

    Returns False if there is no such element. w (r,) are the accelerations, which count as zero below `slow` (r,).
    `grips` are the friction elements, and `case` are the contact modes, which are modified.
    """
    for k, (grip, e) in enumerate(zip(grips, case.sliding, strict=True)):
        if e is None or grip.moving is not None or not acts(grip, case):
            continue
        if float(w[grip.rows] @ e) < -slow[grip.rows].max():
            case.sliding[k] = None
            return True
    return False


def _settled(problem: Problem, z: np.ndarray, case: Case) -> ContactModes:
    """Return the result of the search for the contact modes `case`, with their forces z (r,)."""
    W, grips, r = problem.W, problem.grips, len(z)
    held = held_rows(W, grips, case)
    pushing = np.isin(np.arange(r), sorted(case.pushing)) & held
    rows = completed(W, completed(W, np.zeros(r, dtype=bool), pushing), held)
    driven = [e is not None and _follows(W, rows, g, e) for g, e in zip(grips, case.sliding, strict=True)]
    return ContactModes(z, problem.w(z), held, rows, [*case.sliding], driven, problem.slow(z))


def _follows(W: np.ndarray, held: np.ndarray, grip: Grip, e: np.ndarray) -> bool:
    """Return whether the slip of a friction element in the direction e is determined by the constrained rows.

    `held` (r,) is the mask of the constrained rows, which are independent, and W is the matrix of the contact problem.
    """
    row, response = e @ W[grip.rows], float(e @ W[np.ix_(grip.rows, grip.rows)] @ e)
    if not held.any():
        return False
    return bool(response - row[held] @ np.linalg.solve(W[np.ix_(held, held)], row[held]) <= NOTHING * response)
