"""The constant-velocity joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk import validate
from quirk.body import Body, Ground
from quirk.errors import InputError
from quirk.frame import Frame, axes_with_z

from .constraint import Joint, checked_ends, frame_in, named, placement
from .jets import Jet
from .primitives import X, Y, coincidence
from .relation import TORQUE, MovingFrame, Relation

# Sine of the angle at which shafts are as good as turned back upon each other.
FOLDED = 1e-6


def homokinetic(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """No twist: one shaft is turned relative to the other about an axis across the plane that halves them."""
    i, j = frames
    return [i.rotation[:, X] @ j.rotation[:, Y] - i.rotation[:, Y] @ j.rotation[:, X]]


class ConstantVelocity(Joint):
    """Two shafts that meet in a point and turn at the same rate whatever their angle, 4 rows (homokinetic joint).

    Parameters
    ----------
    point : (3,)
        Where the shafts meet, in N at the initial poses, m.
    axis_i, axis_j : (3,)
        Along the shafts i and j, both onwards from i to j, in N at the initial poses: z of the frames. Or frames.
    """

    primitives = (coincidence, Relation(homokinetic, ("no twist",), (TORQUE,)))

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: Any = None,
        axis_i: Any = None,
        axis_j: Any = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("ConstantVelocity", name, body_i, body_j)

        frame_i, frame_j = named(body_i, frame_i), named(body_j, frame_j)

        def frames() -> tuple[Frame, Frame]:
            where = validate.array(owner, "point", point, (3,))
            z_i = validate.direction(owner, "axis_i", axis_i)
            z_j = validate.direction(owner, "axis_j", axis_j)
            if 1 + z_i @ z_j < FOLDED:
                raise InputError(f"{owner}: axis_i and axis_j must not point against each other: both lead from i to j")
            axes = axes_with_z(z_i)
            # The shortest turn that takes z_i to z_j has no twist: reflect twice, in the halfway vector and in z_i.
            half = (z_i + z_j) / np.linalg.norm(z_i + z_j)
            turn = (2 * np.outer(half, half) - np.eye(3)) @ (2 * np.outer(z_i, z_i) - np.eye(3))
            return frame_in(body_i, where, axes), frame_in(body_j, where, turn @ axes)

        given = {"point": point, "axis_i": axis_i, "axis_j": axis_j}
        frame_i, frame_j = placement(owner, given, tuple(given), frames, frame_i, frame_j)
        super().__init__(name, body_i, body_j, frame_i=frame_i, frame_j=frame_j, active=active)
