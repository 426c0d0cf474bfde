"""Code generation for Taylor coefficients of any order, for several elements per SIMD vector.

An element is a constraint or a force law. A form is a list of operations, the lines of a tape, that elements of equal
structure share. A program computes a part of these operations for one order k. The table `places` holds, for each
element, indices of its data in other arrays; a slot is a row of this table, with one index per element of the group
(`quirk.dynamics.sparse.taylor.tables`).

Operations become straight-line code, and the sums over lower orders in the recurrences as a few loops. So one function
serves all orders, and it does not branch at run time except for these loops.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from quirk.autodiff.tape import (
    ADD,
    AND,
    ANGLE,
    CHOOSE,
    CONSTANT,
    COSINE,
    COSINE_H,
    DIVIDE,
    EQUAL,
    EXPONENTIAL,
    INPUT,
    LESS,
    LESS_EQUAL,
    LOGARITHM,
    MULTIPLY,
    NEAREST,
    NEGATE,
    NONLINEAR,
    NOT,
    OR,
    POWER,
    ROOT,
    SCALE,
    SINE,
    SINE_H,
    SLOPE_H,
    SQUARE,
    SUBTRACT,
    TANGENT_H,
)
from quirk.dynamics.model.layout import FORCE
from quirk.jit.llvm_functions import MOST_COMPILED, Native, written
from quirk.jit.tracing import DOUBLE, FLAGS, WIDTH

from .tables import (
    AFTER,
    AT_BODIES,
    AT_CARRIED,
    AT_FIXED,
    AT_FIXED_OF_LAWS,
    AT_MOTIONS,
    AT_MULTIPLIERS,
    AT_NUMBERS,
    AT_PLACES,
    AT_RIGHT_SIDES,
    COUNT,
    FIRST,
    GOAL,
    LAW,
    LOADS,
    ORDER,
    ORDERS,
    POSE_ROWS,
    PROGRAM,
    SHAPE,
    SIZE,
)
from .tape_programs import Programs
from .tapes import (
    BODY,
    BODY_RATE,
    FIXED,
    INTERNAL,
    LOAD,
    MOTION_RATE,
    MULTIPLIER,
    POWER_OF_LOADS,
    POWER_OF_ROW,
    RATE,
    RESIDUAL,
    TIME,
    Form,
)

WORD, INDEX = ir.IntType(64), ir.IntType(32)
# Maximum number of sums in one loop: their terms stay in registers.
SUMS_AT_ONCE = 8

# Functions of one argument in the C library or the processor.
LIBRARY = {
    EXPONENTIAL: "exp", LOGARITHM: "log", SINE: "sin", COSINE: "cos", SINE_H: "sinh", COSINE_H: "cosh",
    TANGENT_H: "tanh", NEAREST: "llvm.rint.f64",
}  # fmt: skip

# Term of a sum over m: sign, +1 or -1; weight, which is 1, m or k - m; and the lines with coefficients m and k - m.
PLAIN, BY_M, BY_REST = range(3)
Term = tuple[float, int, int, int]


@functools.lru_cache(MOST_COMPILED)
def series_code(form: Form, width: int) -> tuple[Programs, Native]:
    """Return the programs of a form, and their machine code for `width` elements at a time."""
    programs = Programs(form)

    def write(builder: Any, t: Any, given: Any, _: Any) -> None:
        _Writer(programs, width, builder, t, given).write()

    return programs, written(write, keep=not form.of_user)


class _Writer:
    """Generates the machine code of all programs of a form."""

    def __init__(self, programs: Programs, width: int, builder: Any, t: Any, given: Any) -> None:
        self.programs, self.form, self.tape = programs, programs.form, programs.tape
        self.width, self.vector = width, ir.VectorType(DOUBLE, width)
        self.build, self.t = builder, t
        desk = builder.bitcast(given, WORD.as_pointer())
        self.desk = [builder.load(builder.gep(desk, [_index(n)])) for n in range(AT_RIGHT_SIDES + 1)]
        self.k = self.desk[ORDER]
        self.places = builder.inttoptr(self.desk[AT_PLACES], WORD.as_pointer())
        self.numbers = self._array(AT_NUMBERS)
        self.values: dict[int, Any] = {}
        self._entries: dict[tuple[int, int], Any] = {}

    def write(self) -> None:
        """Generate code for all programs, and the branch to the selected one."""
        build = self.build
        end = build.append_basic_block("end")
        choice = build.switch(self.desk[PROGRAM], end)
        for program in sorted(self.programs.lines):
            block = build.append_basic_block()
            choice.add_case(ir.Constant(WORD, program), block)
            build.position_at_end(block)
            self.program, self.values, self._entries = program, {}, {}
            self._write_program()
            build.branch(end)
        build.position_at_end(end)
        build.ret_void()

    def _write_program(self) -> None:
        program, lines = self.program, self.programs.lines[self.program]
        if program != FIRST:
            real = self.build.uitofp(self.k, DOUBLE)
            self.order, self.by_order = self._splat(real), self._splat(self.build.fdiv(_real(1.0), real))
        # All inputs are read before any output is written, so that their addresses are loaded once.
        for place in lines:
            if self.tape.lines[place][0] == INPUT:
                self.values[place] = self._input(place)
        sums = {} if program == FIRST else self._sums(lines)
        for place in lines:
            if self.tape.lines[place][0] != INPUT:
                self.values[place] = self._value(place) if program == FIRST else self._coefficient(place, sums)
        if program != GOAL:
            self._keep(lines)
        self._hand_on(self._outputs())

    # Arrays.

    def _array(self, which: int) -> Any:
        return self.build.inttoptr(self.desk[which], DOUBLE.as_pointer())

    def _lanes(self, first: Any) -> Any:
        """Return a pointer to the vector at index `first` of the stored coefficients: one number for each element."""
        return self.build.bitcast(self.build.gep(self.numbers, [first]), self.vector.as_pointer())

    def _slot(self, place: int, order: Any) -> Any:
        """Return a pointer to coefficient `order` of a tape line whose coefficients are stored."""
        first = _word(self.width * len(self.programs.steady))
        slot = self.build.add(self.build.mul(self.desk[ORDERS], _word(self.programs.kept[place])), order)
        return self._lanes(self.build.add(first, self.build.mul(slot, _word(self.width))))

    def _sum_slot(self, place: int) -> Any:
        kept = self.build.mul(self.desk[ORDERS], _word(len(self.programs.kept)))
        first = self.build.add(kept, _word(len(self.programs.steady) + self.programs.sums[place]))
        return self._lanes(self.build.mul(first, _word(self.width)))

    def _load(self, pointer: Any) -> Any:
        return self.build.load(pointer, align=8)

    def _place(self, slot: int, lane: int) -> Any:
        """Return the loaded index that row `slot` of the table `places` holds for element `lane` of the group.

        Each index is loaded once per program.
        """
        if (slot, lane) not in self._entries:
            pointer = self.build.gep(self.places, [_word(WIDTH * slot + lane)])
            self._entries[slot, lane] = self.build.load(pointer)
        return self._entries[slot, lane]

    def _gathered(self, array: int, slot: int, offset: Any) -> Any:
        """Generate loads of one number per element from an array; return them as a vector.

        The index of the number is the index of the element in row `slot` of `places`, plus `offset`.
        """
        base, lanes = self._array(array), ir.Constant(self.vector, ir.Undefined)
        for lane in range(self.width):
            pointer = self.build.gep(base, [self.build.add(self._place(slot, lane), offset)])
            lanes = self.build.insert_element(lanes, self.build.load(pointer), _index(lane))
        return lanes

    # Slots of `places`.

    def _frame_slot(self, frame: int) -> int:
        return 1 + frame

    def _motion_slot(self, motion: int) -> int:
        return 1 + self.form.frames + motion

    def _row_slot(self, row: int) -> int:
        return 1 + self.form.frames + self.form.motions + row

    def _variable_slot(self, behind: int) -> int:
        """Return the row of `places` with the indices of internal variables or of values of work.

        `behind` is the number of the row after that of the first internal variable: 0 for the internal variables, 1 for
        the work of the element, and 2 + r for the work of its constraint row r.
        """
        return self._row_slot(self.form.rows) + behind

    @property
    def _count_slot(self) -> int:
        return self._variable_slot(2 + self.form.rows)

    # Inputs.

    def _input(self, place: int) -> Any:
        kind, which, frame = self.form.inputs[place]
        build, k, first = self.build, self.k, self.program == FIRST
        if kind == TIME:
            is_first_order = build.select(build.icmp_unsigned("==", k, _word(1)), _real(1.0), _real(0.0))
            return self._splat(self.t if first else is_first_order)
        if kind == FIXED:
            array = AT_FIXED_OF_LAWS if self.form.level == LAW else AT_FIXED
            return self._gathered(array, 0, _word(which))
        if kind == MULTIPLIER:
            # Multipliers of the present order are unknown until all loads are known.
            known = first or self.program == AFTER
            return self._gathered(AT_MULTIPLIERS, self._row_slot(which), _word(0)) if known else self._filled(0.0)
        rate = kind in (BODY_RATE, MOTION_RATE)
        order = build.add(k, _word(1)) if rate else k
        if kind in (BODY, BODY_RATE):
            offset = build.add(build.mul(order, self.desk[SIZE]), _word(WIDTH * which))
            coefficient = self._gathered(AT_BODIES, self._frame_slot(frame), offset)
        elif kind == INTERNAL:
            offset = build.add(build.mul(order, self.desk[COUNT]), _word(which))
            coefficient = self._gathered(AT_CARRIED, self._variable_slot(0), offset)
        else:
            coefficient = self._gathered(AT_MOTIONS, self._motion_slot(which), order)
        return self._times(coefficient, self._splat(build.uitofp(order, DOUBLE))) if rate and not first else coefficient

    # Coefficients of order 0.

    def _value(self, place: int) -> Any:
        code, *operands = self.tape.lines[place]
        if code == CONSTANT:
            return self._filled(self.tape.constants[place])
        build = self.build
        x = [self.values[p] for p in operands]
        if code in (MULTIPLY, SCALE):
            return self._times(*x)
        if code == SQUARE:
            return self._times(x[0], x[0])
        if code in (ADD, SUBTRACT, NEGATE):
            return self._linear(code, x)
        if code == DIVIDE:
            return build.fdiv(*x, flags=FLAGS)
        if code == ROOT:
            return build.call(self._function(f"llvm.sqrt.v{self.width}f64", self.vector, 1), x)
        if code in (LESS, LESS_EQUAL, EQUAL):
            truth = build.fcmp_ordered({LESS: "<", LESS_EQUAL: "<=", EQUAL: "=="}[code], *x)
            return build.select(truth, self._filled(1.0), self._filled(0.0))
        if code == CHOOSE:
            return self._chosen(*x)
        if code in (AND, OR, NOT):
            return self._logical(code, x)
        if code == SLOPE_H:
            tangent = self.values[place - 1]
            return build.fsub(self._filled(1.0), self._times(tangent, tangent), flags=FLAGS)
        if code == ANGLE:
            return self._by_lanes(self._function("atan2", DOUBLE, 2), x[:2])
        if code == POWER:
            return self._by_lanes(self._function("pow", DOUBLE, 2), x)
        return self._by_lanes(self._function(LIBRARY[code], DOUBLE, 1), x)

    def _linear(self, code: int, x: Sequence[Any]) -> Any:
        if code == ADD:
            return self.build.fadd(*x, flags=FLAGS)
        return self.build.fsub(*(x if code == SUBTRACT else (self._filled(0.0), x[0])), flags=FLAGS)

    def _logical(self, code: int, x: Sequence[Any]) -> Any:
        truths = [self._truth(operand) for operand in x]
        if code == NOT:
            combined = self.build.not_(truths[0])
        else:
            combined = (self.build.and_ if code == AND else self.build.or_)(*truths)
        return self.build.select(combined, self._filled(1.0), self._filled(0.0))

    def _truth(self, x: Any) -> Any:
        return self.build.fcmp_unordered("!=", x, self._filled(0.0))

    def _chosen(self, truth: Any, a: Any, b: Any) -> Any:
        return self.build.select(self._truth(truth), a, b)

    def _by_lanes(self, function: Any, x: Sequence[Any]) -> Any:
        lanes = ir.Constant(self.vector, ir.Undefined)
        for lane in range(self.width):
            arguments = [self.build.extract_element(operand, _index(lane)) for operand in x]
            lanes = self.build.insert_element(lanes, self.build.call(function, arguments), _index(lane))
        return lanes

    def _function(self, symbol: str, kind: Any, count: int) -> Any:
        module = self.build.module
        if symbol in module.globals:
            return module.globals[symbol]
        return ir.Function(module, ir.FunctionType(kind, [kind] * count), symbol)

    # Coefficients of higher orders.

    def _sums(self, lines: Sequence[int]) -> dict[int, Any]:
        """Generate code for the sums over lower orders in the recurrences of tape lines; return the sums by line."""
        sums: dict[int, Any] = {}
        wanted = []
        for place in lines:
            if self.tape.lines[place][0] not in NONLINEAR:
                continue
            if self.program == SHAPE and place in self.programs.sums:
                # Computed by GOAL, except for order 1, where it is empty.
                none = self.build.icmp_unsigned("==", self.k, _word(1))
                sums[place] = self.build.select(none, self._filled(0.0), self._load(self._sum_slot(place)))
            else:
                wanted.append(place)
        for first in range(0, len(wanted), SUMS_AT_ONCE):
            some = wanted[first : first + SUMS_AT_ONCE]
            sums.update(zip(some, self._loop([self._terms(place) for place in some]), strict=True))
        if self.program == GOAL:
            for place in self.programs.sums:
                self.build.store(sums[place], self._sum_slot(place), align=8)
        return sums

    def _terms(self, place: int) -> list[Term]:
        code, a, *rest = self.tape.lines[place]
        b = rest[0] if rest else a
        return {
            MULTIPLY: [(1.0, PLAIN, a, b)],
            SQUARE: [(1.0, PLAIN, a, a)],
            DIVIDE: [(1.0, PLAIN, b, place)],
            ROOT: [(1.0, PLAIN, place, place)],
            EXPONENTIAL: [(1.0, BY_M, a, place)],
            LOGARITHM: [(1.0, BY_M, place, a)],
            SINE: [(1.0, BY_M, a, place + 1)],
            COSINE: [(1.0, BY_M, a, place - 1)],
            SINE_H: [(1.0, BY_M, a, place + 1)],
            COSINE_H: [(1.0, BY_M, a, place - 1)],
            TANGENT_H: [(1.0, BY_M, a, place + 1)],
            SLOPE_H: [(1.0, PLAIN, place - 1, place - 1)],
            # The exponent, a factor of the first sum, is applied later.
            POWER: [(1.0, BY_M, a, place), (-1.0, BY_REST, a, place)],
            # (x^2 + y^2) angle' = x y' - y x'
            ANGLE: [(1.0, BY_M, a, b), (-1.0, BY_M, b, a), (-1.0, BY_M, place, rest[-1] if rest else a)],
        }[code]

    def _loop(self, sums: Sequence[Sequence[Term]]) -> list[Any]:
        """Generate a loop for sums over m from 1 to k - 1; a sum in the recurrence of a power has two parts."""
        build = self.build
        steady, last = self.tape.steady, self.k
        before, body, after = build.block, build.append_basic_block(), build.append_basic_block()
        build.cbranch(build.icmp_signed(">", self.k, _word(1)), body, after)
        build.position_at_end(body)
        m = build.phi(WORD)
        m.add_incoming(_word(1), before)
        totals = [[build.phi(self.vector) for _ in self._parts_of(terms)] for terms in sums]
        rest = build.sub(last, m)
        loads: dict[tuple[int, bool], Any] = {}

        def term(place: int, of_rest: bool) -> Any:
            if (place, of_rest) not in loads:
                loads[place, of_rest] = self._load(self._slot(place, rest if of_rest else m))
            return loads[place, of_rest]

        sizes = self._splat(build.uitofp(m, DOUBLE)), self._splat(build.uitofp(rest, DOUBLE))
        results = []
        for terms, phis in zip(sums, totals, strict=True):
            accumulated = list(phis)
            for sign, weight, left_line, right_line in terms:
                if steady[left_line] or steady[right_line]:
                    continue
                left = term(left_line, False)
                if weight != PLAIN:
                    left = self._times(left, sizes[0 if weight == BY_M else 1])
                part = len(accumulated) - 1 if weight == BY_REST else 0
                product = self._times(left, term(right_line, True))
                accumulated[part] = (build.fadd if sign > 0 else build.fsub)(accumulated[part], product, flags=FLAGS)
            results.append(accumulated)
        following = build.add(m, _word(1))
        m.add_incoming(following, body)
        build.cbranch(build.icmp_signed("<", following, last), body, after)
        for phis, accumulated in zip(totals, results, strict=True):
            for phi, x in zip(phis, accumulated, strict=True):
                phi.add_incoming(self._filled(0.0), before)
                phi.add_incoming(x, body)
        build.position_at_end(after)
        made = []
        for accumulated in results:
            ends = []
            for x in accumulated:
                end = build.phi(self.vector)
                end.add_incoming(self._filled(0.0), before)
                end.add_incoming(x, body)
                ends.append(end)
            made.append(ends[0] if len(ends) == 1 else ends)
        return made

    @staticmethod
    def _parts_of(terms: Sequence[Term]) -> range:
        return range(2 if any(weight == BY_REST for _, weight, _, _ in terms) else 1)

    def _coefficient(self, place: int, sums: dict[int, Any]) -> Any:
        code, *operands = self.tape.lines[place]
        if code in (ADD, SUBTRACT, NEGATE):
            return self._linear(code, [self._now(p) for p in operands])
        if code == SCALE:
            return self._times(self._now(operands[0]), self._first(operands[1]))
        if code == CHOOSE:
            return self._chosen(self._first(operands[0]), *(self._now(p) for p in operands[1:]))
        return self._nonlinear(code, place, operands, sums[place])

    def _nonlinear(self, code: int, place: int, operands: Sequence[int], total: Any) -> Any:
        build, now, first = self.build, self._now, self._first
        a, b = operands[0], operands[-1]

        def product(x: int, y: int) -> Any:
            """Return coefficient k of x times coefficient 0 of y; zero if x is a multiplier that is not known yet."""
            unknown = self.programs.is_multiplier(x) and self.program == LOADS
            return self._filled(0.0) if unknown else self._times(now(x), first(y))

        if code == MULTIPLY:
            return self._plus(total, product(a, b), product(b, a))
        if code == SQUARE:
            twice = self._times(self._filled(2.0), product(a, a))
            return self._plus(total, twice)
        if code == DIVIDE:
            return build.fdiv(self._minus(now(a), total, product(b, place)), first(b), flags=FLAGS)
        if code == ROOT:
            return build.fdiv(self._minus(now(a), total), self._times(self._filled(2.0), first(place)), flags=FLAGS)
        if code == LOGARITHM:
            return build.fdiv(self._minus(now(a), self._times(total, self.by_order)), first(a), flags=FLAGS)
        if code == SLOPE_H:
            twice = self._times(self._filled(2.0), product(place - 1, place - 1))
            return self._minus(self._filled(0.0), total, twice)
        if code == POWER:
            exponent = first(operands[1])
            grown = self._plus(self._times(exponent, total[0]), total[1])
            last = self._times(self._times(exponent, self.order), product(a, place))
            return build.fdiv(self._plus(grown, last), self._times(self.order, first(a)), flags=FLAGS)
        share = self._times(total, self.by_order)
        if code == ANGLE:
            y, x, square = operands
            turning = self._minus(self._plus(share, product(y, x)), product(x, y))
            return build.fdiv(turning, first(square), flags=FLAGS)
        partner = {SINE: 1, SINE_H: 1, TANGENT_H: 1, COSINE: -1, COSINE_H: -1, EXPONENTIAL: 0}[code]
        found = self._plus(share, product(a, place + partner))
        return self._minus(self._filled(0.0), found) if code == COSINE else found

    def _now(self, place: int) -> Any:
        """Return coefficient k of a line; k is the order that is being computed."""
        if self.tape.steady[place]:
            return self._filled(0.0)
        if place not in self.values:
            self.values[place] = self._load(self._slot(place, self.k))
        return self.values[place]

    def _first(self, place: int) -> Any:
        """Return coefficient 0 of a line, its value at the start of the step."""
        if place in self.tape.constants:
            return self._filled(self.tape.constants[place])
        if self.tape.steady[place]:
            return self._load(self._lanes(_word(self.width * self.programs.steady[place])))
        return self._load(self._slot(place, _word(0)))

    # Outputs.

    def _keep(self, lines: Sequence[int]) -> None:
        """Generate stores of the coefficients that later programs or orders need."""
        for place in lines:
            if place in self.programs.kept and not (self.programs.is_multiplier(place) and self.program == LOADS):
                self.build.store(self.values[place], self._slot(place, self.k), align=8)
            if self.program == FIRST and place in self.programs.steady:
                slot = self._lanes(_word(self.width * self.programs.steady[place]))
                self.build.store(self.values[place], slot, align=8)

    def _outputs(self) -> list[tuple[int, Any]]:
        """Return the line number and the destination of each output of the present program."""
        kinds = {
            FIRST: (LOAD, RATE, POWER_OF_LOADS, POWER_OF_ROW),
            LOADS: (LOAD, RATE, POWER_OF_LOADS),
            GOAL: (RESIDUAL,),
            AFTER: (POWER_OF_ROW,),
        }.get(self.program, ())
        return [
            (place, source)
            for place, source in self.form.outputs
            if source[0] in kinds and (self.program in (FIRST, GOAL) or not self.tape.steady[place])
        ]

    def _slot_of(self, kind: int, which: int, frame: int) -> int:
        """Return the row of `places` with the indices of the destination of an output."""
        if kind == LOAD:
            return self._frame_slot(frame)
        if kind == RESIDUAL:
            return self._row_slot(which)
        return self._variable_slot({RATE: 0, POWER_OF_LOADS: 1}.get(kind, 2 + which))

    def _hand_on(self, outputs: Sequence[tuple[int, Any]]) -> None:
        """Generate code that adds loads, rates and powers to the system's arrays, and stores right-hand sides."""
        if not outputs:
            return
        build = self.build
        with build.goto_entry_block():
            buffer = build.alloca(ir.ArrayType(self.vector, len(outputs)))
            buffer.align = 8 * self.width
        for n, (place, (kind, _, _)) in enumerate(outputs):
            pointer = build.gep(buffer, [_index(0), _index(n)])
            build.store(self._right_side(place) if kind == RESIDUAL else self._added(place, kind), pointer, align=8)
        numbers = build.bitcast(buffer, DOUBLE.as_pointer())
        count = build.load(build.gep(self.places, [_word(WIDTH * self._count_slot)]))
        before, body, after = build.block, build.append_basic_block(), build.append_basic_block()
        build.branch(body)
        build.position_at_end(body)
        lane = build.phi(WORD)
        lane.add_incoming(_word(0), before)
        self._hand_on_lane(outputs, lane, numbers)
        following = build.add(lane, _word(1))
        lane.add_incoming(following, body)
        build.cbranch(build.icmp_unsigned("<", following, count), body, after)
        build.position_at_end(after)

    def _hand_on_lane(self, outputs: Sequence[tuple[int, Any]], lane: Any, numbers: Any) -> None:
        """Generate code that adds or stores the outputs of one element; `numbers` points to the vectors of outputs."""
        build = self.build
        starts: dict[int, Any] = {}
        for n, (_, (kind, which, frame)) in enumerate(outputs):
            slot = self._slot_of(kind, which, frame)
            if slot not in starts:
                starts[slot] = build.load(build.gep(self.places, [build.add(_word(WIDTH * slot), lane)]))
            x = build.load(build.gep(numbers, [build.add(_word(self.width * n), lane)]))
            array, offset = self._target(kind, which)
            pointer = build.gep(self._array(array), [build.add(starts[slot], offset)])
            build.store(x if kind == RESIDUAL else build.fadd(build.load(pointer), x, flags=FLAGS), pointer)

    def _target(self, kind: int, which: int) -> tuple[int, Any]:
        """Return the array to which an output belongs, and its offset from the element's index in `places`."""
        build = self.build
        if kind == RESIDUAL:
            return AT_RIGHT_SIDES, _word(0)
        if kind == LOAD:
            return AT_BODIES, build.add(build.mul(self.k, self.desk[SIZE]), _word(WIDTH * (FORCE + which)))
        following = build.mul(build.add(self.k, _word(1)), self.desk[COUNT])
        return AT_CARRIED, build.add(following, _word(which if kind == RATE else 0))

    def _right_side(self, place: int) -> Any:
        """Return the right-hand side of the equation for the accelerations of one constraint row.

        The right-hand side is -(k - 1) k Phi_k for a row on poses and -k psi_k for a row on velocities; Phi_k and psi_k
        are coefficient k of the residual, the result of line `place`.
        """
        factor = self._minus(self._filled(0.0), self.order)
        if self.form.level == POSE_ROWS:
            factor = self._times(factor, self._minus(self.order, self._filled(1.0)))
        return self._times(factor, self._now(place))

    def _added(self, place: int, kind: int) -> Any:
        """Return the coefficient that is added to the destination of an output.

        Coefficient k of a load is added, and coefficient k + 1 of the integral of a rate.
        """
        if kind == LOAD:
            return self.values[place]
        following = self.build.uitofp(self.build.add(self.k, _word(1)), DOUBLE)
        return self.build.fdiv(self.values[place], self._splat(following), flags=FLAGS)

    # Arithmetic.

    def _times(self, a: Any, b: Any) -> Any:
        return self.build.fmul(a, b, flags=FLAGS)

    def _plus(self, *parts: Any) -> Any:
        return functools.reduce(lambda a, b: self.build.fadd(a, b, flags=FLAGS), parts)

    def _minus(self, *parts: Any) -> Any:
        return functools.reduce(lambda a, b: self.build.fsub(a, b, flags=FLAGS), parts)

    def _filled(self, x: float) -> Any:
        return ir.Constant(self.vector, [x] * self.width)

    def _splat(self, x: Any) -> Any:
        undefined = ir.Constant(self.vector, ir.Undefined)
        vector = self.build.insert_element(undefined, x, _index(0))
        zeros = ir.Constant(ir.VectorType(INDEX, self.width), [0] * self.width)
        return self.build.shuffle_vector(vector, undefined, zeros)


def _word(x: int) -> Any:
    return ir.Constant(WORD, x)


def _index(x: int) -> Any:
    return ir.Constant(INDEX, x)


def _real(x: float) -> Any:
    return ir.Constant(DOUBLE, x)
