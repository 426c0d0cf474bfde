"""Check that the members of a batch do not share values that the actions of events change."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..constraints.unilateral import Unilateral
from ..dynamics.user_functions import functions_of
from ..errors import InputError, StatefulWarning, outside
from ..events.actions import functions_in
from ..functions.effects import Effects
from ..system.system import System


def check_shared_values(owner: str, system: System) -> None:
    """Check that no user function reads Python values that the action of an event may change.

    All members call the same functions, so that an action in one member would also change the motion of the others. A
    StatefulWarning is issued if only actions read such values, for example a counter. `owner` begins the messages.

    Raises
    ------
    InputError
        If a function of a force, constraint, motion, gap or watched quantity reads such a value.
    """
    actions = [(event, action) for event in system.events for action in functions_in(event.actions)]
    writers = [(event, effects) for event, action in actions if (effects := Effects(action)).writes]
    if not writers:
        return
    for title, function in _readers(system):
        reads = Effects(function)
        for event, effects in writers:
            if effects.may_change(reads):
                raise InputError(
                    f"{owner}: the action of {event} may change values that a function of {title} reads, and all "
                    "members share these values: let the action switch parts with enable(...) and disable(...), or "
                    "use quirk.sweep, where each member has a system of its own"
                )
    own = [event for event, effects in writers if any(effects.may_change(Effects(action)) for _, action in actions)]
    if own:
        warnings.warn(
            f"{owner}: the action of {own[0]} reads values that it or another action changes, such as a counter or a "
            "list; all members share these values, and members run at the same time",
            StatefulWarning,
            stacklevel=outside(),
        )


def _readers(system: System) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield all user functions of a system except actions, each with the title of its part."""
    everything = system.configuration
    for part in (*system.constraints, *system.forces):
        everything = everything.switched(part, True)
    yield from functions_of(system.plant_for(everything).model)
    for constraint in system.constraints:
        if isinstance(constraint, Unilateral):
            yield from ((f"{constraint}", gap.source) for gap in constraint.gaps if gap.source is not None)
    for event in system.events:
        yield from ((f"{event}", function) for function in event.watched_functions)
