"""Description of a mechanism as links and welds, the same for all file formats, before conversion to a system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk.bodies.body import GROUND
from quirk.bodies.solids import Shape
from quirk.errors import InputError

from .pose import Pose


@dataclass(eq=False)
class Collider:
    """Collision geometry of a link, as described in the file.

    Attributes
    ----------
    name : str
    link : name of its link; None for the ground
    kind : "plane", "sphere", "box", "cylinder" or "capsule"; other kinds have no contacts
    pose : pose in its link; z is the normal of a plane, and the axis of a cylinder or capsule
    sizes : radius of a sphere; three edge lengths of a box; radius and length of a cylinder or capsule, m
    friction : coefficient of Coulomb friction, or None if it is not specified
    group : name of a group of geometries that have no contacts with each other, or None
    where : location in the file, for messages
    """

    name: str
    link: str | None
    kind: str
    pose: Pose
    sizes: tuple[float, ...] = ()
    friction: float | None = None
    group: str | None = None
    where: Any = ""


@dataclass(eq=False)
class Link:
    """A rigid link as described in the file.

    Attributes
    ----------
    name : str
    where : location in the file, for messages
    pose : initial Pose, inertial frame
    mass : kg; zero if not specified
    center : (3,) center of mass in the link frame, m
    inertia : (3, 3) kg m^2, about the center of mass in link axes
    colliders : geometries for contacts
    shapes : functions that return a shape in body coordinates for the pose of the link in its body
    frames : poses of additional frames in the link, by name
    velocity, angular_velocity : (3,) velocity of the center of mass, m/s, and angular velocity, rad/s, inertial frame
    """

    name: str
    where: str
    pose: Pose
    mass: float = 0.0
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    colliders: list[Collider] = field(default_factory=list)
    shapes: list[Callable[[Pose], Shape]] = field(default_factory=list)
    frames: dict[str, Pose] = field(default_factory=dict)
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular_velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass
class Weld:
    """Rigid connection of the links `parent` and `child`; a `parent` of None is the ground."""

    parent: str | None
    child: str


class DescriptionNames:
    """The set of unique names in the imported system."""

    def __init__(self) -> None:
        self._taken = {GROUND.name}
        self.changed: list[str] = []

    def take(self, name: str, kind: str) -> str:
        """Return `name` if it is unused, otherwise a unique name extended by `kind`, the kind of the named object."""
        for candidate in self._candidates(name, kind):
            if candidate not in self._taken:
                self._taken.add(candidate)
                if candidate != name:
                    self.changed.append(f'{kind} "{name}" is renamed to "{candidate}"')
                return candidate
        raise AssertionError

    @staticmethod
    def _candidates(name: str, kind: str) -> Iterator[str]:
        yield name
        number = 1
        while True:
            yield f"{name} {kind}" if number == 1 else f"{name} {kind} {number}"
            number += 1

    def part(self, name: str, kind: str) -> str:
        """Return a unique name for an element that acts on a joint or body, such as "hinge friction".

        `name` is the name of the joint or body, `kind` the kind of the element.
        """
        whole = f"{name} {kind}"
        number = 2
        while whole in self._taken:
            whole = f"{name} {kind} {number}"
            number += 1
        self._taken.add(whole)
        return whole


@contextmanager
def at(location: Any) -> Iterator[None]:
    """Context manager that adds the location in the file to the message of an InputError."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(str(location)):
            raise
        raise InputError(f"{location}: {error}") from None
