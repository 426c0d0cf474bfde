"""MJCF files: the accelerations that MuJoCo finds, of all joints, several on a body, loops, springs, tendons and servos."""

from pathlib import Path

import numpy as np
import pytest

import quirk
from quirk import importers, rotation

mujoco = pytest.importorskip("mujoco")

DATA = Path(__file__).parent / "data" / "import"
OFF = '<option gravity="0.3 -0.2 -9.81"><flag contact="disable" constraint="disable"/></option>'
GEOM = '<geom type="box" size="0.1 0.05 0.2" pos="0.05 0.1 -0.04" euler="20 30 10" mass="1.3"/>'


def model_file(folder, bodies, qpos="", qvel="", more="", option=OFF, ctrl=""):
    """A file with a keyframe at the given positions and velocities."""
    given = {"qpos": qpos, "qvel": qvel, "ctrl": ctrl}
    key = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    path = folder / "model.xml"
    path.write_text(f"<mujoco>{option}<worldbody>{bodies}</worldbody>{more}<keyframe><key{key}/></keyframe></mujoco>")
    return path


def mujoco_at_key(path):
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    return m, d


def body_accelerations(m, d, qdd):
    """Of centers of mass, and angular, in N, of all bodies but the world, from joint accelerations."""
    found = np.zeros((2, m.nbody - 1, 3))
    jacobian, rate = np.zeros((2, 3, m.nv)), np.zeros((2, 3, m.nv))
    for body in range(1, m.nbody):
        mujoco.mj_jac(m, d, *jacobian, d.xipos[body], body)
        mujoco.mj_jacDot(m, d, *rate, d.xipos[body], body)
        found[:, body - 1] = jacobian @ qdd + rate @ d.qvel
    return found


def assert_same_motion(path, system, names, state=None, least=1e-11):
    """Accelerations agree with MuJoCo's without constraints, at the keyframe."""
    m, d = mujoco_at_key(path)
    state = system.initial_state() if state is None else state
    mine, his = system.acceleration(state), body_accelerations(m, d, d.qacc_smooth)
    for name, k in names.items():
        b = system.bodies.index(system[name])
        R = rotation.matrix(state.orientation[b])
        assert np.allclose(state.position[b], d.xipos[k], atol=1e-12)
        scale = np.abs(his).max()
        assert np.abs(mine.linear[b] - his[0, k - 1]).max() < least * scale
        assert np.abs(R @ mine.angular[b] - his[1, k - 1]).max() < least * scale


