"""SDF files: loops, frames, nested models, all joints, and what is listed."""

from pathlib import Path

import numpy as np
import pytest

import quirk
from quirk import importers, rotation

DATA = Path(__file__).parent / "data" / "import"
INERTIAL = (
    "<inertial><pose>0.1 0 0.05 0.2 0 0.1</pose><mass>1.5</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.035</izz>"
    "<ixy>0.001</ixy></inertia></inertial>"
)


def link(name, pose="0 0 0 0 0 0", more="", inertial=INERTIAL, attributes=""):
    return f'<link name="{name}"><pose {attributes}>{pose}</pose>{inertial}{more}</link>'


def joint(name, kind, parent, child, axis="0 0 1", more="", of_axis=""):
    axes = "" if kind in ("ball", "fixed") else f"<axis><xyz>{axis}</xyz>{of_axis}</axis>"
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{axes}{more}</joint>'


def written(folder, *parts, version="1.10"):
    path = folder / "model.sdf"
    path.write_text(f'<sdf version="{version}"><model name="m">{"".join(parts)}</model></sdf>')
    return path


def by_hand():
    """The loop of the file, with poses and points worked out here."""
    from scipy.spatial.transform import Rotation

    def pose(xyz, rpy):
        return Rotation.from_euler("xyz", rpy), np.array(xyz, dtype=float)

    def after(one, two):
        return one[0] * two[0], one[0].apply(two[1]) + one[1]

    model = pose([0.2, -0.1, 0.5], [0.1, 0.2, 0.3])
    crank = after(model, pose([0.05, 0, 0], [0, 0, 0.4]))
    coupler = after(crank, pose([0, 0, 0.2], [0, 0, 0]))
    rocker = after(crank, pose([0.7, 0, -0.05], [0, 0, 0]))

    def body(name, link, mass, com, rpy, inertia):
        turn, center = after(link, pose(com, rpy))
        return quirk.Body(name, mass, inertia, position=center, orientation=turn)

    one = body("crank", crank, 0.8, [0.02, 0, 0.1], [0.1, 0, 0.2],
               [[0.004, 0.0002, -0.0001], [0.0002, 0.0035, 0.0001], [-0.0001, 0.0001, 0.0012]])  # fmt: skip
    two = body("coupler", coupler, 1.3, [0.3, 0.01, 0.04], [0, 0.3, 0],
               [[0.006, 0, 0.001], [0, 0.031, 0], [0.001, 0, 0.029]])  # fmt: skip
    three = body("rocker", rocker, 0.6, [0, 0, 0.12], [0, 0, 0], [0.005, 0.0047, 0.0007])
    axis = crank[0].apply([0, 1, 0])
    drive = quirk.Revolute("drive", quirk.GROUND, one, point=crank[1], axis=axis)
    pin = quirk.Revolute("pin", one, two, point=coupler[1], axis=axis)
    pivot = quirk.Revolute("pivot", quirk.GROUND, three, point=rocker[1], axis=axis)
    closing = quirk.Spherical("closing", two, three, point=coupler[0].apply([0.6, 0, 0]) + coupler[1])
    return quirk.System(
        [one, two, three, drive, pin, pivot, closing,
         quirk.JointFriction("damper", drive, viscous=0.05),
         quirk.TorsionSpring("spring", pivot, stiffness=2.5, rest_angle=0.1)],
        gravity=[0.3, 0, -9.81],
    )  # fmt: skip


