"""What every force element keeps, whatever it is: every exported class is found, and must have a builder here."""

import inspect

import numpy as np
import pytest
from along_motion import AlongMotion
from force_builders import BUILDERS, Place, Units
from mechanisms import random_quaternion

import quirk
from quirk import forces, rotation
from quirk.dynamics.model.applied_loads import exerted
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.forces.value import Value
from quirk.simulation.sensitivity.parameters import parameters_of
from quirk.simulation.sensitivity.part_parameters import reconstructed
from quirk.util.construction import made_with

# Friction is in proportion to loads of constraints, which are not those of its law alone: see test_friction.py. The
# control laws of robots and spacecraft act on systems of a form of their own: see test_robot_control.py and
# test_attitude_control.py.
ELSEWHERE = {"Friction", "AttitudeControl", "ComputedTorque", "GravityCompensation"}
KINDS = sorted(name for name in forces.__all__ if name not in {"ForceElement", *ELSEWHERE})
# When, and along which random motion: one that keeps clear of half a turn.
T, MOTION = 0.3, 19


# What takes or gives momentum from outside: the load on all bodies is not zero.
FROM_OUTSIDE = {"Damping", "Drag", "Force", "ForceField", "Potential", "PotentialField", "ReactionWheel", "Thruster",
                "Torque", "UniformField"}  # fmt: skip
VARIANTS = [pytest.param(kind, n, id=f"{kind}-{n}") for kind in KINDS for n in range(len(BUILDERS.get(kind, [0])))]
# The same, for tests that compile much code for each: by default the first of each kind.
FIRST_VARIANTS = [
    pytest.param(*variant.values, id=variant.id, marks=pytest.mark.slow if variant.values[1] else ())
    for variant in VARIANTS
]


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
        kin = quirk.bodies.state.Kinematics.of(state)
        tower = PoseDerivatives.of(kin, order + 1)
    return exerted(element, rows, tower, t, order, {"joint": np.zeros(3)}, {}), rows


def test_every_class_has_a_builder():
    missing = [name for name in KINDS if name not in BUILDERS]
    assert not missing, f"force classes without a builder here: {missing}"
    assert all(issubclass(getattr(quirk, name), quirk.ForceElement) for name in KINDS)
    exported = {name for name in dir(quirk) if inspect.isclass(getattr(quirk, name))
                and issubclass(getattr(quirk, name), quirk.ForceElement)}  # fmt: skip
    assert exported == {*KINDS, *ELSEWHERE, "ForceElement", "BeamSegment"}  # beams have tests of their own


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_machine_code_does_what_the_reference_does(kind, variant):
    in_python = system_with(kind, variant).plant.solver().applied.in_python
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
    return PoseDerivatives.in_body_axes(position, np.append(state.orientation, [[1.0, 0, 0, 0]], axis=0), omega)


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
    pulls = isinstance(element, quirk.Tendon) and (element.motions or element.functions)
    if pulls or getattr(element, "law", None) is not None or getattr(element, "circulates", False):
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
    """Millimeters and grams give the same motion and energy."""
    small = Units(1e3, 1e3)
    si, mm = system_with(kind, variant), system_with(kind, variant, place=Place(small))
    one, other = (system.acceleration(system.initial_state(), T) for system in (si, mm))
    scale = 1 + max(np.abs(one.linear).max(), np.abs(one.angular).max())
    np.testing.assert_allclose(other.linear / small.m, one.linear, atol=1e-12 * scale)
    np.testing.assert_allclose(other.angular, one.angular, atol=1e-12 * scale)
    energies = [loads_at(system, system.initial_state())[0].energy for system in (si, mm)]
    np.testing.assert_allclose(energies[1] / small.Nm, energies[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "variant"), VARIANTS)
def test_all_numbers_that_follow_from_an_argument_change_with_it(kind, variant):
    """Derivatives by what an element is made with, against differences of its numbers."""
    system = system_with(kind, variant)
    element = system["f"]
    for name, given in made_with(element).arguments.items():
        if name not in element.parameters or np.shape(given) != np.shape(_number(element, name)):
            continue
        (parameter,) = parameters_of(system, system.initial_state(), [("f", name)])
        value = np.asarray(given, dtype=float)
        for k, change in enumerate(parameter.changes):
            h = 1e-4 * (np.abs(value).max() or 1.0) * np.eye(value.size)[k].reshape(value.shape)
            try:
                one, other = (
                    reconstructed(element, {name: value + x}).placed(system.bodies, system.constraints).numbers
                    for x in (h, -h)
                )
            except quirk.InputError:
                continue  # there is no such element, as with a negative length
            found = change.numbers["law", "f", 0][: element.numbers.size]
            want = (one - other) / (2 * np.abs(h).max())
            np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9 * np.abs(want).max(), err_msg=name)


def _number(element, parameter):
    """A parameter of a law; a function or nothing has the shape of no number."""
    value = getattr(element, parameter)
    value = value.constant if isinstance(value, Value) else value
    return [[[]]] if value is None else value
