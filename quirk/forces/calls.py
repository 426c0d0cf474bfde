"""Calls of user functions inside force laws.

While machine code is generated, a user function is traced: it is called with symbols, and its operations become part of
the code. A function that cannot be traced is called by its address. A jet is a number with
derivatives; a dual number is a number with derivatives along eight directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ..autodiff.condition import BranchingError
from ..autodiff.dual import Dual
from ..autodiff.jet import Jet
from ..autodiff.numerical import in_directions
from ..functions.user_function import of_floats
from ..jit.lane_types import DOUBLE
from ..jit.llvm_functions import call_address
from ..jit.scalar import is_traced
from ..jit.simd import at, put
from ..jit.traced_value import TracedValue, bounded
from .law_layout import LawLayout
from .value import FAILED, Value

# Maximum number of instructions of a traced user function; larger ones are called, because compiling would take
# seconds.
MOST_INSTRUCTIONS = 20_000

# Layout of a function's inputs: its address, the address of its check in Python, and its arguments.
ADDRESS, CHECKED, ARGUMENTS = range(3)


class WrittenCall:
    """A user function in a force law, called while machine code of the law is generated.

    If the traced function gives a non-finite value, or Python would raise an error in it, the generated code calls the
    function again in Python, which returns the value or raises the error.

    Parameters
    ----------
    value : the function, with the checks of its result
    inputs, outputs : arrays of the generated code
    first_in, first_out : index of the function's first argument in `inputs` and of its first result in `outputs`
    refused : whether the function must be called by its address even if it could be traced

    Attributes
    ----------
    written : whether the function was traced
    """

    takes_jets = True

    def __init__(
        self, value: Value, inputs: TracedValue, outputs: TracedValue, first_in: int, first_out: int, refused: bool
    ) -> None:
        self.value, self.inputs, self.outputs = value, inputs, outputs
        self.first_in, self.first_out = first_in, first_out
        self.refused, self.written = refused, False

    def __call__(self, t: Jet, *arguments: Any) -> Any:
        """Return the value of the user function as a jet or an array of jets, for traced arguments."""
        numbers = [jet for argument in arguments for jet in np.ravel(argument)]
        try:
            if self.refused:
                raise BranchingError("it reads what other functions may change")
            with bounded(MOST_INSTRUCTIONS):
                found, checks = of_floats(self.value.function, t, *arguments)
                returned = self.value.shaped(found)
            self.written = True
        except Exception as error:  # any error means that it is run in Python
            if any(g is not None for jet in numbers for g in jet.gradient):
                raise BranchingError(str(error)) from error
            return self._call_function(t, numbers)
        return self._checked(t, numbers, returned, checks)

    def _call_function(self, t: Jet, numbers: Sequence[Jet]) -> Any:
        """Generate a call of the function by its address, and return the results as traced values.

        `numbers` are the arguments. If the function was compiled by numba and fails, the generated code calls it again
        in Python to raise its error.
        """
        build = self.inputs.builder
        self._store_arguments(numbers)
        for k in range(self._size):
            put(self.outputs, self.first_out + k, np.nan)
        put(self.outputs, self.first_out + FAILED, 0.0)
        # With non-finite arguments the step has failed and will be repeated, so the call is skipped.
        with build.if_then(self._finite([x.value for x in numbers])):
            self._call(t, ADDRESS)
            failed = build.fcmp_unordered("!=", at(self.outputs, self.first_out + FAILED).value, _constant(0.0))
            with build.if_then(failed):
                self._call(t, CHECKED)
        return self._result(t)

    def _checked(self, t: Jet, numbers: Sequence[Jet], returned: np.ndarray, checks: Sequence[Any]) -> Any:
        build, values = self.inputs.builder, np.ravel(returned)
        found = [1.0 * (x.value if isinstance(x, Jet) else x) for x in values]
        for k, x in enumerate(found):
            put(self.outputs, self.first_out + k, x)
        wrong = build.not_(self._finite([*found, *checks]))
        with build.if_then(build.and_(wrong, self._finite([x.value for x in numbers]))):
            self._store_arguments(numbers)
            self._call(t, CHECKED)
        checked = [at(self.outputs, self.first_out + k) for k in range(self._size)]
        jets = [x if isinstance(x, Jet) else Jet([x], [None] * len(t.gradient)) for x in values]
        made = np.empty(len(jets), dtype=object)
        for k, (jet, x) in enumerate(zip(jets, checked, strict=True)):
            made[k] = Jet([x, *jet.taylor[1:]], jet.gradient)
        return made.reshape(self.value.shape) if self.value.shape else made[0]

    @property
    def _size(self) -> int:
        return int(np.prod(self.value.shape, dtype=int))

    def _store_arguments(self, numbers: Sequence[Jet]) -> None:
        for k, x in enumerate(numbers):
            put(self.inputs, self.first_in + ARGUMENTS + k, 1.0 * x.value)

    def _result(self, t: Jet) -> Any:
        jets = [Jet([at(self.outputs, self.first_out + k)], [None] * len(t.gradient)) for k in range(self._size)]
        made = np.empty(len(jets), dtype=object)
        made[:] = jets
        return made.reshape(self.value.shape) if self.value.shape else made[0]

    def _finite(self, numbers: Sequence[Any]) -> Any:
        """Return a condition in the generated code that is true if all `numbers` are finite."""
        total: Any = 0.0
        for x in numbers:
            total = total + x * 0.0
        if not isinstance(total, TracedValue):
            return ir.Constant(ir.IntType(1), int(total == 0.0))
        return self.inputs.builder.fcmp_ordered("==", total.number().value, _constant(0.0))

    def _call(self, t: Jet, derivative: int) -> None:
        arrays = self.inputs.address(self.first_in + ARGUMENTS), self.outputs.address(self.first_out)
        call_address(self.inputs, self.first_in + derivative, t.value, *arrays)


def _constant(x: float) -> ir.Constant:
    return ir.Constant(DOUBLE, x)


class NumberCall:
    """A user function in a force law, evaluated with floats or with jets of floats."""

    def __init__(self, value: Value, layout: LawLayout) -> None:
        self.value, self.order = value, layout.order

    def __call__(self, t: Jet, *arguments: Any) -> Any:
        """Return the value of the user function.

        If the layout requires time derivatives of the loads, the value is a jet with time derivatives.
        """
        return self.value.along(self.order, t, *arguments)


class DualCall:
    """A user function in a force law, evaluated with dual numbers for derivatives along several directions.

    A function that accepts only floats is differentiated numerically. As numerical differentiation is not possible in
    machine code, no machine code is generated for such a law.
    """

    takes_jets = True

    def __init__(self, value: Value) -> None:
        self.value = value

    def __call__(self, t: Jet, *arguments: Any) -> Any:
        """Return the value of the user function with its derivatives along all directions."""
        try:
            with bounded(MOST_INSTRUCTIONS):
                found = self.value.shaped(of_floats(self.value.function, t, *arguments)[0])
        except Exception as error:  # any error means that it is run on floats
            if is_traced(t.value) or any(g is not None for x in arguments for j in np.ravel(x) for g in j.gradient):
                raise BranchingError(str(error)) from error
            found = self._interpolated(t, arguments)
        return found if self.value.shape else np.ravel(found)[0]

    def _interpolated(self, t: Jet, arguments: Sequence[Any]) -> np.ndarray:
        bare = [np.vectorize(lambda jet: jet.value, otypes=[object])(x) for x in arguments]
        value, derivative = in_directions(self.value, t.value, bare)
        found = np.empty(value.shape, dtype=object)
        for place in np.ndindex(*found.shape):
            found[place] = Jet([Dual(float(value[place]), derivative[place])], [None] * len(t.gradient))
        return found


def written_calls(
    values: Sequence[Value], layout: LawLayout, inputs: TracedValue, outputs: TracedValue, refused: Sequence[bool]
) -> list[WrittenCall]:
    """Return a `WrittenCall` for each user function of a force element.

    `layout` gives the positions of the arguments and results in the arrays `inputs` and `outputs`. `refused` holds, for
    each function, whether it must be called by its address instead of being traced.
    """
    calls, first_in, first_out = [], layout.first_function, layout.function_output
    for value, called in zip(values, refused, strict=True):
        calls.append(WrittenCall(value, inputs, outputs, first_in, first_out, called))
        first_in, first_out = first_in + value.entries, first_out + value.returns
    return calls
