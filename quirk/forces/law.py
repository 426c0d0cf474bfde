"""A force element's law at work: from where its frames are and how they move to the loads on their bodies.

The law is run on jets, and so gives loads with any number of derivatives, and the exact gradients of potentials and
coordinates. The numbers inside are floats or, while machine code is being written, instructions (`quirk.traced`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.constraints.jets import Jet
from quirk.constraints.relation import LANES, TRANSLATION, TURN, cross, turned, zeros
from quirk.lanes import at, put, replaced, store
from quirk.traceable import read_only
from quirk.traced import Traced

from .value import Value

if TYPE_CHECKING:
    from .element import ForceElement

# Of each frame, before the motion of its body: origin and axes in body coordinates.
PLACEMENT = 12
# Of each coordinate whose turns are counted: the angle and its rate at a time, from which it goes on.
REFERENCE = 3
# Of each coordinate: its value, its rate, and the multiplier that `along` returned.
COORDINATE = 3


@dataclass(frozen=True)
class Layout:
    """Where the inputs and outputs of a law lie in flat arrays.

    Inputs: the parameters; references of counted coordinates; room for users' functions; of each motion K + 2 Taylor
    coefficients; of each frame its placement, and of its body the Taylor coefficients of the position (3 (K + 2)), the
    rotation (9, by rows), the coefficients of the angular velocity in N (3 (K + 1)) and the quaternion (4).
    Outputs: of each frame K + 1 Taylor coefficients of the load on its body, eight lanes each: force in N and moment
    about the centre of mass in N; then the energy, three numbers of each coordinate, and room for functions.

    Attributes
    ----------
    order : K, of the loads
    """

    parameters: int
    turning: int
    function_inputs: tuple[int, ...]
    function_outputs: tuple[int, ...]
    motions: int
    frames: int
    coordinates: int
    order: int = 0

    @property
    def first_function(self) -> int:
        """First input of the functions."""
        return self.parameters + REFERENCE * self.turning

    @property
    def first_motion(self) -> int:
        """First input of the motions."""
        return self.first_function + sum(self.function_inputs)

    @property
    def first_frame(self) -> int:
        """First input of the frames."""
        return self.first_motion + self.motions * (self.order + 2)

    @property
    def frame_size(self) -> int:
        """Inputs of one frame."""
        return PLACEMENT + 3 * (self.order + 2) + 9 + 3 * (self.order + 1) + 4

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return self.first_frame + self.frames * self.frame_size

    @property
    def energy(self) -> int:
        """Output of the energy, behind the loads."""
        return LANES * self.frames * (self.order + 1)

    @property
    def first_coordinate(self) -> int:
        """First output of the coordinates."""
        return self.energy + 1

    @property
    def function_output(self) -> int:
        """First output of the functions."""
        return self.first_coordinate + COORDINATE * self.coordinates

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return self.function_output + sum(self.function_outputs)


class Place:
    """A frame of a force element along a motion, as its law gets it; all in N unless said otherwise.

    Quantities are jets: they know their derivatives along the motion, and by the poses of the bodies where these are
    asked for. Each is computed when the law first asks for it.

    Parameters
    ----------
    layout, f, inputs : where the motion of the frame is written
    graded : whether derivatives by poses are asked for
    """

    def __init__(self, layout: Layout, f: int, inputs: Any, graded: bool) -> None:
        self._layout, self._f, self._inputs, self._graded = layout, f, inputs, graded
        self._first = layout.first_frame + f * layout.frame_size
        self._motion = self._first + PLACEMENT

    @cached_property
    def centre(self) -> np.ndarray:
        """Centre of mass of the body, (3,) m."""
        terms = [self._vector(self._motion + 3 * k) for k in range(self._layout.order + 2)]
        zero = [0] * self._layout.order

        def by_translation(axis: int) -> list[Any]:
            return [replaced(zeros(self._inputs), TRANSLATION + axis, 1.0), *zero]

        return self._jets(terms, by_translation)

    @cached_property
    def arm(self) -> np.ndarray:
        """From the centre of mass of the body to the origin of the frame, (3,) m."""
        return self.direction_in_body(self._vector(self._first))

    @cached_property
    def position(self) -> np.ndarray:
        """Origin of the frame, (3,) m."""
        return self.centre + self.arm

    @cached_property
    def velocity(self) -> np.ndarray:
        """Velocity of the origin, (3,) m/s."""
        return _rates(self.position)

    @cached_property
    def centre_velocity(self) -> np.ndarray:
        """Velocity of the centre of mass of the body, (3,) m/s."""
        return _rates(self.centre)

    @cached_property
    def rotation(self) -> np.ndarray:
        """Axes of the frame as columns, (3, 3)."""
        axes = self._matrix(self._first + 3)
        return _columns([self.direction_in_body(list(axes[:, c])) for c in range(3)])

    @cached_property
    def body_rotation(self) -> np.ndarray:
        """Axes of the body as columns, (3, 3)."""
        return _columns([self._fixed(list(self._rotation[:, c])) for c in range(3)])

    @cached_property
    def spin(self) -> np.ndarray:
        """Angular velocity of the body, (3,) rad/s."""
        return self._jets(self._spin, None)

    @cached_property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity of the body in its own axes, (3,) rad/s."""
        return self.body_rotation.T @ self.spin

    @cached_property
    def orientation(self) -> np.ndarray:
        """Orientation of the body (w, x, y, z), body to N, (4,); along the motion alone."""
        first = self._motion + 3 * (self._layout.order + 2) + 9 + 3 * (self._layout.order + 1)
        series = [[at(self._inputs, first + c) for c in range(4)]]
        for k in range(self._layout.order + 1):
            # q' = (0, spin) q / 2, coefficient by coefficient.
            total: list[Any] = [0.0] * 4
            for m in range(k + 1):
                (w, x, y, z), (a, b, c) = series[k - m], self._spin[m]
                term = -a * x - b * y - c * z, a * w + b * z - c * y, b * w + c * x - a * z, c * w + a * y - b * x
                total = [old + new for old, new in zip(total, term, strict=True)]
            series.append([part * (0.5 / (k + 1)) for part in total])
        return self._jets(series, None)

    def point(self, local: Any) -> np.ndarray:
        """Return the point at `local` (3,) of this frame."""
        return self.position + self.direction(local)

    def direction(self, local: Any) -> np.ndarray:
        """Return the vector with components `local` (3,) in this frame."""
        return self.rotation @ np.asarray(local, dtype=object)

    def velocity_of(self, local: Any) -> np.ndarray:
        """Return the velocity of the point at `local` (3,) of this frame."""
        return self.velocity + np.cross(self.spin, self.direction(local))

    def direction_in_body(self, local: Sequence[Any]) -> np.ndarray:
        """Return the vector with components `local`, numbers, in the axes of the body."""
        R = self._rotation
        return self._fixed([sum(R[row, c] * local[c] for c in range(3)) for row in range(3)])

    @cached_property
    def _rotation(self) -> np.ndarray:
        return self._matrix(self._motion + 3 * (self._layout.order + 2))

    @cached_property
    def _spin(self) -> list[list[Any]]:
        first = self._motion + 3 * (self._layout.order + 2) + 9
        return [self._vector(first + 3 * k) for k in range(self._layout.order + 1)]

    def _fixed(self, vector: Sequence[Any]) -> np.ndarray:
        """A vector fixed in the body: a' = spin x a, coefficient by coefficient, with its gradient by turns."""
        terms = [list(vector)]
        for k in range(self._layout.order + 1):
            parts = [cross(self._spin[m], terms[k - m]) for m in range(k + 1)]
            terms.append([sum(part[c] for part in parts) * (1 / (k + 1)) for c in range(3)])
        by_turns = [turned(self._inputs, *term) for term in terms[:-1]] if self._graded else []
        return self._jets(terms, lambda c: [parts[c] for parts in by_turns])

    def _jets(self, terms: Sequence[Sequence[Any]], gradient: Callable[[int], list[Any]] | None) -> np.ndarray:
        """Jets of the components of a vector, of which these are the Taylor coefficients."""
        jets = np.empty(len(terms[0]), dtype=object)
        for c in range(len(jets)):
            mine = gradient(c) if self._graded and gradient is not None else None
            of_frames = [mine if frame == self._f else None for frame in range(self._layout.frames)]
            jets[c] = Jet([term[c] for term in terms], of_frames)
        return jets

    def _vector(self, start: int) -> list[Any]:
        return [at(self._inputs, start + c) for c in range(3)]

    def _matrix(self, start: int) -> np.ndarray:
        return np.array([self._vector(start + 3 * row) for row in range(3)], dtype=object)


