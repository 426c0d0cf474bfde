"""Derivatives of the times at which slip begins or ends, and contacts open, with respect to D parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.analysis.linear.quantity_derivatives import QuantityDerivatives
from quirk.constraints.relation import layout_of
from quirk.dynamics.model.friction_normal_load import Changing, load_with_changes
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.errors import InputError
from quirk.events.names import Reading, Shared
from quirk.forces.ball_friction import BallFriction
from quirk.forces.friction import Friction
from quirk.forces.joint_friction import JointFriction
from quirk.forces.stick_slip import NORMAL, StickSlip

from .change import ParameterChange
from .part_parameters import LAW

# Number of inputs of a frame (its origin) before the axes.
ORIGIN = 3


def slip_end_time(derivatives: QuantityDerivatives, name: str) -> np.ndarray:
    """Return the derivative (D,) of the time at which the slip of a friction element ends, s per unit.

    `derivatives` are the derivatives of the motion with respect to D parameters, and `name` is the name of the element.
    """
    point = derivatives.point
    number, element, rows = next(
        (k, candidate, rows) for k, (candidate, rows) in enumerate(point.model.forces) if candidate.name == name
    )
    if isinstance(element, BallFriction):
        inputs = derivatives.variation.directions.laws.get(number, {})
        rates = [derivatives.coordinate_terms(element, rows, c, inputs) for c in range(1, len(element.coordinates))]
        slowing, moved = np.array([terms[1] for terms, _ in rates]), np.array([change[0] for _, change in rates])
        return np.asarray(-(slowing @ moved) / (slowing @ slowing))
    if isinstance(element, JointFriction):
        x, moved = derivatives.coordinate_terms(element, rows, 0, derivatives.variation.directions.laws.get(number, {}))
        return np.asarray(-moved[1] / (2.0 * x[2]))
    assert isinstance(element, Friction)
    table = point.solver.frictions
    first = int(table.direction[point.frictions.index(element)])
    heading = point.solver.applied.table.inputs[first : first + element.slip.size].copy()
    acting, inputs = element.with_values({"direction": heading}), derivatives.variation.directions.laws.get(number, {})
    terms, moved = derivatives.coordinate_terms(acting, rows, element.coordinates.index("ahead"), inputs)
    return np.asarray(-moved[0] / terms[1])


def unloading_time(derivatives: QuantityDerivatives, flow: QuantityDerivatives, load: Reading) -> np.ndarray:
    """Return the derivative (D,) of the time at which the load of a contact falls to zero, s per unit of parameter.

    The result is NaN where other contacts share the load.

    Parameters
    ----------
    derivatives : derivatives of the motion with respect to the D parameters
    flow : derivatives of the motion with respect to time, as a single direction
    load : load of the contact
    """
    model = derivatives.point.model
    if isinstance(load, Shared):
        if any(load.offsets) or sorted(map(abs, load.weights[0])) != [0.0] * (len(load.weights[0]) - 1) + [1.0]:
            return np.full(derivatives.variation.directions.count, np.nan)
        name, row = load.rows[int(np.abs(load.weights[0]).argmax())]
    else:
        assert load.of is not None
        name, row = load.of.name, 0
    place = model.joint_rows[name].start + row
    change, rate = (along.variation.tangent.multipliers[:, place] for along in (derivatives, flow))
    return np.asarray(-change / rate)


def limit_time(
    derivatives: QuantityDerivatives, flow: QuantityDerivatives, cone: Reading, changes: Sequence[ParameterChange]
) -> np.ndarray:
    """Return the derivative (D,) of the time at which sticking friction reaches its limit, s per unit of parameter.

    Parameters
    ----------
    derivatives : derivatives of the motion with respect to the D parameters
    flow : derivatives of the motion with respect to time, as a single direction
    cone : margin of the friction element to its limit
    changes : derivatives of the system with respect to the parameters
    """
    friction = cone.of
    assert isinstance(friction, StickSlip)
    constant = isinstance(friction, JointFriction)
    if (
        not isinstance(cone, Shared)
        or any(cone.offsets[constant:])
        or any(sorted(np.abs(of)) != [0.0] * (len(of) - 1) + [1.0] for of in cone.weights[constant:])
    ):
        raise InputError(
            f"simulate: sensitivities: {friction} begins to slide while several contacts or joints share the load, "
            "which is not differentiated"
        )
    numbers = [change.numbers.get((LAW, friction.name, 0)) for change in changes]

    def changed(parameter: str) -> np.ndarray:
        place = friction.place_of(parameter)
        return np.array([0.0 if inputs is None else inputs[place] for inputs in numbers])

    still = np.zeros(1)
    margin = _margin_variation(derivatives, cone, friction, changed("static"), still if constant else changed("length"))
    return np.asarray(-margin / _margin_variation(flow, cone, friction, still, still))


def _margin_variation(
    derivatives: QuantityDerivatives,
    cone: Shared,
    friction: StickSlip,
    limit_variation: np.ndarray,
    length_variation: np.ndarray,
) -> np.ndarray:
    """Return the derivative (D,) of the margin of a sticking friction element to its limit, N per unit of parameter.

    `derivatives` are the derivatives of the motion with respect to D parameters, and `cone` is the margin;
    `limit_variation` and `length_variation` (D,) are the derivatives of the element's static limit and of its length.
    """
    model, weights = derivatives.point.model, np.array(cone.weights).reshape(len(cone.offsets), -1)
    rows = [model.joint_rows[name].start + row for name, row in cone.rows]
    forces = weights @ derivatives.point.loaded.multipliers[rows] + np.array(cone.offsets)
    moved = weights @ derivatives.variation.tangent.multipliers[:, rows].T
    N, dN = float(forces[0]), moved[0]
    if isinstance(friction, Friction) and friction.takes != NORMAL:
        N, dN = _load(derivatives, friction, length_variation)
    held = float(np.linalg.norm(forces[1:]))
    return np.asarray(friction.static * dN + limit_variation * N - (forces[1:] @ moved[1:]) / held)


def _load(
    derivatives: QuantityDerivatives, friction: Friction, length_variation: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the normal load of joint friction, N, and its derivatives (D,) with respect to D parameters.

    `derivatives` are the derivatives of the motion with respect to the parameters; `length_variation` (D,), m per unit
    of each parameter, are the derivatives of the parameter `length` of the friction element.
    """
    load, moved = derivatives.joint_load(friction.on)
    point, by_relation = derivatives.point, derivatives.variation.directions.relations
    first = point.model.joint_rows[friction.on.name].start
    number, placed = next(
        (k, relation) for k, relation in enumerate(as_relations(point.model)) if relation.rows.start == first
    )
    count, body = moved.shape[1], placed.bodies[0]
    place = layout_of(placed.relation, len(placed.bodies), 2).first_frame + ORIGIN + friction.axis
    turned = np.array([by_relation.get(number, {}).get(place + 3 * c, np.zeros(count)) for c in range(3)])
    vector, R = friction.on.frame_i.matrix[:, friction.axis], point.kin.rotation[body]
    axis: Changing = R @ vector, (np.einsum("rcd,c->rd", derivatives.rotation[body], vector) + R @ turned).T
    return load_with_changes(friction, axis, (load[:3], moved[:3].T), (load[3:], moved[3:].T), length_variation)
