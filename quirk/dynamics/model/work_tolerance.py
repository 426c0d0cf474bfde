"""Error tolerance of the work that is integrated as part of the state.

The error of all work in a step of length h may be at most ALLOWED times

    rtol (2 E + X)  +  h (atol F + rtol P + NOISE eps / p (P + h S))

E is the kinetic energy and X the sum of the magnitudes of all work since the start of the run, both at the end of the
step. F is the sum of the magnitudes of all loads that do work, and P the sum of the magnitudes of their powers at the
largest velocities. eps is the round-off unit, and p the smallest pivot of the constraint rows. S is the product of the
loads of force elements that do work and the largest load, in the mass metric.

The first term is relative to the energies of the motion, and so independent of units. The second term, atol F + rtol P,
is the work of the loads along velocity errors within their tolerance; without it, the tolerance for bodies at rest,
whose work is only round-off, would be zero. The last term is the effect of round-off of accelerations, proportional to
1 / p, which accumulates in the velocities within the step. Loads of constraint rows are not part of S, because their
velocities are prescribed.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import shared

# Factor of all terms. Power varies twice as fast as velocities, so that its integral has a larger error in the same
# steps: 2^8 times for methods of order 9. With this factor smooth loads require no additional steps (measured on 15
# systems with dampers, motors and drivers, with seven methods).
ALLOWED = 30.0
# Relative round-off of multipliers, as a multiple of machine epsilon over the smallest pivot.
NOISE = 10.0
EPSILON = float(np.finfo(float).eps)


@shared
def of_energies(energies: float, rtol: float) -> float:
    """Return the part of the tolerance of work that does not depend on the step size, rtol (2 E + X), J.

    `energies` is 2 E + X, with the kinetic energy E and the sum X of the magnitudes of all work, J.
    """
    return ALLOWED * rtol * energies


@shared
def per_time(loads: float, power: float, noise_power: float, smallest_pivot: float, rtol: float, atol: float) -> float:
    """Return the part of the tolerance of work that is proportional to the step length h, divided by h, W.

    In the formula of the module docstring `loads` is F, `power` is P (W), `noise_power` is h S (W), and
    `smallest_pivot` is p.
    """
    noise = NOISE * EPSILON / max(smallest_pivot, EPSILON)
    return ALLOWED * (atol * loads + rtol * power + noise * (power + noise_power))
