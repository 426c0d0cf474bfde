"""Many runs: where parameters come from, what comes out, and what becomes of those that fail or whose process dies."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from mechanisms import pendulum

import quirk
from quirk.sweeps.dataset import dataset
from quirk.sweeps.forked import safe
from quirk.sweeps.in_lanes import Computer
from quirk.sweeps.parameters import parameters_of_runs
from quirk.sweeps.run import Job, SweepRun
from quirk.sweeps.sweep import runs_of
from quirk.sweeps.table import rows_at

xarray = pytest.importorskip("xarray")


def swing(mass=1.0, length=1.0):
    return pendulum(mass=mass, length=length)


def computed(build, parameters, duration=0.5, reduce=None, output=0.1, quantities=("motion",), **options):
    """What a sweep gives, without other processes."""
    rows = parameters_of_runs(parameters)
    times = None if output is None else quirk.simulate(swing(), duration, output=output).time
    job = Job(
        build, duration, {"output": output, **options}, quantities, reduce, times, frozenset({"status", *rows[0]})
    )
    found = list(Computer(job).outcomes([SweepRun(k, row) for k, row in enumerate(rows)]))
    return dataset(rows, found, times, {}, {})


def test_a_mapping_of_lists_is_all_combinations():
    rows = parameters_of_runs({"mass": [1, 2], "length": np.linspace(0.1, 0.3, 3)})
    assert [list(row.values()) for row in rows] == [[m, x] for m in (1, 2) for x in np.linspace(0.1, 0.3, 3)]
    assert {type(value) for row in rows for value in row.values()} == {int, float}


def test_tables_have_a_row_for_each_run():
    rows = [{"mass": 1.0, "kind": "a"}, {"mass": 2.5, "kind": "b"}]
    structured = np.array([(1.0, "a"), (2.5, "b")], dtype=[("mass", float), ("kind", "U1")])
    assert parameters_of_runs(rows) == parameters_of_runs(structured) == rows
    pandas = pytest.importorskip("pandas")
    assert parameters_of_runs(pandas.DataFrame(rows)) == rows


def test_samples_of_the_unit_cube_and_of_a_problem():
    from scipy.stats import qmc

    samples = qmc.Sobol(2, seed=1).random(8)
    bounds = {"mass": (1.0, 3.0), "length": (-2.0, 0.5)}
    rows = parameters_of_runs(bounds, samples)
    scaled = qmc.scale(samples, *np.transpose(list(bounds.values())))
    np.testing.assert_array_equal([list(row.values()) for row in rows], scaled)
    problem = {"num_vars": 2, "names": list(bounds), "bounds": [list(pair) for pair in bounds.values()]}
    assert parameters_of_runs(problem, scaled) == rows


@pytest.mark.parametrize(
    ("parameters", "samples", "message"),
    [
        ({"mass": 1.0}, None, 'parameter "mass" must be a list of values, one or more; got 1.0'),
        ({"mass": "heavy"}, None, 'parameter "mass" must be a list'),
        ({"mass": []}, None, "must define at least one run"),
        ({}, None, "must define at least one run"),
        ({"names": ["a"], "bounds": [[0, 1]]}, None, "names and bounds need samples="),
        ([{"mass": 1}, {"length": 1}], None, r"row 0 has \['mass'\], row 1 \['length'\]"),
        ([{"mass": 1}, 3], None, "row 1 is 3"),
        ("mass", None, "parameters must be a mapping of lists"),
        ({3: [1]}, None, "names of arguments of build; got 3"),
        ({"mass": (0, 1)}, np.zeros((3, 2)), r"samples must have shape \(runs, 1\).*got shape \(3, 2\)"),
        ({"mass": (1, 2)}, [[1.5]], "must lie within the unit cube"),
        ({"names": ["mass"], "bounds": [[1, 2]]}, [[0.5]], "must lie within their bounds"),
        ({"mass": (1, 2)}, [[np.nan]], "samples must be finite"),
        ([{"mass": 1}], [[0.5]], "with samples=, parameters must contain names"),
    ],
)
def test_parameters_that_cannot_be_used(parameters, samples, message):
    with pytest.raises(quirk.InputError, match=f"sweep: .*{message}"):
        parameters_of_runs(parameters, samples)


def test_each_run_is_what_it_would_be_by_itself():
    """In worker processes, with a function of this file, and several runs handed over at once."""
    masses = [1.0, 2.0, 0.0, *np.linspace(3, 4, 21)]
    kept = ["motion", "joints"]
    found = quirk.sweep(swing, {"mass": masses}, 0.3, output=0.1, quantities=kept, rtol=1e-6, workers=2)
    assert dict(found.sizes) == {"run": 24, "time": 4, "body": 1, "joint": 1, "axis": 3, "quaternion": 4}
    assert found.status.values.tolist() == ["failed" if mass == 0 else "completed" for mass in masses]
    assert found.error.values[2] == 'InputError: Body "rod": mass must be positive; got 0'
    np.testing.assert_array_equal(found.mass, masses)
    assert np.isnan(found.position[2]).all()
    for k in (0, 1, 12, 23):
        alone = quirk.simulate(swing(masses[k]), 0.3, output=0.1, rtol=1e-6)
        np.testing.assert_array_equal(found.time, alone.time)
        np.testing.assert_array_equal(found.position[k].sel(body="rod"), alone["rod"].position)
        np.testing.assert_array_equal(found.joint_rotation[k].sel(joint="hinge"), alone["hinge"].rotation)


def test_a_process_that_dies_is_replaced_and_its_run_repeated(tmp_path):
    def build(mass):
        once = tmp_path / "once"
        if mass == 2 and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if mass == 3:
            os._exit(7)
        return swing(mass)

    found = quirk.sweep(build, {"mass": [1, 2, 3, 4]}, 0.1, output=0.1, workers=1, retries=1)
    assert found.status.values.tolist() == ["completed", "completed", "failed", "completed"]
    assert found.error.values[2] == "the worker process died in each of 2 attempts: exit status 7; exit status 7"
    assert (tmp_path / "once").exists()


@pytest.mark.slow
def test_copies_of_this_process_compute_where_it_has_no_other_thread(tmp_path):
    """They have what is imported here, and draw numbers of their own; a thread that runs is in the way."""
    script = textwrap.dedent("""
        import json, os, sys, threading
        import numpy as np
        import quirk
        from quirk.sweeps.forked import safe

        sys.modules["imported_here"] = sys
        np.random.seed(1)

        def build(mass):
            return quirk.System([quirk.Body("ball", mass, [1, 1, 1])])

        def found(result):
            return {"pid": os.getpid(), "copy": "imported_here" in sys.modules, "drawn": np.random.random()}

        can, done = [safe()], threading.Event()
        waiting = threading.Thread(target=done.wait)
        waiting.start()
        can.append(safe())
        done.set()
        waiting.join()
        runs = quirk.sweep(build, {"mass": [1.0] * 4}, 0.1, reduce=found, workers=2)
        print(json.dumps([can, os.getpid(), {k: runs[k].values.tolist() for k in ("status", "pid", "copy", "drawn")}]))
        print(np.random.random() == np.random.RandomState(1).random_sample())
    """)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path)
    first, same = done.stdout.splitlines()
    (alone, with_thread), own, runs = json.loads(first)
    assert runs["status"] == ["completed"] * 4
    assert own not in runs["pid"] and 1 <= len(set(runs["pid"])) <= 2
    assert not with_thread and alone == (sys.platform == "linux") and runs["copy"] == [alone] * 4
    assert len(set(runs["drawn"])) == 4 and same == "True"


def test_no_copies_beside_libraries_that_mind(monkeypatch):
    monkeypatch.setattr("quirk.sweeps.forked.THREADED", ("python",))
    assert not safe()


def test_a_script_without_a_guard_and_control_c(tmp_path):
    """Nothing of the script runs again in the processes, and what was computed when Ctrl-C came is returned."""
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import sys, time
        import quirk
        print("begun")

        def build(wait):
            print("building", wait, flush=True)
            time.sleep(wait)
            body = quirk.Body("body", 1.0, [1, 1, 1], velocity=[1, 0, 0])
            return quirk.System([body])

        found = quirk.sweep(build, {"wait": [0.0, 100.0, 100.0]}, 1.0, output=0.5, workers=1)
        print(found.status.values.tolist(), found.position[:, -1, 0, 0].values.tolist())
        """)
    )
    process = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stdout=-1, stderr=-1, text=True)
    assert "building 100.0\n" in iter(process.stderr.readline, "")  # so the first run is done
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.splitlines() == ["begun", "['completed', 'not run', 'not run'] [1.0, nan, nan]"]
    assert err == ""


