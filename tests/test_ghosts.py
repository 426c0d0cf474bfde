"""The mechanism at several times in one picture, with paths of points."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from mechanisms import pendulum
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import quirk
from quirk import GROUND, Body
from quirk.graphics.scene.scene import Scene


@pytest.fixture(autouse=True)
def none_is_left_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def swinging():
    return quirk.simulate(pendulum(thickness=0.1), 1.0, output=0.05)


@pytest.fixture(scope="module")
def tumbling():
    craft = Body.box("craft", 1.0, [0.3, 0.2, 0.1], velocity=[1, 0, 0], angular_velocity=[0.3, 1.0, 2.0])
    return quirk.simulate(quirk.System([craft]), 1.0, output=0.05)


def opacities(axes, kind):
    return [float(faces.get_facecolor()[0, 3]) for faces in axes.collections if isinstance(faces, kind)]


def test_a_plane_motion_is_drawn_in_its_plane(swinging, tmp_path):
    path = tmp_path / "ghosts.png"
    (axes,) = swinging.plot.ghosts(trails=[("rod", [0.5, 0, 0])], path=path).axes
    assert path.stat().st_size > 10_000
    assert not isinstance(axes, Axes3D)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (m)", "z (m)")
    faint = opacities(axes, PathCollection)
    assert len(faint) == 6
    assert faint == sorted(faint)
    assert faint[0] < 0.2 * faint[-1]


def test_bodies_are_where_they_are_at_the_times(swinging):
    (axes,) = swinging.plot.ghosts([0.8, 0.25]).axes
    assert axes.get_title() == "t = 0.25, 0.8 s"
    boxes = [faces for faces in axes.collections if isinstance(faces, PathCollection)]
    for faces, t in zip(boxes, (0.25, 0.8), strict=True):
        row = int(np.argmin(np.abs(swinging.time - t)))
        corners = np.concatenate([part.vertices for part in faces.get_paths()])
        far = corners[np.argmax(np.linalg.norm(corners, axis=1))]
        tips = [swinging["rod"].path([0.5, 0.05, z]).position[row, [0, 2]] for z in (-0.05, 0.05)]
        assert min(np.linalg.norm(far - tip) for tip in tips) < 1e-6


def test_trails_go_from_the_first_time_to_the_last(swinging):
    (axes,) = swinging.plot.ghosts([0.25, 0.8], trails=[("rod", [0.5, 0, 0])]).axes
    drawn = max(axes.lines, key=lambda line: len(line.get_xdata())).get_xydata()
    tip = swinging["rod"].path([0.5, 0, 0]).position[:, [0, 2]]
    np.testing.assert_allclose(drawn[[0, -1]], tip[[5, 16]], atol=1e-9)


def test_springs_are_drawn_and_arrows_are_not():
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, -1])
    forces = quirk.Spring("spring", GROUND, ball, stiffness=30.0), quirk.Force("push", ball, [0.5, 0, 0])
    result = quirk.simulate(quirk.System([ball, *forces], gravity=[0, 0, -9.81]), 0.5, output=0.05)
    (axes,) = result.plot.ghosts([0.0, 0.25, 0.5]).axes
    coils = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert len(coils) == 3
    for coil, row in zip(coils, (0, 5, 10), strict=True):
        np.testing.assert_allclose(coil.get_xydata()[0], [0, 0], atol=1e-9)
        np.testing.assert_allclose(coil.get_xydata()[-1], result["ball"].position[row, [0, 2]], atol=1e-9)


def test_turning_out_of_a_plane_is_drawn_in_space(tumbling):
    """The center of mass stays on a line, but the corners do not."""
    (axes,) = tumbling.plot.ghosts().axes
    assert isinstance(axes, Axes3D)
    assert len(opacities(axes, Poly3DCollection)) == 6


def test_seen_from_where_it_is_asked(swinging):
    (axes,) = swinging.plot.ghosts([0.5], view=(35, 10)).axes
    assert isinstance(axes, Axes3D)
    assert (axes.elev, axes.azim) == (35, 10)


def test_a_result_of_one_time(tumbling):
    short = quirk.simulate(tumbling.system, 1.0, output=[1.0])
    assert len(short.plot.ghosts().axes) == 1


@pytest.mark.parametrize(("arguments", "said"), [
    ({"times": [0.5, 2.0]}, "times must be from 0 to 1 s; got 2"),
    ({"times": 0.5}, "times must be a list"),
    ({"times": []}, "times must be a list"),
    ({"times": [0.5, np.nan]}, "finite"),
    ({"trails": ["rod"]}, "trails must be a list such as"),
    ({"trails": [("hinge", [0, 0, 0])]}, "must be the name of a body"),
    ({"view": (1, 2, 3)}, "view must have shape"),
])  # fmt: skip
def test_what_cannot_be_drawn(swinging, arguments, said):
    with pytest.raises(quirk.InputError, match=said):
        swinging.plot.ghosts(**arguments)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("view", [None, (25.0, -50.0)])
def test_round_bars_have_no_stripes(view):
    """Across a bar its color changes at its borders alone, seen from the side and from anywhere."""
    bar = Body.cylinder("bar", 1.0, radius=0.1, length=2.0, orientation=[np.cos(0.2), 0, np.sin(0.2), 0])
    guide = quirk.Prismatic("guide", GROUND, bar, axis="x")
    result = quirk.simulate(quirk.System([bar, guide]), 0.1, output=0.1)
    figure = result.plot.ghosts([0.0], view=view)
    (axes,) = figure.axes
    for line in axes.lines:
        line.set_visible(False)
    axes.grid(False)
    axes.set_axis_off()
    figure.canvas.draw()
    picture = np.asarray(figure.canvas.buffer_rgba())[:, :, :3].astype(int)
    inked = np.argwhere((picture != 255).any(axis=2))
    middle = picture[inked[:, 0].mean().astype(int), inked[:, 1].min() : inked[:, 1].max() + 1]
    inside = middle[(middle != 255).any(axis=1)][4:-4]
    assert len(inside) > 10
    assert np.ptp(inside, axis=0).max() <= 1


def test_edges_that_are_drawn_of_shapes():
    """Of a cylinder both rims, and seen from the side two lines of its hull; of a sphere its circle; of a box all."""
    bodies = [Body.cylinder("c", 1, radius=1, length=3), Body.sphere("s", 1, 1), Body.box("b", 1, [1, 2, 3])]
    scene = Scene(quirk.simulate(quirk.System(bodies), 0.1, output=0.1), np.zeros(1), [])
    cylinder, ball, box = scene.outlines.values()
    along = np.array([1.0, 0.1, 0.0])
    rims = np.ptp(cylinder.ends[:, :, 2], axis=1) < 1e-9
    assert cylinder.visible_edges(None).tolist() == rims.tolist()
    assert (cylinder.visible_edges(along) & ~rims).sum() == 2
    assert not ball.visible_edges(None).any()
    circle = ball.ends[ball.visible_edges(along)].mean(axis=1) @ (along / np.linalg.norm(along))
    assert np.abs(circle).max() < 0.2
    assert box.visible_edges(None).sum() == len(box.ends) == 12


def test_ropes_and_rods_are_drawn():
    """A belt over two wheels: at each time its line touches both wheels and closes."""
    left, right = (Body.cylinder(name, 1.0, r, 0.1, axis="y", position=[x, 0, 0])
                   for name, r, x in (("left", 0.1, 0.0), ("right", 0.2, 1.0)))  # fmt: skip
    hinges = [quirk.Revolute(f"axle of {b.name}", GROUND, b, point=b.position, axis="y") for b in (left, right)]
    bob = Body.sphere("bob", 1.0, 0.05, position=[0, 0, -1.0])
    rod = quirk.Distance("rod", GROUND, bob, point_i=[0, 0, -0.5])
    drums = [quirk.Drum(b, [0, 0, 0], "y", r) for b, r in ((left, 0.1), (right, 0.2))]
    belt = quirk.Pulley("belt", drums, closed=True, stiffness=1e4, pretension=100.0)
    motor = quirk.JointTorque("motor", hinges[0], 0.5)
    result = quirk.simulate(quirk.System([left, right, bob, *hinges, rod, belt, motor]), 0.2, output=0.1)
    (axes,) = result.plot.ghosts([0.0, 0.1, 0.2]).axes
    lines = [line.get_xydata() for line in axes.lines if line.get_color() == "#333333"]
    belts, rods = [line for line in lines if len(line) > 2], [line for line in lines if len(line) == 2]
    assert len(belts) == len(rods) == 3
    for line in belts:
        np.testing.assert_allclose(line[0], line[-1], atol=1e-12)
        assert abs(line[:, 0].min() + 0.1) < 1e-3 and abs(line[:, 0].max() - 1.2) < 4e-3
    np.testing.assert_allclose(rods[0], [[0, -0.5], [0, -1.0]], atol=1e-12)
