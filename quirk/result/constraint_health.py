"""Accuracy and conditioning of the constraints along a motion, and detection of contradictory constraints."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.assembly import FAR, constraint_of, missing, violations
from ..analysis.mobility import nearly_dependent, nearly_dependent_text
from ..bodies.state import State
from ..dynamics.dense.projection import factorise
from ..dynamics.dense.rows import tangent_rows
from ..dynamics.inconsistency import contradiction, rigidity
from ..dynamics.model.applied_loads import summed
from ..dynamics.model.metric import Metric
from ..dynamics.sparse.solver.along_states import residuals_along
from ..errors import SimulationError
from .segment import Segment, joined

if TYPE_CHECKING:
    from .result import Result

# Factor between the rank tolerance and violations, relative to the system's size, that are neither round-off nor due to
# rows omitted as nearly dependent; and the number of states that are checked.
CONTRADICTION, CHECKED_STATES = 10.0, 10


@dataclass(frozen=True)
class Health:
    """Accuracy and conditioning of the constraints over time; arrays have one entry for each of nt times.

    Attributes
    ----------
    time : (nt,) s
    rank : (nt,) number of independent constraint rows
    smallest_singular_value : (nt,) ratio of the smallest to the largest singular value of the generically independent
        rows, for equal bodies and rows scaled to unit length; it approaches zero at a singular configuration
    nearly_dependent : smallest distance, over time, of a row from the span of the other rows, by label of the row; only
        rows that are nearly dependent at some time
    position, velocity : (nt,) largest residual ``|Phi|`` and largest rate ``|Phi_dot|`` of all rows
    norm : (nt,) largest deviation of a quaternion from unit length
    power : (nt,) total power of all constraint forces, W: the power of the drivers; zero without drivers
    power_balance : (nt,) rate of the kinetic energy minus the power of applied and constraint forces, W
    """

    time: np.ndarray
    rank: np.ndarray
    smallest_singular_value: np.ndarray
    nearly_dependent: dict[str, float]
    position: np.ndarray
    velocity: np.ndarray
    norm: np.ndarray
    power: np.ndarray
    power_balance: np.ndarray

    def __repr__(self) -> str:
        return f"<Health: of the constraints at {len(self.time)} times; print it>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_health

        return of_health(self)

    def __str__(self) -> str:
        low = int(np.argmin(self.smallest_singular_value)) if len(self.time) else 0
        near = [nearly_dependent_text(self.nearly_dependent)] if self.nearly_dependent else []
        return "\n".join(
            [
                f"rank                      {self.rank.min()} to {self.rank.max()}",
                f"smallest singular value   {self.smallest_singular_value[low]:.3g} at t = {self.time[low]:g} s",
                *near,
                f"residuals                 {self.position.max():.1e} at position level, {self.velocity.max():.1e} at "
                "velocity level",
                f"| |q| - 1 |               {self.norm.max():.1e}",
                f"power of constraints      {self.power.min():.6g} to {self.power.max():.6g} W",
                f"power balance             {np.abs(self.power_balance).max():.1e} W",
            ]
        )


def health(result: Result) -> Health:
    """Return accuracy and conditioning of the constraints at all times of a result."""
    found = [_along(segment) for segment in result.segments]
    near: dict[str, float] = {}
    for part in found:
        for label, distance in part.nearly_dependent.items():
            near[label] = min(distance, near.get(label, distance))
    arrays = [field.name for field in fields(Health) if field.name != "nearly_dependent"]
    whole = {name: joined([getattr(part, name) for part in found]) for name in arrays}
    return Health(nearly_dependent=near, **whole)


def _along(segment: Segment) -> Health:
    model, metric, count = segment.model, Metric.uniform(segment.model), len(segment.time)
    solver, motion = segment.solver(), segment.dynamics
    velocity, spin = segment.state.velocity, segment.state.angular_velocity
    kinetic = np.einsum("n,tni,tni->t", model.mass, motion.linear, velocity)
    kinetic += np.einsum("tni,nij,tnj->t", spin, model.inertia, motion.angular)
    rank = np.zeros(count, dtype=int)
    smallest, power, applied = np.zeros((3, count))
    near: dict[str, float] = {}
    for row, (t, kin) in enumerate(zip(segment.instants, segment.kinematics, strict=True)):
        force, torque = summed(model, (motion.forces[element.name].loads[row, :, 0] for element, _ in model.forces))
        applied[row] = np.sum(force * velocity[row]) + np.sum(torque * kin.spin[:-1])
        if model.rows:
            A = tangent_rows(model, kin, float(t))
            power[row] = motion.multipliers[row] @ (A @ np.concatenate([velocity[row], spin[row]], axis=1).ravel())
            independence = solver.row_independence(segment.state_at(row), float(t))
            rank[row] = independence.rank
            for label, distance in nearly_dependent(model, independence).items():
                near[label] = min(distance, near.get(label, distance))
            singular = factorise(model, metric, kin, float(t), least=0.0).s
            smallest[row] = singular[min(segment.rank, len(singular)) - 1] / singular[0] if segment.rank else 0.0
    norm = np.abs(np.linalg.norm(segment.state.orientation, axis=2) - 1).max(axis=1)
    phi, phi_dot = np.abs(segment.residuals).max(axis=1, initial=0.0).T
    return Health(segment.time, rank, smallest, near, phi, phi_dot, norm, power, kinetic - applied - power)


def check_kept(result: Result, owner: str) -> None:
    """Raise a SimulationError if redundant constraints contradict each other, so that the run violates some of them.

    A few states along the run are checked. `owner` is the name of the calling function, for the message.
    """
    rows = np.unique(np.linspace(0, len(result.time) - 1, CHECKED_STATES).astype(int))
    first = 0
    for segment in result.segments:
        here = rows[(first <= rows) & (rows < first + len(segment.time))] - first
        first += len(segment.time)
        unknown = segment.changed and not segment.recorded
        if not here.size or not segment.model.rows or unknown:
            continue
        miss = _violations(segment, here)
        wrong = ~(miss.max(axis=1) <= CONTRADICTION * segment.model.rank_tolerance)
        if wrong.any():
            row = int(np.argmax(wrong))
            _contradiction(result, owner, segment, int(here[row]), int(np.argmax(miss[row])))


def _violations(segment: Segment, rows: np.ndarray) -> np.ndarray:
    """Return the violation of each of m constraint rows at k selected times, (k, m).

    Angles are in rad, lengths are relative to the size of the system; `rows` are the indices of the times.
    """
    state, model = State(*(part[rows] for part in segment.state.parts)), segment.model
    if segment.recorded:
        residuals = segment.residuals[rows]
    else:
        residuals = residuals_along(segment.plant.for_residuals, segment.time[rows], state)
    amount, _ = missing(model, residuals)
    reach = np.abs(state.position).max(axis=(1, 2))
    return np.asarray(amount / np.where(model.row_torque, 1.0, model.length + FAR * reach[:, None]))


def _contradiction(result: Result, owner: str, segment: Segment, row: int, violated_row: int) -> None:
    """Raise a SimulationError about redundant constraints that contradict each other.

    `owner` is the name of the calling function, for the message. `violated_row` is the index of the violated constraint
    row, and `row` the output index of the state in the segment.
    """
    state, t = segment.state_at(row), float(segment.time[row])
    system = result.system.as_computed_by(segment.plant)
    amount, _, angular = violations(system, state, t)
    rows = contradiction(system, state, t, violated_row)
    raise SimulationError(
        f"{owner}: at t = {t:.9g} s {constraint_of(system, violated_row)} is violated by {amount[violated_row]:.3g} "
        f"{'rad' if angular[violated_row] else 'm'} (row {system.model.labels[violated_row]}): {rows}"
        f"{rigidity(system, segment.state_at(0), float(segment.time[0]))}; the result is in this error's .result",
        time=t,
        result=result,
    )
