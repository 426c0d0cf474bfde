"""Derivatives of the constraint rows of a model in eight directions, in the layout that compiled code uses for rows.

A relation is a constraint given by a function; a dual number has a value and derivatives along eight directions. G is
the array of all rows, as forces and moments of unit multipliers on the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.bodies import rotation
from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import G_FORCE, G_SIZE
from quirk.dynamics.model.model import PlacedRelation
from quirk.jit.simd import WIDTH

from ..kernels.relations import SIDE_FORCE, SIDE_MOMENT
from ..solver.solver import Solver
from ..symbolic.tables import SIDES
from .elements import run_relations
from .tables import ELEMENT, INPUT, INPUTS, LEVELS, OUTPUT, OUTPUTS, ROWS, TangentElements

# Per row and body: three components of the force and three of the moment.
XYZ = np.arange(3)


class ChangedRows:
    """Derivatives of constraint rows in eight directions, in the layout of compiled code.

    The directions are those of the last call of `compute_tangents`. A row consists of the forces and moments that a
    unit multiplier exerts on the bodies.

    Parameters
    ----------
    solver : evaluator of the model
    relations : all rows of the model as constraint functions
    elements : inputs and outputs of the functions of dual numbers (values with derivatives) of these relations
    """

    def __init__(self, solver: Solver, relations: Sequence[PlacedRelation], elements: TangentElements) -> None:
        self._solver, self._elements = solver, elements
        source, row_of, body, force, moment = [], [], [], [], []
        starts = {
            (row, frame): (self._start(r, placed, frame), row - placed.rows.start)
            for r, placed in enumerate(relations)
            for row in range(placed.rows.start, placed.rows.stop)
            for frame in range(len(placed.bodies))
        }
        for node, joint in enumerate(solver.tables.joints):
            if joint is None:
                continue
            for lane, row in enumerate(joint.rows):
                for side, member in enumerate(joint.bodies):
                    start, number = starts[row, side]
                    source.append(start)
                    row_of.append(number)
                    body.append(member)
                    if joint.relation is None:
                        # The force on body j is stored for both sides.
                        force.append(G_SIZE * node + G_FORCE + lane if side == 1 else -1)
                        moment.append(G_SIZE * node + SIDES[side] + lane)
                    else:
                        start = solver.nodes.relations.starts(joint.relation)[side]
                        force.append(start + SIDE_FORCE + lane)
                        moment.append(start + SIDE_MOMENT + lane)
        self._source, self._row, self._body, self._force, self._moment = (
            np.array(x, dtype=np.int64) for x in (source, row_of, body, force, moment)
        )
        entries = elements.entries.reshape(-1, ELEMENT)
        # Per relation: index of its first multiplier among the inputs, and number of multipliers.
        self._firsts, self._counts = entries[:, INPUT] + (1 + WIDTH) * entries[:, INPUTS] + WIDTH, entries[:, ROWS]
        self._scale = np.concatenate([solver.model.inverse_root, np.zeros((1, 3, 3))])

    def _start(self, r: int, placed: PlacedRelation, frame: int) -> int:
        """Return the index of the first derivative of the load of relation r on the body of one of its frames.

        `placed` is the relation, and `frame` the index of the frame. The index refers to `outputs` of the elements.
        """
        entries = self._elements.entries[ELEMENT * r : ELEMENT * (r + 1)]
        loads = LEVELS * len(placed.relation.labels) + LANES * frame
        return int(entries[OUTPUT] + entries[OUTPUTS] + WIDTH * loads)

    def at(self, y: np.ndarray, t: float) -> np.ndarray:
        """Return the derivatives (8, size of G) in eight directions of the array G of all rows.

        `y` is the state at which the derivatives of the motion were last computed, and t the time, s.
        """
        solver, numbers = self._solver, WIDTH * np.arange(6)
        result = np.zeros((WIDTH, len(solver.work.G)))
        if not len(self._source):
            return result
        places = self._source[:, None, None] + numbers[:, None] + np.arange(WIDTH)
        change = np.zeros((WIDTH, len(self._source), len(numbers)))
        for row in range(int(self._counts.max())):
            self._unit(row)
            with solver.applied.calling():
                run_relations(self._elements, t)
            solver.applied.check(t)
            mine = self._row == row
            change[:, mine] = np.moveaxis(self._elements.outputs[places[mine]], -1, 0)
        state = solver.model.auxiliary.state(solver.slots.state_from_lanes(y))
        R = np.concatenate([rotation.matrix(state.orientation), np.eye(3)[None]])[self._body]
        moment = np.einsum("ekl,emk,dem->del", self._scale[self._body], R, change[..., 3:])
        ours = self._force >= 0
        result[:, self._force[ours, None] + WIDTH * XYZ] = change[:, ours, :3]
        result[:, self._moment[:, None] + WIDTH * XYZ] = moment
        return result

    def _unit(self, row: int) -> None:
        """Set multiplier `row` of each relation to one, and all other multipliers to zero."""
        for first, count in zip(self._firsts, self._counts, strict=True):
            self._elements.inputs[first : first + count] = np.arange(count) == row
