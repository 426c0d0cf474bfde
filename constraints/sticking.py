"""Constraint rows on velocities for sticking friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..autodiff.jet import Jet
from .constraint import Constraint
from .relation import FORCE, MovingFrame, Relation
from .slip import OfGap, Slip


@dataclass(frozen=True)
class Held:
    """Constraint function that keeps components of slip at zero.

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


class Sticking(Constraint):
    """Static friction in a joint or contact: a constraint with a row for each component of slip, which is kept at zero.

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
        source = slip.source if isinstance(slip, OfGap) else None
        held = Held(slip, which)
        self.primitives = (Relation(held, labels, (FORCE,) * len(which), numbers, of_velocities=True, source=source),)
