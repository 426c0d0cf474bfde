"""The relations of a model as arrays."""

from __future__ import annotations

import numpy as np

from quirk.constraints.relation import Layout, layout_of
from quirk.motion import Motion, MotionTable
from quirk.state import STATE_SIZE

from ..model import Model
from .layout import KINEMATICS_SIZE, WRENCH_SIZE, Slots
from .relations import ORDER, SIDE_SIZE, Relations


def flat_relations(model: Model, slots: Slots, start: int) -> Relations:
    """Lay out all relations, their sides from element `start` of G on; addresses of functions are left to be filled."""
    layouts = [layout_of(placed.relation, len(placed.bodies), ORDER) for placed in model.relations]
    bodies = [body for placed in model.relations for body in placed.bodies]
    motions: list[Motion] = [motion for placed in model.relations for motion in placed.relation.motions]
    inverse_mass = np.append(1 / model.mass, 0.0)

    def starts(sizes: list[int]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    input_starts, output_starts = starts([lay.inputs for lay in layouts]), starts([lay.outputs for lay in layouts])
    inputs = np.zeros(input_starts[-1])
    for placed, layout, first in zip(model.relations, layouts, input_starts, strict=False):
        inputs[first : first + layout.numbers] = placed.relation.numbers
        for f, frame in enumerate(placed.frames):
            o = first + layout.first_frame + f * layout.frame_size
            inputs[o : o + frame.size] = frame
    return Relations(
        address=np.zeros(len(layouts), dtype=np.int64),
        rows=np.array([layout.rows for layout in layouts], dtype=np.int64),
        input=input_starts[:-1],
        output=output_starts[:-1],
        first_frame=np.array([layout.first_frame for layout in layouts], dtype=np.int64),
        gradient=np.array([layout.first_gradient for layout in layouts], dtype=np.int64),
        motion=starts([layout.motions for layout in layouts]),
        numbers=np.array([layout.numbers for layout in layouts], dtype=np.int64),
        side=starts([layout.frames for layout in layouts]),
        state=np.array([slots.offset(body, STATE_SIZE) for body in bodies], dtype=np.int64),
        kinematics=np.array([slots.offset(body, KINEMATICS_SIZE) for body in bodies], dtype=np.int64),
        wrench=np.array([slots.offset(body, WRENCH_SIZE) for body in bodies], dtype=np.int64),
        rows_at=start + SIDE_SIZE * np.arange(len(bodies)),
        inverse_mass=inverse_mass[bodies] if bodies else np.zeros(0),
        motions=MotionTable.of(motions),
        inputs=inputs,
        outputs=np.zeros(output_starts[-1]),
    )


def layouts_of(model: Model) -> list[Layout]:
    """Return the layouts of all relations."""
    return [layout_of(placed.relation, len(placed.bodies), ORDER) for placed in model.relations]
