"""The "Two-dimensional constraints" notes: Phi, its Jacobian, right-hand sides up to snap, and kappa.

A tower of a body is an array (k, 3): its coordinates x, y, phi and their derivatives. The right-hand side of order k
is what the k-th derivative of Phi leaves of the Jacobian times the k-th derivatives of the coordinates: nu, gamma, eta
and sigma for k from 1 to 4, of towers up to the derivatives k - 1. kappa is the rate of the transposed Jacobian times
constant multipliers. Every formula works on complex numbers too.

Restored or corrected, against the printed text:

* double revolute, kappa: of the bracket, phi_dot multiplies A^T d alone;
* parallel vectors: the printed zeros hold where the vectors are parallel; these formulas hold anywhere;
* pin-in-slot: kappa_i regains -phi_dot_i Phi, and the first entries of kappa_j have phi_dot_i;
* distance driver, sigma: the last term is 2 f f_tttt.

Of the slot driver the notes print no kappa; the one here is derived.
"""

import numpy as np

R = np.array([[0, -1], [1, 0]])


def A(phi):
    return np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])


def B(phi):
    return R @ A(phi)


class Notes:
    """What all constraints share; `towers` of i, j and, if there is one, k; `f` holds f and its derivatives."""

    def __init__(self, towers, f=(0, 0, 0, 0, 0), **parameters):
        self.towers, self.f = towers, f
        for name, value in parameters.items():
            setattr(self, name, np.array(value) if np.ndim(value) else value)

    def angle(self, body, order=0):
        return self.towers[body][order][2]

    def kappa(self, multipliers):
        return [np.zeros(3) for _ in self.towers]


class Revolute(Notes):
    point_i = point_j = (0, 0)

    def arm(self, body):
        return np.array(self.point_i if body == 0 else self.point_j)

    def turning(self, body, order):
        """What the k-th derivative of A s leaves of B s times that of phi, with the opposite sign."""
        As, Bs = A(self.angle(body)) @ self.arm(body), B(self.angle(body)) @ self.arm(body)
        rates = [self.angle(body, k) for k in range(1, order)]
        if order < 2:
            return 0 * As
        if order == 2:
            return rates[0] ** 2 * As
        if order == 3:
            return rates[0] ** 3 * Bs + 3 * rates[0] * rates[1] * As
        w, dw, ddw = rates
        return 6 * w**2 * dw * Bs + (4 * w * ddw + 3 * dw**2 - w**4) * As

    def point(self, body, order=0):
        """The k-th derivative of a point's position."""
        q = self.towers[body][order]
        if order == 0:
            return q[:2] + A(q[2]) @ self.arm(body)
        return q[:2] + q[2] * B(self.angle(body)) @ self.arm(body) - self.turning(body, order)

    def d(self, order=0):
        return self.point(1, order) - self.point(0, order)

    def of_points(self):
        """The Jacobian of d."""
        i, j = (np.column_stack([np.eye(2), B(self.angle(b)) @ self.arm(b)]) for b in (0, 1))
        return [-i, j]

    def left(self, order):
        """The right-hand side of d."""
        return self.turning(1, order) - self.turning(0, order)

    def phi(self):
        return self.d()

    def jacobian(self):
        return self.of_points()

    def right_hand_side(self, order):
        return self.left(order)

    def kappa(self, multipliers):
        i, j = (self.arm(b) @ A(self.angle(b)).T @ multipliers * self.angle(b, 1) for b in (0, 1))
        return [np.array([0, 0, i]), np.array([0, 0, -j])]


class DoubleRevolute(Revolute):
    def phi(self):
        return self.d() @ self.d() - self.length**2

    def jacobian(self):
        return [2 * self.d() @ part for part in self.of_points()]

    def right_hand_side(self, order):
        d = [self.d(k) for k in range(order)]
        inner = 2 * d[0] @ self.left(order)
        if order == 2:
            inner -= 2 * d[1] @ d[1]
        if order == 3:
            inner -= 6 * d[1] @ d[2]
        if order == 4:
            inner -= 8 * d[1] @ d[3] + 6 * d[2] @ d[2]
        return inner

    def kappa(self, multipliers):
        parts = []
        for body, sign in ((0, -2), (1, 2)):
            s, angle = self.arm(body), self.angle(body)
            turn = s @ (B(angle).T @ self.d(1) - A(angle).T @ self.d() * self.angle(body, 1))
            parts.append(sign * multipliers * np.array([*self.d(1), turn]))
        return parts


