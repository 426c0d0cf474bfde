"""What an import could not bring over."""

from __future__ import annotations

from collections.abc import Mapping

from .markup import Element


class LeftOut:
    """Collects what is not brought over, and says the same thing of many elements in one line."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}  # places in order, each once

    def note(self, what: str, where: str) -> None:
        """Remember that something was left out at one place."""
        self._found.setdefault(what, {})[where] = None

    def note_unread(self, root: Element, reasons: Mapping[str, str]) -> None:
        """Remember all elements and attributes of a file that nothing asked for; `reasons` are by tag."""
        for element, attribute in root.unread():
            if attribute is not None:
                self.note(f"{attribute}=... of <{element.tag}>", element.owner)
                continue
            reason = reasons.get(element.tag)
            where = element.parent.owner if element.parent is not None else element.owner
            self.note(f"<{element.tag}>" + (f" ({reason})" if reason else ""), where)

    @property
    def lines(self) -> list[str]:
        """One line for each kind of thing, with all places."""
        return [f"{what}: {', '.join(places)}" for what, places in self._found.items()]
