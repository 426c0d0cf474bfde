"""Evaluation of force laws: loads on bodies from the motion of the frames of a force element.

Laws are evaluated with jets: numbers with K time derivatives and, if needed, a gradient with respect to small
displacements of the bodies. So loads have any number of time derivatives, and potentials and coordinates exact
gradients. The numbers inside jets are floats or, while machine code is generated, symbols (`quirk.jit.tracing`).

A lane array has eight numbers for one body: translation (3), rotation (3), and two that are unused. It contains a
force and a moment, or a gradient. Coordinates, parameters and internal variables are those of `ForceElement`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import Jet
from ..constraints.relation import LANES, TRANSLATION, TURN, zeros
from ..jit.scalar import is_written, is_zero, times
from ..jit.simd import at, lane_of, put, replaced, store
from .place import PLACEMENT, Place
from .value import Value

if TYPE_CHECKING:
    from .element import ForceElement

# Inputs per counted coordinate: a reference angle, its rate, and the time of both.
REFERENCE = 3
# Outputs per coordinate: its value, its rate, and the multiplier that `along` returned.
COORDINATE = 3


@dataclass(frozen=True)
class LawLayout:
    """Layout of the flat input and output arrays of a compiled force law.

    Inputs are, in this order: the parameters; the reference angles of coordinates with counted revolutions; space for
    user functions; K + 2 Taylor coefficients of each motion and each internal variable; and the frames. Each frame has
    its placement in its body and, for the body, the Taylor coefficients of the position (3 (K + 2)), the rotation
    matrix (9, by rows), the Taylor coefficients of the angular velocity in the inertial frame (3 (K + 1)) and the
    quaternion (4).

    Outputs are: for each frame K + 1 Taylor coefficients of the load on its body, eight numbers each: the force and
    the moment about the center of mass in the inertial frame; the energy; three numbers per coordinate; K + 1 Taylor
    coefficients of the rate of each internal variable; and space for user functions.

    Attributes
    ----------
    parameters : number of parameter values
    turning : number of coordinates with counted revolutions
    function_inputs, function_outputs : for each user function, its number of inputs and outputs
    motions, internal, frames, coordinates : numbers of motions, internal variables, frames and coordinates
    order : K, number of time derivatives of the loads
    """

    parameters: int
    turning: int
    function_inputs: tuple[int, ...]
    function_outputs: tuple[int, ...]
    motions: int
    internal: int
    frames: int
    coordinates: int
    order: int = 0

    @property
    def first_function(self) -> int:
        """Index in the inputs at which the space for user functions begins."""
        return self.parameters + REFERENCE * self.turning

    @property
    def first_motion(self) -> int:
        """Index in the inputs at which the Taylor coefficients of the motions begin."""
        return self.first_function + sum(self.function_inputs)

    @property
    def first_internal(self) -> int:
        """Index in the inputs at which the Taylor coefficients of the internal variables begin."""
        return self.first_motion + self.motions * (self.order + 2)

    @property
    def first_frame(self) -> int:
        """Index in the inputs at which the data of the frames begin."""
        return self.first_internal + self.internal * (self.order + 2)

    @property
    def frame_size(self) -> int:
        """Number of inputs for each frame."""
        return PLACEMENT + 3 * (self.order + 2) + 9 + 3 * (self.order + 1) + 4

    @property
    def inputs(self) -> int:
        """Length of the input array."""
        return self.first_frame + self.frames * self.frame_size

    @property
    def energy(self) -> int:
        """Index of the energy in the outputs; it follows the loads."""
        return LANES * self.frames * (self.order + 1)

    @property
    def first_coordinate(self) -> int:
        """Index in the outputs at which the data of the coordinates begin."""
        return self.energy + 1

    @property
    def first_rate(self) -> int:
        """Index in the outputs at which the rates of the internal variables begin."""
        return self.first_coordinate + COORDINATE * self.coordinates

    @property
    def function_output(self) -> int:
        """Index in the outputs at which the space for user functions begins."""
        return self.first_rate + self.internal * (self.order + 1)

    @property
    def outputs(self) -> int:
        """Length of the output array."""
        return self.function_output + sum(self.function_outputs)


def run(element: ForceElement, layout: LawLayout, functions: Sequence[Any], t: Any, inputs: Any, outputs: Any) -> None:
    """Evaluate the law of a force element at time t (s): read `inputs` and fill `outputs`.

    Both arrays have the layout `layout` and contain floats or, for generated code, symbols. `functions` are called in
    place of the user functions of the element.
    """
    values = _values(element, layout, functions, inputs)
    time = _jet(layout, [t, 1.0, *[0] * layout.order])
    acting = layout.frames - element.reading
    values.update(
        _of_state(element, values, time, [Place(layout, f, inputs, False) for f in range(acting, layout.frames)])
    )
    law = _law(element, values, inputs)
    graded = element.has("potential") or element.has("coordinate")
    frames = [Place(layout, f, inputs, graded) for f in range(acting)]
    loads = [[zeros(inputs) for _ in range(layout.order + 1)] for _ in range(layout.frames)]
    if element.internal:
        law = _with_rates(element, values, layout, time, frames, inputs, outputs)
    energy: Any = 0.0
    if element.has("potential"):
        potential = law.potential(time, *frames)
        energy = potential.value if isinstance(potential, Jet) else potential
        _add(loads, potential, -1.0)
    if element.has("coordinate"):
        found = _counted("coordinate", law.coordinate(time, *frames), layout.coordinates)
        coordinates = continued_turns(element, layout, time, found, inputs)
        if element.has("stored"):
            stored = _act_by_storing(law, time, coordinates, loads, inputs)
            energy = energy + (stored.value if isinstance(stored, Jet) else stored)
        _act_along(element, law, layout, time, coordinates, loads, outputs)
    if element.has("load"):
        # Given loads are not differentiated with respect to poses.
        plain = [Place(layout, f, inputs, False) for f in range(acting)] if graded else frames
        for f, given in enumerate(_pairs(law.load(time, *plain), acting)):
            _add_given(loads[f], frames[f], *given, zeros(inputs))
    if element.has("shown"):
        _show(layout, _counted("shown", law.shown(time, *frames), layout.coordinates), outputs)
    for f, of_frame in enumerate(loads):
        for k, lanes in enumerate(of_frame):
            store(outputs, LANES * (f * (layout.order + 1) + k), lanes)
    put(outputs, layout.energy, 1.0 * energy)


def _act_by_storing(law: Any, time: Jet, coordinates: Sequence[Jet], loads: list[list[Any]], inputs: Any) -> Any:
    """Add the loads of the energy that is stored in the coordinates to `loads`, and return this energy, J.

    The energy is differentiated with respect to the coordinates, and the coordinates with respect to the poses. This
    takes fewer derivatives than the gradient of the energy with respect to all poses. `law` is the element with the
    values of its parameters at this time.
    """
    if len(coordinates) > LANES:
        stored = law.stored(time, list(coordinates))
        _add(loads, stored, -1.0)
        return stored
    own = [Jet(x.taylor, _by_itself(x, c, inputs)) for c, x in enumerate(coordinates)]
    stored = law.stored(time, own[0] if len(own) == 1 else own)
    gradient = stored.gradient[0] if isinstance(stored, Jet) else None
    for c, x in enumerate(coordinates):
        if gradient is not None:
            factors = [0 if is_zero(lanes) else times(lane_of(lanes, c), -1.0) for lanes in gradient]
            _add(loads, x, Jet(factors, x.gradient))
    return stored


def _by_itself(x: Jet, lane: int, inputs: Any) -> list[Any]:
    """Return the gradient of a coordinate with respect to all coordinates: one at index `lane`, zero elsewhere.

    With other indices for other coordinates, one evaluation gives all derivatives. A constant has no gradient.
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
        multipliers = _counted("along", law.along(time, *_bare(coordinates)), len(rates))
        for x, multiplier in zip(coordinates, multipliers, strict=True):
            _add(loads, x, multiplier)
    _show(layout, coordinates, outputs, multipliers)


