"""Frames of SDF files: names, attachment to links, and poses.

A full name such as "robot::arm::link" begins with the names of the models that contain the frame; this prefix,
"robot::arm::", is its scope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quirk.bodies import rotation

from .markup import Element, shortened
from .pose import Pose, from_rpy

WORLD = "world"
MODEL = "__model__"


def version_of(root: Element) -> tuple[int, int]:
    """Return the major and minor SDF version in the root element."""
    text = root.get("version") or "1.11"
    parts = text.strip().split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        raise root.error(f'version must be like "1.9"; got {shortened(text)!r}')
    return int(parts[0]), int(parts[1])


def full_name(scope: str, name: str) -> str | None:
    """Return the full name of an element called `name` within a scope; None for the world."""
    if name in (WORLD, MODEL):
        return None if name == WORLD else scope.removesuffix("::") or None
    return scope + name.removesuffix(f"::{MODEL}")


@dataclass
class NamedFrame:
    """A frame as declared in the file.

    Attributes
    ----------
    element : XML element that declares it
    link : the link to which it belongs, None for other frames
    to : full name of the frame relative to which the pose is given, or None for the world
    pose : pose relative to the frame `to`
    attached : full name of the frame to which it is rigidly attached; None for the world
    """

    element: Element
    link: str | None
    to: str | None
    pose: Pose
    attached: str | None


class Frames:
    """All frames of a file by full name, such as "robot::arm::link".

    Attributes
    ----------
    named : frames as declared in the file, by full name
    """

    def __init__(self) -> None:
        self.named: dict[str, NamedFrame] = {}
        self._found: dict[str, Pose] = {}
        # By model, the frame whose pose the model specifies instead of its own.
        self.placement: dict[str, str] = {}

    def add(self, name: str, frame: NamedFrame) -> None:
        """Add a frame; an InputError is raised if the name is already used."""
        if name in self.named:
            raise frame.element.error(f"another link, joint, frame or model has the name {shortened(name)!r}")
        self.named[name] = frame

    def full(self, element: Element, scope: str, name: str) -> str | None:
        """Return the full name of the frame that an element of a model calls `name`; None for the world.

        `scope` is the prefix of full names in this model.
        """
        found = full_name(scope, name)
        if found is None and name == WORLD:
            return None
        if found is None or found not in self.named:
            raise element.error(f"there is no link, joint, frame or model {shortened(name)!r} in its model")
        return found

    def pose(self, name: str | None) -> Pose:
        """Return the pose of a frame in the inertial frame."""
        if name is None:
            return Pose()
        chain: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in self._found:
            if at in chain:
                raise self.named[at].element.error("the poses of frames form a cycle")
            chain[at] = None
            at = self.named[at].to
        for link in reversed(chain):
            frame = self.named[link]
            outer = Pose() if frame.to is None else self._found[frame.to]
            self._found[link] = outer @ frame.pose
        return self._found[name]

    def link(self, name: str | None) -> str | None:
        """Return the full name of the link to which a frame is rigidly attached; None for the world."""
        seen: set[str] = set()
        while name is not None and self.named[name].link is None:
            if name in seen:
                raise self.named[name].element.error("the attachments of frames form a cycle")
            seen.add(name)
            name = self.named[name].attached
        return name

    def shift_models(self) -> None:
        """Correct the poses of models whose element <pose> specifies the pose of one of their frames, not of the model.

        This method must be called before any pose is computed.
        """
        for model, name in self.placement.items():
            frame = self.named[model]
            outside, frame.to = frame.to, None
            placed, frame.pose = frame.pose, Pose()
            inside = self.pose(name)
            frame.to, frame.pose = outside, placed @ inside.inverse
            self._found.clear()


def read_pose(element: Element | None) -> Pose:
    """Return the pose in an element <pose>, with roll, pitch and yaw or with a quaternion, scalar last."""
    if element is None or not element.text.strip():
        return Pose()
    degrees = element.get("degrees") in ("true", "1")
    if element.get("rotation_format") == "quat_xyzw":
        x, y, z, *q = element.numbers(7)
        quaternion = np.array([q[3], q[0], q[1], q[2]])
        largest = np.abs(quaternion).max()
        if largest <= 0:
            raise element.error("its quaternion is zero")
        quaternion /= largest
        return Pose(rotation.matrix(quaternion / np.linalg.norm(quaternion)), np.array([x, y, z]))
    numbers = element.numbers(6)
    return from_rpy(numbers[:3], numbers[3:] * (math.pi / 180 if degrees else 1.0))


def relative_to(element: Element) -> tuple[Pose, str | None]:
    """Return the pose of an element, and the name of the frame relative to which it is given, None for the default.

    The name is in the attribute `relative_to`, which was called `frame` before SDF 1.7.
    """
    pose = element.child("pose")
    return read_pose(pose), None if pose is None else (pose.get("relative_to") or pose.get("frame") or None)
