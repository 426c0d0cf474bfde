"""Drivers in mechanisms whose joints are eliminated by freedoms: against the dense solver, and against rows."""

from itertools import pairwise

import numpy as np
import pytest
from mechanisms import random_body, random_closings, random_forest, random_joint
from recursion_checks import check_projection, check_tangential, rates_by_recursion, rows_alone, started

import quirk
from quirk.dynamics.sparse.kernels.workspace import RECURSIVE, SHARED


def motion(rng, start=0.0):
    return quirk.Motion.polynomial([start, *rng.normal(size=4)])


def drivers(rng, joints, share):
    """Drivers of a share of all coordinates that joints have along and about one axis."""
    for joint in joints:
        for coordinate, axis in (("rotation", joint.rotation_axis), ("translation", joint.translation_axis)):
            if axis is not None and rng.random() < share:
                yield quirk.Drive(f"{joint.name} {coordinate}", joint, motion(rng), coordinate)


def driven_tree(rng, bodies=6, share=0.5, loops=0, held=True):
    """A random tree with drivers, further drivers between its bodies, and constraints that close loops."""
    kinds = [quirk.Revolute, quirk.Prismatic, quirk.Cylindrical, quirk.Universal, quirk.Spherical, quirk.Fixed]
    parts, joints = random_forest(rng, bodies, kinds, free=() if held else (0,))
    items = list(random_closings(rng, parts, loops, [quirk.Distance, quirk.PointOnPlane, quirk.DistanceDrive]))
    items.append(quirk.Spring("spring", parts[0], parts[-1], point_i=rng.normal(size=3), stiffness=30.0, damping=2.0))
    system = quirk.System([*parts, *joints, *drivers(rng, joints, share), *items], gravity=[0.3, -0.2, -9.81])
    system.assemble()
    return system


def rates(solver, y, t=0.0):
    """y' by recursion and by rows, and the scale of each of its components."""
    return rates_by_recursion(solver, y, t), solver.rates(t, y)


def close(found, true, tolerance, note):
    np.testing.assert_allclose(found, true, rtol=0, atol=tolerance * max(1.0, np.abs(true).max()), err_msg=str(note))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("loops", [0, 2])
@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_accelerations_and_power(share, loops, held):
    """Accelerations are those of the dense solver, and the power of drivers is that of rows."""
    found = 0
    for seed in range(8):
        try:
            system = driven_tree(np.random.default_rng([seed, loops, held]), share=share, loops=loops, held=held)
        except quirk.QuirkError:
            continue  # these motions contradict each other
        solver, y = started(system)
        if not solver.work.summary[RECURSIVE]:
            continue
        found += 1
        (recursive, rows), true = rates(solver, y), system.acceleration(system.initial_state(), solver="dense")
        bodies = solver.slots.body_states(recursive)
        close(bodies[:, 7:10], true.linear, 2e-12, seed)
        close(bodies[:, 10:], true.angular, 2e-12, seed)
        first = solver.slots.first_auxiliary
        close(recursive[first:], rows[first:], 1e-11, seed)
    assert found > 1


@pytest.mark.parametrize("seed", range(1, 5))
def test_projection_is_the_nearest_state(seed):
    """Projections keep to the motions of drivers, and variations are those that they allow."""
    rng = np.random.default_rng(seed)
    solver, y = started(driven_tree(rng, bodies=8, share=0.6, loops=seed % 2))
    assert solver.recursion.driven.size and solver.work.summary[RECURSIVE]
    rates(solver, y)
    check_tangential(solver, y, rng, 1e-12)
    check_projection(solver, y, rng, 1e4)


def bar(name, start, end, mass):
    start, end = np.asarray(start, float), np.asarray(end, float)
    d = end - start
    turn = quirk.rotation.exp(np.array([0.0, -np.arctan2(d[2], d[0]), 0.0]))
    size = [np.linalg.norm(d), 0.06, 0.06]
    return quirk.Body.box(name, mass=mass, size=size, position=(start + end) / 2, orientation=turn)


def chain(points, *, axes="y", first=0, closed=True):
    """Bars between points, with hinges; the last one on the ground as well if `closed`."""
    points = [np.asarray(p, float) for p in points]
    bars = [bar(f"bar{first + k}", a, b, 0.5 + 0.1 * k) for k, (a, b) in enumerate(pairwise(points))]
    bodies = [quirk.GROUND, *bars] + ([quirk.GROUND] if closed else [])
    axes = (axes * len(points))[: len(points)]
    joints = [
        quirk.Revolute(f"hinge{first + k}", i, j, point=p, axis=axis)
        for k, (i, j, p, axis) in enumerate(zip(bodies, bodies[1:], points, axes, strict=False))
    ]
    return bars, joints


LINKAGE = ([0, 0, 0], [0.1, 0, 0.4], [0.7, 0, 0.6], [0.6, 0, 0])


def four_bar(*motions):
    """A four-bar whose first hinges are driven; three of its rows are redundant."""
    bars, joints = chain(LINKAGE)
    drives = [quirk.Drive(f"motor{k}", joints[k], motion) for k, motion in motions]
    return [*bars, *joints, *drives]


def slider_crank(motion):
    bars, joints = chain([[0, 0, 0], [0.1, 0, 0.3], [0.8, 0, 0]], closed=False)
    piston = quirk.Body.box("piston", mass=1.0, size=[0.1, 0.1, 0.1], position=[0.8, 0, 0])
    bore = quirk.Prismatic("bore", quirk.GROUND, piston, point=[0.8, 0, 0], axis="x")
    wrist = quirk.Revolute("wrist", bars[1], piston, point=[0.8, 0, 0], axis="y")
    return [*bars, *joints, piston, bore, wrist, quirk.Drive("motor0", bore, motion)]


