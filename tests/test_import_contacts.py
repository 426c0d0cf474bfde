"""Contacts of imported files: which geometries touch, where, and with how much friction."""

import numpy as np
import pytest

import quirk
from quirk import importers

mujoco = pytest.importorskip("mujoco")


def contacts_of(system):
    return [part for part in system.constraints if isinstance(part, quirk.Contact)]


def test_geoms_come_to_rest_on_the_floor_and_on_a_box(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text("""<mujoco><option gravity="0 0 -9.81"/><worldbody><geom name="floor" type="plane" size="5 5 .1" pos="0 0 .2"/>
      <geom name="step" type="box" size=".5 .5 .3" pos="4 0 .5"/>
      <body name="ball" pos="0 0 .35"><freejoint/><geom size=".1" mass="1"/></body>
      <body name="high" pos="4 .1 .95"><freejoint/><geom size=".1" mass="1"/></body>
      <body name="crate" pos="1 0 .55" euler="0 0 20"><freejoint/><geom type="box" size=".1 .2 .3" mass="1"/></body>
      <body name="can" pos="2 0 .35"><freejoint/><geom type="cylinder" size=".2 .1" mass="1"/></body>
    </worldbody></mujoco>""")  # fmt: skip
    imported = importers.read(path, contacts=True)
    # Two balls on a plane, on six faces of two boxes, and on each other; eight corners; 24 points of two rims.
    assert len(contacts_of(imported.system)) == 2 * 13 + 1 + 8 + 24
    assert {part.coefficient for part in imported.system.forces if isinstance(part, quirk.Friction)} == {1.0}
    assert any(
        line.startswith("contacts without equivalent surfaces in QuIRK: box and box (1 pairs)")
        for line in imported.left_out
    )
    result = quirk.simulate(imported.system, 0.5, output=0.5)
    heights = {name: result[name].position[-1, 2] for name in ("ball", "high", "crate", "can")}
    assert heights == pytest.approx({"ball": 0.3, "high": 0.9, "crate": 0.5, "can": 0.3}, abs=1e-9)
    assert np.abs(result["crate"].velocity[-1]).max() < 1e-9


def test_which_geoms_touch_is_as_mujoco_has_it(tmp_path):
    """Not parent and child, nor what is excluded or of other groups; those of a pair with its friction."""
    path = tmp_path / "scene.xml"
    joint, ball = '<joint type="hinge"/>', '<geom name="{0}" size=".1" mass="1" friction="{1}" {2}/>'
    path.write_text(f"""<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1" pos="0 0 -1" friction="0.6"/>
      <body name="a"><joint type="slide"/>{ball.format("a", 0.5, "")}
        <body name="b" pos="0 0 1">{joint}{ball.format("b", 0.7, "")}
          <body name="c" pos="0 0 1">{joint}{ball.format("c", 0.8, "")}</body></body></body>
      <body name="d" pos="3 0 1">{joint}{ball.format("d", 0.9, "")}</body>
      <body name="e" pos="6 0 1">{joint}{ball.format("e", 0.4, 'contype="0" conaffinity="0"')}</body>
      </worldbody><contact><exclude body1="c" body2="d"/><pair geom1="a" geom2="e" friction="0.3"/></contact></mujoco>""")
    system = importers.read(path, contacts=True).system
    found = {part.on.name: part.coefficient for part in system.forces if isinstance(part, quirk.Friction)}
    assert found == {
        "a e": 0.3, "floor a": 0.6, "floor b": 0.7, "floor c": 0.8, "floor d": 0.9, "a c": 0.8, "a d": 0.9, "b d": 0.9,
    }  # fmt: skip
    m = mujoco.MjModel.from_xml_path(str(path))
    m.geom_margin[:] = m.pair_margin[:] = 9.0
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    pairs = {tuple(sorted(m.geom(g).name for g in contact.geom)) for contact in d.contact[: d.ncon]}
    assert pairs == {tuple(sorted(name.split())) for name in found}


def test_collisions_of_urdf_and_sdf(tmp_path):
    """Links that a joint joins do not touch; a plane of the ground on request; models of SDF touch each other."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    rough = '<contact><lateral_friction value="0.4"/></contact>'
    foot = '<collision><origin xyz="0 0 0.2"/><geometry><sphere radius="0.05"/></geometry></collision>'
    robot = tmp_path / "robot.urdf"
    robot.write_text(
        f'<robot name="r"><link name="a">{inertial}{foot}{rough}</link><link name="b">{inertial}{foot}</link>'
        f'<link name="c">{inertial}{foot}</link>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="1 0 0"/></joint>'
        '<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/></joint></robot>'
    )  # fmt: skip
    system = importers.read(robot, base="free", contacts=True).system
    assert [contact.name for contact in contacts_of(system)] == ["a c"]
    on_floor = importers.read(robot, base="free", contacts="ground")
    assert [contact.name for contact in contacts_of(on_floor.system)] == ["floor a", "floor b", "floor c", "a c"]
    assert on_floor.system["floor a friction"].coefficient == 0.4 and "floor b friction" not in on_floor.system
    # A base that is fixed to the ground does not touch it.
    fixed = importers.read(robot, base="fixed", contacts="ground").system
    assert [contact.name for contact in contacts_of(fixed)] == ["floor b", "floor c", "a c"]
    with pytest.raises(quirk.InputError, match='contacts must be True, False or "ground"'):
        importers.read(robot, contacts="floor")
    world = tmp_path / "world.sdf"
    ball = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>{}</collision>'
    mu = "<surface><friction><ode><mu>0.3</mu></ode></friction></surface>"
    ground = (
        '<collision name="c"><geometry><plane><normal>0 0 1</normal><size>9 9</size></plane></geometry></collision>'
    )
    links = "".join(f'<link name="l{k}"><pose>0 {k} 2 0 0 0</pose>{ball.format(mu)}</link>' for k in range(2))
    world.write_text(
        f'<sdf version="1.9"><world name="w"><model name="g"><static>true</static><link name="l">{ground}</link></model>'
        f'<model name="m">{links}</model><model name="n"><pose>5 0 0 0 0 0</pose><self_collide>true</self_collide>{links}</model></world></sdf>'
    )
    system = importers.read(world, contacts=True).system
    assert len(contacts_of(system)) == 4 + 4 + 1
    assert system["g::l c m::l0 c friction"].coefficient == 0.3


def test_friction_is_that_of_the_geom_with_priority_and_none_with_dimension_one(tmp_path):
    """Coefficients agree with those of MuJoCo's contacts; friction that QuIRK lacks is listed."""
    path = tmp_path / "scene.xml"
    balls = {
        "larger": 'friction="0.8"',
        "smaller": 'friction="0.1"',
        "first": 'friction="0.1" priority="1"',
        "smooth": 'friction="0.7" condim="1" priority="2"',
        "usual": 'friction="0.7" condim="1"',
        "spinning": 'friction="0.2" condim="4"',
        "paired": 'friction="0.2"',
    }
    bodies = "".join(
        f'<body name="{name}" pos="{3 * k} 0 .1"><freejoint/><geom name="{name}" size=".1" mass="1" contype="2" {more}/></body>'
        for k, (name, more) in enumerate(balls.items())
    )
    path.write_text(f"""<mujoco><worldbody>
      <geom name="floor" type="plane" size="5 5 .1" friction="0.5" conaffinity="2"/>{bodies}</worldbody>
      <contact><pair geom1="floor" geom2="paired" friction="0.3 0.4"/></contact></mujoco>""")
    imported = importers.read(path, contacts=True)
    found = {part.on.name: part.coefficient for part in imported.system.forces if isinstance(part, quirk.Friction)}
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    touching = d.contact[: d.ncon]
    names = [" ".join(sorted((m.geom(g).name for g in one.geom), key=lambda name: name != "floor")) for one in touching]
    expected = {name: one.friction[0] for name, one in zip(names, touching, strict=True) if one.dim > 1}
    assert found == expected
    assert expected == {
        "floor larger": 0.8, "floor smaller": 0.5, "floor first": 0.1, "floor usual": 0.7, "floor spinning": 0.5,
        "floor paired": 0.3,
    }  # fmt: skip
    assert 'friction of contacts against spinning and rolling: "floor" and "spinning"' in imported.left_out
    assert 'second coefficient of friction of contact pairs: "floor" and "paired"' in imported.left_out
