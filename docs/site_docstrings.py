"""What napoleon makes of docstrings in numpy's layout, adapted to how ours are written."""

import inspect
import re

# An item of a list of attributes that has nothing but a "type": with us, that is what the attribute is.
DESCRIBED = re.compile(r"^(.*\*\*.+?\*\*) \((\*?)(.+)\2\)$")


def adapt(app, what, name, documented, options, lines):
    """Set off what attributes are by a dash, and take the text of properties as it is.

    Napoleon takes what stands before the first colon of a property's text for its type.
    """
    if what == "property":
        lines[:] = [*inspect.getdoc(documented).splitlines(), ""]
    elif what in ("class", "exception"):
        lines[:] = [DESCRIBED.sub(r"\1 -- \3", line) for line in lines]
