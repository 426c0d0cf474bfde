"""What a run returns: motion, joint loads, energies, momenta and residuals, by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import rotation, validate
from .body import Body, Ground
from .constraints import Constraint, relative
from .constraints.relative import FrameMotion
from .dynamics import energy
from .dynamics.sparse.motion import motion_along, residuals_along
from .errors import InputError
from .integrators import Statistics
from .state import Kinematics, State

if TYPE_CHECKING:
    from .health import Health
    from .mobility import Mobility, Uniqueness
    from .plot import Plotter
    from .system import System

# The axes in which loads are given: of N, of the bodies, or of the joint frames.
LOAD_FRAMES = ("inertial", "i", "j", "joint i", "joint j")


@dataclass(frozen=True)
class Energy:
    """Energies over time (nt,), J: total = kinetic + potential; gravity's is zero at the inertial origin."""

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Kinetic plus potential (gravity and springs), J."""
        return self.kinetic + self.potential

    @property
    def drift(self) -> float:
        """Largest departure of the total from its start, over the largest kinetic energy."""
        largest = float(self.kinetic.max())
        return float(np.abs(self.total - self.total[0]).max()) / largest if largest > 0 else 0.0


@dataclass(frozen=True)
class Momentum:
    """Momenta of all bodies over time (nt, 3) in N: linear kg m/s, angular kg m^2/s about the origin."""

    linear: np.ndarray
    angular: np.ndarray


@dataclass(frozen=True)
class Residual:
    """Largest |Phi| and |Phi_dot| over all rows, over time (nt,)."""

    position: np.ndarray
    velocity: np.ndarray


class Result:
    """A motion of a system.

    Attributes
    ----------
    system : System
    time : (nt,) s
    state : State with arrays (nt, n, 3) and (nt, n, 4)
    statistics : steps, rejected steps, evaluations of the equations of motion and wall time, s
    status : "completed", "interrupted" or "failed"
    rank : number of independent constraint rows met along the motion
    model : the arrays of the system as it was simulated
    """

    def __init__(
        self,
        system: System,
        time: np.ndarray,
        states: np.ndarray,
        statistics: Statistics,
        status: str,
        rank: int,
    ) -> None:
        self.system = system
        # As they are now: constraints may be switched on and off later.
        self.model, self._solver = system.model, system.solver
        self.time = time
        self.state = State.unpack(states)
        self.statistics = statistics
        self.status = status
        self.rank = rank

    def __getitem__(self, name: str) -> Any:
        """Return the view of the body or constraint of that name."""
        item = self.system[name]
        if isinstance(item, Body):
            return BodyView(self, self.system.bodies.index(item))
        if isinstance(item, Constraint):
            return JointView(self, item)
        raise InputError(f"Result: {item} is neither a body nor a constraint, so it has no motion to show")

    def __repr__(self) -> str:
        return f"<Result: {len(self.time)} times to {self.time[-1]:g} s, {self.status}>"

    def state_at(self, row: int = -1) -> State:
        """Return the state (n, 3) and (n, 4) at one of the times, by default the last: a start for another run."""
        if not isinstance(row, int | np.integer) or not -len(self.time) <= row < len(self.time):
            raise InputError(f"Result: row must be the number of one of its {len(self.time)} times; got {row!r}")
        return State(*(part[row].copy() for part in vars(self.state).values()))

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy over time."""
        model = self.model
        potential = energy.gravity_energy(model, self.state)
        for element, rows in model.forces:
            potential = potential + [element.potential_energy(kin, rows) for kin in self.kinematics]
        return Energy(energy.kinetic_energy(model, self.state), potential)

    @property
    def conservative(self) -> bool:
        """Whether nothing but gravity and undamped springs does work, so that the total energy is constant."""
        driven = any(placed.relation.motions for placed in self.model.relations)
        return not driven and all(element.conservative for element, _ in self.model.forces)

    @cached_property
    def momentum(self) -> Momentum:
        """Linear and angular momentum over time."""
        return Momentum(energy.linear_momentum(self.model, self.state), energy.angular_momentum(self.model, self.state))

    @cached_property
    def residual(self) -> Residual:
        """How well the constraints are satisfied over time."""
        worst = np.abs(residuals_along(self._solver(), self.time, self.state)).max(axis=1, initial=0.0)
        return Residual(worst[:, 0], worst[:, 1])

    @cached_property
    def kinematics(self) -> list[Kinematics]:
        """What follows from the state at each time."""
        return [Kinematics.of(self.state_at(row)) for row in range(len(self.time))]

    @cached_property
    def dynamics(self) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[np.ndarray, np.ndarray]]]:
        """Linear (nt, n, 3) and angular accelerations, and force and torque (nt, 3) in N of each joint."""
        return motion_along(self._solver(), self.time, self.state)

    @cached_property
    def mobility(self) -> Mobility:
        """Freedoms, redundant rows and uniqueness of loads in the middle of the run; see `System.mobility`."""
        from .mobility import mobility

        row = len(self.time) // 2
        return mobility(self.model, self.state_at(row), float(self.time[row]))

    def health(self) -> Health:
        """Return how well the constraints are, over time; see `quirk.health`. Dense, for small and middling systems."""
        from .health import health

        return health(self, self._solver())

    @property
    def plot(self) -> Plotter:
        """Pictures of this result: `result.plot()` for an overview, `result.plot.energy()` and so on."""
        from .plot import Plotter

        return Plotter(self)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Write a GIF or MP4 of the motion; see `quirk.animate.animate`."""
        from .animate import animate

        return animate(self, path, **options)

    def summary(self) -> str:
        """Return a few lines that say what happened and how well."""
        from .summary import summary

        return summary(self)


class BodyView:
    """The motion of one body over time.

    Attributes
    ----------
    position, velocity, acceleration : (nt, 3) of the centre of mass in N
    orientation : (nt, 4) unit quaternions (w, x, y, z), body to inertial
    quaternion : (nt,) the same as numpy-quaternion objects
    angular_velocity, angular_acceleration : (nt, 3) in body axes
    """

    def __init__(self, result: Result, row: int) -> None:
        self._result, self._row = result, row
        self.of = result.system.bodies[row]
        state = result.state
        self.position = state.position[:, row]
        self.orientation = state.orientation[:, row]
        self.velocity = state.velocity[:, row]
        self.angular_velocity = state.angular_velocity[:, row]

    @property
    def quaternion(self) -> np.ndarray:
        """Orientations (nt,) as numpy-quaternion objects."""
        import quaternion

        return quaternion.as_quat_array(np.ascontiguousarray(self.orientation))

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration of the centre of mass (nt, 3) in N, m/s^2."""
        return self._result.dynamics[0][:, self._row]

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Rate of the angular velocity (nt, 3), body axes, rad/s^2."""
        return self._result.dynamics[1][:, self._row]

    def frame(self, name: str) -> FrameMotion:
        """Return a named frame of the body in motion: `origin`, `velocity`, `spin` and `axes` in N."""
        R = rotation.matrix(self.orientation)
        spin = np.einsum("tij,tj->ti", R, self.angular_velocity)
        return FrameMotion.of(self.of.frame(name), self.position, R, self.velocity, spin)

    def point(self, local: Any) -> np.ndarray:
        """Path (nt, 3) in N of the point at `local` (3,) m in body coordinates."""
        local = validate.array("BodyView", "local", local, (3,))
        return self.position + rotation.matrix(self.orientation) @ local


class JointView:
    """Relative motion and load of one joint over time.

    Relative quantities are of frame j as seen from frame i, resolved in joint frame i; the load is what
    body i exerts on body j at the origin of frame j.
    """

    def __init__(self, result: Result, constraint: Constraint) -> None:
        self._result, self.constraint = result, constraint

    @property
    def of(self) -> Constraint:
        """The constraint this is a view of."""
        return self.constraint

    @property
    def displacement(self) -> np.ndarray:
        """Origin of frame j relative to that of frame i (nt, 3), m."""
        return relative.displacement(*self._frames)

    @property
    def velocity(self) -> np.ndarray:
        """Rate of `displacement` (nt, 3), m/s."""
        return relative.velocity(*self._frames)

    @property
    def rotation(self) -> np.ndarray:
        """1-2-3 angles (nt, 3), rad; the first and third are continued over full turns along the output.

        The rates at both ends of an interval tell how many turns lie within, so that outputs may be far apart as long
        as the mean of both rates is off by less than half a turn per interval.
        """
        angles = relative.angles(*self._frames)
        rates = relative.angle_rates(angles, relative.angular_velocity(*self._frames))
        for axis in (0, 2):
            angles[:, axis] = relative.continued(self._result.time, angles[:, axis], rates[:, axis])
        return angles

    @property
    def rotation_rate(self) -> np.ndarray:
        """Rates (nt, 3) of the 1-2-3 angles, rad/s; not finite where the second angle is a right one."""
        return relative.angle_rates(relative.angles(*self._frames), relative.angular_velocity(*self._frames))

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity of j relative to i (nt, 3), rad/s."""
        return relative.angular_velocity(*self._frames)

    @property
    def point(self) -> np.ndarray:
        """The joint point of body j (nt, 3) in N, m."""
        return self._frames[1].origin

    @property
    def frames(self) -> tuple[FrameMotion, FrameMotion]:
        """Both joint frames in motion: `origin`, `velocity`, `spin` (nt, 3) and `axes` (nt, 3, 3), all in N."""
        return self._frames

    @property
    def unique(self) -> Uniqueness:
        """Whether the motion determines `force` and `torque`; see `Mobility.loads`."""
        if self.constraint.name not in self._result.model.joint_rows:
            raise InputError(f"{self.constraint}: it is switched off and carries no load")
        return self._result.mobility.loads[self.constraint.name]

    def force(self, frame: str = "inertial") -> np.ndarray:
        """Force (nt, 3), N, on body j by body i, in N or in the axes of a body or of a joint frame.

        `frame` is "inertial", "i", "j", "joint i" or "joint j"; `unique` says whether the motion determines it.
        """
        return self._load(0, frame)

    def torque(self, frame: str = "inertial") -> np.ndarray:
        """Torque (nt, 3), N m, on body j by body i about the joint point; `frame` as for `force`."""
        return self._load(1, frame)

    @cached_property
    def _frames(self) -> tuple[FrameMotion, FrameMotion]:
        c = self.constraint
        return self._carried(c.frame_i, c.body_i), self._carried(c.frame_j, c.body_j)

    def _carried(self, frame: Any, body: Body | Ground) -> FrameMotion:
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

    def _load(self, which: int, frame: str) -> np.ndarray:
        c = self.constraint
        validate.choice(str(c), "frame", frame, LOAD_FRAMES)
        if c.name not in self._result.model.joint_rows:
            return np.zeros((len(self._result.time), 3))
        load = self._result.dynamics[2][c.name][which]
        if frame == "inertial":
            return load
        if frame.startswith("joint"):
            R = self._frames[0 if frame.endswith("i") else 1].axes
        else:
            R = rotation.matrix(self._motion(c.body_i if frame == "i" else c.body_j)[1])
        return np.einsum("tji,tj->ti", R, load)
