"""Loads on bodies: sums of gradients of coordinates and energies, and of forces and torques.

The load on a body is a list with an array of eight entries for each Taylor coefficient: force (3) and moment (3) about
the center of mass, in the inertial frame, and two unused ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..constraints.relation import TRANSLATION, TURN
from ..jit.simd import replaced
from .law_results import is_nothing, vector
from .place import Place


def add_gradient(loads: list[list[Any]], x: Any, multiplier: Any) -> None:
    """Add `multiplier` times the gradient of a coordinate or energy `x` to the loads on the bodies."""
    if not isinstance(x, Jet):
        return  # independent of poses
    for f, gradient in enumerate(x.gradient):
        if gradient is None:
            continue
        factors = multiplier.taylor if isinstance(multiplier, Jet) else [multiplier]
        for k in range(len(loads[f])):
            for m in range(k + 1):
                lanes = gradient[k - m] if k - m < len(gradient) else 0
                if m < len(factors) and not (type(lanes) is int or (type(factors[m]) is int and factors[m] == 0)):
                    loads[f][k] = loads[f][k] + lanes * factors[m]


def add_load(load: list[Any], frame: Place, force: Any, torque: Any, zero: Any) -> None:
    """Add a force and a torque that act on a frame to `load`, the load on its body.

    The force acts at the origin of the frame; both vectors are in the inertial frame. `load` has an array of eight
    entries for each Taylor coefficient, and `zero` is an array of eight zeros.
    """
    if not is_nothing(force):
        force = vector("force", force)
        _add_vector(load, TRANSLATION, force, zero)
        _add_vector(load, TURN, np.cross(frame.arm, force), zero)
    if not is_nothing(torque):
        _add_vector(load, TURN, vector("torque", torque), zero)


def _add_vector(load: list[Any], first: int, vector: np.ndarray, zero: Any) -> None:
    """Add a vector (3,) to entries `first` to `first` + 2 of a load; `zero` is an array of eight zeros."""
    for k in range(len(load)):
        lanes = zero
        for c, x in enumerate(vector):
            taylor = x.taylor if isinstance(x, Jet) else [x]
            lanes = replaced(lanes, first + c, 1.0 * taylor[k] if k < len(taylor) else 0.0)
        load[k] = load[k] + lanes
