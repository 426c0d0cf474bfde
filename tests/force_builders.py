"""Builders of every force element, from bodies and a joint, in any units and wherever the inertial frame is."""

import numpy as np

import quirk


class Units:
    """SI units over those in which a system is written: meters, kilograms and seconds as numbers."""

    def __init__(self, length=1.0, mass=1.0):
        self.m, self.kg = length, mass
        self.N, self.Nm = mass * length, mass * length**2


SI = Units()


class Place:
    """How N is turned and moved: of points and of directions, in the units."""

    def __init__(self, units=SI, R=None, offset=(0, 0, 0)):
        self.units, self.R, self.offset = units, np.eye(3) if R is None else R, np.array(offset, dtype=float)

    def point(self, r):
        return self.units.m * (self.R @ r + self.offset)

    def direction(self, v):
        return self.R @ np.asarray(v, dtype=float)


def motion(scale=1.0):
    return quirk.Motion.polynomial(scale * np.array([0.4, -0.3, 0.5, 0.2, -0.1]))


def through_time(w, R, scale):
    """Three components of a vector in N over time, turned by R."""
    series = scale * R @ np.array(w)
    return [quirk.Motion.polynomial(row) for row in series]


def of_body(u, p):
    """A force as a function of the motion of its body, for any units and any N."""
    N, m, R = u.N, u.m, p.R

    def f(t, position, orientation, velocity, angular_velocity):
        return (np.sin(t) * N / m) * velocity + R @ np.array([angular_velocity[1] * N, 0.0, 0.5 * N])

    return f


def energy_at(u, p):
    """The energy of a body by its place, for any units and any N."""
    J, m, R, offset = u.Nm, u.m, p.R, p.offset

    def f(t, r):
        x = R.T @ (r / m) - R.T @ offset
        return J * (np.cos(t) * x[0] ** 2 * x[1] + np.exp(0.3 * x[2]))

    return f


def of_pair(scale, m):
    def f(t, displacement, velocity, rotation, angular_velocity):
        return scale * (np.cross(displacement / m, rotation) - 0.3 * velocity / m + np.cos(t) * angular_velocity)

    return f


def energy_of(u, p):
    J, m, R, offset = u.Nm, u.m, p.R, p.offset

    def f(t, r_1, R_1, r_2, R_2):
        d = (r_1 - r_2) / m
        return J * ((d @ d) ** 2 + R_1[:, 0] @ R_2[:, 1] + np.sin(t) * (R.T @ (r_1 / m) - R.T @ offset)[2])

    return f


def magnet(u, direction):
    """A moment, A m^2, so strong that forces at distances of meters are of some newtons."""
    return np.sqrt(u.Nm * u.m**3) * 3e4 * np.array(direction)


A6 = np.random.default_rng(8).normal(size=(6, 6))
K6, C6 = A6 @ A6.T + np.eye(6), A6.T @ A6


def six(u, matrix):
    """Stiffness or damping in units: forces and torques over displacements and angles."""
    scale = np.sqrt(u.kg) * np.array([1, 1, 1, u.m, u.m, u.m])
    return matrix * np.outer(scale, scale)


# Of each class variants, each from bodies a and b, a cylindrical joint between them, units and the place of N.
def branched(a, b, u):
    """Points of a tendon over two bodies."""
    places = [(a, [0.1, 0, 0.2]), (b, [0, 0.3, 0]), (b, [0.2, 0.1, 0]), (a, [0, 0.2, 0.1]), (b, [0.3, 0, 0.1])]
    return [(body, u.m * np.array(place)) for body, place in places]


