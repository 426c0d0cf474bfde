"""Constraints and force elements as tapes, and tapes as programs for kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from quirk.constraints import relation as relations
from quirk.constraints.relation import LANES, Function, Relation
from quirk.fingerprint import fingerprint
from quirk.forces import ForceElement
from quirk.forces import law as laws
from quirk.forces.calls import DualCall
from quirk.forces.place import PLACEMENT
from quirk.native import MOST_COMPILED
from quirk.tape import (
    CHOOSE,
    CONSTANT,
    INPUT,
    NEAREST,
    MULTIPLY,
    NONLINEAR,
    POWER,
    SCALE,
    SQUARE,
    Recorded,
    RecordedArray,
    Tape,
    is_nothing,
)

from ...layout import POSITION_TERM, ROTATION, SPIN
from ..taylor.bodies import QUATERNION
from ..taylor.tables import (
    AFTER,
    BODY,
    BODY_RATE,
    FIRST,
    FIXED,
    GOAL,
    INTERNAL,
    LOAD,
    LOADS,
    MOTION,
    MOTION_RATE,
    MULTIPLIER,
    POWER_OF_ROW,
    PROGRAMS,
    RATE,
    RESIDUAL,
    SHAPE,
    TIME,
)
from ..taylor.tables import POWER as POWER_OF_LOADS

# Components of the load on a body, and of the velocities that it does work with.
COMPONENTS = 6

# An input: what it is, which one, and of which frame. An output: what it is, which one, and of which frame.
Source = tuple[int, int, int]
STEADY = {FIXED}


@dataclass(frozen=True)
class Form:
    """What elements of the same structure have in common: a tape, with what its inputs and outputs are.

    Attributes
    ----------
    inputs : place on the tape of each input, and what it is
    outputs : place on the tape of each output, and what it is
    level : 2 for rows of poses, 1 for rows of velocities, 0 for a law
    """

    tape: Tape
    inputs: dict[int, Source]
    outputs: tuple[tuple[int, Source], ...]
    level: int
    frames: int
    motions: int
    rows: int

    @functools.cached_property
    def programs(self) -> Programs:
        """The tape as programs."""
        return Programs(self)


class _Recording:
    """A tape while it is written."""

    def __init__(self) -> None:
        self.tape = Tape()
        self.inputs: dict[int, Source] = {}
        self._numbers: dict[Source, int] = {}

    def input(self, kind: int, which: int = 0, frame: int = 0) -> Recorded:
        """Return an input, the same for the same source."""
        source = kind, which, frame
        number = self._numbers.setdefault(source, len(self._numbers))
        found = self.tape.input(number, steady=kind in STEADY)
        self.inputs[found.place] = source
        return found

    def velocity(self, frame: int) -> list[Recorded]:
        """Velocity of a body, and its angular velocity in N."""
        moving = [self.input(BODY_RATE, POSITION_TERM + c, frame) for c in range(3)]
        return moving + [self.input(BODY, SPIN + c, frame) for c in range(3)]

    def placed(self, outputs: Iterable[tuple[Any, Source]]) -> tuple[tuple[int, Source], ...]:
        """Return the places of outputs that are not zero."""
        return tuple((self.tape.place(x), source) for x, source in outputs if not is_nothing(x))


def relation_form(relation: Relation, layout: relations.Layout, working: bool) -> Form:
    """Return the form of a relation; `working` says whether the power of its rows is asked for."""
    if relation.of_user:
        return _recorded_relation(relation.function, relation.of_velocities, layout, working)
    return _shared_relation(relation.function, relation.of_velocities, layout, working)


@functools.lru_cache(MOST_COMPILED)
def _shared_relation(function: Function, of_velocities: bool, layout: relations.Layout, working: bool) -> Form:
    return _recorded_relation(function, of_velocities, layout, working)


def _recorded_relation(function: Function, of_velocities: bool, layout: relations.Layout, working: bool) -> Form:
    made = _Recording()
    relation = Relation(function, ("",) * layout.rows, (), of_velocities=of_velocities)
    outputs = RecordedArray(made.tape)
    inputs = RecordedArray(made.tape, functools.partial(_input_of_relation, made, layout))
    relations.differentiate(relation, layout, False, made.input(TIME), inputs, outputs)
    terms = layout.order + 1
    multipliers = [made.input(MULTIPLIER, row) for row in range(layout.rows)]
    first = 1 if of_velocities else 0
    found = [(outputs.found[terms * row + first], (RESIDUAL, row, 0)) for row in range(layout.rows)]

    def gradient(row: int, frame: int, c: int) -> Any:
        return outputs.found[layout.first_gradient + LANES * (row * layout.frames + frame) + c]

    for frame in range(layout.frames):
        for c in range(COMPONENTS):
            load = _sum(gradient(row, frame, c) * multipliers[row] for row in range(layout.rows))
            found.append((load, (LOAD, c, frame)))
    for row in range(layout.rows if working else 0):
        rates = (gradient(row, f, c) * v for f in range(layout.frames) for c, v in enumerate(made.velocity(f)))
        found.append((_sum(rates) * multipliers[row], (POWER_OF_ROW, row, 0)))
    level = 1 if of_velocities else 2
    return Form(made.tape, made.inputs, made.placed(found), level, layout.frames, layout.motions, layout.rows)


def _input_of_relation(made: _Recording, layout: relations.Layout, index: int) -> Any:
    if index < layout.numbers:
        return made.input(FIXED, index)
    if index < layout.first_frame:
        m, k = divmod(index - layout.numbers, layout.order + 1)
        return made.input(MOTION if k == 0 else MOTION_RATE, m)
    frame, o = divmod(index - layout.first_frame, layout.frame_size)
    return made.input(FIXED, index) if o < 12 else _of_body(made, frame, o - 12, layout.order + 1)


def _of_body(made: _Recording, frame: int, o: int, terms: int) -> Recorded:
    """An input of a frame behind its placement: position and velocity, rotation, spin, quaternion."""
    if o < 3 * terms:
        return made.input(BODY if o < 3 else BODY_RATE, POSITION_TERM + o % 3, frame)
    o -= 3 * terms
    if o < 9:
        return made.input(BODY, ROTATION + o, frame)
    return made.input(BODY, SPIN + o - 9 if o < 12 else QUATERNION + o - 12, frame)


def law_form(element: ForceElement, layout: laws.Layout, working: bool) -> Form:
    """Return the form of the law of an element; `working` says whether the power of its loads is asked for."""
    prints = [fingerprint(value.function) for value in element.functions]
    try:
        hash(tuple(prints))
    except TypeError:
        prints = [None]
    if None in prints or not element.built_in:
        return _recorded_law(element, layout, working)
    return _shared_law(element.structure, tuple(prints), layout, working, Alike(element))


class Alike:
    """An element that is equal to any other, so that it takes no part in the key of a cache."""

    def __init__(self, element: ForceElement) -> None:
        self.element = element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(MOST_COMPILED)
def _shared_law(structure: Any, prints: Any, layout: laws.Layout, working: bool, one: Alike) -> Form:
    return _recorded_law(one.element, layout, working)


def _recorded_law(element: ForceElement, layout: laws.Layout, working: bool) -> Form:
    made = _Recording()
    outputs = RecordedArray(made.tape)
    inputs = RecordedArray(made.tape, functools.partial(_input_of_law, made, layout))
    calls = [DualCall(value) for value in element.functions]
    laws.run(element, layout, calls, made.input(TIME), inputs, outputs)
    rates = range(layout.internal)
    found = [(outputs.found[layout.first_rate + n], (RATE, n, 0)) for n in rates]
    loads = [(frame, c, outputs.found[LANES * frame + c]) for frame in range(layout.frames) for c in range(COMPONENTS)]
    found += [(load, (LOAD, c, frame)) for frame, c, load in loads]
    if working:
        power = _sum(load * made.velocity(frame)[c] for frame, c, load in loads)
        found.append((power, (POWER_OF_LOADS, 0, 0)))
    places = made.placed(found)
    lines = (made.tape.lines[place] for place in made.tape.needed([place for place, _ in places]))
    if element.of_user and any(code in (CHOOSE, NEAREST) for code, *_ in lines):
        raise TypeError("its function chooses between cases, which a series knows nothing of")
    return Form(made.tape, made.inputs, places, 0, layout.frames, layout.motions, 0)


def _input_of_law(made: _Recording, layout: laws.Layout, index: int) -> Any:
    if index < layout.first_motion:
        return made.input(FIXED, index)
    if index < layout.first_internal:
        m, k = divmod(index - layout.first_motion, layout.order + 2)
        return made.input(MOTION if k == 0 else MOTION_RATE, m)
    if index < layout.first_frame:
        n, k = divmod(index - layout.first_internal, layout.order + 2)
        # The rate is what the law itself gives.
        return made.input(INTERNAL, n) if k == 0 else 0.0
    frame, o = divmod(index - layout.first_frame, layout.frame_size)
    return made.input(FIXED, index) if o < PLACEMENT else _of_body(made, frame, o - PLACEMENT, layout.order + 2)


def _sum(parts: Iterable[Any]) -> Any:
    total: Any = 0.0
    for part in parts:
        total = total + part
    return total


class Programs:
    """The programs of a form, with numbers for the values and histories that they work on.

    Attributes
    ----------
    inputs, code : of each program the rows of its inputs, and of its lines, as the tables of kernels have them
    outputs : rows of the table of outputs
    constants : numbers that code refers to
    values, histories : how many there are; value 0 is zero
    """

    def __init__(self, form: Form) -> None:
        self._form, self._tape = form, form.tape
        places: dict[int, list[int]] = {kind: [] for kind in (RESIDUAL, LOAD, RATE, POWER_OF_LOADS, POWER_OF_ROW)}
        for place, (kind, _, _) in form.outputs:
            places[kind].append(place)
        needed = self._tape.needed
        everything = needed([place for place, _ in form.outputs])
        self._value = {place: n + 1 for n, place in enumerate(everything)}
        self._kept = self._histories(everything)
        self.values, self.histories = len(everything) + 1, len(self._kept)
        self.constants = [self._tape.constants[p] for p in everything if p in self._tape.constants]
        self._constant = {p: n for n, p in enumerate(p for p in everything if p in self._tape.constants)}
        goal, loads = needed(places[RESIDUAL]), needed(places[LOAD] + places[RATE] + places[POWER_OF_LOADS])
        after = needed(places[POWER_OF_ROW])
        loaded = self._depending(everything)
        if form.level == 0:
            parts = {LOADS: loads}
        else:
            shape = [p for p in sorted({*goal, *loads}) if p not in loaded]
            parts = {
                SHAPE: shape,
                GOAL: goal,
                LOADS: [p for p in loads if p in loaded],
                AFTER: [p for p in after if p not in shape and not self._is_multiplier(p)],
            }
        self.inputs: list[list[tuple[int, ...]]] = [[] for _ in range(PROGRAMS)]
        self.code: list[list[tuple[int, ...]]] = [[] for _ in range(PROGRAMS)]
        self._write(FIRST, everything, self._line_of_values)
        for program, lines in parts.items():
            self._write(program, [p for p in lines if not self._tape.steady[p]], self._line_of_series)
        self.outputs = [(self._value[place], *source) for place, source in form.outputs]

    def _is_multiplier(self, place: int) -> bool:
        return self._tape.lines[place][0] == INPUT and self._form.inputs[place][0] == MULTIPLIER

    def _depending(self, places: Sequence[int]) -> set[int]:
        """Which lines depend on multipliers."""
        found: set[int] = set()
        for place in places:
            code, *operands = self._tape.lines[place]
            if self._is_multiplier(place) or (code not in (INPUT, CONSTANT) and any(p in found for p in operands)):
                found.add(place)
        return found

    def _histories(self, places: Sequence[int]) -> dict[int, int]:
        """Number the values whose coefficients of all orders are asked for; both of a pair follow each other."""
        kept: set[int] = set()
        for place in places:
            code, *operands = self._tape.lines[place]
            if code not in NONLINEAR or self._tape.steady[place]:
                continue
            kept.update(operands[:1] if code == POWER else operands)
            if code not in (MULTIPLY, SQUARE):  # whose own earlier coefficients no recurrence asks for
                kept.add(place)
        return {place: n for n, place in enumerate(sorted(kept))}

    def _write(self, program: int, places: Sequence[int], line: Callable[[int], tuple[int, ...]]) -> None:
        for place in places:
            if self._tape.lines[place][0] == INPUT:
                kept = self._kept.get(place, -1)
                self.inputs[program].append((self._value[place], kept, *self._form.inputs[place]))
            else:
                self.code[program].append(line(place))

    def _line_of_values(self, place: int) -> tuple[int, ...]:
        code, *operands = self._tape.lines[place]
        used = [self._constant[place]] if code == CONSTANT else [self._value[p] for p in operands]
        return (code, self._value[place], *_three(used, 0), self._kept.get(place, -1), 0, 0, 0)

    @staticmethod
    def shifted(line: tuple[int, ...], first: int) -> tuple[int, ...]:
        """Return a line of code whose constants start at `first` of those of all forms."""
        return (*line[:2], line[2] + first, *line[3:]) if line[0] == CONSTANT else line

    def _line_of_series(self, place: int) -> tuple[int, ...]:
        code, *operands = self._tape.lines[place]
        # What is steady has coefficients of zero, but for factors and truths, of which the values themselves count.
        by_value = {SCALE: {1}, POWER: {1}, CHOOSE: {0}}.get(code, set())
        used = [
            0 if self._tape.steady[p] and n not in by_value else self._value[p] for n, p in enumerate(operands)
        ]  # fmt: skip
        kept = [self._kept.get(p, 0) for p in operands]
        return (code, self._value[place], *_three(used, 0), self._kept.get(place, -1), *_three(kept, 0))


def _three(numbers: list[int], rest: int) -> list[int]:
    return (numbers + [rest] * 3)[:3]
