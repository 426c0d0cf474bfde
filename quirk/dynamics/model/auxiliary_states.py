"""Numbers that a run integrates beside the motion of the bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.state import STATE_SIZE, State, vector_starts
from quirk.forces import ForceElement


@dataclass(frozen=True)
class Carried:
    """What follows the n bodies in flat states y (13 n + k,): internal variables, then work, J.

    Attributes
    ----------
    names : of the n bodies
    internal : of each force element that has internal variables, where they are among the k numbers
    work : where the work is that has been done on the bodies since the start: by each force element whose work is not
        the change of its energy, and by each constraint that is driven or a user's
    start : (k,) from which they start unless a state says otherwise
    """

    names: tuple[str, ...]
    internal: dict[str, slice]
    work: dict[str, int]
    start: np.ndarray

    @classmethod
    def of(cls, names: Sequence[str], forces: Sequence[ForceElement], driven: Sequence[str]) -> Carried:
        """Return what a system carries of which the constraints named in `driven` may do work."""
        internal: dict[str, slice] = {}
        numbers: list[float] = []
        for element in forces:
            if element.internal:
                internal[element.name] = slice(len(numbers), len(numbers) + len(element.internal))
                numbers += [getattr(element, name) for name in element.internal]
        # Energies of a user, of motions and of internal variables may change though no body moves.
        working = [f.name for f in forces if not f.conservative or f.of_user or f.motions or f.internal]
        work = {name: len(numbers) + k for k, name in enumerate(dict.fromkeys([*working, *driven]))}
        return cls(tuple(names), internal, work, np.array([*numbers, *(0.0 for _ in work)]))

    @property
    def bodies(self) -> int:
        """Number n of bodies."""
        return len(self.names)

    @property
    def size(self) -> int:
        """Number k of them."""
        return len(self.start)

    @property
    def counted(self) -> int:
        """Number of leading components of y, all but work, whose errors are measured by rtol and atol.

        Nothing depends on work: its error has a tolerance of its own, see `work_tolerance`.
        """
        return STATE_SIZE * self.bodies + self.size - len(self.work)

    @property
    def starts(self) -> np.ndarray:
        """First component of each part of y whose error is measured as one: vectors, and each internal variable."""
        return np.append(vector_starts(self.bodies), np.arange(STATE_SIZE * self.bodies, self.counted))

    def flat(self, state: State) -> np.ndarray:
        """Return y (13 n + k,) of a state, before any work is done."""
        numbers = self.start.copy()
        for name, where in self.internal.items():
            if name in state.internal:
                numbers[where] = state.internal[name]
        return np.concatenate([state.pack(), numbers])

    def state(self, y: np.ndarray) -> State:
        """Return views into the part of y (..., 13 n + k) that is of bodies, and the internal variables."""
        state = State.unpack(y[..., : STATE_SIZE * self.bodies])
        state.internal, state.bodies = self.internal_by_name(y), self.names
        return state

    def numbers(self, y: np.ndarray) -> np.ndarray:
        """Return the k numbers (..., k) out of y (..., 13 n + k)."""
        return y[..., STATE_SIZE * self.bodies :]

    def works(self, y: np.ndarray) -> np.ndarray:
        """Return all work (..., w) out of y (..., 13 n + k)."""
        return y[..., self.counted :]

    def exchanged(self, y: np.ndarray) -> float:
        """Sum of the magnitudes of all work, J, in y (13 n + k,)."""
        return float(np.abs(self.works(y)).sum())

    def internal_by_name(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return internal variables (..., s) of force elements by name out of y (..., 13 n + k)."""
        numbers = self.numbers(y)
        return {name: numbers[..., where] for name, where in self.internal.items()}

    def owner(self, component: int, body_names: Sequence[str]) -> str:
        """Return what messages call the body or element that a component of y belongs to."""
        if component < STATE_SIZE * self.bodies:
            return f'body "{body_names[component // STATE_SIZE]}"'
        number = component - STATE_SIZE * self.bodies
        named: list[tuple[str, Any]] = [*self.internal.items(), *self.work.items()]
        return next(f'"{name}"' for name, at in named if number == at or (isinstance(at, slice) and number < at.stop))


def rates(carried: Carried, internal: Mapping[str, np.ndarray], power: Mapping[str, float]) -> np.ndarray:
    """Return the rates (k,) of all numbers, from those of internal variables and from the power of all that works.

    They are zero of what is switched off.
    """
    found = np.zeros(carried.size)
    for name, where in carried.internal.items():
        found[where] = internal.get(name, 0.0)
    for name, place in carried.work.items():
        found[place] = power.get(name, 0.0)
    return found