def _columns(vectors: list[np.ndarray]) -> np.ndarray:
    made: np.ndarray = np.array(vectors, dtype=object).T
    return made


def _rates(jets: np.ndarray) -> np.ndarray:
    return np.array([jet.rate for jet in jets], dtype=object)


def run(element: ForceElement, layout: Layout, functions: Sequence[Any], t: Any, inputs: Any, outputs: Any) -> None:
    """Fill `outputs` from `inputs`, arrays of floats or of machine code that is being written; see `Layout`.

    `functions` stand for those of the user.
    """
    law = element.with_values(_values(element, layout, functions, inputs))
    if isinstance(inputs, Traced) and not element.built_in:
        law = read_only(law)  # what a user wrote may do more than arithmetic
    time = _jet(layout, [t, 1.0, *[0] * layout.order])
    graded = element.has("potential") or element.has("coordinate")
    frames = [Place(layout, f, inputs, graded) for f in range(layout.frames)]
    loads = [[zeros(inputs) for _ in range(layout.order + 1)] for _ in frames]
    energy: Any = 0.0
    if element.has("potential"):
        potential = law.potential(time, *frames)
        energy = potential.value if isinstance(potential, Jet) else potential
        _add(loads, potential, -1.0)
    if element.has("coordinate"):
        coordinates = _continued(element, layout, time, _listed(law.coordinate(time, *frames)), inputs)
        if element.has("stored"):
            stored = law.stored(time, coordinates[0] if len(coordinates) == 1 else coordinates)
            energy = energy + (stored.value if isinstance(stored, Jet) else stored)
            _add(loads, stored, -1.0)
        rates = [x.rate for x in coordinates]
        along: list[Any] = [0.0] * len(rates)
        if element.has("along"):
            # Multipliers are not differentiated by poses.
            bare = [Jet(jet.taylor, rate.gradient) for jet, rate in zip(coordinates, rates, strict=True)]
            along = _listed(law.along(time, *((bare[0], rates[0]) if len(bare) == 1 else (bare, rates))))
            for x, multiplier in zip(coordinates, along, strict=True):
                _add(loads, x, multiplier)
        for c, (x, multiplier) in enumerate(zip(coordinates, along, strict=True)):
            first = layout.first_coordinate + COORDINATE * c
            for k, value in enumerate((x.taylor[0], x.taylor[1], multiplier)):
                put(outputs, first + k, 1.0 * (value.value if isinstance(value, Jet) else value))
    if element.has("load"):
        # Loads given outright are not differentiated by poses.
        plain = [Place(layout, f, inputs, False) for f in range(layout.frames)] if graded else frames
        for f, given in enumerate(_pairs(law.load(time, *plain), layout.frames)):
            _add_given(loads[f], frames[f], *given, zeros(inputs))
    for f, of_frame in enumerate(loads):
        for k, lanes in enumerate(of_frame):
            store(outputs, LANES * (f * (layout.order + 1) + k), lanes)
    put(outputs, layout.energy, 1.0 * energy)


