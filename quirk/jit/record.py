"""Records of arrays: named tuples that kernels pass by address.

numba passes a named tuple to a function member by member, each array as seven numbers. For the tables of the compiled
solver this would be several hundred numbers: passing them took more than half of the compilation time and slowed down
short calls. A record is converted from Python once, at the call of an entry; kernels load only the members that they
use. Members are numbers, flat C-contiguous arrays and other records. Kernels may write to the elements of arrays, but
not to members.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import default_manager
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import as_dtype

from .fields import Fields

RecordClass = TypeVar("RecordClass", bound=type)

# Indices of the two fields by which a record stores an array: the address of its first element and the number of
# elements.
DATA, COUNT = range(2)


class RecordType(types.Type):
    """numba type of a record, with the types of all its members."""

    def __init__(self, record_class: type, members: tuple[types.Type, ...]) -> None:
        self.record_class, self.members = record_class, members
        self.names: tuple[str, ...] = record_class._fields  # type: ignore[attr-defined]
        super().__init__(name=f"{record_class.__name__}({', '.join(map(str, members))})")

    @property
    def key(self) -> Any:
        """Key by which numba compares types: the class of the record and the types of its members."""
        return self.record_class, self.members

    @property
    def mangling_args(self) -> Any:
        """Short name of the type for the names of compiled functions; numba's default lists all members."""
        return self.record_class.__name__, ()


@register_model(RecordType)
class RecordModel(models.PrimitiveModel):
    """Data model of a record: a pointer to a struct of all members."""

    def __init__(self, manager: Any, kind: RecordType) -> None:
        place = ir.LiteralStructType([_storage_type(member) for member in kind.members])
        super().__init__(manager, kind, place.as_pointer())


def _storage_type(member: types.Type) -> Any:
    """Return the LLVM type in which a member of a record is stored."""
    model = default_manager.lookup(member)
    if isinstance(member, RecordType):
        return model.get_value_type().pointee
    if isinstance(member, types.Array):
        element = default_manager.lookup(member.dtype).get_data_type()
        return ir.LiteralStructType([element.as_pointer(), ir.IntType(64)])
    return model.get_data_type()


def record(of: RecordClass) -> RecordClass:
    """Decorate a named-tuple class so that kernels treat its instances as records."""

    @typeof_impl.register(of)
    def typed(value: Any, context: Any) -> RecordType:
        members = tuple(typeof_impl(member, context) for member in value)
        for name, member in zip(of._fields, members, strict=True):  # type: ignore[attr-defined]
            if isinstance(member, types.Array) and (member.ndim, member.layout) != (1, "C"):
                raise TypeError(f"{of.__name__}.{name} is not a flat contiguous array")
        return RecordType(of, members)

    return of


def real_arrays(of: Any, leave_out: Collection[str] = ()) -> list[np.ndarray]:
    """Return all arrays of floats in a record and its nested records, except the fields named in `leave_out`."""
    found: list[np.ndarray] = []
    for name, member in zip(of._fields, of, strict=True):
        if name in leave_out:
            continue
        if isinstance(member, tuple):
            found += real_arrays(member, leave_out)
        elif isinstance(member, Fields) and member.kind == "float":
            found.append(member.array)
        elif isinstance(member, np.ndarray) and member.dtype == float:
            found.append(member)
    return found


def copies(arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Return copies of arrays, from which `restore` can restore them."""
    return [array.copy() for array in arrays]


def restore(arrays: Iterable[np.ndarray], saved: Iterable[np.ndarray]) -> None:
    """Write the values `saved` by `copies` to the original arrays, or to corresponding arrays of another record."""
    for array, numbers in zip(arrays, saved, strict=True):
        array[:] = numbers


@infer_getattr
class RecordAttributes(AttributeTemplate):
    """numba's type inference for the members of records."""

    key = RecordType

    def generic_resolve(self, kind: RecordType, name: str) -> Any:  # type: ignore[override]
        """Return the numba type of the member `name`, or None if the record has no such member."""
        return kind.members[kind.names.index(name)] if name in kind.names else None


@lower_getattr_generic(RecordType)
def _member(context: Any, builder: Any, kind: RecordType, value: Any, name: str) -> Any:
    """Emit instructions that read the member `name` of a record."""
    k = kind.names.index(name)
    member, place = kind.members[k], cgutils.gep_inbounds(builder, value, 0, k)
    if isinstance(member, RecordType):
        return place
    if not isinstance(member, types.Array):
        return context.data_model_manager[member].from_data(builder, _load(builder, place))
    # As numba's own array proxy does, but without the search for an implementation of "__array__" at each access.
    count = _load(builder, cgutils.gep_inbounds(builder, place, 0, COUNT))
    size = context.get_constant(types.intp, as_dtype(member.dtype).itemsize)
    values = {
        "data": _load(builder, cgutils.gep_inbounds(builder, place, 0, DATA)),
        "nitems": count,
        "itemsize": size,
        "shape": cgutils.pack_array(builder, [count]),
        "strides": cgutils.pack_array(builder, [size]),
    }
    model = context.data_model_manager[member]
    array = cgutils.get_null_value(model.get_value_type())
    for part, x in values.items():
        array = model.set(builder, array, x, part)
    return array


def _load(builder: Any, place: Any) -> Any:
    """Emit the load of a member, marked as invariant so that LLVM may move it out of loops."""
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@unbox(RecordType)
def _unboxed(kind: RecordType, value: Any, c: Any) -> NativeValue:
    """Emit instructions that convert a Python tuple to a record when Python calls an entry."""
    place = cgutils.alloca_once(c.builder, c.context.get_value_type(kind).pointee)
    wrong = cgutils.false_bit
    for k, member in enumerate(kind.members):
        native = c.unbox(member, c.pyapi.tuple_getitem(value, k))
        wrong = c.builder.or_(wrong, native.is_error)
        here = cgutils.gep_inbounds(c.builder, place, 0, k)
        if isinstance(member, RecordType):
            c.builder.store(c.builder.load(native.value), here)
        elif isinstance(member, types.Array):
            array = c.context.make_array(member)(c.context, c.builder, native.value)
            c.builder.store(array.data, cgutils.gep_inbounds(c.builder, here, 0, DATA))
            c.builder.store(array.nitems, cgutils.gep_inbounds(c.builder, here, 0, COUNT))
        else:
            c.builder.store(c.context.data_model_manager[member].as_data(c.builder, native.value), here)
    # The optimizer must not see that this memory is written, as kernels declare their loads from it invariant.
    kind_of_place = ir.FunctionType(place.type, [place.type])
    hidden = c.builder.asm(kind_of_place, "", "=r,0,~{memory}", [place], True, name="record")
    return NativeValue(hidden, is_error=wrong)
