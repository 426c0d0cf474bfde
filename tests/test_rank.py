"""One decision on which rows are dependent: dense, sparse, mobility, health and the run, near the threshold too."""

import itertools
import time

import numpy as np
import pytest
from mechanisms import closed_loop, random_system
from studies import study

import quirk
from quirk.bodies.state import Kinematics
from quirk.dynamics.dense.projection import factorise
from quirk.dynamics.model.metric import Metric
from quirk.dynamics.sparse.symbolic.ordering import eliminate

POINTS = np.array([[0, 0, 0], [0, 0, 1.0], [2.0, 0, 1.5], [2.5, 0, 0]])


def four_bar(tilt, **options):
    """Four hinges whose axes are off by about `tilt` rad from parallel ones."""
    rng = np.random.default_rng(1)
    axes = np.array([0, 1.0, 0]) + tilt * rng.normal(size=(4, 3)) * [1, 0, 1]
    rods, hinges = closed_loop(POINTS, ("l0", "l1", "l2"), ("h0", "h1", "h2", "h3"), axes=axes)
    return quirk.System([*rods, *hinges], gravity=[0, 0, -9.81], **options)


def door(tilt, **options):
    """Three hinges, the middle one off the line of the others by `tilt` m."""
    leaf = quirk.Body.box("leaf", 10.0, [1, 0.05, 2], position=[0.5, 0, 1])
    hinges = [quirk.Revolute(f"h{k}", quirk.GROUND, leaf, point=[0, tilt * (k == 1), k], axis=[0, 0, 1])
              for k in range(3)]  # fmt: skip
    return quirk.System([leaf, *hinges], gravity=[0.5, 0.3, -9.81], **options)


@pytest.mark.parametrize("tilt", study([0.0, 1e-9, 3e-8, 3e-7, 1e-6, 3e-6, 1e-5, 1e-3], {0.0, 3e-7}))
@pytest.mark.parametrize("made", [four_bar, door])
def test_all_say_the_same(made, tilt):
    system = made(tilt)
    state, report = system.initial_state(), system.mobility()
    moves = tilt < 1e-7
    assert report.degrees_of_freedom == int(moves)
    found = {solver: system.acceleration(state, solver=solver).linear for solver in ("sparse", "dense")}
    loads = {solver: system.joint_loads(state, solver=solver)["h1"].force for solver in ("sparse", "dense")}
    assert np.allclose(found["sparse"], found["dense"], atol=1e-9)
    assert np.allclose(loads["sparse"], loads["dense"], rtol=0, atol=1e-8 * max(1.0, np.abs(loads["sparse"]).max()))
    assert (np.abs(found["sparse"]).max() > 0.1) == moves
    results = {solver: quirk.simulate(system, 0.2, output=0.1, solver=solver) for solver in ("sparse", "dense")}
    for result in results.values():
        assert result.rank == report.rank
        assert result.health().rank.tolist() == [report.rank] * len(result.time)
        traveled = np.abs(result.state.position - result.state.position[0]).max()
        assert traveled > 1e-3 if moves else traveled < 1e-9
    assert np.allclose(results["sparse"].state.position, results["dense"].state.position, atol=1e-8)


def test_nearly_dependent_rows_are_named():
    report = four_bar(1e-6).mobility()
    ((label, distance),) = report.nearly_dependent.items()
    assert label.startswith("h")
    assert 1e-7 < distance < 1e-5
    assert f"{label} ({distance:.1e})" in str(report)
    result = quirk.simulate(four_bar(1e-6), 0.1)
    assert label in result.health().nearly_dependent
    assert label in str(result.health())
    assert label in result.summary()
    assert "nearly" not in four_bar(0.0).mobility().__str__()


def test_the_tolerance_decides_for_the_whole_run():
    assert four_bar(1e-5).mobility().degrees_of_freedom == 0
    loose = four_bar(1e-5, rank_tolerance=1e-3)
    assert loose.mobility().degrees_of_freedom == 1
    result = quirk.simulate(loose, 0.3, output=0.1)
    assert result.rank == 17
    assert np.allclose(result.state.position, quirk.simulate(four_bar(0.0), 0.3, output=0.1).state.position, atol=1e-4)
    for wrong in (0.0, -1.0, np.nan, 1.0, 1e-20, "small"):
        with pytest.raises(quirk.InputError, match="rank_tolerance"):
            four_bar(0.0, rank_tolerance=wrong)


