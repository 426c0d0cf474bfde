"""Proximity sensors: events for the distances between bodies of one or two groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

from ..bodies.body import Body, Ground
from ..errors import InputError
from ..util import validate
from ..util.misuse import explained
from .actions import ActionLike
from .event import Event
from .names import distance_between


@explained
def sensors(
    name: str,
    family: Sequence[Body | tuple[Body, Any]],
    others: Sequence[Body | tuple[Body, Any]] | None = None,
    *,
    radius: float,
    action: ActionLike = "record",
) -> list[Event]:
    """Return events for pairs of bodies; each event occurs when the distance of a pair falls below a radius.

    The events are items for a `System`.

    Parameters
    ----------
    name : str
        Prefix of the names of the events: "name: a - b".
    family : list of Body, or of pairs of Body and point (3,) in its coordinates
        Positions of the sensors; centers of mass unless points are given.
    others : list as for `family`, optional
        Bodies detected by the sensors; default: the bodies in `family`, where each pair has one event.
    radius : float
        Distance at which the event occurs, m.
    action : as for `Event`

    Examples
    --------
    >>> balls = [quirk.Body.sphere(name, 1.0, 0.1, position=[k, 0, 0]) for k, name in enumerate("abc")]
    >>> [event.name for event in quirk.sensors("near", balls, radius=0.5)]
    ['near: a - b', 'near: a - c', 'near: b - c']
    """
    validate.positive(f'sensors "{name}"', "radius", radius)
    one = [_placed(name, "family", each) for each in family]
    pairs = combinations(one, 2) if others is None else product(one, [_placed(name, "others", each) for each in others])
    return [
        Event(f"{name}: {a.name} - {b.name}", distance_between(a, b, p, q), level=radius, direction=-1, action=action)
        for (a, p), (b, q) in pairs
    ]


def _placed(name: str, argument: str, sensor: Any) -> tuple[Any, Any]:
    body, point = sensor if isinstance(sensor, tuple | list) and len(sensor) == 2 else (sensor, (0, 0, 0))
    if not isinstance(body, Body | Ground):
        raise InputError(f'sensors "{name}": {argument} must be bodies, or pairs of a body and a point; got {sensor!r}')
    return body, point