class ParallelVectors(Notes):
    def phi(self):
        return self.a(0) @ R.T @ self.a(1)

    def a(self, body):
        return A(self.angle(body)) @ (self.vector_i if body == 0 else self.vector_j)

    def jacobian(self):
        dot = self.a(0) @ self.a(1)
        return [np.array([0, 0, -dot]), np.array([0, 0, dot])]

    def right_hand_side(self, order):
        dot, w = self.a(0) @ self.a(1), [self.angle(1, k) - self.angle(0, k) for k in range(order)]
        if order == 1:
            return 0 * dot
        if order == 2:
            return self.phi() * w[1] ** 2
        if order == 3:
            return 3 * self.phi() * w[1] * w[2] + dot * w[1] ** 3
        return self.phi() * (4 * w[1] * w[3] + 3 * w[2] ** 2 - w[1] ** 4) + 6 * dot * w[1] ** 2 * w[2]

    def kappa(self, multipliers):
        turn = multipliers * self.phi() * (self.angle(1, 1) - self.angle(0, 1))
        return [np.array([0, 0, turn]), np.array([0, 0, -turn])]


class PinInSlot(Revolute):
    @property
    def a(self):
        return A(self.angle(0)) @ self.vector_i

    def phi(self):
        return self.a @ R.T @ self.d()

    def jacobian(self):
        i, j = (self.a @ R.T @ part for part in self.of_points())
        return [i - np.array([0, 0, self.a @ self.d()]), j]

    def right_hand_side(self, order):
        d, left = [self.d(k) for k in range(order)], self.left(order)
        w = [self.angle(0, k) for k in range(order)]
        if order == 1:
            return 0 * d[0][0]
        if order == 2:
            return self.a @ (2 * w[1] * d[1] + R.T @ (w[1] ** 2 * d[0] + left))
        if order == 3:
            return self.a @ (
                3 * w[1] * d[2] + 3 * w[2] * d[1] - w[1] ** 3 * d[0]
                + R.T @ (3 * w[1] ** 2 * d[1] + 3 * w[1] * w[2] * d[0] + left)
            )  # fmt: skip
        return self.a @ (
            4 * w[1] * d[3] + 6 * w[2] * d[2] + 4 * (w[3] - w[1] ** 3) * d[1] - 6 * w[1] ** 2 * w[2] * d[0]
            + R.T @ (6 * w[1] ** 2 * d[2] + 12 * w[1] * w[2] * d[1]
                     + (4 * w[1] * w[3] + 3 * w[2] ** 2 - w[1] ** 4) * d[0] + left)
        )  # fmt: skip

    def kappa(self, multipliers):
        w_i, w_j = self.angle(0, 1), self.angle(1, 1)
        i = [*(w_i * self.a), -self.d(1) @ self.a - w_i * self.phi()]
        j = [*(-w_i * self.a), self.point_j @ B(self.angle(1)).T @ self.a * (w_j - w_i)]
        return [multipliers * np.array(i), multipliers * np.array(j)]


class Prismatic(Notes):
    """A pin in a slot and parallel vectors, with vectors of length one."""

    @property
    def parts(self):
        i, j = (np.array(v) / np.hypot(*v) for v in (self.vector_i, self.vector_j))
        points = {"point_i": self.point_i, "point_j": self.point_j}
        return PinInSlot(self.towers, vector_i=i, **points), ParallelVectors(self.towers, vector_i=i, vector_j=j)

    def phi(self):
        return np.array([part.phi() for part in self.parts])

    def jacobian(self):
        return [np.array(rows) for rows in zip(*(part.jacobian() for part in self.parts), strict=True)]

    def right_hand_side(self, order):
        return np.array([part.right_hand_side(order) for part in self.parts])

    def kappa(self, multipliers):
        return list(sum(np.array(part.kappa(m)) for part, m in zip(self.parts, multipliers, strict=True)))


class AngleDriver(Notes):
    def phi(self):
        return self.angle(1) - self.angle(0) - self.offset - self.f[0]

    def jacobian(self):
        return [np.array([0, 0, -1]), np.array([0, 0, 1])]

    def right_hand_side(self, order):
        return self.f[order]


class GearPair(Notes):
    def phi(self):
        return self.angle(1) - self.ratio * self.angle(0) - self.offset

    def jacobian(self):
        return [np.array([0, 0, -self.ratio]), np.array([0, 0, 1])]

    def right_hand_side(self, order):
        return 0.0


