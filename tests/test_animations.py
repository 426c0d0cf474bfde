"""Animations: what is seen from where, what hides what, what is followed, and wheels, gears, ropes and ground."""

import itertools

import matplotlib as mpl

mpl.use("Agg")


import numpy as np
import pytest
from PIL import Image

import quirk
from quirk import GROUND, Body
from quirk.graphics.animation.film import Film
from quirk.graphics.animation.framing import grounds_of
from quirk.graphics.scene.camera import FROM_ABOVE, FROM_THE_SIDE, USUAL, Camera, usual_view
from quirk.graphics.scene.ropes import chunks, rods
from quirk.graphics.scene.scene import Scene
from quirk.graphics.scene.wheels import round_faces, wheels


def film_of(result, times, view=None, follow=None, trails=(), size=3.0):
    return Film(result, Scene(result, np.asarray(times, dtype=float), list(trails)), view, follow, size)


def still(*parts, gravity=(0, 0, 0)):
    """A result of two times in which hardly anything moves."""
    return quirk.simulate(quirk.System(list(parts), gravity=gravity), 1e-3, output=1e-3)


def colors_in(pixels, rgb):
    """How many dots have the hue of a color, however bright."""
    unit = pixels / np.maximum(np.linalg.norm(pixels, axis=2, keepdims=True), 1)
    return int((unit @ (np.array(rgb) / np.linalg.norm(rgb)) > 0.995).sum())


class TestCamera:
    @pytest.mark.parametrize("vertical", [0, 1, 2])
    @pytest.mark.parametrize("angles", [(0, 0), (20, -60), (90, -90), (-35, 200)])
    def test_lengths_and_right_angles_stay(self, vertical, angles):
        axes = Camera.at(*angles, vertical).axes
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(axes) == pytest.approx(1)
        assert axes[0, vertical] == pytest.approx(0, abs=1e-15)

    def test_views_are_counted_as_matplotlib_does(self):
        right, up, towards = Camera.at(0, -90, 2).axes
        np.testing.assert_allclose([right, up, towards], [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=1e-15)
        np.testing.assert_allclose(Camera.at(0, 0, 1).axes, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], atol=1e-15)
        np.testing.assert_allclose(Camera.at(90, -90, 2).axes, np.eye(3), atol=1e-15)

    def test_flat_motions_are_seen_from_across(self):
        assert usual_view(np.array([1.0, 1.0, 1.0]), 2) == USUAL
        assert usual_view(np.array([1.0, 0.1, 1.0]), 2) == USUAL
        assert usual_view(np.array([0.1, 1.0, 1.0]), 2) == FROM_THE_SIDE
        assert usual_view(np.array([1.0, 1.0, 0.1]), 2) == FROM_ABOVE
        assert usual_view(np.array([1.0, 1.0, 0.1]), 1) == FROM_THE_SIDE


@pytest.mark.parametrize("azimuth", [-90, 90])
def test_what_is_behind_is_hidden(azimuth):
    """A red plate before a smaller green one: from behind the green one is seen before the red one."""
    red = Body("red", 1.0, [1, 1, 1], shape=quirk.shapes.Box([1, 0.02, 1], color="red"))
    green = Body("green", 1.0, [1, 1, 1], position=[0, 0.6, 0], shape=quirk.shapes.Box([0.5, 0.02, 0.5], color="lime"))
    pixels = film_of(still(green, red), [0.0], (0, azimuth)).pixels(0).astype(float)
    assert colors_in(pixels, [1, 0, 0]) > 1000
    assert (colors_in(pixels, [0, 1, 0]) > 1000) == (azimuth == 90)


def test_bodies_are_where_they_are():
    """The dots of a small cube lie where the camera says; equal lengths along all axes of the picture."""
    cube = Body("cube", 1.0, [1, 1, 1], velocity=[1, 0, 2], shape=quirk.shapes.Box([0.1] * 3, color="red"))
    result = quirk.simulate(quirk.System([cube]), 1.0, output=0.1)
    film = film_of(result, [0.0, 1.0], (0, -90), follow="ground")
    places = []
    for frame in range(2):
        pixels = film.pixels(frame).astype(float)
        rows, columns = np.nonzero((pixels[:, :, 0] > 80) & (pixels[:, :, 1] < 20))
        places.append([columns.mean(), -rows.mean()])
    dx, dz = np.subtract(places[1], places[0])
    assert dz == pytest.approx(2 * dx, rel=0.02)
    assert dx > 40


def rolling(distance=30.0):
    wheel = Body("wheel", 1.0, [0.05, 0.1, 0.05], position=[0, 0, 0.4], velocity=[4, 0, 0], angular_velocity=[0, 10, 0])
    roll = quirk.RollingDisk("roll", GROUND, wheel, radius=0.4, disk_axis=[0, 1, 0])
    return quirk.simulate(quirk.System([wheel, roll], gravity=[0, 0, -9.81]), distance / 4, output=distance / 80)


