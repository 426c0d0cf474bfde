"""Relations, constraints defined by functions, for compiled code: machine code, or callbacks to Python.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakSet

import numpy as np

from quirk.autodiff.condition import BranchingError
from quirk.constraints.relation import LANES, Relation, RelationLayout
from quirk.dynamics.model.model import Model, PlacedRelation
from quirk.functions.fingerprint import fingerprint
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import address_of, pointer_to_python
from quirk.jit.llvm_functions import Native, native
from quirk.jit.shared_code import SharedCode

from ..kernels.relations import ADDRESS, INPUT, ORDER, OUTPUT, RELATION_SIZE, Relations
from ..symbolic.tables_of_relations import layouts_of
from .motion_functions import Watch, place_functions

CODE = SharedCode[Native]()

# User functions known to branch on values, so that further solvers do not try to compile them again.
BRANCHING: WeakSet[Any] = WeakSet()


class Related:
    """Relations of one solver, with the addresses of their functions for compiled code.

    Relations are constraints defined by functions; Phi are their residuals. The addresses are valid as long as this
    object exists. Functions are compiled to machine code; those that branch on values or accept floats only are called
    in Python.

    Parameters
    ----------
    model : the model of the system
    table : tables of the relations, without addresses of functions
    watch : wrapper of Python functions for safe calls from compiled code; see `Applied.watched`
    order, gradient_order : highest time derivatives of Phi and of its gradients in `table`
    resting : whether accelerations and higher derivatives are zero; see `Relation.fill`
    refuse : predicate for user functions that must run in Python even if they could be compiled

    Attributes
    ----------
    table : tables of the relations, with the addresses filled in
    layouts : layout of the inputs and outputs of each relation
    called : user functions that run in Python
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
        """Return, for each row of relation r, the index in `table.outputs` of its gradient with respect to a frame.

        The gradient is with respect to translation and rotation of the frame. Its Taylor coefficients in time begin at
        this index, in increasing order, with eight elements each.
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
                # The function branches on values, which machine code does not support.
                with contextlib.suppress(TypeError):  # functions without weak references are not recorded
                    BRANCHING.add(relation.source)
        if relation.source is not None:
            self.called.append(relation.source)
        first_in, first_out = self.table.entry(r, INPUT), self.table.entry(r, OUTPUT)
        inputs = self.table.inputs[first_in : first_in + layout.inputs]
        outputs = self.table.outputs[first_out : first_out + layout.outputs]
        resting, frames = self._resting, inputs[layout.first_frame :]

        def fill(t: float) -> bool:
            if not np.isfinite(frames).all():  # non-finite state in a step that will be rejected
                return False
            placed.fill(layout, resting, t, inputs, outputs)
            return True

        return pointer_to_python(self._watch(fill, placed.owner))


def _branches(source: Any) -> bool:
    """Return whether a user function is recorded as branching on the values of its arguments."""
    try:
        return source in BRANCHING
    except TypeError:
        return False


def _compiled(relation: Relation, layout: RelationLayout, resting: bool) -> Native:
    """Return machine code that computes the outputs of a relation; relations with the same function share it.

    If `resting`, the accelerations and higher derivatives of the bodies are zero; see `Relation.fill`.
    """
    bare = without_numbers(relation)

    def fill(t: Any, inputs: Any, outputs: Any) -> None:
        bare.fill(layout, resting, t, inputs, outputs)

    return CODE.get(shared_key(relation, layout, resting), lambda: native(fill, keep=not relation.of_user))


def without_numbers(relation: Relation) -> Relation:
    """Return a copy of a relation without its constants, motions, units and names of rows.

    The copy is used to generate machine code that all relations with the same function share.
    """
    return Relation(relation.function, ("",) * len(relation.labels), (), of_velocities=relation.of_velocities)


def shared_key(relation: Relation, *details: Hashable) -> tuple[Any, ...] | None:
    """Return a key that is equal for relations that share machine code; None if their code cannot be shared.

    `details` are further parts of the key. Code of a user function is shared only if the function has a fingerprint,
    which proves that it is unchanged.
    """
    prints = None if relation.source is None else fingerprint(relation.source)
    if relation.of_user and prints is None:
        return None
    return (relation.function, prints, relation.of_velocities, *details)
