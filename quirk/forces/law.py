"""Evaluation of force laws: loads on bodies from the motion of the frames of a force element.

Laws are evaluated with jets: numbers with K time derivatives and, if needed, a gradient with respect to small
displacements of the bodies. Loads can therefore have any number of time derivatives, and the gradients of potentials
and coordinates are exact. The numbers inside jets are floats or, while machine code is generated, symbols
(`quirk.jit.tracing`).

Vectors of a body are stored in lane arrays of eight entries, the width of a SIMD vector: translation (3), rotation (3),
and two unused entries. A lane array contains a force and a moment, or a gradient. Coordinates, parameters and internal
variables are those of `ForceElement`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autodiff.jet import Jet
from ..constraints.relation import LANES, zeros
from ..jit.scalar import is_zero, times
from ..jit.simd import lane_of, put, replaced, store
from .law_inputs import as_jet, bare_coordinates, continued_turns, law_with, state_functions, values_of
from .law_layout import COORDINATE, LawLayout
from .law_loads import add_gradient, add_load
from .law_rates import with_rates
from .law_results import counted, load_pairs
from .place import Place

if TYPE_CHECKING:
    from .element import ForceElement


def run(element: ForceElement, layout: LawLayout, functions: Sequence[Any], t: Any, inputs: Any, outputs: Any) -> None:
    """Evaluate the law of a force element at time t (s): read `inputs` and fill `outputs`.

    Both arrays have the layout `layout` and contain floats or, for generated code, symbols. `functions` replace
    the user functions of the element.
    """
    values = values_of(element, layout, functions, inputs)
    time = as_jet(layout, [t, 1.0, *[0] * layout.order])
    acting = layout.frames - element.reading
    values.update(
        state_functions(element, values, time, [Place(layout, f, inputs, False) for f in range(acting, layout.frames)])
    )
    law = law_with(element, values, inputs)
    graded = element.has("potential") or element.has("coordinate")
    frames = [Place(layout, f, inputs, graded) for f in range(acting)]
    loads = [[zeros(inputs) for _ in range(layout.order + 1)] for _ in range(layout.frames)]
    if element.internal:
        law = with_rates(element, values, layout, time, frames, inputs, outputs)
    energy: Any = 0.0
    if element.has("potential"):
        potential = law.potential(time, *frames)
        energy = potential.value if isinstance(potential, Jet) else potential
        add_gradient(loads, potential, -1.0)
    if element.has("coordinate"):
        within_turn = counted("coordinate", law.coordinate(time, *frames), layout.coordinates)
        coordinates = continued_turns(element, layout, time, within_turn, inputs)
        if element.has("stored"):
            stored = _act_by_storing(law, time, coordinates, loads, inputs)
            energy = energy + (stored.value if isinstance(stored, Jet) else stored)
        _act_along(element, law, layout, time, coordinates, loads, outputs)
    if element.has("load"):
        # The loads returned by `load` are not differentiated with respect to poses.
        plain = [Place(layout, f, inputs, False) for f in range(acting)] if graded else frames
        for f, (force, torque) in enumerate(load_pairs(law.load(time, *plain), acting)):
            add_load(loads[f], frames[f], force, torque, zeros(inputs))
    if element.has("shown"):
        _show(layout, counted("shown", law.shown(time, *frames), layout.coordinates), outputs)
    for f, of_frame in enumerate(loads):
        for k, lanes in enumerate(of_frame):
            store(outputs, LANES * (f * (layout.order + 1) + k), lanes)
    put(outputs, layout.energy, 1.0 * energy)


def _act_by_storing(law: Any, time: Jet, coordinates: Sequence[Jet], loads: list[list[Any]], inputs: Any) -> Any:
    """Add the loads of the energy stored in the coordinates to `loads`, and return this energy, J.

    The loads follow from the chain rule: the energy is differentiated with respect to the coordinates, and the
    coordinates with respect to the poses. `law` is the element with the values of its parameters at this time.
    """
    if len(coordinates) > LANES:
        stored = law.stored(time, list(coordinates))
        add_gradient(loads, stored, -1.0)
        return stored
    independent = [Jet(x.taylor, _unit_gradient(x, c, inputs)) for c, x in enumerate(coordinates)]
    stored = law.stored(time, independent[0] if len(independent) == 1 else independent)
    gradient = stored.gradient[0] if isinstance(stored, Jet) else None
    for c, x in enumerate(coordinates):
        if gradient is not None:
            factors = [0 if is_zero(lanes) else times(lane_of(lanes, c), -1.0) for lanes in gradient]
            add_gradient(loads, x, Jet(factors, x.gradient))
    return stored


def _unit_gradient(x: Jet, lane: int, inputs: Any) -> list[Any]:
    """Return the derivatives of coordinate `lane` with respect to all coordinates: a unit vector.

    If coordinates have these gradients, one evaluation of a function of the coordinates also gives its derivatives with
    respect to all of them. If the coordinate `x` has no derivatives, the result is a list of None.
    """
    terms = max((len(g) for g in x.gradient if g is not None), default=0)
    unit = [replaced(zeros(inputs), lane, 1.0), *[0] * (terms - 1)] if terms else None
    return [unit, *[None] * (len(x.gradient) - 1)]


def _act_along(
    element: ForceElement,
    law: Any,
    layout: LawLayout,
    time: Jet,
    coordinates: Sequence[Jet],
    loads: list[list[Any]],
    outputs: Any,
) -> None:
    """Add the loads given by the method `along` to `loads`.

    The coordinates, their rates and the forces or torques along them are written to `outputs`. `law` is the element
    with the values of its parameters at this time.
    """
    rates = [x.rate for x in coordinates]
    multipliers: list[Any] = [0.0] * len(rates)
    if element.has("along"):
        multipliers = counted("along", law.along(time, *bare_coordinates(coordinates)), len(rates))
        for x, multiplier in zip(coordinates, multipliers, strict=True):
            add_gradient(loads, x, multiplier)
    _show(layout, coordinates, outputs, multipliers)


def _show(layout: LawLayout, coordinates: Sequence[Jet], outputs: Any, multipliers: Sequence[Any] = ()) -> None:
    """Write each coordinate, its rate, and the force or torque along it (`multipliers`) to `outputs`."""
    for c, x in enumerate(coordinates):
        first = layout.first_coordinate + COORDINATE * c
        multiplier = multipliers[c] if multipliers else 0.0
        # Coordinates that depend on velocities have no rate, because accelerations are not known.
        for k, value in enumerate((x.taylor[0], x.taylor[1] if len(x.taylor) > 1 else math.nan, multiplier)):
            put(outputs, first + k, 1.0 * (value.value if isinstance(value, Jet) else value))
