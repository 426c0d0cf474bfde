"""Rows of closed gaps and of slip components with friction, at one state.

A row is the direction of a gap or slip component. Of the r rows, the first c belong to gaps. Gaps that are angles are
multiplied by the characteristic length of the system, so that forces along all rows are in N and rates in m/s. State
vectors are (13 n + k,) for n bodies and k auxiliary states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.analysis.contact.friction_modes import FrictionModes
from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.constraints.slip import OfGap
from quirk.dynamics.contact.contact_modes import FrictionElement
from quirk.dynamics.contact.impulse import Impulse, impulses
from quirk.dynamics.contact.load_sharing import joint_compliances
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from quirk.dynamics.sparse.solver.joint_loads import JointLoads
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError
from quirk.forces.friction import Friction
from quirk.forces.joint_friction import JointFriction
from quirk.forces.stick_slip import StickSlip

# Relative difference of loads beyond which they count as not unique.
UNIQUE = 1e-6


@dataclass(frozen=True)
class ContactRows:
    """The r rows of c closed gaps and of slip components with friction, evaluated at one state.

    Attributes
    ----------
    indices : indices of the rows among all gaps and slip components of the system
    contact_count : number c of gaps, whose rows come first
    kinematics : values, m, rates, m/s, and force directions of the rows
    arms : (r,) lever arms by which gaps and slip components are multiplied: 1, or the characteristic length for angles
    length : characteristic length of the system, m
    W : (r, r) jumps of the rates of rows due to unit impulses along the rows; zero for rows that constraints block
    unconstrained_response : (r,) jump of the rate of each row due to a unit impulse along it, for bodies without
        constraints
    elements : friction elements in terms of these rows
    friction_elements : the corresponding friction elements of the system
    sides : side of the first surface, +1 or -1, on which the slip components are smooth
    compliance : (r,) relative compliances of the rows, which determine the distribution of loads over dependent rows
    axes : axes (3, 3) of body i, inertial frame, of each friction element in a joint with a normal load of its own
    """

    indices: list[int]
    contact_count: int
    kinematics: ContactKinematics
    arms: np.ndarray
    length: float
    W: np.ndarray
    unconstrained_response: np.ndarray
    elements: list[FrictionElement]
    friction_elements: list[StickSlip]
    sides: list[int]
    compliance: np.ndarray
    axes: dict[str, np.ndarray] = field(default_factory=dict)


class ContactRowEvaluator:
    """Evaluator of the rows of closed gaps and of friction elements at a state.

    Parameters
    ----------
    gaps : gaps of the system
    frictions : friction elements of the system
    """

    def __init__(self, gaps: Gaps, frictions: FrictionModes) -> None:
        self._gaps, self._frictions = gaps, frictions

    def at(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        kinematics: ContactKinematics,
        closed: Sequence[int],
        acting: Sequence[StickSlip],
        loads: bool,
    ) -> ContactRows:
        """Return the rows of closed gaps and of active friction elements at time t (s) and state vector y.

        `kinematics` contains the values, rates and force directions of all gaps and slip components; `closed` are the
        indices of the closed gaps, and `acting` the active friction elements. If `loads` is True, the dependence of the
        normal loads of joints on the forces along the rows is computed, too.
        """
        indices, elements, sides = self._friction_elements(solver.model.auxiliary.state(y), kinematics, closed, acting)
        arms = self._gaps.arms[indices]
        kinematics = kinematics.subset(indices).times(arms)
        none, lanes = np.zeros(solver.model.rows), solver.slots.state_to_lanes(y)
        responses = [solver.respond(lanes, t, none, push) for push in kinematics.force_directions]
        W = kinematics.responses([change for change, _ in responses], solver.model)
        compliance = _compliance(solver.model.length, len(indices), elements, acting)
        result = ContactRows(
            indices,
            len(closed),
            kinematics,
            arms,
            solver.model.length,
            W,
            kinematics.unconstrained_response(solver.model),
            elements,
            list(acting),
            sides,
            compliance,
        )
        joints = [k for k, element in enumerate(elements) if element.contact is None and element.normal_load is None]
        if loads and joints:
            response = [impulses(solver, y, multipliers) for _, multipliers in responses]
            self._set_joint_loads(solver, t, y, result, joints, response)
        return result

    def _friction_elements(
        self, state: State, kinematics: ContactKinematics, closed: Sequence[int], acting: Sequence[StickSlip]
    ) -> tuple[list[int], list[FrictionElement], list[int]]:
        """Return the indices of all rows, the friction elements in terms of these rows, and their sides.

        `kinematics`, `closed` and `acting` are arguments of `at`; the results are attributes of `ContactRows`.
        """
        points, slips = self._gaps.contact_points, self._gaps.slip_rows
        indices, elements, sides = list(closed), [], []
        contact = {points[c].constraint.name: row for row, c in enumerate(closed)}
        for friction in acting:
            push = None
            if isinstance(friction.slip, OfGap) and friction.on.name in contact:
                push = self._gaps.force_on_j(kinematics, closed[contact[friction.on.name]])
            side = self._frictions.side(friction, state, push)
            slip_rows = [
                len(points) + k
                for k, slip in enumerate(slips)
                if slip.component.name == friction.name and slip.side == side
            ]
            rows = list(range(len(indices), len(indices) + len(slip_rows)))
            load = ConstantLoad(friction.load_per_effort) if isinstance(friction, JointFriction) else None
            coefficient = friction.sliding_coefficient(0.0)
            elements.append(FrictionElement(rows, coefficient, friction.static, contact.get(friction.on.name), load))
            indices += slip_rows
            sides.append(side)
            if push is not None:
                self._gaps.check_contact_point(friction, kinematics, closed[contact[friction.on.name]], slip_rows)
        return indices, elements, sides

    def _set_joint_loads(
        self,
        solver: Solver,
        t: float,
        y: np.ndarray,
        rows: ContactRows,
        joints: Sequence[int],
        response: Sequence[Mapping[str, Impulse]],
    ) -> None:
        """Compute how the normal loads of joints with friction depend on forces along the rows, and store it in `rows`.

        `joints` are the indices of the friction elements in joints, and `response` are the joint loads due to a unit
        force along each row.
        """
        state = solver.model.auxiliary.state(y)
        loads, others = joint_loads_of_two_kinds(solver, t, y)
        for k in joints:
            friction = rows.friction_elements[k]
            assert isinstance(friction, Friction)
            base, axis = loads[friction.on.name], self._frictions.axis(friction, state)
            by_row = [np.concatenate([of[friction.on.name].force, of[friction.on.name].torque]) for of in response]
            rows.elements[k].normal_load = NormalLoad(friction, axis, base, np.array(by_row).T)
            rows.axes[friction.name] = self._frictions.body_axes(friction, state)
            if solver.redundant:
                check_normal_load_is_unique(friction, axis, loads, others)


def joint_loads_of_two_kinds(
    solver: Solver, t: float, y: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return two possible loads (6,) of each joint at time t (s) and state vector y: force, N, and torque, N m.

    If rows are redundant, the first are the loads of minimum norm, and the second those of a run, in which independent
    rows carry all loads. Otherwise both are the same.
    """
    state = solver.model.auxiliary.state(y)
    solver.rates(t, solver.slots.state_to_lanes(y))
    position = np.append(state.position, np.zeros((1, 3)), axis=0)
    R = rotation.matrix(np.append(state.orientation, [rotation.IDENTITY], axis=0))
    reader, found = JointLoads(solver, solver.related), []
    for multipliers in (solver.multipliers(), solver.work.x[solver.tables.row_lane]):
        (force,), (torque,) = reader.read([solver.work.G], [multipliers], position[None], R[None])
        found.append(dict(zip(solver.model.joint_rows, np.concatenate([force, torque], axis=1), strict=True)))
    return found[0], found[1]


