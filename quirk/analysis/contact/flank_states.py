"""Flanks in contact during a run, and the event functions that detect changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from quirk.bodies.state import Kinematics, State
from quirk.dynamics.model.applied_loads import coordinate_at
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.forces.flanks import Flanks
from quirk.system.configuration import Configuration
from quirk.system.system import System

# Kinds of events: the coordinate reaches a flank; the load of a flank becomes zero; the load of a flank becomes
# positive again while the coordinate is still beyond the flank.
MEETS, PARTS, RETURNS = "meets", "parts", "pushes again"
SIGNS = (1, -1)
# Deviations beyond a flank below this fraction of half the free play are round-off.
NOTHING = 1e-9

# Name of an element, index of the flank in SIGNS, and kind of event.
Key = tuple[str, int, str]


class FlankStates:
    """Force elements of a system with two elastic flanks separated by free play."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.all = [force for force in system.forces if isinstance(force, Flanks) and force.switches]

    def configured(self, base: Configuration, sides: Mapping[str, int]) -> Configuration:
        """Return the configuration `base` in which the given flank of each element is in contact.

        `sides` is the flank in contact of each element by name: 1 (upper), -1 (lower), or 0 for none.
        """
        return base.with_others({flanks.name: flanks.on_side(sides.get(flanks.name, 0)) for flanks in self.all})

    def guards(self, base: Configuration, sides: Mapping[str, int]) -> list[EventFunction]:
        """Return the event functions of all flanks that are enabled in the configuration `base`.

        `sides` is the flank in contact of each element by name: 1 or -1, or 0 for none.
        """
        found = []
        for flanks in self.all:
            if flanks.name in base.idle:
                continue
            side, title = sides.get(flanks.name, 0), f"{flanks}"
            for k, sign in enumerate(SIGNS):
                if side == sign:
                    parts = EventFunction((flanks.name, k, PARTS), title, flanks.load_of(sign), -1, True)
                    found.append(parts)
                if side != 0:
                    continue
                found.append(EventFunction((flanks.name, k, MEETS), title, flanks.gap(sign), -1, True))
                if flanks.damping > 0:
                    again = EventFunction((flanks.name, k, RETURNS), title, flanks.load_of(sign), 1, True)
                    found.append(again)
        return found

    def sides(
        self, before: Mapping[str, int], hit: Sequence[Key], t: float, state: State, base: Configuration
    ) -> dict[str, int]:
        """Return the flank in contact of each element after events, by name: 1 or -1, or 0 for none.

        Parameters
        ----------
        before : flanks in contact before the events
        hit : keys of the event functions that cross zero at time t, s
        t, state, base : time, state, and configuration without flanks
        """
        found: dict[str, int] = {}
        moving = PoseDerivatives.of(Kinematics.of(state), 2) if self.all else None
        number = {body.name: k for k, body in enumerate(self._system.bodies)}
        crossed = {(name, what): SIGNS[k] for name, k, what in hit}
        for flanks in self.all:
            if flanks.name in base.idle:
                continue
            rows = tuple(number.get(body.name, len(number)) for body in flanks.bodies)
            assert moving is not None
            x, rate = (float(c) for c in coordinate_at(flanks, rows, moving, t, {}).taylor[:2])
            found[flanks.name] = _flank_in_contact(flanks, before.get(flanks.name, 0), crossed, x, rate)
        return found


def _flank_in_contact(
    flanks: Flanks, before: int, crossed: Mapping[tuple[str, str], int], x: float, rate: float
) -> int:
    """Return the flank in contact after events: 1 (upper), -1 (lower), or 0 in the free play.

    `before` is the flank in contact before the events. `crossed` contains, for each event function that crosses zero,
    the flank to which it belongs, by name of the element and kind of event. `x` is the coordinate, rad or m (deviation
    from the middle of the play), and `rate` its rate.
    """
    if (flanks.name, MEETS) in crossed:
        return crossed[flanks.name, MEETS]
    if (flanks.name, PARTS) in crossed:
        return 0
    noise = NOTHING * flanks.half
    sign = before or int(np.sign(x))
    beyond = sign * x - flanks.half
    load = flanks.stiffness * beyond + flanks.damping * sign * rate
    if before:
        return before if load > -flanks.stiffness * noise else 0
    again = (flanks.name, RETURNS) in crossed
    return sign if beyond > noise and (load > 0 or again) else 0
