"""Impacts at an instant: which gaps are closed, how fast they approach, and the state that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.analysis.contact.friction_modes import FrictionModes
from quirk.bodies.rotation import matrix
from quirk.bodies.state import State
from quirk.constraints import Contact
from quirk.constraints.gap_functions import FLAT
from quirk.errors import SwitchingError
from quirk.forces import Friction
from quirk.forces.stick_slip import StickSlip
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .contact_rows import ContactRows
from .contact_states import CLOSED_GAP, ContactState, ImpactOutcome, SpeedLimits
from .creeping_gaps import CREPT, creep_limits
from .frictional_contact import FrictionalContactSolver
from .frictionless_contact import delassus_matrix
from .impact_sequence import SEQUENTIAL
from .impacts import ClosedGaps, Impacts
from .prescribed_rates import slow_prescribed_rates
from .run_factory import RunFactory
from .speed_limits import ContactInstant, largest_speed, speed_limits

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
FLAT_ANGLE = 1e-5


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
        sequential = factory.options.get("impacts") == SEQUENTIAL
        self._impacts = Impacts(gaps, frictions, self._frictional, sequential)
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
        acting = self._frictions.active_elements(base, self._gaps.names(indices))
        if not indices and not acting:
            return ImpactOutcome(y, ContactState(), {})
        rows = self._friction_rows(instant, y, kinematics, indices, acting) if acting else None
        closed = self._closed(instant, y, kinematics, indices, rows, triggered, contact_state)
        prescribed = self._slow_approach(closed, state)
        if prescribed.any():
            instant = replace(instant, prescribed=prescribed)
            kinematics = instant.kinematics(y)
            closed = replace(closed, kinematics=kinematics)
            rows = self._friction_rows(instant, y, kinematics, indices, acting) if acting else None
        outcome = self._impacts.outcome(instant, y, closed, rows, triggered, contact_state)
        if self._approach(instant, y, closed, outcome):
            # Other gaps approach because gaps that separate slowly have been stopped.
            separating = replace(closed, speeds=replace(closed.speeds, separation=np.zeros(len(indices))))
            other = self._impacts.outcome(instant, y, separating, rows, triggered, contact_state)
            outcome = outcome if self._approach(instant, y, closed, other) else other
        self._tolerate_penetration(instant, closed, outcome)
        parts, after = self._gaps.parts.items(), outcome.contact_state
        after.parts = {name: part for name, part in parts if after.closed(name)}
        if after.redundant:
            keys = [self._contact_points[c].key for c in indices]
            limits = zip(closed.speeds.separation.tolist(), closed.speeds.round_off.tolist(), strict=True)
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
        acting = self._frictions.active_elements(base, self._gaps.names(indices))
        rows = self._friction_rows(instant, y, kinematics, indices, acting) if acting else None
        speeds = self._speed_limits(instant, y, kinematics, indices, rows)
        limits = np.maximum(speeds.round_off, speeds.separation)
        return self._gaps.names(
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

    def _closed(
        self,
        instant: ContactInstant,
        y: np.ndarray,
        kinematics: ContactKinematics,
        indices: list[int],
        rows: ContactRows | None,
        triggered: Sequence[tuple[str, int, str]],
        contact_state: ContactState,
    ) -> ClosedGaps:
        """Return the closed gaps with their speed limits and their responses to impulses.

        `rows` are the rows of these gaps and of friction, or None. `triggered` and `contact_state` are as for
        `resolve`; for the other arguments see `_friction_rows`.
        """
        speeds = self._speed_limits(instant, y, kinematics, indices, rows)
        keys = [self._contact_points[c].key for c in indices]
        # Rates of gaps that other rows hold are zero up to their creep.
        creep = np.array([contact_state.creeping.get(key, 0.0) for key in keys]) * CREPT
        # A gap that has just closed must not decrease further, however small its rate.
        just_closed = [(*key, "gap") in triggered for key in keys]
        threshold = np.where(just_closed, MOTIONLESS * speeds.free_fall, np.maximum(speeds.round_off, creep))
        unloading = np.array([(*key, "push") in triggered for key in keys], dtype=bool)
        if rows is None:
            W = delassus_matrix(kinematics.subset(indices), instant.solver, instant.t, y)
        else:
            c, arms = len(indices), rows.arms[: len(indices)]
            W = rows.W[:c, :c] / arms / arms[:, None]
        return ClosedGaps(indices, kinematics, speeds, threshold, unloading, W)

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
        settings, fastest = self._factory.settings, max(speed, before) if t == then else speed
        step = settings.step if settings.fixed > 0 else 0.0
        return ContactInstant(t, angles, solver, self._gaps, fastest, step)

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

    def _approach(self, instant: ContactInstant, y: np.ndarray, closed: ClosedGaps, outcome: ImpactOutcome) -> bool:
        """Whether a closed gap decreases after the `outcome` of impacts at the gaps `closed`, by more than round-off.

        `instant` holds the time, joint angles, solver and gaps; `y` is the state vector before the impacts.
        """
        if outcome.y is y or len(closed.indices) == 1:
            return False
        rates = instant.kinematics(outcome.y).rate[closed.indices]
        return bool((rates < -closed.speeds.round_off).any())

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
