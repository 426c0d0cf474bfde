"""Singular configurations passed by a run, at which constraint rows are dependent and branches of motion meet.

The rows of a model, scaled to unit length for bodies of unit mass and inertia, have singular values and vectors that
are continuous along a motion, up to the sign of the values. At a singular configuration a singular value passes through
zero; since computed singular values are positive, one of its two singular vectors changes its sign there and the other
does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.dense.rows import in_body_axes, spatial_rows
from ..dynamics.model.loops import has_loops
from ..dynamics.model.metric import Metric
from ..dynamics.sparse.solver.solver import Solver
from .segment import Segment

# Approximate maximum number of multiplications for the examination of output states, which then takes a few seconds. Of
# longer results only every second, third or later output state is examined.
MOST_WORK = 3e9

# Singular values below LOW times the largest are examined, except those below SINGULAR, whose singular vectors are
# undetermined. Vectors of neighboring output states belong to the same singular value if their cosine is at least
# ALIKE.
LOW, SINGULAR, ALIKE = 0.3, 1e-7, 0.5

# Constraints are named if the contribution of their rows to the left singular vector is at least SHARE times the
# largest contribution; at most MOST_NAMED constraints are named.
SHARE, MOST_NAMED = 0.2, 4


@dataclass(frozen=True)
class Passage:
    """Singular configuration passed by a motion.

    Attributes
    ----------
    time : time between two output states, s
    constraints : names of the constraints with dependent rows there, in order of decreasing contribution
    """

    time: float
    constraints: tuple[str, ...]

    def __str__(self) -> str:
        listed = ", ".join(f'"{name}"' for name in self.constraints)
        return f"t = {self.time:.4g} s ({listed})"


@dataclass(frozen=True)
class _Factors:
    """Singular value decomposition of the m constraint rows of n bodies, at one time, s.

    The r singular values s (r,) are relative to the largest; the singular vectors are U (m, r) and Vt (r, 6 n).
    """

    time: float
    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray


def singular_passages(segments: Sequence[Segment]) -> list[Passage]:
    """Return the singular configurations of a run that are detectable from its output states."""
    return [passage for segment in segments for passage in _along(segment)]


def _along(segment: Segment) -> list[Passage]:
    model, count = segment.model, len(segment.time)
    if segment.rank == 0 or count < 2 or segment.changed or not has_loops(model):
        return []
    work = 10.0 * model.rows**2 * 6 * len(model.mass)
    rows = range(0, count, int(np.ceil(count * work / MOST_WORK)))
    found, before = [], None
    # The solver evaluates relations in machine code; evaluation in Python would take most of the time.
    solver = segment.solver() if model.relations else None
    for row in rows:
        now = _factors(segment, solver, row)
        if now.s[-1] < SINGULAR:
            continue
        if before is not None:
            found += [_passage(segment, before, now, one, other) for one, other in _crossed(before, now)]
        before = now
    return found


def _factors(segment: Segment, solver: Solver | None, row: int) -> _Factors:
    model, kin, t = segment.model, segment.kinematics[row], float(segment.time[row])
    known = solver.relations_at(segment.state_at(row), t) if solver is not None else None
    A = Metric.uniform(model).rows(in_body_axes(model, kin, spatial_rows(model, kin, t, known)))
    lengths = np.linalg.norm(A, axis=1, keepdims=True)
    U, s, Vt = np.linalg.svd(A / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    return _Factors(t, U[:, : segment.rank], s[: segment.rank] / s[0], Vt[: segment.rank])


def _crossed(earlier: _Factors, later: _Factors) -> list[tuple[int, int]]:
    """Return the singular values that pass through zero between two output states, as pairs of indices.

    Each pair has the index of the singular value in `earlier` and in `later`.
    """
    left, right = earlier.U.T @ later.U, earlier.Vt @ later.Vt.T
    alike = np.minimum(np.abs(left), np.abs(right))
    pairs = []
    for one in np.flatnonzero(earlier.s < LOW):
        other = int(np.argmax(alike[one]))
        if alike[one, other] >= ALIKE and later.s[other] < LOW and left[one, other] * right[one, other] < 0:
            pairs.append((int(one), other))
    return pairs


def _passage(segment: Segment, earlier: _Factors, later: _Factors, index: int, next_index: int) -> Passage:
    share = earlier.s[index] / (earlier.s[index] + later.s[next_index])
    vector = earlier.U[:, index] if share < 0.5 else later.U[:, next_index]
    parts = {name: float(np.linalg.norm(vector[rows])) for name, rows in segment.model.joint_rows.items()}
    return Passage(float(earlier.time + share * (later.time - earlier.time)), _named(parts))


def _named(parts: dict[str, float]) -> tuple[str, ...]:
    """Return the names of the constraints with the largest contributions to a dependency, in decreasing order.

    `parts` are the contributions of all constraints by name.
    """
    names: Sequence[str] = sorted(parts, key=lambda name: -parts[name])
    return tuple(name for name in names[:MOST_NAMED] if parts[name] > SHARE * parts[names[0]])