class GearOnLink(Notes):
    def phi(self):
        i, j, k = (self.angle(body) for body in range(3))
        return (j - k) - self.ratio * (i - k) - self.offset

    def jacobian(self):
        return [np.array([0, 0, x]) for x in (-self.ratio, 1, self.ratio - 1)]

    def right_hand_side(self, order):
        return 0.0


class CoordinateDriver(Notes):
    @property
    def which(self):
        return ["x", "y", "angle"].index(self.coordinate)

    def phi(self):
        i, j = (tower[0][self.which] for tower in self.towers)
        return j - self.ratio * i - self.offset - self.f[0]

    def jacobian(self):
        unit = np.eye(3)[self.which]
        return [-self.ratio * unit, unit]

    def right_hand_side(self, order):
        return self.f[order]


class SlotDriver(PinInSlot):
    @property
    def L(self):
        return np.linalg.norm(self.vector_i)

    def phi(self):
        return self.a @ self.d() / self.L - self.f[0]

    def jacobian(self):
        i, j = (self.a @ part / self.L for part in self.of_points())
        return [i + np.array([0, 0, self.a @ R.T @ self.d() / self.L]), j]

    def right_hand_side(self, order):
        d, left = [self.d(k) for k in range(order)], self.left(order)
        w = [self.angle(0, k) for k in range(order)]
        if order == 1:
            inner = 0 * d[0]
        elif order == 2:
            inner = -2 * w[1] * R.T @ d[1] + w[1] ** 2 * d[0] + left
        elif order == 3:
            inner = (
                -R.T @ (3 * w[1] * d[2] + 3 * w[2] * d[1] - w[1] ** 3 * d[0])
                + 3 * w[1] ** 2 * d[1] + 3 * w[1] * w[2] * d[0] + left
            )  # fmt: skip
        else:
            inner = (
                -R.T @ (4 * w[1] * d[3] + 6 * w[2] * d[2] + 4 * (w[3] - w[1] ** 3) * d[1] - 6 * w[1] ** 2 * w[2] * d[0])
                + 6 * w[1] ** 2 * d[2] + 12 * w[1] * w[2] * d[1]
                + (4 * w[1] * w[3] + 3 * w[2] ** 2 - w[1] ** 4) * d[0] + left
            )  # fmt: skip
        return self.a @ inner / self.L + self.f[order]

    def kappa(self, multipliers):
        w_i, w_j = self.angle(0, 1), self.angle(1, 1)
        across, As = R @ self.a, A(self.angle(1)) @ self.point_j
        i = [*(-w_i * across), -w_i * self.a @ self.d() + across @ self.d(1)]
        j = [*(w_i * across), self.a @ As * (w_i - w_j)]
        return [multipliers / self.L * np.array(i), multipliers / self.L * np.array(j)]


class Rolling(SlotDriver):
    def __init__(self, towers, f=None, **parameters):
        super().__init__(towers, **parameters)  # the slot driver's formulas for f = 0

    def phi(self):
        return super().phi() - self.radius * (self.angle(1) - self.angle(0)) - self.offset

    def jacobian(self):
        i, j = super().jacobian()
        return [i + np.array([0, 0, self.radius]), j - np.array([0, 0, self.radius])]


class DistanceDriver(DoubleRevolute):
    length = 0.0

    def phi(self):
        return super().phi() - self.f[0] ** 2

    def right_hand_side(self, order):
        f = self.f
        moving = {
            1: 2 * f[0] * f[1],
            2: 2 * f[1] ** 2 + 2 * f[0] * f[2],
            3: 6 * f[1] * f[2] + 2 * f[0] * f[3],
            4: 6 * f[2] ** 2 + 8 * f[1] * f[3] + 2 * f[0] * f[4],
        }
        return super().right_hand_side(order) + moving[order]


NOTES = {
    kind.__name__: kind
    for kind in (Revolute, Prismatic, DoubleRevolute, ParallelVectors, PinInSlot, AngleDriver, GearPair, GearOnLink,
                 CoordinateDriver, SlotDriver, Rolling, DistanceDriver)
}  # fmt: skip


def right_hand_side(kind, order, towers, parameters, f=(0, 0, 0, 0, 0)):
    """nu, gamma, eta or sigma (rows,) of the constraint of that name, for order 1 to 4."""
    return np.atleast_1d(NOTES[kind](towers, f, **parameters).right_hand_side(order))
