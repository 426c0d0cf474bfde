"""Systems from files of several formats."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError, outside
from ..system.system import System
from ..util import validate
from ..util.misuse import explained


@explained
def load(path: str | Path, **options: Any) -> System:
    """Return the system that a file describes; the end of its name says in which format.

    Parameters
    ----------
    path : name of a file
        ".toml": a model file of QuIRK, as `System.save` writes it. ".urdf", ".sdf", ".world", ".mjcf" and ".xml": see
        `quirk.importers`; one UserWarning lists what could not be brought over.
    options : of the reader of these, such as gravity=(0, 0, -9.81) or base="free"; model files have none

    Raises
    ------
    InputError
        If there is no such file, or it has mistakes: all of them, each with its place.

    Examples
    --------
    >>> system = quirk.System([quirk.Body.sphere("ball", 1.0, 0.1)])
    >>> system.save("ball.toml")
    >>> quirk.load("ball.toml")
    <System: 1 bodies, 0 constraints, 0 forces>
    """
    if not isinstance(path, str | Path):
        raise InputError(f"load: path must be the name of a file; got {path!r}")
    validate.choice("load", "the end of path", Path(path).suffix.lower(), tuple(READERS))
    return READERS[Path(path).suffix.lower()](Path(path), **options)


def _model_file(path: Path, **options: Any) -> System:
    from .modelfile import read

    if options:
        raise InputError(f"load: model files say all themselves; leave out {', '.join(options)}")
    return read(path).system


def _description(path: Path, **options: Any) -> System:
    from .importers import read

    imported = read(path, **options)
    if imported.left_out:
        lines = "".join(f"\n- {line}" for line in imported.left_out)
        warnings.warn(f"{path.name}: not all of it was brought over:{lines}", stacklevel=outside())
    return imported.system


# What reads files whose names end so.
READERS: dict[str, Callable[..., System]] = {
    ".toml": _model_file,
    **dict.fromkeys((".urdf", ".xacro", ".sdf", ".world", ".xml", ".mjcf"), _description),
}
