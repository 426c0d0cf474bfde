"""Search for jumps of user functions in suspicious steps.

A break, a time at which a step must end, is added at each jump that is found.
"""

from __future__ import annotations

import numpy as np

from quirk.integrators import Breaks

from .discontinuity_location import locate_discontinuities
from .probed_functions import Functions, ProbedStretch
from .run_state import LOW, RunState, Settings

# After a search for jumps in a step without result, the number of suspicious steps without a search that follow, its
# growth factor for repeated failures, and its maximum. The number does not grow in steps of fixed size, which have no
# error control that would see jumps.
LEAST_REST, REST_GROWTH, MOST_REST = 2, 2, 1000


def renew_pieces(run: RunState, breaks: Breaks, t: float) -> RunState:
    """Return the run with updated intervals between breaks, from time t (s) on; the next step begins at t.

    Breaks are times at which steps must end.
    """
    run.counts.piece = 0
    pieces = [x for piece in breaks.pieces(t) for x in piece]
    if len(pieces) == len(run.pieces):
        run.pieces[:] = pieces
        return run
    return run._replace(pieces=np.array(pieces))


class DiscontinuitySearch:
    """Search for jumps in steps in which a user function may change abruptly.

    Parameters
    ----------
    breaks : times at which steps must end; times of located jumps are added

    Attributes
    ----------
    next_delay : number of suspicious steps to skip after the next unsuccessful search
    """

    def __init__(self, breaks: Breaks) -> None:
        self._breaks = breaks
        self.clear()

    def clear(self) -> None:
        """Reset the number of suspicious steps to skip, which grows with each unsuccessful search."""
        self.next_delay = LEAST_REST

    def search(self, run: RunState, functions: Functions, settings: Settings) -> RunState:
        """Search the last computed step for jumps of user functions; return the run, with a break at each located jump.

        A break is a time at which a step must end. If a jump is located, the step is repeated and ends at the first
        jump. Otherwise the next suspicious steps are not searched. `settings` are the settings of the run.
        """
        counts, clock, breaks = run.counts, run.clock, self._breaks
        t, h, piece = float(clock.t), float(clock.t_new - clock.t), breaks.piece(float(clock.t))
        step = ProbedStretch(t, h, piece.low, min(piece.high, float(clock.t_new)), settings.gap)
        seen = float(clock.deviation_time)
        added = [
            breaks.find(jump.time, jump.first) if jump.ramp_end is None else breaks.find_ramp(jump.time, jump.ramp_end)
            for p in range(functions.count)
            for jump in locate_discontinuities(functions, p, step, seen, settings.rtol, settings.atol)
        ]
        if any(added):
            run = renew_pieces(run, breaks, t)
            counts.fresh, clock.h = int(run.pieces[LOW] > t), h
            counts.search_delay, self.next_delay = 0, LEAST_REST
            return run
        clock.cleared = max(clock.cleared, clock.deviation_time) if clock.deviation_time < np.inf else clock.cleared
        counts.search_delay = self.next_delay
        if not settings.fixed > 0:
            self.next_delay = min(REST_GROWTH * self.next_delay, MOST_REST)
        return run
