"""The public names; and that the layout works from anywhere."""

import subprocess
import sys
from importlib.metadata import version

import quirk
from quirk import constraints, forces

NAMES = [
    "Actuator",
    "AssemblyError",
    "Body",
    "Bushing",
    "ConstantVelocity",
    "Constraint",
    "Contact",
    "Coupling",
    "Controller",
    "CurveOnCurve",
    "CustomRows",
    "Cylindrical",
    "Damper",
    "Damping",
    "Distance",
    "DistanceDrive",
    "Drag",
    "Drawing",
    "Drive",
    "Drum",
    "Event",
    "Expression",
    "Fixed",
    "FluxPinning",
    "Force",
    "ForceElement",
    "ForceField",
    "Frame",
    "Free",
    "GROUND",
    "Gear",
    "Generic",
    "Friction",
    "GravityGradient",
    "Implicit",
    "InconsistentStateError",
    "InputError",
    "Interaction",
    "Joint",
    "JointForce",
    "JointFriction",
    "JointTorque",
    "KnifeEdge",
    "Latch",
    "Motion",
    "OneSided",
    "Planar",
    "PointGravity",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "Potential",
    "PotentialField",
    "Prismatic",
    "Pulley",
    "QuirkError",
    "RackPinion",
    "ReactionWheel",
    "Result",
    "Revolute",
    "Rope",
    "RollingDisk",
    "Screw",
    "SimulationError",
    "Spherical",
    "Spring",
    "State",
    "Stop",
    "System",
    "Thruster",
    "Torque",
    "TorsionSpring",
    "TrajectoryDrive",
    "UniformField",
    "Universal",
    "UnknownNameError",
    "after",
    "distance_between",
    "engage",
    "follow",
    "kinematics",
    "load",
    "planar",
    "release",
    "replace",
    "sensors",
    "set_velocity",
    "simulate",
    "surface",
    "switch_off",
    "switch_on",
    "where",
]


def test_exports():
    assert sorted(quirk.__all__) == sorted(NAMES)
    for name in NAMES:
        assert getattr(quirk, name) is not None


def test_joints_and_forces_are_re_exported():
    for module in (constraints, forces):
        for name in module.__all__:
            if name not in ("Constraint", "Joint"):
                assert getattr(quirk, name) is getattr(module, name)


def test_version():
    assert quirk.__version__ == version("quirk-dynamics")


def test_heavy_modules_are_imported_when_needed():
    """Importing quirk loads neither matplotlib nor numpy-quaternion, and compiles nothing."""
    script = (
        "import sys, quirk\n"
        "print([m for m in ('matplotlib', 'quaternion', 'scipy.integrate') if m in sys.modules])\n"
        "from quirk.constraints.primitives import constraint_tower\n"
        "print(len(constraint_tower.signatures))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "0"]
