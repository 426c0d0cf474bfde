"""Arrays of the linear systems of implicit steps.

An implicit method solves (I - e J) u = r with J the Jacobian of y' = f(y) and e a real or complex multiple of the step.
In terms of the changes da and dlambda of accelerations and multipliers due to u, it is a sparse system over bodies and
relations,

    [ M - e V - e^2 P E    -A^T ] [ da      ]   [ P dq + V dv      ]
    [ A + e C_v + e^2 C_p E   0 ] [ dlambda ] = [ -C_p dq - C_v dv ]

where P, V are derivatives of all loads on bodies with respect to poses and velocities, C_p, C_v those of the second
derivative of Phi, E maps an angular velocity to a rotation, and dq, dv follow from r. Bodies are scaled so that M is
the unit matrix, and rows to unit length. A method may use axes that rotate with the bodies at constant rates; J, r and
u then refer to the motion relative to these axes, at a time when they coincide with the inertial ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from ..tangent.tables import Tangents

# Numbers per block, in rows of eight lanes; per pair of bodies, with six rows; and per vector of one node.
BLOCK = 64
PAIR = 48
NODE = 8

# Offsets per block of eight bodies: angular velocities, inertial frame, of the axes for rotations, and for
# translations.
ROTATIONS, TRANSLATIONS = 0, 24
AXES = 48


@record
class BodyCoupling(NamedTuple):
    """Couplings of nodes (bodies and relations) in the order of elimination; N nodes.

    size (N,): rows of each node · first (N + 1,): first coupling of each node with later ones · column: the later node
    of each coupling · upper, lower: first elements of its blocks in the row, and in the column, of the earlier node ·
    diagonal (N,): first element of the diagonal block · target: block that is updated by the elimination of a node, for
    each pair of its couplings
    """

    size: np.ndarray
    first: np.ndarray
    column: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    diagonal: np.ndarray
    target: np.ndarray


@record
class CouplingBlocks(NamedTuple):
    """Storage of derivatives of loads and rows, and their blocks; Q pairs of bodies, S sides of relations.

    body_node (slots,): node of each body, -1 for the ground · relation_node (R,) · pair_row, pair_column (Q,): slots of
    the bodies of each pair · pair_block (Q,): first element of its block · law_pair, relation_pair: pair of each frame
    with a load and each frame that moves, for each element, or -1; law_first, relation_first: first of these for each
    element · own (slots,): pair of each body with itself, -1 for the ground · side_row (S,): relation of each side ·
    side_slot, side_upper, side_lower (S,): its body, or -1 for the ground, and its blocks.
    """

    body_node: np.ndarray
    relation_node: np.ndarray
    pair_row: np.ndarray
    pair_column: np.ndarray
    pair_block: np.ndarray
    law_pair: np.ndarray
    law_first: np.ndarray
    relation_pair: np.ndarray
    relation_first: np.ndarray
    own: np.ndarray
    side_row: np.ndarray
    side_slot: np.ndarray
    side_upper: np.ndarray
    side_lower: np.ndarray


@record
class ImplicitTables(NamedTuple):
    """Derivatives at one state, patterns, and offsets in the arrays of one linear system.

    seeds (2 * SEED slots,): unit changes of poses and of velocities · moving (2 * MOVING slots,): derived changes ·
    by_pose, by_velocity (PAIR Q,): derivatives of scaled loads · rows, row_by_pose, row_by_velocity (BLOCK S,): rows A
    and derivatives of Phi'', scaled · kept (8 R,): whether rows are independent · variables: number of internal
    variables of force elements · by_variable, rate_by_pose, rate_by_velocity (BLOCK per side of a law): derivatives of
    scaled loads with respect to internal variables, and of the rates of these · rate_by_variable (BLOCK per law) · axes
    (AXES per block): angular velocities of the axes, zero for axes at rest · follows: 1.0 if the axes of rotations
    rotate with the bodies, 0.0 if they are at rest

    A system for one e is a tuple of one array (size,), or of two, with real and imaginary parts. After the
    factorization each has: from `turn` the dependence of poses and velocities of each body on its scaled acceleration
    (2 * PAIR slots) · response: K of each law (BLOCK each) · found: changes of its internal variables (8 each) ·
    scratch (3 BLOCK) · vector: right-hand side and solution (NODE N) · pose, speed: dq, dv of each body (NODE slots
    each)
    """

    tangents: Tangents
    coupling: BodyCoupling
    blocks: CouplingBlocks
    seeds: np.ndarray
    moving: np.ndarray
    by_pose: np.ndarray
    by_velocity: np.ndarray
    rows: np.ndarray
    row_by_pose: np.ndarray
    row_by_velocity: np.ndarray
    kept: np.ndarray
    variables: int
    by_variable: np.ndarray
    rate_by_pose: np.ndarray
    rate_by_velocity: np.ndarray
    rate_by_variable: np.ndarray
    axes: np.ndarray
    follows: float
    turn: int
    response: int
    found: int
    scratch: int
    vector: int
    pose: int
    speed: int
    size: int
