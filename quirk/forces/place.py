"""Moving frames of force elements, as arguments of force laws.

Their quantities are jets: numbers with time derivatives and a gradient with respect to the poses of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..constraints.relation import TRANSLATION, TURN, cross, turned, zeros
from ..jit.simd import at, replaced
from .law_layout import PLACEMENT, LawLayout


class Place:
    """A moving frame of a force element, as an argument of its force law.

    Vectors are in the inertial frame unless stated otherwise. Each quantity is computed when it is first read.

    Parameters
    ----------
    layout, inputs : layout of the force law, and its array of inputs; see `quirk.forces.law_layout.LawLayout`
    f : index of the frame among those of the element
    graded : whether quantities have gradients with respect to the poses of the bodies
    """

    def __init__(self, layout: LawLayout, f: int, inputs: Any, graded: bool) -> None:
        self._layout, self._f, self._inputs, self._graded = layout, f, inputs, graded
        self._first = layout.first_frame + f * layout.frame_size
        self._motion = self._first + PLACEMENT

    @cached_property
    def center(self) -> np.ndarray:
        """Position (3,) of the body's center of mass in the inertial frame, m."""
        terms = [self._vector(self._motion + 3 * k) for k in range(self._layout.order + 2)]
        zero = [0] * self._layout.order

        def by_translation(axis: int) -> list[Any]:
            return [replaced(zeros(self._inputs), TRANSLATION + axis, 1.0), *zero]

        return self._jets(terms, by_translation)

    @cached_property
    def arm(self) -> np.ndarray:
        """Vector (3,) from the body's center of mass to the origin of the frame, inertial frame, m."""
        return self.direction_in_body(self._vector(self._first))

    @cached_property
    def position(self) -> np.ndarray:
        """Position (3,) of the frame's origin in the inertial frame, m."""
        return self.center + self.arm

    @cached_property
    def velocity(self) -> np.ndarray:
        """Velocity (3,) of the frame's origin in the inertial frame, m/s."""
        return _rates(self.position)

    @cached_property
    def center_velocity(self) -> np.ndarray:
        """Velocity (3,) of the body's center of mass in the inertial frame, m/s."""
        return _rates(self.center)

    @cached_property
    def rotation(self) -> np.ndarray:
        """Axes of the frame in the inertial frame, as the columns of a matrix (3, 3)."""
        axes = self._matrix(self._first + 3)
        return _columns([self.direction_in_body(list(axes[:, c])) for c in range(3)])

    @cached_property
    def body_rotation(self) -> np.ndarray:
        """Axes of the body in the inertial frame, as the columns of a matrix (3, 3)."""
        return _columns([self._fixed(list(self._rotation[:, c])) for c in range(3)])

    @cached_property
    def small_turn(self) -> np.ndarray:
        """Small rotation vector (3,), rad, of the body about the inertial axes: zero, with a unit gradient.

        It serves as the variable in derivatives with respect to rotations of the body.
        """

        def by_turn(axis: int) -> list[Any]:
            return [replaced(zeros(self._inputs), TURN + axis, 1.0), *[0] * self._layout.order]

        return self._jets([[0] * 3] * (self._layout.order + 2), by_turn)

    @cached_property
    def spin(self) -> np.ndarray:
        """Angular velocity (3,) of the body in the inertial frame, rad/s."""
        return self._jets(self._spin, None)

    @cached_property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity (3,) of the body in its own axes, rad/s."""
        return self.body_rotation.T @ self.spin

    @cached_property
    def orientation(self) -> np.ndarray:
        """Unit quaternion (4,) of the body, (w, x, y, z), body to inertial.

        It has time derivatives, but no gradient with respect to the poses of the bodies.
        """
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

    def turned(self, matrix: np.ndarray) -> np.ndarray:
        """Transform a matrix (3, 3), whose columns are vectors, from this frame to the inertial frame."""
        axes: np.ndarray = self.rotation @ matrix
        return axes

    def point(self, local: Any) -> np.ndarray:
        """Return the position (3,) in the inertial frame, m, of the point at `local` (3,), m, of this frame."""
        return self.position + self.direction(local)

    def direction(self, local: Any) -> np.ndarray:
        """Return the vector in the inertial frame that has the components `local` (3,) in this frame."""
        return self.rotation @ np.asarray(local, dtype=object)

    def velocity_of(self, local: Any) -> np.ndarray:
        """Return the velocity (3,) in the inertial frame, m/s, of the point at `local` (3,), m, of this frame."""
        return self.velocity + np.cross(self.spin, self.direction(local))

    def direction_in_body(self, local: Sequence[Any]) -> np.ndarray:
        """Return the vector in the inertial frame that has the components `local` (3,), floats, in the body axes."""
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
        """Return a body-fixed vector as jets, from its present components in the inertial frame.

        Its time derivatives follow from a' = omega x a, with the angular velocity omega of the body, and its gradient
        from rotations of the body.
        """
        terms = [list(vector)]
        for k in range(self._layout.order + 1):
            parts = [cross(self._spin[m], terms[k - m]) for m in range(k + 1)]
            terms.append([sum(part[c] for part in parts) * (1 / (k + 1)) for c in range(3)])
        by_turns = [turned(self._inputs, *term) for term in terms[:-1]] if self._graded else []
        return self._jets(terms, lambda c: [parts[c] for parts in by_turns])

    def _jets(self, terms: Sequence[Sequence[Any]], gradient: Callable[[int], list[Any]] | None) -> np.ndarray:
        """Return the components of a vector as jets, with a gradient with respect to the pose of this frame's body.

        `terms` are the Taylor coefficients of the vector in time; `gradient(c)` returns the gradient of component c.
        """
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
