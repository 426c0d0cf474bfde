"""Which friction breaks away where several elements share a load, and static friction exceeds that of sliding."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import quirk
from quirk import GROUND, Body, Motion

SCALES = pytest.mark.parametrize("u", [1e-3, 1.0])


def slider(name, u, mass=1.0, speed=0.0, place=0.0):
    """A slider on a rail along x, with its mass in kg; lengths and speeds are in units of u meters."""
    body = Body.box(name, mass, [0.1 * u] * 3, position=[place * u, 0, 0], velocity=[speed * u, 0, 0])
    return body, quirk.Prismatic(f"rail of {name}", GROUND, body, axis="x")


def between(name, one, other):
    """A joint that lets two sliders move along each other, without constraining them."""
    return quirk.Prismatic(name, one, other, axis="x", active=False)


@SCALES
@pytest.mark.parametrize("by_weight", [False, True])
def test_friction_below_its_static_limit_holds_when_others_break_away(u, by_weight):
    """Two sliders rub on each other, 5.5 N, and on their rails. The second one breaks away at 11.5 N.

    Friction of the first one holds it then with 9 + 5.5 N: more than its sliding friction, 12 N, but less than 18 N.
    """
    (first, rail), (second, other) = slider("first", u), slider("second", u, place=1.0)
    rub = between("rub", first, second)
    if by_weight:
        under = quirk.Friction("under", other, 5.5 / 9.81, static=6.0 / 9.81)
    else:
        under = quirk.JointFriction("under", other, coulomb=5.5 * u, static=6.0 * u, sticking=True)
    parts = [
        *(first, second, rail, other, rub, under),
        quirk.JointFriction("holds", rail, coulomb=12.0 * u, static=18.0 * u, sticking=True),
        quirk.JointFriction("on", rub, coulomb=5.5 * u, sticking=True),
        quirk.Force("load", first, [9.0 * u, 0, 0]),
        quirk.Force("push", second, [Motion.polynomial([0, 8.0 * u]), 0, 0]),
    ]
    system = quirk.System(parts, gravity=[0, 0, -9.81 * u])
    begins = 11.5 / 8.0
    result = quirk.simulate(system, 2.0, output=[1.0, 2.0])
    assert {event.name for event in result.events} <= {"under", "on"}
    np.testing.assert_allclose(result.events.time, begins, rtol=1e-8)
    np.testing.assert_allclose(result["first"].velocity, 0.0, atol=1e-9 * u)
    assert result["holds"].sticking.all()
    np.testing.assert_allclose(result["holds"].force()[-1, 0], -14.5 * u, rtol=1e-9)
    np.testing.assert_allclose(
        result["second"].velocity[-1, 0], (4.0 * (2.0**2 - begins**2) - 11.0 * (2.0 - begins)) * u, rtol=1e-7
    )


@SCALES
def test_a_driver_takes_along_what_static_friction_holds(u):
    """A part sticks to a cart, up to 3 N, and to the ground, 2 N. The cart slides under it only above 1 m/s^2."""
    (cart, rail), (part, bed) = slider("cart", u), slider("part", u, place=0.5)
    sleeve = between("sleeve", cart, part)
    motion = Motion.rest_to_rest([0.5, 1.5], [0.0, u])
    system = quirk.System(
        [
            *(cart, part, rail, bed, sleeve, quirk.Drive("drive", rail, motion)),
            quirk.JointFriction("of cart", rail, coulomb=1.0 * u, sticking=True),
            quirk.JointFriction("to cart", sleeve, coulomb=1.0 * u, static=3.0 * u, sticking=True),
            quirk.JointFriction("to ground", bed, coulomb=2.0 * u, sticking=True),
        ]
    )
    result = quirk.simulate(system, 1.0, output=np.arange(0.5, 0.53, 0.001))
    together = 60 * (result.time - 0.5) - 180 * (result.time - 0.5) ** 2 + 120 * (result.time - 0.5) ** 3 < 0.98
    assert together.sum() > 10
    np.testing.assert_allclose(
        result["part"].velocity[together, 0], result["cart"].velocity[together, 0], rtol=1e-9, atol=1e-7 * u
    )
    slips = next(event.time for event in result.events if event.name == "to cart") - 0.5
    assert 60 * slips - 180 * slips**2 + 120 * slips**3 == pytest.approx(1.0, rel=1e-6)


@SCALES
def test_friction_listed_as_breaking_away_slides(u):
    """Two sliders that hold each other reverse; static friction of their rails lets them slip, then less would hold."""
    (first, rail), (second, other) = slider("first", u, 0.95, -1.0), slider("second", u, 0.83, -1.0, 1.0)
    rub = between("rub", first, second)
    system = quirk.System(
        [
            *(first, second, rail, other, rub),
            quirk.JointFriction("one", rail, coulomb=2.57 * u, static=3.36 * u, sticking=True),
            quirk.JointFriction("two", other, coulomb=1.73 * u, sticking=True),
            quirk.JointFriction("on", rub, coulomb=4.44 * u, static=5.86 * u, sticking=True),
            quirk.Force("load", first, [5.18 * u, 0, 0]),
            quirk.Force("push", second, [14.7 * u, 0, 0]),
        ]
    )
    result = quirk.simulate(system, 0.2, output=[0.2])
    turned = 1.0 / ((5.18 + 14.7 + 2.57 + 1.73) / 1.78)
    assert {(event.name, event.direction) for event in result.events} == {("one", 1), ("two", 1), ("on", 1)}
    np.testing.assert_allclose(result.events.time, turned, rtol=1e-8)
    rates = (5.18 - 2.57 + 4.44) / 0.95, (14.7 - 1.73 - 4.44) / 0.83
    for name, rate in zip(("first", "second"), rates, strict=True):
        np.testing.assert_allclose(result[name].velocity[-1, 0], rate * (0.2 - turned) * u, rtol=1e-6)


def crank_with_pin(turned, rod_end, all_rub):
    """A slider-crank with a brake on the guide and friction in a ball joint at the crank pin, or in all joints."""
    R = Rotation.from_rotvec([0.3, -0.5, 0.8] if turned else [0.0, 0.0, 0.0]).as_matrix()
    pin, end = np.array([0.15, 0, 0]), np.array([0, 0, -np.sqrt(0.5**2 - 0.15**2)])
    places = {"crank": pin / 2, "rod": (pin + end) / 2, "ram": end}
    crank, rod, ram = (
        Body(name, mass, [moment] * 3, position=R @ places[name], orientation=R)
        for name, mass, moment in (("crank", 1.0, 0.01), ("rod", 1.0, 0.02), ("ram", 2.0, 0.01))
    )
    hinge = quirk.Revolute("hinge", GROUND, crank, point=[0, 0, 0], axis=R[:, 1])
    ball = quirk.Spherical("ball", crank, rod, point=R @ pin)
    axis = {"axis": R[:, 1]} if rod_end is quirk.Revolute else {}
    guide = quirk.Prismatic("guide", GROUND, ram, point=R @ end, axis=R[:, 2])
    parts = [crank, rod, ram, hinge, ball, rod_end("end", rod, ram, point=R @ end, **axis), guide]
    motor = quirk.JointTorque("motor", hinge, Motion.polynomial([0, 20.0]))
    brake = quirk.JointFriction("brake", guide, coulomb=30.0, static=40.0, sticking=True)
    friction = quirk.Friction("friction", ball, 0.2, radius=0.015)
    others = [quirk.Friction("in hinge", hinge, 0.2, radius=0.02), quirk.Friction("in guide", guide, 0.16)]
    return quirk.System([*parts, motor, brake, friction, *(others if all_rub else [])], gravity=R @ [0, 0, -9.81])


@pytest.mark.parametrize("all_rub", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_loads_of_redundant_constraints_do_not_hold_a_brake(turned, all_rub):
    """A ball joint at the end of the rod leaves no redundant row. With a hinge the motion is the same."""
    expected = quirk.simulate(crank_with_pin(turned, quirk.Spherical, all_rub), 0.5, output=[0.5])
    assert expected["hinge"].angle[-1] > 1.0
    try:
        result = quirk.simulate(crank_with_pin(turned, quirk.Revolute, all_rub), 0.5, output=[0.5])
    except quirk.SimulationError as error:
        # Where no axis of the frames is that of the hinges, the run would take another load for that of the joint.
        assert turned
        assert 'Friction "friction": the normal load of Spherical "ball" is not unique' in str(error)
    else:
        np.testing.assert_allclose(result["hinge"].angle[-1], expected["hinge"].angle[-1], rtol=1e-7)
        np.testing.assert_allclose(result.events.time, expected.events.time, rtol=1e-7)
