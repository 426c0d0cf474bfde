"""Loads given by the user as numbers or functions, with checks of the results of the functions.

A jet is a number with time derivatives.
"""

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
from ..functions.user_function import check_arguments, check_state_arguments, of_floats, takes_state
from ..util import validate

# Form of the call of a function of the whole state, for messages.
STATE_CALL = "f(t, state)"
# Outputs of a call: at most three numbers, and a flag that is nonzero if a numba function has failed.
RETURNS, FAILED = 4, 3
# Types from which a `Value` can be constructed: numbers, a function, a motion, a function as text; and lists of these.
LoadLike = ArrayLike | Motion | Sequence[Any] | Callable[..., Any]


class Value:
    """A load or another parameter, given by the user as numbers or as a function.

    The result of a function is checked at every call: a wrong shape or a non-finite value ends the run with an
    InputError that names the element.

    Parameters
    ----------
    owner, argument : names of the element and its argument, for errors
    value : array of `shape`; or a function, which may be the string of an `Expression`, or a list with such strings
    shape : shape of the load, () or (3,)
    call : form of the function call, such as "f(t, angle, rate)"
    sizes : sizes of the arguments after the time: 0 for a number, the length of a vector, or the shape of an array

    Attributes
    ----------
    forms : forms in which a function may be called, with their numbers of arguments
    constant : array of `shape`, or None for a function
    function : the user function, or None for numbers
    of_state : whether the function is one of the whole state, ``f(t, state)``; see `quirk.forces.state_function`
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
        names = re.findall(r"\w+", call)[1:]
        value = function_of(owner, argument, value, names)
        self.forms = {call: 1 + len(sizes)} | ({} if len(names) == 2 else {STATE_CALL: 2})
        check_arguments(owner, argument, value, self.forms)
        self.of_state = takes_state(value, names)
        if self.of_state:
            check_state_arguments(owner, argument, value, call)
            self.form, self.sizes = STATE_CALL, ()
        self.function = value if callable(value) else None
        self.constant = None if callable(value) else validate.array(owner, argument, value, shape)

    @property
    def source(self) -> Any:
        """The function as passed by the user, from which `function` may be derived."""
        return getattr(self.function, "user_function", self.function) if self.of_state else self.function

    @property
    def count(self) -> int:
        """Total number of floats in the arguments after the time."""
        return sum(_count(size) for size in self.sizes)

    @property
    def entries(self) -> int:
        """Number of entries that a call of the function occupies in the input array of machine code.

        The entries are two addresses, the arguments, and a copy of the arguments.
        """
        return 2 + 2 * self.count

    def __call__(self, t: float, *arguments: Any) -> np.ndarray:
        """Return the checked result of the function at time t (s) for the given arguments."""
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
        """Return the arguments of the function as floats and arrays, from a flat array of `count` numbers.

        The arrays are copies, because the function may modify them.
        """
        parts, place = [], 0
        for size in self.sizes:
            given = numbers[place : place + _count(size)].copy()
            parts.append(given.reshape(size) if size else float(given[0]))
            place += _count(size)
        return parts

    def along(self, order: int, t: Jet, *arguments: Any) -> Any:
        """Return the value at time t for the given arguments; for `order` > 0 a jet with `order` time derivatives.

        The function is evaluated with jets, or differentiated numerically if it accepts only floats.
        """
        graded = any(g is not None for x in arguments for jet in np.ravel(x) for g in jet.gradient)
        if order == 0 and not graded:
            found = self(float(t.value), *(as_floats(x) for x in arguments))
            return found if self.shape else float(found)
        short = [_truncated(x, order) for x in (t, *arguments)]
        # Rates of coordinates, which functions of the state may read, have one derivative fewer than positions.
        given = (t, *arguments) if self.of_state else short
        try:
            load = self.shaped(of_floats(self.function, *given)[0])
        except Exception as error:  # it may fail on jets in any way
            if graded:
                raise InputError(
                    f"{self.owner}: its {self.argument} function, called as {self.form}, cannot be differentiated at "
                    f"t = {t:g} s ({type(error).__name__}: {error}): use + - * / ** and numpy's functions alone"
                ) from error
            load = None
        if load is None or not all(_known(x, order) for x in np.ravel(load)):
            load = by_interpolation(self, short[0], tuple(short[1:]))
            for jet in np.ravel(load):
                jet.gradient = [None] * len(t.gradient)
        elif self.of_state:
            load = _truncated(load, order)
        return load if self.shape else np.ravel(load)[0]

    def shaped(self, returned: Any) -> np.ndarray:
        """Return the result of the function as an array of the required shape.

        A ValueError is raised if the result has another shape.
        """
        load = np.asarray(returned, dtype=object)
        if load.shape != self.shape or not all(isinstance(x, Jet | int | float | np.number) for x in load.ravel()):
            raise ValueError(f"it returned {returned!r}")
        return load


def _count(size: int | tuple[int, ...]) -> int:
    """Return the number of floats in an argument, from its entry in `Value.sizes`."""
    return int(np.prod(size, dtype=int)) if isinstance(size, tuple) else max(size, 1)


def as_floats(x: Any) -> Any:
    """Return the values of a jet or an array of jets as floats, without derivatives."""
    if isinstance(x, np.ndarray):
        return np.array([as_floats(entry) for entry in x])
    return float(x.value if isinstance(x, Jet) else x)


def _known(x: Any, order: int) -> bool:
    """Return whether a number or jet is finite and has `order` time derivatives."""
    return not isinstance(x, Jet) or (len(x.taylor) > order and bool(np.isfinite(x.taylor).all()))


def _truncated(x: Any, order: int) -> Any:
    """Return a number, a jet or an array of them, with at most `order` time derivatives."""
    if isinstance(x, np.ndarray):
        parts = np.empty(x.shape, dtype=object)
        parts.ravel()[:] = [_truncated(entry, order) for entry in x.ravel()]
        return parts
    return Jet(x.taylor[: order + 1], x.gradient) if isinstance(x, Jet) else x


def motions_of(owner: str, argument: str, value: Any) -> dict[str, Motion]:
    """Return the components of a load as functions of time, `Motion`, by attribute name such as "force_x".

    The dict is empty if no component is given as a Motion. `owner` and `argument` name the load in errors.
    """
    listed = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    if not any(isinstance(x, Motion) for x in listed):
        return {}
    if len(listed) != 3:
        raise InputError(f"{owner}: {argument} must be three numbers or Motions; got {value!r}")
    made = [as_motion(owner, argument, x) for x in listed]
    return {f"{argument}_{axis}": motion for axis, motion in zip("xyz", made, strict=True)}
