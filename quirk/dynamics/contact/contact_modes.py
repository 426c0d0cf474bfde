"""Forces along the rows of contacts and friction for given contact modes.

A mode states whether a contact is loaded or open, or whether friction sticks or slides.
`quirk.dynamics.contact.coulomb` searches for the modes that satisfy all inequalities. A contact problem has r rows, one
for each gap and for each of the d slip components of a friction element.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..model.friction_normal_load import ConstantLoad, NormalLoad

# Number of slip components of a contact.
CONTACT = 2
# Forces and accelerations below this fraction of the largest count as zero.
RELATIVE_ZERO = 1e-12
# Singular values of the rows below this fraction of the largest count as zero.
DEPENDENT = 1e-10
# Newton's method: relative step at convergence, maximum number of iterations, and largest final residual of sliding
# friction over the largest force.
CONVERGED, MAX_ITERATIONS, MAX_RESIDUAL = 1e-14, 40, 1e-9
# Line search: step fractions, and the least decrease of the residual as a fraction of the linear prediction.
STEP_FRACTIONS, SUFFICIENT_DECREASE = tuple(0.5**n for n in range(8)), 0.1


@dataclass
class FrictionElement:
    """Friction of one joint or contact in a contact problem.

    Attributes
    ----------
    rows : indices of the rows of its d slip components
    coefficient, static : sliding and static friction coefficient
    contact : index of the row of the contact with this friction, or None for a joint
    normal_load : normal load of a joint's friction as a function of the forces z (r,) along all rows; None for a
        contact
    slip_direction : unit direction (d,) of the slip, or None if it does not slip
    slip_speed : magnitude of the slip, m/s
    at_limit : whether the friction force is at its static limit
    """

    rows: list[int]
    coefficient: float
    static: float
    contact: int | None = None
    normal_load: NormalLoad | ConstantLoad | None = None
    slip_direction: np.ndarray | None = None
    slip_speed: float = 0.0
    at_limit: bool = False

    def has_rows_in(self, group: Collection[int]) -> bool:
        """Whether some rows of the slip components belong to a group of rows; constraints may block others."""
        return not {*self.rows}.isdisjoint(group)


@dataclass(frozen=True)
class ContactProblem:
    """Contact problem: forces z along r rows change the accelerations along these rows, w = W z + q.

    Attributes
    ----------
    W : (r, r) Delassus matrix: accelerations along all rows per unit force along each row
    q : (r,) accelerations without these forces
    elements : all friction elements
    noise : (r,) round-off of the accelerations
    compliance : (r,) relative compliances of the rows
    unloading : rows of contacts whose load has just fallen to zero
    """

    W: np.ndarray
    q: np.ndarray
    elements: Sequence[FrictionElement]
    noise: np.ndarray
    compliance: np.ndarray
    unloading: frozenset[int] = frozenset()

    def w(self, z: np.ndarray) -> np.ndarray:
        """Return the accelerations (r,) along the rows due to forces z (r,)."""
        return np.asarray(self.W @ z + self.q)

    def zero_threshold(self, z: np.ndarray) -> np.ndarray:
        """Return the magnitude (r,) below which the acceleration of each row counts as zero, at forces z (r,).

        The threshold of a row is proportional to the square root of its diagonal element of W, so that it does not
        depend on units.
        """
        scale = np.sqrt(np.diag(self.W))
        known = scale > 0
        largest = (np.abs(self.W) @ np.abs(z) + np.abs(self.q))[known] / scale[known]
        residual = np.abs(self.q).max(initial=0.0)
        nothing = RELATIVE_ZERO * np.where(known, largest.max(initial=0.0) * scale, residual)
        return np.asarray(nothing + self.noise + np.finfo(float).tiny)


@dataclass
class TrialModes:
    """Trial contact modes in the search for a solution.

    Attributes
    ----------
    loaded : rows of the loaded contacts
    slip_directions : for each friction element the unit direction (d,) opposite to its force; None if it sticks
    initial_guess : (r,) initial guess of the forces for these modes
    """

    loaded: set[int]
    slip_directions: list[np.ndarray | None]
    initial_guess: np.ndarray

    @property
    def key(self) -> tuple:
        """Hashable key of the modes, excluding the directions of slip."""
        return frozenset(self.loaded), tuple(e is None for e in self.slip_directions)


@dataclass(frozen=True)
class ContactModes:
    """Contact modes that satisfy all inequalities, with forces and accelerations.

    The modes may also be those of an impact, with impulses and velocities.

    Attributes
    ----------
    z, w : (r,) forces along the rows and accelerations, or impulses and velocities
    active : (r,) bool, active set: rows with the constraint w = 0
    independent : (r,) bool, a maximal set of independent rows among those in `active`
    slip_directions : for each friction element the unit direction of its slip; None if it sticks or has no load
    zero_threshold : (r,) magnitude of w below which a row counts as at rest
    compliance : (r,) relative compliances of the rows, by which dependent rows share loads
    """

    z: np.ndarray
    w: np.ndarray
    active: np.ndarray
    independent: np.ndarray
    slip_directions: list[np.ndarray | None]
    zero_threshold: np.ndarray
    compliance: np.ndarray


def forces_of_modes(problem: ContactProblem, trial: TrialModes, *, turning: bool = True) -> np.ndarray | None:
    """Return the forces (r,) for given contact modes, or None if Newton's method fails.

    The equations are nonlinear because normal loads of joints are norms, and because incipient sliding friction opposes
    the acceleration of the slip. Of several solutions, the one nearest to `trial.initial_guess` is returned. Steps are
    halved until the residual decreases. If `turning` is false, the slip directions in `trial` are used unchanged;
    otherwise they are computed, and stored in `trial`.
    """
    active, z = active_rows(problem.W, problem.elements, trial), trial.initial_guess
    scale = np.sqrt(np.diag(problem.W))
    scale = np.where(scale > 0, scale, 1.0)
    # Scaled so that each row has a unit response to its own force; redundant constrained rows get minimum-norm forces.
    units = np.where(active, 1 / scale, scale)
    residual, slip_directions = _residual(problem, trial, z, active, turning)
    for _ in range(MAX_ITERATIONS):
        J, trial.slip_directions = _jacobian(problem, trial, z, active, slip_directions), slip_directions
        try:
            step = -np.linalg.lstsq(units[:, None] * J / scale, units * residual, rcond=DEPENDENT)[0] / scale
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        residual_norm = np.linalg.norm(units * residual)
        for fraction in (*STEP_FRACTIONS, 1.0):  # the full step if no fraction reduces the residual
            tried = z + fraction * step
            residual, slip_directions = _residual(problem, trial, tried, active, turning)
            if np.linalg.norm(units * residual) <= (1.0 - SUFFICIENT_DECREASE * fraction) * residual_norm:
                break
        z = tried
        if np.abs(step * scale).max(initial=0.0) <= CONVERGED * np.abs(z * scale).max(initial=0.0):
            break
    trial.slip_directions = slip_directions
    sliding_residual = np.abs((units * residual)[~active]).max(initial=0.0)
    return z if sliding_residual <= MAX_RESIDUAL * np.abs(z * scale).max(initial=0.0) else None


def _residual(
    problem: ContactProblem, trial: TrialModes, z: np.ndarray, active: np.ndarray, turning: bool
) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """Return the residual (r,) of the equations for the forces z (r,) in given contact modes, and the slip directions.

    The residual is the acceleration w in the constrained rows, with the mask `active`, and z + mu N e in rows of
    sliding friction with the slip direction e. If `turning` is false, the slip directions are those stored in the modes
    `trial`.
    """
    w, residual, slip_directions, zero_threshold = (
        problem.w(z),
        z.copy(),
        [*trial.slip_directions],
        problem.zero_threshold(z),
    )
    residual[active] = w[active]
    for k, (element, e) in enumerate(zip(problem.elements, trial.slip_directions, strict=True)):
        if e is None:
            continue
        N, rows = normal_load_of(element, z, trial)[0], element.rows
        follows_acceleration = turning and element.slip_direction is None and len(e) > 1 and N > 0
        if follows_acceleration and float(w[rows] @ e) > zero_threshold[rows].max():
            slip_directions[k] = e = w[rows] / np.linalg.norm(w[rows])
        residual[rows] += element.coefficient * N * e
    return residual, slip_directions


def _jacobian(
    problem: ContactProblem,
    trial: TrialModes,
    z: np.ndarray,
    active: np.ndarray,
    slip_directions: Sequence[np.ndarray | None],
) -> np.ndarray:
    """Return the Jacobian (r, r) of `_residual` with respect to the forces z, at given `slip_directions`.

    `active` is the mask of the constrained rows. Directions that differ from those stored in the modes `trial` depend
    on the accelerations, and are differentiated.
    """
    W, w, J = problem.W, problem.w(z), np.eye(len(z))
    J[active] = W[active]
    for element, stored, e in zip(problem.elements, trial.slip_directions, slip_directions, strict=True):
        if e is None:
            continue
        N, gradient = normal_load_of(element, z, trial)
        rows, mu = element.rows, element.coefficient
        if e is not stored:
            J[rows] += mu * N / np.linalg.norm(w[rows]) * (np.eye(len(e)) - np.outer(e, e)) @ W[rows]
        J[rows] += mu * np.outer(e, gradient)
    return J


def active_rows(W: np.ndarray, elements: Sequence[FrictionElement], trial: TrialModes) -> np.ndarray:
    """Return a mask (r,) of the rows whose relative acceleration must vanish: loaded contacts and sticking friction.

    Rows along which a force causes no acceleration are excluded. W is the matrix of the contact problem, `elements` are
    its friction elements, and `trial` are the contact modes.
    """
    active = np.isin(np.arange(len(W)), sorted(trial.loaded))
    for element, e in zip(elements, trial.slip_directions, strict=True):
        if e is None and has_normal_load(element, trial):
            active[element.rows] = True
    return active & (np.diag(W) > 0)


def has_normal_load(element: FrictionElement, trial: TrialModes) -> bool:
    """Return whether a friction element has a normal load: its contact is loaded, or it belongs to a joint."""
    return element.contact is None or element.contact in trial.loaded


def normal_load_of(element: FrictionElement, z: np.ndarray, trial: TrialModes) -> tuple[float, np.ndarray]:
    """Return the normal load N of a friction element, and its gradient (r,) with respect to the forces z (r,).

    `trial` are the contact modes; N is zero if the contact is open.
    """
    gradient = np.zeros(len(z))
    if element.contact is not None:
        if element.contact not in trial.loaded:
            return 0.0, gradient
        gradient[element.contact] = 1.0
        return float(z[element.contact]), gradient
    return joint_normal_load(element, z)


def joint_normal_load(element: FrictionElement, z: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the normal load N of the friction of a joint, and its gradient (r,) with respect to forces z (r,)."""
    assert element.normal_load is not None
    return element.normal_load(z)


def limit_excess(element: FrictionElement, z: np.ndarray, trial: TrialModes) -> float:
    """Return the amount by which a sticking friction force exceeds its static limit, N; for impulses, N s.

    `element` is the friction element, z are the forces (r,) along all rows, and `trial` are the contact modes.
    """
    return float(np.linalg.norm(z[element.rows])) - element.static * max(normal_load_of(element, z, trial)[0], 0.0)


def unit_vector(slip: np.ndarray) -> np.ndarray | None:
    """Return the unit vector (d,) of a slip (d,), or None if the slip is zero."""
    size = np.linalg.norm(slip)
    return slip / size if size > 0 else None
