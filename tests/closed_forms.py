"""Closed forms of mechanisms as analytic functions of time, and their derivatives by Cauchy's integral formula.

Formulas are written once, for positions, with functions that numpy has for complex numbers; no derivative is by hand.
Points of a plane are pairs of coordinates, each an array of complex times.
"""

import math

import numpy as np

# Taylor coefficients are read off a circle of this radius, s, around each time, from so many points: closed forms that
# are analytic in a circle twice as wide are known up to 2^-64, and round-off grows to some 1e-12 of a fourth derivative.
RADIUS, POINTS = 0.2, 64


def derivatives(function, times, order=4):
    """A function of times (points, nt), of shape (points, nt, ...), and its derivatives: (order + 1, nt, ...)."""
    circle = RADIUS * np.exp(2j * np.pi * np.arange(POINTS) / POINTS)
    waves = np.fft.fft(function(times + circle[:, None]), axis=0)[: order + 1].real / POINTS
    factors = np.array([math.factorial(k) / RADIUS**k for k in range(order + 1)])
    return waves * factors.reshape(-1, *[1] * (waves.ndim - 1))


def continued_angle(x, y):
    """Of the vector (x, y), around each circle and along the times."""
    angle = -1j * np.log((x + 1j * y) / np.sqrt(x**2 + y**2))
    return np.unwrap(np.unwrap(angle.real, axis=0), axis=1) + 1j * angle.imag


def turned(angle, x, y):
    """The vector (x, y) turned by an angle."""
    return np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y


def four_bar(theta, ground, crank, coupler, rocker):
    """Angles of coupler and rocker of a four-bar from the crank's: hinges on the ground at 0 and at (ground, 0).

    The tip of crank and coupler is seen from the rocker's hinge; the rest is the law of cosines. The loop is open: the
    coupler's far end lies to the left of the line from the crank's tip to the rocker's hinge.
    """
    x, y = ground - crank * np.cos(theta), -crank * np.sin(theta)
    distance = np.sqrt(x**2 + y**2)
    cosine = (coupler**2 + distance**2 - rocker**2) / (2 * coupler * distance)
    coupler_angle = continued_angle(x, y) + continued_angle(cosine, np.sqrt(1 - cosine**2))
    end_x, end_y = turned(coupler_angle, coupler, 0.0)
    return coupler_angle, continued_angle(end_x - x, end_y - y)


def slider_crank(theta, crank, rod, start, direction):
    """Crank tip (..., 3), slider (..., 3) and its displacement, of a crank about z and a slider on a line in space.

    The slider is at start + s along; of both places at the rod's length from the tip, the one of larger s.
    """
    tip = np.stack([crank * np.cos(theta), crank * np.sin(theta), 0 * theta], axis=-1)
    offset = start - tip
    foot = offset @ direction
    s = -foot + np.sqrt(foot**2 - (offset**2).sum(-1) + rod**2)
    return tip, start + s[..., None] * direction, s


def rod_axes(tip, end, normal):
    """Axes (..., 3, 3) of a rod, as columns: x from tip to end, y perpendicular to it and to the given normal."""
    x = _unit(end - tip)
    y = _unit(np.cross(normal, x))
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def body_spin(axes):
    """Components of the angular velocity in body axes and their derivatives (k, nt, 3), from (k + 1, nt, 3, 3) of R."""
    orders = len(axes) - 1
    spins = []
    for k in range(orders):
        # R^T R' is the cross product with the angular velocity.
        cross = sum(math.comb(k, j) * np.swapaxes(axes[j], 1, 2) @ axes[k - j + 1] for j in range(k + 1))
        spins.append(np.stack([cross[:, 2, 1], cross[:, 0, 2], cross[:, 1, 0]], axis=-1))
    return np.array(spins)


def _unit(vector):
    # Not the norm of a complex vector, which is no analytic function.
    return vector / np.sqrt((vector**2).sum(-1))[..., None]
