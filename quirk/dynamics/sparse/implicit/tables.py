"""Arrays of the linear systems of implicit steps.

An implicit method solves (I - e J) u = r with J the Jacobian of y' = f(y) and e a real or complex multiple of the step.
Written out with the accelerations da and multipliers dlambda that the change u causes, it is a sparse system over
bodies and relations,

    [ M - e V - e^2 P E    -A^T ] [ da      ]   [ P dq + V dv      ]
    [ A + e C_v + e^2 C_p E   0 ] [ dlambda ] = [ -C_p dq - C_v dv ]

where P, V are derivatives of all loads on bodies by poses and velocities, C_p, C_v those of the second derivative of
Phi, E says how a turn follows from an angular velocity, and dq, dv follow from r. Bodies are scaled so that M is the
unit matrix, and rows to unit length. A method may compute in axes that turn with the bodies at constant rates; J is
then that of the motion seen from these, at a time when they have not turned, and so are r and u.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from ..tangent.tables import Tangents

# Numbers of a block, rows of eight lanes; of a pair of bodies six rows count, of a vector of one node eight lanes.
BLOCK = 64
PAIR = 48
NODE = 8

# Of each block of eight bodies: rates in N at which the axes turn from which rotations are seen, and translations.
ROTATIONS, TRANSLATIONS = 0, 24
AXES = 48


@record
class BodyCoupling(NamedTuple):
    """Which nodes are coupled, and in which order they are eliminated: bodies and relations, N nodes.

    size (N,): rows of each node · first (N + 1,): its couplings with later nodes · column: the later node of each
    coupling · upper, lower: elements at which its blocks begin, in the row and in the column of the earlier node ·
    diagonal (N,) · target: of each two couplings of a node the block from which its elimination takes something
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
    """Where derivatives of loads and rows are kept, and where they go; Q pairs of bodies, S sides of relations.

    body_node (slots,): node of each body, -1 of the ground · relation_node (R,) · pair_row, pair_column (Q,): slots of
    the bodies of each pair · pair_block (Q,): its element in the factorization · law_pair, relation_pair: of each
    element, each frame on which it acts and each frame that moves the pair, or -1; law_first, relation_first: where
    those of an element begin · own (slots,): the pair of each body with itself, -1 of the ground · side_row (S,): the
    relation of each side · side_slot, side_upper, side_lower (S,): its body, or -1 for the ground, and its blocks.
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
    """All of it, with derivatives at one state, and where the numbers of one linear system are.

    seeds (2 * SEED slots,): unit changes of poses and of velocities · moving (2 * MOVING slots,): what follows ·
    by_pose, by_velocity (PAIR Q,): derivatives of scaled loads · rows, row_by_pose, row_by_velocity (BLOCK S,): rows A
    and derivatives of Phi'', scaled · kept (8 R,): which rows count · variables: number of internal variables of force
    elements · by_variable, rate_by_pose, rate_by_velocity (BLOCK per side of a law): derivatives of scaled loads by
    internal variables, and of the rates of these · rate_by_variable (BLOCK per law)

    axes (AXES per block): how axes turn, zero where they are at rest · follows: 1.0 where those of rotations turn with
    the bodies, 0.0 where they are at rest

    A system for one e is a tuple of one array (size,), or of two, of real and imaginary parts. In each are, behind the
    factorization: from `turn` on how poses and velocities of each body follow from its scaled acceleration (2 * PAIR
    slots) · response: K of each law (BLOCK each) · found: changes of its internal variables (8 each) · scratch
    (3 BLOCK) · vector: right-hand side and solution (NODE N) · pose, speed: dq, dv of each body (NODE slots each)
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
