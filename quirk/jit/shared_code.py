"""Cache of generated code, shared by all parts whose code would be the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .llvm_functions import MOST_COMPILED

Code = TypeVar("Code")


class SharedCode(Generic[Code]):
    """Code of one kind by all that it depends on; the code not used for the longest time is discarded."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Code] = OrderedDict()

    def get(self, key: Hashable | None, make: Callable[[], Code]) -> Code:
        """Return the code for a key, made by `make` if it is not known; without key it is made anew."""
        if key is None:
            return make()
        code = self._known.pop(key, None)
        if code is None:
            code = make()
        self._known[key] = code
        if len(self._known) > MOST_COMPILED:
            self._known.popitem(last=False)
        return code