def _show(layout: LawLayout, coordinates: Sequence[Jet], outputs: Any, multipliers: Sequence[Any] = ()) -> None:
    """Write each coordinate, its rate, and the force or torque along it (`multipliers`) to `outputs`."""
    for c, x in enumerate(coordinates):
        first = layout.first_coordinate + COORDINATE * c
        multiplier = multipliers[c] if multipliers else 0.0
        # Coordinates that depend on velocities have no rate, because accelerations are not known.
        for k, value in enumerate((x.taylor[0], x.taylor[1] if len(x.taylor) > 1 else math.nan, multiplier)):
            put(outputs, first + k, 1.0 * (value.value if isinstance(value, Jet) else value))


def _bare(coordinates: Sequence[Jet]) -> tuple[Any, Any]:
    """Return the coordinates and their rates without gradients, as `along` receives them.

    For one coordinate they are jets, otherwise lists of jets.
    """
    rates = [x.rate for x in coordinates]
    bare = [Jet(x.taylor, rate.gradient) for x, rate in zip(coordinates, rates, strict=True)]
    return (bare[0], rates[0]) if len(bare) == 1 else (bare, rates)


def _law(element: ForceElement, values: dict[str, Any], inputs: Any) -> Any:
    """Return the object that evaluates the force law with the parameter values `values`."""
    return element.with_values(values).as_law(is_written(inputs))


