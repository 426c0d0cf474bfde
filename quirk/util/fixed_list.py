"""List that cannot be changed after it was made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import InputError

T = TypeVar("T")


class FixedList(list[T]):
    """List whose elements cannot be replaced, added or removed.

    Parameters
    ----------
    elements : its elements
    refusal : message of the InputError that all attempts to change it raise
    """

    def __init__(self, elements: Iterable[T], refusal: str) -> None:
        super().__init__(elements)
        self._refusal = refusal

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (list(self), self._refusal)

    if not TYPE_CHECKING:  # the signatures are those of list

        def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:
            raise InputError(self._refusal)

        append = extend = insert = remove = pop = clear = sort = reverse = _refuse
        __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
