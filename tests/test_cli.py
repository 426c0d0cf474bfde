"""The command line: what it says and how it ends when something is in its way."""

import os
import signal
import subprocess
import sys
import time

import pytest
from quirk.demos import door

from quirk import cli

COMMAND = [sys.executable, "-c", "import sys; from quirk.cli import main; sys.exit(main())"]


@pytest.mark.parametrize("out", ["file", "file/folder"])
def test_a_folder_that_cannot_be_written_is_named_before_anything_is_computed(tmp_path, monkeypatch, capsys, out):
    (tmp_path / "file").touch()
    monkeypatch.setattr(door, "run", None)
    assert cli.main(["demo", "door", "--out", str(tmp_path / out)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith(f"quirk: demo: --out: nothing can be written at '{tmp_path / out}': there is a file where a")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_pipe_ends_it_quietly(tmp_path, closed, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, closed: writing}
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run([*COMMAND, "demo", "door", "--out", str(tmp_path)], env=environment, text=True, **streams)
    os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE
    said = done.stderr if closed == "stdout" else done.stdout
    assert "Error" not in said
    assert "Traceback" not in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "demo", "door", "--out", str(tmp_path)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if "%" not in line] == [
        "quirk: [Errno 28] No space left on device"
    ]


def test_control_c_ends_it(tmp_path):
    """While the demo runs; the run itself would make a shorter result of a KeyboardInterrupt."""
    script = """
import sys, time
import quirk
from quirk import cli
from quirk.demos import door

def slow(t, *motion):
    time.sleep(0.05)
    return 0, 0, 0

def run(out):
    body = quirk.Body("body", 1.0, [1, 1, 1])
    system = quirk.System([body, quirk.Force("slow", body, slow)])
    print("started", flush=True)
    quirk.simulate(system, 1.0, method="RK4", step=1e-3)
    print("went on")

door.run = run
sys.exit(cli.main(["demo", "door"]))
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=-1, stderr=-1, text=True)
    while process.stdout.readline() != "started\n":
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "quirk: interrupted\n")


def test_control_c_is_python_s_own_again_afterwards(tmp_path, monkeypatch):
    handlers = []
    monkeypatch.setattr(door, "run", lambda out: handlers.append(signal.getsignal(signal.SIGINT)))
    assert cli.main(["demo", "door", "--out", str(tmp_path)]) == 0
    assert handlers[0] is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
