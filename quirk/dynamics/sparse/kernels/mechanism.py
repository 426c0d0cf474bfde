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
    """Tables of a system, and arrays written by compiled code.

    Attributes
    ----------
    constants : constants of the bodies, see `quirk.dynamics.model.layout`
    nodes : joints in the order of elimination
    pattern : blocks of the factorization of the constraint rows
    forces : force elements
    frictions : friction proportional to constraint loads
    tree : joints of a forest (a system without loops), for the elimination of its degrees of freedom
    recursion : joints of a forest, for recursion over them
    closings : constraints that close the loops of this forest
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
