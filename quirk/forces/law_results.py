"""Checks of the results of the methods of a force law."""

from __future__ import annotations

from typing import Any

import numpy as np


def counted(method: str, returned: Any, count: int) -> list[Any]:
    """Return the result `returned` of a method as a list; raise a ValueError unless it has `count` values.

    `method` is the name of the method for the error message.
    """
    numbers = list(returned) if isinstance(returned, list | tuple | np.ndarray) else [returned]
    required = "a number" if count == 1 else f"{count} numbers, one for each name in coordinates"
    if method == "internal_rates":
        required = f"{count} {'rate' if count == 1 else 'rates'}, one for each name in internal"
    if len(numbers) != count or any(x is None or np.ndim(x) > 0 for x in numbers):
        raise ValueError(f"its {method} must return {required}; got {len(numbers)}: {returned!r}")
    return numbers


def load_pairs(returned: Any, frames: int) -> list[tuple[Any, Any]]:
    """Return the result of `load` as a list with one pair of force and torque for each frame.

    For one frame, `load` may return a single pair. `returned` is this result.
    """
    pairs = [returned] if frames == 1 and len(returned) == 2 and not _is_pair(returned[0]) else list(returned)
    if len(pairs) != frames or not all(len(pair) == 2 for pair in pairs):
        raise ValueError(f"its load must return a force and a torque for each of its {frames} frames")
    return [(pair[0], pair[1]) for pair in pairs]


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple | list) and len(x) == 2


def is_nothing(vector: Any) -> bool:
    """Whether a force or torque is the number 0."""
    return isinstance(vector, int | float) and vector == 0


def vector(kind: str, returned: Any) -> np.ndarray:
    """Return a force or torque (3,), named by `kind`; a ValueError is raised unless it has three components."""
    components = np.asarray(returned, dtype=object)
    if components.shape != (3,):
        raise ValueError(f"its load must return a {kind} of three components, or 0; got {returned!r}")
    return components
