"""The compiled solver against the dense reference, its work budgets, and that it does the same every time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mechanisms import random_body, random_joint, random_system, random_unit
from numba.core.runtime import _nrt_python, rtsys
from studies import study

import quirk
from benchmarks.references import build, load
from quirk.dynamics.model.model import Arrangement
from quirk.dynamics.sparse.symbolic.ordering import branches, eliminate
from quirk.forces import ForceElement

DATA = Path(__file__).parent / "data"


def miss(system, state=None):
    """Largest relative difference between sparse and dense: accelerations, constraint forces, joint loads."""
    state = system.initial_state() if state is None else state
    got, want = (system.acceleration(state, solver=s) for s in ("sparse", "dense"))
    # A structure that cannot move has none: what gravity would do is a measure too.
    scale = max(np.abs(want.linear).max(), np.abs(want.angular).max(), np.abs(system.gravity).max(), 1e-3)
    parts = (np.abs(getattr(got, p) - getattr(want, p)).max() for p in ("linear", "angular", "quaternion"))
    loads = [system.joint_loads(state, solver=s) for s in ("sparse", "dense")]
    largest = max((np.abs([x.force, x.torque]).max() for x in loads[1].values()), default=0.0) + 1e-3
    differences = (
        np.abs([a.force - b.force, a.torque - b.torque]).max()
        for a, b in zip(loads[0].values(), loads[1].values(), strict=True)
    )
    return max(parts) / scale, max(differences, default=0.0) / largest


@pytest.mark.parametrize("name", sorted(p.stem for p in DATA.glob("*.json")))
def test_reference_systems(name):
    accelerations, loads = miss(build(load(name)))
    assert accelerations < 1e-11
    assert loads < 1e-11


ANY = settings(deadline=None, max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))


def condition(system):
    """Largest over smallest singular value that counts, of rows of unit length in the mass metric."""
    from quirk.bodies.state import Kinematics
    from quirk.dynamics.dense.projection import factorise

    found = factorise(system.model, system.plant.metric, Kinematics.of(system.initial_state()), 0.0)
    return float(found.s[0] / found.s[-1]) if found.s.size else 1.0


@ANY
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 4))
def test_random_mechanisms(seed, bodies, loops):
    """Trees and loops of all joints; error bounds grow with the condition of the rows."""
    system = random_system(np.random.default_rng(seed), bodies=bodies, loops=min(loops, bodies // 2))
    accelerations, loads = miss(system)
    bound = 1e-11 * max(1.0, condition(system) / 100)
    assert accelerations < bound
    assert loads < 10 * bound


@ANY
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_mass_ratios_of_a_million(seed, bodies):
    rng = np.random.default_rng(seed)
    parts = [random_body(rng, f"body{k}", mass=10.0 ** rng.uniform(-3, 3)) for k in range(bodies)]
    joints = [
        random_joint(rng, f"joint{k}", quirk.GROUND if k == 0 else parts[rng.integers(k)], parts[k], quirk.Spherical)
        for k in range(bodies)
    ]
    system = quirk.System([*parts, *joints], gravity=[0, 0, -9.81])
    system.assemble()
    assert miss(system)[0] < 1e-9


@ANY
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3))
def test_duplicated_constraints(seed, bodies, copies):
    """The same joint again and again changes no acceleration; each copy carries its share."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, bodies=bodies, loops=0)
    again = [
        type(joint)(f"{joint.name} again {c}", joint.body_i, joint.body_j, frame_i=joint.frame_i, frame_j=joint.frame_j)
        for joint in system.constraints if not isinstance(joint, quirk.Distance) for c in range(copies)
    ]  # fmt: skip
    more = quirk.System([*system, *again], gravity=system.gravity)
    state = system.initial_state()
    one, many = (s.acceleration(state) for s in (system, more))
    bound = 1e-10 * max(1.0, condition(system) / 100) * max(1.0, np.abs(one.linear).max(), np.abs(one.angular).max())
    np.testing.assert_allclose(many.linear, one.linear, atol=bound)
    np.testing.assert_allclose(many.angular, one.angular, atol=bound)
    loads = more.joint_loads(state)
    for joint in again:
        first = loads[joint.name.split(" again")[0]]
        np.testing.assert_allclose(loads[joint.name].force, first.force, atol=1e-8 * (1 + np.abs(first.force).max()))


