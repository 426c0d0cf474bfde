"""`quirk demo`: demonstrations with pictures."""

from __future__ import annotations

import argparse
from importlib import import_module

from ..demos import DEMOS
from ..util import validate


def command(options: argparse.Namespace) -> str:
    """Run the demo selected by the options, and save its pictures in a folder."""
    out = validate.output_folder("demo", "--out", options.out)

    import matplotlib as mpl

    mpl.use("Agg")  # pictures are written to files even if there is a display
    module = import_module("quirk.demos." + options.name.replace("-", "_"))
    print(f"{options.name}: {DEMOS[options.name]}")
    module.run(out)
    for path in sorted(out.glob(f"{options.name}*")):
        print(f"wrote {path}")
    return "completed"
