"""Arrays of tracers, which record the operations of user functions on arrays.

A tracer is a placeholder for a number that is unknown until the machine code runs. The word "data" stands for a numpy
array of dtype object with tracers and floats, or a numpy array of constant integers or truth values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .tracer import (
    CONSTANTS,
    NotTraceableError,
    Tracer,
    Truth,
    _Opaque,
    operand,
    power,
    quotient,
    refusing,
)

# Kinds of numpy arrays that are supported: real numbers, integers, truth values.
REAL, INTEGER, TRUTH = np.dtype(float), np.dtype(np.int64), np.dtype(bool)


class TracerArray(_Opaque):
    """An array of tracers (placeholders for numbers) and floats, or a constant array of integers or truth values.

    Attributes
    ----------
    _quirk_data : numpy array of integers or truth values, or of objects: tracers and floats, or unknown truth values
    """

    __slots__ = ("_quirk_data",)

    def __init__(self, data: np.ndarray) -> None:
        self._quirk_data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes, as a tuple."""
        return self._quirk_data.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._quirk_data.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._quirk_data.size

    @property
    def T(self) -> TracerArray:
        """The transposed array, which shares the elements of this array."""
        return TracerArray(self._quirk_data.T)

    def __len__(self) -> int:
        return len(self._quirk_data)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self._quirk_data[_index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._quirk_data.dtype != object:
            raise NotTraceableError("an element of an array of integers is set")
        given = data_of(value)
        if given.dtype == TRUTH or any(isinstance(x, Truth) for x in given.flat):
            raise NotTraceableError("an element of an array is set to a truth")
        self._quirk_data[_index(index)] = given if given.ndim else given[()]

    def __neg__(self) -> Any:
        return elementwise(operator.neg, np.negative, self)

    def __pos__(self) -> Any:
        return self.copy()

    def __abs__(self) -> Any:
        return elementwise(abs, np.abs, self)

    def __invert__(self) -> Any:
        return elementwise(operator.invert, np.invert, self)

    def __add__(self, other: Any) -> Any:
        return elementwise(operator.add, np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return elementwise(operator.add, np.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return elementwise(operator.sub, np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return elementwise(operator.sub, np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return elementwise(operator.mul, np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return elementwise(operator.mul, np.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return elementwise(divided, np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return elementwise(divided, np.divide, other, self)

    def __pow__(self, other: Any) -> Any:
        if type(other) in (int, float) and other in (0, 1, 2, 0.5, -1):  # replaced by numpy
            if other != 2:
                raise NotTraceableError("a power of an array that numpy takes in a way of its own")
            return elementwise(lambda x: x * x, np.square, self)
        return elementwise(raised, operator.pow, self, other)

    def __iadd__(self, other: Any) -> Any:
        return self._set(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._set(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._set(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._set(self / other)

    __ipow__ = __imatmul__ = __iand__ = __ior__ = __ifloordiv__ = __imod__ = refusing("an array is changed in place")

    def _set(self, value: Any) -> TracerArray:
        """Set all elements in place; arrays that share the elements change as well."""
        self[...] = value
        return self

    def __matmul__(self, other: Any) -> Any:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return product(other, self)

    def __and__(self, other: Any) -> Any:
        return elementwise(operator.and_, np.bitwise_and, self, other)

    def __or__(self, other: Any) -> Any:
        return elementwise(operator.or_, np.bitwise_or, self, other)

    __rand__, __ror__ = __and__, __or__

    def __eq__(self, other: object) -> Any:
        return elementwise(operator.eq, np.equal, self, other)

    def __ne__(self, other: object) -> Any:
        return elementwise(operator.ne, np.not_equal, self, other)

    def __lt__(self, other: Any) -> Any:
        return elementwise(operator.lt, np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return elementwise(operator.le, np.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return elementwise(operator.gt, np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return elementwise(operator.ge, np.greater_equal, self, other)

    __hash__ = None

    def copy(self) -> TracerArray:
        """Return a copy of the array."""
        return TracerArray(self._quirk_data.copy())

    def ravel(self) -> TracerArray:
        """Return an array with a single axis that shares the elements of this array."""
        return TracerArray(self._quirk_data.ravel())

    def flatten(self) -> TracerArray:
        """Return a copy with a single axis."""
        return TracerArray(self._quirk_data.flatten())

    def reshape(self, *shape: Any) -> TracerArray:
        """Return an array with another shape that shares the elements of this array."""
        return TracerArray(self._quirk_data.reshape(*shape))

    def sum(self) -> Any:
        """Return the sum of all elements."""
        return total(self)

    def dot(self, other: Any) -> Any:
        """Return the product with another vector or matrix, as `numpy.dot` does."""
        return product(self, other)


def data_of(x: Any) -> np.ndarray:
    """Convert a number, an array or nested lists to a numpy array of objects, integers or truth values.

    Floats are stored as objects; integers mixed with floats become floats, as in numpy.
    """
    if type(x) is TracerArray:
        return x._quirk_data
    if type(x) in (list, tuple):
        parts = [data_of(part) for part in x]
        if not parts:
            return np.zeros(0, dtype=object)
        if len({part.shape for part in parts}) > 1:
            raise NotTraceableError("an array of parts of different shapes")
        kinds = {part.dtype for part in parts}
        if len(kinds) > 1 and (TRUTH in kinds or any(_unknown_truths(part) for part in parts)):
            raise NotTraceableError("an array of truths and numbers")
        return np.stack(parts if len(kinds) == 1 else [real(part) for part in parts])
    found: np.ndarray = np.empty((), dtype=object)
    if isinstance(x, Tracer):
        if x._quirk_integer is not None:
            raise NotTraceableError("an integer in an array")
        found[()] = Tracer(x._quirk_jet, True)
    elif isinstance(x, Truth):
        found[()] = x
    elif type(x) in (int, np.int64) and abs(int(x)) < 2**53:
        return np.array(x, dtype=np.int64)
    elif type(x) in (bool, np.bool_):
        return np.array(x)
    elif type(x) in CONSTANTS:
        found[()] = float(x)
    else:
        raise NotTraceableError(f"an array of {type(x).__name__}")
    return found


def real(data: np.ndarray) -> np.ndarray:
    """Return data with integers and truth values converted to floats."""
    return data if data.dtype == object else data.astype(float).astype(object)


def wrapped(data: Any) -> Any:
    """Return data as a TracerArray, or as a scalar if the data have no axes, like results of numpy functions."""
    if isinstance(data, np.ndarray) and data.ndim:
        return TracerArray(data)
    x = data[()] if isinstance(data, np.ndarray) else data
    if isinstance(x, Tracer):
        return Tracer(x._quirk_jet, True)
    return np.float64(x) if type(x) is float else x


def constant(*data: np.ndarray) -> bool:
    """Whether data contain only constants, and no tracers or unknown truth values."""
    return not any(isinstance(x, Tracer | Truth) for one in data if one.dtype == object for x in one.flat)


def plain(data: np.ndarray) -> np.ndarray:
    """Return constant data as an array of floats, integers or truth values."""
    if data.dtype != object:
        return data
    return data.astype(bool if data.size and all(isinstance(x, np.bool_) for x in data.flat) else float)


def from_numpy(x: Any) -> Any:
    """Return a numpy array computed from constants as a TracerArray, and a scalar unchanged.

    An array without dimensions, as from `numpy.where`, remains one: unlike a number it cannot be hashed.
    """
    if isinstance(x, np.ndarray):
        if x.dtype not in (REAL, INTEGER, TRUTH):
            raise NotTraceableError(f"an array of {x.dtype}")
        return TracerArray(x.astype(object) if x.dtype == REAL else x)
    return x


def elementwise(function: Callable[..., Any], of_numpy: Callable[..., Any], *arguments: Any) -> Any:
    """Apply a function of scalars to each element of arrays.

    If all arguments are constant, the numpy function `of_numpy` is called instead.
    """
    if any(type(x) is type(None) or isinstance(x, str) for x in arguments):
        raise NotTraceableError("an array is combined with what is no number")
    scalars = [x for x in arguments if isinstance(x, Tracer) and x._quirk_integer is not None]
    if scalars:
        raise NotTraceableError("an integer is combined with an array")
    data = [data_of(x) for x in arguments]
    if constant(*data):
        given = [plain(x) if type(a) is TracerArray else a for a, x in zip(arguments, data, strict=True)]
        with np.errstate(all="ignore"):
            return from_numpy(of_numpy(*given))
    if any(x.dtype == TRUTH for x in data) and function not in (operator.and_, operator.or_, operator.invert):
        raise NotTraceableError("truths are combined as numbers")
    parts = np.broadcast_arrays(*(x if x.dtype == TRUTH else real(x) for x in data))
    found = np.empty(parts[0].shape, dtype=object)
    for place in np.ndindex(*found.shape):
        found[place] = function(*(_element(part[place]) for part in parts))
    return wrapped(_floats(found))


def _element(x: Any) -> Any:
    """Return an element of data as the scalar type that numpy uses: floats become numpy.float64."""
    return np.float64(x) if type(x) is float else x


def divided(a: Any, b: Any) -> Any:
    """Return the quotient a / b of two numpy scalars, constants or tracers."""
    if not isinstance(a, Tracer) and not isinstance(b, Tracer):
        return np.divide(a, b)
    return Tracer(quotient(operand(a)[0], operand(b)[0]), True)


def raised(a: Any, b: Any) -> Any:
    """Return the power a**b of two numpy scalars, constants or tracers."""
    if not isinstance(a, Tracer) and not isinstance(b, Tracer):
        return np.power(a, b)
    return Tracer(power(operand(a)[0], operand(b)[0]), True)


def total(x: Any) -> Any:
    """Return the sum of all elements, added sequentially."""
    data = real(data_of(x))
    if constant(data):
        return np.sum(plain(data))
    if any(isinstance(entry, Truth) for entry in data.flat):
        raise NotTraceableError("truths are added")
    return _added(list(data.flat))


def _added(parts: Sequence[Any]) -> Any:
    found = _element(parts[0])
    for part in parts[1:]:
        found = found + _element(part)
    return found


def product(a: Any, b: Any) -> Any:
    """Return the matrix product of two vectors or matrices."""
    x, y = data_of(a), data_of(b)
    if constant(x, y):
        with np.errstate(all="ignore"):
            return from_numpy(plain(x) @ plain(y))
    x, y = real(x), real(y)
    if x.ndim not in (1, 2) or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0] or not x.size or not y.size:
        raise NotTraceableError(f"a product of arrays of shapes {x.shape} and {y.shape}")
    rows, columns = np.atleast_2d(x), y if y.ndim == 2 else y[:, None]
    found = np.empty((len(rows), columns.shape[1]), dtype=object)
    for i, k in np.ndindex(*found.shape):
        found[i, k] = _added([_element(p) * _element(q) for p, q in zip(rows[i], columns[:, k], strict=True)])
    shape = x.shape[:-1] + y.shape[1:]
    return wrapped(_floats(found).reshape(shape))


def _floats(data: np.ndarray) -> np.ndarray:
    """Convert numpy floats among the elements of data to Python floats, in place."""
    for place in np.ndindex(*data.shape):
        if isinstance(data[place], np.floating):
            data[place] = float(data[place])
    return data


def squares(x: Any) -> Any:
    """Return the sum of the squares of all elements, added sequentially."""
    return _added([_element(p) * _element(p) for p in real(data_of(x)).ravel()])


def _unknown_truths(data: np.ndarray) -> bool:
    return data.dtype == object and any(isinstance(x, Truth) for x in data.flat)


def _index(index: Any) -> Any:
    """Convert an index of a TracerArray to one of a numpy array; raise NotTraceableError for unsupported types."""
    if type(index) is tuple:
        return tuple(_index(part) for part in index)
    if type(index) is TracerArray:
        data = index._quirk_data
        if data.dtype == object:
            raise NotTraceableError("an index that is no constant")
        return data
    if type(index) is list:
        return [_index(part) for part in index]
    whole = type(index) in (int, np.int64, bool, np.bool_)
    parts = (index.start, index.stop, index.step) if type(index) is slice else ()
    bounds = type(index) is slice and all(x is None or type(x) in (int, np.int64) for x in parts)
    if not (whole or bounds or index is None or index is Ellipsis):
        raise NotTraceableError(f"an index that is {type(index).__name__}")
    return index
