"""Sensitivities of redundant loops, rolling, driven motion and internal variables, against differences of runs."""

import numpy as np
import pytest
from differences import extrapolated
from studies import study
from test_sensitivities import compare

import quirk


def parallel(x=0.0, what=None):
    """A plate on two equal arms, all hinged in space: three rows more than needed, and loads shared in least norm."""
    given = dict.fromkeys(["mass", "gravity"], 0.0)
    given.update({} if what is None else {what: x})
    s, c = 0.6 * np.sin(0.7), -0.6 * np.cos(0.7)
    left = quirk.Body("left", 0.5 + given["mass"], [0.02, 0.021, 0.003], position=[s / 2, 0, c / 2])
    right = quirk.Body("right", 0.4, [0.02, 0.022, 0.004], position=[1 + s / 2, 0.1, c / 2])
    plate = quirk.Body("plate", 2.0, [0.05, 0.3, 0.32], position=[0.4 + s, 0.05, c - 0.1])
    y = [0, 1, 0]
    joints = [
        quirk.Revolute("a", quirk.GROUND, left, point=[0, 0, 0], axis=y),
        quirk.Revolute("b", quirk.GROUND, right, point=[1, 0, 0], axis=y),
        quirk.Revolute("c", left, plate, point=[s, 0, c], axis=y),
        quirk.Revolute("d", right, plate, point=[1 + s, 0, c], axis=y),
    ]
    spring = quirk.TorsionSpring("spring", joints[1], stiffness=3.0, damping=0.05)
    push = quirk.Force("push", plate, [0.0, 4.0, 0.5], point=[0.3, 0.1, 0.2])
    return quirk.System([left, right, plate, *joints, spring, push], gravity=[0, 0, -9.81 + given["gravity"]])


@pytest.mark.parametrize(
    ("what", "key", "index"),
    [
        ("mass", ("left", "mass"), ()),
        ("gravity", "gravity", (2,)),
    ],
)
def test_of_a_redundant_loop(what, key, index):
    """With the loads that redundant hinges share."""
    compare(lambda x: parallel(x, what), key, index, span=0.4, loads=["a", "b", "c", "d"])


def disk(x=0.0, what=None):
    """A disk that rolls on an inclined plane, under a spring that holds a point of its rim."""
    given = dict.fromkeys(["mass", "radius"], 0.0)
    given.update({} if what is None else {what: x})
    q = quirk.rotation.exp(np.array([0.3, 0.0, 0.0]))  # leans
    height = 0.5 * np.cos(0.3)
    wheel = quirk.Body("wheel", 1.5 + given["mass"], [0.1, 0.19, 0.1], position=[0, 0, height], orientation=q,
                       velocity=[1.0, 0.1, 0.0], angular_velocity=[0.2, 2.0, 0.3])  # fmt: skip
    roll = quirk.RollingDisk("roll", quirk.GROUND, wheel, radius=0.5 + given["radius"], disk_axis=[0, 1, 0],
                             plane_point=[0, 0, 0], plane_normal=[0, 0, 1])  # fmt: skip
    spring = quirk.Spring("spring", quirk.GROUND, wheel, point_i=[0, 0, 1.5], point_j=[0.4, 0, 0],
                          stiffness=8.0, damping=0.2, rest_length=0.6)  # fmt: skip
    system = quirk.System([wheel, roll, spring], gravity=[0.5, 0, -9.81])
    system.assemble()
    return system


@pytest.mark.parametrize(("what", "key"), [("mass", ("wheel", "mass")), ("radius", ("roll", "radius"))])
def test_of_rolling(what, key):
    """Nonholonomic: the start moves along with the radius, poses first."""
    compare(lambda x: disk(x, what), key, span=0.4, h=1e-2, loads=["roll", "spring"])


