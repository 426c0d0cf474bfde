"""Files and folders that the pages for developers name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "structure.md", *sorted((ROOT / "docs" / "develop").glob("*.md"))]
# A name in backticks that ends as a file or folder does; names with a placeholder are patterns.
NAME = re.compile(r"`([\w./*-]+(?:\.py|\.pyi|\.md|\.cfg|\.toml|/))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    """A name may leave out leading folders."""
    tracked = [path for path in ROOT.rglob("*") if not {".git", ".venv", "build"} & set(path.relative_to(ROOT).parts)]
    names = {f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}" for path in tracked}
    named = NAME.findall(page.read_text(encoding="utf-8"))
    missing = [name for name in named if not any(re.search(f"/{pattern(name)}$", there) for there in names)]
    assert not missing, f"{page.name} names {missing}"


def pattern(name):
    """Return the regular expression of a name, in which * stands for any characters."""
    return re.escape(name).replace(r"\*", "[^/]*")
