"""Layout of the flat input and output arrays of a compiled force law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..constraints.relation import LANES

# Number of inputs of a frame before the motion of its body: origin and axes in body coordinates.
PLACEMENT = 12
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

    Outputs are, in this order: for each frame, K + 1 Taylor coefficients of the load on its body, with eight entries
    each (force and moment about the center of mass in the inertial frame, and two unused ones); the energy; the value,
    rate and load of each coordinate; K + 1 Taylor coefficients of the rate of each internal variable; and space for
    user functions.

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
    def velocities(self) -> np.ndarray:
        """Mask of the inputs that are velocities and angular velocities of bodies, or their time derivatives."""
        mask, size = np.zeros(self.inputs, dtype=bool), 3 * (self.order + 1)
        for first in range(self.first_frame + PLACEMENT, self.inputs, self.frame_size):
            mask[first + 3 : first + 3 + size] = True
            mask[first + 12 + size : first + 12 + 2 * size] = True
        return mask

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