def test_a_closed_loop_moves_as_when_it_is_written_by_hand():
    imported = importers.load_sdf(DATA / "loop.sdf")
    mine, hand = imported.system, by_hand()
    assert mine.mobility().degrees_of_freedom == hand.mobility().degrees_of_freedom == 1
    names = ["crank", "coupler", "rocker"]
    runs = [quirk.simulate(system, 1.0, output=0.1, rtol=1e-11) for system in (mine, hand)]
    for name in names:
        for quantity in ("position", "velocity", "acceleration"):
            one, two = (getattr(run[name], quantity) for run in runs)
            assert np.abs(one - two).max() < 1e-9 * np.abs(two).max(), quantity
    assert np.ptp(runs[0]["drive"].rotation[:, 2]) > 0.2
    assert imported.left_out == (
        'no inertial, for which SDF sets 1 kg and 1 kg m^2 about each axis: link "base"',
        'parent frames that differ from the frame of the joint: joint "pivot" (0.7018 m apart)',
    )
    assert [len(mine[name].shapes) for name in names] == [1, 3, 1]
    assert mine["crank"].shape.color == (0.2, 0.3, 0.8, 1.0)


@pytest.mark.parametrize(
    ("kind", "made", "freedoms"),
    [("revolute", quirk.Revolute, 1), ("continuous", quirk.Revolute, 1), ("prismatic", quirk.Prismatic, 1),
     ("screw", quirk.Screw, 1), ("ball", quirk.Spherical, 3), ("universal", quirk.Universal, 2),
     ("revolute2", quirk.Universal, 2)],
)  # fmt: skip
def test_joints(tmp_path, kind, made, freedoms):
    more = "<axis2><xyz>0 1 0</xyz></axis2>" if kind in ("universal", "revolute2") else ""
    path = written(tmp_path, link("a", "1 2 3 0.1 0.2 0.3"), joint("j", kind, "world", "a", "1 0 0", more))
    system = importers.load_sdf(path).system
    assert type(system["j"]) is made and system.mobility().degrees_of_freedom == freedoms
    assert np.allclose(quirk.bodies.body.Body.local(system["a"], [1, 2, 3]), system["j"].frame_j.origin)


def test_screws_by_both_names(tmp_path):
    leads = []
    for pitch in ("<screw_thread_pitch>0.02</screw_thread_pitch>", f"<thread_pitch>{-2 * np.pi / 0.02}</thread_pitch>"):
        path = written(tmp_path, link("a"), joint("j", "screw", "world", "a", more=pitch))
        leads.append(importers.load_sdf(path).system["j"].lead)
    assert leads == pytest.approx([0.02, 0.02])


def test_gearbox_and_mimic(tmp_path):
    parts = [
        link("frame"), link("one", "0.1 0 0 0 0 0"), link("two", "0.4 0 0 0 0 0"), link("three", "0.7 0 0 0 0 0"),
        joint("mount", "continuous", "world", "frame", "1 0 0"), joint("j1", "revolute", "frame", "one"),
        joint("j2", "revolute", "frame", "two"),
        joint("j3", "revolute", "frame", "three",
              of_axis='<mimic joint="j1"><multiplier>-1.5</multiplier><offset>0.3</offset><reference>0.2</reference></mimic>'),
        joint("mesh", "gearbox", "one", "two", more="<axis2><xyz>0 0 1</xyz></axis2><gearbox_ratio>0.5</gearbox_ratio>"
              "<gearbox_reference_body>frame</gearbox_reference_body>"),
    ]  # fmt: skip
    system = importers.load_sdf(written(tmp_path, *parts), gravity=[0, -3, -2]).system
    system.assemble()
    assert system.mobility().degrees_of_freedom == 2
    result = quirk.simulate(system, 0.5, output=0.1)
    one, two, three = (result[name].rotation[:, 2] for name in ("j1", "j2", "j3"))
    assert np.ptp(one) > 0.05
    assert np.allclose(two, -0.5 * one, atol=1e-11)
    assert np.allclose(three, -1.5 * (one - 0.2) + 0.3, atol=1e-11)


