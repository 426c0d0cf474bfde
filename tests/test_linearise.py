"""Linear systems of small motions: against published eigenvalues, closed forms and differences of the motion itself."""

import json
from pathlib import Path

import numpy as np
import pytest
from bicycle import bicycle, published_matrix
from differences import extrapolated
from scipy.optimize import brentq

import quirk
from quirk import rotation

G = 9.81
BICYCLE = json.loads((Path(__file__).parent / "data" / "published" / "bicycle_eigenvalues.json").read_text())


def nearest(found, wanted):
    """How far each wanted eigenvalue is from the next one found."""
    return max(np.abs(found - value).min() for value in np.atleast_1d(wanted))


def pendulum(mass=1.3, length=0.8, *more, angle=0.0, rate=0.0, gravity=G):
    """A rod on a hinge about y, hanging down at angle zero."""
    arm = 0.5 * length * np.array([-np.sin(angle), 0, -np.cos(angle)])
    inertia = mass * length**2 / 12
    turn = {"orientation": [np.cos(angle / 2), 0, np.sin(angle / 2), 0], "angular_velocity": [0, rate, 0]}
    velocity = np.cross([0, rate, 0], arm)
    rod = quirk.Body("rod", mass, [inertia, inertia, 0.01 * inertia], position=arm, velocity=velocity, **turn)
    frames = {"frame_i": quirk.Frame(rotation=AXIS_Y), "frame_j": quirk.Frame([0, 0, length / 2], AXIS_Y)}
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, **frames)
    return quirk.System([rod, hinge, *(one(rod, hinge) for one in more)], gravity=[0, 0, -gravity])


# Turns z of a frame to y.
AXIS_Y = [np.sqrt(0.5), -np.sqrt(0.5), 0, 0]


@pytest.mark.parametrize("speed", BICYCLE["running"])
def test_published_eigenvalues_of_the_bicycle(speed):
    real, imaginary, capsize, caster = BICYCLE["running"][speed]
    linear = bicycle(float(speed)).linearize()
    assert linear.about == "steady motion"
    assert linear.A.shape == (10, 10)  # seven coordinates, of which four alone have a speed of their own less one
    wanted = [real + 1j * imaginary, real - 1j * imaginary, capsize, caster]
    assert nearest(linear.eigenvalues, wanted) < 2e-12
    assert nearest(linear.eigenvalues, np.linalg.eigvals(published_matrix(float(speed)))) < 2e-12
    assert (linear.eigenvalues == 0).sum() == 6  # where it is, where it heads, how far the wheels are, and its speed


def test_bicycle_at_its_critical_speeds():
    standing = bicycle(0.0).linearize()
    assert standing.about == "equilibrium"
    assert nearest(standing.eigenvalues, [s * x for s in (1, -1) for x in BICYCLE["standing"]]) < 1e-12

    def weave(speed):
        return max(bicycle(speed).linearize().eigenvalues, key=lambda value: value.imag)

    found = brentq(lambda speed: weave(speed).real, 4.2, 4.4, xtol=1e-13)
    assert abs(found - BICYCLE["weave_speed"]["speed"]) < 1e-12
    assert abs(weave(found).imag - BICYCLE["weave_speed"]["frequency"]) < 1e-11

    def capsize(speed):
        values = bicycle(speed).linearize().eigenvalues
        return max((v.real for v in values if v != 0 and v.imag == 0 and v.real > -1), default=0.0)

    assert abs(brentq(capsize, 5.9, 6.1, xtol=1e-13) - BICYCLE["capsize_speed"]) < 1e-10


