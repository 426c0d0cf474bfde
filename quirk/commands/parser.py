"""Parser and help texts of the command line, without imports of slow modules."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from ..errors import QuirkError

OVERVIEW = """\
Simulate rigid bodies joined by constraints.

A model file describes bodies, constraints and forces:

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
  duration = 5.0
  output = 0.01
"""
EXAMPLES = """\
examples:
  quirk info pendulum.toml                       its contents, freedoms and consistency
  quirk run pendulum.toml                        simulate it and print a summary
  quirk run pendulum.toml -o plot.png -o run.nc  the same, with a picture and all results in a file
  quirk sweep pendulum.toml --param rod.mass=1:2:5 -o sweep.nc
  quirk demo double-pendulum                     an example with pictures

quirk COMMAND --help describes each command, with examples.
Exit status: 0 done, 1 an error of the model or of the run, 2 wrong use, 130 interrupted.
"""
WRITES = """\
files by suffix:
  .nc                all results, for quirk.Result.load and xarray
  .csv, .npz         tables and arrays with units in their names
  .png, .pdf, .svg   an overview of the motion
  .gif, .mp4         an animation
  .html              a scene that browsers play without a network
  .txt               the summary
"""


class UsageError(QuirkError):
    """Error raised for invalid arguments of the command line."""


class CommandParser(argparse.ArgumentParser):
    """Argument parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error message in one line, and exit with status 2."""
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help shows how it is used\n")


def parser() -> CommandParser:
    """Return the parser of the command line.

    The attribute `command` of the parsed arguments is the name of a module in this package.
    """
    from .. import __version__

    top = _set_texts(CommandParser(prog="quirk"), OVERVIEW, EXAMPLES)
    top.add_argument("--version", action="version", version=f"quirk {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    for name, (summary, description, examples, add) in COMMANDS.items():
        add(_set_texts(commands.add_parser(name, help=summary), description, examples))
    return top


def _set_texts(command: CommandParser, description: str, examples: str) -> CommandParser:
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = description, examples
    return command


def _add_model(command: CommandParser) -> None:
    command.add_argument("model", metavar="MODEL", help="model file: .toml, or another format of quirk.load")


def _add_output(command: CommandParser, content: str) -> None:
    command.add_argument(
        "-o", "--out", metavar="FILE", action="append", default=[], help=f"write {content}; may be given several times"
    )


def _run_options(command: CommandParser) -> None:
    """Add options of `simulate` to the parser of a command; they override the section [run] of the model file."""
    given = command.add_argument_group("of the run", "instead of those in the section [run] of the model file")
    given.add_argument("--duration", type=float, metavar="S", help="how long, s")
    given.add_argument("--start", type=float, metavar="S", help="time at the start, s")
    given.add_argument("--output", type=float, metavar="S", help="interval of the output, s")
    given.add_argument(
        "--method",
        help="auto (default), Vern9, DOP853, Tsit5, RK45, RK4, Taylor, RadauIIA9, Rodas5P, Radau, BDF or LSODA",
    )
    given.add_argument("--rtol", type=float, metavar="X", help="relative bound on the error of a step")
    given.add_argument("--atol", type=float, metavar="X", help="absolute bound on the error of a step")
    given.add_argument("--step", type=float, metavar="S", help="fixed step size, s")
    given.add_argument("--max-step", type=float, metavar="S", help="longest step of an adaptive method, s")


def _add_run(command: CommandParser) -> None:
    _add_model(command)
    _add_output(command, "results")
    command.add_argument(
        "--checkpoint", metavar="FOLDER", help="folder for checkpoints, from which the same command continues"
    )
    _run_options(command)


def _add_kinematics(command: CommandParser) -> None:
    _add_model(command)
    _add_output(command, "results")
    command.add_argument("--times", metavar="A:B:N", help="N times from A to B, s; default: those of the section [run]")


def _add_view(command: CommandParser) -> None:
    command.add_argument("model", metavar="FILE", help="model file, or a result that was saved: .nc")


def _add_sweep(command: CommandParser) -> None:
    _add_model(command)
    command.add_argument(
        "--param",
        metavar="NAME=VALUES",
        action="append",
        default=[],
        help="a parameter and its values: A:B:N, or values with commas between them; of several, all combinations",
    )
    command.add_argument("--params", metavar="FILE", help="a TOML file with parameters; see below")
    command.add_argument("-o", "--out", metavar="FILE.nc", help="write all runs, for xarray.open_dataset")
    command.add_argument(
        "--quantities",
        metavar="NAMES",
        help="quantities stored for each run, as in motion,joints,loads; default: motion",
    )
    command.add_argument("--workers", type=int, metavar="N", help="number of processes; default: one for each core")
    command.add_argument("--client", metavar="ADDRESS", help="compute on the dask cluster at this address")
    _run_options(command)


def _add_demo(command: CommandParser) -> None:
    from ..demos import DEMOS

    listed = "\n".join(f"  {name:<18} {title}" for name, title in DEMOS.items())
    command.description = f"Run a demo and save its pictures:\n{listed}"
    command.add_argument("name", choices=DEMOS, metavar="NAME", help="one of the names above")
    command.add_argument("--out", default="out", metavar="FOLDER", help="folder for the pictures (default: ./out)")


def _add_compile(command: CommandParser) -> None:
    command.add_argument("--workers", type=int, metavar="N", help="number of processes; default: one for each core")


# For each command: summary, description, examples, and the function that adds its arguments.
COMMANDS: dict[str, tuple[str, str, str, Callable[[CommandParser], None]]] = {
    "run": (
        "simulate a model",
        "Simulate a model, print a summary, and write the requested files. Ctrl-C ends the run; the part computed so\n"
        "far is written.",
        f"{WRITES}\nexamples:\n"
        "  quirk run crane.toml\n"
        "  quirk run crane.toml -o crane.nc -o crane.png -o crane.html\n"
        "  quirk run crane.toml --duration 20 --output 0.02 --rtol 1e-6 -o loads.csv",
        _add_run,
    ),
    "info": (
        "analyze a model: freedoms, redundant constraints, consistency",
        "Print the contents of a model, its degrees of freedom, redundant constraints, loads that are therefore not\n"
        "unique, and whether its initial state satisfies all constraints. Exit status 1 if not.",
        "example:\n  quirk info crane.toml",
        _add_model,
    ),
    "kinematics": (
        "compute the motion of a fully driven mechanism",
        "Compute the motion of a fully driven mechanism, without integration, and the loads of its drivers; print a\n"
        "summary, and write the requested files.",
        f"{WRITES}\nexamples:\n"
        "  quirk kinematics engine.toml\n"
        "  quirk kinematics engine.toml --times 0:1:201 -o engine.csv",
        _add_kinematics,
    ),
    "view": (
        "show a model, or a result, in the browser",
        "Show a model in the browser, with sliders that move it, or play a saved result. Ctrl-C closes the view.",
        "examples:\n  quirk view crane.toml\n  quirk view crane.nc",
        _add_view,
    ),
    "sweep": (
        "simulate many variants of a model, on all cores",
        "Simulate a model with different parameters, on all cores, and print the outcome of each run. A parameter is\n"
        "named by a part and an entry of the model file, with a dot between them: rod.mass, drive.motion.rate,\n"
        "system.gravity.2 (counted from 0), run.rtol.",
        "A file of --params has a table of lists, for all combinations, or a table for each run:\n\n"
        '  [parameters]                         [[run]]\n  "rod.mass" = [1.0, 2.0]             "rod.mass" = 1.0\n'
        '  "spring.stiffness" = "10:100:4"      "spring.stiffness" = 25\n\n'
        "examples:\n"
        "  quirk sweep crane.toml --param rod.mass=1:2:5 --param spring.stiffness=10,20,50 -o sweep.nc\n"
        "  quirk sweep crane.toml --params variants.toml --workers 4 -o sweep.nc",
        _add_sweep,
    ),
    "demo": ("run a demo", "", "example:\n  quirk demo double-pendulum --out pictures", _add_demo),
    "compile": (
        "compile all kernels before the first run",
        "Compile all kernels now, in several processes, and keep them for later runs of this installation.",
        "examples:\n  quirk compile\n  NUMBA_CACHE_DIR=/somewhere quirk compile",
        _add_compile,
    ),
}
