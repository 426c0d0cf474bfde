"""Cables of MJCF files: their bodies against a chain that MuJoCo compiles, their elasticity against closed forms."""

import numpy as np
import pytest

import quirk
from quirk import importers, rotation

mujoco = pytest.importorskip("mujoco")

PLUGIN = '<plugin plugin="mujoco.elasticity.cable">{}</plugin>'
EXTENSION = '<extension><plugin plugin="mujoco.elasticity.cable"/></extension>'
STILL = '<option gravity="0 0 0"/>'


def cable_file(folder, attributes, inside, head=""):
    path = folder / "cable.xml"
    path.write_text(
        f'<mujoco>{head}<worldbody><composite type="cable" {attributes}>{inside}</composite></worldbody></mujoco>'
    )
    return path


def elastic(twist, bend, more=""):
    """The plugin with two moduli, Pa."""
    values = f'<config key="twist" value="{twist}"/><config key="bend" value="{bend}"/>{more}'
    return PLUGIN.format(values)


def chain(vertices, initial, geom):
    """The same chain in MuJoCo, with the axes of the world in all bodies."""
    text = ""
    for k in range(len(vertices) - 2, -1, -1):
        place = vertices[k] - (vertices[k - 1] if k else 0.0)
        joint = '<joint type="ball"/>' if k or initial == "ball" else "<freejoint/>" if initial == "free" else ""
        end = " ".join(map(repr, (vertices[k + 1] - vertices[k]).tolist()))
        at = " ".join(map(repr, place.tolist()))
        text = f'<body pos="{at}">{joint}<geom fromto="0 0 0 {end}" {geom}/>{text}</body>'
    return f"<mujoco><worldbody>{text}</worldbody></mujoco>"


CURVES = {
    "line": ('curve="s" size="0.8 0 0"', lambda s: (0.8 * s, 0 * s, 0 * s)),
    "upright": ('curve="0 0 s" size="0.8 0 0"', lambda s: (0 * s, 0 * s, 0.8 * s)),
    "helix": ('curve="cos(s) sin(s) s" size="0.8 0.3 2"', lambda s: (0.3 * np.cos(2 * np.pi * s), 0.3 * np.sin(2 * np.pi * s), 0.8 * s)),
}  # fmt: skip


@pytest.mark.parametrize("initial", ["ball", "free", "none"])
@pytest.mark.parametrize("curve", CURVES)
def test_a_cable_falls_as_its_chain_in_mujoco(tmp_path, curve, initial):
    attributes, points = CURVES[curve]
    geom = 'type="capsule" size="0.01" density="900"'
    path = cable_file(
        tmp_path, f'{attributes} count="7 1 1" offset="0.1 0.2 0.3" initial="{initial}"', f"<geom {geom}/>"
    )
    system = importers.load_mjcf(path).system
    vertices = np.array(points(np.linspace(0, 1, 7))).T + np.array([0.1, 0.2, 0.3])
    m = mujoco.MjModel.from_xml_string(chain(vertices, initial, geom))
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    state = system.initial_state()
    found, names = system.acceleration(state), ["B_first", *(f"B_{k}" for k in range(1, 5)), "B_last"]
    for k, name in enumerate(names):
        b, jacobian = system.bodies.index(system[name]), np.zeros((2, 3, m.nv))
        mujoco.mj_jacBodyCom(m, d, *jacobian, k + 1)
        R = rotation.matrix(state.orientation[b])
        np.testing.assert_allclose(state.position[b], d.xipos[k + 1], atol=1e-12)
        np.testing.assert_allclose(found.linear[b], jacobian[0] @ d.qacc, atol=1e-9)
        np.testing.assert_allclose(R @ found.angular[b], jacobian[1] @ d.qacc, atol=1e-9)
        # The x axis is along the edge.
        np.testing.assert_allclose(
            R[:, 0], np.diff(vertices, axis=0)[k] / np.linalg.norm(np.diff(vertices, axis=0)[k]), atol=1e-12
        )


@pytest.mark.parametrize(
    ("axis", "section", "geom", "turn"),
    [
        (0, 0.5 * np.pi * 0.01**4, 'type="capsule" size="0.01"', 0.25),
        (1, 0.25 * np.pi * 0.01**4, 'type="cylinder" size="0.01"', 0.25),
        (1, 0.02 * 0.008**3 / 12, 'type="box" size="1 0.01 0.004"', 0.25),
        (2, 0.008 * 0.02**3 / 12, 'type="box" size="1 0.01 0.004"', 0.02),
    ],
)
def test_a_torque_at_the_end_bends_or_twists_a_cable_evenly(tmp_path, axis, section, geom, turn):
    """Each joint turns by the torque times the length of a body over the stiffness."""
    twist, bend, edge = 3e6, 5e6, 0.1
    inside = elastic(twist, bend) + f"<geom {geom}/>"
    path = cable_file(tmp_path, 'curve="s" size="0.8" count="9 1 1" initial="none"', inside, EXTENSION + STILL)
    cable = importers.load_mjcf(path).system
    torque = np.eye(3)[axis] * turn * section * (bend if axis else twist) / edge
    system = cable.with_parts(quirk.Torque("load", cable["B_last"], torque, frame="inertial"))
    state = system.equilibrium()
    for k in range(1, 8):
        b = system.bodies.index(system["B_last" if k == 7 else f"B_{k}"])
        np.testing.assert_allclose(rotation.log(state.orientation[b]), turn * k * np.eye(3)[axis], atol=1e-8)


