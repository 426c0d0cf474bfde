"""Exudyn: the generalized-alpha integrator on bodies with ball joints, in redundant coordinates.

Bodies are rigid bodies with Euler parameters, joints are spherical joints. The settings are the fastest of those tried
on the ten-link chain: constraints of index 2 with Newmark's coefficients (spectral radius 1), which reach a given
error with as many steps as spectral radius 0.9 and index 3 but remain stable for much smaller steps; the symmetric
sparse solver, which is 1.5 times as fast as the dense one; and modified Newton iterations. The default tolerance of
1e-8 is as fast but limits the accuracy from half a million steps on; a tolerance of 1e-5 dominates all errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import numpy as np

import quirk
from quirk import rotation

from .tree import disagreement

sys.exudynFast = True  # has the library leave out range checks; must be set before it is imported

import exudyn  # noqa: E402
from exudyn import itemInterface as items  # noqa: E402, N813

NAME = "Exudyn"
SETTINGS = {
    "timeIntegration.generalizedAlpha.useIndex2Constraints": True,
    "timeIntegration.generalizedAlpha.useNewmark": True,
    "timeIntegration.newton.useModifiedNewton": True,
    "timeIntegration.newton.modifiedNewtonContractivity": 0.9,
    "timeIntegration.newton.relativeTolerance": 1e-11,
    "timeIntegration.newton.absoluteTolerance": 1e-12,
    "linearSolver.solverType": exudyn.LinearSolverType.EigenSparseSymmetric,
    "linearSolver.reuseAnalyzedPattern": True,
    "parallel.numberOfThreads": 1,
    "solution.file.write": False,
    "solution.sensors.active": False,
}


class ExudynModel:
    """Exudyn model of a system of bodies and ball joints.

    Attributes
    ----------
    mbs : exudyn.MainSystem
    """

    def __init__(self, system: quirk.System) -> None:
        self.system = system
        self._container = exudyn.SystemContainer()  # the main system lives only as long as this
        self.mbs = self._container.AddSystem()
        state = system.initial_state()
        object_of = {quirk.GROUND.name: self.mbs.AddObject(items.ObjectGround())}
        for k, body in enumerate(system.bodies):
            q_rate = rotation.rate(state.orientation[k], state.angular_velocity[k])
            node = self.mbs.AddNode(
                items.NodeRigidBodyEP(
                    referenceCoordinates=[*state.position[k], *state.orientation[k]],
                    initialVelocities=[*state.velocity[k], *q_rate],
                )
            )
            J = body.inertia
            object_of[body.name] = self.mbs.AddObject(
                items.ObjectRigidBody(
                    nodeNumber=node,
                    mass=body.mass,
                    inertia=[J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]],
                )
            )
            marker = self._point(object_of[body.name], np.zeros(3))
            self.mbs.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=list(body.mass * system.gravity)))
        for joint in system.constraints:
            if not isinstance(joint, quirk.Spherical):
                raise ValueError(f"{joint}: only ball joints are translated")
            ends = ((joint.body_i, joint.frame_i), (joint.body_j, joint.frame_j))
            markers = [self._point(object_of[body.name], frame.origin) for body, frame in ends]
            self.mbs.AddObject(items.ObjectJointSpherical(markerNumbers=markers))
        self._bodies = [object_of[body.name] for body in system.bodies]
        self.mbs.Assemble()

    def _point(self, number: int, local: np.ndarray) -> int:
        return self.mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=number, localPosition=list(local)))

    def positions(self) -> np.ndarray:
        """Return the centers of mass (n, 3) at the end of the last run, inertial frame, m."""
        position, now = exudyn.OutputVariableType.Position, exudyn.ConfigurationType.Current
        return np.array([self.mbs.GetObjectOutputBody(b, position, [0, 0, 0], now) for b in self._bodies])

    def accelerations(self) -> np.ndarray:
        """Return the initial accelerations (n, 3) of the centers of mass, inertial frame, m/s^2."""
        solver = exudyn.MainSolverImplicitSecondOrder()
        solver.InitializeSolver(self.mbs, settings(1e-3, 1))
        # Per body the position's three coordinates and the four Euler parameters.
        result = np.array(self.mbs.systemData.GetODE2Coordinates_tt()).reshape(-1, 7)[:, :3]
        solver.FinalizeSolver(self.mbs, settings(1e-3, 1))
        return result


def settings(duration: float, count: int) -> exudyn.SimulationSettings:
    """Return the settings of a run of `count` steps."""
    result = with_settings(SETTINGS)
    result.timeIntegration.endTime = duration
    result.timeIntegration.numberOfSteps = count
    return result


def with_settings(values: Mapping[str, object]) -> exudyn.SimulationSettings:
    """Return Exudyn's settings with the given values by path, such as "parallel.numberOfThreads"."""
    result = exudyn.SimulationSettings()
    for path, value in values.items():
        *folders, name = path.split(".")
        owner = result
        for folder in folders:
            owner = getattr(owner, folder)
        setattr(owner, name, value)
    return result


def error(system: quirk.System) -> float:
    """Return the difference of Exudyn's initial accelerations from QuIRK's, relative to the largest one."""
    return disagreement(system, ExudynModel(system).accelerations())


def error_and_seconds(
    system: quirk.System, duration: float, positions: np.ndarray, count: int, repeats: int = 1
) -> tuple[float, float]:
    """Compute a run of `count` steps; see `pinocchio_peer.error_and_seconds` for parameters and results."""
    seconds = np.inf
    for _ in range(repeats):
        peer = ExudynModel(system)  # a run goes on from where the last one ended
        began = time.perf_counter()
        peer.mbs.SolveDynamic(settings(duration, count))
        seconds = min(seconds, time.perf_counter() - began)
    return float(np.linalg.norm(peer.positions() - positions, axis=1).max()), seconds
