"""Pairs of MJCF geoms that can be in contact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from .description import Collider
from .left_out import LeftOut
from .mjcf_model import MjcfModel, pose
from .touching import GROUND_PLANE, Candidate

# Dimensions (condim) of contacts: without friction, and with friction in the tangent plane only; contacts of a higher
# dimension also resist spinning and rolling.
FRICTIONLESS, SLIDING = 1, 3


def candidates(model: MjcfModel, ground: bool, left_out: LeftOut) -> Iterator[Candidate]:
    """Yield pairs of geoms that can be in contact in MuJoCo, each with its coefficient of friction.

    If `ground` is true, pairs with a plane z = 0 are added. Friction without equivalent in QuIRK is recorded in
    `left_out`.
    """
    m = model.m
    if m.opt.disableflags & model.code("DisableBit", "CONTACT"):
        return
    geoms = [_collider(model, geom) for geom in range(m.ngeom)]
    named = {(min(a, b), max(a, b)) for a, b in zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True)}
    for k in range(m.npair):
        one, two, coefficients = int(m.pair_geom1[k]), int(m.pair_geom2[k]), m.pair_friction[k]
        slides = int(m.pair_dim[k]) >= SLIDING
        if slides and coefficients[0] != coefficients[1]:
            left_out.note("second coefficient of friction of contact pairs", _pair_name(model, one, two))
        yield geoms[one], geoms[two], _coefficient(model, one, two, int(m.pair_dim[k]), coefficients[0], left_out)
    excluded = set(m.exclude_signature.tolist())
    touching = np.flatnonzero(m.geom_contype | m.geom_conaffinity).tolist()
    for a, b in itertools.combinations(touching, 2):
        if (a, b) not in named and _may_touch(model, a, b, excluded):
            first = max(m.geom_priority[a], m.geom_priority[b])
            deciding = [geom for geom in (a, b) if m.geom_priority[geom] == first]
            dimension, coefficient = (
                max(of[geom] for geom in deciding) for of in (m.geom_condim, m.geom_friction[:, 0])
            )
            yield geoms[a], geoms[b], _coefficient(model, a, b, int(dimension), coefficient, left_out)
    for a in touching if ground else ():
        if m.body_weldid[m.geom_bodyid[a]]:
            yield GROUND_PLANE, geoms[a], float(m.geom_friction[a][0])


def _coefficient(model: MjcfModel, a: int, b: int, dimension: int, coefficient: float, left_out: LeftOut) -> float:
    """Return the coefficient of friction of the contact of geoms a and b; `dimension` is its number of components."""
    if dimension > SLIDING:
        left_out.note("friction of contacts against spinning and rolling", _pair_name(model, a, b))
    return float(coefficient) if dimension != FRICTIONLESS else 0.0


def _pair_name(model: MjcfModel, a: int, b: int) -> str:
    return f'"{model.name("GEOM", a)}" and "{model.name("GEOM", b)}"'


def _may_touch(model: MjcfModel, a: int, b: int, excluded: set[int]) -> bool:
    m = model.m
    if not (m.geom_contype[a] & m.geom_conaffinity[b] or m.geom_contype[b] & m.geom_conaffinity[a]):
        return False
    one, two = sorted((int(m.geom_bodyid[a]), int(m.geom_bodyid[b])))
    if (one << 16) + two in excluded or (two << 16) + one in excluded:
        return False
    first, second = (int(m.body_weldid[body]) for body in (one, two))
    parents = (int(m.body_weldid[m.body_parentid[body]]) for body in (first, second))
    above, below = parents
    if first == second:
        return False
    if m.opt.disableflags & model.code("DisableBit", "FILTERPARENT"):
        return True
    # A body has no contacts with its parent, unless this is the world.
    return not ((above == second and second) or (below == first and first))


def _collider(model: MjcfModel, geom: int) -> Collider:
    m = model.m
    body, size = int(m.geom_bodyid[geom]), m.geom_size[geom].tolist()
    kinds = {
        model.code("Geom", "PLANE"): ("plane", ()), model.code("Geom", "SPHERE"): ("sphere", (size[0],)),
        model.code("Geom", "CAPSULE"): ("capsule", (size[0], 2 * size[1])),
        model.code("Geom", "CYLINDER"): ("cylinder", (size[0], 2 * size[1])),
        model.code("Geom", "BOX"): ("box", tuple(2 * x for x in size)),
    }  # fmt: skip
    kind, sizes = kinds.get(int(m.geom_type[geom]), ("mesh", ()))
    link = model.name("BODY", body) if body else None
    place = pose(m.geom_pos[geom], m.geom_quat[geom])
    return Collider(model.name("GEOM", geom), link, kind, place, sizes, where=model.where("GEOM", geom))
