"""Changes of contacts and friction between two contact states, reported as events.

The zero of an event function reveals the change of one contact or friction element. Where loads jump (changed input,
sampled value, action of an event, function of time), several may change at the same instant; they are found by
comparing the contact states before and after.
"""

from __future__ import annotations

from collections.abc import Iterator

from quirk.analysis.contact.friction_modes import FrictionMode
from quirk.events.names import CommonMargin

from .contact_states import ContactState

# Directions of events: contacts close and friction begins to stick, or contacts open and friction begins to slide.
CLOSES, OPENS = -1, 1


def contact_changes(
    before: ContactState, after: ContactState, names: list[str], recorded: str | None
) -> list[tuple[str, int]]:
    """Return the contacts and friction elements that change between two contact states, as events.

    Each event is a pair of a name and a direction. Friction of a contact that opens or closes is not listed. Friction
    elements that share a limit of sticking are listed once, because they begin to slide, or to stick, in one event.

    Parameters
    ----------
    before, after : contact states, between which no impact has changed velocities
    names : name of the contact of each gap
    recorded : name of a contact or friction element whose change is already recorded as an event, or None
    """
    found = [
        (name, OPENS if before.closed(name) else CLOSES)
        for name in dict.fromkeys(names)
        if before.closed(name) != after.closed(name)
    ]
    for group in _groups(before, after):
        changes = [(name, _change_of(before.friction[name], after.friction.get(name))) for name in group]
        changed = [(name, direction) for name, direction in changes if direction != 0]
        if recorded not in group:
            found += changed[:1]
    return [(name, direction) for name, direction in found if name != recorded]


def _groups(before: ContactState, after: ContactState) -> Iterator[list[str]]:
    """Yield groups of friction elements in the state `before` that share a limit of sticking before or after.

    The first element of each group is the one with which the event function of the limit is associated.
    """
    frictions = (*before.friction.items(), *after.friction.items())
    holders = [name for name, mode in frictions if isinstance(mode.margin, CommonMargin) and name in before.friction]
    remaining = dict.fromkeys([*holders, *before.friction])
    while remaining:
        first = next(iter(remaining))
        members = (first, *before.elements_at_limit(first), *after.elements_at_limit(first))
        group = [name for name in dict.fromkeys(members) if name in remaining]
        for name in group:
            del remaining[name]
        yield group


def _change_of(before: FrictionMode, after: FrictionMode | None) -> int:
    """Return the direction of the event for the change of a friction element between two states, or 0 for no event.

    `after` is None if the friction no longer acts.
    """
    if after is None:
        return 0
    if after.sticking_components is not None:
        return 0 if before.sticking_components is not None else CLOSES
    if before.sticking_components is not None:
        return OPENS
    ahead = sum(a * b for a, b in zip(before.direction, after.direction, strict=True))
    return OPENS if ahead < 0 else 0
