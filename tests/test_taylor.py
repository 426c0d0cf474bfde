"""Taylor series as a method of integration, and the tapes that give them."""

import warnings

import numpy as np
import pytest
from mechanisms import random_system
from pairs import KINDS, LONG, pair
from quirk.constraints import CurveOnCurve, CustomRows, PointOnCurve
from studies import study
from test_force_contract import FIRST_VARIANTS, system_with

import quirk
from benchmarks import models
from benchmarks.references import build, deviations, load
from quirk.dynamics.sparse.taylor.tapes import law_form

# So fine that what is left is round-off, of a short run.
FINE = {"rtol": 1e-12, "atol": 1e-14}
# Constraints whose functions look up tables or are a user's own rows: there are no series of these.
WITHOUT = [CurveOnCurve, PointOnCurve, CustomRows]
# A rotation vector of theirs jumps on the way, where both methods take steps of the size of the tolerance.
JUMPING = [("Interaction", 0), ("Interaction", 1)]


def farthest(one, other):
    """The largest difference of positions and angular velocities, over their size."""
    worst = 0.0
    for body in one.system.bodies:
        for what in ("position", "angular_velocity"):
            a, b = getattr(one[body.name], what), getattr(other[body.name], what)
            worst = max(worst, np.abs(a - b).max() / (1 + np.abs(b).max()))
    return worst


def both(system, duration=0.3, **options):
    options = {**FINE, "output": duration / 3, **options}
    return [quirk.simulate(system, duration, method=method, **options) for method in ("Taylor", "Vern9")]


@pytest.mark.parametrize("kind", study([kind for kind in KINDS if kind not in WITHOUT], {*KINDS} - LONG))
def test_every_constraint(kind):
    system, _ = pair(kind, seed=1)
    system.assemble()
    series, pairs = both(system)
    assert farthest(series, pairs) < 1e-12
    assert series.statistics.rejected == 0
    np.testing.assert_allclose(series.energy.total, pairs.energy.total, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("kind", "variant"), FIRST_VARIANTS)
def test_every_force(kind, variant):
    if (kind, variant) in JUMPING:
        pytest.skip("its load jumps")
    series, pairs = both(system_with(kind, variant))
    assert farthest(series, pairs) < 5e-12
    np.testing.assert_allclose(series.energy.total, pairs.energy.total, rtol=1e-11, atol=1e-8 * (kind == "Spring"))


@pytest.mark.parametrize("seed", study(range(4), 1))
def test_loops_of_any_joints(seed):
    system = random_system(np.random.default_rng(seed), bodies=5, loops=2)
    assert farthest(*both(system)) < 1e-12


@pytest.mark.parametrize("bodies", study([1, 2, 3, 4, 5, 8, 9, 12, 13], {1, 3, 8, 13}))
def test_any_number_of_bodies(bodies):
    """Groups of two, four and eight elements, and blocks with at most four bodies in use, have code of their own."""
    hinges = random_system(np.random.default_rng(bodies), bodies=bodies, loops=0)
    assert farthest(*both(hinges, duration=0.1)) < 1e-12
    assert farthest(*both(models.ball_chain(bodies), duration=0.1)) < 1e-12


@pytest.mark.parametrize(
    ("name", "digits"),
    [("heavy_top", 1e-12), ("spatial_double_pendulum", 1e-12), ("bricard", 1e-12), ("screw_joint", 1e-12),
     ("gear_pair", 1e-12), ("rolling_disk_steady", 1e-11), ("gyrostat", 3e-11), ("slider_crank3d_driven", 1e-12),
     ("prismatic_spring", 1e-12)],
)  # fmt: skip
def test_references(name, digits):
    data = load(name)
    times = [entry["t"] for entry in data["reference"]]
    result = quirk.simulate(build(data), data["duration"], method="Taylor", rtol=1e-14, atol=1e-16, output=times)
    miss = deviations(data, result)
    print(name, result.statistics, miss)
    assert max(miss[what] for what in ("position", "orientation", "velocity", "omega")) < digits
    assert result.statistics.rejected <= 0.15 * result.statistics.steps  # at tolerances of round-off


