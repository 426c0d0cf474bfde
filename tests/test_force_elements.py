"""Force elements against closed forms."""

import numpy as np
import pytest
from force_systems import FINE, ball, hinged
from mechanisms import random_quaternion, random_unit
from scipy.spatial.transform import Rotation

import quirk
from quirk import GROUND, Body, Motion, rotation

K6 = np.diag([300.0, 500, 200, 4, 6, 9]) + 0.5 * np.ones((6, 6))


def test_bushing_deflects_by_its_flexibility():
    """A static load on a body displaced and turned as K says balances."""
    x = np.array([0.02, -0.01, 0.03, 0, 0, 0])
    load = K6 @ x
    body = ball(position=x[:3])
    bushing = quirk.Bushing("bush", GROUND, body, frame_i=quirk.Frame(), frame_j=quirk.Frame(), stiffness=K6)
    system = quirk.System([body, bushing, quirk.Force("f", body, load[:3]), quirk.Torque("t", body, load[3:])])
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        np.testing.assert_allclose(found.linear, 0, atol=1e-13)
        np.testing.assert_allclose(found.angular, 0, atol=1e-12)


@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-3, 0.4, 1.0, 2.5, 3.1, 3.14159])
def test_moments_of_bushings_are_derivatives_of_their_energy(theta):
    """Of stiffness that differs from axis to axis: those of v.K v / 2 by small turns, v by SciPy."""
    rng = np.random.default_rng(5)
    axis, K = random_unit(rng), np.diag([2.0, 7.0, 30.0]) + 1.0
    stiffness = np.zeros((6, 6))
    stiffness[3:, 3:] = K
    turn = Rotation.from_rotvec(theta * axis)
    body = ball(inertia=[1, 1, 1], orientation=turn)
    bushing = quirk.Bushing("bush", GROUND, body, frame_i=quirk.Frame(), frame_j=quirk.Frame(), stiffness=stiffness)
    system = quirk.System([body, bushing])

    def energy(small):
        v = (Rotation.from_rotvec(small) * turn).as_rotvec()
        return 0.5 * v @ K @ v

    def slope(unit, h):
        return (energy(h * unit) - energy(-h * unit)) / (2 * h)

    # At pi the vector jumps, so differences stay on this side of it.
    h, close = (2e-3, 1e-8) if theta < 3.1 else (1e-7, 1e-2)
    slopes = [(4 * slope(unit, h / 2) - slope(unit, h)) / 3 for unit in np.eye(3)]
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        in_N = turn.apply(found.angular[0])
        np.testing.assert_allclose(in_N, -np.array(slopes), atol=close * (1e-3 + np.abs(slopes).max()))


@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-3, 1.0, 2.5, 3.1])
def test_bushing_at_finite_rotations(theta):
    """An isotropic one turns back about the axis of the rotation, however large, and stores k theta^2 / 2."""
    rng = np.random.default_rng(4)
    axis, k = random_unit(rng), 3.0
    body = ball(inertia=[1, 1, 1], orientation=rotation.exp(theta * axis))
    bushing = quirk.Bushing("bush", GROUND, body, frame_i=quirk.Frame(), frame_j=quirk.Frame(),
                            stiffness=[0, 0, 0, k, k, k], preload=[0, 0, 5.0, 0, 0, 0])  # fmt: skip
    system = quirk.System([body, bushing])
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        np.testing.assert_allclose(found.angular[0], -k * theta * axis, atol=1e-12)
        np.testing.assert_allclose(found.linear[0], [0, 0, 2.5], atol=1e-14)
    result = quirk.simulate(system, 1e-3, output=[0, 1e-3])
    assert result.energy.potential_of["bush"][0] == pytest.approx(0.5 * k * theta**2, abs=1e-12)


