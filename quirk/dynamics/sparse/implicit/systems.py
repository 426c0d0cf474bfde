"""Construction of the linear systems of implicit steps for one model."""

from __future__ import annotations

import numpy as np

from quirk.errors import InputError
from quirk.jit.simd import aligned

from ..solver.solver import Solver
from ..tangent.tables import MOVING, SEED
from ..tangent.tangent import Differential, refuse_friction
from .coupling import couplings
from .tables import AXES, BLOCK, NODE, PAIR, ImplicitTables

# Maximum number of rows of one relation: lanes of a register.
MOST_ROWS = 8
# Maximum number of internal variables of one force element: lanes of a register.
MOST_VARIABLES = 8


class ImplicitSystem:
    """Linear systems of implicit steps for one model, with the compiled functions that compute Jacobians of y'.

    Parameters
    ----------
    solver : evaluator of the model
    turning : whether steps are computed in axes that rotate with the bodies
        Such steps are solved by Newton's method, for which approximate derivatives of friction suffice, and which needs
        no derivatives in time. Otherwise prescribed motions must have one more derivative than the equations of motion
        contain.

    Attributes
    ----------
    differential : derivatives of force laws and constraints along directions
    tables : arrays of the linear systems
    timed : whether a force law or constraint may depend explicitly on time
    """

    def __init__(self, solver: Solver, *, turning: bool) -> None:
        model = solver.model
        if not turning:
            refuse_friction(solver, "the steps of this method, which need all derivatives of loads")
        self.differential = Differential(solver)
        relations = self.differential.relations
        for placed in relations:
            if placed.rows.stop - placed.rows.start > MOST_ROWS:
                raise InputError(f"{placed.owner}: implicit steps support constraints of up to {MOST_ROWS} rows")
        for element, _ in model.forces:
            if len(element.internal) > MOST_VARIABLES:
                raise InputError(f"{element}: implicit steps support up to {MOST_VARIABLES} internal variables")
        self.tables = implicit_tables(solver, self.differential, turning)
        of_relations = any(placed.relation.motions or placed.relation.of_user for placed in relations)
        of_laws = any(element.motions or element.of_user for element, _ in model.forces)
        self.timed = of_relations or of_laws
        if self.timed and not turning:
            self.differential.require_motions()


def implicit_tables(solver: Solver, differential: Differential, turning: bool) -> ImplicitTables:
    """Return the arrays of the linear systems of implicit steps.

    If `turning` is true, steps are computed in axes that rotate with the bodies.
    """
    model, slots = solver.model, solver.slots
    coupling, blocks, numbers = couplings(model, differential.relations, slots)
    S, R, sides = slots.lanes, len(differential.relations), len(blocks.side_slot)
    variables = sum(len(element.internal) for element, _ in model.forces)
    laws = len(model.forces) if variables else 0
    law_sides = BLOCK * len(differential.tangents.laws.sides) if variables else 0
    parts = numbers, 2 * PAIR * S, BLOCK * laws, 8 * laws, 3 * BLOCK, NODE * len(coupling.size), NODE * S, NODE * S
    turn, response, found, scratch, vector, pose, speed, size = (int(end) for end in np.cumsum(parts))
    seeds = np.zeros((2, S, SEED // 8, 8))
    for slot in slots.slot[:-1]:
        seeds[0, slot, :6, :6] = seeds[1, slot, 6:, :6] = np.eye(6)
    tables = ImplicitTables(
        tangents=differential.tangents,
        coupling=coupling,
        blocks=blocks,
        seeds=aligned(seeds.size),
        moving=aligned(2 * MOVING * S),
        by_pose=aligned(PAIR * len(blocks.pair_row)),
        by_velocity=aligned(PAIR * len(blocks.pair_row)),
        rows=aligned(BLOCK * sides),
        row_by_pose=aligned(BLOCK * sides),
        row_by_velocity=aligned(BLOCK * sides),
        independent=aligned(8 * R),
        variables=variables,
        by_variable=aligned(law_sides),
        rate_by_pose=aligned(law_sides),
        rate_by_velocity=aligned(law_sides),
        rate_by_variable=aligned(BLOCK * laws),
        axes=aligned(AXES * slots.lanes // 8),
        follows=float(turning),
        turn=turn,
        response=response,
        variable_changes=found,
        scratch=scratch,
        vector=vector,
        pose=pose,
        speed=speed,
        size=size,
    )
    tables.seeds[:] = seeds.ravel()
    return tables
