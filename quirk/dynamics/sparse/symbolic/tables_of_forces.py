"""Constant tables of the force elements of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.applied_loads import fixed_inputs
from quirk.dynamics.model.layout import KINEMATICS_SIZE, Slots
from quirk.dynamics.model.model import Model
from quirk.forces import ForceElement
from quirk.forces.friction import Friction
from quirk.forces.law_layout import COORDINATE, REFERENCE
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import MotionTable

from ..kernels.applied import Forces


def flat_forces(
    model: Model, slots: Slots, row_lane: np.ndarray, unit_loads: Sequence[tuple[ForceElement, tuple[int, ...]]] = ()
) -> Forces:
    """Return the tables of all force elements; the addresses of their compiled laws are zero, and are set later.

    `row_lane` (m,) is the index of the multiplier of each of m constraint rows in the array of multipliers.
    `unit_loads` are further laws, with the indices of their bodies, whose loads are evaluated but not added.
    """
    auxiliary, first_auxiliary = model.auxiliary, slots.first_auxiliary
    entries, sides, turns, inputs = [], [], [], [np.zeros(0)]
    first_in = first_out = first_side = first_motion = 0
    for e, (element, rows) in enumerate([*model.forces, *unit_loads]):
        layout = element.layout()
        last_side, last_motion = first_side + layout.frames, first_motion + layout.motions
        of_model = e < len(model.forces)
        variables = auxiliary.internal.get(element.name, slice(0, 0)) if of_model else slice(0, 0)
        work = auxiliary.work.get(element.name) if of_model else None
        entries.append((
            0, first_in, first_out, first_in + layout.first_motion, first_in + layout.first_frame,
            first_motion, last_motion, first_side, last_side, first_in + layout.first_internal,
            first_out + layout.first_rate, first_auxiliary + variables.start, layout.internal,
            -1 if work is None else first_auxiliary + work,
            int(isinstance(element, Friction) or not of_model),
        ))  # fmt: skip
        sides += [(slots.offset(b, STATE_SIZE), slots.offset(b, KINEMATICS_SIZE)) for b in rows]
        turns += [
            (first_in + layout.parameters + REFERENCE * k, first_out + layout.first_coordinate + COORDINATE * c)
            for k, c in enumerate(element.turning)
        ]
        inputs.append(fixed_inputs(element, layout))
        if isinstance(element, Friction):
            inputs[-1][element.place_of("size")] = 1.0
        first_in, first_out = first_in + layout.inputs, first_out + layout.outputs
        first_side, first_motion = last_side, last_motion
    working = [
        (row_lane[row], first_auxiliary + place) for row, place in enumerate(model.work_of_row.tolist()) if place >= 0
    ]
    return Forces(
        entries=np.array(entries, dtype=np.int64).ravel(),
        sides=np.array(sides, dtype=np.int64).ravel(),
        turns=np.array(turns, dtype=np.int64).ravel(),
        working=np.array(working, dtype=np.int64).ravel(),
        work=first_auxiliary + auxiliary.size - len(auxiliary.work),
        work_end=first_auxiliary + auxiliary.size,
        motions=MotionTable.of([motion for _, motion in motions_of(model)]),
        inputs=np.concatenate(inputs),
        outputs=np.zeros(first_out),
    )


def motions_of(model: Model) -> list[tuple[str, Motion]]:
    """Return the prescribed motions of all force elements, each with its name for error messages."""
    return [(f"{element}, {name}", element.motion(name)) for element, _ in model.forces for name in element.motions]
