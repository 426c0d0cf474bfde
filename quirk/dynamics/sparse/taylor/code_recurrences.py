"""Recurrences of generated code for Taylor coefficients: each coefficient from sums over products of lower orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quirk.autodiff.tape import (
    ADD,
    ANGLE,
    CHOOSE,
    COSINE,
    COSINE_H,
    DIVIDE,
    EXPONENTIAL,
    LOGARITHM,
    MULTIPLY,
    NEGATE,
    NONLINEAR,
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
from quirk.jit.lane_types import DOUBLE
from quirk.jit.traced_value import FLAGS

from .code_arithmetic import WORD, integer
from .code_storage import Storage
from .tables import (
    GOAL,
    LOADS,
    SHAPE,
)

# Maximum number of sums in one loop: their terms stay in registers.
SUMS_AT_ONCE = 8
# Term of a sum over m: sign, +1 or -1; weight, which is 1, m or k - m; and the lines with coefficients m and k - m.
PLAIN, BY_M, BY_REST = range(3)
Term = tuple[float, int, int, int]


class Recurrences(Storage):
    """Generator of the code for Taylor coefficient k of all operations of a tape."""

    def _sums(self, lines: Sequence[int]) -> dict[int, Any]:
        """Generate code for the sums over lower orders in the recurrences of tape lines; return the sums by line.

        A tape line is one operation of the recorded function. Sums that an earlier program has stored are loaded.
        """
        sums: dict[int, Any] = {}
        wanted = []
        for place in lines:
            if self.tape.lines[place][0] not in NONLINEAR:
                continue
            if self.program == SHAPE and place in self.programs.sums:
                # Computed by GOAL, except for order 1, where it is empty.
                none = self.build.icmp_unsigned("==", self.k, integer(1))
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
        """Generate a loop that computes sums over the order m from 1 to k - 1; return the sums.

        A sum is a list of terms, each a weighted product of coefficients m and k - m of two tape lines. For powers the
        sums of both terms are returned separately.
        """
        build = self.build
        steady, last = self.tape.steady, self.k
        before, body, after = build.block, build.append_basic_block(), build.append_basic_block()
        build.cbranch(build.icmp_signed(">", self.k, integer(1)), body, after)
        build.position_at_end(body)
        m = build.phi(WORD)
        m.add_incoming(integer(1), before)
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
        following = build.add(m, integer(1))
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
            return self._linear(code, [self._present_coefficient(p) for p in operands])
        if code == SCALE:
            return self._times(self._present_coefficient(operands[0]), self._initial_coefficient(operands[1]))
        if code == CHOOSE:
            return self._chosen(
                self._initial_coefficient(operands[0]), *(self._present_coefficient(p) for p in operands[1:])
            )
        return self._nonlinear(code, place, operands, sums[place])

    def _nonlinear(self, code: int, place: int, operands: Sequence[int], total: Any) -> Any:
        build, now, first = self.build, self._present_coefficient, self._initial_coefficient
        a, b = operands[0], operands[-1]

        def product(x: int, y: int) -> Any:
            """Return coefficient k of tape line x times coefficient 0 of line y; zero if x is an unknown multiplier."""
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
