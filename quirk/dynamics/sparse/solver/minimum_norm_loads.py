"""Distribution of loads over redundant rows: the multipliers of minimum norm with given constraint forces.

A is the matrix of constraint rows, lambda the multipliers, and Q_c the constraint forces. Weights D make multipliers
comparable. The minimum of |D lambda| with A^T lambda = Q_c is lambda = D^-2 A y, where (A^T D^-2 A) y = Q_c. These
equations hold at all times, so derivatives follow by Leibniz' rule. y has six unknowns for each body, coupled by
joints; the null space of A^T D^-2 A consists of the motions allowed by the constraints. D^-1 A is factorized like the
rows of joints (`orthogonal`), with the roles of joints and bodies exchanged. A side is one body of a joint; there are s
sides, e joints, n bodies and m rows. G is the array of all rows, as computed by kernels.

Rows are multiplied by the factor W of the uniform metric (`quirk.dynamics.model.metric`): forces in the inertial frame
are not changed, and moments are in body axes and divided by the characteristic length of the body. For each body,
arrays contain these six components followed by two zeros, to fill the eight elements of a vector register.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_SIZE
from quirk.dynamics.model.metric import body_lengths
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH, aligned

from ..kernels.minimum_norm import REFINEMENTS, RedundantRows
from ..kernels.relations import SIDE_FORCE, SIDE_MOMENT
from ..symbolic.fronts import BodySides, Orthogonal, orthogonal
from ..symbolic.ordering import gathered, minimum_degree
from ..symbolic.tables import SIDES, SIGNS, Tables


class MinimumNormLoads:
    """Multipliers of minimum norm for redundant constraints of one model.

    Parameters
    ----------
    model : the model, whose `row_scale` contains the weights D of the multipliers
    tables : constant tables of the model

    Attributes
    ----------
    orthogonal : pattern of the orthogonal factorization in which bodies are eliminated
    count : number n of bodies
    """

    def __init__(self, model: Model, tables: Tables) -> None:
        self.count = n = len(model.mass)
        self.placed = [(k, joint) for k, joint in enumerate(tables.joints) if joint is not None]
        sides = [(e, s, body) for e, (_, joint) in enumerate(self.placed) for s, body in enumerate(joint.bodies)]
        at_joint: list[list[tuple[int, int]]] = [[] for _ in self.placed]
        for number, (e, _, body) in enumerate(sides):
            if body < n:
                at_joint[e].append((number, body))
        coupled: list[set[int]] = [set() for _ in range(n)]
        for those in at_joint:
            for _, body in those:
                coupled[body].update(other for _, other in those if other != body)
        order, later = gathered(*minimum_degree(coupled, [set() for _ in range(n)]))
        position = np.empty(n + 1, dtype=np.int64)
        position[order] = np.arange(n)
        position[n] = n  # the ground comes after all bodies
        neighbours = [sorted(int(position[b]) for b in others) for others in later]
        meeting = []
        for those in at_joint:
            starts = [6 * WIDTH * number for number, _ in those]
            if those:
                meeting.append(
                    BodySides(
                        nodes=[int(position[body]) for _, body in those],
                        force=starts,
                        moment=[start + 3 * WIDTH for start in starts],
                        scale=[1.0] * len(those),
                    )
                )
        self.orthogonal = orthogonal(neighbours, np.full(n, 6), np.ones(n), meeting, {})
        # Per side: its joint, its index among the sides of that joint, and the position of its body.
        self.joint, _, bodies = np.array(sides, dtype=np.int64).reshape(-1, 3).T
        self.place = position[bodies]
        self.elements, signs = self._elements(sides, tables)
        # In the uniform metric: large mass ratios would lose information to round-off.
        self.force_scale = signs * (bodies < n)
        root = np.linalg.inv(model.inverse_root) / body_lengths(model)[:, None, None]
        self.moment_scale = np.concatenate([root, np.zeros((1, 3, 3))])[bodies]
        # Index of each row of the model among those of the joints.
        self.row_scale = model.row_scale
        of_row, row = np.empty((2, model.rows), dtype=np.int64)
        for e, (_, joint) in enumerate(self.placed):
            of_row[joint.rows], row[joint.rows] = e, np.arange(len(joint.rows))
        self.row_place = of_row, row
        self.inverse_scale = np.zeros((len(self.placed), 6))
        self.inverse_scale[self.row_place] = 1 / model.row_scale
        self.row_lane, self.nodes = tables.row_lane, len(tables.joints)

    def _elements(self, sides: Sequence[tuple[int, int, int]], tables: Tables) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices (2, s, 3, 6) of forces and moments in the array of rows, and the signs (s,) of the forces.

        There are s sides, one for each body of each joint. `sides` contains three indices for each: of the joint, of
        the body among the bodies of the joint, and of the body in the model. The last axis of the result corresponds to
        the rows of the joint.
        """
        starts, signs = np.empty((2, len(sides)), dtype=np.int64), np.ones(len(sides))
        for s, (e, side, _) in enumerate(sides):
            k, joint = self.placed[e]
            if joint.relation is None:
                starts[:, s], signs[s] = (G_SIZE * k + G_FORCE, G_SIZE * k + SIDES[side]), SIGNS[side]
            else:
                start = tables.nodes.relations.starts(joint.relation)[side]
                starts[:, s] = start + SIDE_FORCE, start + SIDE_MOMENT
        return starts[:, :, None, None] + WIDTH * np.arange(3)[:, None] + np.arange(6), signs

    def compiled(self) -> RedundantRows:
        """Return the tables and scratch arrays with which compiled code computes the multipliers at one state."""
        e, row = self.row_place
        lane, weight, inverse = (np.zeros((len(self.placed), WIDTH), dtype=kind) for kind in (np.int64, float, float))
        lane[e, row], weight[e, row], inverse[e, row] = self.row_lane, self.row_scale, 1 / self.row_scale
        force, moment = self.elements[:, :, 0, 0]
        sides = {
            "joint": self.joint,
            "body": self.place,
            "force": force,
            "moment": moment,
            "force_scale": self.force_scale,
            "moment_scale": self.moment_scale,
            "lane": lane,
            "weight": weight,
            "inverse_weight": inverse,
        }
        return _redundant_rows(sides, self.orthogonal, self.nodes)

    def multipliers(
        self,
        x: Sequence[np.ndarray],
        G: Sequence[np.ndarray],
        rank: int,
        factorise: Callable[..., Callable[[np.ndarray], np.ndarray]],
    ) -> list[np.ndarray]:
        """Return the multipliers (m,) of minimum norm, for each order of a Taylor series in time.

        Parameters
        ----------
        x : for each order, multipliers (m,) with the required constraint forces
        G : array of all rows, for each order
        rank : number of independent rows
        factorise : ``factorise(orthogonal, rows, lengths, rank)`` returns a function that solves for right-hand sides
        """
        rows = [self._scaled_rows(of_order) for of_order in G]
        solve = factorise(self.orthogonal, np.ascontiguousarray(rows[0].ravel()), self._lengths(rows[0]), rank)
        loads_of_order: list[np.ndarray] = []
        shared: list[np.ndarray] = []
        y: list[np.ndarray] = []
        for k, multipliers in enumerate(x):
            loads = np.zeros((len(self.placed), 6))
            loads[self.row_place] = multipliers * self.row_scale
            loads_of_order.append(loads)
            least = np.zeros_like(loads)
            goal = self._exerted(loads_of_order[k], rows[0])
            for m in range(1, k + 1):
                least += self._along(y[k - m], rows[m])
                goal += self._exerted(loads_of_order[k - m] - shared[k - m], rows[m])
            of_order = np.zeros((self.count + 1, WIDTH))
            for _ in range(1 + REFINEMENTS):
                left = goal - self._exerted(least, rows[0])
                moved = np.zeros_like(of_order)
                moved[:-1] = solve(left[:-1].ravel()).reshape(-1, WIDTH)
                least += self._along(moved, rows[0])
                of_order += moved
            shared.append(least)
            y.append(of_order)
        return [loads[self.row_place] / self.row_scale for loads in shared]

    def _along(self, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the products (e, 6) of the rows of e joints and the unknowns y (n + 1, 8) of n bodies and the ground.

        `rows` (s, 6, 8) are the rows of each joint on each of its bodies, see `_scaled_rows`.
        """
        by_joint = np.zeros((len(self.placed), 6))
        np.add.at(by_joint, self.joint, np.einsum("srl,sl->sr", rows, y[self.place]))
        return by_joint

    def _exerted(self, loads: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the loads (n + 1, 8) that scaled multipliers exert on n bodies and the ground.

        `loads` (e, 6) are the multipliers of the rows of e joints, times their weights D; `rows` (s, 6, 8) are the rows
        of each joint on each of its bodies, see `_scaled_rows`. The eight components are force, moment and two zeros.
        """
        on_bodies = np.zeros((self.count + 1, WIDTH))
        np.add.at(on_bodies, self.place, np.einsum("sr,srl->sl", loads[self.joint], rows))
        return on_bodies

    def _scaled_rows(self, G: np.ndarray) -> np.ndarray:
        """Return the scaled rows D^-1 A W (s, 6, 8) of each joint on each of its bodies, from the array G of all rows.

        A are the constraint rows, D their weights, and W is the factor of the uniform metric. The first axis
        corresponds to the bodies of all joints, the second to the rows of the joint; missing rows are zero. The last
        axis holds the force on the body (inertial frame), its moment (body axes, over the characteristic length of the
        body), and two zeros.
        """
        rows = np.zeros((len(self.joint), 6, WIDTH))
        force, moment = G[self.elements]
        rows[..., :3] = np.swapaxes(force, 1, 2) * self.force_scale[:, None, None]
        # Moments in G are W^T R^T times those in the inertial frame.
        rows[..., 3:6] = np.einsum("scl,sck->slk", moment, self.moment_scale)
        return rows * self.inverse_scale[self.joint][..., None]

    def _lengths(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared norms (8 n,) of the columns of the scaled rows D^-1 A W.

        A are the constraint rows, D their weights, and W is the factor of the uniform metric. Each of n bodies has six
        columns, for force and moment, and two padding columns of zeros. `rows` (s, 6, 8) are the rows of each joint on
        each of its bodies, see `_scaled_rows`.
        """
        diagonal = np.zeros((self.count + 1, WIDTH))
        np.add.at(diagonal, self.place, (rows**2).sum(axis=1))
        lengths = aligned(WIDTH * self.count)
        lengths[:] = diagonal[:-1].ravel()
        return lengths


@functools.cache
def no_redundant_rows() -> RedundantRows:
    """Return empty tables, for compiled code that needs no loads of redundant rows."""
    none, indices = np.zeros(0), ("joint", "body", "force", "moment", "lane")
    floats = ("force_scale", "moment_scale", "weight", "inverse_weight")
    sides = {name: none.astype(np.int64) for name in indices} | dict.fromkeys(floats, none)
    return _redundant_rows(sides, orthogonal([], none.astype(np.int64), none, [], {}), 0)


def _redundant_rows(sides: Mapping[str, np.ndarray], pattern: Orthogonal, nodes: int) -> RedundantRows:
    """Return the tables of compiled code, with scratch arrays, for a model with a number of nodes.

    `sides` are the first members of `RedundantRows` by name, and `pattern` the pattern of the factorization.
    """
    n, rows = len(pattern.pivots), sides["lane"].size
    scratch = {"rows": 6 * WIDTH * len(sides["joint"]), "loads": rows, "least": rows, "multipliers": WIDTH * nodes}
    scratch |= dict.fromkeys(("lengths", "floor", "rhs", "y"), WIDTH * n)
    return RedundantRows(
        row_count=int(np.count_nonzero(sides["weight"])),
        **{name: array.ravel().copy() for name, array in sides.items()},
        fronts=pattern.fronts,
        triangle=pattern.triangle(),
        scale=pattern.scale,
        coupling=pattern.weight,
        **{name: aligned(size) for name, size in scratch.items()},
    )
