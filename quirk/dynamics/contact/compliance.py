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

from .contact_modes import ContactProblem, FrictionElement, TrialModes, active_rows, normal_load_of
from .load_sharing import load_sharing_groups, redistribution_basis

# Continuation in the compliance, relative to the largest response of a row to a unit force along itself: first value,
# at which contacts hardly interact; last value, at which sticking contacts yield by round-off only; smallest factor
# from one value to the next; and factor so close to 1 that the continuation has failed.
FIRST_COMPLIANCE, LAST_COMPLIANCE, COMPLIANCE_FACTOR, MAX_COMPLIANCE_FACTOR = 1.0, 1e-10, 1e-2, 0.5
# Newton's method at one compliance: maximum number of iterations; residual over the loads at which it has converged,
# and at which it is accepted if the residual no longer decreases.
MAX_ITERATIONS, CONVERGED, ACCEPTED = 60, 1e-12, 1e-7
# Maximum number of halvings of a Newton step while the residual grows.
MAX_HALVINGS = 6
# Slip below this fraction of the largest acceleration is due to the last compliance, so the friction sticks.
COMPLIANT_SLIP = 1e-8
# Contacts with less than this fraction of the largest load count as unloaded.
NO_LOAD = 1e-9
# Relative reduction of the coefficient of friction known to be at its limit, so that the direction of slip is
# determined: in a plane, and along a line, where only the sign of the slip matters. The latter is larger than the
# relative error of loads, about round-off / LAST_COMPLIANCE.
COEFFICIENT_REDUCTION, COEFFICIENT_REDUCTION_ON_LINE = 1e-6, 1e-5
# Multiples of these reductions that are tried one after another while all friction sticks or Newton's method fails:
# loads of contacts that carry a small part of the load are less accurate.
REDUCTION_FACTORS = 1.0, 10.0, 100.0


def modes_of_compliant_contacts(problem: ContactProblem, contacts: Sequence[int]) -> TrialModes | None:
    """Return the contact modes for which the loads have minimum norm, or None if the search fails.

    The modes state which contacts are loaded and which friction elements slide. `contacts` are the rows of all closed
    contacts. Friction that can stick is first computed with the static coefficient and, if it slides, again with the
    sliding coefficient. Of friction at a common limit, some begins to slide, or its contact loses its load.
    """
    at_limit = {element.contact for element in problem.elements if element.at_limit}
    trial = None
    for factor in REDUCTION_FACTORS if at_limit else REDUCTION_FACTORS[:1]:
        trial = _modes_with_reduced_limits(problem, contacts, factor)
        if trial is not None and (
            any(e is not None for e in trial.slip_directions) or at_limit - {None} - trial.loaded
        ):
            break
    return trial


def _modes_with_reduced_limits(problem: ContactProblem, contacts: Sequence[int], factor: float) -> TrialModes | None:
    """Return the modes of `modes_of_compliant_contacts`, with reductions of coefficients multiplied by `factor`."""
    elements = problem.elements
    known_sliding = [element.slip_direction is not None for element in elements]
    z = np.zeros(len(problem.q))
    for _ in range(len(elements) + 1):
        coefficients = [
            _coefficient_in_effect(element, known, factor)
            for element, known in zip(elements, known_sliding, strict=True)
        ]
        z_next = _loads(problem, contacts, coefficients, z)
        if z_next is None:
            return None
        z, trial = z_next, _modes_of(problem, contacts, coefficients, z_next)
        new = [
            k
            for k, e in enumerate(trial.slip_directions)
            if e is not None and not known_sliding[k] and elements[k].slip_direction is None
        ]
        if all(elements[k].static == elements[k].coefficient for k in new):
            return trial
        for k in new:
            known_sliding[k] = True
        z = np.zeros(len(problem.q))
    return None


