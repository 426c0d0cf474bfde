"""Random mechanisms for tests: trees and loops of all joints, poses and velocities on the constraints."""

from __future__ import annotations

import inspect

import numpy as np
from quirk.constraints.spline import Spline

import quirk
from quirk import rotation


def random_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_inertia(rng, scale=1.0):
    """A full tensor that obeys the triangle inequality."""
    a, b, c = rng.uniform(0.5, 2.0, size=3)
    R = rotation.matrix(random_quaternion(rng))
    return scale * R @ np.diag([b + c, a + c, a + b]) @ R.T


def random_body(rng, name, size=1.0, mass=1.0):
    mass = mass * rng.uniform(0.5, 2.0)
    return quirk.Body(
        name,
        mass,
        random_inertia(rng, 0.02 * mass * size**2),
        position=size * rng.uniform(-1, 1, size=3),
        orientation=random_quaternion(rng),
        velocity=size * rng.normal(size=3),
        angular_velocity=rng.normal(size=3),
    )


def random_unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


# Joints of which random mechanisms are made.
COMMON = [quirk.Spherical, quirk.Revolute, quirk.Universal, quirk.Cylindrical, quirk.Prismatic,
          quirk.Distance, quirk.Fixed]  # fmt: skip

# What constraints ask for, by the name of the parameter; a new one that asks for nothing else needs no line here.
ARGUMENTS = {
    "point_i": lambda rng, size: 0.3 * size * random_unit(rng),
    "point_j": lambda rng, size: 0.3 * size * random_unit(rng),
    "lead": lambda rng, size: size * rng.uniform(0.2, 0.5),
}


def random_joint(rng, name, body_i, body_j, kind=None, size=1.0):
    """A constraint of the given or a random kind, satisfied by the initial poses at t = 0."""
    kind = kind or COMMON[rng.integers(len(COMMON))]
    point, axis = size * rng.uniform(-1, 1, size=3), random_unit(rng)
    if kind in VARIANTS:
        return kind(rng, name, body_i, body_j, size)
    if kind in SPECIAL:
        return SPECIAL[kind](rng, name, body_i, body_j, size)
    parameters = inspect.signature(kind.__init__).parameters
    arguments = {parameter: ARGUMENTS[parameter](rng, size) for parameter in parameters if parameter in ARGUMENTS}
    if "axis_i" in parameters:
        across = np.cross(axis, random_unit(rng))
        arguments |= {"point": point, "axis_i": axis, "axis_j": across / np.linalg.norm(across)}
    elif issubclass(kind, quirk.constraints.Joint):
        arguments |= {"point": point} if kind in (quirk.Spherical, quirk.Fixed) else {"point": point, "axis": axis}
    elif "axis" in parameters:
        arguments["axis"] = axis
    return kind(name, body_i, body_j, **arguments)


def _polynomial(rng, start):
    """A motion that starts where the bodies are."""
    return quirk.Motion.polynomial([start, *rng.normal(size=4)])


def _drive(rng, name, body_i, body_j, size):
    joint = random_joint(rng, "bearing", body_i, body_j, quirk.Revolute, size)
    return quirk.Drive(name, joint, _polynomial(rng, 0.0))


def _distance_drive(rng, name, body_i, body_j, size):
    ends = 0.3 * size * rng.normal(size=(2, 3))
    d = point_of(body_j, ends[1]) - point_of(body_i, ends[0])
    motion = _polynomial(rng, np.linalg.norm(d))
    return quirk.DistanceDrive(name, body_i, body_j, motion, point_i=ends[0], point_j=ends[1])


def _trajectory_drive(rng, name, body_i, body_j, size):
    point = 0.3 * size * rng.normal(size=3)
    start = rotation.matrix(body_i.orientation).T @ (point_of(body_j, point) - body_i.position)
    return quirk.TrajectoryDrive(name, body_i, body_j, *(_polynomial(rng, x) for x in start), point=point)


def _rolling_disk(rng, name, body_i, body_j, size):
    axis, normal, radius = random_unit(rng), random_unit(rng), 0.5 * size
    world = rotation.matrix(body_j.orientation) @ axis
    down = (normal @ world) * world - normal
    point = body_j.position + radius * down / np.linalg.norm(down)
    return quirk.RollingDisk(
        name, body_i, body_j, radius=radius, disk_axis=axis, plane_point=point, plane_normal=normal
    )


def _gear(rng, name, body_i, body_j, size):
    return quirk.Gear(name, body_i, body_j, ratio=-5 / 12, axis=random_unit(rng))


