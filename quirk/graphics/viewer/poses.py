"""Poses of all bodies, and activity of constraints and forces, in nt animation frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import Body, Ground
from quirk.constraints.unilateral import Unilateral
from quirk.result import pose_interpolation as in_between

if TYPE_CHECKING:
    from quirk.bodies.state import State
    from quirk.result.result import Result
    from quirk.system.system import System


@dataclass(frozen=True)
class Poses:
    """Poses of all bodies in nt animation frames, and activity of constraints and forces.

    Attributes
    ----------
    time : (nt,) s
    position : (nt, 3) m, inertial frame, by name of body
    orientation : (nt, 4) unit quaternions, body to inertial, by name of body
    acts : (nt,) bool, whether a constraint or force is enabled, by name; enabled unilateral constraints may be open
    """

    time: np.ndarray
    position: dict[str, np.ndarray]
    orientation: dict[str, np.ndarray]
    acts: dict[str, np.ndarray]

    @classmethod
    def of_result(cls, result: Result, times: np.ndarray) -> Poses:
        """Return the poses of a result at given times (nt,), s, interpolated between its output times."""
        pairs = {body.name: in_between.orientations(result, body.name, times) for body in result.system.bodies}
        number = np.repeat(np.arange(len(result.segments)), [len(s.time) for s in result.segments])
        number = number[in_between.stretches(result, times)]
        acting: list[set[str]] = []
        for segment in result.segments:
            found = set(segment.active) | {element.name for element, _ in segment.model.forces}
            for constraint in result.system.constraints:
                if isinstance(constraint, Unilateral) and segment.switched.get(constraint.name, True):
                    found.add(constraint.name)
            acting.append(found)
        names = {c.name for c in result.system.constraints} | {force.name for force in result.system.forces}
        names |= set(result._elements)
        acts = {name: np.array([name in found for found in acting])[number] for name in names}
        return cls(times, {k: r for k, (r, _) in pairs.items()}, {k: q for k, (_, q) in pairs.items()}, acts)

    @classmethod
    def of_state(cls, system: System, state: State) -> Poses:
        """Return the poses of a single state, as one animation frame."""
        forces = {element.name for element, _ in system.model.forces}
        acts = {c.name: np.array([system.is_active(c.name)]) for c in system.constraints}
        acts |= {element.name: np.array([element.name in forces]) for element in system.forces}
        return cls(
            np.zeros(1),
            {body.name: state.position[k : k + 1] for k, body in enumerate(system.bodies)},
            {body.name: state.orientation[k : k + 1] for k, body in enumerate(system.bodies)},
            acts,
        )

    def of(self, body: Body | Ground) -> tuple[np.ndarray, np.ndarray]:
        """Return positions (nt, 3), m, and orientations (nt, 4) of a body or of the ground."""
        if isinstance(body, Body):
            return self.position[body.name], self.orientation[body.name]
        return np.zeros((len(self.time), 3)), np.tile(rotation.IDENTITY, (len(self.time), 1))

    @property
    def times(self) -> np.ndarray:
        """Times of the animation frames (nt,), s."""
        return self.time

    @property
    def poses(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Positions (nt, 3), m, and rotation matrices (nt, 3, 3), body to inertial, by name of body."""
        return {name: (r, rotation.matrix(self.orientation[name])) for name, r in self.position.items()}

    def path_of(self, body: Body | Ground, local: np.ndarray) -> np.ndarray:
        """Return the path (nt, 3) of a point (3,) of a body or of the ground, inertial frame, m."""
        r, q = self.of(body)
        return r + rotation.matrix(q) @ local
