"""Force elements that are asked for what cannot be: messages that name the element, the argument and what to do."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion


def ball(name, **initial):
    return Body(name, 2.0, [0.1, 0.1, 0.1], **initial)


A, B = ball("a"), ball("b", position=[1, 0, 0])
HINGE = quirk.Revolute("hinge", A, B, point=[0, 0, 0], axis=[0, 0, 1])
SLEEVE = quirk.Cylindrical("sleeve", A, B, point=[0, 0, 0], axis=[0, 0, 1])


@pytest.mark.parametrize(("make", "says"), [
    (lambda: quirk.Spring("s", A, B), 'Spring "s": give either stiffness or law; got neither'),
    (lambda: quirk.Spring("s", A, B, stiffness=1, law=lambda L, rate: 0), 'Spring "s": give either stiffness or law; got both'),
    (lambda: quirk.Spring("s", A, B, law=([0, 1], [0, 1]), one_sided="tension"), "one_sided requires a stiffness"),
    (lambda: quirk.Spring("s", A, B, law=[1, 2, 3]), "law must be a table of two rows"),
    (lambda: quirk.Spring("s", A, B, law=([1, 0], [1, 2])), "times must increase strictly"),
    (lambda: quirk.Spring("s", A, B, stiffness=1, one_sided="both"), "one_sided must be one of None, 'tension'"),
    (lambda: quirk.Spring("s", A, B, stiffness=1, rest_length=0, one_sided="compression"), "never compressed"),
    (lambda: quirk.Tendon("t", [(A, [0, 0, 0])]), 'Tendon "t": points must be a list of at least two pairs'),
    (lambda: quirk.Tendon("t", [(A, [0, 0, 0]), (A, [1, 0, 0])]), "its length is constant"),
    (lambda: quirk.Tendon("t", [(A, [0, 0, 0]), (B, [1, 0, 0])], weights=[-1]), "weights must not be negative"),
    (lambda: quirk.Tendon("t", [(A, [0, 0, 0]), (B, [1, 0, 0])], rest_length=[2, 1]), "smallest and the largest length"),
    (lambda: quirk.Tendon("t", [(A, A.position * 0), (B, A.position - B.position)]), "coincide at the initial poses"),
    (lambda: quirk.TendonStop("t", [(A, [0, 0, 0]), (B, [1, 0, 0])]), "give lower or upper"),
    (lambda: quirk.TendonStop("t", [(A, [0, 0, 0]), (B, [1, 0, 0])], lower=2, upper=1), "lower must be less than upper"),
    (lambda: quirk.Damper("d", A, A, damping=1), 'Damper "d": body_i and body_j must differ'),
    (lambda: quirk.Damper("d", A, B, damping=-1), 'Damper "d": damping must not be negative'),
    (lambda: quirk.Bushing("b", A, B, point=[0, 0, 0], stiffness=[1, 2, 3]), "stiffness must be 6 numbers or a 6 x 6 matrix"),
    (lambda: quirk.Bushing("b", A, B, stiffness=np.ones(6)), 'Bushing "b": point must be given'),
    (lambda: quirk.Bushing("b", A, B, point=[0, 0, 0], stiffness=np.ones(6), damping=-np.eye(6)), "damping must be dissipative"),
    (lambda: quirk.JointFriction("f", HINGE, coulomb=1.0), "creep must be given, a speed in rad/s"),
    (lambda: quirk.JointFriction("f", HINGE, coulomb=1.0, static=0.5, creep=1), "static must be at least coulomb"),
    (lambda: quirk.JointFriction("f", HINGE, coulomb=1.0, static=2, creep=1), "stribeck must be given"),
    (lambda: quirk.Actuator("m", SLEEVE, 1.0), "both turns and slides: give coordinate="),
    (lambda: quirk.Actuator("m", HINGE, 1.0, limits=[2, 1]), "limits must be the smallest and the largest effort"),
    (lambda: quirk.Actuator("m", A, 1.0), 'Actuator "m": joint must be a joint such as quirk.Revolute'),
    (lambda: quirk.Controller("c", HINGE, "up", kp=1.0), 'Controller "c": target: expression "up", column 1: there is no variable'),
    (lambda: quirk.TorsionSpring("s", quirk.Prismatic("p", A, B, axis=[1, 0, 0]), stiffness=1), "turns about a single axis"),
    (lambda: quirk.Interaction("x", A, B), "needs force, torque or both"),
    (lambda: quirk.Interaction("x", A, B, force=[1, 2, 3], frame="k"), "frame must be one of 'inertial', 'i', 'j'"),
    (lambda: quirk.PointGravity("g", GROUND, B), "mu must be given"),
    (lambda: quirk.PointGravity("g", A, GROUND), "body_j must be the quirk.Body that is attracted"),
    (lambda: quirk.UniformField("u", [A, A], acceleration=[1, 2, 3]), "bodies must differ"),
    (lambda: quirk.UniformField("u", [], acceleration=[1, 2, 3]), "bodies must be at least one body"),
    (lambda: quirk.UniformField("u", [A], acceleration=[Motion.constant_rate(1), 2]), "three numbers or Motions"),
    (lambda: quirk.Damping("d", ["a"]), "bodies must be quirk.Body objects"),
    (lambda: quirk.Potential("p", A, 3.0), "energy must be a function that returns J"),
    (lambda: quirk.Thruster("t", A, -1.0, "x"), "thrust must not be negative"),
    (lambda: quirk.ReactionWheel("w", A, [0, 0, 0], 1.0, 1.0), "axis must be a direction"),
    (lambda: quirk.Drag("d", A, [1, 2]), "area must have shape"),
    (lambda: quirk.Drag("d", A, [1, -2, 3]), r"area\[1\] must not be negative"),
])  # fmt: skip
def test_what_is_wrong_is_named(make, says):
    with pytest.raises(quirk.InputError, match=says):
        make()


def test_a_law_without_a_method_names_the_class_and_the_method():
    class Weight(quirk.ForceElement):
        def load(self, t, frame):
            return 0, 0

    weight = Weight("weight", (Body.sphere("b", 1.0, 0.1), quirk.Frame()))
    with pytest.raises(TypeError, match="Weight has no potential: define potential in the class"):
        weight.potential(0.0)
