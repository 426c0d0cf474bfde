"""Division of a tape, a list of operations, into programs, and the coefficients stored between programs.

A line of the tape is one operation; a form is a tape shared by elements of equal structure. A program computes a part
of the lines for one order, see `quirk.dynamics.sparse.taylor.tables`. A slot is a position among stored values. A guard
is a quantity whose sign changes when the function switches its branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quirk.autodiff.tape import CONSTANT, INPUT, MULTIPLY, NONLINEAR, SQUARE

from .tables import AFTER, FIRST, GOAL, LAW, LOADS, SHAPE
from .tapes import LOAD, MULTIPLIER, POWER_OF_LOADS, POWER_OF_ROW, RATE, RESIDUAL, Form


class Programs:
    """Programs of a tape: the lines (operations) that are computed together for one order of the Taylor series.

    Attributes
    ----------
    lines : for each program the numbers of its tape lines and inputs, in order; constant lines only in FIRST
    steady : slots of constant values that are computed by program FIRST and used by later programs
    stored : slots of lines whose coefficients of all orders are stored
    sums : slots of lines whose sums over lower orders are computed by program GOAL and used by program SHAPE
    """

    def __init__(self, form: Form) -> None:
        self.form, self.tape = form, form.tape
        everything = self._needed(RESIDUAL, LOAD, RATE, POWER_OF_LOADS, POWER_OF_ROW)
        moving = {
            program: [place for place in lines if not self.tape.steady[place]]
            for program, lines in self._parts(everything).items()
        }
        self.lines = {FIRST: everything, **moving}
        self.steady = {place: slot for slot, place in enumerate(self._steady(moving.values()))}
        self.stored = {place: slot for slot, place in enumerate(self._stored_lines(moving.values()))}
        shared = set(moving.get(GOAL, ())) & set(moving.get(SHAPE, ()))
        nonlinear = (place for place in sorted(shared) if self.tape.lines[place][0] in NONLINEAR)
        self.sums = {place: slot for slot, place in enumerate(nonlinear)}

    def size(self, orders: int, width: int) -> int:
        """Return the number of floats stored for a group of `width` elements, for Taylor series of `orders` terms."""
        return width * (len(self.steady) + orders * len(self.stored) + len(self.sums))

    def starts_of_guards(self, orders: int, width: int) -> list[int]:
        """Return, for each guard, the index of its first coefficient among the floats stored for a group.

        A guard is a quantity whose sign changes when the function switches its branch. The group has `width` elements,
        and Taylor series have `orders` terms.
        """
        return [width * (len(self.steady) + orders * self.stored[place]) for place in self.form.guards]

    def is_multiplier(self, place: int) -> bool:
        """Return whether tape line `place` is the multiplier of a constraint row."""
        return self.tape.lines[place][0] == INPUT and self.form.inputs[place][0] == MULTIPLIER

    def _needed(self, *kinds: int) -> list[int]:
        places = [place for place, (kind, _, _) in self.form.outputs if kind in kinds]
        return self.tape.needed([*places, *(self.form.guards if LOAD in kinds else ())])

    def _parts(self, everything: Sequence[int]) -> dict[int, list[int]]:
        loads = self._needed(LOAD, RATE, POWER_OF_LOADS)
        if self.form.level == LAW:
            return {LOADS: loads}
        goal, loaded = self._needed(RESIDUAL), self._depending(everything)
        shape = [place for place in sorted({*goal, *loads}) if place not in loaded]
        after = {*self._needed(POWER_OF_ROW), *(place for place in everything if self.is_multiplier(place))}
        return {
            SHAPE: shape,
            GOAL: goal,
            LOADS: [place for place in loads if place in loaded],
            AFTER: [place for place in sorted(after) if place not in shape],
        }

    def _depending(self, places: Sequence[int]) -> set[int]:
        """Return the tape lines among `places` whose results depend on multipliers of constraint rows."""
        dependent: set[int] = set()
        for place in places:
            code, *operands = self.tape.lines[place]
            if self.is_multiplier(place) or (code not in (INPUT, CONSTANT) and any(p in dependent for p in operands)):
                dependent.add(place)
        return dependent

    def _steady(self, programs: Iterable[Sequence[int]]) -> list[int]:
        """Return the tape lines with constant results that are used by programs after FIRST."""
        needed: set[int] = set()
        for lines in programs:
            for place in lines:
                code, *operands = self.tape.lines[place]
                if code not in (INPUT, CONSTANT):
                    needed.update(p for p in operands if self.tape.steady[p] and p not in self.tape.constants)
        return sorted(needed)

    def _stored_lines(self, programs: Iterable[Sequence[int]]) -> list[int]:
        """Return the tape lines whose coefficients must be stored for all orders.

        They are guards, operands of sums over orders, and operands of lines in other programs.
        """
        kept: set[int] = set(self.form.guards)
        for lines in programs:
            here = set(lines)
            for place in lines:
                code, *operands = self.tape.lines[place]
                if code in (INPUT, CONSTANT):
                    continue
                moving = [p for p in operands if not self.tape.steady[p]]
                kept.update(p for p in moving if p not in here)
                if code in NONLINEAR:
                    kept.update(moving)
                    if code not in (MULTIPLY, SQUARE):  # their recurrences do not use their own coefficients
                        kept.add(place)
        return sorted(kept)
