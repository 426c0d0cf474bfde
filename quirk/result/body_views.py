"""Time histories of one body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..bodies import euler_angles as euler
from ..bodies import rotation
from ..constraints.relative import FrameMotion
from ..dynamics.model.time_derivatives import PoseDerivatives
from ..util import validate
from ..util.misuse import explained
from ..util.renamed import Renamed
from .point_paths import PlanarPath, PointPath, local_point

if TYPE_CHECKING:
    from ..constraints.planar import PlanarBody, Plane
    from .result import Result


@explained
class BodyView(Renamed):
    """Motion of one body over nt times.

    Attributes
    ----------
    position, velocity, acceleration, jerk, snap : (nt, 3) of the center of mass in the inertial frame, m, m/s, ...
    orientation : (nt, 4) unit quaternions (w, x, y, z), body to inertial
    quaternion : (nt,) orientations as numpy-quaternion objects
    angular_velocity, angular_acceleration, angular_jerk, angular_snap : (nt, 3) in body axes, rad/s, rad/s^2, ...
    """

    _earlier_names: ClassVar = {"tower": "pose_derivatives"}

    def __init__(self, result: Result, row: int) -> None:
        self._result, self._row = result, row
        self.of = result.system.bodies[row]
        state = result.state
        self.position = state.position[:, row]
        self.orientation = state.orientation[:, row]
        self.velocity = state.velocity[:, row]
        self.angular_velocity = state.angular_velocity[:, row]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.of} at {len(self.position)} times>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_body

        return of_body(self)

    @property
    def speed(self) -> np.ndarray:
        """Speed of the center of mass (nt,), m/s."""
        return np.linalg.norm(self.velocity, axis=1)

    @property
    def angular_speed(self) -> np.ndarray:
        """Magnitude of the angular velocity (nt,), rad/s."""
        return np.linalg.norm(self.angular_velocity, axis=1)

    @property
    def quaternion(self) -> np.ndarray:
        """Orientations (nt,) as numpy-quaternion objects."""
        import quaternion

        return quaternion.as_quat_array(np.ascontiguousarray(self.orientation))

    def euler_angles(self, sequence: str) -> np.ndarray:
        """Return Euler angles (nt, 3), rad, of the rotation from inertial to body axes.

        `sequence` lists the axes of the successive rotations, which are body axes (intrinsic rotations): R = R_z(t1)
        R_x(t2) R_z(t3) for "zxz". There are six sequences with two equal axes, such as "zyz", and six with three, such
        as "xyz" and "zyx".

        The first and third angle start in (-pi, pi], the second in [0, pi], or in [-pi/2, pi/2] if all axes differ.
        Later they are continuous, over full turns and through singularities, beyond which the second angle leaves this
        range. Between two output times the body is assumed to rotate about one axis, consistent with the mean of the
        angular velocities at these times; fast rotation about several axes requires closely spaced output times.

        At gimbal lock, where the second angle is 0 or pi, or a right angle if all axes differ, only the sum or
        difference of the first and third angle is determined. The individual angles are then interpolated from the
        times before and after, or zero. They change fast if the body passes close to gimbal lock, or leaves it in
        another direction.
        """
        return euler.continued(
            validate.choice(f"{self.of}: euler_angles", "sequence", sequence, euler.SEQUENCES),
            self._result.time,
            self.orientation,
            self.angular_velocity,
        )

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration of the center of mass (nt, 3) in the inertial frame, m/s^2."""
        return self._result._accelerations[0][:, self._row]

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Time derivative of the angular velocity (nt, 3), body axes, rad/s^2."""
        return self._result._accelerations[1][:, self._row]

    @property
    def jerk(self) -> np.ndarray:
        """Jerk of the center of mass (nt, 3) in the inertial frame, m/s^3."""
        return self._result._acceleration_derivative(2)[0][:, self._row]

    @property
    def angular_jerk(self) -> np.ndarray:
        """Time derivatives (nt, 3) of the components of `angular_acceleration`, body axes, rad/s^3."""
        return self._result._acceleration_derivative(2)[1][:, self._row]

    @property
    def snap(self) -> np.ndarray:
        """Snap of the center of mass (nt, 3) in the inertial frame, m/s^4."""
        return self._result._acceleration_derivative(3)[0][:, self._row]

    @property
    def angular_snap(self) -> np.ndarray:
        """Second time derivatives (nt, 3) of the components of `angular_acceleration`, body axes, rad/s^4."""
        return self._result._acceleration_derivative(3)[1][:, self._row]

    def pose_derivatives(self, order: int) -> PoseDerivatives:
        """Return the pose of the body at all times, with its time derivatives up to `order`, at most 4."""
        linear, angular = [self.position, self.velocity], [self.angular_velocity]
        if order > 1:
            linear.append(self.acceleration)
            angular.append(self.angular_acceleration)
        for k in range(2, order):
            derivatives = self._result._acceleration_derivative(k)
            linear.append(derivatives[0][:, self._row])
            angular.append(derivatives[1][:, self._row])
        position, omega = (np.stack(parts, axis=1) for parts in (linear[: order + 1], angular[: max(order, 1)]))
        return PoseDerivatives.in_body_axes(position, self.orientation, omega)

    def path(self, local: Any = (0, 0, 0)) -> PointPath:
        """Return the motion of a point of the body, with time derivatives up to snap.

        `local` is (3,), m, in body coordinates, or the name of a frame of the body, whose origin is the point.
        """
        return PointPath(self.of, self.pose_derivatives, local_point(self.of, local, "BodyView"))

    def frame(self, name: str) -> FrameMotion:
        """Return the motion of a named frame of the body in the inertial frame.

        The motion has the attributes `origin` (m), `velocity` (m/s) and `spin` (rad/s), (nt, 3) each, and `axes`
        (nt, 3, 3).
        """
        R = rotation.matrix(self.orientation)
        spin = np.einsum("tij,tj->ti", R, self.angular_velocity)
        return FrameMotion.of(self.of.frame(name), self.position, R, self.velocity, spin)

    def point(self, local: Any) -> np.ndarray:
        """Return the positions (nt, 3), m, inertial frame, of a point of the body.

        `local` is as for `path`; `path` also returns time derivatives.
        """
        return self.path(local).position


@explained
class PlanarBodyView(BodyView):
    """Motion of one planar body over time; `in_plane` has the coordinates and the angle in the plane."""

    of: PlanarBody

    @property
    def in_plane(self) -> InPlane:
        """Coordinates (nt, 2) of the center of mass in the plane, m, and angle (nt,), rad, with time derivatives."""
        in_plane = self._result[self.of.companions[0].name]
        return InPlane(self.of.plane, self, in_plane.rotation[:, 2])


@explained
class InPlane(PlanarPath):
    """Motion of the center of mass of a planar body in the plane, and its angle."""

    def __init__(self, plane: Plane, body: BodyView, angle: np.ndarray) -> None:
        super().__init__(plane, body.path())
        self._body, self._angle = body, angle

    def path(self, local: Any = (0, 0)) -> PlanarPath:
        """Return the motion of a point of the body in the plane.

        `local` is the point (2,) in body coordinates, m, or the name of a frame of the body.
        """
        if isinstance(local, str):
            return PlanarPath(self._plane, self._body.path(local))
        local = validate.array("InPlane", "local", local, (2,))
        return PlanarPath(self._plane, self._body.path([*local, 0.0]))

    @property
    def angle(self) -> np.ndarray:
        """Angle (nt,), rad, from the plane's x axis to the body's x axis, with all turns since the start counted."""
        return self._angle

    @property
    def angular_velocity(self) -> np.ndarray:
        """First time derivative (nt,) of the angle, rad/s."""
        return self._body.angular_velocity[:, 2]

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Second time derivative (nt,) of the angle, rad/s^2."""
        return self._body.angular_acceleration[:, 2]

    @property
    def angular_jerk(self) -> np.ndarray:
        """Third time derivative (nt,) of the angle, rad/s^3."""
        return self._body.angular_jerk[:, 2]

    @property
    def angular_snap(self) -> np.ndarray:
        """Fourth time derivative (nt,) of the angle, rad/s^4."""
        return self._body.angular_snap[:, 2]
