"""Dry friction in ball joints: a torque against the relative angular velocity, with sticking, against closed forms."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk import GROUND, Body, Motion, rotation

FINE = {"rtol": 1e-11, "atol": 1e-13}
G = np.array([0, 0, -9.81])
AXIS = np.array([0.48, 0.6, 0.64])


def rotor(J, **given):
    body = Body("body", 1.0, np.broadcast_to(J, 3), **given)
    return body, quirk.Spherical("ball", GROUND, body, point=[0, 0, 0])


def pendulum(u=1.0):
    body = Body("body", 1.0, np.array([0.3, 0.4, 0.2]) * u * u, position=np.array([0.3, 0.1, -0.5]) * u)
    return body, quirk.Spherical("ball", GROUND, body, point=[0, 0, 0], axis=[0.6, 0, 0.8])


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
def test_it_stops_a_spinning_body_and_holds_it(u):
    """omega = omega0 - tau / I t, about a principal axis that is not one of the frames."""
    J, tau, omega = 0.4 * u * u, 0.5 * u * u, 3.0
    q = rotation.exp(np.array([0.3, -0.2, 0.5]))
    spin = rotation.matrix(q)[:, 2]
    body, ball = rotor(np.array([0.3, 0.25, 0.4]) * u * u, orientation=q, angular_velocity=[0, 0, omega])
    brake = quirk.JointFriction("brake", ball, coulomb=tau, sticking=True)
    times = [0.5, 1.0, 2.0, 3.0, 1000.0]
    result = quirk.simulate(quirk.System([body, ball, brake]), 1000.0, output=times, **FINE)
    stop = omega * J / tau
    np.testing.assert_allclose(result.events.of("brake").time, [stop], rtol=1e-10)
    t = np.minimum(result.time, stop)
    np.testing.assert_allclose(result["body"].angular_velocity[:, 2], omega - tau / J * t, atol=1e-10)
    turned = rotation.exp(spin * (omega * stop - 0.5 * tau / J * stop**2))
    want = rotation.multiply(turned, q)
    last = result["body"].orientation[-1]
    assert 1 - abs(want @ last) < 1e-12
    assert np.abs(result["body"].orientation[result.time > stop] - last).max() < 1e-13
    rows = result.time < stop * (1 - 1e-5)
    np.testing.assert_allclose(result["brake"].torque()[rows], np.tile(-tau * spin, (rows.sum(), 1)), atol=1e-9 * tau)
    away = np.abs(result.time - stop) > 1e-5 * stop
    np.testing.assert_array_equal(result["brake"].sticking[away], result.time[away] > stop)
    assert np.abs(result.power.balance).max() < 1e-10 * tau


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
def test_it_holds_a_weight_for_a_long_time(u):
    body, ball = pendulum(u)
    weight = np.cross(body.position, G * u)
    brake = quirk.JointFriction("brake", ball, coulomb=1.01 * np.linalg.norm(weight), sticking=True)
    result = quirk.simulate(quirk.System([body, ball, brake], gravity=G * u), 1000.0, output=[1000.0])
    assert len(result.events) == 0 and result["brake"].sticking.all()
    assert np.abs(result["body"].position - body.position).max() < 1e-13 * u
    np.testing.assert_allclose(result["brake"].torque()[-1], -weight, rtol=1e-10, atol=1e-12 * np.linalg.norm(weight))
    about = [result["brake"].along(f"rate_{axis}")[-1] for axis in "xyz"]
    np.testing.assert_allclose(about, ball.frame_i.matrix.T @ -weight, rtol=1e-9, atol=1e-12 * np.linalg.norm(weight))


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
def test_it_breaks_away_where_the_torque_reaches_the_static_limit(u):
    """J w' = r t - coulomb about a skew axis, from t0 = static / r on."""
    J, r, coulomb, static = 2.0 * u * u, 0.5 * u * u, 4.0 * u * u, 5.0 * u * u
    body, ball = rotor(J)
    brake = quirk.JointFriction("brake", ball, coulomb=coulomb, static=static, sticking=True)
    load = quirk.Torque("load", body, [Motion.polynomial([0, r * x]) for x in AXIS], frame="inertial")
    result = quirk.simulate(quirk.System([body, ball, brake, load]), 13.0, output=1.0, **FINE)
    np.testing.assert_allclose(result.events.of("brake").time, [static / r], rtol=1e-9)
    s = np.maximum(result.time - static / r, 0.0)
    rate = ((static - coulomb) * s + 0.5 * r * s**2) / J
    np.testing.assert_allclose(result["body"].angular_velocity, np.outer(rate, AXIS), atol=1e-8)
    away = np.abs(s - 0.0) + np.abs(result.time - static / r) > 1e-3
    held = np.where(result.time < static / r, r * result.time, coulomb)
    np.testing.assert_allclose(result["brake"].torque()[away], np.outer(-held, AXIS)[away], atol=1e-9 * static)
    assert np.abs(result.power.balance).max() < 1e-9 * static


