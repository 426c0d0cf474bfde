"""Impacts at closed gaps, and the contact state after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.analysis.contact.friction_modes import FrictionModes
from quirk.constraints.unilateral import Unilateral

from .contact_rows import ContactRows
from .contact_states import ContactState, Impact, ImpactOutcome, SpeedLimits
from .contacts_at_rest import ContactsAtRest
from .frictional_contact import FrictionalContactSolver
from .frictionless_contact import FrictionlessContactSolver
from .impact_sequence import Strike, sequential_impacts, sum_of_impulses
from .speed_limits import ContactInstant


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


class Impacts:
    """Solver for impacts at closed gaps, and for the contact state after them.

    Parameters
    ----------
    gaps, frictions : unilateral constraints and friction elements of the system
    solver : solver for contacts with friction
    sequential : whether impacts follow each other as a shock runs through the bodies
    """

    def __init__(self, gaps: Gaps, frictions: FrictionModes, solver: FrictionalContactSolver, sequential: bool) -> None:
        self._gaps, self._contact_points = gaps, gaps.contact_points
        self._restitution = np.array([point.constraint.restitution for point in self._contact_points])
        self._frictional, self._frictionless = solver, FrictionlessContactSolver(gaps, self._restitution)
        self._at_rest, self._sequential = ContactsAtRest(gaps, frictions, solver), sequential

    def outcome(
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
        names = self._gaps.names(indices)
        acting = [one for one in rows.friction_elements if one.on.name in names or not isinstance(one.on, Unilateral)]
        if not indices and not acting:
            return ImpactOutcome(impact.y, ContactState(), impact.impulse, impact.restitution_kept)
        unloading = closed.unloading[resting]
        y, state, stopping = self._at_rest.state(
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
            names = self._gaps.names(some)
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
