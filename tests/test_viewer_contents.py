"""What pictures in space show: where it is, when it is shown, and how large it is."""

import numpy as np
import pytest

import quirk
from quirk import rotation
from quirk.bodies import polyhedron
from quirk.bodies.solids import Box, Cylinder, Ellipsoid, Mesh
from quirk.graphics.viewer import camera, contents, surfaces
from quirk.graphics.viewer.parts import Arrow, BodyPart, Marker, Span
from quirk.graphics.viewer.poses import Poses


def at_half(t, state):
    return t - 0.5


@pytest.fixture(scope="module")
def swing():
    """A rod on a hinge, with a ball on a spring below it, whose cord is cut after half a second."""
    rod = quirk.Body.bar("rod", [0, 0, 0], [1, 0, 0], 1.0, radius=0.02)
    bob = quirk.Body.sphere("bob", 0.5, 0.1, position=[1, 0, -0.5])
    parts = [
        rod,
        bob,
        quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0]),
        quirk.Spring("spring", rod, bob, point_i=[0.5, 0, 0], stiffness=40.0, damping=0.5),
        quirk.Distance("cord", quirk.GROUND, bob, point_i=[1, 0, 1], point_j=[0, 0, 0]),
        quirk.Event("cut", at_half, action=quirk.release("cord")),
    ]
    return quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81]), 1.0, output=0.05)


def part(drawn, name):
    found = [part for part in drawn.parts if part.name == name]
    assert len(found) == 1, [part.name for part in drawn.parts]
    return found[0]


def test_bodies_are_where_the_result_has_them(swing):
    drawn = contents.of_result(swing, swing.time[::2])
    track = part(drawn, "rod").track(drawn.poses)
    rows = in_order(swing.time, swing.time[::2])
    np.testing.assert_allclose(track.position, swing["rod"].position[rows], atol=1e-12)
    np.testing.assert_allclose(track.orientation, swing["rod"].orientation[rows], atol=1e-12)


def in_order(time, wanted):
    return np.searchsorted(time, wanted, side="right") - 1


def test_springs_and_cords_reach_from_end_to_end(swing):
    times = np.array([0.0, 0.21, 0.43])
    drawn = contents.of_result(swing, times)
    for name in ("spring", "cord"):
        span = part(drawn, name)
        assert isinstance(span, Span)
        track = span.track(drawn.poses)
        R = rotation.matrix(track.orientation)
        reached = track.position + R[:, :, 2] * track.scale[:, 2:]
        np.testing.assert_allclose(reached, drawn.poses.position["bob"], atol=1e-12)
        # Its surface has length 1 along z.
        z = np.concatenate([look.surface.vertices for look in span.looks])[:, 2]
        np.testing.assert_allclose([z.min(), z.max()], [0, 1], atol=0.02)


def test_what_is_switched_off_is_not_shown(swing):
    times = np.array([0.0, 0.4, 0.6, 1.0])
    drawn = contents.of_result(swing, times, arrows=["cord", "hinge"])
    np.testing.assert_array_equal(part(drawn, "cord").track(drawn.poses).shown, [True, True, False, False])
    np.testing.assert_array_equal(part(drawn, "cord i").track(drawn.poses).shown, [True, True, False, False])
    np.testing.assert_array_equal(part(drawn, "cord force").track(drawn.poses).shown, [True, True, False, False])
    assert part(drawn, "hinge j").track(drawn.poses).shown.all()


def test_a_force_that_events_switch_off(swing):
    del swing
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    push = quirk.Force("push", ball, [0, 0, 3.0])
    stop = quirk.Event("off", at_half, action=quirk.switch_off("push"))
    result = quirk.simulate(quirk.System([ball, push, stop]), 1.0, output=0.1)
    drawn = contents.of_result(result, np.array([0.0, 0.4, 0.6, 1.0]), arrows="all")
    np.testing.assert_array_equal(part(drawn, "push force").track(drawn.poses).shown, [True, True, False, False])


