"""What QuIRK raises.

Every message names the object, the argument, what came and what to do.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bodies.state import State
    from .result.result import Result


class QuirkError(Exception):
    """Base of all errors that QuIRK raises on purpose.

    Examples
    --------
    >>> try:
    ...     quirk.Body("rod", mass=-1.0, inertia=[1, 1, 1])
    ... except quirk.QuirkError as error:
    ...     print(error)
    Body "rod": mass must be positive; got -1
    """


class InputError(QuirkError, ValueError):
    """A value given by the user cannot be used.

    Examples
    --------
    >>> try:
    ...     quirk.Frame(origin=[0, 0])
    ... except quirk.InputError as error:
    ...     print(error)
    Frame: origin must have shape (3,); got shape (2,): [0, 0]
    """


class UnknownNameError(QuirkError, KeyError):
    """No object of that name exists.

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
    """The steps of a run are limited by stability, not by accuracy; another method would take longer ones."""


class SeriesWarning(UserWarning):
    """A run by Taylor series uses another method, as a part of the system has no series or one that ends."""


class SensitivityWarning(UserWarning):
    """A derivative is not exact, or there is none: behind a time at which the motion splits, or of joined results."""


class ChangedFunctionWarning(UserWarning):
    """What a result shows of the past is computed with a user's function that an event may have changed since."""


class SaveWarning(UserWarning):
    """A file that was written does not hold all of what it takes to go on with it elsewhere."""


class CheckpointWarning(UserWarning):
    """A part of a checkpoint is damaged and computed again, or events set values in Python that it does not hold."""


class StatefulWarning(UserWarning):
    """A function of a load, constraint or motion sets what it reads itself, so that its value depends on past calls."""


class BreaksWarning(UserWarning):
    """Times given as `breaks` lie outside of the run, and have no effect."""


class DegreesWarning(UserWarning):
    """An angle is more than a whole turn, and a round number, as degrees are; angles are in radians."""


class WriteError(QuirkError, OSError):
    """A file could not be written, as on a full disk; the message says what is kept."""


class AssemblyError(QuirkError, RuntimeError):
    """No nearby pose satisfies all constraints.

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
    """A search ended without a solution.

    Attributes
    ----------
    state : State
        The best state that was found, or the last one on a path.
    body : str or None
        Name of the body that misses most, where one does.
    residual : float or None
        What is left there, in the unit that the message names.

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
    """A run could not go on.

    Attributes
    ----------
    time : float
        Time reached, s.
    body : str or None
        Name of the body at which the trouble shows.
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
    """Return the `stacklevel` of a warning that is given where QuIRK was called, from wherever in it."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        frame, level = frame.f_back, level + 1
    return level


class SwitchingError(RuntimeError):
    """An action could not be done; the message says which part stands in the way."""
