"""Constant tables of the relations of a model, which are constraints defined by functions."""

from __future__ import annotations

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.constraints.relation import RelationLayout, layout_of
from quirk.dynamics.model.layout import KINEMATICS_SIZE, WRENCH_SIZE, Slots
from quirk.dynamics.model.model import Model
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import MotionTable

from ..kernels.relations import ORDER, SIDE_SIZE, Relations


def flat_relations(model: Model, slots: Slots, start: int, order: int = ORDER, gradient_order: int = 0) -> Relations:
    """Return the tables of all relations; the addresses of their compiled functions are zero, and are set later.

    A relation is a constraint defined by a function. Its rows are stored in the array G of all rows; the first relation
    begins at index `start`. `order` and `gradient_order` are the highest orders of the time derivatives of residuals,
    and of gradients, that the functions compute.
    """
    layouts = layouts_of(model, order, gradient_order)
    bodies = [body for placed in model.relations for body in placed.bodies]
    motions: list[Motion] = [motion for placed in model.relations for motion in placed.relation.motions]

    def starts(sizes: list[int]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    inputs, outputs = starts([lay.inputs for lay in layouts]), starts([lay.outputs for lay in layouts])
    motion, side = starts([lay.motions for lay in layouts]), starts([lay.frames for lay in layouts])
    entries = [
        (0, lay.rows, inputs[r], outputs[r], lay.first_frame, lay.first_gradient, lay.numbers, motion[r],
         motion[r + 1], side[r], side[r + 1], int(placed.relation.of_velocities))
        for r, (lay, placed) in enumerate(zip(layouts, model.relations, strict=True))
    ]  # fmt: skip
    sides = [
        (slots.offset(body, STATE_SIZE), slots.offset(body, KINEMATICS_SIZE), slots.offset(body, WRENCH_SIZE),
         start + SIDE_SIZE * s)
        for s, body in enumerate(bodies)
    ]  # fmt: skip
    values = np.zeros(inputs[-1])
    for placed, layout, first in zip(model.relations, layouts, inputs, strict=False):
        values[first : first + layout.numbers] = placed.relation.numbers
        for f, frame in enumerate(placed.frames):
            o = first + layout.first_frame + f * layout.frame_size
            values[o : o + frame.size] = frame
    return Relations(
        entries=np.array(entries, dtype=np.int64).ravel(),
        sides=np.array(sides, dtype=np.int64).ravel(),
        inverse_mass=np.append(1 / model.mass, 0.0)[np.array(bodies, dtype=np.int64)],
        motions=MotionTable.of(motions),
        inputs=values,
        outputs=np.zeros(outputs[-1]),
    )


def layouts_of(model: Model, order: int = ORDER, gradient_order: int = 0) -> list[RelationLayout]:
    """Return the layouts of the inputs and outputs of all relations, which are constraints defined by functions.

    `order` and `gradient_order` are the highest orders of the time derivatives of residuals, and of gradients, that the
    functions compute.
    """
    return [layout_of(placed.relation, len(placed.bodies), order, gradient_order) for placed in model.relations]
