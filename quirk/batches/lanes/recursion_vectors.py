"""Vectors of links in SIMD lanes, in inertial axes, and the accelerations of their joints that are due to velocities.

The equations are those of runs of a single system (`quirk.dynamics.sparse.kernels.recursion_gaps`). Index arguments are
offsets into flat arrays at which data begin: n of the link in `numbers` (constants), o of the link in `links` (computed
quantities), k of the body and p of its parent in `kin` (kinematics), s of the body and q of its parent in the states y.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from quirk.dynamics.model.layout import ROTATION, SPIN
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times

from .links import ARM, AXIS, AXIS_ON_PARENT, BEND, CENTER, FROM_POINT, SHIFT, TO_POINT, TURN
from .recursion_gaps import second_axis, sliding_rate, travel_of


class LinkVectors(NamedTuple):
    """Vectors of a link in inertial axes, and its velocity-dependent accelerations.

    Attributes
    ----------
    d, r : vectors from the joint point of the parent to that of the link, and from the latter to the center of mass
    bend : second time derivative of r at zero angular acceleration
    shift, turn : velocity-dependent acceleration of the joint point, and angular acceleration, relative to a parent
        without acceleration
    omega : angular velocity of the body
    """

    d: Any
    r: Any
    bend: Any
    shift: Any
    turn: Any
    omega: Any

    @classmethod
    def of(cls, numbers: Any, kin: Any, links: Any, n: Any, k: Any, p: Any, o: Any) -> LinkVectors:
        """Compute the vectors of a link, and store them in `links`.

        Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k
        of `kin` (kinematics of the body) and p of `kin` (kinematics of the parent).
        """
        return cls.along(numbers, kin, links, n, k, p, o, load3(numbers, n + 8 * ARM))

    @classmethod
    def sliding(
        cls, numbers: Any, y: Any, kin: Any, links: Any, n: Any, k: Any, p: Any, o: Any, s: Any, q: Any
    ) -> LinkVectors:
        """Compute the vectors of a link whose joint point slides along an axis of the parent, as `of` does.

        Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k
        of `kin` (kinematics of the body), s of y (state of the body), p of `kin` (kinematics of the parent) and q of y
        (state of the parent).
        """
        axis, travel = travel_of(numbers, y, kin, n, k, p, s, q)
        rate = sliding_rate(numbers, y, kin, n, k, p, s, q)
        drift = times(rows_times(kin, p + 8 * ROTATION, axis), 2.0 * rate)
        return cls.along(numbers, kin, links, n, k, p, o, plus(load3(numbers, n + 8 * ARM), travel), drift=drift)

    @classmethod
    def along(
        cls, numbers: Any, kin: Any, links: Any, n: Any, k: Any, p: Any, o: Any, arm: Any, drift: Any = None,
        twist: Any = None,
    ) -> LinkVectors:  # fmt: skip
        """Compute the vectors of a link with a given arm, and store them in `links`.

        `arm` is the vector from the joint point of the parent to that of the link, in the axes of the parent. `drift`
        is twice the rate of change of the arm as seen from the parent, and `twist` the relative angular acceleration
        that is due to velocities in the joint, both in inertial axes; None stands for zero. Data begin at offsets n of
        `numbers` (constants of the link), o of `links` (computed quantities of the link), k of `kin` (kinematics of the
        body) and p of `kin` (kinematics of the parent).
        """
        omega, of_parent = load3(kin, k + 8 * SPIN), load3(kin, p + 8 * SPIN)
        d = rows_times(kin, p + 8 * ROTATION, arm)
        speed = cross(of_parent, d)
        shift, turn = cross(of_parent, speed if drift is None else plus(speed, drift)), cross(of_parent, omega)
        if twist is not None:
            turn = plus(turn, twist)
        store3(links, o + 8 * TO_POINT, d)
        store3(links, o + 8 * SHIFT, shift)
        store3(links, o + 8 * TURN, turn)
        r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
        bend = cross(omega, cross(omega, r))
        store3(links, o + 8 * FROM_POINT, r)
        store3(links, o + 8 * BEND, bend)
        return cls(d, r, bend, shift, turn, omega)


def axis_of(numbers: Any, kin: Any, n: Any, k: Any) -> Any:
    """Return the axis of a joint that is fixed in the body, in inertial axes.

    Data begin at offsets n of `numbers` (constants of the link) and k of `kin` (kinematics of the body).
    """
    return rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * AXIS))


def axes_of_universal(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the axis of a universal joint fixed in the body, and its second axis, both in inertial axes.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and p of `kin`
    (kinematics of the parent).
    """
    axis = axis_of(numbers, kin, n, k)
    return axis, second_axis(axis, rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * AXIS_ON_PARENT)))


def universal_twist(kin: Any, k: Any, p: Any, axis: Any, second: Any) -> Any:
    """Return the relative angular acceleration of a universal joint due to the rates about its two axes.

    `axis` and `second` are the unit vectors along the axes. Data begin at offsets k of `kin` (kinematics of the body)
    and p of `kin` (kinematics of the parent).
    """
    relative = minus(load3(kin, k + 8 * SPIN), load3(kin, p + 8 * SPIN))
    return times(cross(second, axis), dot(relative, second) * dot(relative, axis))
