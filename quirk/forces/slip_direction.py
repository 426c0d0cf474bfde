"""Direction of friction, which slow slip does not determine by itself.

While bodies slide, a friction force F turns the slip s of a mass m into the direction of the driving loads, at the rate
F / (m |s|). At the onset of sliding this rate is infinite: however slow the slip is, it has the direction of the
driving loads, and turns with them. A constant direction of friction up to a small slip speed, the floor, would be
wrong: while the driving loads exceed the limit by a small part only, their rotation would move the bodies across that
direction, faster than along it. Therefore the law of the onset has the finite rate F / (m floor) below the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autodiff.jet import where


def friction_direction(
    slip: Sequence[Any] | np.ndarray, initial: Sequence[Any] | np.ndarray, floor: Any, begins: Any, following: Any = 0.0
) -> list[Any]:
    """Return the unit vector opposite to the friction force as a list of components.

    It is s/|s| for slip s faster than `floor`, and the vector `initial`, e, for slower slip. At the onset of sliding,
    the component of slower slip across e, p, turns it by the angle arcsin(|p| / floor):

        d = sqrt(1 - (|p| / floor)^2) e + p / floor,   p = s - (s.e) e

    This equals s/|s| at |s| = floor if s.e > 0, so that the friction force is continuous.

    Parameters
    ----------
    slip : components of slip s, m/s or rad/s: numbers or jets
    initial : components of the unit vector e along the slip at the start of sliding
    floor : speed of slip, m/s or rad/s
    begins : 1 at the onset of sliding, otherwise 0
    following : 1 for the one of the two vectors s/|s| and -s/|s| that is nearer to e, which remains continuous when
        the slip passes through zero; 0 for the first of these
    """
    square = sum(s * s for s in slip)
    ahead = sum(s * e for s, e in zip(slip, initial, strict=True))
    limit = floor * floor
    fast, turns = square > limit, square < begins * limit
    size = np.sqrt(where(fast, square, where(turns, limit, 1.0)))
    size = where(following * ahead < 0.0, where(fast, -size, size), size)
    # limit - |p|^2 = limit - |s|^2 + (s.e)^2
    added = np.sqrt(where(turns, limit - square + ahead * ahead, 1.0)) - ahead
    return [where(fast, s / size, where(turns, (s + added * e) / size, e)) for s, e in zip(slip, initial, strict=True)]
