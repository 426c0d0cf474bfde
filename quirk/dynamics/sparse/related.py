"""The functions of relations and motions behind their pointers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from quirk.compiled import plain_python
from quirk.constraints.jets import BranchingError
from quirk.constraints.relation import LANES, Function, Layout, Relation
from quirk.motion import Motion
from quirk.motion_table import ADDRESS as MOTION_ADDRESS
from quirk.motion_table import FUNCTION, MOTION_SIZE
from quirk.pointers import address_of, pointer_to_compiled, pointer_to_filler, pointer_to_python
from quirk.traced import traced

from ..model import Model, PlacedRelation
from ..towers import factorials
from .relations import ADDRESS, INPUT, ORDER, OUTPUT, RELATION_SIZE, Relations
from .tables_of_relations import layouts_of

# Catches what must not pass through compiled code.
Watch = Callable[[Callable[[float], Any]], Callable[[float], None]]


# So many functions are kept compiled for systems to come; those of present ones are kept by these.
MOST_COMPILED = 256


class Related:
    """The relations of one solver, with all that they need to stay alive.

    Parameters
    ----------
    order, gradient_order : those with which `table` was laid out
    resting : whether accelerations and what follows are taken for zero; see `Relation.fill`

    Attributes
    ----------
    table : Relations
    layouts : of each relation
    """

    def __init__(
        self,
        model: Model,
        table: Relations,
        watch: Watch,
        order: int = ORDER,
        gradient_order: int = 0,
        resting: bool = True,
    ) -> None:
        self.layouts = layouts_of(model, order, gradient_order)
        self._order, self._resting = order, resting
        motions = [motion for placed in model.relations for motion in placed.relation.motions]
        self.table = table._replace(
            entries=table.entries.copy(),
            inputs=table.inputs.copy(),
            outputs=table.outputs.copy(),
            motions=table.motions._replace(entries=table.motions.entries.copy()),
        )
        self._pointers: list[Any] = []
        self._watch = watch
        for r, (placed, layout) in enumerate(zip(model.relations, self.layouts, strict=True)):
            self.table.entries[RELATION_SIZE * r + ADDRESS] = self._keep(self._pointer(r, placed, layout))
        for m, motion in enumerate(motions):
            if motion.kind == FUNCTION:
                self.table.motions.entries[MOTION_SIZE * m + MOTION_ADDRESS] = self._keep(self._motion_pointer(motion))

    def gradient_starts(self, r: int, frame: int) -> np.ndarray:
        """Where in the outputs the gradients of each row of a relation with respect to one of its frames start.

        Lanes of order 0, followed by those of higher orders.
        """
        layout, terms = self.layouts[r], self.layouts[r].gradient_order + 1
        first = self.table.entry(r, OUTPUT) + layout.first_gradient
        return first + LANES * terms * (layout.frames * np.arange(layout.rows) + frame)

    def _keep(self, pointer: Any) -> int:
        self._pointers.append(pointer)
        return address_of(pointer)

    def _pointer(self, r: int, placed: PlacedRelation, layout: Layout) -> Any:
        relation = placed.relation
        if relation.compilable and not plain_python():
            try:
                return compiled_relation(relation.function, relation.of_velocities, layout, self._resting)
            except BranchingError:
                pass  # its way depends on numbers, which machine code for all numbers cannot follow
        first_in, first_out = self.table.entry(r, INPUT), self.table.entry(r, OUTPUT)
        inputs = self.table.inputs[first_in : first_in + layout.inputs]
        outputs = self.table.outputs[first_out : first_out + layout.outputs]
        resting, frames = self._resting, inputs[layout.first_frame :]

        def fill(t: float) -> bool:
            if not np.isfinite(frames).all():  # a step went astray; it will be taken again
                return False
            placed.fill(layout, resting, t, inputs, outputs)
            return True

        return pointer_to_python(self._watch(fill))

    def _motion_pointer(self, motion: Motion) -> Any:
        # What is not given is left out: then what depends on it is not a number.
        known, alone = int(min(self._order, motion.known)), motion.alone

        def call(t: float, outputs: np.ndarray) -> None:
            outputs[: known + 1] = alone.derivatives(t, known) / factorials(known)

        return pointer_to_filler(call, self._order + 1, self._watch)


@functools.lru_cache(MOST_COMPILED)
def compiled_relation(function: Function, of_velocities: bool, layout: Layout, resting: bool) -> Any:
    """Return the C function of a relation, differentiated, compiled once in a process for all that share it."""
    relation = Relation(function, ("",) * layout.rows, (), of_velocities=of_velocities)

    def fill(t: Any, inputs: Any, outputs: Any) -> None:
        relation.fill(layout, resting, t, inputs, outputs)

    written = traced(fill, returns=False)
    count_in, count_out = layout.inputs, layout.outputs

    def call(t, inputs, outputs):  # type: ignore[no-untyped-def]
        written(t, numba.carray(inputs, count_in), numba.carray(outputs, count_out))

    return pointer_to_compiled(call)
