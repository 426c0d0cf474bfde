"""Derivatives of loads along a run, in one compiled pass: the same as at one output after the other."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Motion
from quirk.simulation.sensitivity import at_instant as instant
from quirk.simulation.sensitivity import sensitivities as found


def arm():
    """Two links with a motor in Python by an angle of several turns, springs off the centers, and drag."""
    one = Body("one", 1.2, [0.01, 0.1, 0.09], position=[0.5, 0, 0], velocity=[0, 10, 0], angular_velocity=[0, 0, 20])
    two = Body("two", 0.8, [0.01, 0.06, 0.05], position=[1.4, 0, 0], velocity=[0, 28, 0], angular_velocity=[0, 0, 20])
    hinge = quirk.Revolute("hinge", GROUND, one, point=[0, 0, 0], axis=[0, 0, 1])
    wrist = quirk.Universal("wrist", one, two, point=[1, 0, 0], axis_i=[0, 0, 1], axis_j=[0, 1, 0])
    system = quirk.System([
        one, two, hinge, wrist,
        quirk.JointTorque("motor", hinge, lambda t, angle, rate: float(0.3 * np.sin(float(angle)) - 0.02 * rate)),
        quirk.TorsionSpring("coil", hinge, stiffness=0.2, damping=0.01),
        quirk.Spring("spring", GROUND, two, point_i=[0.2, 1, 0.3], point_j=[0.1, 0.2, 0], stiffness=30.0, damping=0.4),
        quirk.Force("drag", two, lambda t, r, q, v, w: -0.3 * v, point=[0.1, 0, 0.2]),
    ], gravity=[0, -9.81, 0])  # fmt: skip
    numbers = [("one", "mass"), ("spring", "stiffness"), "gravity", ("two", "inertia"), ("coil", "damping")]
    return system, [*numbers, ("wrist", "frame_j.origin"), ("spring", "point_j")], 1.0


def crank():
    """A crank in space, whose rows are redundant, with a driver whose motion varies."""
    crank = Body.bar("crank", [0, 0, 0], [0.1, 0, 0], mass=0.5)
    rod = Body.bar("rod", [0.1, 0, 0], [0.4, 0, 0], mass=0.4)
    slider = Body.box("slider", 0.3, [0.04, 0.06, 0.06], position=[0.4, 0, 0])
    main = quirk.Revolute("main", GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1])
    system = quirk.System([
        crank, rod, slider, main,
        quirk.Revolute("pin", crank, rod, point=[0.1, 0, 0], axis=[0, 0, 1]),
        quirk.Revolute("bolt", rod, slider, point=[0.4, 0, 0], axis=[0, 0, 1]),
        quirk.Prismatic("guide", GROUND, slider, axis=[1, 0, 0]),
        quirk.Drive("drive", main, Motion.sinusoid(2.0, 5.0, phase=0.4, offset=0.1)),
    ], gravity=[0, -9.81, 0])  # fmt: skip
    system.assemble()
    return system, [("rod", "mass"), ("drive", "motion.amplitude")], 0.5


class Wire(quirk.ForceElement):
    """A spring whose only coordinate, a distance, has the name of an energy, m."""

    parameters = ("stiffness",)
    coordinates = ("energy",)

    def __init__(self, name, body, stiffness):
        self.stiffness = stiffness
        super().__init__(name, (GROUND, quirk.Frame([1, 0.2, 0])), (body, quirk.Frame([0.1, 0, 0.2])))

    def coordinate(self, t, i, j):
        d = j.position - i.position
        return np.sqrt(d @ d)

    def stored(self, t, x):
        return 0.5 * self.stiffness * x**2


def wheel():
    """A disk that rolls, a controller with an integral, and an element whose coordinate is called as its energy."""
    disk = Body("disk", 1.5, [0.02, 0.04, 0.02], position=[0, 0, 0.2], velocity=[0.4, 0, 0], angular_velocity=[0, 2, 0])
    arm = Body("arm", 1.0, [0.1, 0.1, 0.01], position=[0.4, 3, 0])
    hinge = quirk.Revolute("hinge", GROUND, arm, point=[0, 3, 0], axis=[0, 1, 0])
    roll = quirk.RollingDisk(
        "roll", GROUND, disk, radius=0.2, disk_axis=[0, 1, 0], plane_point=[0, 0, 0], plane_normal=[0, 0, 1]
    )
    system = quirk.System([
        disk, arm, hinge, roll, Wire("wire", disk, 3.0),
        quirk.Controller("control", hinge, Motion.sinusoid(0.4, 3.0), kp=20.0, ki=30.0, kd=2.0, integral=0.05),
    ], gravity=[0, 0, -9.81])  # fmt: skip
    numbers = [("roll", "radius"), ("control", "ki"), ("control", "target.amplitude"), ("wire", "stiffness")]
    return system, [*numbers, ("disk", "velocity")], 0.4


def ball():
    """A ball that bounces on a floor and comes to rest on it, on a spring."""
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.25], velocity=[0.5, 0, 0])
    on_i, on_j = quirk.surface.plane(normal=[0, 0, 1]), quirk.surface.sphere(0.1)
    floor = quirk.Contact("floor", GROUND, ball, on_i=on_i, on_j=on_j, restitution=0.2, rest_speed=0.1)
    spring = quirk.Spring("spring", GROUND, ball, point_i=[-1, 0, 0.5], stiffness=4.0, damping=0.1)
    return quirk.System([ball, floor, spring], gravity=[0, 0, -9.81]), [("ball", "mass"), ("spring", "damping")], 1.0


def sledge():
    """A body that slides on a rail with friction, pulled by a spring."""
    sledge = Body("sledge", 2.0, [0.1, 0.1, 0.1], velocity=[3, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, sledge, axis=[1, 0, 0])
    rub = quirk.Friction("rub", rail, coefficient=0.2)
    spring = quirk.Spring("spring", GROUND, sledge, point_i=[2, 0.5, 1], stiffness=4.0)
    return (
        quirk.System([sledge, rail, rub, spring], gravity=[0, 0, -9.81]),
        [("sledge", "mass"), ("rub", "coefficient")],
        0.4,
    )


def loads_of(result):
    """Derivatives of all that a run says of loads and accelerations, by name."""
    system, every = result.system, result.sensitivity
    parts = [*system.constraints, *system.forces]
    found = {"accelerations": every.accelerations}
    names = [f"{part.name}.{what}.{axis}" for part in parts for what in ("force", "torque") for axis in "xyz"]
    names += [f"{part.name}.force" for part in parts] + [f"{part.name}.energy" for part in system.forces if part.stores]
    return found | dict(zip(names, every.quantities(names), strict=True))


@pytest.mark.parametrize("make", study([arm, crank, wheel, ball, sledge], {crank, sledge}))
def test_all_loads_of_a_run_are_those_of_single_outputs(make, monkeypatch):
    system, parameters, duration = make()
    result = quirk.simulate(system, duration, output=duration / 8, sensitivities=parameters)
    every = result.sensitivity
    assert all(loads is not None for loads in every._loads)
    one_pass = loads_of(result)
    monkeypatch.setattr(found, "loads_along", lambda *_: None)
    every._quantities.clear()
    del every.__dict__["_loads"], every.__dict__["accelerations"]
    one_by_one = loads_of(result)
    scale = max(np.abs(one).max() for name, one in one_by_one.items() if name.endswith(("x", "y", "z")))
    for name, one in one_by_one.items():
        known = np.isfinite(one)
        assert (np.isfinite(one_pass[name]) == known).all(), name
        limit = 1e-12 * max(scale, np.abs(one[known]).max(initial=0.0))
        assert np.abs(one_pass[name][known] - one[known]).max(initial=0.0) <= limit, name


def test_no_output_is_looked_at_by_itself(monkeypatch):
    system, parameters, _ = arm()
    result = quirk.simulate(system, 0.2, output=0.05, sensitivities=parameters)
    monkeypatch.setattr(instant, "Instant", None)
    for parameter in parameters:
        assert np.isfinite(result.sensitivity[parameter]["wrist"].torque()).all()
        assert np.isfinite(result.sensitivity[parameter]["two"].acceleration).all()


def test_a_function_that_fails_says_so():
    rod = Body("rod", 1.0, [0.1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    late = []

    def torque(t, angle, rate):
        return float("nan") if late and t > 0.1 else -0.1 * float(rate)

    system = quirk.System([rod, hinge, quirk.JointTorque("motor", hinge, torque)], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 0.2, output=0.05, sensitivities=[("rod", "mass")])
    late.append(True)
    with pytest.raises(quirk.InputError, match="motor"):
        result.sensitivity[("rod", "mass")]["hinge"].force()
