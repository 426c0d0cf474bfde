"""Hinges and sliders whose degree of freedom is prescribed by a driver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.constraints.drive import SLIDE, TURN
from quirk.dynamics.model.model import Model

from ..kernels.recursion import DRIVEN_HINGE, DRIVEN_SLIDER, HINGE, SLIDER
from .placed_joint import PlacedJoint
from .tables_of_recursion import Axes

# For rotations and translations: functions of drivers, in the order of the driven axes, and kinds of joints without and
# with a driver.
DRIVERS = ((TURN, HINGE, DRIVEN_HINGE), (SLIDE, SLIDER, DRIVEN_SLIDER))

# Two unit vectors are parallel if no component of their difference exceeds this, which is round-off.
PARALLEL = 1e-12


def with_drivers(model: Model, joints: Sequence[PlacedJoint], axes: Axes) -> Axes:
    """Return a copy of `axes` in which hinges and sliders with a driver have the kind of a driven joint.

    The index and the sign of the driver are also set. The first driver of the angle about the axis of a hinge, or of
    the displacement along the axis of a slider, prescribes the motion of the joint. All other drivers are treated as
    constraints.
    """
    kind, driver, sense = axes.kind.copy(), axes.driver.copy(), axes.sense.copy()
    between: dict[frozenset[int], list[int]] = {}
    for k, joint in enumerate(joints):
        if kind[k] in (HINGE, SLIDER):
            between.setdefault(frozenset(joint.bodies), []).append(k)
    for k, joint in enumerate(joints):
        if joint.relation is None:
            continue
        placed, work = model.relations[joint.relation], model.work_of_row[joint.rows.start]
        if np.count_nonzero(model.work_of_row == work) != 1:
            continue  # the work of its other rows is needed
        for functions, own_kind, driven_kind in DRIVERS:
            if placed.relation.function not in functions:
                continue
            column = functions.index(placed.relation.function)
            driven_axes = placed.frames.reshape(2, 4, 3)[:, 1:, column]
            for jointed in between.get(frozenset(joint.bodies), ()):
                same_order = joints[jointed].bodies == joint.bodies
                own = axes.axis[jointed] if same_order else axes.axis[jointed, ::-1]
                direction = float(np.sign((own[0] * driven_axes[0]).sum()))
                parallel = np.abs(own - direction * driven_axes).max() <= PARALLEL
                if kind[jointed] == own_kind and parallel:
                    kind[jointed], driver[jointed] = driven_kind, k
                    sense[jointed] = direction if same_order else -direction
                    break
    return axes._replace(kind=kind, driver=driver, sense=sense)
