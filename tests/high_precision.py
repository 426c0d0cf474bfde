"""Accelerations and joint loads to 50 digits: Newton-Euler equations with multipliers, solved in mpmath.

Rows are differentiated here once more, from frames as the model has them: points p = r + R s, directions R a, with
all numbers of the model and the state taken as exact.
"""

from __future__ import annotations

import mpmath
import numpy as np
from mpmath import mpf
from quirk.constraints.primitives import COINCIDENCE, DISTANCE, DOT1

DIGITS = 50
# Rows at less than this distance from those before them, bodies alike, are dependent.
DEPENDENT = mpf("1e-10")


def vector(x):
    return [mpf(float(c)) for c in x]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), mpf(0))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def plus(*vectors):
    return [sum(x) for x in zip(*vectors, strict=True)]


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def times(c, a):
    return [c * x for x in a]


class BodyMotion:
    """One body, or the ground, at a state."""

    def __init__(self, position, orientation, velocity, omega):
        w, x, y, z = vector(orientation)
        s = 2 / (w * w + x * x + y * y + z * z)
        self.r, self.v, self.omega = vector(position), vector(velocity), vector(omega)
        self.R = [
            [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
        ]
        self.w = self.turned(self.omega)

    def turned(self, a):
        """From body axes to N."""
        return [dot(row, a) for row in self.R]

    def back(self, a):
        """From N to body axes."""
        return [sum(self.R[k][c] * a[k] for k in range(3)) for c in range(3)]

    def arm(self, s):
        """An arm in N, its rate, and its second derivative without angular acceleration."""
        a = self.turned(vector(s))
        a1 = cross(self.w, a)
        return a, a1, cross(self.w, a1)


class Rows:
    """Rows over (v, omega in body axes) of bodies i and j, and what they are to be equal to."""

    def __init__(self, i, j, ends):
        self.i, self.j, self.ends = i, j, ends
        self.rows, self.b = [], []

    def add(self, force, on_i, on_j, bend):
        """A unit multiplier exerts -force and on_i on body i, force and on_j on body j, moments about the centers."""
        self.rows.append((times(-1, force), self.ends[0].back(on_i), force, self.ends[1].back(on_j)))
        self.b.append(-bend)


def primitive_rows(model, p, bodies):
    """The rows of one primitive."""
    i, j = (int(k) for k in model.table.body[p])
    B_i, B_j = bodies[i], bodies[j]
    s_i, s1_i, s2_i = B_i.arm(model.table.arm[p, 0])
    s_j, s1_j, s2_j = B_j.arm(model.table.arm[p, 1])
    u, u1, u2 = B_i.arm(model.table.direction[p, 0])
    v, v1, v2 = B_j.arm(model.table.direction[p, 1])
    d = minus(plus(B_j.r, s_j), plus(B_i.r, s_i))
    d1 = minus(plus(B_j.v, s1_j), plus(B_i.v, s1_i))
    d2 = minus(s2_j, s2_i)
    found, kind = Rows(i, j, (B_i, B_j)), model.table.kind[p]
    zero = [mpf(0)] * 3
    if kind == COINCIDENCE:
        for c in range(3):
            e = [mpf(int(c == k)) for k in range(3)]
            found.add(e, times(-1, cross(s_i, e)), cross(s_j, e), d2[c])
    elif kind == DOT1:
        found.add(zero, cross(u, v), cross(v, u), dot(u2, v) + 2 * dot(u1, v1) + dot(u, v2))
    elif kind == DISTANCE:
        force = times(2, d)
        found.add(force, times(-1, cross(s_i, force)), cross(s_j, force), 2 * (dot(d2, d) + dot(d1, d1)))
    else:
        on_i = plus(cross(u, d), times(-1, cross(s_i, u)))
        found.add(u, on_i, cross(s_j, u), dot(u2, d) + 2 * dot(u1, d1) + dot(u, d2))
    return found


def independent(rows, n):
    """Which rows (dicts of column to number) to keep: by orthogonalisation one after the other, bodies alike."""
    kept, basis = [], []
    for k, row in enumerate(rows):
        full = [mpf(0)] * (6 * n)
        for c, x in row.items():
            full[c] = x
        length = mpmath.sqrt(dot(full, full))
        for _ in range(2):
            for q in basis:
                projection = dot(q, full)
                full = [x - projection * y for x, y in zip(full, q, strict=True)]
        rest = mpmath.sqrt(dot(full, full))
        if rest > DEPENDENT * length:
            kept.append(k)
            basis.append([x / rest for x in full])
    return kept


def solve(system, state, loads=()):
    """Accelerations of a system of primitives under gravity.

    Parameters
    ----------
    system, state : checked
    loads : (body number, force (3,) in N, torque (3,) in body axes) of each applied load at a center of mass

    Returns
    -------
    linear, angular : (n, 3) in N and in body axes, floats rounded from DIGITS digits
    joint_loads : by constraint, force and torque (3,) in N on body j at the joint point of j; meaningful where unique
    """
    with mpmath.workdps(DIGITS):
        return _solve(system, state, loads)


def _solve(system, state, loads):
    model, n = system.model, len(system.bodies)
    assert not model.relations
    parts = (state.position, state.orientation, state.velocity, state.angular_velocity)
    bodies = [BodyMotion(*(part[b] for part in parts)) for b in range(n)]
    bodies.append(BodyMotion([0, 0, 0], [1, 0, 0, 0], [0, 0, 0], [0, 0, 0]))
    rows, b = [], []
    for p in range(len(model.table.kind)):
        found = primitive_rows(model, p, bodies)
        for (f_i, m_i, f_j, m_j), bend in zip(found.rows, found.b, strict=True):
            row = {}
            for body, part in ((found.i, [*f_i, *m_i]), (found.j, [*f_j, *m_j])):
                if body < n:
                    for c in range(6):
                        row[6 * body + c] = row.get(6 * body + c, mpf(0)) + part[c]
            rows.append(row)
            b.append(bend)
    kept = independent(rows, n)
    m = len(kept)
    K, rhs = mpmath.zeros(6 * n + m, 6 * n + m), mpmath.zeros(6 * n + m, 1)
    g = vector(model.gravity)
    for k in range(n):
        mass, J = mpf(float(model.mass[k])), [vector(row) for row in model.inertia[k]]
        omega = bodies[k].omega
        gyroscopic = cross([dot(row, omega) for row in J], omega)
        for c in range(3):
            K[6 * k + c, 6 * k + c] = mass
            rhs[6 * k + c] = mass * g[c]
            rhs[6 * k + 3 + c] = gyroscopic[c]
            for e in range(3):
                K[6 * k + 3 + c, 6 * k + 3 + e] = J[c][e]
    for body, force, torque in loads:
        for c in range(3):
            rhs[6 * body + c] += mpf(float(force[c]))
            rhs[6 * body + 3 + c] += mpf(float(torque[c]))
    for q, k in enumerate(kept):
        for c, x in rows[k].items():
            K[c, 6 * n + q] = -x
            K[6 * n + q, c] = x
        rhs[6 * n + q] = b[k]
    x = mpmath.lu_solve(K, rhs)
    acceleration = np.array([[float(x[6 * k + c]) for c in range(6)] for k in range(n)])
    multipliers = [mpf(0)] * len(rows)
    for q, k in enumerate(kept):
        multipliers[k] = x[6 * n + q]
    return acceleration[:, :3], acceleration[:, 3:], _joint_loads(model, bodies, multipliers)


def _joint_loads(model, bodies, multipliers):
    found = {}
    for constraint, (_, j) in model.joint_bodies:
        force, moment = [mpf(0)] * 3, [mpf(0)] * 3
        rows = model.joint_rows[constraint.name]
        for p in sorted({int(model.row_primitive[row]) for row in range(rows.start, rows.stop)}):
            given = primitive_rows(model, p, bodies)
            for k, (_, _, f_j, m_j) in enumerate(given.rows):
                value = multipliers[int(model.table.row[p]) + k]
                force = plus(force, times(value, f_j))
                moment = plus(moment, times(value, bodies[j].turned(m_j)))
        arm = bodies[j].turned(vector(constraint.frame_j.origin))
        torque = minus(moment, cross(arm, force))
        found[constraint.name] = np.array([float(x) for x in force]), np.array([float(x) for x in torque])
    return found
