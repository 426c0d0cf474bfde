"""State and settings of a run between two calls of compiled code.

Terms: a break is a time at which a step must end.
"""

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

    Attributes
    ----------
    start, end : initial and final time, s
    step : fixed step size, s, or 0
    fixed : number of fixed steps, or 0 for adaptive steps
    rtol, atol : relative and absolute tolerance
    interval : number of steps between projections, 0 without projection
    alpha, beta : Baumgarte's rates, 1/s
    length : characteristic length of the system, m
    every : whether the states of all steps are stored, not only those at output times
    max_step : maximum step size, s
    gap : maximum interval between calls of user functions, s
    look : maximum interval between comparisons of y' with its Taylor series within a step, s
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
    """State of a run between two entries, i.e. calls of compiled code.

    States of bodies are in blocks of eight bodies and have `size` elements. Names in capitals are constants of this
    module.

    Attributes
    ----------
    y, y_new : (size,) states at the start and at the end of the step
    clock : (CLOCK,) floats, with indices T to RESTART
    counts : (COUNTS,) integers, with indices STEPS to RESTARTS
    asked : requested output times, s, which may change between entries
    times, states : output times, s, and states since the last entry
    stop : (1,) a nonzero value ends the run
    pieces : (4 P,) entries LOW to FIRST of each of P intervals between breaks
    functions : user functions with their inputs and outputs at the stages of a step
    counter : counter of full turns of joint angles
    watched : event functions
    trail : steps since the last entry, if they are recorded
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


# Header of each recorded step in RunState.trail, followed by the state at its start: start and end, s, and the range of
# times (s) at which y' may be evaluated.
STEP_START, STEP_END, STEP_LOW, STEP_HIGH = range(4)
STEP_HEAD = 8

# Entries of RunState.clock, times in s. T: start of the step; T_NEW: its end. H: size of the next step. PREVIOUS: error
# of the last step over the tolerance. MARK: time STALL_STEPS steps ago. UNCUT: step size before a cut at the end of an
# interval or at an event. SEEN: time at which a function differs from its interpolation; CLEARED: time up to which
# functions need no search. CAP: time of an event at which the step must end, or infinity. PIVOT: fraction of the pivots
# at the start of the step with which those at its end are compared. EXCHANGED: sum of the magnitudes of all work up to
# the start of the step, J. EARLIER: start of the previous step. REQUESTED: time up to which the motion is requested,
# the scale of negligible times.
T, T_NEW, H, PREVIOUS, MARK, UNCUT, SEEN, CLEARED, CAP, PIVOT, EXCHANGED, EARLIER, REQUESTED, RESTART = range(14)
CLOCK = 14

# Entries of each piece in RunState.pieces; see `integrators.breaks.Piece`.
LOW, HIGH, END, FIRST = range(4)
PIECE_SIZE = 4

# Entries of RunState.counts, after CORRECTIONS and FACTORISATIONS of projections. Numbers of steps accepted and
# rejected, and of evaluations; WAS_REJECTED: 1 if the last step was rejected; ASKED, KEPT: output times passed, and
# output states stored since the last entry. WITHIN: position in the step, see below. BEST_RANK: largest number of
# independent rows so far. STALL: steps since MARK. PIECE: index of the interval between breaks. GRID: number of
# completed fixed steps. REST: number of suspicious steps that follow without a search for jumps. FRESH: 1 if the slope
# must be evaluated again. HAPPENED: number of events since the last entry. RETAKEN: number of repetitions of the step
# to end at an event, of the function CAPPED; MISSED: number of successive steps that ended just before an event.
# EVENTFUL: 1 if an event with an action is at the end of the step. UNSETTLED: 1 if the state is not the end of the last
# step, so that event functions may have other signs. TRAILED: number of steps in RunState.trail. SINGULAR_WITHIN: 1 if
# the step tried contains a singular configuration that its method does not cross. PAUSES: 1 in runs that pause within a
# step after the last output time. RESTARTS: 1 if the rest of the step is to be discarded, as loads have been changed
# from outside.
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

# Reasons for the return of the step loop. AGAIN: it is to be called again. DONE: end of the run. COLLAPSED to STOPPED:
# failures, and interruption. SUSPECT: a function may change abruptly in the step just computed. EVENT: an event with an
# action is at the end of the step. UNDEFINED: an event function is nan. SINGULAR: another method must take the step.
# PAUSED: within a step, after the last output time. GONE_ON: returned by parts of the loop that give no reason.
(
    AGAIN, DONE, COLLAPSED, NOT_FINITE, OFF_CONSTRAINTS, OFF_BETWEEN, LOST_BETWEEN, STALLED, STOPPED, SUSPECT, EVENT,
    UNDEFINED, SINGULAR, PAUSED, GONE_ON,
) = range(15)  # fmt: skip
