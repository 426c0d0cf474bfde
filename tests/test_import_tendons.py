"""MJCF tendons over sites and pulleys: lengths, forces and accelerations are those of MuJoCo."""

import numpy as np
import pytest
from studies import study
from test_import_mjcf import GEOM, assert_same_motion, model_file, mujoco_at_key

import quirk
from quirk import importers

mujoco = pytest.importorskip("mujoco")


def chain(rng, count=3):
    """A free body, and a chain of hinges and slides from it, with two sites in each body and two in the world."""

    def site(name):
        return f'<site name="{name}" pos="{" ".join(map(str, rng.uniform(-0.4, 0.4, 3)))}"/>'

    text = ""
    for k in reversed(range(1, count)):
        axis = " ".join(map(str, rng.normal(size=3)))
        kind = ("hinge", "slide")[k % 2]
        inside = f'<joint type="{kind}" name="j{k}" axis="{axis}"/>{GEOM}{site(f"b{k}0")}{site(f"b{k}1")}{text}'
        text = f'<body name="b{k}" pos="0.5 0.1 0.3">{inside}</body>'
    text = f'<body name="b0" pos="0.3 0.2 0.1"><freejoint/>{GEOM}{site("b00")}{site("b01")}{text}</body>'
    return f"{site('w0')}{site('w1')}{text}", [f"{x}{k}" for x in ("w", "b0", "b1", "b2") for k in (0, 1)]


def branches(rng, sites):
    """Two to four branches over two to four sites each, of which the later ones are behind pulleys."""
    text = ""
    for branch in range(rng.integers(2, 5)):
        pulley = f'<pulley divisor="{rng.uniform(0.5, 4)}"/>' if branch else ""
        while True:
            met = rng.choice(sites, size=rng.integers(2, 5), replace=False)
            if branch or len({name[:2] for name in met}) > 1:
                break
        text += pulley + "".join(f'<site site="{name}"/>' for name in met)
    return text


def key(rng):
    q = rng.normal(size=4)
    pose = [*rng.uniform(-0.3, 0.3, 3), *(q / np.linalg.norm(q)), *rng.uniform(-0.5, 0.5, 2)]
    return " ".join(map(str, pose)), " ".join(map(str, rng.normal(size=8)))


