"""Contacts of two surfaces."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from ..bodies.body import Body, Ground
from ..errors import InputError
from .bounded import PARTS
from .constraint import checked_ends
from .gap_functions import PAIRS, BorderOf, swapped, touched_by
from .relation import FORCE, Relation
from .surface import Surface
from .unilateral import Unilateral


class Contact(Unilateral):
    """A contact of two bodies that cannot interpenetrate; its load is the contact force on body j.

    Parameters
    ----------
    name : str
    body_i, body_j : Body or GROUND
    on_i, on_j : Surface
        The contacting surfaces in body coordinates, from functions of `quirk.surface`. Possible pairs are a `plane`
        with a `sphere`, `point` or `rim`; a `sphere` with a `sphere` or `point`; a `rectangle` or `disk` with a
        `sphere` on either side; and a `bowl` with a smaller `sphere` or a `point` inside it.
    restitution : float
        Coefficient of restitution, from 0 (default) to 1.
    rest_speed : float, optional
        Approach speed below which an impact brings the contact to rest, m/s.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1])
    >>> floor = quirk.Contact(
    ...     "floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1), restitution=0.5
    ... )
    >>> result = quirk.simulate(quirk.System([ball, floor], gravity=[0, 0, -9.81]), 0.5, output=0.1)
    >>> result.events.name
    ['floor']
    """

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        on_i: Surface,
        on_j: Surface,
        restitution: float = 0.0,
        rest_speed: float | None = None,
    ) -> None:
        owner = checked_ends("Contact", name, body_i, body_j)
        for argument, surface in (("on_i", on_i), ("on_j", on_j)):
            if not isinstance(surface, Surface):
                raise InputError(
                    f"{owner}: {argument} must be a surface, such as quirk.surface.sphere(0.1); got {surface!r}"
                )
        self.turned = (on_i.kind, on_j.kind) not in PAIRS
        first, second = (on_j, on_i) if self.turned else (on_i, on_j)
        pair = PAIRS.get((first.kind, second.kind))
        if pair is None:
            raise InputError(
                f"{owner}: a {on_i.kind} and a {on_j.kind} cannot touch each other here: {touched_by(on_i.kind)}, and "
                f"{touched_by(on_j.kind)}"
            )
        _check_sizes(owner, first, second)
        super().__init__(name, body_i, body_j, on_i.frame, on_j.frame, active=False)
        self.surfaces = on_i, on_j
        self._pair, self.parts = pair, pair.parts
        gap = swapped(pair.gap) if self.turned else pair.gap
        numbers = pair.numbers(first, second)
        self.gaps = (Relation(gap, ("gap",), (FORCE,), numbers, undefined=pair.undefined),)
        self._bounce(restitution, rest_speed)

    @cached_property
    def resting_gaps(self) -> tuple[Relation, ...]:
        """Gap functions for the closed contact: one for each part of a bounded surface, otherwise one."""
        (gap,) = self.gaps
        function = swapped(self._pair.at_rest) if self.turned else self._pair.at_rest
        if self.parts is None:
            return (replace(gap, function=function),)
        parts = range(len(self.parts.selectors))
        return tuple(replace(gap, function=function, numbers=self.numbers_of(part)) for part in parts)

    def numbers_of(self, part: int) -> tuple[float, ...]:
        """Return the constants of the gap function for the part of a bounded surface with index `part`."""
        numbers = self.gaps[0].numbers
        return numbers if self.parts is None else self.parts.numbers(numbers[: -len(self.parts.selectors[0])], part)

    def borders(self, part: int) -> tuple[Relation, ...]:
        """Return functions for the distances of the sphere's center from the borders of one part of a surface.

        The distances are in m, and negative beyond the border.
        """
        if self.parts is None:
            return ()
        kind = self.surfaces[int(self.turned)].kind
        functions: list[Any] = [BorderOf(kind, k) for k in range(self.parts.count)]
        return tuple(
            replace(self.gaps[0], function=swapped(one) if self.turned else one, numbers=self.numbers_of(part))
            for one in functions
        )


def _check_sizes(owner: str, first: Surface, second: Surface) -> None:
    """Raise an InputError if surfaces of these sizes cannot touch.

    `first` and `second` are the surfaces in the order of the pair in `gap_functions.PAIRS`.
    """
    if first.kind == "sphere" and first.radius + second.radius <= 0:
        raise InputError(f"{owner}: two points cannot touch each other: give one a radius")
    if first.kind == "bowl" and second.radius >= first.radius:
        raise InputError(
            f"{owner}: the radius of the sphere must be less than that of the bowl, {first.radius:g}; got "
            f"{second.radius:g}; a ball that fills its socket is a quirk.Spherical"
        )
    if first.kind in PARTS and second.radius <= 0:
        raise InputError(
            f"{owner}: a point cannot touch a {first.kind}, since it would pass its edge without touching it: use a "
            "small sphere, quirk.surface.sphere(radius, center), or an unbounded quirk.surface.plane"
        )
