"""Output states of a run in append-only files, verified by checksums and read by memory mapping.

A row is one output. It has three parts, each in a separate file: the time, the state, and the numbers of full turns of
the joint angles.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quirk.dynamics.model.output_buffer import OutputBuffer, Rows
from quirk.util.output import writing

from .journal import KEPT

# Number of buffered floats above which rows are written to the files.
WAITING = 2**21
# Data types of times, states and numbers of turns in files.
KINDS = ("<f8", "<f8", "<i4")
# Number of bytes that are read at once to compute a checksum.
CHUNK = 2**20


class DamagedRowsError(Exception):
    """Error raised if rows in a file are damaged."""


class Location(NamedTuple):
    """Location, in row files, of the rows of a segment.

    Attributes
    ----------
    number : number that is part of the names of the three files
    rows : number of rows
    widths : number of floats or integers in a row, for each of the three parts
    first : offset of the first row in each file, bytes
    sums : CRC-32 checksum of each part; None for files of earlier versions of QuIRK
    """

    number: int
    rows: int
    widths: tuple[int, ...]
    first: tuple[int, ...]
    sums: tuple[int, ...] | None = None


class RowFile:
    """Writer of new row files: one for times, one for states, and one for the full turns of joint angles.

    Parameters
    ----------
    folder : folder of the checkpoint

    Attributes
    ----------
    locations : locations of the segments written so far
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._number, self._rows = folder, _free_number(folder), 0
        with writing("checkpoint", folder / f"rows-{self._number}", KEPT):
            # The files stay open during the whole run.
            self._files = [open(path_of(folder, self._number, part), "xb", buffering=0) for part in Rows._fields]  # noqa: SIM115
        self._widths: tuple[int, ...] = ()
        self._first, self._sums = self._reached, [0] * len(self._files)
        self.locations: list[Location] = []

    def put(self, buffer: OutputBuffer) -> None:
        """Move the rows in `buffer` to the files, if there are many."""
        if buffer.numbers >= WAITING:
            self._write(buffer.take())

    def take(self, buffer: OutputBuffer) -> Rows | None:
        """Move the rows in `buffer` to the files, end the segment, and return its rows, or None if there are none."""
        if buffer.numbers:
            self._write(buffer.take())
        if not self._rows:
            return None
        self.locations.append(Location(self._number, self._rows, self._widths, self._first, tuple(self._sums)))
        self._first, self._rows, self._sums = self._reached, 0, [0] * len(self._files)
        return _read(self._folder, self.locations[-1])

    def sync(self) -> None:
        """Wait until all rows are on the disk."""
        with writing("checkpoint", path_of(self._folder, self._number, Rows._fields[0]), KEPT):
            for file in self._files:
                os.fsync(file.fileno())

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    @property
    def _reached(self) -> tuple[int, ...]:
        return tuple(file.tell() for file in self._files)

    def _write(self, rows: Rows) -> None:
        self._rows += len(rows.time)
        self._widths = tuple(part[0].size for part in rows)
        for k, (file, part, kind) in enumerate(zip(self._files, rows, KINDS, strict=True)):
            block: Any = np.ascontiguousarray(part, dtype=kind)
            waiting = memoryview(block).cast("B") if block.size else memoryview(b"")
            self._sums[k] = zlib.crc32(waiting, self._sums[k])
            with writing("checkpoint", path_of(self._folder, self._number, Rows._fields[k]), KEPT):
                while waiting:
                    waiting = waiting[file.write(waiting) :]


def rows_at(folder: Path, location: Location) -> Rows:
    """Return the rows of a segment, after verification; states and turns are read from the files on access.

    `location` states where the rows are stored in the files in `folder`.

    Raises
    ------
    DamagedRowsError
        If rows are missing, differ from their checksums, or have decreasing times.
    """
    try:
        for k, part in enumerate(Rows._fields):
            if location.sums is not None and _checksum(folder, location, k) != location.sums[k]:
                raise DamagedRowsError(f"{path_of(folder, location.number, part).name} is damaged")
        rows = _read(folder, location)
    except (OSError, ValueError) as error:
        raise DamagedRowsError(f"rows-{location.number} cannot be read ({error})") from None
    if not (np.diff(rows.time) >= 0).all():
        raise DamagedRowsError(f"{path_of(folder, location.number, 'time').name} has times that decrease")
    return rows


def _read(folder: Path, location: Location) -> Rows:
    number, count, widths, first, _ = location
    parts = []
    for part, kind, width, offset in zip(Rows._fields, KINDS, widths, first, strict=True):
        path, shape = path_of(folder, number, part), (count,) if part == "time" else (count, width)
        if part == "time" or not width:
            parts.append(np.fromfile(path, kind, count * width, offset=offset).reshape(shape))
        else:
            parts.append(np.memmap(path, kind, mode="r", offset=offset, shape=shape))
    return Rows(*parts)


def _checksum(folder: Path, location: Location, k: int) -> int:
    """Return the CRC-32 checksum of part number `k` of the rows at `location`, as far as the file contains them."""
    left = location.rows * location.widths[k] * np.dtype(KINDS[k]).itemsize
    found = 0
    with open(path_of(folder, location.number, Rows._fields[k]), "rb") as file:
        file.seek(location.first[k])
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            found = zlib.crc32(chunk, found)
            left -= len(chunk)
    return found


def path_of(folder: Path, number: int, part: str) -> Path:
    """Return the path of the row file with number `number` for one part of the rows: "time", "state" or "turns"."""
    return folder / f"rows-{number}.{part}"


def _free_number(folder: Path) -> int:
    """Return a number for new row files, above the numbers of all existing ones."""
    taken = [re.fullmatch(r"rows-(\d+)\.\w+", path.name) for path in folder.iterdir()]
    return 1 + max((int(found[1]) for found in taken if found), default=-1)
