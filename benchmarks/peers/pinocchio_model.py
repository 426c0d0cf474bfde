"""Pinocchio model of a `quirk.System`: model, coordinates, loop closures and accelerations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import quirk

from .tree import GROUND, hinge_angle, relative_motion, spanning_tree


class PinocchioModel:
    """A tree of ball joints and of hinges about z of their frames, with point contacts that close loops.

    Each joint frame is frame j of QuIRK's joint, so that hinges are of Pinocchio's fastest kind, JointModelRZ. A hinge
    that closes a loop becomes CONTACT_3D, which keeps two points together; the parallel hinges of the tree keep the
    axes parallel. (CONTACT_6D would also prevent the rotation of the hinge.)

    Attributes
    ----------
    model, data : pin.Model, pin.Data
    q, v, tau : (nq,), (nv,), (nv,)
        Initial state, and zero torques.
    contacts, contact_data : vectors of the loop closures
    """

    def __init__(self, system: quirk.System) -> None:
        self.system = system
        tree, loops = spanning_tree(system)
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.append(system.gravity, np.zeros(3)))
        self._joint = {GROUND: 0}
        # Where frame j is in its body: Pinocchio's joint frame stands for the body.
        self._frame = {GROUND: pin.SE3.Identity()}
        state = system.initial_state()
        q, v = [], []
        for link in tree:
            kind = pin.JointModelRZ() if link.hinge else pin.JointModelSpherical()
            inside = self._frame[link.parent].inverse() * _placement(link.joint.frame_i)
            number = self.model.addJoint(self._joint[link.parent], kind, inside, link.joint.name)
            self._joint[link.body] = number
            self._frame[link.body] = _placement(link.joint.frame_j)
            body = system.bodies[link.body]
            inertia = pin.Inertia(body.mass, np.zeros(3), body.inertia)
            self.model.appendBodyToJoint(number, inertia, self._frame[link.body].inverse())
            turn, omega = relative_motion(state, link)
            q.append([hinge_angle(turn)] if link.hinge else np.roll(turn, -1))  # quaternions have w last here
            v.append(omega[2:] if link.hinge else omega)
        self.data = self.model.createData()
        self.q, self.v = np.concatenate(q), np.concatenate(v)
        self.tau = np.zeros(self.model.nv)
        self.contacts = pin.StdVec_RigidConstraintModel()
        for link in loops:
            self.contacts.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D,
                    self.model,
                    self._joint[link.parent],
                    self._frame[link.parent].inverse() * _placement(link.joint.frame_i),
                    self._joint[link.body],
                    self._frame[link.body].inverse() * _placement(link.joint.frame_j),
                )
            )
        self.contact_data = pin.StdVec_RigidConstraintData()
        for contact in self.contacts:
            self.contact_data.append(contact.createData())

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Return the centers of mass (n, 3), inertial frame, m."""
        pin.forwardKinematics(self.model, self.data, q)
        return np.array([(self.data.oMi[j] * center).translation for j, center in self._centers()])

    def accelerations(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """Return the accelerations (n, 3) of the centers of mass, inertial frame, m/s^2."""
        pin.forwardKinematics(self.model, self.data, q, v, vdot)
        result = []
        for j, center in self._centers():
            velocity, spatial = center.actInv(self.data.v[j]), center.actInv(self.data.a[j])
            classical = spatial.linear + np.cross(velocity.angular, velocity.linear)
            result.append(self.data.oMi[j].rotation @ center.rotation @ classical)
        return np.array(result)

    def _centers(self):
        """Return the index of the joint of each body, and the placement of the body relative to it."""
        return [(self._joint[k], self._frame[k].inverse()) for k in range(len(self.system.bodies))]


def _placement(frame: quirk.Frame) -> pin.SE3:
    return pin.SE3(frame.matrix, frame.origin)
