"""User functions and motions of force laws in SIMD lanes; they must be machine code that cannot change.

If the value of a traced function is not finite, its machine code normally calls the function again in Python. In lanes
the state of the member becomes NaN instead, and the member is simulated separately.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from quirk.dynamics.model.model import Model
from quirk.forces import ForceElement
from quirk.forces.calls import ADDRESS, CHECKED
from quirk.forces.law_layout import LawLayout
from quirk.forces.state_function import StateCall
from quirk.forces.value import Value
from quirk.functions.fingerprint import fingerprint
from quirk.functions.motion import Motion
from quirk.jit.llvm_functions import Native, native


def law_print(element: ForceElement) -> Hashable | None:
    """Return a key of the user functions and motions of a force element; None if they may change or are not comparable.

    Force elements with equal structure and equal keys differ only in numerical parameters.
    """
    if not element.built_in:
        return None
    functions = tuple(_function_key(value) for value in element.functions)
    motions = tuple(_motion_print(element.motion(name)) for name in element.motions)
    return None if None in functions or None in motions else (functions, motions)


def prints_of_laws(model: Model) -> tuple[Hashable | None, ...]:
    """Return the keys of the functions and motions of all force elements of a model; see `law_print`."""
    return tuple(law_print(element) for element, _ in model.forces)


def _function_key(value: Value) -> Hashable | None:
    """Return a hashable key that is equal for user functions with equal results; None if the function may change.

    The key of a function of the state includes the bodies and joints on which it depends.
    """
    printed, function = fingerprint(value.source), value.function
    if isinstance(function, StateCall):
        printed = None if printed is None else (printed, function.parts_read)
    try:
        hash(printed)
    except TypeError:
        return None
    return printed


def _motion_print(motion: Motion) -> Hashable | None:
    key: list[Any] = []
    for part in motion.parts:
        functions = tuple(fingerprint(function) for function in part.functions if function is not None)
        if None in functions:
            return None
        numbers = part.breaks.tobytes(), part.coefficients.tobytes(), part.period, part.start, part.end
        key.append((part.kind, numbers, functions))
    return tuple(key)


def write_law(inputs: np.ndarray, fixed: np.ndarray, layout: LawLayout) -> None:
    """Copy the parameters and frames of a force law from the inputs `fixed` to the inputs `inputs`.

    Both arrays have the layout `layout`. Addresses of functions are not copied.
    """
    inputs[: layout.first_function] = fixed[: layout.first_function]
    inputs[layout.first_motion :] = fixed[layout.first_motion :]


def call_nothing(inputs: np.ndarray, elements: Sequence[tuple[int, ForceElement]]) -> None:
    """Replace the addresses of user functions in the inputs of all force laws by the address of an empty function.

    `inputs` (count, inputs) are the inputs of the laws of all members; `elements` are pairs (index of the first input,
    force element).
    """
    addresses = inputs.view(np.int64)
    for first, element in elements:
        place = first + element.layout().first_function
        for value in element.functions:
            addresses[:, place + ADDRESS] = addresses[:, place + CHECKED] = _nothing().address
            place += value.entries


@functools.cache
def _nothing() -> Native:
    def nothing(t: Any, inputs: Any, outputs: Any) -> None:
        pass

    return native(nothing, keep=True)
