"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give the name of a new file beside `path`, which is moved there at the end, and removed if there is an error.

    What was at `path` stays until then; whoever reads it finds the old file or the new one.
    """
    aside = path.with_name(f".{uuid.uuid4().hex[:16]}{path.suffix}")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
