"""Forces along the rows of contacts and of friction in one case: what pushes, what sticks, and what slides whereto.

See `quirk.dynamics.contact.coulomb`, which finds the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.friction_normal_load import NormalLoad

# Forces and accelerations below this part of the largest are nothing.
NOTHING = 1e-12
# Singular values of the rows below this part of the largest are zero.
DEPENDENT = 1e-10
# Newton's method has converged, or does not. Steps are halved so often that what is missed falls by this part of what
# the step promises; forces of sliding agree with their loads within this part of the largest.
CONVERGED, MOST_NEWTON, AGREES = 1e-14, 40, 1e-9
HALVED, DESCENT = tuple(0.5**n for n in range(8)), 0.1


@dataclass
class Grip:
    """Friction of one joint or contact among the rows.

    Attributes
    ----------
    rows : of its components of slip
    coefficient, static : of friction
    contact : row of its contact, or None for a joint
    load : of a joint, from the forces z (r,) along all rows
    moving : direction (d,) in which its bodies slide, or None if they do not
    at_limit : whether it is known to have reached its limit
    """

    rows: list[int]
    coefficient: float
    static: float
    contact: int | None = None
    load: NormalLoad | None = None
    moving: np.ndarray | None = None
    at_limit: bool = False


@dataclass(frozen=True)
class Problem:
    """Forces z along rows, which change their accelerations: w = W z + q.

    Attributes
    ----------
    W : (r, r)
    q : (r,)
    grips : friction among the rows
    noise : (r,) accelerations that are round-off
    compliance : (r,) of the rows relative to each other: 1 for forces, 1/m^2 for torques
    """

    W: np.ndarray
    q: np.ndarray
    grips: Sequence[Grip]
    noise: np.ndarray
    compliance: np.ndarray

    def w(self, z: np.ndarray) -> np.ndarray:
        """Return accelerations (r,) from forces (r,)."""
        return np.asarray(self.W @ z + self.q)

    def slow(self, z: np.ndarray) -> np.ndarray:
        """Accelerations (r,) that are nothing: rows may be of different units, which the diagonal of W tells."""
        scale = np.sqrt(np.diag(self.W))
        known = scale > 0
        largest = (np.abs(self.W) @ np.abs(z) + np.abs(self.q))[known] / scale[known]
        rest = np.abs(self.q).max(initial=0.0)
        nothing = NOTHING * np.where(known, largest.max(initial=0.0) * scale, rest)
        return np.asarray(nothing + self.noise + np.finfo(float).tiny)


@dataclass
class Case:
    """What pushes, and the direction in which each friction acts, None for what sticks; forces (r,) to begin with."""

    pushing: set[int]
    sliding: list[np.ndarray | None]
    near: np.ndarray

    @property
    def key(self) -> tuple:
        """What tells cases apart, up to directions."""
        return frozenset(self.pushing), tuple(e is None for e in self.sliding)


@dataclass(frozen=True)
class ContactModes:
    """A case that violates nothing.

    Attributes
    ----------
    z, w : (r,) forces along the rows and accelerations, or impulses and velocities
    held : (r,) bool, rows that are kept at zero
    rows : (r,) bool, of these some that are independent, from which the others follow
    sliding : of each friction the direction in which it acts, None for what sticks or has no load
    driven : of each friction that slides whether its slip follows from rows that are held, and cannot grow
    slow : (r,) of w below which it is nothing
    """

    z: np.ndarray
    w: np.ndarray
    held: np.ndarray
    rows: np.ndarray
    sliding: list[np.ndarray | None]
    driven: list[bool]
    slow: np.ndarray


def forces_in(problem: Problem, case: Case, *, turning: bool = True) -> np.ndarray | None:
    """Return the forces (r,) in one case that are nearest to where it begins; directions of slip are noted in it.

    Where sliding begins its direction is that of w, or with `turning` false the one that the case gives.
    By Newton's method, since loads of joints are norms, and directions those of w. Where sliding only begins, these
    change fast with z: steps are halved until what is missed gets less. None where no forces are found.
    """
    held, z = held_rows(problem.W, problem.grips, case), case.near
    scale = np.sqrt(np.diag(problem.W))
    scale = np.where(scale > 0, scale, 1.0)
    # In units in which each row answers its own force by one; what is held twice is shared.
    units = np.where(held, 1 / scale, scale)
    J, rest, case.sliding = _equations(problem, case, z, held, turning)
    for _ in range(MOST_NEWTON):
        try:
            step = -np.linalg.lstsq(units[:, None] * J / scale, units * rest, rcond=DEPENDENT)[0] / scale
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        missed = np.linalg.norm(units * rest)
        for part in (*HALVED, 1.0):  # the whole step where none of them helps
            tried = z + part * step, *_equations(problem, case, z + part * step, held, turning)
            if np.linalg.norm(units * tried[2]) <= (1.0 - DESCENT * part) * missed:
                break
        z, J, rest, case.sliding = tried
        if np.abs(step * scale).max(initial=0.0) <= CONVERGED * np.abs(z * scale).max(initial=0.0):
            break
    off = np.abs((units * rest)[~held]).max(initial=0.0)
    return z if off <= AGREES * np.abs(z * scale).max(initial=0.0) else None


def _equations(
    problem: Problem, case: Case, z: np.ndarray, held: np.ndarray, turning: bool
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray | None]]:
    """Return J (r, r) and what is missed (r,) at forces z: w of what is held, z + mu N e else; and all directions e."""
    W, w = problem.W, problem.w(z)
    J, rest, sliding = np.eye(len(z)), z.copy(), [*case.sliding]
    J[held], rest[held] = W[held], w[held]
    for k, (grip, e) in enumerate(zip(problem.grips, case.sliding, strict=True)):
        if e is None:
            continue
        N, slopes = load_of(grip, z, case)
        rows, mu = grip.rows, grip.coefficient
        turns = turning and grip.moving is None and len(e) > 1 and N > 0
        if turns and float(w[rows] @ e) > problem.slow(z)[rows].max():
            size = np.linalg.norm(w[rows])
            sliding[k] = e = w[rows] / size
            J[rows] += mu * N / size * (np.eye(len(e)) - np.outer(e, e)) @ W[rows]
        rest[rows] += mu * N * e
        J[rows] += mu * np.outer(e, slopes)
    return J, rest, sliding


def held_rows(W: np.ndarray, grips: Sequence[Grip], case: Case) -> np.ndarray:
    """Return which rows (r,) are kept at zero: of contacts that push and of what sticks, where anything can move."""
    held = np.isin(np.arange(len(W)), sorted(case.pushing))
    for grip, e in zip(grips, case.sliding, strict=True):
        if e is None and acts(grip, case):
            held[grip.rows] = True
    return held & (np.diag(W) > 0)


def acts(grip: Grip, case: Case) -> bool:
    """Whether a friction has a load: its contact pushes, or it is of a joint."""
    return grip.contact is None or grip.contact in case.pushing


def load_of(grip: Grip, z: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """Return the load N of a friction, and its slopes (r,)."""
    slopes = np.zeros(len(z))
    if grip.contact is not None:
        if grip.contact not in case.pushing:
            return 0.0, slopes
        slopes[grip.contact] = 1.0
        return float(z[grip.contact]), slopes
    return load_of_joint(grip, z)


def load_of_joint(grip: Grip, z: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the load N of a joint, and its slopes (r,)."""
    assert grip.load is not None
    return grip.load(z)


def excess(grip: Grip, z: np.ndarray, case: Case) -> float:
    """Return by how much what sticks is outside its cone, N or N s."""
    return float(np.linalg.norm(z[grip.rows])) - grip.static * max(load_of(grip, z, case)[0], 0.0)


def ahead_of(slip: np.ndarray) -> np.ndarray | None:
    """Return the direction (d,) of a slip, or None if there is none."""
    size = np.linalg.norm(slip)
    return slip / size if size > 0 else None
