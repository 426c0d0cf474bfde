"""A random motion, and derivatives along it by Chebyshev polynomials."""

import numpy as np
from mechanisms import random_quaternion
from numpy.polynomial import Chebyshev

import quirk
from quirk import rotation


class AlongMotion:
    """A random spatial motion of two bodies, known to round-off with its derivatives at time T."""

    NODES, RADIUS = 24, 0.2

    def __init__(self, seed, bodies=2):
        rng = np.random.default_rng(seed)
        self.r, self.q = 0.2 * rng.normal(size=(2, 5, bodies, 4))
        self.r[0] *= 5
        self.q[0] = [random_quaternion(rng) for _ in range(bodies)]
        self.times = self.RADIUS * np.cos(np.pi * (np.arange(self.NODES) + 0.5) / self.NODES)

    def at(self, t):
        """The state: positions are polynomials, quaternions are polynomials brought to unit length."""
        powers, rates = t ** np.arange(5), np.arange(1, 5) * t ** np.arange(4)
        q, q_dot = np.tensordot(powers, self.q, 1), np.tensordot(rates, self.q[1:], 1)
        q = q / np.linalg.norm(np.tensordot(powers, self.q, 1), axis=1, keepdims=True)
        q_dot = q_dot / np.linalg.norm(np.tensordot(powers, self.q, 1), axis=1, keepdims=True)
        # T(q) takes out what is along q.
        omega = np.einsum("nij,nj->ni", rotation.T_matrix(q), q_dot)
        r, v = np.tensordot(powers, self.r, 1), np.tensordot(rates, self.r[1:], 1)
        return quirk.State(r[:, :3], q, v[:, :3], omega)

    def differentiated(self, function, orders):
        """Derivatives (orders + 1, ...) at 0 of a function of t, through Chebyshev points."""
        values = np.array([function(t) for t in self.times])
        flat = values.reshape(self.NODES, -1)
        series = [Chebyshev.fit(self.times, column, self.NODES - 2, domain=[-self.RADIUS, self.RADIUS])
                  for column in flat.T]  # fmt: skip
        found = [[(s.deriv(k) if k else s)(0.0) for s in series] for k in range(orders + 1)]
        return np.array(found).reshape(orders + 1, *values.shape[1:])

    def velocities(self):
        """Velocities and angular velocities with three derivatives (4, n, 3)."""
        v = self.differentiated(lambda t: self.at(t).velocity, 3)
        return v, self.differentiated(lambda t: self.at(t).angular_velocity, 3)
