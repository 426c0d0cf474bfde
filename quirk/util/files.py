"""Files that are written as a whole or not at all, and files that one process at a time holds."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LOOK = 0.05  # s between two attempts to get hold of a file


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give the name of a new file beside `path`, which is moved there at the end, and removed if there is an error.

    What was at `path` stays until then; whoever reads it finds the old file or the new one.
    """
    aside = path.with_name(f".{uuid.uuid4().hex[:16]}{path.suffix}")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def made_folder(folder: Path) -> None:
    """Make a folder, and those above, such that others may not write to it, whatever the umask."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            with contextlib.suppress(FileExistsError):  # another process has just made it
                place.mkdir(0o755)


def held(path: Path, longest: float) -> BinaryIO | None:
    """Return a file that this process alone holds, until it lets go of it or ends, however it does.

    None if another process holds it for `longest` seconds, or files cannot be held there.
    """
    end = time.monotonic() + longest
    while time.monotonic() <= end:
        try:
            made_folder(path.parent)
            file = path.open("ab")
            try:
                _hold(file)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):  # else its holder has just removed it
                    return file
            except (BlockingIOError, FileNotFoundError):
                pass
            file.close()
        except OSError:  # nothing can be written there, or held, as on some network drives
            return None
        time.sleep(LOOK)
    return None


def let_go(file: BinaryIO) -> None:
    """Let others hold a file, which is removed."""
    with contextlib.suppress(OSError):  # on Windows, others that wait for it have it open
        os.unlink(file.name)
    file.close()


def _hold(file: BinaryIO) -> None:
    """Hold a file, or raise BlockingIOError where another process does."""
    if os.name == "nt":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except PermissionError as error:
            raise BlockingIOError from error
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
