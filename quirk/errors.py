"""Errors and warnings that QuIRK raises.

Each message names the object, the argument, the value received and the remedy.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bodies.state import State
    from .result.result import Result


class QuirkError(Exception):
    """Base class of all errors raised deliberately by QuIRK.

    Examples
    --------
    >>> try:
    ...     quirk.Body("rod", mass=-1.0, inertia=[1, 1, 1])
    ... except quirk.QuirkError as error:
    ...     print(error)
    Body "rod": mass must be positive; got -1
    """


class InputError(QuirkError, ValueError):
    """An argument has an invalid value.

    Examples
    --------
    >>> try:
    ...     quirk.Frame(origin=[0, 0])
    ... except quirk.InputError as error:
    ...     print(error)
    Frame: origin must have shape (3,); got shape (2,): [0, 0]
    """


class UnknownNameError(QuirkError, KeyError):
    """No object has the requested name.

    Examples
    --------
    >>> system = quirk.System([quirk.Body.sphere("ball", 1.0, 0.1)])
    >>> try:
    ...     system["bal"]
    ... except quirk.UnknownNameError as error:
    ...     print(error)
    System: no object is named "bal"; did you mean "ball"?
    """

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print the message in quotes


class InconsistentStateError(InputError):
    """Poses or velocities violate a constraint.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[0, 0, 1.0])
    >>> system = quirk.System([ball, quirk.PointOnPlane("floor", quirk.GROUND, ball, point=[0, 0, 0], axis="z")])
    >>> try:
    ...     quirk.simulate(system, 1.0)
    ... except quirk.InconsistentStateError as error:
    ...     print(str(error)[:21])
    PointOnPlane "floor":
    """


class StiffnessWarning(UserWarning):
    """An explicit method takes short steps for stability, not for accuracy; an implicit one would take longer steps."""


class SeriesWarning(UserWarning):
    """A run with the Taylor method continues with another method.

    A load has no Taylor series, or one that ends.
    """


class SensitivityWarning(UserWarning):
    """A sensitivity is inexact or undefined, for instance after a bifurcation of the motion or in joined results."""


class ChangedFunctionWarning(UserWarning):
    """A quantity of a past time is evaluated with a user function that an event may have changed since then."""


class SaveWarning(UserWarning):
    """A saved file lacks data needed to continue from it in another process."""


class CheckpointWarning(UserWarning):
    """A damaged part of a checkpoint is computed again, or values that events have set in Python are missing in it."""


class StatefulWarning(UserWarning):
    """A user function of a load, constraint or motion stores values between calls, so it depends on earlier calls."""


class BreaksWarning(UserWarning):
    """Some times of the argument `breaks` lie outside the run, and have no effect."""


class DegreesWarning(UserWarning):
    """An angle exceeds a full turn and is a round number, so it is probably in degrees; angles are in radians."""


class WriteError(QuirkError, OSError):
    """A file could not be written, for instance because the disk is full; the message says which data remain."""


class AssemblyError(QuirkError, RuntimeError):
    """No pose near the initial one satisfies all constraints.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[1, 0, 0])
    >>> rope = quirk.Distance("rope", quirk.GROUND, ball, length=1.0)
    >>> pole = quirk.Distance("pole", quirk.GROUND, ball, points=[[3, 0, 0], [1, 0, 0]], length=1.0)
    >>> try:
    ...     quirk.System([ball, rope, pole]).assemble()
    ... except quirk.AssemblyError:
    ...     print("these cannot meet")
    these cannot meet
    """


class ConvergenceError(InputError):
    """An iterative search ended without a solution.

    Attributes
    ----------
    state : State
        The state with the smallest residual, or the last state on a path.
    body : str or None
        Name of the body with the largest residual, if any.
    residual : float or None
        Residual of that body, in the unit that the message gives.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1)
    >>> try:
    ...     quirk.System([ball], gravity=[0, 0, -9.81]).equilibrium()
    ... except quirk.ConvergenceError as error:
    ...     print(error.body, round(error.residual, 6))
    ball 9.81
    """

    def __init__(self, message: str, *, state: State, body: str | None = None, residual: float | None = None) -> None:
        super().__init__(message)
        self.state = state
        self.body = body
        self.residual = residual


class SimulationError(QuirkError, RuntimeError):
    """A run could not be completed.

    Attributes
    ----------
    time : float
        Time reached, s.
    body : str or None
        Name of the body at which the error occurred, if known.
    result : Result or None
        Everything computed up to `time`.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1)
    >>> push = quirk.Force("push", ball, lambda t, *motion: [1.0 / (1.0 - t), 0, 0])
    >>> try:
    ...     quirk.simulate(quirk.System([ball, push]), 2.0)
    ... except quirk.SimulationError as error:
    ...     print(round(error.time, 3), error.result.status)
    1.0 failed
    """

    def __init__(self, message: str, *, time: float, body: str | None = None, result: Result | None = None) -> None:
        super().__init__(message)
        self.time = time
        self.body = body
        self.result = result


def outside() -> int:
    """Return the `stacklevel` for `warnings.warn` at which a warning shows the caller's line outside QuIRK."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        frame, level = frame.f_back, level + 1
    return level


class SwitchingError(RuntimeError):
    """An action of an event failed; the message names the constraint or force that prevented it."""
