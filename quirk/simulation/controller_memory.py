"""Memory of sampled functions between calls, kept for each run by itself.

A controller with memory is an object whose attributes are its state. If several runs call the same object, its
attributes are exchanged whenever another run calls it, so that each run continues with its own.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from ..errors import InputError
from ..events import Sampled
from ..functions.effects import Effects
from ..functions.object_kinds import attributes_of

# The memory of the run whose attributes an object has at present, by id of the object, which the memory keeps alive.
_present: dict[int, weakref.ref[ControllerMemory]] = {}


def memories_of(sampled: Sequence[Sampled]) -> list[ControllerMemory]:
    """Return the memory of each sampled function of a run; methods of one object share one memory."""
    by_holder: dict[int, ControllerMemory] = {}
    holders = [holder_of(one.function) for one in sampled]
    for one, holder in zip(sampled, holders, strict=True):
        by_holder.setdefault(id(holder), ControllerMemory(holder, f"{one}", bool(one.user_functions)))
    return [by_holder[id(holder)] for holder in holders]


def copies_of(memories: Iterable[ControllerMemory]) -> dict[int, Any]:
    """Return a memo for `deepcopy` of the attributes of several objects with sampled functions of one run.

    Objects that they share are copied once, and attributes that are one of these objects stay this object.
    """
    return {id(memory.holder): memory.holder for memory in memories}


class ControllerMemory:
    """Attributes of an object with a sampled function, in one run.

    Parameters
    ----------
    holder : the object that is called or whose method is called, or a function without attributes of its own
    title : title of the sampled function, for error messages
    called : False for expressions, which have no state

    The argument `memo` of methods is shared by all memories of a run, see `copies_of`.
    """

    def __init__(self, holder: Any, title: str, called: bool) -> None:
        self.holder, self._title = holder, title
        without = not called or isinstance(holder, types.FunctionType | functools.partial)
        self._has_attributes = not without and (hasattr(holder, "__dict__") or bool(attributes_of(holder)))
        self._remembers = called and not self._has_attributes and Effects(holder).remembers
        self._stored: dict[str, Any] = {}  # attributes of this run while the object has those of another run
        self._refusal = ""

    @property
    def _user(self) -> ControllerMemory | None:
        """The memory of the run whose attributes the object has at present."""
        found = _present.get(id(self.holder))
        return None if found is None else found()

    @property
    def is_kept(self) -> bool:
        """Whether the state of the object in this run is known, although other runs may have called it."""
        return not self._refusal

    def begin(self, memo: dict[int, Any]) -> None:
        """Let the object belong to this run, which begins with its present attributes, and call its method `reset`.

        A run that uses the object already continues with a copy of the attributes.
        """
        user = self._user
        if user is not None and user is not self:
            user._keep_copy(memo)
        self._occupy()
        reset = getattr(self.holder, "reset", None)
        if callable(reset):
            reset()

    def enter(self) -> None:
        """Give the object the attributes that it has in this run, before it is called.

        Raises
        ------
        InputError
            If another run has called it since, and its state in this run could not be kept.
        """
        user = self._user
        if user is self:
            return
        if self._refusal:
            raise InputError(self._refusal)
        self._replace(self._stored, user)

    def release(self) -> None:
        """Leave the object, with its present attributes, to other runs."""
        if self._user is self:
            del _present[id(self.holder)]

    def snapshot(self, memo: dict[int, Any]) -> dict[str, Any] | None:
        """Return a copy of the attributes in this run, or None for a function without attributes.

        Raises
        ------
        InputError
            If the state cannot be copied.
        """
        if self._remembers:
            raise InputError(
                f"Run.save: the function of {self._title} reads variables that it sets itself: make it an object with "
                "a method __call__, which keeps them in its attributes"
            )
        if self._refusal:
            raise InputError(self._refusal)
        if not self._has_attributes:
            return None
        try:
            return deepcopy(attributes_of(self.holder) if self._user is self else self._stored, memo)
        except Exception as error:  # objects may refuse copies in any way
            raise InputError(
                f"Run.save: the function of {self._title} cannot be copied ({type(error).__name__}: {error}): let it "
                "keep its memory in attributes that can"
            ) from error

    def recall(self, saved: Mapping[str, Any] | None, memo: dict[int, Any]) -> None:
        """Give the object the attributes of a snapshot."""
        if saved is not None:
            self._refusal = ""
            self._replace(deepcopy(saved, memo), self._user)

    def _occupy(self) -> None:
        key = id(self.holder)
        _present[key] = weakref.ref(self, lambda gone: _present.pop(key) if _present.get(key) is gone else None)

    def _replace(self, attributes: Mapping[str, Any], user: ControllerMemory | None) -> None:
        """Give the object these attributes; `user` is the memory of the run whose attributes it has at present."""
        if self._has_attributes:
            if user is not None and user is not self:
                user._stored = attributes_of(self.holder)
            _set_attributes(self.holder, attributes)
        self._occupy()

    def _keep_copy(self, memo: dict[int, Any]) -> None:
        """Store a copy of the attributes of this run, as another run begins to use the object."""
        if self._remembers:
            why = "reads variables that it sets itself: make it an object that keeps them in its attributes"
        else:
            try:
                self._stored = deepcopy(attributes_of(self.holder), memo) if self._has_attributes else {}
                return
            except Exception as error:  # objects may refuse copies in any way
                why = f"cannot be copied ({type(error).__name__}: {error}): give each run a system with its own"
        self._refusal = f"{self._title}: another run has called its function since, which {why}"


def holder_of(function: Any) -> Any:
    """Return the object whose attributes are the state of a function: for a method, the object that it is bound to."""
    return function.__self__ if isinstance(function, types.MethodType) else function


def _set_attributes(x: Any, attributes: Mapping[str, Any]) -> None:
    """Give an object exactly these attributes, in its dictionary or, where its class has such, in slots."""
    slots = {name for name in [*attributes_of(x), *attributes] if name not in getattr(x, "__dict__", {})}
    slots = {name for name in slots if isinstance(getattr(type(x), name, None), types.MemberDescriptorType)}
    for name in slots:
        slot = getattr(type(x), name)
        if name in attributes:
            slot.__set__(x, attributes[name])
        elif hasattr(x, name):
            slot.__delete__(x)
    if hasattr(x, "__dict__"):
        own = vars(x)
        own.clear()
        own.update((name, value) for name, value in attributes.items() if name not in slots)
