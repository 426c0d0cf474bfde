"""Unilateral constraints during a run: impacts, resting contact and separation.

A gap is the distance that a unilateral constraint keeps nonnegative; there are c gaps. The rows w (c, n, 6)
of all closed gaps, and the matrix W = w M_c^-1 w^T, with the inverse mass matrix M_c^-1 under the bilateral
constraints, are evaluated at one state. Complementarity problems then determine

* the impulses x >= 0: the rates after an impact are v+ = v + W x >= -e min(v, 0), with coefficient of restitution e,
  and the jump of v is the smallest in the mass metric (Newton's law for simultaneous impacts); or the impulses of a
  sequence of such impacts, see `impact_sequence`;
* the loads x >= 0 of resting contacts: accelerations are a + W x >= 0.

Loaded contacts are rows of the equation of motion until their multiplier falls to zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.analysis.contact.flank_states import FlankStates
from quirk.analysis.contact.friction_states import FLOOR, Frictions, head
from quirk.analysis.contact.gap_functions import Gaps, Opening
from quirk.analysis.contact.parts_touched import border_guards
from quirk.analysis.contact.rope_states import RopeStates
from quirk.bodies.rotation import matrix
from quirk.bodies.state import State
from quirk.constraints import Contact
from quirk.constraints.gap_functions import FLAT
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.contact.contact_modes import NOTHING, ContactModes
from quirk.dynamics.contact.impulse import Impulse, distance, moved_onto
from quirk.dynamics.model.friction_normal_load import ConstantLoad
from quirk.dynamics.model.model import Model
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.errors import InputError, SwitchingError
from quirk.events.names import Reading, Shared
from quirk.events.quantity import Gap
from quirk.forces import Friction
from quirk.forces.stick_slip import StickSlip
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .contact_states import CLOSED, ROUND_OFF, ContactState, ImpactOutcome, Speeds, opens
from .event_actions import NEAR
from .frictional import Frictional, FrictionRows, Shares, rubbing_of
from .frictionless import Frictionless, response
from .impact_sequence import SEQUENTIAL, Strike, in_sequence
from .run_factory import RunFactory

# Distance below zero, over the length of the system or in rad, at which a closed gap without load has its contact state
# determined again.
SLACK = 1e-9
# A contact that opens from a gap farther below zero than BELOW, over the length of the system or in rad, may stay below
# zero, by up to that depth more, if it needs longer than LONG times the time of a free fall over the length of the
# system to rise to zero.
BELOW, LONG = 1e-14, 1e-12
# Default limit of the approach speed below which impacts have no rebound, and of the smallest slip speeds, over the
# speed of a free fall from the length of the system.
REST = 1e-6
# Angle, rad, between rim and plane below which the rim counts as flat on the plane.
FLAT_ANGLE = 1e-6


class Contacts:
    """The unilateral constraints and friction elements of a system during a run.

    Parameters
    ----------
    system : System
    phases : factory that provides the compiled solvers
    """

    def __init__(self, system: System, phases: RunFactory) -> None:
        self._system, self._phases = system, phases
        self._frictions = Frictions(system, at_values=not phases.trailing)
        self._flanks = FlankStates(system)
        self._ropes = RopeStates(system)
        self._gaps = Gaps(system, self._frictions.all)
        self._frictional = Frictional(self._gaps, self._frictions)
        self._touches = self._gaps.touches
        self._units = np.array([1.0 if touch.angular else system.model.length for touch in self._touches])
        speeds = [touch.constraint.rest_speed for touch in self._touches]
        self._rest_speed = np.array([np.nan if speed is None else speed for speed in speeds])
        self._restitution = np.array([touch.constraint.restitution for touch in self._touches])
        self._frictionless = Frictionless(self._gaps, self._restitution)
        self._in_sequence = phases.options.get("impacts") == SEQUENTIAL

    def __len__(self) -> int:
        return len(self._touches) + len(self._frictions.all) + len(self._flanks.all) + len(self._ropes.all)

    @property
    def names(self) -> frozenset[str]:
        """Names of the unilateral constraints."""
        return frozenset(touch.constraint.name for touch in self._touches)

    def configured(self, base: Configuration, resting: ContactState) -> Configuration:
        """Return a configuration with rows for the loaded contacts, and with friction that slides or sticks.

        `base` is the configuration without contacts, `resting` the contact state.
        """
        base = self._ropes.configured(self._flanks.configured(base, resting.sides), resting.ropes)
        base = self._frictions.configured(base, resting.rubbing, resting.parts)
        if not resting.pushing:
            return base
        names = {touch.constraint.name: touch.constraint for touch in self._touches}
        rows = {name: names[name].closed[k] for name, (k, _) in sorted(resting.pushing.items())}
        return base.with_constraints(on=frozenset(rows)).with_others(rows)

    def guards(self, base: Configuration, resting: ContactState) -> list[EventFunction]:
        """Return the event functions to monitor in a contact state; disabled constraints have none.

        `base` is the configuration without contacts, `resting` the contact state.
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
        functions += border_guards(self._system, resting.parts)
        functions += self._frictions.guards(resting.rubbing)
        return [*functions, *self._flanks.guards(base, resting.sides), *self._ropes.guards(base, resting.ropes)]

    def check_watched(self, guards: Iterable[EventFunction], resting: ContactState) -> None:
        """Raise an InputError if an event function depends on a load that several contacts share.

        The equations of rigid bodies determine only sums of such loads. `guards` are the event functions, and `resting`
        is the contact state.
        """
        for guard in guards:
            of = guard.quantity.of if isinstance(guard.quantity, Reading) else None
            if of is not None and of.name in resting.sharing:
                raise InputError(
                    f"{guard.title}: {of} shares its load with other contacts, and rigid bodies determine only the "
                    "sum: watch another quantity, or support the body on fewer contacts"
                )

    def head(self, plant: CompiledModel, resting: ContactState) -> None:
        """Set the direction of each sliding friction in the solver to the present direction of slip.

        `resting` is the contact state.
        """
        if resting.rubbing:
            head(self._phases.solver_of(plant), resting.rubbing)

    def sticks(self, name: str, resting: ContactState) -> bool:
        """Whether the friction element of this name sticks."""
        return name in resting.rubbing and resting.rubbing[name].held is not None

    def first_of(self, names: Iterable[str]) -> str:
        """Return the first of some names that belongs to a unilateral constraint or friction element."""
        own_names = {touch.constraint.name for touch in self._touches} | self._frictions.names
        return next(name for name in names if name in own_names)

    def check(self, t: float, y: np.ndarray, angles: np.ndarray, base: Configuration) -> None:
        """Raise an InputError if bodies interpenetrate initially.

        `t` is the time (s), `y` the flat state, `angles` the joint angles, and `base` the configuration.
        """
        for touch, gap, noise in zip(self._touches, self.values(t, y, angles), self._noise_of_gaps(y), strict=True):
            if gap < -noise and touch.constraint.name not in base.idle:
                raise InputError(
                    f"{touch.constraint}: its gap ({touch.label}) is {gap:.3g} at the start, and cannot be negative: "
                    "move the bodies apart"
                )

    def values(self, t: float, y: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return all gaps (c,), m or rad, at time t (s) for a flat state and joint angles."""
        self._gaps.locate(self._system.model.carried.state(y), {})
        solver = self._phases.solver_of(self._system.plant)
        return self._gaps.at(solver, t, y, angles).value[: len(self._touches)]

    def _noise_of_gaps(self, y: np.ndarray) -> np.ndarray:
        """Return the round-off (c,) of all gaps (m or rad) at a flat state."""
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
        """Return the contact state after an action has changed values on which gaps depend.

        Contacts whose gap has become positive are open.

        Parameters
        ----------
        t, y, angles : time, s, flat state and joint angles after the action
        base : configuration without contacts
        resting : contact state before the action
        before : (c,) gaps before the action

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
        """Return the flat state after contacts have been enabled; slightly interpenetrating bodies are moved apart.

        Parameters
        ----------
        t, y, angles : time, s, flat state and joint angles
        configuration : configuration without contacts
        names : names of the contacts
        tolerance : largest interpenetration that is removed, m; by default NEAR times the length of the system

        Raises
        ------
        SwitchingError
            If the interpenetration is larger.
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
                moved = moved_onto(self._phases.settled(plant, y, t), y, t)
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
        """Return state and contact state after the impacts of all closed gaps that are approaching.

        Parameters
        ----------
        t, y, angles : time, s, flat state and joint angles before the impacts
        base : configuration without contacts
        resting : contact state before the impacts
        hit : event functions that are zero now: gaps that close, slip that ends, friction at its limit, flanks that
            meet or part
        """
        state = self._system.model.carried.state(y)
        sides = self._flanks.sides(resting.sides, hit, t, state, base)
        settled = self._settle(t, y, angles, self._flanks.configured(base, sides), resting, hit)
        if settled.impulse:
            state = self._system.model.carried.state(settled.y)
            sides = self._flanks.sides(sides, (), t, state, base)
        settled.resting.sides = sides
        settled.resting.ropes = self._ropes.states(resting.ropes, hit, t, state, base)
        return settled

    def _settle(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        resting: ContactState,
        hit: Sequence[tuple[str, int, str]],
    ) -> ImpactOutcome:
        """Return the outcome of impacts, see `settle`, for a configuration with the present flanks in contact."""
        closing = [key[:2] for key in hit if key[2] == "gap"]
        for name, _, what in hit:
            if what == "solvable":
                raise SwitchingError(f"{self._system[name]}: {Friction.undefined}")
        solver = self._phases.settled(self._system.plant_for(self._frictions.bare(base)), y, t)
        solver.applied.refer(t, angles)  # loads of gears and rotation springs depend on the angles
        self._gaps.locate(solver.model.carried.state(y), resting.parts)
        opening = self._gaps.at(solver, t, y, angles)
        constraints = {touch.constraint.name: touch.constraint for touch in self._touches}
        pushing = {(name, constraints[name].gap_of_row(row)) for name, (row, _) in resting.pushing.items()}
        known = {*pushing, *closing}
        # Contacts without load have no row, and may have opened in the meantime.
        idle = np.array([touch.key in resting.idle for touch in self._touches], dtype=bool)
        at_zero = np.abs(opening.value[: len(self._touches)]) <= np.where(idle, SLACK, CLOSED) * self._units
        closed = [
            c
            for c, touch in enumerate(self._touches)
            if (at_zero[c] or touch.key in known) and touch.constraint.name not in base.idle
        ]
        self._check_rims(closed, solver.model.carried.state(y))
        acting = self._frictions.acting(base, {self._touches[c].constraint.name for c in closed})
        if not closed and not acting:
            return ImpactOutcome(y, ContactState(), {})
        speeds = self._speeds(t, y, angles, closed, opening.of(closed), solver)
        # A gap that has just closed must not decrease further, however small its rate.
        least = np.where([self._touches[c].key in closing for c in closed], 0.0, speeds.noise)
        if acting:
            settled = self._settled_by_friction(
                t, y, angles, closed, acting, opening, (speeds, least), solver, hit, resting
            )
        else:
            settled = self._settled_smoothly(t, y, angles, closed, opening.of(closed), (speeds, least), solver)
        self._let_below(t, angles, closed, opening, speeds, solver, settled)
        settled.resting.parts = self._parts_of(settled.resting)
        return settled

    def _parts_of(self, resting: ContactState) -> dict[str, int]:
        """Return the index of the touched face or edge of each bounded surface in closed contact, by contact name."""
        return {name: part for name, part in self._gaps.parts.items() if resting.closed(name)}

    def _let_below(
        self,
        t: float,
        angles: np.ndarray,
        closed: list[int],
        opening: Opening,
        speeds: Speeds,
        solver: Solver,
        settled: ImpactOutcome,
    ) -> None:
        """Set the negative values of gaps that are tolerated for contacts that open slowly, or that close by round-off.

        A contact closes by round-off if its gap is within round-off of zero and its rate is negative, but without
        impact. `closed` are the indices of the gaps, `opening` their values and rates, and `settled` the outcome of the
        impacts, which is changed.
        """
        values, names = opening.value, [touch.constraint.name for touch in self._touches]
        low = []
        for c in closed:
            least = BELOW * self._units[c]
            by_round_off = abs(values[c]) <= least and names[c] not in settled.impulse
            if (values[c] < -least or by_round_off) and names[c] not in settled.resting.pushing:
                low.append(c)
        if not low:
            return
        rates = self._gaps.at(solver, t, settled.y, angles).rate
        for c in low:
            least, depth, row = BELOW * self._units[c], max(-values[c], 0.0), closed.index(c)
            slow = rates[c] * self._units[c] * LONG < max(depth, least) * speeds.free[row]
            if slow or rates[c] <= speeds.noise[row]:
                settled.resting.below[self._touches[c].key] = float(depth + least)

    def _settled_smoothly(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        closed: list[int],
        opening: Opening,
        known: tuple[Speeds, np.ndarray],
        solver: Solver,
    ) -> ImpactOutcome:
        """Return the outcome of impacts if no friction acts; see `settle`.

        `known` are the speed limits, and the approach speeds up to which there is no impact. `closed` are the indices
        of the closed gaps, and `opening` has their values and rates.
        """
        speeds, least = known
        W, smooth = response(opening, solver, t, y), self._frictionless
        if self._in_sequence:

            def strike(
                y: np.ndarray, which: np.ndarray, rebounds: bool
            ) -> tuple[np.ndarray, dict[str, Impulse], float]:
                some = [c for c, strikes in zip(closed, which, strict=True) if strikes]
                limits = speeds.limits[which] if rebounds else np.full(len(some), np.inf)
                now, part = self._gaps.at(solver, t, y, angles).of(some), W[np.ix_(which, which)]
                y, impulse, _, kept = smooth.impact(
                    t, y, some, now, part, (limits, speeds.slow[which], least[which]), solver
                )
                return y, impulse, kept

            y, impulse, kept = self._struck_in_sequence(t, y, angles, closed, known, solver, strike)
            rates = self._gaps.at(solver, t, y, angles).of(closed).rate
        else:
            limits = speeds.limits, speeds.slow, least
            y, impulse, rates, kept = smooth.impact(t, y, closed, opening, W, limits, solver)
        still = rates <= np.maximum(speeds.noise, speeds.slow)
        staying = np.flatnonzero(still)
        at_rest = smooth.at_rest(t, y, angles, [closed[c] for c in staying], W[np.ix_(staying, staying)], solver)
        return ImpactOutcome(y, at_rest, impulse, kept)

    def _struck_in_sequence(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        closed: list[int],
        known: tuple[Speeds, np.ndarray],
        solver: Solver,
        strike: Strike,
    ) -> tuple[np.ndarray, dict[str, Impulse], float]:
        """Return the state after the impacts of closed gaps one after the other, and their impulses.

        The third result is the factor by which coefficients of restitution are lowered so that no energy is gained.
        `known` are the speed limits, and the approach speeds up to which there is no impact; `strike` resolves the
        impacts of some contacts.
        """

        def rates(y: np.ndarray) -> np.ndarray:
            return self._gaps.at(solver, t, y, angles).of(closed).rate

        speeds, least = known
        return in_sequence(y, rates, least, speeds.limits, strike)

    def _check_rims(self, closed: list[int], state: State) -> None:
        """Raise a SwitchingError if the rim of a disk lies flat on the plane that it touches.

        `closed` are the indices of the closed gaps.
        """
        for c in closed:
            contact, rows = self._touches[c].constraint, self._touches[c].rows
            if not isinstance(contact, Contact) or all(surface.kind != "rim" for surface in contact.surfaces):
                continue
            axes = [
                (matrix(state.orientation[row]) if row < len(state.position) else np.eye(3)) @ frame.matrix[:, 2]
                for row, (_, frame) in zip(rows, contact.ends, strict=True)
            ]
            if np.linalg.norm(np.cross(*axes)) < FLAT_ANGLE:
                raise SwitchingError(
                    f"{contact}: {FLAT}; for a rim that may lie flat, define contacts at some of its points "
                    "instead (quirk.surface.point)"
                )

    def _settled_by_friction(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        closed: list[int],
        acting: list[StickSlip],
        opening: Opening,
        speeds: tuple[Speeds, np.ndarray],
        solver: Solver,
        hit: Sequence[tuple[str, int, str]],
        resting: ContactState,
    ) -> ImpactOutcome:
        """Return the outcome of impacts if friction acts; see `settle`.

        `acting` are the friction elements; `speeds` are the speed limits, and the approach speeds up to which there is
        no impact.
        """
        (known, least), rough, impulse, kept = speeds, self._frictional, dict[str, Impulse](), 1.0
        rows = rough.rows(solver, t, y, opening, closed, acting, False)
        rates = rows.opening.rate
        closes = (rates[: len(closed)] < -least).any()
        noise = known.noise.max(initial=0.0)
        if closes and self._in_sequence:

            def strike(
                y: np.ndarray, which: np.ndarray, rebounds: bool
            ) -> tuple[np.ndarray, dict[str, Impulse], float]:
                some = [c for c, strikes in zip(closed, which, strict=True) if strikes]
                names = {self._touches[c].constraint.name for c in some}
                rubbing = [friction for friction in acting if friction.on.name in names]
                now = rough.rows(solver, t, y, self._gaps.at(solver, t, y, angles), some, rubbing, False)
                restitution = self._restitution[some] * rebounds
                y, impulse, _, kept = rough.struck(solver, t, y, now, known.limits[which], restitution, noise)
                return y, impulse, kept

            y, impulse, kept = self._struck_in_sequence(t, y, angles, closed, speeds, solver, strike)
            rates = rough.rows(solver, t, y, self._gaps.at(solver, t, y, angles), closed, acting, False).opening.rate
        elif closes or rough.held_back(rows, noise):
            restitution = self._restitution[closed]
            y, impulse, rates, kept = rough.struck(solver, t, y, rows, known.limits, restitution, noise)
        still = rates[: len(closed)] <= np.maximum(known.noise, known.slow)
        closed = [c for c, stays in zip(closed, still, strict=True) if stays]
        names = {self._touches[c].constraint.name for c in closed}
        acting = [
            friction for friction in acting if friction.on.name in names or not isinstance(friction.on, Unilateral)
        ]
        if not closed and not acting:
            return ImpactOutcome(y, ContactState(), impulse, kept)
        opening = self._gaps.at(solver, t, y, angles)
        rows = rough.rows(solver, t, y, opening, closed, acting, True)
        slow = np.full(len(rows.numbers), self._slow_slip(solver, t, y, angles, rows))
        at_limit = [name for key in hit if key[2] == "cone" for name in resting.at_limit(key[0])]
        modes = rough.at_rest(solver, t, y, angles, rows, rows.opening.rate, FLOOR * slow, at_limit)
        if modes.rows.any():
            y = rough.stopped(solver, t, y, rows, modes.rows)
        shares = Shares(rows, modes, [self._touches[c].constraint.name for c in closed])
        rubbing = rubbing_of(rows, modes, slow, resting.rubbing, shares)
        rubbing = self._frictions.at_values(rubbing, resting.rubbing, solver.model.carried.state(y))
        pushing, idle = self._shared_out(closed, modes)
        loads, returns = self._loads(closed, modes, shares)
        patched = frozenset(self._touches[c].key for row, c in enumerate(closed) if shares.in_patch(row))
        return ImpactOutcome(
            y, ContactState(pushing, idle, rubbing, loads, returns=returns, patched=patched), impulse, kept
        )

    def _loads(
        self, closed: list[int], found: ContactModes, shares: Shares
    ) -> tuple[dict[tuple[str, int], Shared], dict[tuple[str, int], Shared]]:
        """Return the loads to be monitored, by gap: loads of loaded contacts, and of closed contacts without load.

        `closed` are the indices of the closed gaps, `found` is the solution of the contact problem, and `shares`
        expresses loads by multipliers.
        """
        largest, loads, returns = found.z[: len(closed)].max(initial=0.0), dict[Any, Shared](), dict[Any, Shared]()
        for row, c in enumerate(closed):
            key = self._touches[c].key
            if found.held[row] and found.z[row] > 0 and not shares.in_patch(row):
                loads[key] = shares.of(row, opens(found.z[row], largest))
            elif not found.held[row]:
                potential = shares.returns(row)
                returns |= {} if potential is None else {key: potential}
        return loads, returns

    def _shared_out(
        self, closed: list[int], found: ContactModes
    ) -> tuple[dict[str, tuple[int, float]], frozenset[tuple[str, int]]]:
        """Return the loaded contacts with constraint rows, and the resting closed contacts without rows.

        Parameters
        ----------
        closed : indices of the closed gaps
        found : solution of the contact problem for these gaps

        Returns
        -------
        pushing : for each contact with rows by name, the index of its row and the multiplier below which the contact
            opens
        idle : keys of the closed gaps without rows that stay closed, i.e. whose relative acceleration or velocity
            `found.w` is
            at most the limit of rest. Gaps that open faster are in neither result.
        """
        count = len(closed)
        touches, z, w = [self._touches[c] for c in closed], found.z[:count], found.w[:count]
        largest = z.max(initial=0.0)
        rest = CLOSED / NOTHING * found.slow[:count]
        pushing = {
            touch.constraint.name: (self._gaps.row_of(touch), opens(z[c], largest))
            for c, touch in enumerate(touches)
            if found.rows[c]
        }
        return pushing, frozenset(
            touch.key for c, touch in enumerate(touches) if w[c] <= rest[c] and touch.constraint.name not in pushing
        )

    def _slow_slip(self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray, rows: FrictionRows) -> float:
        """Return the slip (m/s) below which a contact or joint with friction counts as not slipping.

        The limit is chosen like the speed below which impacts have no rebound, from the accelerations of the rows and
        those due to friction of constant limit, which may be the only load that decelerates a body. FLOOR times this
        speed is at least the round-off of the fastest body.
        """
        model = solver.model
        rates = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        fall = np.abs(self._gaps.accelerations(t, y, angles, rows.numbers, rates)).max(initial=0.0)
        for grip in rows.grips:
            if isinstance(grip.load, ConstantLoad):
                fall = max(fall, grip.coefficient * grip.load.value * np.diag(rows.W)[grip.rows].max())
        by_fall = REST * np.sqrt(max(fall, np.linalg.norm(model.gravity)) * model.length)
        return float(max(by_fall, ROUND_OFF * _fastest(model, y) / FLOOR))

    def _speeds(
        self, t: float, y: np.ndarray, angles: np.ndarray, closed: list[int], opening: Opening, solver: Solver
    ) -> Speeds:
        """Return the speed limits of closed gaps that separate rest from motion; see `Speeds`.

        By default they are the fraction REST of the speed after a free fall over the length of the system, under
        gravity or, without gravity, with the acceleration at which the gap closes.
        """
        model, units = solver.model, self._units[closed]
        gravity = np.linalg.norm(model.gravity) * np.ones(len(closed)) * units / model.length
        if not model.gravity.any():
            rates = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
            gravity = np.maximum(-self._gaps.accelerations(t, y, angles, closed, rates), 0.0)
        default = REST * np.sqrt(gravity * units)
        chosen = self._rest_speed[closed]
        limits = np.where(np.isnan(chosen), default, chosen)
        # Gaps below zero by round-off stay closed unless they open faster.
        slow = np.maximum(np.minimum(limits, default), np.sqrt(2 * gravity * np.maximum(-opening.value, 0.0)))
        return Speeds(limits, slow, self._noise(closed, model, y), np.sqrt(gravity * units))

    def _noise(self, closed: list[int], model: Model, y: np.ndarray) -> np.ndarray:
        """Return the round-off (c,) of the rates of closed gaps, m/s or rad/s."""
        noise: np.ndarray = ROUND_OFF * _fastest(model, y) * self._units[closed] / model.length
        return noise


def _fastest(model: Model, y: np.ndarray) -> float:
    """Return the largest speed of points of bodies, m/s."""
    state = model.carried.state(y)
    turning = model.length * np.sqrt((state.angular_velocity**2).sum(axis=1)).max()
    return float(np.sqrt((state.velocity**2).sum(axis=1)).max() + turning)
