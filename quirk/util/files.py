"""Atomic file writing and exclusive file locks."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LOOK = 0.05  # interval between two attempts to lock a file, s


@contextmanager
def atomic_replacement(path: Path) -> Iterator[Path]:
    """Context manager that yields the path of a temporary file, which atomically replaces `path` at the end.

    After an error the temporary file is removed. Readers of `path` see either the complete old file or the complete new
    one.
    """
    aside = path.with_name(f".{uuid.uuid4().hex[:16]}{path.suffix}")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def private_folder(folder: Path) -> None:
    """Create a folder and its parents, writable by this user only, regardless of the umask."""
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            with contextlib.suppress(FileExistsError):  # another process has just made it
                place.mkdir(0o755)


def locked_file(path: Path, longest: float) -> BinaryIO | None:
    """Open a file and lock it exclusively for this process; return None if that fails.

    Locking fails if another process holds the lock for more than `longest` seconds, or if the file system does not
    support locks. The lock lasts until `release_file` is called or the process ends.
    """
    end = time.monotonic() + longest
    while time.monotonic() <= end:
        try:
            private_folder(path.parent)
            file = path.open("ab")
            try:
                _lock(file)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):  # otherwise its holder has just removed it
                    return file
            except (BlockingIOError, FileNotFoundError):
                pass
            file.close()
        except OSError:  # not writable, or no locks, as on some network drives
            return None
        time.sleep(LOOK)
    return None


def release_file(file: BinaryIO) -> None:
    """Unlock and remove a file that was locked by `locked_file`."""
    with contextlib.suppress(OSError):  # on Windows, waiting processes have it open
        os.unlink(file.name)
    file.close()


def _lock(file: BinaryIO) -> None:
    """Lock an open file exclusively.

    A BlockingIOError is raised if another process holds the lock.
    """
    if os.name == "nt":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except PermissionError as error:
            raise BlockingIOError from error
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
