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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

import numpy as np

from ..model.friction_normal_load import ConstantLoad
from .compliance import modes_of_compliant_contacts
from .contact_modes import (
    DEPENDENT,
    RELATIVE_ZERO,
    ContactModes,
    ContactProblem,
    FrictionElement,
    TrialModes,
    active_rows,
    forces_of_modes,
    has_normal_load,
    limit_excess,
    normal_load_of,
    unit_vector,
)
from .gauss_seidel import gauss_seidel_modes
from .lcp import independent_columns
from .load_sharing import MIN_SHARE, redistribution_basis
from .loads_at_rest import CONTACT, loads_with_all_sticking
from .one_contact import slip_directions_of_one_contact
from .uncoupled_problems import joined, uncoupled_problems

# Relative amount by which the friction limit is lowered if an event has located the time at which it is reached.
AT_LIMIT = 1e-10
# Relative reductions of friction limits in further searches if the first one fails: the least is large compared with
# the accuracy of slip directions; the others serve friction at its limit, where small accelerations define them.
COEFFICIENT_REDUCTIONS = 1e-6, 1e-5, 1e-4, 1e-3
# Smallest step of the continuation from static to sliding coefficients, which are 1 apart.
LEAST_STEP = 1 / 64
# Maximum number of mode changes in a search, and of visits to the same modes (cycling).
MAX_MODE_CHANGES, MAX_VISITS = 100, 8
# Largest number of joints at their limit of friction for which all combinations of slip directions are tried.
MOST_AT_LIMIT = 4
# Accuracy of loads from the compliance limit, over the largest load.
COMPLIANCE_ACCURACY = 1e-6
# Tensile loads of contacts below this fraction of the largest force are round-off, in this search and in runs.
UNLOADED = 1e-9


def solve_coulomb(
    W: np.ndarray,
    q: np.ndarray,
    contacts: Sequence[int],
    elements: Sequence[FrictionElement],
    noise: np.ndarray | float = 0.0,
    compliance: np.ndarray | float = 1.0,
    unloading: Iterable[int] = (),
) -> ContactModes | None:
    """Return contact modes that satisfy all inequalities, with their forces, or None if the search fails.

    For dependent contacts, the loads are those of minimum norm, as for contacts with equal compliance.

    Parameters
    ----------
    W : (r, r) accelerations along r rows per unit force along each row
    q : (r,) accelerations without these forces
    contacts : indices of the rows of all closed contacts
    elements : all friction elements
    noise : (r,) round-off of w
    compliance : (r,) relative compliances of the rows, for dependent contacts
    unloading : indices of the rows of contacts whose load has just fallen to zero
    """
    every = np.ones(len(q))
    problem = ContactProblem(W, q, elements, noise * every, compliance * every, frozenset(unloading))
    parts, solutions = uncoupled_problems(problem, contacts), list[ContactModes]()
    for part in parts:
        modes = _solve(part.problem, part.contacts)
        if modes is None:
            return None
        solutions.append(modes)
    return joined(parts, solutions, problem)