BUILDERS = {
    "Actuator": [
        lambda a, b, joint, u, p: quirk.Actuator("f", joint, 0.7 * u.Nm, limits=1.0 * u.Nm, coordinate="rotation"),
        lambda a, b, joint, u, p: quirk.Actuator("f", joint, lambda t, x, rate: u.N * (x / u.m - rate / u.m),
                                                 limits=[-90.0 * u.N, 90.0 * u.N], coordinate="translation"),
    ],
    "Bushing": [
        lambda a, b, joint, u, p: quirk.Bushing("f", a, b, point=p.point([0.1, 0.4, 0.2]), stiffness=u.kg * np.array(
            [3, 3, 3, 2 * u.m**2, 2 * u.m**2, 2 * u.m**2]), damping=u.kg * np.array([1, 1, 1, 0, 0, 0])),
        lambda a, b, joint, u, p: quirk.Bushing("f", a, b, frame_i=joint.frame_i, frame_j=joint.frame_j,
                                                stiffness=six(u, K6), damping=six(u, C6),
                                                preload=np.array([1.0, 2, 3, 4 * u.m, 5 * u.m, 6 * u.m]) * u.N),
        lambda a, b, joint, u, p: quirk.Bushing("f", a, b, frame_i=joint.frame_i, frame_j=joint.frame_j,
                                                stiffness=six(u, A6)),
    ],
    "Controller": [
        lambda a, b, joint, u, p: quirk.Controller("f", joint, motion(), kp=3.0 * u.Nm, kd=0.4 * u.Nm,
                                                   limits=50.0 * u.Nm, coordinate="rotation"),
        lambda a, b, joint, u, p: quirk.Controller("f", joint, 0.3 * u.m, kp=3.0 * u.kg, coordinate="translation"),
    ],
    "Damper": [
        lambda a, b, joint, u, p: quirk.Damper("f", a, b, u.m * np.array([0.1, 0, 0]), [0, 0, 0], damping=3.0 * u.kg),
    ],
    "Damping": [
        lambda a, b, joint, u, p: quirk.Damping("f", translational=2.0 * u.kg, rotational=0.3 * u.Nm),
        lambda a, b, joint, u, p: quirk.Damping("f", b, translational=2.0 * u.kg, rotational=0.3 * u.Nm),
    ],
    "Drag": [
        lambda a, b, joint, u, p: quirk.Drag("f", b, u.m**2 * np.array([0.3, 0.5, 0.1]), density=1.2 * u.kg / u.m**3,
                                             wind=p.direction([u.m, 2 * u.m, 0]), point=[0, 0.1 * u.m, 0]),
        lambda a, b, joint, u, p: quirk.Drag(
            "f", b, 0.3 * u.m**2, density=lambda t, r: u.kg / u.m**3 * np.exp(-(p.R.T @ (r / u.m) - p.R.T @ p.offset)[2]),
            wind=lambda t, r: 5 * u.m * np.cos(t) * p.R[:, 0]),
    ],
    "FluxPinning": [
        lambda a, b, joint, u, p: quirk.FluxPinning("f", a, b, magnet(u, [1, 2, 3]), point_i=[0, 0, -4 * u.m]),
        lambda a, b, joint, u, p: quirk.FluxPinning(
            "f", a, b, magnet(u, [3, 2, -1]), point_i=u.m * np.array([-3, -2, -1]), normal=[3, 2, 1],
            point_j=u.m * np.array([0.1, 0, 0.2]), cooled=quirk.Frame([0, 0.3 * u.m, 0], [0.8, 0, 0.6, 0])),
    ],
    "Force": [
        lambda a, b, joint, u, p: quirk.Force("f", b, p.direction([1, 2, 3]) * u.N, point=[0.2 * u.m, 0, 0]),
        lambda a, b, joint, u, p: quirk.Force("f", b, of_body(u, p), point=[0.2 * u.m, 0, 0]),
        lambda a, b, joint, u, p: quirk.Force("f", b, [motion(u.N), 0.5 * u.N, motion(-u.N)], frame="body"),
    ],
    "ForceField": [
        lambda a, b, joint, u, p: quirk.ForceField("f", force=of_body(u, p)),
        lambda a, b, joint, u, p: quirk.ForceField("f", b, torque=lambda t, r, q, v, w: u.Nm * np.sin(w), frame="body"),
        lambda a, b, joint, u, p: quirk.ForceField("f", [b, a], force=of_body(u, p),
                                                   torque=p.direction([1, 2, 3]) * u.Nm),
    ],
    "GravityGradient": [
        lambda a, b, joint, u, p: quirk.GravityGradient("f", a, b, mu=5.0 * u.m**3),
    ],
    "Interaction": [
        lambda a, b, joint, u, p: quirk.Interaction("f", a, b, u.m * np.array([0.1, 0, 0]), u.m * np.array([0, 0.2, 0]),
                                                    force=of_pair(u.N, u.m), torque=of_pair(u.Nm, u.m)),
        lambda a, b, joint, u, p: quirk.Interaction("f", a, b, force=of_pair(u.N, u.m), frame="i"),
        lambda a, b, joint, u, p: quirk.Interaction("f", a, b, torque=of_pair(u.Nm, u.m), frame="j"),
    ],
    "JointForce": [
        lambda a, b, joint, u, p: quirk.JointForce("f", joint, motion(u.N)),
        lambda a, b, joint, u, p: quirk.JointForce("f", joint, lambda t, x, rate: -u.N * np.sin(x / u.m)),
    ],
    "JointFriction": [
        lambda a, b, joint, u, p: quirk.JointFriction("f", joint, viscous=0.3 * u.Nm, coulomb=0.5 * u.Nm,
                                                      static=0.8 * u.Nm, stribeck=1.0, creep=0.7,
                                                      coordinate="rotation"),
        lambda a, b, joint, u, p: quirk.JointFriction("f", joint, coulomb=0.5 * u.N, creep=0.7 * u.m,
                                                      coordinate="translation"),
    ],
    "JointTorque": [
        lambda a, b, joint, u, p: quirk.JointTorque("f", joint, motion(u.Nm)),
        lambda a, b, joint, u, p: quirk.JointTorque("f", joint, lambda t, x, rate: -u.Nm * x * rate),
    ],
    "PointGravity": [
        lambda a, b, joint, u, p: quirk.PointGravity("f", a, b, mu=5.0 * u.m**3, point=[0.1 * u.m, 0, 0]),
    ],
    "Potential": [
        lambda a, b, joint, u, p: quirk.Potential("f", [a, b], energy_of(u, p)),
    ],
    "PotentialField": [
        lambda a, b, joint, u, p: quirk.PotentialField("f", energy=energy_at(u, p)),
        lambda a, b, joint, u, p: quirk.PotentialField("f", b, energy=energy_at(u, p)),
    ],
    "ReactionWheel": [
        lambda a, b, joint, u, p: quirk.ReactionWheel("f", b, [1, 2, 0], 0.2 * u.Nm, motion(30.0)),
    ],
    "Spring": [
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, u.m * np.array([0.1, 0, 0]), [0, 0, 0], stiffness=20.0 * u.kg,
                                               damping=2.0 * u.kg, rest_length=0.2 * u.m),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, stiffness=20.0 * u.kg, rest_length=0.0),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, stiffness=20.0 * u.kg, damping=2.0 * u.kg,
                                               rest_length=0.2 * u.m, one_sided="tension"),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, stiffness=20.0 * u.kg, damping=2.0 * u.kg,
                                               rest_length=9.0 * u.m, one_sided="compression"),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, law=(u.m * np.linspace(0, 4, 4), u.N * np.array([-3, 0, 1, 9])),
                                               damping=1.0 * u.kg, rest_length=0.7 * u.m),
        lambda a, b, joint, u, p: quirk.Spring("f", a, b, law=lambda x, rate: u.N * ((x / u.m) ** 3 + rate / u.m)),
    ],
    "Tendon": [
        lambda a, b, joint, u, p: quirk.Tendon("f", branched(a, b, u), weights=[1, 2, 0, 0.4], stiffness=20 * u.kg,
                                               rest_length=1.5 * u.m),
        lambda a, b, joint, u, p: quirk.Tendon("f", branched(a, b, u), weights=[1, 2, 0, 0.4], stiffness=20 * u.kg,
                                               damping=2 * u.kg, rest_length=[0.2 * u.m, 0.8 * u.m]),
        lambda a, b, joint, u, p: quirk.Tendon(
            "f", branched(a, b, u), stiffness=2 * u.kg, rest_length=u.m, limits=[-90 * u.N, 90 * u.N],
            tension=lambda t, length, rate: u.N * (np.sin(t) + length / u.m - 0.3 * rate / u.m)),
        lambda a, b, joint, u, p: quirk.Tendon("f", branched(a, b, u), tension=motion(u.N)),
    ],
    "Thruster": [
        lambda a, b, joint, u, p: quirk.Thruster("f", b, 3.0 * u.N, [1, 1, 0], throttle=motion(), point=[0, 0, 0.1 * u.m]),
        lambda a, b, joint, u, p: quirk.Thruster("f", b, 3.0 * u.N, "x", throttle=lambda t, r, q, v, w: np.tanh(w @ w)),
    ],
    "Torque": [
        lambda a, b, joint, u, p: quirk.Torque("f", b, [1.0 * u.Nm, motion(u.Nm), 0]),
        lambda a, b, joint, u, p: quirk.Torque("f", b, p.direction([1, 2, 3]) * u.Nm, frame="inertial"),
    ],
    "TorsionSpring": [
        lambda a, b, joint, u, p: quirk.TorsionSpring("f", joint, stiffness=2.0 * u.Nm, damping=0.1 * u.Nm,
                                                      rest_angle=0.3),
    ],
    "UniformField": [
        lambda a, b, joint, u, p: quirk.UniformField("f", acceleration=p.direction([1, 2, -9]) * u.m),
        lambda a, b, joint, u, p: quirk.UniformField("f", [a, b], acceleration=through_time(
            [[1, 2], [0, -1], [-9, 0.5]], p.R, u.m)),
    ],
}  # fmt: skip
