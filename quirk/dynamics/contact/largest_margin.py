"""Distribution of a shared load with the largest margin to the limits of friction.

The loads (3 m,) of m contacts and joints are the normal load and two components of friction of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..sparse.kernels.friction_margin import friction_margin, scratch_size_with_joints


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
    loads: np.ndarray,
    redistributions: np.ndarray,
    inverse_coefficients: Sequence[float] | np.ndarray,
    bearings: Sequence[BearingForces] = (),
) -> tuple[np.ndarray, float]:
    """Return the loads (3 m,) with the largest margin to the limits of friction, and this margin, N.

    Parameters
    ----------
    loads : (3 m,) initial loads; normal loads of joints in `bearings` are computed from their bearing forces
    redistributions : (3 m, d) basis of the redistributions of load
    inverse_coefficients : (m,) inverse coefficients of static friction; 0 for contacts without friction
    bearings : bearing forces of the joints whose friction limit is proportional to their load
    """
    z = np.concatenate([loads, *(bearing.forces for bearing in bearings)])
    basis = np.concatenate([redistributions, *(bearing.changes for bearing in bearings)])
    joints, free = np.array([bearing.joint for bearing in bearings], dtype=np.int64), redistributions.shape[1]
    scratch, inverse = np.zeros(scratch_size_with_joints(len(z), free)), np.array(inverse_coefficients, dtype=float)
    margin = friction_margin(z, np.ascontiguousarray(basis).ravel(), joints, len(inverse), free, inverse, scratch)
    return z[: len(loads)], float(margin)
