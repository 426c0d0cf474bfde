"""Static analysis of bytecode for the global names, closure variables and attributes that are read and set."""

from __future__ import annotations

import dis
import functools
import itertools
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .outputs_of_calls import VARIABLES, CallSite, calls_of, start_of

# Built-in functions without side effects other than printing. Functions such as getattr, exec and globals, which may
# access any name, are excluded.
BUILTINS = {
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate",
    "filter", "float", "format", "frozenset", "hasattr", "hash", "hex", "id", "int", "isinstance", "issubclass", "len",
    "list", "map", "max", "min", "object", "oct", "ord", "pow", "print", "range", "repr", "reversed", "round", "set",
    "slice", "sorted", "str", "sum", "super", "tuple", "zip", "Ellipsis", "NotImplemented", "__name__", "__debug__",
    "property", "staticmethod", "classmethod",
}  # fmt: skip

# Names of attributes, methods and functions that modify no outside value. They belong to numbers, text, containers and
# arrays, to `math`, numpy, `random` and `time`, and to the objects that QuIRK passes to user functions and actions.
# `add` and `subtract` of numpy are not among them, as methods of these names modify sets and counters.
_ATTRIBUTES_AS_TEXT = """
    real imag conjugate is_integer numerator denominator bit_length hex lower upper strip lstrip rstrip split join
    startswith endswith format replace find isdigit isalpha encode decode title get keys values items index count
    copy union intersection difference issubset issuperset isdisjoint T shape ndim size dtype itemsize nbytes flat
    dot sum prod min max mean std var any all argmin argmax argsort cumsum cumprod ravel flatten reshape transpose
    tolist item astype clip round trace nonzero diagonal searchsorted squeeze conj repeat swapaxes view take
    compress tobytes pi e tau inf nan sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp expm1
    exp2 log log2 log10 log1p sqrt cbrt hypot pow fabs floor ceil trunc fmod modf frexp ldexp copysign isfinite
    isinf isnan isclose degrees radians gcd lcm factorial comb perm dist fsum isqrt remainder erf erfc gamma lgamma
    sumprod nextafter ulp multiply divide true_divide floor_divide power mod negative positive absolute
    square reciprocal sign heaviside maximum minimum fmax fmin rint fix arcsin arccos arctan arctan2 arcsinh arccosh
    arctanh deg2rad rad2deg sinc array asarray zeros ones empty full eye identity zeros_like ones_like full_like
    empty_like arange linspace concatenate stack hstack vstack column_stack where cross vdot inner outer matmul
    einsum tensordot kron linalg norm solve inv det eig eigh svd pinv lstsq matrix_rank cond interp polyval polyfit
    diff gradient trapezoid convolve logical_and logical_or logical_not logical_xor greater less equal not_equal
    allclose array_equal isscalar atleast_1d roll flip tile expand_dims broadcast_to triu tril diag float64 int64
    bool_ newaxis errstate fft random uniform gauss normal normalvariate randint choice standard_normal rand randn
    seed default_rng time perf_counter monotonic process_time position velocity rotation orientation spin
    angular_velocity speed angular_speed point velocity_of direction angle travel displacement distance tilt angles
    internal name mass inertia taylor value rate where engage release switch_on switch_off set_velocity follow after
    Motion constant_rate polynomial sinusoid rest_to_rest spline function Expression
"""
ATTRIBUTES = frozenset(_ATTRIBUTES_AS_TEXT.split())

# Names of methods that may modify a container or an array.
MUTATING = {
    name for kind in (list, dict, set, bytearray, np.ndarray) for name in dir(kind) if not name.startswith("__")
} - ATTRIBUTES

# Attributes through which a function may access variables and code of any other function.
_REACHING = {
    "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "f_trace", "gi_frame", "gi_code", "cr_frame", "ag_frame",
    "tb_frame", "tb_next", "cell_contents", "func_globals",
}  # fmt: skip
_NAMED = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_CELLS = {"STORE_DEREF", "DELETE_DEREF"}
_GLOBALS = {"STORE_GLOBAL", "DELETE_GLOBAL"}
_CONTENTS = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_READ = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_SPECIAL"}
_SET = {"STORE_ATTR", "DELETE_ATTR"}
# Names that give all attributes of an object as a dict.
_OF_ATTRIBUTES = {"__dict__", "vars"}
_CLASS_BODIES = {"LOAD_BUILD_CLASS", "STORE_NAME", "DELETE_NAME", "LOAD_LOCALS"}


@dataclass(frozen=True)
class CodeUse:
    """Names that code and its nested functions use and set.

    Attributes
    ----------
    known : False if the code contains operations that cannot be analyzed
    globals, names : global names and attributes that the code reads
    modules : top-level names of imported modules
    stored_globals, stored_cells, stored_names : global names, closure variables and attributes that the code sets
    stored_beyond_self : attributes that the code sets for other objects than its first argument
    mutates : whether the code assigns to elements or uses in-place operators, which modify lists and arrays
    calls : function calls in the code
    filled : variables and attributes whose contents the code modifies, by setting elements or by calling a method
    remembered : attributes that the code both reads and sets, at least once by a text, as in ``setattr(x, "last", 0)``
        or ``vars(x)["last"] = 0``
    """

    known: bool
    globals: frozenset[str]
    names: frozenset[str]
    modules: frozenset[str]
    stored_globals: frozenset[str]
    stored_cells: frozenset[str]
    stored_names: frozenset[str]
    stored_beyond_self: frozenset[str]
    mutates: bool
    calls: frozenset[CallSite]
    filled: frozenset[str]
    remembered: frozenset[str]