def test_pendulum_in_named_coordinates():
    def motor(rod, hinge):
        return quirk.JointTorque("motor", hinge, 0.0)

    def push(rod, hinge):
        return quirk.Force("push", rod, [0, 0, 0])

    m, length = 1.3, 0.8
    system = pendulum(m, length, motor, push)
    outputs = ["hinge.angle", "rod.position.x", "hinge.force.x", "hinge.force.z", "energy.total"]
    linear = system.linearize(inputs=["motor", "push.x"], outputs=outputs, coordinates=["hinge.angle"])
    inertia = m * length**2 / 3
    assert linear.states == ["hinge.angle", "hinge.angle_rate"]
    np.testing.assert_allclose(linear.A, [[0, 1], [-m * G * length / 2 / inertia, 0]], atol=1e-13)
    # A push to +x at the lower end turns it backwards about y.
    B = np.array([[0, 0], [1, -length / 2]]) / inertia
    np.testing.assert_allclose(linear.B, B, atol=1e-13)
    acceleration = np.array([linear.A[1, 0], 0.0])  # of the angle, by the angle and its rate
    np.testing.assert_allclose(linear.C[:2], [[1, 0], [-length / 2, 0]], atol=1e-14)
    np.testing.assert_allclose(linear.C[2], -m * length / 2 * acceleration, atol=1e-12)
    np.testing.assert_allclose(linear.D[2], -m * length / 2 * B[1] - [0, 1], atol=1e-13)
    np.testing.assert_allclose(linear.C[3:], 0, atol=1e-12)
    np.testing.assert_allclose(linear.output_values[2:4], [0, m * G], atol=1e-12)
    np.testing.assert_allclose(linear.motion([1.0, 0.0])[0, :6], [-length / 2, 0, 0, 0, 1, 0], atol=1e-14)


def double_pendulum():
    """Two rods with a spring and a damper, and a controller with an integral."""
    one = quirk.Body("one", 1.1, [0.1, 0.11, 0.02], position=[0, 0, -0.5])
    two = quirk.Body("two", 0.7, [0.05, 0.06, 0.01], position=[0.1, 0, -1.4])
    shoulder = quirk.Revolute("shoulder", quirk.GROUND, one, point=[0, 0, 0], axis=[0, 1, 0])
    elbow = quirk.Revolute("elbow", one, two, point=[0, 0, -1], axis=[0, 1, 0])
    spring = quirk.Spring("spring", quirk.GROUND, two, [0.5, 0, -1], [0.05, 0, 0.1], stiffness=30.0, damping=0.9)
    servo = quirk.Controller("servo", elbow, target=quirk.Motion.polynomial([0.4]), kp=3.0, ki=2.0, kd=0.3)
    return quirk.System([one, two, shoulder, elbow, spring, servo], gravity=[0, 0, -G])


def double_pendulum_at(x):
    """Its state at both angles, their rates, and the integral."""
    angles, rates = np.cumsum(x[:2]), np.cumsum(x[2:4])
    q = np.array([[np.cos(a / 2), 0, np.sin(a / 2), 0] for a in angles])
    R, omega = rotation.matrix(q), np.array([[0, rate, 0] for rate in rates])
    arms = R[0] @ [0, 0, -0.5], R[0] @ [0, 0, -1.0], R[1] @ [0.1, 0, -0.4]
    position = np.array([arms[0], arms[1] + arms[2]])
    elbow = np.cross(omega[0], arms[1])
    velocity = np.array([np.cross(omega[0], arms[0]), elbow + np.cross(omega[1], arms[2])])
    return quirk.State(position, q, velocity, omega, internal={"servo": [x[4]]})


def test_of_any_state_against_differences():
    """At an instant of a motion the matrices are the derivatives of the angles' accelerations."""
    start, system = np.array([0.4, -0.9, 1.2, -0.7, 0.25]), double_pendulum()

    def accelerations(x):
        one, two = system.acceleration(double_pendulum_at(x)).angular[:, 1]
        return np.array([one, two - one])

    linear = system.linearize(double_pendulum_at(start), coordinates=["shoulder", "elbow"])
    assert linear.about == "instant"
    assert linear.states[-1].startswith("servo.")
    wanted = [extrapolated(lambda h, e=e: accelerations(start + h * e)) for e in np.eye(5)]
    np.testing.assert_allclose(linear.A[2:4], np.transpose(wanted), atol=1e-10 * np.abs(linear.A).max())
    np.testing.assert_allclose(linear.A[:2], np.eye(5)[2:4], atol=1e-12)


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_rest_without_loads_and_a_start_from_rest(length):
    """Springs at their natural length leave round-off, which is none; a rod that is let go does not stay as it is."""
    for height in np.linspace(0.1, 0.9, 9) * length:
        pin = quirk.Body.sphere("pin", 1.0, 0.05 * length, position=[0, 0, height])
        rail = quirk.Prismatic("rail", quirk.GROUND, pin, point=[0, 0, 0], axis=[0, 0, 1])
        bars = [quirk.Spring(f"bar {x}", quirk.GROUND, pin, [x * length, 0, 0], [0, 0, 0], stiffness=500.0)
                for x in (-1, 1)]  # fmt: skip
        assert quirk.System([pin, rail, *bars]).linearize().about == "equilibrium"
    assert pendulum(1.3, length, angle=0.5).linearize().about == "instant"


