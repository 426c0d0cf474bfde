"""The command line: what it says and how it ends when something is in its way."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from quirk.demos import door
from studies import study

import quirk
from quirk.commands import cli

COMMAND = [sys.executable, "-c", "import sys; from quirk.commands.cli import main; sys.exit(main())"]
MODEL = """
[system]
gravity = [0, 0, -9.81]

[[body]]
name = "rod"
kind = "Body.box"
mass = 1.0
size = [1, 0.05, 0.05]
position = [0.5, 0, 0]

[[constraint]]
name = "hinge"
kind = "Revolute"
body_i = "ground"
body_j = "rod"
point = [0, 0, 0]
axis = [0, 1, 0]

[run]
duration = 0.4
output = 0.1
"""
DRIVE = """
[[constraint]]
name = "drive"
kind = "Drive"
joint = "hinge"
motion = {kind = "Motion.constant_rate", rate = 2.0}
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model file, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL)
    return tmp_path / "model.toml"


def used(arguments, capsys):
    """The exit status, and what was printed."""
    try:
        status = cli.main(arguments)
    except SystemExit as exit:
        status = exit.code
    return status, *capsys.readouterr()


@pytest.mark.parametrize("out", ["file", "file/folder"])
def test_a_folder_that_cannot_be_written_is_named_before_anything_is_computed(tmp_path, monkeypatch, capsys, out):
    (tmp_path / "file").touch()
    monkeypatch.setattr(door, "run", None)
    assert cli.main(["demo", "door", "--out", str(tmp_path / out)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith(f"quirk: demo: --out: nothing can be written at '{tmp_path / out}': there is a file where a")


@pytest.mark.parametrize(
    ("closed", "unbuffered"),
    study([("stderr", "1"), ("stdout", "")], 1),
)
def test_a_closed_pipe_ends_it_quietly(tmp_path, closed, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, closed: writing}
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [*COMMAND, "demo", "door", "--out", str(tmp_path)]
    done = subprocess.run(command, env=environment, text=True, cwd=tmp_path, **streams)
    os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE
    said = done.stderr if closed == "stdout" else done.stdout
    assert "Error" not in said
    assert "Traceback" not in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "demo", "door", "--out", str(tmp_path)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
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
from quirk.commands import cli
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


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["sweep", "--help"], ["nonsense"]])
def test_what_computes_nothing_loads_nothing(arguments):
    script = (
        "import sys; from quirk.commands.cli import main\n"
        f"try: main({arguments})\n"
        "finally: print(sorted({*sys.modules} & {'numpy', 'scipy', 'numba', 'matplotlib'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["run", "info", "kinematics", "view", "sweep", "demo", "compile"])
def test_help_teaches_with_examples(command, capsys):
    assert command in used(["--help"], capsys)[1]
    status, out, _ = used([command, "--help"], capsys)
    assert status == 0
    assert f"  quirk {command}" in out.partition("example")[2]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "quirk: the following arguments are required: COMMAND"),
        (["run"], "quirk run: the following arguments are required: MODEL"),
        (["run", "none.toml"], "quirk run: there is no file 'none.toml'"),
        (
            ["run", "model.toml", "-o", "x.doc"],
            "quirk run: unknown format of 'x.doc': its name must end in .nc",
        ),
        (["run", "model.toml", "--rtol", "x"], "quirk run: argument --rtol: invalid float value: 'x'"),
        (["run", "rest.toml"], "quirk run: rest.toml has no duration in a section [run]: use --duration"),
        (["kinematics", "rest.toml"], "quirk kinematics: rest.toml has no duration and output in a section [run]"),
        (["kinematics", "model.toml", "--times", "0:1"], "quirk kinematics: --times: A:B:N stands for N numbers"),
        (["sweep", "model.toml"], "quirk sweep: no parameters: use --param"),
        (["sweep", "model.toml", "--param", "rod.mass"], "quirk sweep: --param must be NAME=VALUES"),
        (["sweep", "model.toml", "--param", "rod.mass=1:2:0"], "quirk sweep: --param rod.mass: A:B:N stands for"),
        (["sweep", "rest.toml", "--param", "rod.mass=1"], "quirk sweep: rest.toml has no duration in a section [run]"),
        (["sweep", "model.toml", "--params", "rest.toml"], "quirk sweep: rest.toml must have a section [parameters]"),
    ],
)
def test_wrong_use_is_one_line(model, capsys, arguments, line):
    model.with_name("rest.toml").write_text(MODEL.partition("[run]")[0])
    status, out, err = used(arguments, capsys)
    assert (status, out) == (2, "")
    (said,) = err.splitlines()
    assert said.startswith(line)
    assert said.endswith("--help shows how it is used")


def test_all_mistakes_of_a_model_are_said(model, capsys):
    model.write_text(MODEL.replace("mass =", "mas =").replace('"Revolute"', '"Revolut"'))
    for command in (["run"], ["info"], ["sweep", "--param", "rod.size.0=1"]):
        status, out, err = used([command[0], "model.toml", *command[1:]], capsys)
        assert (status, out) == (1, "")
        assert 'there is no "mas"' in err
        assert "Revolut" in err
        assert "Traceback" not in err


