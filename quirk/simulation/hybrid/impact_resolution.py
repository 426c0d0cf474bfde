"""Outcome of impacts: the state after them, and which contacts then rest, carry load, slide or stick."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.analysis.contact.friction_modes import SLIP_FLOOR, FrictionModes
from quirk.bodies.rotation import matrix
from quirk.bodies.state import State
from quirk.constraints import Contact
from quirk.constraints.gap_functions import FLAT
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.contact.contact_modes import RELATIVE_ZERO, ContactModes
from quirk.dynamics.contact.impulse import Impulse
from quirk.dynamics.contact.lcp import dependent_columns
from quirk.errors import SwitchingError
from quirk.events.names import Shared
from quirk.forces import Friction
from quirk.forces.stick_slip import StickSlip
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .contact_rows import ContactRows
from .contact_states import CLOSED_GAP, ContactState, Impact, ImpactOutcome, SpeedLimits, opening_threshold
from .creeping_gaps import CREEPS, CREPT, creep_limits
from .friction_after_event import creeping_rows, creeps_on, friction_modes_after_event, without_creep
from .frictional_contact import FrictionalContactSolver
from .frictionless_contact import FrictionlessContactSolver, delassus_matrix
from .impact_sequence import SEQUENTIAL, Strike, sequential_impacts, sum_of_impulses
from .prescribed_rates import slow_prescribed_rates
from .run_factory import RunFactory
from .shared_contact_loads import SharedContactLoads
from .speed_limits import ContactInstant, largest_speed, slip_limit, speed_limits

# The contact state of a closed gap without load is computed again when the gap falls below minus this value, relative
# to the length of the system or in rad.
IDLE_GAP = 1e-9
# A contact may open from a gap below -PENETRATION, relative to the length of the system or in rad, and more where the
# bodies are further from the origin. If it needs longer than SLOW_OPENING times the free-fall time over the length of
# the system to reach zero, negative gaps down to its present depth plus PENETRATION cause no event.
PENETRATION, SLOW_OPENING = 1e-14, 1e-12
# A gap that has just closed approaches no further below this fraction of the free-fall speed: numbers that underflow.
MOTIONLESS = 1e-30
# Angle, rad, between rim and plane below which the rim counts as flat on the plane.
FLAT_ANGLE = 1e-6


@dataclass(frozen=True)
class ClosedGaps:
    """The gaps that are closed before impacts.

    Attributes
    ----------
    indices : indices of the closed gaps among all gaps of the system
    kinematics : values, rates and constraint rows of all gaps
    speeds : speed limits of the closed gaps
    impact_speeds : approach speeds of the closed gaps below which there is no impact, m/s or rad/s
    unloading : mask of the closed gaps whose load has just fallen to zero
    W : (c, c) jumps of the rates of the c closed gaps per unit impulse at each of them
    """

    indices: list[int]
    kinematics: ContactKinematics
    speeds: SpeedLimits
    impact_speeds: np.ndarray
    unloading: np.ndarray
    W: np.ndarray


class ImpactResolver:
    """Solver for simultaneous impacts at all closed gaps whose surfaces approach each other.

    Parameters
    ----------
    system : System
    factory : factory that provides the compiled solvers
    gaps, frictions : unilateral constraints and friction elements of the system
    units : (c,) characteristic size of each of c gaps: 1 rad for angles, the length of the system (m) for distances
    """

    def __init__(
        self, system: System, factory: RunFactory, gaps: Gaps, frictions: FrictionModes, units: np.ndarray
    ) -> None:
        self._system, self._factory, self._gaps, self._frictions = system, factory, gaps, frictions
        self._contact_points, self._units = gaps.contact_points, units
        self._frictional = FrictionalContactSolver(gaps, frictions)
        speeds = [point.constraint.rest_speed for point in self._contact_points]
        self._rest_speed = np.array([np.nan if speed is None else speed for speed in speeds])
        self._restitution = np.array([point.constraint.restitution for point in self._contact_points])
        self._frictionless = FrictionlessContactSolver(gaps, self._restitution)
        self._sequential = factory.options.get("impacts") == SEQUENTIAL
        # Time of the last impacts, s, and largest speed of the bodies before them, m/s, whose round-off is left then.
        self._latest = np.nan, 0.0

    def resolve(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        contact_state: ContactState,
        triggered: Sequence[tuple[str, int, str]],
    ) -> ImpactOutcome:
        """Return the state and the contact state after the impacts; for arguments see `Contacts.resolve_impacts`."""
        for name, _, what in triggered:
            if what == "solvable":
                raise SwitchingError(f"{self._system[name]}: {Friction.undefined}")
        state, instant = self._system.model.auxiliary.state(y), self._instant(t, y, angles, base)
        self._latest = t, instant.fastest
        self._gaps.select_parts(state, contact_state.parts)
        kinematics = instant.kinematics(y)
        closing = [key[:2] for key in triggered if key[2] == "gap"]
        indices = self._closed_gaps(kinematics, closing, base, contact_state)
        self._check_rims(indices, state)
        acting = self._frictions.active_elements(base, self._names(indices))
        if not indices and not acting:
            return ImpactOutcome(y, ContactState(), {})
        rows = self._friction_rows(instant, y, kinematics, indices, acting) if acting else None
        speeds = self._speed_limits(instant, y, kinematics, indices, rows)
        keys = [self._contact_points[c].key for c in indices]
        # Rates of gaps that other rows hold are zero up to their creep.
        creep = np.array([contact_state.creeping.get(key, 0.0) for key in keys]) * CREPT
        # A gap that has just closed must not decrease further, however small its rate.
        least, just_closed = MOTIONLESS * speeds.free_fall, [key in closing for key in keys]
        threshold = np.where(just_closed, least, np.maximum(speeds.round_off, creep))
        unloaded = {key[:2] for key in triggered if key[2] == "push"}
        unloading = np.array([key in unloaded for key in keys], dtype=bool)
        W = self._responses(instant, y, kinematics, indices, rows)
        closed = ClosedGaps(indices, kinematics, speeds, threshold, unloading, W)
        prescribed = self._slow_approach(closed, state)
        if prescribed.any():
            instant = replace(instant, prescribed=prescribed)
            kinematics = instant.kinematics(y)
            closed = replace(closed, kinematics=kinematics)
            rows = self._friction_rows(instant, y, kinematics, indices, acting) if acting else None
        outcome = self._outcome(instant, y, closed, rows, triggered, contact_state)
        if self._approach(instant, y, closed, outcome):
            # Other gaps approach because gaps that separate slowly have been stopped.
            separating = replace(closed, speeds=replace(speeds, separation=np.zeros(len(indices))))
            other = self._outcome(instant, y, separating, rows, triggered, contact_state)
            outcome = outcome if self._approach(instant, y, closed, other) else other
        self._tolerate_penetration(instant, closed, outcome)
        parts, after = self._gaps.parts.items(), outcome.contact_state
        after.parts = {name: part for name, part in parts if after.closed(name)}
        if after.redundant:
            limits = zip(speeds.separation.tolist(), speeds.round_off.tolist(), strict=True)
            known, length = dict(zip(keys, limits, strict=True)), self._system.model.length
            after.creeping = creep_limits(self._gaps, instant.kinematics(outcome.y), after, known, length)
        return outcome

    def approaching(self, t: float, y: np.ndarray, angles: np.ndarray, base: Configuration) -> frozenset[str]:
        """Return the names of the contacts whose closed surfaces approach each other faster than at rest.

        Arguments are as for `Contacts.resolve_impacts`, for a state whose contact state is not known.
        """
        instant = self._instant(t, y, angles, base)
        self._gaps.select_parts(self._system.model.auxiliary.state(y), {})
        kinematics = instant.kinematics(y)
        indices = self._closed_gaps(kinematics, [], base, ContactState())
        acting = self._frictions.active_elements(base, self._names(indices))
        rows = self._friction_rows(instant, y, kinematics, indices, acting) if acting else None
        speeds = self._speed_limits(instant, y, kinematics, indices, rows)
        limits = np.maximum(speeds.round_off, speeds.separation)
        return self._names(
            [c for c, strikes in zip(indices, kinematics.rate[indices] < -limits, strict=True) if strikes]
        )

    def _friction_rows(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        kinematics: ContactKinematics,
        indices: list[int],
        acting: list[StickSlip],
    ) -> ContactRows:
        """Return the rows of the closed gaps `indices` and of the active friction elements `acting`, before impacts.

        `instant` holds the time, joint angles, solver and gaps, `y` is the state vector, and `kinematics` contains all
        gaps. Without gravity the rows have the normal loads of joints, for the speed limits.
        """
        loads = not self._system.model.gravity.any()
        return self._frictional.rows(instant.solver, instant.t, y, kinematics, indices, acting, loads)

    def _speed_limits(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        kinematics: ContactKinematics,
        indices: list[int],
        rows: ContactRows | None,
    ) -> SpeedLimits:
        """Return the speed limits of the closed gaps `indices`; for the other arguments see `_friction_rows`."""
        closed = kinematics.subset(indices)
        return speed_limits(instant, y, indices, closed, self._units[indices], self._rest_speed[indices], rows)

    def _responses(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        kinematics: ContactKinematics,
        indices: list[int],
        rows: ContactRows | None,
    ) -> np.ndarray:
        """Return the jumps of the rates of the closed gaps `indices` per unit impulse at each of them, (c, c).

        `rows` are the rows of these gaps and of friction, or None; for the other arguments see `_friction_rows`.
        """
        if rows is None:
            return delassus_matrix(kinematics.subset(indices), instant.solver, instant.t, y)
        c, arms = len(indices), rows.arms[: len(indices)]
        return np.asarray(rows.W[:c, :c] / arms / arms[:, None])

    def _slow_approach(self, closed: ClosedGaps, state: State) -> np.ndarray:
        """Return the rates of all gaps and slip components that count as zero because drivers prescribe them.

        Drivers may set bodies down slowly, up to the speed of contacts at rest, but not go on. `closed` are the closed
        gaps, and `state` is the state before the impacts.
        """
        found, indices = np.zeros(len(closed.kinematics.rate)), closed.indices
        rates = closed.kinematics.rate[indices]
        if not (rates < -closed.impact_speeds).any():
            return found
        touches = closed.kinematics.value[indices] >= -self._penetration_limits(state)[indices]
        slow = np.maximum(closed.impact_speeds, np.where(touches, closed.speeds.separation, 0.0))
        found[indices] = slow_prescribed_rates(closed.W, rates, slow)
        return found

    def _instant(self, t: float, y: np.ndarray, angles: np.ndarray, base: Configuration) -> ContactInstant:
        """Return the instant at time t (s), with the solver for the system without contacts and friction.

        `y` is the state vector, `angles` (K, 3) are the 1-2-3 angles of K joints, rad, and `base` are the active
        constraints and forces, without contacts.
        """
        solver = self._factory.solver_at(self._system.plant_for(self._frictions.without_friction(base)), y, t)
        solver.applied.refer(t, angles)  # loads of gears and rotation springs depend on the angles
        speed, (then, before) = largest_speed(solver.model, y), self._latest
        return ContactInstant(t, angles, solver, self._gaps, max(speed, before) if t == then else speed)

    def _closed_gaps(
        self,
        kinematics: ContactKinematics,
        closing: list[tuple[str, int]],
        base: Configuration,
        contact_state: ContactState,
    ) -> list[int]:
        """Return the indices of the closed gaps.

        `kinematics` contains the gaps, `closing` the keys of gaps that have just closed, `base` is the configuration
        without contacts, and `contact_state` the contact state.
        """
        constraints = {point.constraint.name: point.constraint for point in self._contact_points}
        loaded = {(name, constraints[name].gap_of_row(row)) for name, (row, _) in contact_state.loaded.items()}
        known = {*loaded, *closing}
        # Contacts without load have no row, and may have opened in the meantime.
        unloaded = np.array([point.key in contact_state.unloaded for point in self._contact_points], dtype=bool)
        at_zero = (
            np.abs(kinematics.value[: len(self._contact_points)])
            <= np.where(unloaded, IDLE_GAP, CLOSED_GAP) * self._units
        )
        return [
            c
            for c, point in enumerate(self._contact_points)
            if (at_zero[c] or point.key in known) and point.constraint.name not in base.idle
        ]

    def _names(self, indices: Sequence[int]) -> frozenset[str]:
        """Return the names of the constraints of the gaps `indices`."""
        return frozenset(self._contact_points[c].constraint.name for c in indices)

    def _check_rims(self, closed: list[int], state: State) -> None:
        """Raise a SwitchingError if the rim of a disk lies flat on the plane that it touches.

        `closed` are the indices of the closed gaps.
        """
        for c in closed:
            contact, rows = self._contact_points[c].constraint, self._contact_points[c].rows
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

    def _outcome(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        closed: ClosedGaps,
        rows: ContactRows | None,
        triggered: Sequence[tuple[str, int, str]],
        contact_state: ContactState,
    ) -> ImpactOutcome:
        """Return the outcome of impacts at the closed gaps `closed`; `rows` is None if no friction acts.

        For the other arguments see `_frictional_outcome`.
        """
        if rows is None:
            return self._frictionless_outcome(instant, y, closed)
        return self._frictional_outcome(instant, y, closed, rows, triggered, contact_state)

    def _approach(self, instant: ContactInstant, y: np.ndarray, closed: ClosedGaps, outcome: ImpactOutcome) -> bool:
        """Whether a closed gap decreases after the `outcome` of impacts at the gaps `closed`, by more than round-off.

        `instant` holds the time, joint angles, solver and gaps; `y` is the state vector before the impacts.
        """
        if outcome.y is y or len(closed.indices) == 1:
            return False
        rates = instant.kinematics(outcome.y).rate[closed.indices]
        return bool((rates < -closed.speeds.round_off).any())

    def _frictionless_outcome(self, instant: ContactInstant, y: np.ndarray, closed: ClosedGaps) -> ImpactOutcome:
        """Return the outcome of impacts at the closed gaps `closed` if no friction acts.

        `instant` holds the time, joint angles, solver and gaps; `y` is the state vector before the impacts.
        """
        indices, speeds, t, solver = closed.indices, closed.speeds, instant.t, instant.solver
        kinematics, frictionless, W = closed.kinematics.subset(indices), self._frictionless, closed.W

        def strike(y: np.ndarray, striking: np.ndarray, rebounds: bool) -> Impact:
            some = [c for c, strikes in zip(indices, striking, strict=True) if strikes]
            limits = speeds.rebound[striking] if rebounds else np.full(len(some), np.inf)
            now, part = instant.kinematics(y).subset(some), W[np.ix_(striking, striking)]
            known = limits, speeds.separation[striking], closed.impact_speeds[striking]
            return frictionless.impact(t, y, some, now, part, known, solver)

        if self._sequential:
            impact = self._sequential_impact(instant, y, closed, strike)
        else:
            limits = self._rebound_limits(closed), speeds.separation, closed.impact_speeds
            impact = frictionless.impact(t, y, indices, kinematics, W, limits, solver)
        staying = np.flatnonzero(impact.rates <= np.maximum(speeds.round_off, speeds.separation))
        rest = W[np.ix_(staying, staying)]
        resting = [indices[c] for c in staying]
        at_rest = frictionless.contact_state(
            t, impact.y, instant.angles, resting, rest, solver, closed.unloading[staying]
        )
        y, impulse = impact.y, impact.impulse
        loaded = [k for k, c in enumerate(indices) if self._is_loaded(c, at_rest)]
        if (np.abs(impact.rates[loaded]) > speeds.round_off[loaded]).any():
            held = [indices[k] for k in loaded]
            now = instant.kinematics(y).subset(held)
            y, stopping = frictionless.stop(t, y, held, now, W[np.ix_(loaded, loaded)], solver)
            impulse = sum_of_impulses(impulse, stopping) if impulse else impulse
        return ImpactOutcome(y, at_rest, impulse, impact.restitution_kept)

    def _is_loaded(self, c: int, contact_state: ContactState) -> bool:
        """Whether the gap with index c carries a load, and so has a row, in a contact state."""
        point = self._contact_points[c]
        row, _ = contact_state.loaded.get(point.constraint.name, (None, 0.0))
        return row == self._gaps.row_of(point)

    def _rebound_limits(self, closed: ClosedGaps) -> np.ndarray:
        """Return the approach speeds (c,) of the gaps `closed` below which simultaneous impacts have no rebound.

        This includes rebounds that would open the gap so slowly that it stays closed.
        """
        restitution, limits = self._restitution[closed.indices], closed.speeds.rebound
        return np.maximum(
            limits, np.divide(closed.speeds.separation, restitution, out=np.copy(limits), where=restitution > 0)
        )

    def _sequential_impact(self, instant: ContactInstant, y: np.ndarray, closed: ClosedGaps, strike: Strike) -> Impact:
        """Return the outcome of a sequence of impacts at the closed gaps `closed`; see `sequential_impacts`.

        `instant` holds the time, joint angles, solver and gaps, and `y` is the state vector before the impacts. The
        function `strike` returns the outcome of simultaneous impacts at some of the gaps.
        """
        # Rates of angles are multiplied by their lever arms, so that the speeds of all contacts can be compared.
        arms = self._gaps.arms[closed.indices]

        def rates(y: np.ndarray) -> np.ndarray:
            return np.asarray(arms * instant.kinematics(y).subset(closed.indices).rate)

        impact = sequential_impacts(y, rates, arms * closed.impact_speeds, arms * closed.speeds.rebound, strike)
        return impact._replace(rates=impact.rates / arms)

    def _frictional_outcome(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        closed: ClosedGaps,
        rows: ContactRows,
        triggered: Sequence[tuple[str, int, str]],
        contact_state: ContactState,
    ) -> ImpactOutcome:
        """Return the outcome of impacts at the closed gaps `closed`, with friction; `rows` are the rows of both.

        `instant` holds the time, joint angles, solver and gaps. `y` and `contact_state` are the state vector and the
        contact state before the impacts; `triggered` are the keys (name, index, kind) of the event functions that are
        zero.
        """
        speeds = closed.speeds
        impact = self._frictional_impact(instant, y, closed, rows)
        resting = impact.rates[: len(closed.indices)] <= np.maximum(speeds.round_off, speeds.separation)
        indices = [c for c, stays in zip(closed.indices, resting, strict=True) if stays]
        names = self._names(indices)
        acting = [one for one in rows.friction_elements if one.on.name in names or not isinstance(one.on, Unilateral)]
        if not indices and not acting:
            return ImpactOutcome(impact.y, ContactState(), impact.impulse, impact.restitution_kept)
        unloading = closed.unloading[resting]
        y, state, stopping = self._state_at_rest(
            instant, impact.y, indices, acting, triggered, contact_state, unloading
        )
        impulse = sum_of_impulses(impact.impulse, stopping) if impact.impulse else impact.impulse
        return ImpactOutcome(y, state, impulse, impact.restitution_kept)

    def _frictional_impact(
        self, instant: ContactInstant, y: np.ndarray, closed: ClosedGaps, rows: ContactRows
    ) -> Impact:
        """Return the state, impulses and rates after impacts with friction at the closed gaps `closed`.

        `instant` holds the time, joint angles, solver and gaps; `y` is the state vector before the impacts, and
        `rows` are the rows of the gaps and of friction. In the result the rates of the gaps precede the rates of slip.
        """
        frictional, t, solver, indices = self._frictional, instant.t, instant.solver, closed.indices
        arms, rates = rows.arms[: len(indices)], rows.kinematics.rate / rows.arms
        limits, noise = arms * closed.speeds.rebound, (arms * closed.speeds.round_off).max(initial=0.0)
        closes = (rates[: len(indices)] < -closed.impact_speeds).any()

        def strike(y: np.ndarray, striking: np.ndarray, rebounds: bool) -> Impact:
            some = [c for c, strikes in zip(indices, striking, strict=True) if strikes]
            names = self._names(some)
            friction_modes = [friction for friction in rows.friction_elements if friction.on.name in names]
            now = frictional.rows(solver, t, y, instant.kinematics(y), some, friction_modes, False)
            restitution = self._restitution[some] * rebounds
            return frictional.impact(solver, t, y, now, limits[striking], restitution, noise)

        if closes and self._sequential:
            return self._sequential_impact(instant, y, closed, strike)
        if closes or frictional.slips_at_infinite_friction(rows, noise):
            limits_together = arms * self._rebound_limits(closed)
            return frictional.impact(solver, t, y, rows, limits_together, self._restitution[indices], noise)
        return Impact(y, {}, rates)

    def _state_at_rest(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        indices: list[int],
        acting: list[StickSlip],
        triggered: Sequence[tuple[str, int, str]],
        contact_state: ContactState,
        unloading: np.ndarray,
    ) -> tuple[np.ndarray, ContactState, dict[str, Impulse]]:
        """Return the state vector and the contact state that follow an impact, for contacts at rest.

        The rates of gaps that stay closed under load, and of slip that ends, are set to zero. The impulses that do so
        are the third part of the result, by name.

        Parameters
        ----------
        instant : time, joint angles, solver and gaps
        y : state vector after the impact
        indices : indices of the closed gaps
        acting : active friction elements
        triggered : keys (name, index, kind) of the event functions that are zero
        contact_state : contact state before the impact
        unloading : mask of the closed gaps whose load has just fallen to zero
        """
        frictional, t, solver, angles = self._frictional, instant.t, instant.solver, instant.angles
        rows = frictional.rows(solver, t, y, instant.kinematics(y), indices, acting, True)
        slow = np.full(len(rows.indices), slip_limit(instant, y, rows))
        at_limit = [name for key in triggered if key[2] == "cone" for name in contact_state.elements_at_limit(key[0])]
        ended = {name for name, _, kind in triggered if kind in ("slip", "passes")}
        in_contacts = {friction.name for friction in acting if isinstance(friction.on, Unilateral)}
        # Contacts that gather speed together reach it one after another.
        sliding = {
            name: mode
            for name, mode in contact_state.friction.items()
            if any(kind == "faster" for _, _, kind in triggered)
            and name in in_contacts - ended
            and mode.sticking_components is None
            and mode.reversal_speed > 0
        }
        returning = {key[:2] for key in triggered if key[2] == "return"}
        loaded_again = [row for row, c in enumerate(indices) if self._contact_points[c].key in returning]

        def settled(rates: np.ndarray) -> tuple[ContactModes, np.ndarray, tuple[np.ndarray, Any, np.ndarray]]:
            modes, load_round_off = frictional.contact_modes(
                solver, t, y, angles, rows, rates, SLIP_FLOOR * slow, at_limit, sliding, unloading, ended
            )
            modes = _with_loads_that_return(modes, rows, loaded_again)
            return modes, load_round_off, frictional.stop(solver, t, y, rows, modes.independent)

        rates, found = rows.kinematics.rate, None
        creeping = creeping_rows(rows, triggered, contact_state.friction, slow)
        if creeping.any():
            with suppress(SwitchingError):
                found = settled(np.where(creeping, 0.0, rates))
            if found is not None and creeps_on(rows, found[0], creeping, found[2][2], SLIP_FLOOR * slow):
                found = None
        try:
            modes, load_round_off, (y, stopping, rates) = settled(rates) if found is None else found
        except SwitchingError:
            crept = creeping.any() or not contact_state.creeping.keys().isdisjoint(key[:2] for key in triggered)
            if not crept or any(kind != CREEPS for _, _, kind in triggered):
                raise
            return y, without_creep(t, contact_state, rows.friction_elements, triggered), {}
        shares = self._shares(rows, modes, load_round_off, indices)
        friction_modes = friction_modes_after_event(t, rows, modes, slow, rates, contact_state, shares)
        friction_modes = self._frictions.with_positions(
            friction_modes, contact_state.friction, solver.model.auxiliary.state(y)
        )
        loaded, unloaded = self._loaded_and_unloaded(indices, modes, load_round_off, rows.arms)
        loads, returns = self._monitored_loads(indices, modes, load_round_off, shares)
        sharing = frozenset(self._contact_points[c].key for row, c in enumerate(indices) if shares.shares_margin(row))
        dependent = dependent_columns(rows.W, modes.independent)
        redundant = unloaded & {self._contact_points[c].key for row, c in enumerate(indices) if dependent[row]}
        state = ContactState(
            loaded, unloaded, friction_modes, loads,
            reloading=returns, shared_margins=sharing, kept_rows=shares.kept_rows,
        )  # fmt: skip
        return y, replace(state, redundant=redundant), stopping

    def _shares(
        self, rows: ContactRows, modes: ContactModes, load_round_off: np.ndarray, indices: Sequence[int]
    ) -> SharedContactLoads:
        """Return the loads of contacts and friction; `indices` are the closed gaps, see `SharedContactLoads`."""
        contacts = [self._contact_points[c].constraint for c in indices]
        return SharedContactLoads(
            rows, modes, load_round_off, contacts, lambda row: self._gaps.left_out(rows.indices[row])
        )

    def _tolerate_penetration(self, instant: ContactInstant, closed: ClosedGaps, outcome: ImpactOutcome) -> None:
        """Store the largest negative gaps that cause no event, in the contact state of `outcome`.

        This concerns contacts that open slowly from a negative gap, and contacts that close by round-off: their gap is
        zero up to round-off, its rate is negative, and there is no impact, or one at a speed of round-off. `outcome` is
        the outcome of the impacts at the gaps `closed`; `instant` holds the time, joint angles, solver and gaps.
        """
        names = [point.constraint.name for point in self._contact_points]
        values, before = closed.kinematics.value, closed.kinematics.rate
        thresholds = self._penetration_limits(self._system.model.auxiliary.state(outcome.y))
        penetrating = []
        for row, c in enumerate(closed.indices):
            unmoved = names[c] not in outcome.impulse or before[c] >= -closed.speeds.round_off[row]
            by_round_off = abs(values[c]) <= thresholds[c] and unmoved
            if (values[c] < -thresholds[c] or by_round_off) and names[c] not in outcome.contact_state.loaded:
                penetrating.append(c)
        if not penetrating:
            return
        rates, speeds = instant.kinematics(outcome.y).rate, closed.speeds
        for c in penetrating:
            depth, row = max(-values[c], 0.0), closed.indices.index(c)
            slow = rates[c] * self._units[c] * SLOW_OPENING < max(depth, thresholds[c]) * speeds.free_fall[row]
            if slow or rates[c] <= speeds.round_off[row]:
                outcome.contact_state.tolerated_gaps[self._contact_points[c].key] = float(depth + thresholds[c])

    def _penetration_limits(self, state: State) -> np.ndarray:
        """Return the depths (c,), m or rad, down to which all c gaps may be negative by round-off at a state."""
        far = float(np.abs(state.position).max(initial=0.0))
        return np.asarray(PENETRATION * self._units * max(1.0, far / self._system.model.length))

    def _monitored_loads(
        self, closed: list[int], solution: ContactModes, load_round_off: np.ndarray, shares: SharedContactLoads
    ) -> tuple[dict[tuple[str, int], Shared], dict[tuple[str, int], Shared]]:
        """Return two dicts of monitored loads by key of the gap: for loaded and for unloaded closed contacts.

        `closed` are the indices of the closed gaps, and `solution` is the solution of the contact problem with r rows.
        A load below its threshold in `load_round_off` (r,) is round-off of larger loads. `shares` expresses loads by
        multipliers.
        """
        largest, loads, returns = solution.z[: len(closed)].max(initial=0.0), dict[Any, Shared](), dict[Any, Shared]()
        for row, c in enumerate(closed):
            key = self._contact_points[c].key
            if solution.active[row] and solution.z[row] > 0 and not shares.shares_margin(row):
                loads[key] = shares.row_force(
                    row, opening_threshold(solution.z[row], max(largest, load_round_off[row]))
                )
            elif not solution.active[row]:
                least = -opening_threshold(0.0, max(largest, load_round_off[row]))
                potential = shares.tension_before_reload(row, least)
                returns |= {} if potential is None else {key: potential}
        return loads, returns

    def _loaded_and_unloaded(
        self, closed: list[int], solution: ContactModes, load_round_off: np.ndarray, arms: np.ndarray
    ) -> tuple[dict[str, tuple[int, float]], frozenset[tuple[str, int]]]:
        """Divide closed contacts at rest into contacts with a constraint row, under load, and contacts without a row.

        Parameters
        ----------
        closed : indices of the closed gaps
        solution : solution of the contact problem for these gaps
        load_round_off : (r,) loads of the r rows below which they are round-off of larger loads
        arms : (r,) lever arms of the rows, as in `ContactRows`

        Returns
        -------
        loaded : pairs (index of the row, multiplier below which the contact opens) by name of each contact with a row
        unloaded : keys of the closed gaps without rows that stay closed
            The acceleration or velocity of these gaps is at most their limit of rest. Gaps that open faster are in
            neither result.
        """
        count = len(closed)
        points, z, w = [self._contact_points[c] for c in closed], solution.z[:count], solution.w[:count]
        largest = z.max(initial=0.0)
        rest = CLOSED_GAP / RELATIVE_ZERO * solution.zero_threshold[:count]
        loaded = {
            point.constraint.name: (
                self._gaps.row_of(point),
                arms[c] * opening_threshold(z[c], max(largest, load_round_off[c])),
            )
            for c, point in enumerate(points)
            if solution.independent[c]
        }
        return loaded, frozenset(
            point.key for c, point in enumerate(points) if w[c] <= rest[c] and point.constraint.name not in loaded
        )


def _with_loads_that_return(modes: ContactModes, rows: ContactRows, returning: Sequence[int]) -> ContactModes:
    """Return contact modes in which sliding contacts whose load begins to grow again are loaded.

    Their load is zero up to round-off, so that the contact problem may have left them without load. `returning` are the
    indices of their rows, which depend on those of other contacts.
    """
    sliding = {element.contact for element in rows.elements if element.slip_direction is not None}
    rough = {element.contact for element in rows.elements}
    loaded = [c for c in returning if not modes.active[c] and (c in sliding or c not in rough)]
    if not loaded:
        return modes
    z, active = modes.z.copy(), modes.active.copy()
    z[loaded], active[loaded] = np.finfo(float).tiny, True
    return replace(modes, z=z, active=active)
