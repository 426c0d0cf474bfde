from . import constraints as constraints
from . import demos as demos
from . import errors as errors
from . import events as events
from . import forces as forces
from . import importers as importers
from . import integrators as integrators
from . import rotation as rotation
from . import shapes as shapes
from .body import GROUND, Body
from .checkpoints import read_checkpoint
from .constraints import *  # noqa: F403
from .constraints import planar
from .constraints import surface as surface
from .errors import (
    AssemblyError,
    BreaksWarning,
    ChangedFunctionWarning,
    CheckpointWarning,
    ConvergenceError,
    DegreesWarning,
    InconsistentStateError,
    InputError,
    QuirkError,
    SaveWarning,
    SensitivityWarning,
    SeriesWarning,
    SimulationError,
    StatefulWarning,
    StiffnessWarning,
    UnknownNameError,
    WriteError,
)
from .events import *  # noqa: F403
from .expression import Expression
from .forces import *  # noqa: F403
from .frame import Frame
from .inverse_dynamics import inverse_dynamics
from .jets import where
from .join import join
from .kinematics import kinematics
from .linear.equilibrium_path import equilibrium_path
from .linear.root_locus import root_locus
from .load import load
from .motion import Motion
from .objective import Objective
from .result import Result
from .simulate import simulate
from .state import State
from .sweeps import sweep
from .system import System

__version__: str

__all__ = [
    "GROUND",
    "AssemblyError",
    "Body",
    "BreaksWarning",
    "ChangedFunctionWarning",
    "CheckpointWarning",
    "ConvergenceError",
    "DegreesWarning",
    "Expression",
    "Frame",
    "InconsistentStateError",
    "InputError",
    "Motion",
    "Objective",
    "QuirkError",
    "Result",
    "SaveWarning",
    "SensitivityWarning",
    "SeriesWarning",
    "SimulationError",
    "State",
    "StatefulWarning",
    "StiffnessWarning",
    "System",
    "UnknownNameError",
    "WriteError",
    "equilibrium_path",
    "inverse_dynamics",
    "join",
    "kinematics",
    "load",
    "planar",
    "read_checkpoint",
    "root_locus",
    "simulate",
    "surface",
    "sweep",
    "where",
]
__all__ += constraints.__all__
__all__ += events.__all__
__all__ += forces.__all__