def _coupling(rng, name, body_i, body_j, size):
    """An angle that follows a displacement, about and along axes that have nothing to do with each other."""
    slide = quirk.Cylindrical("slide", body_i, body_j, point=size * rng.normal(size=3), axis=random_unit(rng))
    hinge = quirk.Revolute("hinge", body_i, body_j, point=size * rng.normal(size=3), axis=random_unit(rng))
    return quirk.Coupling(name, slide, hinge, coefficients=[0, 0.7 / size, 0.2 / size**2], coordinate_i="translation")


def crossed_gear(rng, name, body_i, body_j, size):
    """Axes that neither meet nor are parallel."""
    return quirk.Gear(name, body_i, body_j, ratio=-5 / 12, axis_i=random_unit(rng), axis_j=random_unit(rng))


def _rack(rng, name, body_i, body_j, size):
    where = {"direction": random_unit(rng), "axis": random_unit(rng)}
    return quirk.RackPinion(name, body_i, body_j, radius=-0.4 * size, **where)


def _pulley(rng, name, body_i, body_j, size):
    """A rope that comes back to where it began, with a second fall between the last two points."""
    places = 0.3 * size * rng.normal(size=(4, 3))
    met = zip([body_i, body_j, body_i, body_j], places, strict=True)
    return quirk.Pulley(name, list(met), weights=[1, 1, 2])


def pulley_with_drums(rng, name, body_i, body_j, size):
    """A rope wound on a drum at each end, over a sheave between them, 1 row."""
    places = 0.3 * size * rng.normal(size=(5, 3))
    drums = [
        quirk.Drum(b, p, random_unit(rng), r * size)
        for b, p, r in zip((body_i, body_i, body_j), places, (0.02, 0.05, 0.03), strict=False)
    ]
    met = [drums[0], (body_j, places[3]), drums[1], (body_j, places[4]), (body_i, places[4]), drums[2]]
    return quirk.Pulley(name, met)


def _point_on_curve(rng, name, body_i, body_j, size):
    """A gentle bend through a point of body j: one cubic, along which all is analytic."""
    point = 0.3 * size * rng.normal(size=3)
    here = rotation.matrix(body_i.orientation).T @ (point_of(body_j, point) - body_i.position)
    axes = rotation.matrix(random_quaternion(rng))
    x = np.array([-9.0, -3.0, 0.0, 9.0])
    bends = np.column_stack([x, 0.02 * x**2, 0.002 * x**3])
    return quirk.PointOnCurve(name, body_i, body_j, points=here + size * bends @ axes.T, point=point)


def _curve_on_curve(rng, name, body_i, body_j, size):
    """A gentle bend on which a round profile rolls and slides, in the plane of both; one turned to fit the other."""
    x = np.array([-12.0, -4.0, 4.0, 12.0])
    bend = Spline(name, "bend", size * np.column_stack([x, 0.004 * x**2]), False, 2, 5)
    vertex = bend.derivatives([bend.breaks[-1] / 2])[0, 0]
    turn = 2 * np.pi * np.arange(6) / 6
    radius = 0.3 * size
    profile = Spline(name, "profile", radius * np.column_stack([np.cos(turn), np.sin(turn)]), True, 2, 5)
    # Contact is where profile j is lowest in a frame with z as body i: frame j is turned and placed accordingly.
    s = profile.breaks[-1] * np.linspace(0, 1, 20001)
    lowest = s[profile.derivatives(s)[0, :, 1].argmin()]
    for _ in range(20):
        _, tangent, second = profile.derivatives([lowest])[:, 0]
        lowest = lowest - tangent[1] / second[1]
    touch = profile.derivatives([lowest])[0, 0]
    R_i, R_j = (rotation.matrix(b.orientation) for b in (body_i, body_j))
    place = body_i.position + R_i @ [*(vertex - touch), 0.0]
    frame_j = quirk.Frame(R_j.T @ (place - body_j.position), rotation.from_matrix(R_j.T @ R_i))
    return quirk.CurveOnCurve(
        name, body_i, body_j, points_i=bend.points, closed_i=False, points_j=profile.points, frame_j=frame_j
    )


def _generic(rng, name, body_i, body_j, size):
    where = {"point": size * rng.uniform(-1, 1, size=3), "axis": random_unit(rng)}
    return quirk.Generic(name, body_i, body_j, constrained=[1, 0, 1, 0, 1, 1], **where)


def generic_with_motions(rng, name, body_i, body_j, size):
    """Offsets that move."""
    offset = [_polynomial(rng, 0.0), 0.0, 0.0, 0.0, _polynomial(rng, 0.0), quirk.Motion.sinusoid(0.2, 3.0)]
    where = {"point": size * rng.uniform(-1, 1, size=3), "axis": random_unit(rng)}
    return quirk.Generic(name, body_i, body_j, constrained=[1, 1, 0, 1, 1, 1], offset=offset, **where)


