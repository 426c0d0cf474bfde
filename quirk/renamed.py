"""Attributes under names that they had before."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar


class Renamed:
    """Base of classes with attributes that had other names, which still work and warn."""

    # Present names by earlier ones.
    _earlier_names: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what has another name now."""
            now = type(self)._earlier_names.get(name)
            if now is None:
                return object.__getattribute__(self, name)  # raises again what has been raised inside a property
            warnings.warn(f"{type(self).__name__}.{name} is called {now} now", DeprecationWarning, stacklevel=2)
            return getattr(self, now)
