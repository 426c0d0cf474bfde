"""Models and simulation options, read from the model file and the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..io.load import load
from ..io.modelfile import ModelText, read
from .parser import UsageError

RUN_OPTIONS = ("duration", "start", "output", "method", "rtol", "atol", "step", "max_step", "checkpoint")


def model_at(path: str) -> ModelText:
    """Return the model in a file: a model file ".toml", or a file in another format supported by `quirk.load`."""
    existing(path)
    return read(path) if path.lower().endswith(".toml") else ModelText(load(path))


def existing(path: str) -> Path:
    """Return the path if it is an existing file; otherwise raise a UsageError."""
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path!r}")
    return Path(path)


def run_options(options: argparse.Namespace, of_file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `simulate` from the command line and the model file.

    `of_file` are the options in the model file; options of the command line override them.
    """
    given = {name: getattr(options, name, None) for name in RUN_OPTIONS}
    found = {**of_file, **{name: value for name, value in given.items() if value is not None}}
    if "duration" not in found:
        raise UsageError(f"{options.model} has no duration in a section [run]: use --duration SECONDS")
    return found
