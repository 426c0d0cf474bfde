"""The generic joint, which constrains any selection of the relative coordinates to zero or to offsets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..functions.expression import Expression, function_of
from ..functions.motion import Motion, as_motion
from ..functions.user_function import on_jets
from ..util import validate
from .angle import rotation_123
from .constraint import Joint
from .drawing import Drawing
from .primitives import Primitive, X, Y, Z, coincidence, dot1, dot2
from .relation import FORCE, TORQUE, Function, MovingFrame, Relation

LETTERS = "xyz"

# Source of each coordinate's offset: its index among the constants, or among the motions, of the relation.
Sources = tuple[tuple[str, int], ...]


def perpendicular_axes(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Return pairs (axis of frame i, axis of frame j) whose perpendicularity constrains the selected rotations.

    `flags` (3,) are true for the constrained rotations about x, y and z.
    """
    constrained = [axis for axis in range(3) if flags[axis]]
    if len(constrained) == 3:
        return [(Z, Y), (Z, X), (X, Y)]
    if len(constrained) == 2:
        free = ({X, Y, Z} - set(constrained)).pop()
        return [(free, axis) for axis in constrained]
    # The pair whose scalar product is the sine of that 1-2-3 angle times a nonzero cosine.
    return [{X: (Y, Z), Y: (X, Z), Z: (X, Y)}[axis] for axis in constrained]


