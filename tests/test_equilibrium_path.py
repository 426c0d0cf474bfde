"""Equilibria over a parameter through turning points, against closed forms."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from studies import study

import quirk
from quirk.analysis.linear.free_accelerations import accelerations
from quirk.analysis.linear.path_continuation import PathFollower

G = 9.81


# Systems built for a point of a path, at most: 4.5 to 5.9 are measured; more are built where Newton's method is slow.
MOST_BUILT = 6.5


@pytest.mark.parametrize("step", study([0.5, 0.25], 1))
def test_a_truss_snaps_through_at_its_limit_load(step, tmp_path):
    """Two springs between supports 2 b apart and a pin at height h, pushed down (von Mises)."""
    b, h, k = 1.0, 0.4, 500.0
    rest, built = np.hypot(b, h), []

    def build(force):
        built.append(force)
        pin = quirk.Body.sphere("pin", mass=1.0, radius=0.05, position=[0, 0, h])
        rail = quirk.Prismatic("rail", quirk.GROUND, pin, axis=[0, 0, 1], point=[0, 0, 0])
        bars = [quirk.Spring(f"bar {s}", quirk.GROUND, pin, [s * b, 0, 0], [0, 0, 0], stiffness=k, rest_length=rest)
                for s in (-1, 1)]  # fmt: skip
        return quirk.System([pin, rail, *bars, quirk.Force("load", pin, [0, 0, -force])])

    path = quirk.equilibrium_path(build, 0.0, 60.0, step=step)
    assert len(built) < MOST_BUILT * len(path.values)
    # F = 2 k z (rest / l - 1) is largest where l^3 = rest b^2.
    length = np.cbrt(rest * b**2)
    z = np.sqrt(length**2 - b**2)
    limit = 2 * k * z * (rest / length - 1)
    np.testing.assert_allclose(path.values[path.turning], [limit, -limit], rtol=1e-11)
    heights = path.of("pin.position.z")
    np.testing.assert_allclose(heights[path.turning], [z, -z], rtol=1e-8)
    forces = 2 * k * heights * (rest / np.hypot(b, heights) - 1)
    np.testing.assert_allclose(forces, path.values, atol=2e-11)
    assert path.values[-1] == pytest.approx(60.0, abs=1e-8)
    one, two = path.turning
    assert path.stable[:one].all()
    assert not path.stable[one + 1 : two].any()
    assert path.stable[two + 1 :].all()
    path.plot("pin.position.z", path=tmp_path / "path.png", size=(5, 4))


@pytest.mark.slow
def test_a_pendulum_under_a_growing_torque_turns_back_at_the_level():
    """m g l sin(angle) = torque has its fold at 90 degrees."""

    def build(torque):
        rod = quirk.Body.bar("rod", [0, 0, 0], [0, 0, -1], mass=2.0)
        hinges = [quirk.Revolute(f"{y}", quirk.GROUND, rod, point=[0, y, 0], axis=[0, 1, 0]) for y in (0, 1)]
        return quirk.System([rod, *hinges, quirk.JointTorque("motor", hinges[0], torque)], gravity=[0, 0, -G])

    path = quirk.equilibrium_path(build, 0.0, 12.0, step=0.1, most=20)
    np.testing.assert_allclose(path.values[path.turning][0], G, rtol=1e-12)
    angles = path.of("0.angle")
    np.testing.assert_allclose(angles[path.turning][0], np.pi / 2, rtol=1e-7)
    np.testing.assert_allclose(G * np.sin(angles), path.values, atol=1e-11)
    np.testing.assert_allclose(
        path.states[3].loads["0"].force + path.states[3].loads["1"].force, [0, 0, 2 * G], atol=1e-11
    )


def suspended(length, push=0.0):
    """A box between eight taut springs of a length, 2 m long when it is in the middle: all six freedoms are held."""
    corners = np.random.default_rng(3).uniform(-0.3, 0.3, (8, 3))
    anchors = corners + 2.0 * corners / np.linalg.norm(corners, axis=1)[:, None]
    box = quirk.Body.box("box", mass=2.0, size=[0.5, 0.4, 0.3])
    springs = [
        quirk.Spring(f"spring {i}", quirk.GROUND, box, anchor, corner, stiffness=400.0, rest_length=length)
        for i, (anchor, corner) in enumerate(zip(anchors, corners, strict=True))
    ]
    return quirk.System([box, *springs, quirk.Force("push", box, [push, 0, 2 * push])], gravity=[0, 0, -G])


def test_the_length_of_springs_as_the_parameter():
    path = quirk.equilibrium_path(suspended, 1.8, 1.2, step=0.2)
    assert path.values[-1] == pytest.approx(1.2, abs=1e-10)
    for value, state in zip(path.values, path.states, strict=True):
        alone = suspended(value).equilibrium(state)
        np.testing.assert_allclose(state.position, alone.position, atol=1e-12, err_msg=f"length {value}")
        np.testing.assert_allclose(state.orientation, alone.orientation, atol=1e-12, err_msg=f"length {value}")


def test_quantities_of_an_equilibrium_and_along_a_path():
    path = quirk.equilibrium_path(suspended, 1.8, 1.6, step=0.2)
    name = path.states[0].system.bodies[0].name
    heights = [state.position[0, 2] for state in path.states]
    np.testing.assert_allclose(path.of(f"{name}.position.z"), heights, rtol=1e-14)
    assert path.states[0].of(f"{name}.position.z") == pytest.approx(heights[0], rel=1e-14)
    with pytest.raises(quirk.InputError, match=r"^Equilibrium\.of: name: "):
        path.states[0].of(f"{name}.hight")
    with pytest.raises(quirk.InputError, match=r"^EquilibriumPath\.of: name: "):
        path.of(f"{name}.hight")


def test_tangents_do_not_depend_on_the_basis_of_what_is_free():
    """The slope of one place serves others, whose bases may be turned or opposite."""
    rng = np.random.default_rng(5)
    follower = PathFollower(lambda push: suspended(1.5, push), 10.0)
    system, state = follower.system_at(1.0)
    place = follower.path_point(1.0, system.equilibrium(state), system)
    slope = follower.slope(place)
    expected = follower.tangent(place, slope, None)
    for _ in range(3):
        turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        free = replace(place.free, velocities=place.free.velocities @ turn)
        g, K, _ = accelerations(free, 0)
        bodies, _, along = follower.tangent(replace(place, free=free, g=g, K=K), slope, None)
        np.testing.assert_allclose(bodies, expected[0], atol=1e-12, err_msg=f"basis turned by {turn}")
        assert along == pytest.approx(expected[2], abs=1e-12)


def test_paths_that_cannot_be_followed():
    def falling(force):
        ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
        return quirk.System([ball, quirk.Force("force", ball, [0, 0, force])], gravity=[0, 0, -G])

    with pytest.raises(quirk.InputError, match="falls freely"):
        quirk.equilibrium_path(falling, 0.0, 1.0)
    with pytest.raises(quirk.InputError, match="must return a System"):
        quirk.equilibrium_path(lambda value: None, 0.0, 1.0)
    with pytest.raises(quirk.InputError, match="start and stop must differ"):
        quirk.equilibrium_path(falling, 1.0, 1.0)


@pytest.mark.parametrize(
    ("radius", "unit"), study(itertools.product([1e-1, 1e-3, 1e-5], [1e-3, 1.0, 1e3]), {(1e-5, 1.0), (1e-3, 1e3)})
)
def test_an_equilibrium_many_sizes_of_the_system_away(unit, radius):
    """A small ball on a soft spring from the ground, of which the size of the system knows nothing."""
    ball = quirk.Body.sphere("ball", 1.0, unit * radius)
    spring = quirk.Spring("spring", quirk.GROUND, ball, [0, 0, unit], [0, 0, 0], stiffness=10.0 / unit)
    found = quirk.System([ball, spring], gravity=[0, 0, -G]).equilibrium()
    assert found.position[0, 2] == pytest.approx(-G / 10.0 * unit, rel=1e-10)


@pytest.mark.parametrize(("start", "unit"), study([(60.0, 1.0), (5.0, 1e3), (60.0, 1e-3)], 1))
def test_a_path_ends_where_nothing_is_loaded(start, unit):
    """Von Mises' truss from a load, in N per unit of length, to none: the pin is back where the springs are slack."""

    def build(force):
        pin = quirk.Body.sphere("pin", mass=1.0, radius=0.05 * unit, position=[0, 0, 0.4 * unit])
        rail = quirk.Prismatic("rail", quirk.GROUND, pin, axis=[0, 0, 1], point=[0, 0, 0])
        bars = [quirk.Spring(f"bar {s}", quirk.GROUND, pin, [s * unit, 0, 0], [0, 0, 0], stiffness=500.0)
                for s in (-1, 1)]  # fmt: skip
        return quirk.System([pin, rail, *bars, quirk.Force("load", pin, [0, 0, -force * unit])])

    path = quirk.equilibrium_path(build, start, 0.0)
    assert path.values[-1] == pytest.approx(0.0, abs=1e-20 * start)
    heights = path.of("pin.position.z") / unit
    rest = np.hypot(1.0, 0.4)
    assert abs(np.hypot(1.0, heights[-1]) - rest) < 1e-11
    forces = 2 * 500.0 * heights * (rest / np.hypot(1.0, heights) - 1)
    np.testing.assert_allclose(forces, path.values, atol=1e-9)


