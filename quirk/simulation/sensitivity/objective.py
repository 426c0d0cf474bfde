"""Objective of a run: a scalar function of quantities along it, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from quirk.errors import InputError
from quirk.util.misuse import explained
from quirk.util.renamed import Renamed

# Function from quantities (nt, q) at the output times to the value and its derivatives (nt, q) with respect to these.
ObjectiveFunction = Callable[[np.ndarray], tuple[float, np.ndarray]]


@explained
class Objective(Renamed):
    """Scalar function of quantities along a run, for `simulate(..., objective=, sensitivities=)`.

    Parameters
    ----------
    quantities : list of names
        Quantities that depend on poses and velocities, such as "rod.position.x", "hinge.angle" or
        "hinge.angle_rate".
    function : callable
        ``f(values)`` returns the scalar and its derivatives (nt, q); `values` (nt, q) are the quantities at all output
        times, SI units. For example, a sum of squares: ``lambda x: (np.sum((x - seen) ** 2), 2 * (x - seen))``.

    Examples
    --------
    >>> miss = quirk.Objective(["rod.position.z"], lambda z: (np.sum((z - 1.0) ** 2), 2 * (z - 1.0)))
    >>> miss
    Objective(['rod.position.z'])
    """

    _earlier_names: ClassVar = {"judged": "evaluate"}

    def __init__(self, quantities: Iterable[str], function: ObjectiveFunction) -> None:
        owner = "Objective"
        known = isinstance(quantities, Iterable) and not isinstance(quantities, str)
        listed = list(quantities) if known else []
        if not known or not all(isinstance(name, str) for name in listed):
            raise InputError(f'{owner}: quantities must be names such as "rod.position.x"; got {quantities!r}')
        if not listed:
            raise InputError(f"{owner}: quantities must contain at least one name")
        if not callable(function):
            raise InputError(f"{owner}: function must be a function of the quantities (nt, q); got {function!r}")
        self.quantities, self.function = tuple(listed), function

    def __repr__(self) -> str:
        return f"Objective({list(self.quantities)!r})"

    def evaluate(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its derivatives (nt, q) for the values (nt, q) of q quantities at nt times."""
        try:
            returned: Any = self.function(values.copy())
        except Exception as error:  # user functions may raise any exception
            raise InputError(
                f"Objective: its function failed with the quantities {values.shape}: {type(error).__name__}: {error}"
            ) from error
        wanted = f"Objective: function must return a number and its derivatives {values.shape} with respect to `values`"
        try:
            value, slopes = returned
            value, slopes = float(value), np.array(slopes, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{wanted}; got {returned!r}") from None
        if slopes.shape != values.shape:
            raise InputError(f"{wanted}; got derivatives {slopes.shape}")
        if not (np.isfinite(value) and np.isfinite(slopes).all()):
            raise InputError(f"{wanted}; the returned numbers are not finite")
        return value, slopes