def _with_rates(
    element: ForceElement,
    values: dict[str, Any],
    layout: LawLayout,
    time: Jet,
    frames: Sequence[Place],
    inputs: Any,
    outputs: Any,
) -> Any:
    """Write the rates of the internal variables to `outputs`, and return the law with variables that have these rates.

    While the rates are computed, the highest Taylor coefficients of the variables are NaN, because the rates must not
    depend on them.
    """
    unknown = _law(element, {**values, **_moving(element, layout, values, [math.nan] * layout.internal)}, inputs)
    rates = _internal_rates(element, unknown, layout, time, frames, inputs)
    if not is_written(inputs):
        at_rest = _law(element, values, inputs)
        _check_rates(rates, _internal_rates(element, at_rest, layout, time, frames, inputs))
    terms = layout.order + 1
    for n, rate in enumerate(rates):
        for k in range(terms):
            put(outputs, layout.first_rate + n * terms + k, 1.0 * _term(rate, k))
    tops = [_term(rate, layout.order) * (1.0 / terms) for rate in rates]
    return _law(element, {**values, **_moving(element, layout, values, tops)}, inputs)


def _internal_rates(
    element: ForceElement, law: Any, layout: LawLayout, time: Jet, frames: Sequence[Place], inputs: Any
) -> list[Any]:
    """Return the rates of the internal variables as a list of jets.

    `law` is the element with the values of its parameters at this time, and `frames` are its moving frames.
    """
    given: Sequence[Any] = frames
    if element.has("coordinate"):
        found = _counted("coordinate", law.coordinate(time, *frames), layout.coordinates)
        given = _bare(continued_turns(element, layout, time, found, inputs))
    return _counted("internal_rates", law.internal_rates(time, *given), layout.internal)


def _term(x: Any, k: int) -> Any:
    """Return Taylor coefficient k of a jet or number `x`; a number is a constant."""
    taylor = x.taylor if isinstance(x, Jet) else [x]
    return taylor[k] if k < len(taylor) else 0.0


def _moving(element: ForceElement, layout: LawLayout, values: dict[str, Any], tops: Sequence[Any]) -> dict[str, Jet]:
    """Return the internal variables as jets in time, by name; `tops` are their highest Taylor coefficients."""
    return {
        name: _jet(layout, [*values[name].taylor[:-1], top]) for name, top in zip(element.internal, tops, strict=True)
    }


def _check_rates(rates: Sequence[Any], otherwise: Sequence[Any]) -> None:
    """Raise a ValueError if the function for the rates of internal variables depends on these rates.

    `rates` were computed with unknown rates (NaN), `otherwise` with zero rates.
    """
    for one, other in zip(rates, otherwise, strict=True):
        if math.isnan(_term(one, 0)) and math.isfinite(_term(other, 0)):
            raise ValueError(
                "its internal_rates depend on themselves: on the rate of an internal variable, or of a coordinate that "
                "depends on one"
            )


def _values(element: ForceElement, layout: LawLayout, functions: Sequence[Any], inputs: Any) -> dict[str, Any]:
    """Return the values of all parameters, user functions, motions and internal variables, by attribute name."""
    values: dict[str, Any] = {}
    place, free = 0, iter(functions)
    for name in element.parameters:
        given = getattr(element, name)
        if isinstance(given, Value) and given.function is not None:
            values[name] = next(free)
            continue
        if given is None:
            continue
        numbers = np.asarray(given.constant if isinstance(given, Value) else given, dtype=float)
        jets = [_jet(layout, [at(inputs, place + k), *[0] * (layout.order + 1)]) for k in range(numbers.size)]
        parameter = np.array(jets, dtype=object).reshape(numbers.shape) if numbers.ndim else jets[0]
        values[name] = (lambda *arguments, constant=parameter: constant) if isinstance(given, Value) else parameter
        place += numbers.size
    terms = layout.order + 2
    for m, name in enumerate((*element.motions, *element.internal)):
        first = layout.first_motion + m * terms
        values[name] = _jet(layout, [at(inputs, first + k) for k in range(terms)])
    return values


def _of_state(
    element: ForceElement, values: dict[str, Any], time: Jet, read: Sequence[Place]
) -> dict[str, Callable[..., Any]]:
    """Return functions of the state, by attribute name, with the motion of the bodies in `read` inserted.

    The returned functions ignore their arguments.
    """
    motion = [
        x for place in read for x in (place.center, place.orientation, place.center_velocity, place.angular_velocity)
    ]
    found = {name: getattr(element, name) for name in element.parameters}
    names = [name for name, value in found.items() if isinstance(value, Value) and value.of_state]
    return {name: lambda *_, call=values[name]: call(time, *motion) for name in names}


