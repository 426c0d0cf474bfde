"""Weights of shared loads after bodies have moved relative to each other.

Where contacts and friction share loads, the quantities that a run watches, such as the margin to the limits of
friction, are functions of the multipliers of independent rows. Their weights follow from the dependence of the other
rows, and change as bodies turn. They are those of the last change of contacts or friction. If such a quantity becomes
zero, the weights are computed again: only if the quantity is zero then, too, contacts or friction change. If it is
negative, they should have changed before, and a warning is issued.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.errors import outside
from quirk.events.names import CommonMargin, Shared
from quirk.result.contact_loads import ContactLoadWarning
from quirk.system.configuration import Configuration

from .contact_events import Contacts
from .contact_states import ContactState

# Kinds of event functions with weights.
KINDS = ("cone", "push")
# Poses that differ by less than this, relative to the length of the system or in rad, have the same weights.
SAME = 1e-9
# Magnitude of quantities that count as zero, as a fraction of their largest magnitude.
ZERO = 1e-6


class TurningLoads:
    """Weights of the shared loads that a run watches, which are computed again if a watched quantity becomes zero.

    Parameters
    ----------
    contacts : unilateral constraints and friction of the system
    length : characteristic length of the system, m

    Attributes
    ----------
    watches_limits : whether the run watches limits of friction that shares loads
    """

    def __init__(self, contacts: Contacts, length: float) -> None:
        self._contacts, self._length = contacts, length
        self._watches = self.watches_limits = self._has_warned = False

    def begin(self, run: Any, contact_state: ContactState, y: np.ndarray) -> None:
        """Begin with the weights in a contact state, which belong to the state y (13 n + k,)."""
        shared = [*(mode.margin for mode in contact_state.friction.values()), *contact_state.loads.values()]
        self._watches, self._y = any(map(_has_weights, shared)), y.copy()
        self.watches_limits = any(isinstance(quantity, CommonMargin) for quantity in shared)

    def renewed(self, run: Any, base: Configuration, contact_state: ContactState) -> ContactState | None:
        """Give a run the weights that belong to its present state; return the contact state with them.

        The result is None if nothing was renewed. `base` are the active constraints and forces, without contacts.
        """
        t, y = run.reached, run.state
        if not self._watches or not self._has_moved(run, y):
            return None
        renewed = self._contacts.with_present_weights(t, y, run.angles, base, contact_state)
        if renewed is None or not run.watch.renew_weights(self._contacts.guards(base, renewed), run.solver):
            return None
        self._y = y.copy()
        return renewed

    def early(self, run: Any, keys: Sequence[Any]) -> set[Any]:
        """Return those of the keys of event functions whose quantities are positive with present weights.

        A warning is issued if quantities are negative.
        """
        values, sizes = run.watch.values(run.solver, run.reached, run.state), run.watch.table.scale
        of_key = {
            guard.key: (guard, float(value / size) if size > 0.0 else 0.0)
            for guard, value, size in zip(run.watch.guards, values, sizes, strict=True)
            if _kind(guard.key) in KINDS
        }
        for guard, value in of_key.values():
            if value < -ZERO:
                self._warn(guard, run.reached)
        return {key for key in keys if key in of_key and of_key[key][1] > ZERO}

    def _warn(self, guard: EventFunction, t: float) -> None:
        if not self._has_warned:
            warnings.warn(
                f"{guard.title}: at t = {t:.9g} s it has passed the limit of its load: it shares loads, and the shares "
                "have changed since the last event, as bodies have turned, so that this is noticed too late: hold the "
                "bodies by fewer contacts",
                ContactLoadWarning,
                stacklevel=outside(),
            )
        self._has_warned = True

    def _has_moved(self, run: Any, y: np.ndarray) -> bool:
        """Whether poses at the state y (13 n + k,) differ from those to which the weights belong."""
        slots = run.solver.slots
        before, now = (slots.body_states(slots.state_to_lanes(x)) for x in (self._y, y))
        moved = np.abs(now - before)
        return bool(moved[:, :3].max() > SAME * self._length or moved[:, 3:7].max() > SAME)


def _has_weights(quantity: Any) -> bool:
    """Whether a watched quantity has weights other than one for a single multiplier."""
    if isinstance(quantity, CommonMargin):
        return True
    if not isinstance(quantity, Shared):
        return False
    weights = np.array(quantity.weights)
    return bool(((weights != 0.0) & (np.abs(weights) != 1.0)).any() or (np.count_nonzero(weights, axis=1) > 1).any())


def _kind(key: Any) -> str:
    """Return the kind of an event function of contacts and friction; "" for events of the user."""
    return str(key[2]) if isinstance(key, tuple) else ""
