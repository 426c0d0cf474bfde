"""Checks of arguments; each function returns the value in its internal form or raises an InputError.

In errors, `owner` is the object under construction, such as ``Body "rod"``, and `argument` the name of the argument.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .suggestion import nearest_names, quoted

# Type of several points accepted by `array`: numpy's ArrayLike does not include lists of lists and arrays.
PointsLike = ArrayLike | Sequence[ArrayLike]

# A vector shorter than this fraction of the largest number in its computation is round-off, not a direction.
ZERO_LENGTH = 1e-12


def name(kind: str, value: Any) -> str:
    """Return the name of an object, which must be a non-empty string; `kind` is its class, for error messages."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{kind}: name must be a non-empty string; got {value!r}")
    return value


def array(owner: str, argument: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `value` as a new float array of the given shape; all entries must be finite."""
    result = numbers(value)
    if result is None or (shape == () and result.shape != ()):
        wanted = " x ".join(map(str, shape)) + " numbers" if shape else "a number"
        raise InputError(f"{owner}: {argument} must be {wanted}; got {value!r}")
    if result.shape != shape:
        raise InputError(f"{owner}: {argument} must have shape {shape}; got shape {result.shape}: {value!r}")
    if not np.isfinite(result).all():
        raise InputError(f"{owner}: {argument} must be finite; got {result.tolist()}")
    return result


def numbers(value: Any) -> np.ndarray | None:
    """Return `value` as a new float array, or None if it does not consist of real numbers, or some are masked."""
    if np.ma.is_masked(value):
        return None
    try:
        given = np.asarray(value)
        # numpy would silently convert text, truth values and complex numbers to floats.
        if given.dtype.kind == "O":
            return np.array([float(x) for x in given.flat]).reshape(given.shape)
        return np.array(given, dtype=float) if given.dtype.kind in "iuf" else None
    except (TypeError, ValueError, OverflowError):
        return None


def number(owner: str, argument: str, value: Any) -> float:
    """Return `value` as a finite float."""
    if type(value) is float and math.isfinite(value):
        return value
    return float(array(owner, argument, value, ()))


def positive(owner: str, argument: str, value: Any) -> float:
    """Return `value` as a finite, positive float."""
    result = number(owner, argument, value)
    if result <= 0:
        raise InputError(f"{owner}: {argument} must be positive; got {result:g}")
    return result


def non_negative(owner: str, argument: str, value: Any) -> float:
    """Return `value` as a finite, non-negative float."""
    result = number(owner, argument, value)
    if result < 0:
        raise InputError(f"{owner}: {argument} must not be negative; got {result:g}")
    return result


def direction(owner: str, argument: str, value: Any) -> np.ndarray:
    """Return a unit vector (3,) from a vector of three numbers, or from "x", "y" or "z"."""
    if isinstance(value, str):
        value = np.eye(3)["xyz".index(choice(owner, argument, value, tuple("xyz")))]
    vector = array(owner, argument, value, (3,))
    largest = np.abs(vector).max()
    if largest <= 0:
        raise InputError(f"{owner}: {argument} must be a direction; got the zero vector")
    vector /= largest  # so that the norm of a very small or very large vector neither vanishes nor overflows
    return vector / np.linalg.norm(vector)


def flag(owner: str, argument: str, value: Any) -> bool:
    """Return `value` as a bool; it must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{owner}: {argument} must be True or False; got {value!r}")
    return bool(value)


def choice(owner: str, argument: str, value: Any, allowed: Sequence[str | None]) -> Any:
    """Return `value`, which must be one of `allowed`; the error suggests the nearest of them."""
    if not isinstance(value, str | None) or value not in allowed:
        listed = ", ".join(map(repr, allowed))
        meant = quoted(nearest_names(value, filter(None, allowed))) if isinstance(value, str) else ""
        hint = f"; did you mean {meant}?" if meant else ""
        raise InputError(f"{owner}: {argument} must be one of {listed}; got {value!r}{hint}")
    return value


def times(owner: str, argument: str, value: Any, start: float, end: float) -> np.ndarray:
    """Return strictly increasing times within [start, end], s, as an array.

    Times outside by no more than round-off are moved to the ends.
    """
    result = numbers(value)
    if result is None:
        raise InputError(f"{owner}: {argument} must be times in seconds; got {value!r}")
    if result.ndim != 1 or result.size == 0:
        raise InputError(f"{owner}: {argument} must be a list of times; got shape {result.shape}")
    if not np.isfinite(result).all():
        raise InputError(f"{owner}: {argument} must be finite; got {result.tolist()}")
    slack = 8 * np.spacing(end)
    if result[0] < start - slack or result[-1] > end + slack:
        raise InputError(
            f"{owner}: {argument} must lie between {start:g} and {end:g} s; got {result[0]:g} to {result[-1]:g} s"
        )
    result = np.clip(result, start, end)
    if (np.diff(result) <= 0).any():
        k = int(np.argmax(np.diff(result) <= 0))
        raise InputError(
            f"{owner}: {argument} must increase strictly; got {result[k]:g} s before {result[k + 1]:g} s: "
            "sort the times and drop repeated ones"
        )
    return result


def whole(owner: str, argument: str, value: Any) -> int:
    """Return `value` as a positive int."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{owner}: {argument} must be a positive whole number; got {value!r}")
    return int(value)


def output_file(owner: str, value: Any, kinds: Sequence[str]) -> Path:
    """Return the absolute path of an output file, and create its folder.

    The suffix of the file must be one of `kinds`, such as ".png".
    """
    if not isinstance(value, str | Path):
        raise InputError(f"{owner}: path must be the name of a file; got {value!r}")
    if Path(value).suffix.lower() not in kinds:
        raise InputError(f"{owner}: path must end in {' or '.join(kinds)}; got {str(value)!r}")
    try:
        path = Path(os.path.realpath(value))
        there, file = path.exists(), path.is_file()
    except (OSError, ValueError) as error:
        raise _not_written(owner, "path", value, error) from None
    if there and not file:
        raise InputError(f"{owner}: path {str(value)!r} is not a file; choose another name")
    output_folder(owner, "path", path.parent)
    if there and not os.access(path, os.W_OK):
        raise InputError(f"{owner}: path {str(value)!r} is there and must not be changed; choose another name")
    return path


def output_folder(owner: str, argument: str, value: Any) -> Path:
    """Return the path of an output folder, which is created if it does not exist."""
    if not isinstance(value, str | Path):
        raise InputError(f"{owner}: {argument} must be the name of a folder; got {value!r}")
    try:
        Path(value).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=value).close()
    except (OSError, ValueError) as error:
        raise _not_written(owner, argument, value, error) from None
    return Path(value)


def _not_written(owner: str, argument: str, value: Any, error: Exception) -> InputError:
    why: Any = getattr(error, "strerror", None) or error
    if isinstance(error, FileExistsError | NotADirectoryError):
        why = "there is a file where a folder should be"
    return InputError(f"{owner}: {argument}: nothing can be written at {str(value)!r}: {why}; choose another place")
