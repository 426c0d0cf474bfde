"""Events that happen and are over within a long step: all of them are found, whatever the quantity and the method."""

import numpy as np
import pytest
from studies import study

import quirk

G = 9.81
METHODS = ["Vern9", "Taylor", "Tsit5", "RadauIIA9", "Rodas5P", "RK45"]


def projectile(rng, scale):
    """A projectile of size `scale`, its time of least speed and its speed then."""
    level, rise = 10 ** rng.uniform(-3, -0.5), 1.0 + rng.random()
    speed = np.sqrt(9.81 * scale)
    ball = quirk.Body.sphere("ball", 1.0, 0.1 * scale, velocity=[level * speed, 0, rise * speed])
    return ball, rise * speed / 9.81, level * speed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by_name", study([True, False], 1))
def test_a_speed_that_passes_a_minimum(method, by_name):
    rng = np.random.default_rng(77)
    for scale in (1e-3, 1.0, 1e3):
        for _ in range(3):
            ball, top, least = projectile(rng, scale)
            level = 1.3 * least
            half = np.sqrt(level**2 - least**2) / 9.81
            quantity = "ball.speed" if by_name else lambda t, state: np.linalg.norm(state["ball"].velocity)
            slow = quirk.Event("slow", quantity, level=level)
            system = quirk.System([ball, slow], gravity=[0, 0, -9.81])
            result = quirk.simulate(system, 2.5 * top, method=method, output=[2.5 * top])
            assert result.events.time == pytest.approx([top - half, top + half], rel=1e-9), (scale, least)
            stop = quirk.Event("slow", quantity, level=level, direction=-1, action="stop")
            system = quirk.System([ball, stop], gravity=[0, 0, -9.81])
            result = quirk.simulate(system, 2.5 * top, method=method)
            assert result.time[-1] == pytest.approx(top - half, rel=1e-9), (scale, least)


