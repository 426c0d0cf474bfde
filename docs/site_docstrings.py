"""What napoleon makes of docstrings in numpy's layout, adapted to how ours are written."""

import inspect
import re

# An attribute, with what stands behind its colon, and what stands on lines below.
ATTRIBUTE = re.compile(r"^(.*?\*\*.+?\*\*) \((\*?)(.+?)\2\)(?: -- (.*))?$")


def adapt(app, what, name, documented, options, lines):
    """Let descriptions of attributes and texts of properties be what they are.

    Napoleon takes what stands behind the colon of an attribute, and before the first colon of a property's text, for a
    type. With us the former is a description, which goes on below if that begins with a small letter.
    """
    if what == "property":
        lines[:] = [*inspect.getdoc(documented).splitlines(), ""]
    field = ""
    for k, line in enumerate(lines):
        field = line.split(":")[1] if line.startswith(":") else field
        found = ATTRIBUTE.match(line) if field == "Attributes" else None
        if found and not (found[4] and found[4][0].isupper()):
            lines[k] = f"{found[1]} -- {found[3]} {found[4] or ''}".rstrip()
