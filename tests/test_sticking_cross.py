"""Friction about the two axes of a universal joint, which stick and slide each by itself."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body

FINE = {"rtol": 1e-11, "atol": 1e-13}
AXES = {"x": 0, "y": 1}


def swing(u=1.0):
    """A body on a universal joint, turned about both axes; lengths in units of u meters."""
    arm = Body("arm", 1.2, np.array([0.02, 0.03, 0.04]) * u * u, position=np.array([0.1, 0.05, -0.3]) * u)
    joint = quirk.Universal("joint", GROUND, arm, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 0.8, 0.6])
    return arm, joint


def frictions(joint, **limits):
    return [
        quirk.JointFriction(name, joint, coordinate=f"rotation {name}", sticking=True, coulomb=value)
        for name, value in limits.items()
    ]


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
def test_both_axes_hold_a_weight(u):
    arm, joint = swing(u)
    g = 9.81 * u
    system = quirk.System([arm, joint, *frictions(joint, x=9 * u * u, y=9 * u * u)], gravity=[0, 0, -g])
    result = quirk.simulate(system, 1000.0, output=[1000.0])
    assert np.abs(result["arm"].position[-1] - arm.position).max() < 1e-14 * u
    assert len(result.events) == 0
    moment = np.cross(arm.position, [0, 0, -1.2 * g])
    for name, axis in (("x", [1, 0, 0]), ("y", [0, 0.8, 0.6])):
        assert result[name].along()[-1] == pytest.approx(-moment @ axis, rel=1e-11)
        assert np.allclose(result[name].torque()[-1], -(moment @ axis) * np.array(axis), rtol=1e-11)
        assert result[name].sticking.all()


@pytest.mark.parametrize(("slides", "axis"), [("x", [1, 0, 0]), ("y", [0, 0.8, 0.6])])
def test_one_axis_breaks_away_while_the_other_sticks(slides, axis):
    """J w' = r t - coulomb from t0 = static / r on, about an axis through the center of mass."""
    J, r, coulomb, static = 2.0, 0.5, 4.0, 5.0
    arm = Body("arm", 1.0, [J, J, J])
    joint = quirk.Universal("joint", GROUND, arm, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 0.8, 0.6])
    strengths = {name: (static, coulomb) if name == slides else (99.0, 99.0) for name in AXES}
    parts = [
        quirk.JointFriction(name, joint, coordinate=f"rotation {name}", static=s, coulomb=c, sticking=True)
        for name, (s, c) in strengths.items()
    ]
    load = quirk.Torque("load", arm, [quirk.Motion.polynomial([0, r * x]) for x in axis], frame="inertial")
    result = quirk.simulate(quirk.System([arm, joint, *parts, load]), 14.0, output=1.0, **FINE)
    np.testing.assert_allclose(result.events.time, [static / r], rtol=1e-9)
    s = np.maximum(result.time - static / r, 0.0)
    angle = (0.5 * (static - coulomb) * s**2 + r * s**3 / 6) / J
    np.testing.assert_allclose(result[slides].coordinate(), angle, atol=1e-8)
    np.testing.assert_allclose(result[slides].coordinate(), result["joint"].rotation[:, AXES[slides]], atol=1e-12)
    other = next(name for name in AXES if name != slides)
    assert result[other].sticking.all() and np.abs(result[other].coordinate()).max() < 1e-12
    assert np.abs(result.power.balance).max() < 1e-9


