"""Loads of contacts and friction along a result, where several contacts share a load.

The motion of rigid bodies determines only the resultant of the loads of these contacts. Of all distributions of the
resultant inside the friction cones, the one of least norm is reported. Where some contacts of a group slide and others
stick, the normal loads of sliding contacts, with proportional friction, are also unknowns, for the same resultant;
where all slide, they are those with which the run computed the friction. If no distribution is inside the cones, the
one of least norm is reported, with a warning. Redundant contacts, which had no constraint rows during the run, are
included. Where contacts at rest also share the load with sticking joints, or contacts share loads through joints,
`quirk.result.sticking_loads` distributes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..analysis.contact.contact_kinematics import ContactKinematics, Gaps
from ..constraints.sticking import Sticking
from ..constraints.unilateral import Unilateral
from ..dynamics.contact.contact_modes import DEPENDENT
from ..dynamics.contact.friction_cones import LOADS, is_inside_cones, least_norm_loads
from ..dynamics.contact.largest_margin import loads_of_largest_margin
from ..dynamics.contact.load_sharing import groups_by_projector
from ..errors import outside
from ..forces import Friction
from ..forces.slip_direction import friction_direction
from ..system.system import System
from .segment import Segment

# A gap counts as closed below CLOSED times the size of the system, or CLOSED rad: more than the depth at which a run
# notes that a contact without load closes. Its rate counts as zero below STILL times the largest speed, or times the
# speed that gravity and loads cause over the size of the system.
CLOSED, STILL = 1.5e-9, 1e-8
# A closed contact without constraint rows or friction force does not stick if its slip exceeds this fraction of these
# speeds. The fraction exceeds that at which friction with redundant rows begins to slide in a run.
SLIPS = 1e-6
# Negative margins to the friction cones down to this fraction of the largest load are round-off of loads at a limit.
NEAR_LIMIT = 1e-9
# Constraints hold a row if they reduce its response to a force below this fraction of that of free bodies. It exceeds
# round-off and drift of rows that depend on each other.
HELD = 1e-10
# A run opens contacts at tensile loads of up to this fraction of the largest load: 1e-9 of that load, rounded up to a
# power of ten.
OPENS_AT = 1e-8
# Maximum number of contacts named in a warning.
MOST_NAMED = 4


class ContactLoadWarning(UserWarning):
    """Warning that loads of contacts or sticking joints violate the law of friction.

    There are four causes. Contacts that share a load with sliding contacts may stick only with loads that change the
    sliding friction, and so the acceleration of the slip; the reported loads are then outside the friction cones. A
    contact may slip without friction in a run, if forces and accelerations let it stick but the motion does not;
    friction then stops each slip as it begins. The efforts of sticking joints that share a load may exceed the limits
    of their friction. Where bodies that share loads turn, a run may notice too late that the loads pass a limit.
    """


@dataclass(frozen=True)
class ClosedContact:
    """Contact that is closed during a segment.

    Attributes
    ----------
    number : index of its gap among all gaps
    friction : friction element of the contact, or None
    slips : indices of its slip components among all gaps and slip components if it sticks; otherwise empty
    slides : the friction element if it slides, otherwise None
    rubs : indices of its slip components if it slides; otherwise empty
    """

    number: int
    friction: Friction | None
    slips: tuple[int, ...]
    slides: Friction | None
    rubs: tuple[int, ...]


class ContactLoads:
    """Loads of the contacts of a system along one segment of a result.

    Parameters
    ----------
    system : System
    gaps : all gaps and slip components of the system
    segment : segment of the result in which the loads are evaluated

    Attributes
    ----------
    touching : names of the contacts that are closed during the whole segment
    sticking : names of the friction elements of these contacts without slip
    closed : those of these contacts that may carry load, as the rows of the model hold them
    """

    def __init__(self, system: System, gaps: Gaps, segment: Segment) -> None:
        self._system, self._gaps, self._segment, self._arms = system, gaps, segment, gaps.arms
        self._openings = self._all() if self._has_contacts() else []
        touching = self._closed_contacts() if self._openings else []
        self.touching = frozenset(gaps.contact_points[contact.number].constraint.name for contact in touching)
        self.sticking = frozenset(
            contact.friction.name for contact in touching if contact.friction is not None and contact.slips
        )
        self.closed = self._held(touching)

    def _has_contacts(self) -> bool:
        placed = {one.name for one, _ in self._segment.model.joint_bodies}
        return any(touch.constraint.name in placed for touch in self._gaps.contact_points)

    def _all(self) -> list[ContactKinematics]:
        solver, segment = self._system.plant.solver(), self._segment
        found = []
        for t, y, angles in zip(segment.instants, segment.flat, segment.angles, strict=True):
            self._gaps.select_parts(solver.model.auxiliary.state(y), {})
            found.append(self._gaps.kinematics_at(solver, float(t), y, angles))
        return found

    def _closed_contacts(self) -> list[ClosedContact]:
        """Return the contacts that are closed during the whole segment."""
        gaps, model, length = self._gaps, self._segment.model, self._system.model.length
        values = np.abs([opening.value for opening in self._openings]).max(axis=0)
        rates = np.abs([opening.rate for opening in self._openings]).max(axis=0)
        state = self._segment.state
        speed = np.abs(state.velocity).max() + length * np.abs(state.angular_velocity).max()
        slow = STILL * (speed + np.sqrt(self._loads_per_mass * length))
        placed = {one.name: one for one, _ in model.joint_bodies}
        acting = {element.name: element for element, _ in model.forces}
        found = []
        for number, touch in enumerate(gaps.contact_points):
            constraint, unit = touch.constraint, 1.0 if touch.angular else length
            own_row = next((k for k, one in enumerate(constraint.closed) if placed.get(constraint.name) is one), None)
            closed = own_row is not None and constraint.gap_of_row(own_row) == touch.number
            if not closed and (values[number] > CLOSED * unit or rates[number] > slow * unit / length):
                continue
            if not closed and self._opens(number, speed, unit):
                continue
            own = [force for force in self._enabled_frictions() if force.on is constraint]
            slides = next((acting[force.name] for force in own if force.name in acting), None)
            friction = own[0] if len(own) == 1 else None
            slips: tuple[int, ...] = ()
            if friction is not None and slides is None:
                held = placed.get(friction.name)
                side = _side_of(held) if isinstance(held, Sticking) else None
                slips = self._slips(friction, side)
                # Friction in a contact with a row of its own sticks unless it slides.
                if held is None and not closed and rates[list(slips)].max(initial=0.0) > slow / STILL * SLIPS:
                    slips = ()
            slides = slides if isinstance(slides, Friction) else None
            rubs = () if slides is None else self._slips(slides, getattr(slides.slip, "side", 1))
            found.append(ClosedContact(number, friction, slips, slides, rubs))
        return found

    def _held(self, touching: Sequence[ClosedContact]) -> list[ClosedContact]:
        """Return the contacts, with their slip components, that the rows of the model hold.

        A force along other gaps and slip components would accelerate bodies: these touch without load, and share none
        with the constraints of the model. Nor do contacts that slip although the run has no friction in them.
        """
        touching = [one for one in touching if one.friction is None or one.slips or one.slides is not None]
        own = {number for _, parts in self.rows_of(touching) for number in parts}
        others = {number for contact in touching for number in (contact.number, *contact.slips)} - own
        if others:
            solver, segment, t = self._segment.plant.solver(), self._segment, float(self._segment.instants[0])
            lanes, none = solver.slots.state_to_lanes(segment.flat[0]), np.zeros(solver.model.rows)
            solver.settle(lanes, t)
            for number in others:
                row = self._openings[0].subset([number])
                change, _ = solver.respond(lanes, t, none, row.force_directions[0])
                if row.rates_of(change)[0] <= HELD * row.unconstrained_response(solver.model)[0]:
                    own.add(number)
        return [
            contact if own.issuperset(contact.slips) else replace(contact, slips=())
            for contact in touching
            if contact.number in own
        ]

    def _enabled_frictions(self) -> list[Friction]:
        system, switched = self._system, self._segment.switched
        frictions = (force for force in system.forces if isinstance(force, Friction))
        return [one for one in frictions if switched.get(one.name, system.is_active(one.name))]

    def _opens(self, number: int, speed: float, unit: float) -> bool:
        """Whether a gap that is closed and at rest at the start of the segment opens there.

        `number` is the index of the gap and `unit` its characteristic size, m or rad; `speed` is the largest speed of
        the bodies, m/s.
        """
        segment, length, y = self._segment, self._system.model.length, self._segment.flat[0]
        linear, angular = segment.dynamics.linear[0], segment.dynamics.angular[0]
        self._gaps.select_parts(segment.model.auxiliary.state(y), {})
        motion = np.concatenate([linear, angular], axis=-1)
        (opening,) = self._gaps.accelerations(float(segment.instants[0]), y, segment.angles[0], [number], motion)
        scale = np.abs(linear).max() + length * np.abs(angular).max() + speed**2 / length
        return bool(opening > STILL * (scale + self._loads_per_mass) * unit / length)

    @cached_property
    def _loads_per_mass(self) -> float:
        """Acceleration, m/s^2, by gravity and constraint loads, in comparison with which others are round-off."""
        loads = np.abs(self._segment.dynamics.multipliers).max(initial=0.0)
        return float(np.linalg.norm(self._system.gravity) + loads / self._segment.model.mass.sum())

    def _slips(self, friction: Friction, side: int | None) -> tuple[int, ...]:
        """Return the indices of the slip components of a friction element on one side of the first surface.

        `side` is +1 or -1, or None for the first of these sides that has slip components.
        """
        first = len(self._gaps.contact_points)
        own = [(first + k, one) for k, one in enumerate(self._gaps.slip_rows) if one.component.name == friction.name]
        side = own[0][1].side if side is None else side
        return tuple(k for k, one in own if one.side == side)

    def loads_and_multipliers(self, without: frozenset[str]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the loads, and the multipliers, of contacts that share a load, by name.

        The loads are force (N) and torque (N m), (nt, 2, 3), on body j, inertial frame; the torque is about the joint
        point of body j. The multipliers are those of the gap (nt, 1) and, by the names of sticking friction, of the c
        slip components (nt, c), N or N m. Groups with contacts whose names are in `without` are left out.
        """
        loads, multipliers, nt = dict[str, np.ndarray](), dict[str, np.ndarray](), len(self._openings)
        for group in self._groups:
            if not without.isdisjoint(self._names(group)):
                continue
            numbers = [number for contact in group for number in (contact.number, *contact.slips)]
            numbers += [number for contact in group for number in contact.rubs]
            times = list[float]()
            for row, opening in enumerate(self._openings):
                z, holds = self._shared(group, opening, row)
                times += [] if holds else [float(self._segment.time[row])]
                along = self._arms[numbers] * z
                exerted = self._gaps.impulses(self._segment.flat[row], opening.subset(numbers), numbers, along)
                for name in {*self._names(group), *exerted}:
                    array = loads.setdefault(name, np.zeros((nt, 2, 3)))
                    if name in exerted:
                        array[row] = exerted[name].force, exerted[name].torque
                for name, places in self._places(group):
                    multipliers.setdefault(name, np.zeros((nt, len(places))))[row] = along[places]
            if times:
                self._warn(group, times)
        return loads, multipliers

    def redistributions(self, row: int, without: frozenset[str]) -> list[dict[str, np.ndarray]]:
        """Return the changes of loads by redistributions that do not change the motion, at output index `row`.

        Each item is for one group of contacts: changes of force and torque (k, 2, 3), as in `loads_and_multipliers`, of
        contacts and sticking friction by name, by k independent redistributions. Limits of friction are disregarded.
        Groups with contacts whose names are in `without` are left out.
        """
        found = []
        for group in self._groups:
            if not without.isdisjoint(self._names(group)):
                continue
            numbers = [number for contact in group for number in (contact.number, *contact.slips)]
            opening = self._openings[row]
            A = self._matrix(opening, numbers)
            self._add_drags(A, group, opening, row)
            changes = dict[str, np.ndarray]()
            ways = self._arms[numbers] * _null_space(A)
            for k, way in enumerate(ways):
                exerted = self._gaps.impulses(self._segment.flat[row], opening.subset(numbers), numbers, way)
                for name, load in exerted.items():
                    changes.setdefault(name, np.zeros((len(ways), 2, 3)))[k] = load.force, load.torque
            if changes:
                found.append(changes)
        return found

    def _places(self, group: Sequence[ClosedContact]) -> list[tuple[str, list[int]]]:
        """Return the indices of the gap and of the slip components of each contact among those of its group.

        They are given by the names of the contacts and of sticking friction.
        """
        found, first = list[tuple[str, list[int]]](), 0
        for contact in group:
            found.append((self._gaps.contact_points[contact.number].constraint.name, [first]))
            slips = [*range(first + 1, first := first + 1 + len(contact.slips))]
            if contact.friction is not None and slips:
                found.append((contact.friction.name, slips))
        return found

    def _warn(self, group: Sequence[ClosedContact], times: Sequence[float]) -> None:
        """Warn that the loads of a group of contacts lie outside the friction cones at the output times `times`, s."""
        named = ", ".join(f"{self._gaps.contact_points[contact.number].constraint}" for contact in group[:MOST_NAMED])
        more = f" and {len(group) - MOST_NAMED} more" if len(group) > MOST_NAMED else ""
        warnings.warn(
            f"{named}{more}: at {len(times)} output times from t = {times[0]:.9g} to {times[-1]:.9g} s no loads inside "
            "the friction cones have the resultant of the motion; the reported loads lie outside",
            ContactLoadWarning,
            stacklevel=outside(),
        )

    @cached_property
    def shared(self) -> frozenset[str]:
        """Names of the contacts that share a load with others, and of their friction elements."""
        return frozenset(name for group in self._groups for name in self._names(group))

    @cached_property
    def shared_at_rest(self) -> frozenset[str]:
        """Names in `shared` of groups without sliding contacts."""
        resting = (group for group in self._groups if all(contact.slides is None for contact in group))
        return frozenset(name for group in resting for name in self._names(group))

    def _names(self, group: Sequence[ClosedContact]) -> list[str]:
        frictions = [contact.friction.name for contact in group if contact.friction is not None and contact.slips]
        return [*(self._gaps.contact_points[contact.number].constraint.name for contact in group), *frictions]

    @cached_property
    def _groups(self) -> list[list[ClosedContact]]:
        """Groups of contacts that share their loads.

        There are none if contacts share loads through joints as well: `StickingLoads` distributes these.
        """
        rows = [[contact.number, *contact.slips] for contact in self.closed]
        numbers = [number for own in rows for number in own]
        if not numbers:
            return []
        ways = _null_space(self._matrix(self._openings[0], numbers)).T
        lacking = len(numbers) - sum(len(parts) for _, parts in self.rows_of(self.closed))
        placed = [one for one, _ in self._segment.model.joint_bodies]
        if lacking > ways.shape[1] and not all(isinstance(one, Unilateral | Sticking) for one in placed):
            return []
        ends = np.cumsum([0, *(len(own) for own in rows)])
        together = [list(range(*pair)) for pair in pairwise(ends.tolist())]
        groups = groups_by_projector(ways @ ways.T, list(range(len(numbers))), together)
        return [[self.closed[k] for k, own in enumerate(together) if own[0] in group] for group in groups]

    def _matrix(self, opening: ContactKinematics, numbers: Sequence[int]) -> np.ndarray:
        """Return the loads on n bodies for unit forces along r gaps and slip components, (6 n, r), inertial frame.

        Moments are divided by the characteristic length of the system, as are the torques along gaps that are angles.
        `numbers` are the r indices of the gaps and slip components, and `opening` contains their force directions.
        """
        push = self._arms[list(numbers), None, None] * opening.force_directions[list(numbers)]
        push[..., 3:] /= self._system.model.length
        return np.asarray(push.reshape(len(numbers), -1).T)

    def _shared(self, group: Sequence[ClosedContact], opening: ContactKinematics, row: int) -> tuple[np.ndarray, bool]:
        """Return the loads, N, of a group of contacts at output index `row`, and whether they are inside the cones.

        The loads are along the gaps and slip components of the group, followed by the changes of the sliding friction
        forces relative to the run. Torques are divided by the characteristic length of the system. `opening` contains
        the force directions at this output; the cones are the friction cones.
        """
        numbers = [number for contact in group for number in (contact.number, *contact.slips)]
        sliding = [contact for contact in group if contact.slides is not None]
        A, none = self._matrix(opening, numbers), np.zeros(sum(len(contact.rubs) for contact in sliding))
        largest = self._largest_force(group)
        multipliers, model = self._segment.dynamics.multipliers[row], self._segment.model
        goal = np.zeros(len(A))
        for name, parts in self.rows_of(group):
            own = multipliers[model.joint_rows[name]] / self._arms[parts]
            goal += self._matrix(opening, parts) @ own
        if not sliding:
            found = _inside(A, goal, group, largest)
            return (_least(A, goal), False) if found is None else (found, True)
        z = np.zeros(len(numbers))
        places = [numbers.index(contact.number) for contact in sliding]
        for contact, place in zip(sliding, places, strict=True):
            assert contact.slides is not None
            z[place] = self._segment.dynamics.shares[contact.slides.name][row, 0]
        rest = [k for k in range(len(numbers)) if k not in places]
        if not rest:
            return np.concatenate([z, none]), True
        z[rest] = _least(A[:, rest], goal - A @ z)
        drags = self._add_drags(A, group, opening, row)
        found = _inside(A, A @ z, group, largest)
        if found is None:
            return np.concatenate([z, none]), False
        changes = (found - z)[places]
        forces = (change * drag for change, drag in zip(changes, drags, strict=True))
        return np.concatenate([found, *forces]), True

    def _add_drags(
        self, A: np.ndarray, group: Sequence[ClosedContact], opening: ContactKinematics, row: int
    ) -> list[np.ndarray]:
        """Add the friction of sliding contacts to the columns of A (6 n, r) of their gaps, and return it.

        A contains the loads for unit forces along the r gaps and slip components of a group of contacts, and `opening`
        the force directions at output index `row`. Each returned array (d,) is the friction force of a sliding contact
        along its d slip components, per unit of normal load.
        """
        drags, place = list[np.ndarray](), 0
        for contact in group:
            if contact.slides is not None:
                drags.append(drag(self._segment, contact.slides, opening.rate[list(contact.rubs)], row))
                A[:, place] += self._matrix(opening, contact.rubs) @ drags[-1]
            place += 1 + len(contact.slips)
        return drags

    def _largest_force(self, group: Sequence[ClosedContact]) -> float:
        """Return the largest force, N, along the rows of a group of contacts in the segment."""
        model, largest = self._segment.model, 0.0
        for name, parts in self.rows_of(group):
            forces = self._segment.dynamics.multipliers[:, model.joint_rows[name]] / self._arms[parts]
            largest = max(largest, float(np.abs(forces).max(initial=0.0)))
        return largest

    def rows_of(self, group: Sequence[ClosedContact]) -> list[tuple[str, list[int]]]:
        """Return the contacts and sticking friction elements of a group that have constraint rows.

        Each item consists of the name of a constraint, and the indices of its rows among all gaps and slip components.
        """
        placed = {one.name: one for one, _ in self._segment.model.joint_bodies}
        found = []
        for one in group:
            name = self._gaps.contact_points[one.number].constraint.name
            if name in placed:
                found.append((name, [one.number]))
            held = placed.get(one.friction.name) if one.friction is not None else None
            if isinstance(held, Sticking):
                found.append((held.name, [one.slips[c] for c in held.which]))
        return found


