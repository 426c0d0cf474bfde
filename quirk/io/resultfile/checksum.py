"""Checksum at the end of a file, which reveals damage before a library reads the file.

HDF5 libraries may crash on damaged files. They ignore data after the end of the HDF5 content.
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
    """Append the checksum of a file to the file."""
    with path.open("r+b") as file:
        digest = _digest(file, path.stat().st_size)
        file.seek(0, os.SEEK_END)
        file.write(MARK + digest + b"\n")


def trouble(path: Path) -> str | None:
    """Return a description of the damage to a file, or None if the checksum is correct.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    length = len(MARK) + DIGITS + 1
    with path.open("rb") as file:
        size = path.stat().st_size - length
        file.seek(max(size, 0))
        tail = file.read()
        if size < 0 or not tail.startswith(MARK):
            return "it is not a result written by QuIRK, it is truncated, or another program has changed it"
        digest = _digest(file, size)
    if tail != MARK + digest + b"\n":
        return "it differs from the file that was written: it is damaged, or another program has changed it"
    return None


def _digest(file: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 checksum of the first `size` bytes of a file."""
    found, left = hashlib.sha256(), size
    file.seek(0)
    while left > 0:
        chunk = file.read(min(CHUNK, left))
        if not chunk:
            break
        found.update(chunk)
        left -= len(chunk)
    return found.hexdigest().encode()