@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_flies_past_the_end_of_a_spring(method):
    rng = np.random.default_rng(5)
    for _ in range(6):
        distance, start = 10 ** rng.uniform(-3, 0), -rng.uniform(5, 60)
        ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[start, distance, 0], velocity=[10.0, 0, 0])
        spring = quirk.Spring("spring", quirk.GROUND, ball, stiffness=1e-300, rest_length=1.0)
        near = quirk.Event("near", "spring.length", level=1.5 * distance)
        result = quirk.simulate(quirk.System([ball, spring, near]), 10.0, method=method, output=[10.0])
        half = distance * np.sqrt(1.25)
        assert result.events.time == pytest.approx([(-start - half) / 10, (-start + half) / 10], rel=1e-9), start


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", study(range(40), 3))
def test_a_body_that_gathers_speed_does_not_pass_another_unnoticed(method, seed):
    """Its steps are long, and its gap is negative for a short time only, with a sharp minimum."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        scale, radius = 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-3, -1)
        height, speed, off = (
            rng.uniform(0.3, 4.0),
            rng.uniform(-1.0, 3.0) * rng.choice([0.03, 1.0]),
            rng.uniform(0, 1.9),
        )
        ball = quirk.Body.sphere(
            "ball", 1.0, radius * scale, position=[off * radius * scale, 0, height * scale],
            velocity=[0, 0, speed * np.sqrt(9.81) * scale],
        )  # fmt: skip
        sphere = quirk.surface.sphere(radius * scale)
        contact = quirk.Contact("contact", quirk.GROUND, ball, on_i=sphere, on_j=sphere)
        system = quirk.System([ball, contact], gravity=[0, 0, -9.81 * scale])
        fall = height - np.sqrt(4.0 - off**2) * radius
        first = speed / np.sqrt(9.81) + np.sqrt(speed**2 / 9.81 + 2.0 * fall / 9.81)
        result = quirk.simulate(system, rng.uniform(1.1, 6.0) * first, method=method)
        assert result.events.time[:1] == pytest.approx([first], rel=1e-9), (seed, scale, radius, height, speed, off)


def passing(rng):
    """Positions, velocities, forces (2, 3) of two bodies of 1 kg, a duration, the level of their distance, and when it is reached.

    The square of their distance is a polynomial of degree four; the level is near one of its minima.
    """
    while True:
        position, velocity = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)) * 10 ** rng.uniform(-1, 1)
        force = rng.normal(size=(2, 3)) * 10 ** rng.uniform(-1, 0.7)
        duration = 10 ** rng.uniform(-0.3, 1)
        parts = zip(0.5 * np.diff(force, axis=0)[0], *np.diff([velocity, position], axis=1)[:, 0], strict=True)
        square = sum((np.poly1d(part) ** 2 for part in parts), np.poly1d([0.0]))
        turns = [z.real for z in square.deriv().roots if abs(z.imag) < 1e-9 and 0 < z.real < duration]
        minima = [t for t in turns if square.deriv(2)(t) > 0]
        if not minima:
            continue
        least, off = np.sqrt(square(minima[int(rng.integers(len(minima)))])), 10 ** rng.uniform(-6, 1)
        level = least * (1 + off if rng.random() >= 0.3 else 1 - 10 ** rng.uniform(-6, -0.5))
        roots = [z.real for z in (square - level**2).roots if abs(z.imag) < 1e-7 * max(1.0, abs(z))]
        return position, velocity, force, duration, level, sorted(t for t in roots if 0 < t < duration)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", study([132, *range(60)], 3))  # 132: a crossing with round-off of the user's function
def test_two_bodies_that_pass_each_other(method, seed):
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 2)
    position, velocity, force, duration, level, times = passing(rng)
    one, two = (
        quirk.Body.sphere(name, 1.0, 0.1 * scale, position=scale * r, velocity=scale * v)
        for name, r, v in zip(("one", "two"), position, velocity, strict=True)
    )
    items = [
        one,
        two,
        *(quirk.Force(f"push {body}", body, scale * f) for body, f in zip((one, two), force, strict=True)),
    ]
    items.append(quirk.Spring("spring", one, two, stiffness=1e-300, rest_length=1.0))
    quantities = [
        quirk.distance_between(one, two),
        lambda t, state: np.sqrt(np.sum((state["one"].position - state["two"].position) ** 2)),
        "spring.length",
    ]
    quantity = quantities[int(rng.integers(3))]
    action = (lambda t, state: None) if rng.random() < 0.5 else "record"
    items.append(quirk.Event("near", quantity, level=scale * level, action=action))
    result = quirk.simulate(quirk.System(items), duration, method=method)
    assert result.events.time == pytest.approx(times, abs=1e-6 * duration), seed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", study([1e-6, 1e-3], 1))
@pytest.mark.parametrize("rate", study([False, True], 1))
def test_a_function_faster_than_the_motion(method, rate, rtol):
    rng = np.random.default_rng(9)
    for n in (1, 2, 3):
        spin, phase = rng.uniform(5, 15), rng.uniform(-1, 1)

        def waves(t, state, n=n, phase=phase):
            value = np.sin(n * state["hinge"].rotation[2] - phase)
            return value * state["wheel"].angular_velocity[2] if rate else value

        wheel = quirk.Body("wheel", 1.0, [1, 1, 1], angular_velocity=[0, 0, spin])
        hinge = quirk.Revolute("hinge", quirk.GROUND, wheel, point=[0, 0, 0], axis="z")
        system = quirk.System([wheel, hinge, quirk.Event("waves", waves)])
        result = quirk.simulate(system, 3.0, method=method, rtol=rtol, output=[3.0])
        times = (np.arange(-1, 100) * np.pi + phase) / (n * spin)
        times = times[(times > 0) & (times < 3.0)]
        assert len(result.events) == len(times), (n, spin, phase)
        assert result.events.time == pytest.approx(times, rel=10 * rtol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("moving", [False, True])
def test_a_pulse_over_time_in_a_function_of_an_event(method, moving):
    """The steps of a body at rest, or in free flight, are longer than the pulse, which lasts for 4 ms."""
    for middle in np.linspace(0.05, 0.95, 10):
        ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[0, 0, 4.0 * moving])
        pulse = quirk.Event("pulse", lambda t, state, m=middle: np.exp(-(((t - m) / 0.0024) ** 2)), level=0.5)
        result = quirk.simulate(quirk.System([ball, pulse], gravity=[0, 0, -9.81 * moving]), 1.0, method=method)
        half = 0.0024 * np.sqrt(np.log(2.0))
        assert result.events.time == pytest.approx([middle - half, middle + half], abs=1e-9), middle


@pytest.mark.parametrize("method", ["Vern9", "RadauIIA9", "Tsit5"])
@pytest.mark.parametrize("width", [0.008, 0.06])
def test_a_floor_that_rises_for_a_moment(method, width):
    """The floor jolts a ball above it, and is down again before the step ends."""
    begin = 0.3

    def floor(t):
        return np.where((t > begin) & (t < begin + width), -0.4 - 0.6 * np.cos(2 * np.pi * (t - begin) / width), -1.0)

    for height in (-0.2, 0.0, 0.19):
        # The ball is at its highest point in the middle of the rise.
        top = begin + 0.5 * width
        ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, height - 0.5 * G * top**2], velocity=[0, 0, G * top])
        gap = quirk.OneSided("floor", ball, lambda t, b: b.position[2] - floor(t), restitution=0.8)
        result = quirk.simulate(quirk.System([ball, gap], gravity=[0, 0, -G]), 0.5, output=1e-3, method=method)
        first = next(t for t in np.linspace(begin, top, 20001) if height - 0.5 * G * (t - top) ** 2 <= floor(t))
        assert result.events.time[0] == pytest.approx(first, abs=1e-5), height
        assert (result["ball"].position[:, 2] - floor(result.time)).min() > -1e-9, height


def test_quantities_that_leave_zero_beside_another_that_crosses():
    """The sign of a quantity that starts at zero is noted in every step, also in those that are searched."""
    wheel = quirk.Body("wheel", 1.0, [1, 1, 1])
    hinge = quirk.Revolute("hinge", quirk.GROUND, wheel, point=[0, 0, 0], axis="z")
    load = quirk.Torque("load", wheel, lambda t, r, q, v, w: np.array([0.0, 0.0, np.cos(t)]))
    items = [wheel, hinge, load]
    back = quirk.Event("back", "wheel.angular_velocity.z")
    clock = [quirk.Event(f"at {t:.2f}", "time", level=t) for t in np.arange(0.05, 3.0, 0.05)]
    for events in ([back], [*clock, back], [back, *clock]):
        result = quirk.simulate(quirk.System([*items, *events]), 4.0, output=[4.0])
        assert [one.time for one in result.events if one.name == "back"] == pytest.approx([np.pi], rel=1e-8)


def rolled_back(seed, sticking):
    """A block that a constant force, or friction that sticks, brings to rest; an event watches its velocity."""
    rng = np.random.default_rng(seed)
    speed, effort = rng.uniform(0.3, 3.0), rng.uniform(0.5, 2.0)
    block = quirk.Body.sphere("block", 1.0, 0.1, velocity=[speed, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="x")
    parts = [block, rail, quirk.JointForce("push", rail, "0.1*sin(3*t)")]
    if sticking:
        return quirk.System([*parts, quirk.JointFriction("turn", rail, coulomb=effort, static=2.0, sticking=True)])
    return quirk.System([*parts, quirk.JointForce("brake", rail, -effort), quirk.Event("turn", "rail.travel_rate")])


@pytest.mark.parametrize("method", ["Vern9", "RK45", "RadauIIA9", "Taylor"])
@pytest.mark.parametrize("sticking", [False, True])
@pytest.mark.parametrize("seed", study(range(3), 1))
def test_an_event_at_the_end_of_a_run_is_not_lost_by_the_run_that_continues(seed, method, sticking):
    """The first run ends up to 20 units in the last place before or behind the event."""
    system, end, options = rolled_back(seed, sticking), 1.0, {"method": method, "rtol": 1e-10}
    while not len((whole := quirk.simulate(system, end, output=[end], **options)).events):
        end *= 2.0
    (time,) = whole.events.time
    for steps in (-20, -2, -1, 0, 1, 2, 20):
        between = float(time + steps * np.spacing(time))
        first = quirk.simulate(system, between, output=[between], **options)
        state = first.state_at()
        second = quirk.simulate(system, end - between, start=between, initial_state=state, output=[end], **options)
        assert [*first.events.name, *second.events.name] == ["turn"], steps
        np.testing.assert_allclose(second["block"].position[-1], whole["block"].position[-1], atol=1e-8)
