"""Quantities of a run, read often; real time, and the picture in a browser."""

import time

import numpy as np
import pytest
from mechanisms import random_system
from test_run import pendulum, stop_and_spring

import quirk


def test_values_are_those_of_the_views():
    system = pendulum(*stop_and_spring(0.5))
    names = ["time", "hinge.angle", "hinge.angle_rate", "rod.position.x", "rod.velocity.z", "rod.angular_velocity.y",
             "rod.speed", "hinge.rotation.z", "hinge.distance"]  # fmt: skip
    run = quirk.Run(system, rtol=1e-8)
    observe = run.observe(names)
    assert observe.names == tuple(names)
    for _ in range(40):
        run.advance(0.05)
        rod, hinge = run["rod"], run["hinge"]
        want = [run.time, hinge.angle, hinge.angle_rate, rod.position[0], rod.velocity[2], rod.angular_velocity[1],
                rod.speed, hinge.rotation[2], np.linalg.norm(hinge.displacement)]  # fmt: skip
        np.testing.assert_allclose(observe(), want, atol=1e-12)


def test_loads_and_energies_are_those_of_the_views():
    system = pendulum(*stop_and_spring(0.5))
    run = quirk.Run(system, inputs=["motor"], rtol=1e-8)
    observe = run.observe(
        ["hinge.force.x", "hinge.angle", "hinge.torque", "energy.kinetic", "coil.torque", "coil.energy"]
    )
    for k in range(40):
        run.inputs["motor"] = 0.1 * k
        run.advance(0.05)
        run.inputs["motor"] = -0.1 * k
        hinge, state = run["hinge"], run.state
        found = observe()
        np.testing.assert_allclose(found[0], hinge.force()[0], atol=1e-9)
        np.testing.assert_allclose(found[1], hinge.angle, atol=1e-12)
        np.testing.assert_allclose(found[2], np.linalg.norm(hinge.torque()), atol=1e-9)
        kinetic = 0.5 * state.velocity[0] @ state.velocity[0] + 0.5 * state.angular_velocity[0] @ (
            system["rod"].inertia @ state.angular_velocity[0]
        )
        np.testing.assert_allclose(found[3], kinetic, rtol=1e-12)
        np.testing.assert_allclose(found[5], run["coil"].energy, rtol=1e-9)


def test_turns_are_counted_however_seldom_one_looks():
    for motor in (0.0, 3.0):
        system = pendulum(lambda rod, hinge: quirk.Actuator("drive", hinge, 0.0), rate=40.0)
        run = quirk.Run(system, inputs=["drive"], rtol=1e-6)
        observe = run.observe(["hinge.angle"])
        for _ in range(6):
            run.inputs["drive"] = motor
            run.advance(0.71)
            assert observe()[0] == pytest.approx(run["hinge"].angle, abs=1e-12)
        assert abs(observe()[0]) > 100


def test_angles_of_a_cross():
    a = quirk.Body.box("a", 1.0, [0.3, 0.2, 0.1], angular_velocity=[0, 0, 0])
    cross = quirk.Universal("cross", quirk.GROUND, a, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0])
    run = quirk.Run(quirk.System([a, cross, quirk.Torque("spin", a, [3.0, 2.0, 0])]), rtol=1e-6)
    observe = run.observe(["cross.rotation.x", "cross.rotation.y"])
    run.advance(0.2)
    np.testing.assert_allclose(observe(), run["cross"].rotation[:2], atol=1e-12)


def test_it_follows_changes_of_active_parts():
    base = pendulum()
    rail = quirk.Event("let go", "time", level=0.3, action=quirk.disable("hinge"))
    system = quirk.System([*base, rail], gravity=base.gravity)
    run = quirk.Run(system)
    observe, loads = run.observe(["rod.position.z"]), run.observe(["hinge.force.z"])
    run.advance(0.2)
    loads()
    assert run.advance(0.4) == "event"
    run.advance(0.3)
    assert observe()[0] == run["rod"].position[2]
    assert loads()[0] == 0.0


