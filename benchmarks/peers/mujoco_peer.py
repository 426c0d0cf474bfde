"""MuJoCo: RK4 steps of trees of ball joints and hinges.

The models have no geoms, damping, armature or friction, and contacts, limits and equalities are disabled, so that only
the recursive dynamics remains. The loop over steps runs inside the library (`mj_step` with `nstep`), so that times do
not include calls from Python.
"""

from __future__ import annotations

import time

import mujoco
import numpy as np
from mujoco import rollout

import quirk
from quirk import rotation

from ..measure import Task
from .tree import disagreement, hinge_angle, relative_motion, spanning_tree

NAME = "MuJoCo"
RUN = 1000  # steps after which a timed run starts anew, so that it stays near the initial state
OFF = ("CONSTRAINT", "CONTACT", "LIMIT", "EQUALITY", "FRICTIONLOSS", "SPRING", "DAMPER", "ACTUATION", "SENSOR")


class MujocoModel:
    """MuJoCo model of a tree. Body frames are those of QuIRK, at the centers of mass.

    Attributes
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
    """

    def __init__(self, system: quirk.System, step: float = 1e-3) -> None:
        self.system = system
        tree, loops = spanning_tree(system)
        if loops:
            raise ValueError("only trees are translated")
        spec = mujoco.MjSpec()
        spec.option.gravity = system.gravity
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        spec.option.timestep = step
        for name in OFF:
            spec.option.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
        placed = {-1: spec.worldbody}
        for link in tree:
            frame_i, frame_j, body = link.joint.frame_i, link.joint.frame_j, system.bodies[link.body]
            # The pose at coordinate zero: both joint frames coincide.
            turn = rotation.multiply(frame_i.rotation, rotation.conjugate(frame_j.rotation))
            moments, axes = _principal(body.inertia)
            placed[link.body] = node = placed[link.parent].add_body(
                name=body.name,
                pos=frame_i.origin - rotation.matrix(turn) @ frame_j.origin,
                quat=turn,
                mass=body.mass,
                ipos=np.zeros(3),
                iquat=axes,
                inertia=moments,
                explicitinertial=True,
            )
            kind = mujoco.mjtJoint.mjJNT_HINGE if link.hinge else mujoco.mjtJoint.mjJNT_BALL
            node.add_joint(type=kind, pos=frame_j.origin, axis=frame_j.matrix[:, 2])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        state = system.initial_state()
        q, v = [], []
        for link in tree:
            turn, omega = relative_motion(state, link)
            j = link.joint.frame_j
            # A ball's coordinates are those of the bodies, not of the joint's frames.
            turn_body = rotation.multiply(rotation.multiply(j.rotation, turn), rotation.conjugate(j.rotation))
            q.append([hinge_angle(turn)] if link.hinge else turn_body)
            v.append(omega[2:] if link.hinge else j.matrix @ omega)
        self._q, self._v = np.concatenate(q), np.concatenate(v)
        self._number = [self.model.body(body.name).id for body in system.bodies]
        self.restart()

    def restart(self) -> None:
        """Reset the data to the initial state."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self._q, self._v

    def positions(self) -> np.ndarray:
        """Return the centers of mass (n, 3), inertial frame, m."""
        mujoco.mj_kinematics(self.model, self.data)
        return self.data.xpos[self._number].copy()

    def accelerations(self) -> np.ndarray:
        """Return the accelerations (n, 3) of the centers of mass at the current state, inertial frame, m/s^2."""
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_rnePostConstraint(self.model, self.data)
        result, six = np.empty((len(self._number), 3)), np.empty((6, 1))
        for k, number in enumerate(self._number):
            mujoco.mj_objectAcceleration(self.model, self.data, mujoco.mjtObj.mjOBJ_BODY, number, six, 0)
            # As an accelerometer shows it, at rest against gravity.
            result[k] = six[3:, 0] + self.system.gravity
        return result


def _principal(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the principal moments (3,) and the orientation (4,) of their axes in the body."""
    if not (inertia - np.diag(np.diag(inertia))).any():
        return np.diag(inertia), rotation.IDENTITY
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return moments, rotation.from_matrix(axes)


def steps(system: quirk.System, step: float = 1e-3) -> Task:
    """Return the task of one RK4 step."""
    peer = MujocoModel(system, step)

    def run(count: int) -> None:
        for done in range(0, count, RUN):
            peer.restart()
            mujoco.mj_step(peer.model, peer.data, nstep=min(RUN, count - done))

    return run


def rollouts(system: quirk.System, members: int, count: int, step: float) -> Task:
    """Return the task of `count` RK4 steps of each of `members` members, by `mujoco.rollout` on one thread."""
    peer = MujocoModel(system, step)
    kind = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    size = mujoco.mj_stateSize(peer.model, kind)
    initial, states = np.empty(size), np.empty((members, count, size))
    mujoco.mj_getState(peer.model, peer.data, initial, kind)
    everyone = np.tile(initial, (members, 1))

    def run(repetitions: int) -> None:
        for _ in range(repetitions):
            rollout.rollout(peer.model, peer.data, everyone, nstep=count, state=states)

    return run


def error(system: quirk.System) -> float:
    """Return the difference of MuJoCo's initial accelerations from QuIRK's, relative to the largest one."""
    return disagreement(system, MujocoModel(system).accelerations())


def error_and_seconds(
    system: quirk.System, duration: float, positions: np.ndarray, count: int, repeats: int = 3
) -> tuple[float, float]:
    """Compute a run of `count` RK4 steps; see `pinocchio_peer.error_and_seconds` for parameters and results."""
    peer = MujocoModel(system, duration / count)
    seconds = np.inf
    for _ in range(repeats):
        peer.restart()
        began = time.perf_counter()
        mujoco.mj_step(peer.model, peer.data, nstep=count)
        seconds = min(seconds, time.perf_counter() - began)
    return float(np.linalg.norm(peer.positions() - positions, axis=1).max()), seconds
