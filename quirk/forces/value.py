"""Loads given as numbers or as a user's function, with the checks of what that returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quirk import validate
from quirk.constraints.jets import Jet
from quirk.errors import InputError, QuirkError

# Intervals, s, over which a function is differentiated; the one whose neighbours agree best is taken.
INTERVALS = 0.25 ** np.arange(10)
# Nodes of an interpolating polynomial, as parts of an interval: Chebyshev points and zero.
NODES = np.cos(np.pi * (np.arange(9) + 0.5) / 9)
TO_TAYLOR = np.linalg.inv(np.vander(NODES, increasing=True))


class Value:
    """A load given as numbers or as a user's function.

    What a function returns is checked at every call: a wrong shape or a value that is not finite stops the run
    with an InputError that names the element.

    Parameters
    ----------
    owner, argument : who asks for it, for messages
    value : array of `shape`, or function
    call : how the function is called

    Attributes
    ----------
    constant : array of `shape`, or None
    function : the user's function, or None
    """

    def __init__(self, owner: str, argument: str, value: Any, shape: tuple[int, ...], call: str) -> None:
        self.owner, self.argument, self.shape, self.form = owner, argument, shape, call
        self.function = value if callable(value) else None
        self.constant = None if callable(value) else validate.array(owner, argument, value, shape)

    def __call__(self, t: Any, *arguments: Any) -> np.ndarray:
        """Return the load at one state, or as jets along a motion."""
        if self.function is None:
            assert self.constant is not None
            return self.constant
        if isinstance(t, Jet):
            return self._along(t, arguments)
        try:
            returned = self.function(t, *arguments)
        except QuirkError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.owner}: its {self.argument} function, called as {self.form}, failed at t = {t:g} s: "
                f"{type(error).__name__}: {error}"
            ) from error
        what = f"what its {self.argument} function returns"
        return validate.array(f"{self.owner}, at t = {t:g} s", what, returned, self.shape)

    def _along(self, t: Jet, arguments: tuple[Any, ...]) -> np.ndarray:
        """Jets of the load: from the function itself or, where it takes floats alone, from differences."""
        try:
            returned = getattr(self.function, "py_func", self.function)(t, *arguments)  # type: ignore[misc]
            load = np.asarray(returned, dtype=object)
            if load.shape == self.shape and all(isinstance(x, Jet | int | float) for x in load.ravel()):
                return load
        except Exception:  # whatever it is in it that does not take jets
            pass
        return by_differences(self, t, arguments)

    @property
    def numbers(self) -> np.ndarray:
        """The constant as three numbers; zeros for a function."""
        numbers = np.zeros(3)
        if self.constant is not None:
            numbers[: self.constant.size] = self.constant
        return numbers


def by_differences(function: Callable[..., Any], t: Jet, arguments: tuple[Any, ...]) -> np.ndarray:
    """Jets of function(t, ...) of floats: from values along the polynomials that the arguments are.

    Of interpolating polynomials over shorter and shorter intervals the one that differs least from the next.
    """
    terms = len(t.taylor)

    def at(x: Any, h: float) -> Any:
        if isinstance(x, np.ndarray):
            return np.array([at(entry, h) for entry in x])
        return float(np.polyval(x.taylor[::-1], h)) if isinstance(x, Jet) else float(x)

    start = np.asarray(function(at(t, 0.0), *(at(x, 0.0) for x in arguments)), dtype=float)
    found = []
    for interval in INTERVALS:
        values = [function(at(t, h), *(at(x, h) for x in arguments)) for h in interval * NODES]
        series = np.tensordot(TO_TAYLOR, np.array(values, dtype=float), axes=1)[:terms]
        found.append(series / np.reshape(interval ** np.arange(terms), (-1, *[1] * start.ndim)))
    best = np.empty((terms, *start.shape))
    best[0] = start
    for k in range(1, terms):
        estimates = np.array([series[k] for series in found])
        change = np.abs(np.diff(estimates, axis=0)).reshape(len(found) - 1, -1).max(axis=1)
        best[k] = estimates[int(np.argmin(change)) + 1]
    jets = np.empty(start.shape, dtype=object)
    for place in np.ndindex(*start.shape):
        jets[place] = Jet([float(c[place]) for c in best], [])
    return jets
