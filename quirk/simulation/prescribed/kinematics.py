"""Kinematics of mechanisms whose degrees of freedom are all driven: positions and their time derivatives."""

from __future__ import annotations

import time
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quirk.analysis.assembly import assemble, constraint_of, violations
from quirk.analysis.mobility import null_motions
from quirk.analysis.nearest import reversed_joint
from quirk.bodies.state import Kinematics, State
from quirk.dynamics.dense.rows import tangent_rows
from quirk.dynamics.dense.undefined import undefined_soon
from quirk.dynamics.model.joint_angles import Turns, angles_at
from quirk.dynamics.sparse.solver.derivatives import Differentiator, UnreachedError, highest_order
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.taylor.low_order_along import ASTRAY, INTERRUPTED, SHORTEST, SINGULAR, TOO_MANY
from quirk.errors import AssemblyError, InputError, SimulationError
from quirk.integrators import Statistics
from quirk.result.constraint_health import check_kept
from quirk.result.result import Result
from quirk.result.segment import Segment, joined
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained
from quirk.util.progress import ProgressLine

from .ignored_parts import warn_of_ignored_parts

# In messages, bodies with less than this fraction of the largest velocity in an allowed motion count as at rest.
STANDS_STILL = 1e-6
# Rows with at least this fraction of the largest coefficient take part in a linear dependency.
SHARE = 0.01
# The rate of a driver jumps if it changes by more than this multiple of the change due to its second derivative, and by
# more than the fraction ASTRAY.
JUMP = 10.0
# Maximum number of bodies named in a message, and of rows analyzed for one, as the cost is cubic.
MOST_NAMED, MOST_ROWS = 6, 1000


