"""Rules for the bytecode operations and names of user functions that may be compiled to machine code."""

from __future__ import annotations

import dis
import functools
import types

from .code_use import use_of
from .tracer import NotTraceableError

# Flags in `co_flags` of the code of generators, coroutines and asynchronous generators.
_GENERATES = 0x20 | 0x80 | 0x200

# Allowed operations of Python 3.11 to 3.14: moves of values, arithmetic, comparisons, branches, loops, calls, reading
# of attributes, reading and setting of elements, text, and definitions of functions.
_OPERATIONS_AS_TEXT = """
    NOP RESUME CACHE POP_TOP COPY SWAP PUSH_NULL PRECALL KW_NAMES EXTENDED_ARG NOT_TAKEN RESERVED LOAD_CONST
    LOAD_SMALL_INT LOAD_COMMON_CONSTANT LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST
    LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST
    DELETE_FAST STORE_FAST_MAYBE_NULL LOAD_GLOBAL LOAD_DEREF STORE_DEREF LOAD_CLOSURE MAKE_CELL COPY_FREE_VARS
    LOAD_CLASSDEREF LOAD_ATTR LOAD_METHOD LOAD_ASSERTION_ERROR RAISE_VARARGS BINARY_OP BINARY_SUBSCR BINARY_SLICE
    STORE_SUBSCR STORE_SLICE DELETE_SUBSCR UNARY_NEGATIVE UNARY_NOT UNARY_INVERT UNARY_POSITIVE TO_BOOL COMPARE_OP
    CONTAINS_OP IS_OP JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP
    POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_FALSE
    POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_FALSE
    POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE GET_ITER FOR_ITER END_FOR
    POP_ITER UNPACK_SEQUENCE UNPACK_EX BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP BUILD_SLICE
    BUILD_STRING LIST_APPEND LIST_EXTEND LIST_TO_TUPLE SET_ADD SET_UPDATE MAP_ADD DICT_UPDATE DICT_MERGE
    FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE CALL CALL_KW CALL_FUNCTION_EX CALL_INTRINSIC_1 RERAISE
    MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE RETURN_VALUE RETURN_CONST RETURN_GENERATOR YIELD_VALUE
"""
_OPERATIONS = frozenset(_OPERATIONS_AS_TEXT.split())


@functools.lru_cache(4096)
def global_names(code: types.CodeType) -> frozenset[str]:
    """Return the global names that code reads, including those read by nested functions.

    Raises
    ------
    NotTraceableError
        If the code contains operations whose machine code may differ from Python.
    """
    if code.co_flags & _GENERATES:
        raise NotTraceableError(f"{code.co_name} is a generator")
    _check(code)
    use = use_of(code)
    if not use.known or not use.stored_cells.isdisjoint(code.co_freevars):
        raise NotTraceableError(f"{code.co_name} reaches or sets what is outside of it")
    if any(name.startswith("_quirk") for name in use.names):
        raise NotTraceableError(f"{code.co_name} uses names that QuIRK keeps for itself")
    return use.globals


def _check(code: types.CodeType) -> None:
    before = None
    for instruction in dis.get_instructions(code):
        # Exception handlers begin with PUSH_EXC_INFO, except those of comprehensions, which only re-raise.
        if instruction.opname not in _OPERATIONS:
            raise NotTraceableError(f"{code.co_name} has an operation {instruction.opname}")
        if instruction.opname == "IS_OP" and before != ("LOAD_CONST", None):
            raise NotTraceableError(f"{code.co_name} compares identities")
        before = instruction.opname, instruction.argval
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            _check(part)