def _coefficient_in_effect(element: FrictionElement, known_sliding: bool, factor: float) -> float:
    """Return the coefficient of friction, reduced by `factor` times the least reduction if it is at its limit."""
    coefficient = element.coefficient if known_sliding else element.static
    if not element.at_limit or element.slip_direction is not None:
        return coefficient
    lowered = factor * (COEFFICIENT_REDUCTION_ON_LINE if len(element.rows) == 1 else COEFFICIENT_REDUCTION)
    return coefficient * (1.0 - lowered)


def _loads(
    problem: ContactProblem, contacts: Sequence[int], coefficients: Sequence[float], z: np.ndarray
) -> np.ndarray | None:
    """Return the loads (r,) at the smallest compliance, or None if Newton's method fails.

    The compliance is decreased step by step, with the loads z (r,) as initial guess. `contacts` are the rows of all
    closed contacts, and `coefficients` the friction coefficients in effect, one for each friction element.
    """
    largest = float((np.diag(problem.W) / problem.compliance).max(initial=0.0))
    responses = np.array([np.linalg.eigvalsh(problem.W[np.ix_(g.rows, g.rows)])[-1] for g in problem.elements])
    fraction, factor = FIRST_COMPLIANCE, COMPLIANCE_FACTOR
    while largest > 0 and factor < MAX_COMPLIANCE_FACTOR:
        compliance = fraction * largest * problem.compliance
        solution = _newton(_CompliantProblem(problem, list(contacts), coefficients, compliance, responses), z)
        if solution is None:
            fraction, factor = fraction / factor, np.sqrt(factor)
        else:
            z, factor = solution, max(COMPLIANCE_FACTOR, factor * factor)
            if fraction <= LAST_COMPLIANCE:
                return z
        fraction = max(LAST_COMPLIANCE, fraction * factor)
    return None


@dataclass(frozen=True)
class _CompliantProblem:
    """A contact problem with compliant contacts.

    Attributes
    ----------
    problem : the contact problem of rigid bodies
    contacts : rows of all closed contacts
    coefficients : friction coefficient in effect for each friction element
    compliance : (r,) compliance of each row
    responses : for each friction element, the largest acceleration along its rows due to a unit force along its rows
    """

    problem: ContactProblem
    contacts: list[int]
    coefficients: Sequence[float]
    compliance: np.ndarray
    responses: np.ndarray


def _newton(compliant: _CompliantProblem, z: np.ndarray) -> np.ndarray | None:
    """Return the loads (r,) of a compliant contact problem by Newton's method from the loads z, or None if it fails."""
    residual, J = _residual_and_jacobian(compliant, z)
    size = float(np.linalg.norm(residual))
    for _ in range(MAX_ITERATIONS):
        if size <= CONVERGED * max(float(np.linalg.norm(z)), np.finfo(float).tiny):
            return z
        try:
            step = np.linalg.solve(J, residual)
        except np.linalg.LinAlgError:
            return None
        for fraction in (*(0.5**n for n in range(MAX_HALVINGS)), 1.0):
            tried = z - fraction * step
            rest_tried, J_tried = _residual_and_jacobian(compliant, tried)
            size_tried = float(np.linalg.norm(rest_tried))
            if size_tried <= (1.0 - 0.1 * fraction) * size:
                break
        if not np.isfinite(size_tried):
            return None
        if size_tried > 0.5 * size and size <= ACCEPTED * float(np.linalg.norm(z)):
            return z
        z, residual, J, size = tried, rest_tried, J_tried, size_tried
    return None


