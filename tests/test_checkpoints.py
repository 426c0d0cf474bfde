"""Runs that are written down while they go on: killed at any moment, they go on bit-identically."""

import importlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import quirk
from quirk.checkpoints import checkpoint as written
from quirk.checkpoints import journal

G = 9.81


class KilledError(Exception):
    """Raised in place of a kill."""


@pytest.fixture
def short_legs(monkeypatch):
    """Legs of a few steps."""
    monkeypatch.setattr("quirk.legged.steps_of_leg", lambda bodies, compiled: 15 if compiled else 120)


def pendulum(length=1.0):
    rod = quirk.Body.box("rod", 1.0, [length, 0.05, 0.05], position=[length / 2, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    latch = quirk.Fixed("latch", quirk.GROUND, rod, active=False)
    low = quirk.Event("low", "rod.speed", level=2.0, direction=1, action=[quirk.engage(latch, keep_offset=True)])
    late = quirk.Event("late", "time", level=1.5, action=[quirk.release(latch)])
    return quirk.System([rod, hinge, latch, low, late], gravity=[0, 0, -G])


def same(one, other):
    """Assert that two results are alike in every bit."""
    assert one.status == other.status
    assert len(one.segments) == len(other.segments)
    for x, y in zip(one.segments, other.segments, strict=True):
        for part in ("time", "flat"):
            np.testing.assert_array_equal(getattr(x, part), getattr(y, part))
        np.testing.assert_array_equal(x.turns.quadrants, y.turns.quadrants)
        np.testing.assert_array_equal(x.turns.whole, y.turns.whole)
        assert (x.active, x.switched, x.rank) == (y.active, y.switched, y.rank)
    assert [str(event) for event in one.events] == [str(event) for event in other.events]
    for name, load in one.joint_loads.items():
        np.testing.assert_array_equal(load, other.joint_loads[name])
    for count in ("steps", "rejected", "evaluations"):
        assert getattr(one.statistics, count) == getattr(other.statistics, count)


def killed_and_gone_on(monkeypatch, run, seed):
    """Call a run until it ends, killed each time when it has written down a few legs; returns how often, and its result."""
    append, random, calls = written.Checkpoint.append, np.random.default_rng(seed), 0
    left = [0]

    def appending(self, *args, **kwargs):
        append(self, *args, **kwargs)
        left[0] -= 1
        if left[0] < 0:
            raise KilledError

    monkeypatch.setattr(written.Checkpoint, "append", appending)
    while True:
        left[0] = int(random.integers(0, 2))
        calls += 1
        try:
            return calls, run()
        except KilledError:
            pass


OF_DEMOS = {"woodpecker": (0.3, {"output": 0.02}), "stick_slip": (2.0, {}), "docking": (15.0, {"output": 0.5})}


@pytest.mark.parametrize("demo", OF_DEMOS)
def test_goes_on_bit_identically(demo, tmp_path, monkeypatch, short_legs):
    duration, options = OF_DEMOS[demo]
    build = importlib.import_module(f"quirk.demos.{demo}").build
    whole = quirk.simulate(build(), duration, checkpoint=tmp_path / "whole", **options)
    calls, parts = killed_and_gone_on(
        monkeypatch, lambda: quirk.simulate(build(), duration, checkpoint=tmp_path / "parts", **options), len(demo)
    )
    assert calls > 1
    same(whole, parts)
    same(whole, quirk.read_checkpoint(tmp_path / "parts", build()))
    # A run in one piece has other steps, and the same motion.
    plain = quirk.simulate(build(), duration, **options)
    hits, others = ([event.name for event in run.events if event.impulse] for run in (whole, plain))
    assert hits == others
    np.testing.assert_allclose(whole.state.position[-1], plain.state.position[-1], atol=1e-9)


@pytest.mark.parametrize("options", [{"solver": "dense"}, {"method": "RK4", "step": 0.01}, {"method": "LSODA"}, {}])
def test_every_way_to_run(options, tmp_path, monkeypatch, short_legs):
    whole = quirk.simulate(pendulum(), 2.0, checkpoint=tmp_path / "whole", output=0.1, **options)
    assert [event.name for event in whole.events] == ["low", "late"]
    _, parts = killed_and_gone_on(
        monkeypatch, lambda: quirk.simulate(pendulum(), 2.0, checkpoint=tmp_path / "parts", output=0.1, **options), 3
    )
    same(whole, parts)
    # The system is in the checkpoint, too; the latch holds the rod where it was.
    same(whole, quirk.read_checkpoint(tmp_path / "parts"))
    held = (whole.time > whole.events[0].time) & (whole.time < 1.5)
    assert held.sum() > 5
    np.testing.assert_allclose(np.ptp(whole["hinge"].rotation[held, 2]), 0, atol=1e-9)


def swinging():
    """A pendulum that goes on for ever."""
    rod = quirk.Body.box("rod", 1.0, [1, 0.05, 0.05], position=[0.5, 0, 0])
    return quirk.System([rod, quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])],
                        gravity=[0, 0, -G])  # fmt: skip


