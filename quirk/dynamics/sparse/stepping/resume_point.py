"""Data for the continuation of a run after constraints or forces have been enabled or disabled."""

from __future__ import annotations

from dataclasses import dataclass, field

from .method_switching import MethodCosts
from .watched_quantities import Sides


@dataclass(frozen=True)
class ResumePoint:
    """Data for the continuation of a run after constraints or forces have been enabled or disabled.

    Attributes
    ----------
    h : size of the next step, s, or 0 if it must be estimated
    grid : number of completed time steps of fixed size
    outputs_passed : number of output times up to the current time
    sides : signs of event functions by key, see `EventMonitor.sides`
    costs : cost statistics for method switching
    """

    h: float = 0.0
    grid: int = 0
    outputs_passed: int = 0
    sides: Sides = field(default_factory=dict)
    costs: MethodCosts = field(default_factory=MethodCosts)
