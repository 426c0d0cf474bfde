"""Rates of the internal variables of a force law.

A jet is a number with time derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autodiff.jet import Jet
from ..jit.scalar import is_traced
from ..jit.simd import put
from .law_inputs import as_jet, bare_coordinates, continued_turns, law_with
from .law_layout import LawLayout
from .law_results import counted
from .place import Place

if TYPE_CHECKING:
    from .element import ForceElement


def with_rates(
    element: ForceElement,
    values: dict[str, Any],
    layout: LawLayout,
    time: Jet,
    frames: Sequence[Place],
    inputs: Any,
    outputs: Any,
) -> Any:
    """Write the rates of the internal variables to `outputs`, and return the law with these rates.

    In the returned law the internal variables are jets whose time derivatives are the rates. While the rates are
    computed, the highest Taylor coefficients of the variables are NaN, so that rates that depend on themselves are
    detected.
    """
    unknown = law_with(element, {**values, **_moving(element, layout, values, [math.nan] * layout.internal)}, inputs)
    rates = _internal_rates(element, unknown, layout, time, frames, inputs)
    if not is_traced(inputs):
        at_rest = law_with(element, values, inputs)
        _check_rates(rates, _internal_rates(element, at_rest, layout, time, frames, inputs))
    terms = layout.order + 1
    for n, rate in enumerate(rates):
        for k in range(terms):
            put(outputs, layout.first_rate + n * terms + k, 1.0 * _term(rate, k))
    tops = [_term(rate, layout.order) * (1.0 / terms) for rate in rates]
    return law_with(element, {**values, **_moving(element, layout, values, tops)}, inputs)


def _internal_rates(
    element: ForceElement, law: Any, layout: LawLayout, time: Jet, frames: Sequence[Place], inputs: Any
) -> list[Any]:
    """Return the rates of the internal variables as a list of jets.

    `law` is the element with the values of its parameters at this time, and `frames` are its moving frames.
    """
    arguments: Sequence[Any] = frames
    if element.has("coordinate"):
        within_turn = counted("coordinate", law.coordinate(time, *frames), layout.coordinates)
        arguments = bare_coordinates(continued_turns(element, layout, time, within_turn, inputs))
    return counted("internal_rates", law.internal_rates(time, *arguments), layout.internal)


def _moving(element: ForceElement, layout: LawLayout, values: dict[str, Any], tops: Sequence[Any]) -> dict[str, Jet]:
    """Return the internal variables as jets in time, by name.

    `values` contains the variables, whose Taylor coefficients of highest order are replaced by `tops`.
    """
    return {
        name: as_jet(layout, [*values[name].taylor[:-1], top]) for name, top in zip(element.internal, tops, strict=True)
    }


def _check_rates(rates: Sequence[Any], rates_at_rest: Sequence[Any]) -> None:
    """Raise a ValueError if the rates of internal variables depend on themselves.

    `rates` were computed with variables whose rates are NaN, `rates_at_rest` with variables whose rates are zero.
    """
    for rate, rate_at_rest in zip(rates, rates_at_rest, strict=True):
        if math.isnan(_term(rate, 0)) and math.isfinite(_term(rate_at_rest, 0)):
            raise ValueError(
                "its internal_rates depend on themselves: on the rate of an internal variable, or of a coordinate that "
                "depends on one"
            )


def _term(x: Any, k: int) -> Any:
    """Return Taylor coefficient k of a jet or number `x`; a number is a constant."""
    taylor = x.taylor if isinstance(x, Jet) else [x]
    return taylor[k] if k < len(taylor) else 0.0
