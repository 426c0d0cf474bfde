"""The Taylor series method and the choice of its order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .tableau import Tableau
from .verner98 import VERN9

TAYLOR = "Taylor"

# Minimum and maximum order: lower and higher orders are slower. MORE is added to the theoretically optimal order.
FEWEST, MOST = 8, 30
MORE = 8


@dataclass(frozen=True)
class Taylor:
    """Integration method that sums the Taylor series of the motion.

    Attributes
    ----------
    order : int
        Order of the Taylor polynomials of positions; those of velocities have one order less.
    instead : Tableau
        Runge-Kutta method used instead for systems whose motion cannot be expanded in a Taylor series, after the series
        stops converging in a run (for example at a jump of a load), and for sensitivities along the steps of a run.
    """

    order: int
    name: str = TAYLOR
    instead: Tableau = VERN9
    # One evaluation per step, at its end.
    stages: int = 1
    c: np.ndarray = field(default_factory=lambda: np.zeros(1))
    b: np.ndarray = field(default_factory=lambda: np.ones(1))


def taylor_for(rtol: float) -> Taylor:
    """Return the Taylor method for a relative tolerance.

    If the cost of each term were proportional to the number of terms, and a step had no other cost, the optimal order
    would be -ln(rtol) / 2 (Jorba and Zou, Exp. Math. 14 (2005) 99). The measured cost per step grows only slightly
    faster than the order, so that an order higher by MORE saves time, for small and for large systems.
    """
    return Taylor(min(max(FEWEST, round(-0.5 * math.log(rtol)) + MORE), MOST))
