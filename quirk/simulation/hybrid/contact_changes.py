"""Changes of contacts and friction between two contact states, as events.

An event function that crosses zero shows one contact that opens, or one friction element that slips. Where loads jump,
by an input, a sampled value, an action or a function of time, several contacts and friction elements may change at the
same instant: the contact states before and after show which.
"""

from __future__ import annotations

from collections.abc import Iterator

from quirk.analysis.contact.friction_states import SlidingContact
from quirk.events.names import Patch

from .contact_states import ContactState

# Directions of events: contacts close and friction begins to stick, or contacts open and friction begins to slide.
CLOSES, OPENS = -1, 1


def contact_changes(
    before: ContactState, after: ContactState, names: list[str], recorded: str | None
) -> list[tuple[str, int]]:
    """Return the names of the contacts and friction elements whose state differs, with the directions of the events.

    Friction of a contact that opens or closes is not listed. Friction elements that share their limit of sticking begin
    to slide, or to stick, in one event, as for the event function of this limit.

    Parameters
    ----------
    before, after : contact states, between which no impact has changed velocities
    names : names of all contacts, one for each gap
    recorded : name of a contact or friction element whose change is an event already, or None
    """
    found = [
        (name, OPENS if before.closed(name) else CLOSES)
        for name in dict.fromkeys(names)
        if before.closed(name) != after.closed(name)
    ]
    for group in _groups(before, after):
        changes = [(name, _change_of(before.rubbing[name], after.rubbing.get(name))) for name in group]
        changed = [(name, direction) for name, direction in changes if direction != 0]
        if recorded not in group:
            found += changed[:1]
    return [(name, direction) for name, direction in found if name != recorded]


def _groups(before: ContactState, after: ContactState) -> Iterator[list[str]]:
    """Yield groups of friction elements in the state `before` that share a limit of sticking before or after.

    The element whose event function is that of the limit comes first in its group.
    """
    rubs = (*before.rubbing.items(), *after.rubbing.items())
    holders = [name for name, rub in rubs if isinstance(rub.cone, Patch) and name in before.rubbing]
    remaining = dict.fromkeys([*holders, *before.rubbing])
    while remaining:
        first = next(iter(remaining))
        members = (first, *before.at_limit(first), *after.at_limit(first))
        group = [name for name in dict.fromkeys(members) if name in remaining]
        for name in group:
            del remaining[name]
        yield group


def _change_of(before: SlidingContact, after: SlidingContact | None) -> int:
    """Return the direction of the event for a change between two states of a friction element, or 0 for no event.

    `before` and `after` are the states; `after` is None if the friction does not act.
    """
    if after is None:
        return 0
    if after.held is not None:
        return 0 if before.held is not None else CLOSES
    if before.held is not None:
        return OPENS
    ahead = sum(a * b for a, b in zip(before.direction, after.direction, strict=True))
    return OPENS if ahead < 0 else 0
