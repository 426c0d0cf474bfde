from . import constraints as constraints
from . import demos as demos
from . import errors as errors
from . import events as events
from . import forces as forces
from . import integrators as integrators
from . import shapes as shapes
from .analysis.linear.equilibrium_path import equilibrium_path
from .analysis.linear.root_locus import root_locus
from .autodiff.jet import where
from .batches import Batch
from .beams import Beam, BeamSegment, Section
from .bodies import rotation as rotation
from .bodies.body import GROUND, Body
from .bodies.frame import Frame
from .bodies.state import State
from .constraints import *  # noqa: F403
from .constraints import planar, surface
from .errors import (
    AssemblyError,
    BreaksWarning,
    ChangedFunctionWarning,
    CheckpointWarning,
    ConvergenceError,
    DegreesWarning,
    IgnoredPartWarning,
    InconsistentStateError,
    InputError,
    OutputWarning,
    QuirkError,
    RateJumpWarning,
    RoundOffWarning,
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
from .forces import *  # noqa: F403
from .functions.expression import Expression
from .functions.motion import Motion
from .io import importers as importers
from .io.checkpoints import read_checkpoint
from .io.fmu import export_fmu
from .io.load import load
from .result.concatenation import join
from .result.contact_loads import ContactLoadWarning
from .result.result import Result
from .simulation.contacts_at_state import ImpactWarning
from .simulation.gym_environment import gym_environment
from .simulation.prescribed.inverse_dynamics import inverse_dynamics
from .simulation.prescribed.kinematics import kinematics
from .simulation.run import Run
from .simulation.sensitivity.objective import Objective
from .simulation.simulate import simulate
from .sweeps import sweep
from .system.system import System

__version__: str

__all__ = [
    "GROUND",
    "AssemblyError",
    "Batch",
    "Beam",
    "BeamSegment",
    "Body",
    "BreaksWarning",
    "ChangedFunctionWarning",
    "CheckpointWarning",
    "ContactLoadWarning",
    "ConvergenceError",
    "DegreesWarning",
    "Expression",
    "Frame",
    "IgnoredPartWarning",
    "ImpactWarning",
    "InconsistentStateError",
    "InputError",
    "Motion",
    "Objective",
    "OutputWarning",
    "QuirkError",
    "RateJumpWarning",
    "Result",
    "RoundOffWarning",
    "Run",
    "SaveWarning",
    "Section",
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
    "export_fmu",
    "gym_environment",
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