@pytest.mark.parametrize("seed", study(range(12), 3))
def test_distances_say_what_singular_values_say(seed):
    rng = np.random.default_rng(seed)
    system = random_system(rng, bodies=5, loops=2)
    state = system.initial_state()
    for joint in [c for c in system.constraints if isinstance(c, quirk.Spherical)][:1]:
        frames = {"frame_i": joint.frame_i, "frame_j": joint.frame_j}
        system = system.with_constraints([quirk.Spherical("again", joint.body_i, joint.body_j, **frames)])
    independence = system.plant.solver().row_independence(state, 0.0)
    A = factorise(system.model, Metric.uniform(system.model), Kinematics.of(state), 0.0, least=1e-7)
    assert independence.rank == len(A.s)


@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e6])
def test_masses_do_not_change_what_is_dependent(ratio):
    def made(ratio):
        rng = np.random.default_rng(5)
        bodies = [
            quirk.Body(f"b{k}", m, m * np.array([0.1, 0.1, 0.15]), position=rng.uniform(-1, 1, 3))
            for k, m in enumerate((1.0, ratio, 1.0, ratio))
        ]
        ends = [quirk.GROUND, *bodies, quirk.GROUND]
        balls = [quirk.Spherical(f"j{k}", ends[k], ends[k + 1], point=rng.uniform(-1, 1, 3)) for k in range(5)]
        frames = {"frame_i": balls[2].frame_i, "frame_j": balls[2].frame_j}
        return quirk.System([*bodies, *balls, quirk.Fixed("weld", bodies[1], bodies[2], **frames)])

    one, other = made(1.0), made(ratio)
    independences = [system.plant.solver().row_independence(system.initial_state(), 0.0) for system in (one, other)]
    assert independences[0].rank == independences[1].rank == 18
    assert np.allclose(independences[0].distance, independences[1].distance, atol=1e-12)


def complete_graph(n):
    rng = np.random.default_rng(0)
    balls = [quirk.Body.sphere(f"b{k}", 1.0, 0.1, position=rng.uniform(-1, 1, 3)) for k in range(n)]
    rods = [quirk.Distance(f"r{i}-{j}", balls[i], balls[j]) for i, j in itertools.combinations(range(n), 2)]
    system = quirk.System([*balls, *rods], gravity=[0, 0, -9.81])
    state = system.initial_state()
    state.velocity[:] = np.cross([0.3, 0.5, 0.2], state.position)
    return system, state


@pytest.mark.parametrize("n", study([8, 16, 30], 2))
def test_complete_graphs_of_rods_move_as_one_body(n):
    began = time.process_time()
    system, state = complete_graph(n)
    result = quirk.simulate(system, 1.0, initial_state=state, output=0.5)
    assert result.rank == 3 * n - 6
    assert result.residual.position.max() <= 1e-12
    center = result.state.position.mean(axis=1)
    start = state.velocity.mean(axis=0)
    fallen = center[0] + start * result.time[:, None] - 0.5 * 9.81 * np.outer(result.time**2, [0, 0, 1])
    assert np.allclose(center, fallen, atol=1e-9)
    assert time.process_time() - began < 120  # seconds of this process; without bounds it would never end


def test_five_hundred_hinges_on_one_line():
    leaf = quirk.Body.box("leaf", 1.0, [1, 0.05, 2], position=[0.5, 0, 1])
    hinges = [
        quirk.Revolute(f"h{k}", quirk.GROUND, leaf, point=[0, 0, 2 * k / 499], axis=[0, 0, 1]) for k in range(500)
    ]
    result = quirk.simulate(quirk.System([leaf, *hinges], gravity=[0.5, 0.3, -9.81]), 0.5, output=0.25)
    one = quirk.simulate(quirk.System([leaf, hinges[0]], gravity=[0.5, 0.3, -9.81]), 0.5, output=0.25)
    assert result.rank == 5
    assert np.allclose(result.state.position, one.state.position, atol=1e-10)
    total = sum(result[hinge.name].force() for hinge in hinges)
    assert np.allclose(total, one["h0"].force(), atol=1e-8)


def test_elimination_of_cliques_lists_each_unknown_once():
    for joints, bodies in ((list(itertools.combinations(range(20), 2)), 20), ([(0, 1)] * 50, 1)):
        found = eliminate(joints, bodies)
        assert sorted(found.order) == list(range(len(joints)))
        assert all(later > k for k, those in enumerate(found.neighbours) for later in those)