@functools.lru_cache(4096)
def use_of(code: types.CodeType) -> CodeUse:
    """Return the names that code and its nested functions use and set."""
    instructions = list(dis.get_instructions(code))

    def arguments(operations: set[str]) -> frozenset[str]:
        return frozenset(str(i.argval) for i in instructions if i.opname in operations)

    inner = [use_of(part) for part in code.co_consts if isinstance(part, types.CodeType)]
    names = arguments(_READ | {"IMPORT_FROM"}) | _matched(instructions)
    stored = arguments(_SET)
    reaching = any(_is_dunder(name) or name in _REACHING for name in names | stored)
    class_bodies = any(i.opname in _CLASS_BODIES for i in instructions)
    by_position = any(i.opname == "MATCH_CLASS" and i.arg for i in instructions)  # of attributes that the class names
    in_place = any(i.opname == "BINARY_OP" and i.argrepr.endswith("=") for i in instructions)
    given = [x for x in [*code.co_consts, *(i.argval for i in instructions)] if isinstance(x, tuple)]
    out = any(isinstance(name, str) and (name == "out" or name[:10] == "overwrite_") for x in given for name in x)

    def merged(used: frozenset[Any], attribute: str) -> frozenset[Any]:
        return used.union(*(getattr(use, attribute) for use in inner))

    return CodeUse(
        known=not reaching and not class_bodies and not by_position and all(use.known for use in inner),
        globals=merged(arguments(_NAMED), "globals"),
        names=merged(names, "names"),
        modules=merged(frozenset(name.partition(".")[0] for name in arguments({"IMPORT_NAME"})), "modules"),
        stored_globals=merged(arguments(_GLOBALS), "stored_globals"),
        stored_cells=merged(arguments(_CELLS) & frozenset(code.co_freevars), "stored_cells"),
        stored_names=merged(stored, "stored_names"),
        stored_beyond_self=merged(_stored_beyond_self(code, instructions), "stored_beyond_self"),
        mutates=in_place or out or any(i.opname in _CONTENTS for i in instructions) or any(u.mutates for u in inner),
        calls=merged(calls_of(instructions), "calls"),
        filled=merged(_filled(instructions), "filled"),
        remembered=merged(_remembered(instructions), "remembered"),
    )


def _matched(instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """Return the attributes that patterns of classes read by name, as in ``case Gains(k=k)``."""
    pairs = itertools.pairwise(instructions)
    return frozenset(name for names, one in pairs if one.opname == "MATCH_CLASS" for name in names.argval)


def _stored_beyond_self(code: types.CodeType, instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """Return the attributes that code sets for objects other than its first argument.

    If the code assigns another object to this argument, all attributes that it sets are returned.
    """
    own = code.co_varnames[0] if code.co_argcount else None
    if any(i.opname.startswith("STORE_FAST") and own in _arguments_of(i) for i in instructions):
        own = None
    return frozenset(
        str(one.argval)
        for before, one in itertools.pairwise(instructions)
        if one.opname in _SET and not (before.opname.startswith("LOAD_FAST") and _arguments_of(before)[-1] == own)
    )


def _arguments_of(instruction: dis.Instruction) -> tuple[Any, ...]:
    """Return the arguments of an instruction; a combined one, such as LOAD_FAST_LOAD_FAST, has several."""
    return instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)


def _remembered(instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """Return the attributes that code both reads and sets, if it names them by texts for one or both of these.

    Any text of the code may be the name of an attribute that a function such as `setattr` sets.
    """
    loaded = {str(i.argval) for i in instructions if i.opname in _NAMED | _READ}
    texts = {i.argval for i in instructions if isinstance(i.argval, str) and i.opname == "LOAD_CONST"}
    read = {str(i.argval) for i in instructions if i.opname in _READ}
    stored = {str(i.argval) for i in instructions if i.opname in _SET}
    read_by_text = texts if loaded & {"getattr", *_OF_ATTRIBUTES} else set()
    set_by_text = texts if "setattr" in loaded or _filled(instructions) & _OF_ATTRIBUTES else set()
    return frozenset((set_by_text & (read | read_by_text)) | (stored & read_by_text))


def _filled(instructions: Sequence[dis.Instruction]) -> frozenset[str]:
    """Return the variables and attributes whose contents are modified, such as "table" in ``self.table[key] = 0``.

    Local variables and nested functions are excluded. An assignment or call and the expression that it modifies are
    recognized by the same start position in the source.
    """
    last: dict[object, str] = {}
    found = set()
    for one in instructions:
        start, name = start_of(one), str(one.argval)
        if start in last and (one.opname in _CONTENTS or (one.opname in _READ and name in MUTATING)):
            found.add(last[start])
        if start is not None and (one.opname in VARIABLES or one.opname in _READ):
            last[start] = name
    return frozenset(found)


def _is_dunder(name: str) -> bool:
    return name[:2] == "__" == name[-2:] and name not in ("__init__", "__name__", "__doc__")
