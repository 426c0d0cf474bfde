"""Where things lie in the flat arrays of the compiled solver.

Bodies come in blocks of eight, a lane each: number c of the body in slot b is element
`(b // 8) * 8 * size + 8 * c + b % 8` of an array with `size` numbers per body. The ground is in slot n, and blocks
are filled up with bodies that never move; neither has inverse mass, so that nothing asks which is which. In states the
numbers that a run carries beside the motion (`quirk.dynamics.carried`) follow the last block, filled up with zeros to a
multiple of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.lanes import WIDTH, aligned
from quirk.rotation import IDENTITY
from quirk.state import STATE_SIZE

# State y: position 0-2, orientation 3-6, velocity 7-9, angular velocity in body axes 10-12.
POSITION, ORIENTATION, VELOCITY, OMEGA = 0, 3, 7, 10

# Kinematics: what one evaluation derives from a body's state.
ROTATION = 0  # R, body to N, by rows
METRIC = 9  # W with W W^T = J^-1, by rows: turns moments in body axes into those whose squares add up
SPIN = 18  # angular velocity in N
ALPHA = 21  # angular acceleration without constraints, in N
LINEAR = 24  # acceleration of the centre of mass without constraints, in N
ALPHA_BODY = 27  # ALPHA in body axes
FORCE, TORQUE = 30, 33  # applied, in N
KINEMATICS_SIZE = 36

# In Taylor coefficients of a motion these stand in the places of free accelerations, and the other entries mean the
# coefficients of rotation, spin and loads: position, and angular velocity in body axes.
POSITION_TERM, OMEGA_TERM = 21, 27

# Constants of a body: 1/m, gravity (zero for the ground), J less its middle principal moment in all directions, which
# has no part in J omega x omega (and would drown the small rest of slender bodies), W and W^-1 by rows, and m.
INVERSE_MASS, GRAVITY, UNLIKE, FACTOR, INVERSE_FACTOR, MASS = 0, 1, 4, 13, 22, 31
CONSTANTS_SIZE = 32

# What constraints exert on a body: force in N, and W^T R^T times the moment.
WRENCH_SIZE = 6

# Of each node: force on body j, and scaled moments on i and on j, three lanes each.
G_FORCE, G_I, G_J = 0, 24, 48
G_SIZE = 72


@dataclass(frozen=True)
class Slots:
    """Where each body stands.

    Attributes
    ----------
    slot : (n + 1,) of each body, the ground last; bodies of one block are read together
    carried : k, how many numbers follow the bodies in states
    """

    slot: np.ndarray
    carried: int = 0

    @staticmethod
    def along(joints: Sequence[tuple[int, ...]], n: int, carried: int = 0) -> Slots:
        """Let bodies that are met together stand together: in the order in which `joints` name them."""
        order = dict.fromkeys(body for ends in joints for body in ends if body != n)
        slot = np.empty(n + 1, dtype=np.int64)
        slot[[*order, *(body for body in range(n + 1) if body not in order)]] = np.arange(n + 1)
        return Slots(slot, carried)

    @property
    def bodies(self) -> int:
        """How many there are besides the ground."""
        return len(self.slot) - 1

    @property
    def lanes(self) -> int:
        """How many there would be, the ground among them, if all blocks were full."""
        return (self.bodies // WIDTH + 1) * WIDTH

    @property
    def first_carried(self) -> int:
        """Element of a state at which the bodies end and the numbers carried begin."""
        return self.lanes * STATE_SIZE

    @property
    def state_size(self) -> int:
        """Elements of a state."""
        return self.first_carried + -(-self.carried // WIDTH) * WIDTH

    def offset(self, body: int, size: int) -> int:
        """First element of a body in an array of `size` numbers per body."""
        slot = int(self.slot[body])
        return slot // WIDTH * WIDTH * size + slot % WIDTH

    def to_lanes(self, rows: np.ndarray) -> np.ndarray:
        """Flat array in blocks of eight from a row for each body, (n, size); zero for the ground and what fills up."""
        size = rows.shape[1]
        padded = np.zeros((self.lanes, size))
        padded[self.slot[:-1]] = rows
        flat = aligned(padded.size)
        flat[:] = padded.reshape(-1, WIDTH, size).swapaxes(1, 2).ravel()
        return flat

    def from_lanes(self, flat: np.ndarray, size: int) -> np.ndarray:
        """Rows (..., n, size) from flat arrays (..., lanes * size) in blocks of eight."""
        lead = flat.shape[:-1]
        rows = flat.reshape(*lead, -1, size, WIDTH).swapaxes(-1, -2)
        return rows.reshape(*lead, -1, size)[..., self.slot[:-1], :]

    def state_to_lanes(self, y: np.ndarray) -> np.ndarray:
        """The flat state (13 n + k,) in blocks of eight; the ground and what fills up stand at the origin.

        Of (13 n,) the numbers carried are zero, for what does not depend on them.
        """
        n = self.bodies
        lanes = self.to_lanes(y[: STATE_SIZE * n].reshape(-1, STATE_SIZE))
        # Bodies without a slot come last.
        lanes.reshape(-1, STATE_SIZE, WIDTH)[-1, ORIENTATION, n % WIDTH :] = IDENTITY[0]
        flat = aligned(self.state_size)
        flat[: lanes.size] = lanes
        carried = y[STATE_SIZE * n :]
        flat[lanes.size : lanes.size + carried.size] = carried
        return flat

    def body_states(self, flat: np.ndarray) -> np.ndarray:
        """States of bodies, or their rates, (..., n, 13) from states (..., size) in blocks of eight."""
        return self.from_lanes(flat[..., : self.first_carried], STATE_SIZE)

    def state_from_lanes(self, flat: np.ndarray) -> np.ndarray:
        """Flat states (..., 13 n + k) from states (..., size) in blocks of eight."""
        rows = self.body_states(flat)
        carried = flat[..., self.first_carried : self.first_carried + self.carried]
        return np.concatenate([rows.reshape(*rows.shape[:-2], -1), carried], axis=-1)


def compact(table: Any) -> Any:
    """A named tuple of arrays with integers of half the length: large systems wait for the memory that they fill."""
    arrays = {name: a for name, a in table._asdict().items() if isinstance(a, np.ndarray)}
    large = max(int(a.max(initial=0)) for a in arrays.values() if a.dtype.kind == "i")
    if large > np.iinfo(np.int32).max:
        raise MemoryError(f"the system needs blocks of {large:.2g} numbers, more than {np.iinfo(np.int32).max:.2g}")
    return table._replace(**{name: a.astype(np.int32) for name, a in arrays.items() if a.dtype.kind == "i"})
