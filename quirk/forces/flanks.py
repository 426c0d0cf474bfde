"""Elastic flanks with free play: the teeth of gears with backlash, and the dogs of couplings.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ..autodiff.jet import where
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.backlash import poses_of
from ..constraints.relation import Function, Relation
from .element import ForceElement
from .place import Place

# Value of `side` outside of runs: the flank in contact is determined by the deviation alone.
ANY = 2.0


class OfRelation(ForceElement):
    """Base class of force elements whose load depends on the deviation from a relation, such as the mesh of two gears.

    The deviation is the difference of coordinate j from the value that the relation prescribes without free play, in
    rad or m.

    Attributes
    ----------
    function : constraint function of the relation, whose value is the deviation
    numbers_of_relation : constants of this function
    half : half of the free play, called h, rad or m
    stiffness, damping : N m/rad and N m s/rad, or N/m and N s/m
    side : flank in contact: 1 for the upper, -1 for the lower, 0 for none; ANY if no run has determined it
    """

    parameters = ("numbers_of_relation", "half", "stiffness", "damping", "side")
    drawing = ""
    function: Function
    numbers_of_relation: np.ndarray
    half: float
    stiffness: float
    damping: float
    side: float

    def deviation(self, t: Any, frames: Sequence[Place]) -> Any:
        """Return the deviation of coordinate j from its value without free play, rad or m."""
        (deviation,) = self.function(t, poses_of(frames), list(self.numbers_of_relation), [])
        return deviation


class Flanks(OfRelation):
    """Spring-damper contacts at the two flanks of a mesh with free play; the flanks exert no tensile load.

    Let x be the deviation of coordinate j from its value without play, and h half the free play. The upper flank exerts
    the load ``-stiffness (x - h) - damping x'`` from the instant at which x reaches h until this load falls to zero.
    The lower flank exerts ``-stiffness (x + h) - damping x'`` from the instant at which x reaches -h. Without free play
    the load always acts. During runs, events switch the flanks.

    Parameters
    ----------
    name : str
    ends : bodies and frames of the relation
    relation : relation of the mesh without play
    backlash : total free travel, rad or m
    stiffness, damping : N m/rad and N m s/rad, or N/m and N s/m

    Attributes
    ----------
    switches : whether there is free play, and runs switch between the flanks
    """

    switches: bool
    coordinates = ("deviation",)
    undefined = "its deviation is not a number"

    def __init__(
        self,
        name: str,
        ends: Sequence[tuple[Body | Ground, Frame]],
        relation: Relation,
        backlash: float,
        stiffness: float,
        damping: float,
    ) -> None:
        self.function, self.numbers_of_relation = relation.function, np.array(relation.numbers)
        self.half, self.stiffness, self.damping, self.side = 0.5 * backlash, stiffness, damping, ANY
        self.switches = backlash > 0
        super().__init__(name, *ends)

    def coordinate(self, t: Any, *frames: Place) -> Any:
        """Return the deviation of coordinate j from its value without free play, rad or m."""
        return self.deviation(t, frames)

    def stored(self, t: Any, x: Any) -> Any:
        """Return the energy of the spring of the flank in contact, J."""
        s = self._side(x)
        return 0.5 * self.stiffness * (x - s * self.half) ** 2 * self._touches(s)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the generalized force of the damper along the deviation, N m or N.

        Outside of runs, if the total load of the flank would be tensile, the result also cancels the spring force.
        """
        s = self._side(x)
        damped = -self.damping * rate * self._touches(s)
        if not self.switches:
            return damped
        spring = -self.stiffness * (x - s * self.half) * self._touches(s)
        pulls = (spring + damped) * s > 0.0
        return where(self.side > 1.5, where(pulls, -spring, damped), damped)

    def _side(self, x: Any) -> Any:
        beyond = where(x > self.half, 1.0, where(x < -self.half, -1.0, 0.0))
        return where(self.side > 1.5, beyond, self.side)

    def _touches(self, s: Any) -> Any:
        return s * s if self.switches else 1.0

    def on_side(self, side: int) -> Flanks:
        """Return the element with the upper flank (1), the lower flank (-1) or no flank (0) in contact."""
        return _on_side(self, side)

    def gap(self, sign: int) -> FlankGap:
        """Return the gap at the flank `sign` (1 upper, -1 lower) as an event function, rad or m."""
        return FlankGap(self, sign)

    def load_of(self, sign: int) -> FlankLoad:
        """Return the load of the flank `sign` (1 upper, -1 lower) as an event function, positive in compression."""
        return FlankLoad(self, sign)


@lru_cache(1024)
def _on_side(flanks: Flanks, side: int) -> Flanks:
    return flanks.with_values({"side": float(side)})


class OfFlank(OfRelation):
    """Base class of event functions of one flank: its gap, or its load.

    Attributes
    ----------
    side : 1.0 for the upper flank, -1.0 for the lower one
    title : name of the element for messages
    """

    aside = ("title",)
    coordinates = ("value",)
    undefined = "its deviation is not a number"

    def __init__(self, flanks: Flanks, sign: int) -> None:
        for name in ("function", *OfRelation.parameters):
            setattr(self, name, getattr(flanks, name))
        self.side, self.title = float(sign), f"{flanks}"
        super().__init__(flanks.name, *flanks.ends)

    def as_law(self, traced: bool) -> Self:
        """Return the event function itself, as it calls no user functions."""
        return self

    def __str__(self) -> str:
        return self.title


class FlankGap(OfFlank):
    """Gap at a flank as an event function, rad or m; negative if the flank is compressed."""

    def coordinate(self, t: Any, *frames: Place) -> Any:
        """Return the gap at the flank: half of the free play minus the deviation towards the flank, rad or m."""
        return self.half - self.deviation(t, frames) * self.side

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return 1, a unit load along the gap: the resulting loads on the bodies are the gradient of the gap."""
        return 1.0


class FlankLoad(OfFlank):
    """Load (N m or N) of the spring and damper of a flank, as an event function; negative in tension."""

    def load(self, t: Any, *frames: Place) -> Any:
        """Return zero loads; the object serves as an event function only."""
        return [(0, 0)] * len(frames)

    def shown(self, t: Any, *frames: Place) -> Any:
        """Return the load of the flank, N m or N, positive in compression."""
        x = self.deviation(t, frames)
        return self.stiffness * (self.side * x - self.half) + self.damping * self.side * x.rate
