"""Known attributes of cables in MJCF files, and values of attributes to which defaults of the file do not apply."""

from __future__ import annotations

from .markup import Element

# Attributes that a cable and its child elements can have, by tag.
KNOWN = {
    "composite": ("type", "prefix", "count", "offset", "quat", "vertex", "initial", "curve", "size"),
    "geom": (
        "type", "contype", "conaffinity", "condim", "group", "priority", "size", "material", "rgba", "friction", "mass",
        "density", "solmix", "solref", "solimp", "margin", "gap",
    ),
    "joint": (
        "kind", "group", "stiffness", "damping", "armature", "type", "axis", "limited", "range", "margin",
        "solreflimit", "solimplimit", "frictionloss", "solreffriction", "solimpfriction",
        "solreffix", "solimpfix",
    ),
    "site": ("group", "size", "material", "rgba"),
    "plugin": ("plugin", "instance"),
    "config": ("key", "value"),
}  # fmt: skip
# Values that are written explicitly for attributes of cables, because MuJoCo does not apply the file's defaults to
# cables.
SOLVER = {"solref": "0.02 1", "solimp": "0.9 0.95 0.001 0.5 2"}
UNCHANGED = {
    "geom": {
        "contype": "1", "conaffinity": "1", "condim": "3", "group": "0", "priority": "0", "material": "", "solmix": "1",
        "friction": "1 0.005 0.0001", "margin": "0", "gap": "0", "rgba": "0.5 0.5 0.5 1", "fluidshape": "none",
        "shellinertia": "false", "density": "1000", **SOLVER,
    },
    "joint": {
        "type": "ball", "pos": "0 0 0", "group": "3", "stiffness": "0", "damping": "0", "armature": "0", "margin": "0",
        "frictionloss": "0", "limited": "auto", "range": "0 0", "ref": "0", "springref": "0", "springdamper": "0 0",
        "actuatorfrcrange": "0 0", "actuatorfrclimited": "auto", "actuatorgravcomp": "false",
        **{name + what: value for name, value in SOLVER.items() for what in ("limit", "friction")},
    },
    "site": {
        "type": "sphere", "size": "0.005", "group": "3", "material": "", "rgba": "0.5 0.5 0.5 1", "zaxis": "0 0 1",
    },
}  # fmt: skip


def check_attributes(element: Element) -> None:
    """Raise an InputError if an element of a cable, or one of its children, has an unknown attribute."""
    for part in (element, *element.children):
        unknown = [name for name in part.attributes if name not in KNOWN.get(part.tag, part.attributes)]
        if unknown:
            raise part.error(f'<{part.tag}> of a cable cannot have the attribute {unknown[0]}="..."; remove it')
