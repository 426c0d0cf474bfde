"""Taylor series as a method of integration: how many terms, and how long a step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

TAYLOR = "Taylor"

# Terms beyond these change nothing, or are too few for dense output and loads.
FEWEST, MOST = 6, 30


@dataclass(frozen=True)
class Taylor:
    """A method that sums the Taylor series of the motion.

    Attributes
    ----------
    order : int
        Of the last term of positions; velocities have one less.
    """

    order: int
    name: str = TAYLOR
    # One evaluation a step, at its end.
    stages: int = 1
    c: np.ndarray = field(default_factory=lambda: np.zeros(1))
    b: np.ndarray = field(default_factory=lambda: np.ones(1))


def taylor_for(rtol: float) -> Taylor:
    """Return the method for a relative tolerance.

    Where a term more costs in proportion to how many there are, time is saved with the order -ln(rtol) / 2 (Jorba and
    Zou, Exp. Math. 14 (2005) 99), and one less with what a step costs in any case.
    """
    return Taylor(min(max(FEWEST, round(-0.5 * math.log(rtol)) + 2), MOST))
