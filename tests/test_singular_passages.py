"""Singular configurations that a run has passed, as its summary lists them."""

import numpy as np
import pytest
from mechanisms.layers_of_cranks import layers_of_cranks
from studies import study

import quirk
from quirk.result.singular_passages import singular_passages

FLAT = "singular configurations passed, where branches of motion meet: t = "


def linkage(cranks, angle=0.9, length=1.0, unit=1.0, mass=1.0):
    """Cranks of 1 m at every 2 m on the ground, on hinges about z, and a coupler; the last crank has another length."""
    items, e = [], np.array([np.cos(angle), np.sin(angle), 0])
    for k in range(cranks):
        foot, last = np.array([2.0 * k, 0, 0]), k == cranks - 1
        # The tip of a crank of another length is where the coupler is at the same angle of the first crank.
        items.append(
            quirk.Body(
                f"crank{k}", mass, mass * unit**2 * np.array([0.1, 0.1, 0.1]), position=unit * (foot + e / 2),
                orientation=[np.cos(angle / 2), 0, 0, np.sin(angle / 2)],
            )
        )  # fmt: skip
        if last:
            foot = foot + e * (1 - length)
        items.append(quirk.Revolute(f"foot{k}", quirk.GROUND, items[-1], point=unit * foot, axis="z"))
    middle = e + np.array([cranks - 1.0, 0, 0])
    coupler = quirk.Body("coupler", mass, mass * unit**2 * np.array([0.1, 0.1, 0.1]), position=unit * middle)
    tips = [
        quirk.Revolute(f"tip{k}", items[2 * k], coupler, point=unit * (e + np.array([2.0 * k, 0, 0])), axis="z")
        for k in range(cranks)
    ]
    return quirk.System([*items, coupler, *tips], gravity=[0, -9.81 * unit, 0])


@pytest.mark.parametrize(("unit", "mass"), [(1.0, 1.0), (1e-3, 1e3)])
@pytest.mark.parametrize("method", ["auto", "RK4", "Taylor"])
def test_a_parallelogram_that_sinks_through_its_flat_position(method, unit, mass):
    options = {"step": 2e-3} if method == "RK4" else {}
    result = quirk.simulate(linkage(2, unit=unit, mass=mass), 1.5, method=method, output=0.02, **options)
    angle = result["foot0"].angle + 0.9
    turns = np.flatnonzero(np.diff(np.floor(angle / np.pi)))
    passed = singular_passages(result.segments)
    assert len(passed) == len(turns) > 1
    for row, passage in zip(turns, passed, strict=True):
        assert result.time[row] <= passage.time <= result.time[row + 1]
        assert set(passage.constraints) <= {"foot0", "foot1", "tip0", "tip1"} and len(passage.constraints) > 1
    (line,) = (line for line in result.summary().splitlines() if line.startswith(FLAT))
    assert f"{passed[0].time:.4g} s" in line and f"{passed[-1].time:.4g} s" in line


def test_a_drive_that_is_too_weak_lets_it_sink():
    """It comes to rest above the flat position with a strong one."""
    for torque, lines in ((5.0, 1), (29.43 * np.cos(0.9), 0)):
        system = linkage(2)
        system = system.with_parts(quirk.JointTorque("drive", system["foot0"], torque))
        said = quirk.simulate(system, 0.8, output=0.02).summary().splitlines()
        assert sum(line.startswith(FLAT) for line in said) == lines, torque


def test_linkages_without_a_flat_position_pass_none():
    """With cranks of different lengths the loop cannot lie flat; chains have no loops."""
    result = quirk.simulate(linkage(2, length=0.7), 1.5, output=0.02)
    assert singular_passages(result.segments) == []
    assert FLAT not in result.summary()
    result = quirk.simulate(linkage(2).without("tip1"), 1.5, output=0.02)
    assert singular_passages(result.segments) == []


def test_few_output_states_claim_nothing_false():
    """States that are far apart show fewer passages, but none that is not there."""
    system = linkage(2)
    times = np.linspace(0, 1.5, 8)
    passed = singular_passages(quirk.simulate(system, 1.5, output=times).segments)
    assert len(passed) <= 2


def test_the_flat_position_itself_may_be_an_output():
    fine = quirk.simulate(linkage(2), 0.6, output=0.02)
    (passage,) = singular_passages(fine.segments)
    near = [0.0, 0.2, 0.4, passage.time - 1e-9, passage.time, passage.time + 1e-9, 0.5, 0.55]
    (again,) = singular_passages(quirk.simulate(linkage(2), 0.6, output=near).segments)
    assert again.time == pytest.approx(passage.time, abs=5e-3)


PASSED = [
    (1e-8, True, (9, 15)), (1e-10, False, (29, 32, 43)), (1e-10, True, (4, 9, 13, 17, 29, 32)), (1e-8, False, (22,)),
    (1e-8, False, range(10)), (1e-8, True, range(10)), (1e-10, False, range(10)), (1e-10, True, range(10)),
]  # fmt: skip


@pytest.mark.parametrize(("rtol", "damped", "seeds"), study(PASSED, 1))
def test_layers_of_cranks_pass_their_flat_positions(rtol, damped, seeds):
    """One layer may turn slowly through its flat position while the others determine the step size.

    Both ends of a step are then close to the singular configuration, and its stages closer: steps became shorter and
    shorter toward it, and ended on the other branch of motion or with an error.
    """
    for seed in seeds:
        layers = layers_of_cranks(seed, damped)
        atol = rtol / 100 * min(layers.unit, 1.0)
        options = {"rtol": rtol, "atol": atol, "method": "Vern9", "output": layers.times}
        result = quirk.simulate(layers.system, layers.times[-1], **options)
        at = result[layers.top].position[:, [0, 2]]
        miss = np.abs(at - at[0] + layers.tips[0] - layers.tips).max() / layers.unit
        print(rtol, damped, "seed", seed, miss / layers.growth, result.statistics)
        assert miss < 1000 * rtol * layers.growth
        if not damped:
            assert np.ptp(result.energy.total) < 1000 * rtol * result.energy.kinetic.max()
