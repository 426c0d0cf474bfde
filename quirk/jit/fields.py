"""Structures of numbers that both Python and compiled code can read and write.

A structure is declared by the annotations of a class derived from `Fields`::

    @fields
    class Clock(Fields):
        t: float
        h: float

Kernels and Python read and write `clock.t`; kernels receive the address of the numbers. The numbers of a structure are
either all floats or all integers.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

# Type of a number in C, in numba and in LLVM, by annotation.
KINDS: dict[str, tuple[type, types.Type, ir.Type]] = {
    "float": (ctypes.c_double, types.float64, ir.DoubleType()),
    "int": (ctypes.c_int64, types.int64, ir.IntType(64)),
}

FieldsClass = TypeVar("FieldsClass", bound="type[Fields]")


class Fields(ctypes.Structure):
    """Base class of structures of numbers; all numbers are initially zero.

    Attributes
    ----------
    address : address of the numbers in memory
    """

    __slots__ = ("address",)
    kind = "float"

    def __init__(self) -> None:
        super().__init__()
        self.address = ctypes.addressof(self)

    def __reduce__(self) -> Any:
        """Return the class and the numbers, from which `copy` and `pickle` create a new object."""
        return restored, (type(self), bytes(self))

    @property
    def array(self) -> np.ndarray:
        """View of the numbers as an array that shares their memory."""
        return np.frombuffer(self, dtype=float if self.kind == "float" else np.int64)  # type: ignore[call-overload]

    def fill(self, number: float) -> None:
        """Set all numbers to `number`."""
        self.array[:] = number


def restored(of: type[Fields], numbers: bytes) -> Fields:
    """Return an object of the class `of` with the given numbers; `numbers` contains them as raw bytes."""
    made = of()
    ctypes.memmove(made.address, numbers, len(numbers))
    return made


def fields(of: FieldsClass) -> FieldsClass:
    """Decorate a class derived from `Fields`: its annotations become numbers of the structure."""
    (kind,) = set(of.__annotations__.values())
    members = {
        "_fields_": [(name, KINDS[kind][0]) for name in of.__annotations__],
        "__slots__": (),  # so that Python refuses other names
        "__doc__": of.__doc__,
        "__module__": of.__module__,
        "__qualname__": of.__qualname__,
        "kind": kind,
    }
    metaclass: Any = type(of)
    return metaclass(of.__name__, (Fields,), members)


class FieldsType(types.Type):
    """numba type of a structure of numbers."""

    def __init__(self, fields_class: type[Fields]) -> None:
        self.fields_class = fields_class
        self.names = tuple(name for name, *_ in fields_class._fields_)
        self.member = KINDS[fields_class.kind][1]
        super().__init__(name=f"{fields_class.__name__}({', '.join(self.names)})")

    @property
    def key(self) -> Any:
        """Key by which numba compares types: the class of the structure."""
        return self.fields_class

    @property
    def mangling_args(self) -> Any:
        """Short name of the type, used in the names of compiled functions."""
        return self.fields_class.__name__, ()


@register_model(FieldsType)
class FieldsModel(models.PrimitiveModel):
    """numba data model of a structure of numbers: a pointer to the array of its numbers."""

    def __init__(self, manager: Any, kind: FieldsType) -> None:
        place = ir.ArrayType(KINDS[kind.fields_class.kind][2], len(kind.names))
        super().__init__(manager, kind, place.as_pointer())


@typeof_impl.register(Fields)
def _typed(value: Fields, context: Any) -> FieldsType:
    return FieldsType(type(value))


@infer_getattr
class FieldsAttributes(AttributeTemplate):
    """numba type inference for the attributes of a structure of numbers."""

    key = FieldsType

    def generic_resolve(self, kind: FieldsType, name: str) -> Any:  # type: ignore[override]
        """Return the numba type of the number with this name, or None if the name is unknown."""
        return kind.member if name in kind.names else None


@lower_getattr_generic(FieldsType)
def _number(context: Any, builder: Any, kind: FieldsType, value: Any, name: str) -> Any:
    """Emit instructions that read the number `name` of a structure."""
    return builder.load(cgutils.gep_inbounds(builder, value, 0, kind.names.index(name)))


@lower_setattr_generic(FieldsType)
def _set_number(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    """Emit instructions that write the number `name` of a structure."""
    kind, (value, number) = signature.args[0], arguments
    builder.store(number, cgutils.gep_inbounds(builder, value, 0, kind.names.index(name)))


def _holds_address() -> bool:
    """Return whether ctypes objects store the address of their data right after the object header, as in CPython."""
    number = ctypes.c_double()
    return ctypes.c_void_p.from_address(id(number) + object.__basicsize__).value == ctypes.addressof(number)


HOLDS_ADDRESS = _holds_address()


@unbox(FieldsType)
def _unboxed(kind: FieldsType, value: Any, c: Any) -> NativeValue:
    """Emit instructions that convert a structure passed by Python to the address of its numbers."""
    pointer = c.context.get_value_type(kind)
    if HOLDS_ADDRESS:  # a tenth of a microsecond less for each call and object
        head = c.builder.bitcast(value, ir.IntType(8).as_pointer())
        place = c.builder.gep(head, [ir.Constant(ir.IntType(64), object.__basicsize__)])
        return NativeValue(c.builder.load(c.builder.bitcast(place, pointer.as_pointer())))
    address = c.pyapi.object_getattr_string(value, "address")
    place = c.builder.bitcast(c.pyapi.long_as_voidptr(address), pointer)
    c.pyapi.decref(address)
    return NativeValue(place)
