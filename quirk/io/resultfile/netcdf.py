"""Safe writing of netCDF files: a file is either complete or absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quirk.util import output


@contextmanager
def whole(owner: str, path: Path) -> Iterator[Path]:
    """Context manager for writing a file: its body writes to a temporary path, which then replaces `path`.

    Errors of netCDF become a WriteError, in which `owner` is the method that writes.
    """
    with output.whole(owner, path) as aside:
        try:
            yield aside
        except RuntimeError as error:  # netCDF reports a full disk as "HDF error"
            raise OSError(f"{error}") from error
