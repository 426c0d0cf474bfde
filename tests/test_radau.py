"""Stiff runs by collocation in compiled runs, and internal variables in implicit steps."""

import numpy as np
import pytest
from quirk.integrators import RadauIIA
from scipy.optimize import brentq
from test_internal import Motor, pid
from test_rosenbrock import driven, loop, sprung

import quirk
from benchmarks.references import build, load

FINE = {"rtol": 1e-13, "atol": 1e-15}
IMPLICIT = ("RadauIIA9", "Rodas5P")


def turning():
    """A wheel on a carriage that moves straight on, and a rod that spins about an axis of its own."""
    cart = quirk.Body("cart", 3.0, [0.3, 0.2, 0.25], velocity=[1.0, 0, 0])
    wheel = quirk.Body("wheel", 1.0, [0.1, 0.2, 0.1], position=[0, 0.3, 0], velocity=[1.0, 0, 0])
    axle = quirk.Revolute("axle", cart, wheel, point=[0, 0.3, 0], axis=[0, 1, 0])
    mount = quirk.Bushing(
        "mount", quirk.GROUND, cart, point=[0, 0, 0], stiffness=[9, 80, 70, 5, 6, 7], damping=[2.0] * 6
    )
    return quirk.System([cart, wheel, axle, mount, quirk.JointTorque("drive", axle, 2.0)], gravity=[0, 0, -9.81])


def motor():
    rod = quirk.Body("rod", 1.0, [0.1, 0.4, 0.4], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    voltage = quirk.Motion.sinusoid(3.0, 5.0)
    return quirk.System([rod, hinge, Motor("motor", hinge, voltage)], gravity=[0, 0, -9.81])


CASES = [(loop, 8), (driven, 3), (sprung, 3), (turning, 3), (pid, 1), (lambda: build(load("bricard")), 2)]


@pytest.mark.parametrize(("make", "steps"), CASES)
def test_order_is_nine(make, steps):
    """In axes that turn, with the exact Jacobian, and with loads that depend on time and on internal variables."""
    system = make()
    exact = quirk.simulate(system, 0.6, output=[0.6], **FINE).state_at(-1).pack()
    errors = []
    for n in (steps, 2 * steps):
        run = quirk.simulate(system, 0.6, method="RadauIIA9", step=0.6 / n, output=[0.6])
        errors.append(np.abs(run.state_at(-1).pack() - exact).max())
    assert errors[1] < max(errors[0] / 2**7.3, 1e-11), errors


@pytest.mark.parametrize("name", ["rolling_disk_steady", "slider_crank3d_driven", "gear_pair"])
def test_references(name):
    system = build(load(name))
    exact = quirk.simulate(system, 2.0, output=[2.0], rtol=1e-12, atol=1e-14)
    result = quirk.simulate(system, 2.0, method="RadauIIA9", output=0.1)
    assert np.abs(result.state_at(-1).pack() - exact.state_at(-1).pack()).max() < 1e-6
    assert result.residual.position.max() < 1e-12
    assert result.residual.velocity.max() < 1e-11


def test_states_between_steps_and_work_are_as_good():
    system, times = sprung(), np.linspace(0, 1, 57)
    exact = quirk.simulate(system, 1.0, output=times, **FINE)
    result = quirk.simulate(system, 1.0, method="RadauIIA9", rtol=1e-7, atol=1e-9, output=times)
    for name in ("a", "b"):
        np.testing.assert_allclose(result[name].position, exact[name].position, atol=1e-6)
    np.testing.assert_allclose(result.work["s"], exact.work["s"], atol=1e-5)
    assert result.statistics.steps < 60


@pytest.mark.parametrize("method", IMPLICIT)
@pytest.mark.parametrize("make", [pid, motor])
def test_internal_variables(method, make):
    system = make()
    exact = quirk.simulate(system, 1.0, output=[1.0], **FINE).state_at(-1)
    result = quirk.simulate(system, 1.0, method=method, rtol=1e-8, atol=1e-10, output=[1.0]).state_at(-1)
    np.testing.assert_allclose(result.pack(), exact.pack(), atol=1e-7)
    for name, numbers in exact.internal.items():
        np.testing.assert_allclose(result.internal[name], numbers, atol=1e-7)


@pytest.mark.parametrize("method", IMPLICIT)
def test_internal_variables_may_be_stiff(method):
    """A current that follows its voltage within 1e-7 s: the motor is a damper, as it is without inductance."""

    def swung(*held):
        rod = quirk.Body("rod", 1.0, [0.1, 0.4, 0.4], position=[0.5, 0, 0])
        hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        return quirk.System([rod, hinge, *(make(hinge) for make in held)], gravity=[0, 0, -9.81])

    off = quirk.Motion.polynomial([0.0])
    stiff = swung(lambda hinge: Motor("motor", hinge, off, L=1e-7))
    result = quirk.simulate(stiff, 1.0, method=method, rtol=1e-7, atol=1e-9, output=0.1)
    damped = swung(lambda hinge: quirk.TorsionSpring("brake", hinge, stiffness=0.0, damping=0.8**2 / 1.5))
    expected = quirk.simulate(damped, 1.0, output=0.1)
    assert result.statistics.steps < 300
    np.testing.assert_allclose(result["hinge"].rotation[:, 2], expected["hinge"].rotation[:, 2], atol=2e-6)


def test_steps_do_not_feel_what_is_damped():
    """Mounts of 1e12 N/m, without damping and with what decays within 1e-9 s, act as a joint does (L-stability)."""

    def swung(damping=None, stiffness=1e12):
        ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], position=[0.3, 0, 0])
        held = quirk.Bushing("m", quirk.GROUND, ball, point=[0, 0, 0], stiffness=[stiffness] * 3 + [0] * 3,
                             damping=[damping or 0.0] * 3 + [0] * 3)  # fmt: skip
        joint = held if damping is not None else quirk.Spherical("m", quirk.GROUND, ball, point=[0, 0, 0])
        system = quirk.System([ball, joint], gravity=[0, 0, -9.81])
        result = quirk.simulate(system, 2.0, method="RadauIIA9", rtol=1e-6, atol=1e-4, output=0.5)
        return result.statistics.steps, result["ball"].position

    steps, expected = swung()
    for damping in (0.0, 1e5, 1e9):
        # Round-off of positions is 1e-4 N of the mount's load: errors of single runs are a matter of chance.
        errors = []
        for stiffness in 1e12 * (1 + 1e-5 * np.arange(7)):
            taken, found = swung(damping, stiffness)
            assert taken < 60 * steps, (damping, stiffness, taken, steps)
            errors.append(np.abs(found - expected).max())
        assert np.median(errors) < 1e-4, (damping, errors)


