"""Loads of the energy stored in the coordinates of a force element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..constraints.relation import LANES
from .calls import NumberCall
from .element import ForceElement
from .value import Value


def stored_loads(element: ForceElement, t: float, x: np.ndarray, internal: Mapping[str, float]) -> np.ndarray:
    """Return the generalized forces (C,), N or N m, along C coordinates: minus the derivatives of the stored energy.

    Parameters
    ----------
    element : ForceElement
        Element with a method `stored`.
    t : time, s
    x : (C,) coordinates, m or rad
    internal : values of internal variables by name
    """
    groups = -(-len(x) // LANES)
    layout = element.layout(0)
    values: dict[str, Any] = {name: Jet([number], [None] * groups) for name, number in internal.items()}
    for name in element.motions:
        value = element.motion(name).derivatives_for(f"{element}, {name}", t, 0)[0]
        values[name] = Jet([float(value)], [None] * groups)
    for name in element.parameters:
        given = getattr(element, name)
        if isinstance(given, Value):
            values[name] = NumberCall(given, layout) if given.constant is None else _constant(given.constant)
    law = element.with_values(values).as_law(False)
    coordinates = [Jet([float(number)], _unit(c, groups)) for c, number in enumerate(x)]
    energy = law.stored(Jet([t, 1.0], [None] * groups), coordinates[0] if len(x) == 1 else coordinates)
    if not isinstance(energy, Jet):
        return np.zeros(len(x))
    lanes = [np.zeros(LANES) if terms is None else np.asarray(terms[0], dtype=float) for terms in energy.gradient]
    return -np.concatenate(lanes)[: len(x)]


def _unit(place: int, groups: int) -> list[Any]:
    """Return the gradient of coordinate `place` with respect to all coordinates: 1 for itself, 0 for the others.

    The gradient is a list of `groups` parts; each part is an array of eight derivatives, or None if all are zero.
    """
    gradient: list[Any] = [None] * groups
    gradient[place // LANES] = [np.eye(LANES)[place % LANES]]
    return gradient


def _constant(number: np.ndarray) -> Any:
    return lambda *arguments: number
