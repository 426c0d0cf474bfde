"""Present state of a run: as a result with a single time, and as the argument of sampled functions.

A sampled function is called by the run at equal time intervals, and sets inputs of the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bodies.body import Body
from ..bodies.state import State
from ..constraints import Constraint
from ..dynamics.model.joint_angles import Turns
from ..dynamics.plant import CompiledModel
from ..errors import InputError
from ..events import Sampled
from ..integrators import Statistics
from ..result.result import Result
from ..system.system import System
from .hybrid.hybrid_run import HybridRun
from .run_observation import Observation
from .run_views import CurrentSegment, CurrentView, Observers

# Attributes of bodies and constraints that are read by compiled code, with the number of their components.
OF_BODIES = {"position": 3, "velocity": 3, "spin": 3, "angular_velocity": 3, "speed": 1, "angular_speed": 1}
OF_CONSTRAINTS = {"angle": 1, "angle_rate": 1, "travel": 1, "travel_rate": 1, "displacement": 3, "distance": 1}


class Present:
    """Present state of a run, accessible as a result with a single time.

    Parameters
    ----------
    system : System
    run : the run whose state is read
    observers : solvers that evaluate derived quantities with the present inputs
    """

    def __init__(self, system: System, run: HybridRun, observers: Observers) -> None:
        self.system, self.run, self.observers = system, run, observers
        self._shown: tuple[Any, Result] | None = None

    def result(self, version: Any, plant: CompiledModel | None = None) -> Result:
        """Return the present state as a result with a single time.

        `version` is a number that changes with the inputs, and `plant` the compiled model with which loads are
        evaluated; by default that of the run.
        """
        run, current = self.run, self.run.current
        plant = run.plant if plant is None else plant
        key = current.present_time, version, plant
        if self._shown is None or self._shown[0] != key:
            turns = Turns(run.plant.model.joints, current.present_quadrants.copy().reshape(1, -1, 2), current.whole)
            flat = run.plant.tables.slots.state_from_lanes(current.present_lanes.copy().reshape(1, -1))
            changes = run.configuration.since(self.system.configuration)
            segment = CurrentSegment(plant, np.array([current.present_time]), flat, turns, current.rank, changes)
            segment.observers = self.observers
            self._shown = key, Result(self.system, [segment], Statistics(), "completed")
        return self._shown[1]

    def forget(self) -> None:
        """Discard the cached result, because the time of the run has changed."""
        self._shown = None

    def view(self, name: Any, version: Any) -> CurrentView:
        """Return the view of a body, constraint or force; `version` is a number that changes with the inputs."""
        return CurrentView(self.result(version)[name])


class SampledState:
    """Present state of a run, passed to sampled functions.

    ``state["hinge"]`` and ``state["rod"]`` are views as in a result, without time axis; ``state.position`` and the
    other attributes are those of a `State`. Quantities read repeatedly are evaluated together by compiled code. Loads
    and accelerations are evaluated with the inputs in effect before the function is called.

    Parameters
    ----------
    present : state of the run as a result with a single time
    """

    def __init__(self, present: Present) -> None:
        self._present, self._version = present, 0
        self._places: dict[tuple[str, str], slice] = {}
        self._names: list[str] = []
        self._observation: Observation | None = None
        self._values: np.ndarray | None = None

    def renew(self) -> None:
        """Discard all cached values, because the time of the run has changed."""
        self._version += 1
        self._values = None

    def __getitem__(self, name: Any) -> PresentPart:
        """Return the view of a body, constraint or force at the present time."""
        part = self._present.system[name]
        if isinstance(part, Sampled):
            raise InputError(f"state[{part.name!r}]: {part} has no state")
        return PresentPart(self, part)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.state, name)

    @property
    def state(self) -> State:
        """Copy of the present state of all bodies."""
        return self._present.result(self._version).segments[0].state_at(0)

    def read(self, part: Any, attribute: str) -> Any:
        """Return the present value of an attribute of a body, constraint or force."""
        place = self._places.get((part.name, attribute))
        if place is None:
            width = (OF_BODIES if isinstance(part, Body) else OF_CONSTRAINTS).get(attribute)
            if width is None or not isinstance(part, Body | Constraint) or not self._add(part.name, attribute, width):
                return getattr(self._present.view(part.name, self._version), attribute)
            place = self._places[part.name, attribute]
        if self._values is None:
            assert self._observation is not None
            self._values = self._observation()
        values = self._values[place]
        return float(values[0]) if len(values) == 1 else values.copy()

    def _add(self, name: str, attribute: str, width: int) -> bool:
        """Add an attribute of a body, constraint or force to the quantities that compiled code evaluates together.

        `width` is the number of components of the attribute. Returns False if compiled code cannot evaluate it.
        """
        more = [f"{name}.{attribute}" + (f".{axis}" if width > 1 else "") for axis in "xyz"[:width]]
        present, names = self._present, [*self._names, *more]
        try:
            observation = Observation(present.system, present.run, present.observers, names)
        except InputError:
            return False
        self._places[name, attribute] = slice(len(self._names), len(names))
        self._names, self._observation, self._values = names, observation, None
        return True


class PresentPart:
    """View of a body, constraint or force at the present time of a run, for sampled functions."""

    def __init__(self, state: SampledState, part: Any) -> None:
        self._state, self._part = state, part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._state.read(self._part, name)

    def __repr__(self) -> str:
        return f"<{self._part} now>"
