"""Runs that are written down while they go on: killed at any moment, they go on bit-identically."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from mechanisms import level_rod, pendulum
from studies import study

import quirk
from quirk.io.checkpoints import checkpoint as written
from quirk.io.checkpoints import journal

G = 9.81
DATA = Path(__file__).parent / "data"


class KilledError(Exception):
    """Raised in place of a kill."""


@pytest.fixture
def short_intervals(monkeypatch):
    """Legs of a few steps."""
    monkeypatch.setattr(
        "quirk.simulation.hybrid.checkpointed_run.steps_between_restarts",
        lambda bodies, compiled: 15 if compiled else 120,
    )


def latched(length=1.0):
    """A pendulum that a latch holds for a while."""
    rod, hinge = level_rod(length=length)
    latch = quirk.Fixed("latch", quirk.GROUND, rod, active=False)
    low = quirk.Event("low", "rod.speed", level=2.0, direction=1, action=[quirk.engage(latch, keep_offset=True)])
    late = quirk.Event("late", "time", level=1.5, action=[quirk.release(latch)])
    return quirk.System([rod, hinge, latch, low, late], gravity=[0, 0, -G])


def swinging():
    """A pendulum without events."""
    return quirk.System(level_rod(), gravity=[0, 0, -G])


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
    for name, load in one._joint_loads.items():
        np.testing.assert_array_equal(load, other._joint_loads[name])
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


@pytest.mark.parametrize("demo", study(OF_DEMOS, {"stick_slip"}))
def test_goes_on_bit_identically(demo, tmp_path, monkeypatch, short_intervals):
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


WAYS = [
    (latched, {}), (latched, {"method": "RK4", "step": 0.01}), (swinging, {"solver": "dense"}),
    (swinging, {"method": "LSODA"}),
]  # fmt: skip


@pytest.mark.parametrize(("build", "options"), study(WAYS, 2))
def test_every_way_to_run(build, options, tmp_path, monkeypatch, short_intervals):
    whole = quirk.simulate(build(), 2.0, checkpoint=tmp_path / "whole", output=0.1, **options)
    _, parts = killed_and_gone_on(
        monkeypatch, lambda: quirk.simulate(build(), 2.0, checkpoint=tmp_path / "parts", output=0.1, **options), 3
    )
    same(whole, parts)
    # The system is in the checkpoint, too.
    same(whole, quirk.read_checkpoint(tmp_path / "parts"))
    if build is swinging:
        return
    assert [event.name for event in whole.events] == ["low", "late"]
    # The latch holds the rod where it was.
    held = (whole.time > whole.events[0].time) & (whole.time < 1.5)
    assert held.sum() > 5
    np.testing.assert_allclose(np.ptp(whole["hinge"].rotation[held, 2]), 0, atol=1e-9)


def test_work_adds_up_over_legs(tmp_path, short_intervals):
    """Legs end between two outputs, and the work of all intervals is that of the whole run."""
    puck = quirk.Body.sphere("puck", 2.0, 0.1, velocity=[1.0, 0.5, 0])
    drag = quirk.Damping("drag", translational=1.5)
    kick = quirk.Event("kick", "time", level=1.1, action=quirk.set_velocity("puck", [2.0, 0, 0]))
    system = quirk.System([puck, drag, kick])
    result = quirk.simulate(system, 3.0, output=0.1, max_step=0.02, checkpoint=tmp_path / "run")
    assert len(result.segments) > 5
    assert np.abs(result.power.balance).max() < 1e-9
    joined = quirk.join(result, quirk.simulate(system, 1.0, initial_state=result.state_at(), start=3.0, output=0.1))
    assert np.abs(joined.power.balance).max() < 1e-9


SCRIPT = """
import sys, quirk
import quirk.simulation.hybrid.checkpointed_run
from mechanisms import pendulum
quirk.simulation.hybrid.checkpointed_run.steps_between_restarts = lambda bodies, compiled: 50
quirk.simulate(pendulum(), 200.0, checkpoint=sys.argv[1], output=0.05)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("quirk.simulation.hybrid.checkpointed_run.steps_between_restarts", lambda bodies, compiled: 50)
    folder = os.path.dirname(os.path.abspath(__file__))
    random, done = np.random.default_rng(5), 0.0
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "parts")], cwd=folder)
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
    whole = quirk.simulate(pendulum(), 200.0, checkpoint=tmp_path / "whole", output=0.05)
    same(whole, quirk.simulate(pendulum(), 200.0, checkpoint=tmp_path / "parts", output=0.05))