def _compliance(
    length: float, count: int, elements: Sequence[FrictionElement], acting: Sequence[StickSlip]
) -> np.ndarray:
    """Return the relative compliances (r,) of the `count` rows; dependent rows share loads like springs in parallel.

    `length` is the characteristic length of the system, m, `acting` are the friction elements; `elements` is an
    attribute of `ContactRows`.
    """
    joints = [
        (element.rows, one) for element, one in zip(elements, acting, strict=True) if isinstance(one, JointFriction)
    ]
    compliance = np.ones(count)
    for (rows, _), soft in zip(joints, joint_compliances([one for _, one in joints], length), strict=True):
        compliance[rows] = soft
    return compliance


def check_normal_load_is_unique(
    friction: Friction, axis: np.ndarray, loads: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]
) -> None:
    """Raise a SwitchingError if the normal load of a joint with friction is not unique.

    `axis` (3,) is the axis of the friction in the inertial frame; `loads` and `others` are two possible loads (6,) of
    each joint, by name. Their difference must be negligible in comparison with the largest force.
    """
    difference = loads[friction.on.name] - others[friction.on.name]
    off, _ = NormalLoad(friction, axis, difference, np.zeros((6, 0)))(np.zeros(0))
    if off > UNIQUE * max(np.abs(load[:3]).max() for load in loads.values()):
        shorter = "leave out length=, or " if friction.length > 0 else ""
        raise SwitchingError(
            f"{friction}: the normal load of {friction.on} is not unique, as redundant rows share it (solutions differ "
            f"by {off:.3g} N): {shorter}replace joints so that no rows are redundant; system.mobility() names them"
        )