def test_a_path_ends_at_its_last_value():
    path = quirk.equilibrium_path(lambda push: suspended(1.5, push), 0.0, 0.7)
    assert path.values[-1] == pytest.approx(0.7, rel=1e-15)


# Units do not depend on the bumper: each with some of them.
BUMPERS = [(0.1, 1e3, 1.0), (0.3, 1e8, 1e3), (-0.3, 1e8, 1e-3), (0.3, 1e3, 1.0), (0.1, 1e8, 1e-3), (-0.3, 1e3, 1e3)]


@pytest.mark.parametrize(("height", "stiffness", "unit"), study(BUMPERS, 1))
def test_a_truss_meets_a_bumper(height, stiffness, unit):
    """Before its limit load, while it snaps through, where the load turns back at the corner, and behind."""
    rest = np.hypot(1.0, 0.4)

    def build(force):
        pin = quirk.Body.sphere("pin", mass=1.0, radius=0.05 * unit, position=[0, 0, 0.4 * unit])
        rail = quirk.Prismatic("rail", quirk.GROUND, pin, axis=[0, 0, 1], point=[0, 0, 0])
        bars = [quirk.Spring(f"bar {s}", quirk.GROUND, pin, [s * unit, 0, 0], [0, 0, 0], stiffness=500.0)
                for s in (-1, 1)]  # fmt: skip
        bumper = quirk.Spring("bumper", quirk.GROUND, pin, [0, 0, -5 * unit], [0, 0, 0], stiffness=stiffness,
                              rest_length=(5 + height) * unit, one_sided="compression")  # fmt: skip
        return quirk.System([pin, rail, *bars, bumper, quirk.Force("load", pin, [0, 0, -force * unit])])

    path = quirk.equilibrium_path(build, 0.0, 60.0, step=0.2)
    z = path.of("pin.position.z") / unit
    forces = 1000.0 * z * (rest / np.hypot(1.0, z) - 1) + stiffness * np.maximum(height - z, 0.0)
    np.testing.assert_allclose(forces, path.values, atol=1e-14 * stiffness + 1e-9)
    assert path.values[-1] == pytest.approx(60.0, abs=1e-8)
    assert path.stable[-1]
    assert np.diff(z).max() < 0.0
    assert np.abs(z - height).min() < 1e-6
    assert len(path.turning) == (0 if height == 0.3 else 2)
    if height == 0.1:
        assert z[path.turning[1]] == pytest.approx(height, abs=1e-6)
    assert len(z) < 60


