"""Arrays of the linear systems of implicit steps.

An implicit method solves (I - e J) u = r, with the Jacobian J of y' = f(y) and a real or complex multiple e of the step
size. In terms of the variations da and dlambda of accelerations and multipliers due to u, this is a sparse system over
bodies and relations,

    [ M - e V - e^2 P E    -A^T ] [ da      ]   [ P dq + V dv      ]
    [ A + e C_v + e^2 C_p E   0 ] [ dlambda ] = [ -C_p dq - C_v dv ]

where P, V are the derivatives of all loads on bodies with respect to poses and velocities, C_p, C_v those of the second
time derivatives Phi'' of the residuals, E maps an angular velocity to the rate of the rotation vector, and the
variations dq, dv of poses and velocities at constant accelerations follow from r. Bodies are scaled to unit mass and
inertia, so that M is the unit matrix, and rows are scaled to unit norm. A method may use axes that rotate with the
bodies at constant rates; J, r and u then refer to the motion relative to these axes, at a time when they coincide with
the inertial ones.

The nodes of the elimination are bodies and relations (constraint functions). A side is one body of a relation, a pair
are two bodies coupled by a load, a slot is the position of a body in the arrays, and a law is the force law of a force
element.
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
    """Pairs of coupled nodes and their blocks in the matrix, for N nodes in the order of elimination.

    Nodes are the bodies and the relations (constraint functions) of a model.

    Attributes
    ----------
    size : (N,) number of rows of each node
    first : (N + 1,) index of the first coupling of each node with later nodes
    column : later node of each coupling
    upper, lower : first elements of the blocks of each coupling, in the row and in the column of the earlier node
    diagonal : (N,) first element of the diagonal block of each node
    target : first element of the block that is updated, for each pair of couplings of an eliminated node
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
    """Positions of the derivatives of loads and rows in the matrix, for Q pairs of bodies and S sides of R relations.

    Attributes
    ----------
    body_node : (slots,) node of each body, -1 for the ground
    relation_node : (R,) node of each relation
    pair_row, pair_column : (Q,) slots of the bodies of each pair
    pair_block : (Q,) first element of the block of each pair
    law_pair : index of the pair for each combination of a loaded and a moving frame of each law, or -1
    law_first : index in `law_pair` of the first combination of each law
    relation_pair : index of the pair for each combination of a loaded and a moving frame of each relation, or -1
    relation_first : index in `relation_pair` of the first combination of each relation
    diagonal_pair : (slots,) index of the pair that consists of each body twice, -1 for the ground
    side_row : (S,) relation of each side
    side_slot : (S,) slot of the side's body, or -1 for the ground
    side_upper, side_lower : (S,) first elements of the blocks that couple the side's body and relation
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
    diagonal_pair: np.ndarray
    side_row: np.ndarray
    side_slot: np.ndarray
    side_upper: np.ndarray
    side_lower: np.ndarray


@record
class ImplicitTables(NamedTuple):
    """Derivatives at one state, sparsity patterns, and offsets in the arrays of a linear system.

    The system for one value of e is a tuple of one array (size,), or of two for the real and imaginary parts. The
    fields from `turn` to `speed` are offsets in these arrays. N is the number of nodes; other letters are as in
    `CouplingBlocks`. Names in capitals are constants of this module and of `quirk.dynamics.sparse.tangent.tables`.

    Attributes
    ----------
    tangents : functions that compute derivatives of force laws and relations
    coupling, blocks : sparsity pattern of the matrix, and positions of derivatives in the matrix
    seeds : (2 * SEED slots,) unit directions of poses and of velocities
    moving : (2 * MOVING slots,) derivatives of the motion of bodies in these directions
    by_pose, by_velocity : (PAIR Q,) derivatives of scaled loads with respect to poses and velocities
    rows, row_by_pose, row_by_velocity : (BLOCK S,) rows A and derivatives of Phi'', scaled
    independent : (8 R,) mask of the independent rows
    variables : number of internal variables of force elements
    by_variable : (BLOCK per side of a law,) derivatives of scaled loads with respect to internal variables
    rate_by_pose, rate_by_velocity : (BLOCK per side of a law,) derivatives of the rates of internal variables
    rate_by_variable : (BLOCK per law,) derivatives of the rates with respect to internal variables
    axes : (AXES per block,) angular velocities of the axes, zero for axes at rest
    follows : 1.0 if the axes of rotations rotate with the bodies, 0.0 if they are at rest
    turn : (2 * PAIR slots) offset of the effect of each body's scaled acceleration on its pose and velocity
    response : (BLOCK per law) offset of the matrices K of the internal variables
    variable_changes : (8 per law) offset of the variations of the internal variables
    scratch : (3 BLOCK) offset of scratch blocks
    vector : (NODE N) right-hand side and solution
    pose, speed : (NODE slots) dq and dv of each body
    size : number of elements of one array
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
    independent: np.ndarray
    variables: int
    by_variable: np.ndarray
    rate_by_pose: np.ndarray
    rate_by_velocity: np.ndarray
    rate_by_variable: np.ndarray
    axes: np.ndarray
    follows: float
    turn: int
    response: int
    variable_changes: int
    scratch: int
    vector: int
    pose: int
    speed: int
    size: int