def hub(arms, rng, kind=quirk.Spherical, spokes=0):
    """A body with many arms of two bodies each; some arms also end on the ground."""
    center = random_body(rng, "center")
    items = [center]
    for k in range(arms):
        near, far = random_body(rng, f"near{k}"), random_body(rng, f"far{k}")
        items += [
            near,
            far,
            random_joint(rng, f"a{k}", center, near, kind),
            random_joint(rng, f"b{k}", near, far, kind),
        ]
        if k < spokes:
            items.append(random_joint(rng, f"c{k}", far, quirk.GROUND, quirk.Spherical))
    system = quirk.System(items, gravity=[0, 0, -9.81])
    system.assemble()
    return system


@pytest.mark.parametrize(
    ("kind", "spokes"), [(quirk.Spherical, 0), (quirk.Revolute, 0), (quirk.Spherical, 3), (quirk.Spherical, 7)]
)
def test_hubs(kind, spokes):
    system = hub(7, np.random.default_rng(3), kind, spokes)
    assert miss(system)[0] < 1e-11
    assert len(eliminate([b for _, b in system.model.joint_bodies], len(system.bodies)).hubs) == (spokes < 6)


def net(n):
    """Rods between n x n points, joined by ball joints where they meet."""
    rng = np.random.default_rng(0)
    points = np.stack(np.meshgrid(np.arange(n), np.arange(n), [0.0], indexing="ij"), -1).reshape(n, n, 3)
    at = {}
    items = []
    for (x, y), (u, v) in [
        ((x, y), (x + dx, y + dy))
        for x in range(n)
        for y in range(n)
        for dx, dy in ((1, 0), (0, 1))
        if x + dx < n and y + dy < n
    ]:
        middle = 0.5 * (points[x, y] + points[u, v])
        rod = quirk.Body(f"rod {x}{y}{u}{v}", 1.0, [0.1, 0.11, 0.12], position=middle, velocity=np.cross([0.1, 0.2, 0.3], middle),
                         angular_velocity=[0.1, 0.2, 0.3])  # fmt: skip
        items.append(rod)
        for end in ((x, y), (u, v)):
            at.setdefault(end, []).append(rod)
    for (x, y), rods in at.items():
        items += [quirk.Spherical(f"{x}{y} {r.name}", rods[0], r, point=points[x, y]) for r in rods[1:]]
    rng.shuffle(items)
    return quirk.System(items, gravity=[0, 0, -9.81])


def test_net():
    assert miss(net(4))[0] < 1e-11


