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

from ..sparse.kernels.room import LOADS
from .contact_modes import DEPENDENT, ContactModes, Grip
from .most_room import with_most_room

# Maximum number of contacts for which other solutions are searched, as there are 2^n subsets.
MOST_CONTACTS = 8
# Relative accuracy of loads and accelerations of another solution.
AGREES = 1e-7


def has_one_solution(
    W: np.ndarray,
    q: np.ndarray,
    contacts: Sequence[int],
    grips: Sequence[Grip],
    found: ContactModes,
    compliance: np.ndarray,
) -> bool:
    """Return whether the solution `found` of a contact problem is the only one with its slip directions.

    W (r, r) are the accelerations per unit force along each row, q (r,) those without forces, `contacts` the rows of
    closed contacts, `grips` the friction elements, and `compliance` (r,) the relative compliances of the rows. The
    result is False if a unit friction force in a joint causes a normal load of 1 or more, by which friction would
    sustain itself.
    """
    held = np.flatnonzero(found.rows & ~np.isin(np.arange(len(W)), contacts))
    answer = np.eye(len(W))
    if len(held):
        answer[held] -= np.linalg.solve(W[np.ix_(held, held)], W[held])
    drag, slides = np.zeros((len(W), len(W))), set[int]()
    for grip, e in zip(grips, found.sliding, strict=True):
        if e is None:
            continue
        against = np.zeros(len(W))
        against[grip.rows] = -grip.coefficient * e
        if grip.contact is not None:
            drag[:, grip.contact] += against
            slides.add(grip.contact)
        elif grip.load is not None and not grip.load.reaction(answer @ against) < 1.0:
            return False
    closed = [c for c in contacts if W[c, c] > 0]
    if slides.isdisjoint(closed):
        return True
    scale = np.sqrt(np.where(np.diag(W) > 0, np.diag(W), 1.0))
    moves = AGREES * float(((np.abs(W) @ np.abs(found.z) + np.abs(q)) / scale).max(initial=0.0))
    friction = list(zip(grips, found.sliding, strict=True))
    solutions = _Solutions(W, W @ drag, q, closed, friction, compliance, scale, moves, found.w)
    loaded = tuple(c for c in closed if found.held[c])
    if not solutions.sign(loaded) > 0:
        return False
    others = (s for s in _subsets(closed) if not slides.isdisjoint(s)) if len(closed) <= MOST_CONTACTS else ()
    return not any(solutions.reverses(other) for other in others)


def _subsets(contacts: Sequence[int]) -> list[tuple[int, ...]]:
    return [s for size in range(len(contacts) + 1) for s in combinations(contacts, size)]


