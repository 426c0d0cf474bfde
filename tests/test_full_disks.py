"""Disks that fill up: an error says so and what is kept, and what was there before stays."""

import contextlib
import re

import numpy as np
import pytest
from mechanisms import pendulum
from studies import study

import quirk
from quirk.commands.cli import main

resource = pytest.importorskip("resource", reason="a limit of Unix stands for the end of a disk")


@pytest.fixture(scope="module")
def run():
    return quirk.simulate(pendulum(), 2.0, output=0.01)


@contextlib.contextmanager
def full(size):
    """Let files end at so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WRITERS = {
    "run.nc": lambda run, path: run.save(path),
    "run.csv": lambda run, path: run.to_csv(path),
    "run.npz": lambda run, path: run.to_npz(path),
    "run.html": lambda run, path: run.to_html(path),
    "run.png": lambda run, path: run.plot(path=path),
    "run.toml": lambda run, path: run.system.save(path),
}
NEEDED = {"run.nc": "netCDF4", "run.csv": "pandas", "run.html": "viser"}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("size", study([0, 100], {100}))
def test_files_are_whole_or_as_before(name, size, run, tmp_path):
    pytest.importorskip(NEEDED.get(name, "numpy"))
    path = tmp_path / name
    path.write_text("as before")
    with full(size), pytest.raises(quirk.WriteError, match=r"cannot be written: .*nothing is left of it") as caught:
        WRITERS[name](run, path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert path.read_text() == "as before"
    WRITERS[name](run, path)
    assert path.stat().st_size > size


@pytest.mark.parametrize("size", study([0, 100, 5000], {100}))
def test_sweeps_of_the_command_line_are_whole_or_as_before(size, run, tmp_path, monkeypatch, capsys):
    pytest.importorskip("netCDF4")
    runs = quirk.sweep(
        lambda rank_tolerance: run.system, {"rank_tolerance": [1e-7, 1e-6]}, 0.5, output=0.01, workers=1, progress=False
    )
    monkeypatch.setattr("quirk.commands.sweep.sweep", lambda *arguments, **options: runs)
    model, path = tmp_path / "model.toml", tmp_path / "sweep.nc"
    quirk.System([quirk.Body.sphere("ball", 1.0, 0.1)]).save(model)
    path.write_text("as before")
    arguments = ["sweep", str(model), "--param", "ball.mass=1,2", "--duration", "1", "--output", "1", "-o", str(path)]
    with full(size):
        assert main(arguments) == 1
    said = capsys.readouterr().err
    assert re.fullmatch(
        rf"quirk: sweep: '{re.escape(str(path))}' cannot be written: .*; nothing is left of it, .*\n", said
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.toml", "sweep.nc"]
    assert path.read_text() == "as before"
    assert main(arguments) == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("size", [0, 2000, 5000, 10_000, 20_000])
def test_runs_on_disk_go_on(size, run, tmp_path, monkeypatch):
    """What is on the disk is kept; the same call goes on from there, to the same result in every bit."""
    monkeypatch.setattr("quirk.simulation.hybrid.checkpointed_run.steps_between_restarts", lambda bodies, compiled: 50)
    whole = quirk.simulate(run.system, 2.0, output=0.01, checkpoint=tmp_path / "whole")
    with (
        full(size),
        pytest.raises((quirk.SimulationError, quirk.WriteError), match="all earlier complete records") as caught,
    ):
        quirk.simulate(run.system, 2.0, output=0.01, checkpoint=tmp_path / "parts")
    assert "File too large" in str(caught.value)
    if isinstance(caught.value, quirk.SimulationError):
        partial = caught.value.result
        assert f"up to t = {caught.value.time:.9g} s; the same call goes on" in str(caught.value)
        assert (partial is not None) is (caught.value.time > 0)
        if partial is not None:
            assert partial.status == "failed"
            np.testing.assert_array_equal(partial.state.position, whole.state.position[: len(partial.time)])
    again = quirk.simulate(run.system, 2.0, output=0.01, checkpoint=tmp_path / "parts")
    np.testing.assert_array_equal(again.state.position, whole.state.position)
