"""Atomic writing of output files, with error messages that state the reason and which data remain on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import WriteError
from . import files


@contextmanager
def atomic_output(owner: str, path: Path) -> Iterator[Path]:
    """Context manager that yields the path of a temporary file, which atomically replaces `path` at the end.

    Parameters
    ----------
    owner : name of the function, for messages
    path : path of the output file

    Raises
    ------
    WriteError
        If the disk is full, or the file cannot be written for another reason. The temporary file is removed.
    """
    kept = "nothing is left of it, and a file that was there before is unchanged"
    with writing(owner, path, kept), files.atomic_replacement(path) as aside:
        yield aside


@contextmanager
def writing(owner: str, path: Path, remaining: str) -> Iterator[None]:
    """Context manager that converts an OSError to a WriteError.

    The message names the function `owner` and the file `path`, and ends with `remaining`, a description of the data
    that remain on disk.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or f"{error}"
        raise WriteError(
            f"{owner}: {str(path)!r} cannot be written: {reason}{_disk_space_hint(path)}; {remaining}"
        ) from error


def _disk_space_hint(path: Path) -> str:
    """Return a phrase with the free space on the disk that holds `path`; an empty string if it is unknown."""
    try:
        return f" ({shutil.disk_usage(path.parent).free / 1e6:.1f} MB are free there)"
    except OSError:
        return ""
