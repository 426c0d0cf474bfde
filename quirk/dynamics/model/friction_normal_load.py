"""Normal load of joint friction, as a function of the forces in the joint, and its directional derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from quirk.forces.friction import Friction
from quirk.forces.stick_slip import ACROSS, ALONG


class NormalLoad:
    """Normal load N of the friction in a joint, as a function of forces z (r,) along the rows of a contact problem.

    Parameters
    ----------
    friction : friction of a joint
    axis : (3,) joint axis, unit vector, inertial frame
    base : (6,) force, N, and torque, N m, in the joint for z = 0, inertial frame
    response : (6, r) force and torque in the joint per unit of each component of z
    """

    def __init__(self, friction: Friction, axis: np.ndarray, base: np.ndarray, response: np.ndarray) -> None:
        self.response = response
        self._parts = [(B @ base, B @ response) for B in bearing_forces(friction, axis)]

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the normal load N and its gradient (r,) with respect to the forces z (r,)."""
        N, slopes = 0.0, np.zeros(len(z))
        for base, response in self._parts:
            force = base + response @ z
            size = float(np.linalg.norm(force))
            N += size
            slopes += force @ response / size if size > 0 else 0.0
        return N, slopes

    def bearings(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the forces (6,) in the two bearings of the joint for z = 0, and their changes (6, r) per unit of z.

        N is the sum of the magnitudes of both forces. The second force is zero for a single bearing. Forces are in the
        inertial frame.
        """
        forces, changes = (np.concatenate(of) for of in zip(*self._parts, strict=True))
        missing = 6 - len(forces)
        return np.pad(forces, (0, missing)), np.pad(changes, ((0, missing), (0, 0)))

    def restricted(self, rows: Sequence[int]) -> NormalLoad:
        """Return the normal load as a function of the forces along some rows only, those with the indices `rows`."""
        one = copy(self)
        one.response = self.response[:, rows]
        one._parts = [(base, response[:, rows]) for base, response in self._parts]
        return one

    def reaction(self, z: np.ndarray) -> float:
        """Return the normal load N that forces z (r,) would cause without the force and torque `base`."""
        return float(sum(np.linalg.norm(response @ z) for _, response in self._parts))


def bearing_forces(friction: Friction, axis: np.ndarray) -> np.ndarray:
    """Return matrices that map the force and torque of a joint to the forces in its bearings, (1 or 2, 3, 6).

    There are one or two bearings; the normal load of the friction is the sum of the magnitudes of the forces. `axis`
    (3,) is the joint axis, in the same axes as the loads.
    """
    none = np.zeros((3, 3))
    if friction.takes == ALONG:
        return np.array([np.hstack([np.outer(axis, axis), none])])
    if friction.takes != ACROSS:
        return np.array([np.hstack([np.eye(3), none])])
    across = np.eye(3) - np.outer(axis, axis)
    if not friction.length > 0:
        return np.array([np.hstack([across, none])])
    couple = np.cross(np.eye(3), axis).T / friction.length
    return np.array([np.hstack([0.5 * across, sign * couple]) for sign in (1.0, -1.0)])


class ConstantLoad:
    """Constant normal load of the friction in a joint, independent of the forces in it."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the constant normal load N, and its gradient (r,) with respect to the forces z (r,), which is zero."""
        return self.value, np.zeros(len(z))

    def reaction(self, z: np.ndarray) -> float:
        """Return the normal load due to forces z (r,) alone, which is zero."""
        return 0.0


# A vector (3,) or a number, with its derivatives (D, 3) or (D,) in D directions.
Changing = tuple[np.ndarray, np.ndarray]


def load_with_changes(
    friction: Friction, axis: Changing, force: Changing, torque: Changing, length_change: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the normal load N of the friction in a joint, and its derivatives (D,) in D directions.

    Parameters
    ----------
    friction : friction of a joint
    axis : axis of the joint with its derivatives, inertial frame
    force, torque : load of the joint with its derivatives, inertial frame, the torque about the joint point
    length_change : (D,) derivatives of the friction's `length`, m
    """
    parts = [force]
    if friction.takes in (ALONG, ACROSS):
        size, change = axis[0] @ force[0], axis[1] @ force[0] + force[1] @ axis[0]
        along = size * axis[0], change[:, None] * axis[0] + size * axis[1]
        parts = [along] if friction.takes == ALONG else [(force[0] - along[0], force[1] - along[1])]
        if friction.length > 0:
            half = 0.5 * parts[0][0], 0.5 * parts[0][1]
            couple = np.cross(axis[0], torque[0]) / friction.length
            turning = np.cross(axis[1], torque[0]) + np.cross(axis[0], torque[1]) - length_change[:, None] * couple
            parts = [(half[0] + s * couple, half[1] + s * turning / friction.length) for s in (1.0, -1.0)]
    sizes = [float(np.linalg.norm(value)) for value, _ in parts]
    slopes = [change @ value / size for (value, change), size in zip(parts, sizes, strict=True) if size > 0]
    return sum(sizes), np.sum([np.zeros(len(length_change)), *slopes], axis=0)
