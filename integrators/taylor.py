"""Taylor series as a method of integration: how many terms, and how long a step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .tableau import Tableau
from .verner98 import VERN9

TAYLOR = "Taylor"

# Orders below and above these gain nothing.
FEWEST, MOST = 8, 30
MORE = 8


@dataclass(frozen=True)
class Taylor:
    """A method that sums the Taylor series of the motion.

    Attributes
    ----------
    order : int
        Of the last term of positions; velocities have one less.
    instead : Tableau
        The method to use where there is no series, or one that ends.
    """

    order: int
    name: str = TAYLOR
    instead: Tableau = VERN9
    # One evaluation a step, at its end.
    stages: int = 1
    c: np.ndarray = field(default_factory=lambda: np.zeros(1))
    b: np.ndarray = field(default_factory=lambda: np.ones(1))


def taylor_for(rtol: float) -> Taylor:
    """Return the method for a relative tolerance.

    If a term more cost in proportion to how many there are, and a step nothing else, the best order would be
    -ln(rtol) / 2 (Jorba and Zou, Exp. Math. 14 (2005) 99). Measured costs of a step grow little faster than the order,
    and so more terms save time: about MORE of them, for systems of a few bodies as for large ones.
    """
    return Taylor(min(max(FEWEST, round(-0.5 * math.log(rtol)) + MORE), MOST))
