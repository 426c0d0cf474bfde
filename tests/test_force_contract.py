"""What every force element keeps, whatever it is: every exported class is found, and must have a builder here."""

import inspect

import numpy as np
import pytest
from mechanisms import random_quaternion
from test_derivatives import AlongMotion

import quirk
from quirk import forces, rotation
from quirk.dynamics.applied import exerted
from quirk.dynamics.towers import MotionTower

KINDS = sorted(name for name in forces.__all__ if name != "ForceElement")
# When, and along which random motion: one that keeps clear of half a turn.
T, MOTION = 0.3, 19


class Units:
    """SI units over those in which a system is written: metres, kilograms and seconds as numbers."""

    def __init__(self, length=1.0, mass=1.0):
        self.m, self.kg = length, mass
        self.N, self.Nm = mass * length, mass * length**2


SI = Units()


class Place:
    """How N is turned and moved: of points and of directions, in the units."""

    def __init__(self, units=SI, R=None, offset=(0, 0, 0)):
        self.units, self.R, self.offset = units, np.eye(3) if R is None else R, np.array(offset, dtype=float)

    def point(self, r):
        return self.units.m * (self.R @ r + self.offset)

    def direction(self, v):
        return self.R @ np.asarray(v, dtype=float)


def motion(scale=1.0):
    return quirk.Motion.polynomial(scale * np.array([0.4, -0.3, 0.5, 0.2, -0.1]))


def through_time(w, R, scale):
    """Three components of a vector in N over time, turned by R."""
    series = scale * R @ np.array(w)
    return [quirk.Motion.polynomial(row) for row in series]


def of_body(u, p):
    """A force as a function of the motion of its body, for any units and any N."""
    N, m, R = u.N, u.m, p.R

    def f(t, position, orientation, velocity, angular_velocity):
        return (np.sin(t) * N / m) * velocity + R @ np.array([angular_velocity[1] * N, 0.0, 0.5 * N])

    return f


def of_pair(scale, m):
    def f(t, displacement, velocity, rotation, angular_velocity):
        return scale * (np.cross(displacement / m, rotation) - 0.3 * velocity / m + np.cos(t) * angular_velocity)

    return f


def energy_of(u, p):
    J, m, R, offset = u.Nm, u.m, p.R, p.offset

    def f(t, r_1, R_1, r_2, R_2):
        d = (r_1 - r_2) / m
        return J * ((d @ d) ** 2 + R_1[:, 0] @ R_2[:, 1] + np.sin(t) * (R.T @ (r_1 / m) - R.T @ offset)[2])

    return f


A6 = np.random.default_rng(8).normal(size=(6, 6))
K6, C6 = A6 @ A6.T + np.eye(6), A6.T @ A6


def six(u, matrix):
    """Stiffness or damping in units: forces and torques over displacements and angles."""
    scale = np.sqrt(u.kg) * np.array([1, 1, 1, u.m, u.m, u.m])
    return matrix * np.outer(scale, scale)


