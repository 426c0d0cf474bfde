"""Equilibria with unilateral constraints and one-sided forces, against closed forms."""

import numpy as np
import pytest
from studies import study

import quirk

G = 9.81
S = quirk.surface
DOWN = [0, 0, -G]


@pytest.mark.parametrize("height", [0.1, 0.3, 40.0])
def test_a_ball_on_a_plane(height):
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[0.2, 0, height])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=S.plane(), on_j=S.sphere(0.1))
    state = quirk.System([ball, floor], gravity=DOWN).equilibrium()
    np.testing.assert_allclose(state.position[0], [0.2, 0, 0.1], atol=1e-13)
    np.testing.assert_allclose(state.loads["floor"].force, [0, 0, 2 * G], rtol=1e-13, atol=1e-13)
    assert state.touching == {"floor"}
    assert state.stable


def test_a_box_shares_its_weight_among_its_corners():
    box = quirk.Body.box("box", mass=3.0, size=[0.4, 0.2, 0.1], position=[0, 0, 0.5], orientation=[1, 0.1, -0.05, 0.2])
    corners = [
        quirk.Contact(f"{x}{y}", quirk.GROUND, box, on_i=S.plane(), on_j=S.point([0.2 * x, 0.1 * y, -0.05]))
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    state = quirk.System([box, *corners], gravity=DOWN).equilibrium()
    assert abs(state.position[0, 2] - 0.05) < 1e-13
    for corner in corners:
        np.testing.assert_allclose(state.loads[corner.name].force, [0, 0, 0.75 * G], rtol=1e-11, atol=1e-12)


def ladder(angle, mass=5.0, length=2.0, stop=0.6):
    """A ladder on a smooth floor and a smooth wall, whose foot a stop on the floor holds."""
    axis = np.array([np.cos(angle), 0, np.sin(angle)])
    rod = quirk.Body.bar("rod", [0, 0, 0.3], 2.0 * axis + [0, 0, 0.3], mass=mass)
    guide = quirk.Planar("guide", quirk.GROUND, rod, point=[0, 0, 0], normal=[0, 1, 0])
    half = np.array([length / 2, 0, 0])
    floor = quirk.Contact("floor", quirk.GROUND, rod, on_i=S.plane(), on_j=S.point(-half))
    wall = quirk.Contact("wall", quirk.GROUND, rod, on_i=S.plane([1.2, 0, 0], [-1, 0, 0]), on_j=S.point(half))
    foot = quirk.Contact("foot", quirk.GROUND, rod, on_i=S.plane([0, 0, 0], [1, 0, 0]), on_j=S.point(-half))
    return quirk.System([rod, guide, floor, wall, foot], gravity=DOWN)


@pytest.mark.parametrize("angle", [1.2, 0.7])
def test_a_ladder_against_a_wall_and_a_stop(angle):
    """Its foot slides to the stop; the wall pushes with m g cot(angle) / 2, and so does the stop."""
    state = ladder(angle).equilibrium()
    rest = np.arccos(1.2 / 2.0)
    q = state.orientation[0]
    axis = quirk.rotation.matrix(q)[:, 0]
    np.testing.assert_allclose(np.arctan2(axis[2], axis[0]), rest, rtol=1e-12)
    side = 0.5 * 5.0 * G / np.tan(rest)
    np.testing.assert_allclose(state.loads["wall"].force, [-side, 0, 0], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(state.loads["foot"].force, [side, 0, 0], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(state.loads["floor"].force, [0, 0, 5.0 * G], rtol=1e-11, atol=1e-10)


def bead(force, start=0.0):
    """A bead in a slot with two stops, on a spring."""
    ball = quirk.Body.sphere("ball", mass=0.5, radius=0.05, position=[start, 0, 0])
    slot = quirk.Prismatic("slot", quirk.GROUND, ball, axis=[1, 0, 0], point=[0, 0, 0])
    stop = quirk.Stop("stop", slot, lower=-0.2, upper=0.3)
    push = quirk.Force("push", ball, [force, 0, 0])
    spring = quirk.Bushing("spring", quirk.GROUND, ball, point=[0, 0, 0], stiffness=[10.0, 0, 0, 0, 0, 0])
    return quirk.System([ball, slot, stop, push, spring])


@pytest.mark.parametrize(
    ("force", "place", "load"),
    study([(1.0, 0.1, 0.0), (5.0, 0.3, -2.0), (-7.0, -0.2, 5.0)], {(1.0, 0.1, 0.0), (-7.0, -0.2, 5.0)}),
)
def test_a_bead_between_two_stops(force, place, load):
    state = bead(force).equilibrium()
    assert abs(state.position[0, 0] - place) < 1e-13
    np.testing.assert_allclose(state.loads["stop"].force, [load, 0, 0], atol=1e-12)
    assert state.touching == (set() if load == 0 else {"stop"})
    assert state.stable


def test_a_rope_is_slack_or_taut():
    def hung(length):
        ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[0.3, 0, -0.4])
        rope = quirk.Rope("rope", quirk.GROUND, ball, length=length)
        table = quirk.Contact("table", quirk.GROUND, ball, on_i=S.plane([0, 0, -1]), on_j=S.sphere(0.1))
        return quirk.System([ball, rope, table], gravity=DOWN).equilibrium()

    taut, slack = hung(0.7), hung(1.5)
    np.testing.assert_allclose(taut.position[0], [0, 0, -0.7], atol=1e-12)
    np.testing.assert_allclose(taut.loads["rope"].force, [0, 0, 2 * G], atol=1e-10)
    assert taut.touching == {"rope"}
    frequency = np.sqrt(G / 0.7)
    assert np.abs(taut.eigenvalues - 1j * frequency).min() < 1e-10
    assert abs(slack.position[0, 2] + 0.9) < 1e-13
    assert slack.touching == {"table"}
    np.testing.assert_array_equal(slack.loads["rope"].force, 0)


class Floor(quirk.ForceElement):
    """An elastic floor under a point: it pushes alone."""

    parameters = ("stiffness", "point")

    def __init__(self, name, body, stiffness, point):
        self.stiffness, self.point = stiffness, np.array(point, dtype=float)
        super().__init__(name, (body, quirk.Frame(point)))

    def potential(self, t, frame):
        """Return k z^2 / 2 below the floor."""
        z = frame.position[2]
        return quirk.where(z < 0, 0.5 * self.stiffness * z * z, 0.0)


@pytest.mark.parametrize("height", study([0.049, 0.5, 6.0], 2))
def test_a_box_on_an_elastic_floor(height):
    box = quirk.Body.box("box", mass=3.0, size=[0.4, 0.2, 0.1], position=[0, 0, height])
    floor = [Floor(f"{x}{y}", box, 2e4, [0.2 * x, 0.1 * y, -0.05]) for x in (-1, 1) for y in (-1, 1)]
    state = quirk.System([box, *floor], gravity=DOWN).equilibrium()
    assert abs(state.position[0, 2] - 0.05 + 3.0 * G / 8e4) < 1e-13
    assert state.stable


def test_an_arm_that_leans_on_a_stop_from_above_is_held():
    """Unstable by itself, it rests on its stop; and balanced upright it stays where it is."""

    def arm(angle):
        rod = quirk.Body.bar("rod", [0, 0, 0], [np.sin(angle), 0, np.cos(angle)], mass=2.0)
        hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        stop = quirk.Stop("stop", hinge, lower=-0.4, upper=0.4 - angle)
        return quirk.System([rod, hinge, stop], gravity=DOWN)

    leaning, upright = arm(0.1).equilibrium(), arm(0.0).equilibrium()
    assert abs(leaning.angles["hinge"][1 + 1] - 0.3) < 1e-12
    np.testing.assert_allclose(leaning.loads["stop"].torque, [0, -G * np.sin(0.4), 0], atol=1e-11)
    assert leaning.stable
    assert not upright.stable
    assert upright.touching == set()


def test_nothing_holds_a_body_that_falls_beside_the_floor():
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[0, 0, 1.0])
    ceiling = quirk.Contact("ceiling", quirk.GROUND, ball, on_i=S.plane([0, 0, 2], [0, 0, -1]), on_j=S.sphere(0.1))
    with pytest.raises(quirk.InputError, match="falls freely"):
        quirk.System([ball, ceiling], gravity=DOWN).equilibrium()


def test_dry_friction_is_left_out():
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[0.2, 0, 0.4])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=S.plane(), on_j=S.sphere(0.1))
    system = quirk.System([ball, floor, quirk.Friction("rubbing", floor, 0.3)], gravity=DOWN)
    state = system.equilibrium()
    assert abs(state.position[0, 2] - 0.1) < 1e-13
    np.testing.assert_allclose(state.loads["floor"].force, [0, 0, 2 * G], rtol=1e-13, atol=1e-13)