def test_a_ball_that_falls_beside_a_stiff_spring_is_not_at_rest():
    """Round-off of the spring, of 1e14 N/m, is larger than gravity."""
    held, falls = (quirk.Body.sphere(name, 1.0, 0.05, position=[x, 0, 0]) for name, x in (("held", 0), ("falls", 1)))
    mount = quirk.Bushing("mount", quirk.GROUND, held, point=[0, 0, 0], stiffness=[1e14] * 3 + [1.0] * 3,
                          damping=[1e8] * 3 + [1.0] * 3)  # fmt: skip
    assert quirk.System([held, falls, mount], gravity=[0, 0, -G]).linearize().about == "instant"
    assert quirk.System([held, falls, mount]).linearize().about == "equilibrium"


def test_motions_of_drivers_are_inputs():
    """A pendulum on a cart that is moved: the hinge feels the cart's acceleration."""
    m, length = 0.6, 0.5
    cart = quirk.Body.box("cart", 2.0, [0.2, 0.2, 0.2])
    rod = quirk.Body("rod", m, [m * length**2 / 12] * 2 + [1e-4], position=[0, 0, -length / 2])
    rail = quirk.Prismatic("rail", quirk.GROUND, cart, axis=[1, 0, 0])
    hinge = quirk.Revolute("hinge", cart, rod, point=[0, 0, 0], axis=[0, 1, 0])
    drive = quirk.Drive("drive", rail, quirk.Motion.polynomial([0.0]))
    system = quirk.System([cart, rod, rail, hinge, drive], gravity=[0, 0, -G])
    for coordinates in (["hinge"], None):
        linear = system.linearize(
            inputs=[("drive", "motion")], outputs=["hinge.angle", "rod.position.x", "drive.force.x"],
            coordinates=coordinates,
        )  # fmt: skip
        assert linear.inputs == ["drive.motion", "drive.motion.rate", "drive.motion.acceleration"]
        # theta'' = -(3 g / 2 l) theta + (3 / 2 l) a, as a positive angle takes the rod to -x.
        s = 2.1j
        response = linear.C @ np.linalg.solve(s * np.eye(2) - linear.A, linear.B) + linear.D
        per_motion = response @ [1, s, s**2]
        angle = 1.5 / length * s**2 / (s**2 + 1.5 * G / length)
        place = 1 - length / 2 * angle
        force = 2.0 * s**2 + m * s**2 * place
        np.testing.assert_allclose(per_motion, [angle, place, force], rtol=1e-11)


def test_redundant_driven_and_in_other_units():
    """A door on two hinges in kilograms and meters, grams and millimeters, tons and kilometers: one mode, the same."""
    for length, mass in ((1.0, 1.0), (1e3, 1e3), (1e-3, 1e-3)):
        leaf = quirk.Body.box("leaf", 20.0 * mass, np.array([0.9, 0.04, 2.0]) * length,
                              position=np.array([0.45, 0, 1.0]) * length)  # fmt: skip
        hinges = [quirk.Revolute(f"hinge {z}", quirk.GROUND, leaf, point=[0, 0, z * length], axis=[0, 0, 1])
                  for z in (0.3, 1.7)]  # fmt: skip
        torsion = mass * length**2
        closer = quirk.TorsionSpring("closer", hinges[0], stiffness=6.0 * torsion, damping=8.0 * torsion)
        system = quirk.System([leaf, *hinges, closer], gravity=[0, 0, -G * length])
        linear = system.linearize()
        inertia = 20 * (0.9**2 / 3 + 0.04**2 / 12)
        assert linear.about == "equilibrium"
        assert nearest(linear.eigenvalues, np.roots([inertia, 8, 6])) < 1e-12
        assert len(linear.eigenvalues) == 2


def test_planar_bodies():
    bar = quirk.planar.PlanarBody.bar("bar", [0, 0], [0, -1.0], 2.0)
    pin = quirk.planar.Revolute("pin", quirk.GROUND, bar, point=[0, 0])
    system = quirk.System([bar, pin], gravity=[0, -G, 0])
    np.testing.assert_allclose(
        np.abs(system.linearize().eigenvalues), np.sqrt(2.0 * G * 0.5 / (bar.inertia[2, 2] + 0.5)), rtol=1e-12
    )


