"""Impacts, rest and sliding of contacts and joints with friction, at one state.

Rows are the directions of closed gaps and of slip components: r rows, of which the first c are gaps. Flat states are
(13 n + k,) for n bodies and k auxiliary states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.analysis.contact.friction_states import Frictions
from quirk.analysis.contact.gap_functions import Gaps, Opening
from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.constraints.slip import OfGap
from quirk.dynamics.contact.contact_modes import ContactModes, Grip
from quirk.dynamics.contact.coulomb import coulomb
from quirk.dynamics.contact.impulse import Impulse, impulses, with_change
from quirk.dynamics.contact.lcp import completed
from quirk.dynamics.contact.painleve import has_one_solution
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from quirk.dynamics.sparse.solver.joint_loads import JointLoads
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError
from quirk.forces.friction import Friction
from quirk.forces.joint_friction import JointFriction
from quirk.forces.stick_slip import StickSlip

from .contact_states import Struck

# Number of reductions of restitution if an impact would gain energy; and the relative gain that is round-off.
PARTS, ROUND_OFF = 10, 1e-12
# Accelerations below this fraction of the largest of all bodies are round-off.
NOISE = 1e-13
# Relative difference of loads beyond which they count as not unique.
UNIQUE = 1e-6
# A row is blocked if constraints reduce its response below this fraction of the response of free bodies.
BLOCKED = 1e-12


@dataclass(frozen=True)
class FrictionRows:
    """Rows of closed gaps and of slip components with friction, evaluated at one state.

    Attributes
    ----------
    numbers : indices of the rows among all gaps and slip components of the system
    contacts : number of gaps, which come first
    opening : values, rates and force directions of the rows
    W : (r, r) jumps of the rates of rows due to unit impulses along the rows
    grips : friction elements in terms of these rows
    frictions : the friction elements of the system, in the same order
    sides : side of the first surface, +1 or -1, on which the slip components are smooth
    compliance : (r,) relative compliances of the rows, which determine how dependent rows share a load
    """

    numbers: list[int]
    contacts: int
    opening: Opening
    W: np.ndarray
    grips: list[Grip]
    frictions: list[StickSlip]
    sides: list[int]
    compliance: np.ndarray


class Frictional:
    """Solves for impacts, loads and sliding of contacts and joints with friction.

    Parameters
    ----------
    gaps : gaps of the system
    frictions : friction elements of the system
    """

    def __init__(self, gaps: Gaps, frictions: Frictions) -> None:
        self._gaps, self._frictions = gaps, frictions

    def rows(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        opening: Opening,
        closed: Sequence[int],
        acting: Sequence[StickSlip],
        loads: bool,
    ) -> FrictionRows:
        """Return the rows of closed gaps and of friction elements.

        `closed` are the indices of the closed gaps, `acting` the friction elements. If `loads`, the dependence of the
        normal loads of joints on the row forces is included. `opening` has the values, rates and force directions of
        all gaps and slip components.
        """
        numbers, grips, sides = self._grips(solver.model.carried.state(y), opening, closed, acting)
        opening = opening.of(numbers)
        none, lanes = np.zeros(solver.model.rows), solver.slots.state_to_lanes(y)
        answers = [solver.respond(lanes, t, none, push) for push in opening.push]
        W = np.array([opening.changed(change) for change, _ in answers]).reshape(len(numbers), len(numbers))
        W = 0.5 * (W + W.T)
        # If constraints block a row, its response is round-off.
        blocked = np.diag(W) <= BLOCKED * _free_response(solver, opening)
        W[blocked], W[:, blocked] = 0.0, 0.0
        compliance = self._compliance(solver.model.length, numbers, grips)
        result = FrictionRows(numbers, len(closed), opening, W, grips, list(acting), sides, compliance)
        joints = [k for k, grip in enumerate(grips) if grip.contact is None and grip.load is None]
        if loads and joints:
            response = [impulses(solver, y, multipliers) for _, multipliers in answers]
            self._load_joints(solver, t, y, result, joints, response)
        return result

    def _grips(
        self, state: State, opening: Opening, closed: Sequence[int], acting: Sequence[StickSlip]
    ) -> tuple[list[int], list[Grip], list[int]]:
        """Return the indices of all rows, the friction elements in terms of these rows, and their sides.

        See `FrictionRows`; the other arguments are those of `rows`.
        """
        touches, slips = self._gaps.touches, self._gaps.slips
        numbers, grips, sides = list(closed), [], []
        contact = {touches[c].constraint.name: row for row, c in enumerate(closed)}
        for friction in acting:
            push = None
            if isinstance(friction.slip, OfGap) and friction.on.name in contact:
                push = self._gaps.push_on_j(opening, closed[contact[friction.on.name]])
            side = self._frictions.side(friction, state, push)
            own = [
                len(touches) + k
                for k, slip in enumerate(slips)
                if slip.component.name == friction.name and slip.side == side
            ]
            rows = list(range(len(numbers), len(numbers) + len(own)))
            load = ConstantLoad(friction.load_per_effort) if isinstance(friction, JointFriction) else None
            coefficient = friction.sliding_coefficient(0.0)
            grips.append(Grip(rows, coefficient, friction.static, contact.get(friction.on.name), load))
            numbers += own
            sides.append(side)
            if push is not None:
                self._gaps.check_slip(friction, opening, closed[contact[friction.on.name]], own)
        return numbers, grips, sides

    def _compliance(self, length: float, numbers: Sequence[int], grips: Sequence[Grip]) -> np.ndarray:
        """Return the relative compliances (r,) of rows; `length` is the characteristic length of the system, m."""
        touches = self._gaps.touches
        angular = np.array([k < len(touches) and touches[k].angular for k in numbers], dtype=bool)
        compliance = np.where(angular, 1 / length**2, 1.0)
        # So that joints which hold one freedom share its load in proportion to their limits.
        soft = {
            grip.rows[0]: 1.0 / (grip.static * grip.load.value**2)
            for grip in grips
            if isinstance(grip.load, ConstantLoad)
        }
        for row, size in soft.items():
            compliance[row] = size / min(soft.values())
        return compliance

    def _load_joints(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        rows: FrictionRows,
        joints: Sequence[int],
        response: Sequence[Mapping[str, Impulse]],
    ) -> None:
        """Compute the dependence of the normal loads of joint friction on forces along the rows; store it in `rows`.

        `joints` are the indices of the joint friction elements, and `response` the joint loads for a unit force on each
        row.
        """
        state = solver.model.carried.state(y)
        solver.rates(t, solver.slots.state_to_lanes(y))
        position = np.append(state.position, np.zeros((1, 3)), axis=0)
        R = rotation.matrix(np.append(state.orientation, [rotation.IDENTITY], axis=0))
        reader, multipliers = JointLoads(solver, solver.related), [solver.multipliers()]
        (force,), (torque,) = reader.read([solver.work.G], multipliers, position[None], R[None])
        kept_rows = [solver.work.x[solver.tables.row_lane]]
        (other_force,), (other_torque,) = reader.read([solver.work.G], kept_rows, position[None], R[None])
        place = {name: k for k, name in enumerate(solver.model.joint_rows)}
        for k in joints:
            friction = rows.frictions[k]
            assert isinstance(friction, Friction)
            place_in_joint = place[friction.on.name]
            base = np.concatenate([force[place_in_joint], torque[place_in_joint]])
            by_row = [np.concatenate([of[friction.on.name].force, of[friction.on.name].torque]) for of in response]
            axis = self._frictions.axis(friction, state)
            rows.grips[k].load = NormalLoad(friction, axis, base, np.array(by_row).T)
            if solver.redundant:
                kept = np.concatenate([other_force[place_in_joint], other_torque[place_in_joint]])
                _check_unique(friction, NormalLoad(friction, axis, base - kept, np.zeros((6, 0))), force)

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
        """Return the outcome of an impact, with the rates of all rows.

        Newton's law applies to each gap that closes faster than its limit (c,), and Coulomb's law to the impulses of
        friction in contacts; impulses of joint friction are neglected. Slip with infinite friction coefficient is
        stopped even if no gap closes. The state is flat, impulses are by name, and rates are (r,). The factor lowers
        coefficients of restitution so that no energy is gained.
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

        Impulses must then stop the slip.
        """
        never = [row for grip in rows.grips if grip.static == np.inf for row in grip.rows]
        return bool((np.abs(rows.opening.rate[never]) > noise).any())

    def stopped(self, solver: Solver, t: float, y: np.ndarray, rows: FrictionRows, held: np.ndarray) -> np.ndarray:
        """Return the flat state after the impulses that make the rates of the rows in the mask `held` (r,) zero."""
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
        """Return the flat state after impulses x (r,) along the rows, the impulses by name, and the rates (r,).

        The impulses of the rows in the mask `held` are corrected so that these rows have the rates `goal` (r,).
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
    ) -> ContactModes:
        """Return loads and accelerations of the rows, and which friction elements stick or slide.

        Parameters
        ----------
        rates : (r,) rates of the rows
        slow : (r,) slip, m/s, below which friction counts as not slipping
        limits : names of friction elements known to be at the limit of sticking
        """
        still = np.arange(len(rates)) < rows.contacts
        for grip, friction in zip(rows.grips, rows.frictions, strict=True):
            slip = rates[grip.rows]
            speed = np.linalg.norm(slip)
            moves = speed > slow[grip.rows].max() and grip.static < np.inf
            grip.moving = slip / speed if moves else None
            grip.coefficient = friction.sliding_coefficient(float(speed) if moves else 0.0)
            grip.at_limit = friction.name in limits
            still[grip.rows] = not moves
        # Accelerations of points of one body at rest are consistent only if its velocities are exactly zero.
        y = self.stopped(solver, t, y, rows, completed(rows.W, np.zeros_like(still), still & (np.diag(rows.W) > 0)))
        motion = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        q = self._gaps.accelerations(t, y, angles, rows.numbers, motion)
        state = solver.model.carried.state(y)
        spin = (state.angular_velocity**2).sum(axis=1).max()
        size = np.abs(motion[:, :3]).max() + np.linalg.norm(solver.model.gravity)
        size += solver.model.length * (np.abs(motion[:, 3:]).max() + spin)
        modes = coulomb(rows.W, q, range(rows.contacts), rows.grips, NOISE * size, rows.compliance)
        if modes is None or not has_one_solution(rows.W, q, range(rows.contacts), rows.grips, modes):
            listed = ", ".join(f"{friction}" for friction in rows.frictions)
            what = "no loads satisfy" if modes is None else "no loads, or several, satisfy"
            raise SwitchingError(f"{what} Coulomb's law of friction (Painleve's paradox): {listed}")
        return modes


def _check_unique(friction: Friction, difference: NormalLoad, forces: np.ndarray) -> None:
    """Raise a SwitchingError if the normal load of a joint with friction is not unique.

    `difference` computes the normal loads for the difference of two distributions of loads; `forces` are the row forces
    for comparison.
    """
    off, _ = difference(np.zeros(0))
    if off > UNIQUE * np.abs(forces).max(initial=0.0):
        raise SwitchingError(
            f"{friction}: the normal load of {friction.on} is not unique, as redundant rows share it (solutions differ "
            f"by {off:.3g} N): leave out length=, or replace joints so that no rows are redundant"
        )


def _free_response(solver: Solver, opening: Opening) -> np.ndarray:
    """Return the jump of each row's rate (r,) due to a unit impulse along it, for bodies without constraints.

    `opening` has the force directions of the rows.
    """
    push, model = opening.push_in_body, solver.model
    by_force = np.einsum("cni,cni,n->c", push[..., :3], push[..., :3], 1 / model.mass)
    turned = np.linalg.solve(model.inertia[None], push[..., 3:, None])[..., 0]
    return np.asarray(by_force + np.einsum("cni,cni->c", push[..., 3:], turned))
