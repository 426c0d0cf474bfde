"""Copies of the attributes of controllers, in which objects and memory are shared as in the original.

Copies are made as by `pickle`, except that functions, classes and modules are not copied. Arrays that share memory,
such as a matrix and its rows, become views of one copy of this memory, a block of bytes. Weak references, which would
still refer to the original objects, are refused.
"""

from __future__ import annotations

import array
import ctypes
import io
import pickle
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

# Types of values without parts.
_PLAIN = {int, float, complex, bool, str, bytes, type(None)}
_WEAK: tuple[type, ...] = (weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType)
# Types of objects that are the same in copies.
_NOT_COPIED = (type, types.FunctionType, types.ModuleType, types.CodeType, property, np.ufunc, *_WEAK)
# Types of objects that may share memory.
_WITH_MEMORY = (np.ndarray, bytearray, array.array, ctypes.Array, ctypes.Structure, ctypes.Union)


class CopyError(Exception):
    """Error raised for attributes that cannot be copied.

    Attributes
    ----------
    index : index of the object that has them
    """

    def __init__(self, error: Exception, index: int) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.index = index


def copies(attributes: Sequence[Mapping[str, Any]], kept: Iterable[Any]) -> list[Any]:
    """Copy the attributes of several objects together, so that objects and memory which they share are copied once.

    Parameters
    ----------
    attributes : attributes of each object, by name
    kept : objects that are not copied where attributes refer to them

    Raises
    ------
    CopyError
        If an attribute cannot be copied.
    """
    stream = io.BytesIO()
    writer = _Writer(stream, kept)
    for index, own in enumerate(attributes):
        writer.write(own, index)
    writer.refuse_weak_references()
    stream.seek(0)
    reader = _Reader(stream, writer.not_copied | writer.copied_arrays())
    return [reader.read(index) for index in range(len(attributes))]


def reduced_view(x: np.ndarray, block: np.ndarray) -> tuple[Any, ...]:
    """Return what `pickle` stores for an array whose memory is in that of `block`, an array of bytes."""
    return _view, (block, x.dtype, x.shape, x.ctypes.data - block.ctypes.data, x.strides, x.flags.writeable)


def _view(block: np.ndarray, dtype: Any, shape: Any, offset: int, strides: Any, writeable: bool) -> np.ndarray:
    """Return an array in the memory of `block`, from the byte `offset`."""
    view: np.ndarray = np.ndarray(shape, dtype, block, offset, strides)
    view.flags.writeable = writeable
    return view


