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
    "geom", ['type="capsule" size="0.01"', 'type="cylinder" size="0.01"', 'type="box" size="1 0.01 0.02"']
)
def test_defaults_of_the_file_do_not_change_a_cable(tmp_path, geom):
    """Neither those of the file nor those of the body that holds it; as in MuJoCo 3.3."""
    defaults = (
        '<geom density="500" mass="3" quat="0 1 0 0" margin="0.1"/><site quat="0 1 0 0"/>'
        '<joint damping="2" armature="0.1" stiffness="3" frictionloss="1" limited="true" range="0 0.1"/>'
    )
    head = f'<default>{defaults}<default class="held">{defaults}</default></default>'
    inside = f'<joint kind="main" damping="0.015"/><geom {geom}/>'
    curve = 'curve="s cos(s) sin(s)" size="0.7 0.2 1" count="6 1 1" initial="none"'
    plain = importers.load_mjcf(cable_file(tmp_path, curve, inside))
    path = cable_file(tmp_path, curve, inside, head)
    text = (
        path.read_text()
        .replace("<worldbody>", '<worldbody><body childclass="held">')
        .replace("</worldb", "</body></worldb")
    )
    path.write_text(text)
    changed = importers.load_mjcf(path)
    assert changed.left_out == plain.left_out
    assert [part.name for part in changed.system.forces] == [part.name for part in plain.system.forces]
    for body, same in zip(changed.system.bodies, plain.system.bodies, strict=True):
        assert body.mass == same.mass
        np.testing.assert_array_equal(body.inertia, same.inertia)
    # The density of MuJoCo, 1000 kg/m^3.
    length = np.linalg.norm(
        np.subtract(*([0.7 * x, 0.2 * np.cos(np.pi * x), 0.2 * np.sin(np.pi * x)] for x in (0.4, 0.2)))
    )
    volume = 4 * 0.01 * 0.02 * length if "box" in geom else np.pi * 0.01**2 * (length + 0.04 / 3 * ("capsule" in geom))
    assert changed.system["B_1"].mass == pytest.approx(1000 * volume, rel=1e-12)
    found, wanted = (one.system.acceleration(one.system.initial_state()) for one in (changed, plain))
    np.testing.assert_array_equal(found.angular, wanted.angular)


def test_a_quaternion_turns_a_curve_but_not_a_list_of_vertices(tmp_path):
    """As in MuJoCo 3.3, where the axes of the bodies of a straight cable depend on its direction alone."""
    geom = '<geom type="box" size="1 0.01 0.02"/>'
    q = np.array([0.6, 0.0, 0.64, 0.48])
    words = " ".join(map(repr, q.tolist()))
    turned = importers.load_mjcf(
        cable_file(tmp_path, f'curve="cos(s) sin(s)" count="4" size="1 0.3 1" offset="0 0 5" quat="{words}"', geom)
    ).system.initial_state()
    plain = importers.load_mjcf(
        cable_file(tmp_path, 'curve="cos(s) sin(s)" count="4" size="1 0.3 1"', geom)
    ).system.initial_state()
    R = rotation.matrix(q)
    np.testing.assert_allclose(turned.position, plain.position @ R.T + [0, 0, 5], atol=1e-14)
    np.testing.assert_allclose(rotation.matrix(turned.orientation), R @ rotation.matrix(plain.orientation), atol=1e-14)
    for form in ('vertex="1 0 0 2 0 0 3 0 0"', 'curve="s" count="3" size="2" offset="1 0 0"'):
        system = importers.load_mjcf(cable_file(tmp_path, form + ' quat="0.6 0.8 0 0"', geom)).system
        state = system.initial_state()
        np.testing.assert_allclose(state.position, [[1.5, 0, 0], [2.5, 0, 0]], atol=1e-14)
        np.testing.assert_allclose(rotation.matrix(state.orientation), [np.eye(3)] * 2, atol=1e-14)


