"""Multipliers of minimum norm of redundant rows, from the multipliers of independent rows, in compiled code.

The equations are those of `quirk.dynamics.sparse.solver.minimum_norm_loads`, for one state: lambda = D^-2 A y, where
(A^T D^-2 A) y are the constraint forces. A is the matrix of constraint rows, lambda are the multipliers and D their
weights. A side is one body of a joint; there are s sides, e joints and n bodies. Arrays of joints have eight elements
per joint, one for each row, and arrays of bodies eight per body: force, moment, and two zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, splat, store, total

from .orthogonal import Fronts, Triangle, substitute, triangularise

# A column is a degree of freedom if its distance from the span of other columns is below FREEDOM times its norm. If
# fewer degrees of freedom are found than the number of independent rows implies, the threshold is multiplied by MORE,
# up to MOST.
FREEDOM, MORE, MOST = 1e-10, 3.0, 1e-2

# Number of refinements. The error of one solve is round-off over the smallest distance of a column.
REFINEMENTS = 2


@record
class RedundantRows(NamedTuple):
    """Tables for the multipliers of minimum norm of one model; empty if no load of its redundant rows is needed.

    Attributes
    ----------
    row_count : number m of rows
    joint, body : (s,) joint of each side, and its body in the order of elimination; n for the ground
    force, moment : (s,) index of the first force component, and moment component, in the array of all rows
    force_scale, moment_scale : (s,) and (9 s,) factors that convert forces and moments to the uniform metric
    lane : (8 e,) index of each row among the multipliers; 0 for missing rows
    weight, inverse_weight : (8 e,) weights D of the multipliers, and their inverses; 0 for missing rows
    fronts, triangle, scale, coupling : orthogonal factorization in which bodies are eliminated
    rows : (48 s,) scratch array for the weighted rows of each side, eight elements each
    lengths, floor, rhs, y : (8 n,) scratch arrays of bodies; `floor` is zero
    loads, least : (8 e,) scratch arrays: weighted multipliers, given and of minimum norm
    multipliers : (8 K,) result for K nodes, in the order of the multipliers of runs
    """

    row_count: int
    joint: np.ndarray
    body: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    force_scale: np.ndarray
    moment_scale: np.ndarray
    lane: np.ndarray
    weight: np.ndarray
    inverse_weight: np.ndarray
    fronts: Fronts
    triangle: Triangle
    scale: np.ndarray
    coupling: np.ndarray
    rows: np.ndarray
    lengths: np.ndarray
    floor: np.ndarray
    rhs: np.ndarray
    y: np.ndarray
    loads: np.ndarray
    least: np.ndarray
    multipliers: np.ndarray


@component(effort=1)
def minimize_norm(redundant: RedundantRows, G: np.ndarray, x: np.ndarray, rank: int) -> None:
    """Compute the multipliers of minimum norm with the constraint forces of the multipliers x (8 K,).

    G is the array of all constraint rows, and `rank` the number of independent rows. The result is written to
    `redundant.multipliers`.
    """
    fronts, rhs, y, least = redundant.fronts, redundant.rhs, redundant.y, redundant.least
    weigh_rows(redundant, G)
    tolerance = FREEDOM
    while (
        triangularise(
            fronts, redundant.triangle, redundant.rows, redundant.scale, redundant.coupling, redundant.lengths,
            redundant.floor, tolerance,
        )
        > rank
        and tolerance <= MOST
    ):  # fmt: skip
        tolerance *= MORE
    for row in range(redundant.loads.shape[0]):
        put(redundant.loads, row, at(x, redundant.lane[row]) * at(redundant.weight, row))
        put(least, row, 0.0)
    for _ in range(1 + REFINEMENTS):
        for body in range(0, rhs.shape[0], 8):
            store(rhs, body, splat(0.0))
        add_loads(redundant, 1.0, redundant.loads)
        add_loads(redundant, -1.0, least)
        substitute(fronts, redundant.triangle, rhs, y)
        for s in range(redundant.joint.shape[0]):
            b, e = 8 * redundant.body[s], 8 * redundant.joint[s]
            if b < y.shape[0]:
                for r in range(6):
                    put(least, e + r, at(least, e + r) + total(load(redundant.rows, 48 * s + 8 * r) * load(y, b)))
    for row in range(least.shape[0]):
        if at(redundant.weight, row) > 0.0:
            put(redundant.multipliers, redundant.lane[row], at(least, row) * at(redundant.inverse_weight, row))


@kernel
def weigh_rows(redundant: RedundantRows, G: np.ndarray) -> None:
    """Compute the rows D^-1 A W of each joint on each of its bodies, and the squared norms of their columns.

    A are the constraint rows in G, D their weights, and W is the factor of the uniform metric. Moments in G are in
    scaled body axes.
    """
    rows, lengths = redundant.rows, redundant.lengths
    for body in range(0, lengths.shape[0], 8):
        store(lengths, body, splat(0.0))
    for s in range(redundant.joint.shape[0]):
        e, o = 8 * redundant.joint[s], 48 * s
        for r in range(6):
            inverse = at(redundant.inverse_weight, e + r)
            store(rows, o + 8 * r, splat(0.0))
            for k in range(3):
                moment = 0.0
                for c in range(3):
                    scale = at(redundant.moment_scale, 9 * s + 3 * c + k)
                    moment += at(G, redundant.moment[s] + 8 * c + r) * scale
                force = at(G, redundant.force[s] + 8 * k + r) * at(redundant.force_scale, s)
                put(rows, o + 8 * r + k, force * inverse)
                put(rows, o + 8 * r + 3 + k, moment * inverse)
            b = 8 * redundant.body[s]
            if b < lengths.shape[0]:
                row = load(rows, o + 8 * r)
                store(lengths, b, load(lengths, b) + row * row)


@kernel
def add_loads(redundant: RedundantRows, factor: float, loads: np.ndarray) -> None:
    """Add `factor` times the loads that weighted multipliers (8 e,) exert on the bodies to `redundant.rhs`."""
    rhs = redundant.rhs
    for s in range(redundant.joint.shape[0]):
        b, e = 8 * redundant.body[s], 8 * redundant.joint[s]
        if b < rhs.shape[0]:
            on_body = load(rhs, b)
            for r in range(6):
                on_body = on_body + (factor * at(loads, e + r)) * load(redundant.rows, 48 * s + 8 * r)
            store(rhs, b, on_body)
