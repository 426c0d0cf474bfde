"""Memory of sampled functions between calls, kept for each run by itself.

A controller with memory is an object whose attributes are its state. If several runs call the same object, its
attributes are exchanged whenever another run calls it, so that each run continues with its own.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..events import Sampled
from ..functions.effects import Effects
from ..functions.object_kinds import attributes_of, built_in_base, slots_of
from .memory_copies import CopyError, copies

# The memory of the run whose attributes an object has at present, by id of the object, which the memory keeps alive.
_present: dict[int, weakref.ref[ControllerMemory]] = {}


class ControllerMemories:
    """Memory of all sampled functions of a run.

    Parameters
    ----------
    sampled : sampled functions of the run; methods of one object share its memory
    """

    def __init__(self, sampled: Sequence[Sampled]) -> None:
        by_holder: dict[int, ControllerMemory] = {}
        holders = [holder_of(one.function) for one in sampled]
        for one, holder in zip(sampled, holders, strict=True):
            by_holder.setdefault(id(holder), ControllerMemory(holder, f"{one}", bool(one.user_functions), holders))
        self._all = list(by_holder.values())
        self._of_functions = [by_holder[id(holder)] for holder in holders]

    def begin(self) -> None:
        """Let the objects belong to this run, which begins with their present attributes, and call methods `reset`.

        Other runs that use the objects continue with copies of the attributes.
        """
        users = [(memory.user, memory) for memory in self._all]
        others = [user for user, memory in users if user is not None and user is not memory]
        try:
            for user, copy in zip(others, _copies(others, [user.attributes for user in others]), strict=True):
                user.leave_with(copy)
        except _UncopiedError as error:
            for user in others:
                user.refuse(
                    f"{error.title}: another run has called its function since, which {error}, or give each run a "
                    "system with its own"
                )
        for memory in self._all:
            memory.begin()

    def enter(self) -> None:
        """Give the objects the attributes that they have in this run, except those that could not be kept."""
        for memory in self._all:
            if memory.is_kept:
                memory.enter()

    def enter_for(self, index: int) -> None:
        """Give the object of the sampled function with this index its attributes, before it is called.

        Raises
        ------
        InputError
            If another run has called it since, and its state in this run could not be kept.
        """
        self._of_functions[index].enter()

    def snapshot(self) -> list[dict[str, Any]]:
        """Return copies of the attributes of each object in this run.

        Raises
        ------
        InputError
            If they cannot be copied.
        """
        for memory in self._all:
            memory.check()
        try:
            return _copies(self._all, [memory.attributes for memory in self._all])
        except _UncopiedError as error:
            raise InputError(f"Run.save: the function of {error.title} {error}") from error

    def recall(self, saved: Sequence[Mapping[str, Any]]) -> None:
        """Give the objects the attributes of a snapshot."""
        for memory, attributes in zip(self._all, _copies(self._all, saved), strict=True):
            memory.replace(attributes)

    def end(self) -> None:
        """Leave the objects to other runs, with their present attributes."""
        for memory in self._all:
            memory.release()


class _UncopiedError(Exception):
    """Error raised if the memory of a controller cannot be copied, with the title of its sampled function."""

    def __init__(self, reason: str, title: str) -> None:
        super().__init__(reason)
        self.title = title


class ControllerMemory:
    """Attributes of an object with a sampled function, in one run.

    Parameters
    ----------
    holder : the object that is called or whose method is called, or a function without attributes of its own
    title : title of the sampled function, for error messages
    called : False for expressions, which have no state
    fellows : the objects with sampled functions of the run

    Attributes
    ----------
    obstacle : why the state cannot be copied as attributes, or ""
    """

    def __init__(self, holder: Any, title: str, called: bool, fellows: Sequence[Any]) -> None:
        self.holder, self.title, self.fellows, self.obstacle = holder, title, fellows, ""
        without = not called or isinstance(holder, types.FunctionType | functools.partial)
        self._has_attributes = not without and (hasattr(holder, "__dict__") or bool(slots_of(type(holder))))
        base = built_in_base(type(holder))
        if called and not self._has_attributes and Effects(holder).remembers:
            self.obstacle = (
                "reads variables that it sets itself: make it an object with a method __call__, which keeps them in "
                "its attributes"
            )
        elif self._has_attributes and base is not None:
            self.obstacle = f"is a {base.__name__}, whose contents are no attributes: let it have one as an attribute"
        self._stored: Mapping[str, Any] = {}  # attributes of this run while the object has those of another run
        self._refusal = ""

    @property
    def user(self) -> ControllerMemory | None:
        """The memory of the run whose attributes the object has at present."""
        found = _present.get(id(self.holder))
        return None if found is None else found()

    @property
    def is_kept(self) -> bool:
        """Whether the state of the object in this run is known, although other runs may have called it."""
        return not self._refusal

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the object in this run."""
        if not self._has_attributes:
            return {}
        return attributes_of(self.holder) if self.user is self else self._stored

    def begin(self) -> None:
        """Let the object belong to this run, which begins with its present attributes, and call its method `reset`."""
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
        if self.user is not self:
            self.check()
            self.replace(self._stored)

    def check(self) -> None:
        """Raise an InputError if the state of the object in this run could not be kept."""
        if self._refusal:
            raise InputError(self._refusal)

    def leave_with(self, attributes: Mapping[str, Any]) -> None:
        """Continue with these attributes later, as another run begins to use the object."""
        self._stored = attributes

    def refuse(self, reason: str) -> None:
        """Note that the attributes could not be kept as another run began to use the object."""
        self._refusal = reason

    def replace(self, attributes: Mapping[str, Any]) -> None:
        """Give the object these attributes, and keep those that it has at present for the run that uses it."""
        user, self._refusal = self.user, ""
        if self._has_attributes:
            if user is not None and user is not self:
                user.leave_with(attributes_of(self.holder))
            _set_attributes(self.holder, attributes)
        self._occupy()

    def release(self) -> None:
        """Leave the object, with its present attributes, to other runs."""
        if self.user is self:
            del _present[id(self.holder)]

    def _occupy(self) -> None:
        key = id(self.holder)
        _present[key] = weakref.ref(self, lambda gone: _present.pop(key) if _present.get(key) is gone else None)


def _copies(memories: Sequence[ControllerMemory], attributes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Copy the attributes of several controllers together, so that objects which they share are copied once.

    Attributes that are themselves an object with a sampled function of the run stay this object.
    """
    for memory in memories:
        if memory.obstacle:
            raise _UncopiedError(memory.obstacle, memory.title)
    try:
        return copies(attributes, [holder for memory in memories for holder in memory.fellows])
    except CopyError as error:
        why = f"cannot be copied ({error}): let it keep its memory in attributes that can"
        raise _UncopiedError(why, memories[error.index].title) from error


def holder_of(function: Any) -> Any:
    """Return the object whose attributes are the state of a function: for a method, the object that it is bound to."""
    return function.__self__ if isinstance(function, types.MethodType) else function


def _set_attributes(x: Any, attributes: Mapping[str, Any]) -> None:
    """Give an object exactly these attributes, in its dictionary or, where its class has such, in slots."""
    slots = slots_of(type(x))
    for name, slot in slots.items():
        if name in attributes:
            slot.__set__(x, attributes[name])
        elif hasattr(x, name):
            slot.__delete__(x)
    if hasattr(x, "__dict__"):
        own = vars(x)
        own.clear()
        own.update((name, value) for name, value in attributes.items() if name not in slots)
