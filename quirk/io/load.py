"""Loading of systems from files in several formats."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import InputError, outside
from ..system.system import System
from ..util import validate
from ..util.misuse import explained

if TYPE_CHECKING:
    from .importers.options import ImportOptions


@explained
def load(path: str | Path, **options: Unpack[ImportOptions]) -> System:
    """Return the system described by a file; the suffix determines the format.

    Parameters
    ----------
    path : name of a file
        ".toml": a model file of QuIRK, written by `System.save`. ".urdf", ".sdf", ".world", ".mjcf" and ".xml": see
        `quirk.importers`; a UserWarning lists omissions.
    base, gravity, keyframe, limits, packages, inertia_tolerance, repair_inertia, shapes, contacts : optional
        Options for imported formats, as for `quirk.importers.read`, such as gravity=(0, 0, -9.81) or base="free"; not
        allowed for model files.

    Raises
    ------
    InputError
        If the file does not exist or has errors; the message lists all errors with their locations.

    Examples
    --------
    >>> system = quirk.System([quirk.Body.sphere("ball", 1.0, 0.1)])
    >>> system.save("ball.toml")
    >>> quirk.load("ball.toml")
    <System: 1 bodies, 0 constraints, 0 forces>
    """
    if not isinstance(path, str | Path):
        raise InputError(f"load: path must be the name of a file; got {path!r}")
    validate.choice("load", "the suffix of path", Path(path).suffix.lower(), tuple(READERS))
    return READERS[Path(path).suffix.lower()](Path(path), **options)


def _model_file(path: Path, **options: Any) -> System:
    from .modelfile import read

    if options:
        raise InputError(f"load: model files have no options; omit {', '.join(options)}")
    return read(path).system


def _description(path: Path, **options: Any) -> System:
    from .importers import read

    imported = read(path, **options)
    if imported.left_out:
        lines = "".join(f"\n- {line}" for line in imported.left_out)
        warnings.warn(f"{path.name}: the import is incomplete: {lines}", stacklevel=outside())
    return imported.system


# Reader for each suffix.
READERS: dict[str, Callable[..., System]] = {
    ".toml": _model_file,
    **dict.fromkeys((".urdf", ".xacro", ".sdf", ".world", ".xml", ".mjcf"), _description),
}
