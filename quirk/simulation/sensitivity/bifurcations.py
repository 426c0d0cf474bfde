"""Detection of singular configurations in a run, at which the motion branches when a parameter varies.

The m constraint rows of n bodies, scaled to unit length, form a matrix A (m, 6 n) with the singular value decomposition
U S V^T. The smallest singular value, tracked along the motion with its singular vectors, passes through zero at a
singular configuration. The variations dq of poses satisfy A dq = -Phi_p, where Phi_p is the derivative of the residuals
Phi with respect to a parameter p. If the left singular vector of the smallest singular value has a component along
Phi_p, there is no solution at the singular configuration, and dq becomes unbounded near it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.dynamics.dense.rows import tangent_rows
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.model.loops import has_loops
from quirk.dynamics.model.model import Model
from quirk.dynamics.sparse.stepping.run_state import STEP_HEAD
from quirk.dynamics.sparse.variation.variation import ChangedMotion, Steps, VariationIntegrator
from quirk.errors import SensitivityWarning, outside

from .change import with_motions

# A variation of poses above GROWN times its smallest value may become unbounded; a pivot below LOW times the largest
# pivot may approach zero.
GROWN, LOW = 3.0, 0.9
# Minimum cosine between singular vectors of neighboring states for which a singular value can be tracked.
ALIKE = 0.5
# The derivative exists at the singular configuration if the component of Phi_p along the left singular vector, relative
# to the norm of Phi_p, is below this limit. The component is interpolated linearly between two steps.
ALONG = 0.1


@dataclass(frozen=True)
class SingularRows:
    """Smallest singular value of the m independent constraint rows of n bodies at one state.

    Attributes
    ----------
    t : time, s
    value : the smallest singular value, relative to the largest one
    left, right : (m,) and (6 n,) singular vectors
    missed : (D,) components along `left` of the derivatives of the residuals with respect to D parameters, relative to
        the norms of these derivatives
    """

    t: float
    value: float
    left: np.ndarray
    right: np.ndarray
    missed: np.ndarray


def warn_of_splits(
    steps: Steps,
    integrator: VariationIntegrator,
    directions: Directions,
    motions: Sequence[ChangedMotion],
    names: Sequence[str],
) -> None:
    """Warn if the motion branches when a parameter varies, so that its derivatives do not exist afterward.

    Parameters
    ----------
    steps : steps along which `integrator` has just computed variations
    integrator : integrator of the variations
    directions : variations of the model's constants for unit changes of the D parameters
    motions : variations of prescribed motions
    names : (D,) names of the parameters
    """
    seen, warned, rank = dict[int, SingularRows](), set[str](), integrator.rank
    if not has_loops(integrator.solver.model):
        return

    def rows(n: int) -> SingularRows:
        if n not in seen:
            seen[n] = _rows(steps, n, integrator, rank, directions, motions)
        return seen[n]

    shapes = _shapes(directions, motions)
    for d in (int(place) for place in np.flatnonzero(shapes)):
        for n in _candidates(integrator.extents[d], integrator.pivots):
            # The state at the end of step n has index n + 1.
            for before, after in ((n, n + 1), (n + 1, n + 2), (n, n + 2)):
                if after > len(steps.trail) or names[d] in warned:
                    continue
                t = _branching_time(rows(before), rows(after), d)
                if t is not None:
                    warned.add(names[d])
                    warnings.warn(
                        f"simulate: sensitivities: near t = {t:.3g} s the run passes a singular configuration, where "
                        f"a change of {names[d]} separates the branches of motion: derivatives with respect to it do "
                        "not exist afterwards",
                        SensitivityWarning,
                        stacklevel=outside(),
                    )


def _shapes(directions: Directions, motions: Sequence[ChangedMotion]) -> np.ndarray:
    """Return a mask (D,), True for parameters that affect constraint rows.

    `directions` are the variations of the model's constants, and `motions` the variations of prescribed motions, for
    unit changes of the parameters.
    """
    mask = np.zeros(directions.count, dtype=bool)
    for inputs in directions.relations.values():
        for change in inputs.values():
            mask |= change != 0.0
    mask[[motion.direction for motion in motions if motion.of_relation]] = True
    return mask


def _candidates(extents: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """Return the indices of states near which there may be a singular configuration.

    These are the local maxima of `extents`, the magnitudes of the variation, and the local minima of `pivots`, the
    smallest pivots.
    """
    large, small = (np.concatenate([[-np.inf], x, [-np.inf]]) for x in (extents, -pivots))
    peaks = (extents >= large[:-2]) & (extents >= large[2:]) & (extents > GROWN * extents.min())
    dips = (-pivots >= small[:-2]) & (-pivots >= small[2:]) & (pivots < LOW * pivots.max())
    return np.flatnonzero(peaks | dips)


def _branching_time(first: SingularRows, second: SingularRows, d: int) -> float | None:
    """Return the time (s) between two states at which the motion branches if parameter d varies, or None.

    `first` and `second` are the smallest singular values, with their vectors, at the two states.
    """
    same = first.left @ second.left, first.right @ second.right
    if min(np.abs(same)) < ALIKE or same[0] * same[1] > 0:
        return None
    at = first.value / (first.value + second.value)
    missed = (1 - at) * first.missed[d] + at * np.sign(same[0]) * second.missed[d]
    return first.t + at * (second.t - first.t) if abs(missed) > ALONG else None


def _rows(
    steps: Steps,
    n: int,
    integrator: VariationIntegrator,
    rank: int,
    directions: Directions,
    motions: Sequence[ChangedMotion],
) -> SingularRows:
    """Return the smallest singular value of the constraint rows at the start of step n, with its singular vectors.

    If n is the number of steps, the rows are evaluated at the end of the last step. `integrator`, `directions` and
    `motions` are as for `warn_of_splits`; `rank` is the number of independent rows.
    """
    model, slots = integrator.solver.model, integrator.solver.slots
    last = n == len(steps.trail)
    t = float(steps.trail[-1, 1] if last else steps.trail[n, 0])
    y = steps.end if last else slots.state_from_lanes(steps.trail[n : n + 1, STEP_HEAD:])[0]
    A, lengths = _scaled(model, y, t)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    integrator.solver.settle(slots.state_to_lanes(y), t)
    moved = integrator.differential.at(slots.state_to_lanes(y), t, with_motions(directions, motions, t))
    phi = moved.levels[..., 0] / lengths
    size = np.linalg.norm(phi, axis=1)
    missed = phi @ U[:, rank - 1] / np.where(size > 0, size, 1.0)
    return SingularRows(t, float(s[rank - 1] / s[0]), U[:, rank - 1], Vt[rank - 1], missed)


def _scaled(model: Model, y: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return constraint rows scaled to unit length, and their lengths before scaling.

    The columns are translations of the bodies, and rotations times the characteristic length of the system. The rows
    are evaluated at state vector y and time t, s.
    """
    A = tangent_rows(model, Kinematics.of(model.auxiliary.state(y)), t).reshape(model.rows, -1, 6)
    scaled = np.concatenate([A[..., :3], A[..., 3:] / model.length], axis=2).reshape(model.rows, -1)
    lengths = np.linalg.norm(scaled, axis=1)
    return scaled / lengths[:, None], lengths