@pytest.mark.slow
def test_a_bumper_grows_until_it_lifts_a_mass():
    """What jumps depends on the parameter itself; in closed form."""

    def build(length):
        mass = quirk.Body("mass", 1.0, [0.1, 0.1, 0.1])
        rail = quirk.Prismatic("rail", quirk.GROUND, mass, axis=[0, 0, 1])
        spring = quirk.Spring("spring", quirk.GROUND, mass, [0, 0, 3], stiffness=100.0, rest_length=3.0)
        bumper = quirk.Spring(
            "bumper", quirk.GROUND, mass, [0, 0, -2], stiffness=1e4, rest_length=length, one_sided="compression"
        )
        return quirk.System([mass, rail, spring, bumper], gravity=[0, 0, -G])

    path = quirk.equilibrium_path(build, 1.5, 2.5)
    free, z = -G / 100, path.of("mass.position.z")
    lifted = (1e4 * (path.values - 2) - G) / (1e4 + 100)
    np.testing.assert_allclose(z, np.where(path.values > 2 + free, lifted, free), atol=1e-13)


def test_corners_too_close_together_are_named():
    def build(force):
        mass = quirk.Body("mass", 1.0, [0.1, 0.1, 0.1])
        rail = quirk.Prismatic("rail", quirk.GROUND, mass, axis=[0, 0, 1])
        bumpers = [
            quirk.Spring(f"bumper {k}", quirk.GROUND, mass, [0, 0, -2], stiffness=10.0**k, rest_length=length,
                         one_sided="compression")
            for k, length in ((4, 1.9), (7, 1.9 - 1e-6))
        ]  # fmt: skip
        spring = quirk.Spring("spring", quirk.GROUND, mass, [0, 0, 3], stiffness=100.0, rest_length=3.0)
        return quirk.System([mass, rail, spring, *bumpers, quirk.Force("load", mass, [0, 0, -force])])

    with pytest.raises(
        quirk.ConvergenceError, match=r'beyond 10: there the stiffness of Spring "bumper 4", Spring "bumper 7" jumps'
    ) as caught:
        quirk.equilibrium_path(build, 0.0, 60.0)
    assert isinstance(caught.value.state, quirk.State) and caught.value.body is None


