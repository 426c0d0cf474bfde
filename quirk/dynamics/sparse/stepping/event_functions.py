"""Values of the event functions of a run at states within a step, in compiled code.

An event function is a quantity whose zero crossings are located. Some event functions are computed by functions in the
form of force laws, others are read from an evaluation of the equations of motion at a state.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.integrators.breaks import PARTS
from quirk.jit.compilation import entry, kernel
from quirk.jit.components import component
from quirk.jit.record import record
from quirk.jit.simd import at, put

from ..kernels.applied import (
    ELEMENT_SIZE,
    OUTPUT,
    SIDE,
    SIDE_END,
    Forces,
    run_law,
)
from ..kernels.bodies import poses
from ..kernels.evaluate import evaluate
from ..kernels.load_tables import KEPT_ROWS, LEVEL, NUMBERS, Readings, SharedRowTables
from ..kernels.mechanism import Mechanism
from ..kernels.minimum_norm import RedundantRows, minimize_norm
from ..kernels.readings import kinetic, potential, reading
from ..kernels.shared_rows import place_values, share_loads
from ..kernels.workspace import PASSES, RANK

# Number of intervals per step at whose ends event functions are sampled if one may cross zero; and the maximum number,
# for functions that may vary faster than the motion of bodies.
SAMPLES, MOST_SAMPLES = 16, PARTS
# Maximum number of events recorded between two entries into compiled code.
MOST_CROSSINGS = 16384
# Entries per recorded event: time, index of the function, direction (rising or falling), and total energy.
WHEN, WHICH, WAY, TOTAL = range(4)
NOTED = 4
# The index recorded for a crossing in the direction that is not watched is this value minus the index of the function.
UNWATCHED = -1
# Kinds of sign changes of event functions: by a zero crossing, or by a jump of the state.
AT_ZERO, BY_A_JUMP = 1, 2


@record
class WatchedTurns(NamedTuple):
    """Event functions that depend on a joint angle with all turns counted: a factor times the angle, plus an offset.

    There are T such functions, and K joints with counted angles, see `dynamics.model.revolution_counter`. The angle is
    the sum or the difference of the polar angles of the two plane vectors of a joint, plus the full turns before the
    start of the count.

    Attributes
    ----------
    joint : (T,) index of the joint
    sign : (T,) 1 for the sum of the polar angles, -1 for their difference
    factor, offset : (T,) coefficients of the function; the offset is in the unit of the function
    whole : (T,) full turns of the joint angle before the start of the count, rad
    quadrants : (2 K,) scratch array for the quadrants of the plane vectors at a state within a step
    lead : (2 K,) scratch array for differences of extrapolated and counted polar angles
    """

    joint: np.ndarray
    sign: np.ndarray
    factor: np.ndarray
    offset: np.ndarray
    whole: np.ndarray
    quadrants: np.ndarray
    lead: np.ndarray


@record
class WatchedTables(NamedTuple):
    """Tables of Q event functions: first those with laws, then those read from an evaluation of the state.

    Names in capitals are constants of this module.

    Attributes
    ----------
    laws : event functions in the form of force laws, see `quirk.events.quantity`
    readings : quantities read from an evaluation
    shared : rows that share loads on which readings depend; empty if there are none
    direction : (Q,) direction of crossings that are events: 1 rising, -1 falling, 0 both
    acts : (Q,) whether the event has an action
    positive : (Q,) whether the function is assumed positive at the start of a run and after jumps of the state
    redundant : tables for the loads of redundant constraints; empty if no reading is such a load
    side, side_at_start : (Q,) current sign of each function, 1 or -1, or 0 if it has not left zero; and its sign at the
        start of the step
    scale : (Q,) largest magnitude of the function so far
    dimension : (Q,) `Dimension` of the function
    natural_scale : (Q,) largest magnitude so far of the positions or velocities in the system that have this dimension,
        at least that of the level of the event; 0 if the dimension is unknown
    change : (Q,) magnitude of the change in the previous step
    turns : functions that count full turns, in the order of `laws.turns`
    built_in : (Q,) whether the function varies no faster than the motion of bodies
    start, middle, end : (2 Q,) value and rate of each function at the start, middle and end of the step; unknown rates
        are NaN
    samples : (2 (MOST_SAMPLES + 1) Q,) values and rates at equidistant times of the step
    state, slope : (size,) scratch arrays for a state and its time derivative
    crossings : (NOTED MOST_CROSSINGS,) events recorded since the last call of compiled code
    hit : (Q,) AT_ZERO or BY_A_JUMP for events at the end of the step, else 0
    at_speed : (Q,) magnitude of the rate before the last event if its action may have changed the state, else 0; it is
        negative if actions of further events at the same instant may have changed the state since
    missing : (Q,) magnitude at the start of the step of a function that has just crossed zero in an event, if the step
        before ended short of this zero, by inaccuracy, else 0
    held : (Q,) magnitude below which a function counts as zero that has been held at zero since its event, else 0
    tolerance : (Q,) largest magnitude that counts as round-off, in addition to that of positions and velocities
    """

    laws: Forces
    readings: Readings
    shared: SharedRowTables
    redundant: RedundantRows
    direction: np.ndarray
    acts: np.ndarray
    positive: np.ndarray
    side: np.ndarray
    side_at_start: np.ndarray
    scale: np.ndarray
    dimension: np.ndarray
    natural_scale: np.ndarray
    change: np.ndarray
    turns: WatchedTurns
    built_in: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    end: np.ndarray
    samples: np.ndarray
    state: np.ndarray
    slope: np.ndarray
    crossings: np.ndarray
    hit: np.ndarray
    at_speed: np.ndarray
    missing: np.ndarray
    held: np.ndarray
    tolerance: np.ndarray


@kernel
def place_of_value(laws: Forces, e: int) -> int:
    """Return the index of the value of event function e in the outputs of `laws`; the next element is the rate."""
    o = ELEMENT_SIZE * e
    return laws.entries[o + OUTPUT] + 8 * (laws.entries[o + SIDE_END] - laws.entries[o + SIDE]) + 1


@kernel
def shares_loads(mechanism: Mechanism, watched: WatchedTables) -> bool:
    """Whether redundant rows share loads that event functions read."""
    return mechanism.work.summary[RANK] < watched.redundant.row_count


@kernel
def prepare(mechanism: Mechanism, watched: WatchedTables, t: float, y: np.ndarray, alpha: float, beta: float) -> None:
    """Evaluate all quantities on which event functions depend, at time t (s) and state y.

    `alpha` and `beta` are the rates of Baumgarte stabilization, 1/s.
    """
    if watched.readings.kind.shape[0] > 0:
        evaluate(mechanism, t, y, alpha, beta, watched.slope)
        work, shared, readings = mechanism.work, watched.shared, watched.readings
        if shared.elements.shape[0] > 0:
            share_loads(mechanism, shared, t, y, int(work.summary[PASSES]))
            place_values(
                shared.weight_targets, shared.weight_sources, shared.weight_factors, shared.values, readings.weights
            )
            place_values(
                shared.margin_targets, shared.margin_sources, shared.margin_factors, shared.values, readings.margins
            )
        if shares_loads(mechanism, watched):
            minimize_norm(watched.redundant, work.G, work.x, int(work.summary[RANK]))
    else:
        poses(mechanism.constants, y, mechanism.work.kin)


@kernel
def value_of(mechanism: Mechanism, watched: WatchedTables, e: int, t: float, y: np.ndarray) -> tuple[float, float]:
    """Return the value and the rate of event function e at time t (s) and state y.

    The function `prepare` must have been called for this state.
    """
    count = watched.laws.entries.shape[0] // ELEMENT_SIZE
    if e >= count:
        if watched.readings.kind[e - count] == KEPT_ROWS:
            return at(watched.readings.numbers, NUMBERS * (e - count) + LEVEL) - at(watched.shared.largest, 0), math.nan
        x = watched.redundant.multipliers if shares_loads(mechanism, watched) else mechanism.work.x
        return reading(mechanism, watched.readings, e - count, y, x), math.nan
    laws, first = watched.laws, place_of_value(watched.laws, e)
    put(laws.outputs, first, math.nan)  # remains nan if the function fails
    run_law(laws, e, t, y, mechanism.work.kin)
    return at(laws.outputs, first), at(laws.outputs, first + 1)


@component(effort=4)
def values(
    mechanism: Mechanism, watched: WatchedTables, t: float, y: np.ndarray, alpha: float, beta: float, out: np.ndarray
) -> bool:
    """Compute the values and rates of all Q event functions at time t (s) and state y, in `out` (2 Q,).

    Returns False if a value is NaN. `alpha` and `beta` are Baumgarte's rates, 1/s.
    """
    prepare(mechanism, watched, t, y, alpha, beta)
    known = True
    for e in range(watched.side.shape[0]):
        value, rate = value_of(mechanism, watched, e, t, y)
        put(out, 2 * e, value)
        put(out, 2 * e + 1, rate)
        known = known and value == value
    return known


@kernel
def energy(mechanism: Mechanism, watched: WatchedTables, t: float, y: np.ndarray, alpha: float, beta: float) -> float:
    """Return the total energy at time t (s) and state y, J.

    `alpha` and `beta` are Baumgarte's rates, 1/s.
    """
    evaluate(mechanism, t, y, alpha, beta, watched.slope)
    return kinetic(mechanism.constants, y) + potential(mechanism, watched.readings, y)


@entry(needed_by="watched quantities need", effort=2)
def quantities_at(mechanism: Mechanism, watched: WatchedTables, t: float, y: np.ndarray, out: np.ndarray) -> bool:
    """Compute the values and rates of all Q event functions at time t (s) and state y, in `out` (2 Q,).

    Returns False if a value is NaN. This function can be called from Python; Baumgarte's feedback is not included.
    """
    return values(mechanism, watched, t, y, 0.0, 0.0, out)


@entry(needed_by="observations need", effort=4)
def laws_at(constants: np.ndarray, kin: np.ndarray, laws: Forces, t: float, y: np.ndarray, out: np.ndarray) -> None:
    """Compute values and rates of the event functions in the form of force laws at time t (s) and state y, in `out`.

    `out` (2 Q,) has elements for all Q event functions. `constants` are the constants of the bodies, whose poses are
    stored in the scratch array `kin`.
    """
    poses(constants, y, kin)
    for e in range(laws.entries.shape[0] // ELEMENT_SIZE):
        first = place_of_value(laws, e)
        put(laws.outputs, first, math.nan)
        run_law(laws, e, t, y, kin)
        put(out, 2 * e, at(laws.outputs, first))
        put(out, 2 * e + 1, at(laws.outputs, first + 1))


def speeds(rates: np.ndarray) -> np.ndarray:
    """Return the magnitudes of rates; unknown rates (NaN) are replaced by the smallest positive float."""
    return np.maximum(np.nan_to_num(np.abs(rates), nan=0.0), np.finfo(float).tiny)
