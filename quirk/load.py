"""Systems from files of several formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import validate
from .errors import InputError
from .system import System


def load(path: str | Path) -> System:
    """Return the system that a file describes; the end of its name says in which format.

    Parameters
    ----------
    path : name of a file
        ".toml": a model file of QuIRK, as `System.save` writes it.

    Raises
    ------
    InputError
        If there is no such file, or it has mistakes: all of them, each with its place.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"load: path must be the name of a file; got {path!r}")
    validate.choice("load", "the end of path", Path(path).suffix.lower(), tuple(READERS))
    return READERS[Path(path).suffix.lower()](Path(path))


def _model_file(path: Path) -> System:
    from .modelfile import read

    return read(path).system


# What reads files whose names end so.
READERS: dict[str, Callable[[Path], System]] = {".toml": _model_file}