@explained
class KinematicResult(Result):
    """Motion prescribed by constraints and drivers, with the same views as a simulation result."""

    _prescribed = True

    @cached_property
    def _accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of n bodies (nt, n, 3): linear, inertial frame, m/s^2, and angular, body axes, rad/s^2."""
        derivatives = [segment.derivatives for segment in self.segments]
        return joined([d.linear[:, 0] for d in derivatives]), joined([d.angular[:, 0] for d in derivatives])

    @cached_property
    def _integrated_work(self) -> dict[str, np.ndarray]:
        """Empty dict: work is not integrated in kinematic analyses."""
        return {}

    @property
    def _course(self) -> str:
        """Line of the summary that states how many positions were computed, and the computing time."""
        cost = self.statistics
        return f"{len(self.time)} positions to {self.time[-1]:g} s in {cost.wall_time:.2g} s, by {cost.steps} steps"


@explained
def kinematics(system: System, times: ArrayLike, *, progress: bool = False) -> KinematicResult:
    """Compute the motion of a mechanism whose degrees of freedom are all driven.

    Positions are computed by Newton's method, continued from one time to the next; velocities, accelerations, jerk and
    snap follow from linear equations with the same rows, and loads of joints and drivers from inverse dynamics. The
    mechanism may have loops and redundant constraint rows.

    Parameters
    ----------
    system : System
        Its initial poses, which need not satisfy the drivers, are the initial guess for the assembly at the first time.
    times : (nt,)
        Increasing times, s.
    progress : bool
        Whether to show a progress line on standard error.

    Returns
    -------
    KinematicResult
        Result with all views of simulation results, such as ``result["rod"].jerk`` and ``result["hinge"].force()``. If
        the analysis is interrupted by Ctrl-C, it contains the results so far, with ``result.status == "interrupted"``.

    Raises
    ------
    InputError
        If an argument cannot be used, or the system has an undriven degree of freedom.
    AssemblyError
        If there is no position at the first time.
    SimulationError
        If a time cannot be reached from the previous one within the maximum number of continuation steps, or is at a
        branch point of the mechanism; the error contains the partial result.

    Warns
    -----
    IgnoredPartWarning
        If the gap of a stop, contact or rope becomes negative, or the system has events with actions: neither affects
        the motion, which drivers alone determine.

    Examples
    --------
    >>> crank = quirk.Body.bar("crank", [0, 0, 0], [1, 0, 0], mass=1.0)
    >>> pin = quirk.Revolute("pin", quirk.GROUND, crank, point=[0, 0, 0], axis="z")
    >>> drive = quirk.Drive("drive", pin, quirk.Motion.constant_rate(2.0))
    >>> motion = quirk.kinematics(quirk.System([crank, pin, drive]), [0.0, 1.0])
    >>> motion.body("crank").acceleration[0].round(9) + 0.0
    array([-2.,  0.,  0.])
    """
    if not isinstance(system, System):
        raise InputError(f"kinematics: system must be a quirk.System; got {system!r}")
    times = validate.times("kinematics", "times", times, -np.inf, np.inf)
    _check_motions(system, float(times[0]), float(times[-1]))
    began = time.perf_counter()
    differentiator = Differentiator(system.plant.solver(), highest_order(system.model))
    start = _start(system, differentiator.solver, float(times[0]))
    rank = _checked_rank(system, differentiator.solver, start, float(times[0]))
    angles, statistics = angles_at(system.model, start, float(times[0])), Statistics()

    def result(count: int, states: np.ndarray, quadrants: np.ndarray, status: str) -> KinematicResult:
        statistics.wall_time = time.perf_counter() - began
        turns = Turns.since(system.model.joints, start.orientation, angles, quadrants)
        whole = Segment(system.plant, times[:count], states, turns, rank)
        return KinematicResult(system, [whole], statistics, status)

    line = ProgressLine(float(times[0]), float(times[-1])) if progress else None
    watch = (lambda t: None) if line is None else line.update
    try:
        derivatives = differentiator.along(times, system.model.auxiliary.flat(start)[None], tracking=True, watch=watch)
    except UnreachedError as trouble:
        if trouble.reason == INTERRUPTED:
            return result(trouble.row, trouble.states, trouble.quadrants, "interrupted")
        partial = result(trouble.row, trouble.states, trouble.quadrants, "failed")
        before, target = float(times[max(trouble.row - 1, 0)]), float(times[trouble.row])
        raise SimulationError(
            f"kinematics: {_unreached_message(system, trouble, before, target, rank)}; the result up to there is in "
            "this error's .result",
            time=trouble.time,
            result=partial,
        ) from trouble.cause
    finally:
        if line is not None:
            line.close(line.reached)
    statistics.steps, statistics.corrections = derivatives.steps, derivatives.corrections
    statistics.factorisations = derivatives.factorisations
    finished = result(len(times), derivatives.states, derivatives.quadrants, "completed")
    finished.segments[0].derivatives = derivatives
    check_kept(finished, "kinematics")
    warn_of_ignored_parts(system, finished.segments[0])
    return finished


def _check_motions(system: System, start: float, end: float) -> None:
    """Raise an InputError if the kinematic analysis from `start` to `end`, s, is impossible.

    Reasons are force elements with internal variables, constraints on velocities only, and motions that are undefined
    in this interval.
    """
    for force in system.forces:
        if force.internal:
            raise InputError(
                f"kinematics: {force} has internal variables ({', '.join(force.internal)}), which are integrated along "
                "the motion: simulate the motion instead, or remove the element"
            )
    for placed in system.model.relations:
        owner = constraint_of(system, placed.rows.start)
        if placed.relation.of_velocities:
            raise InputError(
                f"kinematics: {owner} relates velocities or accelerations only, so that it does not determine "
                f"positions (row {system.model.labels[placed.rows.start]}): simulate the motion instead"
            )
        for motion in placed.relation.motions:
            motion.check(f"{owner}, motion", start, end)
    for element in system.forces:
        for name in element.motions:
            element.motion(name).check(str(element), start, end)


def _start(system: System, solver: Solver, t: float) -> State:
    """Return the assembled state of the mechanism at the first time t, s."""
    state = system.initial_state()
    y = solver.slots.state_to_lanes(system.model.auxiliary.flat(state))
    solver.settle_near(y, t)
    if solver.project(y, t):
        projected = system.model.auxiliary.state(solver.slots.state_from_lanes(y))
        if reversed_joint(system, projected) is None:
            return projected
    try:
        return assemble(system, state, t)
    except AssemblyError as error:
        raise AssemblyError(f"kinematics: no position is found at t = {t:g} s: {error}") from error


def _checked_rank(system: System, solver: Solver, state: State, t: float) -> int:
    """Return the number of independent constraint rows; raise an InputError if a degree of freedom is not driven."""
    n = len(system.bodies)
    rank = solver.settle(solver.slots.state_to_lanes(state.pack()), t)
    if rank >= 6 * n:
        return 6 * n
    if system.model.rows > MOST_ROWS:
        raise InputError(f"kinematics: {6 * n - rank} degrees of freedom of the system are not driven; add drivers")
    moving = moving_bodies_text(system, null_motions(solver, state, t))
    raise InputError(
        f"kinematics: {6 * n - rank} degrees of freedom of the system are not driven; bodies that can still move: "
        f"{moving}: add a driver for each, or simulate the motion; if all are driven, the mechanism is at a branch "
        f"point at t = {t:g} s: start at another time"
    )


def moving_bodies_text(system: System, motions: np.ndarray) -> str:
    """Return a phrase, for messages, with the names of the bodies that move in any of f motions.

    `motions` (f, n, 6) are displacements and rotations of n bodies.
    """
    sizes = np.linalg.norm(motions[..., :3], axis=2) / system.model.length + np.linalg.norm(motions[..., 3:], axis=2)
    moving = [system.bodies[k].name for k in np.flatnonzero(sizes.max(axis=0) > STANDS_STILL * sizes.max())]
    return ", ".join(f'"{name}"' for name in moving[:MOST_NAMED]) + (", ..." if len(moving) > MOST_NAMED else "")


def _unreached_message(system: System, error: UnreachedError, reached: float, target: float, rank: int) -> str:
    """Return an error message for a time `target` (s) that cannot be reached from the time `reached` (s).

    The message states the reason if it is known. `error` is the error of the computation, and `rank` the number of
    independent rows.
    """
    state = system.model.auxiliary.state(error.state)
    if error.reason == SINGULAR:
        return (
            f"at t = {error.time:.9g} s the mechanism is at a {_singularity_text(system, state, error.time, rank)}; "
            "choose times that do not include it, or drive another coordinate"
        )
    if error.reason == TOO_MANY:
        return _too_fast_message(system, error, reached, target)
    if error.cause is not None:
        return f"there is no position beyond t = {error.time:.9g} s, where a function fails ({error.cause})"
    lost = undefined_soon(system.model, state, error.time, 0.0)
    if lost is not None:
        return f"there is no position beyond t = {error.time:.9g} s: {lost}"
    jump = _rate_jump_text(system, error.time, reached, target)
    if jump is not None:
        return jump
    amount, _, angular = violations(system, state, target)
    worst = int(np.argmax(amount / np.where(angular, 1.0, system.model.length)))
    return (
        f"there is no position beyond t = {error.time:.9g} s: {constraint_of(system, worst)} cannot be satisfied "
        f"(at t = {target:.9g} s its row {system.model.labels[worst]} is violated by {amount[worst]:.3g} "
        f"{'rad' if angular[worst] else 'm'}); the mechanism is at a dead point or at the end of its range"
    )


def _rate_jump_text(system: System, t: float, reached: float, target: float) -> str | None:
    """Return an error message if the rate of a driver jumps in the last step that was tried, or None.

    The step is from t, s, in the interval between the times `reached` and `target`, s.
    """
    end = min(t + max(2 * SHORTEST * (target - reached), 4 * np.spacing(abs(t))), target)
    for placed in system.model.relations:
        for motion in placed.relation.motions:
            (_, before, slope), (_, after, next_slope) = (motion.derivatives(at, 2)[:3] for at in (t, end))
            smooth = JUMP * max(abs(slope), abs(next_slope)) * (end - t)
            if abs(after - before) > max(smooth, ASTRAY * max(abs(before), abs(after))):
                unit = "rad/s" if system.model.row_torque[placed.rows.start] else "m/s"
                return (
                    f"at t = {end:.9g} s the rate of {constraint_of(system, placed.rows.start)} jumps from "
                    f"{before:.6g} to {after:.6g} {unit}, where accelerations are not defined: analyze the times "
                    "before and after it separately, or give the driver a motion with a continuous rate"
                )
    return None


def _too_fast_message(system: System, error: UnreachedError, reached: float, target: float) -> str:
    """Return an error message for a time interval that needs too many continuation steps; it names the fastest driver.

    The interval is from `reached` to `target`, s; `error` is the error of the computation.
    """
    model, fastest, who = system.model, 0.0, "the mechanism"
    for placed in model.relations:
        angle = bool(model.row_torque[placed.rows.start])
        for motion in placed.relation.motions:
            rate = abs(float(motion.derivatives(error.time, 1)[1]))
            if rate / (1.0 if angle else model.length) > fastest:
                fastest = rate / (1.0 if angle else model.length)
                who = f"{constraint_of(system, placed.rows.start)} with {rate:.3g} {'rad/s' if angle else 'm/s'}"
    share = (error.time - reached) / (target - reached)
    total = f"about {error.attempts / share:.1e}" if share > 0 else "more"
    return (
        f"the motion from t = {reached:.9g} s to t = {target:.9g} s is too long for one interval: {who} reached "
        f"t = {error.time:.9g} s in {error.attempts} steps, and would need {total}: check the rate of the driver and "
        "the times, or give times in between"
    )


def _singularity_text(system: System, state: State, t: float, rank: int) -> str:
    """Return a phrase, for messages, with the type of a singular configuration and the rows that are dependent there.

    `rank` is the number of rows that are independent at neighboring states.
    """
    model = system.model
    if model.rows > MOST_ROWS:
        return "dead point or a branch point"
    U, _, _ = np.linalg.svd(system.plant.metric.rows(tangent_rows(model, Kinematics.of(state), t)), full_matrices=False)
    part = np.abs(U[:, rank - 1])
    driven = [placed.rows.start for placed in model.relations if placed.relation.motions]
    driving = [row for row in driven if part[row] > SHARE * part.max()]
    row = max(driving, key=lambda row: part[row]) if driving else int(np.argmax(part))
    who = f"{constraint_of(system, row)} (row {model.labels[row]})"
    if driving:
        return f"dead point, where {who} cannot drive it further"
    return f"branch point, where {who} depends on the other constraints and velocities are not determined"
