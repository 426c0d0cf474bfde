"""List of omissions: contents of a file that the imported system lacks or represents differently."""

from __future__ import annotations

from collections.abc import Mapping

from .markup import Element


class LeftOut:
    """List of omissions, which has one line for all occurrences of the same kind of omission."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}  # places in order, without duplicates

    def note(self, omission: str, location: str) -> None:
        """Record an omission in the element of the file at `location`."""
        self._found.setdefault(omission, {})[location] = None

    def note_unread(self, root: Element, reasons: Mapping[str, str]) -> None:
        """Record as omissions all elements and attributes of a file that were not read.

        `reasons` are explanations by tag.
        """
        for element, attribute in root.unread():
            if attribute is not None:
                self.note(f"{attribute}=... of <{element.tag}>", element.owner)
                continue
            reason = reasons.get(element.tag)
            where = element.parent.owner if element.parent is not None else element.owner
            self.note(f"<{element.tag}>" + (f" ({reason})" if reason else ""), where)

    @property
    def lines(self) -> list[str]:
        """One line for each kind of omission, with all elements in which it occurs."""
        return [f"{what}: {', '.join(places)}" for what, places in self._found.items()]