SCRIPT = """
import sys, quirk
import quirk.legged
from tests.test_checkpoints import swinging
quirk.legged.steps_of_leg = lambda bodies, compiled: 50
quirk.simulate(swinging(), 200.0, checkpoint=sys.argv[1], output=0.05)
"""


def test_a_killed_process_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("quirk.legged.steps_of_leg", lambda bodies, compiled: 50)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    random, done = np.random.default_rng(5), 0.0
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "parts")], cwd=root)
        started = time.perf_counter()
        while not (tmp_path / "parts" / "journal").exists() and time.perf_counter() - started < 60:
            time.sleep(0.05)
        time.sleep(0.5 + random.random())
        process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        process.wait()
        records, _ = journal.read(tmp_path / "parts" / "journal")
        reached = records[-1]["leg"]["t"] if len(records) > 1 and records[-1]["leg"] else done
        assert reached >= done
        done = reached
    whole = quirk.simulate(swinging(), 200.0, checkpoint=tmp_path / "whole", output=0.05)
    same(whole, quirk.simulate(swinging(), 200.0, checkpoint=tmp_path / "parts", output=0.05))


class TestFolders:
    """What is in the way of a checkpoint."""

    def run(self, path, **options):
        return quirk.simulate(pendulum(), 1.0, output=0.1, checkpoint=path, **options)

    def test_another_run(self, tmp_path):
        self.run(tmp_path / "a")
        with pytest.raises(quirk.InputError, match="of another run, in which these differ: rtol"):
            self.run(tmp_path / "a", rtol=1e-6)
        with pytest.raises(quirk.InputError, match='Body "rod"'):
            quirk.simulate(pendulum(1.1), 1.0, output=0.1, checkpoint=tmp_path / "a")

    def test_other_files(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(quirk.InputError, match="new or empty folder"):
            self.run(tmp_path)
        with pytest.raises(quirk.InputError, match="path of a folder"):
            self.run(tmp_path / "notes.txt")
        assert (tmp_path / "notes.txt").read_text() == "mine"

    def test_nothing_there(self, tmp_path):
        with pytest.raises(quirk.InputError, match="no checkpoint"):
            quirk.read_checkpoint(tmp_path)

    def test_in_use(self, tmp_path):
        pytest.importorskip("fcntl")
        self.run(tmp_path / "a")
        held = journal.Journal(tmp_path / "a" / "journal")
        with pytest.raises(quirk.InputError, match="in use"):
            self.run(tmp_path / "a")
        held.close()
        self.run(tmp_path / "a")

    def test_damaged_files(self, tmp_path, short_legs):
        """What is not whole at the end is computed again; damage before that is told, or is cut off with what follows."""
        whole = self.run(tmp_path / "a")
        good = (tmp_path / "a" / "journal").read_bytes()
        rows = {path.name: path.read_bytes() for path in (tmp_path / "a").glob("rows-*")}
        random, ends = np.random.default_rng(11), {"same": 0, "error": 0}
        for trial in range(30):
            folder = tmp_path / f"damaged {trial}"
            folder.mkdir()
            text = bytearray(good)
            if trial % 3 == 0:
                text = text[: random.integers(len(text))]
            elif trial % 3 == 1:
                text[random.integers(len(text))] ^= 1 << random.integers(8)
            (folder / "journal").write_bytes(bytes(text))
            for name, content in rows.items():
                cut = random.integers(len(content) + 1) if trial % 3 == 2 and content else len(content)
                (folder / name).write_bytes(content[:cut])
            try:
                same(whole, self.run(folder))
                ends["same"] += 1
            except quirk.InputError as error:
                assert "checkpoint" in str(error)
                ends["error"] += 1
        assert min(ends.values()) > 0


def test_functions_without_text_need_the_system(tmp_path):
    rod = quirk.Body.box("rod", 1.0, [1, 0.05, 0.05])
    push = quirk.Force("push", rod, lambda t, *state: [np.sin(t), 0, 0])
    quirk.simulate(quirk.System([rod, push]), 1.0, output=0.5, checkpoint=tmp_path / "a")
    with pytest.raises(quirk.InputError, match="give system="):
        quirk.read_checkpoint(tmp_path / "a")
    assert quirk.read_checkpoint(tmp_path / "a", quirk.System([rod, push])).status == "completed"
