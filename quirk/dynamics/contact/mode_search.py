"""Search for the modes of contacts and friction that satisfy all inequalities, by changes of one mode at a time.

For given modes, the equations for the forces are linear except for the normal loads of joints, which are norms, and for
directions of slip. The search repeatedly changes the mode with the worst violation, from several initial guesses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from quirk.dynamics.model.friction_normal_load import ConstantLoad

from .contact_modes import (
    CONTACT,
    RELATIVE_ZERO,
    ContactModes,
    ContactProblem,
    FrictionElement,
    TrialModes,
    active_rows,
    forces_of_modes,
    has_normal_load,
    normal_load_of,
    unit_vector,
)
from .gauss_seidel import gauss_seidel_modes
from .lcp import independent_columns
from .one_contact import slip_direction_of_known_friction, slip_directions_of_one_contact

# Relative amount by which the friction limit is lowered if an event has located the time at which it is reached.
AT_LIMIT = 1e-10
# Maximum number of mode changes in a search, and of visits to the same modes with different forces.
MAX_MODE_CHANGES, MAX_VISITS = 100, 8
# Relative difference of forces and slip directions below which two visits to the same modes count as the same.
SAME_VISIT = 1e-9
# Accelerations of constrained rows below this fraction of those without forces are due to rows that are dependent up to
# round-off and drift only.
STOPPED = 1e-6
# Largest component of slip across its direction, over its magnitude, in the limit of vanishing compliance.
ACROSS = 1e-2


def search_from_guesses(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
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
    known_directions, failed = [element.slip_direction for element in elements], VisitedModes()
    modes = search_from(problem, contacts, TrialModes({*loaded}, [*known_directions], none), failed)
    if modes is not None or not elements:
        return modes
    slip_directions = [
        unit_vector(q[element.rows]) if e is None and element.static < np.inf else e
        for element, e in zip(elements, known_directions, strict=True)
    ]
    modes = search_from(problem, contacts, TrialModes({*loaded}, slip_directions, none), failed)
    alone = _modes_of_one_contact(problem, contacts), _modes_of_known_friction(problem)
    guesses = chain(*alone, gauss_seidel_modes(problem, contacts))
    for trial in guesses if modes is None else ():
        modes = search_from(problem, contacts, trial, failed)
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


def _modes_of_known_friction(problem: ContactProblem) -> Iterator[TrialModes]:
    """Yield the modes in which a single friction element with a constant limit begins to slide; none for others."""
    if len(problem.elements) != 1 or not isinstance(problem.elements[0].normal_load, ConstantLoad):
        return
    (element,), none = problem.elements, np.zeros(len(problem.q))
    if element.slip_direction is None and len(element.rows) == len(problem.q):
        load, _ = normal_load_of(element, none, TrialModes(set(), [None], none))
        force, rows = element.coefficient * load, element.rows
        e = slip_direction_of_known_friction(problem.W[np.ix_(rows, rows)], problem.q[rows], force)
        if e is not None:
            none[rows] = -force * e
            yield TrialModes(set(), [e], none)


class VisitedModes:
    """Modes that a search has visited, with the forces and slip directions from which it continued."""

    def __init__(self) -> None:
        self._visits: dict[tuple, list[np.ndarray]] = defaultdict(list)

    def contains(self, trial: TrialModes, z: np.ndarray) -> bool:
        """Return whether the modes `trial` have been visited with forces z (r,)."""
        place = _place(trial, z)
        return any(np.abs(place - other).max(initial=0.0) < SAME_VISIT for other in self._visits[trial.key])

    def add(self, trial: TrialModes, z: np.ndarray) -> None:
        """Add the modes `trial` with forces z (r,)."""
        self._visits[trial.key].append(_place(trial, z))

    def include(self, other: VisitedModes) -> None:
        """Add all that another search has visited."""
        for key, places in other._visits.items():
            self._visits[key] += places


def _place(trial: TrialModes, z: np.ndarray) -> np.ndarray:
    """Return the forces z (r,) over the largest one, and the slip directions, as one array."""
    largest = np.abs(z).max(initial=0.0) or 1.0
    return np.concatenate([z / largest, *(e for e in trial.slip_directions if e is not None)])


def search_from(
    problem: ContactProblem, contacts: Sequence[int], trial: TrialModes, failed: VisitedModes | None = None
) -> ContactModes | None:
    """Change one contact mode at a time until all inequalities hold; return the modes, or None if the search cycles.

    `trial` are the initial modes, and `contacts` the rows of all closed contacts. `failed` are the modes from which
    earlier searches of the same problem came back to where they had been; those of this search are added.
    """
    failed = VisitedModes() if failed is None else failed
    visited, visits = VisitedModes(), Counter[tuple]()
    for _ in range(MAX_MODE_CHANGES):
        z = forces_of_modes(problem, trial)
        if z is None:
            return None
        trial.initial_guess = z
        if not _switch_worst_mode(problem, z, contacts, trial):
            return as_contact_modes(problem, z, trial) if is_consistent(problem, z, trial) else None
        if visited.contains(trial, z) or failed.contains(trial, z):
            failed.include(visited)
            return None
        visited.add(trial, z)
        visits[trial.key] += 1
        if visits[trial.key] > MAX_VISITS:
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
    # Of contacts that cannot all be stopped, as they depend on each other, the fastest one carries no load.
    if len(trial.loaded) > 1 and not is_consistent(problem, z, trial):
        trial.loaded.discard(max(trial.loaded, key=lambda c: w[c] / zero_threshold[c]))
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


def is_consistent(problem: ContactProblem, z: np.ndarray, trial: TrialModes) -> bool:
    """Return whether the forces z (r,) for the contact modes `trial` stop all rows that these constrain.

    Rows that depend on each other cannot all be stopped unless some motion of the bodies gives them the wanted rates.
    No motion does so for the rebound of a body that friction wedges.
    """
    active = active_rows(problem.W, problem.elements, trial)
    return bool((np.abs(problem.w(z)) <= _negligible(problem, z))[active].all())


def slips_along_directions(problem: ContactProblem, z: np.ndarray, trial: TrialModes) -> bool:
    """Return whether friction that begins to slide accelerates in the directions of slip of the modes `trial`.

    z are the forces (r,) for these modes.
    """
    w, negligible = problem.w(z), _negligible(problem, z)
    for element, e in zip(problem.elements, trial.slip_directions, strict=True):
        if e is None or element.slip_direction is not None or not has_normal_load(element, trial):
            continue
        slip = w[element.rows]
        across, size = np.linalg.norm(slip - (slip @ e) * e), np.linalg.norm(slip)
        if across > negligible[element.rows].max() + ACROSS * size:
            return False
    return True


def _negligible(problem: ContactProblem, z: np.ndarray) -> np.ndarray:
    """Return the magnitude (r,) below which the acceleration of each row is due to inexact dependence of rows."""
    scale = np.sqrt(np.diag(problem.W))
    known = scale > 0
    largest = float((np.abs(problem.q)[known] / scale[known]).max(initial=0.0))
    return np.asarray(problem.zero_threshold(z) + STOPPED * largest * scale)


def as_trial_modes(modes: ContactModes, contacts: Sequence[int]) -> TrialModes:
    """Return contact modes as the start of another search; `contacts` are the rows of all closed contacts."""
    return TrialModes({c for c in contacts if modes.active[c]}, [*modes.slip_directions], modes.z)


def as_contact_modes(problem: ContactProblem, z: np.ndarray, trial: TrialModes) -> ContactModes:
    """Return the result of the search for the contact modes `trial`, with their forces z (r,)."""
    W, elements, r = problem.W, problem.elements, len(z)
    active = active_rows(W, elements, trial)
    loaded = np.isin(np.arange(r), sorted(trial.loaded)) & active
    rows = independent_columns(W, independent_columns(W, np.zeros(r, dtype=bool), loaded), active)
    return ContactModes(
        z, problem.w(z), active, rows, [*trial.slip_directions], problem.zero_threshold(z), problem.compliance
    )
