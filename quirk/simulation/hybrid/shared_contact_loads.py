"""Loads of contacts that share a load, expressed by the multipliers of independent constraint rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from quirk.constraints import Constraint
from quirk.dynamics.contact.contact_modes import DEPENDENT, ContactModes
from quirk.dynamics.contact.load_sharing import (
    MIN_SHARE,
    coupled_groups,
    keeping_motion,
    load_distribution,
    unchanged,
)
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from quirk.dynamics.sparse.kernels.cone_margin import LOADS
from quirk.dynamics.sparse.kernels.friction_margin import BEARINGS
from quirk.events.names import CommonMargin, KeptRows, Shared
from quirk.forces.load_shares import LeftOutRow, LoadShares
from quirk.forces.stick_slip import StickSlip

from .contact_rows import ContactRows
from .shared_margins import common_margin
from .turning_rows import turning_rows

# Forces below this fraction of the largest are round-off where there is no load.
UNLOADED = 1e-12
# Relative margin at which contacts that share a load are at their limit; and relative error of the weights of
# multipliers.
NEAR_LIMIT, NO_WEIGHT = 1e-11, 1e-13
# Other rows are kept where a kept row carries LARGEST times the multiplier of a row left out, or GROWTH times as much
# as at the last event.
LARGEST, GROWTH = 20.0, 10.0


class SharedContactLoads:
    """Loads of contacts and friction elements as linear combinations of the multipliers of constraint rows.

    The combinations are valid until a contact opens or closes, or a friction element begins to slide or to stick.

    Parameters
    ----------
    rows, solution : the r rows of gaps and slip components, and the solution of their contact problem at a state
    load_round_off : (r,) thresholds of the forces along the rows, below which they are round-off of larger forces
    contacts : the closed contacts, in the order of their rows
    left_out_row : function that returns a row as one that a run leaves out, from its index
    """

    def __init__(
        self,
        rows: ContactRows,
        solution: ContactModes,
        load_round_off: np.ndarray,
        contacts: Sequence[Constraint],
        left_out_row: Callable[[int], LeftOutRow],
    ) -> None:
        rows = replace(rows, compliance=solution.compliance)
        self._rows, self._solution, self.contacts = rows, solution, contacts
        distribution = load_distribution(rows.W, solution, rows.elements, rows.compliance)
        # Forces along rows, N, per unit of multipliers, which are torques for gaps that are angles.
        arms = rows.arms[distribution.rows]
        self._distribution = replace(
            distribution, weights=distribution.weights / arms, redistributed=distribution.redistributed / arms
        )
        # Friction cones of contacts without load are round-off.
        largest = np.maximum(np.abs(solution.z).max(initial=0.0), load_round_off)
        self._largest = 10.0 ** np.ceil(np.log10(np.where(largest > 0, largest, np.finfo(float).tiny)))
        name_of = {row: (contact.name, 0) for row, contact in enumerate(contacts)}
        for element, friction in zip(rows.elements, rows.friction_elements, strict=True):
            independent = [row for row in element.rows if solution.independent[row]]
            name_of |= {row: (friction.name, place) for place, row in enumerate(independent)}
        self._names = tuple(name_of[row] for row in self._distribution.rows.tolist())
        groups = self._groups_with_joint_loads()
        self._sticking_groups = [group for group in groups if self._is_sticking(group)]
        self._sliding_rows = {row for group in groups if group not in self._sticking_groups for row in group}
        self._sliding_friction = {
            element.contact: friction.name
            for element, friction, e in zip(
                rows.elements, rows.friction_elements, solution.slip_directions, strict=True
            )
            if e is not None and element.contact is not None
        }
        self._sliding_joints = [
            element
            for element, e in zip(rows.elements, solution.slip_directions, strict=True)
            if e is not None and element.contact is None
        ]
        unloaded = [row for row in range(rows.contact_count) if not solution.active[row]]
        unloaded = [row for row in unloaded if self._weights_of_reload(row) is not None]
        self._turning = turning_rows(rows, distribution, self._names, contacts, unloaded, left_out_row)
        mixed = self._groups_with_sliding()
        self._sticking_groups = [
            group for group in self._sticking_groups if not any({*group} <= {*region} for region in mixed)
        ] + mixed

    def _groups_with_joint_loads(self) -> list[list[int]]:
        """Return the groups of rows that share loads, as lists of indices.

        A group includes the rows of sticking joints whose normal load it changes. Groups are merged if they contain
        rows of the same joint, or change its normal load.
        """
        groups, held = self._distribution.groups, self._solution.active
        for element in self._rows.elements:
            rows = [row for row in element.rows if held[row]]
            if not rows or element.normal_load is None:
                continue
            own = [
                group
                for group in groups
                if not {*rows}.isdisjoint(group) or self._changes_normal_load(element.normal_load, group)
            ]
            if own:
                merged = sorted({*rows}.union(*own))
                groups = [*(group for group in groups if group not in own), merged]
        return groups

    def _changes_normal_load(self, load: NormalLoad | ConstantLoad, group: Sequence[int]) -> bool:
        """Whether redistributions of load within a group of rows change the normal load `load` of a joint."""
        if not isinstance(load, NormalLoad):
            return False
        _, changes = load.bearings()
        least = MIN_SHARE * max(1.0, np.linalg.norm(changes, axis=1).max())
        return bool(np.abs(changes @ self._distribution.redistributions_within(group)).max() > least)

    def _is_sticking(self, group: Sequence[int]) -> bool:
        """Whether a group of rows belongs only to sticking contacts, and to sticking joints with at most three rows.

        `group` contains the indices of the rows.
        """
        modes = list(zip(self._rows.elements, self._solution.slip_directions, strict=True))
        elements = [element for element, _ in modes if element.has_rows_in(group)]
        sliding = any(
            e is not None and (element.contact in group or element.has_rows_in(group)) for element, e in modes
        )
        known = all(
            element.contact is not None or (len(element.rows) <= LOADS and element.static > 0) for element in elements
        )
        return bool(elements) and not sliding and known

    def _groups_with_sliding(self) -> list[list[int]]:
        """Return groups of contacts with redundant loads in which some stick and others slide, as lists of rows.

        Sliding friction is proportional to its normal load, and so affects the loads of all contacts of the bodies that
        contacts and joints connect; a group has the constrained rows of all these contacts, and of joints with a
        constant limit of friction.
        """
        elements, mixed = (
            self._rows.elements,
            [group for group in self._distribution.groups if self._slides_partly(group)],
        )
        regions = []
        for region in coupled_groups(self._rows.W, elements) if mixed else []:
            known = all(
                element.contact is not None
                or (isinstance(element.normal_load, ConstantLoad) and len(element.rows) < LOADS and element.static > 0)
                for element in elements
                if element.rows[0] in region
            )
            if known and any({*group} <= {*region} for group in mixed):
                regions.append([row for row in region if self._solution.active[row]])
        return regions

    def _slides_partly(self, group: Sequence[int]) -> bool:
        sticks = any(element.has_rows_in(group) for element in self._rows.elements)
        return sticks and not self._sliding_friction.keys().isdisjoint(group)

    @property
    def kept_rows(self) -> KeptRows | None:
        """Watched quantity that reaches zero where other rows must be kept; None if the same rows serve at all times.

        These are rows that become nearly dependent as the bodies move.
        """
        if self._turning is None or not self._turning.left_out:
            return None
        shared, factors = self._turning.watched, self._turning.factors
        compliance, count = np.array(shared.compliance), len(shared.kept)
        changes = self._turning.redistributions[self._distribution.rows] / factors[self._distribution.rows, None]
        of_left_out = compliance[count : count + changes.shape[1]]
        sizes = np.sqrt(compliance[:count, None] / of_left_out) * np.abs(changes)
        return KeptRows(None, "kept rows", None, max(LARGEST, GROWTH * float(sizes.max())), shared)

    def shares_margin(self, row: int) -> bool:
        """Whether the row with index `row` belongs to a sticking contact or joint that shares its load with others."""
        return row not in self._sliding_friction and any(row in group for group in self._sticking_groups)

    def common_margin_of(self, k: int) -> CommonMargin | tuple[()] | None:
        """Return the common margin of the sticking contacts that share the load of a friction element, for monitoring.

        `k` is the index of the element. The result is () if the margin is monitored for another friction element of the
        group, and None if no load is shared.
        """
        own = self._rows.elements[k]
        group = next((group for group in self._sticking_groups if own.has_rows_in(group)), None)
        if group is None:
            return None
        members = [n for n, element in enumerate(self._rows.elements) if element.has_rows_in(group)]
        return self._margin_of_group(group, members) if members[0] == k else ()

    def _margin_of_group(self, group: Sequence[int], members: Sequence[int]) -> CommonMargin:
        # Contacts share a load as springs do if all of them slide.
        free = [
            row
            for rows in self._distribution.groups
            if {*rows} <= {*group} and (self._sliding_friction.keys().isdisjoint(rows) or self._slides_partly(rows))
            for row in rows
        ]
        turning, left_out = self._turning, list[int]()
        if turning is not None:
            left_out = [k for k, row in enumerate(turning.left_out) if row in free]
            free = [row for row in free if row not in turning.places]
        constant = np.hstack([self._distribution.redistributions_within(free), self._blocked_friction(members)])
        every = constant if turning is None else np.hstack([constant, turning.redistributions[:, left_out]])
        used = unchanged(self._sliding_joints, every)
        if self._sliding_friction:
            held, modes = np.flatnonzero(self._solution.active), self._solution.slip_directions
            directions, parts = np.linalg.qr(every @ used)
            keeping = keeping_motion(self._rows.W, held, self._rows.elements, modes, directions)
            used = used @ np.linalg.solve(parts, keeping)
        if used.shape[0] == used.shape[1]:  # all redistributions
            used = np.eye(len(used))
        count, combinations = (
            constant.shape[1],
            np.zeros((0 if turning is None else len(turning.left_out), used.shape[1])),
        )
        combinations[left_out] = used[count:]
        level = -NEAR_LIMIT * float(self._largest[group].max())
        sliding = [self._sliding_friction.get(row) for row in group if row < self._rows.contact_count]
        return common_margin(
            self._rows, self._distribution, self._names, group, members, constant @ used[:count], sliding, level,
            turning, combinations,
        )  # fmt: skip

    def _blocked_friction(self, members: Sequence[int]) -> np.ndarray:
        """Return unit forces (r, k) along slip components of contacts that constraints block, as changes of the forces.

        Such friction has no effect on the motion, but may change the normal load of a joint on which the friction of
        this joint depends. Joints have no friction along blocked components. `members` are the indices of the friction
        elements that share a load.
        """
        elements = [self._rows.elements[n] for n in members]
        loads = [element.normal_load for element in elements if isinstance(element.normal_load, NormalLoad)]
        blocked = [
            row
            for element in elements
            for row in element.rows
            if element.contact is not None
            and self._rows.W[row, row] == 0.0
            and any(np.abs(load.bearings()[1][:, row]).max() > MIN_SHARE for load in loads)
        ]
        return np.eye(len(self._rows.W))[:, blocked]

    def row_force(self, row: int, level: float) -> Shared:
        """Return the force along the row with index `row` as a quantity to be monitored.

        An event occurs when the force reaches `level`, N.
        """
        weights, offset = self._force_weights([row])
        return Shared(
            None, "share", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist())),
            None if self._turning is None else self._turning.forces([row]),
        )  # fmt: skip

    def friction_margin(
        self, friction: StickSlip, which: Sequence[int], load: NormalLoad | ConstantLoad | None
    ) -> Shared:
        """Return the margin of a sticking friction element to its limit, as a quantity to be monitored.

        `which` are the indices of its rows: for a contact the row of the normal load, followed by those of the friction
        forces. For friction in a joint, `load` is the normal load: a constant, or a function of the force and torque of
        the joint.
        """
        weights, offset = self._force_weights(which)
        along = list(which)
        if isinstance(load, ConstantLoad):
            weights[0], offset[0], along[0] = 0.0, load.value, -1
        level = -UNLOADED * float(self._largest[which[0]])
        return Shared(
            friction, "cone", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist())),
            None if self._turning is None else self._turning.forces(along),
        )  # fmt: skip

    def _force_weights(self, which: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (k, h) and constants (k,) that express the forces along k rows by h multipliers.

        `which` are the indices of the rows; each force is its row of weights times the multipliers, plus its constant.
        """
        weights, offset = self._distribution.weights[list(which)].copy(), self._distribution.offset[list(which)].copy()
        # Sliding friction is proportional to loads of minimum norm.
        offset[[k for k, row in enumerate(which) if row < self._rows.contact_count and row in self._sliding_rows]] = 0.0
        return weights, offset

    def load_rows(self, k: int) -> LoadShares:
        """Return the constraint rows on which the normal load of sliding friction element k depends.

        For a contact the weighted sum of their multipliers is the normal load. For a joint it is the difference of its
        load from that of the run, where the multipliers of independent rows carry all of a load that contacts share.
        Both belong to the distribution of minimum norm.
        """
        element, friction, turning = self._rows.elements[k], self._rows.friction_elements[k], self._turning
        if turning is not None and element.contact in turning.places:
            terms = [(name, row, (0.0,)) for name, row in self._names]
            return LoadShares(tuple(terms), turning.shared, turning.places[element.contact])
        if element.contact is not None:
            weights, least = self._distribution.weights[[element.contact]], NO_WEIGHT
        elif isinstance(element.normal_load, NormalLoad):
            R, response = self._rows.axes[friction.name], element.normal_load.response
            weights = np.vstack([R.T @ response[:3], R.T @ response[3:]]) @ self._distribution.redistributed
            least = NO_WEIGHT * float(np.abs(response).max(initial=0.0))
            if turning is not None and turning.left_out:
                return LoadShares(tuple((name, row, BEARINGS * (0.0,)) for name, row in self._names), turning.shared)
        else:
            return LoadShares()
        own = zip(self._names, weights.T.tolist(), strict=True)
        return LoadShares(tuple((name, row, tuple(of)) for (name, row), of in own if max(map(abs, of)) > least))

    def tension_before_reload(self, row: int, least: float) -> Shared | None:
        """Return the monitored tension of a closed contact without load whose row depends on sliding contacts.

        `row` is the index of its row. The contact is loaded again when its load, the opposite of this quantity, exceeds
        `least`, N. The result is None if the load stays zero.
        """
        weights = self._weights_of_reload(row)
        if weights is None:
            return None
        present = None if self._turning is None else self._turning.forces([row])
        if present is not None:
            present = replace(present, factors=tuple(-factor for factor in present.factors))
        return Shared(None, "share", None, -least, self._names, (0.0,), (tuple((-weights).tolist()),), present)

    def _weights_of_reload(self, row: int) -> np.ndarray | None:
        """Return the weights (h,) of the multipliers in the load with which a contact without load is loaded again.

        `row` is the index of its row. The result is None if it does not depend on the rows of sliding contacts.
        """
        W, load_distribution, modes = self._rows.W, self._distribution, self._solution.slip_directions
        sticking = {element.contact for element, e in zip(self._rows.elements, modes, strict=True) if e is None}
        active = np.flatnonzero(self._solution.active[: self._rows.contact_count]).tolist()
        others = [c for c in active if c not in sticking]
        if not others or not W[row, row] > 0:
            return None
        root_compliance = np.sqrt(self._rows.compliance[others])
        scaled = W[np.ix_(others, others)] / root_compliance[:, None] / root_compliance
        part = np.linalg.pinv(scaled, rcond=DEPENDENT, hermitian=True) @ (W[others, row] / root_compliance)
        if W[row, row] - part @ scaled @ part > DEPENDENT * W[row, row]:
            return None
        weights = (part * root_compliance) @ load_distribution.weights[others] / self._rows.compliance[row]
        return np.asarray(weights)
