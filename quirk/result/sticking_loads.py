"""Distribution of the efforts of sticking joints that share a load, along one segment of a result.

The r rows are the slip components of sticking joints and the gaps and slip components of closed contacts, with forces f
(r,) along them. The model of a segment has rows for a largest independent part of them. A force along a row without one
is balanced by multipliers of the model's rows: a redistribution of load, which does not change the motion. Of all
distributions within the limits of friction, that of least sum of c_i f_i^2 is reported, with the compliances c_i by
which runs distribute loads at events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..analysis.contact.gap_functions import Gaps
from ..dynamics.contact.contact_modes import DEPENDENT
from ..dynamics.contact.friction_cones import LOADS, inside, least_norm
from ..dynamics.contact.impulse import impulses
from ..dynamics.contact.load_sharing import NO_PART, dependent, joint_compliances
from ..dynamics.sparse.solver.solver import Solver
from ..forces import ForceElement, Friction, JointFriction
from ..system.system import System
from .contact_loads import ContactLoads
from .segment import Segment

# Poses that differ by less than this, in lengths of the system or in quaternions, count as equal.
SAME = 1e-12


@dataclass(frozen=True)
class _Member:
    """A sticking joint or a closed contact that does not slide.

    Attributes
    ----------
    name : name of the friction element of the joint, or of the contact
    numbers : indices of its rows among all gaps and slip components; for a contact the gap comes first
    own : index of each row among the rows of the model, or None if the model has no such row
    joint : friction element of the joint, or None for a contact
    coefficient : coefficient of static friction of the contact
    """

    name: str
    numbers: tuple[int, ...]
    own: tuple[int | None, ...]
    joint: JointFriction | None
    coefficient: float = 0.0


@dataclass(frozen=True)
class _Answers:
    """Loads that balance unit forces along the d rows without a row of the model, at one state.

    Attributes
    ----------
    rows, numbers : indices of these rows among all r rows, and among all gaps and slip components
    multipliers : (d, m) multipliers of the model's rows
    loads : for each of them, force and torque (2, 3) of constraints and friction by name, with the unit force itself
    """

    rows: list[int]
    numbers: list[int]
    multipliers: np.ndarray
    loads: list[dict[str, np.ndarray]]


@dataclass(frozen=True)
class SharedLoads:
    """Changes of loads by redistribution.

    Attributes
    ----------
    multipliers : (nt, m) changes of the multipliers of the model's m rows
    efforts : (nt, 1) force along the slip, N, of each sticking joint without a row, by name
    loads : (nt, 2, 3) changes of force and torque, N and N m, inertial frame, of constraints and friction by name
    """

    multipliers: np.ndarray
    efforts: dict[str, np.ndarray]
    loads: dict[str, np.ndarray]

    def shared(self, length: float) -> frozenset[str]:
        """Return the names of the constraints and friction elements whose loads the redistribution changes.

        `length` is the characteristic length of the system, m, by which torques are compared with forces.
        """
        sizes = {name: np.abs(change / [[1.0], [length]]).max() for name, change in self.loads.items()}
        least = NO_PART * max(sizes.values(), default=0.0)
        return frozenset(name for name, size in sizes.items() if size > least)


def sticking_joints(forces: Iterable[ForceElement]) -> list[JointFriction]:
    """Return the friction elements of joints that stick and slip by events."""
    return [force for force in forces if isinstance(force, JointFriction) and force.sticks]


class StickingLoads:
    """Efforts of the sticking joints of a system along one segment of a result.

    Parameters
    ----------
    system : System
    gaps : all gaps and slip components of the system
    segment : segment of the result in which the loads are evaluated
    contacts : loads of its contacts, or None for systems without contacts
    """

    def __init__(self, system: System, gaps: Gaps, segment: Segment, contacts: ContactLoads | None) -> None:
        self._system, self._gaps, self._segment, self._contacts = system, gaps, segment, contacts
        joints = self._joints()
        # If each of them has its row in the model, there is nothing to share out.
        members = [*joints, *self._closed()] if joints else []
        self._members = members if any(None in member.own for member in members) else []

    def _joints(self) -> list[_Member]:
        """Return the sticking joints of the segment."""
        segment, system = self._segment, self._system
        sliding = {element.name for element, _ in segment.model.forces}
        found, first = [], len(self._gaps.touches)
        for k, slip in enumerate(self._gaps.slips):
            name = slip.component.name
            friction = system[name]
            enabled = segment.switched.get(name, system.is_active(name)) and slip.on.name in segment.active
            if isinstance(friction, JointFriction) and enabled and name not in sliding:
                rows = segment.model.joint_rows.get(name)
                found.append(_Member(name, (first + k,), (None if rows is None else rows.start,), friction))
        return found

    def _closed(self) -> list[_Member]:
        """Return the closed contacts that do not slide, except those that share a load in `ContactLoads`."""
        if self._contacts is None:
            return []
        found, model = list[_Member](), self._segment.model
        for contact in self._contacts.closed:
            name = self._gaps.touches[contact.number].constraint.name
            if contact.slides is not None or name in self._contacts.shared:
                continue
            own = dict[int, int]()
            for constraint, numbers in self._contacts.rows_of([contact]):
                own |= zip(numbers, range(model.rows)[model.joint_rows[constraint]], strict=True)
            own_numbers = (contact.number, *contact.slips)
            friction = contact.friction.static if contact.friction is not None and contact.slips else 0.0
            places = tuple(own.get(number) for number in own_numbers)
            found.append(_Member(name, own_numbers, places, None, friction))
        return found

    @cached_property
    def shares(self) -> SharedLoads:
        """Changes of the multipliers and loads of the segment."""
        segment, nt = self._segment, len(self._segment.time)
        found = SharedLoads(np.zeros((nt, segment.model.rows)), {}, {})
        if not self._members:
            return found
        solver, place, last = segment.plant.solver(), self._system.plant.solver(), 0
        for row, y in enumerate(segment.flat):
            if row == 0:
                solver.settle(solver.slots.state_to_lanes(y), segment.time[0])
            # Bodies that are held keep their poses.
            if row == 0 or self._moved(last, row):
                answered, last = self._answers(solver, place, row), row
            z = self._shared(segment.dynamics.multipliers[row], answered)
            found.multipliers[row] = z @ answered.multipliers
            for size, loads in zip(z, answered.loads, strict=True):
                for name, load in loads.items():
                    found.loads.setdefault(name, np.zeros((nt, 2, 3)))[row] += size * load
            for member in self._members:
                if member.joint is not None and member.own == (None,):
                    effort = found.efforts.setdefault(member.name, np.zeros((nt, 1)))
                    effort[row] = z[answered.numbers.index(member.numbers[0])]
        return found

    def _moved(self, one: int, two: int) -> bool:
        """Whether the poses at two output indices differ by more than round-off."""
        state, length = self._segment.state, self._system.model.length
        turn = np.abs(state.orientation[two] - state.orientation[one]).max()
        return bool(max(turn, np.abs(state.position[two] - state.position[one]).max() / length) > SAME)

    def _answers(self, solver: Solver, place: Solver, row: int) -> _Answers:
        """Return the loads that answer unit forces along the rows without a row of the model, at an output index.

        `solver` is a solver of the segment, and `place` one of the system, for gaps and slip.
        """
        t, y = float(self._segment.time[row]), self._segment.flat[row]
        self._gaps.locate(self._segment.model.carried.state(y), {})
        opening = self._gaps.at(place, t, y, self._segment.angles[row])
        rows = [pair for member in self._members for pair in zip(member.numbers, member.own, strict=True)]
        free = [k for k, (_, own) in enumerate(rows) if own is None]
        numbers, none, lanes = [rows[k][0] for k in free], np.zeros(solver.model.rows), solver.slots.state_to_lanes(y)
        multipliers, loads = [], []
        for number in numbers:
            multipliers.append(solver.respond(lanes, t, none, opening.push[number])[1])
            total = dict[str, np.ndarray]()
            own = self._gaps.impulses(y, opening.of([number]), [number], np.ones(1))
            for part in (impulses(solver, y, multipliers[-1]), own):
                for name, load in part.items():
                    total[name] = total.get(name, np.zeros((2, 3))) + np.array([load.force, load.torque])
            loads.append(total)
        return _Answers(free, numbers, np.reshape(multipliers, (len(free), solver.model.rows)), loads)

    def _shared(self, multipliers: np.ndarray, answered: _Answers) -> np.ndarray:
        """Return the forces (d,) along the rows without a row of the model.

        `multipliers` (m,) are those of the model without these forces.
        """
        free, answers = answered.rows, answered.multipliers
        own = [place for member in self._members for place in member.own]
        present, ways = np.zeros(len(own)), np.zeros((len(own), len(free)))
        for k, place in enumerate(own):
            if place is not None:
                present[k], ways[k] = multipliers[place], answers[:, place]
        ways[free] = np.eye(len(free))
        basis = np.linalg.qr(ways)[0]
        ends = np.cumsum([0, *(len(member.own) for member in self._members)])
        together = [list(range(*pair)) for pair in pairwise(ends.tolist())]
        z = np.zeros(len(free))
        for group in dependent(basis @ basis.T, range(len(own)), together):
            members = [member for member, rows in zip(self._members, together, strict=True) if rows[0] in group]
            columns = [d for d, k in enumerate(free) if k in group]
            if any(member.joint is not None for member in members) and not self._slides(answers[columns]):
                z[columns] = self._least(members, present[group], ways[np.ix_(group, columns)])
        return z

    def _slides(self, answers: np.ndarray) -> bool:
        """Whether a redistribution changes the load of sliding friction, which is in proportion to it.

        `answers` are as in `_answers`.
        """
        model = self._segment.model
        rubbed = {element.on.name for element, _ in model.forces if isinstance(element, Friction)}
        return any(
            (np.abs(answers[:, model.joint_rows[name]]) > NO_PART).any() for name in rubbed & {*model.joint_rows}
        )

    def _least(self, members: Sequence[_Member], present: np.ndarray, ways: np.ndarray) -> np.ndarray:
        """Return the forces (d,) along the rows of a group without a row of the model.

        `present` (r,) are the forces along the r rows of its members without the forces z (d,), and `ways` (r, d) the
        changes per unit of each. The sum `present` + `ways` z has least norm within the limits of friction or, if none
        is within the limits, least norm.
        """
        scale, row = np.ones(len(present)), 0
        places, coefficients, limits = list[int](), list[float](), list[float]()
        for member in members:
            rows = range(row, row := row + len(member.own))
            if member.joint is not None:
                scale[rows.start] = np.sqrt(self._compliance[member.name])
                places += [-1, rows.start, -1]
                limits.append(scale[rows.start] * member.joint.static * member.joint.load_per_effort)
            else:
                places += [*rows, *(-1 for _ in range(LOADS - len(rows)))]
                limits.append(0.0)
            coefficients.append(member.coefficient)
        start, ways = scale * present, scale[:, None] * ways
        V = np.linalg.qr(ways, mode="complete")[0][:, ways.shape[1] :]
        c, some = V.T @ start, np.array(places) >= 0
        padded = np.where(some[:, None], V[places], 0.0)
        found, known = padded @ c, (np.array(coefficients), np.array(limits))
        if not inside(found, *known):
            within = least_norm(padded, c, *known)
            found = found if within is None else within
        forces = np.zeros(len(present))
        forces[np.array(places)[some]] = found[some]
        return np.linalg.lstsq(ways, forces - start, rcond=DEPENDENT)[0]

    @cached_property
    def _compliance(self) -> dict[str, float]:
        """Compliance of the row of each sticking joint relative to the least one, by name of its friction."""
        joints = [member.joint for member in self._members if member.joint is not None]
        soft = joint_compliances(joints, self._system.model.length)
        return {joint.name: float(size) for joint, size in zip(joints, soft, strict=True)}
