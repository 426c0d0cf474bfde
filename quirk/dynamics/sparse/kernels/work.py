"""The arrays that one solver writes, and what it keeps about the rows at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.record import record

from .orthogonal import Fronts, Triangle


@record
class Uniform(NamedTuple):
    """The metric in which rows are judged: what replaces arrays of the same names.

    constants: of bodies · inverse_mass, side_inverse_mass: summed over the bodies of nodes, and of the sides of
    relations · scale, weight: factors of forces in the orthogonal factorisation.
    """

    constants: np.ndarray
    inverse_mass: np.ndarray
    side_inverse_mass: np.ndarray
    scale: np.ndarray
    weight: np.ndarray


@record
class Work(NamedTuple):
    """Arrays that evaluations write: no kernel allocates.

    kin: kinematics of bodies · G, rhs, x: rows, right-hand sides and unknowns of nodes · goal: what the rows times
    the accelerations shall be · sum: multipliers, as they add up · rest: what is missing of goal · B, Q: the
    factorisation by blocks · wrench, motion: per body, see `quirk.dynamics.layout` · change: like motion · lengths (8
    K,): squares of the rows in the mass metric · measure (8 K,): distances of the rows kept when they were chosen,
    zero for rows left out · floor (8 K,): pivots that are not above it count as zero; infinite for rows that are left
    out · summary: see below · fronts, scale, weight, triangle: the orthogonal factorisation, see there · uniform: the
    metric in which rows are judged.
    """

    kin: np.ndarray
    G: np.ndarray
    rhs: np.ndarray
    x: np.ndarray
    goal: np.ndarray
    sum: np.ndarray
    rest: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    wrench: np.ndarray
    motion: np.ndarray
    change: np.ndarray
    lengths: np.ndarray
    measure: np.ndarray
    floor: np.ndarray
    summary: np.ndarray
    fronts: Fronts
    scale: np.ndarray
    weight: np.ndarray
    triangle: Triangle
    uniform: Uniform


# Entries of Work.summary:
# RANK: number of rows kept; LEAST: the least pivot kept, over the squared length of its row.
# METHOD: by which the rows are factorised; PASSES: how many solves an answer takes, 1 where nothing is refined.
# RATE: by which part of what is missing a further solve misses, the largest seen.
# TRIGGER: the least pivot below which other rows are to be left out.
# TOLERANCE: distance, over its length, up to which a row counts as dependent on others.
# PRUNED: whether the pattern leaves out nodes, so that with other rows than those chosen for it blocks cannot do.
# CORRECTION: how far, in rad or lengths of the system, the last projection found the poses off.
RANK, LEAST, METHOD, PASSES, RATE, TRIGGER, TOLERANCE, PRUNED, CORRECTION = range(9)
SUMMARY = 9

# Values of METHOD: pivots of S by blocks; reflections of G^T.
BLOCKS, REFLECTIONS = 0.0, 1.0
