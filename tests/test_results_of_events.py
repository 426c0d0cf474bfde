"""Results of runs with events: pictures, loads, work and energies across what happens."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest

import quirk
from quirk.graphics.scene.scene import Scene


def pendulum_that_is_cut(*more):
    """A rod on two fixed joints in a row, of which the second opens at 0.3 s."""
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    tip = quirk.Body.box("tip", 0.2, [0.2, 0.05, 0.05], position=[1.1, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    hold = quirk.Fixed("hold", rod, tip, point=[1, 0, 0])
    cut = quirk.Event("cut", "time", level=0.3, action=quirk.release("hold"))
    return quirk.System([rod, tip, hinge, hold, cut, *more], gravity=[0, 0, -9.81])


def sliding(*more):
    """A body on a rail and a spring."""
    slider = quirk.Body.sphere("slider", 1.0, 0.1, position=[1, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, slider, point=[0, 0, 0], axis=[1, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, slider, stiffness=10.0, rest_length=0.5)
    return quirk.System([slider, rail, spring, *more])


@pytest.fixture(scope="module")
def cut():
    return quirk.simulate(pendulum_that_is_cut(), 0.5, output=0.05)


def test_pictures_across_an_event(cut, tmp_path):
    cut.animate(tmp_path / "cut.gif", fps=10)
    cut.plot.ghosts([0.1, 0.3, 0.5], path=tmp_path / "ghosts.png")
    cut.plot.paths(at=0.3, path=tmp_path / "paths.png")
    assert len(list(tmp_path.iterdir())) == 3


def test_poses_between_outputs_follow_both_sides_of_a_jump():
    kick = quirk.Event("kick", "time", level=0.5, action=quirk.set_velocity("ball", [0, 3.0, 0]))
    ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])
    result = quirk.simulate(quirk.System([ball, kick]), 1.0, output=[0.0, 1.0])
    assert result.time.tolist() == [0.0, 0.5, 0.5, 1.0]
    times = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    position, _ = Scene(result, times, []).poses["ball"]
    np.testing.assert_allclose(position[:, 0], np.minimum(times, 0.5), atol=1e-14)
    np.testing.assert_allclose(position[:, 1], 3 * np.maximum(times - 0.5, 0.0), atol=1e-14)


def test_joints_are_drawn_while_they_are_switched_on(cut):
    scene = Scene(cut, np.array([0.0, 0.2, 0.4]), [])
    assert [len(scene.joint_points(frame)) for frame in range(3)] == [2, 2, 1]


def test_loads_of_what_was_released_are_told(cut):
    assert [constraint.name for constraint in cut._loaded] == ["hinge", "hold"]
    assert "hold " in cut.summary()
    assert cut["hold"].unique.force == "unique"


def test_loads_of_contacts_are_told():
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    result = quirk.simulate(quirk.System([ball, floor], gravity=[0, 0, -9.81]), 0.1)
    assert "floor " in result.summary()


def test_work_balances_where_a_spring_is_switched_off():
    off = quirk.Event("off", "time", level=0.7, action=quirk.switch_off("spring"))
    result = quirk.simulate(sliding(off), 2.0, output=0.05)
    lost = result.events[0].energy_loss
    assert lost > 0.1
    assert not result.conservative
    assert np.abs(result.power.balance).max() < 1e-9
    assert result.power.dissipated[-1] == pytest.approx(lost, rel=1e-9)
    assert "impacts" not in result.power.work


def test_work_balances_where_a_spring_is_replaced():
    system = sliding()
    stiffer = quirk.Spring("spring", quirk.GROUND, system["slider"], stiffness=30.0, rest_length=0.2)
    change = quirk.Event("change", "time", level=0.7, action=quirk.replace("spring", stiffer))
    result = quirk.simulate(system.with_parts(change), 2.0, output=0.05)
    assert not result.conservative
    assert np.abs(result.power.balance).max() < 1e-8


ENDS = {"points": [[0, 0, 0], [2, 0, 0]]}
ELEMENTS = {
    "spring": lambda mass: quirk.Spring("link", quirk.GROUND, mass, stiffness=5.0, rest_length=1.5, **ENDS),
    "damper": lambda mass: quirk.Damper("link", quirk.GROUND, mass, damping=0.8, **ENDS),
    "law": lambda mass: quirk.Spring(
        "link", quirk.GROUND, mass, law=lambda length, rate: 2 * length + 0.3 * rate, **ENDS
    ),
}


@pytest.mark.parametrize("one", ELEMENTS)
@pytest.mark.parametrize("other", ELEMENTS)
def test_work_balances_where_an_element_is_replaced_and_put_back(one, other):
    """All work of the elements is the change of the kinetic energy, at the outputs and between them."""
    mass = quirk.Body.sphere("mass", 1.0, 0.1, position=[2, 0, 0], velocity=[-1, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, mass, axis="x")
    first, second = ELEMENTS[one](mass), ELEMENTS[other](mass)
    events = [
        quirk.Event(f"event {t}", "time", level=t, action=quirk.replace("link", element))
        for t, element in ((0.5, second), (0.8, first))
    ]
    result = quirk.simulate(quirk.System([mass, rail, first, *events]), 1.0, output=0.05, rtol=1e-10)
    for seen in (result, result.at(np.linspace(0.02, 0.98, 23))):
        gained = 0.5 * (seen["mass"].velocity[:, 0] ** 2 - 1.0)
        np.testing.assert_allclose(seen.power.work["link"], gained, atol=1e-9)
        assert np.abs(seen.power.balance).max() < 1e-9


def test_work_balances_from_an_impact_at_the_start():
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1], velocity=[0, 0, -2])
    floor = quirk.Contact(
        "floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1), restitution=0.5
    )
    result = quirk.simulate(quirk.System([ball, floor], gravity=[0, 0, -9.81]), 0.15, output=0.05)
    assert result.events[0].energy_loss == pytest.approx(1.5)
    assert np.abs(result.power.balance).max() < 1e-12


def test_the_balance_counts_drivers_that_were_released(tmp_path):
    system = sliding()
    drive = quirk.Drive("drive", system["rail"], quirk.Motion.constant_rate(1.0))
    driven = system.without("spring").with_parts(
        drive, quirk.Event("free", "time", level=0.5, action=quirk.release("drive"))
    )
    driven.assemble()
    result = quirk.simulate(driven, 1.0, output=0.1)
    assert np.abs(result.power.balance).max() < 1e-12
    result.plot.balance(path=tmp_path / "balance.png")


def test_loads_of_forces_that_are_switched_off_or_replaced():
    system = sliding()
    slider = system["slider"]
    turned = quirk.Torque("turned", slider, [0.0, 0.0, 1.0])
    pushed = quirk.Force("pushed", slider, [1.0, 0, 0], point=[0, 0.1, 0], frame="body")
    other = quirk.Force("pushed", slider, [1.0, 0, 0], point=[0, 0.2, 0], frame="body")
    change = quirk.Event(
        "change", "time", level=0.5, action=[quirk.switch_off("turned"), quirk.replace("pushed", other)]
    )
    result = quirk.simulate(quirk.System([slider, turned, pushed, change]), 1.0, output=[0.0, 1.0])
    np.testing.assert_allclose(result["turned"].torque("i")[:, 2], [1, 1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(result["pushed"].torque(), np.zeros((4, 3)), atol=1e-12)
    np.testing.assert_allclose(result["pushed"].force("i"), np.tile([1.0, 0, 0], (4, 1)), atol=1e-12)


def test_events_of_a_run_are_found_by_name():
    passes = quirk.Event("passes", "slider.position.x", level=0.8)
    result = quirk.simulate(sliding(), 1.0, events=[passes])
    assert result["passes"].time.tolist() == result.events.of("passes").time.tolist() == result.events.time.tolist()
    assert len(result["passes"]) == 1 and result[passes].time.tolist() == result["passes"].time.tolist()
    run = quirk.Run(sliding(), events=[passes])
    assert len(run["passes"]) == 0
    assert run.advance(1.0) == "event" and run["passes"].time.tolist() == [run.time]
    with pytest.raises(quirk.UnknownNameError, match='no object is named "pases"'):
        result["pases"]


def loaded_cart(load, *more, speed=0.0):
    """A cart of 1 kg on a rail with a load along it, and further parts made by functions of the rail."""
    cart = quirk.Body.box("cart", 1.0, [0.1, 0.1, 0.1], velocity=[speed, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, cart, axis="x")
    return quirk.System([cart, rail, quirk.JointForce("motor", rail, load), *(make(rail) for make in more)])


def dry(rail):
    return quirk.JointFriction("dry", rail, coulomb=2.0, static=3.0, sticking=True)


def stop(rail):
    return quirk.Stop("stop", rail, lower=0.0)


def jumps(first, second, kind):
    """A load that jumps from `first` to `second` at 1 s, and a sampled function that sets it, or None."""
    if kind == "steps":
        return quirk.Motion.steps([0.0, 1.0], [first, second]), []
    if kind == "function":
        return (lambda t, x, v: np.where(t < 1.0, first, second)), []
    return 0.0, [lambda rail: quirk.Sampled("hand", 1.0, lambda t, state: second if t > 0.5 else first, ["motor"])]


@pytest.mark.parametrize("kind", ["steps", "function", "sampled"])
@pytest.mark.parametrize("output", [0.25, 0.3])
def test_loads_before_an_event_are_those_before_a_jump(kind, output):
    load, more = jumps(1.0, 5.0, kind)
    result = quirk.simulate(loaded_cart(load, dry, *more), 2.0, output=output)
    (before, after) = np.flatnonzero(result.time == 1.0)[-2:]
    friction, motor = result["dry"].along(), result["motor"].along()
    assert friction[[before, after]].tolist() == pytest.approx([-1.0, -2.0], abs=1e-12)
    assert motor[[before, after]].tolist() == [1.0, 5.0]
    assert np.abs(friction).max() < 2.0 + 1e-12
    acceleration = result["cart"].acceleration[:, 0]
    assert acceleration[[before, after]].tolist() == pytest.approx([0.0, 3.0], abs=1e-12)
    for side, exact in (("before", -1.0), ("after", -2.0)):
        assert result.at(1.0, side=side)["dry"].along()[0] == pytest.approx(exact, abs=1e-12)
    load, more = jumps(-1.0, 5.0, kind)
    result = quirk.simulate(loaded_cart(load, stop, *more), 2.0, output=output)
    (before, after) = np.flatnonzero(result.time == 1.0)[-2:]
    assert result["stop"].force()[[before, after], 0].tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
    assert result["stop"].force()[:, 0].min() >= 0.0


def test_where_nothing_switches_the_new_value_of_a_jump_holds():
    load, more = jumps(3.0, 5.0, "sampled")
    result = quirk.simulate(loaded_cart(load, *more), 2.0, output=0.5)
    assert result["motor"].along().tolist() == [3.0, 3.0, 5.0, 5.0, 5.0]
    # A jump in a run whose first state is already followed by an event keeps its value at the start.
    at_once = quirk.simulate(loaded_cart(quirk.Motion.steps([0.0, 1.0], [5.0, 1.0]), dry), 0.5, output=0.5)
    assert at_once["motor"].along().tolist() == [5.0] * len(at_once.time)


def test_events_have_the_energies_of_all_rows():
    result = quirk.simulate(pendulum_that_is_cut(), 0.5, output=0.1)
    events = result.events
    for name in ("time", "direction", "energy_before", "energy_after", "energy_loss"):
        np.testing.assert_array_equal(getattr(events, name), [getattr(row, name) for row in events])
        assert getattr(events.of("no such event"), name).shape == (0,)