def test_bushing_without_rotations_turns_freely():
    """Through half a turn and on, about a point that is held elastically."""
    body = ball(angular_velocity=[0, 0, 3.0])
    bushing = quirk.Bushing(
        "bush", GROUND, body, point=[0, 0, 0], stiffness=[50, 50, 50, 0, 0, 0], damping=[1, 1, 1, 0, 0, 0]
    )
    result = quirk.simulate(quirk.System([body, bushing]), 4.0, output=0.1, **FINE)
    np.testing.assert_allclose(result["b"].angular_velocity[-1], [0, 0, 3.0], atol=1e-12)
    assert result["bush"].of.coordinates == ("x", "y", "z")


def test_bushing_energy_is_kept():
    rng = np.random.default_rng(5)
    a, b = (ball(name, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)) for name in "ab")
    bushing = quirk.Bushing("bush", a, b, point=[0.1, 0.2, 0], stiffness=K6)
    result = quirk.simulate(quirk.System([a, b, bushing]), 1.0, output=0.1, **FINE)
    assert result.conservative
    assert result.energy.drift < 1e-10
    np.testing.assert_allclose(result.momentum.angular, result.momentum.angular[[0] * len(result.time)], atol=1e-11)


def test_damper_lets_bodies_part_ever_slower():
    """Relative speed u' = -c u (1/m + 1/M)."""
    a, b = ball("a", 2.0), ball("b", 3.0, position=[1, 0, 0], velocity=[0.7, 0, 0])
    result = quirk.simulate(quirk.System([a, b, quirk.Damper("d", a, b, damping=1.5)]), 2.0, output=0.1, **FINE)
    u = (result["b"].velocity - result["a"].velocity)[:, 0]
    np.testing.assert_allclose(u, 0.7 * np.exp(-1.5 * (1 / 2 + 1 / 3) * result.time), atol=1e-12)


def test_cable_is_slack_and_taut():
    """A weight below its anchor: free fall, then half an oscillation about the stretch at rest, and back up."""
    m, k, g, L = 2.0, 800.0, 10.0, 1.0
    body = ball(mass=m, position=[0, 0, -0.55])
    cable = quirk.Spring("cable", GROUND, body, stiffness=k, rest_length=L, one_sided="tension")
    system = quirk.System([body, cable], gravity=[0, 0, -g])
    fall = np.sqrt(2 * 0.45 / g)
    w, sag, v = np.sqrt(k / m), m * g / k, g * fall
    # z = L + sag (1 - cos) + v / w sin, back at L after:
    taut = 2 * (np.pi - np.arctan2(v / w, sag)) / w
    times = [0.5 * fall, fall + 0.5 * taut, fall + taut + 0.5 * fall]
    result = quirk.simulate(system, 2 * fall + taut, output=times, rtol=1e-12, atol=1e-14)
    want = [0.55 + 0.125 * g * fall**2, L + sag + np.hypot(sag, v / w), 1.0 - 0.5 * g * 0.75 * fall**2]
    np.testing.assert_allclose(-result["b"].position[:, 2], want, atol=1e-9)
    assert result.conservative
    assert result.energy.drift < 1e-10


