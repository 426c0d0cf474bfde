"""Cables in MJCF files, converted to chains of bodies with ball joints.

MuJoCo before version 4 expands <composite type="cable"> to a chain of n - 1 bodies between n vertices, with the x axis
of each body along the edge between its vertices. Here such chains replace the cables before MuJoCo reads the file.
"""

from __future__ import annotations

import re
from itertools import pairwise
from xml.sax.saxutils import quoteattr

import numpy as np

from quirk.bodies import rotation

from .markup import Element, shortened
from .mjcf_cable_elasticity import Cable
from .mjcf_cable_form import CURVES, curve, orientations
from .mjcf_cable_markup import UNCHANGED, check_attributes

PLUGIN = "mujoco.elasticity.cable"
INITIAL = ("ball", "free", "none")
# Maximum number of vertices of a cable: MuJoCo limits the nesting depth of elements to 500.
MOST_VERTICES = 400
# Largest deviation of the length of a quaternion from 1.
NOT_UNIT = 1e-3
KEYS = ("twist", "bend", "flat", "vmax")


def expand_cables(root: Element) -> tuple[bool, list[Cable]]:
    """Replace the cables of an MJCF file by chains of bodies.

    Returns
    -------
    expanded : whether the file has cables
    cables : elasticity of each elastic cable
    """
    composites = [element for element in root.walk() if element.tag == "composite" and element.get("type") == "cable"]
    if not composites:
        return False, []
    instances = _plugin_instances(root)
    found = [_Chain(composite, instances) for composite in composites]
    for composite, chain in zip(composites, found, strict=True):
        chain.replace(composite)
    _make_absolute(root)
    return True, [chain.cable for chain in found if chain.cable is not None]


def text_of(element: Element) -> str:
    """Return an element as an XML string."""
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    return f"<{element.tag}{attributes}>{''.join(map(text_of, element.children))}</{element.tag}>"


def _plugin_instances(root: Element) -> dict[str, Element]:
    """Remove the cable plugin from the extensions of a file and return its instances by name."""
    found = {}
    for extension in root.all("extension"):
        for plugin in [plugin for plugin in extension.all("plugin") if plugin.get("plugin") == PLUGIN]:
            found.update({instance.attribute("name"): instance for instance in plugin.all("instance")})
            extension.children.remove(plugin)
    return found


def _make_absolute(root: Element) -> None:
    """Make all paths in a file absolute, because MuJoCo reads the file from a string, without a folder."""
    compiler = Element(root.file, "compiler", {"assetdir": ""}, root.line, root)
    root.children.insert(0, compiler)
    for element in root.walk():
        names = {"compiler": ("assetdir", "meshdir", "texturedir"), "include": ("file",), "model": ("file",)}
        for name in names.get(element.tag, ()):
            if name in element.attributes:
                element.attributes[name] = str((root.folder / element.attributes[name]).resolve())


