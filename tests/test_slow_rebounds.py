"""Bodies that rebound ever more slowly come to rest on thin surfaces, however long the steps are in between.

In free flight a step may be as long as the run. A slow rebound then ends within a tiny part of the step, and at the end
of the step the body would be far beyond the surface, where the gap is positive again.
"""

import numpy as np
import pytest

import quirk
from quirk import GROUND, surface

RADIUS = 0.05  # m


def surfaces(height):
    return {
        "rectangle": surface.rectangle([1, 1], center=[0, 0, height]),
        "disk": surface.disk(1.0, center=[0, 0, height]),
        "sphere": surface.sphere(0.3, [0, 0, height - 0.3]),
    }


def ball(name, z, speed=0.0, mass=1.0):
    return quirk.Body.sphere(name, mass, RADIUS, position=[0, 0, z], velocity=[0, 0, speed])


def rests(system, name, z, duration, **options):
    result = quirk.simulate(system, duration, output=[duration], **options)
    return abs(result[name].position[-1, 2] - z) < 1e-9 and abs(result[name].acceleration[-1, 2]) < 1e-9


@pytest.mark.parametrize("duration", [3.0, 8.0, 1000.0])
@pytest.mark.parametrize("restitution", [0.3, 0.6, 0.7, 0.9])
@pytest.mark.parametrize("kind", ["rectangle", "disk", "sphere"])
def test_a_ball_comes_to_rest(kind, restitution, duration):
    if restitution == 0.9 and duration == 3.0:
        duration = 5.0  # which the rebounds take
    for height, drop in ((0.0, 0.1), (0.1, 0.2), (0.7, 0.3)):
        body = ball("ball", height + RADIUS + drop)
        contact = quirk.Contact(
            "contact", GROUND, body, on_i=surfaces(height)[kind], on_j=surface.sphere(RADIUS), restitution=restitution
        )
        system = quirk.System([body, contact], gravity=[0, 0, -9.81])
        assert rests(system, "ball", height + RADIUS, duration), (height, drop)


@pytest.mark.parametrize("options", [{}, {"method": "Tsit5"}, {"method": "Taylor"}, {"method": "RadauIIA9"}])
def test_a_ball_comes_to_rest_on_another(options):
    """The upper ball often rises when the lower one comes to rest, where a new step begins."""
    rng = np.random.default_rng(21)
    for case in range(40 if not options else 8):
        first, second = rng.uniform(0.2, 0.8, 2)
        lower = ball("lower", RADIUS + rng.uniform(0.0, 0.3), mass=rng.uniform(0.3, 3.0))
        upper = ball("upper", lower.position[2] + 2 * RADIUS + rng.uniform(0.0, 0.3), mass=rng.uniform(0.3, 3.0))
        contacts = [
            quirk.Contact("floor", GROUND, lower, on_i=surface.plane(), on_j=surface.sphere(RADIUS), restitution=first),
            quirk.Contact(
                "pair", lower, upper, on_i=surface.sphere(RADIUS), on_j=surface.sphere(RADIUS), restitution=second
            ),
        ]  # fmt: skip
        system = quirk.System([lower, upper, *contacts], gravity=[0, 0, -9.81])
        assert rests(system, "upper", 3 * RADIUS, 12.0, **options), (case, first, second)


@pytest.mark.parametrize("duration", [3.0, 300.0])
@pytest.mark.parametrize("speed", [0.0, 1e-9, 1e-6, 1e-3, 0.1, 3.0])
def test_a_body_that_is_let_go_does_not_pass_a_surface(speed, duration):
    """A body is let go just above a surface, at rest or upward, after it has been held without any load."""
    for gap in (1e-12, 1e-9, 1e-6, 1e-3, 0.1):
        for kind in ("rectangle", "sphere"):
            body = ball("ball", RADIUS + gap)
            contact = quirk.Contact("contact", GROUND, body, on_i=surfaces(0.0)[kind], on_j=surface.sphere(RADIUS))
            hold = quirk.Force("hold", body, [0, 0, 9.81])
            kick = quirk.set_velocity("ball", velocity=[0, 0, speed])
            let_go = quirk.Event("let go", "time", level=1.0, action=[quirk.disable("hold"), kick])
            system = quirk.System([body, contact, hold, let_go], gravity=[0, 0, -9.81])
            assert rests(system, "ball", RADIUS, 1.0 + duration), (gap, kind)