class _Writer(pickle.Pickler):
    """Pickler that writes only the ids of arrays and of objects that are not copied.

    Parameters
    ----------
    stream : where it writes
    kept : objects that are not copied

    Attributes
    ----------
    not_copied : objects that are the same in copies, by id
    """

    def __init__(self, stream: io.BytesIO, kept: Iterable[Any]) -> None:
        super().__init__(stream, protocol=5)
        self.not_copied = {id(x): x for x in kept}
        self._index = 0
        self._copied: dict[int, tuple[Any, int]] = {}  # with the index of the first object that has it

    def write(self, attributes: Mapping[str, Any], index: int) -> None:
        """Write the attributes of the object with the given index."""
        self._index = index
        try:
            self.dump(attributes)
        except Exception as error:  # objects may refuse copies in any way
            raise CopyError(error, index) from error

    def persistent_id(self, x: Any) -> int | None:
        """Return the id of an object that is left out, or None."""
        kind = type(x)  # proxies have the class of another object
        if kind in _PLAIN:
            return None
        if id(x) in self.not_copied or issubclass(kind, _NOT_COPIED):
            self.not_copied[id(x)] = x
            return id(x)
        self._copied.setdefault(id(x), (x, self._index))
        return id(x) if _is_plain_array(x) else None

    def reducer_override(self, x: Any) -> Any:
        """Return the function and the object of a bound method, from which its copy is made."""
        if type(x) is types.MethodType:
            return types.MethodType, (x.__func__, x.__self__)
        if type(x) is types.BuiltinMethodType and getattr(x.__self__, x.__name__, x) != x:
            raise TypeError(f"it has the method {x.__name__} of a base class of {type(x.__self__).__name__}")
        return NotImplemented

    def refuse_weak_references(self) -> None:
        """Raise an error for a weak reference to an object that is copied."""
        weak = {key for key, x in self.not_copied.items() if issubclass(type(x), _WEAK)}
        for x, index in self._copied.values() if weak else ():
            if any(id(one) in weak for one in weakref.getweakrefs(x)):
                raise CopyError(TypeError(f"it has a weak reference to an object of {type(x).__name__}"), index)

    def copied_arrays(self) -> dict[int, np.ndarray]:
        """Return copies of the arrays that were left out, by id; those that share memory are views of its copy."""
        copied: dict[int, np.ndarray] = {}
        for group in self._groups():
            if len(group) == 1:
                ((x, *_),) = group
                if _is_plain_array(x):
                    copied[id(x)] = x.copy(order="K")
                    copied[id(x)].flags.writeable = x.flags.writeable
                continue
            start, end = min(start for *_, start, _ in group), max(end for *_, end in group)
            block = np.ctypeslib.as_array((ctypes.c_uint8 * (end - start)).from_address(start))
            copy = block.copy()
            for x, index, *_ in group:
                if not _is_plain_array(x):
                    kind = "array of objects" if type(x) is np.ndarray else f"object of type {type(x).__name__}"
                    raise CopyError(TypeError(f"an {kind} shares memory with an array"), index)
                make, (_, *form) = reduced_view(x, block)
                copied[id(x)] = make(copy, *form)
        return copied

    def _groups(self) -> Iterator[list[tuple[Any, int, int, int]]]:
        """Yield objects with memory that overlaps, each with its index and the addresses of its first and last byte."""
        owners = [(*one, *_extent(one[0])) for one in self._copied.values() if isinstance(one[0], _WITH_MEMORY)]
        group: list[tuple[Any, int, int, int]] = []
        last = 0
        for one in sorted(owners, key=lambda one: one[2:]):
            *_, start, end = one
            if end == start:  # an empty array
                yield [one]
                continue
            if group and start >= last:
                yield group
                group = []
            group.append(one)
            last = max(last, end)
        if group:
            yield group


class _Reader(pickle.Unpickler):
    """Unpickler that reads the output of a `_Writer`, and puts objects or copies in the places of their ids.

    Parameters
    ----------
    stream : where it reads
    left_out : the objects that were left out, or their copies, by id of the original
    """

    def __init__(self, stream: io.BytesIO, left_out: Mapping[int, Any]) -> None:
        super().__init__(stream)
        self._left_out = left_out

    def read(self, index: int) -> Any:
        """Return the attributes of the next object, the one with the given index."""
        try:
            return self.load()
        except Exception as error:  # objects may refuse copies in any way
            raise CopyError(error, index) from error

    def persistent_load(self, key: int) -> Any:
        """Return the object that was left out, or its copy."""
        return self._left_out[key]


def _is_plain_array(x: Any) -> bool:
    """Whether an object is an array of numbers, texts or times, whose copy is one of its memory."""
    return type(x) is np.ndarray and not x.dtype.hasobject


def _extent(x: Any) -> tuple[int, int]:
    """Return the address of the first byte of an array or other object with memory, and that after its last byte."""
    if not isinstance(x, np.ndarray):
        x = np.frombuffer(x, np.uint8) if memoryview(x).nbytes else np.empty(0)
    start = x.ctypes.data
    if not x.nbytes:
        return start, start
    reach = [(size - 1) * stride for size, stride in zip(x.shape, x.strides, strict=True)]
    return start + sum(min(one, 0) for one in reach), start + sum(max(one, 0) for one in reach) + x.itemsize
