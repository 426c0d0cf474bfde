"""Continuous joint angles of members in SIMD lanes: full turns are counted from step to step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..bodies.state import State
from ..dynamics.model.joint_angles import CountedJoints


class TurnTracker:
    """Continuous 1-2-3 angles of K joints of m members of a batch; full turns are counted.

    Parameters
    ----------
    joints : the K joints with their bodies and frames
    states : (m, n, 13) initial states of n bodies
    angles : angles (m, 3), rad, of joints by name; the initial numbers of turns are those nearest to these angles
    step : size of the integration steps, s; the change of an angle in a step must be within half a turn of its linear
        extrapolation

    Attributes
    ----------
    angles : (m, K, 3) present angles, rad
    """

    def __init__(
        self, joints: CountedJoints, states: np.ndarray, angles: Mapping[str, np.ndarray], step: float
    ) -> None:
        self._joints, self._step = joints, step
        self.angles = np.zeros((len(states), len(joints.ends), 3))
        for name, near in angles.items():
            if name in joints.number:
                self.angles[:, joints.number[name]] = near
        self._rates = np.zeros_like(self.angles)
        self.follow(states)

    def follow(self, states: np.ndarray) -> None:
        """Update the angles to the `states` (m, n, 13) at the end of a step, counting full turns."""
        bodies = State.unpack(states.reshape(len(states), -1))
        with np.errstate(invalid="ignore"):  # of members that have failed
            self.angles = self._joints.nearest_angles(bodies, self.angles + self._step * self._rates)
            self._rates = np.nan_to_num(self._joints.rates(bodies))
