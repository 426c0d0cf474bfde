"""Basis of the motions that the constraints allow at a state, orthonormal in the mass metric.

The coordinates u describe the free variations of poses, and w the free variations of velocities. A variation of poses
dq = N_q u satisfies the linearized constraints on poses. Since the constraint rows vary with the poses, velocities must
vary, too: dv = N_v w + P u satisfies the linearized constraints on velocities, where P u is a particular solution.
Constraints on velocities alone, such as rolling, restrict w but not u, so that u has more components than w.
Coordinates of the mass metric are the 6 n velocities or displacements of n bodies, scaled so that the squared norm of
velocities is twice the kinetic energy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.dynamics.dense.rows import tangent_rows
from quirk.dynamics.dense.udwadia_kalaba import PseudoInverse
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.model.metric import Metric
from quirk.errors import InputError

from .operating_point import Point


@dataclass(frozen=True)
class NullSpaceBasis:
    """Basis of the motions of n bodies that the constraints allow at one state.

    Variations of poses are N_q u, and those of velocities N_v w + P u, with p free coordinates u of poses and v free
    coordinates w of velocities. All are in coordinates of the mass metric.

    Attributes
    ----------
    poses : (6 n, p) orthonormal columns N_q
    velocities : (6 n, v) orthonormal columns N_v
    particular : (6 n, p) columns P, orthogonal to N_v
    """

    point: Point
    poses: np.ndarray
    velocities: np.ndarray
    particular: np.ndarray
    _holding: PseudoInverse
    _all: PseudoInverse

    @classmethod
    def at(cls, point: Point) -> NullSpaceBasis:
        """Return the basis of the allowed motions at an operating point.

        Raises
        ------
        InputError
            If the constraints are singular at the point.
        """
        model = point.model
        rows = tangent_rows(model, point.kin, point.t)
        alike, scaled = Metric.uniform(model).rows(rows), point.metric.rows(rows)
        kept = point.independent
        _require_regular(point, alike)
        of_poses = ~model.row_of_velocities
        every = PseudoInverse.of(scaled, kept, limit=point.rank)
        holding = every
        if not of_poses.all():
            rank = len(PseudoInverse.of(alike, of_poses, least=model.rank_tolerance).s)
            holding = PseudoInverse.of(scaled, of_poses, limit=rank)
        poses, velocities = (_complement(one.Vt, 6 * point.bodies) for one in (holding, every))
        found = cls(point, poses, velocities, np.zeros_like(poses), holding, every)
        directions = Directions.none(model, poses.shape[1])
        directions.bodies[:, :6] = found.motions_from_weighted(poses)
        if model.rows and poses.shape[1]:
            missing = point.tangent(directions).levels[..., 1].T
            found.particular[:] = -found._solved(every, missing)
        return found

    @property
    def size(self) -> int:
        """Number of states: p free poses, v free velocities, and the internal variables."""
        return self.poses.shape[1] + self.velocities.shape[1] + self.point.internal

    def motions_from_weighted(self, z: np.ndarray) -> np.ndarray:
        """Return motions of the n bodies (n, 6, D) for D columns `z` (6 n, D) in mass-weighted coordinates.

        Linear parts are in the inertial frame, angular parts in body axes.
        """
        return motions_from_weighted(self.point.metric, z)

    def directions(self) -> Directions:
        """Return the basis as directions: p for poses, v for velocities, then one for each internal variable."""
        p, v, point = self.poses.shape[1], self.velocities.shape[1], self.point
        made = Directions.none(point.model, self.size)
        made.bodies[:, :6, :p] = self.motions_from_weighted(self.poses)
        made.bodies[:, 6:, :p] = self.motions_from_weighted(self.particular)
        made.bodies[:, 6:, p : p + v] = self.motions_from_weighted(self.velocities)
        made.internal[: point.internal, p + v :] = np.eye(point.internal)
        return made

    def coordinates(self, bodies: np.ndarray, internal: np.ndarray) -> np.ndarray:
        """Return the coordinates (F, D) of D motions in this basis: u of poses, w of velocities, internal variables.

        `bodies` (n, 12, D) are the variations of the states of n bodies, `internal` (k, D) those of internal variables.
        """
        metric, n = self.point.metric, self.point.bodies

        def gathered(part: np.ndarray) -> np.ndarray:
            turned = np.linalg.solve(metric.rotation, part[:, 3:])
            scaled = part[:, :3] / metric.translation[:, None, None]
            return np.concatenate([scaled, turned], axis=1).reshape(6 * n, -1)

        moved, moving = gathered(bodies[:, :6]), gathered(bodies[:, 6:])
        return np.concatenate([self.poses.T @ moved, self.velocities.T @ moving, internal])

    def completed(self, directions: Directions) -> Directions:
        """Add to variations of parameters the smallest variations of poses and velocities that satisfy the constraints.

        `directions` holds the variations; it is changed in place and returned. The added variations are orthogonal to
        the basis in the mass metric.
        """
        for part, level, rows in ((slice(0, 6), 0, self._holding), (slice(6, 12), 1, self._all)):
            if self.point.model.rows:
                missing = self.point.tangent(directions).levels[..., level].T
                directions.bodies[:, part] -= self.motions_from_weighted(self._solved(rows, missing))
        return directions

    @staticmethod
    def _solved(rows: PseudoInverse, residual: np.ndarray) -> np.ndarray:
        """Return the variations (6 n, D) of least norm that produce given residuals of the m constraint rows.

        `residual` (m, D) are the residuals, and `rows` is the pseudo-inverse of the rows.
        """
        return np.asarray(rows.Vt.T @ ((rows.U.T @ (rows.D[:, None] * residual)) / rows.s[:, None]))


def motions_from_weighted(metric: Metric, z: np.ndarray) -> np.ndarray:
    """Return motions of n bodies (n, 6, D) for D columns `z` (6 n, D) in mass-weighted coordinates.

    `metric` defines the weights. Linear parts are in the inertial frame, angular parts in body axes.
    """
    by_body = z.reshape(len(metric.translation), 6, -1)
    translation = metric.translation[:, None, None] * by_body[:, :3]
    return np.concatenate([translation, np.einsum("nij,njd->nid", metric.rotation, by_body[:, 3:])], axis=1)


def _require_regular(point: Point, uniform_rows: np.ndarray) -> None:
    """Raise an InputError if the operating point is a singular configuration, where motions may branch.

    There, constraint rows are dependent that are independent nearby. `uniform_rows` (m, 6 n) are the rows in the metric
    of bodies with equal mass and inertia.
    """
    kept = point.independent
    if not kept.any():
        return
    lengths = np.linalg.norm(uniform_rows[kept], axis=1)
    least = np.linalg.svd(uniform_rows[kept] / lengths[:, None], compute_uv=False)[-1]
    if least < point.model.rank_tolerance:
        raise InputError(
            f"System: at this state the constraints are singular (a singular value of {least:.1e}), where motions "
            "branch and there is no linear system: move it a little, for example by "
            "system.assemble(coordinates={...})"
        )


def _complement(rows: np.ndarray, size: int) -> np.ndarray:
    """Return `size` - r orthonormal columns that are orthogonal to r orthonormal `rows` (r, size)."""
    if not len(rows):
        return np.eye(size)
    return np.linalg.svd(rows)[2][len(rows) :].T
