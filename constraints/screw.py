"""The screw joint: a translation proportional to a rotation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .angle import twist
from .armature import ArmatureLike, OneFreedomJoint
from .primitives import X, Y, Z, dot1, dot2
from .relation import FORCE, MovingFrame, Relation


def advance(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the displacement along the axis minus the lead times the number of turns, m, modulo the lead."""
    i, j = frames
    displacement = i.rotation[:, Z] @ (j.position - i.position)
    return [(displacement - twist(i, j, Z) * (numbers[0] * (0.5 / np.pi))).wrapped(numbers[0])]


class Screw(OneFreedomJoint):
    """A nut on a thread, 5 rows: body j moves along the axis by the lead per turn.

    Parameters
    ----------
    lead : float
        Displacement per turn, m, nonzero; positive for a right-handed thread. The joint angle is zero where the axes of
        both frames are parallel; this is the initial pose, unless frame_i and frame_j are given.
    armature : float or (2,), optional
        Inertia of a rotor about the joint's axis, kg m^2; or the inertia of the rotor and its gear ratio. Other
        parameters as for `Joint`.

    Examples
    --------
    >>> nut = quirk.Body.cylinder("nut", 0.1, 0.02, 0.01, angular_velocity=[0, 0, 2 * np.pi], velocity=[0, 0, 0.002])
    >>> thread = quirk.Screw("thread", quirk.GROUND, nut, lead=0.002, point=[0, 0, 0], axis="z")
    >>> quirk.simulate(quirk.System([nut, thread]), 1.0, output=1.0).body("nut").position[-1].round(6) + 0.0
    array([0.   , 0.   , 0.002])
    """

    row_count = 5
    aligned_axes = (Z,)
    rotation_axis = Z
    translation_axis = Z

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        lead: float,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        armature: ArmatureLike | None = None,
        active: bool = True,
    ) -> None:
        placed = {"point": point, "axis": axis, "frame_i": frame_i, "frame_j": frame_j}
        super().__init__(name, body_i, body_j, **placed, armature=armature, active=active)  # type: ignore[arg-type]
        self.lead = validate.number(str(self), "lead", lead)
        if abs(self.lead) <= 0:
            raise InputError(f"{self}: lead must not be zero; for zero lead use Revolute")
        self.primitives = (
            dot1(Z, X),
            dot1(Z, Y),
            dot2(X),
            dot2(Y),
            Relation(advance, ("advance by lead",), (FORCE,), numbers=(self.lead,)),
        )
