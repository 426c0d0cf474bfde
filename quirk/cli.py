"""The command line: `quirk demo NAME`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    from . import __version__
    from .demos import DEMOS

    parser = argparse.ArgumentParser(prog="quirk", description="Simulate rigid bodies joined by constraints.")
    parser.add_argument("--version", action="version", version=f"quirk {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    listed = "\n".join(f"  {name:<18} {title}" for name, title in DEMOS.items())
    demo = commands.add_parser(
        "demo",
        help="run a demo",
        description=f"Run a demo and save its pictures:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument("name", choices=DEMOS, metavar="NAME", help="one of the names above")
    demo.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures (default: ./out)")
    options = parser.parse_args(arguments)

    import matplotlib as mpl

    from .errors import QuirkError

    mpl.use("Agg")  # the pictures go to files, also where a display is there
    module = import_module("quirk.demos." + options.name.replace("-", "_"))
    print(f"{options.name}: {DEMOS[options.name]}")
    try:
        module.run(options.out)
    except (QuirkError, OSError) as error:
        print(f"quirk: {error}", file=sys.stderr)
        return 1
    for path in sorted(options.out.glob(f"{options.name}*")):
        print(f"wrote {path}")
    return 0
