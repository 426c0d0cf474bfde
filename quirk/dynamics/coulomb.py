"""Which contacts push, and what sticks or slides on them: loads and accelerations, or impulses and velocities.

Rows are the gaps of contacts and the components of slip; forces z along them change their accelerations, w = W z + q.
Of contacts z >= 0, w >= 0 and z w = 0. What sticks has w = 0 and a force within the cone, |z| <= static N, with N the
load of its contact or joint; what slides has a force -coefficient N e, against its slip or, where it only begins to
slide, with w along e (Coulomb). The case, what pushes and what sticks, is found by changing the worst violation at a
time; in each case z is the shortest solution of linear equations, up to loads N of joints, which are norms.

Where rows depend on each other, forces may be shared out among contacts in many ways, of which the shortest z is one.
Some rows that are independent are then rows of the equation of motion, and all forces follow from their multipliers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .bearing import JointLoad
from .complementarity import completed

# Forces and accelerations below this part of the largest are nothing.
NOTHING = 1e-12
# A force has reached its limit, where an event says so, within this part.
AT_LIMIT = 1e-10
MOST_CHANGES, MOST_REPEATED, MOST_NEWTON = 100, 8, 40
# Newton's method has converged.
CONVERGED = 1e-14
# Most rounds in which forces are shared out anew.
EASINGS = 40
# After so many sweeps of projections the case that they tell is tried.
SWEEPS = 10, 30, 100, 300, 1000, 3000
# Forces this near to their limit have reached it, as far as sweeps can tell.
SWEPT = 1e-6
# Singular values of the rows below this part of the largest are zero.
DEPENDENT = 1e-10
# Minors of dependent contacts are zero up to this.
ZERO = 1e-10
# Principal minors of so many contacts are looked at.
MOST_CONTACTS = 10


@dataclass
class Grip:
    """Friction of one joint or contact among the rows.

    Attributes
    ----------
    rows : of its components of slip
    coefficient, static : of friction
    contact : row of its contact, or None for a joint
    load : of a joint, from the forces z (r,) along all rows
    moving : direction (d,) in which its bodies slide, or None if they do not
    at_limit : whether it is known to have reached its limit
    """

    rows: list[int]
    coefficient: float
    static: float
    contact: int | None = None
    load: JointLoad | None = None
    moving: np.ndarray | None = None
    at_limit: bool = False


@dataclass(frozen=True)
class Problem:
    """W (r, r), q (r,), friction, and the accelerations (r,) that are round-off."""

    W: np.ndarray
    q: np.ndarray
    grips: Sequence[Grip]
    noise: np.ndarray

    def w(self, z: np.ndarray) -> np.ndarray:
        """Return accelerations (r,) from forces (r,)."""
        return np.asarray(self.W @ z + self.q)

    def slow(self, z: np.ndarray) -> np.ndarray:
        """Accelerations (r,) that are nothing: rows may be of different units, which the diagonal of W tells."""
        scale = np.sqrt(np.diag(self.W))
        known = scale > 0
        largest = (np.abs(self.W) @ np.abs(z) + np.abs(self.q))[known] / scale[known]
        rest = np.abs(self.q).max(initial=0.0)
        nothing = NOTHING * np.where(known, largest.max(initial=0.0) * scale, rest)
        return np.asarray(nothing + self.noise + np.finfo(float).tiny)


@dataclass
class Case:
    """What pushes, and the direction in which each friction acts, None for what sticks; forces (r,) to begin with."""

    pushing: set[int]
    sliding: list[np.ndarray | None]
    near: np.ndarray

    @property
    def key(self) -> tuple:
        """What tells cases apart, up to directions."""
        return frozenset(self.pushing), tuple(e is None for e in self.sliding)


@dataclass(frozen=True)
class Found:
    """A case that violates nothing.

    Attributes
    ----------
    z, w : (r,) forces along the rows and accelerations, or impulses and velocities
    held : (r,) bool, rows that are kept at zero
    rows : (r,) bool, of these some that are independent, from which the others follow
    sliding : of each friction the direction in which it acts, None for what sticks or has no load
    driven : of each friction that slides whether its slip follows from rows that are held, and cannot grow
    slow : (r,) of w below which it is nothing
    """

    z: np.ndarray
    w: np.ndarray
    held: np.ndarray
    rows: np.ndarray
    sliding: list[np.ndarray | None]
    driven: list[bool]
    slow: np.ndarray


def coulomb(
    W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], noise: np.ndarray | float = 0.0
) -> Found | None:
    """Return forces that violate nothing, or None if none are found.

    Where anything slides, of contacts that depend on each other only independent ones push: friction is in proportion
    to the multipliers of their rows.

    Parameters
    ----------
    W : (r, r)
    q : (r,)
    contacts : rows of all closed contacts
    grips : all friction
    noise : (r,) of w that is round-off
    """
    problem = Problem(W, q, grips, np.broadcast_to(noise, q.shape))
    found = _found(problem, contacts)
    if found is None:
        return None
    slides = any(e is not None and grip.contact in contacts for grip, e in zip(grips, found.sliding, strict=True))
    needed = _supporting(W, found.z, [c for c in contacts if found.z[c] > 0]) if slides else None
    return found if needed is None else _found(problem, needed)


def _found(problem: Problem, contacts: Sequence[int]) -> Found | None:
    """The same of some contacts, which may depend on each other.

    The search begins with all sticking that does not move; if it fails, with all sliding as it would without friction;
    and then with what more and more sweeps of projections tell.
    """
    q, grips, none = problem.q, problem.grips, np.zeros(len(problem.q))
    slow = problem.slow(none)
    # What never slips can be held where it touches alone.
    rough = {grip.contact for grip in grips if grip.static == np.inf}
    pushing = {c for c in contacts if q[c] < 0 or (c in rough and q[c] <= slow[c])}
    moving = [grip.moving for grip in grips]
    found = _search(problem, contacts, Case({*pushing}, [*moving], none))
    if found is not None or not grips:
        return found
    sliding = [
        _ahead(q[grip.rows]) if e is None and grip.static < np.inf else e for grip, e in zip(grips, moving, strict=True)
    ]
    found = _search(problem, contacts, Case({*pushing}, sliding, none))
    for case in _swept(problem, contacts) if found is None else ():
        found = _search(problem, contacts, case)
        if found is not None:
            return found
    return found


def _search(problem: Problem, contacts: Sequence[int], case: Case) -> Found | None:
    """Change a case until nothing violates it."""
    seen: Counter[tuple] = Counter()
    for _ in range(MOST_CHANGES):
        z = _forces(problem, case)
        if z is None:
            return None
        z = _eased(problem, z, case)
        if not _changed(problem, z, contacts, case):
            return _settled(problem, z, case)
        seen[case.key] += 1
        if seen[case.key] > MOST_REPEATED:
            return None
    return None


def _ahead(slip: np.ndarray) -> np.ndarray | None:
    size = np.linalg.norm(slip)
    return slip / size if size > 0 else None


def _swept(problem: Problem, contacts: Sequence[int]) -> Iterator[Case]:
    """Yield cases that sweeps of projections tell: each row, or friction, by itself against all others.

    (Jean, Comput. Methods Appl. Mech. Eng. 177 (1999): nonlinear Gauss-Seidel.)
    """
    W, q, grips = problem.W, problem.q, problem.grips
    z, own = np.zeros(len(q)), np.diag(W)
    steps = [max(float(np.linalg.eigvalsh(W[np.ix_(g.rows, g.rows)])[-1]), np.finfo(float).tiny) for g in grips]
    full = [False] * len(grips)
    for n in range(1, SWEEPS[-1] + 1):
        for c in contacts:
            if own[c] > 0:
                z[c] = max(0.0, z[c] - (W[c] @ z + q[c]) / own[c])
        for k, grip in enumerate(grips):
            rows = grip.rows
            load = max(float(z[grip.contact]) if grip.contact is not None else _of_joint(grip, z)[0], 0.0)
            if grip.moving is not None:
                z[rows] = -grip.coefficient * load * grip.moving
                continue
            tried = z[rows] - (W[rows] @ z + q[rows]) / steps[k]
            size, limit = float(np.linalg.norm(tried)), grip.static * load if load > 0 else 0.0
            full[k] = size > (1.0 - SWEPT) * limit
            z[rows] = tried * (grip.coefficient * load / size) if size > limit else tried
        if n in SWEEPS:
            pushing = {c for c in contacts if z[c] > 0}
            sliding = [
                grip.moving if grip.moving is not None else _ahead(-z[grip.rows]) if full[k] else None
                for k, grip in enumerate(grips)
            ]
            yield Case(pushing, sliding, z.copy())


def has_one_solution(W: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], found: Found) -> bool:
    """Whether friction that slides reacts upon its own loads so little that there are no other loads, and always some.

    Of contacts all principal minors of W_nn - mu W_nt are then positive (a P-matrix); of many contacts only the first
    are looked at. Of a joint the load that its friction makes by itself is less than the friction.
    """
    held = np.flatnonzero(found.rows & ~np.isin(np.arange(len(W)), contacts))
    answer = np.eye(len(W))
    if len(held):
        answer[held] -= np.linalg.solve(W[np.ix_(held, held)], W[held])
    drag = np.zeros((len(W), len(W)))
    for grip, e in zip(grips, found.sliding, strict=True):
        if e is None:
            continue
        against = np.zeros(len(W))
        against[grip.rows] = -grip.coefficient * e
        if grip.contact is not None:
            drag[:, grip.contact] += against
        elif grip.load is not None and not grip.load.reaction(answer @ against) < 1.0:
            return False
    pushing = [c for c in contacts if found.z[c] > 0][:MOST_CONTACTS]
    scale = np.sqrt(np.diag(W))[pushing]
    V = (W @ answer @ (np.eye(len(W)) + drag))[np.ix_(pushing, pushing)] / scale[:, None] / scale
    subsets = (list(s) for k in range(1, len(pushing) + 1) for s in combinations(range(len(pushing)), k))
    return all(np.linalg.det(V[np.ix_(s, s)]) > (ZERO if len(s) == 1 else -ZERO) for s in subsets)


def _forces(problem: Problem, case: Case) -> np.ndarray | None:
    """Forces (r,) in one case, those nearest to where it begins; and the directions in which anything begins to slide.

    By Newton's method, since loads of joints are norms, and directions those of w.
    """
    W, q, grips = problem.W, problem.q, problem.grips
    held, z = _held(W, grips, case), case.near
    scale = np.sqrt(np.diag(W))
    scale = np.where(scale > 0, scale, 1.0)
    for _ in range(MOST_NEWTON):
        w = W @ z + q
        J, rest = np.eye(len(q)), z.copy()
        J[held], rest[held] = W[held], w[held]
        for k, (grip, e) in enumerate(zip(grips, case.sliding, strict=True)):
            if e is None:
                continue
            N, slopes = _load(grip, z, case)
            rows, mu = grip.rows, grip.coefficient
            rest[rows] = z[rows] + mu * N * e
            J[rows] += mu * np.outer(e, slopes)
            ahead = float(w[rows] @ e)
            if grip.moving is None and len(e) > 1 and N > 0 and ahead > problem.slow(z)[rows].max():
                new = w[rows] / np.linalg.norm(w[rows])
                case.sliding[k] = new
                rest[rows] = z[rows] + mu * N * new
                J[rows] += mu * (np.outer(new - e, slopes))
                across = np.eye(len(e)) - np.outer(new, new)
                J[rows] += mu * N / np.linalg.norm(w[rows]) * across @ W[rows]
        # In units in which each row answers its own force by one; what is held twice is shared.
        J = J / scale
        J[held] /= scale[held, None]
        J[~held] *= scale[~held, None]
        try:
            step = -np.linalg.lstsq(J, np.where(held, rest / scale, rest * scale), rcond=DEPENDENT)[0] / scale
        except np.linalg.LinAlgError:
            return None
        z = z + step
        if not np.isfinite(z).all():
            return None
        if np.abs(step * scale).max(initial=0.0) <= CONVERGED * np.abs(z * scale).max(initial=0.0):
            break
    return z


def _eased(problem: Problem, z: np.ndarray, case: Case) -> np.ndarray:
    """Forces that do the same, shared out so that what sticks is within its cone, if they can be.

    The largest part of its limit that any takes is made least, by Lawson's weights (Rice and Usow, Math. Comput. 22
    (1968)).
    """
    W, small = problem.W, NOTHING * np.abs(z).max(initial=0.0)
    sticking = [
        grip
        for grip, e in zip(problem.grips, case.sliding, strict=True)
        if e is None and _acts(grip, case) and grip.static < np.inf
    ]
    if not any(_excess(grip, z, case) > small for grip in sticking):
        return z
    rows = np.flatnonzero(_held(W, problem.grips, case))
    scale = np.sqrt(np.diag(W)[rows])
    sizes, vectors = np.linalg.eigh(W[np.ix_(rows, rows)] / scale[:, None] / scale)
    free = np.zeros((len(z), int((sizes < DEPENDENT * sizes[-1]).sum())))
    free[rows] = vectors[:, : free.shape[1]] / scale[:, None]
    if not free.shape[1]:
        return z
    weights, found = np.ones(len(sticking)), z
    for _ in range(EASINGS):
        limits = np.array([grip.static * max(_load(grip, found, case)[0], small) + small for grip in sticking])
        parts = [(np.sqrt(x) / limit, grip.rows) for x, limit, grip in zip(weights, limits, sticking, strict=True)]
        A = np.concatenate([size * free[own] for size, own in parts])
        b = np.concatenate([size * z[own] for size, own in parts])
        found = z - free @ np.linalg.lstsq(A, b, rcond=DEPENDENT)[0]
        if all(_excess(grip, found, case) <= 0.0 for grip in sticking):
            return found
        ratios = np.array([np.linalg.norm(found[g.rows]) / limit for g, limit in zip(sticking, limits, strict=True)])
        weights = weights * ratios
        weights = weights / max(weights.sum(), np.finfo(float).tiny)
    return z


def _excess(grip: Grip, z: np.ndarray, case: Case) -> float:
    """By how much what sticks is outside its cone, N or N s."""
    return float(np.linalg.norm(z[grip.rows])) - grip.static * max(_load(grip, z, case)[0], 0.0)


def _held(W: np.ndarray, grips: Sequence[Grip], case: Case) -> np.ndarray:
    """Which rows (r,) are kept at zero: of contacts that push, and of what sticks, where anything can move at all."""
    held = np.isin(np.arange(len(W)), sorted(case.pushing))
    for grip, e in zip(grips, case.sliding, strict=True):
        if e is None and _acts(grip, case):
            held[grip.rows] = True
    return held & (np.diag(W) > 0)


def _acts(grip: Grip, case: Case) -> bool:
    """Whether a friction has a load: its contact pushes, or it is of a joint."""
    return grip.contact is None or grip.contact in case.pushing


def _load(grip: Grip, z: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """The load N of a friction, and its slopes (r,)."""
    slopes = np.zeros(len(z))
    if grip.contact is not None:
        if grip.contact not in case.pushing:
            return 0.0, slopes
        slopes[grip.contact] = 1.0
        return float(z[grip.contact]), slopes
    return _of_joint(grip, z)


def _of_joint(grip: Grip, z: np.ndarray) -> tuple[float, np.ndarray]:
    assert grip.load is not None
    return grip.load(z)


def _changed(problem: Problem, z: np.ndarray, contacts: Sequence[int], case: Case) -> bool:
    """Change the case where it is violated worst; returns whether it is."""
    small, slow, w = NOTHING * np.abs(z).max(initial=0.0), problem.slow(z), problem.w(z)
    # What should slide may, while it is held, pull its contact shut or open: it comes first.
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
    """Let the friction slide whose force is the farthest outside its cone, or whose slip is not held."""
    worst: int | None = None
    most = 0.0
    for k, (grip, e) in enumerate(zip(grips, case.sliding, strict=True)):
        N, _ = _load(grip, z, case)
        if e is not None or not _acts(grip, case):
            continue
        force = float(np.linalg.norm(z[grip.rows]))
        limit = grip.static * (1.0 - AT_LIMIT if grip.at_limit else 1.0)
        # What never slips does not even where its load vanishes.
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
    """Let what friction would push back stick."""
    for k, (grip, e) in enumerate(zip(grips, case.sliding, strict=True)):
        if e is None or grip.moving is not None or not _acts(grip, case):
            continue
        if float(w[grip.rows] @ e) < -slow[grip.rows].max():
            case.sliding[k] = None
            return True
    return False


def _settled(problem: Problem, z: np.ndarray, case: Case) -> Found:
    """What a case without violations says."""
    W, grips, r = problem.W, problem.grips, len(z)
    held = _held(W, grips, case)
    pushing = np.isin(np.arange(r), sorted(case.pushing)) & held
    rows = completed(W, completed(W, np.zeros(r, dtype=bool), pushing), held)
    driven = [e is not None and _follows(W, rows, g, e) for g, e in zip(grips, case.sliding, strict=True)]
    return Found(z, problem.w(z), held, rows, [*case.sliding], driven, problem.slow(z))


def _supporting(W: np.ndarray, z: np.ndarray, contacts: list[int]) -> list[int] | None:
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


def _follows(W: np.ndarray, held: np.ndarray, grip: Grip, e: np.ndarray) -> bool:
    """Whether the slip of a friction in its direction follows from rows that are held."""
    row, own = e @ W[grip.rows], float(e @ W[np.ix_(grip.rows, grip.rows)] @ e)
    if not held.any():
        return False
    return bool(own - row[held] @ np.linalg.solve(W[np.ix_(held, held)], row[held]) <= NOTHING * own)


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
