"""Test for non-unique solutions of contact with friction (Painleve 1895).

Several solutions are possible if friction affects the normal loads on which it depends. A contact problem has r rows,
one for each gap and for each slip component.

A solution loads a subset of the contacts. Its constrained rows, with acceleration w = 0, are the gaps of this subset
and the slip of sticking friction in these contacts and in joints. Let S be the accelerations of these rows per unit
force along them, F those due to the sliding friction per unit normal load of its contact, and q those without forces.
Contacts with a small compliance e C, where C is diagonal, have the loads (S + e C + F) z = -q. In the limit e -> 0

    (1 + G) z = z0,   G = R F,   z0 = -R q,   R = C^(-1/2) (C^(-1/2) S C^(-1/2))^+ C^(-1/2)

also where rows depend on each other. Solutions are counted by the sign of det(1 + G): as loads and accelerations depend
continuously on q, two solutions with positive determinants cannot appear or vanish without one with a negative
determinant (Cottle, Pang and Stone, The Linear Complementarity Problem (1992), ch. 6). With positive determinants in
all subsets there is one solution. A solution can therefore be one of several only if its determinant, or that of
another solution, is not positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..sparse.kernels.cone_margin import LOADS
from .contact_modes import DEPENDENT, ContactModes, ContactProblem, FrictionElement
from .largest_margin import loads_of_largest_margin
from .uncoupled_problems import uncoupled_problems

# Maximum number of contacts for which other solutions are searched, as there are 2^n subsets.
MAX_CONTACTS = 8
# Relative accuracy of loads and accelerations of another solution.
ACCURACY = 1e-7


def has_one_solution(
    W: np.ndarray,
    q: np.ndarray,
    contacts: Sequence[int],
    elements: Sequence[FrictionElement],
    solution: ContactModes,
    compliance: np.ndarray,
) -> bool:
    """Return whether a solution of a contact problem is the only one with its slip directions.

    W (r, r) are the accelerations per unit force along each row, q (r,) those without forces, `contacts` the rows of
    closed contacts, `elements` the friction elements, and `compliance` (r,) the relative compliances of the rows. The
    result is False if a unit friction force in a joint causes a normal load of 1 or more, so that friction would
    sustain itself.
    """
    problem = ContactProblem(W, q, elements, np.zeros(len(q)), compliance)
    parts = uncoupled_problems(problem, contacts)
    return all(_has_one_solution(part.problem, part.contacts, part.own(solution)) for part in parts)


def _has_one_solution(problem: ContactProblem, contacts: Sequence[int], solution: ContactModes) -> bool:
    """Return whether the solution of a contact problem whose rows are all coupled is the only one."""
    W, q, elements, compliance = problem.W, problem.q, problem.elements, problem.compliance
    active = np.flatnonzero(solution.independent & ~np.isin(np.arange(len(W)), contacts))
    constrained_response = np.eye(len(W))
    if len(active):
        constrained_response[active] -= np.linalg.solve(W[np.ix_(active, active)], W[active])
    sliding_friction, slides = np.zeros((len(W), len(W))), set[int]()
    for element, e in zip(elements, solution.slip_directions, strict=True):
        if e is None:
            continue
        friction_force = np.zeros(len(W))
        friction_force[element.rows] = -element.coefficient * e
        if element.contact is not None:
            sliding_friction[:, element.contact] += friction_force
            slides.add(element.contact)
        elif (
            element.normal_load is not None
            and not element.normal_load.reaction(constrained_response @ friction_force) < 1.0
        ):
            return False
    closed = [c for c in contacts if W[c, c] > 0]
    if slides.isdisjoint(closed):
        return True
    scale = np.sqrt(np.where(np.diag(W) > 0, np.diag(W), 1.0))
    tolerance = ACCURACY * float(((np.abs(W) @ np.abs(solution.z) + np.abs(q)) / scale).max(initial=0.0))
    friction = list(zip(elements, solution.slip_directions, strict=True))
    solutions = _OtherSolutions(W, W @ sliding_friction, q, closed, friction, compliance, scale, tolerance, solution.w)
    loaded = tuple(c for c in closed if solution.active[c])
    if not solutions.determinant_sign(loaded) > 0:
        return False
    others = (s for s in _subsets(closed) if not slides.isdisjoint(s)) if len(closed) <= MAX_CONTACTS else ()
    return not any(solutions.is_other_solution(other) for other in others)


def _subsets(contacts: Sequence[int]) -> list[tuple[int, ...]]:
    return [s for size in range(len(contacts) + 1) for s in combinations(contacts, size)]


@dataclass(frozen=True)
class _OtherSolutions:
    """Candidate solutions of a contact problem with known slip directions.

    Attributes
    ----------
    W : (r, r) accelerations per unit force along each row
    F : (r, r) accelerations by the sliding friction of each contact, per unit normal load of the contact
    q : (r,) accelerations without these forces
    closed : rows of the closed contacts
    elements : friction elements, each with the unit direction of its slip, or None if it sticks
    compliance : (r,) relative compliances of the rows
    scale : (r,) characteristic accelerations of the rows
    tolerance : tolerance of accelerations divided by `scale`
    w : (r,) accelerations of the known solution
    """

    W: np.ndarray
    F: np.ndarray
    q: np.ndarray
    closed: list[int]
    elements: list[tuple[FrictionElement, np.ndarray | None]]
    compliance: np.ndarray
    scale: np.ndarray
    tolerance: float
    w: np.ndarray

    def _sticking(self, loaded: Sequence[int]) -> list[FrictionElement]:
        """Return the friction that sticks while the contacts `loaded` are loaded: in these contacts and in joints."""
        elements = [element for element, e in self.elements if e is None and element.static > 0]
        return [element for element in elements if element.contact is None or element.contact in loaded]

    def _limit_equations(self, active: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix 1 + G (h, h) and the right-hand side z0 (h,) of the equations for the loads.

        The loads act along the h constrained rows `active`; see the module docstring.
        """
        root_compliance = np.sqrt(self.compliance[active])
        S = self.W[np.ix_(active, active)] / root_compliance[:, None] / root_compliance
        sizes, vectors = np.linalg.eigh(S)
        vectors = (vectors / root_compliance[:, None])[:, sizes > DEPENDENT * sizes[-1]]
        R = (vectors / sizes[-vectors.shape[1] :]) @ vectors.T
        return np.eye(len(active)) + R @ self.F[np.ix_(active, active)], -R @ self.q[active]

    def _active_rows(self, loaded: Sequence[int]) -> list[int]:
        return [*loaded, *(row for g in self._sticking(loaded) for row in g.rows if self.W[row, row] > 0)]

    def determinant_sign(self, loaded: Sequence[int]) -> float:
        """Return the sign of det(1 + G) if exactly the contacts `loaded` are loaded."""
        active = self._active_rows(loaded)
        return float(np.linalg.slogdet(self._limit_equations(active)[0])[0]) if active else 1.0

    def is_other_solution(self, loaded: Sequence[int]) -> bool:
        """Return whether another solution loads exactly the contacts `loaded`, and has a nonpositive determinant.

        Its accelerations must differ from those of the known solution. Sliding friction has the known slip directions;
        all other friction of these contacts, and of joints, sticks.
        """
        active = self._active_rows(loaded)
        system, rest = self._limit_equations(active)
        if np.linalg.slogdet(system)[0] > 0:
            return False
        z = np.linalg.lstsq(system, rest, rcond=DEPENDENT)[0]
        w = ((self.W + self.F)[:, active] @ z + self.q) / self.scale
        if np.abs(w[active]).max() > self.tolerance or (w[self.closed] < -self.tolerance).any():
            return False
        if (np.abs(w - self.w / self.scale)[self.closed] <= 10.0 * self.tolerance).all() or not self._opposes_slip(
            loaded, w
        ):
            return False
        return self._is_inside_cones(active, z, loaded)

    def _opposes_slip(self, loaded: Sequence[int], w: np.ndarray) -> bool:
        """Return whether all friction that begins to slide opposes its slip.

        w (r,) are the accelerations of the slip divided by `scale`, and `loaded` are the loaded contacts.
        """
        begins = [
            (g, e) for g, e in self.elements if e is not None and g.slip_direction is None and g.contact in loaded
        ]
        return all(float(w[element.rows] @ e) >= -self.tolerance for element, e in begins)

    def _is_inside_cones(self, active: list[int], z: np.ndarray, loaded: Sequence[int]) -> bool:
        """Return whether forces with the same effect on the motion as z exist inside the friction cones.

        z (h,) are forces along the constrained rows `active`, and `loaded` are the loaded contacts.
        """
        sticking = [element for element in self._sticking(loaded) if element.contact is not None]
        cones: list[tuple[int | None, list[int]]] = [(c, []) for c in loaded]
        cones += [(element.contact, element.rows) for element in sticking]
        rows = [*dict.fromkeys([*active, *self.closed])]
        A = (self.W + self.F)[np.ix_(rows, active)] / self.scale[rows, None] / self.scale[active]
        _, sizes, right = np.linalg.svd(A, full_matrices=True)
        redistributions = right[int((sizes > DEPENDENT * sizes[0]).sum()) :].T / self.scale[active, None]
        count, free, place = (
            len(cones),
            redistributions.shape[1],
            dict[int | None, int](zip(active, range(len(active)), strict=True)),
        )
        loads, basis = np.zeros(LOADS * count), np.zeros((LOADS * count, free))
        for k, (contact, slip_rows) in enumerate(cones):
            for n, row in enumerate((contact, *slip_rows)):
                if row in place:
                    loads[LOADS * k + n], basis[LOADS * k + n] = z[place[row]], redistributions[place[row]]
        inverse = [0.0] * len(loaded) + [1 / element.static for element in sticking]
        return loads_of_largest_margin(loads, basis, inverse)[1] >= -ACCURACY * np.abs(loads).max()
