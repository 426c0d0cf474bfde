"""Parts of a system, which of them are enabled, and their compiled models."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Never, Self

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.state import State, initial_state
from ..constraints import Constraint, Distance, Joint
from ..constraints.sticking import Sticking
from ..constraints.unilateral import Unilateral
from ..dynamics.model.model import LARGEST_RANK_TOLERANCE, RANK_TOLERANCE, Arrangement, Model, flatten
from ..dynamics.plant import CompiledModel
from ..errors import InputError
from ..events.actions import replacing_forces
from ..forces import ForceElement
from ..util import validate
from ..util.garbage import collector_paused
from ..util.misuse import explained_as
from ..util.renamed import Renamed
from .carried_parts import carried_over
from .configuration import Configuration
from .parts import OTHER_SYSTEMS, Part, Parts

if TYPE_CHECKING:
    from ..analysis.closure import Closure

# Maximum number of cached compiled models; a mechanism that closes joints at varying poses needs a new one each time.
MOST_PLANTS = 64
# Smallest and largest `rank_tolerance`: smaller distances of rows are round-off; at larger distances rows are clearly
# independent.
RANK_TOLERANCES = 1e-12, LARGEST_RANK_TOLERANCE
# Attributes that list the parts of a system.
LISTS = frozenset({"bodies", "constraints", "forces", "events", "sampled"})


@explained_as("System")
class ConfiguredSystem(Renamed):
    """Parts of a system, of which some are enabled, with the compiled models of all configurations used so far.

    The parameters are those of `quirk.System`, its only subclass.

    Attributes
    ----------
    bodies, constraints, forces, events, sampled : parts of the system, by kind
    configuration : enabled constraints and forces
    plant : compiled model of the present configuration
    """

    def __init__(
        self,
        items: Iterable[Part],
        *more: Never,
        gravity: ArrayLike = (0, 0, 0),
        load_length: float | None = None,
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> None:
        if more:
            raise InputError("System: items must be one list: System([a, b, ...], gravity=[0, 0, -9.81])")
        self._gravity = tuple(validate.array("System", "gravity", gravity, (3,)).tolist())
        with collector_paused():
            self._set_up(items, load_length, rank_tolerance)

    def _set_up(self, items: Iterable[Part], load_length: float | None, rank_tolerance: float) -> None:
        """Validate parts and settings, and build the model of the system with the initially enabled constraints."""
        self._parts = Parts(items)
        self.bodies, self.constraints, self.forces = self._parts.bodies, self._parts.constraints, self._parts.forces
        self.events, self.sampled = self._parts.events, self._parts.sampled
        self._load_length = None if load_length is None else validate.positive("System", "load_length", load_length)
        self._rank_tolerance = validate.positive("System", "rank_tolerance", rank_tolerance)
        low, high = RANK_TOLERANCES
        if not low <= self._rank_tolerance <= high:
            raise InputError(f"System: rank_tolerance must lie between {low:g} and {high:g}; got {rank_tolerance!r}")
        self._initial = initial_state(self.bodies)
        self._closure: Closure | None = None
        self._plants: OrderedDict[Configuration, CompiledModel] = OrderedDict()
        self._arrangement = Arrangement.of(self.bodies, self.constraints, self.forces, replacing_forces(self.events))
        self._configure(Configuration(frozenset(c.name for c in self.constraints if c.active)))

    @property
    def gravity(self) -> np.ndarray:
        """Gravitational acceleration (3,) in the inertial frame, m/s^2; read-only."""
        gravity = np.array(self._gravity)
        gravity.setflags(write=False)
        return gravity

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; an InputError is raised for what the compiled models of the system contain."""
        if name == "gravity" or (name in LISTS and name in vars(self)):
            raise InputError(f"System: {name} cannot be changed after it was made; {OTHER_SYSTEMS}")
        super().__setattr__(name, value)

    def __getitem__(self, name: str) -> Any:
        """Return the body, constraint, force, event or sampled function named `name`."""
        return self._parts[name]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def _configure(self, configuration: Configuration) -> None:
        """Enable and disable constraints and forces as in `configuration`, and select its compiled model."""
        self.configuration, self.plant = configuration, self.plant_for(configuration)
        self._has_own_plant = True

    def _switch(self, caller: str, names: Iterable[Any], on: bool) -> None:
        """Enable (`on` true) or disable constraints and forces; `caller` is the public method, for error messages."""
        configuration = self.configuration
        for name in sorted(self._parts.names_to_switch(caller, names)):
            configuration = configuration.switched(self[name], on)
        self._parts.switches += 1
        self._configure(configuration)

    @property
    def switches(self) -> int:
        """Number of calls of `enable` and `disable`, by which runs notice calls during the run."""
        return self._parts.switches

    def plant_for(self, configuration: Configuration) -> CompiledModel:
        """Return the compiled model for a configuration; at most MOST_PLANTS models are cached."""
        if configuration not in self._plants:
            replacements = dict(configuration.others)
            # Sticking friction is represented by rows instead of a force.
            sticking = [part for part in replacements.values() if isinstance(part, Sticking)]
            model = flatten(
                self._arrangement,
                [*(self._closed(constraint, replacements) for constraint in self.constraints), *sticking],
                set(configuration.active),
                [replacements.get(force.name, force) for force in self.forces if force.name not in configuration.idle],
                self.gravity,
                self._load_length,
                self._rank_tolerance,
                0.0 if self._closure is None else self._closure.tolerance,
            )
            self._plants[configuration] = CompiledModel(model)
            if len(self._plants) > MOST_PLANTS:
                self._plants.popitem(last=False)
        self._plants.move_to_end(configuration)
        return self._plants[configuration]

    def plants(self) -> list[tuple[Configuration, CompiledModel]]:
        """Return all cached compiled models as pairs (configuration, model)."""
        return list(self._plants.items())

    def _closed(self, constraint: Constraint, replacements: Mapping[str, Any]) -> Constraint:
        """Return the constraint, or its replacement by an event, with the absorbed closure errors.

        A joint engaged by an event with `keep_offset` has no closure error, because it holds the present relative pose.
        """
        acting: Constraint = replacements.get(constraint.name, constraint)
        keeps_offset = acting is not constraint and isinstance(acting, Joint | Distance)
        return acting if self._closure is None or keeps_offset else self._closure.applied(acting)

    @property
    def closure(self) -> Closure | None:
        """Closure errors of redundant loops absorbed by `assemble`, by constraint and row.

        The value is None unless `assemble` was called with `closure_tolerance`.
        """
        return self._closure

    def with_closure(self, closure: Closure | None) -> Self:
        """Return a copy of the system with the closure errors `closure`; parts and initial state are shared."""
        system = copy(self)
        system._closure, system._plants = closure, OrderedDict()
        system._configure(self.configuration)
        return system

    def configuration_of(self, state: State) -> Configuration:
        """Return the initial configuration of a run from a state.

        This is the present configuration with the changes by events that are recorded in the state.
        """
        configuration = self.configuration
        for name, on in state.switched.items():
            configuration = configuration.switched(self[name], on)
        return configuration.with_others(carried_over(state.replaced, self)) if state.replaced else configuration

    def configured_as(self, state: State) -> Self:
        """Return the system with the parts that a state enables, disables or replaces, or the system itself."""
        configuration = self.configuration_of(state)
        if configuration == self.configuration:
            return self
        system = copy(self)
        system._configure(configuration)
        return system

    def as_computed_by(self, plant: CompiledModel) -> Self:
        """Return a copy of the system that uses the compiled model `plant`, with which all analyses are made."""
        system = copy(self)
        system.plant, system._has_own_plant = plant, False
        return system

    @property
    def model(self) -> Model:
        """Numerical description of the system (arrays) for its active constraints."""
        return self.plant.model

    @property
    def gap_monitors(self) -> list[Any]:
        """Objects that evaluate the gaps of contacts, kept between analyses of states."""
        return self._parts.gap_monitors

    def enable(self, *names: str | Constraint | ForceElement) -> None:
        """Enable constraints and forces for later runs.

        A run rejects a state that violates an enabled constraint; `assemble` moves the bodies to satisfy all active
        constraints. Existing results are not affected. During a run, use an event with `quirk.enable`.

        Parameters
        ----------
        names : str, Constraint or ForceElement

        Raises
        ------
        InputError
            If a part is neither a constraint nor a force.
        UnknownNameError
            If the system has no part with a given name.
        """
        self._switch("enable", names, True)

    def disable(self, *names: str | Constraint | ForceElement) -> None:
        """Disable constraints and forces for later runs; disabled parts do not act.

        Parameters
        ----------
        names : str, Constraint or ForceElement

        Raises
        ------
        InputError
            If a part is neither a constraint nor a force.
        UnknownNameError
            If the system has no part with a given name.
        """
        self._switch("disable", names, False)

    def activate(self, *names: str | Constraint | ForceElement) -> None:
        """Enable constraints and forces; alias of `enable`."""
        self._switch("activate", names, True)

    def deactivate(self, *names: str | Constraint | ForceElement) -> None:
        """Disable constraints and forces; alias of `disable`."""
        self._switch("deactivate", names, False)

    def is_active(self, name: str | Constraint | ForceElement) -> bool:
        """Whether a constraint or force is enabled; an enabled unilateral constraint may be open."""
        (own,) = self._parts.names_to_switch("is_active", [name])
        bilateral = isinstance(self[own], Constraint) and not isinstance(self[own], Unilateral)
        return own in self.configuration.active if bilateral else own not in self.configuration.idle

    def initial_state(self) -> State:
        """Return a copy of the initial state of runs.

        It contains the poses and velocities declared with the bodies, or found by `assemble`.
        """
        return self._initial.copy()

    def checked(self, state: State) -> State:
        """Return a copy of a state with normalized quaternions.

        Raises
        ------
        InputError
            If the state does not fit this system.
        """
        if not isinstance(state, State):
            raise InputError(f"System: state must be a quirk.State; got {state!r}")
        checked = state.checked([body.name for body in self.bodies])
        sizes = {force.name: len(force.internal) for force in self.forces if force.internal}
        for name, numbers in checked.internal.items():
            if name not in sizes:
                known = ", ".join(f'"{force}"' for force in sizes) or "none"
                raise InputError(
                    f'State: internal names "{name}", which is not a force with internal variables in this system '
                    f"(they are: {known}); remove this entry"
                )
            validate.array("State", f"internal[{name!r}]", numbers, (sizes[name],))
        checked.replaced = carried_over(checked.replaced, self)
        return checked

    def _state_or_initial(self, state: State | None) -> State:
        """Return a validated copy of a state; for None, the initial state."""
        return self.initial_state() if state is None else self.checked(state)