@pytest.mark.parametrize(("side", "length", "rate", "want"), [
    ("tension", 0.9, 1.0, 0), ("tension", 1.2, 0.0, 20), ("tension", 1.2, 1.0, 25), ("tension", 1.2, -9.0, 0),
    ("compression", 1.1, -1.0, 0), ("compression", 0.8, 0.0, -20), ("compression", 0.8, -1.0, -25),
    ("compression", 0.8, 9.0, 0),
])  # fmt: skip
def test_one_sided_springs(side, length, rate, want):
    body = ball(position=[length, 0, 0], velocity=[rate, 0, 0])
    spring = quirk.Spring("s", GROUND, body, stiffness=100.0, damping=5.0, rest_length=1.0, one_sided=side)
    system = quirk.System([body, spring])
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        np.testing.assert_allclose(found.linear[0], [-want / 2.0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("length", [0.1, 0.5, 0.93, 1.7, 2.0, 2.6])
def test_spring_by_table_and_by_function(length):
    """A table of a cubic is that cubic, straight beyond its ends, with its integral for energy."""
    cubic = np.polynomial.Polynomial([-3.0, 1.0, 2.0, 0.5])
    lengths = np.linspace(0.5, 2.0, 7)
    near = np.clip(length, 0.5, 2.0)
    want = cubic(near) + cubic.deriv()(near) * (length - near)
    energy = cubic.integ()(near) - cubic.integ()(1.0) + (length - near) * 0.5 * (want + cubic(near))
    body = ball(position=[length, 0, 0])
    springs = [quirk.Spring("s", GROUND, body, law=(lengths, cubic(lengths)), rest_length=1.0),
               quirk.Spring("s", GROUND, body, law=lambda L, rate: want * L / length)]  # fmt: skip
    for spring in springs:
        system = quirk.System([body, spring])
        for solver in ("dense", "sparse"):
            found = system.acceleration(system.initial_state(), solver=solver)
            np.testing.assert_allclose(found.linear[0], [-want / 2.0, 0, 0], rtol=1e-12, atol=1e-13)
    result = quirk.simulate(quirk.System([body, springs[0]]), 1e-4, output=[0, 1e-4])
    assert result["s"].energy[0] == pytest.approx(energy, abs=1e-12)


def test_interaction_can_be_a_spring():
    rng = np.random.default_rng(6)
    a, b = (ball(name, position=rng.normal(size=3), orientation=random_quaternion(rng)) for name in "ab")
    ends = {"point_i": [0.1, 0, 0.2], "point_j": [0, 0.3, 0]}
    spring = quirk.Spring("s", a, b, **ends, stiffness=7.0, rest_length=0.0)
    want = quirk.System([a, b, spring]).acceleration(quirk.System([a, b]).initial_state())
    for frame in ("inertial", "i", "j"):
        pull = quirk.Interaction("s", a, b, **ends, force=lambda t, d, v, turn, w: -7.0 * d, frame=frame)
        system = quirk.System([a, b, pull])
        for solver in ("dense", "sparse"):
            found = system.acceleration(system.initial_state(), solver=solver)
            np.testing.assert_allclose(found.linear, want.linear, atol=1e-13)
            np.testing.assert_allclose(found.angular, want.angular, atol=1e-12)


@pytest.mark.parametrize("frame", ["inertial", "i", "j"])
def test_interaction_gets_the_relative_motion(frame):
    """As differences of the poses seen from the frame."""
    rng, seen = np.random.default_rng(7), {}
    a, b = (ball(name, position=rng.normal(size=3), orientation=random_quaternion(rng), velocity=rng.normal(size=3),
                 angular_velocity=rng.normal(size=3)) for name in "ab")  # fmt: skip

    def law(t, displacement, velocity, turn, angular_velocity):
        seen["now"] = [np.array(x) for x in (displacement, velocity, turn, angular_velocity)]
        return np.zeros(3)

    system = quirk.System([a, b, quirk.Interaction("f", a, b, force=law, frame=frame)])
    state, h = system.initial_state(), 1e-6

    def displaced(s):
        q = [
            rotation.multiply(q, rotation.exp(s * w))
            for q, w in zip(state.orientation, state.angular_velocity, strict=True)
        ]
        R, r = rotation.matrix(np.array(q)), state.position + s * state.velocity
        axes = {"inertial": np.eye(3), "i": R[0], "j": R[1]}[frame]
        return axes, R, axes.T @ (r[1] - r[0])

    axes, R, d = displaced(0.0)
    system.acceleration(state, solver="dense")
    np.testing.assert_allclose(seen["now"][0], d, atol=1e-13)
    np.testing.assert_allclose(seen["now"][1], (displaced(h)[2] - displaced(-h)[2]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(rotation.matrix(rotation.exp(axes @ seen["now"][2])) @ R[0], R[1], atol=1e-13)
    spin = R[1] @ state.angular_velocity[1] - R[0] @ state.angular_velocity[0]
    np.testing.assert_allclose(axes @ seen["now"][3], spin, atol=1e-13)


def test_kepler_orbit_closes_after_a_hundred_turns():
    e, turns = 0.3, 100
    body = ball(mass=3.0, position=[1 - e, 0, 0], velocity=[0, np.sqrt((1 + e) / (1 - e)), 0])
    system = quirk.System([body, quirk.PointGravity("sun", GROUND, body, mu=1.0)])
    result = quirk.simulate(system, 2 * np.pi * turns, output=[2 * np.pi * turns], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(result["b"].position[-1], body.position, atol=1e-9)
    np.testing.assert_allclose(result["b"].velocity[-1], body.velocity, atol=1e-9)


def test_two_bodies_attract_each_other():
    G = 6.67430e-11
    a, b = ball("a", 5e10), ball("b", 3e10, position=[2, 0, 0])
    system = quirk.System([a, b, quirk.PointGravity("g", a, b)])
    found = system.acceleration(system.initial_state())
    np.testing.assert_allclose(found.linear[:, 0], [G * 3e10 / 4, -G * 5e10 / 4], rtol=1e-13)


def test_gravity_gradient_torque_and_libration():
    """3 mu / r^3 n x J n; and the frequency sqrt(3 (J_x - J_z) / J_y) of small pitch, of the orbital one."""
    J, r, mu = 1e-12 * np.array([2.0, 2.2, 1.1]), 1.0, 1.0
    rng = np.random.default_rng(1)
    tilted = Body("b", 1.0, J, position=[r, 0, 0], orientation=random_quaternion(rng))
    system = quirk.System([tilted, quirk.GravityGradient("g", GROUND, tilted, mu=mu)])
    n = rotation.matrix(tilted.orientation).T @ [1.0, 0, 0]
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        np.testing.assert_allclose(found.angular[0], 3 * mu / r**3 * np.cross(n, J * n) / J, atol=1e-12)

    # Orbit in the plane xz about y; body z points outwards for no pitch, and pitch is about y.
    pitch, rate = 1e-4, -1.0
    start = Body("b", 1.0, J, position=[0, 0, 1.0], velocity=[rate, 0, 0], angular_velocity=[0, rate, 0],
                 orientation=rotation.exp(np.array([0, pitch, 0])))  # fmt: skip
    field = [quirk.PointGravity("p", GROUND, start, mu=mu), quirk.GravityGradient("g", GROUND, start, mu=mu)]
    w = np.sqrt(3 * (J[0] - J[2]) / J[1])
    ends = (np.arange(1, 6) - 0.5) * np.pi / w
    result = quirk.simulate(quirk.System([start, *field]), ends[-1], output=ends, rtol=1e-13, atol=1e-15)
    out, z = result["b"].position, rotation.matrix(result["b"].orientation)[:, :, 2]
    measured = np.cross(out, z)[:, 1] / np.linalg.norm(out, axis=1)
    # It passes through zero at odd quarters of its period, with slope pitch w: how late it is there.
    assert np.abs(measured / (pitch * w) / ends).max() < 1e-6


def test_uniform_field_is_gravity():
    bodies = [ball(name, mass) for name, mass in (("a", 1.0), ("b", 3.0))]
    field = quirk.System([*bodies, quirk.UniformField("g", acceleration=[1, 2, -9.81])])
    plain = quirk.System(bodies, gravity=[1, 2, -9.81])
    one, other = (quirk.simulate(system, 1.0, output=0.5) for system in (field, plain))
    np.testing.assert_allclose(one.state.position, other.state.position, atol=1e-13)
    np.testing.assert_allclose(one.energy.potential, other.energy.potential, atol=1e-12)
    assert one.conservative
    np.testing.assert_allclose(one["g"].force(end=0)[0], [1, 2, -9.81])


def test_field_over_time():
    body = ball()
    field = quirk.UniformField("shake", body, acceleration=[Motion.sinusoid(2.0, 3.0), 0, 0])
    result = quirk.simulate(quirk.System([body, field]), 2.0, output=0.5, **FINE)
    np.testing.assert_allclose(result["b"].velocity[:, 0], 2 / 3 * (1 - np.cos(3 * result.time)), atol=1e-12)
    assert not result.conservative


def test_damping_of_all_bodies():
    bodies = [ball(name, 2.0, velocity=[1, 2, 3], angular_velocity=[3, 0, 0]) for name in "ab"]
    system = quirk.System([quirk.Damping("d", translational=0.8, rotational=0.05), *bodies])
    result = quirk.simulate(system, 2.0, output=0.5, **FINE)
    for name in "ab":
        np.testing.assert_allclose(result[name].velocity[:, 1], 2 * np.exp(-0.4 * result.time), atol=1e-12)
        np.testing.assert_allclose(result[name].angular_velocity[:, 0], 3 * np.exp(-0.5 * result.time), atol=1e-12)
    assert [body.name for body in system["d"].bodies] == ["a", "b"]


def test_potential_of_poses():
    """An oscillator, and a magnet in a field: energy -m.B turns it by m x B."""
    rng = np.random.default_rng(2)
    m, B = rng.normal(size=3), rng.normal(size=3)
    body = ball(inertia=[1, 1, 1], position=rng.normal(size=3), orientation=random_quaternion(rng))
    well = quirk.Potential("well", body, lambda t, r, R: 2.0 * r @ r - (R @ m) @ B)
    system = quirk.System([body, well])
    R = rotation.matrix(body.orientation)
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        np.testing.assert_allclose(found.linear[0], -4.0 * body.position / 2.0, atol=1e-13)
        np.testing.assert_allclose(R @ found.angular[0], np.cross(R @ m, B), atol=1e-12)


def test_terminal_speed():
    """m v' = m g - rho A v^2 / 2 has v = V tanh(g t / V)."""
    body, g = ball(mass=2.0), 9.81
    system = quirk.System([body, quirk.Drag("air", body, 0.5, density=1.2)], gravity=[0, 0, -g])
    result = quirk.simulate(system, 20.0, output=0.5, **FINE)
    V = np.sqrt(2 * 2.0 * g / (1.2 * 0.5))
    np.testing.assert_allclose(-result["b"].velocity[:, 2], V * np.tanh(g * result.time / V), atol=1e-11)


def test_drag_in_body_axes_and_wind():
    rng = np.random.default_rng(9)
    q, wind, area = random_quaternion(rng), rng.normal(size=3), np.array([0.3, 0.1, 0.7])
    body = ball(orientation=q, velocity=rng.normal(size=3))
    system = quirk.System([body, quirk.Drag("air", body, area, density=1.3, wind=wind)])
    R = rotation.matrix(q)
    u = R.T @ (body.velocity - wind)
    want = -0.65 * np.linalg.norm(u) * (R @ (area * u)) / 2.0
    still = quirk.System([ball(), quirk.Drag("air", ball(), 0.3)][:1])
    for solver in ("dense", "sparse"):
        np.testing.assert_allclose(
            system.acceleration(system.initial_state(), solver=solver).linear[0], want, atol=1e-13
        )
        assert not still.acceleration(still.initial_state(), solver=solver).linear.any()


def test_thruster_delta_v():
    """The integral of thrust over mass, of a throttle that is a motion; and a spin about z by its arm."""
    throttle = Motion.spline([0, 1, 2, 3], [0, 1, 1, 0])
    body = ball(mass=4.0)
    pair = [quirk.Thruster(f"t{k}", body, 3.0, "x", throttle=throttle, point=[0, s, 0]) for k, s in ((0, 1), (1, -1))]
    result = quirk.simulate(quirk.System([body, *pair]), 3.0, output=[3.0], **FINE)
    # A cubic through these points: 9/4 t (3 - t) / 9 * 2 = t (3 - t) / 2.
    np.testing.assert_allclose(result["b"].velocity[-1], [2 * 3.0 / 4.0 * 2.25, 0, 0], atol=1e-12)


def test_reaction_wheel_keeps_the_momentum_of_both():
    """What the wheel gains the body loses; in three dimensions R (J omega + I w a) is constant."""
    I, speed = 0.02, Motion.polynomial([0.0, 40.0, 30.0])
    axis = np.array([1.0, 2.0, 2.0]) / 3
    body = ball(inertia=[0.3, 0.4, 0.5], angular_velocity=[0.5, -0.2, 0.9])
    system = quirk.System([body, quirk.ReactionWheel("wheel", body, axis, I, speed)])
    result = quirk.simulate(system, 2.0, output=0.2, **FINE)
    wheel = I * np.array([speed(t) for t in result.time])[:, None] * axis
    own = result["b"].angular_velocity * [0.3, 0.4, 0.5] + wheel
    whole = np.einsum("tij,tj->ti", rotation.matrix(result["b"].orientation), own)
    np.testing.assert_allclose(whole, whole[[0] * len(whole)], atol=1e-12)


def test_loads_over_time():
    push = Motion.spline([0.0, 0.5, 1.0, 1.2, 2.0, 2.4, 3.0], [0, 1, -1, 2, 0, 3, 1])
    body = ball()
    system = quirk.System([body, quirk.Force("f", body, [push, 2.0, 0]), quirk.Torque("t", body, [0, 0, push])])
    result = quirk.simulate(system, 3.0, output=[3.0], **FINE)
    whole = 0.0
    for start, piece, end in zip(push.breaks, push.coefficients, push.breaks[1:], strict=False):
        whole += np.polyval(np.append((piece / np.arange(1, len(piece) + 1))[::-1], 0.0), end - start)
    np.testing.assert_allclose(result["b"].velocity[-1], [whole / 2, 3.0, 0], atol=1e-12)
    np.testing.assert_allclose(result["b"].angular_velocity[-1], [0, 0, whole / 0.1], atol=1e-10)
    turned = quirk.simulate(hinged(lambda hinge: quirk.JointTorque("m", hinge, push)), 3.0, output=[3.0], **FINE)
    np.testing.assert_allclose(turned["hinge"].rotation_rate[-1, 2], whole / 0.5, atol=1e-11)
    with pytest.raises(quirk.InputError, match="is needed from 0 to 4 s"):
        quirk.simulate(system, 4.0)


def test_what_a_damped_spring_has_taken_out_is_what_is_gone():
    body = ball(position=[1.3, 0, 0])
    spring = quirk.Spring("s", GROUND, body, stiffness=20.0, damping=1.5, rest_length=1.0)
    result = quirk.simulate(quirk.System([body, spring]), 2.0, output=0.01, **FINE)
    gone = result.energy.total[0] - result.energy.total
    np.testing.assert_allclose(result.power.dissipated, gone, atol=1e-11)
    assert gone[-1] > 0.5


def test_elements_with_functions_in_other_places_have_laws_of_their_own():
    """One has a function for the force and numbers for the torque, the other the reverse."""
    a, b = ball("a"), ball("b", position=[1, 0, 0])

    def law(t, displacement, velocity, turn, angular_velocity):
        return displacement

    for load, other in (("force", "torque"), ("torque", "force")):
        system = quirk.System([a, b, quirk.Interaction("f", a, b, **{load: law, other: [0, 3.0, 0]})])
        dense, sparse = (system.acceleration(system.initial_state(), solver=s) for s in ("dense", "sparse"))
        np.testing.assert_allclose(sparse.linear, dense.linear, atol=1e-14)
        np.testing.assert_allclose(sparse.angular, dense.angular, atol=1e-13)


@pytest.mark.parametrize(("methods", "says"), [
    ({}, "has no law: define potential, load, or coordinate with along or stored"),
    ({"coordinate": lambda self, t, i: i.position[0]}, "has no law"),
    ({"stored": lambda self, t, x: x}, "define coordinate"),
    ({"stored": lambda self, t, x: x, "coordinate": lambda self, t, i: i.position[0], "turning": (0,)}, "define turns_near"),
])  # fmt: skip
def test_laws_must_be_whole(methods, says):
    with pytest.raises(quirk.InputError, match=says):
        type("Mine", (quirk.ForceElement,), methods)("f", (ball(), quirk.Frame()))