class TestFolders:
    """What is in the way of a checkpoint."""

    def run(self, path, **options):
        return quirk.simulate(latched(), 1.0, output=0.1, checkpoint=path, **options)

    def test_another_run(self, tmp_path):
        self.run(tmp_path / "a")
        with pytest.raises(quirk.InputError, match="belongs to another run; differences: rtol"):
            self.run(tmp_path / "a", rtol=1e-6)
        with pytest.raises(quirk.InputError, match='Body "rod"'):
            quirk.simulate(latched(1.1), 1.0, output=0.1, checkpoint=tmp_path / "a")

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

    @pytest.mark.parametrize("content", [b"my own diary\n", b"no line", b"0" * 5000, b"00000000 {}\n", b"\n"])
    @pytest.mark.parametrize("link", [False, True])
    def test_a_journal_of_somebody_else_is_left_as_it_is(self, content, link, tmp_path):
        folder, diary = tmp_path / "a", tmp_path / "diary"
        folder.mkdir()
        diary.write_bytes(content)
        if link:
            (folder / "journal").symlink_to(diary)
        else:
            diary.rename(folder / "journal")
        with pytest.raises(quirk.InputError, match="left unchanged"):
            self.run(folder)
        assert (folder / "journal").read_bytes() == content
        assert [path.name for path in folder.iterdir()] == ["journal"]

    def test_what_is_no_file_is_left_as_it_is(self, tmp_path):
        (tmp_path / "folder" / "journal").mkdir(parents=True)
        (tmp_path / "pipe").mkdir()
        if hasattr(os, "mkfifo"):
            os.mkfifo(tmp_path / "pipe" / "journal")
        else:
            (tmp_path / "pipe" / "journal").mkdir()
        (tmp_path / "empty").touch()
        (tmp_path / "linked").mkdir()
        (tmp_path / "linked" / "journal").symlink_to(tmp_path / "empty")
        (tmp_path / "nowhere").mkdir()
        (tmp_path / "nowhere" / "journal").symlink_to(tmp_path / "missing")
        for name in ("folder", "pipe", "linked", "nowhere"):
            with pytest.raises(quirk.InputError, match="checkpoint"):
                self.run(tmp_path / name)
        assert (tmp_path / "empty").read_bytes() == b""
        assert not (tmp_path / "missing").exists()

    def test_a_kill_right_at_the_start(self, tmp_path):
        """It may leave an empty journal."""
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "journal").touch()
        assert self.run(tmp_path / "a").status == "completed"


def damaged(content, random, kind):
    """The content of a file with part of it cut off, zeroed, changed in one bit, or gone."""
    if kind == "cut":
        return content[: random.integers(len(content))]
    if kind == "gone":
        return b""
    changed, at = bytearray(content), random.integers(len(content))
    if kind == "bit":
        changed[at] ^= 1 << random.integers(8)
    else:
        changed[at : at + 64] = bytes(len(changed[at : at + 64]))
    return bytes(changed)