@pytest.mark.parametrize("rtol", study([1e-6, 1e-13, 5e-15, 1e-10, 2e-14, 1e-14], 3))
def test_singular_configurations_are_passed(rtol):
    """Two parallelograms that lie flat ten times; series near there are full of round-off across the constraints."""
    data = load("fourbar2")
    times = [entry["t"] for entry in data["reference"]]
    result = quirk.simulate(build(data), data["duration"], method="Taylor", rtol=rtol, atol=rtol / 100, output=times)
    miss = deviations(data, result)
    print(result.statistics, miss)
    assert miss["position"] < max(1e-10, 1e4 * rtol)
    assert result.energy.drift < max(1e-12, 100 * rtol)


def swinging(*more):
    rod = quirk.Body("rod", 1.0, [0.002, 0.08, 0.08], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    return quirk.System([rod, hinge, *(make(hinge) for make in more)], gravity=[0, 0, -9.81])


def driven(torque):
    return swinging(lambda hinge: quirk.JointTorque("motor", hinge, torque))


def test_states_between_two_steps_are_as_good_as_at_their_ends():
    system, rng = swinging(), np.random.default_rng(5)
    times = np.concatenate([[0.0], np.sort(rng.uniform(0, 5, 300))])
    fine = quirk.simulate(system, 5.0, method="Taylor", rtol=1e-15, atol=1e-17, output=times)
    for rtol in (1e-5, 1e-8, 1e-11):
        result = quirk.simulate(system, 5.0, method="Taylor", rtol=rtol, atol=rtol / 1000, output=times)
        assert np.abs(result["rod"].position - fine["rod"].position).max() < 20 * rtol
        assert np.abs(result["rod"].velocity - fine["rod"].velocity).max() < 100 * rtol


def test_a_law_with_all_functions_that_there_are():
    def torque(t, x, v):
        y = np.sin(x) * np.cosh(0.3 * v) + np.cos(2 * x) * np.sinh(0.2 * x) - np.tanh(v) + np.exp(-(x**2))
        z = (
            np.sqrt(2.0 + np.sin(t))
            + np.log(3.0 + np.cos(x))
            + np.arctan2(1.0 + x * x, 2.0 + np.cos(v)) / (1.5 + x * x)
        )
        return 0.1 * (y + z + (2.0 + np.sin(x)) ** 1.7 + np.arcsin(0.5 * np.sin(x)) + np.arccos(0.3 * np.cos(t)) - v**3)

    series, pairs = both(driven(torque), 2.0)
    assert farthest(series, pairs) < 1e-11
    assert series.statistics.steps <= 1001  # each a thousandth of the run at most


def test_elements_of_the_same_kind_share_a_form():
    a, b = (system_with("Spring", 0, seed)["f"] for seed in range(2))
    assert law_form(a, a.layout(), True) is law_form(b, b.layout(), True)


def test_what_has_no_series_uses_another_method_and_says_so():

    def kicked(t, x, v):
        return np.where(x > 0.1, 1.0, 0.0)

    def looked_up(t, x, v):
        return float([1.0, 2.0][int(t > 0.5)])

    for function in (kicked, looked_up):
        system = driven(function)
        with pytest.warns(quirk.SeriesWarning, match='motor.*accepts floats only.*"Vern9" is used') as caught:
            result = quirk.simulate(system, 1.0, method="Taylor", output=0.1)
        assert caught[0].filename == __file__
        same = quirk.simulate(system, 1.0, output=0.1)
        assert np.array_equal(result["rod"].position, same["rod"].position)


def test_where_a_series_ends_the_run_goes_on():
    """A root of the time has no series where it begins."""
    body = quirk.Body("body", 1.0, [0.1] * 3)
    push = quirk.Force("push", body, lambda t, r, q, v, w: np.array([np.sqrt(t), 0.0, 0.0]))
    with pytest.warns(quirk.SeriesWarning, match="reaches no further"):
        result = quirk.simulate(quirk.System([body, push]), 1.0, method="Taylor", output=[1.0], **FINE)
    assert [name for _, name in result.statistics.methods] == ["Vern9"]
    assert abs(result["body"].velocity[-1, 0] - 2 / 3) < 1e-12


@pytest.mark.filterwarnings("error")
def test_series_lead_up_to_a_jump_and_on():
    """A rotation vector of its arguments jumps; squares of coefficients next to it would be beyond all floats."""
    series, pairs = both(system_with("Interaction", 0))
    assert not series.statistics.methods
    assert series.statistics.steps < pairs.statistics.steps
    assert farthest(series, pairs) < 1e-10


def test_a_wheel_that_starts_to_turn():
    """Its attitude has every fourth term alone, so that the last two say nothing."""
    wheel = quirk.Body("wheel", 1.0, [1, 1, 1])
    system = quirk.System([wheel, quirk.Torque("motor", wheel, [0, 0, 16.0])])
    for rtol in (1e-6, 1e-9, 1e-12):
        result = quirk.simulate(system, 5.0, method="Taylor", rtol=rtol, atol=rtol / 100)
        half = 4.0 * result.time**2
        turn = np.array([np.cos(half), 0 * half, 0 * half, np.sin(half)]).T
        q = result["wheel"].orientation
        assert np.abs(q - turn * np.sign((q * turn).sum(axis=1))[:, None]).max() < 100 * rtol + 1e-13


def test_it_keeps_to_the_constraints_by_projection_alone():
    with pytest.raises(quirk.InputError, match="by projection"):
        quirk.simulate(swinging(), 1.0, method="Taylor", stabilization="baumgarte")


def test_steps_of_a_fixed_size():
    series = quirk.simulate(swinging(), 1.0, method="Taylor", step=0.05)
    fine = quirk.simulate(swinging(), 1.0, rtol=1e-13, atol=1e-15, output=0.05)
    assert series.statistics.steps == 20
    assert farthest(series, fine) < 1e-9


def test_events_and_legs(tmp_path):
    system = swinging()

    def low(t, view):
        return view["rod"].position[2] + 0.3

    event = quirk.Event("low", low)
    series, pairs = (
        quirk.simulate(system, 3.0, method=method, events=[event], output=0.1, **FINE) for method in ("Taylor", "Vern9")
    )
    assert [e.name for e in series.events] == [e.name for e in pairs.events]
    np.testing.assert_allclose([e.time for e in series.events], [e.time for e in pairs.events], atol=1e-11)
    whole = quirk.simulate(system, 3.0, method="Taylor", output=0.01, checkpoint=tmp_path / "run")
    again = quirk.simulate(system, 3.0, method="Taylor", output=0.01, checkpoint=tmp_path / "run")
    assert np.array_equal(whole["rod"].position, again["rod"].position)


@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-6])
def test_ten_quantities_that_cross_twice_within_one_step_are_all_found(width):
    """A pendulum let go where it is level comes up to the other side and turns there, at pi, close to ten levels."""
    levels = np.pi - width * np.arange(1, 11) / 10
    events = [quirk.Event(f"e{k}", "hinge.angle", level=level) for k, level in enumerate(levels)]
    parts = swinging(*(lambda hinge, event=event: event for event in events))
    result = quirk.simulate(parts, 1.6, method="Taylor", rtol=1e-9, atol=1e-12)
    steps = result.time
    for k in range(10):
        up, down = (event.time for event in result.events if event.name == f"e{k}")
        assert up < down
        if width < 1e-1:
            assert np.searchsorted(steps, up) == np.searchsorted(steps, down)


