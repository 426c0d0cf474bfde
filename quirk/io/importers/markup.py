"""XML elements with line numbers and a record of which contents have been read; entities are rejected.

An import lists the contents that were not read as omissions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from quirk.errors import InputError

# Maximum nesting depth of elements: robot descriptions need a dozen levels, nested models a few more.
DEEPEST = 200
# Maximum number of characters of an invalid text that are shown in messages.
SHOWN = 60
# Largest allowed number: its square and cube, and their products with masses, are finite.
LARGEST = 1e75


class Element:
    """Element of an XML file, with a record of which contents have been read.

    Attributes
    ----------
    tag, attributes, text : tag, attributes by name, and text of the element
    children, parent : child elements, and parent element (None for the root element)
    line : number of its first line in the file
    folder : folder of the file; only for the root element
    """

    def __init__(self, file: str, tag: str, attributes: dict[str, str], line: int, parent: Element | None) -> None:
        self.file, self.tag, self.attributes, self.line, self.parent = file, tag, attributes, line, parent
        self.children: list[Element] = []
        self.text = ""
        self._read: set[str] = set()
        self.was_read = parent is None

    folder: Path

    def __str__(self) -> str:
        name = self.attributes.get("name")
        named = f' name="{shortened(name)}"' if name is not None else ""
        return f"{self.file}, line {self.line}, <{self.tag}{named}>"

    def error(self, message: str) -> InputError:
        """Return an InputError with a message that names the element and its line."""
        return InputError(f"{self}: {message}")

    def add(self, child: Element) -> None:
        """Append an element to the children."""
        self.children.append(child)

    @property
    def root(self) -> Element:
        """Root element of the file."""
        element = self
        while element.parent is not None:
            element = element.parent
        return element

    def all(self, tag: str) -> list[Element]:
        """Return all children with the given tag, and mark them as read."""
        found = [child for child in self.children if child.tag == tag]
        for child in found:
            child.was_read = True
        return found

    def child(self, tag: str) -> Element | None:
        """Return the only child with the given tag, or None; an InputError is raised for several such children."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"{self.tag} has {len(found)} of these elements; keep one")
        return found[0] if found else None

    def required_child(self, tag: str) -> Element:
        """Return the child with the given tag; an InputError is raised if it is missing."""
        found = self.child(tag)
        if found is None:
            raise self.error(f"has no <{tag}>, which it must have")
        return found

    def ignore(self, *tags: str) -> None:
        """Mark children with the given tags, and their contents, as read; they do not describe the mechanism."""
        for child in self.children:
            if child.tag in tags:
                child.ignore_all()

    def ignore_all(self) -> None:
        """Mark the element and all its contents as read."""
        for element in self.walk():
            element.was_read = True
            element._read.update(element.attributes)

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, or None if it is missing, and mark it as read."""
        self._read.add(name)
        return self.attributes.get(name)

    def attribute(self, name: str) -> str:
        """Return the value of an attribute; an InputError is raised if it is missing or empty."""
        value = self.get(name)
        if value is None or not value.strip():
            raise self.error(f'needs the attribute {name}="..."; got {shortened(value)!r}')
        return value

    def number(self, name: str, default: float | None = None, infinite: bool = False) -> float:
        """Return the value of an attribute as a number.

        If the attribute is missing, `default` is returned; without a default, an InputError is raised. Infinite values
        are allowed only if `infinite` is true.
        """
        return float(self.vector(name, 1, None if default is None else [default], infinite)[0])

    def vector(self, name: str, count: int, default: Any = None, infinite: bool = False) -> np.ndarray:
        """Return the value of an attribute as an array of `count` numbers.

        If the attribute is missing, `default` is returned; without a default, an InputError is raised. Infinite values
        are allowed only if `infinite` is true.
        """
        value = self.get(name)
        if value is None and default is not None:
            return np.array(default, dtype=float)
        return self._numbers(f'the attribute {name}="..."', "" if value is None else value, (count,), infinite)

    def numbers(self, *counts: int, infinite: bool = False) -> np.ndarray:
        """Return the text of the element as an array of k numbers.

        `counts` are the allowed values of k; infinite values are allowed only if `infinite` is true.
        """
        return self._numbers("its text", self.text, counts, infinite)

    def word(self) -> str:
        """Return the text of the element without surrounding whitespace; an InputError is raised if it is empty."""
        if not self.text.strip():
            raise self.error("is empty; it must hold a name")
        return self.text.strip()

    def child_number(self, tag: str, default: float, infinite: bool = False) -> float:
        """Return the text of the child with a tag as a number, or `default` if there is no such child.

        Infinite values are allowed only if `infinite` is true.
        """
        child = self.child(tag)
        return default if child is None else float(child.numbers(1, infinite=infinite)[0])

    def _numbers(self, attribute: str, text: str, counts: tuple[int, ...], infinite: bool = False) -> np.ndarray:
        try:
            # Python accepts 1_000 as a number, which none of these formats does.
            values = [math.nan if "_" in word else float(word) for word in text.split()]
        except ValueError:
            values = []
        wrong = any(math.isnan(x) or (abs(x) > LARGEST and not infinite) for x in values)
        if len(values) not in counts or wrong:
            kind = "number" if counts == (1,) else "numbers"
            needed = " or ".join(map(str, counts))
            bound = "" if infinite else f" up to {LARGEST:g}"
            raise self.error(f"{attribute} must be {needed} {kind}{bound}; got {shortened(text)!r}")
        return np.array(values)

    def walk(self) -> Iterator[Element]:
        """Yield the element and all its descendants in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def unread(self) -> Iterator[tuple[Element, str | None]]:
        """Yield the unread elements, and the unread attributes of elements that were read.

        Each item is a pair of an element and the name of the attribute, or None.
        """
        waiting = [self]
        while waiting:
            element = waiting.pop()
            if not element.was_read:
                yield element, None
                continue
            yield from ((element, name) for name in element.attributes if name not in element._read)
            waiting.extend(reversed(element.children))

    @property
    def owner(self) -> str:
        """Tag and name of the element, or of its nearest ancestor with a name."""
        element: Element | None = self
        while element is not None and not element.attributes.get("name"):
            element = element.parent
        return self.tag if element is None else f'{element.tag} "{shortened(element.attributes["name"])}"'


