"""Tolerance of the work that runs integrate beside the motion.

The error of all work together in a step of length h may be ALLOWED times

    rtol (2 E + X)  +  h (atol F + rtol P + NOISE eps / p (P + h S))

E is the kinetic energy, and X the sum of the magnitudes of all work since the start, at the end of the step. F is the
sum of the magnitudes of all loads that do work, P of their power at the largest velocities. The first part is relative
to the energies at play, so that it does not depend on units. The second is the work of loads along errors of velocities
within their tolerance: the work on bodies at rest is all round-off, and would else be measured by itself. Round-off of
accelerations adds to velocities within the step; S is the product of the loads that do work and of the largest load, in
the mass metric. It is in proportion to 1 / p, with p the least pivot of the rows.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import shared

# Factor of all parts. Power varies twice as fast as velocities, so that in the same steps its integral has a larger
# error: 2^8 times for methods of order 9. With this factor smooth loads ask for no more steps (measured on 15 systems
# with dampers, motors and drivers, by seven methods).
ALLOWED = 30.0
# Relative round-off of multipliers, over that of numbers and the inverse of the least pivot.
NOISE = 10.0
EPSILON = float(np.finfo(float).eps)


@shared
def of_energies(energies: float, rtol: float) -> float:
    """Tolerance, J, from 2 E + X, J."""
    return ALLOWED * rtol * energies


@shared
def per_time(loads: float, power: float, shaken: float, least: float, rtol: float, atol: float) -> float:
    """Tolerance per unit of the length of a step, W, from F, P (W), h S (W) and p."""
    noise = NOISE * EPSILON / max(least, EPSILON)
    return ALLOWED * (atol * loads + rtol * power + noise * (power + shaken))
