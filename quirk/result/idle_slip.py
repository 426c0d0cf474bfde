"""Slip of friction that does not act, such as friction that an event has disabled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..analysis.contact.contact_kinematics import ContactKinematics, Gaps
from ..analysis.contact.friction_modes import FrictionModes
from ..bodies.state import State
from ..constraints.slip import OfGap
from ..forces.stick_slip import StickSlip
from ..system.system import System
from .segment import Segment


def idle_slip(system: System, segment: Segment, friction: StickSlip) -> np.ndarray:
    """Return the slip (nt, d), m/s, of a friction element over a segment of a result, from poses and velocities.

    `friction` acts in a joint or in a contact that is closed during the segment.
    """
    gaps, frictions, solver = Gaps(system, [friction]), FrictionModes(system), system.plant.solver()
    found = np.zeros((len(segment.time), friction.slip.size))
    for row, (t, y) in enumerate(zip(segment.instants, segment.flat, strict=True)):
        state = segment.state_at(row)
        gaps.select_parts(state, {})
        kinematics = gaps.kinematics_at(solver, float(t), y, segment.angles[row])
        found[row] = kinematics.rate[_components(gaps, frictions, friction, state, kinematics)]
    return found


def _components(
    gaps: Gaps, frictions: FrictionModes, friction: StickSlip, state: State, kinematics: ContactKinematics
) -> Sequence[int]:
    """Return the indices of the slip components that are smooth at a state, among all gaps and slip components."""
    points, push = gaps.contact_points, None
    if isinstance(friction.slip, OfGap):
        number = next(c for c, point in enumerate(points) if point.constraint is friction.on)
        push = gaps.force_on_j(kinematics, number)
    side = frictions.side(friction, state, push)
    return [len(points) + k for k, slip in enumerate(gaps.slip_rows) if slip.side == side]
