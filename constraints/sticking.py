"""Constraint rows that hold bodies while friction sticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..autodiff.jet import Jet
from .angle import cross_angle, free_angle
from .constraint import Constraint
from .relation import FORCE, MovingFrame, Relation
from .slip import OfGap, Slip


@dataclass(frozen=True)
class ZeroSlip:
    """Constraint function of sticking friction: the components of the slip velocity that are kept at zero, m/s.

    Attributes
    ----------
    slip : slip of the joint or contact
    which : indices of the components that are kept at zero
    """

    slip: Slip
    which: tuple[int, ...]

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return the selected components of slip, m/s."""
        i, j = frames
        components = self.slip(t, i, j, numbers)
        return [components[c].rate for c in self.which]


class StickingRows(Relation):
    """Rows of sticking friction; their user functions are derived anew from the slip in copies by pickle."""

    @classmethod
    def of(cls, held: ZeroSlip, labels: tuple[str, ...], numbers: tuple[float, ...]) -> Self:
        """Return the rows for the given names of rows and constants of the slip."""
        source = held.slip.source if isinstance(held.slip, OfGap) else None
        return cls(held, labels, (FORCE,) * len(labels), numbers, of_velocities=True, source=source)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what `pickle` stores; the function that contains several user functions cannot be stored."""
        return StickingRows.of, (self.function, self.labels, self.numbers)


class Sticking(Constraint):
    """Static friction in a joint or contact, as a constraint that keeps slip components at zero, one row for each.

    The load is the friction force on body j.

    Parameters
    ----------
    friction : the `Friction` element
    slip : slip of its joint or contact
    which : indices of the independent components that are kept at zero
    """

    def __init__(self, friction: Any, slip: Slip, which: tuple[int, ...]) -> None:
        on = friction.on
        super().__init__(friction.name, on.body_i, on.body_j, on.frame_i, on.frame_j, False)
        self.friction, self.which = friction, which
        labels = tuple(f"slip {c + 1}" for c in which)
        numbers = tuple(float(radius) for radius in friction.radii)
        self.primitives = (StickingRows.of(ZeroSlip(slip, which), labels, numbers),)


@dataclass(frozen=True)
class HeldOrientation:
    """Constraint function that holds the relative orientation of the bodies of a ball joint.

    Attributes
    ----------
    which : indices of the axes of frame i about which rotation is prevented
    """

    which: tuple[int, ...]

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return the residuals, m: an arm times the small rotation (rad) of the joint from its held orientation.

        The rotation is about selected axes of frame i. `numbers` are the arm, m, and the held rotation matrix from
        frame j to frame i, by rows.
        """
        i, j = frames
        arm, *held = numbers
        off = i.rotation.T @ j.rotation @ np.array(held, dtype=object).reshape(3, 3).T
        return [(off[(c + 2) % 3, (c + 1) % 3] - off[(c + 1) % 3, (c + 2) % 3]) * arm * 0.5 for c in self.which]


@dataclass(frozen=True)
class HeldCoordinate:
    """Constraint function that holds the free coordinate of a joint at a given value.

    Attributes
    ----------
    axis : index of the coordinate's axis in frame i
    rotates : whether the coordinate is a rotation
    of_three : whether the rotation is one of the 1-2-3 angles
    of_cross : whether the rotation is one of the two angles of a universal joint
    """

    axis: int
    rotates: bool
    of_three: bool
    of_cross: bool

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return the residual, m: an arm times the difference of the joint coordinate from its held value.

        `numbers` are the arm and the held value, rad or m. The difference of angles is taken modulo full turns, and the
        arm, m, converts it to a length; for displacements the arm is 1.
        """
        i, j = frames
        arm, value = numbers
        if self.rotates:
            angle = cross_angle(i, j, self.axis) if self.of_cross else free_angle(i, j, self.axis, self.of_three)
            return [(angle - value).wrapped(2 * np.pi) * arm]
        return [(i.rotation[:, self.axis] @ (j.position - i.position) - value) * arm]


class StickingJoint(Sticking):
    """Static friction in a joint, as a constraint that holds its free coordinate at a constant value, 1 row.

    Parameters
    ----------
    friction : the `JointFriction` element
    value : held value of the coordinate, rad or m
    """

    def __init__(self, friction: Any, value: float) -> None:
        super().__init__(friction, friction.slip, (0,))
        self.value = value
        held = HeldCoordinate(friction.axis, friction.rotates, friction.of_three, friction.of_cross)
        self.primitives = (Relation(held, ("slip 1",), (FORCE,), (float(friction.radii[0]), value)),)


class StickingBall(Sticking):
    """Static friction in a ball joint, as a constraint that holds the relative orientation of its bodies.

    Parameters
    ----------
    friction : the friction element
    which : indices of the independent slip components that are kept at zero
    value : (9,) held rotation matrix from frame j to frame i, by rows
    """

    def __init__(self, friction: Any, which: tuple[int, ...], value: tuple[float, ...]) -> None:
        super().__init__(friction, friction.slip, which)
        self.value = value
        labels = tuple(f"slip {c + 1}" for c in which)
        numbers = (float(friction.radii[0]), *value)
        self.primitives = (Relation(HeldOrientation(which), labels, (FORCE,) * len(which), numbers),)
