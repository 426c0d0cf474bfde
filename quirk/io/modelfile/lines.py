"""Line numbers of the tables and keys of a TOML document, for error messages.

The path of a table or key consists of names and, for arrays of tables, indices: ("constraint", 2, "axis").
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Line number, counted from 1, by path of a table or key, such as ("constraint", 2, "axis").
Lines = Mapping[tuple[str | int, ...], int]

# Tokens of a TOML document: quoted strings and comments, in which brackets have no meaning; brackets; other text.
PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]|[^\[\]{}\n"\'#]+',
    re.DOTALL,
)
HEADER = re.compile(r"\s*(\[\[?)(.*?)\]\]?\s*(?:#.*)?")
KEY = r"\"(?:\\.|[^\"\\])*\"|'[^']*'|[A-Za-z0-9_-]+"
KEYS = re.compile(rf"\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*=")


def lines_of(text: str) -> Lines:
    """Return the line numbers of tables, elements of arrays of tables, and keys of a valid TOML document, by path."""
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
    """Return the headers and entries of a TOML document, each with its first line number.

    A header or entry may span several lines.
    """
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
    """Return the names in a dotted key, such as a.b."c d", without quotes."""
    return tuple(name.strip("\"'") for name in re.findall(KEY, keys))


def _numbered(names: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> tuple[str | int, ...]:
    """Return the path of a table, with the current index inserted after each name of an array of tables.

    `counts` contains the current index of each array of tables.
    """
    path: list[str | int] = []
    for k, name in enumerate(names):
        path.append(name)
        if names[: k + 1] in counts:
            path.append(counts[names[: k + 1]])
    return tuple(path)
