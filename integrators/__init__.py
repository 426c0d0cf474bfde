"""Runge-Kutta integrators: tableaux, the step, fixed and adaptive step sizes, dense output.

Nothing here knows of bodies: a problem is y' = f(t, y), an optional projection of y after each step, and a
norm in which errors are measured.
"""

from .adaptive import Tolerance, adaptive_steps
from .dop853 import DOP853
from .fixed import fixed_steps
from .recorder import Recorder
from .step import IntegrationError, Sampled, Statistics, Step, guarded, rk_step
from .stiff import STIFF_METHODS, stiff_steps
from .tableau import Tableau
from .tableaux import RK4, RK45

TABLEAUX = {tableau.name: tableau for tableau in (RK4, RK45, DOP853)}

__all__ = [
    "DOP853",
    "RK4",
    "RK45",
    "STIFF_METHODS",
    "TABLEAUX",
    "IntegrationError",
    "Recorder",
    "Sampled",
    "Statistics",
    "Step",
    "Tableau",
    "Tolerance",
    "adaptive_steps",
    "fixed_steps",
    "guarded",
    "rk_step",
    "stiff_steps",
]