def test_the_pull_that_breaks_it_away_adds_to_the_weight():
    """A pendulum at rest slides where the sum of the moments of its weight and of a growing torque is static."""
    body, ball = pendulum()
    weight, way = np.cross(body.position, G), np.array([0.3, -0.9, 0.5])
    static = 2.5 * np.linalg.norm(weight)
    brake = quirk.JointFriction("brake", ball, coulomb=static, sticking=True)
    load = quirk.Torque("load", body, [Motion.polynomial([0, x]) for x in way], frame="inertial")
    result = quirk.simulate(quirk.System([body, ball, brake, load], gravity=G), 20.0, output=0.5, **FINE)
    t = result.events.time[0]
    assert np.linalg.norm(weight + t * way) == pytest.approx(static, rel=1e-10)
    # The sliding begins in the direction of the torque.
    soon = result.at([t + 1e-6])["brake"].torque()[0]
    np.testing.assert_allclose(soon / static, -(weight + t * way) / static, atol=1e-5)


@pytest.mark.parametrize("viscous", [0.0, 0.3])
def test_slip_that_turns_all_round_is_that_of_its_differential_equation(viscous):
    """J w' = T(t) - viscous w - (coulomb + (static - coulomb) exp(-(|w| / vs)^2)) w / |w|, with T turning."""
    J, coulomb, static, stribeck, turn, size = 2.0, 0.5, 0.9, 0.7, 1.3, 1.6
    body, ball = rotor(J, angular_velocity=[0.0, 1.5, 0.4])
    brake = quirk.JointFriction(
        "brake", ball, viscous=viscous, coulomb=coulomb, static=static, stribeck=stribeck, sticking=True
    )
    components = [Motion.sinusoid(size, turn, phase) for phase in (0.0, np.pi / 2)] + [0.3]
    load = quirk.Torque("load", body, components, frame="inertial")
    result = quirk.simulate(quirk.System([body, ball, brake, load]), 20.0, output=0.5, **FINE)

    def rate(t, w):
        speed = np.linalg.norm(w)
        dry = coulomb + (static - coulomb) * np.exp(-((speed / stribeck) ** 2))
        torque = [size * np.sin(turn * t), size * np.cos(turn * t), 0.3]
        return (np.array(torque) - viscous * w - dry * w / speed) / J

    times, rows = np.unique(result.time, return_inverse=True)
    want = solve_ivp(rate, (0, 20), [0.0, 1.5, 0.4], "DOP853", times, rtol=1e-12, atol=1e-13).y.T[rows]
    R = rotation.matrix(result["body"].orientation)
    np.testing.assert_allclose(np.einsum("tij,tj->ti", R, result["body"].angular_velocity), want, atol=1e-9)
    assert len(result.events) == 0 and len(result.segments) > 3  # directions are renewed, which nobody sees
    assert np.abs(result.power.balance).max() < 1e-9


@pytest.mark.parametrize("seed", study(range(4), {0}))
def test_a_pendulum_comes_to_rest_at_the_same_instant_with_any_tolerance(seed):
    rng = np.random.default_rng(seed)
    body, ball = pendulum()
    brake = quirk.JointFriction("brake", ball, coulomb=0.9, static=1.0, sticking=True)
    system = quirk.System([body, ball, brake], gravity=G)
    state = system.initial_state()
    state.angular_velocity[0] = rng.normal(size=3) * 3
    state.velocity[0] = np.cross(state.angular_velocity[0], body.position)
    fine, rough = (quirk.simulate(system, 15.0, output=0.1, initial_state=state, rtol=tol) for tol in (1e-12, 1e-9))
    assert fine["brake"].sticking[-1] and len(fine.events) == len(rough.events) > 0
    np.testing.assert_allclose(fine.events.time, rough.events.time, atol=1e-6)
    np.testing.assert_allclose(fine["body"].position, rough["body"].position, atol=1e-6)
    assert np.abs(fine.power.balance).max() < 1e-9
    # At the end friction balances the weight, within its limit.
    torque = fine["brake"].torque()[-1]
    np.testing.assert_allclose(torque, -np.cross(fine["body"].position[-1], G), atol=1e-9)
    assert np.linalg.norm(torque) <= 1.0


