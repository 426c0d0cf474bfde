"""Modes and equilibria: chains, loops with one freedom, tops, rotors; against closed forms and differences."""

import numpy as np
import pytest
from bicycle import bicycle
from differences import extrapolated
from quirk.demos import bricard, door
from scipy.linalg import eigh
from scipy.optimize import brentq
from studies import study

import quirk
from quirk import rotation

G = 9.81


def chain(count, length=1.0, mass=0.7):
    """Links that hang from each other on parallel hinges."""
    inertia, links, hinges, before = mass * length**2 / 12, [], [], quirk.GROUND
    for k in range(count):
        link = quirk.Body(f"link {k}", mass, [inertia, inertia, 1e-3 * inertia], position=[0, 0, -(k + 0.5) * length])
        hinges.append(quirk.Revolute(f"hinge {k}", before, link, point=[0, 0, -k * length], axis=[0, 1, 0]))
        links.append(link)
        before = link
    return quirk.System([*links, *hinges], gravity=[0, 0, -G])


def chain_frequencies(count, length=1.0, mass=0.7):
    """Of the same, from its mass and stiffness matrices over the angles of the links against the vertical."""
    places = length * (np.tril(np.ones((count, count)), -1) + 0.5 * np.eye(count))
    M = mass * places.T @ places + mass * length**2 / 12 * np.eye(count)
    K = np.diag(mass * G * length * (count - np.arange(count) - 0.5))
    return np.sqrt(eigh(K, M, eigvals_only=True))


def test_hanging_chain():
    modes = chain(100).modes()
    np.testing.assert_allclose(modes.eigenvalues.imag, chain_frequencies(100), rtol=1e-11)
    assert len(modes) == 100
    assert np.abs(modes.damping).max() < 1e-12
    assert modes.shapes.shape == (100, 100, 12)


def test_few_modes_of_a_long_chain():
    modes = chain(400).modes(count=5)
    np.testing.assert_allclose(modes.eigenvalues.imag, chain_frequencies(400)[:5], rtol=1e-9)
    # The slowest mode of a rope is that of Bessel's function, J0(2 w sqrt(z / g)), z from the free end.
    whole = chain(20).modes(count=2)
    every = chain(20).modes()
    np.testing.assert_allclose(np.abs(whole.shapes), np.abs(every.shapes[:2]), atol=1e-9)


def test_bricards_loop_has_one_mode():
    system = bricard.build()
    state = system.equilibrium()
    modes = system.modes(state)
    assert len(modes) == 1
    assert state.stable

    def acceleration(angle):
        turned = system.assemble(state, coordinates={"hinge 0": angle})
        return np.array([system.acceleration(turned).angular[0, 1]])

    held = state.angles["hinge 0"][2]
    stiffness = -extrapolated(lambda h: acceleration(held + h), h=5e-3, rows=4)[0]
    assert abs(modes.eigenvalues[0].imag ** 2 / stiffness - 1) < 1e-7
    assert system.modes(state, count=1).eigenvalues[0] == modes.eigenvalues[0]


def test_door_on_two_hinges_has_one_mode():
    system = door.build()
    leaf = system["leaf"]
    modes = system.modes()
    wanted = np.roots([leaf.inertia[2, 2] + leaf.mass * 0.45**2, 8.0, 6.0])
    assert len(modes) == 1
    assert abs(modes.eigenvalues[0] - wanted[wanted.imag > 0][0]) < 1e-12
    assert abs(modes.of("lower.angle")[0]) == pytest.approx(1.0, abs=1e-12)
    assert abs(modes.of("leaf.position.y")[0]) == pytest.approx(0.45, abs=1e-12)


