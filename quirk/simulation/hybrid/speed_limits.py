"""Speeds below which contacts count as resting, and slip as zero."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.analysis.contact.friction_modes import ENDS, SLIP_FLOOR
from quirk.dynamics.contact.contact_modes import joint_normal_load
from quirk.dynamics.model.model import Model
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import StiffnessWarning, outside
from quirk.forces.stick_slip import CONSTANT

from .contact_rows import ContactRows
from .contact_states import ROUND_OFF, SpeedLimits

# Default speed, over the speed after a free fall over the length of the system, below which impacts have no rebound and
# slip counts as zero.
REST_SPEED = 1e-6
# Speeds below this fraction of the speed after a free fall over the length of the system count as round-off, even if
# all bodies are at rest.
STILL = 1e-15
# Number of fixed steps in which friction would stop the slip below which its direction follows slip with a delay.
STEPS_TO_STOP = 2.0
# Ratio of the accelerations of slip in two directions by the same force from which on a body counts as slender.
SLENDER = 4.0


@dataclass(frozen=True)
class ContactInstant:
    """Instant at which impacts are computed: time, joint angles, solver and gaps.

    Attributes
    ----------
    t : time, s
    angles : (K, 3) 1-2-3 angles of K joints, rad
    solver : solver with the bilateral constraints
    gaps : all gaps of the system
    fastest : largest speed of the bodies before the impacts, m/s, and before earlier ones at this time; the round-off
        of speeds is relative to it
    step : size of the time steps, s, if it is fixed, otherwise 0
    prescribed : rates of all gaps and slip components that count as zero; see `slow_prescribed_rates`
    """

    t: float
    angles: np.ndarray
    solver: Solver
    gaps: Gaps
    fastest: float
    step: float = 0.0
    prescribed: np.ndarray | float = 0.0

    def kinematics(self, y: np.ndarray) -> ContactKinematics:
        """Return the values, rates and constraint rows of all gaps at the state vector y."""
        found = self.gaps.kinematics_at(self.solver, self.t, y, self.angles)
        return replace(found, rate=found.rate - self.prescribed)

    def accelerations(self, y: np.ndarray, indices: list[int]) -> np.ndarray:
        """Return the accelerations of some gaps and slip components under all loads at the state vector y.

        `indices` are the indices of these gaps and slip components.
        """
        return self.gaps.accelerations(self.t, y, self.angles, indices, self.body_accelerations(y))

    def body_accelerations(self, y: np.ndarray) -> np.ndarray:
        """Return the linear (m/s^2) and angular (rad/s^2) accelerations (n, 6) of n bodies at the state vector y."""
        slots = self.solver.slots
        return slots.body_states(self.solver.rates(self.t, slots.state_to_lanes(y)))[:, 7:]


def largest_speed(model: Model, y: np.ndarray) -> float:
    """Return an estimate of the largest speed of points of the bodies, m/s.

    It is the largest speed of a center of mass, plus the largest angular velocity times the characteristic length of
    the system.
    """
    state = model.auxiliary.state(y)
    turning = model.length * np.sqrt((state.angular_velocity**2).sum(axis=1)).max()
    return float(np.sqrt((state.velocity**2).sum(axis=1)).max() + turning)


def largest_acceleration(model: Model, y: np.ndarray, rates: np.ndarray) -> float:
    """Return an estimate of the largest acceleration of points of the bodies due to loads and rotation, m/s^2.

    `rates` (n, 6) are the linear (m/s^2) and angular (rad/s^2) accelerations of n bodies at state vector y. Gravity is
    included even if the bodies are at rest.
    """
    turning = (model.auxiliary.state(y).angular_velocity ** 2).sum(axis=1).max()
    linear, angular = (np.sqrt((rates[:, part] ** 2).sum(axis=1)).max() for part in (slice(3), slice(3, 6)))
    return float(np.linalg.norm(model.gravity) + linear + model.length * (angular + turning))


def friction_acceleration(rows: ContactRows) -> float:
    """Return the largest acceleration of slip due to friction of joints, m/s^2, with their loads without contacts."""
    largest, none = 0.0, np.zeros(len(rows.W))
    for element in rows.elements:
        if element.normal_load is not None:
            response = np.diag(rows.W)[element.rows].max() or rows.unconstrained_response[element.rows].max()
            largest = max(largest, float(element.coefficient * joint_normal_load(element, none)[0] * response))
    return largest


def slip_limit(instant: ContactInstant, y: np.ndarray, rows: ContactRows) -> float:
    """Return the slip speed (m/s) below which a contact or joint with friction counts as not slipping.

    It is REST_SPEED times the speed after a free fall over the characteristic length of the system, with the
    largest of three accelerations: gravity, those of the rows, and those due to friction of joints. It is
    increased where needed, so that SLIP_FLOOR times the result is at least the round-off of the fastest body, also of
    its speed before an impact that stops it. `instant` holds the time, solver and gaps, `y` is the state vector, and
    `rows` are the rows of gaps and slip components.
    """
    model = instant.solver.model
    accelerations = rows.arms * instant.accelerations(y, rows.indices)
    fall = max(np.abs(accelerations).max(initial=0.0), friction_acceleration(rows))
    by_fall = REST_SPEED * np.sqrt(max(fall, np.linalg.norm(model.gravity)) * model.length)
    return float(max(by_fall, ROUND_OFF * max(largest_speed(model, y), instant.fastest) / SLIP_FLOOR))


def slip_resolved_by_steps(instant: ContactInstant, y: np.ndarray, rows: ContactRows) -> np.ndarray:
    """Return the slip speeds (r,), m/s, below which steps of fixed size do not follow the direction of slip.

    Friction F turns the slip s of a mass m at the rate F / (m s), too fast for explicit steps longer than m s / F. The
    result is 0 for gaps, for slip with a single component, and for runs whose step size adapts. Arguments are as for
    `slip_limit`. If friction accelerates a slipping body far more in one direction than in another, its slip in the
    first direction is not resolved, and a StiffnessWarning is issued.
    """
    found, none = np.zeros(len(rows.W)), np.zeros(len(rows.W))
    flat = [friction.slip.size == 1 for friction in rows.friction_elements]
    if not instant.step > 0 or all(flat):
        return found
    response, gravity = np.diag(rows.W), float(np.linalg.norm(instant.solver.model.gravity))
    closing = np.maximum(np.abs(rows.arms * instant.accelerations(y, rows.indices)), gravity)
    for element, friction in zip(rows.elements, rows.friction_elements, strict=True):
        if friction.slip.size == 1:
            continue
        if element.normal_load is not None:
            load = joint_normal_load(element, none)[0]
        elif element.contact is not None and response[element.contact] > 0:
            load = closing[element.contact] / response[element.contact]
        else:
            continue
        own = response[element.rows]
        own = own[own > 0]  # constraints block the slip along the others
        if not len(own):
            continue
        most, least = STEPS_TO_STOP * instant.step * element.coefficient * load * np.array([own.max(), own.min()])
        # The direction of friction with a constant limit is kept below a multiple of this slip already.
        resolved = min(most, SLENDER * least) / (ENDS if friction.takes == CONSTANT else 1.0)
        found[element.rows] = resolved
        if resolved < np.linalg.norm(rows.kinematics.rate[element.rows]) < most > SLENDER * least:
            warnings.warn(
                f"{friction}: fixed steps of {instant.step:.3g} s are too long for the direction of its slip, because "
                'the same force accelerates slip far more in one direction than in another: leave out "step", or make '
                "it shorter",
                StiffnessWarning,
                stacklevel=outside(),
            )
    return found


def _accelerations_by_friction(rows: ContactRows, closing: np.ndarray) -> np.ndarray:
    """Return upper bounds (c,) of the accelerations of gaps due to friction, m/s^2 or rad/s^2.

    The load of a contact is the one that balances its acceleration `closing` (c,), m/s^2, without contacts.
    """
    count, found = rows.contact_count, np.zeros(rows.contact_count)
    response, none = np.diag(rows.W), np.zeros(len(rows.W))
    for element in rows.elements:
        c = element.contact
        if c is None:
            load = joint_normal_load(element, none)[0]
        else:
            load = closing[c] / response[c] if response[c] > 0 else 0.0
        found += element.coefficient * load * np.abs(rows.W[:count, element.rows]).max(axis=1)
    return np.asarray(found / rows.arms[:count])


def speed_limits(
    instant: ContactInstant,
    y: np.ndarray,
    closed: list[int],
    kinematics: ContactKinematics,
    units: np.ndarray,
    rest_speed: np.ndarray,
    rows: ContactRows | None,
) -> SpeedLimits:
    """Return the speed limits of closed gaps that separate rest from motion; see `SpeedLimits`.

    The default limit is REST_SPEED times the speed after a free fall over the characteristic length, under gravity
    or, without gravity, with the acceleration of the gap due to loads and friction, without contacts, or the largest
    one of all bodies, as loads may act on a gap through other contacts.

    Parameters
    ----------
    instant : time, solver and gaps
    y : state vector
    closed : indices of the c closed gaps
    kinematics : values of these gaps
    units : (c,) characteristic sizes of the gaps: 1 rad for angles, the length of the system (m) for distances
    rest_speed : (c,) limits chosen by the user, m/s or rad/s, or NaN
    rows : rows of these gaps and of friction; without gravity with the normal loads of joints; None without friction
    """
    model = instant.solver.model
    gravity = np.linalg.norm(model.gravity) * np.ones(len(closed)) * units / model.length
    free = np.sqrt(gravity * units)
    if not model.gravity.any():
        # Friction and other contacts may close gaps that the loads alone would open.
        gravity = np.abs(instant.accelerations(y, closed))
        if rows is not None:
            gravity = gravity + _accelerations_by_friction(rows, rows.arms[: len(closed)] * gravity)
        linear, angular = np.split(np.abs(instant.body_accelerations(y)), 2, axis=1)
        gravity = np.maximum(gravity, (linear.max() / model.length + angular.max()) * units)
        free = np.sqrt(gravity * units)
    default = REST_SPEED * np.sqrt(gravity * units)
    limits = np.where(np.isnan(rest_speed), default, rest_speed)
    # Gaps below zero by round-off stay closed unless they open faster.
    slow = np.maximum(np.minimum(limits, default), np.sqrt(2 * gravity * np.maximum(-kinematics.value, 0.0)))
    noise: np.ndarray = np.maximum(ROUND_OFF * instant.fastest * units / model.length, STILL * free)
    return SpeedLimits(limits, slow, noise, np.sqrt(gravity * units))
