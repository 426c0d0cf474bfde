"""Import of SDF joints.

Full names such as "robot::arm::joint" begin with the names of the models; short names are the names in QuIRK.
The prefix, "robot::arm::", is the scope of the name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.frame import axes_with_z
from quirk.constraints import Constraint, Coupling, Gear, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from quirk.constraints.constraint import frame_in
from quirk.forces import ForceElement
from quirk.util import validate

from . import joints
from .bodies import Bodies
from .description import DescriptionNames, Weld, at
from .joints import JointCoordinate
from .left_out import LeftOut
from .markup import Element, shortened
from .sdf_frames import version_of

if TYPE_CHECKING:
    from .sdf import SdfContents

# Number of axes by joint type.
TYPES = {
    "fixed": 0, "ball": 0, "revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "revolute2": 2,
    "gearbox": 2,
}  # fmt: skip
SIMPLE: dict[str, type[Joint]] = {"revolute": Revolute, "continuous": Revolute, "prismatic": Prismatic, "screw": Screw}
# Joint limits, rad or m, beyond which the coordinate is unlimited, by a convention of older files.
NO_LIMIT = 1e15

# Largest distance of the origins of two equal frames, relative to 1 m plus the distance from the inertial origin, and
# largest difference (norm) of their axes.
APART = 1e-6

Made = Iterator[Constraint | ForceElement]


class SdfJoints:
    """The joints of an SDF file.

    Parameters
    ----------
    contents : parsed contents of the file
    short : name of each body and joint in QuIRK, by its full name in the file
    limits : whether joint limits are imported as `Stop` elements
    names : names already used in the imported system
    left_out : list of contents of the file that are not imported exactly, called omissions
    """

    def __init__(
        self, contents: SdfContents, short: dict[str, str], limits: bool, names: DescriptionNames, left_out: LeftOut
    ) -> None:
        self.contents, self.short, self.limits, self.names, self.left_out = contents, short, limits, names, left_out
        self._joint: dict[str, Joint] = {}

    def welds(self) -> Iterator[Weld]:
        """Yield the pairs of links that are fixed to each other."""
        for name, (element, _) in self.contents.joints.items():
            if element.attribute("type") == "fixed":
                parent, child = (self._short(link) for link in self._ends(name))
                if child is not None:
                    yield Weld(parent, child)
                elif parent is not None:
                    yield Weld(None, parent)

    def connected(self, bodies: Bodies) -> Made:
        """Yield the joints and the elements that act on them, and then the constraints between joint coordinates."""
        for name, (element, _) in self.contents.joints.items():
            kind = element.attribute("type")
            with at(element):
                if kind in SIMPLE:
                    yield from self._simple(name, element, kind, bodies)
                elif kind == "ball":
                    yield from self._ball(name, bodies)
                elif kind in ("universal", "revolute2"):
                    yield from self._universal(name, element, bodies)
                elif kind == "gearbox":
                    yield self._gearbox(name, element, bodies)
        for name, (element, scope) in self.contents.joints.items():
            axis = element.child("axis")
            mimic = None if axis is None else axis.child("mimic")
            if mimic is not None:
                yield self._mimic(name, mimic, scope)

    def _short(self, link: str | None) -> str | None:
        return None if link is None else self.short[link]

    def _ends(self, name: str) -> tuple[str | None, str | None]:
        """Return the full names of the links that a joint connects; None for the world."""
        element, scope = self.contents.joints[name]
        frames = self.contents.frames
        ends = []
        for tag in ("parent", "child"):
            end = element.required_child(tag)
            ends.append(frames.link(frames.full(end, scope, end.word())))
        if ends[0] == ends[1]:
            raise element.error("its parent and its child are, or are attached to, the same link")
        return ends[0], ends[1]

    def joined(self) -> Iterator[tuple[str | None, str | None]]:
        """Yield the short names (parent, child) of the links that each joint connects; None for the world."""
        for name in self.contents.joints:
            parent, child = self._ends(name)
            yield self._short(parent), self._short(child)

    def note_apart(self) -> None:
        """Record joints whose declared parent frame differs from the joint frame as omissions."""
        frames = self.contents.frames
        for name, (element, scope) in self.contents.joints.items():
            parent = frames.full(element, scope, element.required_child("parent").word())
            if parent is None or frames.named[parent].link is not None or frames.named[parent].element.tag == "model":
                continue
            one, two = frames.pose(parent), frames.pose(name)
            far = float(np.linalg.norm(one.origin - two.origin))
            turned = float(np.linalg.norm(one.axes - two.axes))
            if max(far / (1.0 + float(np.linalg.norm(two.origin))), turned) > APART:
                self.left_out.note(
                    "parent frames that differ from the frame of the joint",
                    f"{element.owner} ({far:.4g} m apart)",
                )

    def _bodies(self, name: str, bodies: Bodies) -> list[Any]:
        return [bodies.place(self._short(link))[0] for link in self._ends(name)]

    def _axis(self, name: str, element: Element, tag: str) -> np.ndarray:
        """Return the unit axis (3,) of a joint, inertial frame, from the child element with the given tag."""
        scope = self.contents.joints[name][1]
        frames = self.contents.frames
        axis = element.child(tag)
        if axis is None:
            self.left_out.note(f"no <{tag}>, for which SDF sets z", element.owner)
            return frames.pose(name).axes[:, 2]
        xyz = axis.child("xyz")
        vector = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.numbers(3)
        reference = None if xyz is None else xyz.get("expressed_in")
        of_model = axis.child("use_parent_model_frame")
        old = version_of(element.root) < (1, 5)
        if of_model is not None:
            old = of_model.text.strip().lower() in ("true", "1")
        frame: str | None = name
        if reference:
            assert xyz is not None
            frame = frames.full(xyz, scope, reference)
        elif old:
            frame = scope.removesuffix("::") or None
        with at(xyz or axis):
            return frames.pose(frame).axes @ validate.direction("axis", "xyz", vector)

    def _coordinate(self, element: Element, tag: str) -> JointCoordinate:
        """Return limits, damping and friction of a joint coordinate, from the child element with the given tag."""
        axis, coordinate = element.child(tag), JointCoordinate()
        if axis is None:
            return coordinate
        limit, dynamics = axis.child("limit"), axis.child("dynamics")
        if limit is not None:
            lower, upper = (limit.child_number(key, x, True) for key, x in (("lower", -math.inf), ("upper", math.inf)))
            if lower > upper:
                raise limit.error(f"lower must not be above upper; got {lower:g} and {upper:g}")
            if lower == upper:
                self.left_out.note("limits without range, lower = upper", limit.owner)
            elif self.limits and element.attribute("type") != "continuous":
                coordinate.lower = lower if lower > -NO_LIMIT else None
                coordinate.upper = upper if upper < NO_LIMIT else None
            for key in ("effort", "velocity"):
                largest = limit.child_number(key, math.inf, True)
                if 0 <= largest < NO_LIMIT:
                    self.left_out.note(f"limits of {key}", limit.owner)
        if dynamics is not None:
            coordinate.damping, coordinate.friction = (dynamics.child_number(k, 0.0) for k in ("damping", "friction"))
            coordinate.stiffness = dynamics.child_number("spring_stiffness", 0.0)
            coordinate.rest = dynamics.child_number("spring_reference", 0.0)
        return coordinate

    def _simple(self, name: str, element: Element, kind: str, bodies: Bodies) -> Made:
        short, point = self.short[name], self.contents.frames.pose(name).origin
        further: dict[str, Any] = {"lead": self._lead(element)} if kind == "screw" else {}
        axis = self._axis(name, element, "axis")
        coordinate = self._coordinate(element, "axis")
        called = self.names.take(short, "joint")
        parent, child = self._bodies(name, bodies)
        joint = SIMPLE[kind](called, parent, child, point=point, axis=axis, **further)
        self._joint[name] = joint
        yield joint
        which = "translation" if kind == "prismatic" else "rotation"
        yield from joints.elements(joint, coordinate, which, self.names, element, called)

    @staticmethod
    def _lead(element: Element) -> float:
        """Return the lead of a screw joint, m per revolution."""
        own, old = element.child("screw_thread_pitch"), element.child("thread_pitch")
        if own is not None:
            return float(own.numbers(1)[0])
        pitch = 1.0 if old is None else float(old.numbers(1)[0])
        if abs(pitch) <= 0:
            raise element.error("its thread_pitch must not be zero")
        # Interpretation by older programs: angle divided by travel, for a left-handed thread.
        return -2 * math.pi / pitch

    def _ball(self, name: str, bodies: Bodies) -> Made:
        point = self.contents.frames.pose(name).origin
        yield Spherical(self.names.take(self.short[name], "joint"), *self._bodies(name, bodies), point=point)

    def _universal(self, name: str, element: Element, bodies: Bodies) -> Made:
        """Yield a universal joint, and the elements that act about its two axes.

        These elements act on joints without constraint rows. The joint for the first axis measures the rotation of the
        parent relative to the child about the reversed axis, so that the angle is the last of its 1-2-3 angles, the one
        in results.
        """
        called, point = self.names.take(self.short[name], "joint"), self.contents.frames.pose(name).origin
        parent, child = self._bodies(name, bodies)
        axes = [self._axis(name, element, tag) for tag in ("axis", "axis2")]
        yield Universal(called, parent, child, point=point, axis_i=axes[0], axis_j=axes[1])
        shown_from = ("axis", child, parent, (-axes[0], axes[1])), ("axis2", parent, child, (axes[1], axes[0]))
        for tag, one, two, (axis, across) in shown_from:
            coordinate = self._coordinate(element, tag)
            if coordinate == JointCoordinate():
                continue
            own = self.names.part(called, tag)
            frames = [frame_in(body, point, axes_with_z(axis, across)) for body in (one, two)]
            shown = Revolute(own, one, two, frame_i=frames[0], frame_j=frames[1], active=False)
            yield shown
            yield from joints.elements(shown, coordinate, "rotation", self.names, element, own)

    def _gearbox(self, name: str, element: Element, bodies: Bodies) -> Gear:
        scope, frames = self.contents.joints[name][1], self.contents.frames
        reference = element.child("gearbox_reference_body")
        carrier: Body | Ground = GROUND
        if reference is not None:
            carrier = bodies.place(self._short(frames.link(frames.full(reference, scope, reference.word()))))[0]
        ratio = -element.child_number("gearbox_ratio", 1.0)
        one, two = (self._axis(name, element, tag) for tag in ("axis", "axis2"))
        called = self.names.take(self.short[name], "joint")
        return Gear(called, *self._bodies(name, bodies), ratio=ratio, axis_i=one, axis_j=two, carrier=carrier)

    def _mimic(self, name: str, mimic: Element, scope: str) -> Coupling:
        """Return the coupling of joint `name` to the joint whose coordinate it mimics.

        `mimic` is the element that names that joint, and `scope` the scope of its name.
        """
        leader = scope + mimic.attribute("joint")
        if leader not in self._joint or name not in self._joint:
            raise mimic.error(
                f"there is no revolute, continuous, prismatic or screw joint {shortened(mimic.attribute('joint'))!r}, "
                "or this joint is of another type itself"
            )
        if mimic.get("axis") not in (None, "axis"):
            raise mimic.error('only axis="axis" of another joint can be mimicked')
        multiplier, offset = mimic.child_number("multiplier", 1.0), mimic.child_number("offset", 0.0)
        line = offset - multiplier * mimic.child_number("reference", 0.0), multiplier
        pair = self._joint[leader], self._joint[name]
        coordinates = [_turning(joint) for joint in pair]
        with at(mimic):
            return Coupling(
                self.names.part(self.short[name], "mimic"), *pair, coefficients=line, coordinate_i=coordinates[0],
                coordinate_j=coordinates[1],
            )  # fmt: skip


def _turning(joint: Joint) -> str:
    """Return the coordinate of a joint to which SDF files refer: "rotation" if it has one, otherwise "translation"."""
    return "translation" if joint.rotation_axis is None else "rotation"
