"""Shapes of triangles: read from files, closed or not, and the bodies they make."""

import numpy as np
import pytest
import trimesh
from studies import study

import quirk
from quirk import Frame, rotation
from quirk.bodies.solids import Box, Mesh

TURNED = rotation.exp(np.array([0.4, -0.3, 0.8]))


def box_file(path, size=(1.0, 2.0, 3.0), shift=(0.0, 0.0, 0.0)):
    """Write a box of this size with its center at `shift`."""
    box = trimesh.creation.box(size)
    box.apply_translation(shift)
    box.export(path)
    return path


def tetrahedron(size=1.0):
    vertices = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return vertices, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize("kind", ["stl", "obj", "glb", "gltf", "ply", "off"])
def test_a_box_of_any_kind_of_file(kind, tmp_path):
    path = box_file(tmp_path / f"box.{kind}", [1000, 2000, 3000], [500, 0, 0])
    body = quirk.Body.from_mesh("b", path, mass=12.0, scale=0.001)
    np.testing.assert_allclose(body.inertia, np.diag([13.0, 10.0, 5.0]), atol=1e-12)
    corners = np.concatenate(body.shape.faces())
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[-0.5, -1, -1.5], [0.5, 1, 1.5]])
    np.testing.assert_allclose(body.shape.frame.origin, [-0.5, 0, 0], atol=1e-15)
    assert body.shape.path == path
    assert body.shape.scale == (0.001, 0.001, 0.001)


def test_density_and_origin_and_orientation(tmp_path):
    path = box_file(tmp_path / "box.stl", (0.1, 0.2, 0.3), (0.05, 0.1, 0.15))
    body = quirk.Body.from_mesh("b", path, density=1000.0, origin=[1, 2, 3], orientation=TURNED, velocity=[1, 0, 0])
    assert body.mass == pytest.approx(6.0, rel=1e-6)  # STL has single precision
    np.testing.assert_allclose(body.position, [1, 2, 3] + rotation.matrix(TURNED) @ [0.05, 0.1, 0.15], rtol=1e-7)
    np.testing.assert_allclose(np.diag(body.inertia), np.diag(Box((0.1, 0.2, 0.3)).inertia(6.0)), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e7])
def test_a_tetrahedron_against_closed_forms(size):
    """Volume a^3/6, center a/4, Ixx = 3/40 m a^2 and Ixy = m a^2/80 (the tensor's) about the center, at any size."""
    mesh = Mesh(*tetrahedron(size))
    inertia = np.full((3, 3), 1 / 80) + np.diag(np.full(3, 3 / 40 - 1 / 80))
    assert mesh.solid.volume == pytest.approx(size**3 / 6, rel=1e-13)
    np.testing.assert_allclose(mesh.solid.center, size / 4, rtol=1e-13)
    np.testing.assert_allclose(mesh.inertia(1.0), size**2 * inertia, rtol=1e-12)


def test_a_placed_mesh_and_a_mirrored_file(tmp_path):
    """A body is the same wherever its mesh was; and a mirrored file is turned outside out again."""
    vertices, triangles = tetrahedron()
    placed = quirk.Body.from_mesh("b", Mesh(vertices, triangles, frame=Frame([5, 6, 7], TURNED)), mass=2.0)
    R = rotation.matrix(TURNED)
    np.testing.assert_allclose(placed.inertia, R @ Mesh(vertices, triangles).inertia(2.0) @ R.T, rtol=1e-12)
    np.testing.assert_allclose(
        placed.shape.frame.matrix @ placed.shape.solid.center + placed.shape.frame.origin, 0, atol=1e-14
    )
    trimesh.Trimesh(vertices, triangles).export(tmp_path / "t.ply")
    mirrored = Mesh.load(tmp_path / "t.ply", scale=(-2, 1, 1))
    assert mirrored.solid.volume == pytest.approx(2 / 6)
    np.testing.assert_allclose(mirrored.solid.center, [-0.5, 0.25, 0.25])


def test_inside_out_is_turned_and_a_cavity_stays():
    vertices, triangles = tetrahedron()
    assert Mesh(vertices, np.array(triangles)[:, ::-1]).solid.volume == pytest.approx(1 / 6)
    inner = 0.05 + 0.5 * vertices
    hollow = Mesh(np.vstack([vertices, inner]), np.vstack([triangles, np.array(triangles)[:, ::-1] + 4]))
    assert hollow.solid.volume == pytest.approx((1 - 0.125) / 6)


