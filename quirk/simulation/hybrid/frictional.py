"""Impacts, rest and sliding of contacts and joints with friction, at one state.

A row is the direction of a closed gap or of a slip component. Of the r rows, the first c belong to gaps. State vectors
are (13 n + k,) for n bodies and k auxiliary states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.analysis.contact.friction_states import Frictions
from quirk.analysis.contact.gap_functions import Gaps
from quirk.dynamics.contact.contact_modes import ContactModes, Grip
from quirk.dynamics.contact.coulomb import coulomb
from quirk.dynamics.contact.impulse import Impulse, impulses, with_change
from quirk.dynamics.contact.lcp import completed
from quirk.dynamics.contact.painleve import has_one_solution
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError

from .contact_speeds import strongest
from .contact_states import ROUND_OFF, WEAK, Struck
from .friction_rows import FrictionRows, FrictionRowSource

# Number of reductions of restitution if an impact would gain energy.
PARTS = 10
# Accelerations of rows below this fraction of the largest of all bodies are round-off while forces act along rows.
NOISE = 1e-13


class Frictional:
    """Solver for impacts, loads and sliding of contacts and joints with friction.

    Parameters
    ----------
    gaps : gaps of the system
    frictions : friction elements of the system
    units : (c,) characteristic size of each of c gaps: 1 rad for angles, the length of the system (m) for distances
    """

    def __init__(self, gaps: Gaps, frictions: Frictions, units: np.ndarray) -> None:
        self._gaps, self.rows = gaps, FrictionRowSource(gaps, frictions, units).at

    def struck(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        rows: FrictionRows,
        limits: np.ndarray,
        restitution: np.ndarray,
        noise: float,
    ) -> Struck:
        """Return the outcome of simultaneous impacts with friction, with the rates (r,) of all r rows.

        Newton's law applies to each of the c gaps with an approach speed above its limit in `limits` (c,). Its
        coefficients of restitution `restitution` (c,) are reduced by a common factor so that no energy is gained.
        Coulomb's law applies to the friction impulses of contacts; impulses of joint friction are neglected. Slip with
        infinite friction coefficient is stopped even if no gap closes. Rates below `noise`, m/s or rad/s, are
        round-off.
        """
        rates, c = rows.opening.rate, rows.contacts
        grips = [grip for grip in rows.grips if grip.contact is not None]
        used = [*range(c), *(row for grip in grips for row in grip.rows)]
        place = {row: k for k, row in enumerate(used)}
        active = [
            Grip([place[row] for row in grip.rows], grip.coefficient, grip.static, grip.contact) for grip in grips
        ]
        W, v = rows.W[np.ix_(used, used)], rates[used]
        bouncing = np.zeros(len(used))
        bouncing[:c] = np.where(rates[:c] < -limits, -restitution * rates[:c], 0.0)
        for part in np.linspace(1.0, 0.0, PARTS + 1):
            wanted = part * bouncing
            modes = coulomb(W, v - wanted, range(c), active, noise, rows.compliance[used])
            if modes is None:
                continue
            gained = modes.z @ (v + 0.5 * W @ modes.z)
            if part == 0.0 or gained <= ROUND_OFF * float(np.abs(modes.z) @ np.abs(v)):
                x = np.zeros(len(rates))
                x[used] = modes.z
                held, goal = np.zeros(len(rates), dtype=bool), np.zeros(len(rates))
                held[used], goal[used] = modes.rows, wanted
                kept = float(part) if bouncing.any() else 1.0
                return Struck(*self._pushed(solver, t, y, rows, x, held, goal), kept)
        listed = ", ".join(f"{friction}" for friction in rows.frictions)
        raise SwitchingError(f"no impulses satisfy Coulomb's law of friction: {listed}")

    def held_back(self, rows: FrictionRows, noise: float) -> bool:
        """Whether a contact with infinite friction coefficient slips faster than `noise`, m/s.

        An impulse must then stop the slip.
        """
        never = [row for grip in rows.grips if grip.static == np.inf for row in grip.rows]
        return bool((np.abs(rows.opening.rate[never]) > noise).any())

    def stopped(self, solver: Solver, t: float, y: np.ndarray, rows: FrictionRows, held: np.ndarray) -> np.ndarray:
        """Return the state vector after impulses that reduce the rates of the rows in the mask `held` (r,) to zero."""
        return self._pushed(solver, t, y, rows, np.zeros(len(held)), held, np.zeros(len(held)))[0]

    def _pushed(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        rows: FrictionRows,
        x: np.ndarray,
        held: np.ndarray,
        goal: np.ndarray,
    ) -> tuple[np.ndarray, dict[str, Impulse], np.ndarray]:
        """Return the state vector after impulses x (r,) along the rows, the impulses by constraint, and the rates (r,).

        The impulses of the rows in the mask `held` are corrected so that their rates become `goal` (r,).
        """
        lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
        opening, change, multipliers = rows.opening, np.zeros((solver.slots.bodies, 6)), none
        x = x.copy()
        for _ in range(2):
            if x.any():
                wrench = np.einsum("c,cni->ni", x, opening.push)
                change, multipliers = solver.respond(lanes, t, none, wrench)
            missing = (goal - opening.rate - opening.changed(change))[held]
            x[held] += np.linalg.solve(rows.W[np.ix_(held, held)], missing)
        if x.any():
            change, multipliers = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, opening.push))
        exerted = impulses(solver, y, multipliers) if solver.model.rows else {}
        exerted.update(self._gaps.impulses(y, opening, rows.numbers, x))
        return with_change(y, change), exerted, opening.rate + opening.changed(change)

    def at_rest(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        rows: FrictionRows,
        rates: np.ndarray,
        slow: np.ndarray,
        limits: Sequence[str],
        parting: np.ndarray,
    ) -> tuple[ContactModes, np.ndarray]:
        """Return the loads, accelerations and modes of contacts and friction, and round-off thresholds (r,) of loads.

        A load below its threshold is round-off of larger loads. Contacts whose gaps accelerate by no more than the
        round-off of the bodies' accelerations carry no load, except those in the mask `parting`.

        Parameters
        ----------
        angles : (K, 3) 1-2-3 angles of K joints, rad
        rates : (r,) rates of the rows
        slow : (r,) slip, m/s, below which friction counts as not slipping
        limits : names of friction elements known to be at the limit of sticking
        parting : mask (c,) of the contacts whose load has just fallen to zero
        """
        still = np.arange(len(rates)) < rows.contacts
        for grip, friction in zip(rows.grips, rows.frictions, strict=True):
            slip = rates[grip.rows]
            speed = np.linalg.norm(slip)
            moves = speed > slow[grip.rows].max() and grip.static < np.inf
            grip.moving, grip.speed = slip / speed if moves else None, float(speed)
            grip.coefficient = friction.sliding_coefficient(float(speed) if moves else 0.0)
            grip.at_limit = friction.name in limits
            still[grip.rows] = not moves
        # Accelerations of points of one body at rest are consistent only if its velocities are exactly zero.
        y = self.stopped(solver, t, y, rows, completed(rows.W, np.zeros_like(still), still & (np.diag(rows.W) > 0)))
        motion = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        q = self._gaps.accelerations(t, y, angles, rows.numbers, motion)
        largest = strongest(solver.model, y, motion) * rows.units / solver.model.length
        touching = np.zeros(len(q), dtype=bool)
        touching[: rows.contacts] = ~parting
        q[touching & (np.abs(q) <= ROUND_OFF * largest)] = 0.0
        modes = coulomb(rows.W, q, range(rows.contacts), rows.grips, NOISE * largest, rows.compliance)
        problem = rows.W, q, range(rows.contacts), rows.grips
        if modes is None or not has_one_solution(*problem, modes, rows.compliance):
            listed = ", ".join(f"{friction}" for friction in rows.frictions)
            what = "no loads satisfy" if modes is None else "no loads, or several, satisfy"
            raise SwitchingError(f"{what} Coulomb's law of friction (Painleve's paradox): {listed}")
        response = np.diag(rows.W)
        return modes, WEAK * largest / np.where(response > 0, response, np.inf)
