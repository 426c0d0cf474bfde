"""States of a run in a file that only grows, read through the memory map."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quirk.dynamics.kept import Kept, Rows

# Rows are written when so many numbers wait.
WAITING = 2**21


class Location(NamedTuple):
    """Where the rows of a segment are: number of the file, first byte, how many, and how wide states and turns are."""

    file: int
    first: int
    rows: int
    width: int
    turns: int


class RowFile:
    """A new file of rows in a folder.

    Parameters
    ----------
    folder : Path
    number : of the file, which must not be there yet

    Attributes
    ----------
    locations : of the segments taken so far
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._file = open(path_of(folder, number), "xb", buffering=0)  # noqa: SIM115  # open as long as the run goes on
        self._first = self._count = 0
        self._shape = 0, 0
        self.locations: list[Location] = []

    def put(self, kept: Kept) -> None:
        """Write rows that wait, if there are many."""
        if kept.numbers >= WAITING:
            self._write(kept.take())

    def take(self, kept: Kept) -> Rows | None:
        """Write the rows that wait, and return all since the last call, or None if there are none."""
        if kept.numbers:
            self._write(kept.take())
        if not self._count:
            return None
        self.locations.append(Location(self._number, self._first, self._count, *self._shape))
        self._first, self._count = self._file.tell(), 0
        return rows_at(self._folder, self.locations[-1])

    def sync(self) -> None:
        """Return when all that was written is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Write no more."""
        self._file.close()

    def _write(self, rows: Rows) -> None:
        self._shape = rows.flat.shape[1], rows.quadrants.shape[1]
        table = np.empty(len(rows.time), dtype=_dtype(*self._shape))
        for part, values in zip(table.dtype.names or (), rows, strict=True):
            table[part] = values
        waiting = memoryview(table.tobytes())
        while waiting:
            waiting = waiting[self._file.write(waiting) :]
        self._count += len(table)


def rows_at(folder: Path, location: Location) -> Rows:
    """Return rows of a file; states are read when they are used."""
    dtype = _dtype(location.width, location.turns)
    table: Any = np.memmap(
        path_of(folder, location.file), dtype, mode="r", offset=location.first, shape=(location.rows,)
    )
    return Rows(np.array(table["time"]), table["flat"], table["quadrants"])


def path_of(folder: Path, number: int) -> Path:
    """Return the path of a file of rows."""
    return folder / f"rows-{number}.bin"


def _dtype(width: int, turns: int) -> np.dtype[Any]:
    return np.dtype([("time", "<f8"), ("flat", "<f8", (width,)), ("quadrants", "<i4", (turns,))])
