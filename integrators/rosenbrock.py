"""Rosenbrock methods for stiff systems.

Each stage solves one linear system with the exact Jacobian; there is no iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tableau import CHECK_TOLERANCE, from_rows


@dataclass(frozen=True)
class Rosenbrock:
    """A Rosenbrock method of s stages, in the form without Jacobian-vector products.

    Stage u_i solves (I / (gamma h) - J) u_i = f(t + c_i h, y + sum_j a_ij u_j) + sum_j (C_ij / h) u_j + d_i h f_t, and
    y_new = y + sum_i m_i u_i, with the error estimate sum_i e_i u_i (Hairer and Wanner, Solving Ordinary Differential
    Equations II, IV.7, eq. 7.25).

    Attributes
    ----------
    name : str, name of the method
    order, error_order : int
        Orders of the method and of the embedded method; the error estimate is of order h^(error_order + 1).
    gamma : float, coefficient of the Jacobian J
    a, C : (s, s) strictly lower triangular
    c, d, m, e : (s,) nodes, weights of f_t, of the result and of the error estimate
    dense : (k, s)
        y(t + x h) = (1 - x) y + x (y_new + (1 - x) (w_1 + x (w_2 + x ...))) with w_i = sum_j dense_ij u_j.
    """

    name: str
    order: int
    error_order: int
    gamma: float
    a: np.ndarray
    C: np.ndarray
    c: np.ndarray
    d: np.ndarray
    m: np.ndarray
    e: np.ndarray
    dense: np.ndarray

    def __post_init__(self) -> None:
        # Coefficients of the usual form: Gamma^-1 = I / gamma - C; b, alpha and beta follow.
        s = self.stages
        Gamma = np.linalg.inv(np.eye(s) / self.gamma - self.C)
        alpha, b = self.a @ np.linalg.inv(np.eye(s) / self.gamma - self.C), self.m @ Gamma
        beta = alpha + Gamma
        rows = beta.sum(axis=1)
        conditions = {
            "the row sums of alpha are c": alpha.sum(axis=1) - self.c,
            "the row sums of Gamma are d": Gamma.sum(axis=1) - self.d,
            "sum b is 1": b.sum() - 1,
            "sum b beta is 1/2": b @ rows - 1 / 2,
            "the quadrature conditions hold": np.array([b @ self.c**k - 1 / (k + 1) for k in range(1, self.order)])[1:],
            "b.beta.beta is 1/6": b @ beta @ rows - 1 / 6,
            "b.beta.beta.beta is 1/24": b @ beta @ beta @ rows - 1 / 24,
            "b.(c alpha beta) is 1/8": b @ (self.c * (alpha @ rows)) - 1 / 8,
            "b.beta.c^2 is 1/12": b @ beta @ self.c**2 - 1 / 12,
        }
        for condition, miss in conditions.items():
            if np.abs(miss).max(initial=0.0) > 100 * CHECK_TOLERANCE:
                raise ValueError(f"method {self.name}: not true that {condition}; off by {miss}")
        for array in (self.a, self.C, self.c, self.d, self.m, self.e, self.dense):
            array.setflags(write=False)

    @property
    def stages(self) -> int:
        """Number s of stages."""
        return len(self.m)

    @property
    def b(self) -> np.ndarray:
        """Weights m (s,) of the stages, named as for explicit methods."""
        return self.m


_A: tuple[dict[int, float], ...] = (
    {},
    {0: 3.0},
    {0: 2.849394379747939, 1: 0.45842242204463923},
    {0: -6.954028509809101, 1: 2.489845061869568, 2: -10.358996098473584},
    {0: 2.8029986275628964, 1: 0.5072464736228206, 2: -0.3988312541770524, 3: -0.04721187230404641},
    {0: -7.502846399306121, 1: 2.561846144803919, 2: -11.627539656261098, 3: -0.18268767659942256,
     4: 0.030198172008377946},
)  # fmt: skip
_C: tuple[dict[int, float], ...] = (
    {},
    {0: -14.155112264123755},
    {0: -17.97296035885952, 1: -2.859693295451294},
    {0: 147.12150275711716, 1: -1.41221402718213, 2: 71.68940251302358},
    {0: 165.43517024871676, 1: -0.4592823456491126, 2: 42.90938336958603, 3: -5.961986721573306},
    {0: 24.854864614690072, 1: -3.0009227002832186, 2: 47.4931110020768, 3: 5.5814197821558125,
     4: -0.6610691825249471},
    {0: 30.91273214028599, 1: -3.1208243349937974, 2: 77.79954646070892, 3: 34.28646028294783,
     4: -19.097331116725623, 5: -28.087943162872662},
    {0: 37.80277123390563, 1: -3.2571969029072276, 2: 112.26918849496327, 3: 66.9347231244047,
     4: -40.06618937091002, 5: -54.66780262877968, 6: -9.48861652309627},
)  # fmt: skip
# The last two stages start from the end of the sixth: the method is stiffly accurate, and so is the embedded one.
_LAST = [*({**_A[5], **dict.fromkeys(range(5, 5 + k), 1.0)} for k in range(1, 3))]
_M = {**_A[5], **dict.fromkeys(range(5, 8), 1.0)}

# Steinebach, BIT Numer. Math. 63 (2023) 27: L-stable, order 5 for ordinary and index-1 differential-algebraic
# equations, without order reduction for many semi-discretized partial differential equations.
RODAS5P = Rosenbrock(
    name="Rodas5P",
    order=5,
    error_order=4,
    gamma=0.21193756319429014,
    a=from_rows((*_A, *_LAST), 8),
    C=from_rows(_C, 8),
    c=np.array([0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0]),
    d=np.array([0.21193756319429014, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734, 2.325825639765069,
                0.0, 0.0, 0.0]),
    m=from_rows((_M,), 8)[0],
    e=np.eye(8)[7],
    dense=np.array([
        [25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
         1.1241088310450404, 0.4272876194431874, -0.17202221070155493],
        [-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
         15.98066361424651, -6.789040303419874, -6.710236069923372],
        [11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
         -59.78993625266729, -0.15582684282751913, 4.883087185713722],
    ]),
)  # fmt: skip
