"""Relations made ready to be called by kernels: each gets machine code, or a callback to Python where it cannot."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from quirk.autodiff.jet import BranchingError
from quirk.constraints.relation import LANES, Function, Relation, RelationLayout
from quirk.dynamics.model.model import Model, PlacedRelation
from quirk.functions.fingerprint import fingerprint
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import address_of, pointer_to_python
from quirk.jit.llvm_functions import Native, native

from ..kernels.relations import ADDRESS, INPUT, ORDER, OUTPUT, RELATION_SIZE, Relations
from ..symbolic.tables_of_relations import layouts_of
from .motion_functions import Watch, place_functions

# So many functions are kept compiled for systems to come; those of present ones are kept by these.
MOST_COMPILED = 256

# Users' functions that branch on numbers, which each solver of a run would find out anew.
BRANCHING: WeakSet[Any] = WeakSet()


class Related:
    """The relations of one solver, with the addresses at which kernels call their functions.

    The addresses are valid as long as this object lives. Functions are compiled to machine code; those that branch on
    values or that cannot be run on anything but floats are called in Python.

    Parameters
    ----------
    watch : makes a Python function safe to be called from compiled code; see `Applied.watched`
    order, gradient_order : those with which `table` was laid out
    resting : whether accelerations and higher derivatives are taken as zero; see `Relation.fill`
    refuse : tells of a user's function whether it is to run in Python even if it could be compiled

    Attributes
    ----------
    table : Relations, with the addresses filled in
    layouts : the layout of each relation's inputs and outputs
    called : the users' functions that run in Python
    """

    def __init__(
        self,
        model: Model,
        table: Relations,
        watch: Watch,
        order: int = ORDER,
        gradient_order: int = 0,
        resting: bool = True,
        refuse: Callable[[Any], bool] = lambda function: False,
    ) -> None:
        self.layouts = layouts_of(model, order, gradient_order)
        self._order, self._resting = order, resting
        motions = [
            (f"{placed.owner}, motion", motion) for placed in model.relations for motion in placed.relation.motions
        ]
        self.table = table._replace(
            entries=table.entries.copy(),
            inputs=table.inputs.copy(),
            outputs=table.outputs.copy(),
            motions=table.motions._replace(entries=table.motions.entries.copy(), numbers=table.motions.numbers.copy()),
        )
        self._pointers: list[Any] = []
        self._watch, self._refuse = watch, refuse
        self.called: list[Any] = []
        for r, (placed, layout) in enumerate(zip(model.relations, self.layouts, strict=True)):
            self.table.entries[RELATION_SIZE * r + ADDRESS] = self._keep(self._pointer(r, placed, layout))
        kept, called = place_functions(self.table.motions, motions, order, watch, refuse)
        self._pointers += kept
        self.called += called

    def gradient_starts(self, r: int, frame: int) -> np.ndarray:
        """Where in `table.outputs` the gradient of each row of relation r, with respect to one of its frames, starts.

        From there on stand its Taylor coefficients, eight lanes each, order 0 first.
        """
        layout, terms = self.layouts[r], self.layouts[r].gradient_order + 1
        first = self.table.entry(r, OUTPUT) + layout.first_gradient
        return first + LANES * terms * (layout.frames * np.arange(layout.rows) + frame)

    def _keep(self, pointer: Any) -> int:
        self._pointers.append(pointer)
        return address_of(pointer)

    def _pointer(self, r: int, placed: PlacedRelation, layout: RelationLayout) -> Any:
        relation = placed.relation
        refused = relation.source is not None and self._refuse(relation.source)
        if relation.compilable and not refused and not _branches(relation.source) and not plain_python():
            try:
                return _compiled(relation, layout, self._resting)
            except BranchingError:
                # Its way depends on numbers, which machine code for all numbers cannot follow.
                with contextlib.suppress(TypeError):  # what cannot be referred to weakly is tried again
                    BRANCHING.add(relation.source)
        if relation.source is not None:
            self.called.append(relation.source)
        first_in, first_out = self.table.entry(r, INPUT), self.table.entry(r, OUTPUT)
        inputs = self.table.inputs[first_in : first_in + layout.inputs]
        outputs = self.table.outputs[first_out : first_out + layout.outputs]
        resting, frames = self._resting, inputs[layout.first_frame :]

        def fill(t: float) -> bool:
            if not np.isfinite(frames).all():  # a step went astray; it will be taken again
                return False
            placed.fill(layout, resting, t, inputs, outputs)
            return True

        return pointer_to_python(self._watch(fill, placed.owner))


def _branches(source: Any) -> bool:
    """Whether a user's function is known to branch on numbers."""
    try:
        return source in BRANCHING
    except TypeError:
        return False


def _compiled(relation: Relation, layout: RelationLayout, resting: bool) -> Native:
    """Return machine code that fills the outputs of a relation; relations with the same function share it.

    A user's function is shared only if its fingerprint can be taken, that is if what it does cannot change.
    """
    prints = None if relation.source is None else fingerprint(relation.source)
    if relation.of_user and prints is None:
        # Its function may do something else than the last time.
        return _written(relation.function, relation.of_velocities, layout, resting, keep=False)
    return _shared(relation.function, prints, relation.of_velocities, layout, resting, not relation.of_user)


@functools.lru_cache(MOST_COMPILED)
def _shared(
    function: Function, prints: Any, of_velocities: bool, layout: RelationLayout, resting: bool, keep: bool
) -> Native:
    return _written(function, of_velocities, layout, resting, keep)


def _written(function: Function, of_velocities: bool, layout: RelationLayout, resting: bool, keep: bool) -> Native:
    relation = Relation(function, ("",) * layout.rows, (), of_velocities=of_velocities)

    def fill(t: Any, inputs: Any, outputs: Any) -> None:
        relation.fill(layout, resting, t, inputs, outputs)

    return native(fill, keep=keep)
