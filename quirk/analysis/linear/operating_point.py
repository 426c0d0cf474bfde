"""Operating point of a linearization: a state with its accelerations, multipliers and derivatives.

Terms: a direction is a small variation of poses, velocities, internal variables and parameters; D is the number of
directions.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies.rotation import skew
from quirk.bodies.state import STATE_SIZE, Kinematics, State
from quirk.dynamics.model.applied_loads import Exerted
from quirk.dynamics.model.constrained_motion import ConstrainedMotion
from quirk.dynamics.model.directions import OMEGA, SHIFT, TURN, VELOCITY, Directions
from quirk.dynamics.model.joint_angles import angles_at, angles_by_name
from quirk.dynamics.model.metric import Metric
from quirk.dynamics.model.model import Model
from quirk.dynamics.model.tangents import Tangent
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.kernels.applied import ELEMENT_SIZE, OUTPUT
from quirk.dynamics.sparse.solver.along_states import constrained_motion
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.tangent.tangent import Differential
from quirk.errors import InputError
from quirk.forces import Friction, JointFriction
from quirk.forces.ball_friction import BallFriction
from quirk.forces.elastic_rope import ElasticRope
from quirk.forces.law_layout import COORDINATE
from quirk.forces.stick_slip import StickSlip

from ..assembly import check_consistent

if TYPE_CHECKING:
    from quirk.system.system import System

# Slip of friction below this fraction of the largest velocity is round-off.
STANDS = 1e-12


class Point:
    """Operating point of a linearization: a state of n bodies that satisfies the constraints.

    Attributes
    ----------
    linear : (n, 3) accelerations of the centers of mass, inertial frame, m/s^2
    angular : (n, 3) rates of the angular velocities, body axes, rad/s^2
    internal_rates : (k,) rates of the k internal variables
    magnitudes : (C,) forces of the C sliding friction elements, N
    laws : loads and energies of the force elements by name
    """

    def __init__(self, system: System, state: State, t: float) -> None:
        check_consistent(system, state, t)
        self._set_state(system, system.plant, system.plant.solver(), state, t)
        self.rank = self.solver.settle_state(state, t)
        self._evaluate(angles_at(self.model, state, t))
        self._require_slip()

    @classmethod
    def along(
        cls, system: System, plant: CompiledModel, solver: Solver, state: State, t: float, angles: np.ndarray
    ) -> Point:
        """Return the operating point for a state of a motion at time t (s) without a check of the constraints.

        `plant` is the compiled model. The independent rows must already be selected in `solver`; `angles` (K, 3) are
        the 1-2-3 angles of K joints, rad.
        """
        point: Point = object.__new__(cls)
        point._set_state(system, plant, solver, state, t)
        point.rank = solver.rank
        point._evaluate(angles)
        return point

    def _set_state(self, system: System, plant: CompiledModel, solver: Solver, state: State, t: float) -> None:
        self.system, self.t, self.solver, self.state = system, t, solver, state
        self.model: Model = plant.model
        self.metric: Metric = plant.metric

    def _evaluate(self, angles: np.ndarray) -> None:
        self.state.angles = angles_by_name(self.model.joints, angles)
        self.kin = Kinematics.of(self.state)
        self.solver.applied.refer(self.t, angles)
        self._y = self.solver.slots.state_to_lanes(self.model.auxiliary.flat(self.state))
        rates = self.solver.slots.state_from_lanes(self.solver.rates(self.t, self._y))
        of_bodies = rates[: STATE_SIZE * self.bodies].reshape(self.bodies, STATE_SIZE)
        self.linear, self.angular = of_bodies[:, 7:10].copy(), of_bodies[:, 10:].copy()
        self.internal_rates = self.model.auxiliary.numbers(rates)[: self.internal].copy()
        self.magnitudes = self.solver.frictions.magnitude.copy()
        self.laws = self._laws()

    def _laws(self) -> dict[str, Exerted]:
        """Return the loads and energies of the force elements in the last evaluation, by name."""
        outputs = self.solver.applied.table.outputs.copy()
        found = self.solver.applied.exerted(outputs[None])
        return {name: Exerted(*(part[0] for part in astuple(of_one))) for name, of_one in found.items()}

    def laws_at(self, state: State) -> dict[str, Exerted]:
        """Return the loads and energies of the force elements at another state and the time of this point, by name."""
        self.solver.rates(self.t, self.solver.slots.state_to_lanes(self.model.auxiliary.flat(state)))
        return self._laws()

    def _require_slip(self) -> None:
        """Raise an InputError if a friction element sticks, because sticking friction has no derivative."""
        table, outputs = self.solver.frictions, self.solver.applied.table.outputs
        fastest = max(np.abs(self.state.velocity).max(), self.model.length * np.abs(self.state.angular_velocity).max())
        for k, friction in enumerate(self.frictions):
            first = int(table.slip[k]) + COORDINATE
            slip = outputs[first : first + COORDINATE * friction.slip.size : COORDINATE]
            if not np.abs(slip).max() > STANDS * fastest:
                raise self._without_slip(friction)
        entries = self.solver.applied.table.entries
        for e, (element, _) in enumerate(self.model.forces):
            if isinstance(element, JointFriction) and element.sticks:
                first = entries[ELEMENT_SIZE * e + OUTPUT] + element.layout().first_coordinate
                rates = outputs[first + 1]
                if isinstance(element, BallFriction):
                    rates = outputs[first + COORDINATE : first + COORDINATE * len(element.coordinates) : COORDINATE]
                if not np.abs(rates).max() * element.radii[0] > STANDS * fastest:
                    raise self._without_slip(element)
            if isinstance(element, ElasticRope):
                first = entries[ELEMENT_SIZE * e + OUTPUT] + element.layout().first_coordinate
                shown = outputs[first : first + COORDINATE * len(element.coordinates) : COORDINATE]
                element.check_smooth(dict(zip(element.coordinates, shown.tolist(), strict=True)), STANDS * fastest)

    @staticmethod
    def _without_slip(friction: StickSlip) -> InputError:
        return InputError(
            f"{friction}: nothing slides in this state, and sticking or beginning slip has no "
            f"derivative: remove it with system.without({friction.name!r}), or use a state in which it slides"
        )

    @property
    def frictions(self) -> list[Friction]:
        """All sliding friction elements whose force is proportional to a normal load."""
        return [element for element, _ in self.model.forces if isinstance(element, Friction)]

    @property
    def bodies(self) -> int:
        """Number n of bodies."""
        return len(self.model.mass)

    @property
    def internal(self) -> int:
        """Number k of internal variables."""
        return sum(s.stop - s.start for s in self.model.auxiliary.internal.values())

    @property
    def independent(self) -> np.ndarray:
        """Mask (m,) of the m constraint rows that are selected as independent."""
        return self.solver.independent

    @cached_property
    def loaded(self) -> ConstrainedMotion:
        """Accelerations and multipliers; for redundant rows the multipliers have the least norm."""
        return constrained_motion(self.solver, self.t, self.kin, self._y)

    @cached_property
    def motion(self) -> PoseDerivatives:
        """Poses of the bodies with their first two time derivatives."""
        motion = PoseDerivatives.of(self.kin, 2)
        motion.position[:-1, 2] = self.linear
        motion.spin[:-1, 1] = np.einsum("nij,nj->ni", self.kin.rotation[:-1], self.angular)
        return motion

    @cached_property
    def differential(self) -> Differential:
        """Object that computes derivatives along directions, and caches those along the last eight directions."""
        return Differential(self.solver)

    def tangent(self, directions: Directions) -> Tangent:
        """Return the derivatives of accelerations and multipliers along D directions; D may be zero."""
        if directions.count:
            return self.differential.at(self._y, self.t, directions)
        one = self.differential.at(self._y, self.t, Directions.none(self.model, 1))
        return Tangent(
            one.linear[:0], one.angular[:0], one.multipliers[:0], one.internal[:0], one.levels[:0], one.friction[:0]
        )

    def variation(self, directions: Directions) -> OperatingVariation:
        """Return the time derivatives of small variations of the state, from the linearized equations of motion.

        `directions` contains the D variations.
        """
        tangent = self.tangent(directions)
        given = directions.bodies
        bodies = np.zeros_like(given)
        bodies[:, SHIFT] = given[:, VELOCITY]
        bodies[:, TURN] = given[:, OMEGA] - skew(self.kin.angular_velocity[:-1]) @ given[:, TURN]
        bodies[:, VELOCITY] = np.moveaxis(tangent.linear, 0, -1)
        bodies[:, OMEGA] = np.moveaxis(tangent.angular, 0, -1)
        return OperatingVariation(directions, tangent, bodies, tangent.internal.T[: self.internal])


@dataclass(frozen=True)
class OperatingVariation:
    """D small variations z of a state of n bodies and k internal variables, and their time derivatives z' = J z.

    Attributes
    ----------
    directions : the variations z
    tangent : derivatives of accelerations and multipliers along the variations
    bodies : (n, 12, D) time derivatives of the variations of poses and velocities, as in
        `quirk.dynamics.model.directions`
    internal : (k, D) time derivatives of the variations of internal variables
    """

    directions: Directions
    tangent: Tangent
    bodies: np.ndarray
    internal: np.ndarray
