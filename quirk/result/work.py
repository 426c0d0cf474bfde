"""Work of forces and constraints integrated by a run, and conservation of energy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..forces import ForceElement
from .event_log import EventRecord
from .segment import Segment, joined

# Largest net change of a force's stored energy, relative to its work, if the energy depends only on the poses.
UNCHANGED = 1e-4


def work_of(segments: Sequence[Segment]) -> dict[str, np.ndarray]:
    """Return the work (nt,) since the start, J, by name of the forces and constraints whose work is integrated."""
    work: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for segment in segments for name in segment.work):
        before, last, end = 0.0, 0.0, -np.inf
        parts: list[np.ndarray] = []
        for segment in segments:
            done = segment.work.get(name, np.zeros_like(segment.time))
            # The work of a segment is counted from its start, or continues that of the previous segment.
            parts.append(before + (done - (done[0] if segment.time[0] == end or not parts else last)))
            before, last, end = float(parts[-1][-1]), float(done[-1]), float(segment.time[-1])
        work[name] = joined(parts)
    return work


def is_conservative(
    segments: Sequence[Segment],
    events: Iterable[EventRecord],
    elements: Iterable[ForceElement],
    work: Mapping[str, np.ndarray],
    energy_of: Callable[[str], np.ndarray],
) -> bool:
    """Whether only gravity and undamped springs do work in a run, so that the total energy is constant.

    Parameters
    ----------
    segments : segments of the run
    events, elements : events of the run, and its force elements
    work : work (nt,), J, by name of forces and constraints
    energy_of : function of a name that returns the stored energy (nt,), J, of the force element with this name
    """
    elements = list(elements)
    driven = any(placed.relation.motions for segment in segments for placed in segment.model.relations)
    if (
        driven
        or any(event.impulse or event.energy_loss for event in events)
        or not all(element.conservative for element in elements)
    ):
        return False
    # User-defined energies, and those of motions or internal variables, may change while no body moves.
    for element in elements:
        if element.name in segments[-1].model.carried.work:
            stored, done = energy_of(element.name), work.get(element.name)
            if done is None:
                return False
            gained = np.abs(stored - stored[0] + (done - done[0])).max()
            if not gained <= UNCHANGED * max(np.abs(done - done[0]).max(), np.ptp(stored)):
                return False
    return True
