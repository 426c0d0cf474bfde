"""Coulomb friction with unilateral contact: search for the modes, loads and accelerations (or impulses and velocities).

A contact problem has r rows, one for each gap and for each slip component. Forces z (r,) along the rows cause the
accelerations w = W z + q (r,). Contacts satisfy z >= 0, w >= 0 and z w = 0. Sticking friction has w = 0 and
|z| <= mu_s N, where N is the normal load of its contact or joint. Sliding friction has the force -mu N e, where the
unit vector e is the direction of the slip or, for incipient sliding, of the acceleration w of the slip.

A mode states whether a contact is loaded or open, or whether friction sticks or slides.

If rows are dependent, the distribution of forces among contacts is not unique; one distribution is returned. A maximal
set of independent rows is then added to the equation of motion, and all forces follow from their multipliers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from .contact_modes import ContactModes, ContactProblem, FrictionElement, forces_of_modes
from .dependent_contacts import (
    modes_with_all_sticking,
    modes_without_compliance,
    rows_are_dependent,
    satisfies_inequalities,
    with_limit_reached,
    with_others_sticking,
)
from .mode_search import as_contact_modes, as_trial_modes, search_from, search_from_guesses
from .uncoupled_problems import joined, uncoupled_problems

# Relative reductions of friction limits in further searches if the first one fails: the least is large compared with
# the accuracy of slip directions; the others serve friction at its limit, where small accelerations define them.
COEFFICIENT_REDUCTIONS = 1e-6, 1e-5, 1e-4, 1e-3
# Smallest step of the continuation from static to sliding coefficients, which are 1 apart.
LEAST_STEP = 1 / 64


def solve_coulomb(
    W: np.ndarray,
    q: np.ndarray,
    contacts: Sequence[int],
    elements: Sequence[FrictionElement],
    noise: np.ndarray | float = 0.0,
    compliance: np.ndarray | float = 1.0,
    unloading: Iterable[int] = (),
    *,
    impact: bool = False,
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
    impact : whether the forces are impulses; each of them must be within the limits of friction, not only some
        distribution of them
    """
    every = np.ones(len(q))
    problem = ContactProblem(W, q, elements, noise * every, compliance * every, frozenset(unloading))
    parts, solutions = uncoupled_problems(problem, contacts), list[ContactModes]()
    for part in parts:
        modes = _solve(part.problem, part.contacts, impact)
        if modes is None:
            return None
        solutions.append(modes)
    return joined(parts, solutions, problem)


def _solve(problem: ContactProblem, contacts: Sequence[int], impact: bool) -> ContactModes | None:
    """Return the solution of a contact problem whose rows are all coupled, as described in `solve_coulomb`."""
    elements = problem.elements
    dependent = bool(elements) and rows_are_dependent(problem, contacts)
    if dependent:
        modes = modes_with_all_sticking(problem, contacts)
        if modes is None:
            modes = modes_without_compliance(problem, contacts)
            if modes is not None and not impact:
                modes = with_others_sticking(problem, contacts, modes)
        if modes is not None:
            return with_limit_reached(problem, contacts, modes)
    modes = search_from_guesses(problem, contacts)
    if modes is None and any(element.coefficient < element.static < np.inf for element in elements):
        modes = _search_from_static_coefficients(problem, contacts)
    if modes is None and elements:
        modes = search_from_guesses(_with_lower_coefficients(problem, COEFFICIENT_REDUCTIONS[0]), contacts)
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
        modes = (modes_without_compliance(lowered, contacts) if dependent else None) or search_from_guesses(
            lowered, contacts
        )
        for smaller in COEFFICIENT_REDUCTIONS[:k][::-1]:
            if modes is not None:
                lowered = _with_lower_coefficients(problem, smaller)
                modes = search_from(lowered, contacts, as_trial_modes(modes, contacts))
        if modes is None:
            continue
        trial = as_trial_modes(modes, contacts)
        z = forces_of_modes(problem, trial, turning=False)
        if z is not None and satisfies_inequalities(problem, z, contacts, trial):
            return as_contact_modes(problem, z, trial)
    return None


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


def _search_from_static_coefficients(problem: ContactProblem, contacts: Sequence[int]) -> ContactModes | None:
    """Search for contact modes by continuation in the coefficients of friction that begins to slide, or return None.

    The first coefficients are those of static friction, at which sliding friction is nearest to that which sticks. They
    are then lowered to those of sliding friction, in steps that are halved where the search fails.
    """
    modes, part, step = search_from_guesses(_with_raised_coefficients(problem, 1.0), contacts), 1.0, 0.5
    while modes is not None and part > 0.0 and step >= LEAST_STEP:
        lowered = _with_raised_coefficients(problem, max(part - step, 0.0))
        found = search_from(lowered, contacts, as_trial_modes(modes, contacts))
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