# Of each class variants, each from bodies a and b, a cylindrical joint between them, units and the place of N.
BUILDERS = {
    "Actuator": [
        lambda a, b, joint, u, p: quirk.Actuator("f", joint, 0.7 * u.Nm, limits=1.0 * u.Nm, coordinate="rotation"),
        lambda a, b, joint, u, p: quirk.Actuator("f", joint, lambda t, x, rate: u.N * (x / u.m - rate / u.m),
                                                 limits=[-90.0 * u.N, 90.0 * u.N], coordinate="translation"),
    ],
    "Bushing": [
        lambda a, b, joint, u, p: quirk.Bushing("f", a, b, point=p.point([0.1, 0.4, 0.2]), stiffness=u.kg * np.array(
            [3, 3, 3, 2 * u.m**2, 2 * u.m**2, 2 * u.m**2]), damping=u.kg * np.array([1, 1, 1, 0, 0, 0])),
        lambda a, b, joint, u, p: quirk.Bushing("f", a, b, frame_i=joint.frame_i, frame_j=joint.frame_j,
                                                stiffness=six(u, K6), damping=six(u, C6),
                                                preload=np.array([1.0, 2, 3, 4 * u.m, 5 * u.m, 6 * u.m]) * u.N),
        lambda a, b, joint, u, p: quirk.Bushing("f", a, b, frame_i=joint.frame_i, frame_j=joint.frame_j,
                                                stiffness=six(u, A6)),
    ],
    "Controller": [
        lambda a, b, joint, u, p: quirk.Controller("f", joint, motion(), kp=3.0 * u.Nm, kd=0.4 * u.Nm,
                                                   limits=50.0 * u.Nm, coordinate="rotation"),
        lambda a, b, joint, u, p: quirk.Controller("f", joint, 0.3 * u.m, kp=3.0 * u.kg, coordinate="translation"),
    ],
    "Damper": [
        lambda a, b, joint, u, p: quirk.Damper("f", a, b, u.m * np.array([0.1, 0, 0]), [0, 0, 0], damping=3.0 * u.kg),
    ],
    "Damping": [
        lambda a, b, joint, u, p: quirk.Damping("f", translational=2.0 * u.kg, rotational=0.3 * u.Nm),
        lambda a, b, joint, u, p: quirk.Damping("f", b, translational=2.0 * u.kg, rotational=0.3 * u.Nm),
    ],
    "Drag": [
        lambda a, b, joint, u, p: quirk.Drag("f", b, u.m**2 * np.array([0.3, 0.5, 0.1]), density=1.2 * u.kg / u.m**3,
                                             wind=p.direction([u.m, 2 * u.m, 0]), point=[0, 0.1 * u.m, 0]),
        lambda a, b, joint, u, p: quirk.Drag(
            "f", b, 0.3 * u.m**2, density=lambda t, r: u.kg / u.m**3 * np.exp(-(p.R.T @ (r / u.m) - p.R.T @ p.offset)[2]),
            wind=lambda t, r: 5 * u.m * np.cos(t) * p.R[:, 0]),
    ],
    "Force": [
        lambda a, b, joint, u, p: quirk.Force("f", b, p.direction([1, 2, 3]) * u.N, point=[0.2 * u.m, 0, 0]),
        lambda a, b, joint, u, p: quirk.Force("f", b, of_body(u, p), point=[0.2 * u.m, 0, 0]),
        lambda a, b, joint, u, p: quirk.Force("f", b, [motion(u.N), 0.5 * u.N, motion(-u.N)], frame="body"),
    ],
    "GravityGradient": [
        lambda a, b, joint, u, p: quirk.GravityGradient("f", a, b, mu=5.0 * u.m**3),
    ],
    "Interaction": [
        lambda a, b, joint, u, p: quirk.Interaction("f", a, b, u.m * np.array([0.1, 0, 0]), u.m * np.array([0, 0.2, 0]),
                                                    force=of_pair(u.N, u.m), torque=of_pair(u.Nm, u.m)),
        lambda a, b, joint, u, p: quirk.Interaction("f", a, b, force=of_pair(u.N, u.m), frame="i"),
        lambda a, b, joint, u, p: quirk.Interaction("f", a, b, torque=of_pair(u.Nm, u.m), frame="j"),
    ],
    "JointForce": [
        lambda a, b, joint, u, p: quirk.JointForce("f", joint, motion(u.N)),
        lambda a, b, joint, u, p: quirk.JointForce("f", joint, lambda t, x, rate: -u.N * np.sin(x / u.m)),
    ],
    "JointFriction": [
        lambda a, b, joint, u, p: quirk.JointFriction("f", joint, viscous=0.3 * u.Nm, coulomb=0.5 * u.Nm,
                                                      static=0.8 * u.Nm, stribeck=1.0, creep=0.7,
                                                      coordinate="rotation"),
        lambda a, b, joint, u, p: quirk.JointFriction("f", joint, coulomb=0.5 * u.N, creep=0.7 * u.m,
                                                      coordinate="translation"),
    ],
    "JointTorque": [
        lambda a, b, joint, u, p: quirk.JointTorque("f", joint, motion(u.Nm)),
        lambda a, b, joint, u, p: quirk.JointTorque("f", joint, lambda t, x, rate: -u.Nm * x * rate),
    ],
    "PointGravity": [
        lambda a, b, joint, u, p: quirk.PointGravity("f", a, b, mu=5.0 * u.m**3, point=[0.1 * u.m, 0, 0]),
    ],
    "Potential": [
        lambda a, b, joint, u, p: quirk.Potential("f", [a, b], energy_of(u, p)),
    ],
    "ReactionWheel": [
        lambda a, b, joint, u, p: quirk.ReactionWheel("f", b, [1, 2, 0], 0.2 * u.Nm, motion(30.0)),
    ],
    "Spring": [
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, u.m * np.array([0.1, 0, 0]), [0, 0, 0], stiffness=20.0 * u.kg,
                                               damping=2.0 * u.kg, rest_length=0.2 * u.m),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, stiffness=20.0 * u.kg, rest_length=0.0),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, stiffness=20.0 * u.kg, damping=2.0 * u.kg,
                                               rest_length=0.2 * u.m, one_sided="tension"),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, stiffness=20.0 * u.kg, damping=2.0 * u.kg,
                                               rest_length=9.0 * u.m, one_sided="compression"),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, law=(u.m * np.linspace(0, 4, 4), u.N * np.array([-3, 0, 1, 9])),
                                               damping=1.0 * u.kg, rest_length=0.7 * u.m),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, law=lambda x, rate: u.N * ((x / u.m) ** 3 + rate / u.m)),
    ],
    "Thruster": [
        lambda a, b, joint, u, p: quirk.Thruster("f", b, 3.0 * u.N, [1, 1, 0], throttle=motion(), point=[0, 0, 0.1 * u.m]),
        lambda a, b, joint, u, p: quirk.Thruster("f", b, 3.0 * u.N, "x", throttle=lambda t, r, q, v, w: np.tanh(w @ w)),
    ],
    "Torque": [
        lambda a, b, joint, u, p: quirk.Torque("f", b, [1.0 * u.Nm, motion(u.Nm), 0]),
        lambda a, b, joint, u, p: quirk.Torque("f", b, p.direction([1, 2, 3]) * u.Nm, frame="inertial"),
    ],
    "TorsionSpring": [
        lambda a, b, joint, u, p: quirk.TorsionSpring("f", joint, stiffness=2.0 * u.Nm, damping=0.1 * u.Nm,
                                                      rest_angle=0.3),
    ],
    "UniformField": [
        lambda a, b, joint, u, p: quirk.UniformField("f", acceleration=p.direction([1, 2, -9]) * u.m),
        lambda a, b, joint, u, p: quirk.UniformField("f", [a, b], acceleration=through_time(
            [[1, 2], [0, -1], [-9, 0.5]], p.R, u.m)),
    ],
}  # fmt: skip

