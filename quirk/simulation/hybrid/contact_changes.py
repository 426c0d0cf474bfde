"""Changes of contacts and friction between two contact states, reported as events.

The zero of an event function reveals the change of one contact or friction element. Others may change at the same
instant: contacts that share a load open together, and where loads jump (changed input, sampled value, action of an
event, function of time) several may open, slide or stick. They are found by comparing the contact states before and
after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from quirk.analysis.contact.friction_modes import FrictionMode
from quirk.events.names import CommonMargin
from quirk.forces.stick_slip import StickSlip

from .contact_states import ContactState

# Directions of events: contacts close and friction begins to stick, or contacts open and friction begins to slide.
CLOSES, OPENS = -1, 1


def changed_contacts(before: ContactState, after: ContactState, names: Iterable[str]) -> list[tuple[str, int]]:
    """Return the contacts that open or close between two contact states, as pairs of a name and a direction.

    A contact opens where it is no longer held, that is, where its load vanishes. No impact lies between the states
    `before` and `after`; `names` is the name of the contact of each gap.
    """
    return [
        (name, OPENS if before.held(name) else CLOSES)
        for name in dict.fromkeys(names)
        if before.held(name) != after.held(name)
    ]


def changed_frictions(
    before: ContactState,
    after: ContactState,
    frictions: Sequence[StickSlip],
    contacts: Collection[str],
    triggered: Collection[str] | None,
) -> list[tuple[str, int]]:
    """Return the friction elements that change between two contact states, as pairs of a name and a direction.

    Friction of a contact that opens or closes is not listed. Friction elements that share a limit of sticking are
    listed once, because they begin to slide, or to stick, in one event; those that come to stick, or that slide back,
    between the same two bodies, too.

    Parameters
    ----------
    before, after : contact states, between which no impact has changed velocities
    frictions : all friction elements of the system
    contacts : names of all contacts
    triggered : names of the friction elements whose event functions are zero. Of the other groups, only those are
        listed that begin to slide because these change. None to list all groups
    """
    of_name = {friction.name: friction for friction in frictions}
    pairs = {name: frozenset(body.name for body in friction.bodies) for name, friction in of_name.items()}
    lasting = {
        name for name, friction in of_name.items()
        if friction.on.name not in contacts or (before.held(friction.on.name) and after.held(friction.on.name))
    }  # fmt: skip
    # Friction whose slip others prescribe may be at its limit without slip, held by other friction.
    prescribed = {name for name, mode in after.friction.items() if mode.is_prescribed}
    found: list[tuple[str, int]] = []
    stopped, reversed_ = set[frozenset[str]](), set[frozenset[str]]()
    causes, others = set[frozenset[str]](), list[str]()
    for group in _groups(before, after):
        first = [name for name in group if triggered is None or name in triggered]
        if not first:
            others += group
            continue
        causes |= {pairs[name] for name in group}
        for name in sorted(filter(lasting.__contains__, (*first, *group)), key=prescribed.__contains__):
            former = before.friction[name]
            vanished = triggered is not None and name in triggered
            direction = _change_of(former, after.friction.get(name), vanished)
            if direction != 0:
                slid = former.sticking_components is None
                known = stopped if direction == CLOSES else reversed_ if slid else set[frozenset[str]]()
                if pairs[name] not in known:
                    found.append((name, direction))
                known.add(pairs[name])
                break
    for name in filter(lasting.__contains__, others):
        former = before.friction[name]
        breaks_away = former.sticking_components is not None and _change_of(former, after.friction.get(name), False)
        if breaks_away and name not in prescribed and pairs[name] not in causes:
            found.append((name, OPENS))
            causes.add(pairs[name])
    return found


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


def slides_back(mode: FrictionMode) -> bool:
    """Whether friction in the state `mode` after its component of slip ahead has fallen to zero slides back.

    Slip of several components is reversed only if it begins again from zero. Otherwise it has turned without vanishing.
    """
    return mode.sticking_components is None and (len(mode.direction) == 1 or mode.reversal_speed > 0.0)


def _change_of(before: FrictionMode, after: FrictionMode | None, vanished: bool) -> int:
    """Return the direction of the event for the change of a friction element between two states, or 0 for no event.

    `after` is None if the friction no longer acts. `vanished` is whether its component of slip ahead is known to fall
    to zero between the states; only then, or if it begins, is slip reversed, as its direction may have turned since it
    began.
    """
    if after is None:
        return 0
    if after.sticking_components is not None:
        return 0 if before.sticking_components is not None else CLOSES
    if before.sticking_components is not None:
        return OPENS
    ahead = sum(a * b for a, b in zip(before.direction, after.direction, strict=True))
    return OPENS if ahead < 0 and (slides_back(after) if vanished else after.reversal_speed > 0.0) else 0
