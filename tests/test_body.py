import numpy as np
import pytest

import quirk
from quirk import Frame, rotation
from quirk.bodies.solids import Box, Cylinder, Ellipsoid


def test_box_inertia():
    np.testing.assert_allclose(quirk.Body.box("b", 12.0, [1, 2, 3]).inertia, np.diag([13.0, 10.0, 5.0]))


def test_sphere_inertia():
    np.testing.assert_allclose(quirk.Body.sphere("b", 5.0, 2.0).inertia, np.eye(3) * 8.0)


def test_ellipsoid_inertia():
    np.testing.assert_allclose(quirk.Body.ellipsoid("b", 5.0, [1, 2, 3]).inertia, np.diag([13.0, 10.0, 5.0]))


@pytest.mark.parametrize(("axis", "moments"), [("x", [4, 5, 5]), ("y", [5, 4, 5]), ([0, 0, 2], [5, 5, 4])])
def test_cylinder_inertia(axis, moments):
    # m r^2 / 2 = 4 along, m (3 r^2 + l^2) / 12 = 5 across
    body = quirk.Body.cylinder("b", 2.0, radius=2.0, length=np.sqrt(18.0), axis=axis)
    np.testing.assert_allclose(body.inertia, np.diag(moments), atol=1e-14)


def test_tilted_cylinder_has_its_axis_as_principal_axis():
    axis = np.array([1.0, 2.0, -2.0]) / 3
    J = Cylinder(0.3, 2.0, tuple(axis)).inertia(4.0)
    np.testing.assert_allclose(J @ axis, 0.5 * 4 * 0.09 * axis, atol=1e-14)


@pytest.mark.parametrize(
    "body",
    [
        quirk.Body.box("b", 1.0, [1, 2, 3]),
        quirk.Body.sphere("b", 1.0, 2.0),
        quirk.Body.ellipsoid("b", 1.0, [1, 2, 3]),
        quirk.Body.cylinder("b", 1.0, 2.0, 5.0, axis=[1, 1, 0]),
    ],
    ids=lambda body: type(body.shape).__name__,
)
def test_surfaces_enclose_the_inertia_of_the_shape(body):
    """Volume and second moments of the drawn polyhedron come close to the closed forms of the solid."""
    volume, second = 0.0, np.zeros((3, 3))
    for face in body.shape.faces():
        for k in range(1, len(face) - 1):
            a, b, c = face[0], face[k], face[k + 1]
            v = abs(np.dot(a, np.cross(b, c))) / 6  # the origin is inside and the shape is star-shaped
            s = a + b + c
            volume += v
            second += v / 20 * (np.outer(a, a) + np.outer(b, b) + np.outer(c, c) + np.outer(s, s))
    second /= volume
    J = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(J, body.inertia, rtol=0.1, atol=0.06 * body.inertia.max())


def test_full_tensor_and_defaults():
    J = np.array([[0.05, 0.01, -0.005], [0.01, 0.08, 0], [-0.005, 0, 0.09]])
    body = quirk.Body("b", 2.0, J)
    np.testing.assert_array_equal(body.inertia, J)
    np.testing.assert_array_equal(body.orientation, [1, 0, 0, 0])
    for part in (body.position, body.velocity, body.angular_velocity):
        np.testing.assert_array_equal(part, 0)


def test_flat_body_is_possible():
    """A lamina meets the triangle inequality with equality."""
    assert quirk.Body("disk", 2.0, [0.125, 0.125, 0.25]).mass == 2.0


class TestShapes:
    def test_one_or_several(self):
        box, ball = Box((1, 2, 3)), Ellipsoid((1, 1, 1))
        for given, shapes in ((None, ()), (box, (box,)), ([box, ball], (box, ball)), ([], ())):
            body = quirk.Body("b", 1.0, [1, 1, 1], shape=given)
            assert body.shapes == shapes
            assert body.shape == (shapes[0] if shapes else None)
        assert quirk.planar.PlanarBody("p", 1.0, 1.0, shape=[box, ball]).shapes == (box, ball)

    def test_they_are_placed(self):
        frame = Frame([1, 2, 3], rotation.exp(np.array([0, 0, 0.3])))
        for shape in (Box, Ellipsoid):
            free, placed = shape((1, 2, 3)).faces(), shape((1, 2, 3), frame=frame).faces()
            for one, two in zip(free, placed, strict=True):
                np.testing.assert_allclose(two, one @ frame.matrix.T + [1, 2, 3], atol=1e-15)
        np.testing.assert_array_equal(Box((1, 2, 3), frame=frame).inertia(12.0), np.diag([13.0, 10.0, 5.0]))

    def test_of_lists_and_letters(self):
        assert Box([1, 2, 3]) == Box((1.0, 2.0, 3.0))
        assert Cylinder(0.1, 2) == Cylinder(0.1, 2.0, (0, 0, 1)) == Cylinder(0.1, 2.0, [0, 0, 3.0])
        assert Cylinder(0.1, 2, "x").axis == (1.0, 0.0, 0.0)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda: quirk.Body("b", 1.0, [1, 1, 1], shape="box"),
                "Body \"b\": shape must be one of quirk.shapes, or a list of such; got 'box'",
            ),
            (lambda: quirk.Body("b", 1.0, [1, 1, 1], shape=[Box((1, 1, 1)), 3]), "or a list of such; got 3"),
            (lambda: Box((1, -1, 1)), r"Box: size\[1\] must be positive; got -1"),
            (lambda: Ellipsoid((1, 1)), r"Ellipsoid: semi_axes must have shape \(3,\)"),
            (lambda: Cylinder(0, 1), "Cylinder: radius must be positive"),
            (lambda: Cylinder(1, 1, [0, 0, 0]), "Cylinder: axis must be a direction"),
            (lambda: Box((1, 1, 1), frame=[1, 2, 3]), "Box: frame must be a quirk.Frame in body coordinates"),
            (lambda: Box((1, 1, 1), color="no such"), "Box: color must be one that matplotlib knows, .* got 'no such'"),
        ],
    )
    def test_what_is_refused(self, make, message):
        with pytest.raises(quirk.InputError, match=message):
            make()


def test_a_solid_takes_a_color_and_no_other_shape():
    assert quirk.Body.box("b", 1.0, [1, 1, 1], color="firebrick").shape.color == "firebrick"
    assert quirk.Body.bar("b", [0, 0, 0], [1, 0, 0], 1.0, color="gold").shape.color == "gold"
    with pytest.raises(
        TypeError, match=r"Body.box \"b\": got an unexpected keyword argument 'shape'; expected Body.box"
    ):
        quirk.Body.box("b", 1.0, [1, 1, 1], shape=Box([1, 1, 1]))
    with pytest.raises(quirk.InputError, match="color must be one that matplotlib knows"):
        quirk.Body.sphere("b", 1.0, 0.1, color="no such")
