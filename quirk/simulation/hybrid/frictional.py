"""Impacts, rest and sliding of contacts and joints with friction, at one state.

Rows are the directions of closed gaps and of slip components: r rows, of which the first c are gaps. Flat states are
(13 n + k,) for n bodies and k auxiliary states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.analysis.contact.friction_states import FLOOR, Frictions, SlidingContact, rub_of
from quirk.analysis.contact.gap_functions import Gaps, Opening
from quirk.bodies import rotation
from quirk.constraints.slip import OfGap
from quirk.dynamics.contact.contact_modes import DEPENDENT, ContactModes, Grip
from quirk.dynamics.contact.coulomb import coulomb
from quirk.dynamics.contact.impulse import Impulse, impulses, with_change
from quirk.dynamics.contact.lcp import completed
from quirk.dynamics.contact.load_sharing import sharing
from quirk.dynamics.contact.painleve import has_one_solution
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from quirk.dynamics.sparse.solver.joint_loads import JointLoads
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError
from quirk.events.names import Patch, Shared
from quirk.forces.friction import Friction
from quirk.forces.joint_friction import JointFriction
from quirk.forces.stick_slip import StickSlip

# Number of reductions of restitution if an impact would gain energy; and the relative gain that is round-off.
PARTS, ROUND_OFF = 10, 1e-12
# Forces below this fraction of the largest are round-off where there is no load.
UNLOADED = 1e-12
# Relative margin at which contacts that share a load are at their limit; and relative error of the weights of
# multipliers.
NEAR_LIMIT, NO_WEIGHT = 1e-11, 1e-13
# Factor on the limits of zero acceleration for friction whose rows depend on other rows.
STILL = 1e6
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
        state, touches, slips = solver.model.carried.state(y), self._gaps.touches, self._gaps.slips
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
        opening = opening.of(numbers)
        none, lanes = np.zeros(solver.model.rows), solver.slots.state_to_lanes(y)
        answers = [solver.respond(lanes, t, none, push) for push in opening.push]
        W = np.array([opening.changed(change) for change, _ in answers]).reshape(len(numbers), len(numbers))
        W = 0.5 * (W + W.T)
        # If constraints block a row, its response is round-off.
        blocked = np.diag(W) <= BLOCKED * _free_response(solver, opening)
        W[blocked], W[:, blocked] = 0.0, 0.0
        angular = np.array([k < len(touches) and touches[k].angular for k in numbers], dtype=bool)
        compliance = np.where(angular, 1 / solver.model.length**2, 1.0)
        # So that joints which hold one freedom share its load in proportion to their limits.
        soft = {
            grip.rows[0]: 1.0 / (grip.static * grip.load.value**2)
            for grip in grips
            if isinstance(grip.load, ConstantLoad)
        }
        for row, size in soft.items():
            compliance[row] = size / min(soft.values())
        result = FrictionRows(numbers, len(closed), opening, W, grips, list(acting), sides, compliance)
        joints = [k for k, grip in enumerate(grips) if grip.contact is None and grip.load is None]
        if loads and joints:
            response = [impulses(solver, y, multipliers) for _, multipliers in answers]
            self._load_joints(solver, t, y, result, joints, response)
        return result

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
    ) -> tuple[np.ndarray, dict[str, Impulse], np.ndarray, float]:
        """Return the state after an impact, its impulses, the rates of all rows, and the factor on the restitution.

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
                return *self._pushed(solver, t, y, rows, x, held, goal), kept
        listed = ", ".join(f"{friction}" for friction in rows.frictions)
        raise SwitchingError(f"no impulses satisfy Coulomb's law of friction: {listed}")

    def held_back(self, rows: FrictionRows, noise: float) -> bool:
        """Whether a contact with infinite friction coefficient slips faster than `noise`, m/s.

        Impulses must then stop the slip.
        """
        never = [row for grip in rows.grips if grip.static == np.inf for row in grip.rows]
        return bool((np.abs(rows.opening.rate[never]) > noise).any())

    def stopped(self, solver: Solver, t: float, y: np.ndarray, rows: FrictionRows, held: np.ndarray) -> np.ndarray:
        """Return the flat state after impulses that bring all rows of the mask `held` (r,) to zero rate."""
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


