"""Constraint rows given by a function of the bodies' poses or velocities, differentiated exactly.

Relations define constraints that cannot be composed of bilinear primitives: angles, gears, rolling, user-defined
constraints. The function of a relation receives moving frames of jets and returns one jet per row. A jet is a number
with its Taylor coefficients in time and its gradient with respect to small displacements and rotations of bodies.

* A relation of poses returns Phi. The gradient of Phi with respect to the poses is the row of A; the time derivatives
  of the gradient are the time derivatives of the row.
* A relation of velocities returns psi, linear in velocities and angular velocities, as for rolling without slip. psi
  replaces Phi_dot; a Phi need not exist. The gradient of psi with respect to the velocities is the row of A.

A gradient is stored in eight lanes, the entries of a vector register: three for translation, three for rotation, two
unused. The dense reference solver evaluates the function with floats. While machine code is generated
(`quirk.dynamics.sparse`), it is evaluated with traced values, which record operations. For tangents, machine code
evaluates it with dual numbers, which have a value and derivatives along eight directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..autodiff.jet import Jet
from ..bodies.frame import Frame
from ..functions.motion import Motion
from ..jit.scalar import Scalar
from ..jit.simd import at, put, replaced, splat, store
from .numbers import Numbers

FORCE, TORQUE = range(2)
# First lane of a gradient by translation and by rotation, each of three components, and total number of lanes.
TRANSLATION, TURN = 0, 3
LANES = 8
# Origin and axes, by rows, of a body's own frame.
OWN_FRAME = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


class MovingFrame:
    """A frame fixed in a moving body; all vectors are in the inertial frame.

    Attributes
    ----------
    position : (3,) jets, m
        Position of the origin.
    rotation : (3, 3) jets
        Axes as columns.
    velocity : (3,) jets, m/s
        Velocity of the origin; only in relations of velocities.
    spin : (3,) jets, rad/s
        Angular velocity; only in relations of velocities.
    """

    def __init__(
        self, position: np.ndarray, rotation: np.ndarray, velocity: np.ndarray | None, spin: np.ndarray | None
    ) -> None:
        self.position, self.rotation = position, rotation
        self._velocity, self._spin = velocity, spin

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the origin in the inertial frame, (3,) jets, m/s; relations of poses raise a TypeError."""
        return self._of_velocities(self._velocity)

    @property
    def spin(self) -> np.ndarray:
        """Angular velocity in the inertial frame, (3,) jets, rad/s; relations of poses raise a TypeError."""
        return self._of_velocities(self._spin)

    @staticmethod
    def _of_velocities(value: np.ndarray | None) -> np.ndarray:
        if value is None:
            raise TypeError("velocities are only available in relations of velocities (level='velocity')")
        return value

    def point(self, local: Any) -> np.ndarray:
        """Return the position (3,) of a point of this frame in the inertial frame, m, as jets.

        `local` (3,) are the coordinates of the point in this frame.
        """
        return self.position + self.direction(local)

    def direction(self, local: Any) -> np.ndarray:
        """Return the components (3,) in the inertial frame of a vector fixed in this frame, as jets.

        `local` (3,) are its components in this frame.
        """
        return self.rotation @ np.asarray(local, dtype=object)

    def velocity_of(self, local: Any) -> np.ndarray:
        """Return the velocity (3,) of a point of this frame in the inertial frame, m/s, as jets.

        `local` (3,) are the coordinates of the point in this frame.
        """
        return self.velocity + np.cross(self.spin, self.direction(local))

    def carried(self, origin: Any, axes: Any) -> MovingFrame:
        """Return a frame that is fixed in this frame.

        `origin` (3,), m, and `axes` (3, 3), as columns, are given in this frame.
        """
        rotation = self.rotation @ np.asarray(axes, dtype=object)
        if self._velocity is None:
            return MovingFrame(self.point(origin), rotation, None, None)
        return MovingFrame(self.point(origin), rotation, self.velocity_of(origin), self.spin)


# function(t, frames, numbers, motions) -> one jet per row; numbers are `Numbers`, or a list of jets
Function = Callable[[Jet, list[MovingFrame], Any, list[Jet]], Sequence[Jet]]


