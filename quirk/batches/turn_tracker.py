"""Joint angles of members in vector lanes, followed from step to step so that full turns are counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..bodies.state import State
from ..dynamics.model.joint_angles import CountedJoints


class TurnTracker:
    """Tracker of the 1-2-3 angles of K joints of m members of a batch, with all turns counted.

    Parameters
    ----------
    joints : CountedJoints
    states : (m, n, 13) initial states of n bodies
    angles : angles (m, 3), rad, of joints by name; the initial numbers of turns are those nearest to these angles
    step : size of the steps, s; in a step an angle must differ by less than half a turn from its linear extrapolation

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
        """Update the angles to the states (m, n, 13) after a step."""
        bodies = State.unpack(states.reshape(len(states), -1))
        with np.errstate(invalid="ignore"):  # of members that have failed
            self.angles = self._joints.next_to(bodies, self.angles + self._step * self._rates)
            self._rates = np.nan_to_num(self._joints.rates(bodies))