class Shares:
    """Loads of contacts and friction elements as linear combinations of the multipliers of constraint rows.

    The combinations are valid until a contact opens or closes, or friction begins to slide or to stick.

    Parameters
    ----------
    rows, found : rows, and solution of the contact problem at a state
    contacts : names of the closed contacts, in the order of their rows
    """

    def __init__(self, rows: FrictionRows, found: ContactModes, contacts: Sequence[str]) -> None:
        self._rows, self._found = rows, found
        self._sharing = sharing(rows.W, found, rows.grips, rows.compliance)
        # Friction cones of contacts without load are round-off.
        largest = np.abs(found.z).max(initial=0.0)
        self._largest = 10.0 ** np.ceil(np.log10(largest)) if largest > 0 else 0.0
        name_of = {row: (name, 0) for row, name in enumerate(contacts)}
        for grip, friction in zip(rows.grips, rows.frictions, strict=True):
            kept = [row for row in grip.rows if found.rows[row]]
            name_of |= {row: (friction.name, place) for place, row in enumerate(kept)}
        self._names = tuple(name_of[row] for row in self._sharing.rows.tolist())
        self._patches = [group for group in self._sharing.groups if self._sticks(group)]
        self._sliding = {row for group in self._sharing.groups if group not in self._patches for row in group}

    def _sticks(self, group: Sequence[int]) -> bool:
        """Whether all rows of a group belong to contacts that stick."""
        grips = [
            (grip, e) for grip, e in zip(self._rows.grips, self._found.sliding, strict=True) if grip.rows[0] in group
        ]
        sliding = any(
            e is not None and grip.contact in group
            for grip, e in zip(self._rows.grips, self._found.sliding, strict=True)
        )
        return bool(grips) and not sliding and all(grip.contact is not None for grip, _ in grips)

    def in_patch(self, row: int) -> bool:
        """Whether the row with index `row` belongs to a group of sticking contacts that share a load."""
        return any(row in group for group in self._patches)

    def patch_of(self, k: int) -> Patch | tuple[()] | None:
        """Return the common margin of sticking contacts that share a load, which an event function monitors.

        `k` is the index of a friction element. The result is () if another friction element of the group monitors it,
        and None if no load is shared.
        """
        row = self._rows.grips[k].rows[0]
        group = next((group for group in self._patches if row in group), None)
        if group is None:
            return None
        members = [n for n, grip in enumerate(self._rows.grips) if grip.rows[0] in group]
        return self._patch(group, members) if members[0] == k else ()

    def _patch(self, group: Sequence[int], members: Sequence[int]) -> Patch:
        grips, frictions = self._rows.grips, self._rows.frictions
        ways = self._sharing.ways_of(group)
        grip_of = {grips[n].contact: grips[n] for n in members}
        order, coefficients = list[int](), list[float]()
        for c in (row for row in group if row < self._rows.contacts):
            grip = grip_of.get(c)
            order += [c, *(grip.rows if grip is not None else (-1, -1))]
            coefficients.append(grip.static if grip is not None else 0.0)
        some = (np.array(order) >= 0)[:, None]
        return Patch(
            frictions[members[0]],
            "patch",
            None,
            -NEAR_LIMIT * self._largest,
            tuple(frictions[n].name for n in members),
            self._names,
            tuple(map(tuple, (self._sharing.weights[order] * some).tolist())),
            tuple(map(tuple, (ways[order] * some).tolist())),
            tuple(coefficients),
        )

    def of(self, row: int, level: float) -> Shared:
        """Return the force along a row as a monitored load; an event occurs when it reaches the value `level`."""
        weights, offset = self._terms([row])
        return Shared(
            None, "share", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist()))
        )

    def cone(self, friction: StickSlip, which: Sequence[int], load: NormalLoad | ConstantLoad | None) -> Shared:
        """Return the margin of a sticking friction element to its limit, as a quantity that a run can monitor.

        `which` are the indices of its rows: the first has the normal load of a contact, the others the friction forces.
        For friction in a joint `load` is the normal load, constant or a function of the joint's load.
        """
        weights, offset = self._terms(which)
        if isinstance(load, ConstantLoad):
            weights[0], offset[0] = 0.0, load.value
        level = -UNLOADED * self._largest
        return Shared(
            friction, "cone", None, level, self._names, tuple(offset.tolist()), tuple(map(tuple, weights.tolist()))
        )

    def _terms(self, which: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (k, h) of multipliers, and the constants (k,), of the forces along rows."""
        weights, offset = self._sharing.weights[list(which)].copy(), self._sharing.offset[list(which)].copy()
        # Sliding friction is proportional to loads of minimum norm.
        offset[[k for k, row in enumerate(which) if row < self._rows.contacts and row in self._sliding]] = 0.0
        return weights, offset

    def load(self, contact: int) -> tuple[tuple[str, int, float], ...]:
        """Return the rows whose multipliers determine the normal load of a contact.

        Each row is given by the name of its constraint, its index, and its weight.
        """
        weights = self._sharing.weights[contact]
        terms = zip(self._names, weights.tolist(), strict=True)
        return tuple((name, row, weight) for (name, row), weight in terms if abs(weight) > NO_WEIGHT)

    def returns(self, row: int) -> Shared | None:
        """Return the monitored load of a closed contact that carries no load, next to sliding contacts.

        The contact becomes loaded again when this load is positive; the result is None if that cannot happen.
        """
        W, sharing = self._rows.W, self._sharing
        others = [c for c in np.flatnonzero(self._found.held[: self._rows.contacts]) if c in self._sliding]
        if not others or not W[row, row] > 0:
            return None
        soft = np.sqrt(self._rows.compliance[others])
        scaled = W[np.ix_(others, others)] / soft[:, None] / soft
        part = np.linalg.pinv(scaled, rcond=DEPENDENT, hermitian=True) @ (W[others, row] / soft)
        if W[row, row] - part @ scaled @ part > DEPENDENT * W[row, row]:
            return None
        weights = (part * soft) @ sharing.weights[others] / self._rows.compliance[row]
        return Shared(None, "share", None, 0.0, self._names, (0.0,), (tuple(weights.tolist()),))


def rubbing_of(
    rows: FrictionRows, found: ContactModes, slow: np.ndarray, before: Mapping[str, SlidingContact], shares: Shares
) -> dict[str, SlidingContact]:
    """Return the state of each friction element after a change of contacts, by name.

    `slow` (r,) is the slip, m/s, below which friction counts as not slipping; `before` are the previous states. `rows`
    are the rows, `found` is the solution of the contact problem, and `shares` expresses loads by multipliers.
    """
    rubbing = {}
    for k, (grip, friction) in enumerate(zip(rows.grips, rows.frictions, strict=True)):
        e, side = found.sliding[k], rows.sides[k]
        loaded = grip.contact is None or found.held[grip.contact]
        if e is not None:
            if loaded:
                floor = FLOOR * float(slow[grip.rows].max())
                load = () if grip.contact is None else shares.load(grip.contact)
                rubbing[friction.name] = rub_of(friction, grip, found, k, side, floor, before.get(friction.name), load)
            continue
        kept = tuple(c for c, row in enumerate(grip.rows) if found.rows[row])
        if not loaded:
            if grip.moving is None and (np.abs(found.w[grip.rows]) <= STILL * found.slow[grip.rows]).all():
                rubbing[friction.name] = SlidingContact((), side=side)
        elif kept or grip.contact is not None or (isinstance(grip.load, ConstantLoad) and found.held[grip.rows[0]]):
            patch = shares.patch_of(k)
            # The load of a joint is computed separately: the first row represents it.
            load_row = grip.rows[0] if grip.contact is None else grip.contact
            cone = shares.cone(friction, [load_row, *grip.rows], grip.load) if patch is None else patch or None
            rubbing[friction.name] = SlidingContact(kept, side=side, cone=cone)
    return rubbing