class _Chain:
    """Chain of bodies that replaces a cable.

    Parameters
    ----------
    composite : <composite> element of the cable
    instances : instances of the cable plugin by name
    """

    def __init__(self, composite: Element, instances: dict[str, Element]) -> None:
        self._of, self._prefix = composite, composite.get("prefix") or ""
        for child in composite.children:
            if child.tag not in ("joint", "geom", "site", "plugin", "skin"):
                raise child.error(f"a cable cannot have a <{child.tag}>; remove it")
        check_attributes(composite)
        self._vertices, turn = self._positions()
        self._start = composite.vector("offset", 3, [0.0] * 3) + turn @ self._vertices[0]
        edges = np.diff(self._vertices, axis=0) @ turn.T
        self._lengths = np.linalg.norm(edges, axis=1)
        if not (self._lengths > 0).all():
            raise composite.error("neighboring vertices of a cable must differ")
        self._turns = orientations(edges / self._lengths[:, None])
        numbers = [str(k) for k in range(len(edges))]
        numbers[-1], numbers[0] = "last", "first"
        self._numbers = numbers
        self._geom = composite.required_child("geom")
        self._initial = composite.get("initial") or "ball"
        if self._initial not in INITIAL:
            raise composite.error(f'initial must be one of {", ".join(INITIAL)}; got "{self._initial}"')
        self._section = self._section_moments()
        self.cable = self._elasticity(instances)

    def _positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices (n, 3) of the cable, m, and the rotation matrix (3, 3) to be applied to them.

        The matrix is that of the cable's quaternion for vertices on a curve, and the identity for vertices listed in
        the file.
        """
        of, count = self._of, self._count()
        if of.get("vertex") is not None:
            if count > 1:
                raise of.error("a cable has either a count or a list of vertices; remove one of them")
            words = len(of.attributes["vertex"].split())
            vertices, turn = of.vector("vertex", max(words - words % 3, 3)).reshape(-1, 3), np.eye(3)
        else:
            vertices, turn = self._curve(count), self._turn()
        if not 2 <= len(vertices) <= MOST_VERTICES:
            raise of.error(f"a cable must have 2 to {MOST_VERTICES} vertices; got {len(vertices)}")
        return vertices, turn

    def _count(self) -> int:
        """Return the number of vertices of a curve; 1 if the file specifies none."""
        text = self._of.get("count")
        words = ["1"] if text is None else text.split()
        numbers = [int(word) if re.fullmatch(r"\+?[0-9]{1,9}", word) else 0 for word in words]
        if not 1 <= len(words) <= 3 or min(numbers) < 1 or any(number != 1 for number in numbers[1:]):
            raise self._of.error(
                f'the attribute count="..." must be N or N 1 1, N being the number of vertices; got {shortened(text)!r}'
            )
        return numbers[0]

    def _curve(self, count: int) -> np.ndarray:
        """Return the vertices (count, 3) of a curve, m."""
        of, size = self._of, np.zeros(3)
        words = (of.get("curve") or "").split()
        if not 1 <= len(words) <= 3 or any(word not in CURVES for word in words):
            raise of.error(f'curve must be up to three of {", ".join(CURVES)}; got "{of.get("curve") or ""}"')
        given = (of.get("size") or "1").split()
        size[: len(given)] = of.vector("size", min(len(given), 3), [1.0])
        return curve(words, size, count)

    def _turn(self) -> np.ndarray:
        """Return the rotation matrix (3, 3) of the quaternion of the cable."""
        turn = self._of.vector("quat", 4, [1.0, 0.0, 0.0, 0.0])
        length = float(np.linalg.norm(turn))
        if abs(length - 1.0) > NOT_UNIT:
            raise self._of.error(
                f'the attribute quat="..." of a cable must have length 1, or the cable is stretched; got {length:g}'
            )
        return rotation.matrix(turn)

    def _section_moments(self) -> np.ndarray:
        """Return the torsion constant and the second moments of area about y and z of the cross section (3,), m^4."""
        kind, size = self._geom.get("type"), (self._geom.get("size") or "").split()
        if kind in ("capsule", "cylinder") and size:
            r = float(self._geom.vector("size", len(size))[0])
            return np.pi * r**4 * np.array([0.5, 0.25, 0.25])
        if kind == "box" and len(size) == 3:
            h, w = self._geom.vector("size", 3)[1:]
            b, a = sorted((h, w))
            # Torsion constant of a rectangle, Roark's formulas.
            torsion = a * b**3 * (16.0 / 3.0 - 3.36 * b / a * (1.0 - (b / a) ** 4 / 12.0))
            return np.array([torsion, 4.0 / 3.0 * h * w**3, 4.0 / 3.0 * w * h**3])
        raise self._geom.error(
            "a cable needs the type capsule, cylinder or box, and a size with its radius or 3 half widths"
        )

    def _elasticity(self, instances: dict[str, Element]) -> Cable | None:
        """Return the elasticity of the cable, or None without the cable plugin."""
        plugin = self._of.child("plugin")
        if plugin is None:
            return None
        name = plugin.get("instance")
        if plugin.get("plugin") not in (None, PLUGIN) or (name is not None and name not in instances):
            raise plugin.error(f'a cable can only have the plugin "{PLUGIN}", or an instance of it')
        configs = (plugin if name is None else instances[name]).all("config")
        values: dict[str, Element] = {}
        for config in configs:
            key = config.attribute("key")
            check_attributes(config)
            if key not in KEYS or key in values:
                raise config.error(f'the attribute key="..." must be one of {", ".join(KEYS)}, each once; got {key!r}')
            values[key] = config
        G, E = (values[key].number("value") if key in values else 0.0 for key in ("twist", "bend"))
        if min(G, E) < 0:
            raise plugin.error("twist and bend must not be negative, Pa")
        flat = "flat" in values and values["flat"].get("value") == "true"
        rest = [np.zeros(3) if flat else rotation.log(self._relative(k)) for k in range(1, len(self._lengths))]
        stiffness = np.array([G, E, E]) * self._section / self._lengths[:-1, None]
        return Cable([self._name("B_", k) for k in range(len(self._lengths))], stiffness, np.reshape(rest, (-1, 3)))

    def _relative(self, k: int) -> np.ndarray:
        """Return the unit quaternion (4,) of body k relative to body k - 1."""
        return rotation.multiply(rotation.conjugate(self._turns[k - 1]), self._turns[k])

    def _name(self, kind: str, k: int) -> str:
        return f"{self._prefix}{kind}{self._numbers[k]}"

    def replace(self, composite: Element) -> None:
        """Replace the element `composite` by the bodies, and exclude contacts between neighbors."""
        parent, root = composite.parent, composite.root
        assert parent is not None
        bodies = [self._body(k) for k in range(len(self._lengths))]
        for outer, inner in pairwise(bodies):
            outer.children.append(inner)
        parent.children[parent.children.index(composite)] = bodies[0]
        pairs = pairwise(body.attributes["name"] for body in bodies)
        contact = Element(composite.file, "contact", {}, composite.line, root)
        contact.children = [self._element("exclude", {"body1": one, "body2": two}) for one, two in pairs]
        root.children.append(contact)

    def _body(self, k: int) -> Element:
        """Return the <body> element of body k."""
        last = len(self._lengths) - 1
        place, turn = self._start, self._turns[0]
        if k > 0:
            place, turn = np.array([self._lengths[k - 1], 0.0, 0.0]), self._relative(k)
        body = self._element("body", {"name": self._name("B_", k), "pos": _words(place), "quat": _words(turn)})
        if k > 0 or self._initial != "none":
            body.children.append(self._joint(k))
        body.children.append(self._geom_of(k))
        for end, name, x in ((0, "S_first", 0.0), (last, "S_last", self._lengths[-1])):
            if k == end:
                site = self._of.child("site")
                given = {} if site is None else dict(site.attributes)
                at = {"name": self._prefix + name, "pos": _words([x, 0.0, 0.0])}
                body.children.append(self._element("site", UNCHANGED["site"] | given | at))
        return body

    def _joint(self, k: int) -> Element:
        joint, name = self._of.child("joint"), self._name("J_", k)
        if joint is not None and joint.get("kind") != "main":
            raise joint.error('a joint of a cable must have kind="main"')
        if k == 0 and self._initial == "free":
            return self._element("freejoint", {"name": name})
        dropped = ("kind", "solreffix", "solimpfix")
        given = {} if joint is None else {key: value for key, value in joint.attributes.items() if key not in dropped}
        return self._element("joint", UNCHANGED["joint"] | given | {"type": "ball", "name": name})

    def _geom_of(self, k: int) -> Element:
        length, given, box = float(self._lengths[k]), dict(self._geom.attributes), self._geom.get("type") == "box"
        size = self._geom.vector("size", len(given["size"].split()))
        given["name"], given["pos"] = f"{self._prefix}G{k}", _words([0.5 * length, 0.0, 0.0])
        given["size"] = _words([0.5 * length, *size[1:]] if box else [size[0], 0.5 * length])
        given["zaxis"] = "0 0 1" if box else "1 0 0"
        if "mass" not in given:
            given["mass"] = repr(self._geom.number("density", 1000.0) * self._volume(length, size))
        return self._element("geom", UNCHANGED["geom"] | given)

    def _volume(self, length: float, size: np.ndarray) -> float:
        """Return the volume, m^3, of a body of the cable of a given length, m; `size` is that of the cable's geom."""
        if self._geom.get("type") == "box":
            return float(4.0 * length * size[1] * size[2])
        ends = 4.0 / 3.0 * size[0] if self._geom.get("type") == "capsule" else 0.0
        return float(np.pi * size[0] ** 2 * (length + ends))

    def _element(self, tag: str, attributes: dict[str, str]) -> Element:
        return Element(self._of.file, tag, attributes, self._of.line, None)


def _words(numbers: object) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(numbers))
