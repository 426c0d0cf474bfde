"""Runs of a sweep in vector lanes, against the same runs one by one."""

import os
import signal

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body
from quirk.batches.built_members import BuiltMembers, structure_of
from quirk.simulation.output_schedule import output_times
from quirk.sweeps.in_lanes import Computer
from quirk.sweeps.run import Job, SweepRun, outcome

pytest.importorskip("xarray")
FIXED = {"method": "RK4", "step": 1e-2, "output": 0.1}


def chain(mass=1.0, length=0.3, stiffness=2.0, skew=False, g=9.81):
    parts, inner = [], GROUND
    for k in range(3):
        turn = [1.0, 0.2 * k * skew, 0, 0]
        inertia = [[0.02, 0.001 * skew, 0], [0.001 * skew, 0.03, 0], [0, 0, 0.03]]
        body = Body(f"body {k}", mass * (1 + k), inertia, position=[(k + 0.5) * length, 0, 0], orientation=turn)
        hinge = quirk.Revolute(f"hinge {k}", inner, body, point=[k * length, 0, 0], axis=[0, 1, 0.3 * k])
        parts += [body, hinge, quirk.TorsionSpring(f"coil {k}", hinge, stiffness=stiffness, damping=0.05)]
        inner = body
    return quirk.System([*parts, quirk.JointTorque("motor", parts[1], 0.3 * mass)], gravity=[0, 0, -g])


def loop(mass=1.0, height=1.0, reach=1.0):
    """A four-bar linkage in space, whose rows are redundant."""
    spots = np.array([[0, 0, 0], [0, 0, height], [reach, 0, height], [reach, 0, 0]])
    bars = [Body.bar(f"bar {k}", spots[k], spots[k + 1], mass=mass) for k in range(3)]
    ends = [GROUND, *bars, GROUND]
    pins = [quirk.Revolute(f"pin {k}", ends[k], ends[k + 1], point=spots[k], axis="y") for k in range(4)]
    return quirk.System([*bars, *pins, quirk.TorsionSpring("coil", pins[0], stiffness=3.0)], gravity=[0, 0, -9.81])


def job(build, duration=0.5, **options):
    options = {**FIXED, **options}
    return Job(build, duration, options, ("motion",), None, output_times(options["output"], 0.0, duration), frozenset())


def both(build, rows, **options):
    """Outcomes in lanes and one by one, and whether any structure was computed in lanes."""
    work, runs = job(build, **options), [SweepRun(k, row) for k, row in enumerate(rows)]
    computer = Computer(work)
    return list(computer.outcomes(runs)), [outcome(work, run) for run in runs], computer


def compare(found, alone, tolerance=1e-13):
    for k, (one, other) in enumerate(zip(found, alone, strict=True)):
        assert (one.number, one.status, one.error) == (k, other.status, other.error)
        assert one.table.variables.keys() == other.table.variables.keys()
        for name, variable in other.table.variables.items():
            same = one.table.variables[name]
            assert (same.dims, dict(same.attributes)) == (variable.dims, dict(variable.attributes))
            scale = max(1.0, np.abs(variable.array).max(initial=0.0))
            np.testing.assert_allclose(
                same.array, variable.array, rtol=0, atol=tolerance * scale, err_msg=f"{name} of {k}"
            )
        for name, labels in other.table.labels.items():
            np.testing.assert_array_equal(one.table.labels[name], labels)


def in_lanes(computer):
    return sum(known is not None for known in computer._members.values())


def test_all_numbers_may_differ():
    rng = np.random.default_rng(4)
    rows = [
        {"mass": m, "length": x, "stiffness": s, "g": g}
        for m, x, s, g in rng.uniform([0.5, 0.25, 1, 1], [2, 0.35, 4, 10], (11, 4))
    ]
    rows[3]["skew"] = rows[7]["skew"] = True
    found, alone, computer = both(chain, rows)
    compare(found, alone)
    assert in_lanes(computer) == len(computer._members) > 0


def test_adaptive_runs_are_the_same_to_the_last_bit():
    found, alone, computer = both(chain, [{"mass": m} for m in (1.0, 1.5)], method="auto", step=None)
    compare(found, alone, 0.0)
    assert not computer._members


def test_loops_with_other_geometry_are_computed_by_themselves():
    rows = [{"mass": m, "height": h} for m in (1.0, 2.0, 3.0) for h in (1.0, 1.05)]
    found, alone, computer = both(loop, rows)
    compare(found, alone)
    ((members, _),) = computer._members.values()
    systems = [loop(**row) for row in rows]
    assert [members.fits(system) for system in systems] == [row["height"] == 1.0 for row in rows]
    assert isinstance(members, BuiltMembers)


def test_runs_that_fail_or_differ_do_not_affect_the_others():
    def build(case, mass=1.0):
        if case == "error":
            raise ValueError("no such arm")
        if case == "other":
            return loop(mass)
        if case == "options":
            return chain(mass), {"step": 2e-2}
        system = chain(mass)
        if case == "violated":
            start = system.initial_state()
            start.position[1, 2] += 0.1
            return system, {"initial_state": start}
        if case == "sampled":
            return system.with_parts(quirk.Sampled("s", 0.1, lambda t, state: 0.1, inputs=["motor"]))
        return system

    cases = ["plain", "error", "other", "options", "plain", "violated", "sampled", "plain", "other"]
    found, alone, computer = both(build, [{"case": case, "mass": 1 + 0.1 * k} for k, case in enumerate(cases)])
    compare(found, alone)
    assert [one.status for one in found].count("failed") == 2 and in_lanes(computer) == 2


def test_what_lanes_do_not_have_is_computed_one_by_one():
    for options in (
        {"max_step": 0.1},
        {"events": [quirk.Event("e", "hinge 0.angle")]},
        {"projection_interval": 2},
        {"output": 0.033},
    ):
        found, alone, _ = both(chain, [{"mass": m} for m in (1.0, 1.5)], **options)
        compare(found, alone, 0.0)
    for wrong in ({"step": -1.0}, {"method": "RK3"}):
        found, alone, _ = both(chain, [{"mass": 1.0}], **wrong)
        compare(found, alone, 0.0)
        assert found[0].status == "failed"


def test_structures_are_told_apart_by_all_but_numbers():
    one = structure_of(chain())
    assert one == structure_of(chain(2.0, 0.31, 5.0, True, 1.0))
    assert one != structure_of(loop())
    assert one != structure_of(chain(length=30.0))
    system = chain()
    system.disable("coil 1")
    assert one != structure_of(system)
    assert one != structure_of(chain().with_parts(quirk.Damping("air", translational=0.1)))


@pytest.mark.slow
def test_a_process_that_dies_among_lanes_is_found(tmp_path):
    def build(mass):
        once = tmp_path / f"{mass}"
        if mass == 2 and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if mass == 3:
            os._exit(7)
        return chain(mass)

    masses = [1, 2, 3, 4]
    found = quirk.sweep(build, {"mass": masses}, 0.1, workers=1, retries=1, **FIXED)
    assert found.status.values.tolist() == ["failed" if mass == 3 else "completed" for mass in masses]
    assert found.error.values[2] == "the worker process died in each of 2 attempts: exit status 7; exit status 7"
    without = quirk.sweep(build, {"mass": masses}, 0.1, workers=1, retries=0, **FIXED)
    assert without.status.values.tolist() == found.status.values.tolist()
