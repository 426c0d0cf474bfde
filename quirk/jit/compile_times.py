"""Estimates of compilation times on this machine, from earlier compilation times.

The effort of an entry (a compiled function that Python calls) is its compilation time on a reference machine, s. A file
beside the machine code lists the effort and the measured time (s) of each entry compiled on this machine. The time of
any other entry is estimated as its effort times the ratio of the sum of the measured times to the sum of their efforts.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from pathlib import Path

from ..util.files import atomic_replacement, private_folder
from ..util.ownership import check_folder

FILE = "compile-times.json"
# Compilation times below this are not recorded, and entries with such expected times are not announced, s.
SHORTEST = 1.0


def expected_time(folders: Sequence[Path], name: str, effort: float) -> float | None:
    """Return the expected compilation time of an entry, s, or None if no entry has been compiled yet.

    Parameters
    ----------
    folders : folders that may hold machine code
    name : name of the entry
    effort : compilation time of the entry on a reference machine, s
    """
    times = _read(folders)
    if not times or effort <= 0:
        return None
    efforts, seconds = map(sum, zip(*times.values(), strict=True))
    return times[name][1] if name in times else effort * seconds / efforts


def record_time(folders: Sequence[Path], name: str, effort: float, seconds: float) -> None:
    """Record the compilation time `seconds` of an entry, s, in the first writable folder."""
    if effort <= 0 or seconds < SHORTEST:
        return
    text = json.dumps({**_read(folders), name: (effort, float(f"{seconds:.3g}"))})
    for folder in folders:
        with contextlib.suppress(OSError):
            check_folder(folder)
            private_folder(folder)
            with atomic_replacement(folder / FILE) as aside:
                aside.write_text(text, encoding="utf-8")
            return


def duration_text(seconds: float) -> str:
    """Return a time (s) as a string with one or two significant digits and a unit."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds < 20 else f"{5 * round(seconds / 5)} s"
    return f"{seconds / 60:.1f} min"


def _read(folders: Sequence[Path]) -> dict[str, tuple[float, float]]:
    """Return the recorded (effort, compilation time in s) of each entry, by name; empty without a readable file."""
    for folder in folders:
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            noted = json.loads((folder / FILE).read_text(encoding="utf-8"))
            times = {str(name): (float(effort), float(seconds)) for name, (effort, seconds) in noted.items()}
            return {name: pair for name, pair in times.items() if all(0 < x < math.inf for x in pair)}
    return {}
