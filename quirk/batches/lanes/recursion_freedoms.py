"""Elimination of the degrees of freedom of joints in SIMD lanes, one at a time.

The equations are those of runs of a single system (`quirk.dynamics.sparse.kernels.recursion_freedoms`), in inertial
axes. The data of a degree of freedom, DIRECTION to ALONE in `quirk.batches.lanes.links`, begin at offset f of the array
`links`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from quirk.dynamics.model.vectors import dot, load3, plus, store3, times
from quirk.dynamics.sparse.kernels.inertia import reduced, shift_momentum, turn_momentum
from quirk.jit.simd import load, store

from .links import ALONE, COMPLIANCE, DIRECTION, MOMENTUM


class ArticulatedBody(NamedTuple):
    """Articulated inertia (M, H, J) of a link about its joint point, and its bias load."""

    inertia: Any
    force: Any
    moment: Any


def eliminate(links: Any, f: Any, axis: Any, momentum: Any, along: Any, body: ArticulatedBody) -> ArticulatedBody:
    """Eliminate one degree of freedom, and return the articulated inertia and bias load without it.

    `axis` is the unit vector of its direction, `momentum` the linear and angular momentum of `body` due to unit
    velocity along it, followed by the inertia along it, and `along` the component of the bias load along it. These
    data, and the acceleration along it for a parent without acceleration, are stored in `links` from offset f on.
    """
    by_shift, by_turn, resistance = momentum
    compliance = 1.0 / resistance
    alone = -along * compliance
    store3(links, f + 8 * DIRECTION, axis)
    store3(links, f + 8 * MOMENTUM, by_shift)
    store3(links, f + 8 * (MOMENTUM + 3), by_turn)
    store(links, f + 8 * COMPLIANCE, compliance)
    store(links, f + 8 * ALONE, alone)
    force, moment = plus(body.force, times(by_shift, alone)), plus(body.moment, times(by_turn, alone))
    return ArticulatedBody(reduced(body.inertia, momentum, compliance), force, moment)


def eliminate_turn(links: Any, f: Any, axis: Any, body: ArticulatedBody) -> ArticulatedBody:
    """Eliminate the rotation about an axis, and return the articulated inertia and bias load of `body` without it.

    `axis` is the unit vector of the axis. The data of this degree of freedom are stored in `links` from offset f on.
    """
    return eliminate(links, f, axis, turn_momentum(body.inertia, axis), dot(axis, body.moment), body)


def eliminate_slide(links: Any, f: Any, axis: Any, body: ArticulatedBody) -> ArticulatedBody:
    """Eliminate the translation along an axis, and return the articulated inertia and bias load of `body` without it.

    `axis` is the unit vector of the axis. The data of this degree of freedom are stored in `links` from offset f on.
    """
    return eliminate(links, f, axis, shift_momentum(body.inertia, axis), dot(axis, body.force), body)


def eliminate_load(links: Any, f: Any, force: Any, moment: Any, along: Any) -> Any:
    """Return the force and moment that a joint transmits when one of its degrees of freedom is free to accelerate.

    `force` and `moment` are the load transmitted if this degree of freedom is locked, and `along` is the component of
    this load along it. The data of the degree of freedom begin at offset f of `links`; its acceleration, for a parent
    without acceleration, is stored there.
    """
    alone = -along * load(links, f + 8 * COMPLIANCE)
    store(links, f + 8 * ALONE, alone)
    force = plus(force, times(load3(links, f + 8 * MOMENTUM), alone))
    return force, plus(moment, times(load3(links, f + 8 * (MOMENTUM + 3)), alone))


def eliminate_rotation_load(links: Any, f: Any, force: Any, moment: Any) -> Any:
    """Return the force and moment that a joint transmits when a rotation is free to accelerate.

    `force` and `moment` are the load transmitted if the rotation is locked. The data of the rotation begin at offset f
    of `links`; its acceleration, for a parent without acceleration, is stored there.
    """
    return eliminate_load(links, f, force, moment, dot(load3(links, f + 8 * DIRECTION), moment))


def eliminate_translation_load(links: Any, f: Any, force: Any, moment: Any) -> Any:
    """Return the force and moment that a joint transmits when a translation is free to accelerate.

    `force` and `moment` are the load transmitted if the translation is locked. The data of the translation begin at
    offset f of `links`; its acceleration, for a parent without acceleration, is stored there.
    """
    return eliminate_load(links, f, force, moment, dot(load3(links, f + 8 * DIRECTION), force))


def motion_along(links: Any, f: Any, shift: Any, turn: Any) -> Any:
    """Return the acceleration along one degree of freedom, as a vector in its direction.

    `shift` and `turn` are the linear and angular acceleration of the body if the degree of freedom is locked. The data
    of the degree of freedom begin at offset f of `links`.
    """
    taken = dot(load3(links, f + 8 * MOMENTUM), shift) + dot(load3(links, f + 8 * (MOMENTUM + 3)), turn)
    rate = load(links, f + 8 * ALONE) - taken * load(links, f + 8 * COMPLIANCE)
    return times(load3(links, f + 8 * DIRECTION), rate)
