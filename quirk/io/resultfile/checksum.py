"""A checksum behind the content of a file, by which damage is noticed before any library reads it.

Libraries for HDF5 may crash on damaged files. They do not look at what stands behind the end of their own content.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

MARK = b"\nQuIRK result, sha256 of all before this line: "
DIGITS = 64
CHUNK = 2**20


def append(path: Path) -> None:
    """Write the checksum behind a file."""
    with path.open("r+b") as file:
        digest = _digest(file, path.stat().st_size)
        file.seek(0, os.SEEK_END)
        file.write(MARK + digest + b"\n")


def trouble(path: Path) -> str | None:
    """Return what is wrong with a file, or None if it is as it was written.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    length = len(MARK) + DIGITS + 1
    with path.open("rb") as file:
        size = path.stat().st_size - length
        file.seek(max(size, 0))
        tail = file.read()
        if size < 0 or not tail.startswith(MARK):
            return "it is no result that QuIRK has written, or its end is missing, or another program has changed it"
        digest = _digest(file, size)
    if tail != MARK + digest + b"\n":
        return "it is not as it was written: it is damaged, or another program has changed it"
    return None


def _digest(file: BinaryIO, size: int) -> bytes:
    """The checksum of the first bytes of a file."""
    found, left = hashlib.sha256(), size
    file.seek(0)
    while left > 0:
        chunk = file.read(min(CHUNK, left))
        if not chunk:
            break
        found.update(chunk)
        left -= len(chunk)
    return found.hexdigest().encode()