# What takes or gives momentum from outside: the load on all bodies is not zero.
FROM_OUTSIDE = {"Damping", "Drag", "Force", "Potential", "ReactionWheel", "Thruster", "Torque", "UniformField"}
VARIANTS = [pytest.param(kind, n, id=f"{kind}-{n}") for kind in KINDS for n in range(len(BUILDERS.get(kind, [0])))]


def system_with(kind, variant, seed=0, place=None):
    """Two bodies on a cylindrical joint and an element, moving; the same in any units and wherever N is."""
    place, rng = place or Place(), np.random.default_rng(seed)
    u = place.units

    def body(name):
        r, v, w = rng.uniform(-1, 1, 3), rng.normal(size=3), rng.normal(size=3)
        inertia = 0.1 * u.Nm * np.diag(rng.uniform(1.0, 1.6, 3))
        q = rotation.multiply(rotation.from_matrix(place.R), random_quaternion(rng))
        return quirk.Body(name, u.kg * rng.uniform(0.5, 2), inertia, position=place.point(r), orientation=q,
                          velocity=u.m * place.direction(v), angular_velocity=w)  # fmt: skip

    a, b = body("a"), body("b")
    # Open, and with frames apart, so that all its coordinates differ from zero.
    frames = [quirk.Frame(0.3 * u.m * rng.normal(size=3), random_quaternion(rng)) for _ in range(2)]
    joint = quirk.Cylindrical("joint", a, b, frame_i=frames[0], frame_j=frames[1], active=False)
    return quirk.System([a, b, joint, BUILDERS[kind][variant](a, b, joint, u, place)])


def loads_at(system, state, t=T, order=0, tower=None):
    element = system["f"]
    rows = next(rows for of, rows in system.model.forces if of is element)
    if tower is None:
        kin = quirk.state.Kinematics.of(state)
        tower = MotionTower.of(kin, order + 1)
    return exerted(element, rows, tower, t, order, {"joint": np.zeros(3)}), rows


def test_every_class_has_a_builder():
    missing = [name for name in KINDS if name not in BUILDERS]
    assert not missing, f"force classes without a builder here: {missing}"
    assert all(issubclass(getattr(quirk, name), quirk.ForceElement) for name in KINDS)
    exported = {name for name in dir(quirk) if inspect.isclass(getattr(quirk, name))
                and issubclass(getattr(quirk, name), quirk.ForceElement)}  # fmt: skip
    assert exported == {*KINDS, "ForceElement"}


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_machine_code_does_what_the_reference_does(kind, variant):
    in_python = system_with(kind, variant).solver().applied.in_python
    assert str(system_with(kind, variant)["f"]) not in in_python
    for seed in range(3):
        system = system_with(kind, variant, seed)
        state = system.initial_state()
        dense, sparse = (system.acceleration(state, T, solver) for solver in ("dense", "sparse"))
        assert max(np.abs(dense.linear).max(), np.abs(dense.angular).max()) > 0
        for name in ("linear", "angular"):
            one, other = getattr(dense, name), getattr(sparse, name)
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12 * (1 + np.abs(one).max()))


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_action_and_reaction_cancel_with_their_moments(kind, variant):
    for seed in range(3):
        system = system_with(kind, variant, seed)
        state = system.initial_state()
        found, rows = loads_at(system, state)
        force, moment = found.loads[:, 0, :3], found.loads[:, 0, 3:]
        whole = np.array([force.sum(axis=0), (moment + np.cross(state.position[list(rows)], force)).sum(axis=0)])
        limit = 1e-13 * (1 + np.abs(found.loads).max())
        assert (np.abs(whole).max() < limit) == (kind not in FROM_OUTSIDE)


