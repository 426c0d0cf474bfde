"""Detection of pulses and jumps of user functions between the stages of a step, in compiled code.

The stages of a step may be far apart, so that a short pulse or a jump is missed. Inputs and outputs of each function at
the stages are interpolated by polynomials in time. If a function, called between the stages with interpolated inputs,
differs from its interpolated outputs, the step has missed a change. A step has also missed a change if the outputs at a
stage of zero Runge-Kutta weight b_i are far outside the range of outputs at the other stages: for example, a stop may
act at such a stage and thereby change the states of all following stages, so that no stage of nonzero weight is in
contact.

The stages used for interpolation are called nodes. Functions have the index p. User functions belong to one of four
kinds: force laws, functions of time in force laws, relations (constraints given by functions), and functions of time in
constraints. `ins` and `outs` are tuples of four arrays, with the inputs and outputs of the functions of each kind.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.function_pointers import call
from quirk.jit.record import record
from quirk.jit.simd import at, put

# Entries per function: kind; address; index of its first input, offset and number of the variable inputs, and index of
# its first output; offset, number and stride of the monitored outputs; offsets of its inputs and outputs in the record
# of a stage.
KIND, ADDRESS, READS, FIRST_IN, INS, WRITES, FIRST_OUT, OUTS, STRIDE, PLACE_IN, PLACE_OUT = range(11)
SAMPLE_SIZE = 11

# Kinds of functions; each kind is called with its own arrays.
OF_FORCE, OF_PROFILE, OF_RELATION, OF_MOTION = range(4)
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

# Differences from the interpolation below this fraction of the largest value may be round-off.
ROUND_OFF = 1e-9
# Smallest size of the values of a relation, such as a gap, relative to its largest input, which is a position: changes
# below ROUND_OFF * INPUT_SIZE = 1e-15 of that input are round-off, such as the variation of the gap of a body at rest.
INPUT_SIZE = 1e-6
# Factor by which a raised limit decreases in each step.
RELAXED = 0.8
# A function jumps in a fixed step if its change exceeds this multiple of the larger change in the two steps before.
CHANGE_GROWTH = 4.0
# Number of intervals into which the first two steps are divided at least, in which there is no change to compare with.
FIRST_PARTS = 16
# A pulse was missed if values at stages of zero weight b_i are outside the range at the other stages by more than this
# fraction of the range.
ASTRAY = 0.5


@record
class FunctionSamples(NamedTuple):
    """Tables of the P user functions of a run, with their inputs and outputs at each stage of the current step.

    Names in capitals are constants of this module. b_i and c_i are the weights and the abscissae of the Runge-Kutta
    method.

    Attributes
    ----------
    entries : (SAMPLE_SIZE P,) integers of each function: its kind and address, and positions and numbers of its inputs
        and outputs
    limit : (2 P,) for each function the allowed difference from the interpolant, relative to its change in the step
        (infinite if it is not monitored), and the lower bound of this limit
    explained : (P,) additional allowed difference of each function, which errors of its inputs within the tolerances of
        the run may cause
    changes : (2 P,) change of each function in the last two steps that were not short
    stages, fractions : (n,) indices of the stages that are nodes of the interpolation, and their abscissae c_i,
        ascending
    weightless, weightless_fractions : (w,) indices of the other stages, with b_i = 0, and their abscissae c_i
    basis : (n,) values of the Lagrange polynomials of the nodes at one abscissa
    inputs, outputs : inputs and outputs of all functions at all stages
    """

    entries: np.ndarray
    limit: np.ndarray
    explained: np.ndarray
    changes: np.ndarray
    stages: np.ndarray
    fractions: np.ndarray
    weightless: np.ndarray
    weightless_fractions: np.ndarray
    basis: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray


@kernel
def record_stage(samples: FunctionSamples, ins: Arrays, outs: Arrays, stage: int) -> None:
    """Record the inputs and outputs of all user functions after the evaluation of stage number `stage`.

    `ins` and `outs` contain the inputs and outputs, by kind of function.
    """
    count = samples.limit.shape[0] // 2
    for p in range(count):
        e = SAMPLE_SIZE * p
        kind = samples.entries[e + KIND]
        first, place = samples.entries[e + FIRST_IN], inputs_at(samples, stage) + samples.entries[e + PLACE_IN]
        for c in range(samples.entries[e + INS]):
            put(samples.inputs, place + c, at(ins[kind], first + c))
        first, place = samples.entries[e + FIRST_OUT], outputs_at(samples, stage) + samples.entries[e + PLACE_OUT]
        for c in range(samples.entries[e + OUTS]):
            put(samples.outputs, place + c, at(outs[kind], first + c * samples.entries[e + STRIDE]))


@kernel
def inputs_at(samples: FunctionSamples, stage: int) -> int:
    """Return the index in `samples.inputs` at which the inputs of all functions at a stage begin."""
    p = SAMPLE_SIZE * (samples.limit.shape[0] // 2 - 1)
    return stage * (samples.entries[p + PLACE_IN] + samples.entries[p + INS])


@kernel
def outputs_at(samples: FunctionSamples, stage: int) -> int:
    """Return the index in `samples.outputs` at which the outputs of all functions at a stage begin."""
    p = SAMPLE_SIZE * (samples.limit.shape[0] // 2 - 1)
    return stage * (samples.entries[p + PLACE_OUT] + samples.entries[p + OUTS])


@kernel
def continue_from_last_stage(samples: FunctionSamples, stages: int, short: bool) -> None:
    """Copy the inputs and outputs at the last stage of a step to the first stage of the next step.

    `stages` is the index of the last stage. The change of each function in the step is also stored, for comparison with
    the next step, unless the step is `short`, such as one that crosses a steep ramp.
    """
    count = samples.limit.shape[0] // 2
    for p in range(count):
        e = SAMPLE_SIZE * p
        samples.limit[2 * p] = max(RELAXED * samples.limit[2 * p], samples.limit[2 * p + 1])
        samples.explained[p] *= RELAXED
        if not short:
            samples.changes[2 * p] = samples.changes[2 * p + 1]
            samples.changes[2 * p + 1] = output_range(samples, p)[0]
        for c in range(samples.entries[e + INS]):
            place = samples.entries[e + PLACE_IN] + c
            put(samples.inputs, place, at(samples.inputs, inputs_at(samples, stages) + place))
        for c in range(samples.entries[e + OUTS]):
            place = samples.entries[e + PLACE_OUT] + c
            put(samples.outputs, place, at(samples.outputs, outputs_at(samples, stages) + place))


@kernel
def output_range(samples: FunctionSamples, p: int) -> tuple[float, float]:
    """Return the range of the outputs of function p over the interpolation nodes, and their largest magnitude.

    The nodes are the stages of nonzero weight. For relations (constraints given by functions) the range is at least
    INPUT_SIZE times the largest magnitude of an input at the first node.
    """
    change, largest, e = 0.0, 0.0, SAMPLE_SIZE * p
    if samples.entries[e + KIND] == OF_RELATION:
        place = inputs_at(samples, samples.stages[0]) + samples.entries[e + PLACE_IN]
        for c in range(samples.entries[e + INS]):
            largest = max(largest, INPUT_SIZE * abs(at(samples.inputs, place + c)))
    for c in range(samples.entries[e + OUTS]):
        low, high, place = math.inf, -math.inf, samples.entries[e + PLACE_OUT] + c
        for m in range(samples.stages.shape[0]):
            value = at(samples.outputs, outputs_at(samples, samples.stages[m]) + place)
            low, high = min(low, value), max(high, value)
        change = max(change, high - low)
        largest = max(largest, max(abs(low), abs(high)))
    return change, largest


@kernel
def roughness(samples: FunctionSamples, highest: np.ndarray) -> float:
    """Return the largest ratio, over all functions, of the highest terms of the interpolation polynomial to the range.

    The polynomials interpolate the outputs of each function at the n nodes of a step; the range is that of these
    outputs. `highest` (2 n,) are the coefficients by which the outputs at the nodes are multiplied to obtain the two
    highest terms.
    """
    worst, nodes = 0.0, samples.stages.shape[0]
    for p in range(samples.limit.shape[0] // 2):
        e = SAMPLE_SIZE * p
        change, largest = output_range(samples, p)
        if not change > ROUND_OFF * largest:
            continue
        for c in range(samples.entries[e + OUTS]):
            place = samples.entries[e + PLACE_OUT] + c
            for o in range(0, 2 * nodes, nodes):
                term = 0.0
                for m in range(nodes):
                    term += at(highest, o + m) * at(samples.outputs, outputs_at(samples, samples.stages[m]) + place)
                worst = max(worst, abs(term) / change)
    return worst


@kernel
def failed(samples: FunctionSamples) -> bool:
    """Return whether a user function returned NaN in this step."""
    total = 0.0
    for o in range(samples.outputs.shape[0]):
        total += 0.0 * at(samples.outputs, o)
    return total != 0.0


@kernel
def jumped(samples: FunctionSamples) -> bool:
    """Return whether a user function changes abruptly in this step.

    A change is abrupt if it exceeds CHANGE_GROWTH times the larger change of the two previous steps.
    """
    count = samples.limit.shape[0] // 2
    for p in range(count):
        change, largest = output_range(samples, p)
        before = max(samples.changes[2 * p], samples.changes[2 * p + 1])
        if samples.limit[2 * p] < math.inf and change > CHANGE_GROWTH * before + ROUND_OFF * largest:
            return True
    return False


@kernel
def sampling_interval(samples: FunctionSamples, h: float, gap: float) -> float:
    """Return the maximum interval (s) between two calls of functions in a fixed step of size h (s).

    It is `gap`, and less in the first two steps, in which `jumped` has nothing to compare with.
    """
    if samples.changes.shape[0] == 0 or at(samples.changes, 0) < math.inf:
        return gap
    return min(gap, h / FIRST_PARTS)


@kernel
def missed_change(
    samples: FunctionSamples,
    ins: Arrays,
    outs: Arrays,
    step: tuple[float, float, float, float],
    gap: float,
    cleared: float,
) -> float:
    """Return a time (s) in the step at which a function differs too much from its interpolant, or infinity.

    `ins` and `outs` contain the inputs and outputs by kind of function. `step` contains the start and size of the step,
    and the range of times at which functions may be called; `gap` is the maximum interval between two calls (s), and
    `cleared` the time up to which the step has already been searched. NaN results between stages are ignored, because
    the run may never call the function at these times.
    """
    t, h, low, high = step
    count = samples.limit.shape[0] // 2
    if count == 0:
        return math.inf
    for w in range(samples.weightless.shape[0]):
        # The time of a stage at the end of the step may be rounded to a time beyond it.
        time = min(max(t + samples.weightless_fractions[w] * h, low), high)
        for p in range(count):
            if time > cleared and samples.limit[2 * p] < math.inf and outside_range(samples, p, samples.weightless[w]):
                return time
    for m in range(samples.stages.shape[0] - 1):
        left, right = samples.fractions[m], samples.fractions[m + 1]
        between = int((right - left) * h / gap)
        for n in range(between):
            theta = left + (right - left) * (n + 1) / (between + 1)
            compute_basis(samples, theta)
            for p in range(count):
                time = min(max(t + theta * h, low), high)
                if time > cleared and samples.limit[2 * p] < math.inf and deviates(samples, ins, outs, p, time):
                    return time
    return math.inf


@kernel
def outside_range(samples: FunctionSamples, p: int, stage: int) -> bool:
    """Return whether outputs of function p at a stage of zero weight b_i are far outside their range at the nodes."""
    e, outside = SAMPLE_SIZE * p, False
    change, largest = output_range(samples, p)
    for c in range(samples.entries[e + OUTS]):
        place = samples.entries[e + PLACE_OUT] + c
        value, low, high = at(samples.outputs, outputs_at(samples, stage) + place), math.inf, -math.inf
        for m in range(samples.stages.shape[0]):
            reference = at(samples.outputs, outputs_at(samples, samples.stages[m]) + place)
            low, high = min(low, reference), max(high, reference)
        allowed = ASTRAY * change + ROUND_OFF * max(largest, abs(value)) + samples.explained[p]
        outside = outside or max(value - high, low - value) > allowed
    return outside


@kernel
def compute_basis(samples: FunctionSamples, theta: float) -> None:
    """Compute the Lagrange polynomials of the interpolation nodes at fraction theta of the step.

    They are the weights of the nodes, and are written to samples.basis.
    """
    for m in range(samples.stages.shape[0]):
        weight = 1.0
        for j in range(samples.stages.shape[0]):
            if j != m:
                weight *= (theta - samples.fractions[j]) / (samples.fractions[m] - samples.fractions[j])
        samples.basis[m] = weight


@kernel
def deviates(samples: FunctionSamples, ins: Arrays, outs: Arrays, p: int, time: float) -> bool:
    """Return whether the outputs of function p at time `time` (s) differ too much from their interpolant.

    The function is called with interpolated inputs; samples.basis must contain the interpolation weights for this time.
    `ins` and `outs` contain the inputs and outputs by kind of function, and are overwritten for this function.
    """
    e, nodes = SAMPLE_SIZE * p, samples.stages.shape[0]
    inputs, returned = ins[samples.entries[e + KIND]], outs[samples.entries[e + KIND]]
    first = samples.entries[e + FIRST_IN]
    for c in range(samples.entries[e + INS]):
        total, place = 0.0, samples.entries[e + PLACE_IN] + c
        for m in range(nodes):
            total += samples.basis[m] * at(samples.inputs, inputs_at(samples, samples.stages[m]) + place)
        put(inputs, first + c, total)
    out, stride = samples.entries[e + FIRST_OUT], samples.entries[e + STRIDE]
    for c in range(samples.entries[e + OUTS]):
        put(returned, out + c * stride, math.nan)
    call(samples.entries[e + ADDRESS], time, inputs, samples.entries[e + READS], returned, samples.entries[e + WRITES])
    # Some outputs are constants, to which the interpolation adds round-off; angles have the reference of the step's
    # end.
    place = inputs_at(samples, samples.stages[nodes - 1]) + samples.entries[e + PLACE_IN]
    for c in range(samples.entries[e + INS]):
        put(inputs, first + c, at(samples.inputs, place + c))
    change, largest = output_range(samples, p)
    allowed = samples.limit[2 * p] * change + ROUND_OFF * largest + samples.explained[p]
    for c in range(samples.entries[e + OUTS]):
        expected, place = 0.0, samples.entries[e + PLACE_OUT] + c
        for m in range(nodes):
            expected += samples.basis[m] * at(samples.outputs, outputs_at(samples, samples.stages[m]) + place)
        if abs(at(returned, out + c * stride) - expected) > allowed:
            return True
    return False
