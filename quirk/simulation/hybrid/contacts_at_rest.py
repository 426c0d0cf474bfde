"""Contacts and friction at rest after impacts: which contacts carry loads, and which friction slides or sticks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.analysis.contact.contact_kinematics import Gaps
from quirk.analysis.contact.friction_modes import SLIP_FLOOR, FrictionModes
from quirk.dynamics.contact.contact_modes import RELATIVE_ZERO, ContactModes
from quirk.dynamics.contact.impulse import Impulse
from quirk.dynamics.contact.lcp import dependent_columns
from quirk.errors import SwitchingError
from quirk.events.names import Shared
from quirk.forces.stick_slip import StickSlip

from .contact_rows import ContactRows
from .contact_states import CLOSED_GAP, ContactState, opening_threshold
from .creeping_gaps import CREEPS
from .friction_after_event import (
    creeping_rows,
    creeps_on,
    friction_modes_after_event,
    pair_of_bodies,
    without_creep,
)
from .frictional_contact import FrictionalContactSolver
from .shared_contact_loads import SharedContactLoads
from .speed_limits import ContactInstant, slip_limit, slip_resolved_by_steps


class ContactsAtRest:
    """Solver for the loads, sliding and sticking of contacts and joints with friction after impacts.

    Parameters
    ----------
    gaps, frictions : unilateral constraints and friction elements of the system
    solver : solver for contacts with friction
    """

    def __init__(self, gaps: Gaps, frictions: FrictionModes, solver: FrictionalContactSolver) -> None:
        self._gaps, self._frictions, self._frictional = gaps, frictions, solver
        self._contact_points = gaps.contact_points

    def state(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        indices: list[int],
        acting: list[StickSlip],
        triggered: Sequence[tuple[str, int, str]],
        contact_state: ContactState,
        unloading: np.ndarray,
    ) -> tuple[np.ndarray, ContactState, dict[str, Impulse]]:
        """Return the state vector and the contact state that follow an impact, for contacts at rest.

        The rates of gaps that stay closed under load, and of slip that ends, are set to zero. The impulses that do so
        are the third part of the result, by name.

        Parameters
        ----------
        instant : time, joint angles, solver and gaps
        y : state vector after the impact
        indices : indices of the closed gaps
        acting : active friction elements
        triggered : keys (name, index, kind) of the event functions that are zero
        contact_state : contact state before the impact
        unloading : mask of the closed gaps whose load has just fallen to zero
        """
        frictional, t, solver, angles = self._frictional, instant.t, instant.solver, instant.angles
        rows = frictional.rows(solver, t, y, instant.kinematics(y), indices, acting, True)
        slow = np.full(len(rows.indices), slip_limit(instant, y, rows))
        unresolved = np.maximum(slow, slip_resolved_by_steps(instant, y, rows) / SLIP_FLOOR)
        at_limit = [name for key in triggered if key[2] == "cone" for name in contact_state.elements_at_limit(key[0])]
        ended = {name for name, _, kind in triggered if kind in ("slip", "passes")}
        still = _still(rows, ended, slow, unresolved)
        # Friction elements that gather speed together reach it one after another.
        sliding = {
            name: mode
            for name, mode in contact_state.friction.items()
            if any(kind == "faster" for _, _, kind in triggered)
            and name not in ended
            and mode.sticking_components is None
            and mode.reversal_speed > 0
        }
        returning = {key[:2] for key in triggered if key[2] == "return"}
        loaded_again = [row for row, c in enumerate(indices) if self._contact_points[c].key in returning]

        def settled(rates: np.ndarray) -> tuple[ContactModes, np.ndarray, tuple[np.ndarray, Any, np.ndarray]]:
            modes, load_round_off = frictional.contact_modes(
                solver, t, y, angles, rows, rates, SLIP_FLOOR * still, at_limit, sliding, unloading, ended
            )
            modes = _with_loads_that_return(modes, rows, loaded_again)
            return modes, load_round_off, frictional.stop(solver, t, y, rows, modes.independent)

        rates, found = rows.kinematics.rate, None
        creeping = creeping_rows(rows, triggered, contact_state.friction, slow)
        if creeping.any():
            with suppress(SwitchingError):
                found = settled(np.where(creeping, 0.0, rates))
            if found is not None and creeps_on(rows, found[0], creeping, found[2][2], SLIP_FLOOR * slow):
                found = None
        try:
            modes, load_round_off, (y, stopping, rates) = settled(rates) if found is None else found
        except SwitchingError:
            crept = creeping.any() or not contact_state.creeping.keys().isdisjoint(key[:2] for key in triggered)
            if not crept or any(kind != CREEPS for _, _, kind in triggered):
                raise
            return y, without_creep(t, contact_state, rows.friction_elements, triggered), {}
        shares = self._shares(rows, modes, load_round_off, indices)
        friction_modes = friction_modes_after_event(t, rows, modes, slow, unresolved, rates, contact_state, shares)
        friction_modes = self._frictions.with_positions(
            friction_modes, contact_state.friction, solver.model.auxiliary.state(y)
        )
        loaded, unloaded = self._loaded_and_unloaded(indices, modes, load_round_off, rows.arms)
        loads, returns = self._monitored_loads(indices, modes, load_round_off, shares)
        sharing = frozenset(self._contact_points[c].key for row, c in enumerate(indices) if shares.shares_margin(row))
        dependent = dependent_columns(rows.W, modes.independent)
        redundant = unloaded & {self._contact_points[c].key for row, c in enumerate(indices) if dependent[row]}
        state = ContactState(
            loaded, unloaded, friction_modes, loads,
            reloading=returns, shared_margins=sharing, kept_rows=shares.kept_rows,
        )  # fmt: skip
        return y, replace(state, redundant=redundant), stopping

    def _shares(
        self, rows: ContactRows, modes: ContactModes, load_round_off: np.ndarray, indices: Sequence[int]
    ) -> SharedContactLoads:
        """Return the loads of contacts and friction; `indices` are the closed gaps, see `SharedContactLoads`."""
        contacts = [self._contact_points[c].constraint for c in indices]
        return SharedContactLoads(
            rows, modes, load_round_off, contacts, lambda row: self._gaps.left_out(rows.indices[row])
        )

    def _monitored_loads(
        self, closed: list[int], solution: ContactModes, load_round_off: np.ndarray, shares: SharedContactLoads
    ) -> tuple[dict[tuple[str, int], Shared], dict[tuple[str, int], Shared]]:
        """Return two dicts of monitored loads by key of the gap: for loaded and for unloaded closed contacts.

        `closed` are the indices of the closed gaps, and `solution` is the solution of the contact problem with r rows.
        A load below its threshold in `load_round_off` (r,) is round-off of larger loads. `shares` expresses loads by
        multipliers.
        """
        largest, loads, returns = solution.z[: len(closed)].max(initial=0.0), dict[Any, Shared](), dict[Any, Shared]()
        for row, c in enumerate(closed):
            key = self._contact_points[c].key
            if solution.active[row] and solution.z[row] > 0 and not shares.shares_margin(row):
                loads[key] = shares.row_force(
                    row, opening_threshold(solution.z[row], max(largest, load_round_off[row]))
                )
            elif not solution.active[row]:
                least = -opening_threshold(0.0, max(largest, load_round_off[row]))
                potential = shares.tension_before_reload(row, least)
                returns |= {} if potential is None else {key: potential}
        return loads, returns

    def _loaded_and_unloaded(
        self, closed: list[int], solution: ContactModes, load_round_off: np.ndarray, arms: np.ndarray
    ) -> tuple[dict[str, tuple[int, float]], frozenset[tuple[str, int]]]:
        """Divide closed contacts at rest into contacts with a constraint row, under load, and contacts without a row.

        Parameters
        ----------
        closed : indices of the closed gaps
        solution : solution of the contact problem for these gaps
        load_round_off : (r,) loads of the r rows below which they are round-off of larger loads
        arms : (r,) lever arms of the rows, as in `ContactRows`

        Returns
        -------
        loaded : pairs (index of the row, multiplier below which the contact opens) by name of each contact with a row
        unloaded : keys of the closed gaps without rows that stay closed
            The acceleration or velocity of these gaps is at most their limit of rest. Gaps that open faster are in
            neither result.
        """
        count = len(closed)
        points, z, w = [self._contact_points[c] for c in closed], solution.z[:count], solution.w[:count]
        largest = z.max(initial=0.0)
        rest = CLOSED_GAP / RELATIVE_ZERO * solution.zero_threshold[:count]
        loaded = {
            point.constraint.name: (
                self._gaps.row_of(point),
                arms[c] * opening_threshold(z[c], max(largest, load_round_off[c])),
            )
            for c, point in enumerate(points)
            if solution.independent[c]
        }
        return loaded, frozenset(
            point.key for c, point in enumerate(points) if w[c] <= rest[c] and point.constraint.name not in loaded
        )


def _still(rows: ContactRows, ended: Collection[str], slow: np.ndarray, unresolved: np.ndarray) -> np.ndarray:
    """Return the slip (r,), m/s over SLIP_FLOOR, below which friction counts as not slipping at an event.

    It is `unresolved`, (r,), for the friction elements `ended`, whose component of slip ahead has vanished: the
    component across is slip that fixed steps do not resolve. If all slip between two bodies is as slow as that, they
    come to rest together. For other friction it is `slow`, (r,).
    """
    still, pairs = slow.copy(), [pair_of_bodies(friction) for friction in rows.friction_elements]
    frictions = list(zip(rows.elements, rows.friction_elements, pairs, strict=True))
    slips = {
        pair
        for element, _, pair in frictions
        if np.linalg.norm(rows.kinematics.rate[element.rows]) > SLIP_FLOOR * unresolved[element.rows].max()
    }
    stop = {pair for _, friction, pair in frictions if friction.name in ended and pair not in slips}
    for element, friction, pair in frictions:
        if friction.name in ended or pair in stop:
            still[element.rows] = unresolved[element.rows]
    return still


def _with_loads_that_return(modes: ContactModes, rows: ContactRows, returning: Sequence[int]) -> ContactModes:
    """Return contact modes in which sliding contacts whose load begins to grow again are loaded.

    Their load is zero up to round-off, so that the contact problem may have left them without load. `returning` are the
    indices of their rows, which depend on those of other contacts.
    """
    sliding = {element.contact for element in rows.elements if element.slip_direction is not None}
    rough = {element.contact for element in rows.elements}
    loaded = [c for c in returning if not modes.active[c] and (c in sliding or c not in rough)]
    if not loaded:
        return modes
    z, active = modes.z.copy(), modes.active.copy()
    z[loaded], active[loaded] = np.finfo(float).tiny, True
    return replace(modes, z=z, active=active)
