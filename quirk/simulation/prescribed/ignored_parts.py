"""Parts of a system that a kinematic analysis does not consider: unilateral constraints and events."""

from __future__ import annotations

import warnings

import numpy as np

from quirk.analysis.contact.contact_kinematics import Gaps
from quirk.errors import IgnoredPartWarning, outside
from quirk.result.segment import Segment
from quirk.system.system import System

# Gaps below this fraction of the characteristic length, or angles in rad, are round-off.
CLOSED = 1e-9


def warn_of_ignored_parts(system: System, motion: Segment) -> None:
    """Issue an IgnoredPartWarning if a gap is negative in a kinematic motion, or if the system has events that act.

    Drivers alone determine the motion, so that stops, contacts and ropes do not change it.
    """
    found = [f"{event} does not act" for event in system.events if event.actions]
    gaps = Gaps(system, [])
    if gaps.contact_points:
        units = np.array([1.0 if point.angular else system.model.length for point in gaps.contact_points])
        solver, smallest = motion.plant.solver(), np.full(len(units), np.inf)
        first = np.zeros(len(units))
        for t, y, angles in zip(motion.time.tolist(), motion.flat, motion.angles, strict=True):
            gaps.select_parts(system.model.auxiliary.state(y), {})
            value = gaps.kinematics_at(solver, t, y, angles).value[: len(units)]
            first = np.where((smallest >= -CLOSED * units) & (value < -CLOSED * units), t, first)
            smallest = np.minimum(smallest, value)
        for point, gap, t, unit in zip(gaps.contact_points, smallest, first, units, strict=True):
            if gap < -CLOSED * unit and system.is_active(point.constraint.name):
                found.append(f"the gap of {point.constraint} is negative from t = {t:g} s on, down to {gap:.3g}")
    if found:
        warnings.warn(
            f"kinematics: drivers alone determine the motion: {'; '.join(found)}; use simulate if these parts matter",
            IgnoredPartWarning,
            stacklevel=outside(),
        )
