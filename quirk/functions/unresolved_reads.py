"""Reads of user functions that no analysis resolves: files, the environment, and variables named at run time."""

from __future__ import annotations

import builtins
import dis
import sys
import types
from collections.abc import Iterator
from typing import Any

from .code_use import BUILTINS, use_of
from .effects import READING_FILES
from .object_kinds import is_empty, root_of

# Built-in functions beyond `code_use.BUILTINS` that read only their arguments or local variables.
_OF_ARGUMENTS = {
    "getattr", "setattr", "delattr", "vars", "dir", "iter", "next", "type", "locals", "aiter", "anext", "memoryview",
    "bytearray", "__build_class__",
}  # fmt: skip
# Modules of the standard library through which functions read files, the environment, or any object of the process.
_REACHING_MODULES = {
    "builtins", "contextvars", "ctypes", "fileinput", "gc", "glob", "importlib", "_imp", "inspect", "io", "_io",
    "linecache", "mmap", "multiprocessing", "nt", "os", "pathlib", "pkgutil", "posix", "runpy", "shutil", "socket",
    "_socket", "sqlite3", "subprocess", "sys", "tempfile", "traceback", "urllib",
}  # fmt: skip
# Attributes of these modules that are constants of the platform or functions of their arguments.
_CONSTANTS = {"float_info", "int_info", "maxsize", "byteorder", "version_info", "platform", "sep", "linesep", "fspath"}
# Attributes of functions and frames through which variables of any function are reached.
_REACHING = {
    "__globals__", "__closure__", "__builtins__", "cell_contents", "f_back", "f_builtins", "f_globals", "f_locals",
    "gi_frame", "cr_frame", "ag_frame", "tb_frame", "tb_next",
}  # fmt: skip


def unresolved_object(x: Any) -> str | None:
    """Return the name of an object that reads files, the environment or any variable, or None for other objects.

    Modules and classes are excluded, because functions may use only constants and instances of them.
    """
    if isinstance(x, types.ModuleType | type):
        return None
    if isinstance(x, types.FunctionType | types.BuiltinFunctionType):
        module, name = x.__module__ or "", x.__name__
        if module == "builtins":
            return None if _is_harmless(name) else name
        reads_file = root_of(x) in ("numpy", "scipy") and name in READING_FILES
        return f"{module}.{name}" if reads_file or root_of(x) in _REACHING_MODULES else None
    if type(x).__module__ == "os" and type(x).__name__ == "_Environ":
        return "os.environ"
    return f"pathlib.{type(x).__name__}" if root_of(type(x)) == "pathlib" else None


def unresolved_reads(function: types.FunctionType) -> set[str]:
    """Return names of functions, modules and attributes by which a function reads values that cannot be determined."""
    use, outside = use_of(function.__code__), function.__globals__
    found = set(use.names & _REACHING)
    found |= {name for name in use.globals if name not in outside and not _is_harmless(name)}
    cells = [cell.cell_contents for cell in function.__closure__ or () if not is_empty(cell)]
    imported = [sys.modules[name] for name in _imports(function.__code__) if name in sys.modules]
    for value in (*cells, *(outside[name] for name in use.globals if name in outside), *imported):
        if isinstance(value, types.ModuleType):
            root = value.__name__.partition(".")[0]
            read = READING_FILES if root in ("numpy", "scipy") else use.names - _CONSTANTS
            if root in (*_REACHING_MODULES, "numpy", "scipy"):
                found |= {f"{value.__name__}.{name}" for name in read & use.names if hasattr(value, name)}
        elif isinstance(value, type) and root_of(value) in _REACHING_MODULES - {"builtins"}:
            found.add(f"{value.__module__}.{value.__name__}")
    return found | {f"import {name}" for name in _imports(function.__code__) if name not in sys.modules}


def imported_modules(function: types.FunctionType) -> list[types.ModuleType]:
    """Return the modules that a function imports when it is called, as far as they have been imported before."""
    return [sys.modules[name] for name in sorted(set(_imports(function.__code__))) if name in sys.modules]


def _imports(code: types.CodeType) -> Iterator[str]:
    """Yield the names of modules in the import statements of code and its nested functions."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _imports(part)


def _is_harmless(name: str) -> bool:
    """Whether a name of the module `builtins` is no function, or a function that reads only its arguments."""
    is_function = isinstance(vars(builtins).get(name), types.BuiltinFunctionType)
    return name in BUILTINS or name in _OF_ARGUMENTS or not is_function
