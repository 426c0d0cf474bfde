"""Functions as text: what they mean, that they run as functions do, and what is refused."""

import math
import re

import numpy as np
import pytest

import quirk
from quirk.autodiff.jet import Jet
from quirk.functions.expression import Derivative
from quirk.functions.expression.functions import FUNCTIONS
from quirk.io.modelfile import system_of, text_of

# The same in Python, for x in (0, 1).
MEANINGS = [
    ("1 + 2*x - 3*x**2/4", lambda x: 1 + 2 * x - 3 * x**2 / 4),
    ("-x**2", lambda x: -(x**2)),
    ("2**-x**2", lambda x: 2 ** -(x**2)),
    ("2 - 3 - x", lambda x: 2 - 3 - x),
    ("2/4/x", lambda x: 2 / 4 / x),
    ("(1 - x)*(1 + x)", lambda x: (1 - x) * (1 + x)),
    ("+x - -x", lambda x: 2 * x),
    ("1e-3 + .5E1*x + 2.", lambda x: 1e-3 + 5 * x + 2),
    ("x**-2 + x**0.5 + x**x", lambda x: x**-2 + x**0.5 + x**x),
    ("sin(x) + cos(x)*tan(x)", lambda x: math.sin(x) + math.cos(x) * math.tan(x)),
    ("asin(x) + acos(x) - atan(x) + atan2(x, 2) + atan2(1, x)",
     lambda x: math.asin(x) + math.acos(x) - math.atan(x) + math.atan2(x, 2) + math.atan2(1, x)),
    ("sinh(x) + cosh(x) + tanh(x) + exp(x)", lambda x: math.sinh(x) + math.cosh(x) + math.tanh(x) + math.exp(x)),
    ("log(x) + sqrt(x) + hypot(x, 1, 2) + radians(x)",
     lambda x: math.log(x) + math.sqrt(x) + math.hypot(x, 1, 2) + math.radians(x)),
    ("abs(x - 0.5) + sign(x - 0.5)", lambda x: abs(x - 0.5) + math.copysign(1, x - 0.5)),
    ("min(x, 0.4, 0.9) + max(x, 0.4) + clip(x, 0.2, 0.6)",
     lambda x: min(x, 0.4, 0.9) + max(x, 0.4) + min(max(x, 0.2), 0.6)),
    ("pi + tau*e*x", lambda x: math.pi + math.tau * math.e * x),
    ("where(x > 0.5, x, -x)", lambda x: x if x > 0.5 else -x),
    ("where(0.2 < x <= 0.6, 1, 2)", lambda x: 1 if 0.2 < x <= 0.6 else 2),
    ("where(x < 0.2 or not x < 0.6 and x != 0.7, 1, 2)", lambda x: 1 if x < 0.2 or (not x < 0.6 and x != 0.7) else 2),
    ("where(x == 2, 1/(x - x), 3)", lambda x: 3),
    ("where(x > 2 and 1/(x - x) > 0, 1, x)", lambda x: x),
    ("[x, 2, 3*x][2] + [x, 2, 3].x", lambda x: 4 * x),
    ("dot([x, 1, 2], [3, 4, x]) + norm([3, 4]) + cross([x, 0, 0], [0, 1, 0]).z", lambda x: 3 * x + 4 + 2 * x + 5 + x),
    ("(2*[x, 1, 0] - [1, 0, 0]/4)[0]", lambda x: 2 * x - 0.25),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_meaning_on_floats_and_jets(text, meant):
    expression = quirk.Expression(text, "x")
    for x in (0.13, 0.37, 0.71, 0.93):
        np.testing.assert_allclose(expression(x), meant(x), rtol=1e-14)
        along = expression(Jet([x, 1.0, 0, 0], []))
        if not isinstance(along, Jet):  # what does not depend on x
            continue
        np.testing.assert_allclose(float(along.value), meant(x), rtol=1e-14)
        h = 1e-4
        slope = (meant(x + h) - meant(x - h)) / (2 * h)
        bend = (meant(x + h) - 2 * meant(x) + meant(x - h)) / h**2
        np.testing.assert_allclose(float(along.taylor[1]), slope, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(2 * float(along.taylor[2]), bend, rtol=1e-4, atol=1e-5)


def test_every_function_is_tried():
    tried = " ".join(text for text, _ in MEANINGS)
    assert all(f"{name}(" in tried for name in FUNCTIONS)


def test_derivatives_of_all_orders():
    f = quirk.Expression("t*sin(3*t)", "t")
    t = 0.4
    want = [
        math.sin(3 * t) + 3 * t * math.cos(3 * t),
        6 * math.cos(3 * t) - 9 * t * math.sin(3 * t),
        -27 * math.sin(3 * t) - 27 * t * math.cos(3 * t),
        -108 * math.cos(3 * t) + 81 * t * math.sin(3 * t),
    ]
    np.testing.assert_allclose([Derivative(f, k)(t) for k in range(1, 5)], want, rtol=1e-13)
    motion = quirk.Motion.function("t*sin(3*t)")
    np.testing.assert_allclose(motion.derivatives(t, 4), [f(t), *want], rtol=1e-13)
    assert repr(motion) == "Motion(t*sin(3*t))"
    # Where it does not depend on the time.
    assert quirk.Motion.function("2").derivatives(t, 2).tolist() == [2, 0, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 1: it ends too early"),
        ("2*", "column 3: it ends too early"),
        ("sni(x)", 'column 1: there is no function "sni"; did you mean "sin"?'),
        ("x + yy", 'column 5: there is no variable "yy"'),
        ("velocty.x", 'did you mean "velocity"?'),
        ("x > 0", "it is a comparison"),
        ("(x > 0)*2", "belongs into where"),
        ("2*(x > 0)", "belongs into where"),
        ("-(x > 0)", "belongs into where"),
        ("(x > 0)**2", "has no power"),
        ("where(x, 1, 2)", "column 7: a comparison is needed here"),
        ("where(x > 0 and 1, 1, 2)", "a comparison is needed here"),
        ("where(1 and x > 0, 1, 2)", "a comparison is needed here"),
        ("where(x > 0, 1)", "where takes a comparison and two values; got 1"),
        ("where((x > 0) > 0, 1, 2)", "cannot be compared"),
        ("sin(1, 2)", "sin takes 1 argument; got 2"),
        ("max()", "max takes 1 or more arguments; got 0"),
        ("2^3", "write ** for a power"),
        ("x y", "'y' is not expected here"),
        ("1 2", "is not expected here"),
        ("(1", "')' is missing at the end"),
        ("[1, 2", "']' is missing at the end"),
        ("x if x else 2", "'if' is not expected"),
        ("lambda: 1", "is not expected|has no meaning"),
        ("x.__class__", "there is no '__class__' behind a dot"),
        ("x.position()", "is not expected here"),
        ("x[-1]", "a whole number is needed"),
        ("x[1.5]", "a whole number is needed"),
        ("x[9999]", "a whole number is needed"),
        ("x = 1", "'=' has no meaning"),
        ("1e999", "too large"),
        ("π", "has no meaning"),
        ("x; x", "has no meaning"),
        ("__import__('os')", 'there is no function "__import__"'),
        ("x.x.x.x.x.x", "more than 4 names"),
        ("(" * 100 + "x" + ")" * 100, "more than 25 times"),
        ("-" * 10_000 + "x", "more than 25 times"),
        ("sin(" * 26 + "x" + ")" * 26, "more than 25 times"),
        ("2**" * 26 + "x", "more than 25 times"),
        ("not " * 4000 + "x", "more than 25 times"),
        ("1+" * 10_001 + "1", "may have 20000 characters"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_column(text, said):
    with pytest.raises(quirk.InputError, match=re.sub(r"([?*()])", r"\\\1", said)):
        quirk.Expression(text, "x", "velocity")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("9**9**9**9", "math range error"),
        ("x**1000", "whole powers may be 100 at most"),
        ("1/(x - x)", "division by zero"),
        ("v*v", "multiply vectors with dot or cross"),
        ("1/v", "division by a vector is undefined"),
        ("sin(v)", "expected a number instead of a vector of 3"),
        ("v + b", "expected a number instead of a body or frame; select a quantity"),
        ("v[3]", "a vector of 3 has no entry"),
        ("v.w", 'a vector of 3 has no component "w"'),
        ("x[0]", "a vector is needed before"),
        ("x.position", 'the object before the dot has no "position"'),
        ("dot(v, [1, 2])", "vectors of one length"),
        ("cross([1, 2], v)", "two vectors of 3"),
        ("norm(x)", "expected a vector"),
        ("x.point(v)", "a body or frame is needed"),
        ('x["a"]', "a state is needed"),
    ],
)
def test_what_fails_when_it_is_called(text, said):
    class Body:
        position = np.zeros(3)

    expression = quirk.Expression(text, "x", "v", "b")
    x = Jet([2.0, 1.0], []) if "1000" in text else 2.0
    with pytest.raises((ValueError, ArithmeticError), match=said):
        expression(x, np.array([1.0, 2.0, 3.0]), Body())


def test_long_sums_are_no_deep_ones():
    text = " + ".join(f"{k}*x" for k in range(1500))
    assert quirk.Expression(text, "x")(2.0) == 2.0 * sum(range(1500))


def test_arguments_and_equality():
    e = quirk.Expression("a*b")
    assert e.variables == ("a", "b")
    with pytest.raises(quirk.InputError, match="called with 1 values"):
        e(1.0)
    assert e.of(["b", "a"])(2.0, 3.0) == 6.0
    assert quirk.Expression("e + 1", "e")(2.0) == 3.0  # arguments come before constants
    assert quirk.Expression("a", "a") == quirk.Expression("a", "a") != quirk.Expression("a", "a", "b")
    assert repr(quirk.Expression("a+1", "a")) == "Expression('a+1', 'a')"
    for given in (3, None, b"x"):
        with pytest.raises(quirk.InputError, match="text must be a text"):
            quirk.Expression(given)
    with pytest.raises(quirk.InputError, match="names of variables"):
        quirk.Expression("a", "a b")
    with pytest.raises(quirk.InputError, match="cannot be changed"):
        e.text = "b"


def plant(functions):
    """A system in which everything that takes functions has one."""
    rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    ball = quirk.Body.sphere("left ball", 1.0, 0.1, position=[3, 0, 0], velocity=[0, 0.3, 0])
    slide = quirk.Body.sphere("slide", 1.0, 0.1, position=[6, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, slide, point=[6, 0, 0], axis=[1, 0, 0])
    f = functions
    parts = [
        quirk.JointTorque("motor", hinge, f["torque"]),
        quirk.Force("push", ball, f["force"]),
        quirk.Spring("spring", rod, ball, law=f["law"]),
        quirk.Drive("drive", rail, f["motion"]),
        quirk.Implicit("surface", ball, f["phi"]),
        quirk.PotentialField("field", ball, energy=f["energy"]),
        quirk.Event("dips", f["event"]),
    ]
    system = quirk.System([rod, ball, slide, hinge, rail, *parts], gravity=[0, 0, -9.81])
    start = system.initial_state()
    start.velocity[2] = [0.6, 0, 0]
    return system, start


TEXTS = {
    "torque": "-0.5*rate - where(angle > 0.1, 0.3*angle, sin(2*t))",
    "force": [0, "0.1*velocity.x", "9*where(velocity.z < 0, -velocity.z, 0) + norm(position)*orientation.w"],
    "law": "200*(length - 3) + 2*rate",
    "motion": "0.2*sin(3*t)",
    "phi": "a.position.x - 3 - 0.1*sin(a.position.y)*t",
    "energy": "0.5*r.z**2",
    "event": quirk.Expression('rod.position.z + 0.1*t + 0*state["left ball"].position.x'),
}
PYTHON = {
    "torque": lambda t, angle, rate: -0.5 * rate - quirk.where(angle > 0.1, 0.3 * angle, np.sin(2 * t)),
    "force": lambda t, r, q, v, w: [0, 0.1 * v[0], 9 * quirk.where(v[2] < 0, -v[2], 0) + np.sqrt(r @ r) * q[0]],
    "law": lambda length, rate: 200 * (length - 3) + 2 * rate,
    "motion": quirk.Motion.function(
        lambda t: 0.2 * np.sin(3 * t), lambda t: 0.6 * np.cos(3 * t), lambda t: -1.8 * np.sin(3 * t),
        lambda t: -5.4 * np.cos(3 * t), lambda t: 16.2 * np.sin(3 * t),
    ),
    "phi": lambda t, a: a.position[0] - 3 - 0.1 * np.sin(a.position[1]) * t,
    "energy": lambda t, r: 0.5 * r[2] ** 2,
    "event": lambda t, state: state["rod"].position[2] + 0.1 * t,
}  # fmt: skip


def test_they_run_in_machine_code_as_functions_do():
    runs = []
    for functions in (TEXTS, PYTHON):
        system, start = plant(functions)
        runs.append(quirk.simulate(system, 0.5, output=0.05, initial_state=start))
    assert not runs[0].statistics.in_python
    assert [event.name for event in runs[0].events] == ["dips"]
    assert runs[0].events[0].time == pytest.approx(runs[1].events[0].time, abs=1e-12)
    for name in ("rod", "left ball", "slide"):
        for what in ("position", "acceleration"):
            mine, theirs = (getattr(run[name], what) for run in runs)
            np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-9)


def test_the_dense_reference_agrees():
    system, start = plant(TEXTS)
    sparse, dense = (system.acceleration(start, 0.3, solver=solver) for solver in ("sparse", "dense"))
    np.testing.assert_allclose(sparse.linear, dense.linear, rtol=1e-11, atol=1e-11)


def test_texts_in_the_place_of_motions():
    body = quirk.Body("b", 1.0, [1, 1, 1])
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    drive = quirk.TrajectoryDrive("d", quirk.GROUND, body, "sin(t)", "t**2", quirk.Motion.constant_rate(1.0))
    generic = quirk.Generic("g", quirk.GROUND, body, offset=["sin(t)", 0, 0, 0, 0, quirk.Expression("0.1*t")])
    field = quirk.UniformField("u", acceleration=["sin(t)", 0, 1])
    force = quirk.Force("f", body, ["sin(t)", quirk.Motion.constant_rate(1.0), 2])
    parts = [
        drive.motions[0], generic.primitives[0].motions[0], field.acceleration_x, force.force_x,
        quirk.Controller("c", hinge, "sin(t)", kp=1.0).target, quirk.ReactionWheel("w", body, "z", 1.0, "sin(t)").speed,
    ]  # fmt: skip
    for motion in parts:
        np.testing.assert_allclose(motion.derivatives(0.3, 2), [np.sin(0.3), np.cos(0.3), -np.sin(0.3)], rtol=1e-15)


def test_what_else_takes_texts_runs_in_machine_code_and_is_written():
    one, two = (quirk.Body(name, 1.0, [1, 1, 1], position=[x, 0, 0]) for name, x in (("one", 3), ("two", 0)))
    joint = quirk.Cylindrical("j", quirk.GROUND, two, point=[0, 0, 0], axis=[0, 0, 1], active=False)
    parts = [
        quirk.Drag("d", two, 0.3, density="1.2*exp(-position.z/8000)", wind=["sin(t)", 0, 0]),
        quirk.Thruster("t", two, 1.0, "x", throttle="max(0, sin(t))"),
        quirk.Interaction("i", one, two, force="-2*displacement - 0.1*velocity", torque=[0, 0, "rotation.z"]),
        quirk.ForceField("ff", force="-0.1*velocity", torque="[0, 0, -angular_velocity.z]"),
        quirk.Potential("p", [one, two], "0.5*dot(r_1 - r_2, r_1 - r_2) + R_1[0][0]"),
        quirk.Actuator("a", joint, "-angle", limits=2.0, coordinate="rotation"),
        quirk.OneSided("os", one, "a.position.z + 1"),
        quirk.Torque("to", two, "-angular_velocity"),
    ]
    system = quirk.System([one, two, joint, *parts])
    again = system_of(text_of(system))
    found = [
        each.acceleration(system.initial_state(), 0.3, solver=solver)
        for each, solver in ((system, "sparse"), (again, "sparse"), (system, "dense"))
    ]
    assert found[0].linear.tobytes() == found[1].linear.tobytes()
    np.testing.assert_allclose(found[0].linear, found[2].linear, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[0].angular, found[2].angular, rtol=1e-12, atol=1e-14)


def test_wrong_variables_are_refused_where_the_part_is_made():
    rod = quirk.Body("rod", 1.0, [1, 1, 1])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    with pytest.raises(
        quirk.InputError, match=r'JointTorque "m": torque: .* no variable "angel"; did you mean "angle"'
    ):
        quirk.JointTorque("m", hinge, "-angel")
    with pytest.raises(quirk.InputError, match=r'Force "f": force: .*finite numbers or texts'):
        quirk.Force("f", rod, [0, None, "t"])
    with pytest.raises(quirk.InputError, match=r'Drive "d": motion: .*no variable'):
        quirk.Drive("d", hinge, "2*x")
    with pytest.raises(quirk.InputError, match=r'there is no body or joint "rodd"'):
        quirk.simulate(quirk.System([rod, quirk.Event("e", quirk.Expression("rodd.position.x"))]), 0.1)
    with pytest.raises(
        quirk.InputError, match=r"its torque function, called as .*, failed at t = 0 s: .*division by zero"
    ):
        quirk.System([rod, hinge, quirk.JointTorque("m", hinge, "1/t")]).acceleration(
            quirk.System([rod]).initial_state(), solver="dense"
        )
