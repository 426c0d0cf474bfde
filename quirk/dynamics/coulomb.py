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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .bearing import JointLoad
from .complementarity import completed

# Forces and accelerations below this part of the largest are nothing.
NOTHING = 1e-12
# A force has reached its limit, where an event says so, within this part.
AT_LIMIT = 1e-6
# The direction in which bodies begin to slide has been found if so much of what begins is across it.
FOUND = 1e-11
MOST_CHANGES, MOST_REPEATED, MOST_NEWTON = 200, 20, 30
# Steps towards the forces of least dissipation, and how often loads are found anew for these.
DESCENTS, ROUNDS = 2000, 5
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


@dataclass
class Case:
    """What pushes, and the direction in which each friction acts; None for what sticks."""

    pushing: set[int]
    sliding: list[np.ndarray | None]

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


def coulomb(W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip]) -> Found | None:
    """Return forces that violate nothing, or None if none are found.

    Where anything slides, of contacts that depend on each other only independent ones push: friction is in proportion
    to the multipliers of their rows.

    Parameters
    ----------
    W : (r, r)
    q : (r,)
    contacts : rows of all closed contacts
    grips : all friction
    """
    found = _found(W, q, contacts, grips)
    if found is None:
        return None
    slides = any(e is not None and grip.contact in contacts for grip, e in zip(grips, found.sliding, strict=True))
    needed = _supporting(W, found.z, [c for c in contacts if found.z[c] > 0]) if slides else None
    return found if needed is None else _found(W, q, needed, grips)


def _found(W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip]) -> Found | None:
    """The same of some contacts, which may depend on each other.

    The search begins with all sticking that does not move; if it fails, with all sliding as it would without friction;
    and then with what the forces of least dissipation tell.
    """
    slow = _slow(W, q)
    # What never slips can be held where it touches alone.
    rough = {grip.contact for grip in grips if grip.static == np.inf}
    pushing = {c for c in contacts if q[c] < 0 or (c in rough and q[c] <= slow[c])}
    moving = [grip.moving for grip in grips]
    found = _search(W, q, contacts, grips, Case({*pushing}, [*moving]))
    if found is None and grips:
        sliding = [
            _ahead(q[grip.rows]) if e is None and grip.static < np.inf else e
            for grip, e in zip(grips, moving, strict=True)
        ]
        found = _search(W, q, contacts, grips, Case({*pushing}, sliding))
    if found is None and grips:
        found = _search(W, q, contacts, grips, _of_least_dissipation(W, q, pushing, grips))
    return found


def _search(W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], case: Case) -> Found | None:
    """Change a case until nothing violates it."""
    seen: Counter[tuple] = Counter()
    for _ in range(MOST_CHANGES):
        z = _forces(W, q, case, grips)
        if z is None or not np.isfinite(z).all():
            return None
        w = W @ z + q
        before = case.key
        if not _changed(W, q, z, w, contacts, grips, case):
            return _settled(W, q, z, w, grips, case)
        if case.key != before:
            seen[case.key] += 1
            if seen[case.key] > MOST_REPEATED:
                return None
    return None


def _ahead(slip: np.ndarray) -> np.ndarray | None:
    size = np.linalg.norm(slip)
    return slip / size if size > 0 else None


def _of_least_dissipation(W: np.ndarray, q: np.ndarray, pushing: set[int], grips: Sequence[Grip]) -> Case:
    """The case that follows from friction of which the limits are given: it minimises z.W z / 2 + q.z within these.

    By projected gradients with momentum (Beck and Teboulle 2009), and with the limits of the loads found by turns.
    """
    case = Case({*pushing}, [grip.moving for grip in grips])
    free = [k for k, grip in enumerate(grips) if grip.moving is None and grip.static < np.inf]
    rows = [row for k in free for row in grips[k].rows]
    place = {row: n for n, row in enumerate(rows)}
    own = [[place[row] for row in grips[k].rows] for k in free]
    V = W[np.ix_(rows, rows)]
    step = 1.0 / max(float(np.linalg.eigvalsh(V)[-1]) if rows else 1.0, np.finfo(float).tiny)
    for _ in range(ROUNDS):
        z = _forces(W, q, case, grips)
        if z is None:
            break
        limits = [grips[k].static * max(_load(grips[k], z, case)[0], 0.0) for k in free]
        others = z.copy()
        others[rows] = 0.0
        goal = (W @ others + q)[rows]
        x = before = np.zeros(len(rows))
        for n in range(DESCENTS):
            ahead = x + n / (n + 3) * (x - before)
            before, x = x, ahead - step * (V @ ahead + goal)
            for part, limit in zip(own, limits, strict=True):
                size = np.linalg.norm(x[part])
                x[part] *= limit / size if size > limit else 1.0
        for k, part, limit in zip(free, own, limits, strict=True):
            full = np.linalg.norm(x[part]) > (1.0 - AT_LIMIT) * limit
            case.sliding[k] = _ahead(-x[part]) if full else None
    return case


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