def test_random_mechanisms():
    rng = np.random.default_rng(9)
    for _ in range(3):
        system = random_system(rng, bodies=4, loops=1)
        body = system.bodies[2].name
        run = quirk.Run(system, rtol=1e-8)
        names = [f"{body}.{what}.{axis}" for what in ("position", "velocity", "angular_velocity") for axis in "xyz"]
        observe = run.observe(names)
        for _ in range(10):
            run.advance(0.03)
            view = run[body]
            want = np.concatenate([view.position, view.velocity, view.angular_velocity])
            np.testing.assert_allclose(observe(), want, atol=1e-12)


def test_unknown_quantities_are_named():
    run = quirk.Run(pendulum())
    with pytest.raises(quirk.InputError, match=r'no quantity is called "hinge\.angel".*hinge\.angle'):
        run.observe(["hinge.angel"])
    with pytest.raises(quirk.InputError, match="names must be a list"):
        run.observe([])
    with pytest.raises(quirk.InputError, match="names must be a list"):
        run.observe(3)


def test_real_time():
    run = quirk.Run(pendulum(), rtol=1e-6)
    run.advance(0.01)
    run.pace(2.0)
    began = time.perf_counter()
    for _ in range(20):
        run.advance(0.02)
    assert 0.19 < time.perf_counter() - began < 1.5
    run.pace(None)
    with pytest.raises(quirk.InputError, match="speed must be positive"):
        run.pace(0.0)


def test_the_picture_has_a_slider_for_each_input():
    pytest.importorskip("viser")
    base = pendulum()
    system = quirk.System([*base, quirk.Force("push", base["rod"], [0, 0, 0]),
                           quirk.Actuator("drive", base["hinge"], 1.0, limits=[-3, 4])], gravity=base.gravity)  # fmt: skip
    run = quirk.Run(system, inputs=["motor", "push", "drive"])
    with run.view(ranges={"motor": (-2, 2)}) as live:
        sliders = live._sliders
        assert set(sliders) == {("motor", None), ("drive", None), *(("push", k) for k in range(3))}
        assert (sliders["drive", None].min, sliders["drive", None].max) == (-3, 4)
        assert (sliders["motor", None].min, sliders["motor", None].max) == (-2, 2)
        live._moved["motor", None] = 1.5  # as where a person moves it
        live._moved["push", 2] = -1.0
        live._due = 0.0
        run.advance(0.01)
        assert run.inputs["motor"] == 1.5 and run.inputs["push"].tolist() == [0, 0, -1.0]
        assert "0.010" in live._clock.content and sliders["motor", None].value == 1.5
    assert live.closed
    run.advance(0.01)
    with pytest.raises(quirk.InputError, match="ranges names 'engine'"):
        run.view(ranges={"engine": (0, 1)})


def test_the_load_of_a_contact_that_opens_and_closes():
    """A ball falls on a floor, is lifted off by a force, and falls again."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.2])
    ground = quirk.surface.plane(), quirk.surface.sphere(0.1)
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=ground[0], on_j=ground[1])
    lift = quirk.Force("lift", ball, [0, 0, quirk.Motion.steps([0.0, 0.5, 0.6], [0.0, 15.0, 0.0])])
    run = quirk.Run(quirk.System([ball, floor, lift], gravity=[0, 0, -9.81]))
    observe, seen = run.observe(["floor.force", "floor.gap"]), []
    for t in (0.1, 0.4, 0.55, 1.2):
        run.advance_to(t)
        seen.append(observe())
    np.testing.assert_allclose(np.array(seen)[:, 0], [0.0, 9.81, 0.0, 9.81], atol=1e-9)
    assert (np.array(seen)[:, 1] > 1e-3).tolist() == [True, False, True, False]