def test_seeds_are_given_to_builds_that_ask_and_recorded():
    def build(mass, seed):
        return swing(mass + np.random.default_rng(seed).random())

    def mass(result):
        return result.system["rod"].mass

    found = quirk.sweep(build, {"mass": [1, 2]}, 0.1, reduce=mass, workers=1, seed=5, method="RK4", step=0.05)
    for k in range(2):
        assert found.value[k] == 1 + k + np.random.default_rng(int(found.seed[k])).random()
    rows = parameters_of_runs({"mass": [1, 2]})
    for seed, same in ((5, True), (6, False), (None, False)):
        runs, seeds = runs_of(build, rows, seed)
        assert np.array_equal(found.seed, seeds["seed"]) is same
        assert [run.arguments["seed"] for run in runs] == seeds["seed"].tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": None}, "give output="),
        ({"outputs": 0.1}, "neither sweep nor simulate has an option 'outputs'"),
        (
            {"parameters": {"weight": [1]}},
            r'build cannot be called with .*weight.*; did you mean "mass"\? There are: mass',
        ),
        ({"parameters": {"time": [1]}}, '"time" is a coordinate of the Dataset: rename'),
        ({"build": 3}, "build must be a function"),
        ({"reduce": 3}, "reduce must be a function"),
        ({"quantities": "motions"}, "quantities must be one of"),
        ({"quantities": ["motion", "events"]}, "event times differ between runs"),
        ({"quantities": "motion", "reduce": len}, "cannot be combined with reduce="),
        ({"seed": 3}, "seed requires a build with an argument seed"),
        ({"workers": 0}, "workers must be a positive whole number"),
        ({"duration": -1}, "duration must be positive"),
        ({"output": 2.0}, "output every 2 s is longer than the duration"),
        ({"client": "nowhere", "workers": 2}, "client has its own workers"),
        ({"reduce": threading.Lock().acquire}, "must be picklable for other processes"),
    ],
)
def test_what_is_wrong_with_all_runs_is_said_at_once(changes, message):
    given = {"build": swing, "parameters": {"mass": [1]}, "duration": 1.0, "output": 0.5, **changes}
    with pytest.raises(quirk.InputError, match=message):
        quirk.sweep(given.pop("build"), given.pop("parameters"), given.pop("duration"), **given)