LAWS = [
    'stiffness="60"',
    'stiffness="60" damping="3"',
    'damping="3"',
    'stiffness="60" springlength="0 0.4"',
    'stiffness="60" springlength="0 9" damping="2"',
    'stiffness="60" springlength="9 12"',
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", study(range(3), 1))
def test_springs_behind_pulleys(tmp_path, law, seed):
    rng = np.random.default_rng(seed)
    bodies, sites = chain(rng)
    more = f'<tendon><spatial name="wire" {law}>{branches(rng, sites)}</spatial></tendon>'
    path = model_file(tmp_path, bodies, *key(rng), more)
    system = importers.load_mjcf(path, keyframe=0).system
    state = system.initial_state()
    result = quirk.simulate(system, 1e-9, output=[0.0])
    _, d = mujoco_at_key(path)
    assert abs(result["wire"].coordinate("length")[0] - d.ten_length[0]) < 1e-13
    assert_same_motion(path, system, {f"b{k}": k + 1 for k in range(3)}, state)
    with_and_without = system.acceleration(state).linear, system.without("wire").acceleration(state).linear
    assert (with_and_without[0] == with_and_without[1]).all() == ("0 9" in law and "damping" not in law)


ACTUATORS = [
    '<motor name="pull" tendon="wire" gear="3"/>',
    '<motor name="pull" tendon="wire" gear="-3" forcelimited="true" forcerange="-0.5 0.2"/>',
    '<position name="pull" tendon="wire" kp="7" kv="0.4" gear="1.5"/>',
    '<position name="pull" tendon="wire" kp="70" kv="0.4" gear="2" forcelimited="true" forcerange="-0.3 0.4"/>',
    '<velocity name="pull" tendon="wire" kv="3" gear="0.7"/>',
    '<general name="pull" tendon="wire" gainprm="3" biastype="affine" biasprm="1 -2 -0.3" gear="2"/>',
]


@pytest.mark.parametrize("actuator", ACTUATORS)
@pytest.mark.parametrize("limit", ["", 'actuatorfrclimited="true" actuatorfrcrange="-0.7 0.6"'])
def test_actuators_of_tendons(tmp_path, actuator, limit):
    rng = np.random.default_rng(5)
    bodies, sites = chain(rng)
    more = f'<tendon><spatial name="wire" stiffness="20" {limit}>{branches(rng, sites)}</spatial></tendon>'
    path = model_file(tmp_path, bodies, *key(rng), f"{more}<actuator>{actuator}</actuator>", ctrl="0.6")
    system = importers.load_mjcf(path, keyframe=0).system
    assert isinstance(system["pull"], quirk.Tendon)
    assert_same_motion(path, system, {f"b{k}": k + 1 for k in range(3)})


def test_two_actuators_at_a_limited_tendon_are_listed(tmp_path):
    bodies, sites = chain(np.random.default_rng(5))
    tendon = branches(np.random.default_rng(6), sites)
    limit = 'actuatorfrclimited="true" actuatorfrcrange="-0.7 0.6"'
    motors = '<motor name="one" tendon="wire"/><position name="two" tendon="wire" kp="3"/>'
    more = f'<tendon><spatial name="wire" {limit}>{tendon}</spatial></tendon><actuator>{motors}</actuator>'
    left_out = importers.load_mjcf(model_file(tmp_path, bodies, *key(np.random.default_rng(1)), more)).left_out
    assert any("limit of the sum" in line and '"one"' in line and '"two"' in line for line in left_out)


def test_limits_of_a_tackle(tmp_path):
    """A weight on a slide, held by two falls over a pulley: the length limits its fall, and what is behind the pulley."""
    bodies = f"""
      <site name="top" pos="0 0 2"/><site name="side" pos="1 0 2"/>
      <body name="load" pos="0 0 1"><joint type="slide" axis="0 0 1"/>{GEOM}<site name="eye" pos="0 0 0"/></body>
      <body name="counter" pos="1 0 1"><joint type="slide" axis="0 0 1"/>{GEOM}<site name="lug" pos="0 0 0"/></body>"""
    sites = '<site site="top"/><site site="eye"/><pulley divisor="2"/><site site="side"/><site site="lug"/>'
    more = f'<tendon><spatial name="wire" limited="true" range="0.2 2">{sites}</spatial></tendon>'
    option = '<option gravity="0 0 -10"><flag contact="disable"/></option>'
    path = model_file(tmp_path, bodies, "0 0", more=more, option=option)
    system = importers.load_mjcf(path, keyframe=0).system
    assert isinstance(system["wire limit"], quirk.TendonStop)
    result = quirk.simulate(system, 0.5, rtol=1e-10, output=0.01)
    fallen = -(result["load"].position - result["load"].position[0])[:, 2]
    counter = -(result["counter"].position - result["counter"].position[0])[:, 2]
    # 1 + x + (1 + y) / 2 = 2 is reached in free fall, x = y = 1 / 3.
    assert result.events.time[0] == pytest.approx(np.sqrt(2 / 3 / 10), abs=1e-9)
    after = result.time > result.events.time[0]
    assert np.abs(fallen + counter / 2 - 0.5)[after].max() < 1e-9
    # Equal masses m: m x'' = m g - T, m y'' = m g - T / 2 and x'' + y'' / 2 = 0 give T = 1.2 m g. Half of it acts on the
    # counterweight, the body of the last point.
    at = np.flatnonzero(after)[0] + 1
    assert np.allclose(result["wire limit"].force()[at], [0, 0, 0.6 * 1.3 * 10], rtol=1e-9)
