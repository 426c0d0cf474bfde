"""Gaps and slip at one state: values, rates, and directions of forces.

Unilateral constraints have gaps, and friction elements have slip components. A bounded surface consists of numbered
parts (faces and edges); a sphere contacts one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.rotation import matrix
from quirk.bodies.state import Kinematics, State
from quirk.constraints import Contact
from quirk.constraints.relation import LANES, TORQUE
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.contact.impulse import Impulse
from quirk.dynamics.model.applied_loads import coordinate_at, slip_rates
from quirk.dynamics.model.joint_angles import angles_by_name
from quirk.dynamics.model.model import Model
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.dynamics.sparse.kernels.applied import ELEMENT_SIZE, INPUT, OUTPUT
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.event_functions import quantities_at
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction, EventMonitor
from quirk.errors import InputError, SwitchingError
from quirk.events.quantity import Gap
from quirk.forces import ForceElement
from quirk.forces.load_shares import LeftOutRow
from quirk.forces.stick_slip import SlipComponent, StickSlip
from quirk.system.system import System

from .friction_modes import slip_components_of
from .parts_touched import nearest_part

# Tolerances for user-defined gaps with friction: deviation of the norm of the gradient from 1, and distance of the line
# of action from the contact point, as a fraction of the arm.
GEOMETRY_TOLERANCE = 1e-6
# Constraints block a row if they reduce its response to an impulse below this fraction of that of free bodies.
BLOCKED = 1e-12


@dataclass(frozen=True)
class ContactPoint:
    """One gap of a unilateral constraint.

    Attributes
    ----------
    constraint, number : the constraint, and the index of the gap in it
    gap : gap function
    at_rest : gap function of the single part in contact for bounded surfaces; otherwise equal to `gap`
    rows : indices of the two bodies; the ground has the index after the last body
    """

    constraint: Unilateral
    number: int
    gap: Gap
    at_rest: Gap
    rows: tuple[int, ...]

    @property
    def key(self) -> tuple[str, int]:
        """Identifier of the gap: the name of the constraint, and the index of the gap in it."""
        return self.constraint.name, self.number

    @property
    def angular(self) -> bool:
        """Whether the gap is an angle."""
        return self.constraint.gaps[self.number].units[0] == TORQUE

    @property
    def label(self) -> str:
        """Name of the gap in error messages."""
        return self.constraint.gaps[self.number].labels[0]

    @property
    def unit(self) -> str:
        """Unit of the gap, "m" or "rad"."""
        return "rad" if self.angular else "m"

    def of_part(self, part: int | None) -> Gap:
        """Return the gap function of the part of a bounded surface with the index `part`; None if it is not bounded."""
        if part is None:
            return self.at_rest
        assert isinstance(self.constraint, Contact)
        return self.at_rest.with_values({"numbers_of_gap": np.array(self.constraint.numbers_of(part))})


@dataclass(frozen=True)
class SlipRow:
    """One slip component of a friction element.

    Attributes
    ----------
    component : slip function
    on : the joint or contact with this friction
    side : side of a sphere, +1 or -1, on which the component is smooth
    rows : indices of the two bodies; the ground has the index after the last body
    """

    component: SlipComponent
    on: Any
    side: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class ContactKinematics:
    """Values and force directions of c gaps and slip components at one state of n bodies, gaps before slip components.

    Attributes
    ----------
    value : (c,) gaps, m or rad; undefined for slip
    rate : (c,) rates of the gaps, and slip, m/s or rad/s
    force_directions : (c, n, 6) force and moment about the center of mass on each body for a unit multiplier, inertial
        frame
    body_force_directions : (c, n, 6) the loads of `force_directions`, with moments in body axes
    """

    value: np.ndarray
    rate: np.ndarray
    force_directions: np.ndarray
    body_force_directions: np.ndarray

    def subset(self, which: Sequence[int]) -> ContactKinematics:
        """Return the gaps and slip components with the indices `which`, as a new object."""
        chosen = list(which)
        return ContactKinematics(
            self.value[chosen], self.rate[chosen], self.force_directions[chosen], self.body_force_directions[chosen]
        )

    def times(self, arms: np.ndarray) -> ContactKinematics:
        """Return the gaps and slip components multiplied by the lever arms `arms` (c,), as a new object."""
        sides = arms[:, None, None]
        return ContactKinematics(
            arms * self.value, arms * self.rate, sides * self.force_directions, sides * self.body_force_directions
        )

    def rates_of(self, velocities: np.ndarray) -> np.ndarray:
        """Return the rates (c,) of all gaps, and the slip components, that result from given velocities of n bodies.

        `velocities` (n, 6) are linear velocities in the inertial frame, m/s, and angular velocities in body axes,
        rad/s.
        """
        by: np.ndarray = np.einsum("cni,ni->c", self.body_force_directions, velocities)
        return by

    def responses(self, changes: Sequence[np.ndarray], model: Model) -> np.ndarray:
        """Return W (c, c): the jumps of all rates due to a unit impulse along each gap or slip component.

        `changes` (c, n, 6) are the jumps of the velocities of n bodies due to these impulses. Where constraints block a
        gap or slip component, its response is round-off, and is set to zero.
        """
        W = np.array([self.rates_of(change) for change in changes]).reshape(len(self.rate), len(self.rate))
        W = 0.5 * (W + W.T)
        blocked = np.diag(W) <= BLOCKED * self.unconstrained_response(model)
        W[blocked], W[:, blocked] = 0.0, 0.0
        return W

    def unconstrained_response(self, model: Model) -> np.ndarray:
        """Return the jump of each rate (c,) due to a unit impulse along it, for bodies without constraints.

        `model` contains masses and inertias of the bodies.
        """
        force_directions = self.body_force_directions
        by_force = np.einsum("cni,cni,n->c", force_directions[..., :3], force_directions[..., :3], 1 / model.mass)
        turned = np.linalg.solve(model.inertia[None], force_directions[..., 3:, None])[..., 0]
        return np.asarray(by_force + np.einsum("cni,cni->c", force_directions[..., 3:], turned))


class Gaps:
    """All gaps of the unilateral constraints of a system, and all slip components of its friction elements."""

    def __init__(self, system: System, frictions: Sequence[StickSlip] = ()) -> None:
        n = len(system.bodies)
        number = {id(body): k for k, body in enumerate(system.bodies)}
        self._system = system
        self.contact_points = [
            ContactPoint(
                constraint,
                k,
                gap,
                _gap_of_one_part(gap, constraint, k),
                tuple(number.get(id(body), n) for body in gap.bodies),
            )
            for constraint in system.constraints
            if isinstance(constraint, Unilateral)
            for k, gap in enumerate(Gap(constraint, k) for k in range(len(constraint.gaps)))
        ]
        self.slip_rows = [
            SlipRow(one, friction.on, side, tuple(number.get(id(body), n) for body in one.bodies))
            for friction in frictions
            for one, side in slip_components_of(friction)
        ]
        self._monitors: dict[Solver, EventMonitor] = {}
        self._bounded = [
            constraint
            for constraint in system.constraints
            if isinstance(constraint, Contact) and constraint.parts is not None
        ]
        # Index of the touched part of each contact with a bounded surface, by name.
        self.parts = {one.name: 0 for one in self._bounded}

    @property
    def arms(self) -> np.ndarray:
        """Lever arms (c,) of all gaps and slip components; multipliers divided by them are forces, N.

        For gaps that are angles, with torques as multipliers, they are the characteristic length of the system, m;
        otherwise 1.
        """
        found = np.ones(len(self.contact_points) + len(self.slip_rows))
        found[[c for c, point in enumerate(self.contact_points) if point.angular]] = self._system.model.length
        return found

    def select_parts(self, state: State, before: Mapping[str, int]) -> None:
        """Find and store the part of each bounded surface that is nearest to its sphere at a state.

        A part in `before`, by name of contact, is kept while the center of the sphere is within its borders.
        """
        for one in self._bounded:
            self.parts[one.name] = nearest_part(self._system, one, state, before.get(one.name))

    def names(self, indices: Sequence[int]) -> frozenset[str]:
        """Return the names of the constraints of the gaps `indices`."""
        return frozenset(self.contact_points[c].constraint.name for c in indices)

    def row_of(self, point: ContactPoint) -> int:
        """Return the index of the constraint row for a closed gap `point` among the rows of its constraint."""
        return self.parts.get(point.constraint.name, point.number)

    def left_out(self, index: int) -> LeftOutRow:
        """Return a row, by its index among all gaps and slip components, as one that a run leaves out.

        Its law holds for the part of a bounded surface that is in contact now.
        """
        count = len(self.contact_points)
        if index < count:
            point = self.contact_points[index]
            law: ForceElement = point.of_part(self.parts.get(point.constraint.name))
            name, part = point.constraint.name, self.parts.get(point.constraint.name, 0)
            return LeftOutRow(name, point.number, False, 1, part, law)
        slip = self.slip_rows[index - count]
        law, part = slip.component.with_values(self._part_geometry(slip.on, "radii")), self.parts.get(slip.on.name, 0)
        return LeftOutRow(slip.component.name, slip.component.number, True, slip.side, part, law)

    def kinematics_at(self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray) -> ContactKinematics:
        """Return all gaps and slip components of a system at time t (s).

        `y` (13 n + k,) is the state vector of n bodies and k internal variables, and `angles` (K, 3) are the 1-2-3
        angles of K joints, rad.
        """
        watch, out = self._evaluated(solver, t, y, angles)
        count = len(self.contact_points) + len(self.slip_rows)
        force_directions = np.zeros((count, solver.slots.bodies + 1, 6))
        outputs, entries = watch.table.laws.outputs, watch.table.laws.entries
        for c, rows in enumerate(
            [*(point.rows for point in self.contact_points), *(component.rows for component in self.slip_rows)]
        ):
            first = entries[ELEMENT_SIZE * c + OUTPUT]
            for f, row in enumerate(rows):
                force_directions[c, row] += outputs[first + LANES * f : first + LANES * f + 6]
        force_directions = force_directions[:, :-1]
        in_body = force_directions.copy()
        R = matrix(solver.model.auxiliary.state(y).orientation)
        in_body[..., 3:] = np.einsum("nji,cnj->cni", R, force_directions[..., 3:])
        values, rates = out[::2], out[1::2]
        rates[len(self.contact_points) :] = values[len(self.contact_points) :]
        return ContactKinematics(values, rates, force_directions, in_body)

    def values_at(self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return all gaps (c,), m or rad; arguments are as for `kinematics_at`."""
        self.select_parts(self._system.model.auxiliary.state(y), {})
        _, out = self._evaluated(solver, t, y, angles)
        return out[: 2 * len(self.contact_points) : 2]

    def _evaluated(
        self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray
    ) -> tuple[EventMonitor, np.ndarray]:
        """Evaluate all gaps and slip components in compiled code; arguments are as for `kinematics_at`.

        Returns the evaluated monitor, with the force directions, and the values and rates (2 c,), alternating.
        """
        if solver not in self._monitors:
            guards = [
                EventFunction(point.key, f"{point.constraint}", point.at_rest, 0, False)
                for point in self.contact_points
            ]
            guards += [
                EventFunction(None, f"{component.component}", component.component, 0, False)
                for component in self.slip_rows
            ]
            self._monitors[solver] = EventMonitor(guards, solver)
        watch, count = self._monitors[solver], len(self.contact_points) + len(self.slip_rows)
        watch.laws.refer(t, angles)
        if self.parts:
            self._select_parts(watch)
        out, lanes = np.zeros(2 * count), solver.slots.state_to_lanes(y)
        with watch.calling(), solver.applied.calling():
            known = quantities_at(solver.mechanism, watch.table, float(t), lanes, out)
        if not known:
            watch.table.end[:] = out
            raise watch.trouble(t) or InputError(f"a gap is not a number at t = {t:g} s")
        return watch, out

    def force_on_j(self, kinematics: ContactKinematics, c: int) -> np.ndarray:
        """Return the force (3,) on body j for a unit multiplier of the gap with index c, inertial frame.

        `kinematics` contains the force directions at the state.
        """
        i, j = self.contact_points[c].rows[:2]
        force_directions: np.ndarray = (
            kinematics.force_directions[c, j, :3]
            if j < kinematics.force_directions.shape[1]
            else -kinematics.force_directions[c, i, :3]
        )
        return force_directions

    def check_contact_point(
        self, friction: StickSlip, kinematics: ContactKinematics, c: int, slips: Sequence[int]
    ) -> None:
        """Raise a SwitchingError if friction at a user-defined gap is not defined.

        The gap must be a length, and the line of action of its unit force f must pass through the contact point. The
        second condition is tested with the moments of f and of unit forces along the tangents u and v: for forces at a
        common point with the arm a, the moment of f is a x f = -u ((a x u) . f) - v ((a x v) . f), because f = u x v.

        Parameters
        ----------
        friction : the friction element
        kinematics : gaps, slip and force directions at a state
        c : index of the gap
        slips : indices of the slip components along u and v
        """
        i, j = self.contact_points[c].rows[:2]
        body = j if j < kinematics.force_directions.shape[1] else i
        force, moment = kinematics.force_directions[c, body, :3], kinematics.force_directions[c, body, 3:]
        if abs(np.linalg.norm(force) - 1.0) > GEOMETRY_TOLERANCE:
            raise SwitchingError(
                f"{friction}: the gap of {friction.on} must be the distance between its bodies, so that its gradient "
                f"is 1 where they touch; it is {np.linalg.norm(force):.6g}"
            )
        of_u, of_v = (kinematics.force_directions[k, body, 3:] for k in slips)
        u, v = (kinematics.force_directions[k, body, :3] for k in slips)
        expected = -u * (of_u @ force) - v * (of_v @ force)
        scale = max(1.0, *(float(np.linalg.norm(one)) for one in (of_u, of_v)))
        if np.linalg.norm(moment - expected) > GEOMETRY_TOLERANCE * scale:
            raise SwitchingError(
                f"{friction}: the point of {friction.on} is not where its bodies touch: the load along the gradient of "
                f"the gap passes it at {np.linalg.norm(moment - expected):.3g} m"
            )

    def accelerations(
        self, t: float, y: np.ndarray, angles: np.ndarray, which: Sequence[int], accelerations: np.ndarray
    ) -> np.ndarray:
        """Return the second time derivatives of gaps and the rates of slip components, (c,).

        t is the time, s, `y` the state vector, and `angles` (K, 3) are the 1-2-3 angles of K joints, rad. `which` are
        the c indices among all gaps and slip components. `accelerations` (n, 6) are linear, m/s^2, in the inertial
        frame, and angular, rad/s^2, in body axes.
        """
        model = self._system.model
        kin = Kinematics.of(model.auxiliary.state(y))
        motion = PoseDerivatives.of(kin, 2)
        motion.position[:-1, 2] = accelerations[:, :3]
        motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], accelerations[:, 3:])
        by_name = angles_by_name(model.joints, angles)
        found, count, slips = [], len(self.contact_points), dict[tuple[str, int], list[Any]]()
        for c in which:
            if c < count:
                point = self.contact_points[c]
                gap = point.at_rest.with_values(self._part_geometry(point.constraint, "numbers_of_gap"))
                found.append(2.0 * float(coordinate_at(gap, point.rows, motion, t, by_name).taylor[2]))
            else:
                slip = self.slip_rows[c - count]
                key = slip.component.name, slip.side
                if key not in slips:
                    component = slip.component.with_values(self._part_geometry(slip.on, "radii"))
                    slips[key] = slip_rates(component, slip.rows, motion, t)
                found.append(float(slips[key][slip.component.number].taylor[1]))
        return np.array(found)

    def _part_geometry(self, on: Any, parameter: str) -> dict[str, np.ndarray]:
        """Return the geometric constants of the surface part in contact, as a dict {parameter: values}.

        `on` is the contact, and `parameter` the name of the parameter for the constants. The dict is empty if no
        surface of the contact is bounded.
        """
        part = self.parts.get(on.name)
        return {} if part is None else {parameter: np.array(on.numbers_of(part))}

    def _select_parts(self, watch: EventMonitor) -> None:
        """Write the geometry of the faces and edges in contact into the compiled gap and slip functions of `watch`."""
        inputs, entries = watch.table.laws.inputs, watch.table.laws.entries
        owners = [*(point.constraint for point in self.contact_points), *(slip.on for slip in self.slip_rows)]
        for c, on in enumerate(owners):
            part = self.parts.get(on.name)
            if part is not None:
                # The numbers are the first parameters of gaps and of slip.
                first, numbers = entries[ELEMENT_SIZE * c + INPUT], on.numbers_of(part)
                inputs[first : first + len(numbers)] = numbers

    def impulses(
        self, y: np.ndarray, kinematics: ContactKinematics, which: Sequence[int], x: np.ndarray
    ) -> dict[str, Impulse]:
        """Return the impulses on body j of each contact and friction element, by name.

        `x` (c,) are the impulses along the gaps and slip components with the indices `which`; `y` is the state vector,
        and `kinematics` contains the force directions at this state.
        """
        found: dict[str, Impulse] = {}
        state, n = self._system.model.auxiliary.state(y), len(self._system.bodies)
        owners: list[tuple[Any, tuple[int, ...]]] = [(point.constraint, point.rows) for point in self.contact_points]
        owners += [(slip.component, slip.rows) for slip in self.slip_rows]
        for c, k in enumerate(which):
            if abs(x[c]) <= 0:
                continue
            (owner, rows), size = owners[k], x[c]
            # Loads on the ground are computed from those on body i.
            row, sign = (rows[1], 1.0) if rows[1] < n else (rows[0], -1.0)
            load = sign * size * kinematics.force_directions[c, row]
            origin, on = owner.ends[1][1].origin, rows[1]
            point = state.position[on] + matrix(state.orientation[on]) @ origin if on < n else origin
            arm = state.position[row] - point
            before = found.get(owner.name, Impulse(np.zeros(3), np.zeros(3)))
            moment = load[3:] + np.cross(arm, load[:3])
            found[owner.name] = Impulse(before.force + load[:3], before.torque + moment)
        return found


def _gap_of_one_part(gap: Gap, constraint: Unilateral, number: int) -> Gap:
    """Return the gap function of a single part of a bounded surface; for other constraints the gap itself.

    `number` is the index of the gap in its constraint.
    """
    return gap if constraint.parts is None else Gap(constraint, number, relation=constraint.resting_gaps[0])
