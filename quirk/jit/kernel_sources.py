"""Digest of the source files from which the machine code of a kernel is generated.

The source files are the file of the kernel and the QuIRK modules that it imports. A change of code in any of them
invalidates cached machine code; changes of docstrings, comments or other files do not. Imports are read from the text
of each file, because a module does not record the origin of its names. An imported constant
(an upper-case name bound to a number, string or tuple) is represented by its value instead of its file.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = "quirk"

# An import at the start of a line; imports inside functions and under TYPE_CHECKING are indented.
FROM = re.compile(r"^from ([.\w]+) import (\([^)]*\)|[^\n]+)", re.MULTILINE)
IMPORT = re.compile(r"^import ([.\w, ]+)", re.MULTILINE)
COMMENT = re.compile(r"#.*")

# Docstrings and comments, which have no influence on machine code. A docstring is a string at the start of the file or
# on the line after the header of a class or function. A header ends with a colon, on a line that begins with "class",
# "def" or the closing parenthesis of the arguments.
DOCSTRING = re.compile(
    r'(\A|^ *(?:class |def |\))[^\n]*:(?:  #[^\n]*)?\n)(\s*)"""(?:[^"\\]+|\\[\s\S]|"(?!""))*"""\n', re.MULTILINE
)
COMMENT_LINE = re.compile(r"^ *#.*\n", re.MULTILINE)

# Modules that influence the machine code of all kernels, even of those that do not import them. The second module is
# imported only with versions of numba for which it has been tested.
COMPILER = (f"{PACKAGE}.jit.compilation", f"{PACKAGE}.jit.pipelines")


def kernel_digest(file: Path, module: str) -> bytes:
    """Return the SHA-256 digest of all sources that determine the machine code of a module's kernels.

    Parameters
    ----------
    file : source file of the module
    module : full name of the module, for relative imports
    """
    reached: dict[str, bytes] = {}
    pending = [name for name in COMPILER if name in sys.modules]
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
    """Return the digest of the file of an imported module, and the names of the modules that it imports."""
    module = sys.modules[name]
    is_package = hasattr(module, "__path__")
    return _read(Path(module.__file__ or ""), name if is_package else name.rpartition(".")[0])


def _read(file: Path, package: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the digest of a source file and its imported constants, and the names of the modules that it imports."""
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
    """Return the source of a module without docstrings, blank lines and whole-line comments.

    Comments are kept if the module has multi-line strings other than docstrings, because these may contain lines that
    look like comments.
    """
    code = DOCSTRING.sub(r"\1\2...\n", text)
    if '"""' not in code and "'''" not in code:
        code = COMMENT_LINE.sub("", code)
    return "\n".join(line for line in code.split("\n") if line and not line.isspace())


def _absolute(source: str, package: str) -> str:
    """Return the full name of a module that is imported as `source` by a module in `package`."""
    name = source.lstrip(".")
    level = len(source) - len(name)
    if not level:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def _names(text: str) -> list[str]:
    """Return the names in an import statement, without aliases."""
    names = COMMENT.sub("", text).strip("() \n").split(",")
    return [name.split()[0] for name in names if name.split()]


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == PACKAGE


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, a string, or a tuple of these, so that its `repr` determines it."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in (int, float, bool, str, bytes)
