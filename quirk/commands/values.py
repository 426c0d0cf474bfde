"""Parameter values given on the command line."""

from __future__ import annotations

from typing import Any

from .parser import UsageError

MOST = 10**7


def values_of(option: str, text: str) -> list[Any]:
    """Return the list of values given by a string on the command line.

    The string is A:B:N, for N equally spaced numbers from A to B, or a list of values separated by commas. `option` is
    the name of the option, for error messages.
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
    """Return the number or bool that the string `text` represents, or else the string itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
