"""States of a run in a file that only grows, read through the memory map."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quirk.dynamics.kept import Kept, Rows

# Rows are written when so many numbers wait.
WAITING = 2**21
# What the parts of rows are in files.
KINDS = ("<f8", "<f8", "<i4")


class Location(NamedTuple):
    """Where the rows of a segment are: in which files, how many, how wide each part is, and the first byte of each."""

    number: int
    rows: int
    widths: tuple[int, ...]
    first: tuple[int, ...]


class RowFile:
    """New files of rows in a folder: one of times, one of states, and one of turns.

    Parameters
    ----------
    folder : Path
    number : of the files, which must not be there yet

    Attributes
    ----------
    locations : of the segments taken so far
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number, self._rows = folder, number, 0
        # They are open as long as the run goes on.
        self._files = [open(path_of(folder, number, part), "xb", buffering=0) for part in Rows._fields]  # noqa: SIM115
        self._widths: tuple[int, ...] = ()
        self._first = self._reached
        self.locations: list[Location] = []

    def put(self, kept: Kept) -> None:
        """Write rows that wait, if there are many."""
        if kept.numbers >= WAITING:
            self._write(kept.take())

    def take(self, kept: Kept) -> Rows | None:
        """Write the rows that wait, and return all since the last call, or None if there are none."""
        if kept.numbers:
            self._write(kept.take())
        if not self._rows:
            return None
        self.locations.append(Location(self._number, self._rows, self._widths, self._first))
        self._first, self._rows = self._reached, 0
        return rows_at(self._folder, self.locations[-1])

    def sync(self) -> None:
        """Return when all that was written is on the disk."""
        for file in self._files:
            os.fsync(file.fileno())

    def close(self) -> None:
        """Write no more."""
        for file in self._files:
            file.close()

    @property
    def _reached(self) -> tuple[int, ...]:
        return tuple(file.tell() for file in self._files)

    def _write(self, rows: Rows) -> None:
        self._rows += len(rows.time)
        self._widths = tuple(part[0].size for part in rows)
        for file, part, kind in zip(self._files, rows, KINDS, strict=True):
            block: Any = np.ascontiguousarray(part, dtype=kind)
            waiting = memoryview(block).cast("B") if block.size else memoryview(b"")
            while waiting:
                waiting = waiting[file.write(waiting) :]


def rows_at(folder: Path, location: Location) -> Rows:
    """Return rows out of files; states and turns are read when they are used."""
    number, count, widths, first = location
    parts = []
    for part, kind, width, offset in zip(Rows._fields, KINDS, widths, first, strict=True):
        path, shape = path_of(folder, number, part), (count,) if part == "time" else (count, width)
        if part == "time" or not width:
            parts.append(np.fromfile(path, kind, count * width, offset=offset).reshape(shape))
        else:
            parts.append(np.memmap(path, kind, mode="r", offset=offset, shape=shape))
    return Rows(*parts)


def path_of(folder: Path, number: int, part: str) -> Path:
    """Return the path of a file of rows."""
    return folder / f"rows-{number}.{part}"