def _jet(layout: LawLayout, taylor: list[Any], gradient: Sequence[Any] | None = None) -> Jet:
    return Jet(taylor, [None] * layout.frames if gradient is None else gradient)


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, list | tuple | np.ndarray) else [x]


def _counted(method: str, given: Any, count: int) -> list[Any]:
    """Check that the result of a method of the law has `count` numbers, and return it as a list.

    `given` is this result, and `method` the name of the method. A wrong count raises a ValueError.
    """
    found = _listed(given)
    wanted = "a number" if count == 1 else f"{count} numbers, one for each name in coordinates"
    if method == "internal_rates":
        wanted = f"{count} {'rate' if count == 1 else 'rates'}, one for each name in internal"
    if len(found) != count or any(x is None or np.ndim(x) > 0 for x in found):
        raise ValueError(f"its {method} must return {wanted}; got {len(found)}: {given!r}")
    return found


def _pairs(given: Any, frames: int) -> list[tuple[Any, Any]]:
    """Return the result of `load` as a list with one pair of force and torque for each frame.

    For one frame, `load` may return a single pair. `given` is this result.
    """
    pairs = [given] if frames == 1 and len(given) == 2 and not _is_pair(given[0]) else list(given)
    if len(pairs) != frames or not all(len(pair) == 2 for pair in pairs):
        raise ValueError(f"its load must return a force and a torque for each of its {frames} frames")
    return [(pair[0], pair[1]) for pair in pairs]


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple | list) and len(x) == 2


def _add(loads: list[list[Any]], x: Any, multiplier: Any) -> None:
    """Add `multiplier` times the gradient of a coordinate or energy `x` to the loads on the bodies."""
    if not isinstance(x, Jet):
        return  # independent of poses
    for f, gradient in enumerate(x.gradient):
        if gradient is None:
            continue
        factors = multiplier.taylor if isinstance(multiplier, Jet) else [multiplier]
        for k in range(len(loads[f])):
            for m in range(k + 1):
                lanes = gradient[k - m] if k - m < len(gradient) else 0
                if m < len(factors) and not (type(lanes) is int or (type(factors[m]) is int and factors[m] == 0)):
                    loads[f][k] = loads[f][k] + lanes * factors[m]


def _add_given(load: list[Any], frame: Place, force: Any, torque: Any, zero: Any) -> None:
    """Add a force and a torque on a frame to the load on its body; the force acts at the origin of the frame.

    Force and torque are in the inertial frame. `load` has an array of eight numbers for each Taylor coefficient; `zero`
    is such an array of zeros.
    """
    if not _is_nothing(force):
        force = _vector("force", force)
        _add_vector(load, TRANSLATION, force, zero)
        _add_vector(load, TURN, np.cross(frame.arm, force), zero)
    if not _is_nothing(torque):
        _add_vector(load, TURN, _vector("torque", torque), zero)


def _is_nothing(vector: Any) -> bool:
    return isinstance(vector, int | float) and vector == 0


def _vector(what: str, given: Any) -> np.ndarray:
    vector = np.asarray(given, dtype=object)
    if vector.shape != (3,):
        raise ValueError(f"its load must return a {what} of three components, or 0; got {given!r}")
    return vector


def _add_vector(load: list[Any], first: int, vector: np.ndarray, zero: Any) -> None:
    for k in range(len(load)):
        lanes = zero
        for c, x in enumerate(vector):
            taylor = x.taylor if isinstance(x, Jet) else [x]
            lanes = replaced(lanes, first + c, 1.0 * taylor[k] if k < len(taylor) else 0.0)
        load[k] = load[k] + lanes


def continued_turns(
    element: ForceElement, layout: LawLayout, time: Jet, coordinates: list[Jet], inputs: Any
) -> list[Jet]:
    """Return the coordinates of an element; full turns are added to angles whose revolutions are counted.

    The number of turns is chosen so that the angle is nearest to an extrapolation from the angle at an earlier time and
    its rate, which are among the inputs.
    """
    coordinates = list(coordinates)
    for place, c in enumerate(element.turning):
        first = layout.parameters + REFERENCE * place
        angle, rate, when = (at(inputs, first + k) for k in range(REFERENCE))
        expected = angle + rate * (time.value - when)
        coordinates[c] = (coordinates[c] - expected).wrapped(2 * np.pi).shifted(expected)
    return coordinates
