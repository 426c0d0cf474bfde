"""Nearest state that satisfies the constraints, by sparse Gauss-Newton steps.

In the mass metric, each step delta is the vector closest to -g / h that satisfies A delta = -Phi: Phi are the residuals
of the constraints and A their rows, g is the gradient of half the squared distance to the start, and h estimates the
curvature of this half squared distance along the constraints from the last two steps (Barzilai and Borwein, IMA J.
Numer. Anal. 8 (1988)).

At a relative violation p of the constraints, dependent rows have distances of about p from the span of the others.
Therefore rows with distances below p are omitted from a step. Normally the omitted rows are satisfied when the other
rows are; if not, the threshold is decreased independently of the violation, down to the rank tolerance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bodies import rotation
from ..bodies.state import Kinematics, State
from ..constraints import Constraint
from ..dynamics.dense.projection import ROUND_OFF_ULPS, displaced
from ..dynamics.dense.undefined import undefined_constraint
from ..errors import AssemblyError

if TYPE_CHECKING:
    from ..system.system import System

# Cosine of the largest angle, about 78 degrees, between axes of a joint that should be aligned: beyond it a body is
# rotated before the search, because above 90 degrees the search would converge to antiparallel axes.
STEEP = 0.2

# Maximum number of searches; another one starts if the last one converged to a joint with antiparallel axes.
MOST_RIGHTED = 4

# Size of a step (see `_Search._size`) below which the search has converged.
CONVERGED = 1e-12

# Maximum number of steps that reduce both the violations and the distance to the start; if these fail, maximum number
# of steps that reduce the violations only.
MOST_STEPS, MOST_ALONE = 300, 100

# The search fails if for MOST_STALLED steps the violation does not fall below STALLED times its minimum so far; smaller
# violations than CONTRADICTED, in rad or lengths of the system, are accepted.
CONTRADICTED, STALLED, MOST_STALLED = 1e-8, 0.99, 60

# Largest rotation, rad, and displacement, in lengths of the system, of a body in one step.
LONGEST_STEP = 0.5

# Largest threshold for the distances of rows. It is multiplied by NEXT_THRESHOLD if the part of a step that corrects
# violations is smaller than SATISFIED times the violation, because then a violated row has been omitted.
FIRST_THRESHOLD, NEXT_THRESHOLD, SATISFIED = 0.1, 0.1, 0.1

# ALONG: h is estimated from a step if less than this fraction of it corrects violations. SHORTEST_PULL, LONGEST_PULL:
# bounds of 1 / h; the upper bound in use starts at 1, is doubled after a step with a fraction below ALONG, and halved
# if the size of any other step exceeds SHORTER times that of the previous step.
ALONG, SHORTEST_PULL, LONGEST_PULL, SHORTER = 0.3, 0.05, 3.0, 0.9


def nearest(system: System, start: State, t: float) -> State:
    """Return the state nearest to `start` that satisfies the constraints at time t (s); velocities are unchanged.

    If the search fails, the best state that was found is returned.

    Raises
    ------
    AssemblyError
        If a constraint is undefined at a pose during the search.
    """
    search, state = _Search(system, start, t), start
    for _ in range(MOST_RIGHTED):
        state, met = search.from_state(with_aligned_axes(system, state), MOST_STEPS, minimize_distance=True)
        if not met:
            state, met = search.from_state(state, MOST_ALONE, minimize_distance=False)
        if not met or reversed_joint(system, state) is None:
            break
    return on_independent_rows(system, state, t)


def on_independent_rows(system: System, state: State, t: float) -> State:
    """Return the state projected onto the independent constraint rows, which it then satisfies up to round-off.

    If the projection fails, the state is returned unchanged.
    """
    solver = system.plant.solver()
    y = solver.slots.state_to_lanes(system.model.auxiliary.flat(state))
    solver.settle_near(y, t)
    if not solver.project(y, t):
        return state
    found = system.model.auxiliary.state(solver.slots.state_from_lanes(y))
    return State(found.position, found.orientation, *state.parts[2:], bodies=state.bodies)


class _Search:
    """Search for the state nearest to `start` that satisfies the constraints at time t, s."""

    def __init__(self, system: System, start: State, t: float) -> None:
        self.model, self.solver, self.metric = system.model, system.plant.solver(), system.plant.metric
        self.start, self.t = start, t
        self.met = max(CONTRADICTED, self.model.slack)
        self.unit = self.model.residual_scale * np.where(self.model.row_torque, 1.0, self.model.length)

    def from_state(self, state: State, max_steps: int, minimize_distance: bool) -> tuple[State, bool]:
        """Return the state after at most `max_steps` steps from `state`, and whether it satisfies all rows.

        If `minimize_distance`, the steps also reduce the distance to the start; otherwise they only reduce the
        violations.
        """
        model, rest = self.model, np.zeros((len(state.position), 6))
        round_off = ROUND_OFF_ULPS * np.spacing(np.abs(state.position).max()) / model.length
        easing, longest, least, previous, stalled = 1.0, 1.0, np.inf, np.inf, 0
        step: np.ndarray | None = None
        gradient: np.ndarray | None = None
        for _ in range(max_steps):
            y = self.solver.slots.state_to_lanes(state.pack())
            phi = self._residuals(state, y)
            violation = float(np.abs(phi / self.unit).max())
            stalled = stalled + 1 if violation > max(STALLED * least, self.met) else 0
            if stalled > MOST_STALLED:
                break
            least = min(least, violation)
            threshold = max(model.rank_tolerance, min(FIRST_THRESHOLD, easing * violation))
            self.solver.keep(y, self.t, threshold)
            change, _ = self.solver.respond(y, self.t, -phi, rest)
            normal = self._size(change)
            if minimize_distance:
                back, _ = self.solver.respond(y, self.t, np.zeros_like(phi), self._negative_gradient(state))
                before, gradient = gradient, -self.metric.coordinates(back[:, :3], back[:, 3:])
                pull = 1.0 if step is None or before is None else _inverse_curvature(step, gradient - before)
                change = change + min(pull, longest) * back
            size = self._size(change)
            if size < CONVERGED + round_off:
                if violation <= self.met or threshold <= model.rank_tolerance:
                    return state, violation <= self.met
                easing *= NEXT_THRESHOLD  # a row that is left out is violated
                continue
            if normal < SATISFIED * violation:
                easing *= NEXT_THRESHOLD
            if normal < ALONG * size:
                longest = min(2.0 * longest, LONGEST_PULL)
            elif size > SHORTER * previous:
                longest = max(0.5 * longest, SHORTEST_PULL)
            previous = size
            change *= min(1.0, LONGEST_STEP / size)
            step = self.metric.coordinates(change[:, :3], change[:, 3:]) if normal < ALONG * size else None
            state = displaced(state, change[:, :3], change[:, 3:])
        return state, least <= self.met

    def _residuals(self, state: State, y: np.ndarray) -> np.ndarray:
        phi = self.solver.residuals(y, self.t)[:, 0]
        if not np.isfinite(phi).all():
            raise AssemblyError(
                "System.assemble: a constraint is undefined at a pose during the search: "
                f"{undefined_constraint(self.model, state, self.t)}"
            )
        return phi

    def _size(self, change: np.ndarray) -> float:
        """Return the size of a change (n, 6) of the poses: the largest rotation, rad, or relative displacement.

        Relative displacements are displacements divided by the characteristic length of the system.
        """
        return max(float(np.abs(change[:, 3:]).max()), float(np.abs(change[:, :3]).max()) / self.model.length)

    def _negative_gradient(self, state: State) -> np.ndarray:
        """Return minus the gradient (n, 6) of half the squared distance from the start, (m |dr|^2 + theta.J theta) / 2.

        dr and theta are the displacement and rotation vector of a body from the start, m and J its mass and inertia.
        The gradient is with respect to translations and rotations in the inertial frame. The moment is D^T J theta in
        body axes, where D(theta) maps a small rotation of the body to the variation of the rotation vector theta.
        """
        start, model = self.start, self.model
        theta = rotation.log(rotation.multiply(rotation.conjugate(start.orientation), state.orientation))
        half = 0.5 * np.linalg.norm(theta, axis=1)
        # (1 - x cot x) / (2 x)^2, with its limit 1/12; |theta| is at most pi, so sin x does not vanish again.
        small = half < 1e-4
        x = np.where(small, 1.0, half)
        c = np.where(small, 1 / 12, (1 - x / np.tan(x)) / (4 * x**2))
        cross = rotation.skew(theta)
        D = np.eye(3) + 0.5 * cross + c[:, None, None] * cross @ cross
        moment = np.swapaxes(D, 1, 2) @ model.inertia @ theta[..., None]
        moment = (rotation.matrix(state.orientation) @ moment)[..., 0]
        return -np.concatenate([model.mass[:, None] * (state.position - start.position), moment], axis=1)


def _inverse_curvature(step: np.ndarray, change: np.ndarray) -> float:
    """Return 1 / h for the curvature h, along a step, of half the squared distance from the start.

    h is estimated from `step` and the `change` of the gradient, both (6 n,) in coordinates of the mass metric. The
    result is 1 if h is not positive.
    """
    along = step @ change
    return float(np.clip((step @ step) / along, SHORTEST_PULL, LONGEST_PULL)) if along > 0 else 1.0


def with_aligned_axes(system: System, start: State) -> State:
    """Return the state with bodies rotated at joints whose axes deviate by about 90 degrees or more from alignment.

    Parallel and antiparallel axes both satisfy the constraint rows; for deviations above 90 degrees the search would
    converge to antiparallel axes.
    """
    state = start.copy()
    for constraint, (i, j) in system.model.joint_bodies:
        if not constraint.aligned_axes:
            continue
        kin = Kinematics.of(state)
        axes_i = kin.rotation[i] @ constraint.frame_i.matrix
        axes_j = kin.rotation[j] @ constraint.frame_j.matrix
        aligned = list(constraint.aligned_axes)
        if min(axes_i[:, c] @ axes_j[:, c] for c in aligned) > STEEP:
            continue
        from scipy.spatial.transform import Rotation  # its import takes 0.2 s, and few runs need it

        # The shortest rotation of frame j, in the inertial frame, that aligns the axes.
        turn = Rotation.align_vectors(axes_i[:, aligned].T, axes_j[:, aligned].T)[0].as_rotvec()
        b, turn = (j, turn) if j < len(system.bodies) else (i, -turn)
        turns = np.zeros_like(state.position)
        turns[b] = kin.rotation[b].T @ turn
        state = displaced(state, np.zeros_like(state.position), turns)
    return state


def reversed_joint(system: System, state: State) -> tuple[Constraint, float] | None:
    """Return the joint with the largest angle between axes that should be aligned, and this angle (rad).

    The result is None if the angle does not exceed 90 degrees.
    """
    aligned = [(joint, ij, c) for joint, ij in system.model.joint_bodies for c in joint.aligned_axes]
    if not aligned:
        return None
    rotation = Kinematics.of(state).rotation
    axes = np.array([[joint.frame_i.matrix[:, c], joint.frame_j.matrix[:, c]] for joint, _, c in aligned])
    x, y = np.moveaxis(np.einsum("kfab,kfb->kfa", rotation[np.array([ij for _, ij, _ in aligned])], axes), 1, 0)
    angle = np.arctan2(np.linalg.norm(np.cross(x, y), axis=1), np.einsum("ka,ka->k", x, y))
    worst = int(np.argmax(angle))
    return (aligned[worst][0], float(angle[worst])) if angle[worst] > np.pi / 2 else None
