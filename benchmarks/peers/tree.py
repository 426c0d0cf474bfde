"""A `quirk.System` as a spanning tree of joints and loop-closing joints, for simulators in relative coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import quirk
from quirk import rotation

GROUND = -1


@dataclass(frozen=True)
class Link:
    """A joint with the indices of its two bodies in `system.bodies`; -1 for the ground."""

    joint: quirk.Spherical | quirk.Revolute
    parent: int
    body: int

    @property
    def hinge(self) -> bool:
        """Whether the joint is a hinge; else it is a ball joint."""
        return isinstance(self.joint, quirk.Revolute)


def spanning_tree(system: quirk.System) -> tuple[list[Link], list[Link]]:
    """Return the joints that form a spanning tree, in depth-first order, and those that close loops.

    The first joint in the order of the constraints that reaches a body belongs to the tree. The order is depth first,
    because Pinocchio and MuJoCo require adjacent coordinates of each subtree.

    Raises
    ------
    ValueError
        If a constraint is neither a hinge nor a ball joint, or a body is reached before its parent.
    """
    number = {body.name: k for k, body in enumerate(system.bodies)}
    number[quirk.GROUND.name] = GROUND
    children: dict[int, list[Link]] = {GROUND: []}
    loops = []
    for joint in system.constraints:
        if not isinstance(joint, quirk.Revolute | quirk.Spherical):
            raise ValueError(f"{joint}: only hinges and ball joints are translated")
        link = Link(joint, number[joint.body_i.name], number[joint.body_j.name])
        if link.parent not in children:
            raise ValueError(f"{joint}: its body i is not joined to the ground by the joints before it")
        if link.body in children:
            loops.append(link)
        else:
            children[link.parent].append(link)
            children[link.body] = []
    tree, open_ = [], children[GROUND][::-1]
    while open_:
        tree.append(open_.pop())
        open_ += children[tree[-1].body][::-1]
    return tree, loops


def relative_motion(state: quirk.State, link: Link) -> tuple[np.ndarray, np.ndarray]:
    """Return orientation (4,) and angular velocity (3,) of frame j relative to frame i, the latter in frame j."""
    q_j, omega_j = state.orientation[link.body], state.angular_velocity[link.body]
    q_i, omega_i = rotation.IDENTITY, np.zeros(3)
    if link.parent != GROUND:
        q_i, omega_i = state.orientation[link.parent], state.angular_velocity[link.parent]
    i_to_j = rotation.multiply(rotation.conjugate(q_i), q_j)  # the bodies; then the frames in them
    omega = omega_j - rotation.matrix(i_to_j).T @ omega_i
    frame_i, frame_j = link.joint.frame_i, link.joint.frame_j
    q = rotation.multiply(rotation.multiply(rotation.conjugate(frame_i.rotation), i_to_j), frame_j.rotation)
    return q, frame_j.matrix.T @ omega


def hinge_angle(q: np.ndarray) -> float:
    """Return the angle of a rotation (4,) about z."""
    return 2.0 * float(np.arctan2(q[3], q[0]))


def disagreement(system: quirk.System, acceleration: np.ndarray) -> float:
    """Return the difference of a peer's initial accelerations from QuIRK's, relative to the largest one.

    `acceleration` (n, 3) are the accelerations of the centers of mass by the peer, inertial frame, m/s^2.
    """
    expected = system.acceleration(system.initial_state()).linear
    return float(np.abs(acceleration - expected).max() / np.abs(expected).max())
