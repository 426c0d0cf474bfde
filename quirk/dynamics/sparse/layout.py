"""Where things lie in the flat arrays of the compiled solver.

Bodies come in blocks of eight, a lane each: number c of body b is element `(b // 8) * 8 * size + 8 * c + b % 8`
of an array with `size` numbers per body. The ground is body n, and blocks are filled up with bodies that never
move; neither has inverse mass, so that nothing asks which is which.
"""

from __future__ import annotations

import numpy as np

from quirk.lanes import WIDTH, aligned
from quirk.rotation import IDENTITY
from quirk.state import STATE_SIZE

# State y: position 0-2, orientation 3-6, velocity 7-9, angular velocity in body axes 10-12.
POSITION, ORIENTATION, VELOCITY, OMEGA = 0, 3, 7, 10

# Kinematics: what one evaluation derives from a body's state.
ROTATION = 0  # R, body to N, by rows
METRIC = 9  # R W with W W^T = J^-1: turns moments in N into those whose squares add up
SPIN = 18  # angular velocity in N
ALPHA = 21  # angular acceleration without constraints, in N
LINEAR = 24  # acceleration of the centre of mass without constraints, in N
ALPHA_BODY = 27  # ALPHA in body axes
FORCE, TORQUE = 30, 33  # applied, in N
KINEMATICS_SIZE = 36

# Constants of a body: 1/m, gravity (zero for the ground), J, W and W^-1 by rows.
INVERSE_MASS, GRAVITY, INERTIA, FACTOR, INVERSE_FACTOR = 0, 1, 4, 13, 22
CONSTANTS_SIZE = 31

# What constraints exert on a body: force in N, and W^T R^T times the moment.
WRENCH_SIZE = 6

# Of each node: force on body j, and scaled moments on i and on j, three lanes each.
G_FORCE, G_I, G_J = 0, 24, 48
G_SIZE = 72


def blocks(bodies: int) -> int:
    """How many blocks hold `bodies` and the ground."""
    return bodies // WIDTH + 1


def offset(body: int, size: int) -> int:
    """First element of a body in an array of `size` numbers per body."""
    return body // WIDTH * WIDTH * size + body % WIDTH


def to_lanes(rows: np.ndarray) -> np.ndarray:
    """Flat array in blocks of eight from one row (n, size) for each body; what fills up is zero."""
    n, size = rows.shape
    padded = np.zeros((blocks(n) * WIDTH, size))
    padded[:n] = rows
    flat = aligned(padded.size)
    flat[:] = padded.reshape(-1, WIDTH, size).swapaxes(1, 2).ravel()
    return flat


def from_lanes(flat: np.ndarray, n: int, size: int) -> np.ndarray:
    """Rows (..., n, size) from flat arrays (..., blocks * 8 * size) in blocks of eight."""
    lead = flat.shape[:-1]
    rows = flat.reshape(*lead, -1, size, WIDTH).swapaxes(-1, -2)
    return rows.reshape(*lead, -1, size)[..., :n, :].copy()


def state_to_lanes(y: np.ndarray) -> np.ndarray:
    """The flat state (13 n,) in blocks of eight; the ground and what fills up stand at the origin."""
    lanes = to_lanes(y.reshape(-1, STATE_SIZE))
    n = len(y) // STATE_SIZE
    for body in range(n, blocks(n) * WIDTH):
        lanes[offset(body, STATE_SIZE) + WIDTH * ORIENTATION] = IDENTITY[0]
    return lanes
