"""Recorded values of the inputs of a run over time, from which its result computes loads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..events import Sampled
from ..forces import ForceElement
from ..result.segment import Segment
from ..system.configuration import Configuration
from ..system.system import System
from ..util.construction import made_with
from .run_inputs import Inputs, same_value


class InputHistory:
    """Recorded values of the inputs of a run; each value applies until the next one is recorded.

    Parameters
    ----------
    inputs : inputs whose values are recorded
    start : initial time of the run, s
    keep : whether all values are stored, or only the present ones
    """

    def __init__(self, inputs: Inputs, start: float, *, keep: bool = True) -> None:
        self._inputs, self._keep = inputs, keep
        self._records: dict[str, tuple[list[float], list[np.ndarray]]] = {
            name: ([start], [value]) for name, value in inputs.current_values.items()
        }

    def record(self, t: float, names: Iterable[str]) -> None:
        """Record the present values of the inputs called `names`, which apply from time t (s) on."""
        for name in names:
            self._add(t, name, self._inputs.current_values[name])

    def restore(self, t: float) -> None:
        """Discard the values recorded at or after time t (s), and record the inputs in effect at this time."""
        for name, (times, values) in self._records.items():
            while len(times) > 1 and times[-1] >= t:
                times.pop()
                values.pop()
            self._add(t, name, self._inputs.in_effect[name])

    def begin(self, t: float) -> None:
        """Discard all recorded values, and record the inputs in effect, which apply from time t (s) on."""
        self._records = {name: ([t], [value]) for name, value in self._inputs.in_effect.items()}

    def _add(self, t: float, name: str, value: np.ndarray) -> None:
        times, values = self._records[name]
        if self._keep and t > times[-1] and not same_value(value, values[-1]):
            times.append(t)
            values.append(value)
        else:
            values[-1] = value

    def driven_elements(self) -> dict[str, ForceElement]:
        """Return the force elements whose inputs have changed, with their recorded values as functions of time.

        The force elements are given by name.
        """
        changes: dict[str, dict[str, Any]] = {}
        for name, (times, values) in self._records.items():
            slot = self._inputs.slots[name]
            if len(times) > 1 or not np.array_equal(values[0], self._inputs.initial[name]):
                changes.setdefault(slot.element.name, {})[slot.argument] = slot.following(times, values)
        elements: dict[str, ForceElement] = {}
        for name, changed in changes.items():
            call = made_with(self._inputs.system[name])
            assert call is not None
            elements[name] = call.maker(**{**call.arguments, **changed})
        return elements


def as_driven(
    system: System,
    segments: Sequence[Segment],
    configurations: Sequence[Configuration],
    histories: Iterable[InputHistory],
    changed: tuple[str, ...] = (),
) -> tuple[System, list[Segment]]:
    """Return a system whose inputs follow their recorded values over time, and the segments of the run for this system.

    The returned system is a copy without sampled functions.

    Parameters
    ----------
    system : system of the run
    segments, configurations : segments of the run, and the active constraints and forces of each segment
    histories : recorded values
    changed : titles of parts with user functions that may have been changed by sampled functions, see `Segment`
    """
    driven = {name: element for history in histories for name, element in history.driven_elements().items()}
    if not driven and not system.sampled:
        return system, list(segments)
    followed = system._with([driven.get(part.name, part) for part in system if not isinstance(part, Sampled)])
    return followed, [
        _moved(segment, followed, configuration, changed)
        for segment, configuration in zip(segments, configurations, strict=True)
    ]


def _moved(segment: Segment, system: System, configuration: Configuration, changed: tuple[str, ...]) -> Segment:
    """Return a copy of a segment of a result for another system with different loads.

    `system` is the other system, `configuration` contains the active constraints and forces of the segment, and
    `changed` is as in `as_driven`.
    """
    plant, changes = system.plant_for(configuration), (segment.switched, segment.replaced)
    affected = tuple(dict.fromkeys((*segment.changed, *changed)))
    moved = Segment(plant, segment.time, segment.flat, segment.turns, segment.rank, changes, affected)
    moved.last_slip, moved.before_events = segment.last_slip, segment.before_events
    if segment.recorded:
        moved.take_record(segment)
    return moved
