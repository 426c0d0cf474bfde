"""Drawings by name, and the files that hold them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from .sketch import Sketch

SCENES: dict[str, Callable[[], Sketch]] = {}


def scene(draw: Callable[[], Sketch]) -> Callable[[], Sketch]:
    """Register a function that returns a drawing, under its name."""
    SCENES[draw.__name__.replace("_", "-")] = draw
    return draw


def save_scenes(folder: Path) -> None:
    """Draw the scenes named on the command line, or all, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or SCENES:
        SCENES[name]().save(folder / f"{name}.png")
