"""Rewrite links of the repository's pages for the site.

Links to the README and to demos lead to the corresponding pages of the site. A link whose text is a file name, as in
`[plots.md](plots.md)`, gets the title of the page as its text.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
# Pages of the site that correspond to files outside this folder.
PAGES = {
    ROOT / "README.md": "/quick-start.md",
    ROOT / "CHANGELOG.md": "/changelog.md",
    ROOT / "benchmarks" / "README.md": "/benchmarks.md",
    ROOT / "demos" / "README.md": "/gallery/index.rst",
}
LINK = re.compile(r"\[([^][]*)\]\(([^)#:\s]+)(#[^)\s]+)?\)")


def place_of(path, anchor):
    """Return where the site has a heading of a file of the repository, or the file, from the top of the site."""
    if path in PAGES:
        return PAGES[path] + anchor
    if path.parent == ROOT / "demos":
        return f"/gallery/{path.stem}.rst"
    return f"/{os.path.relpath(path, DOCS)}{anchor}"


def led(text, folder):
    """Return the text of a page in some folder with its links mended."""

    def mended(link):
        name, target, anchor = link.groups(default="")
        path = (folder / target).resolve()
        if not path.is_file():  # an index and a call, in code
            return link[0]
        return f"[{'' if name.endswith('.md') else name}]({place_of(path, anchor)})"

    return LINK.sub(mended, text)


def in_page(app, name, source):
    """Mend links of a page as it is read."""
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0] = led(source[0], page.parent)


def in_part(app, path, name, content):
    """Mend links of a file as a page includes a part of it."""
    content[0] = led(content[0], (DOCS / path).resolve().parent)
