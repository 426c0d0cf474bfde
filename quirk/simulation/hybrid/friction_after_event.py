"""State of friction elements after contacts or friction have changed: sliding, or sticking with monitored limits."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quirk.analysis.contact.friction_modes import SLIP_FLOOR, FrictionMode, sliding_mode
from quirk.constraints import Stop
from quirk.dynamics.contact.contact_modes import ContactModes, FrictionElement
from quirk.dynamics.model.friction_normal_load import ConstantLoad
from quirk.errors import outside
from quirk.forces.stick_slip import NO_SHARES, StickSlip
from quirk.result.contact_loads import ContactLoadWarning

from .contact_rows import ContactRows
from .contact_states import ContactState
from .creeping_gaps import CREEPS
from .prescribed_rates import is_prescribed
from .shared_contact_loads import SharedContactLoads
from .speed_limits import REST_SPEED
from .turning_rows import FREEDOMS

# Friction of a contact without load counts as sticking if its slip accelerates by less than this multiple of the
# threshold of zero acceleration.
STILL = 1e6
# Friction whose slip is prescribed by drivers begins to slide at CREEP times the slip speed that counts as zero, and
# not below LEAST_CREEP, 1/s, times the length of the system: the limit in the absence of accelerations.
CREEP, LEAST_CREEP = 2 * SLIP_FLOOR, 1e-12
# Sticking friction with redundant rows begins to slide at this multiple of the slip speed that counts as zero; smaller
# slip is due to the misalignment of redundant rows.
CREEP_REDUNDANT = 10 * SLIP_FLOOR
# Friction follows the direction of slip above this fraction of the present slip, so that slow slip can become faster.
SLOWER = 0.9
# Friction with redundant rows that slides for less than this fraction of the free-fall time over the length of the
# system does not begin to slide again, because it would alternate between sliding and sticking.
SHORT_SLIDING = 1e-3


def friction_modes_after_event(
    t: float,
    rows: ContactRows,
    solution: ContactModes,
    slow: np.ndarray,
    unresolved: np.ndarray,
    rates: np.ndarray,
    before: ContactState,
    shares: SharedContactLoads,
) -> dict[str, FrictionMode]:
    """Return the state of each friction element after a change of contacts at time t (s), by name.

    Parameters
    ----------
    t : time, s
    rows : the r rows of gaps and slip components
    solution : solution of the contact problem
    slow : (r,) slip, m/s, below which friction counts as not slipping
    unresolved : (r,) slip, m/s, at least `slow`; friction does not follow the direction of slip below SLIP_FLOOR times
        this value
    rates : (r,) rates of the rows after the change, m/s
    before : contact state before the change
    shares : loads expressed by multipliers
    """
    friction_modes, resting_pairs = {}, _pairs_at_relative_rest(rows, solution)
    holding = [contact for row, contact in enumerate(shares.contacts) if solution.active[row]]
    changed = before.all_held != {contact.name for contact in holding}
    for k, (element, friction) in enumerate(zip(rows.elements, rows.friction_elements, strict=True)):
        e, side, former = solution.slip_directions[k], rows.sides[k], before.friction.get(friction.name)
        loaded = element.contact is None or solution.active[element.contact]
        if e is not None:
            if loaded:
                speed, prescribed = float(np.linalg.norm(rates[element.rows])), is_prescribed(rows, solution, k)
                floor, turns = _floor_of_slip(element, slow, unresolved, speed)
                load = shares.load_rows(k)
                # Friction that begins to slide because contacts change does not alternate with sticking.
                slid = former is not None and former.sticking_components is None
                since = former.slides_since if slid else -np.inf if changed else t  # type: ignore[union-attr]
                mode = sliding_mode(friction, element, solution, k, side, floor, turns, former, load, speed, prescribed)
                friction_modes[friction.name] = replace(mode, slides_since=since)
            continue
        independent = tuple(c for c, row in enumerate(element.rows) if solution.independent[row])
        if not loaded:
            if (
                element.slip_direction is None
                and (np.abs(solution.w[element.rows]) <= STILL * solution.zero_threshold[element.rows]).all()
            ):
                friction_modes[friction.name] = FrictionMode((), side=side)
            continue
        creep = None
        if any(rows.W[row, row] == 0.0 for row in element.rows):
            # Rows without response, exactly 0: drivers and other constraints prescribe their slip.
            creep = max(CREEP * slow[element.rows].max(), LEAST_CREEP * rows.length)
        elif (
            not independent
            and len(element.rows) == 1
            and any(isinstance(stop, Stop) and stop.joint is friction.on for stop in holding)
        ):
            creep = 0.0  # the stop holds the joint as long as it is closed
        elif len(independent) < len(element.rows) and (
            element.contact is None or pair_of_bodies(friction) not in resting_pairs
        ):
            limit = float(slow[element.rows].max())
            shortest = SHORT_SLIDING * REST_SPEED * rows.length / limit
            creep = creep_limit(friction, None if changed else former, CREEP_REDUNDANT * limit, t, shortest)
        margin = shares.common_margin_of(k)
        alone = isinstance(element.normal_load, ConstantLoad) and solution.active[element.rows].any()
        if independent or element.contact is not None or margin is not None or alone:
            # The load of a joint is computed separately: the first row represents it.
            load_row = element.rows[0] if element.contact is None else element.contact
            cone = (
                shares.friction_margin(friction, [load_row, *element.rows], element.normal_load)
                if margin is None
                else margin or None
            )
            load = NO_SHARES if element.contact is not None else shares.load_rows(k)
            friction_modes[friction.name] = FrictionMode(
                independent, side=side, margin=cone, load_rows=load, creep=creep
            )
        elif creep is not None:
            friction_modes[friction.name] = FrictionMode((), side=side, creep=creep)
    return friction_modes


def _floor_of_slip(
    element: FrictionElement, slow: np.ndarray, unresolved: np.ndarray, speed: float
) -> tuple[float, bool]:
    """Return the slip, m/s, below which friction does not follow its direction, and whether fixed steps are the cause.

    `slow` and `unresolved`, (r,), are as for `friction_modes_after_event`; `speed` is the slip after the event, m/s.
    """
    least = SLIP_FLOOR * float(slow[element.rows].max())
    delayed = SLIP_FLOOR * float(unresolved[element.rows].max())
    if element.slip_direction is not None:
        delayed = min(delayed, SLOWER * speed)
    return max(least, delayed), delayed > least


def creep_limit(friction: StickSlip, former: FrictionMode | None, limit: float, t: float, shortest: float) -> float:
    """Return the slip (m/s) beyond which sticking friction with redundant rows slides; 0 if it never does.

    `limit` is the slip to be returned as a rule, `former` the previous state and t the time, s. If friction began to
    slide at this slip and stopped again within `shortest` (s), it would alternate endlessly between sliding and
    sticking; then 0 is returned, with a warning.
    """
    if former is None or former.creep is None:
        return limit
    if former.creep > 0 and (former.sticking_components is not None or t - former.slides_since > shortest):
        return limit
    if former.creep > 0:
        warn_of_creep(friction, t, "friction stops the slip again at once")
    return 0.0


def warn_of_creep(friction: StickSlip, t: float, reason: str) -> None:
    """Warn that sticking friction with redundant rows may slip from time t (s) on; `reason` is why it cannot slide."""
    warnings.warn(
        f"{friction}: from t = {t:.9g} s on it may slip without friction: its rows are redundant at this instant, "
        f"but not in the motion that follows, and {reason}",
        ContactLoadWarning,
        stacklevel=outside(),
    )


def creeping_rows(
    rows: ContactRows, triggered: Sequence[tuple[str, int, str]], before: Mapping[str, FrictionMode], slow: np.ndarray
) -> np.ndarray:
    """Return a mask (r,) of the rows of sticking friction if some of it, or a gap, creeps because rows are redundant.

    It then begins to slide, or another contact, such as the floor under a box in a gripper, gives way. Rows that slip
    faster than `slow` (r,), m/s, are left out. `before` are the states of the friction elements before the events
    `triggered`.
    """
    found, response = np.zeros(len(rows.W), dtype=bool), np.diag(rows.W)
    creeping = {name for name, _, kind in triggered if kind == CREEPS}
    any_creeps = bool(creeping.difference(friction.name for friction in rows.friction_elements))
    for element, friction in zip(rows.elements, rows.friction_elements, strict=True):
        mode, own = before.get(friction.name), element.rows
        any_creeps |= friction.name in creeping
        if mode is None or mode.sticking_components is None or (response[own] == 0.0).any():
            continue
        found[own] = np.linalg.norm(rows.kinematics.rate[own]) <= slow[own].max()
    return found & any_creeps


def creeps_on(
    rows: ContactRows, modes: ContactModes, creeping: np.ndarray, rates: np.ndarray, slow: np.ndarray
) -> bool:
    """Whether friction that creeps slips although it sticks in the contact modes `modes`, or backward where it slides.

    `creeping` (r,) is the mask of its rows, `rates` (r,) are their slip in these modes, and `slow` (r,), m/s, is the
    slip that counts as zero. Friction of contacts that open is left out.
    """
    for element, e in zip(rows.elements, modes.slip_directions, strict=True):
        own, loaded = element.rows, element.contact is None or bool(modes.active[element.contact])
        if not creeping[own].all() or not loaded:
            continue
        backward = np.linalg.norm(rates[own]) if e is None else -float(rates[own] @ e)
        if backward > slow[own].max():
            return True
    return False


def without_creep(
    t: float, before: ContactState, frictions: Sequence[StickSlip], triggered: Sequence[tuple[str, int, str]]
) -> ContactState:
    """Return the contact state `before` with friction that creeps at time t (s) but no longer begins to slide.

    A warning names this friction, one of those whose event functions `triggered` are zero. Gaps among them are no
    longer watched.
    """
    creeping = {name for name, _, kind in triggered if kind == CREEPS}
    for friction in frictions:
        if friction.name in creeping:
            warn_of_creep(friction, t, "no loads satisfy Coulomb's law where it slips")
    modes = {name: replace(mode, creep=0.0) if name in creeping else mode for name, mode in before.friction.items()}
    watched = {key: limit for key, limit in before.creeping.items() if key[0] not in creeping}
    return replace(before, friction=modes, creeping=watched)


def _pairs_at_relative_rest(rows: ContactRows, solution: ContactModes) -> set[frozenset[str]]:
    """Return the pairs of bodies, by name, that rows of their own contacts and friction hold at relative rest.

    Redundant rows of such a pair stay redundant in the motion. Other rows may be so only because a third body, such as
    the floor under a box in a gripper, holds the bodies at present.
    """
    held: Counter[frozenset[str]] = Counter()
    for element, friction in zip(rows.elements, rows.friction_elements, strict=True):
        if element.contact is not None:
            kept = solution.independent[[element.contact, *element.rows]]
            held[pair_of_bodies(friction)] += int(kept.sum())
    return {pair for pair, count in held.items() if count == FREEDOMS}


def pair_of_bodies(friction: StickSlip) -> frozenset[str]:
    """Return the names of the two bodies between which friction acts."""
    return frozenset(body.name for body in friction.bodies)
