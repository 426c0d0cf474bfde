"""Parsing of a model file into tables."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from quirk.errors import InputError

from .written import FAMILIES

# Pattern of a line with the name of a table in single or double brackets.
HEADER = re.compile(r"\s*(\[{1,2})\s*([\w.]+)\s*\]{1,2}\s*(?:#.*)?")
# Sections that may occur several times.
REPEATED = (*FAMILIES, "state.body", "run.event")


def tables_of(text: str, location: str) -> dict[str, Any]:
    """Return the tables of a TOML document; an InputError is raised for invalid TOML.

    `location` is the name of the document in the error.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{location} is not a model file: its lists or tables are nested too deeply") from None
    except ValueError as error:
        why = _in_single_brackets(text) or f"is not valid TOML: {error}"
    raise InputError(f"{location} {why}")


def _in_single_brackets(text: str) -> str:
    """Return a hint if section headers such as [[body]] were written with single brackets; otherwise ""."""
    headers = [(HEADER.fullmatch(line), number) for number, line in enumerate(text.splitlines(), 1)]
    for name in REPEATED:
        brackets = {number: header[1] for header, number in headers if header and header[2] == name}
        if len(brackets) > 1 and "[" in brackets.values():
            *first, last = brackets
            listed = f"{', '.join(map(str, first))} and {last}"
            return f"has sections {name} on lines {listed}: write [[{name}]], in double brackets, for each"
    return ""
