"""The gallery: demos as sphinx-gallery takes scripts, in our order, with the pictures that they write to files."""

from pathlib import Path

from PIL import Image
from quirk.demos import DEMOS
from sphinx_gallery.scrapers import figure_rst

HEADER = """\
Gallery
=======

All demos, with what they print and their pictures. ``quirk demo NAME --out FOLDER`` runs one; ``quirk demo --help``
lists them.
"""
# How far into an animation the picture is that stands for it.
STILL = 0.4


def title(name):
    """Return the title of a demo's page."""
    return name.replace("-", " ").capitalize()


def write_scripts(app):
    """Write demos with titles above their docstrings to the folder where sphinx-gallery looks for scripts."""
    demos = Path(app.srcdir).parent / "demos"
    folder = Path(app.srcdir) / app.config.sphinx_gallery_conf["examples_dirs"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GALLERY_HEADER.rst").write_text(HEADER, encoding="utf-8")
    for name in DEMOS:
        script = f"{name.replace('-', '_')}.py"
        code = (demos / script).read_text(encoding="utf-8")
        heading = f'"""\n{title(name)}\n{"=" * len(name)}\n\n'
        (folder / script).write_text(code.replace('"""', heading, 1), encoding="utf-8")


def pictures(block, variables, conf):
    """Return reST that shows what a demo wrote to files, the animation first.

    Of that a still, which is not shown, is saved as the first picture: this one becomes the thumbnail.
    """
    name = Path(variables["src_file"]).stem.replace("_", "-")
    folder = Path(variables["src_file"]).parent / "out"
    written = sorted(
        (path for path in folder.glob(f"{name}*") if path.suffix in (".gif", ".png")),
        key=lambda path: (path.suffix, path.name),
    )
    places = variables["image_path_iterator"]
    if written:
        with Image.open(written[0]) as animation:
            animation.seek(int(STILL * getattr(animation, "n_frames", 1)))
            animation.convert("RGB").save(next(places))
    shown = []
    for path in written:
        place = Path(next(places)).with_suffix(path.suffix)
        path.replace(place)
        shown.append(figure_rst([place], conf["src_dir"], title(name)))
    return "".join(shown)


class Order:
    """The order of demos: that of `quirk demo --help`."""

    def __init__(self, folder):
        self.names = list(DEMOS)

    def __call__(self, script):
        """Return the place of a script."""
        return self.names.index(Path(script).stem.replace("_", "-"))
