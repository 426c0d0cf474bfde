"""Constraints that contradict each other are said to do so where that arises, and which ones."""

import numpy as np
import pytest
from mechanisms import level_rod

import quirk
from quirk import AssemblyError, InconsistentStateError, SimulationError


def driven(*motions):
    rod, hinge = level_rod()
    drives = [quirk.Drive(name, hinge, motion) for name, motion in zip(("one", "two"), motions, strict=True)]
    return quirk.System([rod, hinge, *drives])


def test_assembly_names_rates_that_contradict_each_other():
    system = driven(quirk.Motion.constant_rate(1.0), quirk.Motion.constant_rate(2.0))
    with pytest.raises(AssemblyError, match=r'Drive "(one|two)".*missed by 1 rad/s.*contradicts Drive "(one|two)"'):
        system.assemble()
    agreeing = driven(quirk.Motion.constant_rate(2.0), quirk.Motion.constant_rate(2.0))
    assert np.allclose(agreeing.assemble().angular_velocity, [[0, 2, 0]])


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_accelerations_that_contradict_each_other(solver):
    system = driven(quirk.Motion.polynomial([0.0]), quirk.Motion.polynomial([0, 0, 0.5]))
    said = (
        r'accelerations.*contradict.*row (one|two): angle z is violated by 1 rad/s\^2; it contradicts Drive "(one|two)"'
    )
    with pytest.raises(InconsistentStateError, match=said):
        system.acceleration(system.initial_state(), solver=solver)
    with pytest.raises(InconsistentStateError, match=said):
        quirk.simulate(system, 1.0, solver=solver)
    agreeing = driven(quirk.Motion.polynomial([0, 0, 0.5]), quirk.Motion.polynomial([0, 0, 0.5]))
    assert np.allclose(agreeing.acceleration(agreeing.initial_state(), solver=solver).angular, [[0, 1, 0]])


def test_drivers_that_part_later():
    system = driven(quirk.Motion.polynomial([0.0]), quirk.Motion.polynomial([0, 0, 0, 0.5]))
    with pytest.raises(SimulationError, match=r'contradicts Drive "(one|two)"'):
        quirk.simulate(system, 1.0)
    with pytest.raises(SimulationError, match=r'contradicts Drive "(one|two)"'):
        quirk.kinematics(system, [0.0, 1.0])


def taut(count):
    """A straight row of rods between two pins, just long enough."""
    rods = [quirk.Body.box(f"r{k}", 1.0, [1, 0.05, 0.05], position=[k + 0.5, 0, 0]) for k in range(count)]
    ends = [quirk.GROUND, *rods, quirk.GROUND]
    pins = [quirk.Revolute(f"p{k}", ends[k], ends[k + 1], point=[k, 0, 0], axis=[0, 1, 0]) for k in range(count + 1)]
    return quirk.System([*rods, *pins], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_taut_row_of_rods_is_rigid_to_second_order(count):
    system = taut(count)
    report = system.mobility()
    assert report.degrees_of_freedom == report.blocked == count - 1
    assert "rigid to second order" in str(report)
    with pytest.raises(SimulationError, match="rigid to second order"):
        quirk.simulate(system, 1.0)


def test_mechanisms_that_move_are_not_said_to_be_rigid():
    rod = quirk.Body.box("rod", 1.0, [1, 0.05, 2], position=[0.5, 0, 1])
    hinges = [quirk.Revolute(f"h{k}", quirk.GROUND, rod, point=[0, 0, k], axis=[0, 0, 1]) for k in range(2)]
    assert quirk.System([rod, *hinges]).mobility().blocked == 0
    # A parallelogram lying flat is singular, and moves on.
    bars = [quirk.Body.box(f"b{k}", 1.0, [1, 0.05, 0.05], position=[x, 0, 0]) for k, x in enumerate((0.5, 1.5, 2.5))]
    # Lengths 1, 2, 1 between pins 2 apart, all on one line: b1 is twice as long as the others.
    long = quirk.Body.box("long", 1.0, [2, 0.05, 0.05], position=[2.0, 0, 0])
    ends = [quirk.GROUND, bars[0], long, bars[2], quirk.GROUND]
    points = [[0, 0, 0], [1, 0, 0], [3, 0, 0], [2, 0, 0]]
    last = quirk.Body.box("b2", 1.0, [1, 0.05, 0.05], position=[2.5, 0, 0])
    ends[3] = last
    pins = [quirk.Revolute(f"p{k}", ends[k], ends[k + 1], point=points[k], axis=[0, 1, 0]) for k in range(4)]
    system = quirk.System([bars[0], long, last, *pins])
    report = system.mobility()
    assert report.degrees_of_freedom == 2
    assert report.blocked == 0


@pytest.mark.parametrize("method", ["auto", "RadauIIA9"])
def test_accelerations_that_contradict_each_other_in_a_large_system(method):
    """Beyond two thousand rows the message names the violated row, without the constraints on which it depends."""
    system = driven(quirk.Motion.polynomial([0.0]), quirk.Motion.polynomial([0, 0, 0.5]))
    rods = [quirk.Body.box(f"rod {k}", 1.0, [1.0, 0.1, 0.1], position=[0, 2.0 + k, 0]) for k in range(401)]
    pins = [quirk.Revolute(f"pin {k}", quirk.GROUND, rod, point=rod.position, axis="z") for k, rod in enumerate(rods)]
    system = quirk.System([*system.bodies, *system.constraints, *rods, *pins])
    assert system.model.rows > 2000
    with pytest.raises(InconsistentStateError, match=r"accelerations.*contradict.*it contradicts other constraints"):
        quirk.simulate(system, 0.1, method=method)
