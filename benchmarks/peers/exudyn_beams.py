"""Exudyn: clamped beams by its static solver, and a swinging beam by the generalized-alpha integrator.

Spatial elements have two nodes and are geometrically exact; their discretization of statics is that of QuIRK. Plane
elements are geometrically exact with three nodes, or cables of the absolute nodal coordinate formulation (ANCF), which
are rigid in shear. The spectral radius is 0.9, Newton iterations are modified ones, and tolerances of motion are the
defaults. The relative tolerance of statics is 1e-5, with which the errors of displacements are 1e-9: smaller ones take
longer, and fail for beams that are nearly rigid in shear.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

import quirk

from .exudyn_peer import exudyn, items, with_settings

SPATIAL = "geometrically exact, spatial"
QUADRATIC = "geometrically exact, plane, quadratic"
CABLE = "ANCF cable, plane"

SETTINGS = {
    "linearSolver.solverType": exudyn.LinearSolverType.EigenSparse,
    "linearSolver.reuseAnalyzedPattern": True,
    "parallel.numberOfThreads": 1,
    "solution.file.write": False,
    "solution.sensors.active": False,
    "staticSolver.verboseMode": 0,
    "staticSolver.newton.relativeTolerance": 1e-5,
    "staticSolver.newton.absoluteTolerance": 1e-8,
    "timeIntegration.verboseMode": 0,
    "timeIntegration.newton.useModifiedNewton": True,
    "timeIntegration.generalizedAlpha.spectralRadius": 0.9,
}


class BeamModel:
    """An Exudyn model of a beam that is clamped or hinged at its start.

    Parameters
    ----------
    beam : beam; for plane elements it must lie along the x axis and start at the origin
    kind : kind of elements
    free : index of the free rotation if the start is hinged: 2 for rotation about z; None for a clamp
    gravity : (3,) m/s^2
    force : (3,) force on the end of the beam, N
    """

    def __init__(
        self, beam: quirk.Beam, kind: str, free: int | None, gravity: Sequence[float], force: Sequence[float]
    ) -> None:
        self._container = exudyn.SystemContainer()  # the main system lives only as long as this
        self.mbs = self._container.AddSystem()
        self.beam = beam
        build = self._spatial if kind == SPATIAL else self._plane
        self.end = build(kind, free, list(gravity))
        if any(force):
            marker = self.mbs.AddMarker(items.MarkerNodePosition(nodeNumber=self.end))
            self.mbs.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=list(force)))
        self.mbs.Assemble()

    def _spatial(self, kind: str, free: int | None, gravity: list[float]) -> int:
        section, beam, mbs = exudyn.BeamSection(), self.beam, self.mbs
        section.stiffnessMatrix, section.massPerLength = beam.section.stiffness, beam.section.mass
        section.inertia = beam.section.inertia[3:, 3:]
        elements = len(beam.segments)
        poses = [pose_of_node(body) for body in beam.bodies]
        nodes = [mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*at, *turn])) for at, turn in poses]
        for pair in pairwise(nodes):
            element = items.ObjectBeamGeometricallyExact(
                nodeNumbers=list(pair), length=beam.length / elements, sectionData=section
            )
            self._weigh(mbs.AddObject(element), gravity)
        ground = mbs.AddObject(items.ObjectGround())
        markers = [
            mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localPosition=list(poses[0][0]))),
            mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0])),
        ]
        axes = [1, 1, 1, *(int(axis != free) for axis in range(3))]
        mbs.AddObject(items.GenericJoint(markerNumbers=markers, constrainedAxes=axes))
        return int(nodes[-1])

    def _plane(self, kind: str, free: int | None, gravity: list[float]) -> int:
        section, mbs = self.beam.section, self.mbs
        of_all = {
            "massPerLength": section.mass, "axialStiffness": section.stiffness[0, 0],
            "bendingStiffness": section.stiffness[5, 5], "length": self.beam.length / len(self.beam.segments),
        }  # fmt: skip
        per = 2 if kind == QUADRATIC else 1
        count, length = per * len(self.beam.segments) + 1, self.beam.length
        make = items.NodeRigidBody2D if kind == QUADRATIC else items.NodePoint2DSlope1
        slope = [0.0] if kind == QUADRATIC else [1.0, 0.0]
        nodes = [mbs.AddNode(make(referenceCoordinates=[length * k / (count - 1), 0.0, *slope])) for k in range(count)]
        for first in range(0, count - 1, per):
            own = nodes[first : first + per + 1]
            if kind == QUADRATIC:
                element = items.ObjectBeamGeometricallyExact2D(
                    nodeNumbers=own, shearStiffness=section.stiffness[1, 1], crossSectionInertia=section.inertia[5, 5],
                    **of_all,
                )  # fmt: skip
            else:
                element = items.ObjectANCFCable2D(nodeNumbers=own, **of_all)
            self._weigh(mbs.AddObject(element), gravity)
        # The rotation of a node, or the component of its slope across the beam.
        held = [0, 1] if free is not None else [0, 1, 2 if kind == QUADRATIC else 3]
        ground = mbs.AddMarker(
            items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0)
        )
        for coordinate in held:
            marker = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=coordinate))
            mbs.AddObject(items.CoordinateConstraint(markerNumbers=[ground, marker]))
        return int(nodes[-1])

    def _weigh(self, element: int, gravity: list[float]) -> None:
        if any(gravity):
            marker = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=element))
            self.mbs.AddLoad(items.Gravity(markerNumber=marker, loadVector=gravity))

    def displacement(self) -> np.ndarray:
        """Return the displacement (3,) of the end of the beam, m."""
        return np.array(self.mbs.GetNodeOutput(self.end, exudyn.OutputVariableType.Displacement))

    def rest(self, load_steps: int) -> float:
        """Compute the equilibrium, with the load applied in `load_steps` steps; return the computing time, s."""
        given = with_settings(SETTINGS)
        given.staticSolver.numberOfLoadSteps = load_steps
        began = time.perf_counter()
        self.mbs.SolveStatic(given)
        return time.perf_counter() - began

    def move(self, duration: float, steps: int) -> float:
        """Integrate the motion for `duration` (s); return the computing time, s."""
        given = with_settings(SETTINGS)
        given.timeIntegration.endTime, given.timeIntegration.numberOfSteps = duration, steps
        began = time.perf_counter()
        self.mbs.SolveDynamic(given)
        return time.perf_counter() - began


def pose_of_node(body: quirk.Body) -> tuple[np.ndarray, np.ndarray]:
    """Return position (3,) and orientation (4,) of the node of a body of a beam, inertial frame."""
    node = body.frame("node")
    turn = quirk.rotation.multiply(body.orientation, node.rotation)
    return body.position + quirk.rotation.matrix(body.orientation) @ node.origin, turn