def test_arrows_have_one_scale(swing):
    """They are as long as forces are large, in the direction in which these act."""
    rows = np.array([2, 5, 8])
    drawn = contents.of_result(swing, swing.time[rows], arrows=["hinge", "spring"])
    ratios = []
    for name in ("hinge", "spring"):
        arrow = part(drawn, f"{name} force")
        assert isinstance(arrow, Arrow)
        track = arrow.track(drawn.poses)
        force = swing[name].force()[rows]
        drawn_vector = rotation.matrix(track.orientation)[:, :, 2] * track.scale[:, 2:]
        ratios.append(np.linalg.norm(drawn_vector, axis=1) / np.linalg.norm(force, axis=1))
        np.testing.assert_allclose(
            drawn_vector / np.linalg.norm(drawn_vector, axis=1)[:, None],
            force / np.linalg.norm(force, axis=1)[:, None],
            atol=1e-9,
        )
    np.testing.assert_allclose(np.concatenate(ratios), ratios[0][0], rtol=1e-9)
    # A frictionless hinge about y has no torque about y, and none at all in this plane.
    assert not any(p.name == "hinge torque" for p in drawn.parts)


def test_trails_end_at_their_points(swing):
    times = np.linspace(0, 1, 11)
    drawn = contents.of_result(swing, times, trails=[("bob", np.array([0, 0, 0.1]))])
    (trail,) = drawn.trails
    r, q = drawn.poses.position["bob"], drawn.poses.orientation["bob"]
    np.testing.assert_allclose(trail.path[:, -1], r + rotation.matrix(q) @ [0, 0, 0.1], atol=1e-12)
    np.testing.assert_allclose(trail.path[1:, 0], trail.path[:-1, -1], atol=1e-12)


JOINTS = {
    "hinge": lambda i, j: quirk.Revolute("x", i, j, point=[0, 0, 0], axis=[0, 0, 1]),
    "slider": lambda i, j: quirk.Prismatic("x", i, j, axis=[0, 0, 1]),
    "sleeve": lambda i, j: quirk.Cylindrical("x", i, j, point=[0, 0, 0], axis=[0, 0, 1]),
    "ball": lambda i, j: quirk.Spherical("x", i, j, point=[0, 0, 0]),
    "cross": lambda i, j: quirk.Universal("x", i, j, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0]),
    "weld": lambda i, j: quirk.Fixed("x", i, j),
    "free": lambda i, j: quirk.Free("x", i, j),
    "plane": lambda i, j: quirk.PointOnPlane("x", i, j, point=[0, 0, 0], axis=[0, 0, 1]),
}


@pytest.mark.parametrize("kind", JOINTS)
def test_joints_look_like_what_they_are(kind):
    body = quirk.Body.box("b", 1.0, [1, 1, 1])
    system = quirk.System([body, JOINTS[kind](quirk.GROUND, body)])
    drawn = contents.of_state(system, system.initial_state())
    found = {p.name: np.ptp(p.looks[0].surface.vertices, axis=0) for p in drawn.parts if isinstance(p, Marker)}
    names = {
        "hinge": "j",
        "slider": "ij",
        "sleeve": "ij",
        "ball": "j",
        "cross": "ij",
        "weld": "j",
        "free": "",
        "plane": "ij",
    }
    assert set(found) == {f"x {letter}" for letter in names[kind]}
    if kind == "hinge":
        assert found["x j"][2] > found["x j"][0] == pytest.approx(found["x j"][1], rel=0.02)
    if kind in ("slider", "sleeve"):
        assert found["x i"][2] > 3 * found["x j"][2]  # the rail is longer than what slides on it
        assert found["x j"][0] > found["x i"][0]
    if kind == "ball":
        np.testing.assert_allclose(found["x j"], found["x j"][0], rtol=0.02)
    if kind == "cross":
        assert found["x i"][0] > 3 * found["x i"][1]
        assert found["x j"][1] > 3 * found["x j"][0] / 1.3
    if kind == "plane":
        assert found["x i"][2] < 0.1 * found["x i"][0]