def _forces(W: np.ndarray, q: np.ndarray, case: Case, grips: Sequence[Grip]) -> np.ndarray | None:
    """Forces (r,) in one case, by Newton's method where loads of joints are norms."""
    r = len(q)
    r = len(q)
    held = _held(W, grips, case)
    scale = np.sqrt(np.diag(W))
    scale = np.where(scale > 0, scale, 1.0)
    z = np.zeros(r)
    for _ in range(MOST_NEWTON):
        A, b = np.eye(r), np.zeros(r)
        A[held], b[held] = W[held], -q[held]
        for grip, e in zip(grips, case.sliding, strict=True):
            if e is not None:
                N, slopes = _load(grip, z, case)
                for row, part in zip(grip.rows, e, strict=True):
                    A[row] += grip.coefficient * part * slopes
                    b[row] = -grip.coefficient * part * (N - slopes @ z)
        # Forces in units in which each row answers its own by one; what is held twice is shared.
        S = A / scale
        S[held] /= scale[held, None]
        S[~held] *= scale[~held, None]
        b = np.where(held, b / scale, b * scale)
        try:
            new = np.linalg.lstsq(S, b, rcond=DEPENDENT)[0] / scale
        except np.linalg.LinAlgError:
            return None
        done = np.abs(new - z).max(initial=0.0) <= 1e-14 * np.abs(new).max(initial=0.0)
        z = new
        if done or all(grip.load is None for grip in grips):
            break
    return z


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
    assert grip.load is not None
    return grip.load(z)


def _changed(
    W: np.ndarray,
    q: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    contacts: Sequence[int],
    grips: Sequence[Grip],
    case: Case,
) -> bool:
    """Change the case where it is violated worst; returns whether it is."""
    small, slow = NOTHING * np.abs(z).max(initial=0.0), _slow(W, q)
    # What should slide may, while it is held, pull its contact shut or open: it comes first.
    if _slips(z, w, slow, small, grips, case):
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
    return _turns(w, slow, grips, case)


def _slow(W: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Accelerations (r,) that are nothing: rows may be of different units, which the diagonal of W tells."""
    scale = np.sqrt(np.abs(np.diag(W)))
    known = scale > 0
    largest = np.abs(q[known] / scale[known]).max(initial=0.0)
    return np.asarray(NOTHING * np.where(known, largest * scale, np.abs(q).max(initial=0.0)) + np.finfo(float).tiny)


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
    """Let friction act against the slip that begins; what would be pushed back sticks."""
    for k, (grip, e) in enumerate(zip(grips, case.sliding, strict=True)):
        if e is None or grip.moving is not None or not _acts(grip, case):
            continue
        begun, limit = w[grip.rows], slow[grip.rows].max()
        ahead, size = float(begun @ e), float(np.linalg.norm(begun))
        if ahead < -limit:
            case.sliding[k] = None
            return True
        if size > limit and np.linalg.norm(begun - ahead * e) > limit + FOUND * size:
            case.sliding[k] = begun / size
            return True
    return False


def _settled(W: np.ndarray, q: np.ndarray, z: np.ndarray, w: np.ndarray, grips: Sequence[Grip], case: Case) -> Found:
    """What a case without violations says."""
    r = len(q)
    pushing = np.isin(np.arange(r), sorted(case.pushing))
    held = _held(W, grips, case)
    rows = completed(W, completed(W, np.zeros(r, dtype=bool), pushing), held)
    driven = [e is not None and _follows(W, rows, g, e) for g, e in zip(grips, case.sliding, strict=True)]
    return Found(z, w, held, rows, [*case.sliding], driven, _slow(W, q))


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
