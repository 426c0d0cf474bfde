"""Objects that say what they are once and stay so: bodies, constraints and forces.

A system reads its parts when it is made; a part that changed later would say one thing and do another.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABCMeta
from typing import Any

import numpy as np

from .errors import InputError


class SealedMeta(ABCMeta):
    """Seals an object when its construction is finished, and names it when its arguments do not fit."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make the object."""
        signature = construction(cls)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            name = kwargs.get("name", args[0] if args else "?")
            raise TypeError(f'{cls.__name__} "{name}": {error}; it is made as {cls.__name__}{signature}') from None
        made = super().__call__(*args, **kwargs)
        for value in vars(made).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        object.__setattr__(made, "_sealed", True)
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the constructor, for help and tooltips; the metaclass would hide them."""
        return construction(cls)


@functools.cache
def construction(cls: type) -> inspect.Signature:
    """Return the arguments with which objects of a class are made."""
    # Read from __init__: asking the class would give the metaclass's own arguments.
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in arguments])


class Sealed(metaclass=SealedMeta):
    """Base of objects that cannot be changed after they were made."""

    def __setattr__(self, attribute: str, value: Any) -> None:
        if getattr(self, "_sealed", False):
            raise InputError(f"{self}: {attribute} cannot be changed after it was made; make a new one")
        super().__setattr__(attribute, value)
