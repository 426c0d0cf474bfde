"""Registry of the kernels (compiled functions) of each integration method, by the class of its stepper.

A stepper is a record with the data of a method. Its field `exponent` is the inverse of the order of the error in the
step size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quirk.jit.by_class import ByClass
from quirk.jit.compilation import kernel

from ..kernels.mechanism import Mechanism
from .run_state import RunState, Settings

# Maximum number of parts of a recorded step.
MOST_PARTS = 32


@kernel
def undivided(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
    """Number of parts into which a recorded step is divided: 1, the default of methods without a rule of their own."""
    return 1


@kernel
def keep_rejected_size(mechanism: Mechanism, stepper: Any, run: RunState, h: float, ended: bool) -> None:
    """Do nothing after a rejected step, so that the step size chosen by the error control remains.

    This is the default for methods without a rule of their own.
    """


@kernel
def never(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, h: float, ended: bool) -> bool:
    """Return False: the method takes all steps itself."""
    return False


# take(mechanism, stepper, settings, run, h) fills run.y_new with the state at clock.t_new, projected onto the
# constraints if the run uses projection. It returns the ratio of error to tolerance, infinity if the state cannot be
# computed, 0 for fixed steps; and may shorten the step.
take = ByClass(1)
# between(mechanism, stepper, settings, run, t, state) fills a state within the step, and returns whether it is finite.
between = ByClass(1)
# estimate(stepper, run, x, h, state) fills an approximate state at fraction x of a step, without evaluations.
estimate = ByClass(0)
# close(stepper, settings, run) copies the results at the end of a step to the start of the next step.
close = ByClass(0)
# parts(mechanism, stepper, settings, run) returns the number of parts into which a recorded step is divided, at most
# MOST_PARTS: for methods whose steps are too long for the Runge-Kutta method that integrates variations.
parts = ByClass(1, undivided)
# replan(mechanism, stepper, run, h, ended) may change the size chosen for the next step, such as after a step of size h
# has been rejected; `ended` is true if the end of that step has been computed.
replan = ByClass(1, keep_rejected_size)
# needs_runge_kutta(mechanism, stepper, settings, run, h, ended) is for methods that do not cross singular
# configurations. It returns whether a step of size h leads across one, and sets clock.t_new to the time up to which a
# Runge-Kutta method takes the steps; `ended` is true if the end of the step has been computed.
needs_runge_kutta = ByClass(1, never)


def implement(
    stepper: type,
    *,
    take: Callable[..., Any],
    between: Callable[..., Any],
    estimate: Callable[..., Any],
    close: Callable[..., Any],
    parts: Callable[..., Any] = undivided,
    replan: Callable[..., Any] = keep_rejected_size,
    needs_runge_kutta: Callable[..., Any] = never,
) -> None:
    """Register the kernels of an integration method, whose data are records of the class `stepper`.

    Parameters
    ----------
    take : function that computes a step
    between, estimate : functions that compute the state at a time within the step: by the continuous extension, and by
        a cheaper approximation
    close : function that prepares the next step after an accepted step
    parts : function that returns the number of parts into which a recorded step is divided
    replan : function that chooses the step size after a rejected step
    needs_runge_kutta : function that returns whether a Runge-Kutta method must repeat the step
    """
    kernels = {
        "take": take,
        "between": between,
        "estimate": estimate,
        "close": close,
        "parts": parts,
        "replan": replan,
        "needs_runge_kutta": needs_runge_kutta,
    }
    for name, one in kernels.items():
        globals()[name].add(stepper, one)
