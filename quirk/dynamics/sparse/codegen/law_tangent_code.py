"""Force laws with derivatives in eight directions: machine code, or evaluation on dual numbers in Python.

The operations of a law are recorded once on a tape, a list in which common subexpressions occur only once. Dual
numbers, which are numbers with derivatives along eight directions, are then propagated through the tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.autodiff.condition import BranchingError
from quirk.autodiff.dual import Dual, DualArray
from quirk.autodiff.tape_tangent import recorded, replayed
from quirk.forces import ForceElement
from quirk.forces import law as laws
from quirk.forces.calls import DualCall
from quirk.forces.law_layout import LawLayout
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import pointer_to_python
from quirk.jit.llvm_functions import Native, native
from quirk.jit.shared_code import SharedCode
from quirk.jit.simd import WIDTH, load

from ..taylor.tapes import prints_of

# Function fill(t, inputs, outputs) of dual numbers.
Fill = Callable[[Any, Any, Any], None]
Watch = Callable[..., Callable[[float], Any]]

CODE = SharedCode[Native]()


def law_pointer(
    element: ForceElement,
    layout: LawLayout,
    inputs: np.ndarray,
    outputs: np.ndarray,
    watch: Watch,
    refuse: Callable[[Any], bool],
) -> Any:
    """Return a C function that computes the outputs of a force law with their derivatives in eight directions.

    The C function reads `inputs` and writes `outputs`, both with eight derivatives of each number. `watch` wraps a
    Python function for safe calls from compiled code; `refuse` is a predicate for functions that must run in Python.
    """

    def fill(t: Any, dual_inputs: Any, dual_outputs: Any) -> None:
        laws.run(element, layout, [DualCall(value) for value in element.functions], t, dual_inputs, dual_outputs)

    prints = prints_of(element)
    user_functions = [*(value.source for value in element.functions), *element.sources]
    if not plain_python() and not any(map(refuse, user_functions)):
        try:
            key = None if prints is None else (element.structure, prints, layout)
            keep = prints is not None and not element.of_user
            return CODE.get(key, lambda: _generated(fill, layout.inputs, layout.outputs, keep))
        except BranchingError:
            pass  # the law branches on values, or a function accepts floats only
        except Exception:
            if element.built_in and not element.functions:
                raise
    return _in_python(fill, inputs, outputs, layout.inputs, layout.outputs, watch, f"{element}")


def _generated(fill: Fill, inputs: int, outputs: int, keep: bool) -> Native:
    """Return machine code for a function of dual numbers, which have a value and eight derivatives.

    `fill` is the function, which writes its outputs to an array; `inputs` and `outputs` are the numbers of its inputs
    and outputs. In the array of inputs, the derivatives of time follow the derivatives of the inputs. If `keep` is
    true, the code is cached on disk.
    """

    def write(t: Any, dual_inputs: Any, dual_outputs: Any) -> None:
        time, numbers = Dual(t, load(dual_inputs, DualArray.size(inputs))), DualArray(dual_inputs, inputs)
        tape, _, filled = recorded(fill, inputs)
        places = {k: tape.place(x) for k, x in filled.outputs.items()}
        duals = replayed(tape, list(places.values()), lambda k: numbers[k] if k < inputs else time)
        returned = DualArray(dual_outputs, outputs)
        for k, place in places.items():
            returned[k] = duals[place]

    return native(write, keep=keep)


def _in_python(
    fill: Fill, inputs: np.ndarray, outputs: np.ndarray, count: int, returned: int, watch: Watch, title: str
) -> Any:
    def run(t: float) -> bool:
        if not np.isfinite(inputs[:count]).all():
            return False
        time = Dual(t, inputs[DualArray.size(count) : DualArray.size(count) + WIDTH].copy())
        fill(time, DualArray(inputs, count), DualArray(outputs, returned))
        return True

    return pointer_to_python(watch(run, title))
