"""Recording of constraints and force elements on tapes, which are lists of operations.

The source of an input, or the destination of an output, is a tuple of a kind, an index and a frame. A relation is a
constraint defined by a function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from quirk.autodiff.condition import BranchingError
from quirk.autodiff.jet import Jet
from quirk.autodiff.tape import (
    ANGLE,
    CHOOSE,
    EQUAL,
    LESS,
    LESS_EQUAL,
    NEAREST,
    ROOT,
    Recorded,
    RecordedArray,
    Tape,
    is_constant_zero,
)
from quirk.constraints import relation as relations
from quirk.constraints.relation import LANES, Function, Relation
from quirk.dynamics.model.layout import POSITION_TERM, ROTATION, SPIN
from quirk.forces import ForceElement
from quirk.forces import law as laws
from quirk.forces.calls import DualCall
from quirk.forces.law_layout import LawLayout
from quirk.forces.place import PLACEMENT
from quirk.forces.stick_slip import OfSlip
from quirk.forces.value import Value
from quirk.functions.fingerprint import fingerprint
from quirk.jit.shared_code import SharedCode

from .bodies import QUATERNION
from .tables import LAW, POSE_ROWS, VELOCITY_ROWS

# Kinds of inputs: component of a body's motion, and its rate; time; function of time, and its rate; internal variable;
# multiplier; fixed number.
BODY, BODY_RATE, TIME, MOTION, MOTION_RATE, INTERNAL, MULTIPLIER, FIXED = range(8)
# Kinds of outputs: Phi or psi of a row; component of the load on a body; rate of an internal variable; power of all
# loads, and of a row.
RESIDUAL, LOAD, RATE, POWER_OF_LOADS, POWER_OF_ROW = range(5)

# Number of components of the load on a body, and of the conjugate velocities.
COMPONENTS = 6

# Source of an input or output: kind, index, and frame.
Source = tuple[int, int, int]
STEADY = {FIXED}


@dataclass(frozen=True, eq=False)
class Form:
    """Tape shared by elements of the same structure, with the meaning of its inputs and outputs.

    A line of the tape is one operation. Sources and destinations are tuples of a kind, an index and a frame.

    Attributes
    ----------
    inputs : source of each input, by its line number
    outputs : line number and destination of each output
    guards : lines of quantities whose sign changes when the function switches its branch
    level : POSE_ROWS or VELOCITY_ROWS for constraints on poses or velocities, LAW for force laws
    frames, motions, rows : numbers of frames, prescribed motions and constraint rows
    of_user : whether the tape includes a user function
    """

    tape: Tape
    inputs: dict[int, Source]
    outputs: tuple[tuple[int, Source], ...]
    guards: tuple[int, ...]
    level: int
    frames: int
    motions: int
    rows: int
    of_user: bool

    @property
    def components(self) -> set[int]:
        """Indices of the components of the motion of bodies on which the function depends."""
        return {which for kind, which, _ in self.inputs.values() if kind in (BODY, BODY_RATE)}

    @property
    def chooses(self) -> bool:
        """Whether the function selects between branches, rounds, or wraps an angle."""
        return any(code in (CHOOSE, NEAREST, ANGLE) for code, *_ in self.tape.lines)


FORMS = SharedCode[Form]()


class _Recording:
    """A tape (list of operations) on which a function is being recorded."""

    def __init__(self) -> None:
        self.tape = Tape()
        self.inputs: dict[int, Source] = {}
        self._numbers: dict[Source, int] = {}

    def input(self, kind: int, index: int = 0, frame: int = 0) -> Recorded:
        """Return the tape input with a given source, such as a prescribed motion; create it at its first use.

        The source consists of the kind of the quantity (BODY to FIXED), its index among the quantities of this kind,
        and, for quantities of bodies, the index of the frame.
        """
        source = kind, index, frame
        number = self._numbers.setdefault(source, len(self._numbers))
        line = self.tape.input(number, steady=kind in STEADY)
        self.inputs[line.place] = source
        return line

    def velocity(self, frame: int) -> list[Recorded]:
        """Return the velocity and angular velocity of the body of a frame, in the inertial frame, as six inputs."""
        moving = [self.input(BODY_RATE, POSITION_TERM + c, frame) for c in range(3)]
        return moving + [self.input(BODY, SPIN + c, frame) for c in range(3)]

    def placed(self, outputs: Iterable[tuple[Any, Source]]) -> tuple[tuple[int, Source], ...]:
        """Return the line numbers and destinations of the outputs that are not identically zero."""
        return tuple((self.tape.place(x), source) for x, source in outputs if not is_constant_zero(x))


def relation_form(relation: Relation, layout: relations.RelationLayout, working: bool) -> Form:
    """Return the recorded operations of a relation, a constraint defined by a function.

    If `working`, the power of its rows is an output.
    """
    function, of_velocities, of_user = relation.function, relation.of_velocities, relation.of_user
    key = None if of_user else (function, of_velocities, layout, working)
    return FORMS.get(key, lambda: _recorded_relation(function, of_velocities, layout, working, of_user=of_user))


def _recorded_relation(
    function: Function, of_velocities: bool, layout: relations.RelationLayout, working: bool, *, of_user: bool
) -> Form:
    recording = _Recording()
    relation = Relation(function, ("",) * layout.rows, (), of_velocities=of_velocities)
    outputs = RecordedArray(recording.tape)
    inputs = RecordedArray(recording.tape, functools.partial(_input_of_relation, recording, layout))
    relations.differentiate(relation, layout, False, recording.input(TIME), inputs, outputs)
    terms = layout.order + 1
    multipliers = [recording.input(MULTIPLIER, row) for row in range(layout.rows)]
    first = 1 if of_velocities else 0
    outputs_of = [(outputs.outputs[terms * row + first], (RESIDUAL, row, 0)) for row in range(layout.rows)]

    def gradient(row: int, frame: int, c: int) -> Any:
        return outputs.outputs[layout.first_gradient + LANES * (row * layout.frames + frame) + c]

    for frame in range(layout.frames):
        for c in range(COMPONENTS):
            load = _sum(gradient(row, frame, c) * multipliers[row] for row in range(layout.rows))
            outputs_of.append((load, (LOAD, c, frame)))
    for row in range(layout.rows if working else 0):
        rates = (gradient(row, f, c) * v for f in range(layout.frames) for c, v in enumerate(recording.velocity(f)))
        outputs_of.append((_sum(rates) * multipliers[row], (POWER_OF_ROW, row, 0)))
    level = VELOCITY_ROWS if of_velocities else POSE_ROWS
    places = recording.placed(outputs_of)
    return Form(
        recording.tape, recording.inputs, places, (), level, layout.frames, layout.motions, layout.rows, of_user
    )


def _input_of_relation(recording: _Recording, layout: relations.RelationLayout, index: int) -> Any:
    if index < layout.numbers:
        return recording.input(FIXED, index)
    if index < layout.first_frame:
        m, k = divmod(index - layout.numbers, layout.order + 1)
        return recording.input(MOTION if k == 0 else MOTION_RATE, m)
    frame, o = divmod(index - layout.first_frame, layout.frame_size)
    return recording.input(FIXED, index) if o < 12 else _of_body(recording, frame, o - 12, layout.order + 1)


def _of_body(recording: _Recording, frame: int, o: int, terms: int) -> Recorded:
    """Return an input of a function that depends on the motion of the body of a frame.

    `o` is its index among these inputs: the position and its time derivatives, the rotation matrix, angular velocity
    and quaternion of the body. `terms` is the number of vectors for the position and its derivatives.
    """
    if o < 3 * terms:
        return recording.input(BODY if o < 3 else BODY_RATE, POSITION_TERM + o % 3, frame)
    o -= 3 * terms
    if o < 9:
        return recording.input(BODY, ROTATION + o, frame)
    return recording.input(BODY, SPIN + o - 9 if o < 12 else QUATERNION + o - 12, frame)


def law_form(element: ForceElement, layout: LawLayout, working: bool) -> Form:
    """Return the recorded operations of the law of a force element.

    If `working`, the power of its loads is an output.
    """
    prints = prints_of(element)
    key = None if prints is None else (element.structure, prints, layout, working)
    return FORMS.get(key, lambda: _recorded_law(element, layout, working))


def prints_of(element: ForceElement) -> tuple[Any, ...] | None:
    """Return fingerprints of the functions of a force element, or None if its machine code cannot be shared.

    Elements of equal structure with equal fingerprints share machine code. It is not shared for user-defined elements
    and for functions whose behavior may change.
    """
    functions = [value.function for value in element.functions]
    if isinstance(element, OfSlip):
        functions += element.sources
    elif not element.built_in:
        return None
    prints = tuple(fingerprint(function) for function in functions)
    try:
        hash(prints)
    except TypeError:
        return None
    return None if None in prints else prints


def _recorded_law(element: ForceElement, layout: LawLayout, working: bool) -> Form:
    recording = _Recording()
    outputs = RecordedArray(recording.tape)
    inputs = RecordedArray(recording.tape, functools.partial(_input_of_law, recording, layout))
    calls = [_Smooth(value, recording.tape) for value in element.functions]
    laws.run(element, layout, calls, recording.input(TIME), inputs, outputs)
    rates = range(layout.internal)
    outputs_of = [(outputs.outputs[layout.first_rate + n], (RATE, n, 0)) for n in rates]
    loads = [
        (frame, c, outputs.outputs[LANES * frame + c]) for frame in range(layout.frames) for c in range(COMPONENTS)
    ]
    outputs_of += [(load, (LOAD, c, frame)) for frame, c, load in loads]
    if working:
        power = _sum(load * recording.velocity(frame)[c] for frame, c, load in loads)
        outputs_of.append((power, (POWER_OF_LOADS, 0, 0)))
    places = recording.placed(outputs_of)
    guards = _guards(recording.tape, [place for place, _ in places])
    return Form(
        recording.tape, recording.inputs, places, guards, LAW, layout.frames, layout.motions, 0, element.of_user
    )


def _guards(tape: Tape, places: Sequence[int]) -> tuple[int, ...]:
    """Append the guards of a recorded function to its tape; return their line numbers.

    A guard is a quantity whose sign changes when the function switches its branch. Branches arise from comparisons, the
    sign of radicands, the full turns of angles, and rounding. `places` are the lines with the results of the function.
    """
    guards: set[int] = set()
    for place in tape.needed(places):
        code, *operands = tape.lines[place]
        x = [Recorded(tape, p) for p in operands]
        signs: list[Any] = []
        if code in (LESS, LESS_EQUAL, EQUAL):
            signs = [x[0] - x[1]]
        elif code == ROOT:
            signs = [x[0]]
        elif code == ANGLE:
            signs = [math.pi - Recorded(tape, place), math.pi + Recorded(tape, place)]
        elif code == NEAREST:
            rest = x[0] - Recorded(tape, place)
            signs = [0.5 - rest, 0.5 + rest]
        guards.update(tape.place(sign) for sign in signs)
    return tuple(sorted(place for place in guards if not tape.steady[place]))


class _Smooth(DualCall):
    """Recorded call of a user function of a force law; functions that branch are rejected."""

    def __init__(self, value: Value, tape: Tape) -> None:
        super().__init__(value)
        self._tape = tape

    def __call__(self, t: Jet, *arguments: Any) -> Any:
        """Return the value of the user function; raise a BranchingError if it branches."""
        before = len(self._tape.lines)
        value = super().__call__(t, *arguments)
        if any(code in (CHOOSE, NEAREST) for code, *_ in self._tape.lines[before:]):
            raise BranchingError("a Taylor series represents one branch only")
        return value


def _input_of_law(recording: _Recording, layout: LawLayout, index: int) -> Any:
    if index < layout.first_motion:
        return recording.input(FIXED, index)
    if index < layout.first_internal:
        m, k = divmod(index - layout.first_motion, layout.order + 2)
        return recording.input(MOTION if k == 0 else MOTION_RATE, m)
    if index < layout.first_frame:
        n, k = divmod(index - layout.first_internal, layout.order + 2)
        # The rate is an output of the law.
        return recording.input(INTERNAL, n) if k == 0 else 0.0
    frame, o = divmod(index - layout.first_frame, layout.frame_size)
    return (
        recording.input(FIXED, index) if o < PLACEMENT else _of_body(recording, frame, o - PLACEMENT, layout.order + 2)
    )


def _sum(parts: Iterable[Any]) -> Any:
    total: Any = 0.0
    for part in parts:
        total = total + part
    return total
