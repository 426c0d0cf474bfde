"""Equilibria: states at rest in which nothing accelerates, found with the exact tangent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quirk.assembly import assemble
from quirk.dynamics.dense.projection import displaced, project
from quirk.dynamics.directions import Directions
from quirk.errors import AssemblyError, InputError
from quirk.quantities import JointLoad
from quirk.state import State

from .free import Free
from .linearisation import linearise
from .point import Point
from .steady import load_rate

if TYPE_CHECKING:
    from quirk.system import System

OWNER = "System.equilibrium"
# Accelerations below this part of what loads alone would give are round-off of an equilibrium.
FOUND = 1e-13
# A result whose accelerations are above this part is none.
MISSED = 1e-8
# Largest turn, rad, or move, in lengths of the system, in one step.
LONGEST_STEP = 0.3
MOST_STEPS, MOST_IN_VAIN = 1000, 100
# Within this part an equilibrium is near, and is the one that is meant even if it is not stable.
NEAR = 1e-3
# Part of the largest derivative by which steps are slowed down where they miss more,
SLOWER = 0.1
# and below which, over the largest, a freedom has no stiffness: it stays where it is.
INDIFFERENT = 1e-11
# Real parts above this part of the largest eigenvalue grow.
GROWS = 1e-9


@dataclass
class Equilibrium(State):
    """A state at rest that stays at rest; a `State` with what follows from it.

    Attributes
    ----------
    time : s
    residual : what is left of accelerations, as a part of what the loads alone would give
    system : System
    """

    time: float = field(default=0.0, kw_only=True)
    residual: float = field(default=0.0, kw_only=True)
    system: System = field(default=None, kw_only=True, repr=False)  # type: ignore[assignment]

    def __str__(self) -> str:
        from .report import report

        return report(self)

    @cached_property
    def loads(self) -> dict[str, JointLoad]:
        """Force and torque of every active constraint by name, as of `System.joint_loads`."""
        return self.system.joint_loads(self, self.time)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of small motions about it, complex, 1/s, by size."""
        return linearise(self.system, self.copy(), self.time).eigenvalues

    @property
    def stable(self) -> bool:
        """Whether no small motion grows: no eigenvalue has a positive real part. Without damping none need decay."""
        values = self.eigenvalues
        return bool((values.real <= GROWS * np.abs(values).max(initial=0.0)).all())


def equilibrium(system: System, start: State, t: float) -> Equilibrium:
    """Return an equilibrium near a state; see `System.equilibrium`.

    Steps (k - K) du = g with the accelerations g in free coordinates and their derivative K: Newton's where k is zero.
    Where K has growing directions, k is more than these, and the step goes downhill as that of a strongly damped motion
    does, implicitly (Kelley and Keyes, SIAM J. Numer. Anal. 35 (1998)); but for states so near to an equilibrium that
    this one is meant. Steps after which more is missing than before make k larger.
    """
    state, best, best_step, slower, previous = _at_rest(system, start, t), np.inf, 0, 0.0, np.inf
    found = state
    for number in range(MOST_STEPS):
        point = Point(system, state, t)
        free = Free.at(point)
        g, K = _accelerations(free)
        size = load_rate(point) ** 2 * point.model.length * np.sqrt(point.model.mass.max())
        missing = float(np.abs(g).max(initial=0.0)) / size if size > 0 else 0.0
        stays = missing >= best
        if not stays:
            best, best_step, found = missing, number, state
        if not len(g) or missing <= FOUND or (stays and missing < MISSED) or number > best_step + MOST_IN_VAIN:
            break
        largest = float(np.abs(K).max())
        slower = max(4.0 * slower, SLOWER * largest) if missing > previous else 0.25 * slower
        previous = missing
        growing = float(np.linalg.eigvals(K).real.max())
        downhill = 1.5 * growing if growing > GROWS * largest and missing > NEAR else 0.0
        step = np.linalg.lstsq((slower * (missing > NEAR) + downhill) * np.eye(len(g)) - K, g, rcond=INDIFFERENT)[0]
        state = _moved(free, state, step, t)
    if best > MISSED:
        raise InputError(
            f"{OWNER}: none was found; what is left of the accelerations is {best:.2g} of what the loads alone would "
            "give. Does something fall freely, or is driven without rest? Else start nearer to it"
        )
    parts = (np.array(part) for part in found.parts)
    return Equilibrium(
        *parts,
        angles=found.angles,
        internal=found.internal,
        time=t,
        residual=float(best) if np.isfinite(best) else 0.0,
        system=system,
    )


def _at_rest(system: System, start: State, t: float) -> State:
    """The nearest state on the constraints, at rest; InputError where drivers move."""
    still = replace(
        start, velocity=np.zeros_like(start.velocity), angular_velocity=np.zeros_like(start.angular_velocity)
    )
    state = replace(assemble(system, still, t), angles=start.angles, internal=start.internal)
    if np.abs(state.velocity).max() > 0 or np.abs(state.angular_velocity).max() > 0:
        size = max(np.abs(state.velocity).max() / system.model.length, np.abs(state.angular_velocity).max())
        if size > 1e-12:
            raise InputError(
                f"{OWNER}: drivers move at t = {t:g} s, so nothing is at rest; hold their motions constant"
            )
    return replace(state, velocity=still.velocity, angular_velocity=still.angular_velocity)


def _accelerations(free: Free) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations in free coordinates, then the rates of internal variables; and their derivatives by these."""
    point, v = free.point, free.velocities.shape[1]
    directions = Directions.none(point.model, v + point.internal)
    directions.bodies[:, :6, :v] = free.spread(free.velocities)
    directions.internal[: point.internal, v:] = np.eye(point.internal)
    varied = point.variation(directions)
    p = free.poses.shape[1]
    K = free.coordinates(varied.bodies, varied.internal)[p:]
    now = np.zeros((point.bodies, 12, 1))
    now[:, 6:9, 0], now[:, 9:, 0] = point.linear, point.angular
    return free.coordinates(now, point.internal_rates[:, None])[p:, 0], K


def _moved(free: Free, state: State, step: np.ndarray, t: float) -> State:
    """The state after a step along the constraints, which is cut where it is long."""
    point, v = free.point, free.velocities.shape[1]
    change = free.spread(free.velocities @ step[:v, None])[..., 0]
    size = max(np.abs(change[:, :3]).max() / point.model.length, np.abs(change[:, 3:]).max())
    part = min(1.0, LONGEST_STEP / size) if size > 0 else 1.0
    for _ in range(20):
        moved = displaced(state, part * change[:, :3], part * change[:, 3:])
        projected = project(point.model, point.metric, moved, t, point.kept)
        if projected is not None:
            break
        part *= 0.5
    else:
        raise AssemblyError(f"{OWNER}: the constraints could not be followed; start nearer to the equilibrium")
    found = projected.state
    internal = point.model.carried.numbers(point.model.carried.flat(state))[: point.internal] + part * step[v:]
    named = {name: internal[where] for name, where in point.model.carried.internal.items()}
    return State(found.position, found.orientation, state.velocity, state.angular_velocity,
                 angles=point.state.angles, internal=named)  # fmt: skip
