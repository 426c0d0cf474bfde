"""Arrays of one solver that are written by compiled code.

Constraint rows are A, the mass matrix is (W W^T)^-1, and S = A W (A W)^T. A node is a group of up to six rows of one
joint, or a body with many joints. A relation is a constraint defined by a function; a wrench is a force and a moment on
a body; the pivot of a row is its squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from .orthogonal import Fronts, Triangle


@record
class Uniform(NamedTuple):
    """Constants of the uniform metric, which replace those of the mass metric when independent rows are selected.

    The uniform metric does not depend on masses. A hub is a body with many joints.

    Attributes
    ----------
    constants : constants of the bodies
    inverse_mass : sum of the inverse masses of both bodies of each joint
    side_inverse_mass : inverse mass of each body of each relation, a constraint defined by a function
    scale : factor of the forces of each joint at each body, in the orthogonal factorization
    weight : factors of the forces in products of rows that couple joints with hubs
    """

    constants: np.ndarray
    inverse_mass: np.ndarray
    side_inverse_mass: np.ndarray
    scale: np.ndarray
    weight: np.ndarray


@record
class Extended(NamedTuple):
    """Lower parts of double-double numbers, for loads whose round-off in doubles would be too large.

    A double-double number is the sum of a double, its higher part, and a much smaller double, its lower part. The array
    of `Workspace` with the higher parts has the same name, or is given in brackets.

    Attributes
    ----------
    rotation : rotation matrices of bodies [kin]
    G : constraint rows
    wrench, motion : loads on bodies, and the accelerations that they cause
    x : multipliers [sum]
    applied : applied loads on bodies, as doubles
    goal : required value of A M^-1 w, with constraint rows A, mass matrix M and loads w in `wrench`, as doubles
    wrench_in_doubles : loads on bodies before they were computed in double-double arithmetic
    """

    rotation: np.ndarray
    G: np.ndarray
    wrench: np.ndarray
    motion: np.ndarray
    x: np.ndarray
    applied: np.ndarray
    goal: np.ndarray
    wrench_in_doubles: np.ndarray


@record
class Workspace(NamedTuple):
    """Arrays written by compiled code, for K nodes (joints); they are allocated once per solver.

    A is the matrix of constraint rows, M = (W W^T)^-1 the mass matrix, and S = A M^-1 A^T. Names in capitals are
    constants of this module.

    Attributes
    ----------
    kin : kinematics of bodies
    G : constraint rows: forces and moments of unit multipliers
    rhs, x : (8 K,) right-hand sides and multipliers
    goal : (8 K,) required value of A M^-1 w for the loads w in `wrench`
    sum, residual, terms : (8 K,) multipliers and residual during refinement, and the sum of the magnitudes of the terms
        that cancel in the residual
    B, Q : blocks of the factorization of S
    wrench : loads on bodies
    applied_wrench : loads on bodies before constraint loads are added
    motion, change : velocities, accelerations or displacements of bodies, with rotations multiplied by W^-1
    unprojected : positions, orientations and velocities of bodies before their projection onto the constraints
    lengths : (8 K,) squared norms of the rows A W
    measure : (8 K,) distances of rows from the span of others, in the uniform metric, at their selection; zero for
        dropped rows
    floor : (8 K,) pivots up to this value count as zero; infinite for dropped rows
    pivots, pivots_before, pivots_earlier : (8 K,) pivots relative to the squared norms of rows at the last evaluation,
        and at the starts of the current and the previous step of a run; zero for dropped rows
    summary : (SUMMARY,) rank, method and further scalars, indexed by RANK, LEAST, METHOD and so on
    fronts, scale, weight, triangle : data of the orthogonal factorization, see `orthogonal`
    uniform : constants of the uniform metric
    extended : lower parts of double-double numbers
    """

    kin: np.ndarray
    G: np.ndarray
    rhs: np.ndarray
    x: np.ndarray
    goal: np.ndarray
    sum: np.ndarray
    residual: np.ndarray
    terms: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    wrench: np.ndarray
    applied_wrench: np.ndarray
    motion: np.ndarray
    change: np.ndarray
    unprojected: np.ndarray
    lengths: np.ndarray
    measure: np.ndarray
    floor: np.ndarray
    pivots: np.ndarray
    pivots_before: np.ndarray
    pivots_earlier: np.ndarray
    summary: np.ndarray
    fronts: Fronts
    scale: np.ndarray
    weight: np.ndarray
    triangle: Triangle
    uniform: Uniform
    extended: Extended


# Entries of Workspace.summary. Truth values are 1 or 0, distances are relative to the norm of the row.
#   RANK: number of independent rows
#   LEAST: smallest pivot of these rows, relative to the squared norm of the row
#   METHOD: factorization in use: BLOCKS, REFLECTIONS or FREEDOMS
#   PASSES: number of solves of `add_constraint_loads`; 1 without refinement
#   RATE: largest observed ratio of successive residuals in refinement
#   TRIGGER: smallest pivot below which rows are selected again
#   TOLERANCE: distance from the span of other rows up to which a row is dependent
#   PRUNED: whether the block pattern contains only nodes with selected rows; another selection may need another pattern
#   CORRECTION: first correction of the last projection, in rad or lengths of the system
#   REMAINS: expected fraction of the residual that one solve leaves, from RATE or from the smallest pivot
#   FOREST: whether degrees of freedom of joints can be eliminated: no joint closes a loop, and all rows are selected
#   KEPT: whether evaluations store the applied loads for double-double arithmetic
#   DOUBLED: whether evaluations use double-double arithmetic
#   HARMLESS: bound of the round-off of accelerations, relative to the largest one, at its last measurement
#   RECURSIVE: whether accelerations are computed by recursion, without multipliers of all rows; see `recursion`
#   FACTORED: 0 if the last factorization is one of rows, otherwise HERE or ELSEWHERE of `recursion_solve`
#   APART: whether the loop-closing rows were far enough from dependent for recursion at the last state on the
#     constraints
#   OVER_FOREST: whether stored pivots are those of loop-closing rows over the forest, instead of those of all rows
#   SHARED: whether rows that do work share their loads with redundant rows, so that this work depends on the selection
#   PARTIAL: whether the last evaluation computed only the multipliers of rows that do work
(
    RANK, LEAST, METHOD, PASSES, RATE, TRIGGER, TOLERANCE, PRUNED, CORRECTION, REMAINS, FOREST, KEPT, DOUBLED, HARMLESS,
    RECURSIVE, FACTORED, APART, OVER_FOREST, SHARED, PARTIAL,
) = range(20)  # fmt: skip
SUMMARY = 20

# Values of METHOD: BLOCKS, block factorization of S; REFLECTIONS, orthogonal factorization of G^T; FREEDOMS,
# elimination of the degrees of freedom of the joints of a forest.
BLOCKS, REFLECTIONS, FREEDOMS = 0.0, 1.0, 2.0
