"""Direction of friction at the instant at which slip ends: the limit of its direction before that instant."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import quirk
from quirk import GROUND, Body, Motion

# Error of a direction, as a component of a unit vector, at the tolerances of the runs.
TIGHT = 1e-6


def pushed_puck(rows: int = 1) -> quirk.System:
    """Return pucks that slide on a plane with friction, and turn towards a constant force across their velocity."""
    items: list = []
    for k in range(rows):
        puck = Body.sphere(f"puck {k}", 1.0, 0.1, position=[0, k, 0], velocity=[1.0 + 0.2 * k, 0.5, 0])
        plane = quirk.Planar(f"plane {k}", GROUND, puck, point=[0, k, 0], axis=[0, 0, 1])
        force = quirk.Force(f"force {k}", puck, [-1.0, -1.5, 0])
        items += [puck, plane, quirk.Friction(f"rub {k}", plane, 0.3), force]
    return quirk.System(items, gravity=[0, 0, -9.81])


def box(velocity: list[float], spin: float, force: list[float]) -> quirk.System:
    """Return a box that slides and turns on its four corners."""
    body = Body.box("box", 2.0, [2, 1, 0.2], position=[0, 0, 0.1], velocity=velocity, angular_velocity=[0, 0, spin])
    items = [body, quirk.Force("push", body, force)]
    for k, (x, y) in enumerate([(-1, -0.5), (-1, 0.5), (1, -0.5), (1, 0.5)]):
        point = quirk.surface.point([x, y, -0.1])
        corner = quirk.Contact(f"c{k}", GROUND, body, on_i=quirk.surface.plane(), on_j=point)
        items += [corner, quirk.Friction(f"f{k}", corner, 0.3)]
    return quirk.System(items, gravity=[0, 0, -9.81])


def against_friction(result: quirk.Result, name: str, t: float) -> np.ndarray:
    """Return the unit vector (3,) against the friction force just before time t, s."""
    force = result.at(t, side="before").force(name).force()[0]
    return -force / np.linalg.norm(force)


def test_limit_of_the_direction_is_that_of_the_force() -> None:
    # The velocity turns towards the force as it vanishes, because dtheta/dt = -F sin(theta) / (m v).
    system = pushed_puck()
    result = quirk.simulate(system, 0.5, output=0.1)
    end = float(result.events.time[0])
    forward = np.array([-1.0, -1.5, 0]) / np.hypot(1.0, 1.5)
    assert against_friction(result, "rub 0", end) == pytest.approx(forward, abs=TIGHT)
    # The acceleration is that of both forces along this direction.
    a = result.at(end, side="before").body("puck 0").acceleration[0]
    assert a == pytest.approx((np.hypot(1.0, 1.5) - 0.3 * 9.81) * forward, abs=1e-5)


def test_result_files_and_joined_runs_have_the_same_directions(tmp_path) -> None:
    system = pushed_puck(2)
    first = quirk.simulate(system, 0.2, output=0.1)
    second = quirk.simulate(system, 0.4, output=0.1, initial_state=first.state_at(), start=0.2)
    joined = quirk.join(first, second)
    joined.save(tmp_path / "run.nc")
    loaded = quirk.Result.load(tmp_path / "run.nc")
    for result in (joined, loaded):
        for k, t in enumerate(second.events.time):
            name = second.events.name[k]
            assert against_friction(result, name, t) == pytest.approx(against_friction(second, name, t), abs=1e-12)
            assert abs(against_friction(second, name, t)[1]) == pytest.approx(1.5 / np.hypot(1.0, 1.5), abs=TIGHT)


def test_slip_that_turns_with_the_body_below() -> None:
    # On a turntable with angular velocity w the slip satisfies x'' = w^2 x - 2 w z x x' - mu g x' / |x'|, in its axes.
    w, mu, x0, v0 = 2.0, 0.3, np.array([0.1, 0.2]), np.array([1.0, 0.5])

    def rates(t: float, y: np.ndarray) -> list[float]:
        x, speed, e = y[:2], y[2], np.array([np.cos(y[3]), np.sin(y[3])])
        across = np.array([-e[1], e[0]])
        a = w**2 * x - 2 * w * speed * across
        return [*(speed * e), a @ e - mu * 9.81, a @ across / speed]

    def slow(t: float, y: np.ndarray) -> float:
        return float(y[2] - 1e-8)

    slow.terminal = True  # type: ignore[attr-defined]
    v = v0 - w * np.array([-x0[1], x0[0]])
    start = [*x0, np.hypot(*v), np.arctan2(v[1], v[0])]
    reference = solve_ivp(rates, (0, 2), start, method="DOP853", rtol=1e-12, atol=1e-14, events=slow)
    heading = reference.y[3, -1] + w * reference.t[-1]
    expected = np.array([np.cos(heading), np.sin(heading)])

    table = Body.cylinder("table", 1.0, 1.0, 0.1, "z", angular_velocity=[0, 0, w])
    hinge = quirk.Revolute("hinge", GROUND, table, point=[0, 0, 0], axis=[0, 0, 1])
    drive = quirk.Drive("drive", hinge, Motion.constant_rate(w))
    puck = Body.sphere("puck", 1.0, 0.1, position=[*x0, 0], velocity=[*v0, 0])
    plane = quirk.Planar("plane", table, puck, point=[*x0, 0], axis=[0, 0, 1])
    rub = quirk.Friction("rub", plane, mu)
    system = quirk.System([table, hinge, drive, puck, plane, rub], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.0, output=0.1)
    end = float(result.events.time[0])
    assert end == pytest.approx(reference.t[-1], abs=1e-6)
    assert against_friction(result, "rub", end)[:2] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("tolerances", [{}, {"rtol": 1e-10, "atol": 1e-12}])
def test_corners_of_a_box_that_turns(tolerances: dict[str, float]) -> None:
    # Translation outlasts rotation: in the limit all corners slip along the force.
    system, force = box([1.5, 0.3, 0], 2.0, [-2.0, -3.0, 0]), np.array([-2.0, -3.0, 0]) / np.hypot(2.0, 3.0)
    result = quirk.simulate(system, 1.0, output=0.1, **tolerances)
    end = float(result.events.time[-1])
    for k in range(4):
        assert against_friction(result, f"f{k}", end) == pytest.approx(force, abs=1e-5)


def test_direction_without_a_limit_of_its_own_is_the_last_one() -> None:
    # Without a force along the plane the velocity does not turn any more: the limit is the velocity before.
    puck = Body.sphere("puck", 1.0, 0.1, velocity=[1.0, 0.5, 0])
    plane = quirk.Planar("plane", GROUND, puck, point=[0, 0, 0], axis=[0, 0, 1])
    kick = quirk.Force("kick", puck, lambda t, state: [0, 4.0 * np.exp(-((t / 0.05) ** 2)), 0])
    system = quirk.System([puck, plane, quirk.Friction("rub", plane, 0.3), kick], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.0, output=0.25, rtol=1e-10, atol=1e-12)
    end = float(result.events.time[0])
    near = quirk.simulate(system, 1.0, output=[end - 1e-4], rtol=1e-10, atol=1e-12).body("puck").velocity
    expected = near[0 if near[0, 0] < 0.01 else 1]
    expected = expected / np.linalg.norm(expected)
    assert expected[1] > 0.55  # the kick has turned the velocity
    assert against_friction(result, "rub", end) == pytest.approx(expected, abs=1e-5)


def thrown_hoop(seed: int) -> quirk.System:
    """Return a random hoop that begins to slide on its rim on a floor."""
    rng = np.random.default_rng(seed)
    radius, mass = rng.uniform(0.1, 0.5), rng.uniform(0.3, 4.0)
    about_axis = rng.uniform(0.45, 1.0) * mass * radius**2
    across = about_axis * rng.uniform(0.5, 0.65)
    tilt, turn = rng.uniform(-0.9, 0.9), rng.uniform(0, 2 * np.pi)
    axis = np.array([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)])
    up = np.array([0, 0, 1.0])
    side = np.cross(up, axis) / np.cos(tilt)
    axes = np.column_stack([side, np.cross(axis, side), axis])
    center = radius * (up - axis[2] * axis) / np.cos(tilt)
    omega = axis * rng.uniform(-20, 20) + up * rng.uniform(-5, 5) + side * rng.uniform(-1.5, 1.5)
    hoop = Body(
        "hoop",
        mass,
        [across, across, about_axis],
        position=center,
        orientation=quirk.rotation.from_matrix(axes),
        velocity=np.cross(omega, center) + np.append(rng.uniform(-2, 2, 2), 0),
        angular_velocity=axes.T @ omega,
    )
    rim = quirk.surface.rim(radius, [0, 0, 0], [0, 0, 1])
    contact = quirk.Contact("contact", GROUND, hoop, on_i=quirk.surface.plane(), on_j=rim)
    friction = quirk.Friction("friction", contact, rng.uniform(0.1, 1.0))
    return quirk.System([hoop, contact, friction], gravity=[0, 0, -9.81])


# The last step before slip ends has the direction of what round-off leaves of the slip.
@pytest.mark.parametrize("seed", [292, 2374, 3053])
def test_slip_that_ends_is_not_listed_as_reversed(seed: int) -> None:
    result = quirk.simulate(thrown_hoop(seed), 0.3)
    assert next(event.direction for event in result.events if event.name == "friction") == -1
