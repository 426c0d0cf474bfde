"""A spring and damper between two points."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk import validate
from quirk.body import Body, Ground
from quirk.constraints.constraint import checked_ends, initial_point
from quirk.constraints.jets import where
from quirk.frame import Frame

from .element import ForceElement
from .law import Place


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

    parameters = ("stiffness", "damping", "rest_length")
    coordinates = ("length",)
    undefined = "its ends coincide, so that its force has no direction,"

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
        ends = [
            (body_i, Frame(validate.array(owner, "point_i", point_i, (3,)))),
            (body_j, Frame(validate.array(owner, "point_j", point_j, (3,)))),
        ]
        self.stiffness = validate.non_negative(owner, "stiffness", stiffness)
        self.damping = validate.non_negative(owner, "damping", damping)
        if rest_length is None:
            p_i, p_j = (initial_point(body, frame.origin) for body, frame in ends)
            rest_length = float(np.linalg.norm(p_j - p_i))
        self.rest_length = validate.non_negative(owner, "rest_length", rest_length)
        # Without rest length it pulls smoothly through zero length, where a length has no derivatives.
        self.through_zero = self.rest_length <= 0
        super().__init__(name, *ends)

    def coordinate(self, t: Any, i: Place, j: Place) -> Any:
        """Return the length."""
        d = j.position - i.position
        return np.sqrt(d @ d)

    def potential(self, t: Any, i: Place, j: Place) -> Any:
        """Return k (L - L0)^2 / 2."""
        d = j.position - i.position
        if self.through_zero:
            return 0.5 * self.stiffness * (d @ d)
        stretch = np.sqrt(d @ d) - self.rest_length
        return 0.5 * self.stiffness * stretch * stretch

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the damper's force: along the line, and where that has no direction along that of departure."""
        d, u = j.position - i.position, j.velocity - i.velocity
        square, along = d @ d, d @ u
        safe = where(square > 0.0, square, 1.0)
        force = np.array([-self.damping * where(square > 0.0, d[c] * along / safe, u[c]) for c in range(3)])
        return (-force, 0), (force, 0)

    @property
    def conservative(self) -> bool:
        """Whether there is no damper."""
        return self.damping <= 0
