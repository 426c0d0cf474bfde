"""Sliding friction whose slip is determined by constraints, such as that of a joint moved by a driver.

Free slip is zero only at the instant at which it begins or reverses. Slip that constraints determine may be zero for
some time; friction then counts as sticking, although its force law acts.
"""

from __future__ import annotations

import numpy as np

from ..analysis.contact.contact_kinematics import BLOCKED, ContactKinematics, Gaps
from ..forces import Friction, JointFriction
from ..system.system import System
from .segment import Segment


def slip_is_driven(
    system: System, segment: Segment, friction: Friction | JointFriction, direction: np.ndarray, row: int
) -> bool:
    """Whether constraints determine the slip of a friction element along a direction.

    Parameters
    ----------
    system : System
    segment : segment of a result in which the element slides
    friction : the friction element, with the side of the surface on which its slip is smooth
    direction : (d,) unit vector of slip
    row : output index in the segment of the state that is examined
    """
    solver, gaps, y, t = segment.plant.solver(), Gaps(system, [friction]), segment.flat[row], segment.instants[row]
    gaps.select_parts(segment.model.auxiliary.state(y), {})
    opening = gaps.kinematics_at(system.plant.solver(), float(t), y, segment.angles[row])
    side = getattr(friction.slip, "side", 1)
    own = [len(gaps.contact_points) + k for k, slip in enumerate(gaps.slip_rows) if slip.side == side]
    parts = opening.subset(own)
    push, in_body = (
        np.tensordot(direction, one, 1)[None] for one in (parts.force_directions, parts.body_force_directions)
    )
    along = ContactKinematics(np.zeros(1), np.zeros(1), push, in_body)
    lanes = solver.slots.state_to_lanes(y)
    solver.settle(lanes, t)
    change, _ = solver.respond(lanes, float(t), np.zeros(solver.model.rows), push[0])
    return bool(along.rates_of(change)[0] <= BLOCKED * along.unconstrained_response(system.model)[0])
