"""Markdown of the generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def read(page: str) -> list[list[str]]:
    """Return the cells of all table lines of a Markdown page."""
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[cell.strip().replace("\\|", "|") for cell in line] for line in cells]


def page(title: str, *parts: str) -> str:
    """Return a page of paragraphs, tables and headings."""
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"
