"""Modes of contacts and friction whose rows depend on each other, so that the distribution of loads is not unique.

All friction sticks as long as some distribution of the loads satisfies all inequalities. Otherwise the modes are those
of contacts with equal compliance, in the limit of vanishing compliance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

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
    forces_of_modes,
    has_normal_load,
    limit_excess,
    unit_vector,
)
from .load_sharing import MIN_SHARE, beside_sliding, redistribution_basis
from .loads_at_rest import loads_with_all_sticking
from .mode_search import (
    as_contact_modes,
    as_trial_modes,
    is_consistent,
    search_from_guesses,
    slips_along_directions,
)

# Maximum number of joints at their limit of friction for which all combinations of slip directions are tried.
MOST_AT_LIMIT = 4
# Slip counts as zero if its acceleration is below this fraction of the largest, as friction begins to slide. Maximum
# number of corrections of the directions of slip, and the angle, rad, at which they end.
STILL, MOST_TURNS, SAME_DIRECTION = 1e-3, 30, 1e-9
# Accuracy of loads from the compliance limit, over the largest load.
COMPLIANCE_ACCURACY = 1e-6
# Tensile loads of contacts below this fraction of the largest force are round-off, in this search and in runs.
UNLOADED = 1e-9


def rows_are_dependent(problem: ContactProblem, contacts: Sequence[int]) -> bool:
    """Return whether the rows of closed contacts and non-sliding friction are linearly dependent."""
    sticking = [row for element in problem.elements if element.slip_direction is None for row in element.rows]
    rows = [row for row in (*contacts, *sticking) if problem.W[row, row] > 0]
    scale = np.sqrt(np.diag(problem.W)[rows])
    sizes = np.linalg.eigvalsh(problem.W[np.ix_(rows, rows)] / scale[:, None] / scale)
    return bool(sizes[0] <= DEPENDENT * sizes[-1]) if rows else False


def modes_with_all_sticking(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Return the contact modes in which all friction sticks that does not slide yet and is not at its limit.

    Friction at its limit slides: of joints with a constant limit and one slip component, whose force is then known; the
    result is None for other friction, and for several elements at a common limit whose friction falls as they begin to
    slide, because some of them may stick. Sliding contacts that would be in tension are opened. The result is None if
    the loads violate an inequality.
    """
    at_limit = [k for k, element in enumerate(problem.elements) if element.at_limit]
    if len(at_limit) > MOST_AT_LIMIT or not all(_has_known_limit(problem.elements[k]) for k in at_limit):
        return None
    if len(at_limit) > 1 and any(problem.elements[k].coefficient < problem.elements[k].static for k in at_limit):
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
        if slip_directions and not _are_admissible(z, closed, elements):
            yielding = beside_sliding(problem.W, closed, elements, problem.compliance)
            other = loads_with_all_sticking(problem.W, problem.q, closed, elements, yielding)
            if other is not None and other[1] > 0 and _are_admissible(other[0], closed, elements):
                problem, (z, margin) = replace(problem, compliance=yielding), other
        if margin > 0:
            opened = [c for c in contacts if c not in closed]
            if (problem.w(z)[opened] < -problem.zero_threshold(z)[opened]).any():
                return None
            return as_contact_modes(
                problem, z, TrialModes({*closed}, [element.slip_direction for element in problem.elements], z)
            )
        tensile = min(slip_directions.intersection(closed), key=lambda c: z[c], default=None)
        if tensile is None or z[tensile] > 0:
            return None
        closed.remove(tensile)
    return None


def _are_admissible(z: np.ndarray, contacts: Sequence[int], elements: Sequence[FrictionElement]) -> bool:
    """Whether the forces z (r,) push at all `contacts`, and those of their sticking friction are within its limits."""
    sticking = [one for one in elements if one.contact in contacts and one.slip_direction is None]
    return bool((z[list(contacts)] >= 0.0).all()) and all(
        element.static == np.inf or np.linalg.norm(z[element.rows]) <= element.static * z[element.contact]
        for element in sticking
    )


def modes_without_compliance(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
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
    if z is None or not _is_solution(problem, z, contacts, trial):
        return None
    trial.initial_guess = z
    # Directions of slip that begins are those of compliant contacts.
    turned = replace(trial)
    exact = forces_of_modes(problem, turned)
    if exact is not None and _is_solution(problem, exact, contacts, turned):
        z, trial = exact, turned
    return as_contact_modes(problem, z, trial) if slips_along_directions(problem, z, trial) else None


def with_others_sticking(problem: ContactProblem, contacts: Sequence[int], modes: ContactModes) -> ContactModes:
    """Return contact modes in which friction begins to slide as in `modes`, and all other friction sticks if it can.

    In the limit of vanishing compliance, friction may be at its limit, and count as sliding, at contacts that do not
    slip; and sticking friction takes another part of the load than in the motion that follows. The result is `modes` if
    no distribution of the loads lets the other friction stick.
    """
    loaded, opened = ([c for c in contacts if bool(modes.active[c]) is active] for active in (True, False))
    slips = [
        0.0 if e is None or element.contact in opened else float(np.linalg.norm(modes.w[element.rows]))
        for element, e in zip(problem.elements, modes.slip_directions, strict=True)
    ]
    begins = [
        element.slip_direction is None and slip > STILL * max(slips)
        for element, slip in zip(problem.elements, slips, strict=True)
    ]
    found = modes
    for _ in range(MOST_TURNS if any(begins) else 0):
        directions = [
            unit_vector(found.w[element.rows]) if starts else element.slip_direction
            for element, starts in zip(problem.elements, begins, strict=True)
        ]
        elements = [
            replace(element, slip_direction=e, at_limit=False)
            for element, e in zip(problem.elements, directions, strict=True)
        ]
        turned = modes_with_all_sticking(replace(problem, elements=elements), loaded)
        if turned is None or (turned.w[opened] < -turned.zero_threshold[opened]).any():
            break
        found = turned
        pairs = [(unit_vector(found.w[element.rows]), element.slip_direction) for element in elements]
        turns = [
            2.0 if now is None or e is None else float(np.linalg.norm(now - e))
            for (now, e), starts in zip(pairs, begins, strict=True)
            if starts
        ]
        if max(turns) <= SAME_DIRECTION:
            return found
        if max(turns) > 1.0:
            break
    return modes


def _is_solution(problem: ContactProblem, z: np.ndarray, contacts: Sequence[int], trial: TrialModes) -> bool:
    """Return whether the forces z (r,) for the contact modes `trial` solve the contact problem.

    `contacts` are the rows of all closed contacts.
    """
    return is_consistent(problem, z, trial) and satisfies_inequalities(problem, z, contacts, trial)


def with_limit_reached(problem: ContactProblem, contacts: Sequence[int], modes: ContactModes) -> ContactModes:
    """Return contact modes in which friction known to be at its limit slides, or `modes` if it need not or cannot.

    In the limit of vanishing compliance, friction whose force equals its limit to the accuracy of loads may count as
    sticking. It would begin to slide at once, unless redistributions of load reduce its force.
    """
    trial, least = as_trial_modes(modes, contacts), COMPLIANCE_ACCURACY * np.abs(modes.z).max(initial=0.0)
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
    found = search_from_guesses(problem, contacts) if at_limit else None
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


def satisfies_inequalities(problem: ContactProblem, z: np.ndarray, contacts: Sequence[int], trial: TrialModes) -> bool:
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