@pytest.mark.parametrize("method", study(["Tsit5", "RadauIIA9", "Rodas5P", "Taylor"], 3))
def test_all_methods_find_the_same_events(method):
    system = swung(coulomb=0.8, static=1.0)
    want = quirk.simulate(system, 4.0, output=0.5, method="Vern9", **FINE)
    result = quirk.simulate(system, 4.0, output=0.5, method=method, rtol=1e-9)
    np.testing.assert_allclose(result.events.time, want.events.time, atol=1e-6)
    np.testing.assert_allclose(result["body"].position[-1], want["body"].position[-1], atol=1e-6)


def test_friction_between_two_moving_bodies_balances():
    """On a free pair of bodies: angular momentum is kept, and the pair turns as one body in the end."""
    one = Body("one", 1.0, [0.3, 0.4, 0.5], angular_velocity=[1.0, 2.0, -0.5])
    two = Body("two", 2.0, [0.5, 0.3, 0.4], position=[0.6, 0.2, 0])
    ball = quirk.Spherical("ball", one, two, point=[0.3, 0.1, 0.05])
    brake = quirk.JointFriction("brake", ball, coulomb=0.4, sticking=True)
    system = quirk.System([one, two, ball, brake])
    start = system.assemble()
    result = quirk.simulate(system, 30.0, output=0.25, initial_state=start, **FINE)
    assert result["brake"].sticking[-1]
    np.testing.assert_allclose(result["brake"].torque(end=0), -result["brake"].torque(), atol=1e-12)
    R = [rotation.matrix(result[name].orientation[-1]) for name in ("one", "two")]
    spins = [turn @ result[name].angular_velocity[-1] for turn, name in zip(R, ("one", "two"), strict=True)]
    np.testing.assert_allclose(spins[0], spins[1], atol=1e-10)
    assert np.abs(result.power.balance).max() < 1e-9


def test_frictions_of_one_ball_joint_add_up():
    J, r = 2.0, 0.5
    body, ball = rotor(J)
    brakes = [quirk.JointFriction(name, ball, coulomb=limit, sticking=True) for name, limit in (("one", 1), ("two", 3))]
    load = quirk.Torque("load", body, [Motion.polynomial([0, r * x]) for x in AXIS], frame="inertial")
    result = quirk.simulate(quirk.System([body, ball, *brakes, load]), 10.0, output=1.0, **FINE)
    assert len(result.events) > 0
    np.testing.assert_allclose(result.events.time, 4 / r, rtol=1e-9)
    s = np.maximum(result.time - 4 / r, 0.0)
    np.testing.assert_allclose(result["body"].angular_velocity, np.outer(0.5 * r * s**2 / J, AXIS), atol=1e-8)
    # Rigid friction does not say how they share the torque: in proportion to their limits.
    for name, share in (("one", 0.25), ("two", 0.75)):
        want = np.outer(-share * np.minimum(r * result.time, 4.0), AXIS)
        np.testing.assert_allclose(result[name].torque(), want, atol=1e-8)


def test_two_ball_joints_of_a_door_hold_its_axis():
    """Both act about the line through their centers: together up to the sum of their limits."""
    door = Body.box("door", 5.0, [0.8, 0.05, 1.5], position=[0.4, 0, 0])
    balls = [quirk.Spherical(f"ball {z}", GROUND, door, point=[0, 0, z]) for z in (-0.5, 0.5)]
    brakes = [quirk.JointFriction(f"brake {k}", ball, coulomb=2.0, sticking=True) for k, ball in enumerate(balls)]
    load = quirk.Torque("load", door, [0, 0, Motion.polynomial([0, 0.5])], frame="inertial")
    result = quirk.simulate(quirk.System([door, *balls, *brakes, load], gravity=G), 10.0, output=0.5, **FINE)
    np.testing.assert_allclose(result.events.time, [8.0], rtol=1e-9)
    assert np.abs(result["door"].angular_velocity[:, :2]).max() < 1e-10
    J = 5.0 * (0.8**2 + 0.05**2) / 12 + 5.0 * 0.16
    s = np.maximum(result.time - 8.0, 0.0)
    np.testing.assert_allclose(result["door"].angular_velocity[:, 2], 0.25 * s**2 / J, atol=1e-8)


