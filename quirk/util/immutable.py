"""Immutable objects: the base class of bodies, constraints and forces.

A system reads its bodies, constraints and forces when it is constructed, so that later changes of them would have no
effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .construction import ConstructorMeta


class SealedMeta(ConstructorMeta):
    """Metaclass that makes objects and their arrays read-only after construction."""

    if not TYPE_CHECKING:  # as for ConstructorMeta

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  # of a metaclass
            """Construct the object and make it read-only."""
            made = super().__call__(*args, **kwargs)
            _make_arrays_read_only(made)
            object.__setattr__(made, "_sealed", True)
            return made


class Immutable(metaclass=SealedMeta):
    """Base class of objects whose attributes cannot be changed after construction."""

    def __setattr__(self, attribute: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise InputError(f"{self}: {attribute} cannot be changed after it was made; make a new one")
        super().__setattr__(attribute, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied object; copies of its arrays would be writable."""
        vars(self).update(state)
        _make_arrays_read_only(self)


def _make_arrays_read_only(made: Any) -> None:
    for value in vars(made).values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