@dataclass(frozen=True)
class _Solutions:
    """Candidate solutions of a contact problem with known slip directions.

    Attributes
    ----------
    W : (r, r) accelerations per unit force along each row
    F : (r, r) accelerations by the sliding friction of each contact, per unit normal load of the contact
    q : (r,) accelerations without these forces
    closed : rows of the closed contacts
    grips : friction elements, each with the unit direction of its slip, or None if it sticks
    compliance : (r,) relative compliances of the rows
    scale : (r,) characteristic accelerations of the rows
    moves : tolerance of accelerations divided by `scale`
    w : (r,) accelerations of the known solution
    """

    W: np.ndarray
    F: np.ndarray
    q: np.ndarray
    closed: list[int]
    grips: list[tuple[Grip, np.ndarray | None]]
    compliance: np.ndarray
    scale: np.ndarray
    moves: float
    w: np.ndarray

    def _sticking(self, loaded: Sequence[int]) -> list[Grip]:
        """Return the friction that sticks while the contacts `loaded` are loaded: in these contacts and in joints."""
        grips = [grip for grip, e in self.grips if e is None and grip.static > 0]
        return [grip for grip in grips if grip.contact is None or grip.contact in loaded]

    def _limit(self, held: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix 1 + G (h, h) and the right-hand side z0 (h,) of the equations for the loads.

        The loads are those of the h constrained rows `held`; see the module docstring.
        """
        soft = np.sqrt(self.compliance[held])
        S = self.W[np.ix_(held, held)] / soft[:, None] / soft
        sizes, vectors = np.linalg.eigh(S)
        vectors = (vectors / soft[:, None])[:, sizes > DEPENDENT * sizes[-1]]
        R = (vectors / sizes[-vectors.shape[1] :]) @ vectors.T
        return np.eye(len(held)) + R @ self.F[np.ix_(held, held)], -R @ self.q[held]

    def _held(self, loaded: Sequence[int]) -> list[int]:
        return [*loaded, *(row for g in self._sticking(loaded) for row in g.rows if self.W[row, row] > 0)]

    def sign(self, loaded: Sequence[int]) -> float:
        """Return the sign of det(1 + G) if exactly the contacts `loaded` are loaded."""
        held = self._held(loaded)
        return float(np.linalg.slogdet(self._limit(held)[0])[0]) if held else 1.0

    def reverses(self, loaded: Sequence[int]) -> bool:
        """Return whether another solution loads exactly the contacts `loaded`, and has a nonpositive determinant.

        Its accelerations must differ from those of the known solution. Sliding friction has the known slip directions;
        all other friction of these contacts, and of joints, sticks.
        """
        held = self._held(loaded)
        system, rest = self._limit(held)
        if np.linalg.slogdet(system)[0] > 0:
            return False
        z = np.linalg.lstsq(system, rest, rcond=DEPENDENT)[0]
        w = ((self.W + self.F)[:, held] @ z + self.q) / self.scale
        if np.abs(w[held]).max() > self.moves or (w[self.closed] < -self.moves).any():
            return False
        if (np.abs(w - self.w / self.scale)[self.closed] <= 10.0 * self.moves).all() or not self._opposes(loaded, w):
            return False
        return self._inside(held, z, loaded)

    def _opposes(self, loaded: Sequence[int], w: np.ndarray) -> bool:
        """Return whether all friction that begins to slide opposes its slip.

        w (r,) are the accelerations of the slip divided by `scale`, and `loaded` are the loaded contacts.
        """
        begins = [(g, e) for g, e in self.grips if e is not None and g.moving is None and g.contact in loaded]
        return all(float(w[grip.rows] @ e) >= -self.moves for grip, e in begins)

    def _inside(self, held: list[int], z: np.ndarray, loaded: Sequence[int]) -> bool:
        """Return whether forces with the same effect on the motion as z exist inside the friction cones.

        z (h,) are forces along the constrained rows `held`, and `loaded` are the loaded contacts.
        """
        sticking = [grip for grip in self._sticking(loaded) if grip.contact is not None]
        cones: list[tuple[int | None, list[int]]] = [(c, []) for c in loaded]
        cones += [(grip.contact, grip.rows) for grip in sticking]
        rows = [*dict.fromkeys([*held, *self.closed])]
        A = (self.W + self.F)[np.ix_(rows, held)] / self.scale[rows, None] / self.scale[held]
        _, sizes, right = np.linalg.svd(A, full_matrices=True)
        ways = right[int((sizes > DEPENDENT * sizes[0]).sum()) :].T / self.scale[held, None]
        count, free, place = len(cones), ways.shape[1], dict[int | None, int](zip(held, range(len(held)), strict=True))
        loads, basis = np.zeros(LOADS * count), np.zeros((LOADS * count, free))
        for k, (contact, rubs) in enumerate(cones):
            for n, row in enumerate((contact, *rubs)):
                if row in place:
                    loads[LOADS * k + n], basis[LOADS * k + n] = z[place[row]], ways[place[row]]
        inverse = [0.0] * len(loaded) + [1 / grip.static for grip in sticking]
        return with_most_room(loads, basis, inverse)[1] >= -AGREES * np.abs(loads).max()
