"""Wheels and disks that roll on each other in a plane: slip begins where friction reaches its limit.

As they turn, so do the normals of the contacts in the axes of the bodies.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Friction, Motion, Prismatic, Revolute, planar, surface

G = 9.81


def disk_on_wheel(seed, plane, *, spatial):
    """Return a system in which a disk rolls on a hinged wheel, and the numbers that determine its motion.

    The bodies are planar, or bodies in space that joints keep in the plane.
    """
    rng = np.random.default_rng(seed)
    R, r, mass = rng.uniform(0.05, 0.3), rng.uniform(0.03, 0.2), rng.uniform(0.2, 3)
    mu, angle, spin = rng.uniform(0.05, 0.8), rng.uniform(0.02, 0.5), rng.choice([0.0, rng.uniform(-6, 6)])
    inertia = rng.uniform(0.3, 2) * R**2, rng.uniform(0.3, 0.6) * mass * r**2
    place = (R + r) * np.array([np.sin(angle), np.cos(angle)])
    if spatial:
        turned = {"orientation": plane.orientation}
        wheel = Body("wheel", 1.0, 3 * [inertia[0]], position=plane.origin, angular_velocity=[0, 0, spin], **turned)
        disk = Body(
            "disk",
            mass,
            3 * [inertia[1]],
            position=plane.point(place),
            angular_velocity=[0, 0, -spin * R / r],
            **turned,
        )
        normal = plane.axes[:, 2]
        joints = [
            quirk.Revolute("hinge", GROUND, wheel, point=plane.origin, axis=normal),
            quirk.Planar("plane", GROUND, disk, point=disk.position, axis=normal),
        ]
    else:
        wheel = planar.PlanarBody("wheel", 1.0, inertia[0], plane=plane, angular_velocity=spin)
        disk = planar.PlanarBody("disk", mass, inertia[1], plane=plane, position=place, angular_velocity=-spin * R / r)
        joints = [planar.Revolute("hinge", GROUND, wheel, point=[0, 0])]
    touch = Contact("touch", wheel, disk, on_i=surface.sphere(R), on_j=surface.sphere(r))
    system = quirk.System([wheel, disk, *joints, touch, Friction("rough", touch, mu)], gravity=-G * plane.axes[:, 1])
    return system, (R, r, mass, mu, inertia, angle, spin)


def motion_of_disk(R, r, mass, mu, inertia, angle, spin):
    """Times at which slip begins and the disk leaves, its angle, and its angular velocity there.

    Both roll as long as the friction, f along increasing angles, is within its limit: f = -g sin(angle) / k.
    """
    L, k = R + r, 1 / mass + r**2 / inertia[1] + R**2 / inertia[0]

    def loads(y, slides):
        push = mass * (G * np.cos(y[0]) - L * y[1] ** 2)
        return (-mu * push if slides else -G * np.sin(y[0]) / k), push

    def rates(slides):
        def of(_, y):
            f, _push = loads(y, slides)
            return [y[1], G * np.sin(y[0]) / L + f / mass / L, R * f / inertia[0], r * f / inertia[1]]

        return of

    def limit(_, y):
        f, push = loads(y, False)
        return mu * push - abs(f)

    def leaves(_, y):
        return loads(y, True)[1]

    limit.terminal = leaves.terminal = True
    accuracy = {"rtol": 1e-11, "atol": 1e-13}
    start = [angle, 0, spin, -spin * R / r]
    last = 0.0 if limit(0, start) < 0 else 9.0
    rolls = solve_ivp(rates(False), (0, last), start, events=limit, **accuracy)
    slides = solve_ivp(rates(True), (rolls.t[-1], 9), rolls.y[:, -1], events=leaves, **accuracy)
    return rolls.t[-1], slides.t[-1], slides.y[:, -1]


@pytest.mark.parametrize("spatial", [False, True])
@pytest.mark.parametrize("seeds", study([range(8), range(8, 60)], 1))
def test_a_disk_rolls_off_a_wheel_until_it_slips_and_leaves(seeds, spatial):
    tilted = planar.Plane(origin=[0.3, -0.2, 0.1], normal=[0.3, 1.0, -0.4])
    for seed in seeds:
        system, numbers = disk_on_wheel(seed, tilted if seed % 2 else planar.Plane(), spatial=spatial)
        slips, leaves, (_, _, _, spin) = motion_of_disk(*numbers)
        print(seed, numbers, slips, leaves)
        result = quirk.simulate(system, leaves * 1.0001, output=leaves / 4, rtol=1e-9)
        times = [event.time for event in result.events if event.name in ("rough", "touch")]
        np.testing.assert_allclose(times, [slips, leaves] if slips > 0 else [leaves], rtol=1e-6)
        np.testing.assert_allclose(result["disk"].angular_velocity[-1], [0, 0, spin], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spin", [0.0, 10.0])
@pytest.mark.parametrize("ramp", [3.0, 0.3])
@pytest.mark.parametrize("axis", [[0, 0, 1], [0, 1, 0], [0.6, -0.48, 0.64]])
def test_a_friction_drive_slips_where_its_torque_exceeds_the_friction(axis, ramp, spin):
    """A hinged wheel drives another one, which lies on it in a carrier that slides.

    With the torque k t, the friction is k t / R / (1 + J_1 r^2 / (J_2 R^2)) until it exceeds mu times the weight.
    """
    R, r, inertia, mass, mu = 0.2, 0.1, (0.02, 0.005), 0.5, 0.3
    turn = planar.Plane(normal=axis).orientation
    _, up, axis = planar.Plane(normal=axis).axes.T
    driver = Body("driver", 1.0, 3 * [inertia[0]], orientation=turn, angular_velocity=[0, 0, spin])
    wheel = Body(
        "wheel", mass, 3 * [inertia[1]], orientation=turn, position=(R + r) * up, angular_velocity=[0, 0, -spin * R / r]
    )
    carrier = Body("carrier", mass, 3 * [0.01], position=(R + r) * up)
    joints = [
        Revolute("axle", GROUND, driver, point=[0, 0, 0], axis=axis),
        Revolute("bearing", carrier, wheel, point=wheel.position, axis=axis),
        Prismatic("guide", GROUND, carrier, point=wheel.position, axis=up),
    ]
    touch = Contact("touch", driver, wheel, on_i=surface.sphere(R), on_j=surface.sphere(r))
    torque = quirk.JointTorque("motor", joints[0], Motion.polynomial([0, ramp]))
    system = quirk.System(
        [driver, wheel, carrier, *joints, touch, Friction("rough", touch, mu), torque], gravity=-G * up
    )
    slips = mu * 2 * mass * G * R * (1 + inertia[0] * r**2 / (inertia[1] * R**2)) / ramp
    result = quirk.simulate(system, 1.1 * slips, output=slips / 8)
    np.testing.assert_allclose(result.events.time, [slips], rtol=1e-8)
    push, rub = (np.linalg.norm(result[name].force(), axis=1) for name in ("touch", "rough"))
    assert (rub <= mu * push * (1 + 1e-8)).all()
