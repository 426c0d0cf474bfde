"""Results over stretches with different active constraints, and what is made once for each set of these."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body
from quirk.result.result import Result


def pendulum():
    rod = Body("rod", 2.0, [0.1, 0.2, 0.2], position=[0.5, 0, 0])
    bob = Body("bob", 1.0, [0.1, 0.1, 0.1], position=[1.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    latch = quirk.Revolute("latch", rod, bob, point=[1, 0, 0], axis=[0, 1, 0])
    spring = quirk.Spring("spring", GROUND, bob, point_i=[0, 0, 1], stiffness=5.0, damping=0.1)
    return quirk.System([rod, bob, hinge, latch, spring], gravity=[0, 0, -9.81])


@pytest.fixture(scope="module")
def parts():
    """A run with the latch closed, and one from where it ended with the latch open."""
    system = pendulum()
    first = quirk.simulate(system, 1.0, output=0.1)
    system.deactivate("latch")
    second = quirk.simulate(system, 1.0, output=0.1, start=1.0, initial_state=first.state_at())
    system.activate("latch")
    return first, second


@pytest.fixture(scope="module")
def whole(parts):
    first, second = parts
    return Result(first.system, [*first.segments, *second.segments], second.statistics, "completed")


def test_what_computes_is_made_once_for_each_set_of_active_constraints():
    system = pendulum()
    closed = system.plant
    system.deactivate("latch")
    opened = system.plant
    assert opened is not closed and opened.model.rows == 5
    system.activate("latch")
    assert system.plant is closed
    system.deactivate("latch")
    assert system.plant is opened


def test_motion_reads_across_segments(parts, whole):
    for name in ("position", "velocity"):
        both = [getattr(part["bob"], name) for part in parts]
        np.testing.assert_array_equal(getattr(whole["bob"], name), np.concatenate(both))
    np.testing.assert_array_equal(whole.time, np.concatenate([part.time for part in parts]))
    np.testing.assert_array_equal(whole["hinge"].rotation, np.concatenate([part["hinge"].rotation for part in parts]))
    for row in (0, 10, 11, -1):
        state, segment = whole.state_at(row), parts[int(row in (11, -1))]
        own = row - 11 if row == 11 else row
        np.testing.assert_array_equal(state.position, segment.state_at(own).position)
        np.testing.assert_array_equal(state.angles["latch"], segment.state_at(own).angles["latch"])


def test_loads_and_powers_read_across_segments(parts, whole):
    first, second = parts
    np.testing.assert_array_equal(whole._joint_loads["latch"][:11, 0], first["latch"].force())
    assert not whole._joint_loads["latch"][11:].any()
    np.testing.assert_array_equal(whole["spring"].force()[11:], second["spring"].force())
    np.testing.assert_array_equal(whole.power["spring"], np.append(first.power["spring"], second.power["spring"]))
    np.testing.assert_array_equal(whole.energy.total, np.append(first.energy.total, second.energy.total))
    linear, _ = whole._accelerations
    np.testing.assert_array_equal(linear[11:], second._accelerations[0])
    np.testing.assert_array_equal(whole._acceleration_derivative(2)[0][:11], first._acceleration_derivative(2)[0])
    assert whole.residual.position.max() < 1e-12
    assert whole.health().rank.tolist() == [10] * 11 + [5] * 11
    np.testing.assert_array_equal(whole._load_derivatives["latch"][11:], 0)


def test_work_adds_up_over_segments(parts, whole):
    first, second = parts
    done = first.power.work["spring"][-1]
    np.testing.assert_allclose(whole.power.work["spring"][11:], done + second.power.work["spring"], rtol=1e-13)
    assert np.abs(whole.power.balance).max() < 1e-9
