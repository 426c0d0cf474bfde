"""The arrays that the kernels of one solver write, and the state of its choice of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from .orthogonal import Fronts, Triangle


@record
class Uniform(NamedTuple):
    """The metric in which rows are judged: what replaces arrays of the same names.

    constants: of bodies · inverse_mass, side_inverse_mass: summed over the bodies of nodes, and of the sides of
    relations · scale, weight: factors of forces in the orthogonal factorization.
    """

    constants: np.ndarray
    inverse_mass: np.ndarray
    side_inverse_mass: np.ndarray
    scale: np.ndarray
    weight: np.ndarray


@record
class Workspace(NamedTuple):
    """The arrays that kernels write, made once per solver: no kernel allocates. K nodes.

    kin: kinematics of bodies · G: rows of nodes · rhs, x (8 K,): right-hand sides and multipliers · goal (8 K,): what A
    M^-1 (wrench) is to be · sum, rest, terms (8 K,): multipliers and residual during refinement, and the sum of the
    magnitudes of what cancels in the residual · B, Q: the factorization of S by blocks · wrench, given: loads on
    bodies, and those before constraints added theirs · motion, change: velocities or displacements of bodies, rotations
    multiplied by W^-1 · lengths (8 K,): squared lengths of the rows A W · measure (8 K,): distances of rows in the
    uniform metric when they were chosen, zero for rows left out · floor (8 K,): pivots up to it count as zero; infinite
    for rows left out · pivots, pivots_before, pivots_earlier (8 K,): of the rows where they were counted last, and at
    the starts of a step of a run and of the step before, over the squared lengths of rows; zero for rows left out ·
    summary: see below · fronts, scale, weight, triangle: the orthogonal factorization, see `orthogonal` · uniform:
    constants of the uniform metric.
    """

    kin: np.ndarray
    G: np.ndarray
    rhs: np.ndarray
    x: np.ndarray
    goal: np.ndarray
    sum: np.ndarray
    rest: np.ndarray
    terms: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    wrench: np.ndarray
    given: np.ndarray
    motion: np.ndarray
    change: np.ndarray
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


# Entries of Work.summary:
# RANK: number of rows kept; LEAST: the least pivot kept, over the squared length of its row.
# METHOD: by which the rows are factorized; PASSES: number of solves of `impose`, 1 for no refinement.
# RATE: the largest factor seen from one residual of refinement to the next; REMAINS: the part of a residual that one
# solve is taken to leave, from that or from the least pivot.
# TRIGGER: the least pivot below which another set of rows is chosen.
# TOLERANCE: distance, over its length, up to which a row counts as dependent on others.
# PRUNED: whether the pattern of blocks has only the nodes of the rows kept, so that blocks cannot serve other rows.
# CORRECTION: the violation of positions, in rad or lengths of the system, that the last projection began with.
RANK, LEAST, METHOD, PASSES, RATE, TRIGGER, TOLERANCE, PRUNED, CORRECTION, REMAINS = range(10)
SUMMARY = 10

# Values of METHOD: pivots of S by blocks; reflections of G^T.
BLOCKS, REFLECTIONS = 0.0, 1.0
