"""Contacts, stops, ropes and friction at one state, as a run that starts there finds them.

Which gaps close and push, and which friction slides or sticks, follows from complementarity, as at the start of a run.
Surfaces that touch and approach each other count as open: the results are those of the instant before the impact.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..analysis.contact.contact_kinematics import Gaps
from ..analysis.mobility import Uniqueness
from ..bodies.state import State
from ..constraints import Constraint
from ..constraints.unilateral import Unilateral
from ..dynamics.model.joint_angles import Turns, angles_at
from ..errors import InputError, SwitchingError, outside
from ..forces.stick_slip import sticking_elements
from ..integrators import Statistics
from ..result.load_uniqueness import with_contacts
from ..result.result import Result
from ..result.segment import Segment
from ..system import queries
from ..system.quantities import JointLoad
from ..system.system import System
from .arguments import checked_settings
from .hybrid.contact_events import Contacts
from .hybrid.contact_states import CLOSED_GAP, ROUND_OFF, ContactState
from .hybrid.run_factory import AUTO, RunFactory
from .hybrid.speed_limits import largest_speed
from .output_schedule import checked_breaks

OWNER = "System"
# Loads of contacts below this fraction of the largest one are round-off.
NO_LOAD = 1e-9
# Jumps of velocity above this fraction of the largest speed, plus that after a free fall over the length of the system,
# are impacts; those of contacts that come to rest are smaller.
SUDDEN = 1e-5


class ImpactWarning(UserWarning):
    """Warning that an analysis of a state is of the instant before an impact with which a run would begin there."""


@dataclass(frozen=True)
class Touching:
    """Closed contacts and acting friction of a system at one state.

    Attributes
    ----------
    system : system with the parts that the state enables, disables or replaces
    state, t : the state, and the time, s
    contacts : contacts and friction of the system
    contact_state : which of them are closed, slide or stick
    """

    system: System
    state: State
    t: float
    contacts: Contacts
    contact_state: ContactState

    @cached_property
    def moving(self) -> System:
        """The system with the rows and loads of contacts and friction with which a run begins."""
        return self._with(self.contact_state)

    @cached_property
    def listed(self) -> System:
        """The system as `moving`, with the rows of all contacts that carry a load, also of redundant ones."""
        return self._with(self.contact_state, redundant=True)

    @cached_property
    def held(self) -> System:
        """The system for small motions: contacts that carry a load are constraints, and no friction sticks.

        Sliding friction acts. Its load depends on the independent rows, so that redundant ones are left out with it.
        """
        state = self.contact_state
        sliding = {name: mode for name, mode in state.friction.items() if mode.sticking_components is None}
        loaded = {name: row for name, row in state.loaded.items() if name in self._pushing}
        return self._with(replace(state, friction=sliding, loaded=loaded), redundant=not sliding, sticking=False)

    def joint_loads(self, solver: str) -> dict[str, JointLoad]:
        """Return the loads of all active constraints, closed contacts and sticking friction, by name.

        Contacts and sticking joints share loads as in results. `solver` is as for `System.acceleration`.
        """
        loads = queries.joint_loads(self.moving, self.state, self.t, solver)
        shared, changes = self._shared_loads
        slides = {name for name, mode in self.contact_state.friction.items() if mode.sticking_components is None}
        loads |= {name: JointLoad(*load[0]) for name, load in shared.items() if name not in slides}
        for name, change in changes.items():
            before = loads.get(name, JointLoad(np.zeros(3), np.zeros(3)))
            loads[name] = JointLoad(before.force + change[0, 0], before.torque + change[0, 1])
        return {part.name: loads[part.name] for part in self.system if part.name in loads}

    def uniqueness(self, loads: Mapping[str, Uniqueness]) -> dict[str, Uniqueness]:
        """Return the uniqueness of the loads of all constraints, with all closed contacts and sticking friction.

        `loads` is the uniqueness according to the rows of `held`, by name of the constraint.
        """
        closed = (name for name in self.joint_loads("sparse") if isinstance(self.system[name], Constraint))
        return with_contacts(loads, self.system, closed, self._result._redistributions_at(0))

    @cached_property
    def _shared_loads(self) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
        """Loads of contacts that share a load with others, and changes of loads by sharing with sticking joints.

        Both are force and torque (1, 2, 3) by name, as in `_result`.
        """
        return self._result._shared_contact_loads[0][0], self._result._shares[0].loads

    @cached_property
    def _result(self) -> Result:
        """A result that consists of this state."""
        system, plant = self.system, self.moving.plant
        flat, turns = plant.model.auxiliary.flat(self.state)[None], Turns.of_state(plant.model.joints, self.state)
        changes = system.configuration.since(system.configuration)
        segment = Segment(plant, np.array([self.t]), flat, turns, 0, changes)
        return Result(system, [segment], Statistics(), "completed")

    @cached_property
    def _pushing(self) -> frozenset[str]:
        """Names of the closed contacts that carry a load, for one of the ways to share loads."""
        length, sizes = self.system.model.length, dict[str, float]()
        for loads in (queries.joint_loads(self.moving, self.state, self.t, "sparse"), self.joint_loads("sparse")):
            for name, load in loads.items():
                if isinstance(self.system[name], Unilateral):
                    size = max(np.linalg.norm(load.force), np.linalg.norm(load.torque) / length)
                    sizes[name] = max(float(size), sizes.get(name, 0.0))
        largest = max(sizes.values(), default=0.0)
        return frozenset(name for name, size in sizes.items() if size > NO_LOAD * largest)

    def _with(self, contact_state: ContactState, *, redundant: bool = False, sticking: bool = True) -> System:
        """Return the system with the rows and friction of a contact state.

        Parameters
        ----------
        contact_state : ContactState
        redundant : whether redundant rows of contacts that carry a load are added
        sticking : whether friction sticks; otherwise it is the friction of the system, without slip
        """
        configuration = self.contacts.configured(self.system.configuration, contact_state)
        if redundant:
            rows = self.contacts.redundant_rows(self.contact_state)
            rows = {name: row for name, row in rows.items() if name in self._pushing}
            configuration = configuration.with_constraints(on=frozenset(rows)).with_others(rows)
        if not sticking:
            names = self.contact_state.friction.keys() - contact_state.friction.keys()
            configuration = configuration.with_forces(on=frozenset(names))
        return self.system.as_computed_by(self.system.plant_for(configuration))


class GapMonitor:
    """Gaps of a system, evaluated by compiled code that can be used again.

    Attributes
    ----------
    built_in : whether all gap functions are part of QuIRK, so that they do not read values that may change
    """

    def __init__(self, system: System) -> None:
        self._gaps, self._solver = Gaps(system), system.plant.solver()
        points = self._gaps.contact_points
        self._names = [point.constraint.name for point in points]
        self._limits = CLOSED_GAP * np.array([1.0 if point.angular else system.model.length for point in points])
        self.built_in = all(point.gap.built_in for point in points)

    def closed(self, t: float, y: np.ndarray, angles: np.ndarray) -> frozenset[str]:
        """Return the names of the constraints with closed or negative gaps at the state vector y and time t (s).

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad.
        """
        far = np.abs(self._solver.model.auxiliary.state(y).position).max()
        values = self._gaps.values_at(self._solver, t, y, angles)
        return frozenset(self._names[c] for c in np.flatnonzero(~(values > self._limits + ROUND_OFF * far)))


def touching(system: System, state: State, t: float) -> Touching | None:
    """Return the contacts and friction with which a run from `state` at time t (s) begins, or None if none acts.

    `system` has the parts that the state enables, disables or replaces. A warning is issued if the run would begin
    with an impact.

    Raises
    ------
    InputError
        If a gap is negative, or contacts and friction have no solution.
    """
    y, angles, base = system.model.auxiliary.flat(state), angles_at(system.model, state, t), system.configuration
    if not _acts(system, t, y, angles):
        return None
    contacts = _contacts(system, t)
    contacts.check(t, y, angles, base, f"in this state, at t = {t:g} s")
    strikes = contacts.approaching(t, y, angles, base)
    try:
        before = base.with_forces(off=strikes)
        outcome = contacts.resolve_impacts(t, y, angles, before, ContactState())
    except SwitchingError as error:
        raise InputError(
            f"{OWNER}: in this state, at t = {t:g} s, contacts and friction have no solution: {error}"
        ) from error
    if strikes:
        named = ", ".join(f"{system[name]}" for name in sorted(strikes))
        _warn(f"{named}: the surfaces touch and approach each other")
    elif outcome.impulse and _jumps(system, y, outcome.y):
        first = system[contacts.first_name(outcome.impulse)]
        _warn(f"{first}: the surfaces touch and slip, which friction stops at once")
    return Touching(system, state, t, contacts, outcome.contact_state)


def _warn(what: str) -> None:
    """Issue an ImpactWarning; `what` names the contacts or friction, and says why an impact is due."""
    warnings.warn(
        f"{OWNER}: {what}, so that a run from this state begins with an impact: the analysis is of the instant before "
        "it; for that after it, take quirk.Run(system, initial_state=state).state",
        ImpactWarning,
        stacklevel=outside(),
    )


def _jumps(system: System, y: np.ndarray, after: np.ndarray) -> bool:
    """Whether velocities differ between two state vectors by more than in contacts that come to rest."""
    model = system.model
    fastest = largest_speed(model, y) + np.sqrt(np.linalg.norm(model.gravity) * model.length)
    return largest_speed(model, after - y) > SUDDEN * fastest


def _acts(system: System, t: float, y: np.ndarray, angles: np.ndarray) -> bool:
    """Whether a gap is closed or negative, or friction acts in a joint, at the state vector y and time t (s).

    `angles` (K, 3) are the 1-2-3 angles of K joints, rad.
    """
    base = system.configuration
    for friction in sticking_elements(system.forces):
        if friction.name not in base.idle and friction.acts_beside(base.active):
            return True
    monitors = system.gap_monitors
    try:  # another thread cannot take the same one
        monitor = monitors.pop()
    except IndexError:
        monitor = GapMonitor(system)
    closed = monitor.closed(t, y, angles)
    if monitor.built_in:
        monitors.append(monitor)
    return not closed <= base.idle


def _contacts(system: System, t: float) -> Contacts:
    """Return the contacts and friction of a system, with new solvers, for analyses at time t, s."""
    settings = checked_settings(
        OWNER, system, AUTO, t, np.inf, step=None, rtol=None, atol=None, stabilization=None, baumgarte=(0.0, 0.0),
        projection_interval=1, every=False,
    )  # fmt: skip
    breaks = checked_breaks(system, t, np.inf, None, None, None, OWNER)
    return Contacts(system, RunFactory(system, "sparse", AUTO, settings, breaks, None, Statistics(), (), {}))
