"""Parameter values written on the command line."""

from __future__ import annotations

from typing import Any

from .parser import UsageError

MOST = 10**7


def values_of(option: str, text: str) -> list[Any]:
    """Return the list of values that a text on the command line describes.

    The text is A:B:N, for N equally spaced numbers from A to B, or values separated by commas. `option` names the
    option in errors.
    """
    import numpy as np

    if ":" in text:
        try:
            first, last, count = text.split(":")
            number = int(count)
            if not 1 <= number <= MOST:
                raise ValueError
            return np.linspace(float(first), float(last), number).tolist()
        except ValueError:
            raise UsageError(f"{option}: A:B:N stands for N numbers from A to B, as in 0.5:2:4; got {text!r}") from None
    return [_value(one.strip()) for one in text.split(",")]


def _value(text: str) -> Any:
    """Return the number or bool that a text represents; other texts are returned unchanged."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
