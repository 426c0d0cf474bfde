"""The tree that the joints of a system form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quirk.body import GROUND, Body, Ground
from quirk.constraints import Constraint, Free
from quirk.errors import InputError
from quirk.frame import Frame
from quirk.system import System


@dataclass
class Edge:
    """A body and what joins it to its parent.

    Attributes
    ----------
    parent, child : bodies; the parent may be the ground
    joint : Joint, or None for a body that nothing joins to the ground
    """

    parent: Body | Ground
    child: Body
    joint: Constraint | None

    @property
    def sign(self) -> int:
        """1 if the child is body j, whose coordinates the joint shows; -1 if it is body i."""
        return 1 if self.joint is not None and self.joint.body_j is self.child else -1

    @property
    def frame_of_child(self) -> Frame:
        """The frame of the joint in the child."""
        assert self.joint is not None
        return self.joint.frame_j if self.sign > 0 else self.joint.frame_i

    @property
    def frame_of_parent(self) -> Frame:
        """The frame of the joint in the parent."""
        assert self.joint is not None
        return self.joint.frame_i if self.sign > 0 else self.joint.frame_j


def spanning_tree(system: System, joints: Sequence[Constraint]) -> list[Edge]:
    """Return the edges from the ground outwards; bodies that nothing joins to it hang on it without a joint.

    Raises
    ------
    InputError
        If joints close a loop; it names all of these.
    """
    at: dict[int, list[Constraint]] = {}
    for joint in joints:
        for body in joint.bodies:
            at.setdefault(id(body), []).append(joint)
    edges: list[Edge] = []
    held: dict[int, Edge | None] = {id(GROUND): None}
    used: set[str] = set()
    reached: list[Body | Ground] = [GROUND]
    waiting = list(system.bodies)
    while len(edges) < len(system.bodies):
        for body in reached:  # which grows meanwhile
            for joint in at.get(id(body), ()):
                if joint.name in used:
                    continue
                used.add(joint.name)
                other = joint.body_j if joint.body_i is body else joint.body_i
                if id(other) in held:
                    raise InputError(_loop(joint, held))
                assert isinstance(other, Body)
                held[id(other)] = edge = Edge(body, other, joint)
                edges.append(edge)
                reached.append(other)
        # What is left floats.
        body = next((body for body in waiting if id(body) not in held), None)
        if body is None:
            break
        held[id(body)] = edge = Edge(GROUND, body, None)
        edges.append(edge)
        reached = [body]
    return edges


def _loop(joint: Constraint, held: dict[int, Edge | None]) -> str:
    """Return the message on a joint that closes a loop: the joints on the way from one of its bodies to the other."""
    ways = []
    for body in joint.bodies:
        way: list[str] = []
        edge = held[id(body)]
        while edge is not None:
            way.append(f'"{edge.joint.name}"' if edge.joint is not None else "the ground")
            edge = held[id(edge.parent)]
        ways.append(way)
    shared = set(ways[0]) & set(ways[1])
    loop = [name for way in ways for name in way if name not in shared]
    kind = "doubles" if isinstance(joint, Free) else "closes"
    return (
        f"to_urdf: {joint} {kind} a loop with {', '.join(loop) or 'itself'}; a URDF is a tree: take one of them out, "
        "for example by system.without(...)"
    )