@pytest.mark.parametrize("impacts", ["simultaneous", "sequential"])
def test_bodies_that_a_force_presses_against_a_stop_come_to_rest(impacts):
    """Without gravity; the force reaches the stop through the other body, which has no load of its own."""
    rng = np.random.default_rng(5)
    for case in range(12):
        restitutions, speeds, force = rng.uniform(0.1, 0.75, 2), -rng.uniform(0.2, 1.0, 2), rng.uniform(4.0, 12.0)
        blocks = [
            quirk.Body.sphere(f"block {k}", rng.uniform(0.5, 2.0), RADIUS, position=[x, 0, 0], velocity=[v, 0, 0])
            for k, (x, v) in enumerate(zip((0.1, 0.4), speeds, strict=True))
        ]
        rails = [quirk.Prismatic(f"rail {k}", GROUND, block, axis="x") for k, block in enumerate(blocks)]
        stop = quirk.Stop("stop", rails[0], lower=-0.1, restitution=restitutions[0])
        touch = surface.sphere(RADIUS)
        pair = quirk.Contact("pair", *blocks, on_i=touch, on_j=touch, restitution=restitutions[1])
        push = quirk.Force("push", blocks[1], [-force, 0, 0])
        result = quirk.simulate(quirk.System([*blocks, *rails, stop, pair, push]), 4.0, output=[4.0], impacts=impacts)
        message = f"case {case}"
        np.testing.assert_allclose(result["stop"].force()[-1, 0], force, rtol=1e-9, err_msg=message)
        np.testing.assert_allclose(result["block 1"].position[-1, 0], 2 * RADIUS, atol=1e-9, err_msg=message)


@pytest.mark.parametrize("method", ["auto", "RK45", "DOP853", "Taylor", "Rodas5P"])
def test_a_run_without_end_comes_to_rest(method):
    """Its steps do not grow without bound from rebound to rebound."""
    body = ball("ball", RADIUS + 1.0)
    plate = surface.rectangle([1, 1])
    contact = quirk.Contact("contact", GROUND, body, on_i=plate, on_j=surface.sphere(RADIUS), restitution=0.9)
    run = quirk.Run(quirk.System([body, contact], gravity=[0, 0, -9.81]), method=method)
    while run.time < 40.0:
        run.advance_to(40.0)
    np.testing.assert_allclose(run["ball"].position[2], RADIUS, atol=1e-9)


@pytest.mark.parametrize("kind", ["disk", "sphere", "event"])
@pytest.mark.parametrize("method", ["Taylor", "Vern9"])
def test_the_first_of_two_passages_is_found(method, kind):
    """A ball is thrown up against a thin plate just below its highest point, which it would pass again on its way down."""
    speed, g, radius = 10.0, 9.81, 0.001
    for below in (0.004, 0.02, 0.1):
        for duration in (1.1, 1.2, 1.7, 2.0, 3.1, 4.0):
            height = speed**2 / (2 * g) - below
            body = quirk.Body.sphere("ball", 1.0, radius, velocity=[0, 0, speed])
            shape, reach = surface.disk(1.0, center=[0, 0, height]), radius
            if kind == "sphere":
                shape, reach = surface.sphere(radius, [0, 0, height]), 2 * radius
            contact = quirk.Contact("hit", GROUND, body, on_i=shape, on_j=surface.sphere(radius), restitution=0.5)
            if kind == "event":
                distance = quirk.distance_between(GROUND, body, [0, 0, height], [0, 0, 0])
                contact = quirk.Event("hit", distance, level=2 * radius, direction=-1)
                reach = 2 * radius
            result = quirk.simulate(quirk.System([body, contact], gravity=[0, 0, -g]), duration, method=method)
            hit = (speed - np.sqrt(speed**2 - 2 * g * (height - reach))) / g
            np.testing.assert_allclose(result.events.time[0], hit, atol=1e-9, err_msg=f"{below}, {duration}")
