"""Poses that only constraints of velocities determine, such as rolling, where drives leave no freedom."""

from __future__ import annotations

import numpy as np
import pytest
from recursion_checks import rows_alone
from scipy.integrate import solve_ivp

import quirk
from quirk import GROUND, Body, Contact, Friction, Motion, surface

RADIUS, END = 0.15, 2.0
# Rotations of wheels over time, rad: a constant rate, rest to rest, and a polynomial.
MOTIONS = {
    "constant": Motion.constant_rate(30.0),
    "rest to rest": Motion.rest_to_rest([0.0, 1.2, END], [0.0, 14.0, 3.0]),
    "polynomial": Motion.polynomial([0.0, 0.0, 9.3, -1.15]),
    "sinusoid": Motion.sinusoid(2.0, 8.0),
}
# Methods with their tolerances, and the largest error of a position that is allowed, over the largest position.
METHODS: list[tuple[dict, float]] = [
    ({}, 1e-8),
    ({"rtol": 1e-12, "atol": 1e-14}, 1e-11),
    ({"method": "DOP853"}, 1e-8),
    ({"method": "RK45"}, 1e-8),
    ({"method": "RadauIIA9"}, 1e-6),
    ({"method": "Taylor"}, 1e-8),
]
CASES = [
    *(("disk", "axle", motion, method) for motion in MOTIONS for method in METHODS),
    *(
        (kind, part, motion, METHODS[2])
        for kind in ("disk", "implicit")
        for part in ("rail", "axle")
        for motion in MOTIONS
    ),
]


def standing(radius: float) -> dict:
    """Return the position and orientation of a disk in the x-z plane on the ground."""
    return {"position": [0, 0, radius], "orientation": [np.sqrt(0.5), -np.sqrt(0.5), 0, 0]}


def cart(rolling: str, driven: str, motion: Motion) -> quirk.System:
    """Return a cart on a rail with one wheel that rolls, by a "disk" or an "implicit" constraint.

    `motion` is that of the drive at the "axle" or at the "rail".
    """
    chassis = Body.box("chassis", 5.0, [0.8, 0.2, 0.1], position=[0, 0, RADIUS])
    wheel = Body.cylinder("wheel", 0.5, RADIUS, 0.02, **standing(RADIUS))
    rail = quirk.Prismatic("rail", GROUND, chassis, point=[0, 0, RADIUS], axis=[1, 0, 0])
    axle = quirk.Revolute("axle", chassis, wheel, point=[0, 0, RADIUS], axis=[0, 1, 0])

    def slip(t, wheel):
        return wheel.velocity[0] - RADIUS * wheel.spin[1]

    rolls = (
        quirk.RollingDisk("rolls", GROUND, wheel, radius=RADIUS)
        if rolling == "disk"
        else quirk.Implicit("rolls", wheel, slip, level="velocity")
    )
    drive = quirk.Drive("drive", axle if driven == "axle" else rail, motion)
    system = quirk.System([chassis, wheel, rail, axle, rolls, drive], gravity=[0, 0, -9.81])
    system.assemble()
    return system


@pytest.mark.parametrize(("rolling", "driven", "motion", "method"), CASES, ids=str)
def test_a_wheel_rolls_by_its_radius_times_its_angle(rolling, driven, motion, method):
    options, allowed = method
    result = quirk.simulate(cart(rolling, driven, MOTIONS[motion]), END, output=0.1, **options)
    travel, turned = result["chassis"].position[:, 0], RADIUS * result["axle"].angle
    assert travel == pytest.approx(turned, abs=allowed * max(np.abs(travel).max(), np.abs(turned).max()))


@pytest.mark.parametrize("rolling", ["disk", "implicit"])
def test_steps_by_recursion_by_rows_and_by_the_dense_solver_are_the_same(rolling, monkeypatch):
    def steps(**options):
        system = cart(rolling, "axle", MOTIONS["polynomial"])
        return quirk.simulate(system, END, method="DOP853", output=[END], **options).statistics.steps

    by_recursion, by_dense = steps(), steps(solver="dense")
    rows_alone(monkeypatch)
    assert steps() == by_recursion == by_dense


