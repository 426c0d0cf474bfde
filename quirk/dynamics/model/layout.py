"""Layout of the flat arrays of the compiled solver.

Bodies are stored in blocks of eight, one per lane (entry) of a vector register. The position of a body in this order is
its slot: component c of the body in slot b is element `(b // 8) * 8 * size + 8 * c + b % 8` of an array with `size`
components per body. The ground has a slot, too, and the last block is padded with bodies at rest. The inverse masses of
ground and padding are zero, so that compiled code treats all slots in the same way. In states, the auxiliary states
(`quirk.dynamics.model.auxiliary_states`) follow the last block, padded with zeros to a multiple of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.rotation import IDENTITY
from quirk.bodies.state import STATE_SIZE
from quirk.jit.simd import WIDTH, aligned

# State y: position 0-2, orientation 3-6, velocity 7-9, angular velocity in body axes 10-12.
POSITION, ORIENTATION, VELOCITY, OMEGA = 0, 3, 7, 10

# Kinematics: quantities of a body computed from its state in each evaluation.
ROTATION = 0  # R, body axes to inertial frame, row by row
METRIC = 9  # W with W W^T = J^-1, row by row; the squared length of W^T times a moment in body axes is m.J^-1 m
SPIN = 18  # angular velocity in the inertial frame, rad/s
ALPHA = 21  # angular acceleration without constraints, inertial frame, rad/s^2
LINEAR = 24  # acceleration of the center of mass without constraints, inertial frame, m/s^2
ALPHA_BODY = 27  # ALPHA in body axes
FORCE, TORQUE = 30, 33  # applied loads in the inertial frame, the torque about the center of mass
KINEMATICS_SIZE = 36

# In arrays of Taylor coefficients of a motion each order has KINEMATICS_SIZE numbers per body: coefficients of
# rotation, spin, force and torque at the offsets above, of the position at the offset of ALPHA, and of the angular
# velocity in body axes at the offset of ALPHA_BODY.
POSITION_TERM, OMEGA_TERM = 21, 27

# Constants of a body: 1/m, gravity (zero for the ground), J minus its middle principal moment times the identity, W and
# W^-1 row by row, and m. The subtracted part of J does not contribute to omega x J omega, but would add round-off to it
# for slender bodies.
INVERSE_MASS, GRAVITY, UNLIKE, FACTOR, INVERSE_FACTOR, MASS = 0, 1, 4, 13, 22, 31
CONSTANTS_SIZE = 32

# Constraint loads on a body: force in the inertial frame and, from offset MOMENT in arrays in blocks of eight, W^T R^T
# times the moment. In displacements and velocities for products with rows, W^-1 times the rotation is stored at MOMENT.
WRENCH_SIZE, MOMENT = 6, 24

# Offsets per node: force on body j, and scaled moments W^T R^T m on bodies i and j, three vectors of lanes each.
G_FORCE, G_I, G_J = 0, 24, 48
G_SIZE = 72


@dataclass(frozen=True)
class Slots:
    """Order of n bodies and the ground in arrays in blocks of eight.

    Attributes
    ----------
    slot : (n + 1,) slot (position) of each body; the last entry is for the ground
    auxiliary : number k of auxiliary states, which follow the bodies in states
    """

    slot: np.ndarray
    auxiliary: int = 0

    @staticmethod
    def along(joints: Sequence[tuple[int, ...]], n: int, auxiliary: int = 0) -> Slots:
        """Return the order of the bodies by first occurrence in `joints`, so that neighbors share a block.

        Each joint is a tuple of body indices; `n` is the number of bodies, and `auxiliary` the number of auxiliary
        states.
        """
        order = dict.fromkeys(body for ends in joints for body in ends if body != n)
        slot = np.empty(n + 1, dtype=np.int64)
        slot[[*order, *(body for body in range(n + 1) if body not in order)]] = np.arange(n + 1)
        return Slots(slot, auxiliary)

    @property
    def bodies(self) -> int:
        """Number n of bodies, excluding the ground."""
        return len(self.slot) - 1

    @property
    def lanes(self) -> int:
        """Total number of slots in all blocks, including those of the ground and of padding."""
        return (self.bodies // WIDTH + 1) * WIDTH

    @property
    def first_auxiliary(self) -> int:
        """Index of the first auxiliary state in a state in blocks of eight bodies."""
        return self.lanes * STATE_SIZE

    @property
    def state_size(self) -> int:
        """Number of elements of a state in blocks of eight bodies, including padding."""
        return self.first_auxiliary + -(-self.auxiliary // WIDTH) * WIDTH

    def offset(self, body: int, size: int) -> int:
        """Return the index of the first component of a body in an array with `size` components per body."""
        return int(self.offsets(np.array(body), size))

    def offsets(self, bodies: np.ndarray, size: int) -> np.ndarray:
        """Return the indices of the first components of bodies in an array with `size` components per body."""
        slot = self.slot[bodies]
        return slot // WIDTH * WIDTH * size + slot % WIDTH

    def to_lanes(self, rows: np.ndarray) -> np.ndarray:
        """Convert an array (n, size) of n bodies to a flat array in blocks of eight; empty slots are zero."""
        size = rows.shape[1]
        padded = np.zeros((self.lanes, size))
        padded[self.slot[:-1]] = rows
        flat = aligned(padded.size)
        flat[:] = padded.reshape(-1, WIDTH, size).swapaxes(1, 2).ravel()
        return flat

    def from_lanes(self, flat: np.ndarray, size: int) -> np.ndarray:
        """Convert flat arrays in blocks of eight to arrays (..., n, size) of n bodies with `size` components each."""
        lead = flat.shape[:-1]
        rows = flat.reshape(*lead, self.lanes // WIDTH, size, WIDTH).swapaxes(-1, -2)
        return rows.reshape(*lead, self.lanes, size)[..., self.slot[:-1], :]

    def state_to_lanes(self, y: np.ndarray) -> np.ndarray:
        """Convert a state (13 n + k,) to a flat array in blocks of eight; ground and padding are at rest at the origin.

        If the auxiliary states are missing, (13 n,), they are set to zero.
        """
        n = self.bodies
        lanes = self.to_lanes(y[: STATE_SIZE * n].reshape(-1, STATE_SIZE))
        # The ground and the padding come last.
        lanes.reshape(-1, STATE_SIZE, WIDTH)[-1, ORIENTATION, n % WIDTH :] = IDENTITY[0]
        flat = aligned(self.state_size)
        flat[: lanes.size] = lanes
        auxiliary = y[STATE_SIZE * n :]
        flat[lanes.size : lanes.size + auxiliary.size] = auxiliary
        return flat

    def body_states(self, flat: np.ndarray) -> np.ndarray:
        """Convert states, or y', in blocks of eight (..., size) to the states of n bodies (..., n, 13)."""
        return self.from_lanes(flat[..., : self.first_auxiliary], STATE_SIZE)

    def state_from_lanes(self, flat: np.ndarray) -> np.ndarray:
        """Convert states in blocks of eight (..., size) to flat states (..., 13 n + k)."""
        rows = self.body_states(flat)
        auxiliary = flat[..., self.first_auxiliary : self.first_auxiliary + self.auxiliary]
        return np.concatenate([rows.reshape(*rows.shape[:-2], STATE_SIZE * self.bodies), auxiliary], axis=-1)


def compact(table: Any) -> Any:
    """Return a copy of a named tuple of arrays, with integers of 32 instead of 64 bits.

    This halves the time of reading the tables from memory, which is a large part of the evaluation time of large
    systems.

    Raises
    ------
    MemoryError
        If an integer does not fit in 32 bits.
    """
    arrays = {name: a for name, a in table._asdict().items() if isinstance(a, np.ndarray)}
    large = max(int(a.max(initial=0)) for a in arrays.values() if a.dtype.kind == "i")
    if large > np.iinfo(np.int32).max:
        raise MemoryError(f"the system needs blocks of {large:.2g} numbers, more than {np.iinfo(np.int32).max:.2g}")
    return table._replace(**{name: a.astype(np.int32) for name, a in arrays.items() if a.dtype.kind == "i"})
