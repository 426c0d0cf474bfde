"""URDF files: the motion that Pinocchio finds, links that are merged, mimic joints, limits, meshes, and what is listed."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import quirk
from quirk import importers, rotation

DATA = Path(__file__).parent / "data" / "import"
ARM = DATA / "arm.urdf"
JOINTS = ["turn", "lift", "roll", "bend", "twist", "nod", "spin"]


def link(name, mass=1.0, inertia=(0.02, 0.03, 0.04), more=""):
    xx, yy, zz = inertia
    inertial = "" if mass is None else (
        f'<inertial><origin xyz="0.1 0.02 -0.03" rpy="0.2 0 0.4"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}"/></inertial>'
    )  # fmt: skip
    return f'<link name="{name}">{inertial}{more}</link>'


def joint(name, kind, parent, child, more=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


def written(folder, *parts, name="robot.urdf"):
    path = folder / name
    path.write_text(f'<robot name="r">{"".join(parts)}</robot>')
    return path


def test_accelerations_of_the_arm_are_those_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    size, pulse, phase = 3.0 + np.arange(7), 1.3 + 0.4 * np.arange(7), np.arange(7)
    torques = [quirk.Motion.sinusoid(a, w, phase=p) for a, w, p in zip(size, pulse, phase, strict=False)]
    imported = importers.load_urdf(ARM, gravity=[0.2, -0.1, -9.81], limits=False)
    system = imported.system.with_parts(
        *(
            quirk.JointTorque(f"{name} motor", imported.system[name], torque)
            for name, torque in zip(JOINTS, torques, strict=False)
        )
    )
    model = pin.buildModelFromUrdf(str(ARM))
    model.gravity.linear = np.array([0.2, -0.1, -9.81])
    data, rng = model.createData(), np.random.default_rng(4)
    worst = 0.0
    for _ in range(20):
        t, angles, rates = rng.uniform(0, 9), rng.uniform(-np.pi, np.pi, 7), 2 * rng.normal(size=7)
        q = np.concatenate(
            [[np.cos(x), np.sin(x)] if n == "twist" else [x] for n, x in zip(JOINTS, angles, strict=False)]
        )
        tau = size * np.sin(pulse * t + phase) - model.damping * rates
        qdd = pin.aba(model, data, q, rates, tau).copy()
        state, expected = motion_of_bodies(pin, model, data, system, q, rates, qdd)
        found = system.acceleration(state, t)
        for mine, his in zip((found.linear, found.angular), expected, strict=False):
            worst = max(worst, np.abs(mine - his).max() / np.abs(his).max())
    assert worst < 1e-11


def motion_of_bodies(pin, model, data, system, q, rates, qdd):
    """The state of QuIRK's bodies and their accelerations, from Pinocchio's forward kinematics."""
    pin.forwardKinematics(model, data, q, rates, qdd)
    pin.updateFramePlacements(model, data)
    state = system.initial_state()
    expected = np.zeros((2, len(system.bodies), 3))
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for k, body in enumerate(system.bodies):
        frame = model.getFrameId(body.name)
        place = data.oMf[frame]
        link = body.frame(body.name)
        R = place.rotation @ link.matrix.T
        arm = -R @ link.origin
        v = pin.getFrameVelocity(model, data, frame, world)
        a = pin.getFrameClassicalAcceleration(model, data, frame, world)
        state.position[k] = place.translation + arm
        state.orientation[k] = rotation.from_matrix(R)
        state.velocity[k] = v.linear + np.cross(v.angular, arm)
        state.angular_velocity[k] = R.T @ v.angular
        expected[0, k] = a.linear + np.cross(a.angular, arm) + np.cross(v.angular, np.cross(v.angular, arm))
        expected[1, k] = R.T @ a.angular
    return state, expected


def test_the_arm_is_what_the_file_says():
    imported = importers.load_urdf(ARM)
    system = imported.system
    assert imported.links["tool_tip"] == "flange" and len(system.bodies) == 8
    assert system["flange"].mass == pytest.approx(0.41 + 0.66)
    assert system["base on the ground"].body_i is quirk.GROUND
    assert [stop.name for stop in system.constraints if isinstance(stop, quirk.Stop)] == [
        f"{name} limits" for name in JOINTS if name != "twist"
    ]
    assert system["lift friction"].viscous == 0.6
    assert len(system["base"].shapes) == 1 and system["base"].shape.color == (0.6, 0.6, 0.65, 1.0)
    listed = "\n".join(imported.left_out)
    assert '<collision> (contacts=True imports them as contacts): link "base"' in listed
    assert 'limits of effort: joint "turn", joint "lift"' in listed
    # Where the tool's point is, with all coordinates zero, from the numbers of the file.
    assert np.allclose(placed(system, "flange", "tool_tip"), chain_of_file(), atol=1e-12)


def placed(system, body, frame):
    """Where a named frame is at the initial state."""
    state, k = system.initial_state(), system.bodies.index(system[body])
    return state.position[k] + rotation.matrix(state.orientation[k]) @ system[body].frame(frame).origin


def chain_of_file():
    """Where the tool's point is, by scipy's rotations."""
    from scipy.spatial.transform import Rotation

    origins = [
        ((0.01, 0, 0.12), (0.02, -0.01, 0.3)), ((0, 0.045, 0.21), (-1.5, 0.1, 0)), ((0.02, -0.03, 0.35), (1.4, 0, 0.2)),
        ((0.06, 0.01, 0.04), (0.3, 1.2, -0.5)), ((0, 0.02, -0.25), (-0.2, 0.1, 0.7)), ((0.01, 0, 0.06), (1.1, -0.3, 0)),
        ((0.09, 0, -0.01), (0, 1.5, 0.4)), ((0, 0.01, 0.06), (0.1, -0.2, 0.6)),
    ]  # fmt: skip
    point = np.array([0.02, 0.03, 0.22])
    for xyz, rpy in reversed(origins):
        point = np.array(xyz) + Rotation.from_euler("xyz", rpy).apply(point)
    return point


def test_a_floating_base_falls_and_keeps_its_momentum():
    system = importers.load_urdf(ARM, base="free", gravity=[0, 0, -2.0]).system
    acceleration = system.acceleration(system.initial_state())
    masses = np.array([body.mass for body in system.bodies])
    assert len(system.bodies) == 8 and "base on the ground" not in system
    assert np.allclose(masses @ acceleration.linear / masses.sum(), [0, 0, -2.0], atol=1e-12)


def test_mimic_joints_follow(tmp_path):
    slide = '<axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="1" velocity="1"/>'
    path = written(
        tmp_path,
        link("palm"), link("left"), link("right"), link("thumb"),
        joint("left_slide", "prismatic", "palm", "left", slide),
        joint("right_slide", "prismatic", "palm", "right",
              slide.replace('"0 1 0"', '"0 -1 0"') + '<mimic joint="left_slide" multiplier="0.5" offset="0.01"/>'),
        joint("thumb_hinge", "continuous", "left", "thumb", '<axis xyz="0 0 1"/><mimic joint="right_slide" multiplier="20"/>'),
    )  # fmt: skip
    system = importers.load_urdf(path, gravity=[0, -1.0, 0], limits=False).system
    assert system.mobility().degrees_of_freedom == 1
    result = quirk.simulate(system, 0.5, output=0.05)
    left, right = (result[name].displacement[:, 2] for name in ("left_slide", "right_slide"))
    assert np.ptp(left) > 0.01
    assert np.allclose(right, 0.5 * left + 0.01, atol=1e-12)
    assert np.allclose(result["thumb_hinge"].rotation[:, 2], 20 * right, atol=1e-10)


def test_massless_links_are_merged_or_named(tmp_path):
    parts = [link("world", None), link("cart"), link("sensor", None), joint("rail", "prismatic", "world", "cart",
             '<limit lower="-1" upper="1" effort="1" velocity="1"/>'), joint("mount", "fixed", "cart", "sensor")]  # fmt: skip
    imported = importers.load_urdf(written(tmp_path, *parts))
    assert imported.links == {"world": "ground", "cart": "cart", "sensor": "cart"}
    bad = [*parts, link("pan", None), joint("pan_hinge", "continuous", "sensor", "pan")]
    with pytest.raises(quirk.InputError, match=r'line 1, <link name="pan">: a moving link must have mass'):
        importers.load_urdf(written(tmp_path, *bad))
    with pytest.raises(quirk.InputError, match=r'"world".*a moving link must have mass'):
        importers.load_urdf(
            written(tmp_path, link("world", None), link("a"), joint("j", "continuous", "world", "a")), base="free"
        )


def test_zero_outside_the_limits_starts_in_their_middle(tmp_path):
    limit = '<limit lower="-2.4" upper="-0.4" effort="1" velocity="1"/><axis xyz="0 1 0"/>'
    path = written(tmp_path, link("base"), link("arm"), joint("elbow", "revolute", "base", "arm", limit))
    imported = importers.load_urdf(path, gravity=[0, 0, -9.81])
    assert any(line.startswith("limits that exclude zero") for line in imported.left_out)
    result = quirk.simulate(imported.system, 1.0, output=0.01)
    angle = result["elbow"].rotation[:, 2]
    assert angle[0] == pytest.approx(-1.4) and angle.min() > -2.4 - 1e-9 and angle.max() < -0.4 + 1e-9
    assert np.ptp(angle) > 0.5
    free = importers.load_urdf(path, limits=False).system
    assert not any(isinstance(part, quirk.Stop) for part in free)


def test_planar_and_floating_joints(tmp_path):
    path = written(
        tmp_path, link("base"), link("puck"), link("drone"),
        joint("table", "planar", "base", "puck", '<axis xyz="0 1 0"/>'), joint("air", "floating", "base", "drone"),
    )  # fmt: skip
    system = importers.load_urdf(path).system
    assert system.mobility().degrees_of_freedom == 3 + 6


def test_a_link_and_a_joint_of_one_name(tmp_path):
    imported = importers.load_urdf(written(tmp_path, link("a"), link("b"), joint("b", "continuous", "a", "b")))
    assert isinstance(imported.system["b joint"], quirk.Revolute)
    assert imported.left_out[-1] == 'names already in use: joint "b" is renamed to "b joint"'


def test_meshes_are_found_or_listed(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "block.off").write_text(
        "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
    )
    (tmp_path / "meshes" / "broken.stl").write_text("solid of nothing")
    names = ["package://r/meshes/block.off", "meshes/block.off", "package://other/block.off", "meshes/none.stl",
             "meshes/broken.stl", "http://example.org/a.stl"]  # fmt: skip
    visuals = "".join(
        f'<visual><geometry><mesh filename="{name}" scale="2 1 1"/></geometry></visual>' for name in names
    )
    path = written(tmp_path, link("a", more=visuals), link("b"), joint("j", "continuous", "a", "b"))
    imported = importers.load_urdf(path, packages={"other": tmp_path / "meshes"})
    assert len(imported.system["a"].shapes) == 3
    a = imported.system["a"]
    corners = np.concatenate(a.shapes[0].faces()) @ a.frame("a").matrix - a.frame("a").origin @ a.frame("a").matrix
    assert np.allclose(np.ptp(corners, axis=0), [2, 1, 1])
    listed = "\n".join(imported.left_out)
    for name in names[3:]:
        assert name in listed, name


def test_visuals_or_collisions_are_shown_and_large_meshes_simplified(tmp_path):
    """A Collada box in its unit, and a ball of 81,920 triangles with its size and volume kept to a part."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    box = trimesh.creation.box([2, 4, 6])
    for part in (box, box.copy()):
        part.visual = trimesh.visual.ColorVisuals(part)
    text = trimesh.exchange.dae.export_collada(box).decode()
    (tmp_path / "box.dae").write_text(text.replace("<asset>", '<asset><unit name="centimeter" meter="0.01"/>', 1))
    trimesh.creation.icosphere(subdivisions=6, radius=1.0).export(tmp_path / "ball.stl")
    (tmp_path / "bomb.dae").write_text(text.replace("<COLLADA", '<!DOCTYPE x [<!ENTITY a "a">]><COLLADA', 1))
    looks = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in ("box.dae", "ball.stl", "bomb.dae")
    ) + '<collision><geometry><sphere radius="0.2"/></geometry></collision>'  # fmt: skip
    path = written(tmp_path, link("a", more=looks))
    imported = importers.load_urdf(path)
    small, ball = imported.system["a"].shapes
    assert np.allclose(np.sort(np.ptp(small.vertices, axis=0)), [0.02, 0.04, 0.06])
    assert len(ball.triangles) <= 20_000 and np.allclose(np.ptp(ball.vertices, axis=0), 2.0, rtol=1e-2)
    assert ball.solid.volume == pytest.approx(4 / 3 * np.pi, rel=1e-2)
    listed = "\n".join(imported.left_out)
    assert "which are simplified for display: ball.stl" in listed and "declares a document type" in listed
    assert isinstance(importers.load_urdf(path, shapes="collision").system["a"].shape, quirk.shapes.Ellipsoid)
    bare = importers.load_urdf(path, shapes=None)
    assert bare.system["a"].shapes == () and len(bare.left_out) == 1
    with pytest.raises(quirk.InputError, match="shapes must be one of 'visual', 'collision', None"):
        importers.load_urdf(path, shapes="both")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([link("a"), link("a")], 'line 1, <link name="a">: another link has that name'),
        ([link("a"), link("b")], "exactly one link must have no parent; got 2"),
        ([link("a"), joint("j", "fixed", "a", "c")], "there is no link 'c'"),
        ([link("a"), link("b"), joint("j", "hinge", "a", "b")], "type must be one of revolute"),
        ([link("a"), link("b"), joint("j", "continuous", "a", "b"), joint("k", "fixed", "a", "b")], "is the child of joint 'j'"),
        ([link("a"), link("b"), link("c"), joint("j", "fixed", "b", "c"), joint("k", "fixed", "c", "b")], "loop of links"),
        ([link("a"), link("b"), joint("j", "continuous", "a", "b", '<axis xyz="0 0 0"/>')], "<axis>: axis: xyz must be a direction"),
        ([link("a"), link("b"), joint("j", "revolute", "a", "b", '<limit lower="1" upper="0"/>')], "<limit>: lower must not be above"),
        ([link("a"), link("b"), joint("j", "continuous", "a", "b", '<dynamics damping="-1"/>')], "viscous must not be negative"),
        ([link("a"), link("b"), joint("j", "continuous", "a", "b", '<mimic joint="j"/>')], "mimic relations form a cycle"),
        ([link("a"), link("b", inertia=(1, 1, 9)), joint("j", "continuous", "a", "b")], 'line 1, <link name="b">: Body "b": inertia violates the triangle inequality'),
        ([link("a", mass="1e999")], r'the attribute value="..." must be 1 number up to 1e\+75; got \'1e999\''),
        ([link("a", mass="1 2")], "must be 1 number"),
        ([link("a", mass=-1)], "mass must not be negative"),
        ([link("a", more="<visual><geometry><torus/></geometry></visual>")], "must be a box, cylinder, sphere, capsule or mesh"),
        ([link("a", more='<visual><geometry><sphere radius="-1"/></geometry></visual>')], "line 1, <sphere>.*positive; got -1"),
        ([], "has no <link>"),
        (['<xacro:include filename="arm.xacro"/>'], "is a xacro file"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(tmp_path, parts, message):
    with pytest.raises(quirk.InputError, match=message):
        importers.load_urdf(written(tmp_path, *parts))


def test_impossible_inertias_are_named_together_or_repaired(tmp_path):
    """Those of links on the ground play no part."""
    rod, thick, dot = (0.0, 0.02, 0.02), (0.1, 0.1, 0.9), (0.0, 0.0, 0.0)
    parts = [
        link("base", inertia=thick), link("a", inertia=rod), link("b", inertia=thick), link("c"), link("d", inertia=dot),
        joint("i", "continuous", "base", "a"), joint("j", "continuous", "a", "b"), joint("k", "fixed", "b", "c"),
        joint("l", "continuous", "a", "d"),
    ]  # fmt: skip
    path = written(tmp_path, *parts)
    with pytest.raises(quirk.InputError, match=r'(?s)3 links cannot.*repair_inertia=True.*link name="a".*"b".*"d"'):
        importers.load_urdf(path)
    fingers = [link("e", mass=None), link("f", mass=None)]
    joints = [joint("m", "prismatic", "c", "e"), joint("n", "revolute", "e", "f", '<limit lower="1" upper="2"/>')]
    imported = importers.load_urdf(written(tmp_path, *parts, *fingers, *joints), repair_inertia=True)
    assert imported.links["f"] == "b" and any('joint "m", joint "n"' in line for line in imported.left_out)
    line = next(line for line in imported.left_out if line.startswith("impossible inertia, replaced"))
    assert 'link "a" (0, 0.02, 0.02) ->' in line and 'link "d"' in line and 'link "base"' not in line
    assert any("has no effect" in line and 'link "base"' in line for line in imported.left_out)
    a, d = np.linalg.eigvalsh(imported.system["a"].inertia), np.linalg.eigvalsh(imported.system["d"].inertia)
    assert np.allclose(a, [4e-5, 0.02 + 2e-5, 0.02 + 2e-5], rtol=1e-9)
    assert d[0] == pytest.approx(0.4 * (3 / (4000 * np.pi)) ** (2 / 3))


def test_mimic_of_a_fixed_joint_is_listed(tmp_path):
    parts = [link("a"), link("b"), link("c"), joint("j", "continuous", "a", "b")]
    path = written(
        tmp_path, *parts, joint("k", "fixed", "b", "c", '<mimic joint="j" multiplier="2"/><axis xyz="0 0 1"/>')
    )
    assert importers.load_urdf(path).left_out == ('mimic with a fixed joint: joint "k"',)


def test_options_are_checked(tmp_path):
    for options in (
        {"base": "loose"},
        {"limits": 1},
        {"packages": "folder"},
        {"gravity": 9.81},
        {"inertia_tolerance": -1},
    ):
        with pytest.raises(quirk.InputError):
            importers.load_urdf(ARM, **options)
    for path in (3, tmp_path, tmp_path / "none.urdf", "a\0b"):
        with pytest.raises(quirk.InputError):
            importers.load_urdf(path)


def test_load_warns_once_of_all_that_is_left_out():
    with pytest.warns(UserWarning, match="arm.urdf: the import is incomplete") as caught:
        system = quirk.load(ARM, gravity=[0, 0, -9.81], base="free")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message).count("\n- ") == 3
    assert system.gravity[2] == -9.81
    with pytest.raises(quirk.InputError, match="has no option 'keyframe'; there are: base, contacts, gravity"):
        quirk.load(ARM, keyframe=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importers.read(ARM)