def test_tendons_and_their_limits_have_a_part_for_each_span():
    bob = quirk.Body.sphere("bob", 1.0, 0.1, position=[0, 0, -1])
    points = [(quirk.GROUND, [0, 0, 0]), (bob, [0, 0, 0]), (quirk.GROUND, [1, 0, 0]), (bob, [0, 0.1, 0])]
    tendon = quirk.Tendon("tendon", points, weights=[1, 0, 0.5], stiffness=1.0)
    stop = quirk.TendonStop("stop", points, weights=[1, 0, 0.5], upper=9.0)
    system = quirk.System([bob, tendon, stop])
    drawn = contents.of_state(system, system.initial_state())
    for name in ("tendon", "tendon span 2", "stop", "stop span 2"):
        start = [0, 0, 0] if "span" not in name else [1, 0, 0]
        np.testing.assert_allclose(part(drawn, name).track(drawn.poses).position[0], start)
    assert {"stop i", "stop j", "stop span 2 i", "stop span 2 j"} <= {p.name for p in drawn.parts}


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_everything_grows_with_the_mechanism(size):
    def drawn(a):
        rod = quirk.Body.bar("rod", [0, 0, 0], [a, 0, 0], 1.0)
        bob = quirk.Body("bob", 1.0, [a * a] * 3, position=[2 * a, 0, 0])
        hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        ball = quirk.Spherical("ball", rod, bob, point=[a, 0, 0])
        spring = quirk.Spring("spring", quirk.GROUND, bob, point_i=[2 * a, 0, a], stiffness=1.0)
        system = quirk.System([rod, bob, hinge, ball, spring])
        return contents.of_state(system, system.initial_state())

    one, other = drawn(1.0), drawn(size)
    assert [p.name for p in one.parts] == [p.name for p in other.parts]
    for p, q in zip(one.parts, other.parts, strict=True):
        stretched = np.array([1, 1, 1 / size]) if isinstance(p, Span) else 1.0
        for look, same in zip(p.looks, q.looks, strict=True):
            assert np.isfinite(same.surface.vertices).all()
            np.testing.assert_allclose(
                same.surface.vertices / size / stretched, look.surface.vertices, rtol=1e-6, atol=1e-9
            )
    assert other.extent.size == pytest.approx(size * one.extent.size)
    np.testing.assert_allclose(camera.direction(one.extent), camera.direction(other.extent), atol=1e-12)


@pytest.mark.parametrize(
    ("gravity", "flat", "right", "back"),
    [
        ([0, 0, -9.81], 1, [1, 0, 0], [0, 1, 0]),  # in the x-z plane: x to the right, seen from -y
        ([0, -9.81, 0], 2, [1, 0, 0], [0, 0, -1]),  # in the x-y plane with y up: seen from +z
        ([0, 0, -9.81], 0, [0, 1, 0], [-1, 0, 0]),  # in the y-z plane: y to the right, seen from +x
    ],
)
def test_a_flat_mechanism_is_seen_from_its_wide_side(gravity, flat, right, back):
    size = np.ones(3)
    size[flat] = 0.01
    body = quirk.Body.box("b", 1.0, size)
    system = quirk.System([body], gravity=gravity)
    extent = contents.of_state(system, system.initial_state()).extent
    up = -np.array(gravity) / 9.81
    np.testing.assert_allclose(camera.axes_of(extent), np.column_stack([right, back, up]), atol=1e-12)
    toward = camera.direction(extent)
    assert toward[1] < -0.85
    assert toward[2] > 0.1


def test_what_goes_far_is_not_a_speck():
    ball = quirk.Body.sphere("ball", 1.0, 0.5, velocity=[100, 0, 0])
    result = quirk.simulate(quirk.System([ball]), 1.0, output=0.1)
    drawn = contents.of_result(result, result.time)
    assert drawn.extent.size == pytest.approx(1.0)
    assert drawn.extent.is_wide
    middle, half = drawn.extent.view(followed=True)
    assert half == pytest.approx(1.5)
    np.testing.assert_allclose(middle, 0, atol=1e-12)
    middle, half = drawn.extent.view(followed=False)
    assert half == pytest.approx(50.5)
    np.testing.assert_allclose(middle, [50, 0, 0], atol=1e-9)


