"""Elastic ropes and belts with friction, declared as a `Pulley` with stiffness.

Stops are points and drums; spans are the straight parts between consecutive stops. At a stop with friction the tension
may differ on the two sides; the parts of the rope between stops with friction are its sections, see
`quirk.forces.elastic_rope`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..util import validate
from .pulley import Pulley
from .rope_layout import PARALLEL, RopeLayout
from .rope_path import RopePath

if TYPE_CHECKING:
    from ..forces.rope_sections import Sections


class ElasticPulley(Pulley):
    """An elastic rope or belt, with or without friction; it is a force element instead of a constraint row."""

    row_count = 0

    def __str__(self) -> str:
        return f'Pulley "{self.name}"'

    def _set_path(self, owner: str, layout: RopeLayout, elasticity: Mapping[str, Any]) -> None:
        from ..forces.elastic_rope import ElasticRope
        from ..forces.rope_sections import Sections

        if not self.active:
            raise InputError(
                f"{owner}: an elastic rope is a force, which acts from the start: leave out active=False, and disable "
                f'"{self.name} spans" by an event'
            )
        self.stiffness = validate.positive(owner, "stiffness", elasticity["stiffness"])
        self.friction = _checked_friction(owner, elasticity["friction"], layout, self.weights, self.path)
        sections = Sections.of(self.path, self.friction)
        self.damping = _checked_damping(owner, elasticity["damping"], sections)
        placed = layout.section_lengths(sections, self.path, self.weights)
        if elasticity["pretension"] is None:
            unstretched = placed * (self.length / placed.sum())
        elif elasticity["length"] is not None:
            raise InputError(f"{owner}: give either length, of the rope without load, or pretension, not both")
        else:
            tensions = _checked_pretension(owner, elasticity["pretension"], sections)
            _check_held(owner, tensions, self.friction, sections, layout)
            unstretched = placed / (1.0 + tensions / self.stiffness)
            self.length = float(unstretched.sum())
        self.companions = (
            ElasticRope(
                f"{self.name} spans", self.ends, self.path, layout.numbers, self.weights, self.stiffness, self.friction,
                unstretched.tolist(), self.damping,
            ),
        )  # fmt: skip


def _numbers_per(owner: str, argument: str, value: Any, count: int, item: str) -> np.ndarray:
    """Return an array (count,) of nonnegative numbers from `value`: a common number, or `count` numbers.

    `owner`, `argument` and `item` name the object, the argument and one entry in errors.
    """
    given = validate.numbers(value)
    if given is None or given.shape not in ((), (count,)):
        raise InputError(f"{owner}: {argument} must be a number or {count} numbers, one for each {item}; got {value!r}")
    found = np.broadcast_to(validate.array(owner, argument, value, given.shape), (count,))
    if (found < 0).any():
        raise InputError(f"{owner}: {argument} must not be negative; got {given.tolist()}")
    return found


def _checked_friction(owner: str, value: Any, layout: RopeLayout, weights: np.ndarray, path: RopePath) -> list[float]:
    """Return the checked friction coefficients (n,) at the n stops of a rope; they are zero at the ends.

    `value` is the user's argument. `layout` is the initial geometry, `weights` are the numbers of falls of the spans,
    and `path` is the order of the stops.
    """
    inner = list(path.inner)
    what = "stop" if path.closed else "stop between the ends"
    found = np.zeros(len(path.path))
    found[inner] = 0.0 if value is None else _numbers_per(owner, "friction", value, len(inner), what)
    for k in np.flatnonzero(found).tolist():
        if weights[k - 1] != 1 or weights[k] != 1:
            raise InputError(
                f"{owner}: weights next to points[{k}], which has friction, must be 1, since falls with friction "
                "between them have different tensions: list each point that the rope meets"
            )
        if not layout.angle(k) > PARALLEL:
            raise InputError(
                f"{owner}: the rope runs straight past points[{k}] at the initial poses, where friction has no "
                "direction: leave the point out, or use a quirk.Drum"
            )
    return found.tolist()


def _checked_damping(owner: str, value: Any, sections: Sections) -> float:
    """Return the checked damping of the rope, N s (force per strain rate); zero if `value` is None.

    `value` is the user's argument, and `sections` are the sections of the rope. An InputError is raised for damping of
    a rope with friction or winding drums.
    """
    found = validate.non_negative(owner, "damping", 0.0 if value is None else value)
    if found > 0 and sections.exchange:
        raise InputError(
            f"{owner}: damping is available for ropes without friction and without drums at their ends, since the "
            "strain rate of rope that passes over them is not known: leave out damping, friction or winding drums, or "
            "damp the bearings"
        )
    return found


def _checked_pretension(owner: str, value: Any, sections: Sections) -> np.ndarray:
    """Return the checked pretension (sections,), N, of each section of a rope at the initial poses."""
    given = _numbers_per(owner, "pretension", value, len(sections.of_span), "span")
    found = np.zeros(sections.count)
    found[list(sections.of_span)] = given
    if (given != found[list(sections.of_span)]).any():
        raise InputError(
            f"{owner}: pretension must be the same in spans without friction between them; got {given.tolist()}"
        )
    return found


def _check_held(
    owner: str, tensions: np.ndarray, friction: Sequence[float], sections: Sections, layout: RopeLayout
) -> None:
    """Raise an InputError if friction at a stop cannot balance the initial tensions on its two sides.

    `tensions` (sections,), N, are the initial tensions, `friction` holds the coefficient at each stop, and `layout` is
    the initial geometry.
    """
    for k, before, behind in zip(sections.stops, sections.before, sections.behind, strict=True):
        one, two, most = tensions[before], tensions[behind], np.exp(friction[k] * layout.angle(k))
        if max(one, two) > min(one, two) * most * (1 + 1e-9):
            raise InputError(
                f"{owner}: pretension before and behind points[{k}], {one:g} N and {two:g} N, must have a ratio of at "
                f"most exp(friction * angle) = {most:.6g}, which friction can hold"
            )
