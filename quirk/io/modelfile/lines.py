"""On which line of a TOML text its tables and keys stand."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Path of a table or key, such as ("constraint", 2, "axis"), and its line, counted from 1.
Lines = Mapping[tuple[str | int, ...], int]

# What a text is read as, piece by piece: texts in quotes and comments, in which brackets mean nothing, and brackets.
PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]|[^\[\]{}\n"\'#]+',
    re.DOTALL,
)
HEADER = re.compile(r"\s*(\[\[?)(.*?)\]\]?\s*(?:#.*)?")
KEY = r"\"(?:\\.|[^\"\\])*\"|'[^']*'|[A-Za-z0-9_-]+"
KEYS = re.compile(rf"\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*=")


def lines_of(text: str) -> Lines:
    """Return where tables, elements of lists of tables, and keys stand, in a text that `tomllib` has read."""
    found: dict[tuple[str | int, ...], int] = {}
    counts: dict[tuple[str, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in _statements(text):
        header = HEADER.fullmatch(line)
        if header and not KEYS.match(line):
            names = _names(header[2])
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
                inner = [other for other in counts if other[: len(names)] == names and other != names]
                for other in inner:
                    del counts[other]
                found.setdefault(names, number)
            table = _numbered(names, counts)
            found.setdefault(table, number)
        elif keys := KEYS.match(line):
            names = _names(keys[1])
            for k in range(1, len(names) + 1):
                found.setdefault((*table, *names[:k]), number)
    return found


def _statements(text: str) -> list[tuple[int, str]]:
    """Headers and entries with the line on which they begin, each up to the end of that line."""
    found, depth, number, start, statement = [], 0, 1, 1, ""
    for piece in PIECE.findall(text):
        if piece == "\n" and depth == 0:
            found.append((start, statement))
            statement, start = "", number + 1
        else:
            depth += (piece in "[{") - (piece in "]}") if len(piece) == 1 else 0
            statement += piece
        number += piece.count("\n")
    return [*found, (start, statement)]


def _names(keys: str) -> tuple[str, ...]:
    """The names of a dotted key, without quotes."""
    return tuple(name.strip("\"'") for name in re.findall(KEY, keys))


def _numbered(names: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> tuple[str | int, ...]:
    """A path with the number of the last element so far, where there is a list of tables."""
    path: list[str | int] = []
    for k, name in enumerate(names):
        path.append(name)
        if names[: k + 1] in counts:
            path.append(counts[names[: k + 1]])
    return tuple(path)