def test_what_comes_and_goes_within_a_step_is_found():
    """Between springs that push alone a mass flies for seconds, in which its series is exact; and a short push in time."""
    mass = quirk.Body.sphere("mass", 1.0, 0.1, velocity=[2.0, 0, 0])
    springs = [quirk.Spring(f"s {x}", quirk.GROUND, mass, [x, 0, 0], [0, 0, 0], stiffness=4e3, rest_length=0.5,
                            one_sided="compression") for x in (-3.0, 3.0)]  # fmt: skip
    series, known = both(quirk.System([mass, *springs]), 10.0, rtol=1e-9, atol=1e-12)
    assert farthest(series, known) < 1e-6
    assert np.ptp(series["mass"].position[:, 0]) < 5.0
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    push = quirk.Force("push", ball, lambda t, p, q, v, w: [100 * np.exp(-(((t - 1.2) / 0.005) ** 2)), 0, 0])
    result = quirk.simulate(quirk.System([ball, push]), 2.0, method="Taylor")
    assert result["ball"].velocity[-1, 0] == pytest.approx(0.5 * np.sqrt(np.pi), rel=1e-6)


SMOOTH = {
    "spring": lambda a, hinge: quirk.Spring(
        "f", quirk.GROUND, a, [0.2, 1.0, 3.0], [0.1, 0, 0], stiffness=40.0, damping=0.2
    ),
    "damper": lambda a, hinge: quirk.Damper("f", quirk.GROUND, a, [0.2, 1.0, 3.0], [0.1, 0, 0], damping=0.3),
    "bushing": lambda a, hinge: quirk.Bushing(
        "f", quirk.GROUND, a, point=[1, 0, 0], stiffness=[9.0] * 6, damping=[0.1] * 6
    ),
    "controller": lambda a, hinge: quirk.Controller("f", hinge, 0.5, kp=20.0, ki=3.0, kd=1.0),
    "torsion spring": lambda a, hinge: quirk.TorsionSpring("f", hinge, stiffness=5.0, damping=0.1),
}


