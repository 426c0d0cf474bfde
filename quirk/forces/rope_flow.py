"""Tensions of an elastic rope, and the flow of unstretched rope over its stops.

Spans are the straight parts between consecutive stops (points and drums). At a stop with friction the tension may
differ on the two sides; the parts of the rope between stops with friction are its sections, each with one tension

    T = EA (l / L - 1) >= 0,

for its length l along the spans and arcs, and its unstretched length L. A rope without friction and winding drums may
also be damped: T = max(EA e + D e', 0) for a strain e = l / L - 1 > 0 with the rate e'. A section extends to the middle
of the arc on each drum with friction. Unstretched rope passes from section i, before a stop, to section o after it at
the flow m, m/s, and L changes by the flows at both its ends. With the speed v of the drum's surface relative to the
middle of the arc, positive along the rope,

* a rope that sticks enters the arc at the speed of the surface: m = v / (1 + T_i / EA) for v > 0, and
  v / (1 + T_o / EA) for v < 0. It creeps where it leaves the arc, as in Reynolds' theory of belts.
* a rope sticks while T_o <= exp(mu theta) T_i and T_i <= exp(mu theta) T_o (Euler and Eytelwein). At such a limit
  the rope slips: the ratio of the tensions remains at the limit, and the flows follow from the rate of this ratio.

See K. L. Johnson, Contact Mechanics, 1985, section 8.2, for creep with an arc of adhesion where a belt enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import where
from ..constraints.drum import wrap
from ..constraints.rope_path import RopeGeometry
from .place import Place
from .rope_geometry import bend, in_plane, surface_speed

if TYPE_CHECKING:
    from .elastic_rope import ElasticRope


@dataclass
class Strained:
    """Kinematics and tensions of a rope at an instant.

    Attributes
    ----------
    geometry : present geometry of the rope
    length : length l of each section, m
    unstretched : unstretched length L of each section, m
    strain : l / L - 1 of each section
    elastic : elastic tension of each section, N: EA times the strain, zero if slack
    tension : tension T of each section, N, including damping
    angle : wrapped angle of each stop with friction, rad
    """

    geometry: RopeGeometry
    length: list[Any]
    unstretched: list[Any]
    strain: list[Any]
    elastic: list[Any]
    tension: list[Any]
    angle: list[Any]


def strained(rope: ElasticRope, frames: Sequence[Place]) -> Strained:
    """Return the kinematics and tensions of a rope for its moving frames."""
    path, sections = rope.path, rope.sections
    geometry = path.measured(frames, rope.numbers_of_path)
    length: list[Any] = [geometry.straight[0].constant(0.0) for _ in range(sections.count)]
    for section, weight, straight in zip(sections.of_span, rope.weights, geometry.straight, strict=True):
        length[section] = length[section] + weight * straight
    angle = []
    for k in path.inner:
        sides = sections.of_span[k - 1], sections.of_span[k]
        if path.drums[k]:
            wrapped = wrap(in_plane(geometry.into[k]), in_plane(geometry.out[k]), geometry.near[k])
            for section in sides:
                length[section] = length[section] + 0.5 * geometry.radius[k] * wrapped
        elif k in sections.stops:
            wrapped = bend(geometry, k)
        if k in sections.stops:
            angle.append(wrapped.bare)
    unstretched = [getattr(rope, name) for name in sections.names]
    strain = [l.bare / L - 1.0 for l, L in zip(length, unstretched, strict=True)]
    elastic = [where(e > 0.0, rope.stiffness * e, e.constant(0.0)) for e in strain]
    tension = [_damped(rope, *of) for of in zip(length, unstretched, elastic, strict=True)] if rope.damps else elastic
    return Strained(geometry, length, unstretched, strain, elastic, tension, angle)


def _damped(rope: ElasticRope, length: Any, unstretched: Any, elastic: Any) -> Any:
    """Return the tension of a section including damping, N; it is never negative.

    `length` and `unstretched` are l and L, m; `elastic` is the tension without damping, N.
    """
    tension = elastic + rope.damping * length.bare.rate / unstretched
    slack = tension.constant(0.0)
    return where(elastic > 0.0, where(tension > 0.0, tension, slack), slack)


def pulls(rope: ElasticRope, now: Strained) -> list[tuple[int, Any]]:
    """Return the drums on which the rope exerts a tangential force, as pairs (index of the stop, force on the surface).

    They are the drums with friction and the winding drums at the ends. The force, N, is positive along the rope. `now`
    is the present state of the rope.
    """
    sides = zip(rope.sections.stops, rope.sections.before, rope.sections.behind, strict=True)
    forces = [(k, now.tension[o] - now.tension[i]) for k, i, o in sides if rope.path.drums[k]]
    first, last = rope.sections.winds
    forces += [(0, now.tension[0])] if first else []
    return forces + ([(len(rope.path.path) - 1, -now.tension[-1])] if last else [])


def sticking_flows(rope: ElasticRope, now: Strained) -> list[Any]:
    """Return the flow of unstretched rope over each stop with friction, m/s, if the rope sticks there.

    `now` is the present state of the rope.
    """
    sticking = []
    for k, i, o in zip(rope.sections.stops, rope.sections.before, rope.sections.behind, strict=True):
        if not rope.path.drums[k]:
            sticking.append(now.length[0].rate.constant(0.0))
            continue
        speed = surface_speed(now.geometry, k)
        sticking.append(speed / (1.0 + where(speed > 0.0, now.tension[i], now.tension[o]) / rope.stiffness))
    return sticking


def flows(rope: ElasticRope, now: Strained) -> list[Any]:
    """Return the flow of unstretched rope over each stop with friction, m/s.

    A rope that slips in the direction d = 1 or -1 satisfies e_o = R e_i, with the strains e before (i) and after (o)
    the stop and R = exp(d mu theta). A slack rope (d = 0) has equal strains. The time derivative of this equation is
    linear in the flows. A stabilization term lets integration errors of the ratio decay while the rope slips by its
    length. `now` is the present state of the rope.
    """
    sections, count = rope.sections, len(rope.sections.stops)
    stretch = [(1.0 + e) / L for e, L in zip(now.strain, now.unstretched, strict=True)]
    extension = [l.bare.rate / L for l, L in zip(now.length, now.unstretched, strict=True)]
    extension = _with_winding(rope, now, stretch, extension)
    sticking = sticking_flows(rope, now)
    matrix: list[list[Any]] = [[0] * count for _ in range(count)]
    right: list[Any] = []
    for b, (i, o) in enumerate(zip(sections.before, sections.behind, strict=True)):
        slips, direction = rope.slips[b], rope.directions[b]
        exponent = direction * rope.friction[b] * now.angle[b]
        ratio = np.exp(exponent)
        error = now.strain[o] - ratio * now.strain[i]
        decay = direction * error / (now.unstretched[i] + now.unstretched[o])
        slipping = extension[o] - ratio * extension[i] - ratio * exponent.rate * now.strain[i] - decay * sticking[b]
        right.append(slips * slipping + (1.0 - slips) * sticking[b])
        diagonal = stretch[o] + ratio * stretch[i] - decay
        matrix[b][b] = slips * diagonal + (1.0 - slips)
        for c in range(count):
            # A section gains what flows over the stop before it and loses what flows over the stop behind it.
            for section, factor in ((o, stretch[o]), (i, -ratio * stretch[i])):
                gains = (sections.behind[c] == section) - (sections.before[c] == section)
                if c != b and gains:
                    matrix[b][c] = matrix[b][c] + gains * slips * factor
    return _solved(matrix, right)


def _with_winding(rope: ElasticRope, now: Strained, stretch: Sequence[Any], extension: Sequence[Any]) -> list[Any]:
    """Return the strain rates of the sections, 1/s, with the effect of winding onto drums at the ends of the rope.

    `extension` holds the strain rates without winding, 1/s. `stretch` holds, for each section, the increase of strain
    per meter of unstretched rope that leaves it, 1/m.
    """
    total = list(extension)
    for end, (winds, sign) in enumerate(zip(rope.sections.winds, (-1.0, 1.0), strict=True)):
        if winds:
            speed = surface_speed(now.geometry, end * (len(rope.path.path) - 1))
            flow = speed / (1.0 + now.tension[-end] / rope.stiffness)
            total[-end] = total[-end] + sign * stretch[-end] * flow
    return total


def _solved(matrix: list[list[Any]], right: list[Any]) -> list[Any]:
    """Return the solution of linear equations by Gaussian elimination without pivoting.

    The matrix must be weakly diagonally dominant, with at least one strictly dominant row.
    """
    rows = [[*row, x] for row, x in zip(matrix, right, strict=True)]
    count = len(rows)
    for k in range(count):
        inverse = 1.0 / rows[k][k]
        for row in rows[k + 1 :]:
            if isinstance(row[k], int):
                continue
            factor = row[k] * inverse
            for c in range(k + 1, count + 1):
                if not isinstance(rows[k][c], int):
                    row[c] = row[c] - factor * rows[k][c]
    solution: list[Any] = [0] * count
    for k in reversed(range(count)):
        remainder = rows[k][count]
        for c in range(k + 1, count):
            if not isinstance(rows[k][c], int):
                remainder = remainder - rows[k][c] * solution[c]
        solution[k] = remainder / rows[k][k]
    return solution
