"""Equilibria of large systems with elastic beams, by Newton's method with sparse matrices.

The unknowns are the displacements z of all bodies and the multipliers x of the independent rows. In coordinates of the
mass metric, with the accelerations a, their derivative K at fixed multipliers, and the rows B, a step solves

 K z + B^T x = -a,   B z = 0,

without elimination, so that the matrix is as sparse as the system. Loads of beams in K are evaluated at the strains of
`mixed_newton`. Systems for which the result could be wrong, such as systems with motions without stiffness or with
internal variables, are left to the dense search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.state import STATE_SIZE, State
from quirk.dynamics.dense.projection import displaced
from quirk.dynamics.model.joint_angles import angles_at
from quirk.errors import InputError
from quirk.forces import Friction

from .beam_strains import BeamStrains
from .free_accelerations import LONGEST_STEP, size_of_change, size_of_loads
from .mixed_newton import excites
from .operating_point import Point
from .sparse_jacobians import Local

if TYPE_CHECKING:
    from quirk.system.system import System

# Smallest number of free coordinates for which sparse matrices are faster than dense matrices.
LARGE = 60
MOST_STEPS = 100
# Largest Newton step that counts as round-off: displacement, in lengths of the system, or rotation, rad.
STANDS = 1e-10
# Residuals, that is, accelerations as fractions of those that the loads would cause without mutual cancellation, at
# which the search has converged, and up to which a result is accepted.
FOUND, MISSED = 1e-13, 1e-8
# A mode grows if its squared growth rate exceeds this fraction of the largest derivative.
GROWS = 1e-9
# Stiffness below this fraction of the largest derivative is round-off.
INDIFFERENT = 1e-14
# Stiffness added to motions that violate the constraints, as a multiple of the largest derivative.
STIFFER = 1e3


def sparse_newton(system: System, start: State, t: float) -> tuple[State, float] | None:
    """Return an equilibrium near `start` at time t (s) and its residual, or None.

    The iteration is that of `mixed_newton`, with strains as unknowns, followed by Newton's method, both with sparse
    matrices. The residual is the norm of the accelerations, relative to those that the loads would cause without mutual
    cancellation. The result is None if the system is small or unsuited to sparse matrices, or if the iteration fails.
    """
    if not suits(system):
        return None
    try:
        return _search(system, start, t)
    except InputError:  # a singular state
        return None


def suits(system: System) -> bool:
    """Whether statics of a system can use sparse matrices: it is large, has beams, and has only supported parts."""
    model = system.model
    return (
        6 * len(model.mass) - model.rows >= LARGE
        and bool(BeamStrains.of(system).names)
        and not any(isinstance(element, Friction) for element, _ in model.forces)
        and not model.auxiliary.internal
        and not any(placed.relation.of_velocities for placed in model.relations)
    )


def _search(system: System, start: State, t: float) -> tuple[State, float] | None:
    segments, strains, loaded, best, found, stands = BeamStrains.of(system), None, 0.0, np.inf, None, False
    point = Point(system, start, t)
    for _ in range(MOST_STEPS):
        now = segments.strains(point)
        with segments.at(point, now if strains is None else strains, now):
            local = Local.at(point, freedoms=6)
        loaded = max(loaded, size_of_loads(point))
        linear = LinearizedStatics.at(point, local)
        a = point.metric.coordinates(point.linear, point.angular)
        missing = float(np.linalg.norm(a)) / loaded if loaded > 0 else 0.0
        step = linear.solved(-a)
        if step is None:
            return None
        moves, turns = point.metric.vector(step)
        if missing < best:
            best, found = missing, (point, linear)
        elif stands or best <= MISSED:
            break
        if missing <= FOUND:
            break
        # Stiff loads may still change much in a step that hardly moves anything: go on while accelerations decrease.
        stands = stands or size_of_change(point, moves, turns) <= STANDS
        size = size_of_change(point, moves, turns, np.inf)
        part = min(1.0, LONGEST_STEP / size) if size > 0 else 1.0
        strains = now + part * segments.rates(point, moves, turns)
        following = moved(point, part * moves, part * turns)
        if following is None:
            return None
        point = following
    if found is None or (best > MISSED and not stands):
        return None
    growing = found[1].growing()
    if growing is None or excites(found[0], growing, start):
        return None
    return found[0].state, 0.0 if stands else best


def moved(point: Point, moves: np.ndarray, turns: np.ndarray) -> Point | None:
    """Return the operating point after displacements of the bodies, projected onto the constraints; None if that fails.

    `moves` (n, 3) are translations, m, and `turns` (n, 3) rotations, rad.
    """
    model, solver, state = point.model, point.solver, point.state
    y = solver.slots.state_to_lanes(model.auxiliary.flat(displaced(state, moves, turns)))
    if not solver.project(y, point.t):
        return None
    placed = State.unpack(solver.slots.state_from_lanes(y)[: STATE_SIZE * point.bodies])
    still = State(placed.position, placed.orientation, state.velocity, state.angular_velocity,
                  angles=state.angles, bodies=state.bodies)  # fmt: skip
    solver.settle_state(still, point.t)
    angles = angles_at(model, still, point.t)
    found = Point.along(point.system, point.system.plant, solver, still, point.t, angles)
    found.differential = point.differential  # of the same solver
    return found


@dataclass(frozen=True)
class LinearizedStatics:
    """Linearized equations at a state, in coordinates of the mass metric of n bodies.

    Attributes
    ----------
    K : (6 n, 6 n) sparse derivatives of the accelerations at fixed multipliers, 1/s^2
    B : (r, 6 n) sparse independent rows of unit length
    size : largest entry of K, 1/s^2
    """

    point: Point
    K: Any
    B: Any
    size: float

    @classmethod
    def at(cls, point: Point, local: Local) -> LinearizedStatics:
        """Return the equations at an operating point with its sparse Jacobians."""
        from scipy.sparse import block_diag, csr_array, diags_array

        n, metric = point.bodies, point.metric
        poses = (12 * np.arange(n)[:, None] + np.arange(6)).ravel()
        W = np.zeros((n, 6, 6))
        W[:, range(3), range(3)] = metric.translation[:, None]
        W[:, 3:, 3:] = metric.rotation
        into, out = block_diag(list(W), format="csr"), block_diag(list(np.linalg.inv(W)), format="csr")
        K = csr_array(out @ csr_array(local.accelerations)[:, poses] @ into)
        B = csr_array(csr_array(local.positions)[point.independent][:, poses] @ into)
        lengths = np.sqrt(np.asarray(B.multiply(B).sum(axis=1)).ravel())
        return cls(point, K, csr_array(diags_array(1.0 / lengths) @ B), float(np.abs(K.data).max(initial=0.0)))

    def factors(self, shift: float) -> Any:
        """Return the factors of the matrix [K - shift, B^T; B, 0], or None if it is singular up to round-off.

        K is the derivative of the accelerations, and B are the constraint rows; `shift` is in 1/s^2.
        """
        from scipy.sparse import block_array, eye_array
        from scipy.sparse.linalg import LinearOperator, onenormest, splu

        free, r = self.K - shift * eye_array(self.K.shape[0]), self.B.shape[0]
        rows = self.size * self.B
        try:
            found = splu((block_array([[free, rows.T], [rows, None]]) if r else free).tocsc())
        except RuntimeError:  # exactly singular
            return None
        shape = (self.K.shape[0] + r,) * 2
        inverse = LinearOperator(
            shape, matvec=found.solve, rmatvec=lambda y: found.solve(np.ravel(y), "T"), dtype=float
        )
        return found if onenormest(inverse) * self.size * INDIFFERENT < 1.0 else None

    def solved(self, b: np.ndarray) -> np.ndarray | None:
        """Return the displacement (6 n,) that changes the accelerations by b (6 n,), except for constraint loads.

        The result is None if the displacement is undetermined because of motions without stiffness.
        """
        factors = self.factors(0.0)
        return None if factors is None else factors.solve(np.concatenate([b, np.zeros(self.B.shape[0])]))[: len(b)]

    def growing(self) -> np.ndarray | None:
        """Return the unstable modes as columns (6 n, g), or None if they cannot be found with sparse matrices.

        The squared growth rates are eigenvalues of K. Their real parts are below any shift for which the symmetric part
        of shift - K is positive definite, and their imaginary parts are bounded by the norm of the antisymmetric part
        of K (Bendixson). The eigenvalues of all unstable modes are therefore among those nearest to the shift.
        """
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, norm

        size, limit = self.K.shape[0], GROWS * self.size
        shift = limit
        if self.below(shift):
            return np.zeros((size, 0))
        while not self.below(shift):
            shift *= 4.0
        across = 0.5 * (self.K - self.K.T)
        farthest = np.hypot(shift, norm(across, 1))
        factors, none = self.factors(shift), np.zeros(self.B.shape[0])
        if factors is None:
            return None
        inverse = LinearOperator(
            (size, size), matvec=lambda y: factors.solve(np.concatenate([np.ravel(y), none]))[:size], dtype=float
        )
        count = 4
        while 4 * count < size:
            try:
                values, motions = eigs(inverse, k=count, v0=inverse @ np.ones(size), tol=0)
            except ArpackNoConvergence:
                return None
            rates = shift + 1.0 / values
            if np.abs(rates - shift).max() > farthest:
                return np.asarray(motions[:, rates.real > limit])
            count *= 2
        return None

    def below(self, shift: float) -> bool:
        """Whether all eigenvalues of the symmetric part of K, restricted to allowed motions, are below `shift`.

        `shift` is in 1/s^2. Motions that the constraints exclude are penalized by an added stiffness; if this is too
        small, False may be returned wrongly.
        """
        from scipy.linalg import LinAlgError, cholesky_banded
        from scipy.sparse import csr_array, eye_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        P = STIFFER * self.size * (self.B.T @ self.B) - 0.5 * (self.K + self.K.T) + shift * eye_array(self.K.shape[0])
        P = csr_array(P)
        order = reverse_cuthill_mckee(P, symmetric_mode=True)
        P = P[order][:, order].tocoo()
        row, column = P.coords
        band = np.zeros((int((row - column).max(initial=0)) + 1, P.shape[0]))
        lower = row >= column
        band[(row - column)[lower], column[lower]] = P.data[lower]
        try:
            cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)
        except LinAlgError:
            return False
        return True
