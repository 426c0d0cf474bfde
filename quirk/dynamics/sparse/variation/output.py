"""Storage of the variations of a run at its output times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.mechanism import Mechanism
from ..stepping.run_state import STEP_END
from ..tangent.state_variations import copy_variations
from ..tangent.tables import Tangents
from .variations_at_state import project_at


@kernel
def write_start(variation: Any, start: float) -> None:
    """Store the variations at the start of a run if the start is an output time.

    `start` is the time, s; `variation` is an `ExplicitVariation` or an `ImplicitVariation`.
    """
    size, wanted = variation.stage.shape[0], variation.requested_times.shape[0]
    while variation.outputs_done[0] < wanted and variation.requested_times[variation.outputs_done[0]] <= start:
        place = variation.outputs_done[0] * size
        copy_variations(
            variation.changes, variation.output_variations, variation.directions, wanted * size, place, size
        )
        variation.outputs_done[0] += 1


def writer_of(between: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function write(mechanism, tangents, by, variation, step) for the variations at output times.

    It stores the variations at all output times within a step. ``between(mechanism, tangents, by, variation, step, t,
    first)`` computes the variations at time t in variation.changes_at; `first` is true at the first output time of the
    step. `by` is the data of the integration method.
    """

    @kernel
    def write(mechanism: Mechanism, tangents: Tangents, by: Any, variation: Any, step: np.ndarray) -> None:
        size, wanted, first = variation.stage.shape[0], variation.requested_times.shape[0], True
        while variation.outputs_done[0] < wanted and variation.requested_times[variation.outputs_done[0]] <= at(
            step, STEP_END
        ):
            row, t = variation.outputs_done[0], variation.requested_times[variation.outputs_done[0]]
            if t < at(step, STEP_END):
                between(mechanism, tangents, by, variation, step, t, first)
                first = False
                if variation.projects:
                    state = variation.states[row * size : (row + 1) * size]
                    project_at(mechanism, tangents, variation, t, state, variation.changes_at)
                copy_variations(
                    variation.changes_at,
                    variation.output_variations,
                    variation.directions,
                    wanted * size,
                    row * size,
                    size,
                )
            else:
                copy_variations(
                    variation.changes_new,
                    variation.output_variations,
                    variation.directions,
                    wanted * size,
                    row * size,
                    size,
                )
            variation.outputs_done[0] += 1

    return write
