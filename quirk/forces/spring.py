"""A spring and damper between two points."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk import validate
from quirk.body import Body, Ground
from quirk.constraints.constraint import checked_ends, initial_point
from quirk.errors import InputError
from quirk.frame import Frame
from quirk.state import Kinematics

from .element import ForceElement, Wrenches
from .law import SPRING, Law


class Spring(ForceElement):
    """A massless spring with a parallel damper: tension k (L - L0) + c dL/dt along its line.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
    point_i, point_j : (3,)
        Its ends in the coordinates of body i and j, m.
    stiffness : float
        k, N/m, not negative.
    damping : float
        c, N s/m, not negative.
    rest_length : float, optional
        L0, m, not negative; default: the length at the initial poses.
    """

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        point_i: Any = (0, 0, 0),
        point_j: Any = (0, 0, 0),
        *,
        stiffness: float,
        damping: float = 0.0,
        rest_length: float | None = None,
    ) -> None:
        owner = checked_ends("Spring", name, body_i, body_j)
        self.name, self.bodies = name, (body_i, body_j)
        self.frames = (
            Frame(validate.array(owner, "point_i", point_i, (3,))),
            Frame(validate.array(owner, "point_j", point_j, (3,))),
        )
        self.stiffness = validate.non_negative(owner, "stiffness", stiffness)
        self.damping = validate.non_negative(owner, "damping", damping)
        if rest_length is None:
            end_i, end_j = (initial_point(b, f.origin) for b, f in zip(self.bodies, self.frames, strict=True))
            rest_length = float(np.linalg.norm(end_j - end_i))
        self.rest_length = validate.non_negative(owner, "rest_length", rest_length)

    def add_load(self, t: Any, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add the tension at both ends."""
        (p_i, v_i), (p_j, v_j) = (kin.point(b, f.origin) for b, f in zip(rows, self.frames, strict=True))
        line = p_j - p_i
        length = np.sqrt(line @ line)
        if length > 0:
            rate = line @ (v_j - v_i) / length
            # k (L - L0) e, written so that a spring without rest length passes smoothly through L = 0.
            force = self.stiffness * line
            force += (self.damping * rate - self.stiffness * self.rest_length) / length * line
        elif self.rest_length == 0:
            # dL/dt is |v_j - v_i| in the direction of departure.
            force = self.stiffness * line + self.damping * (v_j - v_i)
        else:
            raise InputError(
                f"{self}: its ends coincide at t = {t:g} s, so its force has no direction; "
                "move the end points apart or give rest_length=0"
            )
        loads.add_force(kin, rows[0], force, p_i)
        loads.add_force(kin, rows[1], -force, p_j)

    def law(self) -> Law:
        """Return the spring for kernels."""
        return Law(SPRING, *self.frames, constants=np.array([self.stiffness, self.damping, self.rest_length]))

    @property
    def conservative(self) -> bool:
        """Whether there is no damper."""
        return self.damping <= 0

    def potential_energy(self, kin: Kinematics, rows: tuple[int, ...]) -> float:
        """K (L - L0)^2 / 2, J."""
        (p_i, _), (p_j, _) = (kin.point(b, f.origin) for b, f in zip(rows, self.frames, strict=True))
        return 0.5 * self.stiffness * (float(np.linalg.norm(p_j - p_i)) - self.rest_length) ** 2
