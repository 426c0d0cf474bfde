"""Impacts, rest and sliding of contacts and joints with friction, at one state.

A row is the direction of a closed gap or of a slip component. Of the r rows, the first c belong to gaps. State vectors
are (13 n + k,) for n bodies and k auxiliary states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from quirk.analysis.contact.contact_kinematics import Gaps
from quirk.analysis.contact.friction_modes import FrictionMode, FrictionModes
from quirk.dynamics.contact.contact_modes import ContactModes, ContactProblem, FrictionElement
from quirk.dynamics.contact.coulomb import solve_coulomb
from quirk.dynamics.contact.impulse import Impulse, add_velocity_jump, impulses
from quirk.dynamics.contact.lcp import MAX_VIOLATION, independent_columns
from quirk.dynamics.contact.painleve import has_one_solution
from quirk.dynamics.contact.uncoupled_problems import UncoupledProblem, uncoupled_problems
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError

from .contact_rows import ContactRowEvaluator, ContactRows
from .contact_states import PREVENT, ROUND_OFF, WEAK_LOAD, Impact
from .prescribed_rates import without_smooth_end
from .speed_limits import friction_acceleration, largest_acceleration

# Number of equal steps in which coefficients of restitution are reduced to zero until an impact gains no energy.
RESTITUTION_STEPS = 10
# Accelerations of rows below this fraction of the largest of all bodies are round-off while forces act along rows.
NOISE = 1e-13
# Friction that has just begun to slide keeps sliding at slip in its direction above this fraction of the slip that
# counts as zero.
BEGUN = 1e-3


class FrictionalContactSolver:
    """Solver for impacts, loads and sliding of contacts and joints with friction.

    Parameters
    ----------
    gaps : gaps of the system
    frictions : friction elements of the system
    """

    def __init__(self, gaps: Gaps, frictions: FrictionModes) -> None:
        self._gaps, self.rows = gaps, ContactRowEvaluator(gaps, frictions).at

    def impact(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        rows: ContactRows,
        limits: np.ndarray,
        restitution: np.ndarray,
        noise: float,
    ) -> Impact:
        """Return the outcome of simultaneous impacts with friction, with the rates of all r gaps and slip components.

        Newton's law applies to each of the c gaps with an approach speed above its limit in `limits` (c,), m/s. Its
        coefficients of restitution `restitution` (c,) are reduced so that no energy is gained and friction lets the
        bodies rebound, by a common factor for contacts that affect each other. Coulomb's law applies to the friction
        impulses of contacts; impulses of joint friction are neglected. Slip with infinite friction coefficient is
        stopped even if no gap closes. Rates of rows below `noise`, m/s, are round-off.
        """
        rates, c = rows.kinematics.rate, rows.contact_count
        elements = [element for element in rows.elements if element.contact is not None]
        used = [*range(c), *(row for element in elements for row in element.rows)]
        place = {row: k for k, row in enumerate(used)}
        in_contact = [
            FrictionElement([place[row] for row in element.rows], element.coefficient, element.static, element.contact)
            for element in elements
        ]
        W, v = rows.W[np.ix_(used, used)], rates[used]
        bouncing = np.zeros(len(used))
        bouncing[:c] = np.where(rates[:c] < -limits, -restitution * rates[:c], 0.0)
        problem = ContactProblem(W, v, in_contact, noise * np.ones(len(v)), rows.compliance[used])
        x, active, goal, least = np.zeros(len(rates)), np.zeros(len(rates), dtype=bool), np.zeros(len(rates)), 1.0
        blocked = (np.diag(W)[:c] == 0.0) & (v[:c] < -max(noise, MAX_VIOLATION * np.abs(v).max(initial=0.0)))
        if blocked.any():
            raise SwitchingError(f"no impulses {PREVENT}: {self._listed(rows, np.flatnonzero(blocked))}")
        for part in uncoupled_problems(problem, range(c)):
            rebounds = _rebounds(part, bouncing[part.rows])
            own = [used[row] for row in part.rows]
            if rebounds is None:
                pairs = zip(rows.friction_elements, rows.elements, strict=True)
                of_contacts = [friction for friction, element in pairs if element.contact is not None]
                if not part.friction:
                    listed = self._listed(rows, [row for row in own if row < c])
                    raise SwitchingError(f"no impulses {PREVENT}: {listed}")
                listed = ", ".join(f"{of_contacts[k]}" for k in part.friction)
                raise SwitchingError(f"no impulses satisfy Coulomb's law of friction: {listed}")
            modes, kept = rebounds
            x[own], active[own], goal[own] = modes.z, modes.independent, kept * bouncing[part.rows]
            least = min(least, kept)
        y, impulse, rates = self._apply_impulses(solver, t, y, rows, x, active, goal)
        return Impact(y, impulse, rates / rows.arms, least)

    def _listed(self, rows: ContactRows, gaps: Iterable[int]) -> str:
        """Return the contacts of the gaps with the rows `gaps`, for error messages."""
        return ", ".join(f"{self._gaps.contact_points[rows.indices[row]].constraint}" for row in gaps)

    def slips_at_infinite_friction(self, rows: ContactRows, noise: float) -> bool:
        """Whether a contact with infinite friction coefficient slips faster than `noise`, m/s.

        An impulse must then stop the slip.
        """
        sticking_rows = [row for element in rows.elements if element.static == np.inf for row in element.rows]
        return bool((np.abs(rows.kinematics.rate[sticking_rows]) > noise).any())

    def stop(
        self, solver: Solver, t: float, y: np.ndarray, rows: ContactRows, active: np.ndarray
    ) -> tuple[np.ndarray, dict[str, Impulse], np.ndarray]:
        """Return the state vector, impulses by name and rates (r,) after impulses that stop the rows in `active`.

        `active` is a mask of independent rows.
        """
        if not active.any():
            return y, {}, rows.kinematics.rate
        return self._apply_impulses(solver, t, y, rows, np.zeros(len(active)), active, np.zeros(len(active)))

    def _stopped(
        self, solver: Solver, t: float, y: np.ndarray, rows: ContactRows, at_rest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the state vector and the rates (r,) after impulses that stop the rows in the mask `at_rest`."""
        independent = independent_columns(rows.W, np.zeros_like(at_rest), at_rest & (np.diag(rows.W) > 0))
        none = np.zeros(len(independent))
        y, _, rates = self._apply_impulses(solver, t, y, rows, none, independent, none)
        return y, rates

    def _apply_impulses(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        rows: ContactRows,
        x: np.ndarray,
        active: np.ndarray,
        goal: np.ndarray,
    ) -> tuple[np.ndarray, dict[str, Impulse], np.ndarray]:
        """Return the state vector after impulses x (r,) along the rows, the impulses by constraint, and the rates (r,).

        The impulses of the rows in the mask `active` are corrected so that their rates become `goal` (r,).
        """
        lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
        kinematics, change, multipliers = rows.kinematics, np.zeros((solver.slots.bodies, 6)), none
        x = x.copy()
        for _ in range(2):
            if x.any():
                wrench = np.einsum("c,cni->ni", x, kinematics.force_directions)
                change, multipliers = solver.respond(lanes, t, none, wrench)
            missing = (goal - kinematics.rate - kinematics.rates_of(change))[active]
            x[active] += np.linalg.solve(rows.W[np.ix_(active, active)], missing)
        if x.any():
            change, multipliers = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, kinematics.force_directions))
        exerted = impulses(solver, y, multipliers) if solver.model.rows else {}
        exerted.update(self._gaps.impulses(y, kinematics, rows.indices, x))
        return add_velocity_jump(y, change), exerted, kinematics.rate + kinematics.rates_of(change)

    def contact_modes(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        rows: ContactRows,
        rates: np.ndarray,
        slow: np.ndarray,
        limits: Sequence[str],
        sliding: Mapping[str, FrictionMode],
        unloading: np.ndarray,
        ended: Collection[str],
    ) -> tuple[ContactModes, np.ndarray]:
        """Return the loads, accelerations and modes of contacts and friction, and round-off thresholds (r,) of loads.

        A load below its threshold is round-off of larger loads. Contacts whose gaps accelerate by no more than the
        round-off of the bodies' accelerations carry no load, except those in the mask `unloading`.

        Parameters
        ----------
        angles : (K, 3) 1-2-3 angles of K joints, rad
        rates : (r,) rates of the rows
        slow : (r,) slip, m/s, below which friction counts as not slipping
        limits : names of friction elements known to be at the limit of sticking
        sliding : states of the friction elements that have just begun to slide and have not come to rest, by name
        unloading : mask (c,) of the contacts whose load has just fallen to zero
        ended : names of the friction elements whose slip has just ended
        """
        at_rest = _determine_slip(rows, rates, slow, limits, sliding, rates)
        # Accelerations of points of one body at rest are consistent only if its velocities are exactly zero.
        stopped, remaining = self._stopped(solver, t, y, rows, at_rest)
        if (np.abs(rates) > slow)[: rows.contact_count].any() and not at_rest.all():
            # Slip may end with the gaps that come to rest.
            at_rest = _determine_slip(rows, rates, slow, limits, sliding, remaining)
            stopped, _ = self._stopped(solver, t, y, rows, at_rest)
        q, motion = self._accelerations(solver, t, stopped, angles, rows)
        # Without loads, accelerations at rest are round-off of those with which friction has stopped the bodies.
        largest = max(largest_acceleration(solver.model, stopped, motion), ROUND_OFF * friction_acceleration(rows))
        if ended:

            def after(delay: float) -> np.ndarray:
                return self._accelerations(solver, t + delay, stopped, angles, rows)[0]

            q = without_smooth_end(rows.W, rates, q, at_rest, after, ROUND_OFF * largest)
        touching = np.zeros(len(q), dtype=bool)
        touching[: rows.contact_count] = ~unloading
        q[touching & (np.abs(q) <= ROUND_OFF * largest)] = 0.0
        # Round-off of the speeds of bodies at rest causes such accelerations along curves.
        q[np.abs(q) <= slow.min(initial=np.inf) ** 2 / rows.length] = 0.0
        problem = rows.W, q, range(rows.contact_count), rows.elements
        unloaded = np.flatnonzero(unloading).tolist()
        modes = solve_coulomb(*problem, NOISE * largest, rows.compliance, unloaded)
        if modes is None or not has_one_solution(*problem, modes, modes.compliance):
            listed = ", ".join(f"{friction}" for friction in rows.friction_elements)
            what = "no loads satisfy" if modes is None else "no loads, or several, satisfy"
            raise SwitchingError(f"{what} Coulomb's law of friction (Painleve's paradox): {listed}")
        response = np.diag(rows.W)
        return modes, WEAK_LOAD * largest / np.where(response > 0, response, np.inf)

    def _accelerations(
        self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray, rows: ContactRows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the accelerations (r,) of the rows without their loads, m/s^2, and those (n, 6) of the bodies.

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad, at time t (s) and state vector y.
        """
        motion = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        return rows.arms * self._gaps.accelerations(t, y, angles, rows.indices, motion), motion


def _determine_slip(
    rows: ContactRows,
    rates: np.ndarray,
    slow: np.ndarray,
    limits: Sequence[str],
    sliding: Mapping[str, FrictionMode],
    remaining: np.ndarray,
) -> np.ndarray:
    """Store the slip of each friction element at the rates (r,) of the rows, and return the mask (r,) of rows at rest.

    Slip that vanishes among the rates `remaining` (r,), those after gaps have come to rest, counts as zero. Other
    arguments are as for `FrictionalContactSolver.contact_modes`.
    """
    at_rest = np.arange(len(rates)) < rows.contact_count
    for element, friction, side in zip(rows.elements, rows.friction_elements, rows.sides, strict=True):
        slip = rates[element.rows]
        speed, before = np.linalg.norm(slip), sliding.get(friction.name)
        begun = before is not None and before.side == side
        ahead = float(slip @ before.direction) if begun and before is not None else 0.0
        floor = slow[element.rows].max()
        slips = min(speed, np.linalg.norm(remaining[element.rows])) > floor
        moves = (slips or ahead > BEGUN * floor) and element.static < np.inf
        element.slip_direction, element.slip_speed = slip / speed if moves else None, float(speed)
        element.coefficient = friction.sliding_coefficient(float(speed) if moves else 0.0)
        element.at_limit = friction.name in limits
        at_rest[element.rows] = not moves
    return at_rest


def _rebounds(part: UncoupledProblem, bouncing: np.ndarray) -> tuple[ContactModes, float] | None:
    """Return the modes of an impact without gain of energy, and the part of its restitution that it keeps, or None.

    `part` is the problem with the rates of its r rows before the impact, and `bouncing` (r,) are the rates of its gaps
    after it by Newton's law. The restitution is lowered in steps until there are impulses, and they gain no energy.
    """
    problem = part.problem
    for kept in np.linspace(1.0, 0.0, RESTITUTION_STEPS + 1) if bouncing.any() else (1.0,):
        modes = solve_coulomb(
            problem.W,
            problem.q - kept * bouncing,
            part.contacts,
            problem.elements,
            problem.noise,
            problem.compliance,
            impact=True,
        )
        if modes is None:
            continue
        gained = modes.z @ (problem.q + 0.5 * problem.W @ modes.z)
        if kept == 0.0 or not bouncing.any() or gained <= ROUND_OFF * float(np.abs(modes.z) @ np.abs(problem.q)):
            return modes, float(kept)
    return None
