"""Variants of model files, in which some values are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from ..io.modelfile.tables import tables_of
from ..io.modelfile.toml import toml_text

# Sections that can be addressed like named parts.
SECTIONS = ("system", "run")


def variant_of(text: str, file: str, values: Mapping[str, Any]) -> str:
    """Return the content of a model file with some values replaced.

    Parameters
    ----------
    text : content of the model file
    file : name of the file, for error messages
    values : new values by dotted name: a body, constraint, force or section, and an entry of it, such as "rod.mass"

    Raises
    ------
    InputError
        If the model has no such object or entry.
    """
    tables = tables_of(text, file)
    for name, value in values.items():
        place, rest = _part(tables, name, file)
        _put(place, rest.split("."), value, name)
    return toml_text(tables)


def _part(tables: dict[str, Any], name: str, file: str) -> tuple[Any, str]:
    """Return the table of the body, constraint, force or section in a dotted name, and the remainder of the name.

    `tables` are the tables of the model file; `file` is the name of the file, for error messages.
    """
    named = {
        str(table["name"]): table
        for section in tables.values()
        if isinstance(section, list)
        for table in section
        if isinstance(table, dict) and "name" in table
    }
    named |= {key: tables.get(key, {}) for key in SECTIONS if key not in named}
    found = [part for part in named if name.startswith(f"{part}.")]
    if not found:
        raise InputError(
            f'{file}: "{name}" must be the name of a part, a dot, and the name of an entry, such as rod.mass; parts: '
            f"{', '.join(named)}"
        )
    part = max(found, key=len)
    if part in SECTIONS:
        tables.setdefault(part, named[part])
    return named[part], name[len(part) + 1 :]


def _put(place: Any, keys: list[str], value: Any, name: str) -> None:
    """Replace a value in nested tables and lists by `value`.

    `place` is the outermost table, `keys` the path to the replaced value, and `name` the complete dotted name, for
    errors.
    """
    for key in keys[:-1]:
        place = _of(place, key, name)
    if isinstance(place, dict):
        place[keys[-1]] = value
    else:
        _of(place, keys[-1], name)
        place[int(keys[-1])] = value


def _of(place: Any, key: str, name: str) -> Any:
    """Return the entry `key` of a table or, for a list, the entry whose index is the string `key`.

    `place` is the table or list; `name` is the complete dotted name, for error messages.
    """
    if isinstance(place, dict) and key in place:
        return place[key]
    if isinstance(place, list) and key.isdigit() and int(key) < len(place):
        return place[int(key)]
    raise InputError(f'sweep: "{name}": the model has no entry "{key}"')