class TestFollowing:
    def test_a_speck_is_followed_and_seen(self):
        result = rolling()
        film = film_of(result, result.time[[0, 7, 14, 20]])
        # The rim and the spokes are dark, as are texts.
        seen, still = (
            (one.pixels(len(one._anchor) - 1).max(axis=2) < 110).sum()
            for one in (film, film_of(result, [0.0, 7.5], follow="ground"))
        )
        assert seen > 150 + still
        np.testing.assert_allclose(film._anchor, result["wheel"].position[[0, 7, 14, 20]], atol=1e-12)
        assert np.ptp(film._anchor[:, 0]) == pytest.approx(30.0, rel=1e-6)

    @pytest.mark.parametrize(("follow", "trails", "moves"), [
        ("ground", [], False), (None, [("wheel", np.zeros(3))], False), ("wheel", [("wheel", np.zeros(3))], True),
    ])  # fmt: skip
    def test_what_is_asked_for(self, follow, trails, moves):
        film = film_of(rolling(), [0.0, 3.0, 7.0], follow=follow, trails=trails)
        assert (np.ptp(film._anchor[:, 0]) > 0) == moves
        film.draw(1)
        shown = [text.get_text() for text in film._ax.texts if text.get_visible()]
        assert any("grid" in text for text in shown) == moves
        assert ("x (m)" in shown) != moves

    def test_short_paths_are_shown_whole(self):
        film = film_of(rolling(1.0), [0.0, 0.1, 0.2])
        assert np.ptp(film._anchor, axis=0).max() == 0

    def test_what_cannot_be_followed(self, tmp_path):
        result = rolling(1.0)
        for follow in ("roll", 3):
            with pytest.raises(quirk.InputError, match="follow must be the name of a body"):
                result.animate(tmp_path / "x.gif", follow=follow)
        with pytest.raises(quirk.UnknownNameError, match="nobody"):
            result.animate(tmp_path / "x.gif", follow="nobody")
        assert not any(tmp_path.iterdir())


def test_no_numbers_where_an_axis_is_seen_edge_on():
    box = Body.box("box", 1.0, [1, 1, 1])
    film = film_of(still(box), [0.0], (0, -90))
    film.draw(0)
    names = {text.get_text() for text in film._ax.texts if text.get_visible() and "(m)" in text.get_text()}
    assert names == {"x (m)", "z (m)"}