def test_a_run_is_printed_and_written(model, capsys):
    names = ["a.nc", "a.csv", "a.npz", "a.txt", "folder/a.png"]
    arguments = ["run", "model.toml", "--duration", "0.3", *(word for name in names for word in ("-o", name))]
    status, out, _ = used(arguments, capsys)
    assert status == 0
    assert "completed 0.3 s" in out
    result = quirk.Result.load("a.nc")
    alone = quirk.simulate(quirk.load("model.toml"), 0.3, output=0.1)
    np.testing.assert_array_equal(result["rod"].position, alone["rod"].position)
    assert len(model.with_name("a.csv").read_text().splitlines()) == 5
    assert model.with_name("a.txt").read_text() in out
    assert model.parent.joinpath("folder", "a.png").read_bytes().startswith(b"\x89PNG")


def test_info(model, capsys):
    status, out, _ = used(["info", "model.toml"], capsys)
    assert status == 0
    assert "degrees of freedom: 1 = 6 x 1 - rank 5 of 5 rows" in out
    assert "initial state: satisfies all constraints" in out
    model.write_text(MODEL.replace("position = [0.5, 0, 0]", "position = [0.5, 0, 0]\nvelocity = [1, 0, 0]"))
    status, out, _ = used(["info", "model.toml"], capsys)
    assert status == 1
    assert 'initial state: Revolute "hinge": the initial velocities violate it by 1 m/s' in out


def test_kinematics(model, capsys):
    model.write_text(MODEL + DRIVE)
    status, out, _ = used(["kinematics", "model.toml", "--times", "0:0.5:6", "-o", "k.csv"], capsys)
    assert status == 0
    assert "6 positions to 0.5 s" in out
    assert len(model.with_name("k.csv").read_text().splitlines()) == 7


def test_a_sweep_of_a_model(model, capsys):
    """Parameters on the command line and in a file; a run that fails is told and does not end the others."""
    xarray = pytest.importorskip("xarray")
    model.with_name("more.toml").write_text("[parameters]\nsystem.gravity.2 = [-9.81, -1.62]\n")
    arguments = ["sweep", "model.toml", "--param", "rod.mass=1:0:2", "--params", "more.toml", "-o", "s.nc"]
    status, out, _ = used([*arguments, "--workers", "1"], capsys)
    assert status == 1
    assert "2 completed, 2 failed" in out
    assert "mass must be positive; got 0" in out
    with xarray.open_dataset("s.nc") as found:
        assert found["system.gravity.2"].values.tolist() == [-9.81, -1.62] * 2
        alone = quirk.simulate(quirk.load("model.toml"), 0.4, output=0.1)
        np.testing.assert_array_equal(found.position[0, :, 0], alone["rod"].position)
    model.with_name("rows.toml").write_text("[[run]]\nrod.mass = 1.0\nrun.rtol = 1e-3\n")
    from quirk.commands import sweep
    from quirk.commands.parser import parser

    options = parser().parse_args(["sweep", "model.toml", "--params", "rows.toml"])
    (row,) = sweep._parameters(options)
    system, own = sweep.built(MODEL, "model", {"atol": 1e-5}, **row)
    assert (row, own) == ({"rod.mass": 1.0, "run.rtol": 1e-3}, {"rtol": 1e-3, "atol": 1e-5})
    assert system["rod"].mass == 1.0


def test_control_c_of_a_run_writes_what_there_is(model, capsys, monkeypatch):
    model.write_text(MODEL.replace("duration = 0.4", "duration = 1e6").replace("output = 0.1", "output = 1"))
    quirk.simulate(quirk.load("model.toml"), 0.1)  # so that machine code is loaded

    def interrupted(system, **options):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return quirk.simulate(system, **options)

    monkeypatch.setattr("quirk.commands.run.simulate", interrupted)
    status, out, _ = used(["run", "model.toml", "-o", "a.csv"], capsys)
    assert status == 130
    assert "\ninterrupted " in out
    assert 2 < len(model.with_name("a.csv").read_text().splitlines()) < 1e6


def test_kernels_are_compiled_in_processes_of_their_own(model, monkeypatch, capsys):
    """Each kind of work is done, and one that fails is an error; that all kernels are there then, takes minutes to try."""
    from quirk.commands import compile

    monkeypatch.setattr(compile, "START", "import sys; open('done', 'a').write(' '.join(sys.argv[1:]) + ' ')")
    monkeypatch.setattr(compile, "WORK", ("one", "two", "three", "four", "five"))
    status, out, _ = used(["compile", "--workers", "2"], capsys)
    assert (status, "all kernels are compiled" in out) == (0, True)
    with open("done") as done:
        assert sorted(done.read().split()) == ["five", "four", "one", "three", "two"]
    monkeypatch.setattr(compile, "START", "raise SystemExit(3)")
    status, _, err = used(["compile"], capsys)
    assert status == 1
    assert re.fullmatch(r"quirk: compilation for .* failed; see above\n", err)  # whichever ends first