def arm(bodies, driven):
    rng = np.random.default_rng(1)
    points = np.cumsum([[0.3, 0, 0.1 * rng.normal()] for _ in range(bodies + 1)], axis=0)
    bars, joints = chain(points, axes="zyyx", closed=False)
    drives = [
        quirk.Drive(f"motor{k}", joints[k], quirk.Motion.sinusoid(0.3 + 0.02 * k, 1.0 + 0.1 * k)) for k in range(bodies)
    ]
    return [*bars, *joints, *(drives[k] for k in driven)]


def ring(count=12):
    turn = 2 * np.pi * np.arange(count + 1) / count
    bars, joints = chain(np.column_stack([np.cos(turn), 0 * turn, np.sin(turn)])[:-1], closed=True)
    return [*bars, *joints, quirk.Drive("motor0", joints[0], quirk.Motion.polynomial([0, 0, 0.5])),
            quirk.Drive("motor1", joints[5], quirk.Motion.sinusoid(0.1, 3.0))]  # fmt: skip


ACCELERATED = quirk.Motion.polynomial([0, 0.5, 0.3])
RUNS = {
    "crank of a four-bar": (lambda: four_bar((0, ACCELERATED)), 1),
    "coupler of a four-bar": (lambda: four_bar((1, quirk.Motion.sinusoid(0.2, 2.0))), 1),
    "slider of a slider-crank": (lambda: slider_crank(quirk.Motion.sinusoid(0.05, 3.0)), 1),
    "all joints of an arm": (lambda: arm(6, range(6)), 6),
    "some joints of an arm": (lambda: arm(6, (0, 3, 4)), 3),
    "joints of a ring": (ring, 2),
}


def moved(items):
    system = quirk.System(items, gravity=[0.5, 0, -9.81])
    system.assemble()
    return system


@pytest.mark.parametrize("method", ["RK4", "Tsit5", "Vern9"])
@pytest.mark.parametrize("name", RUNS)
def test_runs(name, method, monkeypatch):
    """Motion, loads of drivers, work and energy are those of rows."""
    build, driven = RUNS[name]
    options = {"method": method, "output": 0.1} | ({"step": 1e-3} if method == "RK4" else {"rtol": 1e-11})
    found = quirk.simulate(system := moved(build()), 0.4, **options)
    assert system.plant.tables.recursion.driven.size == 7 * driven
    assert found.residual.position.max() < 1e-12 and found.residual.velocity.max() < 1e-11
    rows_alone(monkeypatch)
    true = quirk.simulate(other := moved(build()), 0.4, **options)
    assert not other.plant.tables.recursion.driven.size
    for body in system.bodies:
        close(found[body.name].position, true[body.name].position, 1e-9, body.name)
    for motor, work in true.power.work.items():
        close(found.power.work[motor], work, 1e-9, motor)
    for motor in (part.name for part in system.constraints if isinstance(part, quirk.Drive)):
        close(found[motor].effort, true[motor].effort, 1e-7, motor)
    close(found.power.balance, true.power.balance, 1e-8, "balance")


def test_passes_flat_poses(monkeypatch):
    """A parallelogram whose crank is driven through the poses in which its rows become dependent."""

    def turned():
        bars, joints = chain([[0, 0, 0], [0.01, 0, 1.0], [1.01, 0, 1.0], [1.0, 0, 0]])
        system = moved([*bars, *joints, quirk.Drive("motor", joints[0], quirk.Motion.constant_rate(2.0))])
        return quirk.simulate(system, 2.0, rtol=1e-10, output=0.2)

    found = turned()
    rows_alone(monkeypatch)
    true = turned()
    close(found["bar1"].position, true["bar1"].position, 1e-12, "coupler")
    close(found["motor"].effort, true["motor"].effort, 1e-10, "motor")
    assert np.abs(found.power.balance).max() < 1e-9


def again(items):
    """The last driver twice."""
    return [*items, quirk.Drive("again", items[-1].joint, items[-1].motion)]


REST = quirk.Motion.polynomial([0])
REDUNDANT = {
    "joint of an arm": lambda: again(arm(4, (0, 2))),
    "crank of a four-bar": lambda: again(four_bar((0, ACCELERATED))),
    "two joints of a four-bar": lambda: four_bar((0, REST), (1, REST)),
    "three joints of a four-bar": lambda: four_bar((0, REST), (1, REST), (2, REST)),
}


@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_drivers(name):
    """Work of drivers that share their loads with other rows depends on the rows selected, so rows are used."""
    solver, _ = started(moved(REDUNDANT[name]()))
    assert solver.work.summary[SHARED] and not solver.work.summary[RECURSIVE]


def test_unique_loads_beside_redundant_rows():
    """Rows of a planar loop are redundant, but the torque of its crank is not shared with them."""
    solver, _ = started(moved(RUNS["joints of a ring"][0]()))
    assert solver.redundant and not solver.work.summary[SHARED] and solver.work.summary[RECURSIVE]


def test_second_driver_of_a_cylindrical_joint():
    """Both coordinates of one joint are driven; they are rows over the forest."""
    rng = np.random.default_rng(2)
    body = random_body(rng, "body")
    joint = random_joint(rng, "joint", quirk.GROUND, body, kind=quirk.Cylindrical)
    drives = [quirk.Drive(f"{c}", joint, motion(rng), c) for c in ("rotation", "translation")]
    system = moved([body, joint, *drives])
    solver, y = started(system)
    recursive, rows = rates(solver, y)
    close(recursive, rows, 1e-11, "")