def test_what_acts_at_joints(tmp_path):
    dynamics = "<dynamics><damping>0.4</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness><spring_reference>0.1</spring_reference></dynamics>"
    limit = "<limit><lower>-1</lower><upper>2</upper><effort>5</effort><velocity>-1</velocity></limit>"
    both = f"<axis2><xyz>0 1 0</xyz>{dynamics}{limit}</axis2>"
    parts = [
        link("a"), link("b", "1 0 0 0 0 0"), link("c", "2 0 0 0 0 0"),
        joint("h", "revolute", "world", "a", of_axis=dynamics + limit),
        joint("s", "prismatic", "a", "b", of_axis=dynamics + "<limit><lower>-1e16</lower><upper>1e16</upper></limit>"),
        joint("u", "universal", "b", "c", "1 0 0", both),
    ]  # fmt: skip
    imported = importers.load_sdf(written(tmp_path, *parts))
    system = imported.system
    assert {part.name for part in system.constraints if isinstance(part, quirk.Stop)} == {"h limits", "u axis2 limits"}
    assert system["s spring"].stiffness[2, 2] == 3 and system["s spring"].preload[2] == pytest.approx(0.3)
    assert system["u axis2 spring"].rest_angle == 0.1 and system["h friction"].viscous == 0.4
    assert 'limits of effort: joint "h", joint "u"' in imported.left_out
    # The generalized force of springs at the second angle of the cross is what k (0.1 - x) does.
    acceleration = system.acceleration(system.initial_state())
    assert np.isfinite(acceleration.linear).all() and np.abs(acceleration.angular).max() > 0.1
    without = importers.load_sdf(written(tmp_path, *parts), limits=False).system
    assert not any(isinstance(part, quirk.Stop) for part in without)


def test_frames_nested_models_and_placement(tmp_path):
    inner = (
        '<model name="gripper" placement_frame="grip"><pose relative_to="flange">0 0 0.1 0 0 0</pose>'
        '<link name="palm"><pose>0 0 0 0 0 0</pose></link><frame name="grip" attached_to="palm"><pose>0 0 0.2 0 0 1.5707963267948966</pose></frame>'
        '<link name="finger"><pose relative_to="palm">0.1 0 0 0 0 0</pose></link>'
        '<joint name="slide" type="prismatic"><parent>palm</parent><child>finger</child><axis><xyz expressed_in="__model__">1 0 0</xyz></axis></joint>'
        "</model>"
    )
    parts = [
        "<pose>1 0 0 0 0 0</pose>", link("arm"), '<frame name="flange" attached_to="arm"><pose degrees="true">0 1 0 0 0 90</pose></frame>',
        '<frame name="tilted" attached_to="flange"><pose rotation_format="quat_xyzw">0 0 0.1 0 0 0.7071067811865476 0.7071067811865476</pose></frame>',
        inner, joint("base", "revolute", "world", "arm"), joint("wrist", "revolute", "tilted", "gripper", "0 1 0"),
    ]  # fmt: skip
    system = importers.load_sdf(written(tmp_path, *parts)).system
    # The frame grip stands at (1, 1, 0.1), turned by 90 degrees, so the palm is 0.2 below it and not turned.
    assert np.allclose(system["gripper::palm"].position, [1, 1, -0.1])
    assert np.allclose(system["gripper::finger"].position, [1.1, 1, -0.1])
    assert np.allclose(system["gripper::slide"].frame_i.matrix[:, 2], [1, 0, 0])
    assert np.allclose(system["arm"].frame("tilted").origin - system["arm"].frame("arm").origin, [0, 1, 0.1])
    assert system["wrist"].body_i is system["arm"] and system["wrist"].body_j is system["gripper::palm"]
    # Without a pose of its own, a joint is where its child is; the model's frame is turned back by 90 degrees.
    assert np.allclose(system["wrist"].frame_j.origin, 0)