def test_ground_is_where_bodies_touch_or_roll():
    ((point, normal),) = grounds_of(rolling(1.0))
    np.testing.assert_allclose([point[2], *normal], [0, 0, 0, 1], atol=1e-15)
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1])
    lid = Body.box("lid", 1.0, [1, 1, 0.1], position=[3, 0, 0])
    floor = quirk.Contact(
        "floor", GROUND, ball, on_i=quirk.surface.plane([0, 0, -1], [1, 0, 1]), on_j=quirk.surface.sphere(0.1)
    )
    moving = quirk.Contact("moving", lid, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    ((point, normal),) = grounds_of(still(ball, lid, floor, moving))
    np.testing.assert_allclose(normal, [np.sqrt(0.5), 0, np.sqrt(0.5)], atol=1e-15)
    assert film_of(still(ball, floor), [0.0]).pixels(0).std() > 5


class TestRoundParts:
    def pair(self, ratio, at, *, carrier=False):
        one = Body("one", 1.0, [1, 1, 1], position=[0.1, 0, 0])
        two = Body("two", 1.0, [1, 1, 1], position=at)
        bearings = [quirk.Revolute("b1", GROUND, one, point=[0, 0, 0], axis="z"),
                    quirk.Revolute("b2", GROUND, two, point=at, axis="z")]  # fmt: skip
        return quirk.System([one, two, *bearings, quirk.Gear("gear", one, two, ratio=ratio, axis="z")])

    @pytest.mark.parametrize(("ratio", "radii"), [(-0.5, (0.1, 0.2)), (3.0, (0.45, 0.15)), (-1.0, (0.15, 0.15))])
    def test_pitch_circles_touch(self, ratio, radii):
        """About bearings, not centers of mass: r_i / r_j = |ratio|, and the distance of axes is 0.3 m."""
        one, two = wheels(self.pair(ratio, [0.3, 0, 0.5]))
        np.testing.assert_allclose([one.radius, two.radius], radii)
        np.testing.assert_allclose(one.center, [-0.1, 0, 0], atol=1e-15)
        np.testing.assert_allclose(two.center, 0, atol=1e-15)

    def test_gears_on_one_axis_have_none(self):
        assert wheels(self.pair(-2.0, [0, 0, 1])) == []
        assert wheels(self.pair(1.0, [0.3, 0, 0])) == []

    def test_a_fixed_ring_and_its_planet(self):
        """The ring's center is where the arm turns on the ground; each wheel comes once."""
        arm = Body("arm", 1.0, [1, 1, 1], position=[1.15, 0, 0])
        planet = Body("planet", 1.0, [1, 1, 1], position=[1.3, 0, 0])
        parts = [arm, planet, quirk.Revolute("main", GROUND, arm, point=[1, 0, 0], axis="z"),
                 quirk.Revolute("pin", arm, planet, point=[1.3, 0, 0], axis="z"),
                 quirk.Gear("mesh", GROUND, planet, ratio=3.0, axis="z", carrier=arm)]  # fmt: skip
        ring, wheel = wheels(quirk.System(parts))
        assert (ring.body, wheel.body) == (GROUND, planet)
        np.testing.assert_allclose(ring.center, [1, 0, 0])
        np.testing.assert_allclose([ring.radius, wheel.radius], [0.45, 0.15])
        faces = round_faces(quirk.System(parts))
        # The planet rolls inside of the ring, which has no spokes in its way.
        inside = np.linalg.norm(np.concatenate(faces["ground"]) - [1, 0, 0], axis=1).min()
        assert inside == pytest.approx(0.45)
        assert np.linalg.norm(np.concatenate(faces["planet"]), axis=1).min() < 0.01

    def test_a_solid_wheel_has_spokes_on_both_sides_alone(self):
        disc = Body.cylinder("disc", 1.0, 0.4, 0.1, "y", position=[0, 0, 0.4])
        roll = quirk.RollingDisk("roll", GROUND, disc, radius=0.4, disk_axis=[0, 1, 0])
        faces = np.array(round_faces(quirk.System([disc, roll]))["disc"])
        assert len(faces) == 12
        np.testing.assert_allclose(np.unique(np.abs(faces[:, :, 1]).round(9)), [0.0505])

    def test_a_rack_touches_its_pinion(self):
        rack = Body("rack", 1.0, [1, 1, 1], position=[0, 0.5, 0])
        pinion = Body("pinion", 1.0, [1, 1, 1], position=[0, 0.3, 0])
        parts = [rack, pinion, quirk.Prismatic("guide", GROUND, rack, axis="x"),
                 quirk.Revolute("bearing", GROUND, pinion, point=[0, 0.3, 0], axis="z"),
                 quirk.RackPinion("drive", rack, pinion, radius=-0.2, direction="x", axis="z")]  # fmt: skip
        (bar,) = round_faces(quirk.System(parts))["rack"]
        np.testing.assert_allclose([bar[:, 1].min(), bar[:, 1].max()], [0.0, 0.03], atol=1e-12)
        (wheel,) = wheels(quirk.System(parts))
        assert wheel.radius == pytest.approx(0.2)

    def test_a_rope_has_the_length_of_its_pulley(self):
        """Over a sheave on the ground, between two weights that move."""
        left = Body.sphere("left", 2.0, 0.1, position=[-0.2, 0, -1])
        right = Body.sphere("right", 1.0, 0.1, position=[0.2, 0, -1])
        sheave = quirk.Drum(GROUND, [0, 0, 0], [0, 1, 0], 0.2)
        rope = quirk.Pulley("rope", [(left, [0, 0, 0]), sheave, (right, [0, 0, 0])])
        result = quirk.simulate(quirk.System([left, right, rope], gravity=[0, 0, -9.81]), 0.5, output=0.1)
        scene = Scene(result, np.array([0.0, 0.5]), [])
        ((_, courses),) = rods(scene, result.system.constraints)
        for course, row in zip(courses, (0, -1), strict=True):
            np.testing.assert_allclose(course[[0, -1]], [result[n].position[row] for n in ("left", "right")], atol=1e-9)
            length = np.linalg.norm(np.diff(course, axis=0), axis=1).sum()
            assert length == pytest.approx(rope.length, rel=3e-3)  # an arc of twelve points is a little short
        (wheel,) = wheels(result.system)
        assert (wheel.body, wheel.radius) == (GROUND, 0.2)


def test_lines_in_pieces_have_no_gaps():
    line = np.arange(33.0).reshape(11, 3)
    parts = chunks(line, 4)
    assert all((one[-1] == two[0]).all() for one, two in itertools.pairwise(parts))
    np.testing.assert_array_equal(np.concatenate([parts[0], *(part[1:] for part in parts[1:])]), line)


def test_colors_of_a_film_are_kept(tmp_path):
    """A color that the first picture does not show has its place in the palette."""
    ball = Body("ball", 1.0, [1, 1, 1], velocity=[1, 0, 0], shape=quirk.shapes.Box([0.3] * 3, color="magenta"))
    result = quirk.simulate(quirk.System([ball]), 1.0, output=0.1)
    path = result.animate(tmp_path / "film.gif", fps=10, size=2)
    with Image.open(path) as image:
        image.seek(image.n_frames - 1)
        assert colors_in(np.asarray(image.convert("RGB"), dtype=float), [1, 0, 1]) > 200