@pytest.mark.parametrize("kind", study(SMOOTH, {*SMOOTH} - {"bushing"}))
def test_laws_whose_cases_are_one_smooth_function_take_long_steps(kind):
    """A formula that has no value at a single point does not make loads that come and go."""
    rod = quirk.Body("rod", 1.0, [0.1, 0.1, 0.02], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0.2, 1, 0])
    series, pairs = both(
        quirk.System([rod, hinge, SMOOTH[kind](rod, hinge)], gravity=[0, 0, -9.81]), 5.0, rtol=1e-10, atol=1e-12
    )
    assert farthest(series, pairs) < 1e-9
    assert series.statistics.steps < 200
    # As polynomials tell that no case changes, rates are hardly compared within steps.
    assert series.statistics.evaluations < 1.5 * series.statistics.steps + 10


@pytest.mark.parametrize(("start", "end"), [(2.1, 1.7279858796), (2.02, 0.7952022696)])
def test_a_spring_whose_ends_pass_each_other_and_come_back_within_a_step(start, end):
    """Its force turns over at once, of which the series at both ends of the step know nothing."""
    ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], position=[start, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, ball, [0, 0, 0], [0, 0, 0], stiffness=1.0, rest_length=1.0)
    series, pairs = both(quirk.System([ball, spring]), 10.0, rtol=1e-9, atol=1e-12)
    for result in (series, pairs):
        assert result["ball"].position[-1, 0] == pytest.approx(end, abs=1e-7)


def test_a_bushing_that_passes_half_a_turn_and_comes_back_within_a_step():
    body = quirk.Body("body", 1.0, [1.0, 1.0, 1.0], angular_velocity=[0, 0, 3.143])
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    bushing = quirk.Bushing("bushing", quirk.GROUND, body, point=[0, 0, 0], stiffness=[1.0] * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quirk.SeriesWarning)  # the series ends where the bushing turns over
        result = quirk.simulate(quirk.System([body, hinge, bushing]), 4.0, method="Taylor", rtol=1e-9, atol=1e-12)
    assert result["hinge"].angle[-1] == pytest.approx(8.780445899417803, abs=1e-7)  # piece by piece, by SciPy to 1e-12


@pytest.mark.parametrize("cases", study([4, 24], 1))
def test_a_push_shorter_than_a_thousandth_of_the_run(cases):
    """A body flies past a damped spring, which lets go before both are apart: both ends of a step are without it."""
    rng = np.random.default_rng(5)
    for case in range(cases):
        start, speed = -0.35 - 10.0 ** rng.uniform(-4, -1), rng.uniform(40, 60)
        print(case, start, speed)
        ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], position=[start, 0, 0], velocity=[speed, 0, 0])
        spring = quirk.Spring("spring", quirk.GROUND, ball, point_i=[0, 0.3, 0], stiffness=5.0, damping=0.6,
                              rest_length=0.46, one_sided="compression")  # fmt: skip
        system = quirk.System([ball, spring])
        runs = [
            quirk.simulate(system, 8.0, output=[8.0], method=method, rtol=rtol, atol=rtol / 1e3)["ball"]
            for method, rtol in (("Taylor", 1e-10), ("Vern9", 1e-13))
        ]
        np.testing.assert_allclose(runs[0].velocity, runs[1].velocity, atol=1e-7)
        assert abs(runs[1].velocity[-1, 0] - speed) > 1e-3
