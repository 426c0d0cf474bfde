"""Applied forces and torques. Gravity is a property of the system: `System(..., gravity=...)`."""

from .element import ForceElement
from .joint_actuation import JointForce, JointTorque
from .on_body import Force, Torque
from .spring import Spring

__all__ = ["Force", "ForceElement", "JointForce", "JointTorque", "Spring", "Torque"]
