"""Inclusion of other SDF files in a model or world.

The scope of a name is the prefix of full names in its model, such as "robot::arm::".
"""

from __future__ import annotations

from pathlib import Path

from .addresses import Addresses
from .left_out import LeftOut
from .markup import Element, parse, shortened
from .sdf_frames import MODEL

# Maximum total number of elements of all included files; with nested inclusion it can grow exponentially.
MOST_ELEMENTS = 100_000
# Maximum nesting depth of included files.
DEEPEST = 50
SUFFIXES = (".sdf", ".world", ".xml", ".urdf")


class Includes:
    """Replacement of elements <include> by the models of other files.

    Parameters
    ----------
    addresses : search locations
    left_out : list of omissions (contents that are not imported), to which models without a file are added
    """

    def __init__(self, addresses: Addresses, left_out: LeftOut) -> None:
        self._addresses, self._left_out = addresses, left_out
        self._room = MOST_ELEMENTS

    def expand(self, root: Element, path: Path) -> None:
        """Replace all elements <include> of a file, including those in the included files.

        `root` and `path` are the root element and the path of the file.
        """
        self._expand(root, (path.resolve(),))

    def _expand(self, root: Element, files: tuple[Path, ...]) -> None:
        for scope in [element for element in root.walk() if element.tag in ("world", "model")]:
            for include in scope.all("include"):
                self._replace(scope, include, files)

    def _replace(self, scope: Element, include: Element, files: tuple[Path, ...]) -> None:
        uri = include.required_child("uri").word()
        where = scope.owner
        place = scope.children.index(include)
        scope.children.remove(include)
        path = self._find(uri, include)
        if path is None:
            what = f"include of {shortened(uri)!r}, which is not found; packages= says in which folders to look"
            self._left_out.note(what, where)
            return
        if path in files:
            raise include.error(f"the file {shortened(path.name)!r} includes itself")
        if len(files) > DEEPEST:
            raise include.error(f"files are included more than {DEEPEST} levels deep")
        root = parse(path) if path.suffix.lower() in SUFFIXES else None
        models = root.all("model") if root is not None and root.tag == "sdf" else []
        if root is None or not models:
            self._left_out.note(f"include of {shortened(uri)!r}, which is no SDF model", where)
            return
        self._room -= sum(1 for _ in root.walk())
        if self._room < 0:
            raise include.error(f"included files add more than {MOST_ELEMENTS} elements")
        self._expand(root, (*files, path))
        model = models[0]
        _override(model, include)
        merged = include.get("merge") in ("true", "1")
        scope.children[place:place] = _merged(model, scope) if merged else [model]

    def _find(self, uri: str, include: Element) -> Path | None:
        """Return the file of a model named by `uri`; for a folder, the file of the newest version listed in it.

        `include` is the element that contains the URI.
        """
        found = self._addresses.find(uri, include.root.folder, Path.exists)
        if found is None or found.is_file():
            return None if found is None else found.resolve()
        config = found / "model.config"
        file = _newest(parse(config)) if config.is_file() else "model.sdf"
        return (found / file).resolve() if file and (found / file).is_file() else None


def _newest(config: Element) -> str | None:
    """Return the file of the newest SDF version listed in `config`, the root element of a file model.config."""
    listed = config.all("sdf")

    def version(element: Element) -> list[int]:
        parts = (element.attributes.get("version") or "0").split(".")
        return [int(part) if part.isdigit() else 0 for part in parts]

    return max(listed, key=version).text.strip() if listed else None


def _override(model: Element, include: Element) -> None:
    """Replace the name, pose and other settings of a model by those of its element <include>."""
    name, placement = include.child("name"), include.child("placement_frame")
    if name is not None:
        model.attributes["name"] = name.word()
    if placement is not None:
        model.attributes["placement_frame"] = placement.word()
    for tag in ("pose", "static"):
        given = include.child(tag)
        if given is not None:
            model.children = [child for child in model.children if child.tag != tag]
            model.add(given)


def _merged(model: Element, scope: Element) -> list[Element]:
    """Return the contents of an included model, as contents of the model or world `scope` that includes it.

    A named frame replaces the frame of the model.
    """
    name = f"_merged__{model.attribute('name')}__model__"
    frame = Element(model.file, "frame", {"name": name}, model.line, scope)
    links = model.all("link")
    attached = model.get("canonical_link") or (links[0].attribute("name") if links else None)
    if attached is not None:
        frame.attributes["attached_to"] = attached
    pose = model.child("pose") or Element(model.file, "pose", {}, model.line, frame)
    pose.attributes.setdefault("relative_to", MODEL if scope.tag == "model" else "world")
    frame.add(pose)
    placement = model.get("placement_frame")
    if placement and placement != MODEL:
        frame.attributes["placement_frame"] = placement
    parts = [child for child in model.children if child.tag not in ("pose", "static")]
    for part in parts:
        _carry(part, name)
    return [frame, *parts]


def _carry(part: Element, frame: str) -> None:
    """Replace references to the model's own frame by `frame` in an element `part` of a merged model."""
    for element in part.walk():
        if element.tag == "model" and element is not part:
            continue
        for attribute in ("relative_to", "attached_to", "expressed_in"):
            if element.attributes.get(attribute) == MODEL:
                element.attributes[attribute] = frame
        if element.tag in ("parent", "child") and element.text.strip() == MODEL:
            element.text = frame
    if part.tag == "frame":
        part.attributes.setdefault("attached_to", frame)
    if part.tag in ("link", "model"):
        pose = part.child("pose")
        if pose is None:
            pose = Element(part.file, "pose", {}, part.line, part)
            part.add(pose)
        pose.attributes.setdefault("relative_to", frame)
