"""Completed segments of a run, with the active constraints and forces of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quirk.result.segment import Segment
from quirk.system.configuration import Configuration


class SegmentStore:
    """Completed segments of a run.

    Attributes
    ----------
    segments : the segments in chronological order
    configurations : active constraints and forces of each segment, with contacts and friction
    """

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.configurations: list[Configuration] = []

    def append(self, segment: Segment, configuration: Configuration) -> None:
        """Add a segment with its active constraints and forces."""
        self.segments.append(segment)
        self.configurations.append(configuration)

    def drop_after(self, t: float) -> None:
        """Discard all states after time t, s."""
        pairs = zip(self.segments, self.configurations, strict=True)
        remaining = [(segment, configuration) for segment, configuration in pairs if segment.time[0] <= t]
        self.segments[:] = [up_to(segment, t) for segment, _ in remaining]
        self.configurations[:] = [configuration for _, configuration in remaining]

    def clear(self) -> None:
        """Discard all segments."""
        self.segments.clear()
        self.configurations.clear()


def up_to(segment: Segment, t: float) -> Segment:
    """Return the part of a segment up to time t (s), which must not be before the start of the segment."""
    count = int(np.searchsorted(segment.time, t, side="right"))
    if count == len(segment.time):
        return segment
    turns = replace(segment.turns, quadrants=segment.turns.quadrants[:count])
    changes = segment.switched, segment.replaced
    return Segment(
        segment.plant, segment.time[:count], segment.flat[:count], turns, segment.rank, changes, segment.changed
    )