HINGE = '<joint type="hinge" name="{0}" axis="{1}" pos="0.02 0.01 0.03" {2}/>'
SLIDE = '<joint type="slide" name="{0}" axis="{1}" {2}/>'
STACKS = {
    "hinge": ([HINGE.format("a", "1 2 0.5", 'ref="20" springref="-30" stiffness="4" damping="0.3" armature="0.2"')], "0.9", "1.5"),
    "slide": ([SLIDE.format("a", "1 2 0.5", 'ref="0.1" springref="0.3" stiffness="40" damping="2" armature="3"')], "0.4", "-1"),
    "universal": (
        [HINGE.format("a", "0 1 0", 'ref="15" stiffness="3" springref="5" damping="0.2" armature="0.02"'),
         HINGE.format("b", "1 0 1", 'ref="-25" stiffness="2" springref="-9" damping="0.4" armature="0.5"')],
        "0.7 -0.5", "1.1 -2",
    ),
    "skew hinges": (
        ['<joint name="a" axis="0 1 0" pos="0 0 0.08" ref="10" stiffness="2" damping="0.3"/>',
         '<joint name="b" axis="1 0 0.5" pos="0.03 0 0.04" ref="-20" stiffness="3" springref="4" damping="0.2"/>'],
        "0.5 -0.8", "1 2",
    ),
    "skew hinges that are not perpendicular": (
        ['<joint name="a" axis="0 1 0.4" pos="0 0 0.08" stiffness="4" ref="20"/>', '<joint name="b" axis="1 0.3 0.5" pos="0 0.1 0.04" armature="0.1" damping="0.3" ref="-15"/>'], "0.5 -0.8", "1 2",
    ),
    "hinges that meet": (
        ['<joint name="a" axis="0 1 0" pos="0 0.3 0.1" damping="0.3"/>', '<joint name="b" axis="1 0 0" pos="0.2 0 0.1" ref="30"/>'],
        "0.5 -0.8", "1 2",
    ),
    "hinges that meet and are not perpendicular": (
        ['<joint name="a" axis="0 1 0" pos="0 0.3 0.1" stiffness="2"/>', '<joint name="b" axis="1 1 0" pos="0.2 0.2 0.1" stiffness="1" springref="10"/>'], "0.5 -0.8", "1 2",
    ),
    "parallel hinges": (
        ['<joint name="a" axis="0 1 1" pos="0 0.3 0.1"/>', '<joint name="b" axis="0 1 1" pos="0.2 0.2 0.1"/>'], "0.5 -0.8", "1 2",
    ),
    "three hinges": (
        [HINGE.format("a", "0 0 1", 'ref="20" stiffness="4" damping="0.3" armature="0.05"'),
         HINGE.format("b", "1 1 0", 'stiffness="3" springref="-20" damping="0.2" armature="0.03"'),
         HINGE.format("c", "1 -1 0", 'ref="-15" stiffness="5" springref="9" damping="0.1" armature="0.02"')],
        "0.4 0.3 -0.6", "1 2 -1",
    ),
    "a slide and three hinges": (
        [SLIDE.format("s", "1 0 0", 'stiffness="9" armature="0.5"'), HINGE.format("a", "0 1 0", 'ref="-30" stiffness="4" damping="0.3"'),
         HINGE.format("b", "0 0 1", 'stiffness="3" damping="0.2"'), HINGE.format("c", "1 0 0", 'stiffness="5" ref="25" armature="0.02"')],
        "0.1 0.4 1.1 -0.6", "0.3 1 2 -1",
    ),
    "ball": (['<joint type="ball" name="a" pos="0.1 0 0" stiffness="3" damping="0.2" armature="0.3" springdamper="0 0"/>'], "0.8 0.2 0.5 0.1", "1 2 -1"),
    "free": (['<joint type="free" name="a" damping="0.4"/>'], "0.1 0.2 0.3 0.8 0.2 0.5 0.1", "1 0 2 1 2 -1"),
    "cylindrical": ([SLIDE.format("a", "0 1 1", 'damping="1"'), HINGE.format("b", "0 1 1", 'damping="0.2"')], "0.3 0.6", "1 2"),
    "hinge before slide": ([HINGE.format("b", "0 1 1", ""), SLIDE.format("a", "0 1 1", "")], "0.6 0.3", "2 1"),
    "a hinge and slides across": (
        [HINGE.format("a", "0 0 1", 'ref="25" stiffness="3" damping="0.2"'), SLIDE.format("b", "1 0 0", 'ref="0.3" stiffness="30" armature="0.4"'),
         SLIDE.format("c", "0 1 0", 'damping="2" ref="-0.1" springref="0.2" stiffness="9"')],
        "0.6 0.5 -0.2", "1.5 2 -1",
    ),
    "a slide and a skew hinge": (
        [SLIDE.format("a", "1 2 3", 'ref="0.2" stiffness="9" armature="0.5"'), HINGE.format("b", "0 1 1", 'ref="25" stiffness="3"')], "0.6 0.5", "1.5 2",
    ),
    "a hinge and a skew slide": (
        [HINGE.format("b", "0 1 1", 'ref="25" stiffness="3"'), SLIDE.format("a", "1 2 3", 'ref="0.2" stiffness="9" armature="0.5"')], "0.6 0.5", "1.5 2",
    ),
    "a skew slide and three hinges": (
        [SLIDE.format("a", "1 2 3", 'ref="0.2" stiffness="9"'), *(HINGE.format(n, a, 'stiffness="3"') for n, a in zip("bcd", ("1 0 0", "0 1 0", "0 0 1"), strict=True))],
        "0.6 0.5 0.3 0.2", "1.5 2 1 -1",
    ),
    "a hinge and a slide across": ([HINGE.format("a", "0 1 0", 'ref="25"'), SLIDE.format("b", "1 0 0", 'ref="0.3" stiffness="30"')], "0.6 0.5", "1.5 2"),
    "planar": (
        [SLIDE.format("a", "1 0 0", 'damping="1" ref="0.2"'), SLIDE.format("b", "0 0 1", 'stiffness="30" springref="0.1"'),
         HINGE.format("c", "0 1 0", 'damping="0.2" ref="40" stiffness="2"')],
        "0.3 0.1 0.6", "1 2 -1",
    ),
    "slide and hinge across": ([SLIDE.format("a", "0 0 1", 'damping="1"'), HINGE.format("b", "1 0 0", 'damping="0.2"')], "0.3 0.6", "1 2"),
    "slides and universal": (
        [SLIDE.format("a", "0 0 1", ""), HINGE.format("b", "1 0 0", 'damping="0.2" ref="20"'), HINGE.format("c", "0 1 0", 'damping="0.1"')],
        "0.3 0.6 0.2", "1 2 3",
    ),
    "slides and ball": ([SLIDE.format("a", "0 1 0", 'damping="0.3"'), '<joint type="ball" name="b" pos="0.1 0 0"/>'], "0.2 0.8 0.2 0.5 0.1", "1 2 -1 1"),
    "three slides": ([SLIDE.format(n, a, 'damping="0.3"') for n, a in zip("abc", ("1 0 0", "0 1 0", "0 0 1"), strict=False)], "0.2 0.8 0.2", "1 2 -1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", STACKS)
def test_joints_of_one_body(tmp_path, kind):
    """On a body that moves itself, at a keyframe; the free joint on the world."""
    joints, qpos, qvel = STACKS[kind]
    inner = f'<body name="inner" pos="0.2 0.3 0.1" euler="10 -20 40">{"".join(joints)}{GEOM}</body>'
    if kind == "free":
        inner = inner.replace(' pos="0.05 0.1 -0.04"', "")
        path = model_file(tmp_path, inner, qpos, qvel)
        names = {"inner": 1}
    else:
        outer = f'<body name="outer" pos="0 0.1 0" euler="5 6 7">{HINGE.format("o", "0.3 1 0", "")}{GEOM}{inner}</body>'
        path = model_file(tmp_path, outer, f"0.4 {qpos}", f"-1.2 {qvel}")
        names = {"outer": 1, "inner": 2}
    imported = importers.load_mjcf(path, keyframe=0)
    assert not [line for line in imported.left_out if "pictures" not in line and "contacts" not in line]
    assert_same_motion(path, imported.system, names)


def test_coordinates_of_joints_that_share_a_body(tmp_path):
    joints, qpos, qvel = STACKS["universal"]
    path = model_file(tmp_path, f'<body name="b1" euler="10 20 30">{"".join(joints)}{GEOM}</body>', qpos, qvel)
    system = importers.load_mjcf(path, keyframe=0).system
    result = quirk.simulate(system, 0.01, output=[0.0])
    assert result["a"].rotation[0, 2] == pytest.approx(0.7) and result["b"].rotation[0, 2] == pytest.approx(-0.5)


FOUR_BAR = DATA / "four_bar.xml"


def kkt(m, d):
    """Accelerations with M, bias, passive forces and constraint Jacobian as MuJoCo has them, constraints being exact.

    MuJoCo's own constraints are springs and dampers along J, with what J changes left out: here J qdd = -Jdot qd.
    """
    M = np.array([column(m, d, k) for k in range(m.nv)])
    J = np.array(d.efc_J).reshape(-1, m.nv)[: d.ne]
    rate = np.zeros((2, 3, m.nv))
    bias = np.zeros(3)
    for sign, body, anchor in ((1, m.eq_obj1id[0], m.eq_data[0, :3]), (-1, m.eq_obj2id[0], m.eq_data[0, 3:6])):
        mujoco.mj_jacDot(m, d, *rate, d.xpos[body] + d.xmat[body].reshape(3, 3) @ anchor, body)
        bias -= sign * rate[0] @ d.qvel
    free = np.linalg.solve(M, d.qfrc_passive - d.qfrc_bias)
    projected = J @ np.linalg.solve(M, J.T)
    return free + np.linalg.solve(M, J.T @ np.linalg.pinv(projected, rcond=1e-10) @ (bias - J @ free))


def column(m, d, k):
    product = np.zeros(m.nv)
    mujoco.mj_mulM(m, d, product, np.eye(m.nv)[k])
    return product


def test_a_four_bar_closed_by_connect_moves_as_mujoco_has_it():
    system = importers.load_mjcf(FOUR_BAR).system
    assert system.mobility().degrees_of_freedom == 1
    m = mujoco.MjModel.from_xml_path(str(FOUR_BAR))
    d = mujoco.MjData(m)
    for angle, rate in ((0.0, 2.0), (0.4, -1.5), (-0.7, 3.0)):
        state = system.assemble(coordinates={"motor_hinge": angle}, rates={"motor_hinge": rate})
        d.qpos[:], d.qvel[:] = coordinates(system, state)
        mujoco.mj_forward(m, d)
        mine, his = system.acceleration(state), body_accelerations(m, d, kkt(m, d))
        scale = np.abs(his).max()
        for b, body in enumerate(system.bodies):
            k = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, body.name)
            assert np.allclose(state.position[b], d.xipos[k], atol=1e-12)
            R = rotation.matrix(state.orientation[b])
            assert np.abs(mine.linear[b] - his[0, k - 1]).max() < 1e-11 * scale
            assert np.abs(R @ mine.angular[b] - his[1, k - 1]).max() < 1e-11 * scale


