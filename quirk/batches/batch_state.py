"""States of all members of a batch, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..bodies.state import State

PARTS = ("position", "orientation", "velocity", "angular_velocity")


@dataclass
class BatchState:
    """Poses and velocities of n bodies in all members, in the order of `system.bodies`; the arrays may be written to.

    Attributes
    ----------
    position : (count, n, 3) centers of mass in the inertial frame, m
    orientation : (count, n, 4) quaternions (w, x, y, z), body to inertial; normalized by `advance`
    velocity : (count, n, 3) of the centers of mass in the inertial frame, m/s
    angular_velocity : (count, n, 3) in body axes, rad/s
    angles : dict
        Angles (count, 3), rad, by name of the joint. They define the number of full turns, which is not determined by
        poses.
    internal : dict
        Internal variables (count, s) by name of the force element, such as the integral of a `Controller`. NaN stands
        for the initial values of the element.
    changed : dict
        Parts that events have enabled or disabled, and parts that they have replaced, by member: `switched` and
        `replaced` of its `State`.
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    angles: dict[str, np.ndarray] = field(default_factory=dict)
    internal: dict[str, np.ndarray] = field(default_factory=dict)
    changed: dict[int, tuple[Mapping[str, bool], Mapping[str, Any]]] = field(default_factory=dict)

    @classmethod
    def repeated(cls, state: State, count: int) -> BatchState:
        """Return a batch state of `count` copies of a state."""

        def tiled(array: Any) -> np.ndarray:
            return np.repeat(np.asarray(array, dtype=float)[None], count, axis=0)

        position, orientation, velocity, angular_velocity = map(tiled, state.parts)
        angles = {name: tiled(array) for name, array in state.angles.items()}
        internal = {name: tiled(array) for name, array in state.internal.items()}
        changes = state.switched, state.replaced
        changed = dict.fromkeys(range(count), changes) if any(changes) else {}
        return cls(position, orientation, velocity, angular_velocity, angles, internal, changed)

    def member(
        self, k: int, switched: Mapping[str, bool] | None = None, replaced: Mapping[str, Any] | None = None
    ) -> State:
        """Return a copy of the state of member k as a `State`.

        `switched` and `replaced` are the constraints and forces enabled, disabled or replaced by events, as in `State`;
        by default those of the member.
        """
        angles = {name: array[k].copy() for name, array in self.angles.items()}
        internal = {name: array[k].copy() for name, array in self.internal.items() if not np.isnan(array[k]).any()}
        parts = (np.array(getattr(self, name)[k]) for name in PARTS)
        own = self.changed.get(k, ({}, {}))
        switched, replaced = own[0] if switched is None else switched, own[1] if replaced is None else replaced
        return State(*parts, angles=angles, internal=internal, switched=dict(switched), replaced=dict(replaced))

    def put(self, k: int, state: State) -> None:
        """Set the state of member k.

        Angles that the state does not name are those of its poses without full turns, and internal variables that it
        does not name have their initial values.
        """
        for name, part in zip(PARTS, state.parts, strict=True):
            getattr(self, name)[k] = part
        for arrays, numbers, unknown in ((self.angles, state.angles, 0.0), (self.internal, state.internal, np.nan)):
            for name, array in numbers.items():
                if name not in arrays:
                    arrays[name] = np.full((len(self.position), *np.shape(array)), unknown)
            for name, every in arrays.items():
                every[k] = numbers.get(name, unknown)
        self.changed.pop(k, None)
        if state.switched or state.replaced:
            self.changed[k] = dict(state.switched), dict(state.replaced)

    @property
    def bodies(self) -> np.ndarray:
        """States of all n bodies in all members, (count, n, 13), as a copy."""
        return np.concatenate([getattr(self, name) for name in PARTS], axis=2, dtype=float)

    def put_bodies(self, members: np.ndarray, states: np.ndarray, angles: Mapping[str, np.ndarray]) -> None:
        """Set the states of the bodies of some members, and the angles of joints whose full turns are counted.

        `members` are the indices of the members, `states` are (members, n, 13), and `angles` (members, 3), rad, by name
        of the joint.
        """
        first = 0
        for name in PARTS:
            array = getattr(self, name)
            array[members] = states[..., first : first + array.shape[2]]
            first += array.shape[2]
        for name in {*self.angles, *angles}:
            every = self.angles.setdefault(name, np.zeros((len(self.position), 3)))
            every[members] = angles.get(name, 0.0)