def test_events_are_found_and_runs_go_on_behind_them():
    ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 1.0])
    low = quirk.Event("low", "ball.position.z", level=0.5, action="stop")
    system = quirk.System([ball, low], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 2.0, method="RadauIIA9", rtol=1e-8, atol=1e-10)
    assert abs(result.time[-1] - np.sqrt(1.0 / 9.81)) < 1e-10


def test_a_stop_and_a_start_change_nothing(tmp_path):
    """A run with a checkpoint is the same as one without."""
    options = {"method": "RadauIIA9", "rtol": 1e-6, "atol": 1e-8, "output": 0.05}
    plain = quirk.simulate(sprung(), 1.0, **options)
    written = quirk.simulate(sprung(), 1.0, checkpoint=tmp_path / "run", **options)
    again = quirk.simulate(sprung(), 1.0, checkpoint=tmp_path / "run", **options)
    for one in (written, again):
        np.testing.assert_array_equal(one["a"].position, plain["a"].position)


def test_scipy_gets_the_exact_jacobian_and_no_work_to_converge():
    """A minute of a body that is damped within 1e-5 s: 39 679 steps without."""
    ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1])
    spring = quirk.Spring("s", quirk.GROUND, ball, point_i=[0, 0, 1.0], stiffness=1e7, damping=1e5)
    system = quirk.System([ball, spring], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 60.0, method="Radau", output=[60.0])
    assert result.statistics.steps < 400
    assert abs(result["ball"].position[-1, 2] + 9.81e-7) < 1e-12


