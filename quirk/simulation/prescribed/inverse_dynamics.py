"""Inverse dynamics: actuator efforts that produce a motion prescribed by drivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quirk.analysis.mobility import null_motions
from quirk.constraints import Constraint, Joint
from quirk.errors import InputError, SimulationError
from quirk.forces import ForceElement, Friction
from quirk.integrators import Statistics
from quirk.result.segment import Segment
from quirk.system.system import System
from quirk.util.misuse import explained

from .actuators import OWNER, Actuation, actuated, actuations, costs, follows_motions, over_time
from .kinematics import MOST_ROWS, KinematicResult, kinematics, moving_bodies_text
from .least_efforts import ActuatorMap, UnitLoads, UnreachedFreedomsError, applied_loads, inertia_loads

# Fixed-point iteration for friction that depends on the efforts: relative change at convergence, and maximum number of
# iterations.
SETTLED, MOST_ROUNDS = 1e-12, 200
# Ratio of a change to the largest effort without this friction beyond which the iteration diverges.
GROWN = 1e3


@explained
class InverseDynamicsResult(KinematicResult):
    """Prescribed motion of a system, with the actuator efforts that produce it without the drivers.

    Attributes
    ----------
    system : System
        System with the computed efforts at its actuators, as functions of time (`Motion`), and with the drivers
        disabled; it can be simulated.
    effort : dict of arrays (nt,)
        Force (N) or torque (N m) of each actuator, by the name passed as `actuators`.
    """

    def __init__(
        self, system: System, segments: Sequence[Segment], statistics: Statistics, status: str, effort: dict[str, Any]
    ) -> None:
        super().__init__(system, segments, statistics, status)
        self.effort: dict[str, np.ndarray] = effort


@explained
def inverse_dynamics(
    system: System,
    times: ArrayLike,
    actuators: str | ForceElement | Joint | Iterable[str | ForceElement | Joint],
    *,
    weights: Mapping[str, float] | ArrayLike | None = None,
    drivers: str | Constraint | Iterable[str | Constraint] | None = None,
    progress: bool = False,
) -> InverseDynamicsResult:
    """Compute the actuator efforts that produce the motion prescribed by the drivers of a mechanism.

    The drivers must prescribe all degrees of freedom, as for `quirk.kinematics`, at any joints. The actuators produce
    the same motion without the drivers; serial chains, loops and redundant constraints are allowed.

    Parameters
    ----------
    system : System
    times : (nt,)
        Increasing times, s.
    actuators : names of force elements and joints
        Actuators with unknown effort: along the coordinate of an `Actuator`, `Controller`, `JointTorque` or
        `JointForce`, along the direction of a `Force`, `Torque` or `Thruster`, and along the single free axis of a
        joint. The present effort and the limits of an element are ignored.
    weights : dict by name or list of positive numbers, optional
        With more actuators than degrees of freedom the sum of weights times squared efforts is minimized. Default: 1
        for forces, and 1 / L^2 for torques, with L the `load_length` of the system.
    drivers : names of constraints, optional
        Drivers to be replaced by the actuators; all other drivers stay enabled. Default: all constraints with a
        prescribed `Motion`.
    progress : bool
        Whether to show a progress line on standard error.

    Returns
    -------
    InverseDynamicsResult
        Result with `.effort["motor"]` (nt,), and all results of `quirk.kinematics`, with the joint loads under these
        efforts.

    Raises
    ------
    InputError
        If an argument is invalid, if the drivers do not prescribe all degrees of freedom, or if the actuators cannot
        move all degrees of freedom of the mechanism without the drivers that they replace.
    AssemblyError, SimulationError
        As for `quirk.kinematics`; SimulationError also if no efforts overcome a `Friction` that grows with them.

    Examples
    --------
    >>> crank = quirk.Body.bar("crank", [0, 0, 0], [1, 0, 0], mass=1.0)
    >>> pin = quirk.Revolute("pin", quirk.GROUND, crank, point=[0, 0, 0], axis="z")
    >>> drive = quirk.Drive("drive", pin, quirk.Motion.constant_rate(2.0))
    >>> system = quirk.System([crank, pin, drive], gravity=[0, -9.81, 0])
    >>> quirk.inverse_dynamics(system, [0.0, 0.1], "pin").effort["pin"].round(4)
    array([4.905 , 4.8072])
    """
    if not isinstance(system, System):
        raise InputError(f"{OWNER}: system must be a quirk.System; got {system!r}")
    actuated_by, replaced = actuations(system, actuators), _replaced(system, drivers)
    weight = costs(actuated_by, weights, system._load_length or system.model.length)
    unit = over_time(np.zeros(1), np.ones(1))
    probing = actuated(system, actuated_by, [unit] * len(actuated_by))
    motion = kinematics(probing, times, progress=progress)
    probing.disable(*replaced)
    problem = _Problem(system, actuated_by, weight, replaced, motion, probing)
    efforts = problem.efforts()
    effort = {actuation.name: values for actuation, values in zip(actuated_by, efforts.T, strict=True)}
    segment = problem.acting(efforts)
    segment.derivatives = motion.segments[0].derivatives
    return InverseDynamicsResult(problem.system, [segment], motion.statistics, motion.status, effort)


class _Problem:
    """Inverse-dynamics problem: a motion, and k actuators whose efforts are to produce it.

    Attributes
    ----------
    system : system with the efforts of the last iteration at its actuators
    """

    def __init__(
        self,
        system: System,
        actuators: list[Actuation],
        weight: np.ndarray,
        replaced: list[str],
        motion: KinematicResult,
        probing: System,
    ) -> None:
        self.user_system, self.actuators, self.weight, self.replaced = system, actuators, weight, replaced
        self.system, self.motion = probing, motion.segments[0]
        self.required_loads = inertia_loads(self.motion.model, self.motion.state, *motion._accelerations)
        self.reach = ActuatorMap(probing.plant, self.motion.time, self.motion.flat)
        self.elements = [actuation.element for actuation in actuators]

    def efforts(self) -> np.ndarray:
        """Return the efforts (nt, k) at nt times, N or N m."""
        probed = self._along(self.system)
        pushes = [UnitLoads(probed.model, probed.dynamics.forces, name) for name in self.elements]
        efforts = self._efforts(pushes, self._remaining_loads(probed, self.elements))
        if not any(isinstance(force, Friction) for force in self.system.forces):
            return efforts
        largest = np.abs(efforts).max()
        for _ in range(MOST_ROUNDS):
            change = self._efforts(pushes, self._remaining_loads(self.acting(efforts)))
            efforts = efforts + change
            if np.abs(change).max() <= SETTLED * np.abs(efforts).max():
                return efforts
            if np.abs(change).max() > GROWN * largest:
                break
        worst = int(np.argmax(np.abs(change).max(axis=1)))
        raise SimulationError(
            f"{OWNER}: at t = {self.motion.time[worst]:g} s no efforts overcome the friction, which increases with "
            "them: the mechanism is self-locking, or nearly so",
            time=float(self.motion.time[worst]),
        )

    def acting(self, efforts: np.ndarray) -> Segment:
        """Return the prescribed motion for a system whose actuators exert efforts (nt, k), N or N m."""
        over = [over_time(self.motion.time, effort) for effort in efforts.T]
        self.system = actuated(self.user_system, self.actuators, over)
        self.system.disable(*self.replaced)
        return self._along(self.system)

    def _along(self, system: System) -> Segment:
        motion = self.motion
        return Segment(system.plant, motion.time, motion.flat, motion.turns, self.reach.rank)

    def _remaining_loads(self, segment: Segment, but: Sequence[str] = ()) -> np.ndarray:
        """Return the loads (nt, n, 6), inertial frame, that actuators and constraints must exert on n bodies.

        They are the inertial loads of the motion `segment`, minus gravity and the loads of all force elements, except
        those named in `but`.
        """
        return self.required_loads - applied_loads(segment.model, segment.dynamics.forces, len(self.motion.time), but)

    def _efforts(self, pushes: list[UnitLoads], loads: np.ndarray) -> np.ndarray:
        try:
            return self.reach.efforts(pushes, loads, self.weight)
        except UnreachedFreedomsError as trouble:
            raise InputError(self._unreached(pushes, trouble)) from None

    def _unreached(self, unit_loads: list[UnitLoads], error: UnreachedFreedomsError) -> str:
        """Return an error message that names the bodies whose required motions no actuator can produce.

        `unit_loads` are the loads of the actuators for unit efforts, and `error` is the error of the computation.
        """
        row = error.row
        t, left = float(self.motion.time[row]), error.freedoms - error.reached
        said = (
            f"{OWNER}: the actuators reach {error.reached} of the {error.freedoms} freedoms that the constraints "
            f"leave without {', '.join(self.replaced) or 'drivers'} at t = {t:g} s"
        )
        if self.motion.model.rows <= MOST_ROWS:
            plant = self.system.plant
            motions = null_motions(plant.solver(), self.motion.state_at(row), t)
            free = np.array([plant.metric.coordinates(m[:, :3], m[:, 3:]) for m in motions])
            unreached = np.linalg.svd(free @ self.reach.reached(unit_loads, row))[0][:, -left:]
            moving = moving_bodies_text(self.system, np.tensordot(unreached.T, motions, 1))
            said += f"; bodies that move in the other freedoms: {moving}"
        return f"{said}: name further actuators, or in drivers= only the drivers that they replace"


def _replaced(system: System, names: Any) -> list[str]:
    """Return the names of the drivers that actuators replace: those in `names` or, by default, all enabled drivers."""
    active = [constraint for constraint in system.constraints if constraint.name in system.model.joint_rows]
    if names is None:
        return [constraint.name for constraint in active if follows_motions(constraint)]
    listed = [names] if isinstance(names, str | Constraint) else list(names)
    parts = [system[str(getattr(name, "name", name))] for name in listed]
    for part in parts:
        if part not in active:
            raise InputError(f"{OWNER}: drivers must name enabled constraints; got {part}")
    return [part.name for part in parts]
