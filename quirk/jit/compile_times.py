"""How long entries take to compile on this machine, by the times that others have taken before.

The effort of an entry is its compilation time, in s, on a reference machine. A file beside the machine code holds the
effort of each entry that was compiled here, and the time that it took, in s. An entry that was not is estimated to take
its effort times the ratio of the sums of these times and efforts.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from pathlib import Path

from ..util.files import made_folder, whole
from ..util.ownership import check_folder

FILE = "compile-times.json"
# Times are noted and told from this many seconds on.
SHORTEST = 1.0


def expected(folders: Sequence[Path], name: str, effort: float) -> float | None:
    """Return the seconds that an entry will likely take, or None where nothing has been compiled yet.

    Parameters
    ----------
    folders : where machine code may lie
    name : of the entry
    effort : of the entry
    """
    times = _read(folders)
    if not times or effort <= 0:
        return None
    efforts, seconds = map(sum, zip(*times.values(), strict=True))
    return times[name][1] if name in times else effort * seconds / efforts


def note(folders: Sequence[Path], name: str, effort: float, seconds: float) -> None:
    """Keep how many seconds an entry has taken, in the first folder that takes it."""
    if effort <= 0 or seconds < SHORTEST:
        return
    text = json.dumps({**_read(folders), name: (effort, float(f"{seconds:.3g}"))})
    for folder in folders:
        with contextlib.suppress(OSError):
            check_folder(folder)
            made_folder(folder)
            with whole(folder / FILE) as aside:
                aside.write_text(text, encoding="utf-8")
            return


def said(seconds: float) -> str:
    """Return a time as one says it, with one or two digits."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds < 20 else f"{5 * round(seconds / 5)} s"
    return f"{seconds / 60:.1f} min"


def _read(folders: Sequence[Path]) -> dict[str, tuple[float, float]]:
    """Return efforts and seconds by name; nothing where the file is not there or no such file."""
    for folder in folders:
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            noted = json.loads((folder / FILE).read_text(encoding="utf-8"))
            times = {str(name): (float(effort), float(seconds)) for name, (effort, seconds) in noted.items()}
            return {name: pair for name, pair in times.items() if all(0 < x < math.inf for x in pair)}
    return {}