def test_runs_that_end_early_have_no_numbers_afterwards():
    def build(mass):
        system = swing()
        return system, {"events": [quirk.Event("down", lambda t, state: t - 0.1 * mass - 0.05, action="stop")]}

    found = computed(build, {"mass": [1, 3, 30]})
    assert found.status.values.tolist() == ["stopped", "stopped", "completed"]
    assert np.isfinite(found.position).sum("time")[:, 0, 0].values.tolist() == [2, 4, 6]
    whole = quirk.simulate(swing(), 0.5, output=0.1)
    np.testing.assert_array_equal(found.position[2, :, 0], whole["rod"].position)


def test_a_run_that_breaks_down_keeps_what_it_had():
    def build(limit):
        rod = quirk.Body("rod", 1.0, [1, 1, 1], velocity=[1, 0, 0])
        push = quirk.Force("push", rod, lambda t, *motion: [0, 0, 0] if t < limit else [0, 0])
        return quirk.System([rod, push])

    found = computed(build, {"limit": [9.0, 0.25]}, step=0.05, method="RK4")
    assert found.status.values.tolist() == ["completed", "failed"]
    assert "SimulationError: simulate: at t = 0.2" in found.error.values[1]
    assert np.isfinite(found.position[1, :, 0, 0]).values.tolist() == [True, True, True, False, False, False]


def test_what_reduce_may_return():
    def several(result):
        return {
            "mass": 3,
            "name": "abc",
            "down": bool(result["rod"].position[-1, 2] < 0),
            "angle": ("time", result["hinge"].rotation[:, 2]),
            "list": np.arange(int(result.system["rod"].mass)),
        }

    found = computed(swing, {"mass": [2.0, 3.0, 0.0]}, reduce=several)
    assert found.mass.values.tolist() == [2, 3, 0]
    assert found.result_mass.values[:2].tolist() == [3, 3]
    assert np.isnan(found.result_mass.values[2])
    assert found.name.values.tolist() == ["abc", "abc", ""]
    assert found.down.values[:2].tolist() == [True, True]
    assert found.angle.dims == ("run", "time")
    np.testing.assert_array_equal(found.list, [[0, 1, np.nan], [0, 1, 2], [np.nan] * 3])
    assert computed(swing, {"mass": [1.0]}, reduce=lambda result: 7, output=None).value.values.tolist() == [7]


