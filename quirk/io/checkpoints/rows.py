"""States of a run in append-only files, verified by checksums and read by memory mapping."""

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

# Numbers buffered in memory before rows are written.
WAITING = 2**21
# Data types of the parts of rows in files.
KINDS = ("<f8", "<f8", "<i4")
# Bytes read at once for a checksum.
CHUNK = 2**20


class DamagedRowsError(Exception):
    """Rows differ from those that were written."""


class Location(NamedTuple):
    """Location of a segment's rows in files.

    Attributes
    ----------
    number : number of the files
    rows : number of rows
    widths : numbers in each row of each part
    first : offset of each part in its file, bytes
    sums : CRC-32 of each part; None for earlier versions, which wrote none
    """

    number: int
    rows: int
    widths: tuple[int, ...]
    first: tuple[int, ...]
    sums: tuple[int, ...] | None = None


class RowFile:
    """New files of rows in a folder: one for times, one for states, and one for numbers of full turns.

    Parameters
    ----------
    folder : Path

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

    def put(self, kept: OutputBuffer) -> None:
        """Write the buffered rows if there are many."""
        if kept.numbers >= WAITING:
            self._write(kept.take())

    def take(self, kept: OutputBuffer) -> Rows | None:
        """Write the buffered rows, and return all rows since the last call, or None if there are none."""
        if kept.numbers:
            self._write(kept.take())
        if not self._rows:
            return None
        self.locations.append(Location(self._number, self._rows, self._widths, self._first, tuple(self._sums)))
        self._first, self._rows, self._sums = self._reached, 0, [0] * len(self._files)
        return _read(self._folder, self.locations[-1])

    def sync(self) -> None:
        """Wait until everything written is on disk."""
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
    """Return verified rows from files; states and turns are read on access.

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
    """Return the CRC-32 of one part of rows, as far as the file contains it."""
    left = location.rows * location.widths[k] * np.dtype(KINDS[k]).itemsize
    found = 0
    with open(path_of(folder, location.number, Rows._fields[k]), "rb") as file:
        file.seek(location.first[k])
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            found = zlib.crc32(chunk, found)
            left -= len(chunk)
    return found


def path_of(folder: Path, number: int, part: str) -> Path:
    """Return the path of a file of rows."""
    return folder / f"rows-{number}.{part}"


def _free_number(folder: Path) -> int:
    """Return the lowest number greater than the numbers of all existing row files."""
    taken = [re.fullmatch(r"rows-(\d+)\.\w+", path.name) for path in folder.iterdir()]
    return 1 + max((int(found[1]) for found in taken if found), default=-1)
