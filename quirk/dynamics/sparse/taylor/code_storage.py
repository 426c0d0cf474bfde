"""Memory access of generated code for Taylor coefficients: inputs, and stored coefficients of lower orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from quirk.jit.lane_types import DOUBLE, WIDTH

from .code_arithmetic import WORD, Arithmetic, double, integer, short_integer
from .tables import (
    AFTER,
    AT_AUXILIARY,
    AT_BODIES,
    AT_FIXED,
    AT_FIXED_OF_LAWS,
    AT_MOTIONS,
    AT_MULTIPLIERS,
    AT_NUMBERS,
    AT_PLACES,
    AT_RIGHT_SIDES,
    COUNT,
    FIRST,
    LAW,
    LOADS,
    ORDER,
    ORDERS,
    SIZE,
)
from .tape_programs import Programs
from .tapes import (
    BODY,
    BODY_RATE,
    FIXED,
    INTERNAL,
    MOTION_RATE,
    MULTIPLIER,
    TIME,
)


class Storage(Arithmetic):
    """Generator of code that loads inputs, and loads and stores Taylor coefficients.

    Parameters
    ----------
    programs : programs of a form: the parts of its operations that are computed together for one order
    width : number of elements in a vector
    builder : LLVM builder to which the instructions are appended
    t : time, s
    addresses : addresses of all arrays, and the order, see `quirk.dynamics.sparse.taylor.tables`

    Attributes
    ----------
    program : the current program, FIRST to AFTER in `quirk.dynamics.sparse.taylor.tables`
    order : vector of generated code with the current order k in all elements
    by_order : vector with 1 / k in all elements
    """

    program: int
    order: Any
    by_order: Any

    def __init__(self, programs: Programs, width: int, builder: Any, t: Any, addresses: Any) -> None:
        super().__init__(programs.tape, width, builder)
        self.programs, self.form, self.t = programs, programs.form, t
        query = builder.bitcast(addresses, WORD.as_pointer())
        self.query = [builder.load(builder.gep(query, [short_integer(n)])) for n in range(AT_RIGHT_SIDES + 1)]
        self.k = self.query[ORDER]
        self.places = builder.inttoptr(self.query[AT_PLACES], WORD.as_pointer())
        self.numbers = self._array(AT_NUMBERS)
        self._entries: dict[tuple[int, int], Any] = {}

    def _array(self, index: int) -> Any:
        return self.build.inttoptr(self.query[index], DOUBLE.as_pointer())

    def _lanes(self, first: Any) -> Any:
        """Return a pointer to the vector, with one number for each element, at index `first` of the stored values."""
        return self.build.bitcast(self.build.gep(self.numbers, [first]), self.vector.as_pointer())

    def _slot(self, place: int, order: Any) -> Any:
        """Return a pointer to the stored Taylor coefficient `order` of tape line `place`."""
        first = integer(self.width * len(self.programs.steady))
        slot = self.build.add(self.build.mul(self.query[ORDERS], integer(self.programs.stored[place])), order)
        return self._lanes(self.build.add(first, self.build.mul(slot, integer(self.width))))

    def _sum_slot(self, place: int) -> Any:
        kept = self.build.mul(self.query[ORDERS], integer(len(self.programs.stored)))
        first = self.build.add(kept, integer(len(self.programs.steady) + self.programs.sums[place]))
        return self._lanes(self.build.mul(first, integer(self.width)))

    def _load(self, pointer: Any) -> Any:
        return self.build.load(pointer, align=8)

    def _place(self, slot: int, lane: int) -> Any:
        """Return the index in row `slot` of the table `places` for the element with index `lane` in the group.

        Code that loads the index is generated once per program.
        """
        if (slot, lane) not in self._entries:
            pointer = self.build.gep(self.places, [integer(WIDTH * slot + lane)])
            self._entries[slot, lane] = self.build.load(pointer)
        return self._entries[slot, lane]

    def _gathered(self, array: int, slot: int, offset: Any) -> Any:
        """Generate code that loads one number for each element from an array; return them as a vector.

        The index of the number in the array is the entry of the element in row `slot` of `places`, plus `offset`.
        """
        base, lanes = self._array(array), ir.Constant(self.vector, ir.Undefined)
        for lane in range(self.width):
            pointer = self.build.gep(base, [self.build.add(self._place(slot, lane), offset)])
            lanes = self.build.insert_element(lanes, self.build.load(pointer), short_integer(lane))
        return lanes

    def _frame_slot(self, frame: int) -> int:
        return 1 + frame

    def _motion_slot(self, motion: int) -> int:
        return 1 + self.form.frames + motion

    def _row_slot(self, row: int) -> int:
        return 1 + self.form.frames + self.form.motions + row

    def _variable_slot(self, offset: int) -> int:
        """Return the row of `places` with the indices of internal variables or of integrated work.

        `offset` is relative to the row of the first internal variable: 0 for the internal variables, 1 for the work of
        the element, and 2 + r for the work of its constraint row r.
        """
        return self._row_slot(self.form.rows) + offset

    @property
    def _count_slot(self) -> int:
        return self._variable_slot(2 + self.form.rows)

    def _input(self, place: int) -> Any:
        kind, which, frame = self.form.inputs[place]
        build, k, first = self.build, self.k, self.program == FIRST
        if kind == TIME:
            is_first_order = build.select(build.icmp_unsigned("==", k, integer(1)), double(1.0), double(0.0))
            return self._splat(self.t if first else is_first_order)
        if kind == FIXED:
            array = AT_FIXED_OF_LAWS if self.form.level == LAW else AT_FIXED
            return self._gathered(array, 0, integer(which))
        if kind == MULTIPLIER:
            # Multipliers of the present order are unknown until all loads are known.
            known = first or self.program == AFTER
            return self._gathered(AT_MULTIPLIERS, self._row_slot(which), integer(0)) if known else self._filled(0.0)
        rate = kind in (BODY_RATE, MOTION_RATE)
        order = build.add(k, integer(1)) if rate else k
        if kind in (BODY, BODY_RATE):
            offset = build.add(build.mul(order, self.query[SIZE]), integer(WIDTH * which))
            coefficient = self._gathered(AT_BODIES, self._frame_slot(frame), offset)
        elif kind == INTERNAL:
            offset = build.add(build.mul(order, self.query[COUNT]), integer(which))
            coefficient = self._gathered(AT_AUXILIARY, self._variable_slot(0), offset)
        else:
            coefficient = self._gathered(AT_MOTIONS, self._motion_slot(which), order)
        return self._times(coefficient, self._splat(build.uitofp(order, DOUBLE))) if rate and not first else coefficient

    def _present_coefficient(self, place: int) -> Any:
        """Return Taylor coefficient k of tape line `place`, where k is the current order; zero for constant lines."""
        if self.tape.steady[place]:
            return self._filled(0.0)
        if place not in self.values:
            self.values[place] = self._load(self._slot(place, self.k))
        return self.values[place]

    def _initial_coefficient(self, place: int) -> Any:
        """Return Taylor coefficient 0 of tape line `place`, which is its value at the start of the step."""
        if place in self.tape.constants:
            return self._filled(self.tape.constants[place])
        if self.tape.steady[place]:
            return self._load(self._lanes(integer(self.width * self.programs.steady[place])))
        return self._load(self._slot(place, integer(0)))

    def _keep(self, lines: Sequence[int]) -> None:
        """Generate code that stores the coefficients which later programs or orders require.

        `lines` are the tape lines of the current program.
        """
        for place in lines:
            if place in self.programs.stored and not (self.programs.is_multiplier(place) and self.program == LOADS):
                self.build.store(self.values[place], self._slot(place, self.k), align=8)
            if self.program == FIRST and place in self.programs.steady:
                slot = self._lanes(integer(self.width * self.programs.steady[place]))
                self.build.store(self.values[place], slot, align=8)
