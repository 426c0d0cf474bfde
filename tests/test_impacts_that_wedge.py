"""Impacts at several contacts where friction may wedge a body, or where constraints hold one of the contacts."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Friction, surface

G = 9.81


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mu", [0.1, 0.3, 0.5, 0.56, 0.9, 1.5])
def test_a_ball_falls_into_a_groove(mu, restitution):
    """Its faces push it up by N (sin b - mu cos b) each: it rebounds only if mu is less than tan b = 0.532."""
    b, ball = np.radians(28.0), Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.5])
    items = [ball]
    for name, side in (("left", 1.0), ("right", -1.0)):
        normal = np.array([side * np.cos(b), 0.0, np.sin(b)])
        face = surface.plane(-0.1 * normal, normal)
        contact = Contact(name, GROUND, ball, on_i=face, on_j=surface.sphere(0.1), restitution=restitution)
        items += [contact, Friction(f"{name} rubs", contact, mu)]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.4, output=0.4)
    impact, speed, rebounds = result.events[0], np.sqrt(G), restitution > 0 and mu < np.tan(b)
    kept = restitution if rebounds else 0.0
    assert impact.time == pytest.approx(np.sqrt(1.0 / G))
    assert impact.energy_after == pytest.approx(kept**2 * impact.energy_before, abs=1e-9)
    assert impact.restitution_kept == (1.0 if rebounds or restitution == 0.0 else 0.0)
    rest = 0.4 - impact.time
    assert result["ball"].position[-1] == pytest.approx([0, 0, kept * speed * rest - 0.5 * G * rest**2 * (kept > 0)])
    if rebounds:
        load = (1 + kept) * speed / 2 / (np.sin(b) - mu * np.cos(b))
        assert np.linalg.norm(impact.impulse["left"].force) == pytest.approx(load)


@pytest.mark.parametrize("joint", ["hinge", "ball"])
@pytest.mark.parametrize("seed", study(range(60), 4))
def test_a_bar_that_strikes_a_wall_nearly_across_it(joint, seed):
    """Within the angle of friction, the joint and the wall hold the tip, which cannot rebound."""
    rng = np.random.default_rng(seed)
    mu = float(rng.uniform(0.1, 1.2))
    tilt, e = rng.uniform(0.1, 0.9) * np.arctan(mu), float(rng.choice([0.3, 0.6, 1.0]))
    normal, spin = np.array([-np.cos(tilt), 0, np.sin(tilt)]), np.array([0, 1.0, 0.0])
    bar = Body("bar", 1.0, [0.01, 1 / 12, 1 / 12], position=[0.5, 0, 0], velocity=[0, 0, -0.5], angular_velocity=spin)
    if joint == "hinge":
        held = quirk.Revolute("joint", GROUND, bar, point=[0, 0, 0], axis="y")
    else:
        held = quirk.Spherical("joint", GROUND, bar, point=[0, 0, 0])
    wall = surface.plane([1, 0, 0], normal)
    tip = Contact("tip", GROUND, bar, on_i=wall, on_j=surface.point([0.5, 0, 0]), restitution=e)
    result = quirk.simulate(quirk.System([bar, held, tip, Friction("rubs", tip, mu)]), 1.0, output=1.0)
    impact = result.events[0]
    assert impact.restitution_kept == 0.0, seed
    assert np.abs(result["bar"].velocity[-1]).max() < 1e-9, seed
    across = np.linalg.norm(impact.impulse["rubs"].force)
    assert across <= mu * np.linalg.norm(impact.impulse["tip"].force) * (1 + 1e-9), seed


def check_laws(body, contacts, before, result, seed):
    """Assert the laws of Newton and Coulomb, and that no energy is gained, at the impact of a body at some planes.

    `contacts` are the normal (3,), point (3,), restitution and coefficient of friction of each; `before` the velocity
    (6,), inertial frame, of the body, whose axes are those of the inertial frame.
    """
    impact, after = result.events[0], np.append(result["body"].velocity[-1], result["body"].angular_velocity[-1])
    total, size = np.zeros(6), np.abs(before).max()
    for k, (normal, point, restitution, mu) in enumerate(contacts):
        rate = [normal @ (v[:3] + np.cross(v[3:], point)) for v in (before, after)]
        force = sum(impact.impulse[name].force for name in (f"contact {k}", f"friction {k}") if name in impact.impulse)
        force = force + np.zeros(3)
        total += np.append(force, np.cross(point, force))
        push = force @ normal
        across, slip = force - push * normal, after[:3] + np.cross(after[3:], point) - rate[1] * normal
        goal = -impact.restitution_kept * restitution * min(rate[0], 0.0)
        assert push > -1e-9, (seed, k)
        assert rate[1] > goal - 1e-7 * size, (seed, k)
        assert push < 1e-9 or abs(rate[1] - goal) < 1e-7 * size, (seed, k)
        assert np.linalg.norm(across) <= mu * push * (1 + 1e-6) + 1e-9, (seed, k)
        if np.linalg.norm(slip) > 1e-5 * size:
            direction = slip / np.linalg.norm(slip)
            assert across == pytest.approx(-mu * push * direction, abs=1e-4 * max(push, size)), (seed, k)
    inertia = np.append(3 * [body.mass], np.diag(body.inertia))
    assert inertia * (after - before) == pytest.approx(total, abs=1e-6 * max(size, np.abs(total).max())), seed
    assert inertia @ after**2 <= inertia @ before**2 * (1 + 1e-9), seed


@pytest.mark.parametrize("round_body", [True, False])
@pytest.mark.parametrize("seed", study(range(200), 12))
def test_impacts_at_several_planes_obey_the_laws(seed, round_body):
    rng = np.random.default_rng(seed)
    before = rng.normal(size=6) * [1.5, 1.5, 1.5, 3, 3, 3]
    body = Body(
        "body", rng.uniform(0.5, 3), rng.uniform(0.03, 0.05, 3), velocity=before[:3], angular_velocity=before[3:]
    )
    items, contacts = [body], []
    for k in range(int(rng.integers(1, 5))):
        normal = rng.normal(size=3)
        if k == 1 and rng.random() < 0.7:  # a groove
            normal = -contacts[0][0] + 0.5 * rng.uniform(0.1, 1.0) * rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        point = -0.2 * normal if round_body else 0.3 * rng.normal(size=3)
        if normal @ (before[:3] + np.cross(before[3:], point)) > 0 and k != 1:
            normal, point = -normal, -point if round_body else point
        on = surface.sphere(0.2) if round_body else surface.point(point)
        restitution, mu = float(rng.choice([0.0, 1.0, rng.uniform()])), float(rng.uniform(0.1, 1.5))
        plane = surface.plane(point, normal)
        contact = Contact(f"contact {k}", GROUND, body, on_i=plane, on_j=on, restitution=restitution)
        items += [contact, Friction(f"friction {k}", contact, mu)]
        contacts.append((normal, point, restitution, mu))
    check_laws(body, contacts, before, quirk.simulate(quirk.System(items), 1e-9), seed)


@pytest.mark.parametrize("held", ["weld", "distance", "drive"])
@pytest.mark.parametrize("seed", study(range(25), 3))
def test_a_closed_stop_that_constraints_hold_takes_no_part_in_impacts(seed, held):
    """Two bodies fall together; a stop of the joint between them is at its limit, but the joint cannot move."""

    def motion(stop):
        rng = np.random.default_rng(seed)
        orientation, velocity, axis = rng.normal(size=4), rng.uniform(-1, 1, 3), rng.normal(size=3)
        one = Body("one", 2.0, [0.3, 0.4, 0.5], position=[0, 0, 1], orientation=orientation, velocity=velocity)
        other = Body("other", 1.0, [0.3, 0.35, 0.4], position=[0.5, 0.2, 1.3], velocity=velocity)
        kind = quirk.Prismatic if seed % 2 else quirk.Revolute
        joint = kind("joint", one, other, point=[0.2, 0.3, 1.1], axis=axis)
        ends = {"point_i": rng.uniform(-1, 1, 3), "point_j": rng.uniform(-0.3, 0.3, 3)}
        hold = {
            "weld": lambda: quirk.Fixed("hold", one, other),
            "distance": lambda: quirk.Distance("hold", one, other, **ends),
            "drive": lambda: quirk.Drive("hold", joint, quirk.Motion.constant_rate(0.0)),
        }[held]()
        floor = Contact(
            "floor", GROUND, other, on_i=surface.plane([0, 0, 1]), on_j=surface.sphere(0.1), restitution=0.5
        )
        items = [one, other, joint, hold, floor, *([quirk.Stop("stop", joint, lower=0.0)] if stop else [])]
        result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.5, output=0.5)
        largest = max(np.abs(load.force).max() for event in result.events for load in event.impulse.values())
        return np.hstack([result["other"].position[-1], result["other"].velocity[-1]]), largest

    (alone, _), (stopped, largest) = motion(False), motion(True)
    assert stopped == pytest.approx(alone, abs=1e-9), seed
    assert largest < 1e3, seed
