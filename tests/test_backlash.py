"""Gears and couplings with backlash, rigid or elastic, against closed forms."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion

FINE = {"rtol": 1e-11, "atol": 1e-13}


def wheels(inertias, speeds, positions=(0.0, 0.5)):
    """Wheels on axles along z, with given angular velocities."""
    bodies = [
        Body(f"w{k}", 1.0, [J, J, J], position=[x, 0, 0], angular_velocity=[0, 0, w])
        for k, (J, w, x) in enumerate(zip(inertias, speeds, positions, strict=True))
    ]
    axles = [quirk.Revolute(f"a{k}", GROUND, b, point=b.position, axis="z") for k, b in enumerate(bodies)]
    return bodies, axles


@pytest.mark.parametrize("ratio", [1.0, -0.5, 2.0])
@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("u", [1e-6, 1.0, 1e6])
def test_impacts_across_free_play(ratio, e, u):
    """Wheel j is at rest until the play is used up; then the relative rate is reversed by e at constant momentum."""
    J, b = np.array([2.0, 3.0]) * u, 0.1
    bodies, axles = wheels(J, [1.0, 0.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=ratio, axis="z", backlash=b, restitution=e)
    system = quirk.System([*bodies, *axles, mesh])
    assert system.mobility().degrees_of_freedom == 2
    result = quirk.simulate(system, 0.3 + b / abs(ratio), output=0.05, **FINE)
    t1 = 0.5 * b / abs(ratio)
    assert result.events[0].time == pytest.approx(t1, rel=1e-9) and result.events[0].name == "mesh"
    # Impulse x on wheel j and -ratio x on wheel i.
    x = (1 + e) * ratio / (1 / J[1] + ratio**2 / J[0])
    w_i, w_j = 1.0 - ratio * x / J[0], x / J[1]
    rows = (result.time > t1 + 1e-6) & (result.time < t1 + b / max(abs(ratio * w_i - w_j), 1e-9) - 1e-6)
    np.testing.assert_allclose(result["a0"].angle_rate[rows], w_i, atol=1e-9)
    np.testing.assert_allclose(result["a1"].angle_rate[rows], w_j, atol=1e-9)
    deviation = result["a1"].angle - ratio * result["a0"].angle
    assert np.abs(deviation).max() <= 0.5 * b * (1 + 1e-9)
    if e == 1.0:
        np.testing.assert_allclose(np.ptp(result.energy.kinetic), 0, atol=1e-10 * u)


def test_a_driven_gear_rests_on_a_flank_and_changes_it_where_the_load_reverses():
    """Wheel i oscillates; wheel j, braked, lags by the play, and stays where it is while the play is crossed."""
    bodies, axles = wheels([1.0, 0.01], [0.0, 0.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=1, axis="z", backlash=0.2)
    drive = quirk.Drive(
        "drive", axles[0], Motion.function(lambda t: 1.0 - np.cos(t), lambda t: np.sin(t), lambda t: np.cos(t))
    )
    brake = quirk.JointFriction("brake", axles[1], coulomb=5.0, sticking=True)
    result = quirk.simulate(quirk.System([*bodies, *axles, mesh, drive, brake]), 2 * np.pi, output=0.1, **FINE)
    at = result.at(np.array([np.arccos(0.9), np.pi, 2 * np.pi]))["a1"].angle
    np.testing.assert_allclose(at, [0.0, 1.9, 0.1], atol=1e-8)
    moving = result["mesh"].torque()[:, 2]
    assert moving.min() == pytest.approx(-5.0, abs=0.02) or moving.max() == pytest.approx(5.0, abs=0.02)


@pytest.mark.parametrize("ratio", [1.0, -3.0])
def test_two_masses_on_elastic_teeth(ratio):
    """Without play: relative motion with w^2 = k (1 / J_j + ratio^2 / J_i), damped by c."""
    J, k, c = [2.0, 0.5], 80.0, 0.3
    bodies, axles = wheels(J, [1.0, 0.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=ratio, axis="z", stiffness=k, damping=c)
    system = quirk.System([*bodies, *axles, mesh])
    result = quirk.simulate(system, 2.0, output=0.05, **FINE)
    assert not result.statistics.in_python
    m = 1 / (1 / J[1] + ratio**2 / J[0])
    d = c / (2 * m)
    w = np.sqrt(k / m - d * d)
    x = result["a1"].angle - ratio * result["a0"].angle
    np.testing.assert_allclose(x, -ratio / w * np.exp(-d * result.time) * np.sin(w * result.time), atol=1e-9)
    np.testing.assert_allclose(result["mesh flanks"].coordinate(), x, atol=1e-12)
    # Angular momentum weighted by the ratio is kept.
    np.testing.assert_allclose(
        J[0] * result["a0"].angle_rate + ratio * J[1] * result["a1"].angle_rate, J[0], atol=1e-10
    )


@pytest.mark.parametrize("u", [1e-6, 1.0, 1e6])
def test_free_flight_and_elastic_contact_alternate(u):
    """Two equal wheels exchange their speeds in each contact, which lasts pi / w; flights last play / speed."""
    J, k, b = 2.0 * u, 5e4 * u, 0.1
    bodies, axles = wheels([J, J], [1.0, -1.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=1, axis="z", backlash=b, stiffness=k)
    result = quirk.simulate(quirk.System([*bodies, *axles, mesh]), 0.4, output=0.01, **FINE)
    w = np.sqrt(k * 2 / J)
    events = result.events.of("mesh flanks")
    meets, parts = events.time[0::2], events.time[1::2]
    np.testing.assert_allclose(meets[0], 0.25 * b, rtol=1e-9)
    np.testing.assert_allclose(parts - meets[: len(parts)], np.pi / w, rtol=1e-7)
    np.testing.assert_allclose(meets[1:] - parts[: len(meets) - 1], 0.5 * b, rtol=1e-7)
    assert len(meets) > 3
    np.testing.assert_allclose(np.ptp(result.energy.total), 0, atol=1e-9 * u)
    force = result["mesh flanks"].load()
    np.testing.assert_allclose(result["mesh flanks"].torque(end=1)[:, 2], force, atol=1e-12 * k)
    assert not result.statistics.in_python  # flanks are compiled
    x = result["mesh flanks"].coordinate()
    np.testing.assert_allclose(force, -k * np.sign(x) * np.maximum(np.abs(x) - 0.5 * b, 0), atol=1e-7 * k)


def test_a_damped_flank_does_not_pull():
    """It parts where the spring and the damper together exert nothing, before the deviation has gone back."""
    J, k, c, b = 1.0, 4e3, 30.0, 0.1
    bodies, axles = wheels([J, J], [1.0, 0.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=1, axis="z", backlash=b, stiffness=k, damping=c)
    result = quirk.simulate(quirk.System([*bodies, *axles, mesh]), 0.2, output=0.001, **FINE)
    m = J / 2
    d = c / (2 * m)
    w = np.sqrt(k / m - d * d)
    events = result.events.of("mesh flanks").time
    assert events[0] == pytest.approx(0.5 * b, rel=1e-9)
    # x = exp(-d t) sin(w t) / w, until k x + c x' = 0.
    length = (np.pi - np.arctan2(c * w, k - c * d)) / w
    assert events[1] - events[0] == pytest.approx(length, rel=1e-8)
    s = events[1] - events[0]
    rate = np.exp(-d * s) * (np.cos(w * s) - d / w * np.sin(w * s))
    after = result.time > events[1] + 1e-6
    relative = result["a0"].angle_rate - result["a1"].angle_rate
    np.testing.assert_allclose(relative[after], rate, atol=1e-9)
    pull = result["mesh flanks"].load() * np.sign(result["mesh flanks"].coordinate())
    assert pull.max() <= 1e-9 * k


def test_couplings_of_slides():
    """A finger follows a slide with free play of 2 mm, rigid and elastic."""
    masses = [Body.box(f"m{k}", 1.0, [0.01] * 3, velocity=[0.1 * (k == 0), 0, 0]) for k in range(2)]
    rails = [quirk.Prismatic(f"r{k}", GROUND, m, axis="x") for k, m in enumerate(masses)]
    rigid = quirk.Coupling("rigid", *rails, backlash=0.002, restitution=1.0)
    result = quirk.simulate(quirk.System([*masses, *rails, rigid]), 0.015, output=0.001, **FINE)
    assert result.events[0].time == pytest.approx(0.01, rel=1e-9)
    np.testing.assert_allclose(result.state.velocity[-1, :, 0], [0, 0.1], atol=1e-12)
    soft = quirk.Coupling("soft", *rails, backlash=0.002, stiffness=2e6)
    result = quirk.simulate(quirk.System([*masses, *rails, soft]), 0.015, output=0.001, **FINE)
    np.testing.assert_allclose(result.events.time, [0.01, 0.01 + np.pi / 2000.0], rtol=1e-8)
    np.testing.assert_allclose(result.state.velocity[-1, :, 0], [0, 0.1], atol=1e-9)


def test_files_and_saved_results(tmp_path):
    bodies, axles = wheels([2.0, 2.0], [1.0, -1.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=1, axis="z", backlash=0.1, stiffness=5e4, damping=1.0)
    rattle = quirk.Coupling("rattle", *axles, backlash=0.3, restitution=0.5)
    system = quirk.System([*bodies, *axles, mesh, rattle])
    system.save(tmp_path / "gears.toml")
    again = quirk.load(tmp_path / "gears.toml")
    assert [f"{part}" for part in again] == [f"{part}" for part in system]
    result = quirk.simulate(system, 0.4, output=0.01)
    other = quirk.simulate(again, 0.4, output=0.01)
    np.testing.assert_array_equal(result.state.orientation, other.state.orientation)
    result.save(tmp_path / "run.nc")
    loaded = quirk.Result.load(tmp_path / "run.nc", system)
    np.testing.assert_allclose(loaded["mesh flanks"].load(), result["mesh flanks"].load(), atol=1e-12)
    run = quirk.Run(system)
    run.advance_to(0.03)
    saved = run.save()
    run.advance_to(0.4)
    end = run.state.orientation
    run.restore(saved)
    run.advance_to(0.4)
    np.testing.assert_array_equal(run.state.orientation, end)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backlash": -0.1}, "backlash"),
        ({"backlash": 0.1, "damping": 2.0}, "damping has no effect on rigid flanks"),
        ({"stiffness": 10.0, "restitution": 0.5}, "restitution has no effect on elastic flanks"),
        ({"damping": 2.0}, "damping has no effect without backlash or stiffness"),
        ({"backlash": 0.1, "ratio": np.pi}, "need a ratio of integers"),
        ({"stiffness": 0.0}, "stiffness"),
        ({"backlash": 0.1, "restitution": 2.0}, "restitution must be between 0 and 1"),
    ],
)
def test_arguments_that_do_not_fit(given, message):
    bodies, _ = wheels([1.0, 1.0], [0.0, 0.0])
    with pytest.raises(quirk.InputError, match=f'Gear "mesh": .*{message}'):
        quirk.Gear("mesh", *bodies, axis="z", **{"ratio": 1.0, **given})


@pytest.mark.parametrize("part", [0.2, 1.0, 1.7])
def test_a_servo_with_a_braked_load_has_the_describing_function_of_backlash(part):
    """Input A sin(t), play b = part A: the fundamental of the output, over A, with friction that holds the load."""
    A = 0.5
    b = part * A
    bodies, axles = wheels([1.0, 1e-3], [A, 0.0])
    mesh = quirk.Gear("mesh", *bodies, ratio=1, axis="z", backlash=b)
    drive = quirk.Drive("drive", axles[0], Motion.sinusoid(A, 1.0))
    brake = quirk.JointFriction("brake", axles[1], coulomb=1.0, sticking=True)
    system = quirk.System([*bodies, *axles, mesh, drive, brake])
    count = 800
    times = 2 * np.pi + 2 * np.pi * np.arange(count) / count
    result = quirk.simulate(system, 4 * np.pi, output=times)
    y = result["a1"].angle[np.searchsorted(result.time, times)] / A
    got = 2 / count * np.array([y @ np.sin(times), y @ np.cos(times)])
    s = 1 - part
    want = [(np.pi / 2 + np.arcsin(s) + s * np.sqrt(1 - s * s)) / np.pi, -part * (2 - part) / np.pi]
    np.testing.assert_allclose(got, want, atol=1e-4)
