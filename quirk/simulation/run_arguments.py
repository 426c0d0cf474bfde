"""Validation of the arguments of a `Run`: integration method, inputs and end time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import InputError
from ..integrators import STIFF_METHODS
from ..system.parts import part_of_input
from ..system.system import System
from ..util import validate
from .arguments import checked_method
from .run_inputs import Inputs

OWNER = "Run"


def compiled_method(method: Any, step: Any) -> str:
    """Return the name of the integration method, or raise an InputError if its steps are not compiled.

    `method` and `step` are the arguments of `Run`.
    """
    method = checked_method(OWNER, method, step, "sparse")
    if method in STIFF_METHODS:
        raise InputError(
            f'{OWNER}: method="{method}" is not compiled; take "RadauIIA9", "Rodas5P" or "auto" for stiff systems'
        )
    return method


def inputs_of(system: System, names: Iterable[str]) -> Inputs:
    """Return the inputs of a system called `names`; raise an InputError if a sampled function sets one of them."""
    inputs = Inputs(system, names)
    for sampled in system.sampled:
        set_by = {part_of_input(name, system) for name in sampled.inputs}
        for slot in inputs.slots.values():
            if slot.element.name in set_by:
                raise InputError(f"{OWNER}: inputs names {slot.element}, which {sampled} sets")
    return inputs


def duration_until(system: System, start: float, end: Any) -> float:
    """Return the duration (s) from `start` to `end` or, if `end` is None, to the end of the first motion that ends.

    The result is infinite if no motion ends.
    """
    if end is not None:
        end = validate.number(OWNER, "end", end)
        if not end > start:
            raise InputError(f"{OWNER}: end must be later than start, {start:g} s; got {end:g} s")
        return float(end - start)
    motions = [motion for placed in system.model.relations for motion in placed.relation.motions]
    motions += [element.motion(name) for element in system.forces for name in element.motions]
    last = min((motion.end for motion in motions), default=np.inf)
    duration = last - start
    while start + duration > last and duration < np.inf:
        duration = float(np.nextafter(duration, 0.0))
    return duration if duration > 0 else np.inf  # an infinite duration is refused later, when motions are checked
