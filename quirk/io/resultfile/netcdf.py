"""NetCDF files that are written as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quirk.util import output


@contextmanager
def whole(owner: str, path: Path) -> Iterator[Path]:
    """Give the name of a new file, as `output.whole` does, and raise WriteError where netCDF cannot write it."""
    with output.whole(owner, path) as aside:
        try:
            yield aside
        except RuntimeError as error:  # what netCDF reports of a full disk is "HDF error"
            raise OSError(f"{error}") from error