def test_smooth_friction_has_the_torque_of_its_law():
    body, ball = pendulum()
    rub = quirk.JointFriction("rub", ball, viscous=0.05, coulomb=0.2, static=0.3, stribeck=0.4, creep=0.1)
    system = quirk.System([body, ball, rub], gravity=G)
    state = system.initial_state()
    state.angular_velocity[0] = [1.0, -2.0, 0.5]
    state.velocity[0] = np.cross(state.angular_velocity[0], body.position)
    result = quirk.simulate(system, 3.0, output=0.1, initial_state=state, **FINE)
    spin = np.einsum("tij,tj->ti", rotation.matrix(result["body"].orientation), result["body"].angular_velocity)
    speed = np.linalg.norm(spin, axis=1)
    dry = (0.2 + 0.1 * np.exp(-((speed / 0.4) ** 2))) * np.tanh(speed / 0.1)
    np.testing.assert_allclose(result["rub"].torque(), -(0.05 + dry / speed)[:, None] * spin, rtol=1e-10)
    assert np.abs(result.power.balance).max() < 1e-9
    # At rest there is none, and it is differentiable.
    at = system.initial_state()
    assert np.isfinite(system.acceleration(at).linear).all()
    dense, sparse = (system.acceleration(state, solver=kind).linear for kind in ("dense", "sparse"))
    np.testing.assert_allclose(dense, sparse, rtol=1e-12)


def swung(**limits):
    body, ball = pendulum()
    brake = quirk.JointFriction("brake", ball, **limits, sticking=True)
    return quirk.System([body, ball, brake], gravity=G)


