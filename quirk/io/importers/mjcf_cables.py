"""Cables in MJCF files: chains of bodies with ball joints, with the elasticity of MuJoCo's former cable plugin.

MuJoCo before version 4 expands <composite type="cable"> to a chain of n - 1 bodies between n vertices, with the x axis
of each body along its edge. Here the chain is written into the file before MuJoCo reads it. The plugin applies a torque
K (w0 - w) / L between neighbors, where w is the rotation vector from one body to the next, w0 its value in the file, L
the length of the first body, and K = diag(G J, E I_y, E I_z) with the moduli G (`twist`) and E (`bend`).

A bushing of the same stiffness replaces it. Its torque is conservative. The torque of the plugin is not, if neighbors
rotate about several axes; the two differ by terms of second order in the rotation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import quoteattr

import numpy as np

from quirk.bodies import rotation
from quirk.forces import Bushing

from .bodies import Bodies
from .description import DescriptionNames
from .markup import Element

PLUGIN = "mujoco.elasticity.cable"
INITIAL = ("ball", "free", "none")
CURVES = ("0", "s", "cos(s)", "sin(s)")
# Most vertices of a cable: MuJoCo reads elements that are nested up to 500 deep.
MOST_VERTICES = 400
# Edges count as parallel if the sine of the angle between them is below this.
PARALLEL = 1e-14


@dataclass(frozen=True)
class Cable:
    """Torsional and bending elasticity of a cable between neighboring bodies.

    Attributes
    ----------
    links : names of the n - 1 bodies, n being the number of vertices
    stiffness : (n - 2, 3) rotational stiffness about x, y and z between neighbors, N m/rad
    rest : (n - 2, 3) unloaded rotation vector from each body to the next, rad
    """

    links: list[str]
    stiffness: np.ndarray
    rest: np.ndarray

    def couplings(self, bodies: Bodies, names: DescriptionNames) -> Iterator[Bushing]:
        """Yield a bushing for each pair of neighboring bodies."""
        for (one, two), stiffness, rest in zip(pairwise(self.links), self.stiffness, self.rest, strict=True):
            (body_i, i), (body_j, j) = bodies.place(one), bodies.place(two)
            yield Bushing(
                names.part(two, "elasticity"), body_i, body_j, frame_i=i.frame, frame_j=j.frame,
                stiffness=[0, 0, 0, *stiffness], preload=[0, 0, 0, *(stiffness * rest)],
            )  # fmt: skip


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
        self._vertices = self._positions()
        edges = np.diff(self._vertices, axis=0)
        self._lengths = np.linalg.norm(edges, axis=1)
        if not (self._lengths > 0).all():
            raise composite.error("neighboring vertices of a cable must differ")
        self._turns = _orientations(edges / self._lengths[:, None])
        numbers = [str(k) for k in range(len(edges))]
        numbers[-1], numbers[0] = "last", "first"
        self._numbers = numbers
        self._geom = composite.needed("geom")
        self._initial = composite.get("initial") or "ball"
        if self._initial not in INITIAL:
            raise composite.error(f'initial must be one of {", ".join(INITIAL)}; got "{self._initial}"')
        self._section = self._section_moments()
        self.cable = self._elasticity(instances)

    def _positions(self) -> np.ndarray:
        """Return the vertices (n, 3), m, in the frame of the cable."""
        of, counts = self._of, [int(word) for word in (self._of.get("count") or "1").split() if word.isdigit()]
        if of.get("vertex") is not None:
            written = len(of.attributes["vertex"].split())
            vertices = of.vector("vertex", max(written - written % 3, 3)).reshape(-1, 3)
            if counts[:1] not in ([], [1]):
                raise of.error("a cable has either a count or a list of vertices; remove one of them")
        else:
            count = counts[0] if counts else 1
            words, size = (of.get("curve") or "").split(), np.zeros(3)
            if not 1 <= len(words) <= 3 or any(word not in CURVES for word in words):
                raise of.error(f'curve must be up to three of {", ".join(CURVES)}; got "{of.get("curve") or ""}"')
            given = (of.get("size") or "1").split()
            size[: len(given)] = of.vector("size", min(len(given), 3), [1.0])
            s = np.linspace(0.0, 1.0, count) if count > 1 else np.zeros(1)
            phase = np.pi * s * size[2]
            kinds = {
                "0": 0.0 * s,
                "s": size[0] * s,
                "cos(s)": size[1] * np.cos(phase),
                "sin(s)": size[1] * np.sin(phase),
            }
            vertices = np.column_stack([kinds[word] for word in [*words, "0", "0"][:3]])
        if not 2 <= len(vertices) <= MOST_VERTICES:
            raise of.error(f"a cable must have 2 to {MOST_VERTICES} vertices; got {len(vertices)}")
        return vertices

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
        plugin = self._of.one("plugin")
        if plugin is None:
            return None
        name = plugin.get("instance")
        if plugin.get("plugin") not in (None, PLUGIN) or (name is not None and name not in instances):
            raise plugin.error(f'a cable can only have the plugin "{PLUGIN}", or an instance of it')
        configs = (plugin if name is None else instances[name]).all("config")
        values = {config.attribute("key"): config for config in configs}
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
        if k == 0:
            turn = self._of.vector("quat", 4, [1.0, 0.0, 0.0, 0.0])
            turn = turn / np.linalg.norm(turn)
            place = self._of.vector("offset", 3, [0.0] * 3) + rotation.matrix(turn) @ self._vertices[0]
            turn = rotation.multiply(turn, self._turns[0])
        else:
            place, turn = np.array([self._lengths[k - 1], 0.0, 0.0]), self._relative(k)
        body = self._element("body", {"name": self._name("B_", k), "pos": _words(place), "quat": _words(turn)})
        if k > 0 or self._initial != "none":
            body.children.append(self._joint(k))
        body.children.append(self._geom_of(k))
        for end, name, x in ((0, "S_first", 0.0), (last, "S_last", self._lengths[-1])):
            if k == end:
                site = self._of.one("site")
                given = {} if site is None else dict(site.attributes)
                at = {"name": self._prefix + name, "pos": _words([x, 0.0, 0.0])}
                body.children.append(self._element("site", given | at))
        return body

    def _joint(self, k: int) -> Element:
        joint, name = self._of.one("joint"), self._name("J_", k)
        if joint is not None and joint.get("kind") != "main":
            raise joint.error('a joint of a cable must have kind="main"')
        if k == 0 and self._initial == "free":
            return self._element("freejoint", {"name": name})
        given = {} if joint is None else {key: value for key, value in joint.attributes.items() if key != "kind"}
        return self._element("joint", given | {"type": "ball", "name": name})

    def _geom_of(self, k: int) -> Element:
        length, given = float(self._lengths[k]), dict(self._geom.attributes)
        given["name"] = f"{self._prefix}G{k}"
        if given["type"] == "box":
            given |= {
                "pos": _words([0.5 * length, 0.0, 0.0]),
                "size": _words([0.5 * length, *self._geom.vector("size", 3)[1:]]),
            }
        else:
            given["fromto"] = _words([0.0, 0.0, 0.0, length, 0.0, 0.0])
        return self._element("geom", given)

    def _element(self, tag: str, attributes: dict[str, str]) -> Element:
        return Element(self._of.file, tag, attributes, self._of.line, None)


def _orientations(tangents: np.ndarray) -> list[np.ndarray]:
    """Return unit quaternions (4,) of bodies whose x axes are along the unit tangents (k, 3).

    The y axis of the first body is in the plane of the first two edges, and is transported along the curve without
    twist. If the two edges are parallel, the orientation of each body depends on its tangent only.
    """
    binormal = np.cross(tangents[0], tangents[1]) if len(tangents) > 1 else np.zeros(3)
    if np.linalg.norm(binormal) <= PARALLEL:
        return [_along(tangent) for tangent in tangents]
    normal = np.cross(binormal / np.linalg.norm(binormal), tangents[0])
    found = []
    for before, tangent in zip([tangents[0], *tangents], tangents, strict=False):
        axis = np.cross(before, tangent)
        sine = float(np.linalg.norm(axis))
        if sine > PARALLEL:
            angle = np.arctan2(sine, before @ tangent)
            normal = rotation.matrix(rotation.exp(angle / sine * axis)) @ normal
        found.append(rotation.from_matrix(np.column_stack([tangent, normal, np.cross(tangent, normal)])))
    return found


def _along(tangent: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,) of a frame whose x axis is along a unit vector."""
    x, y, z = tangent
    q = np.array([1.0 + x, 0.0, -z, y]) if x > 0 else np.array([y, z, 0.0, 1.0 - x])
    return q / np.linalg.norm(q)


def _words(numbers: object) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(numbers))
