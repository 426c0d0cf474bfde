"""The joints of one MJCF body, which act in series, and the single joint that is equivalent to them.

In MJCF, joint coordinates are relative to a reference position of the body, the attribute `home` of `Stack`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.bodies.frame import axes_with_z
from quirk.constraints import Cylindrical, Free, Generic, Joint, Planar, Prismatic, Revolute, Spherical, Universal

from .mjcf_model import BALL, FREE, HINGE, SLIDE, MjcfModel, pose
from .pose import Pose, turned

# Joint classes by numbers of free translations and rotations.
NAMED: dict[tuple[int, int], type[Joint]] = {
    (0, 1): Revolute, (1, 0): Prismatic, (0, 2): Universal, (0, 3): Spherical, (3, 3): Free,
}  # fmt: skip
# Largest sine of the angular error of parallel or perpendicular axes.
ALIGNED = 1e-9


class Stack:
    """The MJCF joints of one body in series, from its parent outward.

    Attributes
    ----------
    link, parent : names of the links of the body and of its parent; None for the ground
    slides, hinges, balls, frees : joint numbers of each type
    home : pose of the body in its parent in the reference position
    """

    def __init__(self, model: MjcfModel, number: int, link: str, parent: str | None) -> None:
        self.model, self.number, self.link, self.parent = model, number, link, parent
        m = model.m
        self.numbers = [m.body_jntadr[number] + k for k in range(m.body_jntnum[number])]
        self.slides, self.hinges, self.balls, self.frees = (
            [k for k in self.numbers if m.jnt_type[k] == kind] for kind in (SLIDE, HINGE, BALL, FREE)
        )
        self.where = model.where("BODY", number)
        # Pose of the body in its parent with all coordinates at their references.
        self.home = pose(m.body_pos[number], m.body_quat[number])

    @property
    def two_hinges_alone(self) -> bool:
        """Whether the body has exactly two hinges and no other joint; their axes are then arbitrary."""
        return len(self.numbers) == len(self.hinges) == 2

    @property
    def apart(self) -> np.ndarray:
        """Vector (3,), m, from the first to the second hinge, body axes in the reference position."""
        first, second = (np.array(self.model.m.jnt_pos[k], dtype=float) for k in self.hinges)
        return second - first

    def axis(self, k: int) -> np.ndarray:
        """Return the unit axis (3,) of joint `k`, body coordinates."""
        return np.array(self.model.m.jnt_axis[k], dtype=float)

    def reference(self, k: int) -> float:
        """Return the coordinate of hinge or slide `k`, rad or m, at which the body is in its reference position."""
        return float(self.model.m.qpos0[self.model.m.jnt_qposadr[k]])

    def fault(self) -> str | None:
        """Return the reason, for messages, why there is no equivalent single joint; None if there is one."""
        late = self._late_slides()
        if late and not self.hinge_first:
            along = [k for k in late if len(self.hinges) == 1 and not self.balls and self._parallel(k, self.hinges[0])]
            if len(along) < len(late):
                return "a slide after a hinge or ball, along another axis, with an earlier slide or another hinge"
        turns = self.hinges
        if len(self.balls) > 1 or (self.balls and turns) or len(turns) > 3:
            return "more than three rotational freedoms"
        if self.two_hinges_alone:
            same = self._parallel(*turns) and np.linalg.norm(np.cross(self.apart, self.axis(turns[0]))) <= ALIGNED
            return "two hinges with the same axis line" if same else None
        anchors = np.array([self.model.m.jnt_pos[k] for k in turns])
        if len(turns) > 1 and np.abs(anchors - anchors[0]).max() > 0:
            return "hinges at different points"
        for axes in (self.slides, turns):
            lines = np.array([self.axis(k) for k in axes])
            if len(axes) > 1 and np.abs(lines @ lines.T - np.eye(len(axes))).max() > ALIGNED:
                return "axes that are not perpendicular to each other"
        if len(self.slides) > 1 and not self._fits(self.frame_axes()):
            return "several slides that are neither parallel nor perpendicular to the axes of hinges"
        return None

    @property
    def skew_slide(self) -> bool:
        """Whether the body has a single slide that is neither parallel nor perpendicular to the hinge axes."""
        return len(self.slides) == 1 and not self._fits(self.frame_axes())

    def _late_slides(self) -> list[int]:
        first_turn = min((self.numbers.index(k) for k in [*self.hinges, *self.balls]), default=None)
        return [k for k in self.slides if first_turn is not None and self.numbers.index(k) > first_turn]

    @property
    def hinge_first(self) -> bool:
        """Whether a single hinge precedes all slides, none of which is parallel to it, so that they rotate with it.

        For an observer on the body, the order of the joints is reversed: the slides precede the hinge.
        """
        late = self._late_slides()
        across = bool(late) and len(self.hinges) == 1 and not any(self._parallel(k, self.hinges[0]) for k in late)
        return across and len(late) == len(self.slides) and not self.balls

    def _parallel(self, j: int, k: int) -> bool:
        return float(np.linalg.norm(np.cross(self.axis(j), self.axis(k)))) <= ALIGNED

    def _fits(self, axes: np.ndarray) -> bool:
        """Whether a joint with the axes `axes` (3, 3) can represent the slides.

        This is the case if the slides are parallel to these axes, or if all translations are free.
        """
        if len(self.slides) == 3:
            return True
        parts = np.abs(np.array([self.axis(k) for k in self.slides]).reshape(-1, 3) @ axes)
        return bool(np.abs(parts.max(axis=1) - 1).max(initial=0.0) <= ALIGNED)

    def frame_axes(self) -> np.ndarray:
        """Return the axes (3, 3) of the equivalent joint as columns, body coordinates in the reference position.

        z is along a single hinge; x and y are along the first two of several hinges.
        """
        if len(self.hinges) >= 2:
            x, y = self.axis(self.hinges[0]), self.axis(self.hinges[1])
            return np.column_stack([x, y, np.cross(x, y)])
        lines = [self.axis(k) for k in [*self.hinges, *self.slides]]
        if not lines:
            return np.eye(3)
        across = next((line for line in lines[1:] if abs(line @ lines[0]) <= ALIGNED), None)
        return axes_with_z(lines[0], across)

    def kind(self, axes: np.ndarray) -> tuple[type[Joint], dict[str, Any]]:
        """Return the class of the equivalent joint, and its arguments other than the frames.

        `axes` (3, 3) are the axes returned by `frame_axes`.
        """
        slides, turns = len(self.slides), len(self.hinges) + 3 * len(self.balls)
        along = bool(slides == 1 and turns == 1 and self._parallel(self.slides[0], self.hinges[0]))
        across = bool(slides == 2 and turns == 1 and not any(self._parallel(k, self.hinges[0]) for k in self.slides))
        if (slides, turns) in NAMED:
            return NAMED[slides, turns], {}
        if (along or across) and not self.skew_slide:
            return (Cylindrical if along else Planar), {}
        free = [False] * 6
        for k in self.slides:
            free[int(np.argmax(np.abs(self.axis(k) @ axes)))] = True
        for axis in {0: (), 1: (2,), 2: (0, 1), 3: (0, 1, 2)}[turns]:
            free[3 + axis] = True
        if slides == 3:
            free[:3] = [True] * 3
        if self.skew_slide:
            free[:3] = [True] * 3  # on a separate rail
        return Generic, {"constrained": [not flag for flag in free]}

    def frames(self, axes: np.ndarray, anchor: np.ndarray | None = None) -> tuple[Pose, Pose]:
        """Return poses of the frames of the equivalent joint in the parent and in the body.

        The coordinates of the joint equal the coordinates in MuJoCo. `axes` (3, 3) are the axes returned by
        `frame_axes`. `anchor` (3,), m, is the origin in body coordinates in the reference position; default: the point
        of the first hinge or ball.
        """
        turns = [*self.hinges, *self.balls]
        if self.hinge_first:
            place = Pose(axes, np.array(self.model.m.jnt_pos[turns[0]], dtype=float))
            return self.home @ place, place
        if anchor is None:
            anchor = np.array(self.model.m.jnt_pos[turns[0]]) if turns else np.zeros(3)
        back = sum((self.reference(k) * self.axis(k) for k in self.slides), np.zeros(3))
        i, j = axes, axes
        if len(self.hinges) == 1:
            j = axes @ turned(2, self.reference(self.hinges[0]))
        if len(self.hinges) == 2 and not self.slides:  # slides are along axes of frame i
            i = axes @ turned(0, -self.reference(self.hinges[0]))
        if len(self.hinges) == 2:
            j = axes @ turned(1, self.reference(self.hinges[1]))
        return self.home @ Pose(i, anchor - back), Pose(j, anchor)
