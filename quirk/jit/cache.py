"""Disk cache of machine code.

An entry is a compiled function that Python calls. A file holds the machine code of one entry for one list of argument
types, processor and Python version:

 32 bytes   SHA-256 of all following bytes
 32 bytes   identity: SHA-256 of the sources and versions from which the code was compiled
 the rest   pickled list of the components that the code calls (see `components`), and data from which numba rebuilds
            the compiled function

A file is unpickled and run only if no other user can have written it (`quirk.util.ownership`) and both checksum and
identity match; otherwise the entry is recompiled and the file replaced. Files are replaced atomically. If several
processes need the same entry at the same time, one compiles it and the others wait for its file.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import os
import pickle
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import llvmlite
import numba
from llvmlite.binding import address_of_symbol
from numba.core import caching
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from ..util.files import atomic_replacement, locked_file, private_folder, release_file
from ..util.ownership import UntrustedError, check_file, check_folder
from .compile_times import duration_text, expected_time, record_time
from .kernel_sources import kernel_digest

# Length of a SHA-256 digest, bytes.
DIGEST = 32
# Maximum size of a cache file that is read, bytes; far above the size of any compiled entry.
LARGEST = 1 << 28
# Maximum time of waiting for another process that compiles the same entry, s. Afterwards this process compiles it.
LONGEST_WAIT = 120.0

# Kinds of the messages that this process has printed; see `say`.
SAID: set[str] = set()


class MachineCode(caching._Cache):
    """Cache of the machine code of one entry: loads it from disk before numba compiles it, and saves it afterwards.

    Parameters
    ----------
    function : the entry, as a plain Python function
    needed_by : feature that needs the entry, for a message on standard error before compilation; "" for no message
    effort : compilation time on a reference machine, s
    """

    # Time spent on separately compiled components during the current compilation, s.
    _component_time: ClassVar[float] = 0.0

    def __init__(self, function: Callable[..., Any], needed_by: str = "", effort: float = 0.0) -> None:
        self.function = function
        self.needed_by, self.effort = needed_by, effort
        self._began: float | None = None
        self.folders = folders(function)
        # Computed at import: when the entry is compiled, the files may differ from those that were imported.
        self.sources = kernel_digest(Path(inspect.getfile(function)), function.__module__)
        self._lock_file: BinaryIO | None = None

    @property
    def cache_path(self) -> str:
        """First folder that is searched for machine code, or "" if there is none."""
        return str(self.folders[0]) if self.folders else ""

    def locked(self, compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that calls `compile` while holding the lock of the entry.

        The lock of numba's compiler excludes other threads, and a file lock excludes other processes.
        """

        def compile_locked(sig: Any) -> Any:
            with global_compiler_lock:
                outer, MachineCode._component_time = MachineCode._component_time, 0.0
                try:
                    result = compile(sig)
                    if self._began is not None:
                        elapsed = time.perf_counter() - self._began
                        record_time(folders(record_time), self.name, self.effort, elapsed - MachineCode._component_time)
                        MachineCode._component_time = elapsed
                    return result
                finally:
                    MachineCode._component_time += outer
                    self._began = None
                    self._release_lock()

        return compile_locked

    def _release_lock(self) -> None:
        """Release the file lock that prevents other processes from compiling the entry."""
        if self._lock_file is not None:
            release_file(self._lock_file)
            self._lock_file = None

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the cached function for the argument types `sig`, or None if it must be compiled."""
        self._release_lock()
        name, identity = self._name_and_identity(sig, target_context.codegen())
        found, trouble = self._first_valid(name, identity, target_context)
        if found is None:
            turns = (locked_file(folder / f"{name}.lock", LONGEST_WAIT) for folder in self.folders if trusted(folder))
            self._lock_file = next((turn for turn in turns if turn is not None), None)
            found, trouble = self._first_valid(name, identity, target_context)  # another process may have just saved it
        if found is not None:
            return found
        if trouble:
            say("trouble", trouble)
        self._announce()
        return None

    @property
    def name(self) -> str:
        """Module and name of the entry, joined by a dot."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def _announce(self) -> None:
        """Print a message at the start of compilation, with the expected duration if it can be estimated."""
        self._began = time.perf_counter()
        if not self.needed_by:
            return
        seconds = expected_time(folders(record_time), self.name, self.effort)
        how_long = (
            "once for this installation" if seconds is None else f"which takes about {duration_text(seconds)} here"
        )
        say(self.needed_by, f"compiling what {self.needed_by}, {how_long}")

    def _first_valid(self, name: str, identity: bytes, target_context: Any) -> tuple[CompileResult | None, str]:
        """Return the function from the first valid cache file, or None, and a message about an invalid file, or "".

        `name` is the file name, and `identity` the digest of sources and versions that a valid file must contain.
        """
        trouble = ""
        for folder in self.folders:
            try:
                payload = read(folder / name, identity)
                if payload is not None:
                    components, made = pickle.loads(payload)
                    for component in components:
                        provide(*component)
                    return CompileResult._rebuild(target_context, *made), ""
            except Exception as error:  # a damaged file may cause any error
                trouble = f"machine code in {folder / name} cannot be used ({reason(error)}), so it is compiled anew"
        return None, trouble

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function in the first writable folder."""
        if data.library.has_dynamic_globals:  # contains addresses of this process
            return
        name, identity = self._name_and_identity(sig, data.codegen)
        refusals = [] if self.folders else ["its source is not in a file"]
        try:
            components = getattr(data.library, "components", ())
            payload = dumps((components, data._reduce())) if self.folders else b""
            for folder in self.folders:
                try:
                    write(folder / name, identity, payload)
                    return
                except OSError as error:
                    refusals.append(reason(error))
        except Exception as error:  # the function is usable, so a failure to save it must not end the run
            refusals.append(reason(error))
        say("not kept", f"machine code cannot be kept, so that each process compiles it anew: {'; '.join(refusals)}")

    def enable(self) -> None:
        """Do nothing; numba's interface requires the method."""

    def disable(self) -> None:
        """Do nothing; numba's interface requires the method."""

    def flush(self) -> None:
        """Do nothing, because cache files are replaced and never emptied; numba's interface requires the method."""

    def _name_and_identity(self, sig: Any, codegen: Any) -> tuple[str, bytes]:
        """Return the file name for the argument types `sig`, and the identity: a digest of sources and versions."""
        python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        if sys.flags.optimize:  # -O and -OO change the bytecode
            python += f".opt-{sys.flags.optimize}"
        kind = repr((str(sig), codegen.magic_tuple()))
        fields = tuple(map(layouts, sig))
        code = self.function.__code__
        versions = (numba.__version__, llvmlite.__version__, python)
        function = self.function.__qualname__, code.co_code
        made_from = (*function, kind, fields, versions, self.sources)
        plain_name = self.function.__qualname__.replace("<", "").replace(">", "")
        stem = f"{Path(code.co_filename).stem}.{plain_name}"
        tag = hashlib.sha256(kind.encode()).hexdigest()[:12]
        return f"{stem}.{python}.{tag}.quirk", hashlib.sha256(repr(made_from).encode()).digest()


