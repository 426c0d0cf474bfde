"""Search for jumps of user functions in suspicious steps, and the resulting breaks: times at which steps must end."""

from __future__ import annotations

import numpy as np

from quirk.integrators import Breaks

from .discontinuity_location import closer_look
from .probed_functions import Functions, ProbedStretch
from .run_state import CLEARED, FRESH, LOW, PIECE, REST, SEEN, T_NEW, H, RunState, T

# After a search for jumps in a step without result, the number of suspicious steps without a search that follow, its
# growth factor for repeated failures, and its maximum.
LEAST_REST, REST_GROWTH, MOST_REST = 2, 2, 1000


def renew_pieces(run: RunState, breaks: Breaks, t: float) -> RunState:
    """Return the run with newly determined intervals between breaks after time t (s), at which the next step begins."""
    run.counts[PIECE] = 0
    pieces = [x for piece in breaks.pieces(t) for x in piece]
    if len(pieces) == len(run.pieces):
        run.pieces[:] = pieces
        return run
    return run._replace(pieces=np.array(pieces))


class DiscontinuitySearch:
    """Search for jumps in steps in which a user function may change abruptly.

    Parameters
    ----------
    breaks : breaks of the run, to which the jumps found are added

    Attributes
    ----------
    rest : number of suspicious steps that are not searched after the next search without result
    """

    def __init__(self, breaks: Breaks) -> None:
        self._breaks = breaks
        self.clear()

    def clear(self) -> None:
        """Reset the number of steps that are not searched, which grows with each search without result."""
        self.rest = LEAST_REST

    def look(self, run: RunState, functions: Functions, gap: float) -> RunState:
        """Search the step just computed for jumps; return the run with breaks at the jumps found.

        `gap` is the maximum interval between calls of user functions, s. If a jump is found, the step is repeated and
        ends at the first jump.
        """
        counts, clock, breaks = run.counts, run.clock, self._breaks
        t, h, piece = float(clock[T]), float(clock[T_NEW] - clock[T]), breaks.piece(float(clock[T]))
        step = ProbedStretch(t, h, piece.low, min(piece.high, float(clock[T_NEW])), gap)
        seen = float(clock[SEEN])
        added = [breaks.find(*jump) for p in range(functions.count) for jump in closer_look(functions, p, step, seen)]
        if any(added):
            run = renew_pieces(run, breaks, t)
            counts[FRESH], clock[H] = int(run.pieces[LOW] > t), h
            counts[REST], self.rest = 0, LEAST_REST
            return run
        clock[CLEARED] = max(clock[CLEARED], clock[SEEN]) if clock[SEEN] < np.inf else clock[CLEARED]
        counts[REST] = self.rest
        self.rest = min(REST_GROWTH * self.rest, MOST_REST)
        return run
