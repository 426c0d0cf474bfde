"""Model files: systems and options of runs in TOML format.

Each table of the file describes one body, constraint, force or event by its kind (the class or function that creates
it) and the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quirk.errors import InputError
from quirk.system.system import System
from quirk.util import validate
from quirk.util.output import atomic_output

from .reading import ModelText, model_of
from .toml import toml_text
from .written import tables_of

__all__ = [
    "Model",
    "model_of",
    "read",
    "system_of",
    "text_of",
    "write",
]


def text_of(system: System, run: Mapping[str, Any] | None = None) -> str:
    """Return a system in TOML format, optionally with the arguments of `simulate` for a run.

    Raises
    ------
    InputError
        If some parts cannot be written, such as parts with Python functions; the message names all of them.
    """
    return toml_text(tables_of(system, run))


def system_of(text: str, where: str = "the model") -> System:
    """Return the system described by a TOML document; `where` is the name of the document in messages.

    Raises
    ------
    InputError
        If the document has errors; the message lists all of them with their lines.
    """
    return model_of(text, where).system


def read(path: str | Path) -> ModelText:
    """Return the system and the run options of a model file.

    Raises
    ------
    InputError
        If the file does not exist or has errors; the message lists all errors with their lines.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"load: {str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return model_of(text, str(path))


def write(system: System, path: str | Path, run: Mapping[str, Any] | None = None) -> None:
    """Write a system, optionally with the arguments of `simulate` for a run, to a model file.

    An existing file is replaced atomically.
    """
    place = validate.output_file("System.save", path, (".toml",))
    text = text_of(system, run)
    with atomic_output("System.save", place) as aside:
        aside.write_text(text, encoding="utf-8")