@dataclass(frozen=True)
class Relation:
    """Rows of a constraint, defined by a function of its moving frames.

    Attributes
    ----------
    function : function of time, moving frames, numbers and motions that returns a jet per row
    labels : name of the residual of each row, for messages
    units : unit of the multiplier of each row, FORCE or TORQUE
    numbers : constants passed to `function`; constraints that differ only in the constants share compiled code
    motions : functions of time passed to `function`
    of_velocities : whether the function returns psi, linear in velocities, instead of Phi of poses
    scale : derivative of Phi with respect to a length or angle; scale times multiplier is a force or torque
    source : the user function involved, or None; its dependence on time is unknown
    undefined : explanation in error messages if the function's value is NaN
    offsets : number of trailing constants that are offsets of the rows; see `quirk.constraints.offsets`
    """

    function: Function
    labels: tuple[str, ...]
    units: tuple[int, ...]
    numbers: tuple[float, ...] = ()
    motions: tuple[Motion, ...] = field(default=())
    of_velocities: bool = False
    scale: float = 1.0
    source: Callable[..., Any] | None = None
    undefined: str = ""
    offsets: int = 0

    # Whether `fill` can be compiled to machine code.
    compilable: ClassVar[bool] = True

    @property
    def of_user(self) -> bool:
        """Whether the relation calls a user function."""
        return self.source is not None

    def missing(self, order: int) -> tuple[str, str] | None:
        """Explain why derivatives of the residual Phi up to order `order` are not available.

        The result is a pair of the reason and a remedy, or None if all derivatives up to this order exist.
        """
        for motion in self.motions:
            if motion.known < order:
                name = "f_" + "t" * order
                cure = f"give {name}" if order < 5 else "functions have four derivatives, other motions any number"
                return f"its {motion!r} has no {name}", cure
        return None

    def fill(self, layout: RelationLayout, resting: bool, t: Any, inputs: Any, outputs: Any) -> None:
        """Evaluate the rows and their gradients, and write them to `outputs` in the given layout.

        `inputs`, `t` and `outputs` hold floats, or traced values while machine code is generated. If `resting` is true,
        accelerations and all higher derivatives are assumed to be zero and are not read; the second derivative of Phi
        is then -b, where b is the right-hand side of the rows A x'' = b.
        """
        differentiate(self, layout, resting, t, inputs, outputs)

    def fill_dual(self, layout: RelationLayout, t: Any, inputs: Any, outputs: Any) -> None:
        """Evaluate the rows and their derivatives along eight directions on dual numbers, and write both to `outputs`.

        The inputs include accelerations.
        """
        differentiate(self, layout, False, t, inputs, outputs)


@dataclass(frozen=True)
class RelationLayout:
    """Layout of the flat input and output arrays of a relation.

    K = `order` and G = `gradient_order` are the highest time derivatives of Phi and of its gradient.

    Inputs are, in this order: the constants; the K + 1 Taylor coefficients of each motion; and for each frame its
    origin (3) and axes (9, by rows) in body coordinates, followed by the motion of its body: the Taylor coefficients of
    the position (3 (K + 1)), the rotation matrix (9, by rows) and the Taylor coefficients of the angular velocity in
    the inertial frame (3 K).

    Outputs are, in this order: the K + 1 derivatives of Phi for each row; and for each row and frame the G + 1 Taylor
    coefficients of the gradient, eight lanes each.
    """

    numbers: int
    motions: int
    frames: int
    rows: int
    order: int
    gradient_order: int = 0

    @property
    def frame_size(self) -> int:
        """Number of entries per frame in the input array."""
        return 12 + 3 * (self.order + 1) + 9 + 3 * self.order

    @property
    def first_frame(self) -> int:
        """Index in the input array at which the data of the frames begin."""
        return self.numbers + self.motions * (self.order + 1)

    @property
    def inputs(self) -> int:
        """Length of the input array."""
        return self.first_frame + self.frames * self.frame_size

    @property
    def first_gradient(self) -> int:
        """Index in the output array at which the gradients begin."""
        return self.rows * (self.order + 1)

    @property
    def outputs(self) -> int:
        """Length of the output array."""
        return self.first_gradient + self.rows * self.frames * (self.gradient_order + 1) * LANES


def layout_of(relation: Relation, frames: int, order: int, gradient_order: int = 0) -> RelationLayout:
    """Return the array layout of a relation between `frames` frames.

    `order` and `gradient_order` are the highest time derivatives of Phi and of its gradient.
    """
    return RelationLayout(
        len(relation.numbers), len(relation.motions), frames, len(relation.labels), order, gradient_order
    )


