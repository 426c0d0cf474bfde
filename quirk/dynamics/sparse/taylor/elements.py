"""Calls of the machine code that computes Taylor coefficients of constraints and force elements.

Elements of equal structure are evaluated simultaneously, in groups of up to eight. A program is a part of their
operations, for the coefficients of one order.
"""

from __future__ import annotations

from quirk.functions.motion_kernels import motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.function_pointers import call

from .tables import (
    AT_NUMBERS,
    AT_PLACES,
    CODE,
    GROUP,
    LEVEL,
    NUMBERS,
    ORDER,
    PLACES,
    PROGRAM,
    TaylorElements,
)

# Number of bytes per float or integer.
BYTES = 8


@kernel
def expand_motions(elements: TaylorElements, t: float) -> None:
    """Compute the Taylor coefficients of all prescribed motions at time t (s), in `elements.taylor`."""
    orders = elements.orders
    for m in range(elements.taylor.shape[0] // orders):
        motion_taylor(elements.motions, m, t, orders - 1, elements.taylor, m * orders)


@kernel
def level_of(elements: TaylorElements, g: int) -> int:
    """Return the level of group g: LAW for force laws, POSE_ROWS or VELOCITY_ROWS for constraints.

    A group consists of elements of equal structure. The rows of constraints are on poses or on velocities.
    """
    return elements.groups[GROUP * g + LEVEL]


@kernel
def run(elements: TaylorElements, g: int, program: int, t: float, k: int) -> None:
    """Call the machine code of a group of elements for one program, at time t (s) and order k.

    g is the index of the group, and `program` is FIRST, SHAPE, GOAL, LOADS or AFTER
    (`quirk.dynamics.sparse.taylor.tables`).
    """
    arguments, group = elements.arguments, GROUP * g
    arguments[PROGRAM], arguments[ORDER] = program, k
    arguments[AT_PLACES] = elements.first_places + BYTES * elements.groups[group + PLACES]
    arguments[AT_NUMBERS] = elements.first_numbers + BYTES * elements.groups[group + NUMBERS]
    call(elements.groups[group + CODE], t, elements.handed, 0, elements.handed, 0)
