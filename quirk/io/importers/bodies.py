"""Conversion of links to bodies; links that are welded to each other become one body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.frame import Frame
from quirk.bodies.inertia import INERTIA_TOLERANCE, inertia_fault
from quirk.constraints import Fixed
from quirk.errors import InputError

from .description import DescriptionNames, Link, Weld, at
from .inertia import moments_text, repaired
from .left_out import LeftOut
from .pose import Pose


class Bodies:
    """Bodies created from the links of a file.

    Links connected by welds form one body, with the name and axes of the first link with mass, and a named frame for
    each link. Links welded to the ground are part of the ground if they have no mass; otherwise they form a body that
    is `Fixed` to the ground, so that its load on the ground is available.

    Parameters
    ----------
    links, welds : the links of the file, and the pairs of links that are fixed to each other
    names : names already used in the system
    left_out : list of contents of the file that are not imported exactly, called omissions
    inertia_tolerance : relative tolerance, as for `Body`
    repair : whether a physically impossible inertia is replaced by the nearest possible one; for bodies fixed to the
        ground this is always done, because their inertia has no effect

    Attributes
    ----------
    parts : list of Body and Fixed
    of_link : body, or GROUND, by link name
    on_ground : links that are part of the ground
    """

    def __init__(
        self,
        links: Sequence[Link],
        welds: Iterable[Weld],
        names: DescriptionNames,
        left_out: LeftOut,
        inertia_tolerance: float | None = None,
        repair: bool = False,
    ) -> None:
        self.parts: list[Body | Fixed] = []
        self.of_link: dict[str, Body | Ground] = {}
        self.on_ground: list[Link] = []
        self._poses: dict[str, Pose] = {}
        self._names, self._left_out, self._repair = names, left_out, repair
        self._tolerance = {} if inertia_tolerance is None else {"inertia_tolerance": inertia_tolerance}
        self._faults: list[str] = []
        self._repairable = False
        for members, grounded in welded(links, welds):
            self._add(members, grounded)
        self._raise_faults()

    def place(self, link: str | None) -> tuple[Body | Ground, Pose]:
        """Return the body that contains a link, and the pose of the link in this body; the ground for None."""
        if link is None:
            return GROUND, Pose()
        return self.of_link[link], self._poses[link]

    def is_on_ground(self, body: Body | Ground) -> bool:
        """Whether a body is the ground, or fixed to the ground."""
        return body is GROUND or any(isinstance(part, Fixed) and part.body_j is body for part in self.parts)

    def _add(self, members: list[Link], grounded: bool) -> None:
        mass = sum(link.mass for link in members)
        if mass <= 0 and grounded:
            self.on_ground += members
            for link in members:
                self.of_link[link.name], self._poses[link.name] = GROUND, link.pose
            return
        first = members[0]
        if mass <= 0:
            self._faults.append(
                f"{first.where}: a moving link must have mass: add an inertial with mass and inertia, or fix "
                "it to a link that has one"
            )
            return
        body = self._body(members, mass, grounded)
        if body is None:
            return
        self.parts.append(body)
        if grounded:
            name = self._names.part(body.name, "on the ground")
            self.parts.append(Fixed(name, GROUND, body))

    def _raise_faults(self) -> None:
        """Raise an InputError that lists all links with invalid inertia or mass."""
        if not self._faults:
            return
        cure = "; repair_inertia=True uses the nearest possible inertia" if self._repairable else ""
        if len(self._faults) == 1:
            raise InputError(self._faults[0] + cure)
        listed = "".join(f"\n- {fault}" for fault in self._faults)
        raise InputError(f"{len(self._faults)} links cannot be converted to bodies{cure}:{listed}")

    def _possible(self, inertia: np.ndarray, mass: float, link: Link, grounded: bool) -> np.ndarray | None:
        """Return the inertia (3, 3), kg m^2, of a link, or the nearest physically possible one if repair is allowed.

        If repair is not allowed, an error is recorded and None is returned. `grounded` is true if the body is fixed to
        the ground.
        """
        fault = inertia_fault(inertia, self._tolerance.get("inertia_tolerance", INERTIA_TOLERANCE))
        if fault is None:
            return inertia
        if not (grounded or self._repair):
            self._faults.append(f'{link.where}: Body "{link.name}": {fault}')
            self._repairable = True
            return None
        made = repaired(inertia, mass)
        where = " of a body fixed to the ground, where it has no effect" if grounded else ""
        self._left_out.note(
            f"impossible inertia{where}, replaced by the nearest possible one",
            f'link "{link.name}" {moments_text(inertia)} -> {moments_text(made)} kg m^2',
        )
        return made

    def _body(self, members: list[Link], mass: float, grounded: bool) -> Body | None:
        """Return the body that consists of the links `members`, or None if its inertia is invalid.

        The body has the name and axes of the first member with mass. `mass`, kg, is the total mass; `grounded` is true
        if the body is fixed to the ground.
        """
        first = next(link for link in members if link.mass > 0)
        center = sum((link.mass / mass) * link.pose.point(link.center) for link in members)
        in_space = Pose(first.pose.axes, np.asarray(center, dtype=float))
        inertia, momentum = np.zeros((3, 3)), np.zeros(3)
        for link in members:
            pose = in_space.inverse @ link.pose
            self._poses[link.name] = pose
            d = pose.point(link.center)
            shifted = link.mass * (d @ d * np.eye(3) - np.outer(d, d))
            inertia += pose.axes @ link.inertia @ pose.axes.T + shifted
            momentum += link.mass * link.velocity
        possible = self._possible(0.5 * (inertia + inertia.T), mass, first, grounded)
        if possible is None:
            return None
        frames: dict[str, Frame] = {link.name: self._poses[link.name].frame for link in members}
        for link in members:
            for name, inner in link.frames.items():
                if name in frames:
                    self._names.changed.append(f'frame "{name}" of link "{link.name}" is left out')
                else:
                    frames[name] = (self._poses[link.name] @ inner).frame
        with at(first.where):
            body = Body(
                self._names.take(first.name, "link"),
                mass,
                possible,
                position=in_space.origin,
                orientation=in_space.quaternion,
                velocity=momentum / mass,
                angular_velocity=first.pose.axes.T @ first.angular_velocity,
                shape=[shape(self._poses[link.name]) for link in members for shape in link.shapes],
                frames=frames,
                **self._tolerance,
            )
        self.of_link.update({link.name: body for link in members})
        return body


def welded(links: Sequence[Link], welds: Iterable[Weld]) -> list[tuple[list[Link], bool]]:
    """Return groups of links that are welded together, each with a flag that is True if it is welded to the ground."""
    leader: dict[str | None, str | None] = {None: None, **{link.name: link.name for link in links}}

    def lead(name: str | None) -> str | None:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for weld in welds:
        one, two = lead(weld.parent), lead(weld.child)
        if one is not two:
            # The ground is the representative of everything welded to it.
            one, two = (two, one) if two is None else (one, two)
            leader[two] = one
    groups: dict[str | None, list[Link]] = {}
    for link in links:
        groups.setdefault(lead(link.name), []).append(link)
    return [(members, name is None) for name, members in groups.items()]