@pytest.mark.parametrize("method", IMPLICIT)
def test_laws_that_have_no_derivatives_at_rest(method):
    """Drag by a norm of the velocity, which falls, hangs on a stiff spring, or stays at rest; a root of the time."""
    falling, hung, resting, pushed = (
        quirk.Body(name, 1.0, [0.1] * 3, position=[k, 0, -1.0])
        for k, name in enumerate(("one", "two", "three", "four"))
    )
    drag = quirk.ForceField("drag", [falling, hung, resting], force=lambda t, r, q, v, w: -0.3 * np.linalg.norm(v) * v)
    spring = quirk.Spring("spring", quirk.GROUND, hung, [1, 0, 0], stiffness=1e6, damping=1e4)
    push = quirk.Force("push", pushed, lambda t, r, q, v, w: np.array([np.sqrt(t), 0.0, 0.0]))
    weight = quirk.UniformField("weight", [falling, hung], acceleration=[0, 0, -9.81])
    system = quirk.System([falling, hung, resting, pushed, drag, spring, push, weight])
    result = quirk.simulate(system, 1.0, method=method, rtol=1e-8, atol=1e-10, output=[1.0])
    last = np.sqrt(9.81 / 0.3)
    assert abs(result["one"].velocity[-1, 2] + last * np.tanh(9.81 / last)) < 1e-7
    assert abs(result["two"].position[-1, 2] + 1.0 + 9.81e-6) < 1e-9
    assert not result["three"].velocity.any()
    assert abs(result["four"].velocity[-1, 0] - 2 / 3) < 1e-7
    assert result.statistics.steps < 400


def test_coefficients():
    """Those of RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8)."""
    method, root = RadauIIA("three points", 3), np.sqrt(6)
    np.testing.assert_allclose(method.nodes, [(4 - root) / 10, (4 + root) / 10, 1], rtol=1e-14)
    np.testing.assert_allclose(method.a[2], [(16 - root) / 36, (16 + root) / 36, 1 / 9], rtol=1e-13)
    e = [-(13 + 7 * root) / 3, (-13 + 7 * root) / 3, -1 / 3]
    np.testing.assert_allclose(method.e / method.inverse[0], e, rtol=1e-12)
    with pytest.raises(ValueError, match="number of points must be odd; got 4"):
        RadauIIA("four points", 4)


def parallelogram(angle, rate):
    """Cranks of 1 m, 2 m apart, with a coupler, at an angle from the line on which all lie flat, in gravity."""
    c, s = np.cos(angle), np.sin(angle)
    tip, other = np.array([c, 0, s]), np.array([2.0, 0, 0])
    velocity, turned = rate * np.array([s, 0, -c]), [np.cos(angle / 2), 0, -np.sin(angle / 2), 0]
    cranks = [
        quirk.Body(name, 1.0, [0.002, 0.08, 0.08], position=foot + tip / 2, orientation=turned, velocity=velocity / 2,
                   angular_velocity=[0, rate, 0])
        for name, foot in (("a", 0 * other), ("b", other))
    ]  # fmt: skip
    coupler = quirk.Body("c", 1.0, [0.008, 0.32, 0.32], position=tip + other / 2, velocity=velocity)
    a, b = cranks
    ends = [(quirk.GROUND, a, 0 * tip), (a, coupler, tip), (coupler, b, other + tip), (b, quirk.GROUND, other)]
    pins = [quirk.Revolute(f"p{k}", i, j, point=at, axis=[0, 1, 0]) for k, (i, j, at) in enumerate(ends)]
    return quirk.System([a, b, coupler, *pins], gravity=[0, 0, -9.81])


