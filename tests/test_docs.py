"""Pages of the documentation: their code runs and prints what they say, and nothing is left out."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from quirk import constraints, forces, planar

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    name: (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in (
        "bodies",
        "constraints",
        "events",
        "forces",
        "import",
        "inverse-dynamics",
        "kinematics",
        "long-runs",
        "model-files",
        "planar",
        "plots",
        "results",
        "sweeps",
        "viewing",
        "whole-system",
    )
}
# What names that are exported, but are not constraints of their own, stand for.
OTHERS = {"Constraint", "Joint", "Drawing", "Drum", "PlanarBody", "Plane"}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


def files(page):
    """The files that a page shows, with their names on their first lines."""
    return re.findall(r"^```toml\n(# (\S+)\n.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_the_code_prints_what_the_page_says(name, tmp_path, monkeypatch):
    namespace = {}
    monkeypatch.chdir(tmp_path)  # for pages that write files
    for text, file in files(PAGES[name]):
        Path(file).write_text(text, encoding="utf-8")
    assert blocks(PAGES[name])
    for code in blocks(PAGES[name]):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"docs/{name}.md", "exec"), namespace)
        lines = [re.sub(r"-(0\.0)\b", r"\1", line) for line in printed.getvalue().splitlines()]
        said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
        assert lines == said, code


@pytest.mark.parametrize(
    ("package", "page", "name"),
    [
        pytest.param(package, page, name, id=f"{page}-{name}")
        for package, page in ((constraints, "constraints"), (planar, "planar"))
        for name in sorted(set(package.__all__) - OTHERS)
    ],
)
def test_every_constraint_has_a_section(package, page, name):
    assert issubclass(getattr(package, name), constraints.Constraint)
    heading = re.search(rf"^(##+) {name}$", PAGES[page], flags=re.MULTILINE)
    assert heading
    section = re.split(r"^#{2,3} ", PAGES[page][heading.end() :], flags=re.MULTILINE)[0]
    prefix = "planar" if package is planar else "quirk"
    for part in (f"](images/{page}/", f"{prefix}.{name}(", "```python"):
        assert part in section, part
    assert f"| [{name}](#{name.lower()}) |" in PAGES[page]


@pytest.mark.parametrize("name", sorted(set(forces.__all__) - {"ForceElement"}))
def test_every_force_has_a_section(name):
    section = re.split(r"^## ", PAGES["forces"], flags=re.MULTILINE)
    mine = [part for part in section if part.startswith(f"{name}\n")]
    assert len(mine) == 1
    assert f"quirk.{name}(" in mine[0]
    assert f"| [{name}](#{name.lower()}) |" in PAGES["forces"]


def test_planes_and_bodies_have_their_section():
    for call in ("planar.Plane(", "planar.PlanarBody(", "planar.PlanarBody.bar("):
        assert call in PAGES["planar"], call


@pytest.mark.parametrize("name", ["../README", *(path.stem for path in sorted(DOCS.glob("*.md")))])
def test_links_lead_somewhere(name):
    """Images and pages that are there, and headings that they have."""
    path = DOCS / f"{name}.md"
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    for link in links:
        if not link.startswith("http"):
            file, _, anchor = link.partition("#")
            target = path.parent / file if file else path
            assert target.exists(), link
            if anchor:
                headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, link


def test_every_picture_is_shown():
    shown = {image for page in PAGES.values() for image in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)}
    for folder in ("constraints", "planar"):
        for picture in (DOCS / "images" / folder).iterdir():
            assert f"images/{folder}/{picture.name}" in shown, picture
