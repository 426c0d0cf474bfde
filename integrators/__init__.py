"""Runge-Kutta, Rosenbrock, Radau IIA and Taylor integrators: coefficients, steps, step-size control, dense output.

The package is independent of mechanics: a problem is y' = f(t, y), with an optional projection of y after each step and
a norm of the error.
"""

from .adaptive import Tolerance, adaptive_steps
from .breaks import Breaks
from .dop853 import DOP853
from .fixed import fixed_steps
from .radau import RADAU_IIA9, RadauIIA
from .recorder import Recorder
from .rosenbrock import RODAS5P, Rosenbrock
from .step import IntegrationError, InterpolatedStep, Statistics, Step, guarded, rk_step
from .stiff import STIFF_METHODS, stiff_steps
from .tableau import Tableau
from .tableaux import RK4, RK45
from .taylor import TAYLOR, Taylor
from .tsitouras import TSIT5
from .verner98 import VERN9

TABLEAUX = {tableau.name: tableau for tableau in (RK4, RK45, TSIT5, DOP853, VERN9)}
ImplicitMethod = Rosenbrock | RadauIIA
IMPLICIT_METHODS: dict[str, ImplicitMethod] = {method.name: method for method in (RADAU_IIA9, RODAS5P)}
ROSENBROCK_METHODS = {RODAS5P.name: RODAS5P}
Method = Tableau | ImplicitMethod | Taylor
# Earlier name.
Sampled = InterpolatedStep

__all__ = [
    "DOP853",
    "IMPLICIT_METHODS",
    "RADAU_IIA9",
    "RK4",
    "RK45",
    "RODAS5P",
    "ROSENBROCK_METHODS",
    "STIFF_METHODS",
    "TABLEAUX",
    "TAYLOR",
    "TSIT5",
    "VERN9",
    "Breaks",
    "IntegrationError",
    "InterpolatedStep",
    "RadauIIA",
    "Recorder",
    "Rosenbrock",
    "Statistics",
    "Step",
    "Tableau",
    "Taylor",
    "Tolerance",
    "adaptive_steps",
    "fixed_steps",
    "guarded",
    "rk_step",
    "stiff_steps",
]
