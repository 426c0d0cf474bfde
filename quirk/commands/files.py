"""Output files of results; the suffix of the file name determines the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import SimulationError
from ..result.result import Result
from ..util import output, validate
from .parser import UsageError


def _summary(result: Any, path: Path) -> None:
    with output.atomic_output("quirk", path) as aside:
        aside.write_text(result.summary() + "\n", encoding="utf-8")


def _plot(result: Any, path: Path) -> None:
    result.plot(path=path)


WRITERS: dict[str, Callable[[Any, Path], object]] = {
    ".nc": lambda result, path: result.save(path),
    ".csv": lambda result, path: result.to_csv(path),
    ".npz": lambda result, path: result.to_npz(path),
    ".png": _plot,
    ".pdf": _plot,
    ".svg": _plot,
    ".gif": lambda result, path: result.animate(path),
    ".mp4": lambda result, path: result.animate(path),
    ".html": lambda result, path: result.to_html(path),
    ".txt": _summary,
}


def checked(command: str, names: Sequence[str]) -> list[Path]:
    """Return the paths of output files, or raise an error if a format is unknown or a file cannot be written.

    `command` is the name of the command for messages, `names` are the file names.
    """
    for name in names:
        if Path(name).suffix.lower() not in WRITERS:
            raise UsageError(f"unknown format of {name!r}: its name must end in {', '.join(WRITERS)}")
    return [validate.output_file(command, name, tuple(WRITERS)) for name in names]


def write(result: Result, paths: Sequence[Path]) -> None:
    """Write a result to each of the files `paths`, and print their names."""
    if any(WRITERS[path.suffix.lower()] is _plot or path.suffix.lower() in (".gif", ".mp4") for path in paths):
        import matplotlib as mpl

        mpl.use("Agg")  # pictures are written to files even if there is a display
    for path in paths:
        WRITERS[path.suffix.lower()](result, path)
        print(f"wrote {path}")


def write_result(compute: Callable[[], Result], paths: Sequence[Path]) -> str:
    """Compute a result by calling `compute`, print its summary, write it to the files `paths`, and return its status.

    If the computation fails, the part computed so far is written.
    """
    try:
        result = compute()
    except SimulationError as error:
        if error.result is not None and paths:
            write(error.result, paths)
        raise
    print(result.summary())
    write(result, paths)
    return result.status
