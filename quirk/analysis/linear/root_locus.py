"""Root loci: eigenvalues of small motions as functions of a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.state import State
from quirk.errors import InputError
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained

from .linearization import linearize


@explained
@dataclass(frozen=True, repr=False)
class RootLocus:
    """Eigenvalues of small motions at p values of a parameter.

    Attributes
    ----------
    values : (p,) values of the parameter
    eigenvalues : (p, F) complex, 1/s; each of the F columns is a branch, matched to be as smooth as possible
    """

    values: np.ndarray
    eigenvalues: np.ndarray

    def __repr__(self) -> str:
        first, last, (values, count) = self.values[0], self.values[-1], self.eigenvalues.shape
        return f"<RootLocus: {count} eigenvalues at {values} values from {first:.6g} to {last:.6g}>"

    def plot(self, **options: Any) -> Any:
        """Plot the eigenvalues in the complex plane, colored by the parameter; `options` are those of `Result.plot`."""
        from quirk.graphics.plot.roots import draw_roots

        return draw_roots(self.values, self.eigenvalues, options)


@explained
def root_locus(build: Callable[[float], Any], values: Iterable[float]) -> RootLocus:
    """Return the eigenvalues of small motions of a system as functions of a parameter.

    Parameters
    ----------
    build : function of the parameter
        ``build(value)`` returns the system, which is linearized at its initial state, or (system, state).
    values : (p,) values of the parameter

    Raises
    ------
    InputError
        If the return value of `build` is invalid, or the number of states changes with the parameter.

    Examples
    --------
    >>> def build(stiffness):
    ...     block = quirk.Body.box("block", 1.0, [0.1, 0.1, 0.1])
    ...     rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="z")
    ...     spring = quirk.Spring("spring", quirk.GROUND, block, point_i=[0, 0, 1], stiffness=stiffness)
    ...     return quirk.System([block, rail, spring])
    >>> quirk.root_locus(build, [4.0, 9.0]).eigenvalues.imag.round(6)
    array([[ 2., -2.],
           [ 3., -3.]])
    """
    given = validate.numbers(list(values))
    if given is None or given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise InputError(f"root_locus: values must be a list of finite numbers; got {values!r}")
    found: list[np.ndarray] = []
    for value in given:
        made = build(float(value))
        system, state = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
        if not isinstance(system, System) or not isinstance(state, State | None):
            raise InputError(f"root_locus: build must return a System, or a System and a State; got {made!r}")
        now = linearize(system, system.initial_state() if state is None else system.checked(state), 0.0).eigenvalues
        if found and len(now) != len(found[-1]):
            raise InputError(
                f"root_locus: at {value:g} there are {len(now)} states, but previously there were {len(found[-1])}"
            )
        found.append(_matched(found, now))
    return RootLocus(given, np.array(found))


def _matched(previous: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return eigenvalues in the order that continues the branches of the previous ones.

    `values` are the eigenvalues at the new value of the parameter. `previous` contains the eigenvalues at one or two
    earlier values; the new eigenvalues are matched to the last ones or, with two sets, to their linear extrapolation.
    """
    from scipy.optimize import linear_sum_assignment

    if not previous:
        return values
    expected = previous[-1] if len(previous) < 2 else 2 * previous[-1] - previous[-2]
    _, order = linear_sum_assignment(np.abs(expected[:, None] - values))
    return values[order]