@functools.lru_cache(256)
def relation_of(flags: tuple[bool, ...], sources: Sources | Callable[..., Any], alternative: bool) -> Function:
    """Return the constraint function of a generic joint: constrained coordinates minus offsets.

    `flags` (6,) are true for the constrained coordinates. `sources` defines the six offsets: for each coordinate the
    index of a constant or of a motion, or a function of time that returns all six. With `alternative`, the rows of
    three constrained rotations vanish only for equal frame axes, not for axes rotated by half a turn.
    """

    def rows(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        i, j = frames
        if callable(sources):
            offsets = list(on_jets(sources, t, list(numbers)))  # a copy, which the function may modify
            if len(offsets) != 6:
                raise ValueError(f"offset(t, parameters) returned {len(offsets)} entries instead of six")
        else:
            offsets = [numbers[k] if kind == "number" else motions[k] for kind, k in sources]
        d = i.rotation.T @ (j.position - i.position)
        translations = [d[axis] - offsets[axis] for axis in range(3) if flags[axis]]
        turned = i.rotation @ rotation_123(offsets[3:])
        if alternative:
            return [*translations, *half_turns(turned, j.rotation)]
        pairs = perpendicular_axes(flags[3:])
        return [*translations, *(turned[:, a] @ j.rotation[:, b] for a, b in pairs)]

    return rows


def half_turns(i: np.ndarray, j: np.ndarray) -> list[Jet]:
    """Return twice the vector part (3,) of the unit quaternion of the rotation from axes i to axes j, (3, 3) each.

    This vector is zero only for equal axes.
    """
    R = i.T @ j
    w = (1.0 + R[0, 0] + R[1, 1] + R[2, 2]).sqrt()  # 2 cos(angle / 2)
    return [(R[(k + 2) % 3, (k + 1) % 3] - R[(k + 1) % 3, (k + 2) % 3]) / w for k in range(3)]


class Generic(Joint):
    """A joint that constrains any of the six relative coordinates, to zero or to offsets; one row per flag.

    Translations are displacements of the origin of frame j along the axes of frame i; rotations are 1-2-3 angles.

    Parameters
    ----------
    point, axis : (3,)
        As for `Joint`; defaults: the center of mass of body j, and frames along the inertial axes.
    constrained : six flags
        Flags of the translations along x, y, z and of the rotations about x, y, z of frame i.
    offset : six numbers or Motions, or a function, optional
        Values of the constrained coordinates, m and rad. A function ``offset(t, parameters)`` returns six quantities;
        it is differentiated exactly, and must
        therefore use only + - * / ** and numpy's functions. An offset about a free axis has no effect unless two
        rotations are constrained.
    parameters : numbers, optional
        Parameters of the function.
    alternative : bool
        For three constrained rotations: rows that vanish only for equal frames, and not for frames rotated by 180
        degrees. The multipliers differ from the default, but the joint load is the same.
    drawing : Drawing, optional
        Appearance in graphics.

    Examples
    --------
    >>> block = quirk.Body.box("block", 1.0, [0.1, 0.1, 0.1])
    >>> guide = quirk.Generic("guide", quirk.GROUND, block, constrained=[0, 1, 1, 1, 1, 0])
    >>> quirk.System([block, guide]).mobility().degrees_of_freedom
    2
    """

    required = ()

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        constrained: ArrayLike = (1, 1, 1, 1, 1, 1),
        offset: str | Expression | Sequence[Any] | np.ndarray | Callable[..., Any] | None = None,
        parameters: ArrayLike = (),
        alternative: bool = False,
        drawing: Drawing | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, point=point, axis=axis, frame_i=frame_i, frame_j=frame_j, active=active)
        owner = str(self)
        flags = np.asarray(constrained, dtype=object).ravel().tolist()
        if len(flags) != 6 or any(flag not in (0, 1) for flag in flags):
            raise InputError(f"{owner}: constrained must be six flags, 0 or 1; got {constrained!r}")
        self.constrained = tuple(bool(flag) for flag in flags)
        if isinstance(offset, str | Expression):
            offset = function_of(owner, "offset", offset, ("t", "parameters"))
        self.offset, self.alternative = offset, validate.flag(owner, "alternative", alternative)
        if self.alternative and not all(self.constrained[3:]):
            raise InputError(f"{owner}: alternative rows are for three constrained rotations; got {constrained!r}")
        self.drawing = Drawing() if drawing is None else drawing
        if not isinstance(self.drawing, Drawing):
            raise InputError(f"{owner}: drawing must be a quirk.Drawing; got {drawing!r}")
        turns = [axis for axis in range(3) if not self.constrained[3 + axis]]
        slides = [axis for axis in range(3) if not self.constrained[axis]]
        turned = any(self.constrained[3 + axis] and not _is_zero(self.offset, 3 + axis) for axis in range(3))
        # With rotational offsets, the frames have no common axis. A rotation about z is then the third 1-2-3 angle; one
        # about x or y is none of these angles.
        self.rotation_axis = turns[0] if len(turns) == 1 and (turns[0] == Z or not turned) else None
        self.of_three = turned and self.rotation_axis is not None
        self.translation_axis = slides[0] if len(slides) == 1 else None
        # If only rotations about x and y are free, the joint is a universal joint, unless offsets rotate its axes.
        self.cross = not turned and self.constrained[5] and not self.constrained[4]
        if not self.alternative:
            self.aligned_axes = {0: (X, Y, Z), 1: tuple(turns)}.get(len(turns), ())
        self.primitives = self._primitives(owner, parameters)

    def _primitives(self, owner: str, parameters: Any) -> tuple[Primitive | Relation, ...]:
        translations = [axis for axis in range(3) if self.constrained[axis]]
        if self.offset is None and not self.alternative:
            along = (coincidence,) if len(translations) == 3 else tuple(dot2(axis) for axis in translations)
            return (*along, *(dot1(a, b) for a, b in perpendicular_axes(self.constrained[3:])))
        if not any(self.constrained):
            return ()
        turns = [LETTERS[axis] for axis in range(3) if self.constrained[3 + axis]]
        labels = (*(f"displacement {LETTERS[axis]}" for axis in translations), *(f"rotation {c}" for c in turns))
        units = (FORCE,) * len(translations) + (TORQUE,) * len(turns)
        numbers: tuple[float, ...]
        motions: tuple[Motion, ...] = ()
        sources: Sources | Callable[..., Any]
        if callable(self.offset):
            given = validate.numbers(parameters)
            if given is None or given.ndim != 1:
                raise InputError(f"{owner}: parameters must be a list of numbers; got {parameters!r}")
            sources, numbers = _checked(owner, self.offset, given.copy()), tuple(given)
        else:
            entries = [0.0] * 6 if self.offset is None else np.asarray(self.offset, dtype=object).ravel().tolist()
            entries = [as_motion(owner, "offset", x) if isinstance(x, str | Expression) else x for x in entries]
            motions = tuple(entry for entry in entries if isinstance(entry, Motion))
            fixed = validate.numbers([entry for entry in entries if not isinstance(entry, Motion)])
            if len(entries) != 6 or fixed is None or not np.isfinite(fixed).all():
                raise InputError(
                    f"{owner}: offset must have six entries, numbers or Motions, or be a function; got {self.offset!r}"
                )
            numbers = tuple(fixed)
            places = {"number": iter(range(6)), "motion": iter(range(6))}
            kinds = ["motion" if isinstance(entry, Motion) else "number" for entry in entries]
            sources = tuple((kind, next(places[kind])) for kind in kinds)
        function = relation_of(self.constrained, sources, self.alternative)
        return (
            Relation(function, labels, units, numbers, motions, source=self.offset if callable(self.offset) else None),
        )


def _is_zero(offset: Any, coordinate: int) -> bool:
    """Whether the offset of a coordinate, 0 to 5, is known to be zero at all times."""
    if offset is None:
        return True
    entries = () if callable(offset) else np.asarray(offset, dtype=object).ravel().tolist()
    entry = entries[coordinate] if coordinate < len(entries) else None
    return isinstance(entry, Number) and entry == 0


def _checked(owner: str, offset: Callable[..., Any], parameters: np.ndarray) -> Callable[..., Any]:
    """Check an offset function by a trial call at t = 0, and return it as a plain Python function.

    `parameters` are the user's parameters of the function.
    """
    function = getattr(offset, "py_func", offset)
    try:
        got = list(on_jets(function, Jet([0.0, 1.0, 0], []), parameters))
    except Exception as error:
        raise InputError(
            f"{owner}: its offset function, called as offset(t, parameters), failed at t = 0 s: "
            f"{type(error).__name__}: {error}"
        ) from error
    if len(got) != 6:
        raise InputError(f"{owner}: what its offset function returns must have six entries; got {len(got)}")
    return function
