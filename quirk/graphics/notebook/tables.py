"""Small HTML tables with inline styles, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

import numpy as np

# Maximum number of rows of a table, and of entries of a list in one cell; further ones are only counted.
MOST_ROWS, MOST_LISTED = 12, 8
# Maximum number of characters of a text; longer texts are shortened.
MOST_CHARACTERS = 200

# Text has the color of the page; lines are semitransparent, so that they are visible on any background.
LINE = "1px solid rgba(128, 128, 128, 0.4)"
CELL = f"padding: 2px 10px 2px 0; text-align: left; vertical-align: top; border: none; border-bottom: {LINE}"
TABLE = "border-collapse: collapse; margin: 4px 0 8px 0; background: none; color: inherit; font-size: 90%"
QUIET = "opacity: 0.7; font-size: 90%"


def box(title: str, *parts: str) -> str:
    """Return HTML with a title above the HTML fragments `parts`."""
    return f'<div><div style="font-weight: 600">{escaped(title)}</div>{"".join(parts)}</div>'


def note(text: str) -> str:
    """Return HTML with one line in a small font."""
    return f'<div style="{QUIET}">{escaped(text)}</div>'


def facts(entries: Mapping[str, object]) -> str:
    """Return an HTML table with two columns, names and values."""
    rows = (
        f'<tr style="background: none"><th scope="row" style="{CELL}; font-weight: normal; opacity: 0.7">'
        f'{escaped(name)}</th><td style="{CELL}">{escaped(value)}</td></tr>'
        for name, value in entries.items()
    )
    return f'<table style="{TABLE}"><tbody>{"".join(rows)}</tbody></table>'


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], count: int, location: str) -> str:
    """Return an HTML table of the first rows, followed by a line with the number of further rows and their location.

    `headings` are the column titles, `count` is the number of rows, and `location` is a string that states where all
    rows are found. Rows beyond the first `MOST_ROWS` are not evaluated. Without rows the result is an empty string.
    """
    if not count:
        return ""
    titles = "".join(f'<th scope="col" style="{CELL}; font-weight: 600">{escaped(title)}</th>' for title in headings)
    lines = [
        f'<tr style="background: none">{"".join(f"<td style={chr(34)}{CELL}{chr(34)}>{escaped(x)}</td>" for x in row)}'
        "</tr>"
        for row in islice(rows, MOST_ROWS)
    ]
    more = note(f"and {count - len(lines)} more in {location}") if count > len(lines) else ""
    return (
        f'<table style="{TABLE}"><thead><tr style="background: none">{titles}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>{more}"
    )


def escaped(value: object) -> str:
    """Return a value as an HTML-escaped string: numbers with six digits, long strings shortened."""
    text = written(value)
    return escape(text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…")


def written(value: object) -> str:
    """Return a value as a string: numbers with six digits, vectors in parentheses."""
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.6g}"  # no minus sign before zero
    if isinstance(value, np.ndarray):
        return written(float(value)) if value.ndim == 0 else f"({', '.join(map(written, value))})"
    return str(value)


def listed(names: Sequence[str]) -> str:
    """Return the first names separated by commas, with the number of further names; "none" if there are none."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return (", ".join(names[:MOST_LISTED]) or "none") + more


def counted(number: int, singular: str, plural: str) -> str:
    """Return a number with its noun in singular or plural, such as "2 bodies"."""
    return f"{number} {singular if number == 1 else plural}"
