"""Storage of the variations of a run at its output times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.mechanism import Mechanism
from ..stepping.run_state import STEP_END
from ..tangent.changes import copy_all
from ..tangent.tables import Tangents
from .variations_at_state import land_at


@kernel
def write_start(variation: Any, start: float) -> None:
    """Store the variations at the start of a run if the start is an output time."""
    size, wanted = variation.stage.shape[0], variation.asked.shape[0]
    while variation.written[0] < wanted and variation.asked[variation.written[0]] <= start:
        place = variation.written[0] * size
        copy_all(variation.changes, variation.found, variation.directions, wanted * size, place, size)
        variation.written[0] += 1


def writer_of(between: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function write(mechanism, tangents, by, variation, step) that stores the variations at output times.

    ``between(mechanism, tangents, by, variation, step, t, first)`` computes the variations at time t within the step,
    in variation.changes_at; `first` is true at the first output time of the step. `by` is the data of the integration
    method.
    """

    @kernel
    def write(mechanism: Mechanism, tangents: Tangents, by: Any, variation: Any, step: np.ndarray) -> None:
        size, wanted, first = variation.stage.shape[0], variation.asked.shape[0], True
        while variation.written[0] < wanted and variation.asked[variation.written[0]] <= at(step, STEP_END):
            row, t = variation.written[0], variation.asked[variation.written[0]]
            if t < at(step, STEP_END):
                between(mechanism, tangents, by, variation, step, t, first)
                first = False
                if variation.projects:
                    state = variation.states[row * size : (row + 1) * size]
                    land_at(mechanism, tangents, variation, t, state, variation.changes_at)
                copy_all(variation.changes_at, variation.found, variation.directions, wanted * size, row * size, size)
            else:
                copy_all(variation.changes_new, variation.found, variation.directions, wanted * size, row * size, size)
            variation.written[0] += 1

    return write