def test_runs_and_results_are_saved(tmp_path):
    system = swung(coulomb=0.8, static=1.0)
    result = quirk.simulate(system, 6.0, output=0.1, **FINE)
    result.save(tmp_path / "r.nc")
    back = quirk.Result.load(tmp_path / "r.nc")
    np.testing.assert_allclose(back["brake"].torque(), result["brake"].torque(), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(back["brake"].sticking, result["brake"].sticking)
    system.save(tmp_path / "model.toml")
    again = quirk.simulate(quirk.load(tmp_path / "model.toml"), 6.0, output=0.1, **FINE)
    np.testing.assert_array_equal(again["body"].position, result["body"].position)
    run = quirk.Run(system, **FINE)
    for t in (1.0, 4.0):  # sliding, and at rest
        run.advance_to(t)
        saved = run.save()
        run.advance_to(t + 0.5)
        first = run.state.position.copy()
        run.restore(saved)
        run.advance_to(t + 0.5)
        np.testing.assert_array_equal(run.state.position, first)


def test_a_batch_is_that_of_single_runs():
    limits, how = np.array([0.6, 0.8, 3.0]), {"method": "RK4", "step": 0.01}
    vary = {("brake", "coulomb"): limits, ("brake", "static"): limits}
    batch = quirk.Batch(swung(coulomb=0.8), 3, vary=vary, **how)
    batch.advance(4.0)
    for k, limit in enumerate(limits):
        single = quirk.simulate(swung(coulomb=limit), 4.0, output=[4.0], **how)
        np.testing.assert_allclose(batch.state.position[k], single["body"].position[-1][None], atol=1e-12)


def test_sensitivities_through_stopping_and_breaking_away():
    def ramped(coulomb, static):
        body, ball = pendulum()
        brake = quirk.JointFriction("brake", ball, coulomb=coulomb, static=static, viscous=0.1, sticking=True)
        load = quirk.Torque("load", body, [Motion.polynomial([0, 0.4 * x]) for x in AXIS], frame="inertial")
        return quirk.System([body, ball, brake, load], gravity=G)

    at = 0.8, 1.1
    parameters = [("brake", "coulomb"), ("brake", "static")]
    result = quirk.simulate(ramped(*at), 4.0, output=[4.0], sensitivities=parameters, **FINE)
    assert len(result.events) >= 2
    h = 1e-5
    for k, parameter in enumerate(parameters):
        ends = []
        for sign in (1, -1):
            there = np.array(at) + sign * h * np.eye(2)[k]
            ends.append(quirk.simulate(ramped(*there), 4.0, output=[4.0], **FINE)["body"].position[-1])
        want = (ends[0] - ends[1]) / (2 * h)
        got = result.sensitivity[parameter]["body"].position[-1]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_what_has_no_derivative_is_refused_and_axes_are_not_chosen():
    system = swung(coulomb=9.0)
    with pytest.raises(quirk.InputError, match="nothing slides in this state"):
        system.linearize(system.initial_state())
    _, ball = pendulum()
    with pytest.raises(quirk.InputError, match="friction against its rotation about any axis: leave out coordinate"):
        quirk.JointFriction("f", ball, coulomb=1.0, sticking=True, coordinate="rotation")


@pytest.mark.parametrize("phase", study([0.0, 0.7, 1.4, 2.1, 2.8, 3.5], 2))
@pytest.mark.parametrize("across", [0.0, 1e-12, 1e-9])
def test_slip_that_passes_through_zero_ends(across, phase):
    """A torque about one axis reverses the slip, so that it does not turn on the way; a hinge moves alike."""
    motions = {}
    for kind in (quirk.Spherical, quirk.Revolute):
        body = Body("body", 2.0, 0.05 * np.eye(3))
        axis = {"axis": "x"} if kind is quirk.Revolute else {}
        joint = kind("joint", GROUND, body, point=[0, 0, 0], **axis)
        friction = quirk.JointFriction("friction", joint, coulomb=1.0, sticking=True)
        torque = [Motion.sinusoid(1.4, 9.0, phase), across, 0.0]
        system = quirk.System([body, joint, friction, quirk.Torque("torque", body, torque, frame="inertial")])
        motions[kind] = result = quirk.simulate(system, 1.5, output=0.02)
        assert np.diff(result.power.work["friction"]).max() < 1e-12
    ball, hinge = motions.values()
    assert ball.events.time == pytest.approx(hinge.events.time, abs=1e-7)
    assert list(ball.events.direction) == list(hinge.events.direction)
    end = [run["body"].angular_velocity[-1, 0] for run in motions.values()]
    assert end[0] == pytest.approx(end[1], abs=1e-6)


def test_a_ball_joint_that_slips_from_the_start_does_not_stick():
    """The weight of a body beside the joint exceeds the friction, as in a hinge."""
    body = Body("body", 1.0, 0.02 * np.eye(3), position=[0.3, 0, 0])
    for joint in (
        quirk.Spherical("joint", GROUND, body, point=[0, 0, 0]),
        quirk.Revolute("joint", GROUND, body, point=[0, 0, 0], axis="y"),
    ):
        friction = quirk.JointFriction("friction", joint, coulomb=1.0, sticking=True)
        result = quirk.simulate(quirk.System([body, joint, friction], gravity=G), 0.1, output=0.05)
        assert not result["friction"].sticking.any()


def test_the_event_is_listed_at_which_a_tumbling_body_stops():
    """Also where the direction of its slip is renewed at the same instant."""
    cases = [([0.291, 0.298, 0.374], [1.7, -1.2, 1.8])]
    rng = np.random.default_rng(3)
    cases += [(np.sort(rng.uniform(0.2, 0.38, 3)), rng.uniform(-3, 3, 3)) for _ in range(20)]
    for inertia, spin in cases:
        body, ball = rotor(inertia, angular_velocity=spin)
        system = quirk.System([body, ball, quirk.JointFriction("brake", ball, coulomb=1.0, sticking=True)])
        result = quirk.simulate(system, 3.0, output=[3.0])
        assert result["brake"].sticking[-1]
        assert [event.direction for event in result.events] == [-1], (inertia, spin)


@pytest.mark.parametrize("kind", ["rods", "any"])
def test_a_body_breaks_away_along_its_acceleration(kind):
    """With a sliding torque far below the static one, and moments of inertia in a ratio of up to 100."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = rng.uniform(0.1, 1.0, 3) if kind == "any" else rng.permutation([1.0, 0.1, 0.1])
        inertia = 0.1 * np.array(
            [sizes[1] ** 2 + sizes[2] ** 2, sizes[0] ** 2 + sizes[2] ** 2, sizes[0] ** 2 + sizes[1] ** 2]
        )
        body, ball = rotor(inertia, orientation=rotation.exp(rng.normal(size=3)))
        brake = quirk.JointFriction("brake", ball, coulomb=1.0, static=rng.uniform(1.0, 1.5), sticking=True)
        slope = rng.normal(size=3)
        torque = [Motion.polynomial([0.0, 2.0 * part / np.linalg.norm(slope)]) for part in slope]
        system = quirk.System([body, ball, brake, quirk.Torque("torque", body, torque, frame="inertial")])
        result = quirk.simulate(system, 1.0, output=[0.0, 1.0])
        (event,) = result.events
        assert event.direction == 1 and event.time == pytest.approx(0.5 * brake.static, rel=1e-9), seed
        after = np.flatnonzero(result.time == event.time)[-1]
        turning = rotation.matrix(body.orientation) @ result["body"].angular_acceleration[after]
        friction = result["brake"].torque()[after]
        np.testing.assert_allclose(friction, -turning / np.linalg.norm(turning), atol=1e-5, err_msg=f"{seed}")