def coordinates(system, state):
    """Angles and rates of the three hinges at a state."""
    angles, rates = [], []
    for name in ("motor_hinge", "pin", "rocker_hinge"):
        frames, spins = [], []
        joint = system[name]
        for body, frame in ((joint.body_i, joint.frame_i), (joint.body_j, joint.frame_j)):
            if body is quirk.GROUND:
                frames.append(frame.matrix), spins.append(np.zeros(3))
                continue
            b = system.bodies.index(body)
            R = rotation.matrix(state.orientation[b])
            frames.append(R @ frame.matrix), spins.append(R @ state.angular_velocity[b])
        relative = frames[0].T @ frames[1]
        angles.append(np.arctan2(relative[1, 0], relative[0, 0]))
        rates.append(frames[0][:, 2] @ (spins[1] - spins[0]))
    return angles, rates


def test_the_four_bar_runs():
    system = importers.load_mjcf(FOUR_BAR).system
    result = quirk.simulate(system, 1.0, output=0.05)
    assert result.status == "completed" and result.residual.position.max() < 1e-10
    assert np.ptp(result["motor_hinge"].rotation[:, 2]) > 0.1


def test_servos_tendons_and_bodies_without_joints(tmp_path):
    bodies = f"""
      <site name="hook" pos="0.4 0.1 0.9"/>
      <body name="one" pos="0 0 0.2">{HINGE.format("a", "0 1 0", "")}{GEOM}<site name="eye" pos="0.1 0.2 0"/>
        <body name="plate" pos="0.1 0 0.2" euler="0 40 0">{GEOM}</body>
        <body name="two" pos="0.3 0 0.1">{SLIDE.format("b", "0 0 1", "")}{GEOM}</body>
        <body name="three" pos="-0.3 0 0.1">{HINGE.format("c", "0 0 1", "")}{GEOM}</body>
      </body>"""
    more = """
      <tendon><spatial name="wire" stiffness="60" damping="1.5" springlength="0.3"><site site="hook"/><site site="eye"/></spatial></tendon>
      <actuator>
        <position name="servo" joint="a" kp="7" kv="0.4" gear="1.5"/>
        <velocity name="speed" joint="b" kv="2"/>
        <motor name="motor" joint="c" gear="3" forcerange="-1 1" forcelimited="true"/>
        <motor name="idle" joint="b"/>
      </actuator>"""
    path = model_file(tmp_path, bodies, "0.3 0.1 -0.4", "1 2 3", more, ctrl="0.7 0.5 0.2 0")
    imported = importers.load_mjcf(path, keyframe=0)
    system = imported.system
    assert imported.links["plate"] == "one"
    one = system["one"]
    assert np.allclose(one.frame("eye").origin - one.frame("one").origin, [0.1, 0.2, 0])
    assert isinstance(system["servo"], quirk.Controller) and isinstance(system["motor"], quirk.Actuator)
    assert any("motors whose control is zero" in line and '"idle"' in line for line in imported.left_out)
    m, d = mujoco_at_key(path)
    his = body_accelerations(m, d, d.qacc_smooth)
    mine = system.acceleration(system.initial_state())
    for name, k in (("two", 3), ("three", 4)):
        assert np.allclose(mine.linear[system.bodies.index(system[name])], his[0, k - 1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("length", "pulls"), [(0.3, True), (1.5, False)])
def test_a_tendon_over_sites_is_an_elastic_rope(tmp_path, length, pulls):
    bodies = f"""
      <site name="hook" pos="0.4 0.1 0.9"/><site name="eye" pos="0.2 -0.1 0.5"/>
      <body name="one" pos="0 0 0.2">{HINGE.format("a", "0 1 0", "")}{GEOM}<site name="lug" pos="0.1 0.2 0"/>
        <body name="two" pos="0.3 0 0.1">{SLIDE.format("b", "0 0 1", "")}{GEOM}<site name="end" pos="0 0.1 0.1"/></body>
      </body>"""
    sites = "".join(f'<site site="{name}"/>' for name in ("hook", "eye", "lug", "end"))
    more = f'<tendon><spatial name="wire" stiffness="60" springlength="0 {length}">{sites}</spatial></tendon>'
    path = model_file(tmp_path, bodies, "0.3 0.1", "1 2", more)
    system = importers.load_mjcf(path, keyframe=0).system
    state = system.initial_state()
    assert (system.acceleration(state).linear != system.without("wire").acceleration(state).linear).any() == pulls
    m, d = mujoco_at_key(path)
    his = body_accelerations(m, d, d.qacc_smooth)
    mine = system.acceleration(state)
    for k, name in enumerate(("one", "two")):
        assert np.allclose(mine.linear[system.bodies.index(system[name])], his[0, k], rtol=1e-10, atol=1e-10)


def test_compensated_gravity(tmp_path):
    """Of a body and of one that is part of it, each by its own share."""
    inner = f'<body name="plate" pos="0.1 0 0.2" euler="0 40 0" gravcomp="0.5">{GEOM}</body>'
    path = model_file(
        tmp_path, f'<body name="one" gravcomp="1.5">{HINGE.format("a", "0 1 0", "")}{GEOM}{inner}</body>', "0.4", "1"
    )
    system = importers.load_mjcf(path, keyframe=0).system
    _, d = mujoco_at_key(path)
    expected = d.qacc_smooth[0] * np.array([0, 1, 0])
    state = system.initial_state()
    assert np.allclose(
        rotation.matrix(state.orientation[0]) @ system.acceleration(state).angular[0], expected, atol=1e-11
    )


def test_equalities(tmp_path):
    bodies = f"""
      <body name="one" pos="0 0 0.2">{HINGE.format("a", "0 1 0", 'ref="10"')}{GEOM}
        <body name="two" pos="0.3 0 0.1">{SLIDE.format("b", "0 0 1", 'ref="0.2"')}{GEOM}</body>
        <body name="three" pos="0.5 0 0.1">{HINGE.format("c", "0 1 0", "")}{GEOM}</body>
      </body>
      <body name="four" pos="0.1 0.2 0.3"><freejoint name="f"/>{GEOM}</body>"""
    more = """
      <equality>
        <joint name="cam" joint1="b" joint2="a" polycoef="0 0.3 0.2 0 0"/>
        <joint name="lock" joint1="c"/>
        <weld name="hold" body1="three" body2="four"/>
        <connect name="loose" body1="two" body2="four" anchor="0 0 0" active="false"/>
      </equality>"""
    path = model_file(tmp_path, bodies, more=more)
    imported = importers.load_mjcf(path, limits=False)
    system = imported.system
    assert system.mobility().degrees_of_freedom == 1 and not system.is_active("loose")
    # b - 0.2 = 0.3 (a - a0) + 0.2 (a - a0)^2
    a0 = np.deg2rad(10)
    assert np.allclose(system["cam"].coefficients, np.polyadd(0.2 * np.poly([a0, a0]), [0, 0.3, 0.2 - 0.3 * a0])[::-1])
    result = quirk.simulate(system, 0.3, output=0.05)
    a = result["a"].rotation[:, 2] - a0
    assert np.ptp(a) > 0.05
    assert np.allclose(result["b"].displacement[:, 2], 0.2 + 0.3 * a + 0.2 * a**2, atol=1e-10)


def test_rotors_turn_with_their_joints(tmp_path):
    joint = HINGE.format("a", "0 1 0", 'armature="0.4"')
    system = importers.load_mjcf(model_file(tmp_path, f"<body>{joint}{GEOM}</body>", "4", "30"), keyframe=0).system
    result = quirk.simulate(system, 0.5, output=0.1)
    assert np.ptp(result["a"].angle) > 2 * np.pi and np.allclose(
        result["a rotor bearing"].angle_rate, result["a"].angle_rate
    )
    assert np.ptp(result.energy.total) < 1e-8 * result.energy.kinetic[0]


def test_angles_of_more_than_half_a_turn(tmp_path):
    body = f'<body>{HINGE.format("a", "0 1 0", """stiffness="2" springref="100" """)}{GEOM}</body>'
    path = model_file(tmp_path, body, "7.5", "0.1")
    system = importers.load_mjcf(path, keyframe=0).system
    assert system.initial_state().angles["a"][2] == pytest.approx(7.5)
    assert_same_motion(path, system, {"body 1": 1})


def test_what_is_not_brought_over_is_listed(tmp_path):
    bodies = f"""
      <geom name="floor" type="plane" size="1 1 1"/><light pos="0 0 3"/><camera pos="0 0 1"/>
      <body name="one" gravcomp="1">{HINGE.format("a", "0 1 0", 'armature="0.1" frictionloss="0.2" range="-30 30"')}{GEOM}</body>
      <body name="limp" pos="1 0 0">{"".join(f'<joint name="{n}" axis="{a}" pos="{p}" damping="1"/>' for n, a, p in zip("xy", ("1 0 0", "1 0 0"), ("0 0 0", "0 1 0"), strict=True))}{GEOM}</body>
    """
    more = """
      <sensor><jointpos joint="a"/></sensor>
      <tendon><fixed name="belt"><joint joint="a" coef="1"/></fixed></tendon>
      <actuator><motor name="pull" tendon="belt"/></actuator>"""
    imported = importers.load_mjcf(model_file(tmp_path, bodies, more=more))
    listed = "\n".join(imported.left_out)
    for text in ("sensors: 1", "cameras: 1", "lights: 1",
                 'tendons of joints or around geoms: tendon "belt"', 'actuator "pull"', "contacts of geoms",
                 'geom "floor"', 'damping of balls, of parallel hinges on one body, and of a middle hinge of three with a ref: joint "x", joint "y"'):  # fmt: skip
        assert text in listed, text
    assert imported.system["a limits"].gaps[0].numbers[1] == pytest.approx(np.deg2rad(30))
    assert imported.system["a friction"].coulomb == 0.2 and imported.system["a friction"].sticks


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        (f'<body name="b">{"".join(HINGE.format(n, "1 0 0", "") for n in "ab")}{GEOM}</body>', "two hinges with the same axis line"),
        (f'<body name="b">{"".join(HINGE.format(n, a, "") for n, a in zip("abc", ("1 0 0", "0 1 0", "1 0 1"), strict=True))}{GEOM}</body>', "not perpendicular"),
        (f'<body name="b">{SLIDE.format("s", "0 0 1", "")}{HINGE.format("a", "1 0 0", "")}{SLIDE.format("c", "0 1 0", "")}{GEOM}</body>', "slide after a hinge"),
        ('<body name="b"><joint name="a"/><joint name="c" axis="1 0 0"/><joint name="d" axis="0 1 0" pos="0 1 0"/><geom size="1"/></body>', "different points"),
        ('<body name="b"><joint name="a"/></body>', "MuJoCo cannot read it.*mass"),
        ('<body name="b"><joint name="a" type="wheel"/><geom size="1"/></body>', "MuJoCo cannot read it.*line"),
        ("", "it has no moving link"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, bodies, message):
    with pytest.raises(quirk.InputError, match=message):
        importers.load_mjcf(model_file(tmp_path, bodies))


def test_keyframes_are_named(tmp_path):
    path = model_file(tmp_path, f"<body>{HINGE.format('a', '1 0 0', '')}{GEOM}</body>", "1")
    for keyframe in ("rest", 1, -1, 0.5, True):
        with pytest.raises(quirk.InputError, match=r"there is no keyframe .*; there are: key 0"):
            importers.load_mjcf(path, keyframe=keyframe)


def test_meshes_come_along(tmp_path):
    (tmp_path / "block.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    path = tmp_path / "model.xml"
    path.write_text(
        '<mujoco><asset><mesh name="m" file="block.obj" scale="2 1 1"/></asset><worldbody><body name="b">'
        '<joint axis="0 1 0"/><geom type="mesh" mesh="m" pos="0.1 0 0" density="6"/></body></worldbody></mujoco>'
    )
    body = importers.load_mjcf(path).system["b"]
    assert body.mass == pytest.approx(2.0)
    corners = np.concatenate(body.shape.faces()) @ body.frame("b").matrix
    assert np.allclose(np.ptp(corners, axis=0), [2, 1, 1], atol=1e-6)
    # The center of a tetrahedron is the mean of its corners, and that of the body.
    assert np.allclose(np.unique(np.concatenate(body.shape.faces()).round(6), axis=0).mean(axis=0), 0, atol=1e-6)