@pytest.mark.parametrize("shape", [Box((1, 2, 3)), Cylinder(0.5, 2.0, (1, 1, 0)), Ellipsoid((1, 2, 3))])
def test_surfaces_of_shapes_are_closed_and_turned_outward(shape):
    surface = surfaces.of_polygons(shape.faces())
    vertices, triangles = polyhedron.welded(np.round(surface.vertices, 12), surface.triangles)
    assert polyhedron.fault(triangles) is None
    assert polyhedron.solid(vertices, triangles).volume > 0
    corners = {Box: 24, Cylinder: 80, Ellipsoid: 182}[type(shape)]
    assert len(surface.vertices) == corners  # sharp where there are edges, smooth elsewhere


def test_an_open_mesh_is_seen_from_both_sides():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], color=(1, 0, 0, 0.5))
    body = quirk.Body("b", 1.0, [1, 1, 1], shape=[mesh, Box((1, 1, 1), color="blue")])
    system = quirk.System([body])
    (drawn,) = contents.of_state(system, system.initial_state()).parts
    assert isinstance(drawn, BodyPart)
    assert [look.surface.closed for look in drawn.looks] == [False, True]
    assert [look.color for look in drawn.looks] == [(1, 0, 0, 0.5), (0, 0, 1, 1)]


def test_a_body_without_shape_shows_its_inertia():
    axes = rotation.exp(np.array([0.3, 0.5, -0.2]))
    R = rotation.matrix(axes)
    solid = Ellipsoid((1, 2, 3)).inertia(2.0)
    system = quirk.System([quirk.Body("b", 2.0, R @ solid @ R.T)])
    (drawn,) = contents.of_state(system, system.initial_state()).parts
    vertices = drawn.looks[0].surface.vertices @ R
    np.testing.assert_allclose(np.abs(vertices).max(axis=0), [1, 2, 3], rtol=0.02)


def test_poses_of_a_state_are_those_of_the_system(swing):
    system = swing.system
    poses = Poses.of_state(system, system.initial_state())
    np.testing.assert_array_equal(poses.position["bob"], [[1, 0, -0.5]])
    assert poses.acts["cord"].all()


@pytest.mark.parametrize(
    ("arrows", "message"),
    [
        ("nothing", "nothing"),
        (["rod"], 'arrows: loads are those of constraints and forces; got Body "rod"'),
        (3, 'arrows must be names of constraints and forces, or "all"; got 3'),
        ([3], "arrows must be names"),
    ],
)
def test_arrows_that_are_refused(swing, arrows, message):
    with pytest.raises(quirk.QuirkError, match=message):
        contents.of_result(swing, swing.time, arrows=arrows)


def winch():
    load = quirk.Body.sphere("load", mass=5.0, radius=0.05, position=[0.1, 0, -1])
    drum = quirk.Body("winch", mass=4.0, inertia=[0.02, 0.02, 0.02])
    bearing = quirk.Revolute("bearing", quirk.GROUND, drum, point=[0, 0, 0], axis=[0, -1, 0])
    sheave = quirk.Drum(drum, [0, 0, 0], [0, -1, 0], radius=0.1)
    return quirk.System(
        [load, drum, bearing, quirk.Pulley("cable", [(load, [0, 0, 0]), sheave])], gravity=[0, 0, -9.81]
    )


def test_ropes_of_pulleys_leave_drums_and_end_at_their_points():
    system = winch()
    drawn = contents.of_state(system, system.initial_state())
    (cord,) = drawn.cords
    path = cord.path(drawn.poses)[0]
    np.testing.assert_allclose(path[0], [0.1, 0, -1], atol=1e-12)
    np.testing.assert_allclose(path[-1], [0.1, 0, 0], atol=1e-12)  # where the rope touches the drum
    assert cord.shown(drawn.poses).all()


def test_wheels_are_drawn_of_what_constraints_know():
    system = winch()
    drawn = contents.of_state(system, system.initial_state())
    reach = [
        np.abs(look.surface.vertices[:, [0, 2]]).max() for look in part(drawn, "winch").looks if not look.surface.closed
    ]
    assert max(reach) == pytest.approx(0.1)
