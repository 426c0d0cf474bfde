"""Errors in a model file with their line numbers."""

from __future__ import annotations

from quirk.errors import InputError

from .lines import Lines

Path = tuple[str | int, ...]


class Mistakes:
    """List of the errors detected in a model file.

    Parameters
    ----------
    location : name of the file in messages
    lines : line number of each table and key, by path
    """

    def __init__(self, location: str, lines: Lines) -> None:
        self.where, self.lines = location, lines
        self.entries: list[tuple[int, str]] = []

    def add(self, path: Path, text: str) -> None:
        """Record an error in the table or key with this path; `text` describes it."""
        line = 0
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                line = self.lines[path[:length]]
                break
        self.entries.append((line, text))

    def check(self) -> None:
        """Raise an InputError that lists all recorded errors in the order of their lines, if there are any."""
        if not self.entries:
            return
        listed = [
            f"line {line}: {text}" if line else text for line, text in sorted(self.entries, key=lambda one: one[0])
        ]
        count = "one mistake" if len(listed) == 1 else f"{len(listed)} mistakes"
        raise InputError(f"{self.where} has {count}:\n  " + "\n  ".join(listed))