def test_datasets_are_put_beside_each_other_by_their_labels():
    def of_parts(result):
        mass = result.system["rod"].mass
        names = ["a", "b"] if mass == 1 else ["b", "c"]
        return xarray.Dataset(
            {"size": ("part", [mass, 2 * mass], {"units": "m"})}, {"part": names, "side": ("part", ["left", "right"])}
        )

    found = computed(swing, {"mass": [1.0, 2.0]}, reduce=of_parts)
    assert found.part.values.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(found["size"], [[1, 2, np.nan], [np.nan, 2, 4]])
    assert found["size"].attrs == {"units": "m"}
    assert found.side.dims == ("run", "part")
    alone = quirk.simulate(swing(length=2.0), 0.5, output=0.1)
    for what in ({"quantities": "loads"}, {"reduce": lambda result: result.to_xarray("loads")}):
        loads = computed(swing, {"length": [1.0, 2.0]}, **what)
        np.testing.assert_array_equal(loads.joint_force[1, :, 0], alone["hinge"].force())


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (object(), "'value', which is not a number"),
        ({3: 1}, "names of what reduce returns must be text"),
        ({"x": [[1], [1, 2]]}, "'x', which is not a number"),
        ({"x": ("a", [[1]])}, r"'x' with dimensions \('a',\) for shape \(1, 1\)"),
        ({"x": ("time", [1, 2])}, "2 rows along 'time'; the result has 6"),
    ],
)
def test_what_reduce_may_not_return(returned, message):
    found = computed(swing, {"mass": [1.0]}, reduce=lambda result: returned)
    assert found.status.item() == "failed"
    assert re.search(message, found.error.item())


class SilentError(Exception):
    """What has no text, and cannot travel."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def __str__(self):
        raise RuntimeError("no text")

    def __reduce__(self):
        raise TypeError("cannot travel")


class DeepError(BaseException):
    """What is no Exception."""


def failing(kind):
    if kind == "silent":
        raise SilentError(3)
    if kind == "deep":
        raise DeepError("deep down")
    if kind == "chained":
        try:
            raise SilentError(4)
        except SilentError as error:
            raise quirk.InputError("of quirk") from error
    return swing()


def test_exceptions_that_cannot_be_printed_fail_alone():
    """In worker processes, none of which they end."""
    kinds = ["good", "silent", "deep", "chained", "good"]
    found = quirk.sweep(failing, {"kind": kinds}, 0.5, output=0.1, workers=1)
    assert found.status.values.tolist() == ["completed", "failed", "failed", "failed", "completed"]
    said = ("SilentError: it has no text", "DeepError: deep down", "of quirk")
    for error, text in zip(found.error.values[1:4], said, strict=True):
        assert text in error
        assert "died" not in error


def test_runs_that_return_something_of_another_kind_fail_alone():
    found = computed(swing, {"mass": [1.0, 2.0, 3.0]}, reduce=lambda r: [1, 2] if r.system["rod"].mass == 2 else 5.0)
    assert found.status.values.tolist() == ["completed", "failed", "completed"]
    assert "with dimensions ('value_0',)" in found.error.values[1]
    np.testing.assert_array_equal(found.value, [5, np.nan, 5])


def test_rows_at_times_are_those_after_events():
    time = np.array([0, 0.1, 0.15, 0.2, 0.2, 0.3])
    rows, reached = rows_at(time, np.array([0, 0.1, 0.2, 0.3, 0.4]))
    assert rows.tolist() == [0, 1, 4, 5]
    assert reached.tolist() == [0, 0.1, 0.2, 0.3]


@pytest.mark.slow
def test_a_cluster_gives_the_same_and_repeats_what_a_killed_worker_did(tmp_path):
    distributed = pytest.importorskip("distributed")

    def build(mass):
        once = tmp_path / "once"
        if mass == 3 and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return swing(mass)

    masses = [1.0, 2.0, 3.0, 0.0]
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = quirk.sweep(build, {"mass": masses}, 0.3, output=0.1, client=client)
        clients = len(cluster.scheduler.clients)
        of_cluster = quirk.sweep(swing, {"mass": masses}, 0.3, output=0.1, client=cluster)
        assert len(cluster.scheduler.clients) == clients
    assert (tmp_path / "once").exists()
    assert of_cluster.identical(found)
    assert found.identical(quirk.sweep(swing, {"mass": masses}, 0.3, output=0.1, workers=1))
