"""Files that users ask for: written as a whole, or an error says why not and what is left."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import WriteError
from . import files


@contextmanager
def whole(owner: str, path: Path) -> Iterator[Path]:
    """Give the name of a new file beside `path`, which is moved there once it is complete; see `files.whole`.

    Parameters
    ----------
    owner : the function that messages name
    path : Path

    Raises
    ------
    WriteError
        If the disk is full, or the file cannot be written for another reason. Nothing is left of the new file.
    """
    kept = "nothing is left of it, and a file that was there before is unchanged"
    with writing(owner, path, kept), files.whole(path) as aside:
        yield aside


@contextmanager
def writing(owner: str, path: Path, kept: str) -> Iterator[None]:
    """Raise WriteError, which says what is `kept`, where a file cannot be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or f"{error}"
        raise WriteError(f"{owner}: {str(path)!r} cannot be written: {reason}{_room(path)}; {kept}") from error


def _room(path: Path) -> str:
    """Return how much room there is on the disk of a file, or nothing where that cannot be said."""
    try:
        return f" ({shutil.disk_usage(path.parent).free / 1e6:.1f} MB are free there)"
    except OSError:
        return ""
