"""Distribution of a shared load with the largest margin to the limits of friction.

The loads of m contacts are the normal force and two components of friction of each, (3 m,). If there are joints, too,
they are the normal load and three components of friction of each contact and joint, (4 m,), of which the third is zero
except for ball joints.

The friction (t1, t2, t3) of a ball joint with the normal load N is within its limit if there is a number a with
|(t1, t2)| <= a and |(a, t3)| <= mu N. These are two cones like those of contacts, (a, t1, t2) and (N, a, t3), with the
coefficients 1 and mu, and a is one more unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..sparse.kernels.cone_margin import LOADS
from ..sparse.kernels.friction_margin import friction_margin, scratch_size_with_joints

# Number of components of the load of a contact or joint, if there are joints.
COMPONENTS = 4
# Number of slip components of a ball joint.
BALL = 3


class BearingForces(NamedTuple):
    """Forces in the bearings of a joint whose friction limit is proportional to its load.

    Attributes
    ----------
    joint : index of the joint among the m contacts and joints
    forces : (6,) forces in two bearings for the initial loads, N; the normal load is the sum of their magnitudes
    changes : (6, d) changes of the bearing forces per unit of each of d redistributions of load
    """

    joint: int
    forces: np.ndarray
    changes: np.ndarray


def loads_of_largest_margin(
    loads: np.ndarray, redistributions: np.ndarray, inverse_coefficients: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the loads (3 m,) of contacts with the largest margin to the limits of friction, and this margin, N.

    Parameters
    ----------
    loads : (3 m,) initial loads
    redistributions : (3 m, d) basis of the redistributions of load
    inverse_coefficients : (m,) inverse coefficients of static friction; 0 for contacts without friction
    """
    return _largest_margin(loads, redistributions, np.array(inverse_coefficients, dtype=float), ())


def loads_of_largest_margin_with_joints(
    loads: np.ndarray,
    redistributions: np.ndarray,
    inverse_coefficients: np.ndarray,
    balls: Sequence[int],
    bearings: Sequence[BearingForces],
) -> tuple[np.ndarray, float]:
    """Return the loads (4 m,) of contacts and joints with the largest margin to friction limits, and the margin, N.

    Parameters
    ----------
    loads : (4 m,) initial loads
    redistributions : (4 m, d) basis of the redistributions of load
    inverse_coefficients : (m,) inverse coefficients of static friction; 0 for contacts without friction
    balls : indices of the ball joints among the m contacts and joints
    bearings : bearing forces of the joints whose friction limit is proportional to their load
    """
    m, which = len(inverse_coefficients), np.array(balls, dtype=np.int64)
    # The cones (N, t1, t2), of ball joints (N, a, t3), are followed by the cones (a, t1, t2) of ball joints.
    places = COMPONENTS * np.arange(m)[:, None] + np.arange(LOADS)
    others = places[which]
    others[:, 0], places[which, 1], places[which, 2] = -1, -1, COMPONENTS * (which + 1) - 1
    order, unknowns = np.concatenate([places, others]).ravel(), np.arange(len(balls))
    known, unit = order >= 0, np.zeros((LOADS * (m + len(balls)), len(balls)))
    unit[LOADS * which + 1, unknowns] = unit[LOADS * (m + unknowns), unknowns] = 1.0
    found, margin = _largest_margin(
        np.where(known, loads[order], 0.0),
        np.hstack([redistributions[order] * known[:, None], unit]),
        np.pad(inverse_coefficients, (0, len(balls)), constant_values=1.0),
        [one._replace(changes=np.pad(one.changes, ((0, 0), (0, len(balls))))) for one in bearings],
    )
    shared = np.zeros(len(loads))
    shared[order[known]] = found[known]
    return shared, margin


def _largest_margin(
    loads: np.ndarray, redistributions: np.ndarray, inverse_coefficients: np.ndarray, bearings: Sequence[BearingForces]
) -> tuple[np.ndarray, float]:
    """Return the loads (3 m,) of m cones with the largest margin, and the margin, N; see `loads_of_largest_margin`."""
    z = np.concatenate([loads, *(bearing.forces for bearing in bearings)])
    basis = np.concatenate([redistributions, *(bearing.changes for bearing in bearings)])
    joints, free = np.array([bearing.joint for bearing in bearings], dtype=np.int64), redistributions.shape[1]
    count, scratch = len(inverse_coefficients), np.zeros(scratch_size_with_joints(len(z), free))
    margin = friction_margin(z, np.ascontiguousarray(basis).ravel(), joints, count, free, inverse_coefficients, scratch)
    return z[: len(loads)], float(margin)