@pytest.mark.parametrize(("angle", "rate"), [(0.0, -3.0), (0.05, 0.0), (0.9, 4.0), (2.2, -8.0), (1.0, 9.0)])
def test_singular_configurations_are_passed(angle, rate):
    """At the start or on the way, up to ten times; collocation alone is wrong by 1e-3 m or ends there."""
    times = np.linspace(0, 4, 21)
    exact = quirk.simulate(parallelogram(angle, rate), 4.0, output=times, rtol=1e-10, atol=1e-12)
    for rtol in (1e-4, 1e-5, 1e-6, 1e-7):
        options = {"rtol": rtol, "atol": rtol / 100, "output": times}
        result = quirk.simulate(parallelogram(angle, rate), 4.0, method="RadauIIA9", **options)
        miss = max(np.abs(result[name].position - exact[name].position).max() for name in "abc")
        print(rtol, miss, result.statistics)
        assert miss < 20 * rtol


GAP, STIFFNESS, PUSH, SPEED = 0.1, 1e4, 0.5, 1.0


def between_springs(damping):
    """A mass that flies to and fro between two one-sided springs, pushed to one side and damped."""
    mass = quirk.Body("mass", 1.0, [0.1] * 3, velocity=[SPEED, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, mass, axis=[1, 0, 0])
    springs = [
        quirk.Spring(f"spring {s}", quirk.GROUND, mass, [3.0 * s, 0, 0], [0, 0, 0], stiffness=STIFFNESS,
                     rest_length=3.0 - GAP, one_sided="compression")
        for s in (-1, 1)
    ]  # fmt: skip
    pushed = quirk.Force("push", mass, lambda t, r, q, v, w: [PUSH - damping * v[0], 0, 0])
    return quirk.System([mass, rail, *springs, pushed])


def flown(damping, span):
    """Place and speed of it in closed form, from one change of the springs to the next."""
    t, x, v, side, decay = 0.0, 0.0, SPEED, 0, damping / 2
    while True:

        def after(h, x=x, v=v, side=side):
            if side:
                rest, omega = side * GAP + PUSH / STIFFNESS, np.sqrt(STIFFNESS - decay**2)
                a, b = x - rest, (v + decay * (x - rest)) / omega
                c, s, e = np.cos(omega * h), np.sin(omega * h), np.exp(-decay * h)
                return rest + e * (a * c + b * s), e * (omega * (b * c - a * s) - decay * (a * c + b * s))
            if damping == 0.0:
                return x + v * h + PUSH * h**2 / 2, v + PUSH * h
            last = PUSH / damping
            return x + last * h + (v - last) * -np.expm1(-damping * h) / damping, last + (v - last) * np.exp(
                -damping * h
            )

        times = np.linspace(1e-6, span, 60000)
        levels = [side * GAP] if side else [GAP, -GAP]
        found = []
        for level in levels:
            beyond = after(times)[0] > level
            k = int(np.argmax(beyond != beyond[0]))
            if k:
                crossing = brentq(lambda h, level=level: after(h)[0] - level, times[k - 1], times[k], xtol=1e-17)
                found.append((crossing, level))
        h, level = min(found, default=(np.inf, 0.0))
        if t + h >= span:
            return np.array(after(span - t))
        t, x, v, side = t + h, level, after(h)[1], 0 if side else int(np.sign(level))


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize(("rtol", "allowed", "steps"), [(1e-6, 5e-4, 800), (1e-9, 5e-8, 1400), (1e-11, 2e-9, 1900)])
def test_kinks_of_loads_cost_no_digits(damping, rtol, allowed, steps):
    """Some fifty of them, each of which makes the errors before it larger."""
    run = quirk.simulate(between_springs(damping), 3.0, output=[3.0], method="RadauIIA9", rtol=rtol, atol=0.01 * rtol)
    found = run["mass"].position[-1, 0], run["mass"].velocity[-1, 0]
    np.testing.assert_allclose(found, flown(damping, 3.0), atol=allowed, rtol=0)
    assert run.statistics.steps < steps


def test_fixed_steps_that_are_too_long_say_so():
    """A body that spins thirty times in a step: iterations do not converge, which has nothing to do with constraints."""
    body = quirk.Body("body", 1.0, [0.2, 0.3, 0.4], angular_velocity=[90.0, 40, 30])
    spring = quirk.Spring("spring", quirk.GROUND, body, point_i=[1.0, 0, 0], point_j=[0, 0, 0.5], stiffness=1e5)
    with pytest.raises(
        quirk.SimulationError, match="do not converge, or it is off the constraints, in the step of 2 s"
    ):
        quirk.simulate(quirk.System([body, spring]), 4.0, method="RadauIIA9", step=2.0)


@pytest.mark.parametrize(("rtol", "allowed"), [(1e-6, 5e-4), (1e-9, 5e-6), (1e-12, 2e-9)])
def test_kinks_of_friction_whose_load_passes_through_zero_cost_no_digits(rtol, allowed):
    """A block slides on a rail under a lateral force F cos wt: the friction is mu F |cos wt|."""
    mass, force, rate, mu, end = 1.0, 20.0, 7.0, 0.3, 3.0
    block = quirk.Body.box("block", mass, [0.1, 0.1, 0.1], velocity=[20.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="x")
    load = quirk.Force("load", block, [1.0, quirk.Motion.sinusoid(force, rate, phase=np.pi / 2), 0])
    system = quirk.System([block, rail, load, quirk.Friction("rub", rail, mu)])
    result = quirk.simulate(system, end, output=end, method="RadauIIA9", rtol=rtol, atol=1e-3 * rtol)
    half_turns = np.floor(rate * end / np.pi + 0.5)
    integral = (2 * half_turns + np.sin(rate * end - np.pi * half_turns)) / rate
    velocity = 20.0 + (end - mu * force * integral) / mass
    assert result["block"].velocity[-1, 0] == pytest.approx(velocity, abs=allowed)


@pytest.mark.parametrize("rate", [0.0, -5.0])
def test_a_body_that_begins_to_turn_has_the_right_angle(rate):
    """Newton's method corrects norms and directions of quaternions in turn: corrections of norms alone count, too."""
    wheel = quirk.Body("wheel", 1.0, [0.05] * 3, angular_velocity=[0, 0, rate])
    system = quirk.System([wheel, quirk.Torque("torque", wheel, [0, 0, 5.0])])
    errors = []
    for step in (0.1, 0.05):
        result = quirk.simulate(system, 0.1, output=[0.1], method="RadauIIA9", step=step)
        q = result["wheel"].orientation[-1]
        errors.append(abs(2 * np.arctan2(q[3], q[0]) - (0.1 * rate + 0.5 * 100.0 * 0.1**2)))
    assert errors[0] < 1e-8
    assert errors[1] < 1e-10


@pytest.mark.parametrize("seed", [2, 6, 33, 36])
def test_angles_are_right_where_slow_slip_beside_lets_the_method_change(seed):
    u = np.random.default_rng(seed).uniform
    size, w, p, rate, mu, v, f = u(20, 200), u(2, 7), u(0, 6), u(-20, 20), u(0.3, 1), u(0.1, 0.5), u(0, 0.3)
    puck = quirk.Body.box("puck", 1.0, [0.1] * 3, position=[5, 0, 0], velocity=[v, 0, 0])
    table = quirk.Planar("table", quirk.GROUND, puck, point=[5, 0, 0], normal=[0, 0, 1])
    wheel = quirk.Body("wheel", 1.0, [0.05] * 3, angular_velocity=[0, 0, rate])
    hinge = quirk.Revolute("hinge", quirk.GROUND, wheel, point=[0, 0, 0], axis="z")
    items = [
        puck,
        wheel,
        table,
        hinge,
        quirk.Friction("rub", table, mu),
        quirk.Force("push", puck, [quirk.Motion.sinusoid(f, 3.0, 0.0, mu * 9.81), 0, 0]),
        quirk.Torque("torque", wheel, [0, 0, quirk.Motion.sinusoid(size * 0.05, w, p)]),
    ]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -9.81]), 2.0, output=[2.0])
    assert any(name == "RadauIIA9" for _, name in result.statistics.methods)
    t = 2.0
    angle = rate * t - size / w**2 * (np.sin(w * t + p) - np.sin(p) - w * t * np.cos(p))
    assert result["hinge"].angle[-1] == pytest.approx(angle, abs=2e-8)
