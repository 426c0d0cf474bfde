"""Spanning tree of the joints of a system: each body has one joint to its parent, toward the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Free, Joint
from quirk.errors import InputError
from quirk.system.system import System


@dataclass
class Edge:
    """Edge of the spanning tree: a body and the joint to its parent.

    Attributes
    ----------
    parent, child : bodies; the parent may be the ground
    joint : Joint, or None for a body that is not connected with the ground
    """

    parent: Body | Ground
    child: Body
    joint: Joint | None

    @property
    def sign(self) -> int:
        """Sign of the joint coordinate: 1 if the child is body j of the joint, and -1 if it is body i."""
        return 1 if self.joint is not None and self.joint.body_j is self.child else -1

    @property
    def frame_of_child(self) -> Frame:
        """Joint frame on the child."""
        assert self.joint is not None
        return self.joint.frame_j if self.sign > 0 else self.joint.frame_i

    @property
    def frame_of_parent(self) -> Frame:
        """Joint frame on the parent."""
        assert self.joint is not None
        return self.joint.frame_i if self.sign > 0 else self.joint.frame_j


def spanning_tree(system: System, joints: Sequence[Joint]) -> list[Edge]:
    """Return the edges from the ground outward; bodies not connected with the ground have edges without a joint.

    A `Free` joint is an edge if no other joint connects one of its bodies; otherwise it is ignored.

    Raises
    ------
    InputError
        If joints form a loop; the message names all of them.
    """
    at: dict[int, list[Joint]] = {}
    for joint in joints:
        for body in joint.bodies if type(joint) is not Free else ():
            at.setdefault(id(body), []).append(joint)
    free = [joint for joint in joints if type(joint) is Free]
    edges: list[Edge] = []
    held: dict[int, Edge | None] = {id(GROUND): None}
    used: set[str] = set()
    reached: list[Body | Ground] = [GROUND]
    while True:
        for body in reached:  # the list grows during the iteration
            for joint in at.get(id(body), ()):
                if joint.name in used:
                    continue
                used.add(joint.name)
                other = joint.body_j if joint.body_i is body else joint.body_i
                if id(other) in held:
                    raise InputError(_loop_message(joint, held))
                reached.append(_attach(Edge(body, _as_body(other), joint), edges, held))
        edge = next((_tree_edge(joint, held) for joint in free if _tree_edge(joint, held) is not None), None)
        if edge is None:
            floating = next((body for body in system.bodies if id(body) not in held), None)
            if floating is None:
                return edges
            edge = Edge(GROUND, floating, None)
        reached = [_attach(edge, edges, held)]


def _attach(edge: Edge, edges: list[Edge], parent_edges: dict[int, Edge | None]) -> Body:
    """Append an edge to the spanning tree `edges`, record it in `parent_edges`, and return its child.

    `parent_edges` maps ``id(body)`` of each body in the tree to the edge to its parent; for the ground it is None.
    """
    parent_edges[id(edge.child)] = edge
    edges.append(edge)
    return edge.child


def _as_body(body: Body | Ground) -> Body:
    assert isinstance(body, Body)  # the ground was connected first
    return body


def _tree_edge(joint: Joint, parent_edges: dict[int, Edge | None]) -> Edge | None:
    """Return the edge for a joint that connects a body in the tree with a body outside it; None for other joints.

    `parent_edges` contains the edge of each body in the tree, by the id of the body.
    """
    i, j = joint.body_i, joint.body_j
    if (id(i) in parent_edges) == (id(j) in parent_edges):
        return None
    return Edge(i, _as_body(j), joint) if id(i) in parent_edges else Edge(j, _as_body(i), joint)


def _loop_message(joint: Joint, parent_edges: dict[int, Edge | None]) -> str:
    """Return the error message for a loop-closing joint; it lists the joints on both tree paths between its bodies.

    `parent_edges` contains the edge of each body in the tree, by the id of the body.
    """
    ways = []
    for body in joint.bodies:
        way: list[str] = []
        edge = parent_edges[id(body)]
        while edge is not None:
            way.append(f'"{edge.joint.name}"' if edge.joint is not None else "the ground")
            edge = parent_edges[id(edge.parent)]
        ways.append(way)
    shared = set(ways[0]) & set(ways[1])
    loop = [name for way in ways for name in way if name not in shared]
    return (
        f"to_urdf: {joint} closes a loop with {', '.join(loop) or 'itself'}; a URDF must be a tree: remove one, "
        "for example by system.without(...)"
    )
