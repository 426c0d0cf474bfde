"""Loads of contacts that share a load, expressed by the multipliers of independent constraint rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.dynamics.contact.contact_modes import DEPENDENT, ContactModes
from quirk.dynamics.contact.load_sharing import NO_PART, connected, sharing
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from quirk.dynamics.sparse.kernels.room import LOADS
from quirk.events.names import Patch, Shared
from quirk.forces.stick_slip import StickSlip

from .friction_rows import FrictionRows
from .shared_margins import margin

# Forces below this fraction of the largest are round-off where there is no load.
UNLOADED = 1e-12
# Relative margin at which contacts that share a load are at their limit; and relative error of the weights of
# multipliers.
NEAR_LIMIT, NO_WEIGHT = 1e-11, 1e-13


class Shares:
    """Loads of contacts and friction elements as linear combinations of the multipliers of constraint rows.

    The combinations are valid until a contact opens or closes, or a friction element begins to slide or to stick.

    Parameters
    ----------
    rows, found : the r rows of gaps and slip components, and the solution of their contact problem at a state
    weak : (r,) thresholds of the forces along the rows, below which they are round-off of larger forces
    contacts : names of the closed contacts, in the order of their rows
    """

    def __init__(self, rows: FrictionRows, found: ContactModes, weak: np.ndarray, contacts: Sequence[str]) -> None:
        self._rows, self._found = rows, found
        self._sharing = sharing(rows.W, found, rows.grips, rows.compliance)
        # Friction cones of contacts without load are round-off.
        largest = np.maximum(np.abs(found.z).max(initial=0.0), weak)
        self._largest = 10.0 ** np.ceil(np.log10(np.where(largest > 0, largest, np.finfo(float).tiny)))
        name_of = {row: (name, 0) for row, name in enumerate(contacts)}
        for grip, friction in zip(rows.grips, rows.frictions, strict=True):
            kept = [row for row in grip.rows if found.rows[row]]
            name_of |= {row: (friction.name, place) for place, row in enumerate(kept)}
        self._names = tuple(name_of[row] for row in self._sharing.rows.tolist())
        groups = self._with_loads()
        self._patches = [group for group in groups if self._sticks(group)]
        self._sliding = {row for group in groups if group not in self._patches for row in group}
        self._slides = {
            grip.contact: friction.name
            for grip, friction, e in zip(rows.grips, rows.frictions, found.sliding, strict=True)
            if e is not None and grip.contact is not None
        }
        mixed = self._with_sliding()
        self._patches = [group for group in self._patches if not any({*group} <= {*region} for region in mixed)] + mixed

    def _with_loads(self) -> list[list[int]]:
        """Return the groups of rows that share loads, as lists of indices.

        A group includes the rows of sticking joints whose normal load it changes. Groups are merged if they contain
        rows of the same joint, or change its normal load.
        """
        groups, held = self._sharing.groups, self._found.held
        for grip in self._rows.grips:
            rows = [row for row in grip.rows if held[row]]
            if not rows or grip.load is None:
                continue
            own = [group for group in groups if not {*rows}.isdisjoint(group) or self._loads(grip.load, group)]
            if own:
                merged = sorted({*rows}.union(*own))
                groups = [*(group for group in groups if group not in own), merged]
        return groups

    def _loads(self, load: NormalLoad | ConstantLoad, group: Sequence[int]) -> bool:
        """Whether redistributions of load within a group of rows change the normal load `load` of a joint."""
        if not isinstance(load, NormalLoad):
            return False
        _, changes = load.bearings()
        least = NO_PART * np.linalg.norm(changes, axis=1).max()
        return bool(np.abs(changes @ self._sharing.ways_of(group)).max() > least)

    def _sticks(self, group: Sequence[int]) -> bool:
        """Whether a group of rows belongs only to sticking contacts, and to sticking joints with at most three rows.

        `group` contains the indices of the rows.
        """
        elements = list(zip(self._rows.grips, self._found.sliding, strict=True))
        grips = [grip for grip, _ in elements if grip.rows[0] in group]
        sliding = any(e is not None and not {grip.contact, grip.rows[0]}.isdisjoint(group) for grip, e in elements)
        known = all(grip.contact is not None or (len(grip.rows) <= LOADS and grip.static > 0) for grip in grips)
        return bool(grips) and not sliding and known

    def _with_sliding(self) -> list[list[int]]:
        """Return groups of contacts in which sticking contacts share a load with sliding ones, as lists of rows.

        Sliding friction is proportional to its normal load, and so affects the loads of all contacts that bodies
        connect with it; a group has the constrained rows of all these contacts.
        """
        grips, mixed = self._rows.grips, [group for group in self._sharing.groups if self._slides_in_part(group)]
        regions = []
        for region in connected(self._rows.W, grips) if mixed else []:
            own = all(grip.contact is not None for grip in grips if grip.rows[0] in region)
            if own and any({*group} <= {*region} for group in mixed):
                regions.append([row for row in region if self._found.held[row]])
        return regions

    def _slides_in_part(self, group: Sequence[int]) -> bool:
        sticks = any(grip.rows[0] in group for grip in self._rows.grips)
        return sticks and not self._slides.keys().isdisjoint(group)

    def in_patch(self, row: int) -> bool:
        """Whether the row with index `row` belongs to a sticking contact or joint that shares its load with others."""
        return row not in self._slides and any(row in group for group in self._patches)

    def patch_of(self, k: int) -> Patch | tuple[()] | None:
        """Return the common margin of the sticking contacts that share the load of a friction element, for monitoring.

        `k` is the index of the element. The result is () if the margin is monitored for another friction element of the
        group, and None if no load is shared.
        """
        row = self._rows.grips[k].rows[0]
        group = next((group for group in self._patches if row in group), None)
        if group is None:
            return None
        members = [n for n, grip in enumerate(self._rows.grips) if grip.rows[0] in group]
        return self._patch(group, members) if members[0] == k else ()

    def _patch(self, group: Sequence[int], members: Sequence[int]) -> Patch:
        # Contacts share a load as springs do if all of them slide.
        free = [
            row
            for rows in self._sharing.groups
            if {*rows} <= {*group} and (self._slides.keys().isdisjoint(rows) or self._slides_in_part(rows))
            for row in rows
        ]
        ways = self._sharing.ways_of(free)
        level = -NEAR_LIMIT * float(self._largest[group].max())
        sliding = [self._slides.get(row) for row in group if row < self._rows.contacts]
        return margin(self._rows, self._sharing, self._names, group, members, ways, sliding, level)

    def of(self, row: int, level: float) -> Shared:
        """Return the force along the row with index `row` as a quantity to be monitored.

        An event occurs when the force reaches `level`, N or N m.
        """
        weights, offset = self._terms([row])
        return Shared(
            None, "share", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist()))
        )

    def cone(self, friction: StickSlip, which: Sequence[int], load: NormalLoad | ConstantLoad | None) -> Shared:
        """Return the margin of a sticking friction element to its limit, as a quantity to be monitored.

        `which` are the indices of its rows: for a contact the row of the normal load, followed by those of the friction
        forces. For friction in a joint, `load` is the normal load: a constant, or a function of the force and torque of
        the joint.
        """
        weights, offset = self._terms(which)
        if isinstance(load, ConstantLoad):
            weights[0], offset[0] = 0.0, load.value
        level = -UNLOADED * float(self._largest[which[0]])
        return Shared(
            friction, "cone", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist()))
        )

    def _terms(self, which: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (k, h) and constants (k,) that express the forces along k rows by h multipliers.

        `which` are the indices of the rows; each force is its row of weights times the multipliers, plus its constant.
        """
        weights, offset = self._sharing.weights[list(which)].copy(), self._sharing.offset[list(which)].copy()
        # Sliding friction is proportional to loads of minimum norm.
        offset[[k for k, row in enumerate(which) if row < self._rows.contacts and row in self._sliding]] = 0.0
        return weights, offset

    def load(self, contact: int) -> tuple[tuple[str, int, float], ...]:
        """Return the terms of the normal load of a contact: constraint, index of the row and weight of each multiplier.

        `contact` is the index of the contact's normal row; constraints are given by name.
        """
        weights = self._sharing.weights[contact]
        terms = zip(self._names, weights.tolist(), strict=True)
        return tuple((name, row, weight) for (name, row), weight in terms if abs(weight) > NO_WEIGHT)

    def returns(self, row: int) -> Shared | None:
        """Return the monitored load of a closed contact that carries no load next to sliding contacts.

        `row` is the index of its row. The contact is loaded again when this quantity becomes positive. The result is
        None if it stays zero.
        """
        W, sharing = self._rows.W, self._sharing
        others = [c for c in np.flatnonzero(self._found.held[: self._rows.contacts]) if c in self._sliding]
        if not others or not W[row, row] > 0:
            return None
        soft = np.sqrt(self._rows.compliance[others])
        scaled = W[np.ix_(others, others)] / soft[:, None] / soft
        part = np.linalg.pinv(scaled, rcond=DEPENDENT, hermitian=True) @ (W[others, row] / soft)
        if W[row, row] - part @ scaled @ part > DEPENDENT * W[row, row]:
            return None
        weights = (part * soft) @ sharing.weights[others] / self._rows.compliance[row]
        return Shared(None, "share", None, 0.0, self._names, (0.0,), (tuple(weights.tolist()),))
