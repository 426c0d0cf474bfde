"""Record of all tables and arrays of a system for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from .applied import Forces
from .closings import Closings
from .factorise import Pattern
from .load_tables import FrictionTables
from .recursion import Recursion
from .rows import Nodes
from .tree import Tree
from .workspace import Workspace


@record
class Mechanism(NamedTuple):
    """Constant tables of a system for compiled code, and the arrays that it writes.

    Attributes
    ----------
    constants : constants of the bodies, see `quirk.dynamics.model.layout`
    nodes : groups of constraint rows, in the order of elimination
    pattern : sparsity pattern of the block factorization of the constraint rows
    forces : force elements
    frictions : friction proportional to constraint loads
    tree : joints of a system without loops, for elimination of their degrees of freedom; multipliers are also computed
    recursion : joints of a forest, for recursion without multipliers. In a system with loops it is a spanning forest
    closings : constraints that close loops of the forest `recursion`
    work : arrays written by compiled code
    """

    constants: np.ndarray
    nodes: Nodes
    pattern: Pattern
    forces: Forces
    frictions: FrictionTables
    tree: Tree
    recursion: Recursion
    closings: Closings
    work: Workspace
