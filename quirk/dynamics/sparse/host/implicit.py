"""The arrays of implicit steps of one model."""

from __future__ import annotations

import numpy as np

from quirk.errors import InputError
from quirk.lanes import aligned

from ..implicit.tables import BLOCK, NODE, PAIR, Implicit
from ..plan.coupling import couplings
from ..tangent.tables import MOVING, SEED
from .solver import Solver
from .tangent import Differential

# Rows that one relation may have: lanes of a register.
MOST_ROWS = 8


class ImplicitSystem:
    """The linear systems of implicit steps, and the functions that give their derivatives, kept alive.

    Attributes
    ----------
    tables : Implicit
    timed : whether anything may depend on time
    """

    def __init__(self, solver: Solver) -> None:
        model, slots = solver.model, solver.slots
        self.differential = Differential(solver)
        relations = self.differential.relations
        for placed in relations:
            if placed.rows.stop - placed.rows.start > MOST_ROWS:
                raise InputError(f"{placed.owner}: implicit steps take constraints of up to {MOST_ROWS} rows")
        for element, _ in model.forces:
            if element.internal:
                raise InputError(
                    f"{element}: implicit steps of this method do not take internal variables; use method='Radau'"
                )
        coupling, blocks, numbers = couplings(model, relations, slots)
        S, R, sides = slots.lanes, len(relations), len(blocks.side_slot)
        seeds = np.zeros((2, S, SEED // 8, 8))
        for slot in slots.slot[:-1]:
            seeds[0, slot, :6, :6] = seeds[1, slot, 6:, :6] = np.eye(6)
        self.tables = Implicit(
            tangents=self.differential.tangents,
            coupling=coupling,
            blocks=blocks,
            seeds=aligned(seeds.size),
            moving=aligned(2 * MOVING * S),
            by_pose=aligned(PAIR * len(blocks.pair_row)),
            by_velocity=aligned(PAIR * len(blocks.pair_row)),
            rows=aligned(BLOCK * sides),
            row_by_pose=aligned(BLOCK * sides),
            row_by_velocity=aligned(BLOCK * sides),
            kept=aligned(8 * R),
            turn=aligned(2 * PAIR * S),
            factor=aligned(numbers),
            vector=aligned(NODE * len(coupling.size)),
            pose=aligned(NODE * S),
            speed=aligned(NODE * S),
            scratch=aligned(2 * BLOCK),
        )
        self.tables.seeds[:] = seeds.ravel()
        of_relations = any(placed.relation.motions or placed.relation.of_user for placed in relations)
        of_laws = any(element.motions or element.of_user for element, _ in model.forces)
        self.timed = of_relations or of_laws
        if self.timed:
            self.differential.require_motions()
