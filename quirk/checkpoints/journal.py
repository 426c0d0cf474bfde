"""A file of records of which each is there as a whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from quirk.errors import InputError


class Journal:
    """Records, dicts of plain values, one on each line behind its checksum.

    Parameters
    ----------
    path : Path
        Of a file, which is made if it is not there; what follows the last whole record in it is cut off.

    Attributes
    ----------
    records : that were there

    Raises
    ------
    InputError
        If another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        self._file = open(path, "a+b")  # noqa: SIM115  # open as long as the run goes on
        try:
            _lock(self._file.fileno(), path)
            self.records, size = read(path)
            self._file.truncate(size)
        except BaseException:
            self._file.close()
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Write a record; it is on the disk when this returns."""
        text = json.dumps(record, allow_nan=True, separators=(",", ":")).encode()
        self._file.write(b"%08x " % zlib.crc32(text) + text + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let others write to it."""
        self._file.close()


def read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the whole records at the start of a file, and the number of bytes that they take."""
    records, size = [], 0
    with open(path, "rb") as file:
        for line in file:
            try:
                if not line.endswith(b"\n") or int(line[:8], 16) != zlib.crc32(line[9:-1]):
                    break
                records.append(json.loads(line[9:-1]))
            except ValueError:
                break
            size += len(line)
    return records, size


def _lock(descriptor: int, path: Path) -> None:
    """Keep other processes from writing to a file, where the system can."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"checkpoint: {str(path.parent)!r} is in use by another run: give another path") from None