def shortened(text: str | None) -> str:
    """Return at most the first `SHOWN` characters of a string, followed by dots if it is longer."""
    text = "" if text is None else text
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def parse(path: Path) -> Element:
    """Return the root element of an XML file.

    Raises
    ------
    InputError
        If the file cannot be read, is not well-formed, or declares a document type or entities. Entities could exhaust
        the memory or access other files.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        why: Any = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} cannot be read: {why}") from None
    reader = _Reader(path.name)
    try:
        reader.parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name}: is not well-formed XML: {error}") from None
    assert reader.root is not None
    reader.root.folder = path.parent
    return reader.root


class _Reader:
    """Handler of the events of the XML parser expat, from which it constructs the elements."""

    def __init__(self, file: str) -> None:
        self.file, self.root, self.depth = file, None, 0
        self.at: Element | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse

    root: Element | None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(self.file, tag, attributes, self.parser.CurrentLineNumber, self.at)
        self.depth += 1
        if self.depth > DEEPEST:
            raise element.error(f"elements are nested more than {DEEPEST} deep")
        if self.at is None:
            self.root = element
        else:
            self.at.children.append(element)
        self.at = element
        if tag.startswith("xacro:") or self.is_evaluated(attributes):
            assert self.root is not None
            raise self.root.error(
                "is a xacro file, a program that writes a robot description: process it with xacro, and read the output"
            )

    def is_evaluated(self, attributes: dict[str, str]) -> bool:
        """Whether attributes contain expressions of the macro language xacro, which must be evaluated first."""
        declared = self.root is not None and "xmlns:xacro" in self.root.attributes
        return declared and any("${" in value for value in attributes.values())

    def end(self, tag: str) -> None:
        assert self.at is not None
        self.at, self.depth = self.at.parent, self.depth - 1

    def characters(self, text: str) -> None:
        if self.at is not None:
            self.at.text += text

    def refuse(self, *declaration: Any) -> None:
        raise InputError(
            f"{self.file}, line {self.parser.CurrentLineNumber}: contains a declaration of a document type or an "
            "entity, which is not supported; remove <!DOCTYPE ...>"
        )