def four_bar(angle):
    """The IFToMM four-bar with a diagonal spring: three thin rods of 1 m and 1 kg between pins 1 m apart."""
    along = np.array([np.cos(angle), np.sin(angle), 0])
    corners = [np.zeros(3), along, along + np.array([1.0, 0, 0]), np.array([1.0, 0, 0])]
    rods = []
    for name, one, two in (("left", 0, 1), ("top", 1, 2), ("right", 3, 2)):
        d = corners[two] - corners[one]
        half = 0.5 * np.arctan2(d[1], d[0])
        rods.append(quirk.Body(name, 1.0, [1e-4, 1 / 12, 1 / 12], position=(corners[one] + corners[two]) / 2,
                               orientation=[np.cos(half), 0, 0, np.sin(half)]))  # fmt: skip
    left, top, right = rods
    pairs = [(quirk.GROUND, left), (left, top), (top, right), (quirk.GROUND, right)]
    pins = [quirk.Revolute(f"pin {k}", *pair, point=p, axis=[0, 0, 1])
            for k, (pair, p) in enumerate(zip(pairs, corners, strict=True))]  # fmt: skip
    spring = quirk.Spring("diagonal", quirk.GROUND, right, [0, 0, 0], [0.5, 0, 0], stiffness=25.0, damping=1.0,
                          rest_length=np.sqrt(2))  # fmt: skip
    return quirk.System([*rods, *pins, spring], gravity=[0, -G, 0])


@pytest.mark.parametrize("start", [2.2, 1.7, 2.9])
def test_four_bar_with_a_diagonal_spring(start):
    state = four_bar(start).equilibrium()
    q = state.orientation[2]
    angle = 2 * np.arctan2(q[3], q[0])

    def torque(x):
        return 2 * G * np.cos(x) - 25 * (2 * np.cos(x / 2) - np.sqrt(2)) * np.sin(x / 2)

    exact = brentq(torque, 2.0, 2.5, xtol=1e-15)
    assert abs(angle - exact) < 1e-13
    assert abs(angle - 2.23433101898) < 1e-10  # as published
    half = exact / 2
    stiffness = -2 * G * np.sin(exact) + 25 * np.sin(half) ** 2 - 12.5 * (2 * np.cos(half) - np.sqrt(2)) * np.cos(half)
    wanted = np.roots([5 / 3, np.sin(half) ** 2, stiffness])
    assert np.abs(np.sort_complex(state.eigenvalues) - np.sort_complex(wanted)).max() < 1e-11
    assert state.stable
    weight = state.loads["pin 0"].force + state.loads["pin 3"].force
    assert np.isfinite(weight).all()


def test_nothing_is_free():
    block = quirk.Body.box("block", 1.0, [1, 1, 1])
    system = quirk.System([block, quirk.Fixed("fixed", quirk.GROUND, block)], gravity=[0, 0, -G])
    assert len(system.modes()) == len(system.modes(count=1)) == len(system.linearize().eigenvalues) == 0
    assert system.equilibrium().stable


def test_stability_and_loads_of_equilibria():
    def pole(height):
        rod = quirk.Body.box("rod", 1.0, [0.1, 0.1, 1.0], position=[0.0, 0, height])
        return quirk.System([rod, quirk.Spherical("foot", quirk.GROUND, rod, point=[0, 0, 0])], gravity=[0, 0, -G])

    upright, hanging = pole(0.5).equilibrium(), pole(-0.5).equilibrium()
    assert not upright.stable
    assert hanging.stable
    np.testing.assert_allclose(hanging.loads["foot"].force, [0, 0, G], atol=1e-12)
    falling = quirk.System([quirk.Body.sphere("ball", 1.0, 0.1)], gravity=[0, 0, -G])
    with pytest.raises(quirk.InputError, match="falls freely"):
        falling.equilibrium()


MASS, ARM, ACROSS, AXIAL = 1.3, 0.4, 0.05, 0.02


def top(spin, tilt=0.0, precession=0.0):
    """A top on its tip; it spins about its axis in its own axes, and precesses about the vertical."""
    q = rotation.exp(np.array([tilt, 0, 0]))
    R = rotation.matrix(q)
    omega = spin * R[:, 2] + np.array([0, 0, precession])
    place = ARM * R[:, 2]
    body = quirk.Body("top", MASS, [ACROSS, ACROSS, AXIAL], position=place, orientation=q,
                      velocity=np.cross(omega, place), angular_velocity=R.T @ omega)  # fmt: skip
    return quirk.System([body, quirk.Spherical("tip", quirk.GROUND, body, point=[0, 0, 0])], gravity=[0, 0, -G])


