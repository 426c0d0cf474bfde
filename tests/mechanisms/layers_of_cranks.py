"""Layers of parallel cranks on each other, which turn through flat positions; their motion from the angles alone."""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

import quirk


@dataclass
class Layers:
    """A system of layers, and its exact motion.

    Attributes
    ----------
    system : the system; all bodies move in the xz plane
    top : name of the uppermost coupler
    times : (times,) output times, s
    tips : (times, 2) displacement of this coupler at `times` from the origin of the first layer, m
    unit : characteristic length, m
    growth : largest growth of a small deviation of the initial angles and rates, over the unit
    """

    system: quirk.System
    top: str
    times: np.ndarray
    tips: np.ndarray
    unit: float
    growth: float


def layers_of_cranks(seed, damped):
    """One to three layers, each of two or three parallel cranks and a coupler, of random size, set going.

    The couplers do not turn, so that all cranks of a layer have one angle, and the kinetic energy is
    sum A_ij cos(q_i - q_j) q_i' q_j' / 2 + sum J_i q_i'^2 / 2. If `damped`, the first crank of each layer has a damper.
    """
    rng = np.random.default_rng(seed)
    n, unit, gravity = int(rng.integers(1, 4)), 10.0 ** rng.uniform(-1, 1), 9.81 * rng.integers(0, 2)
    length, angle = unit * rng.uniform(0.4, 1.5, n), rng.uniform(-np.pi, np.pi, n)
    rate = rng.choice([-1, 1], n) * rng.uniform(1.0, 8.0, n) / np.sqrt(unit)
    A, B, J, damping = np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n)

    def add_mass(mass, arms):
        arms = np.concatenate([arms, np.zeros(n - len(arms))])
        A[:] += mass * np.outer(arms, arms)
        B[:] += mass * arms

    bodies, others, below, p, v = [], [], quirk.GROUND, np.zeros(3), np.zeros(3)
    for k in range(n):
        c, s = np.cos(angle[k]), np.sin(angle[k])
        tip, tip_velocity = length[k] * np.array([c, 0, s]), length[k] * rate[k] * np.array([-s, 0, c])
        feet = np.cumsum(unit * rng.uniform(0.6, 2.5, int(rng.integers(2, 4))))
        feet, mass = feet - feet[0], rng.uniform(0.2, 3.0)
        middle = p + tip + np.array([feet[-1] / 2, 0, 0])
        coupler = quirk.Body(f"coupler{k}", mass, mass * unit**2 * 0.1 * np.ones(3), position=middle,
                             velocity=v + tip_velocity)  # fmt: skip
        for i, foot in enumerate(feet):
            m, at, moment = rng.uniform(0.2, 3.0), rng.uniform(0.2, 0.8), unit**2 * rng.uniform(0.02, 0.4)
            root = p + np.array([foot, 0, 0])
            crank = quirk.Body(f"crank{k}{i}", m, [0.02 * moment, moment, moment], position=root + at * tip,
                               orientation=[np.cos(angle[k] / 2), 0, -np.sin(angle[k] / 2), 0],
                               velocity=v + at * tip_velocity, angular_velocity=[0, -rate[k], 0])  # fmt: skip
            bodies.append(crank)
            others += [
                quirk.Revolute(f"foot{k}{i}", below, crank, point=root, axis=[0, 1, 0]),
                quirk.Revolute(f"tip{k}{i}", crank, coupler, point=root + tip, axis=[0, 1, 0]),
            ]
            add_mass(m, np.append(length[:k], at * length[k]))
            J[k] += moment
        add_mass(mass, length[: k + 1])
        bodies.append(coupler)
        if damped:
            damping[k] = rng.uniform(0.01, 0.2) * A[k, k]
            others.append(quirk.TorsionSpring(f"damper{k}", others[-2 * len(feet)], stiffness=0.0, damping=damping[k]))
        below, p, v = coupler, p + tip, v + tip_velocity

    def slope(_, y):
        q, w = y[:n], y[n:]
        apart = q[:, None] - q
        load = -(A * np.sin(apart)) @ w**2 - gravity * B * np.cos(q) - damping * w
        return np.concatenate([w, np.linalg.solve(A * np.cos(apart) + np.diag(J), load)])

    times = np.linspace(0, 4.0 * np.sqrt(unit), 41)

    def tips(deviation):
        start = np.concatenate([angle, rate]) + deviation
        q = solve_ivp(slope, (0, times[-1]), start, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times).y[:n].T
        return np.stack([(length * np.cos(q)).sum(1), (length * np.sin(q)).sum(1)], axis=1)

    exact, small = tips(0.0), 1e-7
    deviation = small * rng.normal(size=2 * n) * np.concatenate([np.ones(n), np.abs(rate)])
    growth = max(1.0, np.abs(tips(deviation) - exact).max() / unit / small)
    system = quirk.System([*bodies, *others], gravity=[0, 0, -gravity])
    return Layers(system, f"coupler{n - 1}", times, exact, unit, growth)
