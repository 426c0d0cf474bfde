"""How Sphinx builds the documentation: `python -m sphinx -W --keep-going docs build/site`."""

import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import site_docstrings
import site_gallery
import site_links

import quirk

# Modules that have a shorter public name are documented under that.
sys.modules |= {"quirk.planar": quirk.planar, "quirk.surface": quirk.surface}

project = "QuIRK"
author = "the authors of QuIRK"
copyright = author
release = metadata.version("quirk-dynamics")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["images"]

# Pages: Markdown with $formulas$, and anchors of headings as the repository's web page makes them.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

# Docstrings: numpy's layout; `names` are links where they name something public, and code where not.
default_role = "py:obj"
smartquotes_action = "D"  # dashes, but quotes as they are typed in Python
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
# Types are plain English, in which no word is to become a link.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

# MathJax comes with a package and is a single file, so that pages show formulas without a network.
_MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax/tex-svg-full.js"
mathjax_path = _MATHJAX.name
html_static_path = ["_static", str(_MATHJAX)]
html_css_files = ["site.css"]

html_theme = "furo"
html_title = "QuIRK"
html_show_copyright = False

# The demos, each with its code, what it prints and its pictures. `-D plot_gallery=0` does not run them.
sphinx_gallery_conf = {
    "examples_dirs": "../build/demos",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "site_gallery.Order",
    "image_scrapers": ("site_gallery.pictures",),
    "thumbnail_size": (400, 400),
    "capture_repr": (),
    "notebook_extensions": set(),
    "download_all_examples": False,
    "write_computation_times": False,
    "inspect_global_variables": False,
    "show_signature": False,
    "abort_on_example_error": True,
}


def setup(app):
    """Connect what stands beside this file."""
    # Before sphinx-gallery, whose own handler has the usual priority of 500.
    app.connect("builder-inited", site_gallery.write_scripts, priority=100)
    # After napoleon.
    app.connect("autodoc-process-docstring", site_docstrings.adapt, priority=600)
    app.connect("source-read", site_links.in_page)
    app.connect("include-read", site_links.in_part)
