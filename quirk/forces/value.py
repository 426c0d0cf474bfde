"""Loads given as numbers or as a user's function, with the checks of what that returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from quirk import validate
from quirk.constraints.jets import Jet
from quirk.errors import InputError

# Functions are differentiated by interpolation over the first of these intervals, s, over which the polynomial is as
# good as this: its last coefficients are this part of the largest.
INTERVALS, RESOLVED = 0.25 ** np.arange(17), 1e-11
# Nodes of an interpolation beyond the derivatives that are asked for.
MORE_NODES = 10


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
        except Exception as error:
            raise InputError(
                f"{self.owner}: its {self.argument} function, called as {self.form}, failed at t = {t:g} s: "
                f"{type(error).__name__}: {error}"
            ) from error
        what = f"what its {self.argument} function returns"
        return validate.array(f"{self.owner}, at t = {t:g} s", what, returned, self.shape)

    def _along(self, t: Jet, arguments: tuple[Any, ...]) -> np.ndarray:
        """Jets of the load: from the function itself or, where it takes floats alone, by interpolation."""
        try:
            returned = getattr(self.function, "py_func", self.function)(t, *arguments)  # type: ignore[misc]
            load = np.asarray(returned, dtype=object)
            coefficients = [x.taylor if isinstance(x, Jet) else [float(x)] for x in load.ravel()]
            if load.shape == self.shape and all(np.isfinite(c).all() for c in coefficients):
                return load
        except Exception:  # whatever it is in it that does not take jets
            pass
        return by_interpolation(self, t, arguments)

    @property
    def numbers(self) -> np.ndarray:
        """The constant as three numbers; zeros for a function."""
        numbers = np.zeros(3)
        if self.constant is not None:
            numbers[: self.constant.size] = self.constant
        return numbers


def by_interpolation(function: Callable[..., Any], t: Jet, arguments: tuple[Any, ...]) -> np.ndarray:
    """Jets of function(t, ...) of floats: from values along the polynomials that the arguments are.

    Over the longest interval over which Chebyshev polynomials follow the function; the shorter, the less digits are
    left. Intervals where the function fails are passed over.
    """
    terms = len(t.taylor)

    def at(x: Any, h: float) -> Any:
        if isinstance(x, np.ndarray):
            return np.array([at(entry, h) for entry in x])
        return float(np.polyval(x.taylor[::-1], h)) if isinstance(x, Jet) else float(x)

    def value(h: float) -> np.ndarray:
        return np.asarray(function(at(t, h), *(at(x, h) for x in arguments)), dtype=float)

    start = value(0.0)
    nodes = np.cos(np.pi * (np.arange(terms + MORE_NODES) + 0.5) / (terms + MORE_NODES))
    best, least, trouble = np.empty((terms, *start.shape)), np.inf, None
    for interval in INTERVALS:
        try:
            values = np.array([value(h) for h in interval * nodes])
        except InputError as error:
            trouble = error
            continue
        series = chebyshev.chebfit(nodes, values.reshape(len(nodes), -1), len(nodes) - 1)
        missing = np.abs(series[-3:]).max() / max(np.abs(series).max(), np.finfo(float).tiny)
        if missing < least:
            least = missing
            slopes = [chebyshev.chebval(0.0, chebyshev.chebder(series, k)) for k in range(terms)]
            scale = interval ** np.arange(terms) * np.cumprod([1.0, *range(1, terms)])
            best = (np.array(slopes) / scale[:, None]).reshape(terms, *start.shape)
        if missing < RESOLVED:
            break
    if trouble is not None and least == np.inf:
        raise trouble
    best[0] = start
    jets = np.empty(start.shape, dtype=object)
    for place in np.ndindex(*start.shape):
        jets[place] = Jet([float(c[place]) for c in best], [])
    return jets
