"""Distribution of a shared load with the largest margin to the limits of friction.

The loads (3 m,) of m contacts and joints are the normal load and two components of friction of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..sparse.kernels.load_limits import most_room, scratch_at_loads


class BearingForces(NamedTuple):
    """Forces in the bearings of a joint whose friction limit is proportional to its load.

    Attributes
    ----------
    place : index of the joint among the m contacts and joints
    forces : (6,) forces in two bearings for the initial loads, N; the normal load is the sum of their magnitudes
    changes : (6, d) changes of the bearing forces per unit of each of d redistributions of load
    """

    place: int
    forces: np.ndarray
    changes: np.ndarray


def with_most_room(
    loads: np.ndarray, ways: np.ndarray, cones: Sequence[float] | np.ndarray, bearings: Sequence[BearingForces] = ()
) -> tuple[np.ndarray, float]:
    """Return the loads (3 m,) with the largest margin to the limits of friction, and this margin, N.

    Parameters
    ----------
    loads : (3 m,) initial loads; normal loads of joints in `bearings` are computed from their bearing forces
    ways : (3 m, d) basis of the redistributions of load
    cones : (m,) inverse coefficients of static friction; 0 for contacts without friction
    bearings : bearing forces of the joints whose friction limit is proportional to their load
    """
    z = np.concatenate([loads, *(of.forces for of in bearings)])
    basis = np.concatenate([ways, *(of.changes for of in bearings)])
    joints, free = np.array([of.place for of in bearings], dtype=np.int64), ways.shape[1]
    scratch, inverse = np.zeros(scratch_at_loads(len(z), free)), np.array(cones, dtype=float)
    margin = most_room(z, np.ascontiguousarray(basis).ravel(), joints, len(inverse), free, inverse, scratch)
    return z[: len(loads)], float(margin)