@pytest.mark.parametrize("method", METHODS[:4], ids=str)
@pytest.mark.parametrize("motion", [Motion.rest_to_rest([0, END], [0, 10.0]), MOTIONS["polynomial"]], ids=repr)
def test_a_car_rolls_on_wheels_that_stick(motion, method):
    options, allowed = method
    chassis = Body.box("chassis", 5.0, [0.8, 0.2, 0.1], position=[0, 0, RADIUS + 0.1])
    items: list = [chassis, quirk.Planar("plane", GROUND, chassis, point=[0, 0, RADIUS + 0.1], axis=[0, 1, 0])]
    for k, x in enumerate((-0.3, 0.3)):
        wheel = Body.sphere(f"wheel {k}", 0.5, RADIUS, position=[x, 0, RADIUS])
        axle = quirk.Revolute(f"axle {k}", chassis, wheel, point=[x, 0, RADIUS], axis=[0, 1, 0])
        floor = Contact(f"floor {k}", GROUND, wheel, on_i=surface.plane(), on_j=surface.sphere(RADIUS))
        items += [wheel, axle, floor, Friction(f"friction {k}", floor, 3.0)]
    items.append(quirk.Drive("drive", items[3], motion))
    system = quirk.System(items, gravity=[0, 0, -9.81])
    system.assemble()
    result = quirk.simulate(system, END, output=0.1, **options)
    assert not len(result.events)
    travel = result["chassis"].position[:, 0]
    assert travel == pytest.approx(RADIUS * result["axle 0"].angle, abs=allowed * np.abs(travel).max())


@pytest.mark.parametrize(("seed", "solver"), [*((seed, "sparse") for seed in range(5)), (5, "dense")])
def test_the_path_of_a_driven_tricycle_agrees_with_a_quadrature(seed, solver):
    """Speed and steering are given, so that two knife edges determine the path."""
    rng = np.random.default_rng(seed)
    base, speed, swing, rate = rng.uniform(0.5, 2.0), rng.uniform(1, 3), rng.uniform(0.2, 0.8), rng.uniform(2, 6)
    frame = Body.box("frame", 3.0, [base, 0.3, 0.1], velocity=[speed, 0, 0])
    fork = Body.box("fork", 0.5, [0.2, 0.1, 0.1], position=[base, 0, 0], velocity=[speed, 0, 0])
    head = quirk.Revolute("head", frame, fork, point=[base, 0, 0], axis=[0, 0, 1])

    def forward(t, frame):
        return frame.direction([1, 0, 0]) @ frame.velocity - speed

    items = [
        frame,
        fork,
        head,
        quirk.Planar("plane", GROUND, frame, point=[0, 0, 0], axis=[0, 0, 1]),
        quirk.Drive("steer", head, Motion.sinusoid(swing, rate)),
        quirk.KnifeEdge("rear", GROUND, frame, point=[0, 0, 0], axis=[0, 1, 0]),
        quirk.KnifeEdge("front", GROUND, fork, point=[base, 0, 0], axis=[0, 1, 0]),
        quirk.Implicit("speed", frame, forward, level="velocity"),
    ]
    system = quirk.System(items)
    system.assemble()
    result = quirk.simulate(system, END, output=[END], method="DOP853", solver=solver)

    def path(t, q):
        return [speed * np.cos(q[2]), speed * np.sin(q[2]), speed / base * np.tan(swing * np.sin(rate * t))]

    x, y, heading = solve_ivp(path, [0, END], [0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert result["frame"].position[-1, :2] == pytest.approx([x, y], abs=2e-8)
    axes = quirk.rotation.matrix(result["frame"].orientation[-1])
    assert axes[:, 0] == pytest.approx([np.cos(heading), np.sin(heading), 0], abs=2e-8)
