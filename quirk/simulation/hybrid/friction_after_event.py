"""State of friction elements after contacts or friction have changed: sliding, or sticking with monitored limits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from quirk.analysis.contact.friction_states import FLOOR, SlidingContact, rub_of
from quirk.dynamics.contact.contact_modes import DEPENDENT, ContactModes
from quirk.dynamics.model.friction_normal_load import ConstantLoad
from quirk.errors import outside
from quirk.forces.stick_slip import StickSlip
from quirk.result.contact_loads import ContactLoadWarning

from .contact_speeds import REST
from .friction_rows import FrictionRows
from .load_shares import Shares

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


def rubbing_of(
    t: float,
    rows: FrictionRows,
    found: ContactModes,
    slow: np.ndarray,
    before: Mapping[str, SlidingContact],
    shares: Shares,
) -> dict[str, SlidingContact]:
    """Return the state of each friction element after a change of contacts at time t (s), by name.

    Parameters
    ----------
    t : time, s
    rows : the r rows of gaps and slip components
    found : solution of the contact problem
    slow : (r,) slip, m/s, below which friction counts as not slipping
    before : states of the friction elements before the change
    shares : loads expressed by multipliers
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
        patch = shares.patch_of(k)
        alone = isinstance(grip.load, ConstantLoad) and found.held[grip.rows[0]]
        if kept or grip.contact is not None or patch is not None or alone:
            # The load of a joint is computed separately: the first row represents it.
            load_row = grip.rows[0] if grip.contact is None else grip.contact
            cone = shares.cone(friction, [load_row, *grip.rows], grip.load) if patch is None else patch or None
            rubbing[friction.name] = SlidingContact(kept, side=side, cone=cone, creep=creep)
        elif creep is not None:
            rubbing[friction.name] = SlidingContact((), side=side, creep=creep)
    return rubbing


def _creep(friction: StickSlip, former: SlidingContact | None, limit: float, t: float, shortest: float) -> float:
    """Return the slip (m/s) beyond which sticking friction with redundant rows slides; 0 if it never does.

    `limit` is the slip to be returned as a rule, `former` the previous state and t the time, s. If friction began to
    slide at this slip and stopped again within `shortest` (s), it would alternate endlessly between sliding and
    sticking; then 0 is returned, with a warning.
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
    """Return the pairs of bodies, by name, that contacts and their friction hold at rest relative to each other.

    Redundant rows of such a pair stay redundant in the motion; other rows may be dependent in the present position
    only.
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
