"""Auxiliary states: internal variables of force elements, and work, integrated along with the motion of bodies.

A flat state y (13 n + k,) consists of 13 components for each of n bodies, followed by k auxiliary states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.state import STATE_SIZE, State, vector_starts
from quirk.forces import ForceElement


@dataclass(frozen=True)
class AuxiliaryStates:
    """Layout of the k auxiliary states, which follow the n bodies in a flat state y (13 n + k,).

    Internal variables come first, then the work variables, J.

    Attributes
    ----------
    names : names of the n bodies
    internal : slice of the auxiliary states, by name of the force element
    work : index of the work among the auxiliary states, by name of the force element or constraint
        Work done on the bodies since the start of the run, by each force element whose work is not determined by its
        stored energy and by each constraint that is driven or user-defined.
    start : (k,) default initial values
    """

    names: tuple[str, ...]
    internal: dict[str, slice]
    work: dict[str, int]
    start: np.ndarray

    @classmethod
    def of(cls, names: Sequence[str], forces: Sequence[ForceElement], driven: Sequence[str]) -> AuxiliaryStates:
        """Return the auxiliary states of a system with the given bodies and force elements.

        `driven` are the names of the constraints, and of the forces that events may replace, whose work is integrated.
        """
        internal: dict[str, slice] = {}
        numbers: list[float] = []
        for element in forces:
            if element.internal:
                internal[element.name] = slice(len(numbers), len(numbers) + len(element.internal))
                numbers += [getattr(element, name) for name in element.internal]
        working = [force.name for force in forces if has_integrated_work(force)]
        work = {name: len(numbers) + k for k, name in enumerate(dict.fromkeys([*working, *driven]))}
        return cls(tuple(names), internal, work, np.array([*numbers, *(0.0 for _ in work)]))

    @property
    def bodies(self) -> int:
        """Number n of bodies."""
        return len(self.names)

    @property
    def size(self) -> int:
        """Number k of auxiliary states."""
        return len(self.start)

    @property
    def counted(self) -> int:
        """Number of leading components of y whose errors are controlled by rtol and atol: all except work.

        No other quantity depends on work; its error has a separate tolerance, see `work_tolerance`.
        """
        return STATE_SIZE * self.bodies + self.size - len(self.work)

    @property
    def starts(self) -> np.ndarray:
        """Indices in y of the first components of all groups whose error is measured by a common norm.

        A group is a vector or quaternion of a body, or a single internal variable.
        """
        return np.append(vector_starts(self.bodies), np.arange(STATE_SIZE * self.bodies, self.counted))

    def flat(self, state: State) -> np.ndarray:
        """Return a state as a flat state y (13 n + k,), with zero work."""
        numbers = self.start.copy()
        for name, where in self.internal.items():
            if name in state.internal:
                numbers[where] = state.internal[name]
        return np.concatenate([state.pack(), numbers])

    def state(self, y: np.ndarray) -> State:
        """Return flat states y (..., 13 n + k) as a State, with internal variables.

        The arrays of the result are views of y.
        """
        state = State.unpack(y[..., : STATE_SIZE * self.bodies])
        state.internal, state.bodies = self.internal_by_name(y), self.names
        return state

    def numbers(self, y: np.ndarray) -> np.ndarray:
        """Return the auxiliary states (..., k) in flat states y (..., 13 n + k)."""
        return y[..., STATE_SIZE * self.bodies :]

    def works(self, y: np.ndarray) -> np.ndarray:
        """Return the work (..., w), J, done by w force elements and constraints, from flat states y (..., 13 n + k).

        These are all elements that may do work; k is the number of auxiliary states.
        """
        return y[..., self.counted :]

    def exchanged(self, y: np.ndarray) -> float:
        """Return the sum of the magnitudes of the work done by all elements, J, in a flat state y (13 n + k,).

        The elements are all force elements and constraints that may do work.
        """
        return float(np.abs(self.works(y)).sum())

    def internal_by_name(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return internal variables (..., s) by name of the force element, from flat states y (..., 13 n + k)."""
        numbers = self.numbers(y)
        return {name: numbers[..., where] for name, where in self.internal.items()}

    def owner(self, component: int, body_names: Sequence[str]) -> str:
        """Return the title, for messages, of the body, force element or constraint to which a component of y belongs.

        `component` is the index of the component.
        """
        if component < STATE_SIZE * self.bodies:
            return f'body "{body_names[component // STATE_SIZE]}"'
        number = component - STATE_SIZE * self.bodies
        named: list[tuple[str, Any]] = [*self.internal.items(), *self.work.items()]
        return next(f'"{name}"' for name, at in named if number == at or (isinstance(at, slice) and number < at.stop))


def has_integrated_work(force: ForceElement) -> bool:
    """Whether the work of a force element does not follow from its stored energy, so that runs integrate it.

    User-defined energies, and energies that depend on motions and internal variables, may vary although no body moves.
    """
    return not force.conservative or force.of_user or bool(force.motions) or bool(force.internal)


def rates(auxiliary: AuxiliaryStates, internal: Mapping[str, np.ndarray], power: Mapping[str, float]) -> np.ndarray:
    """Return the rates (k,) of the auxiliary states from their values by name.

    Rates of disabled constraints and forces, which are missing in both arguments, are zero.

    Parameters
    ----------
    internal : rates of the internal variables, by name of the force element
    power : power, W, by name of the force element or constraint
    """
    result = np.zeros(auxiliary.size)
    for name, where in auxiliary.internal.items():
        result[where] = internal.get(name, 0.0)
    for name, place in auxiliary.work.items():
        result[place] = power.get(name, 0.0)
    return result
