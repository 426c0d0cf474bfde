"""How redundant rows share their load: the multipliers of minimum norm, among all that exert the same forces.

With weights D that make multipliers comparable, min |D lambda| subject to A^T lambda = Q_c has the solution
lambda = D^-2 A y, (A^T D^-2 A) y = Q_c: blocks over bodies, coupled by joints, with the mechanism's freedoms as
null space. They are factorised as the blocks over joints are, with the roles of both exchanged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quirk.lanes import WIDTH, aligned

from ..model import Model
from .factorise import TURNING
from .layout import G_FORCE, G_I, G_J, G_SIZE
from .ordering import gathered, minimum_degree
from .tables import SIGNS, Tables, block_pattern, block_size

# Pivots below this part of a diagonal entry are those of freedoms.
FREEDOM = 1e-11

# A solve leaves errors of round-off over the smallest pivot; this many more make up for it.
REFINEMENTS = 2


class Sharing:
    """Minimum-norm multipliers of one model.

    Parameters
    ----------
    model : Model
        Its `row_scale` holds the weights D.
    tables : Tables

    Attributes
    ----------
    pattern : Pattern of the blocks over bodies
    size : elements of all blocks
    count : number of bodies
    """

    def __init__(self, model: Model, tables: Tables) -> None:
        self.count = n = len(model.mass)
        self.places = [k for k, joint in enumerate(tables.joints) if joint is not None]
        ends = [joint.bodies for joint in tables.joints if joint is not None]
        coupled: list[set[int]] = [set() for _ in range(n)]
        for i, j in ends:
            if i < n and j < n:
                coupled[i].add(j)
                coupled[j].add(i)
        order, later = gathered(*minimum_degree(coupled, [set() for _ in range(n)]))
        self.position = np.empty(n + 1, dtype=np.int64)
        self.position[order] = np.arange(n)
        self.position[n] = n  # the ground, behind all bodies
        neighbours = [sorted(int(self.position[b]) for b in others) for others in later]
        products: dict[tuple[int, int], list[tuple[int, int, int, int, int, float]]] = {}
        for e, pair in enumerate(ends):
            sides = [(int(self.position[b]), 2 * WIDTH * 6 * e + WIDTH * 6 * s) for s, b in enumerate(pair) if b < n]
            for a, left in sides:
                for b, right in sides:
                    if a <= b:
                        # Rows 0 to 2 by the first product, rows 3 to 5 by the second.
                        product = (TURNING, left, right, left + 3 * WIDTH, right + 3 * WIDTH, 1.0)
                        products.setdefault((a, b), []).append(product)
        rows = np.full(n, 6)
        self.pattern = block_pattern(neighbours, rows, np.ones(n), products)
        self.size = block_size(self.pattern)
        self.ends = self.position[np.array(ends, dtype=np.int64).reshape(-1, 2)]
        # Where each row of the model stands among those of the joints.
        self.row_scale = model.row_scale
        joint, row = np.empty((2, model.rows), dtype=np.int64)
        for e, k in enumerate(self.places):
            rows_of = tables.joints[k].rows  # type: ignore[union-attr]
            joint[rows_of], row[rows_of] = e, np.arange(len(rows_of))
        self.row_place = joint, row
        self.inverse_scale = np.zeros((len(ends), 6))
        self.inverse_scale[self.row_place] = 1 / model.row_scale
        self.root_mass = np.array(
            [[SIGNS[s] / np.sqrt(model.mass[b]) if b < n else 0.0 for s, b in enumerate(pair)] for pair in ends]
        ).reshape(-1, 2)

    def multipliers(self, x: np.ndarray, G: np.ndarray, solve: Callable[..., np.ndarray]) -> np.ndarray:
        """Return those (m,) of least norm that exert the same forces as x (m,).

        `G` holds the rows; ``solve(pattern, size, rows, floor, rhs)`` factorises and solves.
        """
        rows = self._scaled_rows(G)
        flat, floor = np.ascontiguousarray(rows.ravel()), self._floor(rows)
        loads = np.zeros((len(self.ends), 6))
        loads[self.row_place] = x * self.row_scale
        found, goal = np.zeros_like(loads), self._exerted(loads, rows)
        for _ in range(1 + REFINEMENTS):
            left = goal - self._exerted(found, rows)
            moved = np.zeros((self.count + 1, WIDTH))
            moved[:-1] = solve(self.pattern, self.size, flat, floor, left[:-1].ravel()).reshape(-1, WIDTH)
            found += np.einsum("esrl,esl->er", rows, moved[self.ends])
        return found[self.row_place] / self.row_scale

    def _exerted(self, loads: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """On each body (n + 1, 8), from what the rows of each joint carry (e, 6)."""
        on_bodies = np.zeros((self.count + 1, WIDTH))
        np.add.at(on_bodies, self.ends.ravel(), np.einsum("er,esrl->esl", loads, rows).reshape(-1, WIDTH))
        return on_bodies

    def _scaled_rows(self, G: np.ndarray) -> np.ndarray:
        """Rows D^-1 A W (e, 2, 6, 8) of each joint and side: per row force and moment on that body, in lanes."""
        g = G[: len(G) // G_SIZE * G_SIZE].reshape(-1, G_SIZE)[self.places]
        rows = np.zeros((len(self.places), 2, 6, WIDTH))
        for side, start in enumerate((G_I, G_J)):
            force = g[:, G_FORCE : G_FORCE + 24].reshape(-1, 3, WIDTH)[:, :, :6]
            moment = g[:, start : start + 24].reshape(-1, 3, WIDTH)[:, :, :6]
            rows[:, side, :, :3] = np.swapaxes(force, 1, 2) * self.root_mass[:, side, None, None]
            rows[:, side, :, 3:6] = np.swapaxes(moment, 1, 2)
        return rows * self.inverse_scale[:, None, :, None]

    def _floor(self, rows: np.ndarray) -> np.ndarray:
        """Floors (8 n,) of the pivots."""
        diagonal = np.zeros((self.count + 1, WIDTH))
        np.add.at(diagonal, self.ends.ravel(), (rows**2).sum(axis=2).reshape(-1, WIDTH))
        floor = aligned(WIDTH * self.count)
        floor[:] = FREEDOM * diagonal[:-1].ravel()
        return floor
