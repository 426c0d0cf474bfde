"""Pages of the documentation: their code runs and prints what they say, and nothing is left out."""

import contextlib
import io
import re
from importlib import import_module
from pathlib import Path

import pytest
from quirk.demos import DEMOS
from studies import study

import quirk
from quirk import constraints, forces, planar

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Every page, by its path from `docs` without the ending.
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What names that are exported, but are not constraints of their own, stand for.
OTHERS = {"Constraint", "Joint", "Drawing", "Drum", "PlanarBody", "Plane"}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


WITH_CODE = [name for name, page in PAGES.items() if blocks(page)]
# Pages whose code takes long.
LONG = {"tutorials/08-many-runs", "linearization", "batches", "kinematics", "stepping", "learning", "constraints", "forces",
        "plots", "sweeps", "tutorials/06-own-force"}  # fmt: skip


def files(page):
    """The files that a page shows, with their names on their first lines."""
    return re.findall(r"^```toml\n(# (\S+)\n.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", study(WITH_CODE, {*WITH_CODE} - LONG))
def test_the_code_prints_what_the_page_says(name, tmp_path, monkeypatch):
    namespace = {}
    monkeypatch.chdir(tmp_path)  # for pages that write files
    for text, file in files(PAGES[name]):
        Path(file).write_text(text, encoding="utf-8")
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


def test_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for code in blocks(README):
        exec(compile(code, "README.md", "exec"), namespace)
    assert "degrees of freedom: 1" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"pendulum.png", "pendulum.gif"}


def test_code_that_does_not_run_is_of_other_programs():
    """Blocks of Python are marked `python`, and run; `py` marks what other programs take."""
    for name, page in [*PAGES.items(), ("README", README)]:
        marks = set(re.findall(r"^ *```(\w+)$", page, flags=re.MULTILINE))
        assert marks <= {"python", "sh", "toml", "xml", "text", *(["py"] if name.startswith("from/") else [])}, name


@pytest.mark.parametrize("name", ["../README", "../CONTRIBUTING", "../CHANGELOG", "../demos/README", *PAGES])
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


def part(page, heading):
    """The text of a page from a heading to the next of its level."""
    return page.partition(f"## {heading}\n")[2].partition("\n## ")[0]


OTHER_TOOLS = [name for name in PAGES if name.startswith("from/") and name != "from/index"]


@pytest.mark.parametrize("name", ["../README", *OTHER_TOOLS])
def test_what_is_said_to_be_missing_is_missing(name):
    """Each item of the list ends with a line of code, not shown, that fails as long as the item is true."""
    page = README if name == "../README" else PAGES[name]
    absent = part(page, "What it does not do" if page == README else "What QuIRK does not have")
    items = re.findall(r"^\* (.*(?:\n  .*)*)", absent, flags=re.MULTILINE)
    assert len(items) > 2
    for item in items:
        lines = re.findall(r"<!-- fails: (.+?) -->$", item)
        assert len(lines) == 1, item
        owner, _, missing = lines[0].rpartition(".")
        assert not hasattr(eval(owner, {"quirk": quirk}), missing), item


@pytest.mark.parametrize("name", OTHER_TOOLS)
def test_what_other_tools_names_stand_for_is_there(name):
    """Classes and functions of QuIRK in the right column of the table."""
    cells = re.findall(r"^\|.*\| ([^|]*) \|$", part(PAGES[name], "What is called how"), flags=re.MULTILINE)
    names = [found for cell in cells for found in re.findall(r"`([A-Z]\w+)(?=[`(.])", cell)]
    assert len(names) > 4
    assert not [found for found in names if not hasattr(quirk, found)]


def test_messages_that_troubleshooting_explains_are_raised():
    sources = [
        path.read_text(encoding="utf-8")
        for name in ("quirk", "constraints", "integrators")
        for path in (ROOT / name).rglob("*.py")
    ]
    texts = re.findall(r"^\| `([^`]+)`[^|]* \|", PAGES["troubleshooting"], flags=re.MULTILINE)
    assert len(texts) > 12
    for text in texts:
        assert any(text in source for source in sources), text


def test_the_readme_lists_as_many_demos_as_there_are():
    assert f"[All {len(DEMOS)} demos]" in README
    listed = re.findall(
        r"^\| \[`([\w-]+)`\]\((\w+)\.py\)", (ROOT / "demos" / "README.md").read_text(), flags=re.MULTILINE
    )
    assert [name for name, _ in listed] == list(DEMOS)
    assert all(name.replace("-", "_") == file for name, file in listed)


@pytest.mark.parametrize("name", ["../README", *PAGES])
def test_what_pages_name_is_there(name):
    """Names such as `quirk.simulate`, and paths such as `tests/test_rank.py` or the end of one, `stepping/methods.py`."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    for dotted in set(re.findall(r"`(quirk(?:\.\w+)+)(?=[`(\[])", prose)):
        assert found_in_package(dotted), dotted
    for path in set(re.findall(r"[`(]((?:\w+/)+\w+\.(?:py|md))[`)]", prose)):
        places = [ROOT, DOCS, *(ROOT / part for part in ("quirk", "quirk/dynamics", "quirk/dynamics/sparse"))]
        if any((place / path.partition("/")[0]).is_dir() for place in places):  # else it is of another project
            assert any((place / path).is_file() for place in places), path


def found_in_package(dotted):
    """Whether attributes and modules lead to a name."""
    found, (_, *parts) = quirk, dotted.split(".")
    for k, part in enumerate(parts, 1):
        try:
            found = getattr(found, part) if hasattr(found, part) else import_module(".".join(["quirk", *parts[:k]]))
        except ImportError:
            return False
    return True


def test_every_picture_is_shown():
    shown = {image for page in PAGES.values() for image in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)}
    for folder in ("constraints", "planar"):
        for picture in (DOCS / "images" / folder).iterdir():
            assert f"images/{folder}/{picture.name}" in shown, picture
