"""Quantities defined implicitly by equations between poses.

The equations are solved on jets, which are numbers with time derivatives and a gradient, so that all derivatives of the
solution are available. A dual number has a value and derivatives along eight directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..autodiff.dual import Dual
from ..autodiff.jet import Jet

# equations(unknowns, bare) -> residuals and their derivatives with respect to each unknown, as rows; `bare` leaves out
# the gradients of all quantities of the poses
Equations = Callable[[Sequence[Jet], bool], tuple[list[Jet], list[list[Jet]]]]


def solved(equations: Equations, start: Sequence[Jet]) -> list[Jet]:
    """Return the solution of one or two equations as jets, with all its derivatives, by Newton's method.

    `start` contains the values of the unknowns, which must solve the equations; their derivatives are not used. Each
    step doubles the number of correct time derivatives. The derivatives of dual numbers count as one more time
    derivative. The last step also gives the gradient of the solution, because the residuals are linear in it.
    """
    unknowns, known = list(start), 1
    wanted = len(start[0].taylor) + isinstance(start[0].value, Dual)
    while known < wanted:
        unknowns, known = _newton_step(unknowns, *equations(unknowns, True)), 2 * known
    residuals, _ = equations(unknowns, False)
    return _newton_step(unknowns, residuals, equations(unknowns, True)[1])


def _newton_step(unknowns: list[Jet], residuals: list[Jet], slopes: list[list[Jet]]) -> list[Jet]:
    if len(unknowns) == 1:
        return [unknowns[0] - residuals[0] / slopes[0][0]]
    (a, b), (c, d) = slopes
    inverse = (a * d - b * c).reciprocal()
    x, y = residuals
    return [unknowns[0] - (d * x - b * y) * inverse, unknowns[1] - (a * y - c * x) * inverse]
