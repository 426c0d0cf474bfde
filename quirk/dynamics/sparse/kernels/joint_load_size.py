"""Size of the loads that the joints of a forest transmit, computed from the accelerations of its bodies.

A joint transmits the load that its body and all descendants of this body require: inertia times acceleration, minus the
applied loads. The arrays are described in the module `recursion`; index arguments are as in `recursion_loads`.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.layout import FACTOR, INVERSE_MASS
from quirk.dynamics.model.vectors import plus
from quirk.jit.compilation import kernel
from quirk.jit.simd import WIDTH, at, lane_of
from quirk.jit.tracing import traced

from .bodies import CON
from .mechanism import Mechanism
from .recursion import (
    ADDED_TO,
    ARM,
    BODY_NUMBERS,
    CENTER,
    CHILDREN,
    CYLINDRICAL,
    DRIVEN_SLIDER,
    FORCE,
    FREE,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIND,
    PARENT,
    POINT_FROM_CENTER,
    POSTURE,
    PRESENT_ARM,
    SHIFT,
    SLIDER,
    SUM,
)
from .recursion_bodies import BODIES, JOINTS
from .recursion_corrections import inertia_loads, store_loads
from .recursion_loads import load_weld, loads_of
from .recursion_vectors import load_rows, sum_of_lanes


@traced
def require_loads(bodies: Any, joints: Any, c: Any, j: Any) -> None:
    """Add the inertia times the acceleration of eight bodies to their loads at zero acceleration, in `joints`.

    The data of the bodies begin at element c of `bodies` and j of `joints`.
    """
    ax, ay, az, _, bx, by, bz, _ = load_rows(joints, j + SHIFT, JOINT_NUMBERS)
    fx, fy, fz, _, mx, my, mz, _ = load_rows(joints, j + FORCE, JOINT_NUMBERS)
    force, moment = inertia_loads(bodies, c, (ax, ay, az), (bx, by, bz))
    store_loads(joints, j, plus(force, (fx, fy, fz)), plus(moment, (mx, my, mz)))


@traced
def squares_of_load(joints: Any, articulated: Any, j: Any, children: Any) -> Any:
    """Return the squares of the force (N^2) and the moment (N^2 m^2) that a joint transmits.

    The data of the joint begin at element j of `joints`, and the sum of the loads transmitted by the children at
    element `children` of `articulated`.
    """
    force, moment = loads_of(joints, articulated, j, children)
    return lane_of(sum_of_lanes(force * force), 0), lane_of(sum_of_lanes(moment * moment), 0)


@kernel
def largest_joint_load(mechanism: Mechanism) -> float:
    """Return the largest load on a joint of the forest in the mass metric, for the last accelerations by recursion.

    In the mass metric a force is divided by the square root of the mass, and a moment by the square root of the moment
    of inertia. Loads of loop-closing rows count as loads of the joints between their bodies and the roots. The applied
    loads in `recursion` are overwritten.
    """
    recursion, largest = mechanism.recursion, 0.0
    entries, joints, articulated = recursion.entries, recursion.joints, recursion.articulated
    for block in range(recursion.posture.shape[0] // (WIDTH * POSTURE)):
        require_loads(recursion.bodies, joints, block * BODIES, block * JOINTS)
    for t in range(entries.shape[0] // JOINT_ENTRIES):
        e, j = JOINT_ENTRIES * t, JOINT_NUMBERS * t
        kind, children, total = at(entries, e + KIND), at(entries, e + CHILDREN), at(entries, e + SUM)
        if kind == FREE:
            continue
        force, moment = squares_of_load(joints, articulated, j, children)
        force, moment = force**0.5, moment**0.5
        parent = at(entries, e + PARENT) // JOINT_NUMBERS
        largest = max(largest, scaled_load(mechanism, t, t, CENTER, force, moment))
        largest = max(largest, scaled_load(mechanism, parent, t, POINT_FROM_CENTER, force, moment))
        if total >= 0:
            added_to = at(entries, e + ADDED_TO)
            if kind in (SLIDER, CYLINDRICAL, DRIVEN_SLIDER):
                load_weld(joints, joints, articulated, j, j + PRESENT_ARM - ARM, children, added_to, total)
            else:
                load_weld(joints, recursion.body_constants, articulated, j, BODY_NUMBERS * t, children, added_to, total)
    return largest


@kernel
def scaled_load(mechanism: Mechanism, body: int, joint: int, arm: int, force: float, moment: float) -> float:
    """Return an upper bound of a joint load on the body in slot `body`, in the mass metric; zero for the ground.

    `force` (N) and `moment` (N m) act at the joint of the body in slot `joint`. The vector between this joint and the
    center of mass of the loaded body begins at component `arm` of the constants of the body in slot `joint`.
    """
    constants, bodies = mechanism.constants, mechanism.recursion.bodies
    c, b = body // WIDTH * CON + body % WIDTH, joint // WIDTH * BODIES + joint % WIDTH
    turns = length = 0.0
    for k in range(9):
        turns += at(constants, c + WIDTH * (FACTOR + k)) ** 2
    for k in range(3):
        length += at(bodies, b + WIDTH * (arm + k)) ** 2
    return force * at(constants, c + WIDTH * INVERSE_MASS) ** 0.5 + (moment + length**0.5 * force) * turns**0.5