def pushed(force, unit=1.0, place=0.0):
    """A ball on a rail with a force along it, at a place; its mass 2 kg."""
    ball = quirk.Body.sphere("ball", 2.0, 0.1 * unit, position=[0, 0, place * unit])
    rail = quirk.Prismatic("rail", quirk.GROUND, ball, point=[0, 0, 0], axis=[0, 0, 1])
    push = quirk.JointForce("push", rail, lambda t, z, v: unit * force(z / unit + place))
    return quirk.System([ball, rail, push])


@pytest.mark.parametrize("unit", study([1.0, 1e3], 1))
class TestWhereAllLoadsVanish:
    """The only load is zero at the equilibrium, so that there is none by which accelerations could be judged."""

    @pytest.mark.parametrize("place", [0.0, 0.1, 0.9, 3.0])
    def test_a_force_of_place(self, place, unit):
        found = pushed(lambda z: 1.0 - z**2, unit, place).equilibrium()
        assert found.position[0, 2] / unit == pytest.approx(1.0, rel=1e-10)
        assert found.residual <= 1e-8

    def test_a_force_without_stiffness(self, unit):
        found = pushed(lambda z: -(z**3), unit, 0.5).equilibrium()
        assert abs(found.position[0, 2] / unit) < 1e-4

    @pytest.mark.parametrize("angle", [0.3, -2.0, 1e-14])
    def test_a_bar_on_a_torsion_spring(self, angle, unit):
        bar = quirk.Body.bar("bar", [0, 0, 0], [unit, 0, 0], mass=1.0)
        hinge = quirk.Revolute("hinge", quirk.GROUND, bar, point=[0, 0, 0], axis=[0, 1, 0])
        spring = quirk.TorsionSpring("spring", hinge, stiffness=5.0, rest_angle=angle)
        found = quirk.System([bar, hinge, spring]).equilibrium()
        assert found.of("hinge.angle") == pytest.approx(angle, rel=1e-12, abs=1e-16)

    @pytest.mark.slow
    @pytest.mark.parametrize("force", study([lambda z: np.exp(-z), lambda z: 1.0 / (1.0 + z**2)], 1))
    def test_no_equilibrium_where_a_force_fades_out(self, force, unit):
        with pytest.raises(quirk.InputError, match="no equilibrium was found"):
            pushed(force, unit).equilibrium()

    def test_what_is_not_at_rest_is_named(self, unit):
        gravity = [0, 0, -G * unit]
        ball = quirk.Body.sphere("ball", 1.0, 0.1 * unit, position=[0, 0, 3 * unit])
        bars = [quirk.Body.bar(f"bar {k}", [k * unit, 0, 0], [(k + 1) * unit, 0, 0], mass=1.0) for k in range(3)]
        hinges = [
            quirk.Revolute(f"hinge {k}", i, j, point=[k * unit, 0, 0], axis="y")
            for k, (i, j) in enumerate(zip([quirk.GROUND, *bars], bars, strict=False))
        ]
        cart = quirk.Body.sphere("cart", 1.0, 0.1 * unit, position=[0, unit, 0])
        rail = quirk.Prismatic("rail", quirk.GROUND, cart, axis=[1, 0, -1])
        motor = quirk.JointTorque("motor", hinges[0], 9.0 * unit**2)
        for parts, worst, size in (
            ([ball], "ball", G * unit),
            ([*bars, *hinges, ball], "ball", G * unit),
            ([*bars, *hinges, cart, rail], "cart", G * unit / np.sqrt(2)),
            ([bars[0], hinges[0], motor], "bar 0", None),
        ):
            system = quirk.System(parts, gravity=gravity)
            with pytest.raises(quirk.ConvergenceError, match=f'no equilibrium was found.*"{worst}"') as caught:
                system.equilibrium()
            assert caught.value.body == worst
            assert size is None or caught.value.residual == pytest.approx(size, rel=1e-6)
            rows = system.constraint_rows(caught.value.state)
            np.testing.assert_allclose(rows.phi / unit, 0, atol=1e-8)

    def test_no_equilibrium_where_a_balance_is_missed_by_little(self, unit):
        """Its slope is zero where it is least, so that no step is found there, which is not to mean that it rests."""
        alone = pushed(lambda z: 2.0 * G + z**2 + 1e-6, unit)
        system = quirk.System([*alone.bodies, *alone.constraints, *alone.forces], gravity=[0, 0, -G * unit])
        with pytest.raises(quirk.InputError, match="no equilibrium was found"):
            system.equilibrium()


