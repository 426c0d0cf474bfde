"""One step of an explicit Runge-Kutta method, and accepted steps that can be sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from .control import STALL_PROGRESS, STALL_STEPS
from .tableau import Tableau, bernstein

Function = Callable[[float, np.ndarray], np.ndarray]


class Projection(Protocol):
    """Protocol of projections of states onto a manifold."""

    def project(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """Return the state y (N,) projected onto the manifold at time t, or None if y is too far from the manifold."""


class Manifold(Projection, Protocol):
    """Protocol of projections that also extract the tangential component of an error."""

    def tangential(self, error: np.ndarray) -> np.ndarray:
        """Return the component (N,) of an error (N,) tangential to the manifold at the last projected state."""


class InterpolatedStep(Protocol):
    """Protocol of steps from t to t_new with dense output."""

    t: float
    t_new: float
    y_new: np.ndarray

    def sample(self, t: float) -> np.ndarray:
        """Return the state y (N,) at time t within the step, with the accuracy of the method."""

    def near(self, t: float) -> np.ndarray:
        """Return an approximation of the state y (N,) at time t within the step, without further evaluations of f."""


# Callback for an accepted step, possibly of fixed size; it returns whether the step must be repeated because a break
# was found in it.
Look = Callable[..., bool]

S = TypeVar("S", bound=InterpolatedStep)


class IntegrationError(RuntimeError):
    """Error raised if an integration cannot continue.

    Attributes
    ----------
    time : float
        Time reached, s.
    components : tuple of int
        Indices of the components of y in which the error occurred.
    """

    def __init__(self, message: str, time: float, components: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.time = time
        self.components = tuple(int(c) for c in components)


@dataclass
class Statistics:
    """Cost of a run.

    Attributes
    ----------
    steps, rejected : numbers of accepted and rejected time steps
    evaluations : number of evaluations of y' = f(t, y)
    corrections : number of iterations in all projections onto the constraints
    factorisations : number of matrix factorizations in projections; each evaluation requires one that is not counted
    wall_time : wall time of the run, s
    in_python : number of calls and total time, s, of each function that compiled code called in Python, by name
    methods : changes of the method during the run, each as its time, s, and the name of the new method
    """

    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    corrections: int = 0
    factorisations: int = 0
    wall_time: float = 0.0
    in_python: dict[str, tuple[int, float]] = field(default_factory=dict)
    methods: list[tuple[float, str]] = field(default_factory=list)


def rk_step(f: Function, t: float, y: np.ndarray, h: float, tableau: Tableau, k: np.ndarray) -> np.ndarray:
    """Return y at t + h by one Runge-Kutta step.

    `tableau` contains the coefficients of the method. Row 0 of `k` contains the slope f(t, y) with N components; the
    slopes of the other stages are written to the other rows. `k` has `Tableau.buffers` rows.
    """
    for i in range(1, tableau.stages):
        k[i] = f(t + tableau.c[i] * h, y + h * (tableau.a[i, :i] @ k[:i]))
    return y + h * (tableau.b @ k[: tableau.stages])


@dataclass
class Step:
    """An accepted step of a Runge-Kutta method from (t, y) to (t_new, y_new), with its stages `k` for dense output.

    The rows of `k` are the slopes y' (N,) at the stages, at the end, and at additional stages for dense output; N is
    the size of y.
    """

    f: Function
    t: float
    y: np.ndarray
    t_new: float
    y_new: np.ndarray
    tableau: Tableau
    k: np.ndarray
    _complete: bool = False

    def sample(self, t: float) -> np.ndarray:
        """Return the state y (N,) at time t within the step, by the dense output of the method."""
        h = self.t_new - self.t
        if not self._complete:
            first = self.tableau.stages + 1
            for n, (c, a) in enumerate(zip(self.tableau.extra_c, self.tableau.extra_a, strict=True)):
                i = first + n
                self.k[i] = self.f(self.t + c * h, self.y + h * (a[:i] @ self.k[:i]))
            self._complete = True
        dense = self.tableau.dense
        return self.y + h * ((dense @ bernstein((t - self.t) / h, dense.shape[1])) @ self.k)

    def near(self, t: float) -> np.ndarray:
        """Return the state y (N,) at time t within the step, by cubic Hermite interpolation between the two ends."""
        h, k = self.t_new - self.t, self.k
        x = (t - self.t) / h
        bend = (1 - 2 * x) * (self.y_new - self.y) + h * ((x - 1) * k[0] + x * k[self.tableau.stages])
        return (1 - x) * self.y + x * self.y_new + x * (x - 1) * bend


def end_state(
    f: Function, t: float, y: np.ndarray, tableau: Tableau, k: np.ndarray, manifold: Manifold | None
) -> np.ndarray | None:
    """Return the end state y (N,) of a step projected onto the manifold, or None if the step is invalid.

    A step is invalid if its end state is not finite or too far from the manifold. The slope f at the returned state is
    written to row `tableau.stages` of the slopes `k`, as the first stage of the next step; t is the time at the end of
    the step.
    """
    if not np.isfinite(y).all():
        return None
    if manifold is not None:
        projected = manifold.project(t, y)
        if projected is None:
            return None
        y = projected
    k[tableau.stages] = f(t, y)
    return y


def guarded(steps: Iterator[S], start: float, end: float) -> Iterator[S]:
    """Yield the steps of a run, and raise an error if STALL_STEPS consecutive steps make too little progress.

    `start` and `end` are the times of the start and end of the run.

    Raises
    ------
    IntegrationError
        If the steps have become so short that the run would not end.
    """
    count, mark = 0, start
    for step in steps:
        yield step
        count += 1
        if count == STALL_STEPS:
            if step.t_new - mark < STALL_PROGRESS * (end - start):
                raise stalled(step.t_new, step.t_new - mark)
            count, mark = 0, step.t_new


# Advice for explicit methods with very short steps, where no stiffness detection is active.
OF_STIFFNESS = 'if the system is stiff, use method="auto" or "RadauIIA9"'
# The same where a run itself chooses between an explicit and an implicit method.
OF_IMPLICIT = 'or method="RadauIIA9", which takes implicit steps from the start on'


def stalled(time: float, progress: float, *, advice: str = "") -> IntegrationError:
    """Return the IntegrationError for a run whose steps have become too short to reach the end.

    `time` is the time reached, and `progress` the time covered by the last STALL_STEPS steps, s. `advice` is
    added to the message.
    """
    return IntegrationError(
        f"the last {STALL_STEPS} steps advanced by only {progress:.1e} s; tolerances close to round-off "
        "do this, and forces that jump with the state, such as dry friction by the sign of a velocity: "
        "loosen the tolerances, replace such a force by Friction or JointFriction, or make it continuous over a small "
        "range, or use a fixed step" + (f"; {advice}" if advice else ""),
        time,
    )