def test_a_frame_without_loads_stands_where_it_is():
    """All that accelerates it is round-off, which another step does not make less."""
    lean, c = 0.01, 10.0
    turned = [np.array([np.cos(a / 2), 0, np.sin(a / 2), 0]) for a in (lean, -lean)]
    x, z = 0.25 * np.sin(lean), 0.25 * np.cos(lean)
    lower = quirk.Body("lower", 1.0, [0.02] * 3, position=[x, 0, z], orientation=turned[0])
    upper = quirk.Body("upper", 1.0, [0.02] * 3, position=[x, 0, 3 * z], orientation=turned[1])
    slider = quirk.Body("slider", 1.0, [0.02] * 3, position=[0, 0, 4 * z])
    knee = quirk.Revolute("knee", lower, upper, point=[2 * x, 0, 2 * z], axis="y")
    joints = [
        quirk.Revolute("foot", quirk.GROUND, lower, point=[0, 0, 0], axis="y"),
        quirk.Revolute("head", upper, slider, point=[0, 0, 4 * z], axis="y"),
        quirk.Prismatic("rail", quirk.GROUND, slider, axis="z"),
    ]
    coil = quirk.TorsionSpring("coil", knee, stiffness=c, rest_angle=0.0)
    found = quirk.System([lower, upper, slider, knee, *joints, coil]).equilibrium()
    assert found.stable
    assert abs(found.of("knee.angle")) < 1e-15


@pytest.mark.slow
def test_down_a_narrow_valley_that_bends():
    """Three bars, the last of which stands on a stiff bushing, sink far: steps in straight lines leave the valley."""
    sizes = {
        "a": (1.0, [0, 0.5, 0]),
        "b": (2.0, [0.7, 1.0, 0]),
        "c": (1.5, [1.4, 0.5, 0]),
        "ball": (0.6, [0.7, 1.3, 0]),
    }
    a, b, c, ball = (quirk.Body(name, m, [0.1, 0.1, 0.1 * m], position=at) for name, (m, at) in sizes.items())
    stiff = {"stiffness": np.repeat([2e3, 5.0], 3), "damping": np.repeat([20, 0.1], 3)}
    soft = {"stiffness": np.repeat([5e2, 3.0], 3), "damping": np.repeat([2, 0.01], 3)}
    foot = quirk.Revolute("foot", quirk.GROUND, a, point=[0, 0, 0], axis="z")
    parts = [
        foot,
        quirk.Revolute("left", a, b, point=[0, 1, 0], axis="z"),
        quirk.Revolute("right", b, c, point=[1.4, 1, 0], axis="z"),
        quirk.Bushing("stand", quirk.GROUND, c, point=[1.4, 0, 0], **stiff),
        quirk.Bushing("tie", b, ball, point=[0.7, 1.3, 0], **soft),
        quirk.TorsionSpring("coil", foot, stiffness=30.0, damping=0.3, rest_angle=-0.3),
    ]
    found = quirk.System([a, b, c, ball, *parts], gravity=[0, -G, 0]).equilibrium()
    assert found.residual < 1e-12
    assert found.stable
    assert found.of("energy.potential") < 30.0  # of 40.9 J at the start


def test_sleeping_top():
    """It stands if C n > 2 sqrt(A m g l), with nutation and precession at the roots of A s^2 - i C n s = m g l."""
    A = ACROSS + MASS * ARM**2
    limit = 2 * np.sqrt(A * MASS * G * ARM) / AXIAL
    for spin in (0.5 * limit, 0.999 * limit, 1.001 * limit, 2 * limit):
        linear = top(spin).linearize()
        assert linear.about == "steady motion"
        wanted = np.roots([A, -1j * AXIAL * spin, -MASS * G * ARM])
        assert max(np.abs(linear.eigenvalues - value).min() for value in wanted) < 1e-11
        assert (linear.eigenvalues.real.max() < 1e-9) == (spin > limit)


@pytest.mark.parametrize("precession", [2.0, 5.0])
def test_nutation_about_steady_precession(precession):
    A, tilt = ACROSS + MASS * ARM**2, 0.7
    total = (MASS * G * ARM + A * precession**2 * np.cos(tilt)) / (AXIAL * precession)
    modes = top(total - precession * np.cos(tilt), tilt, precession).modes()
    assert modes.about == "steady motion"
    nutation = np.hypot(precession * np.sin(tilt), AXIAL * total / A - 2 * precession * np.cos(tilt))
    assert abs(modes.eigenvalues[-1].imag - nutation) < 1e-11
    assert (modes.eigenvalues[:-1] == 0).all()


