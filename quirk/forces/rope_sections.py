"""Sections of an elastic rope, each with one tension, and the states and quantities at the stops between them.

The stops of a rope are points and drums; its spans are the straight parts between consecutive stops. A section is the
part of the rope between two stops with friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..constraints.rope_path import RopePath

# Friction states of the rope at a stop: it sticks, slips forward, slips backward, or is free because it is slack.
STICKS, AHEAD, BACK, FREE = 0, 1, -1, 2

# Names of the quantities of each stop with friction:
# SPEED: speed of the drum's surface along the rope, m/s;
# SLIP: velocity of the rope relative to this surface, where the rope enters the arc, m/s;
# SLIPPING: slip times its sign when slipping began, m/s;
# MARGIN_AHEAD, MARGIN_BACK: exp(friction * angle) times the tension before the stop minus the tension behind it, and
# vice versa, N; a margin is zero when the rope starts to slip forward or backward;
# RESERVE: friction * angle minus the absolute value of its signed sum over all other stops that slip.
SPEED, SLIP, SLIPPING = "speed", "slip", "slipping"
MARGIN_AHEAD, MARGIN_BACK, RESERVE = "grip ahead", "grip back", "reserve"
OF_STOPS = (SPEED, SLIP, SLIPPING, MARGIN_AHEAD, MARGIN_BACK, RESERVE)
TENSION, STRETCH = "tension", "stretch"
# Units of all quantities by name; "" for dimensionless quantities.
UNITS = {
    TENSION: "N", STRETCH: "", SPEED: "m/s", SLIP: "m/s", SLIPPING: "m/s", MARGIN_AHEAD: "N", MARGIN_BACK: "N",
    RESERVE: "",
}  # fmt: skip


@dataclass(frozen=True)
class Sections:
    """Division of a rope into sections, each with one tension.

    Attributes
    ----------
    of_span : index of the section of each span
    stops : indices of the stops with friction, where sections meet
    before, behind : for each of these stops, the indices of the sections before and after it
    winds : for each of the two ends of the rope, whether it is wound onto a drum
    """

    of_span: tuple[int, ...]
    stops: tuple[int, ...]
    before: tuple[int, ...]
    behind: tuple[int, ...]
    winds: tuple[bool, bool]

    @classmethod
    def of(cls, path: RopePath, friction: Sequence[float]) -> Sections:
        """Return the sections of a rope over `path`; `friction` is the coefficient at each stop, zero at the ends."""
        stops = tuple(k for k in path.inner if friction[k] > 0)
        if path.closed and len(stops) < 2:
            stops = ()  # both sides of a single stop have the same tension
        spans = len(path.path) - (0 if path.closed else 1)
        count = max(len(stops), 1) if path.closed else len(stops) + 1
        passed = np.cumsum([k in stops for k in range(spans)])
        of_span = tuple(((passed - (1 if path.closed else 0)) % count).tolist())
        before = tuple(of_span[k - 1] for k in stops)
        behind = tuple(of_span[k] for k in stops)
        winds = (False, False) if path.closed else (path.drums[0], path.drums[-1])
        return cls(of_span, stops, before, behind, winds)

    @property
    def count(self) -> int:
        """Number of sections."""
        return max(self.of_span) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes with the unstretched lengths, which are internal variables or parameters."""
        return tuple(f"unstretched_{n}" for n in range(self.count))

    @property
    def exchange(self) -> bool:
        """Whether the unstretched lengths of the sections change with time, by flow over stops or by winding."""
        return bool(self.stops) or any(self.winds)
