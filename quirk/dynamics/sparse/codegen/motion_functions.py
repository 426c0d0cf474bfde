"""Prescribed motions defined by user functions of time: machine code if possible, otherwise callbacks to Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from quirk.autodiff.jet import Jet
from quirk.dynamics.model.time_derivatives import factorials
from quirk.forces.calls import MOST_INSTRUCTIONS
from quirk.functions.fingerprint import fingerprint
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import ADDRESS, BREAKS, FUNCTION, MOTION_SIZE, MotionTable
from quirk.functions.user_function import of_floats
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import address_of, pointer_to_filler
from quirk.jit.llvm_functions import Native, call_address, native
from quirk.jit.shared_code import SharedCode
from quirk.jit.simd import at, put
from quirk.jit.traced_value import bounded

# Wrapper that makes a Python function safe to call from compiled code, and counts its calls; see `Applied.watched`.
Watch = Callable[[Callable[[float], Any], str], Callable[[float], None]]

CODE = SharedCode[Native]()


def place_functions(
    table: MotionTable,
    motions: Sequence[tuple[str, Motion]],
    order: int,
    watch: Watch,
    refuse: Callable[[Any], bool],
) -> tuple[list[Any], list[Any]]:
    """Write the addresses of prescribed motions that are user functions of time into a table of motions.

    Parameters
    ----------
    table : table of the motions, which is changed
    motions : motions of the table, each with the title under which its calls are counted
    order : highest order of time derivatives
    watch : wrapper of Python functions for safe calls from compiled code
    refuse : predicate for user functions that must run in Python even if they could be compiled

    Returns
    -------
    kept : objects that own the addresses, and must exist while the addresses are used
    called : functions that run in Python
    """
    kept: list[Any] = []
    called: list[Any] = []
    for m, (who, motion) in enumerate(motions):
        if motion.kind != FUNCTION:
            continue
        e = MOTION_SIZE * m
        checked = pointer_to_filler(
            _filler(who, motion.alone, order), order + 1, lambda fill, who=who: watch(fill, who)
        )
        functions = motion.functions[: int(min(order, motion.known)) + 1]
        refused = plain_python() or any(refuse(function) for function in functions)
        written = None if refused else _generated(functions)
        kept += [checked, written]
        called += functions if written is None else ()
        table.entries[e + ADDRESS] = address_of(checked) if written is None else written.address
        # Address of the Python callback that machine code calls to report an invalid value.
        table.numbers.view(np.int64)[table.entries[e + BREAKS]] = address_of(checked)
    return kept, called


def _filler(title: str, motion: Motion, order: int) -> Callable[[float, np.ndarray], None]:
    # Derivatives that are not available stay nan, and so do the results that depend on them.
    known = int(min(order, motion.known))

    def fill(t: float, outputs: np.ndarray) -> None:
        outputs[: known + 1] = motion.derivatives_for(title, t, known) / factorials(known)

    return fill


def _generated(functions: Sequence[Any]) -> Native | None:
    """Return machine code for the functions of a motion and its derivatives, or None if it cannot be generated."""
    prints = tuple(fingerprint(function) for function in functions)
    try:
        return CODE.get(None if None in prints else prints, lambda: _machine_code(functions))
    except Exception:  # any exception: the functions are then called in Python, where errors are reported
        return None


def _machine_code(functions: Sequence[Any]) -> Native:
    def fill(t: Any, inputs: Any, outputs: Any) -> None:
        total: Any = 0.0
        for k, (function, factorial) in enumerate(zip(functions, factorials(len(functions) - 1), strict=True)):
            with bounded(MOST_INSTRUCTIONS):
                derivative, checks = of_floats(function, Jet([t], []))
            value = (
                1.0
                * (derivative.value if isinstance(derivative, Jet) else float(derivative))
                * (1.0 / float(factorial))
            )
            put(outputs, k, value)
            for x in (at(outputs, k), *checks):
                total = total + x * 0.0
        build = inputs.builder
        with build.if_then(build.fcmp_unordered("!=", total.value, ir.Constant(ir.DoubleType(), 0.0))):
            call_address(inputs, 0, t, inputs.address(0), outputs.address(0))

    return native(fill, keep=False)
