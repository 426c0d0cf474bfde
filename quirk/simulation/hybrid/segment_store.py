"""Completed segments of a run, with the active constraints and forces of each segment."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import numpy as np

from quirk.result.segment import Segment
from quirk.system.configuration import Configuration


class SegmentStore:
    """Completed segments of a run.

    Attributes
    ----------
    segments : the segments in chronological order
    configurations : active constraints and forces of each segment, with contacts and friction
    is_open : whether the next segment belongs to the last one, which only a look at the result, or a return to an
        earlier time, has ended
    """

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.configurations: list[Configuration] = []
        self.is_open = False

    def append(self, segment: Segment, configuration: Configuration) -> None:
        """Add a segment with its active constraints and forces, or its states to those of an open segment."""
        last = self.segments[-1] if self.is_open and self.segments else None
        self.is_open = False
        if last is not None and configuration == self.configurations[-1] and _continues(last, segment):
            self.segments[-1] = _joined(last, segment)
            return
        self.segments.append(segment)
        self.configurations.append(configuration)

    def count_at(self, t: float) -> int:
        """Return the number of stored states at time t, s."""
        later = takewhile(lambda segment: segment.time[-1] >= t, reversed(self.segments))
        return sum(int((segment.time == t).sum()) for segment in later)

    def drop_after(self, t: float, count: int | None) -> None:
        """Discard all states after time t, s, and at this time all but the first `count`; None keeps all of these."""
        remaining = []
        for segment, configuration in zip(self.segments, self.configurations, strict=True):
            earlier, until = (int(np.searchsorted(segment.time, t, side=side)) for side in ("left", "right"))
            if count is not None:
                until = min(until, earlier + count)
                count -= until - earlier
            if until:
                remaining.append((_first_states(segment, until), configuration))
        self.segments[:] = [segment for segment, _ in remaining]
        self.configurations[:] = [configuration for _, configuration in remaining]

    def clear(self) -> None:
        """Discard all segments."""
        self.segments.clear()
        self.configurations.clear()


def _continues(last: Segment, following: Segment) -> bool:
    """Whether the states of the segment `following` may belong to the segment `last`."""
    same = following.plant is last.plant and following.changed == last.changed and not last.recorded
    counted = np.array_equal(following.turns.whole, last.turns.whole)
    return same and counted and bool(last.time[-1] < following.time[0])


def _joined(first: Segment, second: Segment) -> Segment:
    """Return a segment with the states of two segments."""
    turns = replace(first.turns, quadrants=np.concatenate([first.turns.quadrants, second.turns.quadrants]))
    time, flat = np.concatenate([first.time, second.time]), np.concatenate([first.flat, second.flat])
    changes = second.switched, second.replaced
    joined = Segment(second.plant, time, flat, turns, second.rank, changes, second.changed)
    joined.last_slip = second.last_slip
    return joined


def _first_states(segment: Segment, count: int) -> Segment:
    """Return the part of a segment with its first `count` states."""
    if count == len(segment.time):
        return segment
    turns = replace(segment.turns, quadrants=segment.turns.quadrants[:count])
    changes = segment.switched, segment.replaced
    return Segment(
        segment.plant, segment.time[:count], segment.flat[:count], turns, segment.rank, changes, segment.changed
    )