def generic_with_a_function(rng, name, body_i, body_j, size):
    """An offset function and the alternative rows."""

    def offset(t, parameters):
        wave = np.sin(parameters[0] * t)
        return [wave, 0.0, parameters[1] * t**2, wave * t, 0.0, 1.0 - np.exp(-t)]

    where = {"point": size * rng.uniform(-1, 1, size=3), "axis": random_unit(rng)}
    return quirk.Generic(name, body_i, body_j, offset=offset, parameters=[2.0, 0.3], alternative=True, **where)


def _implicit(rng, name, body_i, body_j, size):
    """Two spheres in touch, and a surface that a point follows."""
    one, two = 0.3 * size * rng.normal(size=(2, 3))
    touching = np.linalg.norm(point_of(body_j, two) - point_of(body_i, one))
    height = rotation.matrix(body_i.orientation).T @ (point_of(body_j, one) - body_i.position)

    def phi(t, i, j):
        d = j.point(two) - i.point(one)
        x, y, z = i.rotation.T @ (j.point(one) - i.position)
        x0, y0, z0 = height
        return [np.sqrt(d @ d) - touching, z - z0 - 0.1 * (np.sin(x - x0) + (y - y0) ** 2)]

    return quirk.Implicit(name, [body_i, body_j], phi)


def implicit_of_velocities(rng, name, body_i, body_j, size):
    """A point whose velocity keeps a direction."""
    local = 0.3 * size * rng.normal(size=3)

    def psi(t, i, j):
        d = j.point(local) - i.position
        slip = j.velocity_of(local) - i.velocity - np.cross(i.spin, d)
        return j.direction([0, 0, 1]) @ slip

    return quirk.Implicit(name, [body_i, body_j], psi, level="velocity")


def _custom_rows(rng, name, body_i, body_j, size):
    """A ball joint, by hand."""
    point = size * rng.uniform(-1, 1, size=3)
    arms = [rotation.matrix(b.orientation).T @ (point - b.position) for b in (body_i, body_j)]

    def rows(t, position, orientation, velocity, angular_velocity):
        R = rotation.matrix(orientation)
        s = [R[k] @ arms[k] for k in range(2)]
        w = [R[k] @ angular_velocity[k] for k in range(2)]
        A = np.hstack([-np.eye(3), rotation.skew(s[0]) @ R[0], np.eye(3), -rotation.skew(s[1]) @ R[1]])
        turning = [np.cross(w[k], np.cross(w[k], s[k])) for k in range(2)]
        phi = position[1] + s[1] - position[0] - s[0]
        phi_dot = velocity[1] + np.cross(w[1], s[1]) - velocity[0] - np.cross(w[0], s[0])
        return A, turning[0] - turning[1], phi, phi_dot

    return quirk.CustomRows(name, [body_i, body_j], rows)


def closed_stop(rng, name, body_i, body_j, size):
    """A hinge at its upper limit."""
    where = {"point": size * rng.uniform(-1, 1, size=3), "axis": random_unit(rng)}
    hinge = quirk.Revolute(f"{name} of", body_i, body_j, **where)
    return quirk.Stop(name, hinge, upper=0.0).closed[0]


def closed_rope(rng, name, body_i, body_j, size):
    """A rope that is taut."""
    one, two = 0.3 * size * rng.normal(size=(2, 3))
    length = np.linalg.norm(point_of(body_j, two) - point_of(body_i, one))
    return quirk.Rope(name, body_i, body_j, point_i=one, point_j=two, length=length).closed[0]


def closed_contact(rng, name, body_i, body_j, size):
    """Two spheres in touch."""
    one, two = 0.2 * size * rng.normal(size=(2, 3))
    apart = np.linalg.norm(point_of(body_j, two) - point_of(body_i, one))
    on_i, on_j = quirk.surface.sphere(0.4 * apart, one), quirk.surface.sphere(0.6 * apart, two)
    return quirk.Contact(name, body_i, body_j, on_i=on_i, on_j=on_j).closed[0]


def closed_rim(rng, name, body_i, body_j, size):
    """A disk whose edge stands on a plane, the plane being that of body j."""
    center, axis, normal = 0.2 * size * rng.normal(size=3), random_unit(rng), random_unit(rng)
    R_i, R_j = (rotation.matrix(b.orientation) for b in (body_i, body_j))
    in_disk = normal - (normal @ R_i @ axis) * (R_i @ axis)
    lowest = point_of(body_i, center) - 0.3 * size * in_disk / np.linalg.norm(in_disk)
    on_i = quirk.surface.rim(0.3 * size, center, axis)
    on_j = quirk.surface.plane(R_j.T @ (lowest - body_j.position), R_j.T @ normal)
    return quirk.Contact(name, body_i, body_j, on_i=on_i, on_j=on_j).closed[0]


