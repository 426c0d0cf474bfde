"""Loads of contacts and of their friction along a result, where several contacts share a load.

Rigid bodies determine what such contacts exert together. Of all ways to share it that friction allows the one of least
norm is shown: while nothing slides, the least norm of all loads inside the friction cones; where something does, loads
are those to which its friction is in proportion. Contacts that run without a row of their own take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..analysis.contact.gap_functions import Gaps, Opening
from ..constraints.sticking import Sticking
from ..dynamics.contact.contact_modes import DEPENDENT
from ..dynamics.contact.friction_cones import LOADS, inside, least_norm
from ..dynamics.contact.load_sharing import dependent
from ..forces import Friction
from ..system.system import System
from .segment import Segment

# A gap is closed within this part of the size of the system, or within this angle in rad; and nothing moves there if
# it is slower than this part of the largest speed, or of that of a free fall over the size of the system.
CLOSED, STILL = 1e-9, 1e-8


@dataclass(frozen=True)
class _Contact:
    """A closed contact of a segment.

    Attributes
    ----------
    number : of its gap among all
    friction : on it, or None
    slips : numbers of the components of slip of that, among all gaps and slips; none unless it sticks
    slides : the friction as it acts where it slides, or None
    """

    number: int
    friction: Friction | None
    slips: tuple[int, ...]
    slides: Friction | None


class ContactLoads:
    """Loads of the contacts of a system along one segment of a result.

    Parameters
    ----------
    system : System
    gaps : of it, with all its friction
    segment : Segment

    Attributes
    ----------
    sticking : names of the frictions of closed contacts whose slip is zero
    """

    def __init__(self, system: System, gaps: Gaps, segment: Segment) -> None:
        self._system, self._gaps, self._segment = system, gaps, segment
        self._openings = self._all() if self._has_contacts() else []
        self._contacts = self._closed() if self._openings else []
        self.sticking = frozenset(one.friction.name for one in self._contacts if one.friction is not None and one.slips)

    def _has_contacts(self) -> bool:
        placed = {one.name for one, _ in self._segment.model.joint_bodies}
        return any(touch.constraint.name in placed for touch in self._gaps.touches)

    def _all(self) -> list[Opening]:
        solver, segment = self._system.plant.solver(), self._segment
        found = []
        for t, y, angles in zip(segment.time, segment.flat, segment.angles, strict=True):
            self._gaps.locate(solver.model.carried.state(y), {})
            found.append(self._gaps.at(solver, float(t), y, angles))
        return found

    def _closed(self) -> list[_Contact]:
        """The contacts that are closed all along the segment."""
        gaps, model, length = self._gaps, self._segment.model, self._system.model.length
        values = np.abs([one.value for one in self._openings]).max(axis=0)
        rates = np.abs([one.rate for one in self._openings]).max(axis=0)
        state = self._segment.state
        speed = np.abs(state.velocity).max() + length * np.abs(state.angular_velocity).max()
        slow = STILL * (speed + np.sqrt(np.linalg.norm(self._system.gravity) * length))
        placed = {one.name: one for one, _ in model.joint_bodies}
        acting = {element.name: element for element, _ in model.forces}
        found = []
        for number, touch in enumerate(gaps.touches):
            constraint, unit = touch.constraint, 1.0 if touch.angular else length
            own_row = next((k for k, one in enumerate(constraint.closed) if placed.get(constraint.name) is one), None)
            closed = own_row is not None and constraint.gap_of_row(own_row) == touch.number
            if not closed and (values[number] > CLOSED * unit or rates[number] > slow * unit / length):
                continue
            own = [force for force in self._system.forces if isinstance(force, Friction) and force.on is constraint]
            slides = next((acting[force.name] for force in own if force.name in acting), None)
            friction = own[0] if len(own) == 1 else None
            slips: tuple[int, ...] = ()
            if friction is not None and slides is None:
                held = placed.get(friction.name)
                side = _side_of(held) if isinstance(held, Sticking) else None
                slips = self._slips(friction, side)
                if held is None and rates[list(slips)].max(initial=0.0) > slow:
                    slips = ()
            found.append(_Contact(number, friction, slips, slides if isinstance(slides, Friction) else None))
        return found

    def _slips(self, friction: Friction, side: int | None) -> tuple[int, ...]:
        """Numbers of the components of slip of a friction, on the side on which it is held."""
        first = len(self._gaps.touches)
        own = [(first + k, one) for k, one in enumerate(self._gaps.slips) if one.component.name == friction.name]
        side = own[0][1].side if side is None else side
        return tuple(k for k, one in own if one.side == side)

    @property
    def loads(self) -> dict[str, np.ndarray]:
        """Force and torque (nt, 2, 3) in N on body j, at its joint point, of what shares loads with others, by name."""
        found: dict[str, np.ndarray] = {}
        for group in self._groups():
            numbers = [number for one in group for number in (one.number, *one.slips)]
            for row, opening in enumerate(self._openings):
                z = self._shared(group, numbers, opening, row)
                exerted = self._gaps.impulses(self._segment.flat[row], opening.of(numbers), numbers, z)
                for name in self._names(group):
                    array = found.setdefault(name, np.zeros((len(self._openings), 2, 3)))
                    if name in exerted:
                        array[row] = exerted[name].force, exerted[name].torque
        return found

    @cached_property
    def shared(self) -> frozenset[str]:
        """Names of the contacts, and of frictions on them, that share loads."""
        return frozenset(name for group in self._groups() for name in self._names(group))

    def _names(self, group: Sequence[_Contact]) -> list[str]:
        frictions = [one.friction.name for one in group if one.friction is not None and one.slips]
        return [*(self._gaps.touches[one.number].constraint.name for one in group), *frictions]

    def _groups(self) -> list[list[_Contact]]:
        """The contacts that share loads, those of each group together."""
        rows = [[one.number, *one.slips] for one in self._contacts]
        numbers = [number for own in rows for number in own]
        if not numbers:
            return []
        A = self._matrix(self._openings[0], numbers)
        _, sizes, right = np.linalg.svd(A, full_matrices=True)
        ways = right[int((sizes > DEPENDENT * sizes.max(initial=0.0)).sum()) :].T
        ends = np.cumsum([0, *(len(own) for own in rows)])
        together = [list(range(*pair)) for pair in pairwise(ends.tolist())]
        groups = dependent(ways @ ways.T, list(range(len(numbers))), together)
        return [[self._contacts[k] for k, own in enumerate(together) if own[0] in group] for group in groups]

    def _matrix(self, opening: Opening, numbers: Sequence[int]) -> np.ndarray:
        """Forces and scaled moments (6 n, r) of unit loads along rows; the loads of angular gaps are scaled, too."""
        push = opening.push[list(numbers)].copy()
        push[..., 3:] /= self._system.model.length
        return np.asarray(push.reshape(len(numbers), -1).T)

    def _shared(self, group: Sequence[_Contact], numbers: Sequence[int], opening: Opening, row: int) -> np.ndarray:
        """The loads (r,) along the rows of a group at one time."""
        A = self._matrix(opening, numbers)
        multipliers, model = self._segment.dynamics.multipliers[row], self._segment.model
        goal = np.zeros(len(A))
        for name, parts in self._held(group):
            own = multipliers[model.joint_rows[name]]
            goal += self._matrix(opening, parts) @ own
        z = np.zeros(len(numbers))
        sliding = [one for one in group if one.slides is not None]
        for one in sliding:
            assert one.slides is not None
            terms = ((model.joint_rows[name].start + place, weight) for name, place, weight in one.slides.shares)
            z[numbers.index(one.number)] = sum(weight * multipliers[place] for place, weight in terms)
        rest = [k for k, number in enumerate(numbers) if number not in {one.number for one in sliding}]
        goal -= A @ z
        if sliding:
            z[rest] = np.linalg.lstsq(A[:, rest], goal, rcond=DEPENDENT)[0] if rest else 0.0
            return z
        return _within(A, goal, group, z)

    def _held(self, group: Sequence[_Contact]) -> list[tuple[str, list[int]]]:
        """Names of the constraints of a group that have rows in the equation, with the numbers of these."""
        placed = {one.name: one for one, _ in self._segment.model.joint_bodies}
        found = []
        for one in group:
            name = self._gaps.touches[one.number].constraint.name
            if name in placed:
                found.append((name, [one.number]))
            held = placed.get(one.friction.name) if one.friction is not None else None
            if isinstance(held, Sticking):
                found.append((held.name, [one.slips[c] for c in held.which]))
        return found


def _side_of(held: Sticking) -> int:
    return getattr(held.primitives[0].function.slip, "side", 1)  # type: ignore[union-attr]


def _within(A: np.ndarray, goal: np.ndarray, group: Sequence[_Contact], z: np.ndarray) -> np.ndarray:
    """The loads (r,) of least norm inside the cones that exert the goal; outside of them if that is not found."""
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    V, c = right[:rank].T, left[:, :rank].T @ goal / sizes[:rank]
    rows = np.full((len(group), LOADS), -1)
    row = 0
    for k, one in enumerate(group):
        rows[k, : 1 + len(one.slips)] = np.arange(row, row + 1 + len(one.slips))
        row += 1 + len(one.slips)
    coefficients = np.array([one.friction.static if one.friction is not None and one.slips else 0.0 for one in group])
    flat = rows.ravel()
    padded = np.where((flat >= 0)[:, None], V[flat], 0.0)
    free = padded @ c
    found = free if inside(free, coefficients) else least_norm(padded, c, coefficients)
    z[flat[flat >= 0]] = (free if found is None else found)[flat >= 0]
    return z
