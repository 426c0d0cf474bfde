"""Right-hand side of the equations of motion, y' = f(t, y), in compiled code.

The constraint rows A prescribe A a = b for the accelerations a. A node is a group of up to six rows of one joint.
`alpha` and `beta` are Baumgarte's rates, 1/s; zero means no stabilization. Results are written to arrays of
`mechanism.work`; its array G holds all rows.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import put

from .applied import applied_loads, auxiliary_rates
from .articulated_solve import solve_forest
from .bodies import (
    CON,
    STATE,
    free_accelerations,
    free_motion,
    loads_of_accelerations,
    poses,
    rates,
    set_bias,
    sum_body_loads,
)
from .constraint_solve import add_constraint_loads, clear, copy, wrenches
from .extended import impose_doubled, keep_applied
from .factorisation import factorise_rows, prepare_rows
from .factorise import STRETCH, backward, factorise, forward
from .friction import solve_friction
from .mechanism import Mechanism
from .row_power import row_power
from .rows import constraint_rows
from .workspace import DOUBLED, FACTORED, FREEDOMS, KEPT, METHOD, PARTIAL, PASSES


@component(effort=7)
def compute_and_factorise(mechanism: Mechanism, t: float, y: np.ndarray, alpha: float, beta: float) -> None:
    """Compute the constraint rows and their right-hand sides, factorize the rows, and substitute forward.

    All three operations are completed for STRETCH nodes (joints) before the next nodes begin, so that the data of these
    nodes stay in the processor's cache. t is the time (s), y the state; `alpha` and `beta` are Baumgarte's rates, 1/s.
    """
    nodes, pattern, work = mechanism.nodes, mechanism.pattern, mechanism.work
    put(work.summary, FACTORED, 0.0)
    count, ready = pattern.rows.shape[0], 0
    for begin in range(0, count, STRETCH):
        end, due = min(begin + STRETCH, count), pattern.due[begin // STRETCH]
        constraint_rows(nodes, pattern.visits, ready, due, t, y, work.kin, alpha, beta, work.G, work.rhs)
        factorise(pattern, begin, end, work.G, work.floor, work.B, work.Q)
        forward(pattern, begin, end, work.B, work.rhs, work.x)
        ready = due


@component(needed_by="every state needs", effort=4)
def evaluate(mechanism: Mechanism, t: float, y: np.ndarray, alpha: float, beta: float, ydot: np.ndarray) -> None:
    """Compute y' at time t (s) and state y, in `ydot`.

    The accelerations are those that satisfy the constraints and are nearest, in the mass metric, to the unconstrained
    ones (Gauss's principle). `alpha` and `beta` are Baumgarte's rates, 1/s. The multipliers are written to work.x.
    """
    constants, nodes, pattern = mechanism.constants, mechanism.nodes, mechanism.pattern
    forces, tree, work = mechanism.forces, mechanism.tree, mechanism.work
    put(work.summary, PARTIAL, 0.0)
    passes, by_freedoms = int(work.summary[PASSES]), work.summary[METHOD] == FREEDOMS
    if forces.entries.shape[0] > 0:
        poses(constants, y, work.kin)
        applied_loads(forces, t, y, work.kin)
    rubs = mechanism.frictions.element.shape[0] > 0
    if passes > 1 or rubs or by_freedoms:
        if forces.entries.shape[0] == 0:
            poses(constants, y, work.kin)
        # Applied and constraint loads are summed per body before division by its mass, which reduces round-off.
        sum_body_loads(constants, y, work.kin, work.wrench)
        compute_rows(mechanism, t, y, alpha, beta)
        copy(work.rhs, work.goal)
        if work.summary[KEPT] > 0.0:
            keep_applied(mechanism)
        factorise_rows(mechanism)
        if rubs:
            solve_friction(mechanism, y, passes)
        elif work.summary[DOUBLED] > 0.0:
            clear(work.x)
        elif work.summary[METHOD] == FREEDOMS:
            set_bias(constants, work.kin, work.wrench, tree.bias)
            solve_forest(tree, work.rhs, work.x)
            loads_of_accelerations(constants, work.kin, tree.acceleration, work.wrench)
        else:
            add_constraint_loads(mechanism, passes)
        if work.summary[DOUBLED] > 0.0:
            impose_doubled(mechanism, y)
    else:
        if forces.entries.shape[0] > 0:
            free_accelerations(constants, y, work.kin)
        else:
            free_motion(constants, y, work.kin)
        compute_and_factorise(mechanism, t, y, alpha, beta)
        backward(pattern, work.Q, work.x)
        clear(work.wrench)
        wrenches(nodes, work.G, work.x, work.wrench, False)
    rates(constants, y, work.kin, work.wrench, ydot)
    if ydot.shape[0] > constants.shape[0] // CON * STATE:
        auxiliary_rates(forces, y, work.kin, ydot)
        row_power(mechanism, forces.working, y, ydot)


@component(effort=3)
def compute_rows(mechanism: Mechanism, t: float, y: np.ndarray, alpha: float, beta: float) -> None:
    """Compute all constraint rows A, in work.G, and b - A a, in work.rhs, for the accelerations a in work.kin.

    The rows prescribe A a = b; `alpha` and `beta` are Baumgarte's rates, 1/s. For the elimination of degrees of freedom
    (method FREEDOMS) the joint geometry is also updated. t is the time (s), and y the state.
    """
    nodes, pattern, work = mechanism.nodes, mechanism.pattern, mechanism.work
    constraint_rows(nodes, pattern.visits, 0, pattern.visits.shape[0], t, y, work.kin, alpha, beta, work.G, work.rhs)
    prepare_rows(mechanism, y, work.kin)


@kernel
def factorise_at(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Compute and factorize the constraint rows at time t (s) and state y; applied loads are not evaluated."""
    constants, work = mechanism.constants, mechanism.work
    free_motion(constants, y, work.kin)
    if work.summary[PASSES] > 1 or work.summary[METHOD] == FREEDOMS:
        compute_rows(mechanism, t, y, 0.0, 0.0)
        factorise_rows(mechanism)
    else:
        compute_and_factorise(mechanism, t, y, 0.0, 0.0)
