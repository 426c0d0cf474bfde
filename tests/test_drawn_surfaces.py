"""Surfaces of contacts in pictures: bounded ones as they are, and planes without an end."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.lines import AxLine

import quirk
from quirk import GROUND
from quirk.graphics.animation.film import Film
from quirk.graphics.scene.plates import plate_faces
from quirk.graphics.scene.scene import Scene
from quirk.graphics.viewer.contents import of_result

S = quirk.surface


def thrown(*surfaces):
    """A ball that flies above surfaces, each a body or the ground with a surface on it."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1], velocity=[1, 0, 1])
    contacts = [
        quirk.Contact(f"contact {k}", body, ball, on_i=surface, on_j=S.sphere(0.1))
        for k, (body, surface) in enumerate(surfaces)
    ]
    others = list(dict.fromkeys(body for body, _ in surfaces if body is not GROUND))
    held = [quirk.Fixed(f"hold {body.name}", GROUND, body) for body in others]
    system = quirk.System([ball, *others, *contacts, *held], gravity=[0, 0, -9.81])
    return quirk.simulate(system, 0.2, output=0.05)


def area_of(faces):
    return sum(
        0.5 * np.linalg.norm(np.cross(face - face[0], np.roll(face, -1, axis=0) - face[0]).sum(axis=0))
        for face in faces
    )


def test_faces_of_bounded_surfaces():
    normal = np.array([1.0, 2.0, 2.0]) / 3
    rectangle = S.rectangle([0.4, 0.2], center=[1, 0, 0], normal=normal, along=[2, 0, -1])
    faces = plate_faces(thrown((GROUND, rectangle)).system)["ground"]
    np.testing.assert_allclose(area_of(faces), 0.08)
    corners = np.concatenate(faces) - [1, 0, 0]
    np.testing.assert_allclose(corners @ normal, 0, atol=1e-15)
    np.testing.assert_allclose(np.abs(corners @ [2, 0, -1]) / np.sqrt(5), 0.2)
    faces = plate_faces(thrown((GROUND, S.disk(0.3, normal=[1, 0, 0]))).system)["ground"]
    np.testing.assert_allclose(area_of(faces), np.pi * 0.09, rtol=5e-3)
    np.testing.assert_allclose(np.concatenate(faces)[:, 0], 0, atol=1e-15)
    faces = plate_faces(thrown((GROUND, S.bowl(2.0))).system)["ground"]
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(faces), axis=1), 2.0, rtol=1e-4)


def test_a_plate_is_left_out_where_a_shape_shows_it():
    box = quirk.Body.box("box", 1.0, [1, 0.6, 0.4], position=[0, 0, -2])
    top, wide = S.rectangle([1, 0.6], center=[0, 0, 0.2]), S.rectangle([2, 0.6], center=[0, 0, 0.2])
    assert plate_faces(thrown((box, top)).system) == {}
    assert len(plate_faces(thrown((box, top), (box, wide), (box, wide)).system)["box"]) == 1


def test_scenes_show_plates_near_the_motion():
    result = thrown((GROUND, S.rectangle([100, 0.5], [0, 0, 0.6])))
    scene = Scene(result, result.time, [])
    corners = np.concatenate(scene.plates)
    np.testing.assert_allclose(np.ptp(corners, axis=0)[1:], [0.5, 0])
    motion = np.ptp(np.append(result["ball"].position, [[0, 0, 0]], axis=0), axis=0).max() + 0.2
    assert 0.5 * motion < np.ptp(corners[:, 0]) < 3 * motion
    assert scene.low[2] <= 0.6


@pytest.mark.parametrize("carried", [False, True])
def test_planes_fill_the_picture(carried):
    """Those of bodies, too, from one side of the box that is shown to the other."""
    body = quirk.Body.box("body", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 0.3]) if carried else GROUND
    result = thrown((body, S.plane([0, 0, 0.05], [0.3, 0, 1])))
    scene = Scene(result, result.time, [])
    film = Film(result, scene, (10.0, -80.0), None, 3.0)
    film.pixels(1)
    width = 0.0
    for collection in film._ax.collections:
        polygons = [path.vertices for path in collection.get_paths()]
        width = max([width, *(np.ptp(polygon[:, 0]) for polygon in polygons if len(polygon) > 3)])
    assert width > (scene.high - scene.low)[0]
    figure = result.plot.ghosts()
    (line,) = [line for line in figure.gca().lines if isinstance(line, AxLine)]
    x, z = line._xy1
    dx, dz = np.subtract(line._xy2, line._xy1)
    height = 0.35 if carried else 0.05
    np.testing.assert_allclose(0.3 * x + z, height, atol=1e-12)
    np.testing.assert_allclose(0.3 * dx + dz, 0, atol=1e-12)
    plt.close("all")


def test_the_viewer_shows_both():
    box = quirk.Body.box("box", 1.0, [0.1, 0.1, 0.1], position=[0, 0, -0.5])
    result = thrown((GROUND, S.plane()), (GROUND, S.plane([0, -1, 0], [0, 1, 0])), (box, S.plane()), (box, S.plane()),
                    (GROUND, S.disk(0.3, [0, 0, 0.2])))  # fmt: skip
    contents = of_result(result, result.time)
    parts = {part.name: part for part in contents.parts}
    size = contents.extent.high - contents.extent.low
    for name in ("contact 0 plane", "contact 1 plane", "contact 2 plane"):
        plane = parts[name]
        reach = [np.linalg.norm(look.surface.vertices, axis=1).max() for look in plane.looks]
        assert reach[-1] > 2 * size.max()
        opacity = [look.color[3] for look in plane.looks]
        assert opacity == sorted(opacity, reverse=True)
        assert opacity[-1] < 0.1
    assert "contact 3 plane" not in parts
    assert parts["contact 2 plane"].body is box
    disk = np.concatenate([look.surface.vertices for look in parts["ground"].looks])
    np.testing.assert_allclose(disk[:, 2], 0.2)
    np.testing.assert_allclose(np.linalg.norm(disk[:, :2], axis=1).max(), 0.3)
