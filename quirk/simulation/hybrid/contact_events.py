"""Unilateral constraints during a run: impacts, resting contact and separation.

A gap is the distance that a unilateral constraint keeps nonnegative; there are c gaps. The rows w (c, n, 6) of all
closed gaps, and the matrix W = w M_c^-1 w^T, with the inverse mass matrix M_c^-1 under the bilateral constraints, are
evaluated at one state. Complementarity problems then determine

* the impulses x >= 0: the rates after an impact are v+ = v + W x >= -e min(v, 0), with coefficient of restitution e,
  and the jump of v is the smallest in the mass metric (Newton's law for simultaneous impacts); or the impulses of a
  sequence of such impacts, see `impact_sequence`;
* the loads x >= 0 of resting contacts: accelerations are a + W x >= 0.

Loaded contacts are constraint rows of the equation of motion until their multiplier falls to zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from quirk.analysis.contact.flank_states import FlankStates
from quirk.analysis.contact.friction_states import Frictions, head
from quirk.analysis.contact.gap_functions import Gaps
from quirk.analysis.contact.parts_touched import border_guards
from quirk.analysis.contact.rope_states import RopeStates
from quirk.constraints import Constraint
from quirk.dynamics.contact.impulse import distance, moved_onto
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.errors import InputError, SwitchingError
from quirk.events.names import Reading
from quirk.events.quantity import Gap
from quirk.forces import ForceElement
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .contact_changes import contact_changes
from .contact_settling import SLACK, ImpactSettling
from .contact_states import CLOSED, ROUND_OFF, ContactState, ImpactOutcome
from .event_actions import NEAR
from .run_factory import RunFactory

# Where a gap may be negative by more than this, over the length of the system or in rad, it is also watched for being
# positive: from there on it may not be negative.
TOUCHING = 1e-12


class Contacts:
    """The unilateral constraints and friction elements of a system, with their events during a run.

    Parameters
    ----------
    system : System
    factory : factory that provides the compiled solvers

    Attributes
    ----------
    parts : the unilateral constraints, one entry per gap, and the force elements whose switching is located in time
    """

    def __init__(self, system: System, factory: RunFactory) -> None:
        self._system, self._factory = system, factory
        self._frictions = Frictions(system, at_values=not factory.trailing)
        self._flanks = FlankStates(system)
        self._ropes = RopeStates(system)
        self._gaps = Gaps(system, self._frictions.all)
        self._touches = self._gaps.touches
        self._units = np.array([1.0 if touch.angular else system.model.length for touch in self._touches])
        touching = [touch.constraint for touch in self._touches]
        self.parts: list[Constraint | ForceElement]
        self.parts = [*touching, *self._frictions.all, *self._flanks.all, *self._ropes.all]
        self._settling = ImpactSettling(system, factory, self._gaps, self._frictions, self._units)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def names(self) -> frozenset[str]:
        """Names of the unilateral constraints."""
        return frozenset(touch.constraint.name for touch in self._touches)

    def configured(self, base: Configuration, resting: ContactState) -> Configuration:
        """Return `base` with constraint rows for the loaded contacts, and with the friction of a contact state.

        `base` are the active constraints and forces, without contacts, `resting` the contact state.
        """
        base = self._ropes.configured(self._flanks.configured(base, resting.sides), resting.ropes)
        base = self._frictions.configured(base, resting.rubbing, resting.parts)
        if not resting.pushing:
            return base
        names = {touch.constraint.name: touch.constraint for touch in self._touches}
        rows = {name: names[name].closed[k] for name, (k, _) in sorted(resting.pushing.items())}
        return base.with_constraints(on=frozenset(rows)).with_others(rows)

    def guards(self, base: Configuration, resting: ContactState) -> list[EventFunction]:
        """Return the event functions that a run monitors in a contact state.

        `base` are the active constraints and forces, without contacts, `resting` the contact state. Disabled contacts
        are not monitored.
        """
        functions = []
        for touch, unit in zip(self._touches, self._units, strict=True):
            if touch.constraint.name in base.idle:
                continue
            title = f"{touch.constraint}"
            row, least = resting.pushing.get(touch.constraint.name, (-1, 0.0))
            pushes = row >= 0 and touch.constraint.gap_of_row(row) == touch.number
            load, potential = resting.loads.get(touch.key), resting.returns.get(touch.key)
            if load is not None or (pushes and touch.key not in resting.patched):
                multiplier = Reading(touch.constraint, "multiplier", None, least)
                functions.append(EventFunction((*touch.key, "push"), title, load or multiplier, -1, True, True))
            if potential is not None:
                functions.append(EventFunction((*touch.key, "return"), title, potential, 1, True))
            if pushes:
                continue
            slack = SLACK * unit if touch.key in resting.idle else resting.below.get(touch.key, 0.0)
            gap = Gap(touch.constraint, touch.number, slack) if slack > 0 else touch.gap
            functions.append(EventFunction((*touch.key, "gap"), title, gap, -1, True, True))
            if slack > TOUCHING * unit:
                far = Gap(touch.constraint, touch.number, -2.0 * slack)
                functions.append(EventFunction((*touch.key, "apart"), title, far, 1, True))
        functions += border_guards(self._system, resting.parts)
        functions += self._frictions.guards(resting.rubbing, resting.parts)
        return [*functions, *self._flanks.guards(base, resting.sides), *self._ropes.guards(base, resting.ropes)]

    def check_watched(self, guards: Iterable[EventFunction], resting: ContactState) -> None:
        """Raise an InputError if one of the event functions `guards` depends on a load that several contacts share.

        The equations of rigid bodies determine only sums of such loads. `resting` is the contact state.
        """
        for guard in guards:
            of = guard.quantity.of if isinstance(guard.quantity, Reading) else None
            if of is not None and of.name in resting.sharing:
                raise InputError(
                    f"{guard.title}: {of} shares its load with other contacts, and rigid bodies determine only the "
                    "sum: watch another quantity, or support the body on fewer contacts"
                )

    def head(self, plant: CompiledModel, resting: ContactState) -> None:
        """Set the direction of each sliding friction force in the solver to the present direction of slip.

        The solver is that of the compiled model `plant`; `resting` is the contact state.
        """
        if resting.rubbing:
            head(self._factory.solver_of(plant), resting.rubbing)

    def sticks(self, name: str, resting: ContactState) -> bool:
        """Whether the friction element called `name` sticks in the contact state `resting`."""
        return name in resting.rubbing and resting.rubbing[name].held is not None

    def first_of(self, names: Iterable[str]) -> str:
        """Return the first name in `names` that is the name of a unilateral constraint or friction element."""
        own_names = {touch.constraint.name for touch in self._touches} | self._frictions.names
        return next(name for name in names if name in own_names)

    def opened(self, name: str, before: ContactState, after: ContactState) -> frozenset[str]:
        """Return the names of contacts that opened when the friction element `name` reached its limit of sticking.

        A contact opens there if the limit is reached because the normal load vanishes. The result is empty if the
        contact of this element is still closed; otherwise it contains that contact, and the opened ones that shared the
        limit.
        """
        on = {friction.name: friction.on.name for friction in self._frictions.all}
        contacts = [on[member] for member in (name, *before.at_limit(name)) if member in on]
        opened = [contact for contact in contacts if before.closed(contact) and not after.closed(contact)]
        return frozenset(opened) if on.get(name) in opened else frozenset()

    def changes(self, before: ContactState, after: ContactState, recorded: str | None) -> list[tuple[str, int]]:
        """Return the changes between two contact states as events: pairs of a name and the direction of the event.

        `recorded` is the name of a contact or friction element whose change is already recorded, or None.
        """
        return contact_changes(before, after, [touch.constraint.name for touch in self._touches], recorded)

    def check(self, t: float, y: np.ndarray, angles: np.ndarray, base: Configuration) -> None:
        """Raise an InputError if a gap is negative at the start of a run.

        `t` is the time (s), `y` the state vector, `angles` the joint angles, and `base` the active constraints and
        forces.
        """
        for touch, gap, noise in zip(self._touches, self.values(t, y, angles), self._noise_of_gaps(y), strict=True):
            if gap < -noise and touch.constraint.name not in base.idle:
                raise InputError(
                    f"{touch.constraint}: its gap ({touch.label}) is {gap:.3g} at the start, and cannot be negative: "
                    "move the bodies apart"
                )

    def values(self, t: float, y: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return all c gaps (c,), m or rad, at time t (s), state vector y and joint angles `angles`."""
        self._gaps.locate(self._system.model.carried.state(y), {})
        solver = self._factory.solver_of(self._system.plant)
        return self._gaps.at(solver, t, y, angles).value[: len(self._touches)]

    def _noise_of_gaps(self, y: np.ndarray) -> np.ndarray:
        """Return the round-off errors (c,) of all c gaps, m or rad, at the state vector y."""
        far = np.abs(self._system.model.carried.state(y).position).max()
        return np.asarray(CLOSED * self._units + ROUND_OFF * far)

    def jumped(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        resting: ContactState,
        before: np.ndarray,
    ) -> ContactState:
        """Return the contact state after an event action has changed values on which gaps depend.

        Contacts whose gap has become positive are open.

        Parameters
        ----------
        t, y, angles : time, s, state vector and joint angles after the action
        base : active constraints and forces, without contacts
        resting : contact state before the action
        before : (c,) gaps before the action, m or rad

        Raises
        ------
        SwitchingError
            If a gap jumps to a negative value.
        """
        opened = set()
        rows = zip(self._touches, before, self.values(t, y, angles), self._noise_of_gaps(y), strict=True)
        for touch, old, gap, noise in rows:
            if abs(gap - old) <= noise or touch.constraint.name in base.idle:
                continue
            if gap < -noise:
                raise SwitchingError(
                    f"{touch.constraint}: its gap ({touch.label}) jumps from {old:.3g} to {gap:.3g} {touch.unit} by "
                    "the changes of the action, and cannot be negative: make them while the bodies are apart, or "
                    "disable the contact"
                )
            if gap > noise:
                opened.add(touch.key)
        constraints = {touch.constraint.name: touch.constraint for touch in self._touches}
        pushing = {
            name: known
            for name, known in resting.pushing.items()
            if (name, constraints[name].gap_of_row(known[0])) not in opened
        }
        return replace(resting, pushing=pushing, idle=resting.idle - opened)

    def engaged(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        configuration: Configuration,
        names: Collection[str],
        tolerance: float | None,
    ) -> np.ndarray:
        """Return the state vector after contacts have been enabled, with slightly interpenetrating bodies moved apart.

        Parameters
        ----------
        t, y, angles : time, s, state vector and joint angles
        configuration : active constraints and forces, without contacts
        names : names of the contacts
        tolerance : largest interpenetration that is removed, m; by default NEAR times the characteristic length

        Raises
        ------
        SwitchingError
            If the interpenetration is larger than `tolerance`.
        """
        length = self._system.model.length
        tolerance = NEAR * length if tolerance is None else tolerance
        for c, touch in enumerate(self._touches):
            if touch.constraint.name not in names:
                continue
            gap, moved = self.values(t, y, angles)[c], None
            if gap >= -self._noise_of_gaps(y)[c]:
                continue
            if -gap * length / self._units[c] <= tolerance:
                closed = {touch.constraint.name: touch.constraint.closed[self._gaps.row_of(touch)]}
                plant = self._system.plant_for(configuration.with_constraints(frozenset(closed)).with_others(closed))
                moved = moved_onto(self._factory.settled(plant, y, t), y, t)
            if moved is None or distance(self._system.model, y, moved) > tolerance:
                raise SwitchingError(
                    f"{touch.constraint} cannot engage: its gap ({touch.label}) is {gap:.3g} {touch.unit}, which "
                    f"cannot be negative, and the tolerance is {tolerance:.3g} m: enable it where the bodies are "
                    "apart, or give enable(..., tolerance=)"
                )
            y = moved
        return y

    def settle(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        resting: ContactState,
        hit: Sequence[tuple[str, int, str]] = (),
    ) -> ImpactOutcome:
        """Return the state and the contact state after the impacts at all closed gaps with approaching surfaces.

        Parameters
        ----------
        t, y, angles : time, s, state vector and joint angles before the impacts
        base : active constraints and forces, without contacts
        resting : contact state before the impacts
        hit : keys (name, index, kind) of the event functions that are zero: closing gaps, slip that ends, friction at
            its limit, and flanks that come into contact or separate
        """
        state = self._system.model.carried.state(y)
        sides = self._flanks.sides(resting.sides, hit, t, state, base)
        settled = self._settling.settle(t, y, angles, self._flanks.configured(base, sides), resting, hit)
        if settled.impulse:
            state = self._system.model.carried.state(settled.y)
            sides = self._flanks.sides(sides, (), t, state, base)
        settled.resting.sides = sides
        settled.resting.ropes = self._ropes.states(resting.ropes, hit, t, state, base)
        return settled
