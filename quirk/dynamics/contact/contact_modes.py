"""Forces along the rows of contacts and friction for given contact modes.

A mode states whether a contact is loaded or open, or whether friction sticks or slides.
`quirk.dynamics.contact.coulomb` searches for the modes that satisfy all inequalities. A contact problem has r rows, one
for each gap and for each of the d slip components of a friction element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.friction_normal_load import ConstantLoad, NormalLoad

# Forces and accelerations below this fraction of the largest count as zero.
NOTHING = 1e-12
# Singular values of the rows below this fraction of the largest count as zero.
DEPENDENT = 1e-10
# Newton's method: relative step at convergence, maximum number of iterations, and largest final residual of sliding
# friction over the largest force.
CONVERGED, MOST_NEWTON, AGREES = 1e-14, 40, 1e-9
# Line search: step fractions, and the least decrease of the residual as a fraction of the linear prediction.
HALVED, DESCENT = tuple(0.5**n for n in range(8)), 0.1


@dataclass
class Grip:
    """Friction of one joint or contact in a contact problem.

    Attributes
    ----------
    rows : indices of the rows of its d slip components
    coefficient, static : sliding and static friction coefficient
    contact : index of the row of the contact with this friction, or None for a joint
    load : normal load of a joint's friction as a function of the forces z (r,) along all rows; None for a contact
    moving : unit direction (d,) of the slip, or None if it does not slip
    speed : magnitude of the slip, m/s
    at_limit : whether the friction force is at its static limit
    """

    rows: list[int]
    coefficient: float
    static: float
    contact: int | None = None
    load: NormalLoad | ConstantLoad | None = None
    moving: np.ndarray | None = None
    speed: float = 0.0
    at_limit: bool = False


@dataclass(frozen=True)
class Problem:
    """Contact problem: forces z along r rows change the accelerations along these rows, w = W z + q.

    Attributes
    ----------
    W : (r, r) accelerations along all rows per unit force along each row
    q : (r,) accelerations without these forces
    grips : all friction elements
    noise : (r,) round-off of the accelerations
    compliance : (r,) relative compliances of the rows: 1 for forces, 1/m^2 for torques
    """

    W: np.ndarray
    q: np.ndarray
    grips: Sequence[Grip]
    noise: np.ndarray
    compliance: np.ndarray

    def w(self, z: np.ndarray) -> np.ndarray:
        """Return the accelerations (r,) along the rows due to forces z (r,)."""
        return np.asarray(self.W @ z + self.q)

    def slow(self, z: np.ndarray) -> np.ndarray:
        """Return the magnitude (r,) below which the acceleration of each row counts as zero, at forces z (r,).

        The tolerance is the same for all rows after division by the square root of the diagonal of W, so that it does
        not depend on units.
        """
        scale = np.sqrt(np.diag(self.W))
        known = scale > 0
        largest = (np.abs(self.W) @ np.abs(z) + np.abs(self.q))[known] / scale[known]
        rest = np.abs(self.q).max(initial=0.0)
        nothing = NOTHING * np.where(known, largest.max(initial=0.0) * scale, rest)
        return np.asarray(nothing + self.noise + np.finfo(float).tiny)


@dataclass
class Case:
    """Trial contact modes in the search for a solution.

    Attributes
    ----------
    pushing : rows of the loaded contacts
    sliding : for each friction element the unit direction (d,) opposite to its force; None if it sticks
    near : (r,) initial guess of the forces for these modes
    """

    pushing: set[int]
    sliding: list[np.ndarray | None]
    near: np.ndarray

    @property
    def key(self) -> tuple:
        """Hashable key of the modes, excluding the directions of slip."""
        return frozenset(self.pushing), tuple(e is None for e in self.sliding)


@dataclass(frozen=True)
class ContactModes:
    """Contact modes that satisfy all inequalities, with forces and accelerations.

    The modes may also be those of an impact, with impulses and velocities.

    Attributes
    ----------
    z, w : (r,) forces along the rows and accelerations, or impulses and velocities
    held : (r,) bool, rows with the constraint w = 0
    rows : (r,) bool, a maximal set of independent rows among those in `held`
    sliding : for each friction element the unit direction of its slip; None if it sticks or has no load
    driven : for each sliding friction element, whether its slip is determined by constrained rows
    slow : (r,) magnitude of w below which a row counts as at rest
    """

    z: np.ndarray
    w: np.ndarray
    held: np.ndarray
    rows: np.ndarray
    sliding: list[np.ndarray | None]
    driven: list[bool]
    slow: np.ndarray


def forces_in(problem: Problem, case: Case, *, turning: bool = True) -> np.ndarray | None:
    """Return the forces (r,) for given contact modes, or None if Newton's method fails.

    The equations are nonlinear because normal loads of joints are norms, and because incipient sliding friction opposes
    the acceleration of the slip. Of several solutions, the one nearest to `case.near` is returned. Steps are halved
    until the residual decreases. If `turning` is false, the slip directions in `case` are used unchanged; otherwise
    they are computed, and stored in `case`.
    """
    held, z = held_rows(problem.W, problem.grips, case), case.near
    scale = np.sqrt(np.diag(problem.W))
    scale = np.where(scale > 0, scale, 1.0)
    # Scaled so that each row has a unit response to its own force; redundant constrained rows get minimum-norm forces.
    units = np.where(held, 1 / scale, scale)
    rest, sliding = _residual(problem, case, z, held, turning)
    for _ in range(MOST_NEWTON):
        J, case.sliding = _jacobian(problem, case, z, held, sliding), sliding
        try:
            step = -np.linalg.lstsq(units[:, None] * J / scale, units * rest, rcond=DEPENDENT)[0] / scale
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        missed = np.linalg.norm(units * rest)
        for part in (*HALVED, 1.0):  # the full step if no fraction reduces the residual
            tried = z + part * step
            rest, sliding = _residual(problem, case, tried, held, turning)
            if np.linalg.norm(units * rest) <= (1.0 - DESCENT * part) * missed:
                break
        z = tried
        if np.abs(step * scale).max(initial=0.0) <= CONVERGED * np.abs(z * scale).max(initial=0.0):
            break
    case.sliding = sliding
    off = np.abs((units * rest)[~held]).max(initial=0.0)
    return z if off <= AGREES * np.abs(z * scale).max(initial=0.0) else None


def _residual(
    problem: Problem, case: Case, z: np.ndarray, held: np.ndarray, turning: bool
) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """Return the residual (r,) of the equations for the forces z (r,) in given contact modes, and the slip directions.

    The residual is the acceleration w in the constrained rows, with the mask `held`, and z + mu N e in rows of sliding
    friction with the slip direction e. If `turning` is false, the slip directions are those stored in the modes `case`.
    """
    w, rest, sliding, slow = problem.w(z), z.copy(), [*case.sliding], problem.slow(z)
    rest[held] = w[held]
    for k, (grip, e) in enumerate(zip(problem.grips, case.sliding, strict=True)):
        if e is None:
            continue
        N, rows = load_of(grip, z, case)[0], grip.rows
        turns = turning and grip.moving is None and len(e) > 1 and N > 0
        if turns and float(w[rows] @ e) > slow[rows].max():
            sliding[k] = e = w[rows] / np.linalg.norm(w[rows])
        rest[rows] += grip.coefficient * N * e
    return rest, sliding


def _jacobian(
    problem: Problem, case: Case, z: np.ndarray, held: np.ndarray, sliding: Sequence[np.ndarray | None]
) -> np.ndarray:
    """Return the Jacobian (r, r) of `_residual` with respect to the forces z, given its slip directions `sliding`.

    `held` is the mask of the constrained rows. Directions that differ from those stored in the modes `case` depend on
    the accelerations, and are differentiated.
    """
    W, w, J = problem.W, problem.w(z), np.eye(len(z))
    J[held] = W[held]
    for grip, former, e in zip(problem.grips, case.sliding, sliding, strict=True):
        if e is None:
            continue
        N, slopes = load_of(grip, z, case)
        rows, mu = grip.rows, grip.coefficient
        if e is not former:
            J[rows] += mu * N / np.linalg.norm(w[rows]) * (np.eye(len(e)) - np.outer(e, e)) @ W[rows]
        J[rows] += mu * np.outer(e, slopes)
    return J


def held_rows(W: np.ndarray, grips: Sequence[Grip], case: Case) -> np.ndarray:
    """Return a mask (r,) of the rows with the constraint w = 0: loaded contacts and sticking friction.

    Rows along which a force causes no acceleration are excluded. W is the matrix of the contact problem, `grips` are
    its friction elements, and `case` are the contact modes.
    """
    held = np.isin(np.arange(len(W)), sorted(case.pushing))
    for grip, e in zip(grips, case.sliding, strict=True):
        if e is None and acts(grip, case):
            held[grip.rows] = True
    return held & (np.diag(W) > 0)


def acts(grip: Grip, case: Case) -> bool:
    """Return whether a friction element has a normal load: its contact is loaded, or it belongs to a joint."""
    return grip.contact is None or grip.contact in case.pushing


def load_of(grip: Grip, z: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """Return the normal load N of a friction element, and its gradient (r,) with respect to the forces z (r,).

    `case` are the contact modes; N is zero if the contact is open.
    """
    slopes = np.zeros(len(z))
    if grip.contact is not None:
        if grip.contact not in case.pushing:
            return 0.0, slopes
        slopes[grip.contact] = 1.0
        return float(z[grip.contact]), slopes
    return load_of_joint(grip, z)


def load_of_joint(grip: Grip, z: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the normal load N of the friction of a joint, and its gradient (r,) with respect to forces z (r,)."""
    assert grip.load is not None
    return grip.load(z)


def excess(grip: Grip, z: np.ndarray, case: Case) -> float:
    """Return the amount by which a sticking friction force exceeds its static limit, N; for impulses, N s.

    `grip` is the friction element, z are the forces (r,) along all rows, and `case` are the contact modes.
    """
    return float(np.linalg.norm(z[grip.rows])) - grip.static * max(load_of(grip, z, case)[0], 0.0)


def ahead_of(slip: np.ndarray) -> np.ndarray | None:
    """Return the unit vector (d,) of a slip (d,), or None if the slip is zero."""
    size = np.linalg.norm(slip)
    return slip / size if size > 0 else None