@pytest.mark.slow
@pytest.mark.parametrize("elements", study([4, 8], 1))
def test_thin_beams_that_bend_far(elements):
    """Their steps are as long for many elements as for few, though displacements stretch them."""
    section = quirk.Section.rectangle(0.02, 0.005, young=2.1e11, poisson=0.3, density=7800.0)
    stiffness = section.stiffness[4, 4]

    def build(load):
        beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=elements)
        base = quirk.Fixed("base", quirk.GROUND, beam.bodies[0])
        return quirk.System([beam, base, quirk.Force("push", beam.bodies[-1], [0, 0, load])])

    path = quirk.equilibrium_path(build, 0.0, 5 * stiffness)
    print(elements, len(path.values))
    assert len(path.values) < 40 and path.turning == []
    near = len(path.values) // 2
    for row in (near, -1):
        exact = build(path.values[row]).equilibrium(path.states[row])
        assert np.abs(path.states[row].position - exact.position).max() < 1e-10
    assert path.states[-1].position[-1, 2] > 0.5


@pytest.mark.slow
def test_a_lever_meets_a_bumper_at_a_small_load():
    """The stiffness due to the load's arm grows with the load, by a large part of itself where the load is small."""

    def build(load):
        lever = quirk.Body.bar("lever", [0, 0, 0], [1, 0, 0], mass=1.0)
        hinge = quirk.Revolute("hinge", quirk.GROUND, lever, point=[0, 0, 0], axis=[0, -1, 0])
        spring = quirk.TorsionSpring("spring", hinge, stiffness=10.0)
        bumper = quirk.Spring("bumper", quirk.GROUND, lever, [1, 0, 5], [0.5, 0, 0], stiffness=1e3, rest_length=4.99,
                              one_sided="compression")  # fmt: skip
        return quirk.System([lever, hinge, spring, bumper, quirk.Force("load", lever, [0, 0, load], [0.5, 0, 0])])

    path = quirk.equilibrium_path(build, 0.0, 5.0)
    angle = path.of("hinge.angle")
    x, z = np.cos(angle), np.sin(angle)
    length = np.hypot(x - 1.0, z - 5.0)
    push = 1e3 * np.maximum(4.99 - length, 0.0)
    moment = path.values * x - 10.0 * angle + push * (x * (z - 5.0) - z * (x - 1.0)) / length
    np.testing.assert_allclose(moment, 0, atol=1e-8)
    assert push[-1] > 0.0 and path.values[-1] == pytest.approx(5.0)
