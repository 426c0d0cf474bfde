"""Code generation for Taylor coefficients of any order, for several elements per SIMD vector.

An element is a constraint or a force law. A form is a tape, a list of operations, that elements of equal structure
share; a line of the tape is one operation. A program computes a part of the lines for one order k. The table `places`
contains, for each element, the indices of its data in other arrays; a slot is a row of this table, with one index for
each element of the group (`quirk.dynamics.sparse.taylor.tables`).

Operations become straight-line code, and the sums over lower orders in the recurrences become loops. A single function
therefore serves all orders, and these loops are its only branches at run time.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from quirk.autodiff.tape import (
    INPUT,
)
from quirk.dynamics.model.layout import FORCE
from quirk.jit.lane_types import DOUBLE, WIDTH
from quirk.jit.llvm_functions import MOST_COMPILED, Native, from_instructions
from quirk.jit.traced_value import FLAGS

from .code_arithmetic import WORD, double, integer, short_integer
from .code_recurrences import Recurrences
from .tables import (
    AFTER,
    AT_AUXILIARY,
    AT_BODIES,
    AT_RIGHT_SIDES,
    COUNT,
    FIRST,
    GOAL,
    LOADS,
    POSE_ROWS,
    PROGRAM,
    SIZE,
)
from .tape_programs import Programs
from .tapes import (
    LOAD,
    POWER_OF_LOADS,
    POWER_OF_ROW,
    RATE,
    RESIDUAL,
    Form,
)


@functools.lru_cache(MOST_COMPILED)
def series_code(form: Form, width: int) -> tuple[Programs, Native]:
    """Return the programs of a form, and their machine code for `width` elements at a time.

    A form is a list of operations shared by elements (constraints or force laws) of equal structure; a program computes
    a part of them for one order of the Taylor series.
    """
    programs = Programs(form)

    def write(builder: Any, t: Any, inputs: Any, _: Any) -> None:
        _Writer(programs, width, builder, t, inputs).write()

    return programs, from_instructions(write, keep=not form.of_user)


class _Writer(Recurrences):
    """Generator of the machine code for a form: a list of operations shared by elements of equal structure."""

    def write(self) -> None:
        """Generate the code of all programs, and the jump to the program that is selected at run time."""
        build = self.build
        end = build.append_basic_block("end")
        choice = build.switch(self.query[PROGRAM], end)
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
            self.order, self.by_order = self._splat(real), self._splat(self.build.fdiv(double(1.0), real))
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
        self._add_outputs(self._outputs())

    def _outputs(self) -> list[tuple[int, Any]]:
        """Return the line number and the destination of each output that the current program computes.

        A destination is a tuple of a kind, an index and a frame, as in `Form.outputs`.
        """
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

    def _slot_of(self, kind: int, index: int, frame: int) -> int:
        """Return the row of the table `places` that contains the positions of an output in its array.

        The kind of the output, a constant of `tapes`, selects the row: that of the body of frame `frame` for a
        component of its load, that of constraint row `index` for a residual, and that of an internal variable or
        integrated work for a rate or power.
        """
        if kind == LOAD:
            return self._frame_slot(frame)
        if kind == RESIDUAL:
            return self._row_slot(index)
        return self._variable_slot({RATE: 0, POWER_OF_LOADS: 1}.get(kind, 2 + index))

    def _add_outputs(self, outputs: Sequence[tuple[int, Any]]) -> None:
        """Generate code that adds loads, rates and powers to the arrays of the system, and stores right-hand sides.

        `outputs` are the line numbers and destinations of the outputs, see `_outputs`.
        """
        if not outputs:
            return
        build = self.build
        with build.goto_entry_block():
            buffer = build.alloca(ir.ArrayType(self.vector, len(outputs)))
            buffer.align = 8 * self.width
        for n, (place, (kind, _, _)) in enumerate(outputs):
            pointer = build.gep(buffer, [short_integer(0), short_integer(n)])
            build.store(self._right_side(place) if kind == RESIDUAL else self._added(place, kind), pointer, align=8)
        numbers = build.bitcast(buffer, DOUBLE.as_pointer())
        count = build.load(build.gep(self.places, [integer(WIDTH * self._count_slot)]))
        before, body, after = build.block, build.append_basic_block(), build.append_basic_block()
        build.branch(body)
        build.position_at_end(body)
        lane = build.phi(WORD)
        lane.add_incoming(integer(0), before)
        self._add_outputs_of_lane(outputs, lane, numbers)
        following = build.add(lane, integer(1))
        lane.add_incoming(following, body)
        build.cbranch(build.icmp_unsigned("<", following, count), body, after)
        build.position_at_end(after)

    def _add_outputs_of_lane(self, outputs: Sequence[tuple[int, Any]], lane: Any, numbers: Any) -> None:
        """Generate code that adds or stores the outputs of one element of the group.

        `outputs` are the line numbers and destinations of the outputs, `lane` is the index of the element in its group,
        and `numbers` points to the vectors of outputs, with one number for each element.
        """
        build = self.build
        starts: dict[int, Any] = {}
        for n, (_, (kind, which, frame)) in enumerate(outputs):
            slot = self._slot_of(kind, which, frame)
            if slot not in starts:
                starts[slot] = build.load(build.gep(self.places, [build.add(integer(WIDTH * slot), lane)]))
            x = build.load(build.gep(numbers, [build.add(integer(self.width * n), lane)]))
            array, offset = self._target(kind, which)
            pointer = build.gep(self._array(array), [build.add(starts[slot], offset)])
            build.store(x if kind == RESIDUAL else build.fadd(build.load(pointer), x, flags=FLAGS), pointer)

    def _target(self, kind: int, index: int) -> tuple[int, Any]:
        """Return the array in which an output is stored, as the index of its address, and an offset in this array.

        The output is given by its kind (RESIDUAL, LOAD, RATE or work) and its index among those of this kind. The
        offset is relative to the position of the body, constraint row or variable in `TaylorElements.places`.
        """
        build = self.build
        if kind == RESIDUAL:
            return AT_RIGHT_SIDES, integer(0)
        if kind == LOAD:
            return AT_BODIES, build.add(build.mul(self.k, self.query[SIZE]), integer(WIDTH * (FORCE + index)))
        following = build.mul(build.add(self.k, integer(1)), self.query[COUNT])
        return AT_AUXILIARY, build.add(following, integer(index if kind == RATE else 0))

    def _right_side(self, place: int) -> Any:
        """Return the right-hand side of the equation for the accelerations of one constraint row.

        It is -(k - 1) k Phi_k for a row on poses and -k psi_k for a row on velocities; Phi_k and psi_k are coefficient
        k of its residual, the result of line `place`.
        """
        factor = self._minus(self._filled(0.0), self.order)
        if self.form.level == POSE_ROWS:
            factor = self._times(factor, self._minus(self.order, self._filled(1.0)))
        return self._times(factor, self._present_coefficient(place))

    def _added(self, place: int, kind: int) -> Any:
        """Return the number that is added to the destination of an output.

        For a load it is Taylor coefficient k, for a rate coefficient k + 1 of its integral. `place` is the tape line of
        the output, and `kind` the kind of its destination.
        """
        if kind == LOAD:
            return self.values[place]
        following = self.build.uitofp(self.build.add(self.k, integer(1)), DOUBLE)
        return self.build.fdiv(self.values[place], self._splat(following), flags=FLAGS)
