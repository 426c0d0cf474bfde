"""The site: nothing public is missing, its links lead to pages, and it asks for nothing from outside."""

import re
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import quirk
from quirk import integrators, shapes

DOCS = Path(__file__).parents[1] / "docs"
SITE = DOCS.parent / "build" / "site"
# What pages load by themselves, by element and attribute.
LOADED = {("script", "src"), ("img", "src"), ("img", "srcset"), ("link", "href"), ("source", "src"), ("iframe", "src")}
OUTSIDE = re.compile(r"(?:https?:)?//")


class Loads(HTMLParser):
    """What a page loads."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if (tag, name) in LOADED]


def outside(text, style=False):
    """What a page, or a style sheet, loads from other places."""
    found = re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s]+)""", text) if style else Loads(text).found
    return [address for address in found if OUTSIDE.match(address)]


def test_what_is_outside_is_found():
    page = (
        '<link href="//a.b/c.css"><script src="https://a.b/c.js"></script><img src="c.png"><a href="https://a.b">x</a>'
    )
    assert outside(page) == ["//a.b/c.css", "https://a.b/c.js"]
    style = '@import "https://a.b/c.css"; p { background: url(http://a.b/c.png) url(data:image/png;base64,x) }'
    assert outside(style, style=True) == ["https://a.b/c.css", "http://a.b/c.png"]


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: `.ci/run` does it")
def test_the_site_loads_nothing_from_outside():
    pages, styles = sorted(SITE.rglob("*.html")), sorted(SITE.rglob("*.css"))
    assert len(pages) > 50
    assert styles
    for path in [*pages, *styles]:
        assert outside(path.read_text(encoding="utf-8"), style=path.suffix == ".css") == [], path
    # Formulas are drawn by a script that is there.
    scripts = {
        name for page in pages for name in re.findall(r"[\w-]*tex-svg[\w-]*\.js", page.read_text(encoding="utf-8"))
    }
    assert scripts
    assert all((SITE / "_static" / name).stat().st_size > 1e6 for name in scripts)


def listed():
    """All names that the API pages list, with those of their modules in front."""
    for page in sorted((DOCS / "api").glob("*.rst")):
        module = None
        for kind, name in re.findall(r"^\.\. (\w+):: (\S+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if kind == "currentmodule":
                module = name
            elif kind.startswith("auto"):
                yield f"{module}.{name}"


def test_the_api_lists_every_public_name_once():
    names = list(listed())
    assert len(names) == len(set(names))
    public = {f"quirk.{name}" for name in quirk.__all__ if name not in ("planar", "surface")}
    for module, known in ((quirk.planar, "planar"), (shapes, "shapes")):
        public |= {f"quirk.{known}.{name}" for name in module.__all__}
    public |= {f"quirk.surface.{name}" for name in ("plane", "sphere", "point", "rim")}
    public |= {f"quirk.integrators.{name}" for name in integrators.__all__ if name.upper() != name}
    assert not public - set(names)
    prose = (DOCS / "api" / "integrators.rst").read_text(encoding="utf-8")
    assert all(name in prose for name in integrators.TABLEAUX)


def test_links_lead_to_pages_of_the_site():
    spec = spec_from_file_location("site_links", DOCS / "site_links.py")
    links = module_from_spec(spec)
    spec.loader.exec_module(links)
    for text, folder, made in (
        ("see the [README](../README.md)", DOCS, "see the [README](/quick-start.md)"),
        ("[start](../../README.md#a-pendulum)", DOCS / "theory", "[start](/quick-start.md#a-pendulum)"),
        ("the [demos](../demos/README.md)", DOCS, "the [demos](/gallery/index.rst)"),
        ("[`door`](demos/door.py)", DOCS.parent, "[`door`](/gallery/door.rst)"),
        ("[docs/planar.md](docs/planar.md)", DOCS.parent, "[](/planar.md)"),
        ("[plots](plots.md) of `f[k](t)`", DOCS, "[plots](/plots.md) of `f[k](t)`"),
        ("![all](images/scaling.png)", DOCS, "![all](/images/scaling.png)"),
        ("[how](benchmarks/README.md)", DOCS.parent, "[how](/benchmarks.md)"),
        ("[license](../LICENSE)", DOCS, "[license](/../LICENSE)"),
        ("[elsewhere](https://a.b/c.md#d)", DOCS, "[elsewhere](https://a.b/c.md#d)"),
    ):
        assert links.led(text, folder) == made