def _solve(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Return the solution of a contact problem whose rows are all coupled, as described in `solve_coulomb`."""
    elements = problem.elements
    dependent = bool(elements) and _rows_are_dependent(problem, contacts)
    if dependent:
        modes = _all_sticking(problem, contacts) or _compliance_limit(problem, contacts)
        if modes is not None:
            return _with_limit_reached(problem, contacts, modes)
    modes = _search_from_guesses(problem, contacts)
    if modes is None and any(element.coefficient < element.static < np.inf for element in elements):
        modes = _search_from_static_coefficients(problem, contacts)
    if modes is None and elements:
        modes = _search_from_guesses(_with_lower_coefficients(problem, COEFFICIENT_REDUCTIONS[0]), contacts)
    if modes is None and any(element.at_limit for element in elements):
        modes = _limit_of_lower_coefficients(problem, contacts, dependent)
    return modes


def _limit_of_lower_coefficients(
    problem: ContactProblem, contacts: Sequence[int], dependent: bool
) -> ContactModes | None:
    """Return the contact modes that follow from lower coefficients in the limit of the true ones, or None.

    Where all friction reaches its limit at once, accelerations vanish, and directions of slip are undefined. With lower
    coefficients they are defined, and tend to a limit. `contacts` are the rows of all closed contacts, and `dependent`
    states whether rows are dependent.
    """
    for k, reduction in enumerate(COEFFICIENT_REDUCTIONS[1:], 1):
        lowered = _with_lower_coefficients(problem, reduction)
        modes = (_compliance_limit(lowered, contacts) if dependent else None) or _search_from_guesses(lowered, contacts)
        for smaller in COEFFICIENT_REDUCTIONS[:k][::-1]:
            if modes is not None:
                lowered = _with_lower_coefficients(problem, smaller)
                modes = _search(lowered, contacts, _as_trial_modes(modes, contacts))
        if modes is None:
            continue
        trial = _as_trial_modes(modes, contacts)
        z = forces_of_modes(problem, trial, turning=False)
        if z is not None and _satisfies_inequalities(problem, z, contacts, trial):
            return _as_contact_modes(problem, z, trial)
    return None


def _rows_are_dependent(problem: ContactProblem, contacts: Sequence[int]) -> bool:
    """Return whether the rows of closed contacts and non-sliding friction are linearly dependent."""
    sticking = [row for element in problem.elements if element.slip_direction is None for row in element.rows]
    rows = [row for row in (*contacts, *sticking) if problem.W[row, row] > 0]
    scale = np.sqrt(np.diag(problem.W)[rows])
    sizes = np.linalg.eigvalsh(problem.W[np.ix_(rows, rows)] / scale[:, None] / scale)
    return bool(sizes[0] <= DEPENDENT * sizes[-1]) if rows else False


def _all_sticking(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Return the contact modes in which all friction sticks that does not slide yet and is not at its limit.

    Friction at its limit slides: of joints with a constant limit and one slip component, whose force is then known; the
    result is None for other friction. Sliding contacts that would be in tension are opened. The result is None if the
    loads violate an inequality.
    """
    at_limit = [k for k, element in enumerate(problem.elements) if element.at_limit]
    if len(at_limit) > MOST_AT_LIMIT or not all(_has_known_limit(problem.elements[k]) for k in at_limit):
        return None
    for signs in product((1.0, -1.0), repeat=len(at_limit)):
        elements = [*problem.elements]
        for k, sign in zip(at_limit, signs, strict=True):
            elements[k] = replace(elements[k], slip_direction=np.array([sign]), at_limit=False)
        modes = _others_sticking(replace(problem, elements=elements), contacts)
        if modes is not None and all(
            sign * modes.w[problem.elements[k].rows[0]] > -modes.zero_threshold[problem.elements[k].rows[0]]
            for k, sign in zip(at_limit, signs, strict=True)
        ):
            return modes
    return None


def _has_known_limit(element: FrictionElement) -> bool:
    return isinstance(element.normal_load, ConstantLoad) and len(element.rows) == 1


def _others_sticking(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Return the contact modes in which all contacts, and all friction elements that do not slide yet, stick."""
    joints = [element for element in problem.elements if element.contact is None and element.slip_direction is None]
    driven = [row for element in joints for row in element.rows if problem.W[row, row] == 0]
    if (np.abs(problem.q) > problem.zero_threshold(np.zeros(len(problem.q))))[driven].any():
        return None
    # Contacts that other constraints hold carry no load; friction with an infinite coefficient acts nevertheless.
    unlimited = {element.contact for element in problem.elements if element.static == np.inf}
    closed = [c for c in contacts if problem.W[c, c] > 0 or c in unlimited]
    slip_directions = {element.contact for element in problem.elements if element.slip_direction is not None}
    while closed or joints:
        elements = [element for element in problem.elements if element.contact is None or element.contact in closed]
        loads = loads_with_all_sticking(problem.W, problem.q, closed, elements, problem.compliance)
        if loads is None:
            return None
        z, margin = loads
        if margin > 0:
            opened = [c for c in contacts if c not in closed]
            if (problem.w(z)[opened] < -problem.zero_threshold(z)[opened]).any():
                return None
            return _as_contact_modes(
                problem, z, TrialModes({*closed}, [element.slip_direction for element in problem.elements], z)
            )
        tensile = min(slip_directions.intersection(closed), key=lambda c: z[c], default=None)
        if tensile is None or z[tensile] > 0:
            return None
        closed.remove(tensile)
    return None


def _compliance_limit(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Return the contact modes in the limit of vanishing compliance, or None if the search fails.

    Their loads are computed again for rigid contacts, to the accuracy of round-off.
    """
    trial = modes_of_compliant_contacts(problem, contacts)
    if trial is None:
        return None
    z = _with_tensile_contacts_open(problem, trial)
    modes = _sticking_after_lift_off(problem, contacts, trial)
    if modes is not None:
        return modes
    if z is None or not _satisfies_inequalities(problem, z, contacts, trial):
        return None
    trial.initial_guess = z
    return _as_contact_modes(problem, z, trial)


def _with_limit_reached(problem: ContactProblem, contacts: Sequence[int], modes: ContactModes) -> ContactModes:
    """Return contact modes in which friction known to be at its limit slides, or `modes` if it need not or cannot.

    In the limit of vanishing compliance, friction whose force equals its limit to the accuracy of loads may count as
    sticking. It would begin to slide at once, unless redistributions of load reduce its force.
    """
    trial, least = _as_trial_modes(modes, contacts), COMPLIANCE_ACCURACY * np.abs(modes.z).max(initial=0.0)
    at_limit = [
        k
        for k, (element, e) in enumerate(zip(problem.elements, modes.slip_directions, strict=True))
        if e is None and element.at_limit and limit_excess(element, modes.z, trial) > -least
    ]
    at_limit = [k for k in at_limit if has_normal_load(problem.elements[k], trial)]
    if not at_limit:
        return modes
    redistributions = redistribution_basis(problem.W, np.flatnonzero(modes.active))
    at_limit = [k for k in at_limit if not _is_relieved(problem.elements[k], modes.z, redistributions)]
    found = _search_from_guesses(problem, contacts) if at_limit else None
    if found is None or any(found.slip_directions[k] is None for k in at_limit):
        return modes
    return found


def _is_relieved(element: FrictionElement, z: np.ndarray, redistributions: np.ndarray) -> bool:
    """Whether redistributions of load (r, d) change the margin of sticking friction to its limit, at forces z (r,)."""
    direction = unit_vector(z[element.rows])
    if direction is None:
        return True
    change = direction @ redistributions[element.rows]
    if element.contact is not None:
        change -= element.static * redistributions[element.contact]
    return bool(np.abs(change).max(initial=0.0) > MIN_SHARE)


def _sticking_after_lift_off(
    problem: ContactProblem, contacts: Sequence[int], trial: TrialModes
) -> ContactModes | None:
    """Return the contact modes in which contacts at their limit open and the friction of all others sticks, or None.

    Contacts that share a load reach their limit together: by sliding, or because the load of some of them vanishes. The
    latter contacts are those at their limit without load in the modes `trial`. The result is None if there are none, or
    if the others cannot stick.
    """
    lifted = {element.contact for element in problem.elements if element.at_limit} - {None} - trial.loaded
    if not lifted:
        return None
    elements = [replace(element, at_limit=False) for element in problem.elements]
    modes = _others_sticking(replace(problem, elements=elements), [c for c in contacts if c not in lifted])
    opened = [c for c in contacts if c in lifted]
    if modes is None or (modes.w[opened] < -modes.zero_threshold[opened]).any():
        return None
    return modes


def _with_tensile_contacts_open(problem: ContactProblem, trial: TrialModes) -> np.ndarray | None:
    """Return the forces (r,) after contacts in tension are opened one by one, or None if Newton's method fails.

    Modes in the limit of vanishing compliance may count a barely unloaded contact as loaded; a run would open it
    immediately. Contacts that share a load also reach their limit of friction where the load of some of them vanishes;
    these open, instead of sliding without load, as do contacts whose load has just fallen to zero. The contact modes
    `trial` are modified.
    """
    at_limit = {element.contact for element in problem.elements if element.at_limit} | problem.unloading
    while True:
        z = forces_of_modes(problem, trial, turning=False)
        if z is None:
            return None
        least = UNLOADED * np.abs(z).max(initial=0.0)
        open_ones = [c for c in trial.loaded if z[c] < (least if c in at_limit else -least)]
        if not open_ones:
            return z
        trial.loaded.discard(min(open_ones, key=lambda c: z[c]))
        trial.initial_guess = z


def _satisfies_inequalities(problem: ContactProblem, z: np.ndarray, contacts: Sequence[int], trial: TrialModes) -> bool:
    """Return whether the forces z (r,) satisfy all inequalities of contact and friction.

    `contacts` are the rows of all closed contacts, and `trial` are the contact modes. The tolerance is the accuracy of
    the search by vanishing compliance, not round-off.
    """
    w, largest = problem.w(z), np.abs(z).max(initial=0.0)
    round_off = problem.zero_threshold(z) - problem.noise
    zero_threshold = problem.noise + round_off * COMPLIANCE_ACCURACY / RELATIVE_ZERO
    if (z[list(contacts)] < -COMPLIANCE_ACCURACY * largest).any() or (
        w[list(contacts)] < -zero_threshold[list(contacts)]
    ).any():
        return False
    for element, e in zip(problem.elements, trial.slip_directions, strict=True):
        if not has_normal_load(element, trial):
            continue
        if e is None and element.static < np.inf and limit_excess(element, z, trial) > COMPLIANCE_ACCURACY * largest:
            return False
        if (
            e is not None
            and element.slip_direction is None
            and float(w[element.rows] @ e) < -zero_threshold[element.rows].max()
        ):
            return False
    return True


def _with_lower_coefficients(problem: ContactProblem, reduction: float) -> ContactProblem:
    """Return a copy of a contact problem with coefficients of friction lowered by the fraction `reduction`.

    Slightly different coefficients separate elements that reach their limits simultaneously.
    """
    factor = 1.0 - reduction
    elements = [
        replace(element, coefficient=factor * element.coefficient, static=factor * element.static)
        for element in problem.elements
    ]
    return replace(problem, elements=elements)


def _search_from_guesses(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Search for contact modes that satisfy all inequalities, from several initial guesses; contacts may be dependent.

    The initial guesses are: all friction without slip sticks; all friction without slip slides along the accelerations
    without friction; the directions of slip of a single contact; and the modes found by projected Gauss-Seidel sweeps.
    The result is None if all searches fail.
    """
    q, elements, none = problem.q, problem.elements, np.zeros(len(problem.q))
    zero_threshold = problem.zero_threshold(none)
    # Friction that never slips can stick at a contact without load.
    never_slipping = {element.contact for element in elements if element.static == np.inf}
    loaded = {c for c in contacts if q[c] < 0 or (c in never_slipping and q[c] <= zero_threshold[c])}
    known_directions = [element.slip_direction for element in elements]
    modes = _search(problem, contacts, TrialModes({*loaded}, [*known_directions], none))
    if modes is not None or not elements:
        return modes
    slip_directions = [
        unit_vector(q[element.rows]) if e is None and element.static < np.inf else e
        for element, e in zip(elements, known_directions, strict=True)
    ]
    modes = _search(problem, contacts, TrialModes({*loaded}, slip_directions, none))
    guesses = chain(_modes_of_one_contact(problem, contacts), gauss_seidel_modes(problem, contacts))
    for trial in guesses if modes is None else ():
        modes = _search(problem, contacts, trial)
        if modes is not None:
            return modes
    return modes


def _modes_of_one_contact(problem: ContactProblem, contacts: Sequence[int]) -> Iterator[TrialModes]:
    """Yield the contact modes in which a single closed contact begins to slide in a plane; none for other problems."""
    if len(contacts) != 1 or len(problem.elements) != 1:
        return
    (c,), (element,) = contacts, problem.elements
    begins = element.contact == c and len(element.rows) == CONTACT and element.slip_direction is None
    if begins and element.static < np.inf and problem.q[c] < 0.0:
        rows = [c, *element.rows]
        for e in slip_directions_of_one_contact(problem.W[np.ix_(rows, rows)], problem.q[rows], element.coefficient):
            yield TrialModes({c}, [e], np.zeros(len(problem.q)))


def _search_from_static_coefficients(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Search for contact modes by continuation in the coefficients of friction that begins to slide, or return None.

    The first coefficients are those of static friction, at which sliding friction is nearest to that which sticks. They
    are then lowered to those of sliding friction, in steps that are halved where the search fails.
    """
    modes, part, step = _search_from_guesses(_with_raised_coefficients(problem, 1.0), contacts), 1.0, 0.5
    while modes is not None and part > 0.0 and step >= LEAST_STEP:
        lowered = _with_raised_coefficients(problem, max(part - step, 0.0))
        found = _search(lowered, contacts, _as_trial_modes(modes, contacts))
        if found is None:
            step *= 0.5
        else:
            modes, part = found, max(part - step, 0.0)
    return modes if part <= 0.0 else None


def _with_raised_coefficients(problem: ContactProblem, part: float) -> ContactProblem:
    """Return a copy of a contact problem in which friction that begins to slide has higher coefficients.

    They are those of sliding friction plus `part` times the difference from those of static friction.
    """
    elements = [
        replace(element, coefficient=element.coefficient + part * (element.static - element.coefficient))
        if element.slip_direction is None and element.static < np.inf
        else element
        for element in problem.elements
    ]
    return replace(problem, elements=elements)


def _search(problem: ContactProblem, contacts: Sequence[int], trial: TrialModes) -> ContactModes | None:
    """Change one contact mode at a time until all inequalities hold; return the modes, or None if the search cycles.

    `trial` are the initial modes, and `contacts` the rows of all closed contacts.
    """
    seen: Counter[tuple] = Counter()
    for _ in range(MAX_MODE_CHANGES):
        z = forces_of_modes(problem, trial)
        if z is None:
            return None
        trial.initial_guess = z
        if not _switch_worst_mode(problem, z, contacts, trial):
            return _as_contact_modes(problem, z, trial)
        seen[trial.key] += 1
        if seen[trial.key] > MAX_VISITS:
            return None
    return None


def _switch_worst_mode(problem: ContactProblem, z: np.ndarray, contacts: Sequence[int], trial: TrialModes) -> bool:
    """Change the contact mode with the worst violation of its inequality; return False if there is no violation.

    z are the forces for the contact modes `trial`, and `contacts` the rows of all closed contacts.
    """
    force_threshold, zero_threshold, w = (
        RELATIVE_ZERO * np.abs(z).max(initial=0.0),
        problem.zero_threshold(z),
        problem.w(z),
    )
    # Friction that should slide may, while constrained, load or open its contact: check it first.
    if _switch_to_sliding(z, w, zero_threshold, force_threshold, problem.elements, trial):
        return True
    worst = min(trial.loaded, key=lambda c: z[c], default=None)
    if worst is not None and z[worst] < -force_threshold:
        trial.loaded.discard(worst)
        return True
    open_ones = [c for c in contacts if c not in trial.loaded]
    worst = min(open_ones, key=lambda c: w[c] / zero_threshold[c], default=None)
    if worst is not None and w[worst] < -zero_threshold[worst]:
        trial.loaded.add(worst)
        return True
    return _switch_to_sticking(w, zero_threshold, problem.elements, trial)


def _switch_to_sliding(
    z: np.ndarray,
    w: np.ndarray,
    zero_threshold: np.ndarray,
    force_threshold: float,
    elements: Sequence[FrictionElement],
    trial: TrialModes,
) -> bool:
    """Switch the friction element with the worst violation from sticking to sliding; return False if none violates.

    A violation is a force outside the friction cone, or any slip. z and w (r,) are the forces and accelerations; below
    `force_threshold` and `zero_threshold` (r,) they count as zero. `elements` are the friction elements, and `trial`
    are the contact modes, which are modified.
    """
    worst: int | None = None
    largest_violation = 0.0
    for k, (element, e) in enumerate(zip(elements, trial.slip_directions, strict=True)):
        N, _ = normal_load_of(element, z, trial)
        if e is not None or not has_normal_load(element, trial):
            continue
        force = float(np.linalg.norm(z[element.rows]))
        limit = element.static * (1.0 - AT_LIMIT if element.at_limit else 1.0)
        # Friction with infinite coefficient sticks even without load.
        limit = limit * max(N, 0.0) if limit < np.inf else np.inf
        violation = force - limit - force_threshold
        if (np.abs(w[element.rows]) > zero_threshold[element.rows]).any() and limit < np.inf:
            violation = np.inf
        if violation > largest_violation:
            worst, largest_violation = k, violation
    if worst is None:
        return False
    rows = elements[worst].rows
    direction = -z[rows] if largest_violation < np.inf else w[rows]
    trial.slip_directions[worst] = direction / np.linalg.norm(direction)
    return True


def _switch_to_sticking(
    w: np.ndarray, zero_threshold: np.ndarray, elements: Sequence[FrictionElement], trial: TrialModes
) -> bool:
    """Switch one friction element from sliding to sticking if its slip is opposite to its assumed direction.

    Returns False if there is no such element. w (r,) are the accelerations, which count as zero below `zero_threshold`
    (r,). `elements` are the friction elements, and `trial` are the contact modes, which are modified.
    """
    for k, (element, e) in enumerate(zip(elements, trial.slip_directions, strict=True)):
        if e is None or element.slip_direction is not None or not has_normal_load(element, trial):
            continue
        if float(w[element.rows] @ e) < -zero_threshold[element.rows].max():
            trial.slip_directions[k] = None
            return True
    return False


def _as_trial_modes(modes: ContactModes, contacts: Sequence[int]) -> TrialModes:
    """Return contact modes as the start of another search; `contacts` are the rows of all closed contacts."""
    return TrialModes({c for c in contacts if modes.active[c]}, [*modes.slip_directions], modes.z)


def _as_contact_modes(problem: ContactProblem, z: np.ndarray, trial: TrialModes) -> ContactModes:
    """Return the result of the search for the contact modes `trial`, with their forces z (r,)."""
    W, elements, r = problem.W, problem.elements, len(z)
    active = active_rows(W, elements, trial)
    loaded = np.isin(np.arange(r), sorted(trial.loaded)) & active
    rows = independent_columns(W, independent_columns(W, np.zeros(r, dtype=bool), loaded), active)
    return ContactModes(z, problem.w(z), active, rows, [*trial.slip_directions], problem.zero_threshold(z))