def controlled(x=0.0, what=None):
    """An arm whose controller has an integral that starts at a value of its own."""
    given = dict.fromkeys(["ki", "integral", "amplitude"], 0.0)
    given.update({} if what is None else {what: x})
    arm = quirk.Body("arm", 1.0, [0.1, 0.1, 0.01], position=[0.4, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis=[0, 1, 0])
    target = quirk.Motion.sinusoid(0.4 + given["amplitude"], 3.0)
    control = quirk.Controller("control", hinge, target, kp=20.0, ki=30.0 + given["ki"], kd=2.0,
                               integral=0.05 + given["integral"])  # fmt: skip
    return quirk.System([arm, hinge, control], gravity=[0, 0, -9.81])


@pytest.mark.parametrize(
    ("what", "key"),
    [("ki", ("control", "ki")), ("integral", ("control", "integral")), ("amplitude", ("control", "target.amplitude"))],
)  # fmt: skip
def test_with_internal_variables(what, key):
    """By a gain, by what the integral starts from, and by the target."""
    angle = "hinge.angle", lambda result: result["hinge"].rotation[:, 2]
    compare(lambda x: controlled(x, what), key, loads=["hinge", "control"], others=[angle])


@pytest.mark.parametrize("what", ["kp", "ki", "kd"])
@pytest.mark.parametrize("kp", [8.0, 0.5])
def test_of_a_controller_at_its_limits(what, kp):
    """Its integral is wound back by the larger of kp and the root of ki kd, in closed form."""
    gains = {"kp": kp, "ki": 5.0, "kd": 2.0}
    arm = quirk.Body("arm", 1.0, [0.1, 0.1, 0.01], position=[0.4, 0, 0], velocity=[0, 0, -0.12],
                     angular_velocity=[0, 0.3, 0])  # fmt: skip
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis=[0, 1, 0])
    control = quirk.Controller("control", hinge, -0.5, integral=-0.2, limits=0.6, **gains)
    system = quirk.System([arm, hinge, control])

    def rate(gain):
        given = {**gains, what: gains[what] + gain}
        asked = -0.5 * given["kp"] - 0.2 * given["ki"] - 0.3 * given["kd"]
        return -0.5 - (asked + 0.6) / max(given["kp"], np.sqrt(given["ki"] * given["kd"]))

    found = system.linearize(inputs=[("control", what)], coordinates=["hinge.angle"])
    want = extrapolated(lambda x: np.array([rate(x)]), 1e-2)[0]
    assert found.B[found.states.index("control.integral"), 0] == pytest.approx(want, rel=1e-10)
    assert abs(want) > 1e-3


def pinned(moment):
    body = quirk.Body("magnet", 0.1, [1e-5, 1e-5, 2e-5], position=[0.001, 0, 0.02], velocity=[0.02, 0, 0.05])
    return quirk.System([body, quirk.FluxPinning("pin", quirk.GROUND, body, moment)])


def test_of_the_moment_of_a_pinned_magnet():
    """The image that stays in the superconductor is that of the same moment."""
    options = {"rtol": 1e-12, "atol": 1e-15, "output": [0.1]}
    result = quirk.simulate(pinned([0, 0, 1.5]), 0.1, sensitivities=[("pin", "moment")], **options)
    found = result.sensitivity[("pin", "moment")]["magnet"].position[-1, :, 2]
    want = extrapolated(lambda x: quirk.simulate(pinned([0, 0, 1.5 + x]), 0.1, **options)["magnet"].position[-1])
    np.testing.assert_allclose(found, want, atol=1e-8 * np.abs(want).max())


def crank(x=0.0, what=None):
    """A crank that is driven turns a rocker in space, at whose tip a bob swings."""
    given = dict.fromkeys(["mass", "frequency", "length"], 0.0)
    given.update({} if what is None else {what: x})
    wheel = quirk.Body("wheel", 0.8, [0.02, 0.03, 0.02], position=[0, 0, 0])
    rocker = quirk.Body("rocker", 0.6, [0.05, 0.05, 0.01], position=[1.0, 0.1, 0.4])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis=[0, 1, 0])
    pivot = quirk.Revolute("pivot", quirk.GROUND, rocker, point=[1.0, 0.1, 0], axis=[0, 1, 0])
    rod = quirk.Distance("rod", wheel, rocker, point_i=[0.2, 0, 0], point_j=[0, 0, 0.2],
                         length=np.hypot(np.hypot(0.8, 0.1), 0.6) + given["length"])  # fmt: skip
    motion = quirk.Motion.sinusoid(0.5, 4.0 + given["frequency"], 0.1)
    motor = quirk.Drive("motor", axle, motion)
    bob = quirk.Body("bob", 0.3 + given["mass"], [0.001, 0.001, 0.001], position=[1.0, 0.1, 0.5])
    tip = quirk.Spherical("tip", rocker, bob, point=[1.0, 0.1, 0.8])
    spring = quirk.Spring("spring", quirk.GROUND, bob, point_i=[1.5, 0.3, 0.5], stiffness=6.0)
    system = quirk.System([wheel, rocker, bob, axle, pivot, tip, rod, motor, spring], gravity=[0, 0, -9.81])
    system.assemble()
    return system


@pytest.mark.parametrize(
    ("what", "key"),
    [("mass", ("bob", "mass")), ("length", ("rod", "length")), ("frequency", ("motor", "motion.angular_frequency"))],
)  # fmt: skip
def test_of_a_driven_mechanism(what, key):
    compare(lambda x: crank(x, what), key, span=0.4, h=1e-2, loads=["motor", "rod", "pivot"])


