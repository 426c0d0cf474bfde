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

from quirk.analysis.contact.contact_kinematics import Gaps
from quirk.analysis.contact.flank_states import MEETS, RETURNS, FlankStates
from quirk.analysis.contact.friction_modes import FrictionModes, align_slip_directions
from quirk.analysis.contact.parts_touched import border_guards
from quirk.analysis.contact.rope_states import HOLDS, TAUTENS, RopeStates
from quirk.constraints import Constraint
from quirk.dynamics.contact.impulse import largest_displacement, project_poses
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.errors import InputError, SwitchingError
from quirk.events.gap_rate import GapRate
from quirk.events.names import Reading
from quirk.events.quantity import Gap
from quirk.forces import ForceElement
from quirk.forces.friction import Friction
from quirk.forces.stick_slip import NORMAL
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .contact_changes import CLOSES, OPENS, changed_contacts, changed_frictions, slides_back
from .contact_rows import check_normal_load_is_unique, joint_loads_of_two_kinds
from .contact_states import CLOSED_GAP, ROUND_OFF, ContactState, ImpactOutcome
from .creeping_gaps import CREEPS
from .event_actions import ENABLE_TOLERANCE
from .impact_resolution import IDLE_GAP, ImpactResolver
from .run_factory import RunFactory

# If a gap may be negative by more than this, over the length of the system or in rad, a run also monitors when the gap
# has become positive; from then on negative values are no longer tolerated.
TOUCHING = 1e-12
# Kind of the event at which a run keeps other rows of those that share loads.
KEPT = "kept"


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
        self._frictions = FrictionModes(system, holds_positions=not factory.trailing)
        self._flanks = FlankStates(system)
        self._ropes = RopeStates(system)
        self._gaps = Gaps(system, self._frictions.elements)
        self._contact_points = self._gaps.contact_points
        self._units = np.array([1.0 if point.angular else system.model.length for point in self._contact_points])
        touching = [point.constraint for point in self._contact_points]
        self.parts: list[Constraint | ForceElement]
        self.parts = [*touching, *self._frictions.elements, *self._flanks.all, *self._ropes.all]
        self._settling = ImpactResolver(system, factory, self._gaps, self._frictions, self._units)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def names(self) -> frozenset[str]:
        """Names of the unilateral constraints."""
        return frozenset(point.constraint.name for point in self._contact_points)

    def configured(self, base: Configuration, contact_state: ContactState) -> Configuration:
        """Return `base` with constraint rows for the loaded contacts, and with the friction of a contact state.

        `base` are the active constraints and forces, without contacts, `contact_state` the contact state.
        """
        base = self._ropes.configured(self._flanks.configured(base, contact_state.flank_sides), contact_state.ropes)
        base = self._frictions.configured(base, contact_state.friction, contact_state.parts)
        if not contact_state.loaded:
            return base
        names = {point.constraint.name: point.constraint for point in self._contact_points}
        rows = {name: names[name].closed[k] for name, (k, _) in sorted(contact_state.loaded.items())}
        return base.with_constraints(on=frozenset(rows)).with_others(rows)

    def redundant_rows(self, contact_state: ContactState) -> dict[str, Constraint]:
        """Return the rows, by name, of closed contacts that other rows keep closed, so that a run leaves them out."""
        return {
            point.constraint.name: point.constraint.closed[self._gaps.row_of(point)]
            for point in self._contact_points
            if point.key in contact_state.redundant
        }

    def guards(self, base: Configuration, contact_state: ContactState) -> list[EventFunction]:
        """Return the event functions that a run monitors in a contact state.

        `base` are the active constraints and forces, without contacts, `contact_state` the contact state. Disabled
        contacts are not monitored.
        """
        functions = []
        for point, unit in zip(self._contact_points, self._units, strict=True):
            if point.constraint.name in base.idle:
                continue
            title = f"{point.constraint}"
            row, least = contact_state.loaded.get(point.constraint.name, (-1, 0.0))
            pushes = row >= 0 and point.constraint.gap_of_row(row) == point.number
            load, potential = contact_state.loads.get(point.key), contact_state.reloading.get(point.key)
            if load is not None or (pushes and point.key not in contact_state.shared_margins):
                multiplier = Reading(point.constraint, "multiplier", None, least)
                functions.append(EventFunction((*point.key, "push"), title, load or multiplier, -1, True, True))
            if potential is not None:
                functions.append(EventFunction((*point.key, "return"), title, potential, -1, True))
            if point.key in contact_state.creeping:
                slow = GapRate(
                    point.of_part(contact_state.parts.get(point.constraint.name)), contact_state.creeping[point.key]
                )
                functions.append(EventFunction((*point.key, CREEPS), title, slow, -1, True, True))
            if pushes:
                continue
            slack = (
                IDLE_GAP * unit
                if point.key in contact_state.unloaded
                else contact_state.tolerated_gaps.get(point.key, 0.0)
            )
            gap = Gap(point.constraint, point.number, slack) if slack > 0 else point.gap
            functions.append(EventFunction((*point.key, "gap"), title, gap, -1, True, True, dimension=gap.dimension))
            if slack > TOUCHING * unit:
                far = Gap(point.constraint, point.number, -2.0 * slack)
                functions.append(EventFunction((*point.key, "apart"), title, far, 1, True))
        if contact_state.kept_rows is not None:
            first = self._system[contact_state.kept_rows.shared.left_out[0].name]
            kept = EventFunction((first.name, 0, KEPT), f"{first}", contact_state.kept_rows, -1, True)
            functions.append(kept)
        functions += border_guards(self._system, contact_state.parts)
        functions += self._frictions.guards(contact_state.friction, contact_state.parts)
        return [
            *functions,
            *self._flanks.guards(base, contact_state.flank_sides),
            *self._ropes.guards(base, contact_state.ropes),
        ]

    def check_watched(self, guards: Iterable[EventFunction], contact_state: ContactState) -> None:
        """Raise an InputError if one of the event functions `guards` depends on a load that several contacts share.

        The equations of rigid bodies determine only sums of such loads. `contact_state` is the contact state.
        """
        for guard in guards:
            of = guard.quantity.of if isinstance(guard.quantity, Reading) else None
            if of is not None and (of.name in contact_state.sharing_load or contact_state.sticks_redundantly(of)):
                raise InputError(
                    f"{guard.title}: {of} shares its load with other contacts or friction, and rigid bodies determine "
                    "only the sum: watch another quantity, or support the body on fewer contacts"
                )

    def align_slip_directions(self, plant: CompiledModel, contact_state: ContactState) -> None:
        """Set the direction of each sliding friction force in the solver to the present direction of slip.

        The solver is that of the compiled model `plant`; `contact_state` is the contact state.
        """
        if contact_state.friction:
            align_slip_directions(self._factory.solver_of(plant), contact_state.friction)

    def check_normal_loads(self, plant: CompiledModel, contact_state: ContactState, t: float, y: np.ndarray) -> None:
        """Raise a SwitchingError if a run would take a load for the normal load of a joint that is not unique.

        The run is that of the compiled model `plant`, whose independent rows have been selected, in the contact state
        `contact_state`, at time t (s) and state vector y.
        """
        solver, state = self._factory.solver_of(plant), plant.model.auxiliary.state(y)
        of_joints = [
            element
            for element in self._frictions.elements
            if isinstance(element, Friction) and element.takes != NORMAL and element.name in contact_state.friction
        ]
        if of_joints and solver.redundant:
            loads, others = joint_loads_of_two_kinds(solver, t, y)
            for friction in of_joints:
                check_normal_load_is_unique(friction, self._frictions.axis(friction, state), loads, others)

    def sticks(self, name: str, contact_state: ContactState) -> bool:
        """Whether the friction element called `name` sticks in the contact state `contact_state`."""
        return name in contact_state.friction and contact_state.friction[name].sticking_components is not None

    def creeps(self, key: tuple[str, int, str]) -> bool:
        """Whether a zero of an event function, with the key (name, index, kind), means that a closed gap creeps."""
        return key[2] == CREEPS and key[0] in self.names

    def first_name(self, names: Iterable[str]) -> str:
        """Return the first name in `names` that is the name of a unilateral constraint or friction element."""
        own_names = {point.constraint.name for point in self._contact_points} | self._frictions.names
        return next(name for name in names if name in own_names)

    def changes(self, before: ContactState, after: ContactState) -> list[tuple[str, int]]:
        """Return all changes between two contact states as events: pairs of a name and the direction of the event."""
        names, elements = [point.constraint.name for point in self._contact_points], self._frictions.elements
        return [
            *changed_contacts(before, after, names),
            *changed_frictions(before, after, elements, self.names, None),
        ]

    def changes_at(
        self, keys: Sequence[tuple[str, int, str]], before: ContactState, after: ContactState
    ) -> list[tuple[str, int]]:
        """Return the changes between two contact states at zeros of event functions, without an impact, as events.

        These are all contacts that open or close, each friction that begins to slide or to stick where its event
        function, or that of the limit it shares, is zero, friction that begins to slide because other friction changes,
        and elastic parts that come into contact or separate. `keys` are the keys (name, index, kind) of the functions;
        the result are pairs of a name and the direction of the event.
        """
        kinds = {name: kind for name, _, kind in reversed(keys)}
        found = dict(changed_contacts(before, after, [point.constraint.name for point in self._contact_points]))
        for name, kind in reversed(kinds.items()):
            if name in self.names:
                # A gap may close without a load afterwards. One that opens was negative by round-off.
                if kind == "gap" and not before.held(name) and after.closed(name):
                    found.setdefault(name, CLOSES)
            elif name not in self._frictions.names:
                found[name] = CLOSES if kind in (MEETS, RETURNS, HOLDS, TAUTENS) else OPENS
        found |= changed_frictions(before, after, self._frictions.elements, self.names, kinds)
        pairs = {
            friction.name: frozenset(body.name for body in friction.bodies) for friction in self._frictions.elements
        }
        slid = {pairs[name] for name, direction in found.items() if direction == OPENS and name in pairs}
        for name, pair in pairs.items():
            # Two bodies that slide back at once begin to slide again.
            mode, ends = after.friction.get(name), kinds.get(name) == "slip"
            if ends and mode is not None and slides_back(mode) and pair not in slid:
                found.setdefault(name, OPENS)
                slid.add(pair)
        return list(found.items())

    def check(
        self, t: float, y: np.ndarray, angles: np.ndarray, base: Configuration, when: str = "at the start"
    ) -> None:
        """Raise an InputError if a gap is negative at a state from which no run can start.

        `t` is the time (s), `y` the state vector, `angles` the joint angles, `base` the active constraints and forces,
        and `when` says in the message which state it is.
        """
        for point, gap, noise in zip(
            self._contact_points, self.values(t, y, angles), self._noise_of_gaps(y), strict=True
        ):
            if gap < -noise and point.constraint.name not in base.idle:
                raise InputError(
                    f"{point.constraint}: its gap ({point.label}) is {gap:.3g} {when}, and cannot be negative: "
                    "move the bodies apart"
                )

    def approaching(self, t: float, y: np.ndarray, angles: np.ndarray, base: Configuration) -> frozenset[str]:
        """Return the names of the contacts whose closed surfaces approach each other, so that an impact is due.

        Surfaces that approach each other more slowly than those of contacts at rest are not counted; arguments are as
        for `check`.
        """
        return self._settling.approaching(t, y, angles, base)

    def values(self, t: float, y: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return all c gaps (c,), m or rad, at time t (s), state vector y and joint angles `angles`."""
        self._gaps.select_parts(self._system.model.auxiliary.state(y), {})
        solver = self._factory.solver_of(self._system.plant)
        return self._gaps.kinematics_at(solver, t, y, angles).value[: len(self._contact_points)]

    def _noise_of_gaps(self, y: np.ndarray) -> np.ndarray:
        """Return the round-off errors (c,) of all c gaps, m or rad, at the state vector y."""
        far = np.abs(self._system.model.auxiliary.state(y).position).max()
        return np.asarray(CLOSED_GAP * self._units + ROUND_OFF * far)

    def after_gap_jump(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        contact_state: ContactState,
        before: np.ndarray,
        cause: str = "the changes of the action",
    ) -> ContactState:
        """Return the contact state after values on which gaps depend have changed, such as by the action of an event.

        Contacts whose gap has become positive are open.

        Parameters
        ----------
        t, y, angles : time, s, state vector and joint angles after the change
        base : active constraints and forces, without contacts
        contact_state : contact state before the change
        before : (c,) gaps before the change, m or rad
        cause : what has changed the values, for the error message

        Raises
        ------
        SwitchingError
            If a gap jumps to a negative value.
        """
        opened = set()
        rows = zip(self._contact_points, before, self.values(t, y, angles), self._noise_of_gaps(y), strict=True)
        for point, old, gap, noise in rows:
            if abs(gap - old) <= noise or point.constraint.name in base.idle:
                continue
            if gap < -noise:
                raise SwitchingError(
                    f"{point.constraint}: its gap ({point.label}) jumps from {old:.3g} to {gap:.3g} {point.unit} by "
                    f"{cause}, and cannot be negative: change them while the bodies are apart, or "
                    "disable the contact"
                )
            if gap > noise:
                opened.add(point.key)
        constraints = {point.constraint.name: point.constraint for point in self._contact_points}
        loaded = {
            name: known
            for name, known in contact_state.loaded.items()
            if (name, constraints[name].gap_of_row(known[0])) not in opened
        }
        unloaded, redundant = contact_state.unloaded - opened, contact_state.redundant - opened
        return replace(contact_state, loaded=loaded, unloaded=unloaded, redundant=redundant)

    def state_after_enabling(
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
        tolerance : largest interpenetration that is removed, m; default: ENABLE_TOLERANCE times the system's length

        Raises
        ------
        SwitchingError
            If the interpenetration is larger than `tolerance`.
        """
        length = self._system.model.length
        tolerance = ENABLE_TOLERANCE * length if tolerance is None else tolerance
        for c, point in enumerate(self._contact_points):
            if point.constraint.name not in names:
                continue
            gap, moved = self.values(t, y, angles)[c], None
            if gap >= -self._noise_of_gaps(y)[c]:
                continue
            if -gap * length / self._units[c] <= tolerance:
                closed = {point.constraint.name: point.constraint.closed[self._gaps.row_of(point)]}
                plant = self._system.plant_for(configuration.with_constraints(frozenset(closed)).with_others(closed))
                moved = project_poses(self._factory.solver_at(plant, y, t), y, t)
            if moved is None or largest_displacement(self._system.model, y, moved) > tolerance:
                raise SwitchingError(
                    f"{point.constraint} cannot engage: its gap ({point.label}) is {gap:.3g} {point.unit}, which "
                    f"cannot be negative, and the tolerance is {tolerance:.3g} m: enable it where the bodies are "
                    "apart, or give enable(..., tolerance=)"
                )
            y = moved
        return y

    def resolve_impacts(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        contact_state: ContactState,
        triggered: Sequence[tuple[str, int, str]] = (),
    ) -> ImpactOutcome:
        """Return the state and the contact state after the impacts at all closed gaps with approaching surfaces.

        Parameters
        ----------
        t, y, angles : time, s, state vector and joint angles before the impacts
        base : active constraints and forces, without contacts
        contact_state : contact state before the impacts
        triggered : keys (name, index, kind) of the event functions that are zero: closing gaps, slip that ends,
            friction at its limit, and flanks that come into contact or separate
        """
        state = self._system.model.auxiliary.state(y)
        sides = self._flanks.sides(contact_state.flank_sides, triggered, t, state, base)
        outcome = self._settling.resolve(t, y, angles, self._flanks.configured(base, sides), contact_state, triggered)
        if outcome.impulse:
            state = self._system.model.auxiliary.state(outcome.y)
            sides = self._flanks.sides(sides, (), t, state, base)
        outcome.contact_state.flank_sides = sides
        outcome.contact_state.ropes = self._ropes.states_after_event(contact_state.ropes, triggered, t, state, base)
        return outcome