def _residual_and_jacobian(compliant: _CompliantProblem, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual (r,) of a compliant contact problem at loads z (r,), and its Jacobian (r, r).

    The equations are scaled so that the residual has the units of loads.
    """
    problem, compliance, contacts = compliant.problem, compliant.compliance, compliant.contacts
    W = problem.W
    w_compliant = problem.w(z) + compliance * z
    compliant_W = W + np.diag(compliance)
    residual, J = z.copy(), np.eye(len(z))
    normal_response = np.diag(compliant_W)[contacts]
    closed = [c for c, x in zip(contacts, z[contacts] - w_compliant[contacts] / normal_response, strict=True) if x > 0]
    normal_response = np.diag(compliant_W)[closed]
    residual[closed], J[closed] = w_compliant[closed] / normal_response, compliant_W[closed] / normal_response[:, None]
    all_loaded = TrialModes(set(contacts), [None] * len(problem.elements), z)
    for element, limit, response in zip(problem.elements, compliant.coefficients, compliant.responses, strict=True):
        rows = element.rows
        N, N_slopes = normal_load_of(element, z, all_loaded)
        N, N_slopes = (N, N_slopes) if N > 0 else (0.0, 0.0 * N_slopes)
        if element.slip_direction is not None:
            residual[rows] += limit * N * element.slip_direction
            J[rows] += limit * np.outer(element.slip_direction, N_slopes)
            continue
        tangential_response = float(response + compliance[rows[0]])
        tried = z[rows] - w_compliant[rows] / tangential_response
        size = float(np.linalg.norm(tried))
        if limit == np.inf or size <= limit * N:
            residual[rows], J[rows] = w_compliant[rows] / tangential_response, compliant_W[rows] / tangential_response
            continue
        e = tried / size
        turning = -compliant_W[rows] / tangential_response
        turning[:, rows] += np.eye(len(rows))
        residual[rows] -= limit * N * e
        J[rows] -= limit * (np.outer(e, N_slopes) + N / size * (np.eye(len(rows)) - np.outer(e, e)) @ turning)
    return residual, J


def _modes_of(
    problem: ContactProblem, contacts: Sequence[int], coefficients: Sequence[float], z: np.ndarray
) -> TrialModes:
    """Return the contact modes that correspond to the loads z (r,) at the smallest compliance.

    `contacts` are the rows of all closed contacts, and `coefficients` the friction coefficients in effect.
    """
    w, largest = problem.w(z), z[list(contacts)].max(initial=0.0)
    loaded = {c for c in contacts if z[c] > NO_LOAD * largest}
    scale = np.sqrt(np.where(np.diag(problem.W) > 0, np.diag(problem.W), 1.0))
    slip_threshold = COMPLIANT_SLIP * float(
        ((np.abs(problem.W) @ np.abs(z) + np.abs(problem.q)) / scale).max(initial=0.0)
    )
    trial = TrialModes(loaded, [], z)
    slips = [
        float((np.abs(w[element.rows]) / scale[element.rows]).max()) > slip_threshold for element in problem.elements
    ]
    # If no friction at its limit slips faster than compliance allows, all of it begins to slide.
    incipient = not any(slip and element.at_limit for element, slip in zip(problem.elements, slips, strict=True))
    # If contacts slide, their friction depends on the distribution of loads: friction at its limit that shares these
    # loads then counts as sliding, even without slip.
    beside_sliding = _rows_beside_sliding(problem, trial)
    for element, limit, slip in zip(problem.elements, coefficients, slips, strict=True):
        if element.slip_direction is not None:
            trial.slip_directions.append(element.slip_direction)
            continue
        N, _ = normal_load_of(element, z, replace(trial, slip_directions=[]))
        force = z[element.rows]
        size = float(np.linalg.norm(force))
        at_limit = limit < np.inf and N > 0 and size >= limit * N * (1.0 - 1e-9)
        moves = slip or element.has_rows_in(beside_sliding) or (element.at_limit and incipient)
        trial.slip_directions.append(-force / size if at_limit and moves and size > 0 else None)
    return trial


def _rows_beside_sliding(problem: ContactProblem, trial: TrialModes) -> set[int]:
    """Return the indices of the rows that share loads with contacts that slide, of the contacts `trial.loaded`.

    These are the rows of groups among which loads can be redistributed, without friction that begins to slide.
    """
    elements = problem.elements
    sliding = {element.contact for element in elements if element.slip_direction is not None} & trial.loaded
    if not sliding:
        return set()
    known = [element.slip_direction for element in elements]
    active = np.flatnonzero(active_rows(problem.W, elements, replace(trial, slip_directions=known)))
    groups = load_sharing_groups(redistribution_basis(problem.W, active), active, elements)
    return {row for group in groups if not sliding.isdisjoint(group) for row in group}
