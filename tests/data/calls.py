"""Right and wrong calls, as type checkers see them; those that are wrong end in a comment that says so."""

from typing import assert_type

import numpy as np

import quirk
from quirk.result.body_views import BodyView
from quirk.result.force_views import ForceView
from quirk.result.joint_views import JointView
from quirk.result.result import Result

rod = quirk.Body("rod", 1.0, [0.1, 0.2, 0.3], position=np.zeros(3), frames={"tip": quirk.Frame([1, 0, 0])})
assert_type(rod, quirk.Body)
box = quirk.Body.box("box", 2.0, [1, 2, 3], color="gray", orientation=[1, 0, 0, 0])
assert_type(box, quirk.Body)
slider = quirk.planar.PlanarBody.box("slider", 2.0, [1, 2, 3], angle=0.3)
assert_type(slider, quirk.planar.PlanarBody)
hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=(0, 0, 0), axis="y")
assert_type(hinge, quirk.Revolute)
spring = quirk.Spring("spring", quirk.GROUND, rod, points=[[0, 0, 1], rod.position], stiffness=3.0)
assert_type(spring, quirk.Spring)
push = quirk.Force("push", rod, lambda t, *motion: [t, 0, 0])
text = quirk.Force("text", rod, ["sin(t)", 0, 0])
motor = quirk.JointTorque("motor", hinge, quirk.Motion.sinusoid(1.0, 2.0))
stop = quirk.Event("stop", lambda t, state: state["rod"].speed, action=["record", quirk.disable("hinge")])
assert_type(stop, quirk.Event)


class Own(quirk.ForceElement):
    coordinates = ("length",)

    def coordinate(self, t, i, j):
        d = j.position - i.position
        return np.sqrt(d @ d)

    def stored(self, t, x):
        return x * x


own = Own("own", (rod, quirk.Frame()), (box, quirk.Frame()))
shape = quirk.shapes.Box([1.0, 2.0, 3.0])

quirk.Body("rod", "heavy", [1, 1, 1])  # wrong
quirk.Body("rod", 1.0, [1, 1, 1], nonsense=3)  # wrong
quirk.Body.box("box", 2.0, [1, 2, 3], nonsense=3)  # wrong
quirk.Body.bar("bar", [0, 0, 0], [1, 0, 0], 1.0, position=[0, 0, 0])  # wrong
quirk.planar.PlanarBody.box("slider", 2.0, [1, 2, 3], orientation=[1, 0, 0, 0])  # wrong
quirk.Revolute("hinge", quirk.GROUND, "rod")  # wrong
quirk.Spring("spring", quirk.GROUND, rod, stiffnes=3.0)  # wrong
quirk.Force("push", rod, {"x": 1.0})  # wrong
quirk.Event("stop", 5)  # wrong
quirk.Event("stop", "time", directions=1)  # wrong
quirk.System(rod, hinge)  # wrong

system = quirk.System([rod, hinge, spring, push, motor, stop], gravity=[0, 0, -9.81])
torque = quirk.JointTorque("torque", system["hinge"], 1.0)
twice = quirk.rotation.exp(system["rod"].position)
result = quirk.simulate(system, 1.0, output=np.linspace(0, 1, 11))
assert_type(result, Result)
assert_type(result.body("rod"), BodyView)
assert_type(result.joint(hinge), JointView)
assert_type(result.force("spring"), ForceView)
assert_type(result.at(0.5).body("rod").position, np.ndarray)
angle: np.ndarray = result.joint("hinge").angle

quirk.simulate(system, 1.0, methods="RK4")  # wrong
result.body("rod").positon.max()  # wrong
result.joint("hinge").length.max()  # wrong