def rotor(spin, inertia, stiffness, driven=False):
    """A disk that turns in a housing, which soft bushings hold."""
    housing = quirk.Body("housing", 1.0, [0.01, 0.01, 0.01])
    disk = quirk.Body("disk", 1.0, inertia, angular_velocity=[0, 0, spin])
    bearing = quirk.Revolute("bearing", housing, disk, point=[0, 0, 0], axis=[0, 0, 1])
    mount = quirk.Bushing("mount", quirk.GROUND, housing, point=[0, 0, 0], stiffness=stiffness)
    drives = [quirk.Drive("drive", bearing, quirk.Motion.constant_rate(spin))] if driven else []
    return quirk.System([housing, disk, bearing, mount, *drives])


def test_gyroscopic_splitting_of_a_rotor():
    across, axial, tilting = 0.03, 0.05, 40.0
    for spin, driven in ((0.0, False), (50.0, False), (400.0, False), (400.0, True)):
        modes = rotor(spin, [across, across, axial], [800.0, 800.0, 900.0, tilting, tilting, 70.0], driven).modes()
        # (C W - A w) w + k = 0, and what the housing does by itself.
        half = 0.5 * axial * spin / (across + 0.01)
        wanted = [np.hypot(half, np.sqrt(tilting / (across + 0.01))) + sign * half for sign in (1, -1)]
        wanted += [20.0, np.sqrt(450.0), np.sqrt(70.0 / (0.06 if driven else 0.01))]
        found = modes.eigenvalues.imag
        assert max(np.abs(found - w).min() for w in wanted) < 1e-10
        assert modes.about == ("steady motion" if spin else "equilibrium")


def test_unsymmetric_rotors_are_seen_in_axes_that_turn():
    """A free body about its principal axes: steady in its own axes, where the middle one is unstable."""
    inertia = np.array([0.02, 0.03, 0.04])
    for axis in range(3):
        body = quirk.Body("body", 1.0, inertia, angular_velocity=7.0 * np.eye(3)[axis])
        linear = quirk.System([body]).linearize()
        assert linear.about == "steady motion"
        one, two = (inertia[k] for k in range(3) if k != axis)
        square = 49.0 * (inertia[axis] - one) * (two - inertia[axis]) / (one * two)
        wanted = np.sqrt(complex(square))
        assert np.abs(linear.eigenvalues - wanted).min() < 1e-11
    uneven = [800.0, 500.0, 900.0, 40.0, 30.0, 70.0]
    assert rotor(9.0, [0.02, 0.03, 0.04], uneven).linearize().about == "instant"  # in no axes are coefficients constant
    assert rotor(9.0, [0.03, 0.03, 0.04], uneven).linearize().about == "steady motion"


def test_shapes_as_motions(tmp_path):
    system = chain(3)
    modes = system.modes()
    motion = modes.result(1, amplitude=0.3)
    np.testing.assert_allclose(motion.time[-1], 1 / modes.frequencies[1])
    assert np.ptp(motion["hinge 2"].rotation[:, 2]) > 0.1
    assert modes.animate(0, tmp_path / "mode.gif", fps=5, size=1.0).exists()
    modes.plot(2, path=tmp_path / "mode.png", size=(2, 2))
    assert "frequency" in str(modes)
    with pytest.raises(quirk.InputError, match="one of 3 modes"):
        modes.result(3)


def test_root_locus_of_the_bicycle(tmp_path):
    locus = quirk.root_locus(bicycle, np.linspace(3.0, 7.0, 9))
    assert locus.eigenvalues.shape == (9, 10)
    weave = locus.eigenvalues[:, np.argmax(locus.eigenvalues[-1].imag)]
    assert (np.diff(weave.real) < 0).all()
    assert (np.diff(weave.imag) > 0).all()
    locus.plot(path=tmp_path / "roots.png", size=(3, 3))
    with pytest.raises(quirk.InputError, match="must return a System"):
        quirk.root_locus(lambda value: None, [1.0])


