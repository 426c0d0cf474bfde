"""Poses and velocities of all bodies of a system, and kinematic quantities derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..util import validate
from ..util.misuse import explained
from . import rotation

# Numbers per body in the flat state vector: position 3, orientation 4, velocity 3, angular velocity 3.
STATE_SIZE = 13

# Indices of a body's position, orientation, velocity and angular velocity in its part of the state vector.
VECTOR_STARTS = np.array([0, 3, 7, 10])

# Maximum number of bodies listed in an error message.
MOST_NAMED = 5


def vector_starts(bodies: int) -> np.ndarray:
    """Return the first index of each vector in the flat state of `State.pack`, as an array (4 n,) for n bodies.

    The vectors are the position, orientation, velocity and angular velocity of each body. The integrators measure the
    error of each vector by its norm.
    """
    return (STATE_SIZE * np.arange(bodies)[:, None] + VECTOR_STARTS).ravel()


@explained
@dataclass
class State:
    """Poses and velocities of n bodies, in the order of `system.bodies`.

    Attributes
    ----------
    position : (n, 3) centers of mass in the inertial frame, m
    orientation : (n, 4) unit quaternions (w, x, y, z), body to inertial
    velocity : (n, 3) of the centers of mass in the inertial frame, m/s
    angular_velocity : (n, 3) in body axes, rad/s
    angles : dict, optional
        Angles (3,), rad, of joints by name, as in `result[joint].rotation`. Poses determine angles up to full turns;
        `angles` selects the number of turns and need not be exact.  Angles of unlisted joints are in (-pi, pi]. States
        from runs include all joints; unknown names are ignored.
    internal : dict, optional
        Internal variables (s,) of force elements by name, such as the integral of a `Controller`. States from runs
        include all of them; unlisted elements start from their initial values.
    switched : dict, optional
        Whether each constraint or force that an event has enabled or disabled is now enabled, by name. A run from this
        state starts with these settings; all other parts keep the settings of the system.
    replaced : dict, optional
        Constraints and forces, by name, by which events have replaced the parts of the system with these names.
    bodies : tuple of str, optional
        Names of the bodies, one per row. States of systems and results have them; a system with other bodies rejects
        the state. Without names, rows are assumed to be in the order of `system.bodies`.

    Examples
    --------
    >>> body = quirk.Body("body", 1.0, [1, 1, 1], velocity=[2.0, 0, 0])
    >>> state = quirk.System([body]).initial_state()
    >>> state.velocity
    array([[2., 0., 0.]])
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    angles: dict[str, Any] = field(default_factory=dict, kw_only=True)
    internal: dict[str, Any] = field(default_factory=dict, kw_only=True)
    switched: Mapping[str, bool] = field(default_factory=dict, kw_only=True)
    replaced: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    bodies: tuple[str, ...] | None = field(default=None, kw_only=True)

    def copy(self) -> State:
        """Return a copy that shares no arrays with the original."""
        angles, internal = (
            {name: np.array(numbers, dtype=float) for name, numbers in named.items()}
            for named in (self.angles, self.internal)
        )
        parts = (np.array(part, dtype=float) for part in self.parts)
        switched, replaced = dict(self.switched), dict(self.replaced)
        return State(*parts, angles=angles, internal=internal, switched=switched, replaced=replaced, bodies=self.bodies)

    def checked(self, names: Sequence[str]) -> State:
        """Return a copy with normalized quaternions, after checks for a system whose bodies have the names `names`.

        An InputError is raised if an array has the wrong shape or a non-finite value, or if the names of the bodies
        differ.
        """
        count = len(names)
        if self.bodies is not None:
            _check_bodies(self.bodies, names)
        try:
            state = self.copy()
        except (AttributeError, TypeError, ValueError):
            raise InputError(
                "State: every part must be an array of numbers, angles a dict of such, and internal too"
            ) from None
        for name, angles in state.angles.items():
            validate.array("State", f"angles[{name!r}]", angles, (3,))
        widths = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
        for (argument, width), part in zip(widths.items(), state.parts, strict=True):
            if part.shape != (count, width):
                raise InputError(
                    f"State: {argument} must have shape ({count}, {width}), a row for each body; got {part.shape}"
                )
            if not np.isfinite(part).all():
                row = np.flatnonzero(~np.isfinite(part).all(axis=1))[0]
                raise InputError(f"State: {argument} must be finite; row {row} is {part[row].tolist()}")
        largest = np.abs(state.orientation).max(axis=1, keepdims=True)
        if (largest <= 0).any():
            row = np.flatnonzero(largest[:, 0] <= 0)[0]
            raise InputError(f"State: orientation must be unit quaternions; row {row} is zero")
        state.orientation /= largest
        state.orientation /= np.linalg.norm(state.orientation, axis=1, keepdims=True)
        state.bodies = tuple(names)
        return state

    def pack(self) -> np.ndarray:
        """Return the flat vector (13 n,): position, orientation, velocity and angular velocity of each body."""
        return np.concatenate(self.parts, axis=1).ravel()

    @classmethod
    def unpack(cls, y: np.ndarray) -> State:
        """Return a state whose arrays are views into flat state vectors `y` (..., 13 n).

        The arrays have shapes (..., n, 3) and (..., n, 4).
        """
        parts = y.reshape(*y.shape[:-1], -1, STATE_SIZE)
        return cls(parts[..., :3], parts[..., 3:7], parts[..., 7:10], parts[..., 10:])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        """Tuple of position (n, 3), orientation (n, 4), velocity (n, 3) and angular velocity (n, 3)."""
        return self.position, self.orientation, self.velocity, self.angular_velocity