def test_a_curved_cable_keeps_its_form_unless_it_is_flat(tmp_path):
    """A flat one is bent at first, with the energy E I / L w^2 / 2 between neighbors at an angle w."""
    stiffness = 4e6 * 0.25 * np.pi * 0.005**4 / (2 * 0.5 * np.sin(np.pi / 16))
    geom = '<geom type="capsule" size="0.005"/>'
    shape = 'curve="cos(s) sin(s)" size="0 0.5 1" count="9 1 1" initial="free" prefix="rope_"'
    for flat in ("false", "true"):
        plugin = elastic(1e7, 4e6, f'<config key="flat" value="{flat}"/>')
        system = importers.load_mjcf(cable_file(tmp_path, shape, plugin + geom, EXTENSION + STILL)).system
        found = system.acceleration(system.initial_state())
        energy = quirk.simulate(system, 1e-4, output=[0.0]).energy.potential[0]
        if flat == "false":
            assert np.abs(found.linear).max() < 1e-9
            assert abs(energy + 7 * 0.5 * stiffness * (np.pi / 8) ** 2) < 1e-9 * stiffness
        else:
            assert np.abs(found.angular).max() > 1.0
            assert energy == pytest.approx(7 * 0.5 * stiffness * (np.pi / 8) ** 2, rel=1e-9)
        # An instance of the plugin with a name does the same.
        named = EXTENSION.replace("/></ext", f'><instance name="soft">{plugin[41:-9]}</instance></plugin></ext')
        again = importers.load_mjcf(
            cable_file(tmp_path, shape, '<plugin instance="soft"/>' + geom, named + STILL)
        ).system
        np.testing.assert_allclose(again.acceleration(again.initial_state()).angular, found.angular, atol=1e-9)


def test_a_cable_in_a_moving_body_with_vertices(tmp_path):
    """Its first body is one with the body that holds it; sites at both ends are frames."""
    inside = '<geom type="capsule" size="0.01"/><joint kind="main" damping="0.02"/>' + elastic(1e6, 1e6)
    path = tmp_path / "arm.xml"
    path.write_text(
        f'<mujoco>{EXTENSION}<worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/><geom type="box" size="0.1 0.1 0.1"/>'
        f'<composite type="cable" prefix="c" vertex="0 0 0  0.2 0 0  0.4 0.1 0  0.5 0.3 0.1" initial="none">{inside}</composite>'
        "</body></worldbody></mujoco>"
    )
    imported = importers.load_mjcf(path)
    system = imported.system
    assert {body.name for body in system.bodies} == {"arm", "cB_1", "cB_last"}
    np.testing.assert_allclose(
        quirk.simulate(system, 0.01, output=[0.0])["cB_last"].path("cS_last").position[0], [0.5, 0.3, 0.1], atol=1e-12
    )
    assert np.isfinite(system.acceleration(system.initial_state()).linear).all()


@pytest.mark.parametrize(
    ("attributes", "inside", "message"),
    [
        ('curve="s" count="5 1 1"', '<geom type="sphere" size="0.1"/>', "a cable needs the type capsule, cylinder or box"),
        ('curve="t" count="5 1 1"', '<geom type="capsule" size="0.1"/>', 'curve must be up to three of 0, s.*got "t"'),
        ('curve="s" count="1 1 1"', '<geom type="capsule" size="0.1"/>', "2 to 400 vertices; got 1"),
        ('curve="0" count="5 1 1"', '<geom type="capsule" size="0.1"/>', "neighboring vertices of a cable must differ"),
        ('curve="s" count="5 1 1" initial="pin"', '<geom type="capsule" size="0.1"/>', 'ball, free, none; got "pin"'),
        ('curve="s" count="5 1 1" vertex="0 0 0 1 0 0"', '<geom type="capsule" size="0.1"/>', "either a count or a list"),
        ('vertex="0 0 0 1 0"', '<geom type="capsule" size="0.1"/>', "must be 3 numbers"),
        ('curve="s" count="5 1 1"', '<geom type="capsule" size="0.1"/><tendon/>', "a cable cannot have a <tendon>"),
        ('curve="s" count="5 1 1"', "", "has no <geom>"),
        ('curve="s" count="5 1 1"', '<geom type="capsule" size="0.1"/><plugin plugin="mine"/>', "only have the plugin"),
        ('curve="s" count="5 1 1"', '<geom type="capsule" size="0.1"/>' + elastic(-1, 1), "must not be negative"),
        ('curve="s" count="5 1 1"', '<geom type="capsule" size="0.1"/><joint kind="twist"/>', 'must have kind="main"'),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, attributes, inside, message):
    with pytest.raises(quirk.InputError, match=message):
        importers.load_mjcf(cable_file(tmp_path, attributes, inside))
