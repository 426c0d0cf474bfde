"""Links as the repository's web page needs them, made into what readers of the site expect.

Links to the README and to demos lead to the pages that the site has of them, and links that are called after a page, as
in `[plots.md](plots.md)`, are called after its title.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
# Pages that include files from outside this folder.
INCLUDED = {ROOT / "README.md": "/overview.md", ROOT / "benchmarks" / "README.md": "/benchmarks.md"}
LINK = re.compile(r"\[([^][]*)\]\(([^)#:\s]+)(#[^)\s]+)?\)")


def place_of(path, anchor):
    """Return where the site has a heading of a file of the repository, or the file, from the top of the site."""
    if path == ROOT / "README.md" and anchor == "#demos":
        return "/gallery/index.rst"
    if path.parent == ROOT / "demos":
        return f"/gallery/{path.stem}.rst"
    return INCLUDED.get(path, f"/{os.path.relpath(path, DOCS)}") + anchor


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
