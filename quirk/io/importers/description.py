"""What files of all formats say of a mechanism: links, and what connects them, before they become bodies and joints."""

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
    """A geometry that may touch others.

    Attributes
    ----------
    name : str
    link : name of its link, None for the ground
    kind : "plane", "sphere", "box", "cylinder" or "capsule"; others touch nothing
    pose : in its link; of a plane z is the normal, of a cylinder and a capsule the axis
    sizes : m; radius of a sphere; three sides of a box; radius and length of others
    friction : coefficient of Coulomb friction, or None if the file says none
    group : name of what it is part of whose parts do not touch each other, or None
    where : what messages call it
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
    """A rigid part as the file has it.

    Attributes
    ----------
    name : str
    where : what messages call it
    pose : Pose, in N at the start
    mass : kg, zero if it has none
    center : (3,) center of mass, m, in the link
    inertia : (3, 3) about the center of mass along the axes of the link, kg m^2
    colliders : geometries that may touch those of others
    shapes : functions from the pose of the link in its body to a shape in body coordinates
    frames : poses in the link of further frames, by name
    velocity, angular_velocity : (3,) of its center of mass, m/s, and rad/s, both in N
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
    """Two links that are fixed to each other; `parent` None is the ground."""

    parent: str | None
    child: str


class DescriptionNames:
    """Names for all parts of one system, none of them twice."""

    def __init__(self) -> None:
        self._taken = {GROUND.name}
        self.changed: list[str] = []

    def take(self, name: str, kind: str) -> str:
        """Return a name that is free: the one asked for if it is, else with the kind of part behind it."""
        for candidate in self._candidates(name, kind):
            if candidate not in self._taken:
                self._taken.add(candidate)
                if candidate != name:
                    self.changed.append(f'{kind} "{name}" is called "{candidate}"')
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
        """Return a free name for what belongs to a part, such as "hinge friction"."""
        whole = f"{name} {kind}"
        number = 2
        while whole in self._taken:
            whole = f"{name} {kind} {number}"
            number += 1
        self._taken.add(whole)
        return whole


@contextmanager
def at(where: Any) -> Iterator[None]:
    """Say in errors where in the file the trouble is."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(str(where)):
            raise
        raise InputError(f"{where}: {error}") from None
