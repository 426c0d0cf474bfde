"""Stability of equilibria of large systems with elastic beams, by sparse matrices.

If the loads are conservative or damp the motion, small motions z satisfy M z'' = K z + D z' with K symmetric and
z^T D z not positive, within the constraints. For an eigenvalue s and its motion z, scaled to z^* M z = 1, the product
with conj(s) z^* gives

 Re(s) (|s|^2 - z^* K z) = -|s|^2 (damping), damping >= 0,

so that the equilibrium is stable if -K is positive definite (theorem of Kelvin, Tait and Chetaev; Merkin, Introduction
to the Theory of Stability (1997)). If K has a positive eigenvalue, it is unstable for any damping. For other systems
the eigenvalues must be computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.beams import BeamSegment
from quirk.beams.mass_damping import MassDamping
from quirk.bodies.state import State
from quirk.dynamics.model.model import Model
from quirk.errors import InputError
from quirk.forces import Damper, Damping, Force, Spring, TorsionSpring

from .operating_point import Point
from .sparse_jacobians import Local
from .sparse_statics import LinearizedStatics, suits

if TYPE_CHECKING:
    from quirk.system.system import System

# Classes of force elements whose loads derive from a potential or oppose the motion.
CONSERVATIVE_OR_DAMPING = (Damper, Damping, MassDamping, Spring, TorsionSpring)
# Asymmetries of a beam section's matrices below this fraction of their largest entry are round-off.
ROUND_OFF = 1e-14


def stability(system: System, state: State, t: float) -> bool | None:
    """Return whether an equilibrium at time t (s) is stable, or None if only eigenvalues can decide.

    The result is None if the system is small, has loads other than those of beams, springs, dampers, gravity and
    constant forces, or has prescribed motions that vary. Stiffness that is zero up to round-off counts by the sign of
    its computed value: the result is None if it is negative, and True if it is positive.
    """
    if not suits(system) or not is_conservative_or_damped(system.model):
        return None
    try:
        point = Point(system, state, t)
        linear = LinearizedStatics.at(point, Local.at(point, freedoms=6))
    except InputError:  # a singular state
        return None
    if linear.below(0.0):
        return True
    growing = linear.growing()
    return False if growing is not None and growing.shape[1] else None


def is_conservative_or_damped(model: Model) -> bool:
    """Whether all loads of a model derive from a potential or damp the motion, and no motion is prescribed."""
    constant = all(motion.constant for placed in model.relations for motion in placed.relation.motions)
    return constant and all(_is_conservative_or_damping(element) for element, _ in model.forces)


def _is_conservative_or_damping(element: Any) -> bool:
    if element.of_user or element.motions:
        return False
    if type(element) is BeamSegment:
        K, C = np.asarray(element.stiffness), np.asarray(element.damping)
        symmetric = np.abs(K - K.T).max() <= ROUND_OFF * np.abs(K).max()
        return bool(symmetric and np.linalg.eigvalsh(C + C.T)[0] >= -ROUND_OFF * np.abs(C).max())
    if type(element) is Force:
        return element.frame == "inertial"
    return type(element) in CONSERVATIVE_OR_DAMPING
