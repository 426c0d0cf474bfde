"""Machine code of relations that also computes directional derivatives of rows and constraint loads.

A relation is a constraint defined by a function; Phi are its residuals. Its operations are recorded once on a tape, a
list in which common subexpressions occur only once. Dual numbers, which have a value and derivatives in eight
directions, are then propagated through the tape.

The outputs are, in this order: the values in the layout of `quirk.constraints.relation.RelationLayout`; eight
derivatives of each time derivative of Phi; and eight derivatives of each component of the constraint loads, which have
six components and two of padding per frame. The inputs are followed by their derivatives, and by the multipliers, which
are treated as constants.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.autodiff.condition import BranchingError
from quirk.autodiff.dual import Dual, DualArray
from quirk.autodiff.tape import Tape
from quirk.autodiff.tape_tangent import recorded, replayed
from quirk.constraints.relation import LANES, Relation, RelationLayout
from quirk.dynamics.model.model import PlacedRelation
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import pointer_to_python
from quirk.jit.llvm_functions import Native, native
from quirk.jit.scalar import Scalar, is_zero, plus, times
from quirk.jit.shared_code import SharedCode
from quirk.jit.simd import WIDTH, at, load, put, splat, store

from .law_tangent_code import Watch
from .relation_functions import shared_key, without_numbers

COMPONENTS = 6


CODE = SharedCode[Native]()


def inputs_of(layout: RelationLayout) -> int:
    """Return the length of a relation's input array: inputs, their derivatives in eight directions, and multipliers."""
    return DualArray.size(layout.inputs) + WIDTH + layout.rows


def outputs_of(layout: RelationLayout) -> int:
    """Return the length of a relation's output array: values, and derivatives of residuals and constraint loads."""
    return layout.outputs + WIDTH * (layout.first_gradient + LANES * layout.frames)


def relation_pointer(
    placed: PlacedRelation,
    layout: RelationLayout,
    inputs: np.ndarray,
    outputs: np.ndarray,
    watch: Watch,
    refuse: Any,
) -> Any:
    """Return a C function that computes `outputs` of a relation from `inputs`, with derivatives in eight directions.

    Both arrays must be zero initially. `watch` wraps a Python function for safe calls from compiled code; `refuse` is a
    predicate for functions that must run in Python.
    """
    relation = placed.relation
    refused = relation.source is not None and refuse(relation.source)
    if relation.compilable and not refused and not plain_python():
        try:
            bare = without_numbers(relation)
            return CODE.get(shared_key(relation, layout), lambda: _generated(bare, layout, keep=not relation.of_user))
        except BranchingError:
            pass  # it branches on values
    return _in_python(placed, layout, inputs, outputs, watch)


def _generated(relation: Relation, layout: RelationLayout, keep: bool) -> Native:
    def write(t: Any, dual_inputs: Any, dual_outputs: Any) -> None:
        time, numbers = Dual(t, load(dual_inputs, DualArray.size(layout.inputs))), DualArray(dual_inputs, layout.inputs)
        multipliers = _multipliers(layout, dual_inputs)

        def read(k: int) -> Any:
            if k > layout.inputs:
                return Dual(multipliers[k - layout.inputs - 1], 0)
            return numbers[k] if k < layout.inputs else time

        try:
            tape, rows, loads = _recorded(relation, layout)
            duals = replayed(tape, [*rows, *loads], read)
            _write(layout, [duals[place] for place in rows], [duals[place] for place in loads], dual_outputs)
        except Exception:  # tapes do not support tables: dual numbers are propagated through the function itself
            collected = _Collected()
            relation.fill_dual(layout, time, numbers, collected)
            _write(layout, collected.listed(layout.outputs), _loads(layout, collected, multipliers), dual_outputs)

    return native(write, keep=keep)


def _recorded(relation: Relation, layout: RelationLayout) -> tuple[Tape, list[int], list[int]]:
    """Return a tape of the outputs and the constraint loads of a relation, and the places of both on the tape.

    The inputs of the tape are the inputs of the relation, the time, and the multipliers.
    """
    tape, inputs, outputs = recorded(functools.partial(relation.fill_dual, layout), layout.inputs)
    values = [outputs.outputs[k] for k in range(layout.outputs)]
    loads = _loads(layout, values, [inputs[layout.inputs + 1 + row] for row in range(layout.rows)])
    return tape, [tape.place(x) for x in values], [tape.place(x) for x in loads]


class _Collected(Scalar):
    """Array that collects the outputs of a relation's function as dual numbers."""

    def __init__(self) -> None:
        self.outputs: dict[int, Any] = {}

    @property
    def written(self) -> bool:
        """Always False: operations compute values and do not emit machine code."""
        return False

    def __getitem__(self, index: int) -> Any:
        return self.outputs[index]

    def __setitem__(self, index: int, x: Any) -> None:
        self.outputs[index] = x

    def store(self, index: int, lanes: Any) -> None:
        """Store eight successive outputs, from `index` on; `lanes` is a vector of eight elements."""
        self.outputs.update((index + k, x) for k, x in enumerate(lanes.entries))

    def listed(self, count: int) -> list[Any]:
        """Return the first `count` outputs as a list."""
        return [self.outputs[k] for k in range(count)]


def _multipliers(layout: RelationLayout, dual_inputs: Any) -> list[Any]:
    return [at(dual_inputs, DualArray.size(layout.inputs) + WIDTH + row) for row in range(layout.rows)]


def _loads(layout: RelationLayout, outputs: Any, multipliers: Sequence[Any]) -> list[Any]:
    """Return the components of the constraint loads on the bodies of all frames, eight per frame.

    `outputs` are the outputs of the relation, which contain the gradients of its rows. `multipliers` are the
    multipliers of these rows.
    """
    components = []
    for frame in range(layout.frames):
        for c in range(LANES):
            first, step = layout.first_gradient + LANES * frame + c, LANES * layout.frames
            parts = [times(outputs[first + step * row], multipliers[row]) for row in range(layout.rows)]
            components.append(functools.reduce(plus, parts) if c < COMPONENTS else 0)
    return components


def _write(layout: RelationLayout, outputs: Sequence[Any], loads: Sequence[Any], target: Any) -> None:
    """Write `outputs` to `target`, followed by the derivatives of the residuals and of `loads`.

    Derivatives of `loads` that are zero are not stored.
    """
    for k, x in enumerate(outputs):
        put(target, k, 1.0 * (x.value if isinstance(x, Dual) else x))
    changing = [*outputs[: layout.first_gradient], *loads]
    for k, x in enumerate(changing):
        delta = x.delta if isinstance(x, Dual) else 0
        if not is_zero(delta):
            store(target, layout.outputs + WIDTH * k, delta)
        elif k < layout.first_gradient:
            store(target, layout.outputs + WIDTH * k, splat(getattr(target, "zero", 0.0)))


def _in_python(
    placed: PlacedRelation, layout: RelationLayout, inputs: np.ndarray, outputs: np.ndarray, watch: Watch
) -> Any:
    count = layout.inputs

    def run(t: float) -> bool:
        if not np.isfinite(inputs[:count]).all():
            return False
        time = Dual(t, load(inputs, DualArray.size(count)))
        values = DualArray(np.zeros(DualArray.size(layout.outputs)), layout.outputs)
        placed.fill_dual(layout, time, DualArray(inputs, count), values)
        loads = _loads(layout, values, _multipliers(layout, inputs))
        _write(layout, [values[k] for k in range(layout.outputs)], loads, outputs)
        return True

    return pointer_to_python(watch(run, placed.owner))
