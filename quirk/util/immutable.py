"""Objects that say what they are once and stay so: bodies, constraints and forces.

A system reads its parts when it is made; a part that changed later would say one thing and do another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .construction import ConstructorMeta


class SealedMeta(ConstructorMeta):
    """Seals an object when its construction is finished."""

    if not TYPE_CHECKING:  # as for Remembering

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  # of a metaclass
            """Make the object."""
            made = super().__call__(*args, **kwargs)
            for value in vars(made).values():
                if isinstance(value, np.ndarray):
                    value.setflags(write=False)
            object.__setattr__(made, "_sealed", True)
            return made


class Immutable(metaclass=SealedMeta):
    """Base of objects that cannot be changed after they were made."""

    def __setattr__(self, attribute: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise InputError(f"{self}: {attribute} cannot be changed after it was made; make a new one")
        super().__setattr__(attribute, value)