@pytest.mark.parametrize("flat", ["false", "true"])
def test_torques_about_a_bent_form_are_those_of_the_plugin_to_first_order(tmp_path, flat):
    """The torque on the next body is K (w0 - w) / L in the axes of the first; its error is of second order in w - w0."""
    seed = 8
    rng = np.random.default_rng(seed)
    G, E, r, edge = 1e7, 4e6, 0.005, 0.1
    vertices = np.array([[0, 0, 0], [edge, 0, 0], [edge, edge, 0]])
    form = " ".join(map(str, vertices.ravel()))
    inside = elastic(G, E, f'<config key="flat" value="{flat}"/>') + f'<geom type="capsule" size="{r}"/>'
    system = importers.load_mjcf(
        cable_file(tmp_path, f'vertex="{form}" initial="none"', inside, EXTENSION + STILL)
    ).system
    rest = np.array([0, 0, np.pi / 2 if flat == "false" else 0])
    K = np.pi * r**4 / 4 * np.array([2 * G, E, E])
    direction, errors = rng.normal(size=3), []
    for size in (1e-2, 1e-3):
        w = rest + size * direction
        R, state = rotation.matrix(rotation.exp(w)), system.initial_state()
        body, b = system["B_last"], system.bodies.index(system["B_last"])
        state.orientation[b], state.position[b] = rotation.exp(w), vertices[1] + R @ [edge / 2, 0, 0]
        about_joint = body.inertia + body.mass * edge**2 / 4 * np.diag([0, 1, 1])
        torque = R @ about_joint @ system.acceleration(state).angular[b]
        errors.append(np.abs(torque - K * (rest - w) / edge).max())
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.1), seed


@pytest.mark.parametrize(
    ("attributes", "inside", "message"),
    [
        ('curve="s" count="5 1 1"', '<geom type="sphere" size="0.1"/>', "a cable needs the type capsule, cylinder or box"),
        ('curve="t" count="5 1 1"', '<geom type="capsule" size="0.1"/>', 'curve must be up to three of 0, s.*got "t"'),
        ('curve="s" count="1 1 1"', '<geom type="capsule" size="0.1"/>', "2 to 400 vertices; got 1"),
        ('curve="s" count="401 1 1"', '<geom type="capsule" size="0.1"/>', "2 to 400 vertices; got 401"),
        *[
            (f'curve="s" count="{count}"', '<geom type="capsule" size="0.1"/>', rf"<composite>.* count=.* must be N or N 1 1.*got '{count}'")
            for count in ("0 1 1", "-3 1 1", "1e3 1 1", "2.5", "nan", "", "2 2 1", "3 3 1", "1 5 1", "5 0", "5 1 1 1", "5_0")
        ],
        ('curve="s" count="5" bogus="1"', '<geom type="capsule" size="0.1"/>', '<composite>.* cannot have the attribute bogus='),
        ('curve="s" count="5" spacing="1"', '<geom type="capsule" size="0.1"/>', '<composite>.* the attribute spacing='),
        ('curve="s" count="5"', '<geom type="capsule" size="0.1" pos="1 0 0"/>', "<geom>.* the attribute pos="),
        ('curve="s" count="5"', '<geom type="capsule" size="0.1"/><joint kind="main" ref="1"/>', "<joint>.* the attribute ref="),
        ('curve="s" count="5"', '<geom type="capsule" size="0.1"/>' + elastic(1, 1, '<config key="foo" value="1"/>'),
         "<config>.* key=.* must be one of twist, bend, flat, vmax, each once; got 'foo'"),
        ('curve="s" count="5"', '<geom type="capsule" size="0.1"/>' + elastic(1, 1, '<config key="bend" value="1"/>'),
         "each once; got 'bend'"),
        ('curve="s" count="5"', '<geom type="capsule" size="-0.1"/>', "size 0 must be positive"),
        ('curve="s" count="5" quat="0 0 0 0"', '<geom type="capsule" size="0.1"/>', "<composite>.* quat=.* length 1.*; got 0"),
        ('curve="s" count="5" quat="1 .2 .3 .4"', '<geom type="capsule" size="0.1"/>', "<composite>.* quat=.*; got 1.13578"),
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