def test_worlds_with_several_models_and_static_ones(tmp_path):
    path = tmp_path / "bench.world"
    box = "<visual name='v'><geometry><box><size>1 1 1</size></box></geometry></visual>"
    path.write_text(
        '<sdf version="1.7"><world name="w"><light name="sun" type="directional"/><physics type="ode"/>'
        f'<model name="table"><static>true</static>{link("top", more=box)}</model>'
        f'<model name="ball">{link("body", "0 0 2 0 0 0")}</model><include><uri>model://ground_plane</uri></include>'
        "</world></sdf>"
    )
    with pytest.warns(UserWarning, match="bench.world: the import is incomplete") as caught:
        system = quirk.load(path)
    assert np.allclose(system.gravity, [0, 0, -9.8])
    assert {body.name for body in system.bodies} == {"table::top", "ball::body"}
    assert system.mobility().degrees_of_freedom == 6
    for text in (
        "<light>",
        "<physics> (settings of other programs)",
        "include of 'model://ground_plane', which is not found",
    ):
        assert text in str(caught[0].message)


def test_models_are_included_with_name_pose_and_placement_or_merged(tmp_path):
    """An arm on a base, as an include, by its folder, and merged into the model around it; both stand as told."""
    (tmp_path / "models" / "arm").mkdir(parents=True)
    arm = (
        link("low", "0 0 1 0 0 0") + link("high", "0 0 2 0 0 0")
        + '<frame name="tip" attached_to="high"><pose>0 0 0.5 0 0 0</pose></frame>'
        + joint("hinge", "revolute", "low", "high", "1 0 0")
    )  # fmt: skip
    (tmp_path / "models" / "arm" / "arm.sdf").write_text(f'<sdf version="1.9"><model name="arm">{arm}</model></sdf>')
    (tmp_path / "models" / "arm" / "model.config").write_text('<model><sdf version="1.9">arm.sdf</sdf></model>')
    how = '<uri>model://arm</uri><pose relative_to="shelf">1 0 0 0 0 0</pose><placement_frame>tip</placement_frame>'
    shelf = '<frame name="shelf"><pose>0 5 0 0 0 1.5707963267948966</pose></frame>'
    for merge, prefix in (("false", "left::"), ("true", "")):
        include = f'<include merge="{merge}"><name>left</name>{how}</include>'
        path = written(tmp_path, link("base"), shelf, include, joint("mount", "fixed", "base", f"{prefix}low"))
        imported = importers.read(path, packages=[tmp_path / "models"])
        assert imported.links[f"{prefix}low"] == "base" and f"{prefix}hinge" in imported.system
        high = imported.system[f"{prefix}high"]
        tip = high.position + rotation.matrix(high.orientation) @ high.frame("tip").origin
        assert np.allclose(tip, [0, 6, 0])
    with pytest.raises(quirk.InputError, match="'m::left::low'"):
        importers.read(written(tmp_path, link("base"), include, joint("mount", "fixed", "base", "left::low")))
    path.write_text('<sdf version="1.9"><world name="w"><include><uri>model://arm</uri></include></world></sdf>')
    with pytest.raises(
        quirk.InputError,
        match="has no link, only includes, none of which could be read: include of 'model://arm', which is not found",
    ):
        importers.read(path)
    path.write_text('<sdf version="1.9"><model name="m"><include><uri>model.sdf</uri></include></model></sdf>')
    with pytest.raises(quirk.InputError, match="includes itself"):
        importers.read(path)


def test_frames_of_old_versions(tmp_path):
    """Which may have the name of a link, and are named by another attribute."""
    frames = '<frame name="a"><pose>0 2 0 0 0 0</pose></frame>' + link("b", "1 0 0 0 0 0", attributes='frame="a_frame"')
    system = importers.load_sdf(written(tmp_path, link("a"), frames, version="1.6")).system
    assert np.allclose(system["b"].position - system["a"].position, [1, 2, 0])
    with pytest.raises(quirk.InputError, match="another link, joint, frame or model has the name"):
        importers.load_sdf(written(tmp_path, link("a"), frames, version="1.7"))


