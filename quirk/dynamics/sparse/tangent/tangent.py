"""Python interface to the directional derivatives of the accelerations of one model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from quirk.autodiff.dual import DualArray
from quirk.constraints.relation import layout_of
from quirk.dynamics.model.directions import FREEDOMS, Directions
from quirk.dynamics.model.layout import WRENCH_SIZE
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.dynamics.model.tangents import Tangent
from quirk.errors import InputError
from quirk.forces import Friction
from quirk.forces.friction import NORMAL
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import MotionTable
from quirk.jit.function_pointers import address_of
from quirk.jit.simd import WIDTH, aligned

from ..codegen.law_tangent_code import law_pointer
from ..codegen.motion_functions import place_functions
from ..codegen.relation_tangent_code import inputs_of, outputs_of, relation_pointer
from ..kernels.applied import ELEMENT_SIZE
from ..kernels.applied import INPUT as LAW_INPUT
from ..solver.solver import Solver
from .elements import OF_LAWS, OF_RELATIONS
from .friction import BEARING
from .motion_tangents import compute_tangents
from .row_changes import ChangedRows
from .tables import (
    ADDRESS,
    ELEMENT,
    FRAMES,
    INERTIA,
    INPUT,
    INPUTS,
    LEVELS,
    LOAD,
    MASS,
    MASSES,
    MOVING,
    OUTPUT,
    SEED,
    FrictionInputs,
    TangentElements,
    Tangents,
)

# Number of derivatives of time, stored after the inputs of an element and their derivatives.
TIME = WIDTH
# Index of the axes in the inputs of a frame, after its origin.
ORIGIN = 3


class Differential:
    """Directional derivatives of the accelerations of one model, with respect to states and parameters.

    The object can be used by one computation at a time.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._pointers: list[Any] = []
        self._seeded: dict[int, list[int]] = {}
        self._changed: ChangedRows | None = None
        model, slots = solver.model, solver.slots
        self.relations = as_relations(model)
        self._internal = sum(s.stop - s.start for s in model.auxiliary.internal.values())
        S, K = slots.lanes, len(solver.work.x) // WIDTH
        self._laws, self._rows = self._of_laws(), self._of_relations()
        self.tangents = Tangents(
            laws=self._laws,
            relations=self._rows,
            friction=self._of_friction(),
            lanes=solver.tables.row_lane,
            occupied=np.unique(slots.slot).astype(np.int64),
            seeds=aligned(SEED * S),
            masses=aligned(MASSES * S),
            gravity=aligned(3 * WIDTH),
            time=aligned(WIDTH),
            internal=aligned(WIDTH * self._internal),
            moving=aligned(MOVING * S),
            accelerations=aligned(6 * S),
            loads=aligned(LOAD * S),
            levels=aligned(WIDTH * LEVELS * WIDTH * K),
            rates=aligned(WIDTH * self._internal),
            multipliers=aligned(WIDTH * K),
            wrenches=aligned(WIDTH * slots.lanes * WRENCH_SIZE),
            changes=aligned(WIDTH * WIDTH * K),
        )

    def at(self, y: np.ndarray, t: float, directions: Directions) -> Tangent:
        """Return the derivatives of accelerations and multipliers in `directions` at time t (s) and state y.

        The independent rows must have been selected at this state.
        """
        solver = self.solver
        timed = bool(directions.time.any())
        if timed:
            self.require_motions()
        ydot = solver.rates(t, y)
        solver.applied.check(t)
        multipliers = solver.work.x.copy()
        parts = []
        for first in range(0, directions.count, WIDTH):
            solver.work.x[:] = multipliers  # overwritten by the last eight directions
            parts.append(self._eight(y, ydot, t, directions, first, timed))
        return Tangent(*(np.concatenate(part)[: directions.count] for part in zip(*parts, strict=True)))

    def set_directions(self, directions: Directions, first: int) -> None:
        """Write eight of the directions, beginning with direction `first`, to the arrays read by compiled code."""
        tangents, n = self.tangents, len(self.solver.model.mass)

        def eight(x: np.ndarray) -> np.ndarray:
            taken = x[..., first : first + WIDTH]
            return np.concatenate([taken, np.zeros((*x.shape[:-1], WIDTH - taken.shape[-1]))], axis=-1)

        slots_of_bodies = self.solver.slots.slot[:n]
        tangents.seeds.reshape(-1, FREEDOMS, WIDTH)[slots_of_bodies] = eight(directions.bodies)
        masses = tangents.masses.reshape(-1, 10, WIDTH)
        masses[slots_of_bodies, MASS] = eight(directions.mass)
        masses[slots_of_bodies, INERTIA // WIDTH :] = eight(directions.inertia).reshape(n, 9, WIDTH)
        tangents.gravity.reshape(3, WIDTH)[:] = eight(directions.gravity)
        tangents.time[:] = eight(directions.time)
        tangents.internal.reshape(-1, WIDTH)[:] = eight(directions.internal[: self._internal])
        for elements, changes in ((tangents.laws, directions.laws), (tangents.relations, directions.relations)):
            self._seed(elements, changes, eight)

    def _eight(
        self, y: np.ndarray, ydot: np.ndarray, t: float, directions: Directions, first: int, timed: bool
    ) -> tuple[np.ndarray, ...]:
        solver, model, tangents, slots = self.solver, self.solver.model, self.tangents, self.solver.slots
        self.set_directions(directions, first)
        with solver.applied.calling():
            compute_tangents(solver.mechanism, tangents, float(t), y, ydot, timed)
        solver.applied.check(t)
        wrenches = slots.from_lanes(tangents.wrenches.reshape(WIDTH, -1), WRENCH_SIZE)
        linear = wrenches[..., :3] / model.mass[:, None]
        angular = np.einsum("nij,dnj->dni", self.solver.model.inverse_root, wrenches[..., 3:])
        x = self._shared(y, t, tangents.changes.reshape(WIDTH, -1)[:, solver.tables.row_lane])
        levels = tangents.levels.reshape(-1, LEVELS, WIDTH)[solver.tables.row_lane]
        rates = np.zeros((model.auxiliary.size, WIDTH))
        rates[: self._internal] = tangents.rates.reshape(-1, WIDTH)
        friction = tangents.friction.magnitudes.reshape(-1, WIDTH).T.copy()
        return linear, angular, x, rates.T, np.moveaxis(levels, -1, 0), friction

    def _shared(self, y: np.ndarray, t: float, changes: np.ndarray) -> np.ndarray:
        """Return the derivatives (8, m) of the minimum-norm multipliers of m constraint rows in eight directions.

        `changes` (8, m) are the derivatives of the multipliers of the independent rows, at time t (s) and state y.
        """
        return self._least(y, t, changes)[1] if self.solver.redundant else changes

    def share(self, y: np.ndarray, t: float, count: int) -> None:
        """Replace the multipliers and their derivatives in the first `count` directions by those of minimum norm.

        This applies if multipliers are not unique, because constraints are redundant. t is the time (s), and y the
        state.
        """
        tangents, lanes = self.tangents, self.solver.tables.row_lane
        changes = tangents.changes.reshape(WIDTH, -1)
        tangents.multipliers[lanes], changes[:count, lanes] = self._least(y, t, changes[:count, lanes])

    def _least(self, y: np.ndarray, t: float, changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimum-norm multipliers (m,) of m rows at the last evaluated state, and their derivatives (d, m).

        `changes` (d, m) are the derivatives of the multipliers of the independent rows in d directions. The state is y,
        at time t (s).
        """
        solver = self.solver
        if self._changed is None:
            self._changed = ChangedRows(solver, self.relations, self._rows)
        multipliers = self.tangents.multipliers[solver.tables.row_lane]
        rows = self._changed.at(y, t)[: len(changes)]
        shared = [solver.shared([multipliers, x], [solver.work.G, G]) for x, G in zip(changes, rows, strict=True)]
        return shared[0][0], np.array([change for _, change in shared])

    def _seed(self, elements: TangentElements, changes: Any, eight: Any) -> None:
        """Set the derivatives of the inputs of all elements in eight parameter directions.

        `changes` are the derivatives of the inputs that vary, by index of the element and of the input, and the
        function `eight` selects those in the eight directions; the derivatives of all other inputs become zero.
        Compiled code later adds the derivatives of prescribed motions with respect to time.
        """
        entries = elements.entries.reshape(-1, ELEMENT)
        terms = len(elements.taylor) - 1
        for _, first, _, count, _, _, place, _, motion, end, *_ in entries:
            o = first + count + WIDTH * place
            elements.inputs[o : o + WIDTH * terms * (end - motion)] = 0.0
        for place in self._seeded.get(id(elements), []):
            elements.inputs[place : place + WIDTH] = 0.0
        self._seeded[id(elements)] = []
        for e, inputs in changes.items():
            first = int(entries[e, 1] + entries[e, 3])
            for place, change in inputs.items():
                o = first + WIDTH * place
                elements.inputs[o : o + WIDTH] = eight(change)
                self._seeded[id(elements)].append(o)

    def require_motions(self) -> None:
        """Raise an InputError if a prescribed motion lacks the time derivative required by directions in time."""
        of_relations = [(placed.owner, m, OF_RELATIONS) for placed in self.relations for m in placed.relation.motions]
        of_laws = [
            (str(element), element.motion(name), OF_LAWS)
            for element, _ in self.solver.model.forces
            for name in element.motions
        ]
        for owner, motion, order in of_relations + of_laws:
            if motion.known <= order:
                missing = "f_" + "t" * (order + 1)
                raise InputError(f"{owner}: its {motion!r} has no {missing}, which derivatives in time need: give it")

    def _of_laws(self) -> TangentElements:
        model, slots, applied = self.solver.model, self.solver.slots, self.solver.applied
        table, entries, names = _Table(), [], []
        sides: list[int] = []
        motions: list[Motion] = []
        for e, (element, rows) in enumerate(model.forces):
            layout = element.layout()
            variables = model.auxiliary.internal.get(element.name, slice(0, 0))
            first, out = table.take(DualArray.size(layout.inputs) + TIME, DualArray.size(layout.outputs))
            entries.append((
                0, first, out, layout.inputs, layout.outputs, layout.first_frame, layout.first_motion,
                layout.first_internal, len(motions), len(motions) + layout.motions, len(sides),
                len(sides) + layout.frames, applied.table.entries[ELEMENT_SIZE * e + LAW_INPUT], layout.first_rate,
                variables.start, layout.internal,
            ))  # fmt: skip
            sides += [int(slots.slot[body]) for body in rows]
            motions += [element.motion(name) for name in element.motions]
            names += [f"{element}, {name}" for name in element.motions]
        elements = self._elements(table, entries, sides, motions, names, OF_LAWS)
        for e, (element, _) in enumerate(model.forces):
            layout = element.layout()
            parts = _parts(elements, e, DualArray.size(layout.inputs) + TIME, DualArray.size(layout.outputs))
            pointer = law_pointer(element, layout, *parts, applied.watched, self.solver.refuse)
            elements.entries[ELEMENT * e + ADDRESS] = self._keep(pointer)
        return elements

    def _of_relations(self) -> TangentElements:
        slots, applied = self.solver.slots, self.solver.applied
        table, entries, names, fixed = _Table(), [], [], []
        sides: list[int] = []
        motions: list[Motion] = []
        layouts = [layout_of(placed.relation, len(placed.bodies), OF_RELATIONS) for placed in self.relations]
        for placed, layout in zip(self.relations, layouts, strict=True):
            first, out = table.take(inputs_of(layout), outputs_of(layout))
            fixed.append((first, placed, layout))
            entries.append((
                0, first, out, layout.inputs, layout.outputs, layout.first_frame, layout.numbers, 0, len(motions),
                len(motions) + layout.motions, len(sides), len(sides) + layout.frames, layout.rows,
                placed.rows.start, 0, 0,
            ))  # fmt: skip
            sides += [int(slots.slot[body]) for body in placed.bodies]
            motions += list(placed.relation.motions)
            names += [f"{placed.owner}, motion"] * layout.motions
        elements = self._elements(table, entries, sides, motions, names, OF_RELATIONS)
        for first, placed, layout in fixed:
            elements.inputs[first : first + layout.numbers] = placed.relation.numbers
            for f, frame in enumerate(placed.frames):
                o = first + layout.first_frame + f * layout.frame_size
                elements.inputs[o : o + frame.size] = frame
        for r, (placed, layout) in enumerate(zip(self.relations, layouts, strict=True)):
            parts = _parts(elements, r, inputs_of(layout), outputs_of(layout))
            pointer = relation_pointer(placed, layout, *parts, applied.watched, self.solver.refuse)
            elements.entries[ELEMENT * r + ADDRESS] = self._keep(pointer)
        return elements

    def _of_friction(self) -> FrictionInputs:
        model, slots, forces = self.solver.model, self.solver.slots, self.solver.applied.table
        sliding = [
            (e, element, rows) for e, (element, rows) in enumerate(model.forces) if isinstance(element, Friction)
        ]
        laws, rows = (tables.entries.reshape(-1, ELEMENT) for tables in (self._laws, self._rows))
        first, relations, axes, points = [0], list[int](), list[int](), list[int]()
        for _, friction, _ in sliding:
            rows_of_joint = model.joint_rows.get(friction.on.name, range(0))
            mine = [
                r
                for r, element in enumerate(self.relations)
                if rows_of_joint.start <= element.rows.start < rows_of_joint.stop
            ]
            relations += mine if friction.takes != NORMAL else []
            first.append(len(relations))
            o, size = 0, 0
            if first[-1] > first[-2]:
                r = relations[-1]
                o = int(rows[r, INPUT] + rows[r, INPUTS] + WIDTH * rows[r, FRAMES])
                size = WIDTH * layout_of(self.relations[r].relation, 2, OF_RELATIONS).frame_size
            axes.append(o + WIDTH * (ORIGIN + friction.axis))
            points.append(o + size)
        starts = forces.entries.reshape(-1, ELEMENT_SIZE)

        def numbers(values: Iterable[int]) -> np.ndarray:
            return np.array(list(values), dtype=np.int64)

        def changes_of(parameter: str) -> np.ndarray:
            return numbers(
                laws[e, INPUT] + laws[e, INPUTS] + WIDTH * element.place_of(parameter) for e, element, _ in sliding
            )

        return FrictionInputs(
            sizes=numbers(starts[e, LAW_INPUT] + element.place_of("size") for e, element, _ in sliding),
            coefficients=changes_of("coefficient"),
            lengths=changes_of("length"),
            first=numbers(first),
            relations=numbers(relations),
            slots=numbers(slots.slot[body] for _, _, sides in sliding for body in sides),
            grounded=numbers(int(sides[1] == len(model.mass)) for _, _, sides in sliding),
            axes=numbers(axes),
            points=numbers(points),
            changes=aligned(BEARING * len(sliding)),
            magnitudes=aligned(WIDTH * len(sliding)),
        )

    def _elements(
        self,
        table: _Table,
        entries: Sequence[Any],
        sides: Sequence[int],
        motions: Sequence[Motion],
        names: Sequence[str],
        order: int,
    ) -> TangentElements:
        elements = TangentElements(
            entries=np.array(entries, dtype=np.int64).ravel(),
            sides=np.array(sides, dtype=np.int64),
            inputs=aligned(table.inputs),
            outputs=aligned(table.outputs),
            motions=MotionTable.of(motions),
            taylor=np.zeros(order + 2),
        )
        watch, refuse = self.solver.applied.watched, self.solver.refuse
        kept, _ = place_functions(elements.motions, list(zip(names, motions, strict=True)), order + 1, watch, refuse)
        self._pointers += kept
        return elements

    def _keep(self, pointer: Any) -> int:
        self._pointers.append(pointer)
        return address_of(pointer)


def refuse_friction(solver: Solver, computation: str) -> None:
    """Raise an InputError if the system has friction proportional to constraint loads, which is not differentiated.

    `computation` names the computation in the error message.
    """
    for element, _ in solver.model.forces:
        if isinstance(element, Friction):
            raise InputError(f"{element}: its load is not differentiated for {computation}")


class _Table:
    """Allocator of array elements for the inputs and outputs of functions.

    Attributes
    ----------
    inputs, outputs : numbers of elements reserved so far
    """

    def __init__(self) -> None:
        self.inputs = self.outputs = 0

    def take(self, inputs: int, outputs: int) -> tuple[int, int]:
        """Reserve array elements for inputs and outputs of a function; return the index of the first of each."""
        first = self.inputs, self.outputs
        self.inputs += inputs
        self.outputs += outputs
        return first


def _parts(elements: TangentElements, e: int, inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return views of the first `inputs` inputs and the first `outputs` outputs of the element with index e."""
    first, out = elements.entries[ELEMENT * e + INPUT], elements.entries[ELEMENT * e + OUTPUT]
    return elements.inputs[first : first + inputs], elements.outputs[out : out + outputs]