def test_exports():
    def motor(rod, hinge):
        return quirk.JointTorque("motor", hinge, 0.0)

    linear = pendulum(1.0, 1.0, motor).linearize(inputs=["motor"], outputs=["hinge.angle"], coordinates=["hinge.angle"])
    other = linear.to_scipy()
    np.testing.assert_array_equal(other.A, linear.A)
    bare = pendulum().linearize().to_scipy()
    assert bare.B.shape == (2, 1)
    control = pytest.importorskip("control")
    found = linear.to_control()
    assert isinstance(found, control.StateSpace)
    assert found.input_labels == ["motor"]
    np.testing.assert_array_equal(found.A, linear.A)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"coordinates": []}, "1 free coordinates; name 1 more"),
        ({"coordinates": ["hinge", "rod.position.x"]}, "only 1 are independent"),
        ({"coordinates": ["rod.speed"]}, "depends on more than poses"),
        ({"coordinates": ["hinge.force.x"]}, "is not a coordinate of joints or bodies"),
        ({"coordinates": "hinge"}, "must be a list"),
        ({"inputs": ["motr"]}, "'motr'; active force elements"),
        ({"inputs": [("spring", "mass")]}, "('spring', 'stiffness')"),
        ({"inputs": [("hinge", "motion")]}, "follows no motion"),
        ({"inputs": ["controlled"]}, "add an element of the same kind beside it"),
        ({"outputs": ["hinge.angel"]}, "no quantity is called"),
    ],
)
def test_mistakes_are_named(arguments, says):
    def spring(rod, hinge):
        return quirk.Spring("spring", quirk.GROUND, rod, stiffness=1.0, rest_length=0.3)

    def controlled(rod, hinge):
        return quirk.JointTorque("controlled", hinge, lambda t, angle, rate: -rate)

    with pytest.raises(quirk.InputError) as raised:
        pendulum(1.0, 1.0, spring, controlled).linearize(**arguments)
    assert says in str(raised.value)


def test_singular_states_are_refused():
    """A parallelogram laid flat can go on in two ways."""
    bars = [
        quirk.Body.box("a", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0]),
        quirk.Body.box("b", 1.0, [1, 0.1, 0.1], position=[1.5, 0, 0]),
        quirk.Body.box("c", 1.0, [1, 0.1, 0.1], position=[1.5, 0, 0]),
    ]
    links = [quirk.GROUND, *bars, quirk.GROUND]
    pins = [quirk.Revolute(f"pin {k}", links[k], links[k + 1], point=[x, 0, 0], axis=[0, 0, 1])
            for k, x in enumerate((0.0, 1.0, 2.0, 1.0))]  # fmt: skip
    with pytest.raises(quirk.InputError, match="singular"):
        quirk.System([*bars, *pins]).linearize()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_coordinates_that_change_by_round_off_alone_are_refused(scale):
    """The height of a pendulum that hangs a hair beside the vertical says nothing about its angle."""
    body = quirk.Body("bob", 1.0, np.full(3, 0.01 * scale**2), position=[6e-17 * scale, 0, -0.5 * scale])
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 1, 0])
    system = quirk.System([body, hinge], gravity=[0, 0, -9.81])
    with pytest.raises(quirk.InputError, match=r'"bob.position.z" does not change'):
        system.linearize(coordinates=["bob.position.z"])
    by_angle, by_place = (system.linearize(coordinates=[name]) for name in ("hinge.angle", "bob.position.x"))
    np.testing.assert_allclose(by_place.eigenvalues, by_angle.eigenvalues, rtol=1e-12, atol=1e-12)


def test_coordinates_of_heavy_bodies_count_beside_light_ones():
    """In the mass metric a heavy body moves by little; the frequencies of two like pendulums are the same."""
    parts = []
    for name, mass, x in (("light", 1e-3, 0.0), ("heavy", 1e17, 2.0)):
        bob = quirk.Body(name, mass, np.full(3, 0.01 * mass), position=[x, 0, -0.5])
        parts += [bob, quirk.Revolute(f"hinge {name}", quirk.GROUND, bob, point=[x, 0, 0], axis=[0, 1, 0])]
    system = quirk.System(parts, gravity=[0, 0, -9.81])
    found = system.linearize(coordinates=["hinge light.angle", "hinge heavy.angle"]).eigenvalues
    np.testing.assert_allclose(np.abs(found.imag), np.sqrt(9.81 * 0.5 / 0.26), rtol=1e-12)
