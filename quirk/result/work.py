"""Work of forces and constraints integrated by a run, and conservation of energy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..forces import ForceElement
from .event_log import EventRecord
from .segment import Segment, joined

# Maximum sum of work and change of stored energy of a force element without dissipation, relative to the larger of the
# two.
UNCHANGED = 1e-4
# Degree of the splines with which powers are integrated; for outputs every 0.01 s the integration error is round-off.
DEGREE = 7


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
        if element.name in segments[-1].model.auxiliary.work:
            stored, done = energy_of(element.name), work.get(element.name)
            if done is None:
                return False
            gained = np.abs(stored - stored[0] + (done - done[0])).max()
            if not gained <= UNCHANGED * max(np.abs(done - done[0]).max(), np.ptp(stored)):
                return False
    return True


def jumps(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return, at each time, the sum (nt,) of all jumps of `values` (nt,) at events up to this time.

    At an event two outputs have the same time, and values may jump between them.
    """
    return np.cumsum([0.0, *np.where(np.diff(time) == 0, np.diff(values), 0.0)])


def integrals(time: np.ndarray, powers: np.ndarray, degree: int, points: np.ndarray | None = None) -> np.ndarray:
    """Return the time integrals (nt, k) of k functions from the first time, by splines.

    `powers` (nt, k) are the values of the functions at the times, and `degree` is the degree of the splines; `points`
    are other times of evaluation, s.
    """
    points = time if points is None else points
    from scipy.interpolate import make_interp_spline  # its import takes 0.2 s

    degree = min(degree, len(time) - 1)
    if degree < 1:
        return np.zeros((len(points), powers.shape[1]))
    found = make_interp_spline(time, powers, k=degree).antiderivative()
    return np.asarray(found(points) - found(time[0]))