def differentiate(relation: Relation, layout: RelationLayout, resting: bool, t: Any, inputs: Any, outputs: Any) -> None:
    """Evaluate a relation on jets, and write its rows and gradients to `outputs`; see `Relation.fill`."""
    order, velocities = layout.order, relation.of_velocities
    none: list[Any] = [None] * layout.frames
    numbers = Numbers(inputs, layout.numbers, order, layout.frames)
    time = Jet([t, 1.0, *[0] * (order - 1)][: order + 1], none)
    motions = []
    for m in range(layout.motions):
        first = layout.numbers + m * (order + 1)
        motions.append(Jet([at(inputs, first + k) for k in range(order + 1)], none))
    frames = [_moving_frame(layout, f, velocities, resting, inputs) for f in range(layout.frames)]
    rows = relation.function(time, frames, numbers, motions)
    if len(rows) != layout.rows:
        raise ValueError(f"it returned {len(rows)} quantities, and {layout.rows} where the bodies were placed")
    factorial = [1.0]
    for k in range(order):
        factorial.append(factorial[-1] * (k + 1))
    for r, jet in enumerate(rows):
        # psi takes the place of Phi_dot, and 0 that of Phi.
        derivatives = [c * f for c, f in zip(jet.taylor, factorial, strict=False)]
        derivatives = [0.0, *derivatives][: order + 1] if velocities else derivatives
        for k, derivative in enumerate(derivatives):
            put(outputs, r * (order + 1) + k, derivative * 1.0)
        terms = layout.gradient_order + 1
        for f, gradient in enumerate(jet.gradient):
            first = layout.first_gradient + LANES * terms * (r * layout.frames + f)
            for k, lanes in enumerate(gradient or [0] * terms):
                store(outputs, first + LANES * k, zeros(inputs) if type(lanes) is int else lanes)


def _moving_frame(layout: RelationLayout, f: int, velocities: bool, resting: bool, inputs: Any) -> MovingFrame:
    order, first = layout.order, layout.first_frame + f * layout.frame_size

    def vector(start: int) -> list[Any]:
        return [at(inputs, start + c) for c in range(3)]

    def matrix(start: int) -> np.ndarray:
        return np.array([vector(start + 3 * row) for row in range(3)], dtype=object)

    origin, axes = vector(first), matrix(first + 3)
    position = [vector(first + 12 + 3 * k) if k < 2 or not resting else [0] * 3 for k in range(order + 1)]
    first += 12 + 3 * (order + 1)
    rotation = matrix(first)
    spin = [vector(first + 9 + 3 * k) if k < 1 or not resting else [0] * 3 for k in range(order)]

    def jet(taylor: list[Any], gradient: Any) -> Jet:
        return Jet(taylor, [gradient if body == f else None for body in range(layout.frames)])

    def along(lane: int) -> Any:
        return replaced(zeros(inputs), lane, 1.0)

    def constant(lane: int) -> list[Any]:
        return [along(lane), *[0] * layout.gradient_order]

    points = [jet([c[a] for c in position], None if velocities else constant(TRANSLATION + a)) for a in range(3)]
    columns = []
    for a in range(3):
        # a' = omega x a, coefficient by coefficient
        column = [list(rotation[:, a])]
        for k in range(order):
            parts = [cross(spin[m], column[k - m]) for m in range(k + 1)]
            column.append([sum(part[c] for part in parts) * (1 / (k + 1)) for c in range(3)])
        by_turns = [turned(inputs, *column[k]) for k in range(0 if velocities else layout.gradient_order + 1)]
        columns.append([jet([term[c] for term in column], [parts[c] for parts in by_turns] or None) for c in range(3)])
    frame = MovingFrame(np.array(points, dtype=object), np.array(columns, dtype=object).T, None, None)
    if velocities:
        rates = [jet([(k + 1) * position[k + 1][a] for k in range(order)], constant(TRANSLATION + a)) for a in range(3)]
        spins = [jet([c[a] for c in spin], constant(TURN + a)) for a in range(3)]
        frame = MovingFrame(frame.position, frame.rotation, *(np.array(v, dtype=object) for v in (rates, spins)))
    # Products with the numbers of a body's own frame would take most of the time in Python.
    own = not isinstance(inputs, Scalar) and [*origin, *axes.ravel()] == OWN_FRAME
    return frame if own else frame.carried(origin, axes)


def zeros(inputs: Any) -> Any:
    """Return a vector of eight zeros: floats, or a SIMD vector of the machine code that is being generated.

    `inputs` determines which of the two is needed.
    """
    return splat(inputs.zero) if isinstance(inputs, Scalar) else np.zeros(LANES)


def turned(inputs: Any, x: Any, y: Any, z: Any) -> list[Any]:
    """Return the gradients of the components of a vector (x, y, z) that is fixed in a body.

    The gradients are with respect to rotations of the body: a rotation by dtheta about the inertial axes changes the
    vector by dtheta x (x, y, z). Each of the three gradients is a vector of eight entries.
    """
    result = []
    for row in ((None, z, -y), (-z, None, x), (y, -x, None)):
        lanes = zeros(inputs)
        for c, component in enumerate(row):
            lanes = lanes if component is None else replaced(lanes, TURN + c, component)
        result.append(lanes)
    return result


def cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Return the cross product a x b of two vectors (3,) as a list."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def frame_numbers(frame: Frame) -> np.ndarray:
    """Return the origin of a frame and its axes, by rows, in body coordinates, as one array (12,)."""
    return np.concatenate([frame.origin, frame.matrix.ravel()])
