"""A system as kernels see it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from .applied import Forces
from .coupled import FrictionTables
from .factorise import Pattern
from .rows import Nodes
from .work import Workspace


@record
class Mechanism(NamedTuple):
    """What kernels know of a system, and the arrays that they write.

    constants: of bodies, see `quirk.dynamics.model.layout` · nodes: the joints · pattern: the order of elimination and
    the blocks of S · forces: the force elements · frictions: those among them that depend on the loads of constraints ·
    work: all that is written
    """

    constants: np.ndarray
    nodes: Nodes
    pattern: Pattern
    forces: Forces
    frictions: FrictionTables
    work: Workspace
