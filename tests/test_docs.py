"""The page of all constraints: its code runs and prints what it says, and nothing is left out."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from quirk import constraints

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "constraints.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
# What names that are exported, but are not constraints of their own, stand for.
OTHERS = {"Constraint", "Joint", "Drawing"}


def test_the_code_prints_what_the_page_says():
    namespace = {}
    for code in BLOCKS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/constraints.md", "exec"), namespace)
        lines = [re.sub(r"-(0\.0)\b", r"\1", line) for line in printed.getvalue().splitlines()]
        said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
        assert lines == said, code


@pytest.mark.parametrize("name", sorted(set(constraints.__all__) - OTHERS))
def test_every_constraint_has_a_section(name):
    assert issubclass(getattr(constraints, name), constraints.Constraint)
    start = PAGE.find(f"\n## {name}\n")
    assert start >= 0
    section = PAGE[start + 1 :].split("\n## ")[0]
    for part in ("](images/constraints/", f"quirk.{name}(", "```python"):
        assert part in section, part


def test_every_image_exists():
    images = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert images
    for image in images:
        assert (DOCS / image).is_file(), image
