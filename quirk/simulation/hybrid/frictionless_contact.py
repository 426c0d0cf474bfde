"""Impacts and rest of frictionless contacts, at one state; c is the number of closed gaps.

Gaps that are angles are multiplied by the characteristic length of the system, so that all rates and loads can be
compared, in m/s and N.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.dynamics.contact.impulse import Impulse, add_velocity_jump, impulses
from quirk.dynamics.contact.lcp import INDEPENDENT, dependent_columns, independent_columns, solve_lcp
from quirk.dynamics.contact.load_sharing import coupled_groups
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError

from .contact_states import CLOSED_GAP, PREVENT, ROUND_OFF, WEAK_LOAD, ContactState, Impact, opening_threshold
from .speed_limits import largest_acceleration, largest_speed

# Number of equal steps in which coefficients of restitution are reduced to zero until an impact gains no energy.
RESTITUTION_STEPS = 10


class FrictionlessContactSolver:
    """Solver for impacts and loads of frictionless contacts.

    Parameters
    ----------
    gaps : gaps of a system
    restitution : coefficient of restitution of each gap of the system
    """

    def __init__(self, gaps: Gaps, restitution: np.ndarray) -> None:
        self._gaps, self._restitution = gaps, restitution

    def impact(
        self,
        t: float,
        y: np.ndarray,
        closed: list[int],
        kinematics: ContactKinematics,
        W: np.ndarray,
        speeds: tuple[np.ndarray, np.ndarray, np.ndarray],
        solver: Solver,
    ) -> Impact:
        """Return the outcome of simultaneous impacts at c closed gaps, with the rates (c,) of these gaps.

        `closed` are the indices of the closed gaps, `kinematics` contains their values and rates, and W (c, c) is the
        jump of each rate due to a unit impulse at each gap. `speeds`, (c,) each, are the limits of rebound, of
        separation and of approach; see `SpeedLimits`. Coefficients of restitution are reduced by a common factor so
        that no energy is gained.
        """
        arms = self._gaps.arms[closed]
        kinematics, W = kinematics.times(arms), arms[:, None] * W * arms
        rates, (limits, at_rest, noise) = kinematics.rate, (arms * speed for speed in speeds)
        if not (rates < -noise).any():
            return Impact(y, {}, rates / arms)
        # Rates of gaps that other constraints hold are round-off.
        rates = np.where((np.diag(W) == 0.0) & (np.abs(rates) <= noise), 0.0, rates)
        x, target, kept = _newton_impact(W, rates, np.where(rates < -limits, self._restitution[closed], 0.0))
        if x is None:
            raise SwitchingError(f"no impulses {PREVENT}: {self._listed(closed)}")
        # Contacts that separate more slowly than the limit of rest stay closed. That may slow others down, too.
        active, stays = x > 0, np.zeros(len(x), dtype=bool)
        while (slow := ~stays & (rates + W @ x > noise) & (rates + W @ x <= at_rest)).any():
            stays |= slow
            active, target = active | slow, np.where(slow, 0.0, target)
            x = np.zeros_like(x)
            x[active] = _least_norm_impulses(W, active, target - rates)
        kinematics = replace(kinematics, rate=rates)
        y, impulse, rates = self._apply_impulses(t, y, closed, kinematics, W, x, active, target, solver)
        return Impact(y, impulse, rates / arms, kept)

    def stop(
        self, t: float, y: np.ndarray, closed: list[int], kinematics: ContactKinematics, W: np.ndarray, solver: Solver
    ) -> tuple[np.ndarray, dict[str, Impulse]]:
        """Return the state vector after impulses that stop all of the gaps `closed`, and the impulses by name.

        Arguments are as for `impact`.
        """
        arms, every = self._gaps.arms[closed], np.ones(len(closed), dtype=bool)
        kinematics, W, none = kinematics.times(arms), arms[:, None] * W * arms, np.zeros(len(closed))
        x = _least_norm_impulses(W, every, -kinematics.rate)
        return self._apply_impulses(t, y, closed, kinematics, W, x, every, none, solver)[:2]

    def _apply_impulses(
        self,
        t: float,
        y: np.ndarray,
        closed: list[int],
        kinematics: ContactKinematics,
        W: np.ndarray,
        x: np.ndarray,
        active: np.ndarray,
        target: np.ndarray,
        solver: Solver,
    ) -> tuple[np.ndarray, dict[str, Impulse], np.ndarray]:
        """Return the state vector after impulses x (c,) along the gaps, the impulses by constraint, and the rates (c,).

        The impulses of the gaps in the mask `active` are corrected for round-off, so that their rates become `target`
        (c,). Other arguments are as for `impact`.
        """
        lanes, none, x = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows), x.copy()
        change, _ = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, kinematics.force_directions))
        x[active] += _least_norm_impulses(W, active, target - kinematics.rate - kinematics.rates_of(change))
        change, multipliers = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, kinematics.force_directions))
        impulse = impulses(solver, y, multipliers) if solver.model.rows else {}
        impulse.update(self._gaps.impulses(y, kinematics, closed, x))
        return add_velocity_jump(y, change), impulse, kinematics.rate + kinematics.rates_of(change)

    def contact_state(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        closed: list[int],
        W: np.ndarray,
        solver: Solver,
        unloading: np.ndarray,
    ) -> ContactState:
        """Return the contact state at rest: which contacts stay closed, and which of these carry a load.

        Contacts whose gaps accelerate by no more than the round-off of the bodies' accelerations stay closed without
        load, except those in `unloading`. Loaded contacts get constraint rows; if there are any, so do closed contacts
        without load that are not in `unloading`.

        Parameters
        ----------
        t, y : time, s, and state vector
        angles : (K, 3) 1-2-3 angles of K joints, rad
        closed : indices of the c closed gaps
        W : (c, c) accelerations of the gaps due to unit forces along them
        solver : solver with the bilateral constraints
        unloading : mask (c,) of the contacts whose load has just fallen to zero
        """
        if not closed:
            return ContactState()
        rates = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        arms = self._gaps.arms[closed]
        W, accelerations = arms[:, None] * W * arms, arms * self._gaps.accelerations(t, y, angles, closed, rates)
        fastest = largest_acceleration(solver.model, y, rates)
        accelerations[(np.abs(accelerations) <= ROUND_OFF * fastest) & ~unloading] = 0.0
        # Accelerations of gaps that other constraints hold are round-off of those of motion along curves.
        along_curves = largest_speed(solver.model, y) ** 2 / solver.model.length
        accelerations[(np.diag(W) == 0.0) & (np.abs(accelerations) <= ROUND_OFF * along_curves)] = 0.0
        x = solve_lcp(W, accelerations)
        if x is None:
            raise SwitchingError(f"no loads prevent interpenetration at all of these contacts: {self._listed(closed)}")
        closed_after = accelerations + W @ x <= CLOSED_GAP * np.abs(accelerations).max()
        # Without loaded contacts there is no load to distribute.
        active = (
            independent_columns(W, x > 0, closed_after & ~unloading) if (x > 0).any() else np.zeros(len(x), dtype=bool)
        )
        points = [self._gaps.contact_points[c] for c in closed]
        loaded: dict[str, tuple[int, float]] = {}
        for c in np.flatnonzero(active):
            largest = max(x.max(), WEAK_LOAD * fastest / W[c, c])
            threshold = arms[c] * opening_threshold(x[c], largest)
            loaded[points[c].constraint.name] = self._gaps.row_of(points[c]), threshold
        unloaded = closed_after & ~active
        redundant = unloaded & dependent_columns(W, active)
        return ContactState(
            loaded,
            frozenset(points[c].key for c in np.flatnonzero(unloaded)),
            redundant=frozenset(points[c].key for c in np.flatnonzero(redundant)),
        )

    def _listed(self, closed: list[int]) -> str:
        return ", ".join(f"{self._gaps.contact_points[c].constraint}" for c in closed)


def delassus_matrix(kinematics: ContactKinematics, solver: Solver, t: float, y: np.ndarray) -> np.ndarray:
    """Return W (c, c): the jumps of the rates of c gaps due to a unit impulse at each of them.

    `kinematics` contains the force directions of the gaps. Gaps that other constraints hold do not respond.
    """
    lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
    changes = [solver.respond(lanes, t, none, push)[0] for push in kinematics.force_directions]
    return kinematics.responses(changes, solver.model)


def _newton_impact(W: np.ndarray, rates: np.ndarray, e: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, float]:
    """Return the impulses (c,) by Newton's law, the rates (c,) after them, and a factor on coefficients of restitution.

    The coefficients of restitution `e` (c,) are reduced so that no energy is gained, by a common factor for gaps that
    affect each other; the least factor is returned. The impulses are None if interpenetration cannot be prevented.
    `W` (c, c) is the jump of each rate due to a unit impulse at each gap, and `rates` (c,) are the rates before.
    """
    x, target, least = np.zeros(len(rates)), rates.copy(), 1.0
    for group in coupled_groups(W, []):
        found, target[group], kept = _impact_of_group(W[np.ix_(group, group)], rates[group], e[group])
        if found is None:
            return None, rates, 1.0
        x[group], least = found, min(least, kept)
    return x, target, least


def _impact_of_group(W: np.ndarray, rates: np.ndarray, e: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, float]:
    """Return the result of `_newton_impact` for gaps that affect each other."""
    for part in np.linspace(1.0, 0.0, RESTITUTION_STEPS + 1):
        target = -part * e * np.minimum(rates, 0.0)
        x = solve_lcp(W, rates - target)
        if x is None:
            continue
        gained = x @ (rates + 0.5 * W @ x)
        if part == 0.0 or gained <= ROUND_OFF * float(np.abs(x) @ np.abs(rates)):
            return x, target, float(part) if e.any() else 1.0
    return None, rates, 1.0


def _least_norm_impulses(W: np.ndarray, active: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the least-norm impulses of the contacts in the mask `active` that change their rates as required.

    `rates` (c,) are the required changes of the rates. `W` (c, c) is the jump of each rate due to a unit impulse at
    each contact.
    """
    if active.sum() == 1:
        return np.asarray(rates[active] / W[active][:, active].ravel())
    return np.asarray(np.linalg.lstsq(W[np.ix_(active, active)], rates[active], rcond=INDEPENDENT)[0])
