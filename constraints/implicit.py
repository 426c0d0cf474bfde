"""Quantities that equations between poses define: solved for on jets, so that all derivatives follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..autodiff.dual import Dual
from ..autodiff.jet import Jet

# equations(unknowns, bare) -> residuals and their derivatives by each unknown, rows of residuals; with `bare` it leaves
# out the gradients of all that it takes from the poses
Equations = Callable[[Sequence[Jet], bool], tuple[list[Jet], list[list[Jet]]]]


def solved(equations: Equations, start: Sequence[Jet]) -> list[Jet]:
    """Return the one or two jets that make residuals zero, from such whose values do.

    Each step of Newton's method doubles the number of derivatives in time that are known. The gradient takes one
    step, the last, as the residuals are linear in it. Directions of dual numbers count as one derivative more.
    """
    unknowns, known = list(start), 1
    wanted = len(start[0].taylor) + isinstance(start[0].value, Dual)
    while known < wanted:
        unknowns, known = _stepped(unknowns, *equations(unknowns, True)), 2 * known
    residuals, _ = equations(unknowns, False)
    return _stepped(unknowns, residuals, equations(unknowns, True)[1])


def _stepped(unknowns: list[Jet], residuals: list[Jet], slopes: list[list[Jet]]) -> list[Jet]:
    if len(unknowns) == 1:
        return [unknowns[0] - residuals[0] / slopes[0][0]]
    (a, b), (c, d) = slopes
    inverse = (a * d - b * c).reciprocal()
    x, y = residuals
    return [unknowns[0] - (d * x - b * y) * inverse, unknowns[1] - (a * y - c * x) * inverse]
