"""Generation of the machine code of force laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quirk.forces import ForceElement
from quirk.forces.calls import WrittenCall, written_calls
from quirk.forces.law import run
from quirk.forces.law_layout import LawLayout
from quirk.jit.llvm_functions import Native, native
from quirk.jit.shared_code import SharedCode

from ..taylor.tapes import prints_of

# Machine code of a force law, and for each of its user functions whether it runs in Python.
Made = tuple[Native, tuple[bool, ...]]

CODE = SharedCode[Made]()


def law_code(element: ForceElement, layout: LawLayout, refused: Sequence[bool]) -> Made:
    """Return machine code for the law of a force element; elements of the same structure share it.

    `refused` contains, for each user function, whether it must run in Python. The result is a pair: the machine code,
    and for each user function whether it is called in Python.
    """
    prints = prints_of(element)
    key = None if prints is None else (element.structure, prints, layout, tuple(refused))
    keep = prints is not None and not element.of_user
    return CODE.get(key, lambda: _generated(element, layout, refused, keep))


def _generated(element: ForceElement, layout: LawLayout, refused: Sequence[bool], keep: bool) -> Made:
    calls: list[WrittenCall] = []

    def law(t: Any, inputs: Any, outputs: Any) -> None:
        calls[:] = written_calls(element.functions, layout, inputs, outputs, refused)
        run(element, layout, calls, t, inputs, outputs)

    code = native(law, keep=keep)
    return code, tuple(not call.written for call in calls)
