"""The accuracy page: it has every reference motion, and says what a run gives today."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import accuracy_page, markdown, references
from benchmarks.published import bouncing_ball, car_axis, ropes, stick

PAGE = (Path(__file__).parents[1] / "docs" / "accuracy.md").read_text(encoding="utf-8")
# Errors near round-off differ from processor to processor.
FACTOR, ROUND_OFF = 5.0, 2e-14


def like(said, found):
    """Whether two texts are the same, or numbers that are alike."""
    try:
        one, other = float(said), float(found)
    except ValueError:
        return said == found
    return max(one, other) <= max(FACTOR * min(one, other), ROUND_OFF)


def stands_in(remark, page):
    """Whether a page has a remark, word by word, with numbers that are alike."""
    words, given = ([word.rstrip(".,;:") for word in text.split()] for text in (remark, page))
    starts = range(len(given) - len(words) + 1)
    return any(all(map(like, words, given[start : start + len(words)])) for start in starts)


def test_every_reference_motion_is_on_the_page():
    tables = {path.stem for path in references.FOLDER.glob("*.json")}
    assert set(accuracy_page.SYSTEMS) == tables
    assert {line[0] for line in markdown.read(PAGE)} >= {f"`{name}`" for name in tables}


@pytest.mark.parametrize("name", ["heavy_top", "gear_pair", "bricard"])
def test_the_page_says_what_reference_motions_give(name):
    (said,) = (line for line in markdown.read(PAGE) if line[0] == f"`{name}`")
    found = accuracy_page.reference(name).cells()
    assert len(said) == len(found) == len(accuracy_page.HEAD)
    for column, one, other in zip(accuracy_page.HEAD, said, found, strict=True):
        assert like(one, other), (column, one, other)


@pytest.mark.parametrize("problem", [car_axis, bouncing_ball, stick, ropes], ids=lambda module: module.__name__)
def test_the_page_says_what_published_problems_give(problem):
    for section in problem.sections():
        text = accuracy_page.problem(section)
        title = text.splitlines()[0]
        said = PAGE[PAGE.index(f"{title}\n") :].split("\n### ")[0]
        for one, other in zip(markdown.read(said), markdown.read(text), strict=True):
            assert all(like(a, b) for a, b in zip(one, other, strict=True)), (one, other)
        for remark in (section.what, *section.remarks, section.source):
            assert stands_in(remark, said), remark


def test_every_published_problem_is_on_the_page():
    titles = [line.removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")]
    data = {path.stem for path in Path(car_axis.__file__).parent.glob("*.toml")}
    assert len(titles) == len(set(titles)) >= len(accuracy_page.PROBLEMS)
    read = {"iftomm" if hasattr(module, "LIBRARY") else module.__name__.rsplit(".", 1)[-1]
            for module in accuracy_page.PROBLEMS}  # fmt: skip
    assert data <= read


def test_tables_come_back_as_they_were_written():
    rows = [["a | b", "1e-3"], ["", "x"]]
    assert markdown.read(markdown.table(["one", "two"], rows)) == [["one", "two"], *rows]


def test_numbers_that_are_not_alike_are_told():
    assert like("1.0e-12", "3.0e-12")
    assert not like("1.0e-12", "3.0e-11")
    assert not like("14 values", "15 values")
    assert stands_in("agree to 5e-14. So", "Both agree to 8e-14. So it is")
    assert not stands_in("agree to 5e-13. So", "Both agree to 8e-14. So it is")
    assert not stands_in("agree to 5e-14. So", "Both come to 8e-14. So it is")
    assert like(str(np.float64(1e-16)), "0.0e+00")
