"""Derivatives of the times at which contacts open, and of changes that follow from other events."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Contact, Event, Force, Friction, Motion, Prismatic, surface

G, RATE = 9.81, 4.0


def lifted(kind, mass=1.3):
    """A body that a force of 4 t lifts off what carries it; and the name of that."""
    low = {"floor": 0.1, "rope": -1.0}.get(kind, 0.0)
    body = Body("body", mass, [0.1, 0.1, 0.1], position=[0, 0, low])
    rail = Prismatic("rail", GROUND, body, point=body.position, axis="z")
    support = {
        "floor": lambda: [Contact("held", GROUND, body, on_i=surface.plane(), on_j=surface.sphere(0.1))],
        "rough floor": lambda: [
            held := Contact("held", GROUND, body, on_i=surface.plane([0, 0, -0.1]), on_j=surface.sphere(0.1)),
            Friction("rough", held, 0.3),
        ],
        "stop": lambda: [rail, quirk.Stop("held", rail, lower=0.0)],
        "rope": lambda: [quirk.Rope("held", GROUND, body, length=1.0)],
        "function": lambda: [rail, quirk.OneSided("held", body, lambda t, a: a.position[2])],
    }[kind]()
    return quirk.System([body, *support, Force("lift", body, [0, 0, Motion.polynomial([0, RATE])])], gravity=[0, 0, -G])


@pytest.mark.parametrize("method", ["auto", "RadauIIA9"])
@pytest.mark.parametrize("kind", ["floor", "rough floor", "stop", "rope", "function"])
def test_a_body_leaves_later_the_heavier_it_is(kind, method):
    """It leaves at t = m g / 4."""
    system = lifted(kind)
    keys = [("body", "mass"), "gravity"]
    result = quirk.simulate(system, 4.0, output=1.0, sensitivities=keys, method=method)
    assert list(result.events.name) == ["held"]
    np.testing.assert_allclose(result.events.time, [1.3 * G / RATE])
    np.testing.assert_allclose(result.sensitivity["body", "mass"].event_times, [G / RATE], rtol=1e-9)
    np.testing.assert_allclose(result.sensitivity["gravity"].event_times, [[0, 0, -1.3 / RATE]], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rough", [False, True])
def test_pushed_block_leaves_the_other_one_as_differences_of_runs_say(rough):
    def run(mass, **arguments):
        one, two = Body.box("one", 1.0, [0.2] * 3), Body.box("two", mass, [0.2] * 3, position=[0.2, 0, 0])
        rails = [Prismatic(f"rail {b.name}", GROUND, b, point=b.position, axis="x") for b in (one, two)]
        on = {"on_i": surface.plane([0.1, 0, 0], [1, 0, 0]), "on_j": surface.point([-0.1, 0, 0])}
        items = [one, two, *rails, Contact("between", one, two, **on)]
        items.append(quirk.JointForce("push", rails[0], Motion.polynomial([6.0, -8.0])))
        items.append(quirk.Spring("spring", two, GROUND, [0, 0, 0], [2, 0, 0], stiffness=20.0, rest_length=1.8))
        items += [Friction("friction", rails[1], 0.1)] if rough else []
        system = quirk.System(items, gravity=[0, 0, -G])
        return quirk.simulate(system, 1.5, output=0.5, rtol=1e-11, atol=1e-13, **arguments)

    h = 1e-4
    result = run(0.7, sensitivities=[("two", "mass")])
    assert "between" in result.events.name
    expected = (run(0.7 + h).events.time - run(0.7 - h).events.time) / (2 * h)
    np.testing.assert_allclose(result.sensitivity["two", "mass"].event_times, expected, rtol=1e-5)


def test_a_bead_leaves_a_sphere_sooner_the_faster_it_is():
    def run(speed, **arguments):
        bead = Body.sphere("bead", 1.0, 0.1, position=[0, 0, 1.1], velocity=[speed, 0, 0])
        dome = Contact("dome", GROUND, bead, on_i=surface.sphere(1.0), on_j=surface.sphere(0.1))
        system = quirk.System([bead, dome], gravity=[0, 0, -G])
        return quirk.simulate(system, 1.2, output=0.4, rtol=1e-12, atol=1e-14, **arguments)

    h = 1e-4
    found = run(0.5, sensitivities=[("bead", "velocity")]).sensitivity["bead", "velocity"].event_times
    expected = (run(0.5 + h).events.time - run(0.5 - h).events.time) / (2 * h)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["contact", "friction"])
def test_what_follows_from_an_event_has_its_derivative(kind, tmp_path):
    """A force is enabled where a falling weight passes a height; it lifts a body, or makes it slide, at once."""
    weight = Body("weight", 1.0, [0.1] * 3, position=[5, 0, 1])
    body = Body("body", 1.0, [0.1] * 3, position=[0, 0, 0.1])
    force = Force("force", body, [0, 0, 15.0] if kind == "contact" else [5.0, 0, 0])
    if kind == "contact":
        held = [Contact("changes", GROUND, body, on_i=surface.plane(), on_j=surface.sphere(0.1))]
    else:
        rail = Prismatic("rail", GROUND, body, point=[0, 0, 0.1], axis="x")
        held = [rail, quirk.JointFriction("changes", rail, coulomb=2.0, sticking=True)]
    passes = Event("passes", "weight.position.z", direction=-1, action=quirk.enable("force"))
    system = quirk.System([weight, body, force, *held, passes], gravity=[0, 0, -G])
    system.disable("force")
    result = quirk.simulate(system, 1.0, output=0.1, sensitivities=["gravity", ("weight", "position")])
    assert list(result.events.name) == ["passes", "changes"]
    # The weight passes at (2 h / g)^(1/2).
    time = np.sqrt(2 / G)
    np.testing.assert_allclose(result.sensitivity["gravity"].event_times[:, 2], 2 * [0.5 * time / G], rtol=1e-9)
    np.testing.assert_allclose(result.sensitivity["weight", "position"].event_times[:, 2], 2 * [0.5 * time], rtol=1e-9)
    result.save(tmp_path / "run.nc")
    again = quirk.Result.load(tmp_path / "run.nc", system)
    np.testing.assert_array_equal(again.sensitivity["gravity"].event_times, result.sensitivity["gravity"].event_times)


@pytest.mark.parametrize("limits", [(0.0, 0.005), (-1e-6, 2e-3), (0.0, 1e-5)])
def test_limits_of_narrow_stops_can_be_varied(limits):
    """The limit is varied by less than the range of the stop; a slider falls on it with the acceleration 1 m/s^2."""
    lower, upper = limits
    box = quirk.Body.box("box", 1.0, [0.1, 0.1, 0.1], velocity=[-1e-4, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, box, axis="x")
    stop = quirk.Stop("stop", rail, lower=lower, upper=upper)
    start = 0.5 * (lower + upper)
    state = quirk.System([box, rail, stop]).initial_state()
    state.position[0, 0] = start
    system = quirk.System([box, rail, stop], gravity=[-1.0, 0, 0])
    result = quirk.simulate(system, 0.2, output=0.1, initial_state=state, sensitivities=[("stop", "lower")])
    speed = np.sqrt(1e-8 + 2.0 * (start - lower))
    assert result.events[0].time == pytest.approx(speed - 1e-4, rel=1e-9)
    assert result.sensitivity["stop", "lower"].event_times[0] == pytest.approx(-1.0 / speed, rel=1e-7)
