"""Outcome of impacts: the state after them, and which contacts then rest, carry load, slide or stick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.analysis.contact.friction_states import FLOOR, Frictions
from quirk.analysis.contact.gap_functions import Gaps, Opening
from quirk.bodies.rotation import matrix
from quirk.bodies.state import State
from quirk.constraints import Contact
from quirk.constraints.gap_functions import FLAT
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.contact.contact_modes import NOTHING, ContactModes
from quirk.errors import SwitchingError
from quirk.events.names import Shared
from quirk.forces import Friction
from quirk.forces.stick_slip import StickSlip
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .contact_speeds import Moment, slow_slip, speed_limits
from .contact_states import CLOSED, ContactState, ImpactOutcome, Speeds, Struck, opens
from .friction_after_event import rubbing_of
from .frictional import Frictional
from .frictionless import Frictionless, response
from .impact_sequence import SEQUENTIAL, Strike, in_sequence
from .load_shares import Shares
from .run_factory import RunFactory

# Distance below zero, over the length of the system or in rad, at which a closed gap without load has its contact state
# determined again.
SLACK = 1e-9
# A contact that opens from a gap farther below zero than BELOW, over the length of the system or in rad, may stay below
# zero, by up to that depth more, if it needs longer than LONG times the time of a free fall over the length of the
# system to rise to zero.
BELOW, LONG = 1e-14, 1e-12
# Angle, rad, between rim and plane below which the rim counts as flat on the plane.
FLAT_ANGLE = 1e-6


@dataclass(frozen=True)
class ClosedGaps:
    """The gaps that are closed before impacts.

    Attributes
    ----------
    numbers : indices of the closed gaps among all gaps of the system
    opening : values, rates and constraint rows of all gaps
    speeds : speed limits of the closed gaps
    least : approach speeds of the closed gaps below which there is no impact, m/s or rad/s
    parting : mask of the closed gaps whose load has just fallen to zero
    """

    numbers: list[int]
    opening: Opening
    speeds: Speeds
    least: np.ndarray
    parting: np.ndarray


class ImpactSettling:
    """Solver for simultaneous impacts at all closed gaps whose surfaces approach each other.

    Parameters
    ----------
    system : System
    factory : factory that provides the compiled solvers
    gaps, frictions : unilateral constraints and friction elements of the system
    units : (c,) characteristic size of each of c gaps: 1 rad for angles, the length of the system (m) for distances
    """

    def __init__(
        self, system: System, factory: RunFactory, gaps: Gaps, frictions: Frictions, units: np.ndarray
    ) -> None:
        self._system, self._factory, self._gaps, self._frictions = system, factory, gaps, frictions
        self._touches, self._units = gaps.touches, units
        self._frictional = Frictional(gaps, frictions, units)
        speeds = [touch.constraint.rest_speed for touch in self._touches]
        self._rest_speed = np.array([np.nan if speed is None else speed for speed in speeds])
        self._restitution = np.array([touch.constraint.restitution for touch in self._touches])
        self._frictionless = Frictionless(gaps, self._restitution, units)
        self._in_sequence = factory.options.get("impacts") == SEQUENTIAL

    def settle(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        resting: ContactState,
        hit: Sequence[tuple[str, int, str]],
    ) -> ImpactOutcome:
        """Return the state and the contact state after the impacts; for the arguments see `Contacts.settle`."""
        for name, _, what in hit:
            if what == "solvable":
                raise SwitchingError(f"{self._system[name]}: {Friction.undefined}")
        solver = self._factory.settled(self._system.plant_for(self._frictions.bare(base)), y, t)
        solver.applied.refer(t, angles)  # loads of gears and rotation springs depend on the angles
        state, moment = solver.model.carried.state(y), Moment(t, angles, solver, self._gaps)
        self._gaps.locate(state, resting.parts)
        opening = moment.opening(y)
        closing = [key[:2] for key in hit if key[2] == "gap"]
        numbers = self._numbers_of_closed(opening, closing, base, resting)
        self._check_rims(numbers, state)
        acting = self._frictions.acting(base, self._names(numbers))
        if not numbers and not acting:
            return ImpactOutcome(y, ContactState(), {})
        speeds = speed_limits(moment, y, numbers, opening.of(numbers), self._units[numbers], self._rest_speed[numbers])
        # A gap that has just closed must not decrease further, however small its rate.
        least = np.where([self._touches[c].key in closing for c in numbers], 0.0, speeds.noise)
        unloaded = {key[:2] for key in hit if key[2] == "push"}
        parting = np.array([self._touches[c].key in unloaded for c in numbers], dtype=bool)
        closed = ClosedGaps(numbers, opening, speeds, least, parting)
        if acting:
            settled = self._settled_by_friction(moment, y, closed, acting, hit, resting)
        else:
            settled = self._settled_smoothly(moment, y, closed)
        self._let_below(moment, closed, settled)
        parts = self._gaps.parts.items()
        settled.resting.parts = {name: part for name, part in parts if settled.resting.closed(name)}
        return settled

    def _numbers_of_closed(
        self, opening: Opening, closing: list[tuple[str, int]], base: Configuration, resting: ContactState
    ) -> list[int]:
        """Return the indices of the closed gaps.

        `opening` contains the gaps, `closing` the keys of those that have just closed, `base` is the configuration
        without contacts, and `resting` the contact state.
        """
        constraints = {touch.constraint.name: touch.constraint for touch in self._touches}
        pushing = {(name, constraints[name].gap_of_row(row)) for name, (row, _) in resting.pushing.items()}
        known = {*pushing, *closing}
        # Contacts without load have no row, and may have opened in the meantime.
        idle = np.array([touch.key in resting.idle for touch in self._touches], dtype=bool)
        at_zero = np.abs(opening.value[: len(self._touches)]) <= np.where(idle, SLACK, CLOSED) * self._units
        return [
            c
            for c, touch in enumerate(self._touches)
            if (at_zero[c] or touch.key in known) and touch.constraint.name not in base.idle
        ]

    def _names(self, numbers: Sequence[int]) -> set[str]:
        """Return the names of the constraints to which the gaps with the indices `numbers` belong."""
        return {self._touches[c].constraint.name for c in numbers}

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

    def _settled_smoothly(self, moment: Moment, y: np.ndarray, closed: ClosedGaps) -> ImpactOutcome:
        """Return the outcome of impacts at the closed gaps `closed` if no friction acts.

        `moment` holds the time, joint angles, solver and gaps; `y` is the state vector before the impacts.
        """
        numbers, speeds, t, solver = closed.numbers, closed.speeds, moment.t, moment.solver
        opening, smooth = closed.opening.of(numbers), self._frictionless
        W = response(opening, solver, t, y)

        def strike(y: np.ndarray, which: np.ndarray, rebounds: bool) -> Struck:
            some = [c for c, strikes in zip(numbers, which, strict=True) if strikes]
            limits = speeds.limits[which] if rebounds else np.full(len(some), np.inf)
            now, part = moment.opening(y).of(some), W[np.ix_(which, which)]
            known = limits, speeds.slow[which], closed.least[which]
            return smooth.impact(t, y, some, now, part, known, solver)

        if self._in_sequence:
            struck = self._in_order(moment, y, closed, strike)
        else:
            limits = speeds.limits, speeds.slow, closed.least
            struck = smooth.impact(t, y, numbers, opening, W, limits, solver)
        staying = np.flatnonzero(struck.rates <= np.maximum(speeds.noise, speeds.slow))
        rest = W[np.ix_(staying, staying)]
        still = [numbers[c] for c in staying]
        at_rest = smooth.at_rest(t, struck.y, moment.angles, still, rest, solver, closed.parting[staying])
        return ImpactOutcome(struck.y, at_rest, struck.impulse, struck.restitution_kept)

    def _in_order(self, moment: Moment, y: np.ndarray, closed: ClosedGaps, strike: Strike) -> Struck:
        """Return the outcome of a sequence of impacts at the closed gaps `closed`; see `in_sequence`.

        `moment` holds the time, joint angles, solver and gaps, and `y` is the state vector before the impacts. The
        function `strike` returns the outcome of simultaneous impacts at some of the gaps.
        """

        def rates(y: np.ndarray) -> np.ndarray:
            return moment.opening(y).of(closed.numbers).rate

        return in_sequence(y, rates, closed.least, closed.speeds.limits, strike)

    def _settled_by_friction(
        self,
        moment: Moment,
        y: np.ndarray,
        closed: ClosedGaps,
        acting: list[StickSlip],
        hit: Sequence[tuple[str, int, str]],
        resting: ContactState,
    ) -> ImpactOutcome:
        """Return the outcome of impacts at the closed gaps `closed`, with the active friction elements `acting`.

        `moment` holds the time, joint angles, solver and gaps. `y` and `resting` are the state vector and the contact
        state before the impacts; `hit` are the keys (name, index, kind) of the event functions that are zero.
        """
        speeds = closed.speeds
        struck = self._struck_with_friction(moment, y, closed, acting)
        still = struck.rates[: len(closed.numbers)] <= np.maximum(speeds.noise, speeds.slow)
        numbers = [c for c, stays in zip(closed.numbers, still, strict=True) if stays]
        names = self._names(numbers)
        acting = [one for one in acting if one.on.name in names or not isinstance(one.on, Unilateral)]
        if not numbers and not acting:
            return ImpactOutcome(struck.y, ContactState(), struck.impulse, struck.restitution_kept)
        parting = closed.parting[still]
        y, state = self._rest_with_friction(moment, struck.y, numbers, acting, hit, resting, parting)
        return ImpactOutcome(y, state, struck.impulse, struck.restitution_kept)

    def _struck_with_friction(
        self, moment: Moment, y: np.ndarray, closed: ClosedGaps, acting: list[StickSlip]
    ) -> Struck:
        """Return the state, impulses and rates after impacts with friction at the closed gaps `closed`.

        `moment` holds the time, joint angles, solver and gaps; `y` is the state vector before the impacts, and `acting`
        are the active friction elements. In the result the rates of the closed gaps precede those of slip.
        """
        rough, t, solver, numbers = self._frictional, moment.t, moment.solver, closed.numbers
        limits, noise = closed.speeds.limits, closed.speeds.noise.max(initial=0.0)
        rows = rough.rows(solver, t, y, closed.opening, numbers, acting, False)
        rates = rows.opening.rate
        closes = (rates[: len(numbers)] < -closed.least).any()

        def strike(y: np.ndarray, which: np.ndarray, rebounds: bool) -> Struck:
            some = [c for c, strikes in zip(numbers, which, strict=True) if strikes]
            names = self._names(some)
            rubbing = [friction for friction in acting if friction.on.name in names]
            now = rough.rows(solver, t, y, moment.opening(y), some, rubbing, False)
            restitution = self._restitution[some] * rebounds
            return rough.struck(solver, t, y, now, limits[which], restitution, noise)

        if closes and self._in_sequence:
            return self._in_order(moment, y, closed, strike)
        if closes or rough.held_back(rows, noise):
            return rough.struck(solver, t, y, rows, limits, self._restitution[numbers], noise)
        return Struck(y, {}, rates)

    def _rest_with_friction(
        self,
        moment: Moment,
        y: np.ndarray,
        numbers: list[int],
        acting: list[StickSlip],
        hit: Sequence[tuple[str, int, str]],
        resting: ContactState,
        parting: np.ndarray,
    ) -> tuple[np.ndarray, ContactState]:
        """Return the state vector and the contact state that follow an impact, for contacts at rest.

        The rates of gaps that stay closed under load, and of slip that ends, are set to zero.

        Parameters
        ----------
        moment : time, joint angles, solver and gaps
        y : state vector after the impact
        numbers : indices of the closed gaps
        acting : active friction elements
        hit : keys (name, index, kind) of the event functions that are zero
        resting : contact state before the impact
        parting : mask of the closed gaps whose load has just fallen to zero
        """
        rough, t, solver, angles = self._frictional, moment.t, moment.solver, moment.angles
        rows = rough.rows(solver, t, y, moment.opening(y), numbers, acting, True)
        slow = np.full(len(rows.numbers), slow_slip(moment, y, rows))
        at_limit = [name for key in hit if key[2] == "cone" for name in resting.at_limit(key[0])]
        rates = rows.opening.rate
        modes, weak = rough.at_rest(solver, t, y, angles, rows, rates, FLOOR * slow, at_limit, parting)
        if modes.rows.any():
            y = rough.stopped(solver, t, y, rows, modes.rows)
        shares = Shares(rows, modes, weak, [self._touches[c].constraint.name for c in numbers])
        rubbing = rubbing_of(t, rows, modes, slow, resting.rubbing, shares)
        rubbing = self._frictions.at_values(rubbing, resting.rubbing, solver.model.carried.state(y))
        pushing, idle = self._shared_out(numbers, modes, weak)
        loads, returns = self._loads(numbers, modes, weak, shares)
        patched = frozenset(self._touches[c].key for row, c in enumerate(numbers) if shares.in_patch(row))
        return y, ContactState(pushing, idle, rubbing, loads, returns=returns, patched=patched)

    def _let_below(self, moment: Moment, closed: ClosedGaps, settled: ImpactOutcome) -> None:
        """Store, in the contact state of `settled`, how far gaps may be negative without an event.

        This concerns contacts that open slowly from a negative gap, and contacts that close by round-off: their gap is
        zero up to round-off, its rate is negative, and there is no impact, or one at a speed of round-off. `settled` is
        the outcome of the impacts at the gaps `closed`; `moment` holds the time, joint angles, solver and gaps.
        """
        names = [touch.constraint.name for touch in self._touches]
        values, before = closed.opening.value, closed.opening.rate
        low = []
        for row, c in enumerate(closed.numbers):
            least = BELOW * self._units[c]
            unmoved = names[c] not in settled.impulse or before[c] >= -closed.speeds.noise[row]
            by_round_off = abs(values[c]) <= least and unmoved
            if (values[c] < -least or by_round_off) and names[c] not in settled.resting.pushing:
                low.append(c)
        if not low:
            return
        rates, speeds = moment.opening(settled.y).rate, closed.speeds
        for c in low:
            least, depth, row = BELOW * self._units[c], max(-values[c], 0.0), closed.numbers.index(c)
            slow = rates[c] * self._units[c] * LONG < max(depth, least) * speeds.free[row]
            if slow or rates[c] <= speeds.noise[row]:
                settled.resting.below[self._touches[c].key] = float(depth + least)

    def _loads(
        self, closed: list[int], found: ContactModes, weak: np.ndarray, shares: Shares
    ) -> tuple[dict[tuple[str, int], Shared], dict[tuple[str, int], Shared]]:
        """Return the loads to be monitored at closed gaps, by key: first for loaded contacts, then for unloaded ones.

        `closed` are the indices of the closed gaps, and `found` is the solution of the contact problem with r rows. A
        load below its threshold in `weak` (r,) is round-off of larger loads. `shares` expresses loads by multipliers.
        """
        largest, loads, returns = found.z[: len(closed)].max(initial=0.0), dict[Any, Shared](), dict[Any, Shared]()
        for row, c in enumerate(closed):
            key = self._touches[c].key
            if found.held[row] and found.z[row] > 0 and not shares.in_patch(row):
                loads[key] = shares.of(row, opens(found.z[row], max(largest, weak[row])))
            elif not found.held[row]:
                potential = shares.returns(row)
                returns |= {} if potential is None else {key: potential}
        return loads, returns

    def _shared_out(
        self, closed: list[int], found: ContactModes, weak: np.ndarray
    ) -> tuple[dict[str, tuple[int, float]], frozenset[tuple[str, int]]]:
        """Divide the closed contacts at rest into those with a constraint row, which carry load, and those without.

        Parameters
        ----------
        closed : indices of the closed gaps
        found : solution of the contact problem for these gaps
        weak : (r,) loads of the r rows below which they are round-off of larger loads

        Returns
        -------
        pushing : pairs (index of the row, multiplier below which the contact opens) by name of each contact with a row
        idle : keys of the closed gaps without rows that stay closed
            The acceleration or velocity of these gaps is at most their limit of rest. Gaps that open faster are in
            neither result.
        """
        count = len(closed)
        touches, z, w = [self._touches[c] for c in closed], found.z[:count], found.w[:count]
        largest = z.max(initial=0.0)
        rest = CLOSED / NOTHING * found.slow[:count]
        pushing = {
            touch.constraint.name: (self._gaps.row_of(touch), opens(z[c], max(largest, weak[c])))
            for c, touch in enumerate(touches)
            if found.rows[c]
        }
        return pushing, frozenset(
            touch.key for c, touch in enumerate(touches) if w[c] <= rest[c] and touch.constraint.name not in pushing
        )
