"""Time histories of one joint or other constraint."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies import rotation
from ..bodies.body import Body, Ground
from ..constraints import Constraint, relative
from ..constraints.relative import FrameMotion
from ..dynamics.sparse.solver.derivatives import require_order
from ..errors import InputError
from ..util import validate
from ..util.misuse import explained

if TYPE_CHECKING:
    from ..analysis.mobility import Uniqueness
    from .result import Result

# Axes for joint loads: of the inertial frame, of the bodies, or of the joint frames.
LOAD_FRAMES = ("inertial", "i", "j", "joint i", "joint j")
# Free coordinates of joints, and the attribute with their axis in joint frame i.
FREE = {"angle": "rotation_axis", "travel": "translation_axis"}


@explained
class JointView:
    """Relative motion and load of one joint, or other constraint, over nt times.

    Relative quantities describe frame j relative to frame i, in the axes of joint frame i. The load is exerted by body
    i on body j at the origin of frame j.

    `angle` and `travel`, with their rates, are the free coordinates of a joint. `effort` is the load of a driver along
    its coordinate. An InputError is raised for constraints without these quantities.
    """

    def __init__(self, result: Result, constraint: Constraint) -> None:
        self._result, self.constraint = result, constraint

    def __repr__(self) -> str:
        return f"<JointView: {self.of} at {len(self._result.time)} times>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_joint

        return of_joint(self, self._result)

    @property
    def of(self) -> Constraint:
        """Constraint of this view."""
        return self.constraint

    @property
    def angle(self) -> np.ndarray:
        """Angle (nt,) about the free axis of a joint, rad, with all turns counted."""
        return self.rotation[:, self._free_axis("angle")]

    @property
    def angle_rate(self) -> np.ndarray:
        """Rate (nt,) of `angle`, rad/s."""
        return self.rotation_rate[:, self._free_axis("angle")]

    @property
    def travel(self) -> np.ndarray:
        """Displacement (nt,), m, along the free axis of a joint."""
        return self.displacement[:, self._free_axis("travel")]

    @property
    def travel_rate(self) -> np.ndarray:
        """Rate (nt,) of `travel`, m/s."""
        return self.velocity[:, self._free_axis("travel")]

    @property
    def distance(self) -> np.ndarray:
        """Distance (nt,) between the origins of both joint frames, m."""
        return np.linalg.norm(self.displacement, axis=1)

    @property
    def effort(self) -> np.ndarray:
        """Force (N) or torque (N m), (nt,), of a driver along its coordinate; zero while disabled.

        A positive effort acts to increase the coordinate. Effort times the rate of the coordinate is the power supplied
        by the driver.
        """
        if self.of.effort_unit is None:
            raise InputError(
                f"{self.of}: only drivers of one coordinate, such as quirk.Drive, and actuators have effort; use "
                "force() and torque()"
            )
        multipliers = self._result.multipliers.get(self.of.name)
        if multipliers is None:
            return np.zeros(len(self._result.time))
        return multipliers[:, 0] * (2.0 * self.distance if self.of.of_squares else 1.0)

    def _free_axis(self, kind: str) -> int:
        """Return the index of the free axis of kind "angle" or "travel".

        Raises
        ------
        InputError
            If the joint has no such axis, or several.
        """
        axis = getattr(self.of, FREE[kind], None)
        if axis is None:
            free = [name for name, attribute in FREE.items() if getattr(self.of, attribute, None) is not None]
            does, all_of = ("turn about", "rotation") if kind == "angle" else ("slide along", "displacement")
            raise InputError(
                f"{self.of}: it has no {kind}, because it has no single axis to {does}; "
                f"it has {', '.join([*free, all_of])} (nt, 3)"
            )
        return int(axis)

    @property
    def displacement(self) -> np.ndarray:
        """Vector (nt, 3), m, from the origin of frame i to the origin of frame j, in the axes of frame i."""
        return relative.displacement(*self._frames)

    @property
    def velocity(self) -> np.ndarray:
        """Velocity (nt, 3) of the origin of frame j relative to frame i, in the axes of frame i, m/s.

        This is the rate of the components of `displacement`.
        """
        return relative.velocity(*self._frames)

    @property
    def relative_velocity(self) -> np.ndarray:
        """Inertial velocity of origin j minus that of origin i (nt, 3), in the axes of frame i, m/s.

        The difference from `velocity` is omega_i x displacement, with omega_i the angular velocity of body i.
        """
        return relative.relative_velocity(*self._frames)

    @property
    def rotation(self) -> np.ndarray:
        """1-2-3 angles (nt, 3) of frame j relative to frame i, rad.

        For a `Universal` these are the angles about its two axes and zero. All turns of the run are counted, for any
        spacing of outputs, in the first and third angle, and in both angles of a universal joint. Initial angles are in
        (-pi, pi], unless the initial state or a driver specifies the number of turns.
        """
        return self._result._angles[:, self._result._model.joints.number[self.constraint.name]]

    @property
    def rotation_rate(self) -> np.ndarray:
        """Rates (nt, 3) of the angles in `rotation`, rad/s; the rates of 1-2-3 angles are not finite at gimbal lock."""
        rates = relative.cross_rates if relative.crossed(self.constraint) else relative.angle_rates
        return rates(self.rotation, self.angular_velocity)

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity (nt, 3) of frame j relative to frame i, in the axes of frame i, rad/s."""
        return relative.angular_velocity(*self._frames)

    @property
    def point(self) -> np.ndarray:
        """Position (nt, 3) of the joint point of body j in the inertial frame, m."""
        return self._frames[1].origin

    @property
    def frames(self) -> tuple[FrameMotion, FrameMotion]:
        """Motion of both joint frames in the inertial frame.

        Each motion has the attributes `origin` (m), `velocity` (m/s) and `spin` (rad/s), (nt, 3) each, and `axes`
        (nt, 3, 3).
        """
        return self._frames

    @property
    def unique(self) -> Uniqueness:
        """Whether the motion determines `force` and `torque` uniquely; see `Mobility.loads`.

        It is that of the middle of the run, or of the middle of the outputs at which the constraint is active. Where
        friction sticks, these loads may be indeterminate although the constraints alone would determine them. Limits of
        friction, and that contacts only push, are disregarded.
        """
        rows = np.flatnonzero(self._result.active(self.constraint.name))
        if not len(rows):
            raise InputError(f"{self.constraint}: it is disabled and carries no load")
        middle = len(self._result.time) // 2
        row = middle if middle in rows else int(rows[len(rows) // 2])
        return self._result.mobility_at(row).loads[self.constraint.name]

    def force(self, frame: str = "inertial") -> np.ndarray:
        """Return the force (nt, 3), N, that body i exerts on body j.

        `frame` selects the axes: "inertial", "i" or "j" for body axes, "joint i" or "joint j" for the axes of a joint
        frame. `unique` states whether the force is determined by the motion.
        """
        return self._load(0, frame)

    def torque(self, frame: str = "inertial") -> np.ndarray:
        """Return the torque (nt, 3), N m, that body i exerts on body j about the joint point.

        `frame` is as for `force`.
        """
        return self._load(1, frame)

    def force_rate(self, frame: str = "inertial") -> np.ndarray:
        """Return the time derivative (nt, 3), N/s, of the components of `force` in the same axes."""
        return self._load_rate(0, frame)

    def torque_rate(self, frame: str = "inertial") -> np.ndarray:
        """Return the time derivative (nt, 3), N m/s, of the components of `torque` in the same axes."""
        return self._load_rate(1, frame)

    @cached_property
    def _frames(self) -> tuple[FrameMotion, FrameMotion]:
        c = self.constraint
        return self._frame_motion(c.frame_i, c.body_i), self._frame_motion(c.frame_j, c.body_j)

    def _frame_motion(self, frame: Any, body: Body | Ground) -> FrameMotion:
        position, orientation, velocity, omega = self._motion(body)
        R = rotation.matrix(orientation)
        return FrameMotion.of(frame, position, R, velocity, np.einsum("tij,tj->ti", R, omega))

    def _motion(self, body: Body | Ground) -> tuple[np.ndarray, ...]:
        if isinstance(body, Body):
            view = self._result[body.name]
            return view.position, view.orientation, view.velocity, view.angular_velocity
        nt = len(self._result.time)
        return tuple(
            np.tile(x, (nt, 1)) for x in (body.position, body.orientation, body.velocity, body.angular_velocity)
        )

    def _load(self, kind: int, frame: str) -> np.ndarray:
        axes = self._axes(frame)
        if self.constraint.name not in self._result._joint_loads:
            return np.zeros((len(self._result.time), 3))
        load = self._result._joint_loads[self.constraint.name][:, kind]
        return load if axes is None else np.einsum("tji,tj->ti", axes[0], load)

    def _load_rate(self, kind: int, frame: str) -> np.ndarray:
        axes = self._axes(frame)
        if self.constraint.name not in self._result._joint_loads:
            return np.zeros((len(self._result.time), 3))
        require_order(self._result._model, 2)
        load = self._result._load_derivatives[self.constraint.name][:, kind]
        if axes is None:
            return load[:, 1]
        # The components R^T F also change with the axes.
        return np.einsum("tji,tj->ti", axes[0], load[:, 1] - np.cross(axes[1], load[:, 0]))

    def _axes(self, frame: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the axes (nt, 3, 3) and the angular velocity (nt, 3), rad/s, of a frame; None for the inertial frame.

        The names of frames are described in `force`.
        """
        validate.choice(str(self.constraint), "frame", frame, LOAD_FRAMES)
        if frame == "inertial":
            return None
        moving = self._frames[0 if frame.endswith("i") else 1]
        if frame.startswith("joint"):
            return moving.axes, moving.spin
        body = self.constraint.body_i if frame == "i" else self.constraint.body_j
        return rotation.matrix(self._motion(body)[1]), moving.spin