@pytest.mark.parametrize(
    ("geometry", "mass", "inertia"),
    [
        ("<box><size>1 2 3</size></box>", 6, (6.5, 5, 2.5)),
        ("<sphere><radius>0.5</radius></sphere>", np.pi / 6, (np.pi / 60,) * 3),
        ("<cylinder><radius>1</radius><length>2</length></cylinder>", 2 * np.pi, (7 / 6 * np.pi, 7 / 6 * np.pi, np.pi)),
        ("<capsule><radius>1</radius><length>2</length></capsule>", 10 / 3 * np.pi, (
            (7 / 6 + 8 / 15 + 4 / 3 * 1.75) * np.pi,) * 2 + ((1 + 8 / 15) * np.pi,)),
    ],
)  # fmt: skip
def test_inertia_of_collisions(tmp_path, geometry, mass, inertia):
    """Of density 1 and 3, apart from each other, and scaled to a mass."""
    first = f'<collision name="c"><density>1</density><geometry>{geometry}</geometry></collision>'
    second = f'<collision name="d"><pose>4 0 0 0 0 0</pose><geometry>{geometry}</geometry></collision>'
    for more, body_mass in (("", 4 * mass), (f"<mass>{mass}</mass>", mass)):
        inertial = f'<inertial auto="true"><density>3</density>{more}</inertial>'
        path = written(tmp_path, link("a", inertial=inertial, more=first + second))
        body = importers.load_sdf(path).system["a"]
        assert body.mass == pytest.approx(body_mass)
        far = np.array([0, 1, 1]) * 12 * mass  # of both masses about their center, 3 m and 1 m away
        expected = body_mass / (4 * mass) * (4 * np.array(inertia) + far)
        assert np.allclose(body.inertia, np.diag(expected), rtol=1e-9)


def test_axes_of_old_versions_are_those_of_the_model(tmp_path):
    for version, expected in (("1.4", [1, 0, 0]), ("1.6", [0, 1, 0])):
        path = written(tmp_path, link("a", "0 0 0 0 0 1.5707963267948966"), joint("j", "revolute", "world", "a", "1 0 0"),
                       version=version)  # fmt: skip
        assert np.allclose(importers.load_sdf(path).system["j"].frame_i.matrix[:, 2], expected)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "has no link"),
        ([link("a"), link("a")], 'line 1, <link name="a">: another link, joint, frame or model has the name'),
        ([link("a", attributes='relative_to="b"')], "there is no link, joint, frame or model 'm::b'"),
        ([link("a", attributes='relative_to="b"'), link("b", attributes='relative_to="a"')], "poses of frames form a cycle"),
        ([link("a", "0 0 0")], "its text must be 6 numbers up to"),
        ([link("a"), joint("j", "revolute", "world", "b")], "there is no link, joint, frame or model 'm::b'"),
        ([link("a"), joint("j", "revolute", "b", "a")], "<parent>: there is no link, joint, frame or model 'b' in its model"),
        ([link("a"), joint("j", "wheel", "world", "a")], "type must be one of fixed, ball"),
        ([link("a"), joint("j", "revolute", "a", "a")], "the same link"),
        ([link("a"), joint("j", "universal", "world", "a", "1 0 0", "<axis2><xyz>1 0 1</xyz></axis2>")], "must be perpendicular"),
        ([link("a", inertial="<inertial><mass>-1</mass></inertial>")], "mass must be positive"),
        ([link("a", inertial='<inertial auto="true"/>')], "computes mass and inertia from collisions, but the link has none"),
        ([link("a"), joint("j", "revolute", "world", "a", of_axis='<mimic joint="k"/>')], "there is no revolute.* joint 'k'"),
        ([link("a"), '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>', joint("j", "ball", "f", "a")], "attachments of frames form a cycle"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(tmp_path, parts, message):
    with pytest.raises(quirk.InputError, match=message):
        importers.load_sdf(written(tmp_path, *parts))