def test_elimination_stays_linear():
    """Blocks per joint do not grow with the number of bodies of a chain, a tree, a star of arms or a ladder."""

    def fill(joints, bodies):
        return sum(len(later) for later in eliminate(joints, bodies).neighbours) / len(joints)

    def chain(n):
        return [(n if k == 0 else k - 1, k) for k in range(n)], n

    def tree(n):
        return [(n if k == 0 else (k - 1) // 2, k) for k in range(n)], n

    def star(n):
        return [(0 if k % 3 == 1 else k - 1, k) for k in range(1, n)], n

    def ladder(n):
        rails = [(k - 2 if k > 1 else n, k) for k in range(n)]
        return rails + [(k, k + 1) for k in range(0, n - 1, 2)], n

    for build_ in (chain, tree, star, ladder):
        assert fill(*build_(3001)) < 1.2 * fill(*build_(301)) + 0.1


def test_branches():
    """Joints whose opening sets something free, each with the body that it hangs on; 9 is the ground."""
    # 9 - 0 - 1 - 2 with the loop 1 2 3, a tail 4 on 3, and 5 - 6 floating.
    joints = [(9, 0), (0, 1), (1, 2), (2, 3), (3, 1), (4, 3), (5, 6)]
    assert branches(joints, 9) == {0: 9, 1: 0, 5: 3, 6: 5}


def test_the_same_every_time():
    """Bit for bit, however often the compiled loop is left and entered."""
    system = build(load("spatial_double_pendulum"))
    one, other = (quirk.simulate(system, 2.0, output=0.1) for _ in range(2))
    np.testing.assert_array_equal(one.state.position, other.state.position)
    np.testing.assert_array_equal(one.state.angular_velocity, other.state.angular_velocity)


class TestWork:
    """What a run may cost; times are not judged."""

    def test_evaluations(self):
        result = quirk.simulate(build(load("ball_chain10")), 0.5, method="RK4", step=1e-3, output=0.5)
        assert result.statistics.steps == 500
        assert result.statistics.evaluations == 4 * 500 + 1

    def test_corrections_reuse_the_last_factorization(self):
        result = quirk.simulate(build(load("ball_chain10")), 0.5, method="RK4", step=1e-3, output=0.5)
        assert result.statistics.factorisations == 0
        assert result.statistics.corrections <= 4 * 500

    def test_thinned_out_projection_costs_less_and_keeps_outputs_on_the_constraints(self):
        system = build(load("ball_chain10"))
        often, rarely = (
            quirk.simulate(system, 0.5, method="RK4", step=1e-3, output=0.025, projection_interval=n) for n in (1, 10)
        )
        assert rarely.statistics.corrections < 0.2 * often.statistics.corrections
        assert rarely.residual.position.max() < 1e-14
        np.testing.assert_allclose(rarely.state.position[-1], often.state.position[-1], atol=1e-6)

    def test_steps_allocate_nothing(self):
        system = build(load("bricard"))
        quirk.simulate(system, 0.1)
        _nrt_python.memsys_enable_stats()
        try:
            before = rtsys.get_allocation_stats()
            quirk.simulate(system, 1.0, output=1.0)
            assert rtsys.get_allocation_stats() == before
        finally:
            _nrt_python.memsys_disable_stats()

    def test_singular_passes_need_few_new_factorizations(self):
        result = quirk.simulate(build(load("fourbar2")), 10.0, rtol=1e-9, output=10.0)
        assert result.statistics.factorisations < 0.2 * result.statistics.steps
        assert result.statistics.rejected < 0.1 * result.statistics.steps


def test_a_million_steps():
    """Residuals stay at round-off, and the last steps take no more work than the first."""
    system = build(load("spatial_double_pendulum"))
    result = quirk.simulate(system, 1000.0, method="RK4", step=1e-3, output=1.0)
    assert result.statistics.steps == 10**6
    assert result.residual.position.max() <= 1e-12
    assert result.residual.velocity.max() <= 1e-12
    first = quirk.simulate(system, 1.0, method="RK4", step=1e-3, output=1.0).statistics
    assert result.statistics.corrections <= 1.2 * 1000 * first.corrections
    assert result.statistics.factorisations <= 1000 * max(1, first.factorisations)


def test_redundant_rows_are_exchanged_when_they_come_close_to_dependent():
    """A loop in which the rows first kept become dependent while all of them together do not."""
    rng = np.random.default_rng(50)
    system = random_system(rng, bodies=4, loops=2)
    free = quirk.System([*system.bodies, *(c for c in system.constraints if quirk.GROUND not in (c.body_i, c.body_j))])
    free.assemble()
    sparse, dense = (quirk.simulate(free, 1.0, rtol=1e-10, output=0.1, solver=s) for s in ("sparse", "dense"))
    assert sparse.rank == dense.rank
    assert abs(sparse.statistics.steps - dense.statistics.steps) <= 2
    np.testing.assert_allclose(sparse.state.position, dense.state.position, atol=1e-8)


class Wind(ForceElement):
    """An element of a user: drag on all its bodies."""

    def __init__(self, name, *bodies):
        super().__init__(name, *((body, quirk.Frame()) for body in bodies))

    def load(self, t, *places):
        return [(-0.3 * place.velocity, 0) for place in places]


def everything(rng):
    """A mechanism with every kind of force."""
    system = random_system(rng, bodies=5, loops=1)
    a, b, c = system.bodies[:3]
    hinge = quirk.Revolute("hinge", c, quirk.GROUND, point=c.position, axis=random_unit(rng))
    rail = quirk.Cylindrical("rail", a, quirk.GROUND, point=a.position, axis=random_unit(rng))
    free = quirk.System([a, b, c, hinge, rail], gravity=[0, 0, -9.81])
    state = free.assemble()
    forces = [
        quirk.Force("push", a, [1, 2, 3], point=[0.1, 0.2, 0.3]),
        quirk.Force("thrust", b, lambda t, r, q, v, w: [np.cos(t), v[0], w[1]], frame="body", point=[0.1, 0, 0]),
        quirk.Torque("twist", b, [0.1, 0.2, 0.3]),
        quirk.Torque("turn", c, lambda t, r, q, v, w: 0.1 * r - 0.2 * w, frame="inertial"),
        quirk.JointTorque("motor", hinge, lambda t, angle, rate: np.sin(angle) - 0.1 * rate + t),
        quirk.JointForce("piston", rail, lambda t, d, rate: -2 * d - 0.3 * rate),
        quirk.JointTorque("brake", rail, 0.2),
        quirk.Spring("spring", a, b, [0.1, 0, 0], [0, 0.1, 0], stiffness=5.0, damping=0.2),
        quirk.Spring("tie", c, quirk.GROUND, [0.1, 0, 0], [3, 3, 3], stiffness=2.0, rest_length=0.5),
        Wind("wind", a, c),
    ]
    return quirk.System([a, b, c, hinge, rail, *forces], gravity=[0, 0, -9.81]), state


@pytest.mark.parametrize("seed", study(range(5), 1))
def test_forces_are_those_of_the_dense_solver(seed):
    system, state = everything(np.random.default_rng(seed))
    for t in (0.0, 0.7):
        got, want = (system.acceleration(state, t, solver=s) for s in ("sparse", "dense"))
        scale = np.abs(want.linear).max() + np.abs(want.angular).max()
        np.testing.assert_allclose(got.linear, want.linear, atol=1e-11 * scale)
        np.testing.assert_allclose(got.angular, want.angular, atol=1e-11 * scale)


def signature():
    """Numbers that all kernels have a part in."""
    numbers = []
    system, state = everything(np.random.default_rng(0))
    numbers.append(system.acceleration(state).angular.sum())
    # Functions are called a thousand times between the stages, which takes plain Python seconds: in one run alone.
    calm = quirk.System([item for item in system if not getattr(item, "of_user", False)], gravity=system.gravity)
    for one, options in (
        (system, {"method": "RK4", "step": 0.01}),
        (calm, {"method": "DOP853", "rtol": 1e-6}),
        (calm, {"step": 0.01, "stabilization": "baumgarte"}),
    ):
        result = quirk.simulate(one, 0.02, initial_state=state, output=[0.005, 0.02], **options)
        numbers += [float(np.abs(part).sum()) for part in result.state.parts]
        numbers.append(float(np.abs(result["hinge"].torque()).sum()))
    numbers += [
        float(np.abs(x).sum())
        for x in vars(
            hub(6, np.random.default_rng(1)).acceleration(hub(6, np.random.default_rng(1)).initial_state())
        ).values()
    ]
    system = build(load("bricard"))
    numbers += [float(np.abs(x.force).sum()) for x in system.joint_loads(system.initial_state()).values()]
    numbers.append(float(quirk.simulate(system, 0.02, method="RK4", step=0.01).state.position.sum()))
    # So many that nodes without kept rows have no blocks; plain Python finds reads beyond the end of arrays.
    leaf = quirk.Body.box("leaf", 1.0, [1, 0.05, 2], position=[0.5, 0, 1])
    hinges = [quirk.Revolute(f"h{k}", quirk.GROUND, leaf, point=[0, 0, 0.02 * k], axis=[0, 0, 1]) for k in range(100)]
    system = quirk.System([leaf, *hinges], gravity=[0.5, 0.3, -9.81])
    numbers.append(float(np.abs(system.acceleration(system.initial_state()).linear).sum()))
    return numbers


@pytest.mark.slow
def test_kernels_are_the_same_compiled_and_plain():
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import test_sparse as t; print(json.dumps(t.signature()))"
    )
    plain = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)], capture_output=True, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False,
    )  # fmt: skip
    assert plain.returncode == 0, plain.stderr
    np.testing.assert_allclose(json.loads(plain.stdout), signature(), rtol=1e-11)


def test_counts_start_anew_with_each_run():
    system = build(load("fourbar2"))
    one = quirk.simulate(system, 1.0)
    other = quirk.simulate(system, 1.0)
    assert one.statistics.corrections == other.statistics.corrections


def test_an_arrangement_goes_through_all_bodies_a_few_times_only():
    """Not once for each constraint: that took minutes for 1e5 bodies."""

    class Counted(list):
        passes = 0

        def __iter__(self):
            self.passes += 1
            return super().__iter__()

    system = build(load("ball_chain10"))
    bodies = Counted(system.bodies)
    arrangement = Arrangement.of(bodies, system.constraints, system.forces, {})
    assert bodies.passes <= 3
    assert len(arrangement.bodies) == len(system.constraints) == 10