def carousel(arms, turning=2.0, spin=30.0):
    """Arms that a turning hub carries on balls and springs, with a spinning rotor at the end of each."""
    omega = np.array([0, 0, turning])
    hub = quirk.Body("hub", 5.0, [2, 2, 3], angular_velocity=omega)
    parts = [hub, quirk.Revolute("axle", quirk.GROUND, hub, point=[0, 0, 0], axis=[0, 0, 1])]
    for k in range(arms):
        angle = 2 * np.pi * k / arms
        out, turn = np.array([np.cos(angle), np.sin(angle), 0]), rotation.exp(np.array([0, 0, angle]))
        arm = quirk.Body(f"arm {k}", 1.0 + 0.1 * k, [0.02, 0.2, 0.21], position=1.5 * out, orientation=turn,
                         velocity=np.cross(omega, 1.5 * out), angular_velocity=omega)  # fmt: skip
        rotor = quirk.Body(f"rotor {k}", 0.5, [0.03, 0.03, 0.05], position=2 * out, orientation=turn,
                           velocity=np.cross(omega, 2 * out), angular_velocity=[0, 0, turning + spin])  # fmt: skip
        root = quirk.Spherical(f"root {k}", hub, arm, point=out)
        spring = quirk.Bushing(f"spring {k}", hub, arm, point=out, stiffness=[0, 0, 0, 5, 5, 5],
                               damping=[0, 0, 0, 0.05, 0.05, 0.05])  # fmt: skip
        parts += [arm, rotor, root, spring, quirk.Revolute(f"bearing {k}", arm, rotor, point=2 * out, axis=[0, 0, 1])]
    return quirk.System(parts)


def test_few_modes_of_a_steady_motion():
    system = carousel(8)
    every, few = system.modes(), system.modes(count=20)
    assert every.about == few.about == "steady motion"
    moving, found = (of.eigenvalues[np.abs(of.eigenvalues) > 1e-3] for of in (every, few))
    assert 4 < len(found) < len(moving)
    np.testing.assert_allclose(found, moving[: len(found)], atol=1e-9)
    assert np.abs(few.eigenvalues[: len(few) - len(found)]).max() < 1e-6  # the hub and rotors turn anywhere


def test_few_modes_without_any_constraint():
    bodies = [quirk.Body(f"b{k}", 1.0 + k, [0.1, 0.2, 0.3], position=[k, 0, 0]) for k in range(4)]
    mounts = [
        quirk.Bushing(f"m{k}", i, j, point=[k - 0.5, 0, 0], stiffness=[40, 50, 60, 3, 4, 5])
        for k, (i, j) in enumerate(zip([quirk.GROUND, *bodies], bodies, strict=False))
    ]
    system = quirk.System([*bodies, *mounts])
    np.testing.assert_allclose(system.modes(count=3).frequencies, system.modes().frequencies[:3], rtol=1e-9)


def hung(count, length, mass, time):
    """Links on bushings and hinges with servos, of which all is the same in such units of length, mass and time."""
    force = mass * length / time**2
    items, before = [], quirk.GROUND
    for k in range(count):
        inertia = mass * length**2 * np.array([0.02, 0.02, 0.001])
        link = quirk.Body(f"link {k}", mass, inertia, position=[0, 0, -(k + 0.5) * length])
        point = [0, 0, -k * length]
        if k % 3 == 0:
            stiffness = np.repeat([1e5 * force / length, 10 * force * length], 3)
            damping = np.repeat([10 * force * time / length, 0.02 * force * length * time], 3)
            joint = quirk.Bushing(f"joint {k}", before, link, point=point, stiffness=stiffness, damping=damping)
        else:
            joint = quirk.Revolute(f"joint {k}", before, link, point=point, axis=[0, 1, 0])
        items += [link, joint]
        if k % 3 == 1:
            torque = force * length
            gains = {"kp": 5 * torque, "ki": torque / time, "kd": 0.1 * torque * time}
            items.append(quirk.Controller(f"servo {k}", joint, 0.0, **gains))
        before = link
    return quirk.System(items, gravity=[0, 0, -G * length / time**2])


UNITS = [(1.0, 1.0, 1e-6), (1e-5, 1e-11, 1e-6), (1e3, 1e9, 60.0), (1e9, 1e20, 1e9)]


