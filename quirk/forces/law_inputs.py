"""Inputs of a force law as jets: values of parameters, motions and internal variables, and counted revolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import Jet
from ..jit.scalar import is_traced
from ..jit.simd import at
from .law_layout import REFERENCE, LawLayout
from .place import Place
from .value import Value

if TYPE_CHECKING:
    from .element import ForceElement


def values_of(element: ForceElement, layout: LawLayout, functions: Sequence[Any], inputs: Any) -> dict[str, Any]:
    """Return the values of all parameters, user functions, motions and internal variables, by attribute name."""
    values: dict[str, Any] = {}
    first, remaining_functions = 0, iter(functions)
    for name in element.parameters:
        declared = getattr(element, name)
        if isinstance(declared, Value) and declared.function is not None:
            values[name] = next(remaining_functions)
            continue
        if declared is None:
            continue
        numbers = np.asarray(declared.constant if isinstance(declared, Value) else declared, dtype=float)
        jets = [as_jet(layout, [at(inputs, first + k), *[0] * (layout.order + 1)]) for k in range(numbers.size)]
        parameter = np.array(jets, dtype=object).reshape(numbers.shape) if numbers.ndim else jets[0]
        values[name] = (lambda *arguments, constant=parameter: constant) if isinstance(declared, Value) else parameter
        first += numbers.size
    terms = layout.order + 2
    for m, name in enumerate((*element.motions, *element.internal)):
        first = layout.first_motion + m * terms
        values[name] = as_jet(layout, [at(inputs, first + k) for k in range(terms)])
    return values


def as_jet(layout: LawLayout, taylor: list[Any], gradient: Sequence[Any] | None = None) -> Jet:
    """Return a jet with the Taylor coefficients `taylor`; its gradient is `gradient`, or zero if this is None."""
    return Jet(taylor, [None] * layout.frames if gradient is None else gradient)


def state_functions(
    element: ForceElement, values: dict[str, Any], time: Jet, read: Sequence[Place]
) -> dict[str, Callable[..., Any]]:
    """Return the user functions f(t, state) of an element, by attribute name, for the present state.

    Each returned function accepts any arguments, ignores them, and evaluates the user function with the present motion
    of the bodies in `read`. `values` are the parameter values of the element at
    this time.
    """
    motion = [
        x for place in read for x in (place.center, place.orientation, place.center_velocity, place.angular_velocity)
    ]
    parameters = {name: getattr(element, name) for name in element.parameters}
    names = [name for name, value in parameters.items() if isinstance(value, Value) and value.of_state]
    return {name: lambda *_, call=values[name]: call(time, *motion) for name in names}


def law_with(element: ForceElement, values: dict[str, Any], inputs: Any) -> Any:
    """Return the object that evaluates the force law of `element` with the parameter values `values`."""
    return element.with_values(values).as_law(is_traced(inputs))


def continued_turns(
    element: ForceElement, layout: LawLayout, time: Jet, coordinates: list[Jet], inputs: Any
) -> list[Jet]:
    """Return the coordinates of an element, with full turns added to angles whose revolutions are counted.

    The added turns bring each angle nearest to its linear extrapolation from an earlier time. `inputs` contains the
    angle, rad, and its rate, rad/s, at that time, and the time itself, s.
    """
    coordinates = list(coordinates)
    for place, c in enumerate(element.turning):
        first = layout.parameters + REFERENCE * place
        angle, rate, earlier = (at(inputs, first + k) for k in range(REFERENCE))
        expected = angle + rate * (time.value - earlier)
        coordinates[c] = (coordinates[c] - expected).wrapped(2 * np.pi).shifted(expected)
    return coordinates


def bare_coordinates(coordinates: Sequence[Jet]) -> tuple[Any, Any]:
    """Return the coordinates and their rates as arguments of the method `along`, that is, without gradients.

    For one coordinate they are jets, otherwise lists of jets.
    """
    rates = [x.rate for x in coordinates]
    bare = [Jet(x.taylor, rate.gradient) for x, rate in zip(coordinates, rates, strict=True)]
    return (bare[0], rates[0]) if len(bare) == 1 else (bare, rates)