@dataclass(frozen=True)
class Kinematics:
    """Poses and velocities of n bodies with derived quantities; the last row of every array is the ground.

    Attributes
    ----------
    position, velocity : (n + 1, 3) of the centers of mass in the inertial frame, m and m/s
    orientation : (n + 1, 4) unit quaternions, body to inertial
    rotation : (n + 1, 3, 3) rotation matrices, body to inertial
    angular_velocity : (n + 1, 3) in body axes, rad/s
    spin : (n + 1, 3) angular velocity in the inertial frame, rad/s
    angles : by joint name, 1-2-3 angles (3,), rad, which select the full turns of joint angles
    internal : by name of force element, its s internal variables (s,)
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    rotation: np.ndarray
    spin: np.ndarray
    angles: Mapping[str, np.ndarray] = field(default_factory=dict)
    internal: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State) -> Kinematics:
        """Return the kinematics of a state; its quaternions are normalized first."""
        n = len(state.position)
        position, velocity, omega = (np.zeros((n + 1, 3)) for _ in range(3))
        orientation = np.tile(rotation.IDENTITY, (n + 1, 1))
        position[:n] = state.position
        velocity[:n] = state.velocity
        omega[:n] = state.angular_velocity
        orientation[:n] = state.orientation / np.linalg.norm(state.orientation, axis=1, keepdims=True)
        R = rotation.matrix(orientation)
        spin = np.einsum("nij,nj->ni", R, omega)
        return cls(position, orientation, velocity, omega, R, spin, state.angles, state.internal)

    def point(self, body: int, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return position (m) and velocity (m/s), in the inertial frame, of a point fixed in a body.

        `body` is the index of the body, and `local` (3,) the point in body coordinates, m.
        """
        arm = self.rotation[body] @ local
        return self.position[body] + arm, self.velocity[body] + np.cross(self.spin[body], arm)


def initial_state(bodies: Sequence[Any]) -> State:
    """Return the state of a list of bodies with the initial poses and velocities given at their construction."""

    def stack(argument: str, width: int) -> np.ndarray:
        return np.array([getattr(body, argument) for body in bodies], dtype=float).reshape(-1, width)

    parts = stack("position", 3), stack("orientation", 4), stack("velocity", 3), stack("angular_velocity", 3)
    return State(*parts, bodies=tuple(body.name for body in bodies))


def _check_bodies(body_names: Any, names: Sequence[str]) -> None:
    """Raise an InputError unless a state has the bodies of the system, in the same order.

    `body_names` are the names in the state, and `names` those in the system.
    """
    if (
        isinstance(body_names, str)
        or not isinstance(body_names, Sequence)
        or not all(isinstance(one, str) for one in body_names)
    ):
        raise InputError(f"State: bodies must be the names of bodies, one for each row, or None; got {body_names!r}")
    if list(body_names) == list(names):
        return
    missing = [name for name in names if name not in body_names]
    unknown = [name for name in body_names if name not in names]
    differing = [f"{_listed(missing)} is not in the state"] if missing else []
    differing += [f"{_listed(unknown)} is not in the system"] if unknown else []
    why = ", ".join(differing) or f"it has {_listed(body_names)}, the system {_listed(names)}, in this order"
    raise InputError(
        f"State: it belongs to another system: {why}; take a state of this system, or if its rows are meant for the "
        "bodies of this system in their order, dataclasses.replace(state, bodies=None)"
    )


def _listed(names: Sequence[str]) -> str:
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join([*(f'"{name}"' for name in names[:MOST_NAMED]), *more])
