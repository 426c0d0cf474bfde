"""Formatting of nested dicts and lists as readable TOML, with numbers in full precision."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

WIDTH = 110
BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tables: Mapping[str, Any]) -> str:
    """Return nested tables as a TOML document.

    Values come first, then one section for each table and each element of a list of tables.
    """
    return "\n".join(_section(tables, ())).strip() + "\n"


def _section(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = []
    for key, value in table.items():
        if not _is_section(path, value):
            lines += _entry(_key(key), value)
    for key, value in table.items():
        if not _is_section(path, value):
            continue
        inside = (*path, key)
        title = ".".join(_key(part) for part in inside)
        if isinstance(value, Mapping):
            lines += ["", f"[{title}]", *_section(value, inside)]
        else:
            for one in value:
                lines += ["", f"[[{title}]]"]
                for name, x in one.items():
                    lines += _entry(_key(name), x)
    return lines


def _is_section(path: tuple[str, ...], value: Any) -> bool:
    """Whether a value is written as a section: a table or a list of tables at the first two levels."""
    tables = isinstance(value, list) and bool(value) and all(isinstance(x, Mapping) for x in value)
    return len(path) < 2 and (tables or isinstance(value, Mapping))


def _entry(key: str, value: Any) -> list[str]:
    """Return the lines of one entry; a list too long for one line is divided."""
    line = f"{key} = {_inline(value)}"
    if len(line) <= WIDTH or not isinstance(value, list):
        return [line]
    lines, row = [f"{key} = ["], "   "
    nested = any(isinstance(x, list | Mapping) for x in value)
    for x in value:
        text = f" {_inline(x)},"
        if row.strip() and (nested or len(row) + len(text) > WIDTH):
            lines.append(row)
            row = "   "
        row += text
    return [*lines, row, "]"]


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_inline(x)}" for key, x in value.items()) + "}"
    return "[" + ", ".join(_inline(x) for x in value) + "]"


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