def test_it_is_that_of_two_hinges_with_a_light_cross_between():
    """Sliding and sticking in turns, with events of both axes, until both rest."""
    arm, joint = swing()
    limits = {"x": 0.3, "y": 0.5}
    system = quirk.System([arm, joint, *frictions(joint, **limits)], gravity=[0, 0, -9.81])
    start = system.assemble(rates={"joint": {"rotation x": 3.0, "rotation y": -2.0}})
    result = quirk.simulate(system, 4.0, output=0.05, initial_state=start, **FINE)
    mass = 1e-8
    cross = Body("cross", mass, [mass, mass, mass], position=[0, 0, 0])
    hinges = [
        quirk.Revolute("one", GROUND, cross, point=[0, 0, 0], axis=[1, 0, 0]),
        quirk.Revolute("two", cross, arm, point=[0, 0, 0], axis=[0, 0.8, 0.6]),
    ]
    rubs = [
        quirk.JointFriction(name, hinge, coulomb=value, sticking=True)
        for (name, value), hinge in zip(limits.items(), hinges, strict=True)
    ]
    twin = quirk.System([cross, arm, *hinges, *rubs], gravity=[0, 0, -9.81])
    state = twin.assemble(rates={"one": 3.0, "two": -2.0})
    other = quirk.simulate(twin, 4.0, output=0.05, initial_state=state, rtol=1e-9)
    assert len(result.events) >= 4
    np.testing.assert_allclose(result.events.time, other.events.time, atol=1e-6)
    np.testing.assert_allclose(result["arm"].position, other["arm"].position, atol=1e-6)
    for name in AXES:
        # An instant after an event is not compared.
        away = np.abs(result.time[:, None] - result.events.time).min(axis=1) > 1e-3
        np.testing.assert_allclose(result[name].along()[away], other[name].along()[away], atol=1e-5)
    assert result["x"].sticking[-1] and result["y"].sticking[-1]
    assert np.abs(result.power.balance).max() < 1e-9


def test_smooth_friction_of_both_axes_dissipates_its_power():
    arm, joint = swing()
    rubs = [
        quirk.JointFriction(name, joint, coordinate=f"rotation {name}", viscous=0.05, coulomb=0.1, creep=0.5)
        for name in AXES
    ]
    system = quirk.System([arm, joint, *rubs], gravity=[0, 0, -9.81])
    start = system.assemble(rates={"joint": {"rotation x": 3.0, "rotation y": -2.0}})
    result = quirk.simulate(system, 2.0, output=0.1, initial_state=start, **FINE)
    for name in AXES:
        rate = result[name].rate()
        want = -0.05 * rate - 0.1 * np.tanh(rate / 0.5)
        np.testing.assert_allclose(result[name].along(), want, rtol=1e-12, atol=1e-14)
    assert np.abs(result.power.balance).max() < 1e-9


def test_an_axis_must_be_named():
    _, joint = swing()
    with pytest.raises(quirk.InputError, match='give coordinate="rotation x" or "rotation y"; got None'):
        quirk.JointFriction("f", joint, coulomb=1.0, sticking=True)
    hinge = quirk.Revolute("hinge", GROUND, swing()[0], point=[0, 0, 0], axis="x")
    with pytest.raises(quirk.InputError, match="coordinate must be one of"):
        quirk.JointFriction("f", hinge, coulomb=1.0, sticking=True, coordinate="rotation x")


def test_friction_acts_at_a_joint_without_rows_that_measures_a_coordinate():
    """Of one axis of a universal joint, as imports from SDF and MJCF have it: held, then broken away."""
    arm, joint = swing()
    about = quirk.Frame([0, 0, 0], quirk.rotation.from_matrix(np.eye(3)[:, [1, 2, 0]]))
    here = quirk.Frame(-arm.position, about.rotation)
    view = quirk.Revolute("view", arm, GROUND, frame_i=here, frame_j=about, active=False)
    other = quirk.JointFriction("y", joint, coordinate="rotation y", coulomb=9.0, sticking=True)
    held = quirk.JointFriction("held", view, coulomb=9.0, sticking=True)
    result = quirk.simulate(quirk.System([arm, joint, view, held, other], gravity=[0, 0, -9.81]), 10.0, output=1.0)
    assert result["held"].sticking.all()
    assert np.abs(result["arm"].position - arm.position).max() < 1e-14
    assert np.abs(result["held"].along()) == pytest.approx(1.2 * 9.81 * 0.05, rel=1e-11)
    weak = quirk.JointFriction("held", view, coulomb=0.2, sticking=True)
    own = quirk.JointFriction("held", joint, coordinate="rotation x", coulomb=0.2, sticking=True)
    one, two = (
        quirk.simulate(quirk.System([arm, joint, view, f, other], gravity=[0, 0, -9.81]), 5.0, output=0.1, **FINE)
        for f in (weak, own)
    )
    np.testing.assert_allclose(one.events.time, two.events.time, atol=1e-9)
    np.testing.assert_allclose(one["arm"].position, two["arm"].position, atol=1e-9)
    assert one["held"].sticking[-1] and len(one.events) > 0