def _values(element: ForceElement, layout: Layout, functions: Sequence[Any], inputs: Any) -> dict[str, Any]:
    """What stands for the element's parameters, users' functions and motions in its law."""
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
    for m, name in enumerate(element.motions):
        first = layout.first_motion + m * terms
        values[name] = _jet(layout, [at(inputs, first + k) for k in range(terms)])
    return values


def _jet(layout: Layout, taylor: list[Any], gradient: Sequence[Any] | None = None) -> Jet:
    return Jet(taylor, [None] * layout.frames if gradient is None else gradient)


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, list | tuple | np.ndarray) else [x]


def _pairs(given: Any, frames: int) -> list[tuple[Any, Any]]:
    """Force and torque for each frame; one frame may get its pair alone."""
    pairs = [given] if frames == 1 and len(given) == 2 and not _is_pair(given[0]) else list(given)
    if len(pairs) != frames or not all(len(pair) == 2 for pair in pairs):
        raise ValueError(f"its load must be a force and a torque for each of its {frames} frames")
    return [(pair[0], pair[1]) for pair in pairs]


def _is_pair(x: Any) -> bool:
    return isinstance(x, tuple | list) and len(x) == 2


def _add(loads: list[list[Any]], x: Any, multiplier: Any) -> None:
    """Add to the loads a multiplier times the gradient of x."""
    if not isinstance(x, Jet):
        return  # the same for all poses
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
    """Add to the load on a body a force at the origin of a frame and a torque, in N."""
    if not _is_nothing(force):
        force = np.asarray(force, dtype=object)
        _add_vector(load, TRANSLATION, force, zero)
        _add_vector(load, TURN, np.cross(frame.arm, force), zero)
    if not _is_nothing(torque):
        _add_vector(load, TURN, np.asarray(torque, dtype=object), zero)


def _is_nothing(vector: Any) -> bool:
    return vector is None or (isinstance(vector, int) and vector == 0)


def _add_vector(load: list[Any], first: int, vector: np.ndarray, zero: Any) -> None:
    for k in range(len(load)):
        lanes = zero
        for c, x in enumerate(vector):
            taylor = x.taylor if isinstance(x, Jet) else [x]
            lanes = replaced(lanes, first + c, 1.0 * taylor[k] if k < len(taylor) else 0.0)
        load[k] = load[k] + lanes


def _continued(element: ForceElement, layout: Layout, time: Jet, coordinates: list[Jet], inputs: Any) -> list[Jet]:
    """Coordinates, angles among them with the whole turns that they have made."""
    coordinates = list(coordinates)
    for place, c in enumerate(element.turning):
        first = layout.parameters + REFERENCE * place
        angle, rate, when = (at(inputs, first + k) for k in range(REFERENCE))
        expected = angle + rate * (time.value - when)
        coordinates[c] = (coordinates[c] - expected).wrapped(2 * np.pi).shifted(expected)
    return coordinates
