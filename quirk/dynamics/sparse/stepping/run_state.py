"""State and settings of a run between two calls of compiled code.

A break is a time at which a step must end.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.revolution_counter import Counter
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record

from .discontinuity_probe import FunctionSamples
from .event_functions import WatchedTables


@record
class Settings(NamedTuple):
    """Settings of a run.

    Attributes
    ----------
    start, end : initial and final time, s
    step : size of the time steps, s, if it is fixed, otherwise 0
    fixed : number of time steps of the run if their size is fixed, otherwise 0
    rtol, atol : relative and absolute tolerance
    interval : number of time steps between projections, 0 without projection
    alpha, beta : Baumgarte's rates, 1/s
    length : characteristic length of the system, m
    all_steps : whether the states after all steps are stored, and not only those at output times
    max_step : maximum step size, s
    gap : maximum interval between calls of user functions, s
    comparison_interval : maximum interval between comparisons of y' with its Taylor series within a step, s
    watch_interval : maximum interval between evaluations of event functions within a step, s; infinite if they vary no
        faster than the motion of bodies
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
    all_steps: bool
    max_step: float
    gap: float
    comparison_interval: float = np.inf
    watch_interval: float = np.inf


class StepOutcome(IntEnum):
    """Reasons for the return of the step loop.

    AGAIN: the loop must be called again. DONE: end of the run. COLLAPSED to STOPPED: failures and interruption.
    SUSPECT: a user function may change abruptly in the last computed step. EVENT: an event with an action occurs at the
    end of the step. UNDEFINED: an event function is NaN. SINGULAR: another method must take the step. PAUSED: the run
    pauses within a step, after the last output time. GONE_ON: no reason to return.
    """

    AGAIN = 0
    DONE = 1
    COLLAPSED = 2
    NOT_FINITE = 3
    OFF_CONSTRAINTS = 4
    OFF_BETWEEN = 5
    LOST_BETWEEN = 6
    STALLED = 7
    STOPPED = 8
    SUSPECT = 9
    EVENT = 10
    UNDEFINED = 11
    SINGULAR = 12
    PAUSED = 13
    GONE_ON = 14


class StepPosition(IntEnum):
    """Position of a run relative to a step.

    BETWEEN: between two steps. TAKEN: at the end of an accepted step. DENSE: as TAKEN, with the additional stages of
    dense output computed.
    """

    BETWEEN = 0
    TAKEN = 1
    DENSE = 2


class Restart(IntEnum):
    """Point from which the rest of the current step is discarded, because the caller has changed loads.

    AT_STEP_START: the start of the step. AT_PAUSE: the time of a pause within the step. NONE: nothing is discarded.
    """

    NONE = 0
    AT_STEP_START = 1
    AT_PAUSE = 2


@fields
class Clock(Fields):
    """Times, s, and other real-valued variables of a run.

    Attributes
    ----------
    t, t_new : start and end of the step
    h : size of the next step
    previous_error : ratio of the error of the last step to the tolerance
    mark : time STALL_STEPS steps ago
    uncut : step size before it was reduced to end at a break or an event
    deviation_time : time at which a user function differs from its interpolant
    cleared : time up to which user functions have been searched for jumps
    cap : time of an event at which the step must end, or infinity
    clearance : factor of the least distance of the end of a step from singular configurations, 1 at first
    method : method of factorization at the start of the step, see `workspace.METHOD`
    usual : step size before it was adapted to a singular configuration, 0 if it has not been
    crossing : 1 if the step is a second attempt to cross a singular configuration, otherwise 0
    exchanged : sum of the magnitudes of all work done up to the start of the step, J
    earlier : start of the previous step
    requested : time up to which the motion is requested, used as the scale of negligible times
    restart : time from which the rest of a step is discarded
    """

    t: float
    t_new: float
    h: float
    previous_error: float
    mark: float
    uncut: float
    deviation_time: float
    cleared: float
    cap: float
    clearance: float
    method: float
    usual: float
    crossing: float
    exchanged: float
    earlier: float
    requested: float
    restart: float


@fields
class Counts(Fields):
    """Integer variables of a run.

    Attributes
    ----------
    corrections, factorisations : numbers of iterations and factorizations in projections
    steps, rejected, evaluations : numbers of time steps accepted and rejected, and of evaluations of y'
    was_rejected : 1 if the last step was rejected
    passed, stored : numbers of output times passed, and of output states stored since the last call of compiled code
    position : position relative to the step, a `StepPosition`
    best_rank : largest number of independent rows so far
    stall : number of time steps since Clock.mark
    piece : index of the interval between breaks
    grid : number of completed time steps of fixed size
    divisions : number of times that the present time step of fixed size has been halved
    search_delay : number of suspicious steps for which the search for jumps is still skipped
    fresh : 1 if the slope must be evaluated again
    happened : number of events since the last call of compiled code
    samples : number of intervals of the step at whose ends event functions are sampled
    retaken, capped : number of repetitions of the step to end at an event, and index of the event function
    missed : number of successive steps that ended just before an event
    eventful : 1 if an event with an action occurs at the end of the step
    unsettled : 1 if the state differs from the end of the last step, so that signs of event functions may have changed
    recorded : number of steps in RunState.trail
    singular_within : 1 if the attempted step contains a singular configuration that the method does not cross
    pauses : 1 in runs that pause within a step after the last output time
    restarts : a `Restart`
    """

    corrections: int
    factorisations: int
    steps: int
    rejected: int
    evaluations: int
    was_rejected: int
    passed: int
    stored: int
    position: int
    best_rank: int
    stall: int
    piece: int
    grid: int
    divisions: int
    search_delay: int
    fresh: int
    happened: int
    samples: int
    retaken: int
    capped: int
    missed: int
    eventful: int
    unsettled: int
    recorded: int
    singular_within: int
    pauses: int
    restarts: int


@record
class RunState(NamedTuple):
    """State of a run between two calls of compiled code.

    States of bodies are in blocks of eight bodies and have `size` elements. Names in capitals are constants of this
    module.

    Attributes
    ----------
    y, y_new : (size,) states at the start and at the end of the step
    clock, counts : times and other numbers of the run
    requested_times : requested output times, s, which may change between calls
    times, states : output times, s, and states since the last call
    stop : (1,) a nonzero value ends the run
    pieces : (4 P,) for each of P intervals between breaks, the range of times, s, at which y' may be evaluated, the end
        of the interval, and the maximum size of its first step
    functions : user functions with their inputs and outputs at the stages of a step
    counter : counter of full turns of joint angles
    watched : event functions
    trail : steps since the last call, if they are recorded
    """

    y: np.ndarray
    y_new: np.ndarray
    clock: Clock
    counts: Counts
    requested_times: np.ndarray
    times: np.ndarray
    states: np.ndarray
    stop: np.ndarray
    pieces: np.ndarray
    functions: FunctionSamples
    counter: Counter
    watched: WatchedTables
    trail: np.ndarray


# Header of each recorded step in RunState.trail, followed by the state at its start: start and end, s, and the range of
# times (s) at which y' may be evaluated.
STEP_START, STEP_END, STEP_LOW, STEP_HIGH = range(4)
STEP_HEAD = 8

# Entries of each piece in RunState.pieces; see `integrators.breaks.Piece`.
LOW, HIGH, END, FIRST = range(4)
PIECE_SIZE = 4
