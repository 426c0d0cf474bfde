"""The classical Runge-Kutta method and the Dormand-Prince pair of orders 5 and 4.

Sources: Kutta (1901); Dormand and Prince, J. Comput. Appl. Math. 6 (1980); dense output of the pair by
Shampine, Math. Comp. 46 (1986), in the form that minimizes the error of the fourth-order interpolant.
"""

from __future__ import annotations

import numpy as np

from .tableau import Tableau, from_powers


def hermite(b: np.ndarray) -> np.ndarray:
    """Return the dense-output weights (s + 1, 3) of cubic Hermite interpolation between both ends of a step.

    `b` (s,) are the weights of y_new. The interpolant uses the slopes at the start and at the end of the step.
    """
    dense = np.zeros((len(b) + 1, 3))
    dense[:-1, 1:] = b[:, np.newaxis]
    dense[0, 0] = 1 / 3
    dense[-1, 1] = -1 / 3
    return dense


_b4 = np.array([1, 2, 2, 1]) / 6

RK4 = Tableau(
    name="RK4",
    order=4,
    c=np.array([0, 1 / 2, 1 / 2, 1]),
    a=np.array([[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]]),
    b=_b4,
    dense=hermite(_b4),
)

_b5 = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])

RK45 = Tableau(
    name="RK45",
    order=5,
    c=np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1]),
    a=np.array(
        [
            [0, 0, 0, 0, 0, 0],
            [1 / 5, 0, 0, 0, 0, 0],
            [3 / 40, 9 / 40, 0, 0, 0, 0],
            [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        ]
    ),
    b=_b5,
    errors=(np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]),),
    error_order=4,
    dense=from_powers(
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)
