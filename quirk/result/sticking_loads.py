"""Distribution of loads that sticking joints and contacts share with each other or with joints, along one segment.

Members are the sticking joints and the closed contacts. The r rows are the slip components of sticking joints and the
gaps and slip components of closed contacts, with forces f (r,) along them, N; of a sliding contact the gap alone.
Torques along gaps that are angles, of stops of rotations, count divided by the characteristic length of the system. The
model of a segment contains a maximal independent subset of these rows. A force along another row is balanced by
multipliers of the model's rows: a redistribution of load, which does not change the motion. Of all distributions within
the limits of friction, that of least sum of c_i f_i^2 is reported, with compliances c_i of joints in inverse proportion
to their limits L_i.

Limits of `Friction` depend on the loads of joints, which the redistributed forces z change: L = static N(z), with the
coefficient of static friction and the normal load N. The distribution is a fixed point, z = argmin sum of c_i(z)
f_i(z)^2 within the limits L(z), found by iteration. Where no distribution is within the limits, a warning is issued.
Normal loads of sliding friction are those of the run, as they determine the motion. Those of contacts change where no
other distribution is within the limits, if the changes of friction do not affect the motion.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..analysis.contact.contact_kinematics import Gaps
from ..analysis.contact.friction_modes import FrictionModes
from ..bodies.state import State
from ..dynamics.contact.load_sharing import MIN_SHARE, groups_by_projector
from ..dynamics.model.friction_normal_load import bearing_forces
from ..errors import outside
from ..forces import ForceElement, Friction, JointFriction
from ..forces.stick_slip import NORMAL
from ..system.system import System
from .admissible_loads import largest_margin_redistribution, least_norm_redistribution
from .balancing_loads import BalancingLoads, balancing_loads
from .contact_loads import MOST_NAMED, ContactLoads, ContactLoadWarning
from .segment import Segment
from .sticking_members import Limits, compliances, contact_members, joint_members

# Poses with differences below this count as equal: positions relative to the length of the system, and quaternions.
SAME = 1e-12
# Maximum number of iterations for limits that depend on the distribution of the load, and relative change at which the
# iterations end. Each iteration reduces the change by a factor of about static * radius / (distance of joints).
MOST, SETTLED = 100, 1e-13
# Forces that exceed the limits of friction by less than this fraction are at the limit within the tolerance of events.
AT_LIMIT = 1e-6


@dataclass(frozen=True)
class SharedLoads:
    """Changes of loads by a redistribution, at nt output times.

    Attributes
    ----------
    multipliers : (nt, m) changes of the multipliers of the model's m rows
    forces : (nt, c) multipliers of the c rows, N or N m, of contacts and sticking friction that lack a row, by name
    loads : (nt, 2, 3) changes of force and torque, N and N m, inertial frame, of constraints and friction by name
    """

    multipliers: np.ndarray
    forces: dict[str, np.ndarray]
    loads: dict[str, np.ndarray]

    def shared(self, length: float) -> frozenset[str]:
        """Return the names of the constraints and friction elements whose loads the redistribution changes.

        `length` is the characteristic length of the system, m, by which torques are compared with forces.
        """
        sizes = {name: np.abs(change / [[1.0], [length]]).max() for name, change in self.loads.items()}
        least = MIN_SHARE * max(sizes.values(), default=0.0)
        return frozenset(name for name, size in sizes.items() if size > least)


def sticking_joints(forces: Iterable[ForceElement]) -> list[JointFriction]:
    """Return the friction elements of joints that change between sticking and sliding by events."""
    return [force for force in forces if isinstance(force, JointFriction) and force.sticks]


class StickingLoads:
    """Efforts of sticking joints, and loads of contacts that share loads with them, along one segment.

    Parameters
    ----------
    system : System
    gaps : all gaps and slip components of the system
    segment : segment of the result in which the loads are evaluated
    contacts : loads of its contacts, or None for systems without contacts

    Attributes
    ----------
    takes : names of the contacts, and of their friction, that share a load with other contacts and with sticking joints
    """

    def __init__(self, system: System, gaps: Gaps, segment: Segment, contacts: ContactLoads | None) -> None:
        self._system, self._gaps, self._segment = system, gaps, segment
        self._frictions = FrictionModes(system)
        joints, shared, resting = joint_members(system, gaps, segment), frozenset[str](), frozenset[str]()
        if contacts is not None:
            shared, resting = contacts.shared, contacts.shared_at_rest if joints else frozenset()
        self._members = [*joints, *contact_members(gaps, segment, contacts, shared - resting)]
        self.takes = resting & self._contacts_beside_joints() if resting else frozenset()
        left = resting - self.takes
        members = [member for member in self._members if member.friction is not None or member.name not in left]
        # If the model has all rows of the members, no load is shared.
        self._members = members if any(None in member.own for member in members) else []

    def _contacts_beside_joints(self) -> frozenset[str]:
        """Return the names of the contacts, and of their friction, that share a load with sticking joints."""
        ways, balancing = self._ways_at(0)
        found = set[str]()
        for numbers, _, _ in self._groups(ways, balancing, self._segment.state_at(0)):
            members = [self._members[k] for k in numbers]
            if any(member.friction is not None for member in members):
                contacts = (member for member in members if member.friction is None)
                found.update(name for member in contacts for name, _ in member.forces)
        return frozenset(found)

    @cached_property
    def shares(self) -> SharedLoads:
        """Changes of multipliers and loads, along the segment, by the reported redistribution."""
        segment, nt = self._segment, len(self._segment.time)
        found = SharedLoads(np.zeros((nt, segment.model.rows)), {}, {})
        if not self._members:
            return found
        solver, place, last, beyond = segment.plant.solver(), self._system.plant.solver(), 0, dict[int, list[str]]()
        joint_loads = segment.joint_loads
        for row, y in enumerate(segment.flat):
            if row == 0:
                solver.settle(solver.slots.state_to_lanes(y), segment.instants[0])
            # The balancing loads are reused while the poses do not change.
            if row == 0 or self._moved(last, row):
                balancing, last = balancing_loads(self._gaps, segment, self._members, solver, place, row), row
            multipliers = segment.dynamics.multipliers[row]
            present, ways = self._forces(multipliers, balancing)
            state = segment.state_at(row)
            start = self._sliding(row, present, ways, balancing, state)
            base = {name: load[row] for name, load in joint_loads.items()}
            for size, loads in zip(start, balancing.loads, strict=True):
                for name, load in loads.items():
                    base[name] = base.get(name, 0.0) + size * load
            limits = Limits(self._members, self._frictions, state, base, balancing.loads)
            z, exceeding = self._shared(present + ways @ start, ways, balancing, limits, state)
            z = z + start
            if exceeding:
                beyond[row] = exceeding
            found.multipliers[row] = z @ balancing.multipliers
            for size, loads in zip(z, balancing.loads, strict=True):
                for name, load in loads.items():
                    found.loads.setdefault(name, np.zeros((nt, 2, 3)))[row] += size * load
            self._store_multipliers(found.forces, self._row_arms * (present + ways @ z), row)
        if beyond:
            self._warn(beyond)
        return found

    def redistributions(self, row: int) -> list[dict[str, np.ndarray]]:
        """Return the changes of loads by all redistributions that are possible at output index `row` of the segment.

        Each item is for one group of members that share a load: changes of force and torque (k, 2, 3), inertial frame,
        of constraints and friction by name, by k independent redistributions.
        """
        if not self._members:
            return []
        ways, balancing = self._ways_at(row)
        found = []
        for _, _, directions in self._groups(ways, balancing, self._segment.state_at(row)):
            changes: dict[str, np.ndarray] = {}
            for part, loads in zip(directions, balancing.loads, strict=True):
                for name, load in loads.items():
                    changes[name] = changes.get(name, 0.0) + np.multiply.outer(part, load)
            found.append(changes)
        return found

    def _ways_at(self, row: int) -> tuple[np.ndarray, BalancingLoads]:
        """Return the changes of the forces along all rows by unit redistributions, and the loads that balance them.

        The results are those of `_forces` and `balancing_loads` at output index `row`.
        """
        solver, segment = self._segment.plant.solver(), self._segment
        solver.settle(solver.slots.state_to_lanes(segment.flat[0]), segment.instants[0])
        balancing = balancing_loads(self._gaps, segment, self._members, solver, self._system.plant.solver(), row)
        return self._forces(segment.dynamics.multipliers[row], balancing)[1], balancing

    def _warn(self, beyond: dict[int, list[str]]) -> None:
        """Warn of forces outside the limits of friction.

        `beyond` are the names of the sticking joints and contacts outside their limits, by output index.
        """
        names, times = sorted({name for each in beyond.values() for name in each}), self._segment.time[[*beyond]]
        named = ", ".join(str(self._system[name]) for name in names[:MOST_NAMED])
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        warnings.warn(
            f"{named}{more}: at {len(times)} output times from t = {times[0]:.9g} to {times[-1]:.9g} s no distribution "
            "of the load within the limits of friction was found; the reported loads are outside",
            ContactLoadWarning,
            stacklevel=outside(),
        )

    def _moved(self, one: int, two: int) -> bool:
        """Whether the poses at the output indices `one` and `two` differ by more than round-off."""
        state, length = self._segment.state, self._system.model.length
        turn = np.abs(state.orientation[two] - state.orientation[one]).max()
        return bool(max(turn, np.abs(state.position[two] - state.position[one]).max() / length) > SAME)

    def _store_multipliers(self, into: dict[str, np.ndarray], multipliers: np.ndarray, row: int) -> None:
        """Store the multipliers (r,) of the rows of members that lack a row, at output index `row`, by name."""
        first, nt = 0, len(self._segment.time)
        for member in self._members:
            own = multipliers[first : first + len(member.own)]
            first += len(member.own)
            for name, part in member.forces:
                if None in member.own[part]:
                    into.setdefault(name, np.zeros((nt, len(own[part]))))[row] = own[part]

    def _sliding(
        self,
        row: int,
        present: np.ndarray,
        ways: np.ndarray,
        balancing: BalancingLoads,
        state: State,
    ) -> np.ndarray:
        """Return forces (d,) along the rows that the model lacks with which sliding friction has its normal loads.

        The normal loads are those with which the run has computed the friction at output index `row`. `state` is the
        state of the bodies there; for `present`, `ways` and `balancing` see `_forces`.
        """
        model, length, changes, goals = self._segment.model, self._system.model.length, list[Any](), list[float]()
        shares = self._segment.dynamics.shares
        ends = np.cumsum([0, *(len(member.own) for member in self._members)]).tolist()
        spans = [range(*pair) for pair in pairwise(ends)]
        for member, span in zip(self._members, spans, strict=True):
            if member.slides is not None:
                changes.append(ways[span.start])
                goals.append(float(shares[member.slides.name][row, 0] - present[span.start]))
        for friction in (element for element, _ in model.forces if isinstance(element, Friction)):
            if friction.takes != NORMAL and friction.shares:
                R, unit = self._frictions.body_axes(friction, state), np.array([[1.0], [length]])
                added = shares[friction.name][row].reshape(2, 3) @ R.T
                loads = [each.get(friction.on.name, np.zeros((2, 3))) / unit for each in balancing.loads]
                changes += [*np.reshape(loads, (len(loads), -1)).T]
                goals += (added / unit).ravel().tolist()
        count = len(balancing.rows)
        A = np.reshape(changes, (len(goals), len(balancing.loads)))[:, :count]
        # Loads that others do not share are those of the model already.
        rows, found = np.abs(A).max(axis=1, initial=0.0) > MIN_SHARE, np.zeros(len(balancing.loads))
        if rows.any():
            found[:count] = np.linalg.lstsq(A[rows], np.array(goals)[rows], rcond=MIN_SHARE)[0]
        return found

    def _shared(
        self, present: np.ndarray, ways: np.ndarray, balancing: BalancingLoads, limits: Limits, state: State
    ) -> tuple[np.ndarray, list[str]]:
        """Return the forces (d,) along the d rows that the model lacks, and the names of members outside their limits.

        `present` (r,) are the forces along all rows without the forces to be found, `ways` (r, d) their changes per
        unit of them, `balancing` are the loads that balance unit forces along these rows, and `limits` the limits of
        friction, at the state `state` of the bodies.
        """
        # As a rule sliding friction is that of the run, which has determined its work.
        for fixed in (True, False) if balancing.sliding else (True,):
            groups = self._groups(ways, balancing, state, fixed=fixed)
            z, exceeding = self._shared_within(groups, present, ways, limits)
            if not exceeding:
                break
        return z, exceeding

    def _shared_within(
        self,
        groups: list[tuple[list[int], list[int], np.ndarray]],
        present: np.ndarray,
        ways: np.ndarray,
        limits: Limits,
    ) -> tuple[np.ndarray, list[str]]:
        """Return the result of `_shared` for the redistributions of `groups`, as returned by `_groups`."""
        none = np.zeros(ways.shape[1])
        if not groups:
            return none, self._beyond(present, limits(none))
        z, inside = self._least(none, present, ways, groups, limits)
        if inside:
            return z, []
        # If only few distributions are within the limits, as at the limit of sticking, the iteration may miss them.
        directions = np.hstack([directions for _, _, directions in groups])
        most = directions @ largest_margin_redistribution(self._members, limits, present, directions, ways @ directions)
        if exceeding := self._beyond(present + ways @ most, limits(most)):
            excess = [self._excess(present + ways @ each, limits(each)).max() for each in (most, z)]
            if excess[0] <= excess[1]:
                return most, exceeding
            return z, self._beyond(present + ways @ z, limits(z)) or exceeding
        z, inside = self._least(most, present, ways, groups, limits)
        return (z if inside else most), []

    def _forces(self, multipliers: np.ndarray, balancing: BalancingLoads) -> tuple[np.ndarray, np.ndarray]:
        """Return the forces (r,), N, along all rows, and their changes (r, d) by d redistributions of unit size.

        `multipliers` (m,) are the model's multipliers, and `balancing` are the loads that balance a unit force along
        each of the d rows that the model lacks.
        """
        places = [place for member in self._members for place in member.own]
        arms = self._row_arms
        present, ways = np.zeros(len(places)), np.zeros((len(places), len(balancing.loads)))
        for k, place in enumerate(places):
            if place is not None:
                present[k], ways[k] = multipliers[place] / arms[k], balancing.multipliers[:, place] / arms[k]
        ways[balancing.rows, np.arange(len(balancing.rows))] = 1.0
        return present, ways

    def _least(
        self,
        z: np.ndarray,
        present: np.ndarray,
        ways: np.ndarray,
        groups: list[tuple[list[int], list[int], np.ndarray]],
        limits: Limits,
    ) -> tuple[np.ndarray, bool]:
        """Return the redistribution (d,) with forces of least weighted squares, and whether it is within the limits.

        The limits depend on the redistribution. They are evaluated at z (d,) first, and then at each new
        redistribution, until they settle or no distribution is within them. `present` (r,) are the forces along all
        rows for z = 0, and `ways` (r, d) their changes per unit of each redistribution; `groups` are returned
        by `_groups`.
        """
        bounds = limits(z)
        for _ in range(MOST):
            z, before, inside = np.zeros(len(z)), bounds, True
            soft = compliances(self._members, bounds, self._system.model.length)
            for numbers, rows, directions in groups:
                members = [self._members[k] for k in numbers]
                part, found = least_norm_redistribution(
                    members, present[rows], ways[rows] @ directions, bounds[numbers], soft[numbers]
                )
                z, inside = z + directions @ part, inside and found
            bounds = limits(z)
            if not inside or np.abs(bounds - before).max() <= SETTLED * bounds.max():
                break
        return z, inside and not self._beyond(present + ways @ z, bounds)

    def _groups(
        self, ways: np.ndarray, balancing: BalancingLoads, state: State, *, fixed: bool = False
    ) -> list[tuple[list[int], list[int], np.ndarray]]:
        """Return the groups of members that share a load with each other or with joints.

        Groups in which all contacts slide are left out, because the run has determined their loads.
        Each group consists of the indices of its members, the indices of their rows among all r rows, and a basis
        (d, k) of the redistributions within the group. They do not change the motion, in which sliding friction of
        contacts is in proportion to their normal forces, nor the normal loads of sliding joints; with `fixed` they do
        not change sliding friction. `ways` (r, d) are the changes of the forces along all rows per unit of each of the
        d loads `balancing`, at the state `state` of the bodies.
        """
        possible = self._keeping_motion(ways, balancing, state, fixed)
        if not possible.shape[1]:
            return []
        ends = np.cumsum([0, *(len(member.own) for member in self._members)]).tolist()
        spans = [list(range(*pair)) for pair in pairwise(ends)]
        (basis, sizes), found = np.linalg.qr(ways @ possible), []
        for rows in groups_by_projector(basis @ basis.T, range(len(ways)), spans):
            numbers = [k for k, span in enumerate(spans) if span[0] in rows]
            if all(self._members[k].slides is not None for k in numbers):
                continue
            _, within, right = np.linalg.svd(basis[rows], full_matrices=False)
            found.append((numbers, rows, possible @ np.linalg.solve(sizes, right[within > 0.5].T)))
        return found

    def _keeping_motion(self, ways: np.ndarray, balancing: BalancingLoads, state: State, fixed: bool) -> np.ndarray:
        """Return a basis (d, k) of the redistributions that do not change the motion; see `_groups` for arguments."""
        count, starts = len(balancing.rows), np.cumsum([0, *(len(member.own) for member in self._members)])
        changes = ways[starts[balancing.sliding]]
        changes[:, count:] -= np.eye(len(balancing.sliding))
        accelerations = np.hstack([np.zeros((balancing.accelerations.shape[1], count)), balancing.accelerations.T])
        others = balancing.multipliers[:, self._other_sliding_rows()].T
        if fixed:
            accelerations = np.eye(len(balancing.loads))[count:]
        kept = np.vstack([changes, accelerations, others, self._bearing_changes(balancing, state).T])
        _, sizes, right = np.linalg.svd(kept)
        return np.asarray(right[int((sizes > MIN_SHARE).sum()) :].T)

    @cached_property
    def _largest_force(self) -> float:
        """Largest force, N, along the rows of the members in the segment, for the tolerance of limits."""
        places = [place for member in self._members for place in member.own]
        own = [(place, arm) for place, arm in zip(places, self._row_arms, strict=True) if place is not None]
        forces = self._segment.dynamics.multipliers[:, [place for place, _ in own]] / [arm for _, arm in own]
        return float(np.abs(forces).max(initial=0.0))

    @property
    def _row_arms(self) -> np.ndarray:
        """Lever arms (r,) of all rows; see `Gaps.arms`."""
        return self._gaps.arms[[number for member in self._members for number in member.numbers]]

    def _other_sliding_rows(self) -> list[int]:
        """Return the indices of the model's rows that are normal loads of sliding contacts which are not members."""
        model, members = self._segment.model, {member.name for member in self._members}
        rubbed = {
            element.on.name for element, _ in model.forces if isinstance(element, Friction) and element.takes == NORMAL
        }
        return [
            row
            for name in (rubbed - members) & {*model.joint_rows}
            for row in range(model.rows)[model.joint_rows[name]]
        ]

    def _bearing_changes(self, balancing: BalancingLoads, state: State) -> np.ndarray:
        """Return the changes (d, k) of bearing forces on which the friction of sliding joints depends.

        They are those per unit force along each of the d rows that the model lacks, at a state of the bodies.
        """
        found = [np.zeros((len(balancing.loads), 0))]
        for friction in (element for element, _ in self._segment.model.forces if isinstance(element, Friction)):
            if friction.takes == NORMAL:
                continue
            loads = [each.get(friction.on.name, np.zeros((2, 3))).ravel() for each in balancing.loads]
            bearings = np.concatenate([*bearing_forces(friction, self._frictions.axis(friction, state))])
            found.append(np.reshape(loads, (-1, 6)) @ bearings.T)
        return np.hstack(found)

    def _beyond(self, forces: np.ndarray, bounds: np.ndarray) -> list[str]:
        """Return the names of the sticking joints and contacts whose forces (r,) are outside the limits of friction.

        `bounds` (k,) are the limits of the joints, N.
        """
        size = np.maximum(max(np.abs(forces).max(initial=0.0), self._largest_force), bounds)
        outside_limits = self._excess(forces, bounds) > AT_LIMIT * size
        return [member.name for member, beyond in zip(self._members, outside_limits, strict=True) if beyond]

    def _excess(self, forces: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Return by how much friction exceeds its limit, N, in each of k joints and contacts; see `_beyond`."""
        found, first = np.zeros(len(self._members)), 0
        for k, (member, bound) in enumerate(zip(self._members, bounds, strict=True)):
            own = forces[first : first + len(member.own)]
            first += len(member.own)
            limit, across = bound, own
            if member.friction is None:
                limit, across = min(own[0], 0.0) if len(own) == 1 else member.coefficient * own[0], own[1:]
            found[k] = np.linalg.norm(across) - limit
        return found
