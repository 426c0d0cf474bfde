"""Append-only file of records, in which damage to one line does not affect other lines."""

from __future__ import annotations

import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any

from quirk.errors import InputError
from quirk.util.output import writing

Record = dict[str, Any]

# Clause, for messages, on the remaining data if a checkpoint cannot be written.
KEPT = "all earlier complete records are kept"


class Journal:
    """Append-only file of records (dicts of JSON data), with one record and its checksum in each line.

    The file is not changed when it is opened. The first `append` removes an incomplete last line, left by a process
    that was killed.

    Parameters
    ----------
    path : Path
        File, created if it does not exist.

    Attributes
    ----------
    records : the records in the file when it was opened; None for damaged lines

    Raises
    ------
    InputError
        If another process is writing to the file, or it is not empty and does not begin with a record.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would block
            raise InputError(f"checkpoint: {str(path)!r} is not a file; it is left unchanged: use another path")
        with writing("checkpoint", path, "nothing was changed"):
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115  # noqa: SIM115  # open during the whole run
        try:
            _lock(self._file.fileno(), path)
            self.records, self._size = read(path)
            if os.fstat(self._file.fileno()).st_size and not (self.records and self.records[0]):
                raise InputError(
                    f"checkpoint: {str(path)!r} does not belong to a run, or its first line is damaged; it is left "
                    "unchanged: use another path. If it belongs to a run, quirk.read_checkpoint(path, system) returns "
                    "the readable part"
                )
        except BaseException:
            self._file.close()
            raise

    def append(self, record: Record) -> None:
        """Write a record to the end of the file; it is on disk when the method returns.

        Raises
        ------
        WriteError
            If the record cannot be written; earlier records are not affected.
        """
        text = json.dumps(record, allow_nan=True, separators=(",", ":")).encode()
        line = memoryview(b"%08x " % zlib.crc32(text) + text + b"\n")
        with writing("checkpoint", self._path, KEPT):
            self._file.truncate(self._size)
            waiting = line
            while waiting:
                waiting = waiting[self._file.write(waiting) :]
            os.fsync(self._file.fileno())
        self._size += len(line)

    def close(self) -> None:
        """Close the file, so that other processes can write to it."""
        self._file.close()


def read(path: Path) -> tuple[list[Record | None], int]:
    """Return one record for each complete line (None if damaged), and the total length of these lines in bytes."""
    records: list[Record | None] = []
    size = 0
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):  # an incomplete last line has no line end
                records.append(_record(line))
                size += len(line)
    return records, size


def _record(line: bytes) -> Record | None:
    try:
        if int(line[:8], 16) != zlib.crc32(line[9:-1]):
            return None
        record = json.loads(line[9:-1])
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _lock(descriptor: int, path: Path) -> None:
    """Lock an open file against writing by other processes, if the operating system supports this.

    `descriptor` and `path` are the file descriptor and the path of the file.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"checkpoint: {str(path.parent)!r} is in use by another run; use another path") from None
