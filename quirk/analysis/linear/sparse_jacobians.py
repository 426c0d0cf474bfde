"""Sparse Jacobians of the equations of motion of a large system, from evaluations along few directions.

At fixed multipliers the acceleration of a body depends only on bodies that share a force element or constraint with
this body. Many bodies can therefore be varied in the same direction, provided that no body depends on two varied bodies
(Curtis, Powell and Reid, IMA J. Appl. Math. 13 (1974)): 36 directions suffice for a chain of any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.dynamics.model.directions import FREEDOMS, Directions
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.dynamics.sparse.tangent.tangent import refuse_friction
from quirk.jit.simd import WIDTH

from .operating_point import Point


@dataclass(frozen=True)
class Local:
    """Sparse Jacobians with respect to 12 coordinates of each of n bodies, then k internal variables.

    The 12 coordinates are displacement, rotation, and variations of the velocity and angular velocity.

    Attributes
    ----------
    accelerations : (6 n, 12 n + k) accelerations at fixed multipliers: linear, inertial frame; angular, body axes
    rates : (k, 12 n + k) rates of the internal variables
    positions, velocities : (m, 12 n + k) residuals of the m constraint rows, and their rates
    """

    accelerations: Any
    rates: Any
    positions: Any
    velocities: Any

    @classmethod
    def at(cls, point: Point, freedoms: int = FREEDOMS) -> Local:
        """Return the Jacobians at an operating point.

        If `freedoms` is 6, the columns of velocities and internal variables are left empty.
        """
        from scipy.sparse import csr_array

        refuse_friction(point.solver, "a few modes: ask for all of them, without count=")
        near, of_rows, of_internal = _neighbors(point)
        shapes = {"accelerations": 6 * point.bodies, "rates": point.internal, "positions": point.model.rows,
                  "velocities": point.model.rows}  # fmt: skip
        entries: dict[str, list[tuple[np.ndarray, ...]]] = {name: [] for name in shapes}
        for members in _colors(near):
            owners = [_owners(touching, members) for touching in (near, of_internal, of_rows)]
            for first in range(0, freedoms, WIDTH):
                parts = range(first, min(first + WIDTH, freedoms))
                directions = Directions.none(point.model, len(parts))
                directions.bodies[members, first : parts.stop] = np.eye(len(parts))
                _add_directions(point, directions, owners, np.array(parts), entries)
        if freedoms == FREEDOMS:
            _note_internal(point, entries)
        columns = FREEDOMS * point.bodies + point.internal
        return cls(**{name: csr_array(_triplets(entries[name]), (size, columns)) for name, size in shapes.items()})


def _add_directions(
    point: Point, directions: Directions, owners: list[np.ndarray], coordinates: np.ndarray, entries: dict[str, Any]
) -> None:
    """Compute derivatives along several directions at an operating point, and add them to entries of the Jacobians.

    In each direction the coordinates `coordinates` (indices 0 to 11) of many bodies are varied at once. `owners`
    contains, for each body, internal variable and row, the index of the one varied body on which it depends, or -1.
    `entries` holds lists of the nonzero entries of each Jacobian by name; they are extended.
    """
    accelerations, tangent = _free_accelerations(point, directions)
    bodies, internal, rows = owners

    def add(name: str, values: np.ndarray, owner: np.ndarray, size: int) -> None:
        """Add derivatives (count, size, directions) of `count` vectors to the entries called `name`.

        `size` is the number of components of a vector. `owner` contains, for each vector, the index of the varied body
        on which it depends, -1 for none.
        """
        moved = np.flatnonzero(owner >= 0)
        row = size * moved[:, None, None] + np.arange(size)[:, None] + 0 * coordinates
        column = FREEDOMS * owner[moved][:, None, None] + coordinates + 0 * row
        entries[name].append((values[moved].ravel(), row.ravel(), column.ravel()))

    add("accelerations", accelerations, bodies, 6)
    add("rates", tangent.internal.T[: point.internal, None], internal, 1)
    add("positions", tangent.levels[..., 0].T[:, None], rows, 1)
    add("velocities", tangent.levels[..., 1].T[:, None], rows, 1)


def _note_internal(point: Point, entries: dict[str, Any]) -> None:
    """Add the derivatives with respect to each internal variable to the entries of the Jacobians.

    `entries` holds lists of the nonzero entries of each Jacobian by name; they are extended.
    """
    for number in range(point.internal):
        directions = Directions.none(point.model, 1)
        directions.internal[number] = 1.0
        accelerations, tangent = _free_accelerations(point, directions)
        column = FREEDOMS * point.bodies + number
        for name, values in (("accelerations", accelerations), ("rates", tangent.internal.T[: point.internal])):
            rows = np.flatnonzero(values.ravel())
            entries[name].append((values.ravel()[rows], rows, np.full(len(rows), column)))


def _free_accelerations(point: Point, directions: Directions) -> tuple[np.ndarray, Any]:
    """Return derivatives (n, 6, D) of the accelerations of n bodies at fixed multipliers along D <= 8 directions.

    `point` is the operating point. The second result is the `Tangent`, the derivatives with multipliers that vary so
    that the constraints remain satisfied.
    """
    tangent = point.tangent(directions)
    model, slots = point.model, point.solver.slots
    loads = point.differential.tangents.loads.reshape(-1, 6, WIDTH)[slots.slot[: point.bodies], :, : directions.count]
    angular = np.einsum("nij,njd->nid", model.inverse_root, loads[:, 3:])
    return np.concatenate([loads[:, :3] / model.mass[:, None, None], angular], axis=1), tangent


def _neighbors(point: Point) -> tuple[Any, Any, Any]:
    """Return three sparse matrices that mark the bodies on which bodies, constraint rows and internal variables depend.

    `point` is the operating point with the model. Row i of a matrix has nonzero entries at the bodies on which its i-th
    body, constraint row or variable depends.
    """
    from scipy.sparse import csr_array, eye_array

    model, n = point.model, point.bodies
    rows, bodies, groups = [], [], []
    for placed in as_relations(model):
        own = [b for b in placed.bodies if b < n]
        groups.append(own)
        rows += [row for row in range(placed.rows.start, placed.rows.stop) for _ in own]
        bodies += own * (placed.rows.stop - placed.rows.start)
    variables: list[tuple[int, int]] = []
    for element, at in model.forces:
        own = [b for b in at if b < n]
        groups += [own] if element.between else []
        inside = model.auxiliary.internal.get(element.name, slice(0, 0))
        variables += [(number, b) for number in range(inside.start, inside.stop) for b in own]
    member = [(g, b) for g, own in enumerate(groups) for b in own]
    joins = _pattern(member, (len(groups), n))
    near = (joins.T @ joins + eye_array(n, format="csr")).tocsr()
    near.data[:] = 1.0
    return (
        near,
        csr_array((np.ones(len(rows)), (rows, bodies)), (model.rows, n)),
        _pattern(variables, (point.internal, n)),
    )


def _pattern(pairs: list[tuple[int, int]], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    one, two = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return csr_array((np.ones(len(one)), (one, two)), shape)


def _colors(neighbors: Any) -> list[np.ndarray]:
    """Return sets of bodies that can be varied together, because no body depends on two bodies of the same set.

    The sets are found by greedy coloring of the distance-2 graph. Row i of the sparse matrix `neighbors` has nonzero
    entries at the bodies on which body i depends.
    """
    apart = (neighbors @ neighbors).tocsr()
    color = np.full(apart.shape[0], -1)
    for body in np.argsort(-np.diff(apart.indptr), kind="stable"):
        taken = set(color[apart.indices[apart.indptr[body] : apart.indptr[body + 1]]])
        color[body] = next(c for c in range(len(taken) + 1) if c not in taken)
    return [np.flatnonzero(color == c) for c in range(color.max() + 1)]


def _owners(touching: Any, members: np.ndarray) -> np.ndarray:
    """Return, for each row of a sparse matrix, the index of the body in `members` on which the row depends, or -1.

    The nonzero entries of a row of `touching` mark the bodies on which it depends.
    """
    found = np.full(touching.shape[0], -1)
    part = touching[:, members].tocoo()
    found[part.coords[0]] = members[part.coords[1]]
    return found


def _triplets(parts: list[tuple[np.ndarray, ...]]) -> Any:
    values, rows, columns = (np.concatenate(x) for x in zip(*parts, strict=True)) if parts else ([], [], [])
    return values, (rows, columns)
