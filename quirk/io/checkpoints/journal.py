"""A file of records that only grows; damage to one line costs no other."""

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

# What a checkpoint holds when it cannot be written any further.
KEPT = "all complete legs before are kept"


class Journal:
    """Records, dicts of plain values, one on each line behind its checksum.

    Opening changes nothing. The first `append` cuts off what a kill has left behind the last whole line.

    Parameters
    ----------
    path : Path
        Of a file; created if it is not there.

    Attributes
    ----------
    records : one for each line that was there, None where it is damaged

    Raises
    ------
    InputError
        If another process writes to it, or it is not empty and does not begin with a record.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its other end
            raise InputError(f"checkpoint: {str(path)!r} is not a file; it is left as it is: give another path")
        with writing("checkpoint", path, "nothing was changed"):
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115  # open as long as the run goes on
        try:
            _lock(self._file.fileno(), path)
            self.records, self._size = read(path)
            if os.fstat(self._file.fileno()).st_size and not (self.records and self.records[0]):
                raise InputError(
                    f"checkpoint: {str(path)!r} is not from a run, or its first line is damaged; it is left as it is: "
                    "give another path. If it is from a run, quirk.read_checkpoint(path, system) returns what can "
                    "be read"
                )
        except BaseException:
            self._file.close()
            raise

    def append(self, record: Record) -> None:
        """Write a record; it is on the disk when this returns.

        Raises
        ------
        WriteError
            If it cannot be written; the records before it are not affected.
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
        """Let others write to it."""
        self._file.close()


def read(path: Path) -> tuple[list[Record | None], int]:
    """Return one record for each whole line, None where it is damaged, and the number of bytes of all these lines."""
    records: list[Record | None] = []
    size = 0
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):  # what a kill has left does not
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
    """Keep other processes from writing to a file, where the system can."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"checkpoint: {str(path.parent)!r} is in use by another run: give another path") from None
