"""Cache of generated code, so that equal code is generated only once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .llvm_functions import MOST_COMPILED

Code = TypeVar("Code")


class SharedCode(Generic[Code]):
    """Least-recently-used cache of generated code; its keys contain all data that determine the code."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Code] = OrderedDict()

    def get(self, key: Hashable | None, make: Callable[[], Code]) -> Code:
        """Return the cached code for `key`, or generate it with `make` if it is missing or `key` is None."""
        if key is None:
            return make()
        code = self._known.pop(key, None)
        if code is None:
            code = make()
        self._known[key] = code
        if len(self._known) > MOST_COMPILED:
            self._known.popitem(last=False)
        return code