def tower_of(motion, order):
    """A motion of two bodies and the ground with derivatives of its velocities up to an order."""
    state = motion.at(0.0)
    factorial = np.cumprod([1.0, 1, 2, 3, 4])
    position = np.zeros((3, order + 2, 3))
    position[:2, :5] = np.swapaxes(motion.r[..., :3] * factorial[:, None, None], 0, 1)[:, : order + 2]
    omega = np.zeros((3, order + 1, 3))
    omega[:2] = np.swapaxes(motion.differentiated(lambda t: motion.at(t).angular_velocity, order), 0, 1)
    return MotionTower.in_body_axes(position, np.append(state.orientation, [[1.0, 0, 0, 0]], axis=0), omega)


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_derivatives_of_loads(kind, variant):
    """Those along a motion, to the fourth, are what differentiation of the loads gives."""
    system, along = system_with(kind, variant), AlongMotion(MOTION)
    got, _ = loads_at(system, None, order=4, tower=tower_of(along, 4))
    want = along.differentiated(lambda t: loads_at(system, along.at(t), T + t)[0].loads[:, 0], 4)
    for k in range(5):
        # Differences lose digits with each order, of all that the loads are.
        np.testing.assert_allclose(
            got.loads[:, k], want[k], rtol=1e-7, atol=1e-7 * (1 + np.abs(want[:k]).max(initial=0))
        )


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_stored_energy_is_the_work_of_what_acts_at_rest(kind, variant):
    """At rest nothing but the stored energy acts; its loads take from the energy what they do on a motion."""
    system, along = system_with(kind, variant), AlongMotion(MOTION)
    element = system["f"]
    energy = along.differentiated(lambda t: loads_at(system, along.at(t))[0].energy, 1)
    if not element.stores:
        assert (energy == 0).all()
        return
    if getattr(element, "law", None) is not None or getattr(element, "circulates", False):
        return  # a part that stores nothing acts at rest, too
    state = along.at(0.0)
    spin = np.einsum("nij,nj->ni", rotation.matrix(state.orientation), state.angular_velocity)
    twist = np.append(np.hstack([state.velocity, spin]), np.zeros((1, 6)), axis=0)
    state.velocity[:], state.angular_velocity[:] = 0, 0
    found, rows = loads_at(system, state)
    power = np.sum(found.loads[:, 0] * twist[list(rows)])
    np.testing.assert_allclose(power, -energy[1], rtol=1e-10, atol=1e-10)
    if element.conservative:
        moving, _ = loads_at(system, along.at(0.0))
        np.testing.assert_allclose(moving.loads, found.loads, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_wherever_the_inertial_frame_is(kind, variant):
    R = rotation.matrix(random_quaternion(np.random.default_rng(3)))
    here, there = system_with(kind, variant), system_with(kind, variant, place=Place(R=R, offset=[3, -2, 5]))
    one, other = (system.acceleration(system.initial_state(), T) for system in (here, there))
    scale = 1 + max(np.abs(one.linear).max(), np.abs(one.angular).max())
    np.testing.assert_allclose(other.linear, one.linear @ R.T, atol=1e-12 * scale)
    np.testing.assert_allclose(other.angular, one.angular, atol=1e-12 * scale)
    energies = [loads_at(system, system.initial_state())[0].energy for system in (here, there)]
    if kind != "UniformField":  # whose energy is counted from the origin of N
        np.testing.assert_allclose(*energies, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_whatever_the_units(kind, variant):
    """Millimetres and grams give the same motion and energy."""
    small = Units(1e3, 1e3)
    si, mm = system_with(kind, variant), system_with(kind, variant, place=Place(small))
    one, other = (system.acceleration(system.initial_state(), T) for system in (si, mm))
    scale = 1 + max(np.abs(one.linear).max(), np.abs(one.angular).max())
    np.testing.assert_allclose(other.linear / small.m, one.linear, atol=1e-12 * scale)
    np.testing.assert_allclose(other.angular, one.angular, atol=1e-12 * scale)
    energies = [loads_at(system, system.initial_state())[0].energy for system in (si, mm)]
    np.testing.assert_allclose(energies[1] / small.Nm, energies[0], rtol=1e-12, atol=1e-12)