def reached(x=0.0, index=0):
    """A box that is carried along a path, with a motor whose torque follows a second one; one time of each varies."""
    times = np.array([0.05, 0.17, 0.3, 0.37])
    times[index] += x
    carriage = quirk.Body.box("carriage", 1.0, [0.2, 0.1, 0.1])
    rod = quirk.Body.box("rod", 0.5, [0.05, 0.05, 0.4], position=[0, 0, -0.2])
    rail = quirk.Prismatic("rail", quirk.GROUND, carriage, point=[0, 0, 0], axis=[1, 0, 0])
    hinge = quirk.Revolute("hinge", carriage, rod, point=[0, 0, 0], axis=[0, 1, 0])
    path = quirk.Motion.rest_to_rest(times, [0.0, 0.2, 0.2, -0.1])
    motor = quirk.JointTorque("motor", hinge, quirk.Motion.rest_to_rest(times, [0.3, -0.4, 0.1, 0.2]))
    return quirk.System([carriage, rod, rail, hinge, quirk.Drive("drive", rail, path), motor], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("index", study(range(4), {0, 3}))
def test_by_the_times_of_a_motion_from_rest_to_rest(index):
    """The two motions share their times; sensitivities are those to the times of each, which add up."""
    outputs = np.linspace(0.0, 0.4, 9)
    options = {"output": outputs, "rtol": 1e-12, "atol": 1e-14}
    keys = [("drive", "motion.times"), ("motor", "torque.times")]
    result = quirk.simulate(reached(), 0.4, sensitivities=keys, **options)
    found = sum(np.take(result.sensitivity[key]["rod"].position, index, axis=-1) for key in keys)
    want = extrapolated(lambda x: quirk.simulate(reached(x, index), 0.4, **options)["rod"].position, 1e-3)
    np.testing.assert_allclose(found, want, atol=1e-7 * np.abs(want).max())


def test_times_of_splines_are_refused():
    carriage = quirk.Body.box("carriage", 1.0, [0.2, 0.1, 0.1])
    rail = quirk.Prismatic("rail", quirk.GROUND, carriage, point=[0, 0, 0], axis=[1, 0, 0])
    drive = quirk.Drive("drive", rail, quirk.Motion.spline([0.0, 0.5, 1.0], [0.0, 0.1, 0.0]))
    text = r"is not differentiated by its 'times'; available: \('drive', 'motion.values'\)"
    system = quirk.System([carriage, rail, drive])
    system.assemble()
    with pytest.raises(quirk.InputError, match=text):
        quirk.simulate(system, 0.5, sensitivities=[("drive", "motion.times")])


def through_flat(x=0.0):
    """A parallelogram of bars in a plane that passes through the pose in which it is flat: singular for an instant."""
    c, s = np.cos(0.5), np.sin(0.5)
    points = [(0, 0), (c, s), (2 + c, s), (2, 0)]
    bars = [
        quirk.planar.PlanarBody.bar(name, points[k], points[k + 1], mass=1.0 + (x if k == 0 else 0.0))
        for k, name in enumerate("abc")
    ]
    ends = [quirk.GROUND, *bars, quirk.GROUND]
    pins = [quirk.planar.Revolute(f"p{k}", ends[k], ends[k + 1], point=points[k]) for k in range(4)]
    system = quirk.System([*bars, *pins], gravity=[0, -9.81, 0])
    system.assemble(rates={"p0": -6.0})
    return system


def test_through_a_singular_configuration():
    """A mass leaves it singular there, so derivatives go on behind it; it is passed at 0.08 s."""
    result = quirk.simulate(through_flat(), 0.4, output=0.01)
    assert result.health().smallest_singular_value.min() < 0.01 < result.health().smallest_singular_value[[0, -1]].min()
    compare(through_flat, ("a", "mass"), span=0.4, h=1e-2, output=[0.04, 0.2, 0.4], loads=["p0", "p2"])


def test_redundant_rows_that_contradict_each_other_along_a_change():
    """The hinge's point out of the plane of the linkage: with redundant hinges there is no motion with that."""
    with pytest.raises(quirk.InputError, match="redundant constraints contradict each other"):
        quirk.simulate(parallel(), 0.1, sensitivities=[("c", "frame_i.origin")])


def test_where_the_motion_splits(recwarn):
    """Two cranks of one length, with a rod between them as long as their axles are apart: singular where it is flat."""
    c, s = np.cos(0.5), np.sin(0.5)
    cranks = [
        quirk.planar.PlanarBody.bar(name, (x, 0), (x + c, s), mass=m)
        for name, x, m in (("one", 0, 1.0), ("two", 2, 1.5))
    ]
    pins = [
        quirk.planar.Revolute(f"p{x}", quirk.GROUND, crank, point=(x, 0))
        for crank, x in zip(cranks, (0, 2), strict=True)
    ]
    rod = quirk.Distance("rod", *cranks, point_i=[0.5, 0, 0], point_j=[0.5, 0, 0])
    system = quirk.System([*cranks, *pins, rod], gravity=[0, -9.81, 0])
    system.assemble(rates={"p0": -6.0})
    with pytest.warns(
        quirk.SensitivityWarning, match=r"near t = 0\.0[78]\d* s .* a change of \('rod', 'length'\)"
    ) as told:
        quirk.simulate(system, 0.2, output=0.1, sensitivities=[("rod", "length"), ("one", "mass"), "gravity"])
    assert len(told) == 1 and told[0].filename == __file__
    recwarn.clear()
    quirk.simulate(system, 0.05, output=0.05, sensitivities=[("rod", "length")])
    assert not recwarn.list
