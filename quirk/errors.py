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
    """Error raised if an argument has an invalid value.

    Examples
    --------
    >>> try:
    ...     quirk.Frame(origin=[0, 0])
    ... except quirk.InputError as error:
    ...     print(error)
    Frame: origin must have shape (3,); got shape (2,): [0, 0]
    """


class UnknownNameError(QuirkError, KeyError):
    """Error raised if no object has the requested name.

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
    """Error raised if poses or velocities violate a constraint.

    Attributes
    ----------
    violation : str
        The message without remedies that do not apply to members of a batch; empty if the message has none.

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

    violation: str = ""


class StiffnessWarning(UserWarning):
    """Warning that an explicit method takes short steps for stability; an implicit method could take longer steps.

    It is also issued where fixed steps are too long for the direction of slow slip.
    """


class SeriesWarning(UserWarning):
    """Warning that a run with the Taylor method continues with another method.

    The reason is a load without a Taylor series, or a time beyond which the series does not converge.
    """


class SensitivityWarning(UserWarning):
    """Warning that a sensitivity is inexact or undefined, as after a bifurcation or in joined results."""


class ChangedFunctionWarning(UserWarning):
    """Warning that a quantity is evaluated with a user function that may have changed since the quantity's time."""


class SaveWarning(UserWarning):
    """Warning that a saved file lacks data that are needed to continue from it in another process."""


class CheckpointWarning(UserWarning):
    """Warning that part of a checkpoint is damaged, or that it lacks values set by events in Python."""


class StatefulWarning(UserWarning):
    """Warning that a user function stores values between calls, so that its result depends on earlier calls."""


class BreaksWarning(UserWarning):
    """Warning that times of the argument `breaks` lie outside the run, and have no effect."""


class RateJumpWarning(UserWarning):
    """Warning that a rate jumps in time during a run; the result lacks the impulse and its work.

    The rate is that of a driver's motion, or of the user function of a constraint or of a closed gap.
    """


class DegreesWarning(UserWarning):
    """Warning that an angle is probably in degrees: it exceeds a full turn and is a round number."""


class IgnoredPartWarning(UserWarning):
    """Warning that a kinematic analysis ignores parts of the system: a negative gap, or an event that would act."""


class OutputWarning(UserWarning):
    """Warning that output times are too far apart for a quantity that is interpolated or integrated between them."""


class RoundOffWarning(UserWarning):
    """Warning of lost digits in accelerations and loads.

    The dense solver loses digits where light bodies transmit large loads, and all solvers lose them at output states
    near a singular configuration.
    """


class WriteError(QuirkError, OSError):
    """Error raised if a file cannot be written, as on a full disk; the message states which data remain."""


class AssemblyError(QuirkError, RuntimeError):
    """Error raised if no pose near the initial one satisfies all constraints.

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
    """Error raised if an iterative search ends without a solution.

    Attributes
    ----------
    state : State
        The state with the smallest residual, or the last state on a path.
    body : str or None
        Name of the body with the largest residual, if any.
    residual : float or None
        Residual of that body, in the unit stated in the message.

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
    """Error raised if a run cannot be completed.

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
    """Return the `stacklevel` at which `warnings.warn` shows the caller's line outside QuIRK.

    Frames of functools, which calls cached properties, are passed over as well.
    """
    inside = (__name__.partition(".")[0], "functools")
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    return level


class SwitchingError(RuntimeError):
    """Error raised if an action of an event fails; the message names the constraint or force that prevents it."""
