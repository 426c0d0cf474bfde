"""State and settings of a run between two entries into compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.revolution_counter import Counter
from quirk.jit.record import record

from .discontinuity_probe import Asked
from .event_functions import WatchedTables


@record
class Settings(NamedTuple):
    """Settings of a run.

    start, end: s · step: fixed step size, s, or 0 · fixed: number of fixed steps, or 0 for adaptive ones · rtol, atol:
    tolerances · interval: number of steps between projections, 0 without projection · alpha, beta: Baumgarte's rates,
    1/s · length: length of the system, m · every: whether to keep all steps, or the states at output times · max_step:
    s · gap: maximum interval between calls of user functions, s · look: maximum interval between checks of rates within
    a step of Taylor series, s
    """

    start: float
    end: float
    step: float
    fixed: int
    rtol: float
    atol: float
    interval: int
    alpha: float
    beta: float
    length: float
    every: bool
    max_step: float
    gap: float
    look: float = np.inf


@record
class RunState(NamedTuple):
    """The state of a run between two entries; states in blocks of eight bodies.

    y, y_new (size,): at the start and at the end of the step · clock, counts: see below · asked: times, which may
    change between entries · times, states: what was kept since the last entry · stop (1,): not zero to end the run ·
    pieces (4 P,): of each `integrators.breaks.Piece` low, high, end and first · functions: those that a user wrote ·
    counter: of the turns of joints · watched: the quantities of events · trail: the steps taken since the last entry,
    where these are asked for
    """

    y: np.ndarray
    y_new: np.ndarray
    clock: np.ndarray
    counts: np.ndarray
    asked: np.ndarray
    times: np.ndarray
    states: np.ndarray
    stop: np.ndarray
    pieces: np.ndarray
    functions: Asked
    counter: Counter
    watched: WatchedTables
    trail: np.ndarray


# Entries of each recorded step in RunState.trail before the state at its start: its start and end, s, and the range of
# times at which slopes are evaluated.
STEP_START, STEP_END, STEP_LOW, STEP_HIGH = range(4)
STEP_HEAD = 8

# Entries of Run.clock: time, end of the step, step size to try, error of the last step, time STALL_STEPS ago, step size
# to try where it is cut by the end of a piece or by an event, when a function was found to differ, up to when none
# needs a look; the time of an event at which a step is to end, or infinity; with which part of the pivots at its start
# those at the end of a step are compared; sum of the magnitudes of all work up to the start of the step, J; time at the
# start of the step before; time up to which the motion is requested, the scale for what counts as no time; time within
# the step at which the run has paused and is to begin anew.
T, T_NEW, H, PREVIOUS, MARK, UNCUT, SEEN, CLEARED, CAP, PIVOT, EXCHANGED, EARLIER, REQUESTED, RESTART = range(14)
CLOCK = 14

# Entries of each piece in RunState.pieces; see `integrators.breaks.Piece`.
LOW, HIGH, END, FIRST = range(4)
PIECE_SIZE = 4

# Entries of Run.counts, behind CORRECTIONS and FACTORISATIONS of projections. WITHIN says where in a step the run
# stands; GRID counts fixed steps that are whole, REST the steps to come that are not looked at when they are rejected;
# FRESH is 1 where the slope is to be found anew; HAPPENED counts the events noted since the last entry; RETAKEN how
# often the present step was taken again to end at an event, of the quantity CAPPED; MISSED how many steps in a row
# ended so at an event that was not there yet; EVENTFUL is 1 where something happens at its end; UNSETTLED is 1 where
# the state is another than the last step led to, so that quantities may be on other sides; TRAILED counts the steps in
# Run.trail; SINGULAR_WITHIN is 1 where the step tried holds a singular configuration that its method does not pass;
# PAUSES is 1 in runs that wait within a step, behind the last of the asked times, until further ones are asked for, and
# RESTARTS where loads have changed from outside, so that such a run is to discard what lies ahead: AT_ITS_START all of
# that step, or the rest of it, AT_THE_PAUSE, from the state there in Run.states.
(
    STEPS, REJECTED, EVALUATIONS, WAS_REJECTED, ASKED, KEPT, WITHIN, BEST_RANK, STALL, PIECE, GRID, REST, FRESH,
    HAPPENED, RETAKEN, EVENTFUL, UNSETTLED, CAPPED, MISSED, TRAILED,
    SINGULAR_WITHIN, PAUSES, RESTARTS,
) = range(2, 25)  # fmt: skip
COUNTS = 25

# Values of RESTARTS other than 0.
AT_ITS_START, AT_THE_PAUSE = 1, 2

# Values of WITHIN: between two steps; at the end of one; there, with the data of its continuous extension.
BETWEEN, TAKEN, DENSE = range(3)

# Why a march returns: to be entered again, or at the end, or not able to go on; SUSPECT before a step is judged in
# which a function may have changed abruptly; EVENT at the end of a step at which there is one that does something;
# UNDEFINED where a watched quantity is not a number; SINGULAR where another method is to take the step; PAUSED within a
# step, with all asked times behind. GONE_ON is for the parts of a march: there is no reason.
(
    AGAIN, DONE, COLLAPSED, NOT_FINITE, OFF_CONSTRAINTS, OFF_BETWEEN, LOST_BETWEEN, STALLED, STOPPED, SUSPECT, EVENT,
    UNDEFINED, SINGULAR, PAUSED, GONE_ON,
) = range(15)  # fmt: skip
