"""Writing of complete netCDF files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quirk.util import output


@contextmanager
def whole(owner: str, path: Path) -> Iterator[Path]:
    """Provide the name of a new file, as `output.whole` does, and convert netCDF errors to WriteError."""
    with output.whole(owner, path) as aside:
        try:
            yield aside
        except RuntimeError as error:  # netCDF reports a full disk as "HDF error"
            raise OSError(f"{error}") from error
