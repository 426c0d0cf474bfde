"""Constraints, contacts and forces of a run whose functions read values that the caller of the run has changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Phrases for the error message if bodies cannot follow a constraint whose function has jumped: the kind of failure, and
# advice.
JUMPS = "jumps away from the bodies by changes of values that its function reads"
CONTINUE = "let the function continue from its present value"
# Cause of a changed gap, in the error message.
CAUSE = "changes of values that its function reads"


@dataclass(frozen=True)
class Violations:
    """Violations of the active constraints, and gaps, at one state.

    Attributes
    ----------
    amount : largest violation of poses, m or rad
    rate : largest violation of velocities, m/s or rad/s
    gaps : (c,) gaps, m or rad, or None if no function of a gap can have changed
    """

    amount: float = 0.0
    rate: float = 0.0
    gaps: np.ndarray | None = None


@dataclass(frozen=True)
class ChangedParts:
    """Parts whose functions read values that have changed, or may have changed.

    Attributes
    ----------
    titles : titles of constraints, contacts and forces
    before : violations of constraints just before the change
    certain : those titles whose values have certainly changed
    """

    titles: tuple[str, ...]
    before: Violations
    certain: tuple[str, ...] = ()
