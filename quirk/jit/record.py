"""Records of arrays: named tuples that kernels hand on by the address of one place in memory.

numba hands over a named tuple as its members, each array as seven numbers, at each call: for the tables of the compiled
solver several hundred, which took more than half of the time of compiling, and time of short calls. A record is read
from Python once, at the call of an entry; kernels load what they need of it. Members are numbers, flat C-contiguous
arrays and other records; to them, not to what is in the arrays, kernels cannot write.
"""

from __future__ import annotations

from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils, lowering
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

RecordClass = TypeVar("RecordClass", bound=type)

# What is kept of an array: where its first element is, and how many there are.
DATA, COUNT = range(2)


class RecordType(types.Type):
    """What numba calls a record."""

    def __init__(self, made_by: type, members: tuple[types.Type, ...]) -> None:
        self.made_by, self.members = made_by, members
        self.names: tuple[str, ...] = made_by._fields  # type: ignore[attr-defined]
        super().__init__(name=f"{made_by.__name__}({', '.join(map(str, members))})")

    @property
    def key(self) -> Any:
        """What tells types apart."""
        return self.made_by, self.members

    @property
    def mangling_args(self) -> Any:
        """What stands for the type in names of functions, which would be a thousand letters long with all members."""
        return self.made_by.__name__, ()


@register_model(RecordType)
class RecordModel(models.PrimitiveModel):
    """A pointer to all members."""

    def __init__(self, manager: Any, kind: RecordType) -> None:
        place = ir.LiteralStructType([_kept_as(member) for member in kind.members])
        super().__init__(manager, kind, place.as_pointer())


def _kept_as(member: types.Type) -> Any:
    """What a member takes in memory."""
    model = default_manager.lookup(member)
    if isinstance(member, RecordType):
        return model.get_value_type().pointee
    if isinstance(member, types.Array):
        element = default_manager.lookup(member.dtype).get_data_type()
        return ir.LiteralStructType([element.as_pointer(), ir.IntType(64)])
    return model.get_data_type()


def record(of: RecordClass) -> RecordClass:
    """Let kernels take the named tuples of a class as records."""

    @typeof_impl.register(of)
    def typed(value: Any, context: Any) -> RecordType:
        members = tuple(typeof_impl(member, context) for member in value)
        for name, member in zip(of._fields, members, strict=True):  # type: ignore[attr-defined]
            if isinstance(member, types.Array) and (member.ndim, member.layout) != (1, "C"):
                raise TypeError(f"{of.__name__}.{name} is not a flat contiguous array")
        return RecordType(of, members)

    return of


@infer_getattr
class RecordAttributes(AttributeTemplate):
    """Types of members."""

    key = RecordType

    def generic_resolve(self, kind: RecordType, name: str) -> Any:  # type: ignore[override]
        """Return the type of a member, or None if there is no such."""
        return kind.members[kind.names.index(name)] if name in kind.names else None


@lower_getattr_generic(RecordType)
def _member(context: Any, builder: Any, kind: RecordType, value: Any, name: str) -> Any:
    """Load a member."""
    k = kind.names.index(name)
    member, place = kind.members[k], cgutils.gep_inbounds(builder, value, 0, k)
    if isinstance(member, RecordType):
        return place
    if not isinstance(member, types.Array):
        return context.data_model_manager[member].from_data(builder, _load(builder, place))
    # As numba's own proxy of arrays would do, which looks for an implementation of "__array__" each time.
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
    """Load what no kernel ever changes, so that loops need not load it again."""
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@unbox(RecordType)
def _taken_from_python(kind: RecordType, value: Any, c: Any) -> NativeValue:
    """Read a record for the time of the call of an entry."""
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
    # Where the optimizer sees a place being written, it may not take it for one that nobody writes: it is hidden.
    kind_of_place = ir.FunctionType(place.type, [place.type])
    hidden = c.builder.asm(kind_of_place, "", "=r,0,~{memory}", [place], True, name="record")
    return NativeValue(hidden, is_error=wrong)


class Lower(lowering.Lower):
    """Lowers a function, and tells the optimizer that records may be read at any place in it."""

    def setup_function(self, fndesc: Any) -> None:
        """Begin the function."""
        super().setup_function(fndesc)
        for given in self.call_conv.get_arguments(self.function):
            kept = getattr(given.type, "pointee", None)
            if isinstance(kept, ir.LiteralStructType):
                given.attributes.dereferenceable = self.context.get_abi_sizeof(kept)