@pytest.mark.parametrize(("length", "mass", "time"), study(UNITS, {UNITS[0], UNITS[3]}))
def test_modes_do_not_depend_on_units(length, mass, time):
    """Of what takes microseconds or years as of what takes seconds: all modes, and the slowest of many and of few."""
    for count in (6, 12):
        reference, system = hung(count, 1.0, 1.0, 1.0), hung(count, length, mass, time)
        wanted, rest = reference.modes(reference.equilibrium()).eigenvalues, system.equilibrium()
        np.testing.assert_allclose(time * system.modes(rest).eigenvalues, wanted, rtol=1e-8)
        np.testing.assert_allclose(time * rest.eigenvalues[0], wanted[0], rtol=1e-8)
        few = system.modes(rest, count=12)
        np.testing.assert_allclose(time * few.eigenvalues, wanted[:12], rtol=1e-8)
        now, rates = few.shapes[:, :, :6], few.shapes[:, :, 6:]
        np.testing.assert_allclose(rates, few.eigenvalues[:, None, None] * now, atol=1e-6 * np.abs(rates).max())


@pytest.mark.parametrize(("length", "mass", "time"), study(UNITS, {UNITS[1], UNITS[3]}))
def test_steady_motions_do_not_depend_on_units(length, mass, time):
    """A hub that turns, with arms on hinges across their length."""

    def turning(length, mass, time):
        inertia = mass * length**2 * np.array([0.02, 0.1, 0.1])
        spin = np.array([0, 0, 2.0 / time])
        hub = quirk.Body("hub", 10 * mass, 40 * inertia[1:].sum() * np.array([0.7, 0.7, 1.0]), angular_velocity=spin)
        items = [hub, quirk.Revolute("axle", quirk.GROUND, hub, point=[0, 0, 0], axis="z")]
        for k in range(4):
            a = 0.5 * np.pi * k
            out, across = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
            placed = {"position": 1.5 * length * out, "orientation": [np.cos(a / 2), 0, 0, np.sin(a / 2)]}
            moving = {"velocity": 3.0 * length / time * across, "angular_velocity": spin}
            arm = quirk.Body(f"arm {k}", (1 + 0.1 * k) * mass, inertia, **placed, **moving)
            hinge = quirk.Revolute(f"hinge {k}", hub, arm, point=length * out, axis=across)
            torque = mass * length**2 / time**2
            coil = quirk.TorsionSpring(f"coil {k}", hinge, stiffness=(5 + k) * torque, damping=0.1 * torque * time)
            items += [arm, hinge, coil]
        return quirk.System(items)

    wanted, found = turning(1.0, 1.0, 1.0).modes(), turning(length, mass, time).modes()
    assert found.about == wanted.about == "steady motion"
    np.testing.assert_allclose(time * found.eigenvalues, wanted.eigenvalues, rtol=1e-9, atol=1e-12)


def test_few_modes_ask_for_rest_or_a_steady_motion():
    tumbling = quirk.Body("tumbling", 1.0, [0.1, 0.2, 0.25], angular_velocity=[1, 1, 1])
    others = [quirk.Body(f"other {k}", 1.0, [0.1, 0.1, 0.1]) for k in range(3)]
    with pytest.raises(quirk.InputError, match="this state is neither"):
        quirk.System([tumbling, *others]).modes(count=1)


def test_internal_variables_are_part_of_modes():
    """A servo with an integral, all modes and the slowest by sparse matrices."""
    arm = quirk.Body("arm", 1.0, [0.2, 0.2, 0.01], position=[0, 0, -0.5])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis=[0, 1, 0])
    servo = quirk.Controller("servo", hinge, target=quirk.Motion.polynomial([0.0]), kp=3.0, ki=2.0, kd=0.3)
    system = quirk.System([arm, hinge, servo], gravity=[0, 0, -G])
    modes = system.modes()
    wanted = np.roots([0.45, 0.3, 0.5 * G + 3.0, 2.0])  # J s^3 + kd s^2 + (m g l + kp) s + ki
    assert np.abs(modes.eigenvalues[0] - wanted[np.argmin(np.abs(wanted))]) < 1e-13
    few = system.modes(count=1)
    assert np.abs(few.eigenvalues - modes.eigenvalues[0]) < 1e-11
    np.testing.assert_allclose(few.internal, modes.internal[:1], rtol=1e-9)


