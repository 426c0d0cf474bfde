"""Estimate of the number of elements to which MuJoCo expands an MJCF file, before MuJoCo reads the file.

The expansion replicates elements and includes other files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from .markup import Element, parse, shortened

# Maximum number of elements added by expansion: MuJoCo needs about a minute for this number.
MOST_ELEMENTS = 30_000
# Maximum number of numbers, pixels or bytes for which an attribute may allocate memory.
MOST_NUMBERS = 10**8
# Elements that are replicated as often as their attribute `count` specifies.
REPEATED = ("replicate", "composite", "flexcomp")
# Attributes that allocate memory for the product of their numbers.
SIZES = {
    "hfield": ("nrow", "ncol"), "texture": ("width", "height"), "numeric": ("size",), "tuple": ("size",),
    "size": ("njmax", "nconmax", "nstack", "nuserdata", "nkey", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site",
             "nuser_cam", "nuser_tendon", "nuser_actuator", "nuser_sensor"),
}  # fmt: skip


def check_expansion(path: Path, root: Element) -> None:
    """Raise an InputError if an MJCF file, with all included files, would require too much memory or time.

    Parameters
    ----------
    path : path of the file; included files are searched for in its folder
    root : root element of the file
    """
    _Expansion(path).check(root)


class _Expansion:
    """Counter of the elements of MJCF files after replication, inclusion and attachment; each file is read once."""

    def __init__(self, path: Path) -> None:
        self._folders = [path.parent]
        self._counts: dict[Path, int] = {}
        self._reading = [path.resolve()]

    def check(self, root: Element) -> None:
        written = sum(1 for _ in root.walk())
        expanded = self._total(root)
        if expanded - written > MOST_ELEMENTS:
            raise root.error(
                f"replication and included files produce {_count_text(expanded)} elements, more than {MOST_ELEMENTS} "
                f"beyond the {written} in the file; lower the counts of <replicate>, <composite> or <flexcomp>, or the "
                "number of <attach>"
            )

    def _total(self, root: Element) -> int:
        """Return the number of elements of the file with root element `root` after expansion."""
        for compiler in (element for element in root.walk() if element.tag == "compiler"):
            for name in ("assetdir", "meshdir"):
                if compiler.attributes.get(name):
                    self._folders.append(self._folders[0] / compiler.attributes[name])
        # Paths by their names in this file.
        models: dict[str | None, Path] = {}
        for model in (element for element in root.walk() if element.tag == "model" and element.attributes.get("file")):
            file = Path(model.attributes["file"])
            models[model.attributes.get("name", file.stem)] = file
        # From the leaves up, without recursion.
        totals: dict[int, int] = {}
        for element in reversed(list(root.walk())):
            inside = sum(totals.pop(id(child)) for child in element.children)
            totals[id(element)] = 1 + self._expanded_count(element, inside, models)
        return totals[id(root)]

    def _expanded_count(self, element: Element, child_count: int, models: Mapping[str | None, Path]) -> int:
        """Return the number of elements to which MuJoCo expands `element`.

        Its children are expanded to `child_count` elements in total. `models` are the paths of other files, by the
        names under which the file attaches them.
        """
        self._check_sizes(element, SIZES.get(element.tag, ()))
        if element.tag in REPEATED:
            return _product(element.attributes.get("count")) * max(child_count, 1)
        if element.tag == "include":
            return child_count + self._of_file(element, Path(element.attributes.get("file", "")))
        if element.tag == "attach" and element.attributes.get("model") in models:
            return child_count + self._of_file(element, models[element.attributes.get("model")])
        return child_count

    def _of_file(self, element: Element, file: Path) -> int:
        path = next((found for folder in self._folders if (found := (folder / file).resolve()).is_file()), None)
        if path is None or path.suffix == ".mjb":
            return 0  # MuJoCo reports the missing file
        if path in self._reading:
            raise element.error(f"the file {shortened(file.name)!r} includes itself")
        if path not in self._counts:
            self._reading.append(path)
            self._counts[path] = self._total(parse(path))
            self._reading.pop()
        return self._counts[path]

    def _check_sizes(self, element: Element, names: Iterable[str]) -> None:
        sizes = [_product(element.attributes.get(name)) for name in names]
        size = max(sizes, default=0) if element.tag == "size" else math.prod(sizes)
        if size > MOST_NUMBERS:
            raise element.error(f"allocates {_count_text(size)} numbers; the limit is {_count_text(MOST_NUMBERS)}")


def _product(text: str | None) -> int:
    """Return the product of the numbers in an attribute; words that are not numbers are ignored."""
    found = 1
    for word in (text or "").split():
        try:
            number = float(word)
        except ValueError:
            continue
        if math.isfinite(number) and number > 1:
            found *= int(number)
    return found


def _count_text(number: int) -> str:
    """Return a number of elements as a string, rounded if it is large."""
    if number < 10**6:
        return str(number)
    return f"some 10^{int(math.log10(number))}"
