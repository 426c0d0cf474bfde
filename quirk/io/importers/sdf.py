"""Import of SDF files.

The full name of a link or joint begins with the names of the models that contain it, as in "robot::arm::link"; this
prefix, "robot::arm::", is its scope. A collision is a geometry for contacts, and a visual is a geometry for display.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from quirk.util import validate
from quirk.util.misuse import explained

from . import touching
from .addresses import checked_packages
from .bodies import Bodies
from .description import DescriptionNames, Link, Weld
from .geometry import MeshFiles
from .imported import Imported, checked_limits, checked_path, checked_shapes, finished
from .left_out import LeftOut
from .markup import Element, parse, shortened
from .sdf_frames import MODEL, Frames, NamedFrame, full_name, relative_to, version_of
from .sdf_includes import Includes
from .sdf_inertia import read_inertial
from .sdf_joints import TYPES, SdfJoints
from .sdf_shapes import visual_shapes
from .sdf_touching import colliders
from .touching import checked_contacts

REASONS = {
    "collision": "contacts=True imports them as contacts",
    "plugin": "plugins are not executed",
    "physics": "settings of other programs",
}
# Gravity, m/s^2, of a world without <gravity>.
STANDARD_GRAVITY = (0.0, 0.0, -9.8)


@dataclass
class SdfContents:
    """Contents of an SDF file by full name.

    Attributes
    ----------
    frames : named frames
    links : XML elements of the links
    joints : XML element of each joint, and the scope of the names used in the element
    static : full names of fixed models
    """

    frames: Frames = field(default_factory=Frames)
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, tuple[Element, str]] = field(default_factory=dict)
    static: list[str] = field(default_factory=list)


@explained
def load_sdf(
    path: str | Path,
    *,
    gravity: ArrayLike | None = None,
    limits: bool = True,
    packages: Mapping[str, str | Path] | Sequence[str | Path] | None = None,
    inertia_tolerance: float | None = None,
    repair_inertia: bool = False,
    shapes: str | None = "visual",
    contacts: bool | str = False,
) -> Imported:
    """Read an SDF file: a model, or a world of models.

    Parameters
    ----------
    path : str or Path
    gravity : (3,), optional
        Gravity, inertial frame, m/s^2; default: the gravity of the world, and zero for a model without a world.
    limits : bool
        Whether limits of joints are imported as `Stop`.
    packages : dict or list, optional
        Locations of model://name/... and package://name/...: folders by name, or a list of folders that contain them.
    inertia_tolerance : float, optional
        Relative tolerance, as for `Body`.
    repair_inertia : bool
        Whether a physically impossible inertia is replaced by the nearest possible one and listed as an omission; see
        `quirk.io.importers.inertia.repaired`.
    shapes : "visual", "collision" or None
        Geometry of the file from which the shapes of bodies, for display, are created.
    contacts : bool or "ground"
        Whether collisions of different models, or within a model with self_collide, are imported as `Contact` and
        `Friction`; "ground" adds a plane z = 0.

    Raises
    ------
    InputError
        If the file is not valid SDF or physically impossible; the message names the element and its line.
    """
    owner = "load_sdf"
    file = checked_path(owner, path)
    with_limits, folders = checked_limits(owner, limits), checked_packages(owner, packages)
    root = parse(file)
    if root.tag != "sdf":
        raise root.error("an SDF file starts with <sdf>")
    repair, shown = validate.flag(owner, "repair_inertia", repair_inertia), checked_shapes(owner, shapes)
    with_contacts = checked_contacts(owner, contacts)
    left_out, names = LeftOut(), DescriptionNames()
    Includes(folders, left_out).expand(root, file)
    version_of(root)
    world = _world(root)
    field_of_world = (0, 0, 0) if world is None else _gravity(world)
    top = root if world is None else world
    contents = SdfContents()
    _collect(contents, top)
    contents.frames.shift_models()
    short = _short_names(contents, len(top.all("model")))
    meshes = MeshFiles(folders, left_out)
    links = [_link(contents, name, short[name], meshes, shown) for name in contents.links]
    _add_frames(contents, dict(zip(contents.links, links, strict=True)))
    if not links:
        includes = [line for line in left_out.lines if line.startswith("include")]
        reason = f", only includes, none of which could be read: {'; '.join(includes)}" if includes else ""
        raise root.error(f"has no link{reason}")
    joints = SdfJoints(contents, short, with_limits, names, left_out)
    welds = [*joints.welds(), *_static(contents, short)]
    bodies = Bodies(links, welds, names, left_out, inertia_tolerance, repair)
    parts = list(joints.connected(bodies))
    joints.note_apart()
    if with_contacts:
        for full, link in zip(contents.links, links, strict=True):
            link.colliders = colliders(contents.links[full], full, link)
        pairs = touching.between_links(links, joints.joined(), bodies, with_contacts == "ground")
        parts += touching.contacts(pairs, bodies, names, left_out)
    left_out.note_unread(root, REASONS)
    return finished(file.name, bodies, parts, field_of_world if gravity is None else gravity, names, left_out)


def _world(root: Element) -> Element | None:
    """Return the world of a file, or None if there is none; an error is raised for several worlds."""
    worlds = root.all("world")
    if len(worlds) > 1:
        raise worlds[1].error(f"the file has {len(worlds)} worlds; keep one")
    if not worlds:
        return None
    worlds[0].get("name")
    return worlds[0]


def _gravity(world: Element) -> Any:
    """Return the gravity (3,) of a world, m/s^2."""
    gravity = world.child("gravity")
    return STANDARD_GRAVITY if gravity is None else gravity.numbers(3)


def flag(element: Element | None, default: bool) -> bool:
    """Return the Boolean value in the text of an element, or `default` if there is no element."""
    if element is None:
        return default
    text = element.text.strip().lower()
    if text not in ("true", "1", "false", "0"):
        raise element.error(f"must be true or false; got {shortened(text)!r}")
    return text in ("true", "1")


def _collect(contents: SdfContents, outer: Element) -> None:
    """Add the contents of the model or world `outer`, with all models in it, to `contents`."""
    waiting = [(outer, "")]
    while waiting:
        element, prefix = waiting.pop(0)
        around = prefix.removesuffix("::") or None
        if element.tag in ("model", "world"):
            _collect_parts(contents, element, prefix)
        for model in element.all("model"):
            name = prefix + model.attribute("name")
            pose, to = relative_to(model)
            canonical = _canonical(model, name)
            frame = NamedFrame(model, None, around if to is None else full_name(prefix, to), pose, canonical)
            contents.frames.add(name, frame)
            placement = model.get("placement_frame")
            if placement and placement != MODEL:
                contents.frames.placement[name] = f"{name}::{placement}"
            if flag(model.child("static"), False):
                contents.static.append(name)
            waiting.append((model, f"{name}::"))
    for frame in contents.frames.named.values():
        for other in (frame.to, frame.attached):
            if other is not None and other not in contents.frames.named:
                raise frame.element.error(f"there is no link, joint, frame or model {shortened(other)!r}")
    for placed, name in contents.frames.placement.items():
        if name not in contents.frames.named:
            raise contents.frames.named[placed].element.error(f"there is no frame {shortened(name)!r}")


def _canonical(model: Element, name: str) -> str | None:
    """Return the full name of the link to which the frame of a model is attached.

    This is the link named by the attribute canonical_link; default: the first link. `name` is the full name of the
    model.
    """
    canonical = model.get("canonical_link")
    if canonical:
        return f"{name}::{canonical}"
    path: list[str] = [name]
    at: Element | None = model
    while at is not None:
        links = at.all("link")
        if links:
            return "::".join([*path, links[0].attribute("name")])
        at = next(iter(at.all("model")), None)
        if at is not None:
            path.append(at.attribute("name"))
    return None


def _collect_parts(contents: SdfContents, model: Element, scope: str) -> None:
    """Add the links, frames and joints of one model to `contents`; `scope` is the scope of names in the model."""
    own, frames = scope.removesuffix("::") or None, contents.frames
    for link in model.all("link"):
        name = scope + link.attribute("name")
        pose, to = relative_to(link)
        frames.add(name, NamedFrame(link, name, own if to is None else full_name(scope, to), pose, None))
        contents.links[name] = link
    for frame in model.all("frame"):
        # Flattened files declare the frames of the models that they contained.
        called = frame.attribute("name")
        name = scope + called.removesuffix(f"::{MODEL}")
        if version_of(frame.root) < (1, 7) and any(called == other.get("name") for other in _siblings(frame, model)):
            name += "_frame"  # suffix defined by the format for versions that allowed equal names
        pose, to = relative_to(frame)
        attached_to = frame.get("attached_to")
        attached = full_name(scope, attached_to) if attached_to else own
        placement = frame.get("placement_frame")  # of a model that was merged into this one
        if placement:
            frames.placement[name] = scope + placement
        frames.add(name, NamedFrame(frame, None, attached if to is None else full_name(scope, to), pose, attached))
    for joint in model.all("joint"):
        name, kind = scope + joint.attribute("name"), joint.attribute("type")
        if kind not in TYPES:
            raise joint.error(f"type must be one of {', '.join(TYPES)}; got {shortened(kind)!r}")
        child = full_name(scope, joint.required_child("child").word())
        if child is None:
            raise joint.error("its child must not be the world")
        pose, to = relative_to(joint)
        frames.add(name, NamedFrame(joint, None, child if to is None else full_name(scope, to), pose, child))
        contents.joints[name] = joint, scope


def _siblings(frame: Element, model: Element) -> Iterator[Element]:
    """Yield the links, joints and models of a model or world, except `frame`."""
    return (child for child in model.children if child.tag in ("link", "joint", "model") and child is not frame)


def _short_names(contents: SdfContents, models: int) -> dict[str, str]:
    """Return the name in QuIRK of each link and joint, by its full name in the file.

    `models` is the number of models. With a single model, the names omit the name of the model.
    """
    full = [*contents.links, *contents.joints]
    return {name: name.partition("::")[2] if models == 1 and "::" in name else name for name in full}


def _link(contents: SdfContents, name: str, short_name: str, meshes: MeshFiles, shape_source: str | None) -> Link:
    element = contents.links[name]
    link = Link(short_name, str(element), contents.frames.pose(name))
    read_inertial(link, element, meshes)
    if shape_source != "visual":
        element.ignore("visual")
    for visual in element.all(shape_source) if shape_source else ():
        visual.get("name")
        link.shapes += visual_shapes(visual, meshes)
    if not flag(element.child("gravity"), True):
        meshes.left_out.note("links without gravity", element.owner)
    return link


def _add_frames(contents: SdfContents, links: dict[str, Link]) -> None:
    """Add the named frames of the file to the links to which they are attached."""
    frames = contents.frames
    for name, frame in frames.named.items():
        link = frames.link(name) if frame.element.tag == "frame" else None
        if link is not None:
            links[link].frames[frame.element.attribute("name")] = links[link].pose.inverse @ frames.pose(name)


def _static(contents: SdfContents, short_names: dict[str, str]) -> Iterator[Weld]:
    for name in contents.links:
        if any(name.startswith(f"{model}::") for model in contents.static):
            yield Weld(None, short_names[name])
