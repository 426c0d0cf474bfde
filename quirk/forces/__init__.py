"""Applied forces and torques.

Uniform gravity is a property of the system instead: `System(..., gravity=...)`.
"""

from .actuator import Actuator, Controller
from .attitude_control import AttitudeControl
from .bushing import Bushing
from .drag import Drag
from .element import ForceElement
from .fields import Damping, ForceField, Potential, PotentialField, UniformField
from .flux_pinning import FluxPinning
from .friction import Friction
from .gravity import GravityGradient, PointGravity
from .interaction import Interaction
from .joint_actuation import JointForce, JointTorque
from .joint_friction import JointFriction
from .on_body import Force, Torque
from .robot_control import ComputedTorque, GravityCompensation
from .spacecraft import ReactionWheel, Thruster
from .spring import Damper, Spring
from .tendon import Tendon
from .torsion_spring import TorsionSpring

__all__ = [
    "Actuator",
    "AttitudeControl",
    "Bushing",
    "ComputedTorque",
    "Controller",
    "Damper",
    "Damping",
    "Drag",
    "FluxPinning",
    "Force",
    "ForceElement",
    "ForceField",
    "Friction",
    "GravityCompensation",
    "GravityGradient",
    "Interaction",
    "JointForce",
    "JointFriction",
    "JointTorque",
    "PointGravity",
    "Potential",
    "PotentialField",
    "ReactionWheel",
    "Spring",
    "Tendon",
    "Thruster",
    "Torque",
    "TorsionSpring",
    "UniformField",
]
