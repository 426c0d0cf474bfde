"""Loads given as numbers or as a user's function, with the checks of what that returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..autodiff.numerical import by_interpolation
from ..errors import InputError
from ..functions.expression import function_of
from ..functions.motion import Motion, as_motion
from ..functions.user_function import of_floats
from ..util import validate

# What a call leaves: three numbers at most, and whether a function compiled by numba has failed.
RETURNS, FAILED = 4, 3
# What a `Value` is made of: numbers, a function, a motion, or the text of a function; and lists of these.
LoadLike = ArrayLike | Motion | Sequence[Any] | Callable[..., Any]


class Value:
    """A load given as numbers or as a user's function.

    What a function returns is checked at every call: a wrong shape or a value that is not finite stops the run
    with an InputError that names the element.

    Parameters
    ----------
    owner, argument : the element and its argument, for messages
    value : array of `shape`, or function, which may be the text of an `Expression` or have such among its entries
    shape : of the load, () or (3,)
    call : form in which the function is called, for messages
    sizes : of its arguments after the time: 0 for a number, else the length of a vector or the shape of an array

    Attributes
    ----------
    constant : array of `shape`, or None
    function : the user's function, or None
    """

    returns = RETURNS

    def __init__(
        self,
        owner: str,
        argument: str,
        value: Any,
        shape: tuple[int, ...],
        call: str,
        sizes: tuple[int | tuple[int, ...], ...] = (),
    ) -> None:
        self.owner, self.argument, self.shape, self.form, self.sizes = owner, argument, shape, call, sizes
        value = function_of(owner, argument, value, re.findall(r"\w+", call)[1:])
        self.function = value if callable(value) else None
        self.constant = None if callable(value) else validate.array(owner, argument, value, shape)

    @property
    def count(self) -> int:
        """Number of numbers in its arguments."""
        return sum(_count(size) for size in self.sizes)

    @property
    def room(self) -> int:
        """Number of inputs that a call takes in machine code: two addresses, the arguments, and a copy of these."""
        return 2 + 2 * self.count

    def __call__(self, t: float, *arguments: Any) -> np.ndarray:
        """Return what the function returns at one state."""
        assert self.function is not None
        try:
            returned = self.function(t, *arguments)
        except Exception as error:
            raise InputError(
                f"{self.owner}: its {self.argument} function, called as {self.form}, failed at t = {t:g} s: "
                f"{type(error).__name__}: {error}"
            ) from error
        what = f"what its {self.argument} function returns"
        return validate.array(f"{self.owner}, at t = {t:g} s", what, returned, self.shape)

    def arguments(self, numbers: np.ndarray) -> list[Any]:
        """Return its arguments, floats and new arrays, from `count` numbers; the function may keep or change them."""
        parts, place = [], 0
        for size in self.sizes:
            given = numbers[place : place + _count(size)].copy()
            parts.append(given.reshape(size) if size else float(given[0]))
            place += _count(size)
        return parts

    def along(self, order: int, t: Jet, *arguments: Any) -> Any:
        """Return the value at one state or, if `order` is not 0, as jets along a motion with so many derivatives.

        The function is run on jets or, where it takes floats alone, interpolated.
        """
        graded = any(g is not None for x in arguments for jet in np.ravel(x) for g in jet.gradient)
        if order == 0 and not graded:
            found = self(float(t.value), *(_floats(x) for x in arguments))
            return found if self.shape else float(found)
        short = [_truncated(x, order) for x in (t, *arguments)]
        try:
            load = self.shaped(of_floats(self.function, *short)[0])
        except Exception as error:  # whatever it is in it that does not take jets
            if graded:
                raise InputError(
                    f"{self.owner}: its {self.argument} function, called as {self.form}, cannot be differentiated at "
                    f"t = {t:g} s ({type(error).__name__}: {error}): use + - * / ** and numpy's functions alone"
                ) from error
            load = None
        if load is None or not all(np.isfinite(x.taylor).all() for x in np.ravel(load) if isinstance(x, Jet)):
            load = by_interpolation(self, short[0], tuple(short[1:]))
            for jet in np.ravel(load):
                jet.gradient = [None] * len(t.gradient)
        return load if self.shape else np.ravel(load)[0]

    def shaped(self, returned: Any) -> np.ndarray:
        """Return what the function returned for jets as an array of `shape`; ValueError if it has another shape."""
        load = np.asarray(returned, dtype=object)
        if load.shape != self.shape or not all(isinstance(x, Jet | int | float | np.number) for x in load.ravel()):
            raise ValueError(f"it returned {returned!r}")
        return load


def _count(size: int | tuple[int, ...]) -> int:
    """Return how many numbers an argument has, given its entry of `Value.sizes`."""
    return int(np.prod(size, dtype=int)) if isinstance(size, tuple) else max(size, 1)


def _floats(x: Any) -> Any:
    """The values of jets."""
    if isinstance(x, np.ndarray):
        return np.array([_floats(entry) for entry in x])
    return float(x.value if isinstance(x, Jet) else x)


def _truncated(x: Any, order: int) -> Any:
    """Jets with no more than so many derivatives."""
    if isinstance(x, np.ndarray):
        return np.array([_truncated(entry, order) for entry in x], dtype=object)
    return Jet(x.taylor[: order + 1], x.gradient)


def motions_of(owner: str, argument: str, value: Any) -> dict[str, Motion]:
    """Return the three components of a load over time, by the names of attributes; none if no entry is a Motion."""
    listed = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    if not any(isinstance(x, Motion) for x in listed):
        return {}
    if len(listed) != 3:
        raise InputError(f"{owner}: {argument} must be three numbers or Motions; got {value!r}")
    made = [as_motion(owner, argument, x) for x in listed]
    return {f"{argument}_{axis}": motion for axis, motion in zip("xyz", made, strict=True)}