def closed_one_sided(rng, name, body_i, body_j, size):
    """A point on a curved surface, as a user writes it."""
    point = 0.3 * size * rng.normal(size=3)

    x0, y0, z0 = rotation.matrix(body_i.orientation).T @ (point_of(body_j, point) - body_i.position)

    def gap(t, i, j):
        x, y, z = i.rotation.T @ (j.point(point) - i.position)
        return z - z0 - 0.1 * (np.sin(x - x0) + (y - y0) ** 2)

    return quirk.OneSided(name, [body_i, body_j], gap).closed[0]


VARIANTS = [
    generic_with_motions, generic_with_a_function, implicit_of_velocities, crossed_gear, pulley_with_drums,
    closed_stop, closed_rope, closed_contact, closed_rim, closed_one_sided,
]  # fmt: skip
# How many rows those have of which the class leaves that to whoever makes them.
for _make, _rows in zip(
    (_generic, _implicit, _custom_rows, *VARIANTS), (4, 2, 3, 5, 6, 1, 1, 1, 1, 1, 1, 1, 1), strict=True
):
    _make.row_count = _rows


def point_of(body, local):
    """Where in N a point of a body is at its initial pose."""
    return body.position + rotation.matrix(body.orientation) @ local


# Constraints whose arguments follow from where the bodies are.
SPECIAL = {
    quirk.Drive: _drive,
    quirk.DistanceDrive: _distance_drive,
    quirk.TrajectoryDrive: _trajectory_drive,
    quirk.RollingDisk: _rolling_disk,
    quirk.Gear: _gear,
    quirk.Coupling: _coupling,
    quirk.RackPinion: _rack,
    quirk.Pulley: _pulley,
    quirk.PointOnCurve: _point_on_curve,
    quirk.CurveOnCurve: _curve_on_curve,
    quirk.Generic: _generic,
    quirk.Implicit: _implicit,
    quirk.CustomRows: _custom_rows,
}


def random_system(rng, bodies=4, loops=1, gravity=(0.3, -0.2, -9.81), size=1.0, mass=1.0, extra=()):
    """A tree on the ground with `loops` further joints; initial velocities are projected onto the constraints."""
    parts = [random_body(rng, f"body{k}", size, mass) for k in range(bodies)]
    items = list(parts)
    for k, body in enumerate(parts):
        lower = quirk.GROUND if k == 0 or rng.random() < 0.2 else parts[rng.integers(k)]
        items.append(random_joint(rng, f"joint{k}", lower, body, size=size))
    for k in range(loops):
        i, j = rng.choice(bodies, size=2, replace=False)
        # Loops are closed by joints that leave the mechanism some freedom.
        kind = [quirk.Spherical, quirk.Distance, quirk.Universal][rng.integers(3)]
        items.append(random_joint(rng, f"loop{k}", parts[i], parts[j], kind, size=size))
    system = quirk.System([*items, *extra], gravity=gravity)
    system.assemble()
    return system


def random_state(rng, count):
    """Any state, off the constraints too."""
    q = rng.normal(size=(count, 4))
    return quirk.State(
        rng.normal(size=(count, 3)),
        q / np.linalg.norm(q, axis=1, keepdims=True),
        rng.normal(size=(count, 3)),
        rng.normal(size=(count, 3)),
    )


def random_forest(rng, bodies, kinds, free=()):
    """Random bodies, and joints of these kinds that connect each of them to an earlier one or the first to the ground.

    Joints name the child before the parent or after it. Bodies whose numbers are in `free` begin trees of their own.
    """
    parts, joints = [], []
    for k in range(bodies):
        parts.append(random_body(rng, f"body{k}"))
        parent = parts[rng.integers(k)] if k else quirk.GROUND
        if k not in free:
            ends = (parent, parts[-1]) if rng.random() < 0.5 else (parts[-1], parent)
            joints.append(random_joint(rng, f"joint{k}", *ends, kind=kinds[rng.integers(len(kinds))]))
    return parts, joints


def random_closings(rng, parts, count, kinds):
    """Constraints of these kinds between random pairs of bodies, which close loops in a forest."""
    for k in range(count):
        i, j = rng.choice(len(parts), 2, replace=False)
        yield random_joint(rng, f"loop{k}", parts[i], parts[j], kind=kinds[rng.integers(len(kinds))])
