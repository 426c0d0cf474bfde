"""Sources that the machine code of a kernel is made from: its own file, and what that imports from QuIRK.

An edit of the code in any of these files makes kept machine code invalid; an edit of their docstrings or comments, or
of other files, leaves it valid. Imports are read from the text of each file, since a module does not record where its
names come from. A constant (an upper-case name bound to a plain value) counts by its value, not by the file that
defines it.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = "quirk"

# A statement at the start of a line; imports inside functions and under TYPE_CHECKING are indented.
FROM = re.compile(r"^from ([.\w]+) import (\([^)]*\)|[^\n]+)", re.MULTILINE)
IMPORT = re.compile(r"^import ([.\w, ]+)", re.MULTILINE)
COMMENT = re.compile(r"#.*")

# Text that no machine code depends on. A docstring is a string on the line after the head of a file, class or function;
# a head ends with a colon on a line that begins with its keyword or with the parenthesis that closes its arguments.
DOCSTRING = re.compile(
    r'(\A|^ *(?:class |def |\))[^\n]*:(?:  #[^\n]*)?\n)(\s*)"""(?:[^"\\]+|\\[\s\S]|"(?!""))*"""\n', re.MULTILINE
)
COMMENT_LINE = re.compile(r"^ *#.*\n", re.MULTILINE)

# What comes out of the compiler depends on these, whatever a kernel imports.
COMPILER = (f"{PACKAGE}.jit.compilation",)


def kernel_digest(file: Path, module: str) -> bytes:
    """Return the SHA-256 of all that machine code of kernels in a module depends on.

    Parameters
    ----------
    file : source file of the module
    module : its full name, from which relative imports are resolved
    """
    reached: dict[str, bytes] = {}
    pending = list(COMPILER)
    digest = hashlib.sha256()
    if file.is_file():
        own, imported = _read(file, module.rpartition(".")[0])
        digest.update(own)
        pending += imported
    while pending:
        name = pending.pop()
        if name not in reached:
            reached[name], imported = _module(name)
            pending += imported
    for name in sorted(reached):
        digest.update(name.encode() + reached[name])
    return digest.digest()


@functools.cache
def _module(name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of an imported module's own file, and the names of the modules it depends on."""
    module = sys.modules[name]
    is_package = hasattr(module, "__path__")
    return _read(Path(module.__file__ or ""), name if is_package else name.rpartition(".")[0])


def _read(file: Path, package: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of a file with the constants that it imports, and the modules it depends on."""
    text = code_of(file.read_text(encoding="utf-8"))
    digest, modules = hashlib.sha256(hashlib.sha256(text.encode()).digest()), []
    for names in IMPORT.findall(text):
        modules += [name for name in _names(names) if _is_ours(name)]
    for source, names in FROM.findall(text):
        base = _absolute(source, package)
        if not _is_ours(base):
            continue
        for name in _names(names):
            value = getattr(sys.modules.get(base), name, None)
            if f"{base}.{name}" in sys.modules:
                modules.append(f"{base}.{name}")
            elif name.isupper() and _is_plain(value):
                digest.update(f"{name}={value!r};".encode())
            else:
                modules.append(base)
    return digest.digest(), tuple(modules)


def code_of(text: str) -> str:
    """Return the text of a module without docstrings, blank lines and comments that fill a line.

    A module with other strings of several lines keeps its comments, since such a string may hold lines that look alike.
    """
    code = DOCSTRING.sub(r"\1\2...\n", text)
    if '"""' not in code and "'''" not in code:
        code = COMMENT_LINE.sub("", code)
    return "\n".join(line for line in code.split("\n") if line and not line.isspace())


def _absolute(source: str, package: str) -> str:
    """Return the full name of a module, given as in an import statement of a module in `package`."""
    name = source.lstrip(".")
    level = len(source) - len(name)
    if not level:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def _names(text: str) -> list[str]:
    """Return the names in the list of an import statement, without those they are renamed to."""
    names = COMMENT.sub("", text).strip("() \n").split(",")
    return [name.split()[0] for name in names if name.split()]


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == PACKAGE


def _is_plain(value: Any) -> bool:
    """Whether the text of a value says all there is to it."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in (int, float, bool, str, bytes)
