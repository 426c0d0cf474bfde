"""QuIRK: rigid bodies joined by constraints, simulated with the Udwadia-Kalaba equation."""

import pkgutil

# The sub-packages `constraints`, `integrators` and `demos` live beside this folder in a checkout. Should
# `import quirk` find the checkout while an installed copy is also on the path, they are found there.
__path__ = pkgutil.extend_path(__path__, __name__)

from . import constraints, events, forces
from .body import GROUND, Body
from .constraints import *  # noqa: F403
from .constraints import contact as surface
from .constraints import planar
from .errors import (
    AssemblyError,
    InconsistentStateError,
    InputError,
    QuirkError,
    SimulationError,
    UnknownNameError,
)
from .events import *  # noqa: F403
from .expression import Expression
from .forces import *  # noqa: F403
from .frame import Frame
from .jets import where
from .kinematics import kinematics
from .load import load
from .motion import Motion
from .result import Result
from .simulate import simulate
from .state import State
from .system import System

__version__ = "0.1.0"

__all__ = [
    "GROUND",
    "AssemblyError",
    "Body",
    "Expression",
    "Frame",
    "InconsistentStateError",
    "InputError",
    "Motion",
    "QuirkError",
    "Result",
    "SimulationError",
    "State",
    "System",
    "UnknownNameError",
    "kinematics",
    "load",
    "planar",
    "simulate",
    "surface",
    "where",
]
__all__ += constraints.__all__
__all__ += events.__all__
__all__ += forces.__all__
