"""Free play between two coupled coordinates, such as the backlash of gears, with rigid or elastic flanks.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..autodiff.jet import Jet
from ..errors import InputError
from ..util import validate
from .constraint import Constraint
from .relation import Function, MovingFrame, Relation
from .unilateral import Unilateral


@dataclass(frozen=True)
class Play:
    """Free play of a mesh or coupling, with the elasticity and restitution of its flanks.

    Attributes
    ----------
    backlash : total free travel of coordinate j while coordinate i is held, rad or m
    stiffness, damping : stiffness and damping of the flanks along coordinate j; stiffness is None for rigid flanks
    restitution, rest_speed : coefficient of restitution and rest speed of rigid flanks, see `Unilateral`
    """

    backlash: float
    stiffness: float | None
    damping: float
    restitution: float
    rest_speed: float | None


def checked_play(
    owner: str, backlash: Any, stiffness: Any, damping: Any, restitution: Any, rest_speed: Any
) -> Play | None:
    """Return the checked free play and elasticity of a mesh, or None for a rigid mesh without play.

    The arguments are those of `Gear` and `Coupling`.
    """
    elastic = stiffness is not None
    if not elastic and backlash is None:
        given = {"damping": damping, "restitution": restitution, "rest_speed": rest_speed}
        for argument, value in given.items():
            if value is not None:
                raise InputError(
                    f"{owner}: {argument} has no effect without backlash or stiffness: give one, or leave it out"
                )
        return None
    for argument, value, allowed in (
        ("damping", damping, elastic),
        ("restitution", restitution, not elastic),
        ("rest_speed", rest_speed, not elastic),
    ):
        if value is not None and not allowed:
            kind = "elastic" if elastic else "rigid"
            raise InputError(
                f"{owner}: {argument} has no effect on {kind} flanks: leave out {argument} or change stiffness"
            )
    if not elastic:
        play = validate.positive(owner, "backlash", backlash)
    else:
        play = 0.0 if backlash is None else validate.non_negative(owner, "backlash", backlash)
    return Play(
        play,
        validate.positive(owner, "stiffness", stiffness) if elastic else None,
        0.0 if damping is None else validate.non_negative(owner, "damping", damping),
        0.0 if restitution is None else restitution,
        rest_speed,
    )


@dataclass(frozen=True)
class Flank:
    """Gap function of one flank: half the free play minus `sign` (1 or -1) times the residual of the mesh.

    The residual is that of the mesh without free play.
    """

    function: Function
    sign: int

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the gap of the flank, rad or m, positive if the flank is open.

        Parameters
        ----------
        t : time, s
        frames : moving frames of the mesh; only their poses are used
        numbers : half the free play, then the constants of the residual function
        motions : prescribed motions, arguments of the residual function
        """
        half, *others = numbers
        (deviation,) = self.function(t, poses_of(frames), others, motions)
        return [half - deviation * float(self.sign)]


def poses_of(frames: Sequence[Any]) -> list[MovingFrame]:
    """Return copies of moving frames without velocities, for constraint functions of poses only."""
    return [MovingFrame(frame.position, frame.rotation, None, None) for frame in frames]


class Loose(Unilateral):
    """Base class of meshes with free play between rigid flanks: a unilateral constraint with a gap for each flank."""

    def _loosen(self, relation: Relation, play: Play) -> None:
        """Set one gap function for each of the two flanks.

        `relation` is the constraint of the mesh without play.
        """
        checked_travel(f"{self}", relation)
        numbers = (0.5 * play.backlash, *relation.numbers)
        self.gaps = tuple(
            Relation(Flank(relation.function, sign), (f"{name} flank",), relation.units, numbers)
            for name, sign in (("upper", 1), ("lower", -1))
        )
        self._bounce(play.restitution, play.rest_speed)


def elastic_flanks(owner: Constraint, relation: Relation, play: Play) -> tuple[Any, ...]:
    """Return a tuple with one force element, the spring and damper at the flanks of a mesh.

    `owner` is the gear or coupling, and `relation` its constraint without play.
    """
    from ..forces.flanks import Flanks

    checked_travel(f"{owner}", relation)
    assert play.stiffness is not None
    ends = [(body, frame) for body, frame in owner.ends]
    return (Flanks(f"{owner.name} flanks", ends, relation, play.backlash, play.stiffness, play.damping),)


def checked_travel(owner: str, relation: Relation) -> None:
    """Raise an InputError for a mesh that couples rates instead of angles: its free travel would be undefined.

    `relation` is the constraint of the mesh without play.
    """
    if relation.of_velocities:
        raise InputError(
            f"{owner}: backlash and stiffness need a ratio of integers up to 200 between angles, because other ratios "
            "couple the rates alone: take a near ratio of integers"
        )