def leaning_door():
    """A door on two hinges of which one would do, whose line leans: it falls shut to where it hangs lowest."""
    door = quirk.Body.box("door", 20.0, [1.0, 0.05, 2.0], position=[0.5, 0, 0])
    line = np.array([0.0, 0.3, 1.0])
    hinges = [quirk.Revolute(name, quirk.GROUND, door, point=z * line, axis=line) for name, z in
              (("upper", 0.8), ("lower", -0.8))]  # fmt: skip
    return quirk.System([door, *hinges, quirk.JointTorque("latch", hinges[0], 0.0)], gravity=[0, 0, -G])


def test_an_equilibrium_as_text():
    found = leaning_door().equilibrium()
    text = str(found)
    assert "equilibrium of 1 body at t = 0 s" in text and "stable: eigenvalues ± " in text
    angle = float(text.split("upper.angle")[1].split()[0])
    assert abs(angle) > 1.0 and abs(angle - found.angles["upper"][2]) < 1e-5
    upper = [float(word) for word in text.split("\nupper  ")[-1].split("\n")[0].split()]
    np.testing.assert_allclose(upper[:3], found.loads["upper"].force, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(upper[3:], found.loads["upper"].torque, rtol=1e-5, atol=1e-9)
    assert text.endswith("not unique, shared by least squares: upper, lower")
    assert "e-1" not in "\n".join(text.split("\n")[4:])  # of round-off beside other numbers nothing is shown
    assert found.residual < 1e-13


def test_text_of_a_large_equilibrium_is_short():
    bodies = [quirk.Body.sphere(f"b{k}", 1.0, 0.1, position=[0, 0, -k - 1.0]) for k in range(70)]
    hinges = [
        quirk.Revolute(f"j{k}", bodies[k - 1] if k else quirk.GROUND, body, point=[0, 0, -k], axis="y")
        for k, body in enumerate(bodies)
    ]
    text = str(quirk.System([*bodies, *hinges], gravity=[0, 0, -G]).equilibrium())
    assert len(text.split("\n")) < 36 and "ask for .stable" in text and "and 58 more joint coordinates" in text
    assert "and 58 more loads, smaller" in text and text.endswith("all joint loads are unique")


def test_analyses_of_an_equilibrium_keep_closed_what_pushes():
    """A ball of radius r rolls without friction in a bowl of radius R: it swings with the rate sqrt(g / (R - r))."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, -1.9])
    bowl = quirk.surface.bowl(2.0), quirk.surface.sphere(0.1)
    contact = quirk.Contact("contact", quirk.GROUND, ball, on_i=bowl[0], on_j=bowl[1])
    system = quirk.System([ball, contact], gravity=[0, 0, -9.81])
    rest = system.equilibrium()
    rate = np.sqrt(9.81 / 1.9)
    for values in (rest.eigenvalues, system.modes(rest).eigenvalues, np.linalg.eigvals(system.linearize(rest).A)):
        assert np.sort(np.abs(values))[-1] == pytest.approx(rate, rel=1e-6)
    assert np.abs(system.acceleration(rest).linear).max() < 1e-12
    np.testing.assert_allclose(system.joint_loads(rest)["contact"].force, [0, 0, 9.81], atol=1e-9)


def test_analyses_of_a_state_have_the_parts_that_events_have_switched_and_replaced():
    """A spring is replaced by another one, and a lock engages: the state of the run says so."""
    box = quirk.Body.box("box", 2.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, box, point=[0, 0, 0], axis="x")
    weak, strong = (quirk.Spring("spring", quirk.GROUND, box, stiffness=k, rest_length=0.5) for k in (5.0, 9.0))
    lock = quirk.Fixed("lock", quirk.GROUND, box, active=False)
    change = quirk.Event("change", "time", level=1.0, action=quirk.replace("spring", strong))
    system = quirk.System([box, rail, weak, lock, change])
    result = quirk.simulate(system, 1.5, output=0.5)
    state = result.state_at()
    np.testing.assert_allclose(system.acceleration(state).linear[0], result["box"].acceleration[-1], rtol=1e-12)
    assert system.modes(state).eigenvalues.imag.max() == pytest.approx(np.sqrt(9.0 / 2.0), rel=1e-6)
    state.switched = {"lock": True}
    assert system.mobility(state).degrees_of_freedom == 0
    assert "lock" in system.joint_loads(state)
    assert system.mobility().degrees_of_freedom == 1