def test_parts_of_a_scene_are_put_in_place(tmp_path):
    scene = trimesh.Scene()
    for shift in (0.0, 10.0):
        scene.add_geometry(
            trimesh.creation.box((1, 1, 1)), transform=trimesh.transformations.translation_matrix([shift, 0, 0])
        )
    scene.export(tmp_path / "two.glb")
    mesh = Mesh.load(tmp_path / "two.glb")
    assert mesh.solid.volume == pytest.approx(2.0)
    np.testing.assert_allclose(mesh.solid.center, [5, 0, 0], atol=1e-15)


def test_an_open_mesh_is_drawn_and_has_no_inertia():
    vertices, triangles = tetrahedron()
    body = quirk.Body("b", 1.0, [1, 1, 1], shape=Mesh(vertices, triangles[:3], color="red"), velocity=[1, 0, 0])
    assert len(body.shape.faces()) == 3
    with pytest.raises(quirk.InputError, match=r"Mesh: it encloses no volume: it has a hole: 3 of its 6 edges"):
        body.shape.inertia(1.0)


def refused(tmp_path):
    vertices, triangles = tetrahedron()
    flat = vertices * [1, 1, 0]
    (tmp_path / "text.stl").write_text("this is no mesh")
    (tmp_path / "cut.glb").write_bytes(box_file(tmp_path / "whole.glb").read_bytes()[:300])
    (tmp_path / "empty.obj").write_text("v 0 0 0\n")
    disagree = [*triangles[:3], triangles[3][::-1]]
    make = quirk.Body.from_mesh
    return [
        (lambda: make("b", tmp_path / "none.stl", mass=1), r'Mesh.load: there is no file .*none.stl'),
        (lambda: make("b", "bad\0name.stl", mass=1), "Mesh.load: there is no file"),
        (lambda: make("b", tmp_path / "a.step", mass=1), r"path must end in .stl, .obj, .* or .off; got .*a.step"),
        (lambda: make("b", 3, mass=1), "path must be the name of a file; got 3"),
        (lambda: make("b", tmp_path / "text.stl", mass=1), "text.stl.* (cannot be read as a mesh|has no triangles)"),
        (lambda: make("b", tmp_path / "cut.glb", mass=1), "cut.glb.* cannot be read as a mesh"),
        (lambda: make("b", tmp_path / "empty.obj", mass=1), "empty.obj.* (cannot be read as a mesh|has no triangles)"),
        (lambda: make("b", tmp_path / "whole.glb"), 'Body "b": give either mass, kg, or density'),
        (lambda: make("b", tmp_path / "whole.glb", mass=1, density=1), 'Body "b": give either mass, kg, or density'),
        (lambda: make("b", tmp_path / "whole.glb", density=-1), 'Body "b": density must be positive'),
        (lambda: make("b", tmp_path / "whole.glb", mass=1, scale=0), "scale must be a number or three, none of them"),
        (lambda: make("b", tmp_path / "whole.glb", mass=1, scale="mm"), "scale must be .*; got 'mm'"),
        (lambda: make("b", tmp_path / "whole.glb", mass=1, origin=[0, 0, 0], position=[0, 0, 0]), "not both"),
        (lambda: make("b", Mesh(vertices, triangles), mass=1, scale=2), "scale and color are for meshes from files"),
        (lambda: make("b", Mesh(vertices, triangles[:3]), mass=1), "it has a hole"),
        (lambda: make("b", Mesh(vertices, disagree), mass=1), "its triangles do not all turn the same way: at 3 of"),
        (lambda: make("b", Mesh(flat, triangles), mass=1), "it is flat"),
        (lambda: make("b", Mesh(vertices, [[0, 0, 1]]), mass=1), "it has no area"),
        (lambda: Mesh(vertices, [[0, 1, 4]]), "triangles must be whole numbers from 0 to 3, .* got 0 to 4"),
        (lambda: Mesh(vertices, [[0, 1, 1.5]]), "triangles must be whole numbers"),
        (lambda: Mesh(vertices, [[0, 1, np.nan]]), "triangles must be whole numbers"),
        (lambda: Mesh(vertices[:, :2], triangles), r"Mesh: vertices must be rows of 3 coordinates; got shape \(4, 2\)"),
        (lambda: Mesh("abc", triangles), "Mesh: vertices must be rows of 3 coordinates; got no numbers"),
        (lambda: Mesh(vertices + np.inf, triangles), "Mesh: vertices must be finite; number 0 is not"),
    ]  # fmt: skip


@pytest.mark.parametrize("number", study(range(24), 6))
def test_what_is_refused(number, tmp_path):
    cases = refused(tmp_path)
    assert len(cases) == 24
    make, message = cases[number]
    with pytest.raises(quirk.InputError, match=message):
        make()


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    path = box_file(tmp_path / "box.stl")
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    with pytest.raises(
        quirk.InputError, match=r'trimesh, which is not installed: pip install "quirk-dynamics\[mesh\]"'
    ):
        Mesh.load(path)