class TestDamage:
    """Damage anywhere: the result is the same in every bit, or an error leaves all as it is."""

    @pytest.fixture
    def whole(self, tmp_path, short_intervals):
        """A complete run, and the files of its checkpoint."""
        result = self.run(tmp_path / "whole")
        return result, {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}

    def run(self, folder, **options):
        return quirk.simulate(latched(), 1.0, output=0.1, checkpoint=folder, **options)

    def placed(self, folder, files):
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return folder

    @pytest.mark.parametrize("seed", study(range(24), 8))
    def test_anywhere(self, seed, whole, tmp_path, recwarn):
        result, files = whole
        random = np.random.default_rng([8, seed])
        kind = ["bit", "zeros", "cut", "gone"][seed % 4]
        changed, names = dict(files), sorted(files)
        for name in {names[seed // 4 % len(names)], *random.choice(names, random.integers(2))}:
            changed[name] = damaged(files[name], random, kind)
        print(kind, [name for name in files if changed[name] != files[name]])
        folder = self.placed(tmp_path / "a", changed)
        head = files["journal"].partition(b"\n")[0]
        if not changed["journal"].startswith(head + b"\n") and changed["journal"]:
            with pytest.raises(quirk.InputError, match="first line is damaged"):
                self.run(folder)
            assert {path.name: path.read_bytes() for path in folder.iterdir()} == changed
            return
        if not changed["journal"]:
            with pytest.raises(quirk.InputError, match="new or empty folder"):
                self.run(folder)
            return
        same(result, self.run(folder))
        told = [str(one.message) for one in recwarn if one.category is quirk.CheckpointWarning]
        for name in files:
            if name != "journal" and changed[name] != files[name]:
                assert any("damaged" in line or "cannot be read" in line for line in told)
        recwarn.clear()
        same(result, self.run(folder))
        same(result, quirk.read_checkpoint(folder))
        assert not [one for one in recwarn if one.category is quirk.CheckpointWarning]

    def test_the_page_names_all_files(self, whole):
        _, files = whole
        page = (Path(__file__).parents[1] / "docs" / "long-runs.md").read_text(encoding="utf-8")
        assert set(re.findall(r"`(journal|rows-0\.\w+)`", page)) == set(files)

    def test_later_legs_are_taken_over(self, whole, tmp_path, monkeypatch):
        """Of a damaged leg in the middle that leg alone is computed again, also if it is killed meanwhile."""
        result, files = whole
        lines = files["journal"].splitlines(keepends=True)
        assert len(lines) > 4
        lines[2] = lines[2][:100] + b"x" + lines[2][101:]
        folder = self.placed(tmp_path / "a", {**files, "journal": b"".join(lines)})
        with pytest.warns(quirk.CheckpointWarning, match="line 3 of its journal is damaged"):
            partial = quirk.read_checkpoint(folder)
        assert partial.status == "interrupted"
        np.testing.assert_array_equal(partial.state.position, result.state.position[: len(partial.time)])
        calls, append = [], written.Checkpoint.append
        monkeypatch.setattr(written.Checkpoint, "append", lambda *args: (calls.append(args), append(*args))[1])
        with pytest.warns(quirk.CheckpointWarning, match=f"{len(lines) - 3} later records are undamaged"):
            same(result, self.run(folder))
        assert len(calls) == 1
        assert (folder / "journal").read_bytes().startswith(b"".join(lines))

    def test_a_damaged_first_line(self, whole, tmp_path):
        """The run is not taken for another one; what is there can be read."""
        result, files = whole
        folder = self.placed(tmp_path / "a", {**files, "journal": b"x" + files["journal"][1:]})
        with pytest.raises(quirk.InputError, match="first line is damaged"):
            self.run(folder)
        with pytest.raises(quirk.InputError, match="use the argument system="):
            quirk.read_checkpoint(folder)
        with pytest.warns(quirk.CheckpointWarning, match="first line"):
            same(result, quirk.read_checkpoint(folder, latched()))

    def test_times_that_decrease(self, whole, tmp_path):
        """They are noticed also where a version has written no checksums."""
        result, files = whole
        times = np.frombuffer(files["rows-0.time"]).copy()
        times[5] = 0.0
        folder = self.placed(tmp_path / "a", {**files, **of_format_1(files), "rows-0.time": times.tobytes()})
        with pytest.warns(quirk.CheckpointWarning, match="times that decrease"):
            same(result, self.run(folder))


def of_format_1(files):
    """The journal as the first format has it: no checksums of rows, and legs in the order of lines."""
    lines = []
    for line in files["journal"].splitlines():
        record = json.loads(line[9:])
        record.pop("from", None)
        for segment in record.get("segments", ()):
            del segment["rows"][4:]
        text = json.dumps({**record, "format": 1} if "format" in record else record).encode()
        lines.append(b"%08x " % zlib.crc32(text) + text + b"\n")
    return {"journal": b"".join(lines)}


@pytest.mark.parametrize("legs", [1, 2, 3])
def test_checkpoints_of_the_first_format_go_on(legs, tmp_path, short_intervals):
    whole = quirk.simulate(latched(), 1.0, output=0.1, checkpoint=tmp_path / "a")
    files = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    lines = of_format_1(files)["journal"].splitlines(keepends=True)
    kept = b"".join(lines[: 1 + legs])
    (tmp_path / "a" / "journal").write_bytes(kept)
    same(whole, quirk.simulate(latched(), 1.0, output=0.1, checkpoint=tmp_path / "a"))
    journal = (tmp_path / "a" / "journal").read_bytes()
    assert journal.startswith(kept) and len(journal) > len(kept)


def test_a_checkpoint_that_an_older_version_has_written():
    old = quirk.read_checkpoint(DATA / "checkpoint_format_1")
    assert (old.status, len(old.time)) == ("completed", 12)
    np.testing.assert_allclose(old["rod"].position[-1], [-0.11406060812, 0, -0.48681636957], atol=1e-10)


def test_functions_without_text_need_the_system(tmp_path):
    rod = quirk.Body.box("rod", 1.0, [1, 0.05, 0.05])
    push = quirk.Force("push", rod, lambda t, *state: [np.sin(t), 0, 0])
    quirk.simulate(quirk.System([rod, push]), 1.0, output=0.5, checkpoint=tmp_path / "a")
    with pytest.raises(quirk.InputError, match="use the argument system="):
        quirk.read_checkpoint(tmp_path / "a")
    assert quirk.read_checkpoint(tmp_path / "a", quirk.System([rod, push])).status == "completed"


def test_other_laws_of_impacts_and_other_tolerances_belong_to_another_run(tmp_path):
    def row(**options):
        balls = [quirk.Body.sphere(f"ball {k}", 1.0, 0.1, position=[0.2 * k, 0, 0]) for k in range(2)]
        rails = [quirk.Prismatic(f"rail {k}", quirk.GROUND, ball, axis="x") for k, ball in enumerate(balls)]
        return quirk.System([*balls, *rails], **options)

    quirk.simulate(row(), 0.1, checkpoint=tmp_path / "run")
    for system, options in (
        (row(), {"impacts": "sequential"}),
        (row(rank_tolerance=1e-3), {}),
        (row(load_length=5.0), {}),
    ):
        with pytest.raises(quirk.InputError, match="belongs to another run"):
            quirk.simulate(system, 0.1, checkpoint=tmp_path / "run", **options)
    quirk.simulate(row(), 0.1, checkpoint=tmp_path / "run")
