"""Boxes on rough points, guided by a joint with friction: they hold as long as any loads within all limits do."""

import numpy as np
import pytest
from scipy.optimize import linprog
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Force, Friction, Motion, PointOnPlane, surface

G, MU_GUIDE, LATEST = 9.81, 0.3, 8.0
# Number of tangents of a friction cone, which the linear program replaces by a pyramid inside it.
SIDES = 400


def guided_box(seed):
    """A box on three rough points and a rough guide, pushed by a growing force; and data of its loads.

    The data are the places, axes (3, 3) with the normal first, and coefficients of contacts and guide; and the force
    and moment (6,) about the center at time zero, and their rates.
    """
    rng = np.random.default_rng(seed)
    box, supports, items = Body.box("box", 1.0, [0.2, 0.2, 0.2]), [], []
    for k, angle in enumerate((0.3, 2.5, 4.4)):
        point = 0.1 * np.array([np.cos(angle), np.sin(angle), -1.0])
        normal = np.array([*rng.uniform(-0.3, 0.3, 2), 1.0])
        normal /= np.linalg.norm(normal)
        mu = rng.uniform(0.4, 0.8)
        contact = Contact(f"c{k}", GROUND, box, on_i=surface.plane(point, normal=normal), on_j=surface.point(point))
        items += [contact, Friction(f"f{k}", contact, mu)]
        supports.append((point, normal, mu))
    place = rng.uniform(-0.1, 0.1, 3)
    guide = PointOnPlane("guide", GROUND, box, point=place, axis=[0, 1, 0])
    items += [guide, Friction("rub", guide, MU_GUIDE)]
    supports.append((place, np.array([0, 1.0, 0]), MU_GUIDE))
    way, at = rng.normal(size=3) * [1, 1, 0.3], rng.uniform(-0.1, 0.1, 3)
    items.append(Force("push", box, [Motion.polynomial([0, x]) for x in way], point=at))
    loads = np.array([0, 0, -G, 0, 0, 0]), np.concatenate([way, np.cross(at, way)])
    return quirk.System([box, *items], gravity=[0, 0, -G]), supports, loads


def holds_until(supports, loads):
    """Return the time at which no loads within the limits are left, from that on which follows zero without a gap.

    For each direction of the force of the guide this is a linear program for the first and the last time.
    """
    columns, limits = [], []
    for place, normal, mu in supports:
        one = np.linalg.svd(normal[None])[2][1:]
        columns += [np.concatenate([axis, np.cross(place, axis)]) for axis in (normal, *one)]
        limits.append(mu)
    A, spans = np.column_stack([*columns, loads[1]]), []
    for sign in (1, -1):
        rows = []
        for k, mu in enumerate(limits):
            along = sign if k == len(limits) - 1 else 1
            for turn in np.linspace(0, 2 * np.pi, SIDES, endpoint=False):
                row = np.zeros(A.shape[1])
                row[3 * k : 3 * k + 3] = -mu * along, np.cos(turn), np.sin(turn)
                rows.append(row)
        ends = []
        for goal in (1, -1):
            cost = np.zeros(A.shape[1])
            cost[-1] = goal
            bounds = [(None, None)] * (A.shape[1] - 1) + [(0, LATEST)]
            found = linprog(cost, np.array(rows), np.zeros(len(rows)), A, -loads[0], bounds)
            ends.append(found.x[-1] if found.status == 0 else None)
        if None not in ends:
            spans.append(ends)
    reached = 0.0
    for _ in spans:
        reached = max([reached, *(end for start, end in spans if start <= reached + 1e-9)])
    return reached if any(start == 0 for start, _ in spans) else None


@pytest.mark.parametrize("seeds", study([range(16), range(16, 80)], 1))
def test_guided_boxes_hold_as_long_as_any_loads_do(seeds):
    """Friction of the contacts across the guide counts, as its normal load, and so its friction, grows with it."""
    held = 0
    for seed in seeds:
        system, supports, loads = guided_box(seed)
        end = holds_until(supports, loads)
        print(seed, end)
        if end is None or end < 0.05:
            continue
        held += 1
        # The pyramids lie inside the cones by (pi / SIDES)^2 / 2, 3e-5 of the limits.
        result = quirk.simulate(system, min(0.999 * end, LATEST), output=end / 4)
        assert len(result.events) == 0
        assert np.abs(result["box"].velocity).max() < 1e-12
        if end < 0.99 * LATEST:
            moves = system.with_parts(quirk.Event("moves", "box.speed", level=1e-5, action="stop"))
            try:
                assert quirk.simulate(moves, 1.05 * end, output=end / 4).status == "stopped"
            except quirk.SimulationError as error:  # sliding may begin in a paradox
                assert error.time == pytest.approx(end, rel=1e-4)
    assert held >= len(seeds) // 4


@pytest.mark.parametrize("seed", [14, 35, 124, 126])
def test_contacts_that_begin_to_slide_more_slowly_than_others_go_on(seed):
    """All begin to slide together, some of them ten to a hundred times as fast as the others."""
    system, supports, loads = guided_box(seed)
    end = holds_until(supports, loads)
    result = quirk.simulate(system, 1.02 * end, output=end / 4)
    first, *others = result.events
    assert first.time == pytest.approx(end, rel=1e-4)
    assert len(others) <= 2
    assert np.abs(result.power.balance).max() < 1e-8
