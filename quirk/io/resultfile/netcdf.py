"""Atomic writing of netCDF files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quirk.util import output


@contextmanager
def whole(owner: str, path: Path) -> Iterator[Path]:
    """Context manager that yields the path of a temporary file, which then replaces `path` atomically.

    Errors of the netCDF library become a WriteError; `owner` is the name of the calling method.
    """
    with output.atomic_output(owner, path) as aside:
        try:
            yield aside
        except RuntimeError as error:  # netCDF reports a full disk as "HDF error"
            raise OSError(f"{error}") from error