def provide(module: str, name: str, sig: Any, symbol: str) -> None:
    """Load or compile a component, and define its symbol in this process, which machine code that calls it refers to.

    The component is the function `name` of the module `module`, compiled for the argument types `sig`.

    Raises
    ------
    LookupError
        If the component has changed since this machine code was compiled.
    """
    getattr(importlib.import_module(module), name).compile(sig)
    if address_of_symbol(symbol) is None:
        raise LookupError(f"{module}.{name} has changed")


def read(path: Path, identity: bytes) -> bytes | None:
    """Return the payload that `write` saved, or None if the file is missing or has another identity.

    Raises
    ------
    OSError
        If the file is unreadable, or another user may have written it.
    ValueError
        If the file is damaged.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(mode):  # opening a pipe would block
        raise ValueError("it is not a file")
    check_folder(path.parent)
    with path.open("rb") as file:
        check_file(path, file.fileno())
        content = file.read(LARGEST)
    checksum, rest = content[:DIGEST], content[DIGEST:]
    if len(rest) < DIGEST or hashlib.sha256(rest).digest() != checksum:
        raise ValueError("it is damaged")
    return rest[DIGEST:] if rest[:DIGEST] == identity else None


def write(path: Path, identity: bytes, payload: bytes) -> None:
    """Write a cache file atomically.

    Raises
    ------
    OSError
        If the file cannot be written, its name is in use for another object, or other users may write to its folder.
    """
    check_folder(path.parent)
    private_folder(path.parent)
    rest = identity + payload
    with atomic_replacement(path) as aside, open(aside, "xb", opener=_private_opener) as file:
        file.write(hashlib.sha256(rest).digest() + rest)


def _private_opener(name: str, flags: int) -> int:
    """Open a file that other users cannot write, regardless of the umask, and return its descriptor."""
    return os.open(name, flags, 0o644)


def trusted(folder: Path) -> bool:
    """Return whether only this user and the administrator can write to a folder."""
    try:
        check_folder(folder)
    except UntrustedError:
        return False
    return True


def folders(function: Callable[..., Any]) -> list[Path]:
    """Return the candidate folders for a function's machine code, in order of preference.

    If NUMBA_CACHE_DIR is set, this is the only candidate. Otherwise the folder beside the function comes first, then
    the user's cache folder. The list is empty if the function's source is not a file, because changes could not be
    detected.
    """
    source = inspect.getfile(function)
    if not os.path.isfile(source):
        return []
    provided = (caching.UserProvidedCacheLocator,)
    found = (caching.InTreeCacheLocator, caching.UserWideCacheLocator)
    locators = provided if getattr(numba.config, "CACHE_DIR", "") else found
    # Links are resolved, so that the folder checked is the folder used.
    return [Path(os.path.realpath(locator(function, source).get_cache_path())) for locator in locators]


def layouts(kind: Any) -> Any:
    """Return the field names of a record or named-tuple type, including those of nested records and named tuples."""
    fields: Any = getattr(kind, "names", None) or getattr(getattr(kind, "instance_class", None), "_fields", ())
    members: Any = getattr(kind, "members", None) or getattr(kind, "types", ())
    return fields and (tuple(fields), tuple(map(layouts, members)))


def say(kind: str, line: str) -> None:
    """Print the message `line` to standard error, once for each `kind` of message and process."""
    if kind in SAID or sys.stderr is None:
        return
    SAID.add(kind)
    with contextlib.suppress(OSError, ValueError):  # standard error may be full or closed
        print(f"quirk: {line}", file=sys.stderr, flush=True)


def reason(error: Exception) -> str:
    """Return text with the type and message of an error, without line breaks."""
    return " ".join(f"{type(error).__name__}: {error}".split())
