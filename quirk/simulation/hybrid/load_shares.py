"""Uniquely determined loads of contacts that share loads, as functions of multipliers of constraint rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quirk.analysis.contact.friction_states import FLOOR, SlidingContact, rub_of
from quirk.dynamics.contact.contact_modes import DEPENDENT, ContactModes
from quirk.dynamics.contact.load_sharing import connected, sharing
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from quirk.dynamics.sparse.kernels.room import LOADS
from quirk.errors import outside
from quirk.events.names import Patch, Shared
from quirk.forces.stick_slip import StickSlip
from quirk.result.contact_loads import ContactLoadWarning

from .contact_speeds import REST
from .friction_rows import FrictionRows

# Forces below this fraction of the largest are round-off where there is no load.
UNLOADED = 1e-12
# Relative margin at which contacts that share a load are at their limit; and relative error of the weights of
# multipliers.
NEAR_LIMIT, NO_WEIGHT = 1e-11, 1e-13
# Factor on the limits of zero acceleration for friction whose rows depend on other rows.
STILL = 1e6
# Slip at which friction begins to slide if drivers prescribe its slip, over the slip that counts as none.
# It is at least LEAST_CREEP, 1/s, times the length of the system, where nothing accelerates yet.
CREEP, LEAST_CREEP = 2 * FLOOR, 1e-12
# The same for friction whose rows have been redundant: beyond what misaligned redundant rows let through.
CREEP_REDUNDANT = 10 * FLOOR
# If such friction slides for less than this fraction of the time of a free fall over the length of the system, friction
# stops the slip as soon as it begins.
SHORT = 1e-3
# Relative freedoms of two bodies.
FREEDOMS = 6


class Shares:
    """Loads of contacts and friction elements as linear combinations of the multipliers of constraint rows.

    The combinations are valid until a contact opens or closes, or a friction element begins to slide or to stick.

    Parameters
    ----------
    rows, found : rows, and solution of the contact problem at a state
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
        self._patches = [group for group in self._sharing.groups if self._sticks(group)]
        self._sliding = {row for group in self._sharing.groups if group not in self._patches for row in group}
        self._slides = {
            grip.contact: friction.name
            for grip, friction, e in zip(rows.grips, rows.frictions, found.sliding, strict=True)
            if e is not None and grip.contact is not None
        }
        mixed = self._with_sliding()
        self._patches = [group for group in self._patches if not any({*group} <= {*region} for region in mixed)] + mixed

    def _sticks(self, group: Sequence[int]) -> bool:
        """Whether all rows of a group belong to sticking contacts, or to sticking joints with constant friction.

        `group` contains the indices of the rows.
        """
        elements = list(zip(self._rows.grips, self._found.sliding, strict=True))
        grips = [grip for grip, _ in elements if grip.rows[0] in group]
        sliding = any(e is not None and not {grip.contact, grip.rows[0]}.isdisjoint(group) for grip, e in elements)
        known = all(grip.contact is not None or isinstance(grip.load, ConstantLoad) for grip in grips)
        return bool(grips) and not sliding and known

    def _with_sliding(self) -> list[list[int]]:
        """Return groups of connected contacts in which sticking contacts share a load with sliding contacts.

        Each group consists of the constrained rows of all contacts connected by bodies, because sliding friction, which
        is proportional to its normal load, affects all their loads.
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
        """Whether the row with index `row` belongs to a sticking contact or joint that shares a load with others."""
        return row not in self._slides and any(row in group for group in self._patches)

    def patch_of(self, k: int) -> Patch | tuple[()] | None:
        """Return the common margin of sticking contacts that share a load, monitored by an event function.

        `k` is the index of a friction element. The result is () if the margin is monitored for another friction element
        of the group, and None if no load is shared.
        """
        row = self._rows.grips[k].rows[0]
        group = next((group for group in self._patches if row in group), None)
        if group is None:
            return None
        members = [n for n, grip in enumerate(self._rows.grips) if grip.rows[0] in group]
        return self._patch(group, members) if members[0] == k else ()

    def _patch(self, group: Sequence[int], members: Sequence[int]) -> Patch:
        grips, frictions = self._rows.grips, self._rows.frictions
        # Contacts share a load as springs do if all of them slide.
        free = [
            row
            for rows in self._sharing.groups
            if {*rows} <= {*group} and (self._slides.keys().isdisjoint(rows) or self._slides_in_part(rows))
            for row in rows
        ]
        ways = self._sharing.ways_of(free)
        order, constants, coefficients = list[int](), list[float](), list[float]()
        grip_of = {grips[n].contact: grips[n] for n in members}
        for c in (row for row in group if row < self._rows.contacts):
            grip = grip_of.get(c)
            order += [c, *(grip.rows if grip is not None else (-1, -1))]
            constants += LOADS * [0.0]
            coefficients.append(grip.static if grip is not None else 0.0)
        limits = {grip.rows[0]: grip.static * grip.load.value for grip in map(grips.__getitem__, members)
                  if isinstance(grip.load, ConstantLoad)}  # fmt: skip
        for row, limit in limits.items():
            order += [-1, row, -1]
            constants += [max(limits.values()), 0.0, 0.0]
            coefficients.append(limit / max(limits.values()))
        some = (np.array(order) >= 0)[:, None]
        return Patch(
            frictions[members[0]],
            "patch",
            None,
            -NEAR_LIMIT * float(self._largest[group].max()),
            tuple(frictions[n].name for n in members),
            self._names,
            tuple(constants),
            tuple(map(tuple, (self._sharing.weights[order] * some).tolist())),
            tuple(map(tuple, (ways[order] * some).tolist())),
            tuple(coefficients),
            tuple(map(self._slides.get, order[::LOADS])),
        )

    def of(self, row: int, level: float) -> Shared:
        """Return the force along the row with index `row` as a monitored quantity.

        An event occurs when the force reaches `level`, N or N m.
        """
        weights, offset = self._terms([row])
        return Shared(
            None, "share", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist()))
        )

    def cone(self, friction: StickSlip, which: Sequence[int], load: NormalLoad | ConstantLoad | None) -> Shared:
        """Return the margin of a sticking friction element to its limit, as a monitored quantity.

        `which` are the indices of its rows: for a contact the row of the normal load, followed by the rows of the
        friction forces. For joint friction, `load` is the normal load: constant, or a function of the load of the
        joint.
        """
        weights, offset = self._terms(which)
        if isinstance(load, ConstantLoad):
            weights[0], offset[0] = 0.0, load.value
        level = -UNLOADED * float(self._largest[which[0]])
        return Shared(
            friction, "cone", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist()))
        )

    def _terms(self, which: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (k, h) of h multipliers, and constants (k,), of the forces along k rows `which`."""
        weights, offset = self._sharing.weights[list(which)].copy(), self._sharing.offset[list(which)].copy()
        # Sliding friction is proportional to loads of minimum norm.
        offset[[k for k, row in enumerate(which) if row < self._rows.contacts and row in self._sliding]] = 0.0
        return weights, offset

    def load(self, contact: int) -> tuple[tuple[str, int, float], ...]:
        """Return the rows whose multipliers determine the normal load of a contact.

        `contact` is the index of the contact's normal row. Each item consists of the name of the constraint, the index
        of the row, and its weight.
        """
        weights = self._sharing.weights[contact]
        terms = zip(self._names, weights.tolist(), strict=True)
        return tuple((name, row, weight) for (name, row), weight in terms if abs(weight) > NO_WEIGHT)

    def returns(self, row: int) -> Shared | None:
        """Return the monitored load of a closed contact without load, next to sliding contacts.

        `row` is the index of its row. The contact becomes loaded again when this load is positive. Returns None if the
        load stays zero.
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


def rubbing_of(
    t: float,
    rows: FrictionRows,
    found: ContactModes,
    slow: np.ndarray,
    before: Mapping[str, SlidingContact],
    shares: Shares,
) -> dict[str, SlidingContact]:
    """Return the state of each friction element after a change of contacts at time t (s), by name.

    `slow` (r,) is the slip, m/s, below which friction counts as not slipping; `before` are the previous states. `rows`
    are the rows of gaps and slip components, `found` is the solution of the contact problem, and `shares` expresses
    loads by multipliers.
    """
    rubbing, as_one = {}, _moving_as_one(rows, found)
    for k, (grip, friction) in enumerate(zip(rows.grips, rows.frictions, strict=True)):
        e, side, former = found.sliding[k], rows.sides[k], before.get(friction.name)
        loaded = grip.contact is None or found.held[grip.contact]
        if e is not None:
            if loaded:
                floor = FLOOR * float(slow[grip.rows].max())
                load = () if grip.contact is None else shares.load(grip.contact)
                since = t if former is None or former.held is not None else former.since
                rub = rub_of(friction, grip, found, k, side, floor, former, load)
                rubbing[friction.name] = replace(rub, since=since)
            continue
        kept = tuple(c for c, row in enumerate(grip.rows) if found.rows[row])
        if not loaded:
            if grip.moving is None and (np.abs(found.w[grip.rows]) <= STILL * found.slow[grip.rows]).all():
                rubbing[friction.name] = SlidingContact((), side=side)
            continue
        creep = None
        if any(rows.W[row, row] == 0.0 for row in grip.rows):
            # Rows without response, exactly 0: drivers and other constraints prescribe their slip.
            creep = max(CREEP * slow[grip.rows].max(), LEAST_CREEP * rows.units[grip.rows].max())
        elif len(kept) < len(grip.rows) and (grip.contact is None or _pair(friction) not in as_one):
            limit = float(slow[grip.rows].max())
            shortest = SHORT * REST * rows.units[grip.rows].max() / limit
            creep = _creep(friction, former, CREEP_REDUNDANT * limit, t, shortest)
        if kept or grip.contact is not None or (isinstance(grip.load, ConstantLoad) and found.held[grip.rows[0]]):
            patch = shares.patch_of(k)
            # The load of a joint is computed separately: the first row represents it.
            load_row = grip.rows[0] if grip.contact is None else grip.contact
            cone = shares.cone(friction, [load_row, *grip.rows], grip.load) if patch is None else patch or None
            rubbing[friction.name] = SlidingContact(kept, side=side, cone=cone, creep=creep)
        elif creep is not None:
            rubbing[friction.name] = SlidingContact((), side=side, creep=creep)
    return rubbing


def _creep(friction: StickSlip, former: SlidingContact | None, limit: float, t: float, shortest: float) -> float:
    """Return the slip beyond which sticking friction with redundant rows slides, m/s; 0 if it never does.

    `former` is the previous state and t the time, s. If friction began to slide at this slip and stopped again after
    less than `shortest` (s), it would alternate endlessly between sliding and sticking; the result is then 0, and a
    warning is issued.
    """
    if former is None or former.creep is None:
        return limit
    if former.creep > 0 and (former.held is not None or t - former.since > shortest):
        return limit
    if former.creep > 0:
        warnings.warn(
            f"{friction}: from t = {t:.9g} s on it may slip without friction: its rows are redundant at this instant, "
            "but not in the motion that follows, and friction stops the slip again at once",
            ContactLoadWarning,
            stacklevel=outside(),
        )
    return 0.0


def _moving_as_one(rows: FrictionRows, found: ContactModes) -> set[frozenset[str]]:
    """Return the pairs of bodies, by name, that contacts and friction between them hold at rest relative to each other.

    Redundant rows of such a pair stay redundant; other rows may be dependent in the present position only.
    """
    of_pair: dict[frozenset[str], list[int]] = {}
    for grip, friction in zip(rows.grips, rows.frictions, strict=True):
        if grip.contact is not None:
            own = of_pair.setdefault(_pair(friction), [])
            own += [row for row in (grip.contact, *grip.rows) if found.held[row]]
    pairs = set()
    for pair, held in of_pair.items():
        if len(held) >= FREEDOMS:
            scale = np.sqrt(np.diag(rows.W)[held])
            sizes = np.linalg.eigvalsh(rows.W[np.ix_(held, held)] / scale[:, None] / scale)
            if (sizes > DEPENDENT * sizes[-1]).sum() == FREEDOMS:
                pairs.add(pair)
    return pairs


def _pair(friction: StickSlip) -> frozenset[str]:
    return frozenset(body.name for body in friction.bodies)