def drag(segment: Segment, sliding: Friction, slip: np.ndarray, row: int) -> np.ndarray:
    """Return the force (d,) of sliding friction of a contact along its d slip components, per unit of normal load.

    `slip` (d,) is the slip at output index `row` of the segment.
    """
    ending = {} if sliding.begins else segment.dynamics.last_slip.get(row, {})
    initial = ending.get(sliding.name, sliding.direction)
    direction = friction_direction(slip.tolist(), initial, sliding.floor, sliding.begins)
    return np.asarray(-sliding.coefficient * np.array(direction))


def _side_of(held: Sticking) -> int:
    return getattr(held.primitives[0].function.slip, "side", 1)  # type: ignore[union-attr]


def _least(A: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the multipliers z (r,) of least norm whose resultant A z is nearest to `goal` (6 n,)."""
    return np.asarray(np.linalg.lstsq(A, goal, rcond=DEPENDENT)[0])


def _null_space(A: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (k, r) of the multipliers (r,) whose resultant with A (6 n, r) is zero."""
    _, sizes, right = np.linalg.svd(A, full_matrices=True)
    return np.asarray(right[int((sizes > DEPENDENT * sizes.max(initial=0.0)).sum()) :])


def _inside(A: np.ndarray, goal: np.ndarray, group: Sequence[ClosedContact], largest: float) -> np.ndarray | None:
    """Return the multipliers (r,) of least norm inside the friction cones with a given resultant, or None.

    A (6 n, r) maps the multipliers of the contacts in `group` to loads on n bodies, and `goal` (6 n,) is the resultant.
    If the set of distributions inside the cones is very small, as at the limit of sticking, the one with the largest
    margin is returned, because the one of least norm cannot be computed accurately there. `largest` is the largest
    force, N, along the rows of the group in the segment, for the tolerance of tensile loads.
    """
    left, sizes, right = np.linalg.svd(A)
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    V, c = right.T, left[:, :rank].T @ goal / sizes[:rank]
    rows = np.full((len(group), LOADS), -1)
    row = 0
    for k, one in enumerate(group):
        rows[k, : 1 + len(one.slips)] = np.arange(row, row + 1 + len(one.slips))
        row += 1 + len(one.slips)
    coefficients = np.array(
        [contact.friction.static if contact.friction is not None and contact.slips else 0.0 for contact in group]
    )
    flat = rows.ravel()
    padded = np.where((flat >= 0)[:, None], V[flat], 0.0)
    free = padded[:, :rank] @ c
    found = free if is_inside_cones(free, coefficients) else least_norm_loads(padded[:, :rank], c, coefficients)
    if found is None:
        found = _with_largest_margin(free, padded[:, rank:], coefficients, largest)
    if found is None:
        return None
    z = np.zeros(A.shape[1])
    z[flat[flat >= 0]] = found[flat >= 0]
    return z


def _with_largest_margin(
    z: np.ndarray, ways: np.ndarray, coefficients: np.ndarray, largest: float
) -> np.ndarray | None:
    """Return the loads (3 m,) of m contacts with the largest margin to the friction cones, or None.

    None means that no loads are inside the cones. z (3 m,) are loads with the required resultant, `ways` (3 m, d) a
    basis of all loads with zero resultant, and `coefficients` (m,) the coefficients of friction. `largest` is the
    largest force in the segment, N.
    """
    acts = (coefficients > 0) & np.isfinite(coefficients)
    inverse = np.where(acts, 1 / np.where(acts, coefficients, 1.0), 0.0)
    found, margin = loads_of_largest_margin(z, ways, inverse)
    return found if margin >= -max(NEAR_LIMIT * np.abs(found).max(), OPENS_AT * largest) else None
