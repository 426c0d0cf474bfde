"""What explicit runs notice of stiff systems, what they take for stiff by no means, and where "auto" goes on."""

import warnings

import numpy as np
import pytest
from mechanisms import random_system
from quirk.integrators import RadauIIA
from studies import study

import quirk
from benchmarks.references import build, load
from quirk.dynamics.sparse.stepping import methods as steppers
from quirk.dynamics.sparse.stepping.stiffness_detection import fast_modes, smooth
from quirk.dynamics.sparse.tangent.jacobian import Jacobian

GRAVITY = [0, 0, -9.81]


def rod(name, start, end, mass):
    """A slender rod along x."""
    length = end - start
    inertia = mass * length**2 / 12
    return quirk.Body(name, mass, [0.01 * inertia, inertia, inertia], position=[(start + end) / 2, 0, 0])


def four_bar(damping=2e3):
    """Spatial, with a flywheel and a bushing in place of one of two ball joints."""
    crank = quirk.Body("crank", 5.0, [0.2, 0.2, 0.4])
    coupler = quirk.Body("coupler", 0.8, [0.02, 0.02, 0.02], position=[0.3, 0.15, 0.15])
    rocker = quirk.Body("rocker", 1.0, [0.01, 0.01, 0.01], position=[0.5, 0.15, 0.3])
    bushing = quirk.Bushing(
        "bushing",
        coupler,
        rocker,
        point=[0.5, 0.3, 0.3],
        stiffness=[2e6] * 3 + [0] * 3,
        damping=[damping] * 3 + [0.02] * 3,
    )
    return quirk.System([
        crank, coupler, rocker, bushing,
        quirk.Revolute("one", quirk.GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1]),
        quirk.Revolute("other", quirk.GROUND, rocker, point=[0.5, 0, 0.3], axis=[1, 0, 0]),
        quirk.Spherical("ball", crank, coupler, point=[0.1, 0, 0]),
    ], gravity=GRAVITY)  # fmt: skip


def tip(ratio, rate=3e3, mass=0.1):
    """A pendulum with a light body on a stiff mount, damped by a part of what is critical."""
    arm = rod("arm", 0, 1, 1.0)
    light = quirk.Body("tip", mass, [1e-4] * 3, position=[1.2, 0, 0])
    inertia = np.repeat([mass, 1e-4], 3)
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis=[0, 1, 0])
    mount = quirk.Bushing(
        "mount", arm, light, point=[1.2, 0, 0], stiffness=rate**2 * inertia, damping=2 * ratio * rate * inertia
    )
    return quirk.System([arm, light, hinge, mount], gravity=GRAVITY)


def elbow(stiffness, damping):
    """Two hinged rods with a spring and a damper between them."""
    a, b = rod("a", 0, 1, 1.0), rod("b", 1, 2, 0.3)
    first = quirk.Revolute("first", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 1, 0])
    second = quirk.Revolute("second", a, b, point=[1, 0, 0], axis=[0, 1, 0])
    spring = quirk.TorsionSpring("spring", second, stiffness=stiffness, damping=damping)
    return quirk.System([a, b, first, second, spring], gravity=GRAVITY)


def mounts(count=6):
    parts, before = [], quirk.GROUND
    for k in range(count):
        body = rod(f"b{k}", 0.5 * k, 0.5 * (k + 1), 1.0)
        parts += [body, quirk.Bushing(f"m{k}", before, body, point=[0.5 * k, 0, 0], stiffness=[1e6] * 3 + [0] * 3,
                                      damping=[2e3] * 3 + [0.05] * 3)]  # fmt: skip
        before = body
    return quirk.System(parts, gravity=GRAVITY)


STIFF = {
    "four-bar": (four_bar, 2.0),
    "strong mount": (lambda: tip(1.0), 2.0),
    "swinging mount": (lambda: tip(0.4), 2.0),
    "weak mount": (lambda: tip(0.1), 2.0),
    "elbow": (lambda: elbow(1e3, 1e2), 3.0),
    "mounts": (mounts, 1.0),
}


def tried(result):
    return result.statistics.steps + result.statistics.rejected


@pytest.mark.parametrize("rtol", study([1e-4, 1e-9], 1))
@pytest.mark.parametrize("name", STIFF)
def test_stiff_systems_are_noticed(name, rtol):
    """Also where errors keep steps times rates far below the bound of stability, and where fast modes swing."""
    make, duration = STIFF[name]
    options = {"rtol": rtol, "atol": 0.01 * rtol, "output": [duration]}
    for method in ("Tsit5", "DOP853", "RK45"):
        with pytest.warns(quirk.StiffnessWarning):
            quirk.simulate(make(), duration, method=method, **options)
    implicit = quirk.simulate(make(), duration, method="RadauIIA9", **options)
    auto = quirk.simulate(make(), duration, method="auto", **options)
    assert [name for _, name in auto.statistics.methods] == ["RadauIIA9"]
    assert tried(auto) < tried(implicit) + 500
    scale = np.abs(implicit.state.position).max()
    np.testing.assert_allclose(auto.state.position, implicit.state.position, atol=100 * rtol * scale)


def springs(stiffness=2000.0, damping=0.0, rest=0.3):
    parts, before = [], quirk.GROUND
    for k in range(6):
        body = quirk.Body(f"b{k}", 1.0, [0.01] * 3, position=[0.3 * (k + 1), 0, 0], velocity=[0, 0.3 * k, 0])
        ends = {"point_i": [0, 0, 0], "point_j": [0, 0, 0]}
        parts += [
            body,
            quirk.Spring(f"s{k}", before, body, **ends, stiffness=stiffness, damping=damping, rest_length=rest),
        ]
        before = body
    return quirk.System(parts, gravity=GRAVITY)


def bouncing():
    ball = quirk.Body("ball", 1.0, [0.01] * 3, position=[0, 0, 1.5])
    ends = {"point_i": [0, 0, 0], "point_j": [0, 0, 0]}
    spring = quirk.Spring(
        "s", quirk.GROUND, ball, **ends, stiffness=1e5, damping=20.0, rest_length=0.5, one_sided="compression"
    )
    return quirk.System([ball, spring], gravity=GRAVITY)


def rotor():
    shaft = quirk.Body("shaft", 2.0, [0.02, 0.02, 0.01], angular_velocity=[0, 0, 300.0])
    mount = quirk.Bushing(
        "m",
        quirk.GROUND,
        shaft,
        point=[0, 0, 0],
        stiffness=[1e5] * 3 + [50, 50, 0],
        damping=[30.0] * 3 + [0.05, 0.05, 0],
    )
    return quirk.System([shaft, mount, quirk.Force("unbalance", shaft, [5.0, 0, 0], frame="body")], gravity=GRAVITY)


CALM = {
    "chain": (lambda: build(load("ball_chain10")), 10.0),
    "top": (lambda: build(load("heavy_top")), 10.0),
    "screw that speeds up": (lambda: build(load("screw_joint")), 10.0),
    "random": (lambda: random_system(np.random.default_rng(2)), 20.0),
    "random loop": (lambda: random_system(np.random.default_rng(7), loops=1), 20.0),
    "springs": (springs, 5.0),
    "damped springs": (lambda: springs(damping=3.0), 5.0),
    "stiff springs without dampers": (lambda: tip(0.0), 1.0),
    "damped elbow": (lambda: elbow(2.0, 0.3), 60.0),
    "bouncing": (bouncing, 10.0),
    "rotor": (rotor, 2.0),
}


@pytest.mark.parametrize("rtol", study([1e-6, 1e-4, 1e-9, 1e-12], 1))
@pytest.mark.parametrize("name", CALM)
def test_what_limits_steps_by_accuracy_is_not_taken_for_stiff(name, rtol):
    make, duration = CALM[name]
    options = {"rtol": rtol, "atol": 0.01 * rtol, "output": [duration]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.StiffnessWarning)
        for method in ("Vern9", "Tsit5", "DOP853"):
            quirk.simulate(make(), duration, method=method, **options)
    assert quirk.simulate(make(), duration, method="auto", **options).statistics.methods == []


@pytest.mark.parametrize("cut", [{"max_step": 2e-3}, {"breaks": np.arange(2e-3, 2, 2e-3)}])
def test_steps_that_something_else_cuts_say_nothing(cut):
    """Though motion that decays at 200 1/s is over long before, and implicit steps would be cut as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.StiffnessWarning)
        result = quirk.simulate(elbow(10.0, 8.0), 2.0, method="Tsit5", rtol=1e-4, atol=1e-6, **cut)
    assert result.statistics.steps >= 1000


def fading():
    """Links, the last of which is held by a damper that fades away after a second."""
    parts, before = [], quirk.GROUND
    for k in range(3):
        body = rod(f"b{k}", 0.5 * k, 0.5 * (k + 1), 1.0)
        parts += [body, quirk.Revolute(f"j{k}", before, body, point=[0.5 * k, 0, 0], axis=[0, 1, 0])]
        before = body
    drag = quirk.Force("drag", before, lambda t, r, q, v, w: -5e3 * (1 - np.tanh(10 * (t - 1))) * v)
    return quirk.System([*parts, drag], gravity=GRAVITY)


@pytest.mark.filterwarnings("ignore::quirk.StiffnessWarning")
def test_auto_goes_back_where_a_system_is_stiff_no_longer():
    options = {"rtol": 1e-8, "atol": 1e-10, "output": [5.0]}
    exact = quirk.simulate(fading(), 5.0, method="DOP853", rtol=1e-12, atol=1e-14, output=[5.0])
    runs = {
        method: quirk.simulate(fading(), 5.0, method=method, **options) for method in ("auto", "RadauIIA9", "Vern9")
    }
    (there, first), (back, second) = runs["auto"].statistics.methods
    assert (first, second) == ("RadauIIA9", "Vern9")
    assert there < 0.1
    assert back > 1.0
    assert tried(runs["auto"]) < min(400 + tried(runs["RadauIIA9"]), 0.3 * tried(runs["Vern9"]))
    np.testing.assert_allclose(runs["auto"].state.position, exact.state.position, atol=1e-5)


class Filter(quirk.forces.ForceElement):
    """A force along x of nine variables, each of which follows the one before it."""

    internal = tuple(f"x{k}" for k in range(9))

    def __init__(self, name, body):
        self.x0 = 1.0
        for k in range(1, 9):
            setattr(self, f"x{k}", 0.0)
        super().__init__(name, (body, quirk.Frame()))

    def load(self, t, frame):
        return [self.x8, 0.0, 0.0], 0

    def internal_rates(self, t, frame):
        return [-self.x0, self.x0 - self.x1, self.x1 - self.x2, self.x2 - self.x3, self.x3 - self.x4, self.x4 - self.x5,
                self.x5 - self.x6, self.x6 - self.x7, self.x7 - self.x8]  # fmt: skip


@pytest.mark.parametrize("method", ["Vern9", "auto"])
def test_what_no_implicit_method_takes_goes_on_and_says_why(method):
    box = quirk.Body.box("box", 1.0, [0.1] * 3, velocity=[1.0, 0, 0])
    light = quirk.Body("light", 0.1, [1e-4] * 3, position=[0, 0, 0.3], velocity=[1.0, 0, 0])
    guide = quirk.Prismatic("guide", quirk.GROUND, box, axis=[1, 0, 0])
    mount = quirk.Bushing(
        "mount", box, light, point=[0, 0, 0.3], stiffness=[1e5] * 3 + [1e2] * 3, damping=[3e3] * 3 + [1.0] * 3
    )
    system = quirk.System([box, light, guide, mount, Filter("filter", box)], gravity=GRAVITY)
    with pytest.raises(quirk.InputError, match='Filter "filter": implicit steps support up to 8 internal variables'):
        quirk.simulate(system, 2.0, method="RadauIIA9")
    with pytest.warns(quirk.StiffnessWarning, match='would allow longer steps, but: Filter "filter"') as told:
        result = quirk.simulate(system, 2.0, method=method, rtol=1e-6, atol=1e-8)
    assert result.time[-1] == 2.0
    assert result.statistics.methods == []
    assert told[0].filename == __file__


@pytest.mark.parametrize(("make", "h"), [(four_bar, 1e-4), (lambda: tip(0.4), 3e-4), (mounts, 2e-5), (rotor, 1e-3)])
def test_fast_modes_are_eigenvalues(make, h):
    system = make()
    solver = system.plant.solver()
    lanes = solver.slots.state_to_lanes(system.initial_state().pack())
    solver.settle(lanes, 0.0)
    modes, missed = fast_modes(solver, lanes, 0.0, h)
    fastest = np.argmax(np.abs(modes))
    jacobian = Jacobian(system.plant.solver()).at(0.0, solver.slots.state_from_lanes(lanes))
    exact = np.linalg.eigvals(jacobian)
    assert np.abs(modes[fastest] - exact).min() < missed[fastest] + 1e-3 * np.abs(modes[fastest])
    assert np.abs(modes[fastest]) > 0.95 * np.abs(exact).max()


def test_smooth_motion_is_a_polynomial_as_far_as_tolerances_tell():
    rng, times = np.random.default_rng(3), np.cumsum(np.random.default_rng(4).uniform(0.5, 1.5, size=14))
    states = np.einsum("tp,pnc->tnc", np.vander(times / 10, 6), rng.normal(size=(6, 3, 13)))
    size = np.linalg.norm(states[:, 1, 7:10], axis=-1).max()
    noise = rng.normal(size=states.shape)
    assert smooth(times, states, 1e-12, 0.0)
    assert smooth(times, states + 1e-6 * noise, 1e-6, 1e-6)
    assert not smooth(times, states + 1e-3 * noise, 1e-6, 1e-6)
    faster = states.copy()
    faster[:, 1, 7] += 0.1 * size * np.cos(2.0 * times)
    assert not smooth(times, faster, 1e-4, 0.0)
    assert not smooth(times[:7], states[:7], 1e-2, 1e-2)


def creeping(creep, coulomb=1.0):
    """An arm on a hinge whose dry friction is smooth over a small rate, which holds it or lets it swing to a stop."""
    arm = quirk.Body.box("arm", 1.0, [0.2, 0.02, 0.02], position=[0.0612, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis=[0, 1, 0])
    friction = quirk.JointFriction("friction", hinge, coulomb=coulomb, creep=creep)
    return quirk.System([arm, hinge, friction], gravity=GRAVITY)


@pytest.mark.parametrize("creep", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("coulomb", [1.0, 0.2])
def test_the_default_does_not_stall_where_friction_nearly_sticks(creep, coulomb):
    """Rates of decay of 1e5 to 1e11 1/s, linear over a creep far below any length of the system over a step."""
    options = {"output": [2.0], "rtol": 1e-8, "atol": 1e-11}
    implicit = quirk.simulate(creeping(creep, coulomb), 2.0, method="RadauIIA9", **options)
    default = quirk.simulate(creeping(creep, coulomb), 2.0, **options)
    print(creep, coulomb, default.statistics, implicit.statistics)
    assert abs(default["hinge"].angle[-1] - implicit["hinge"].angle[-1]) < 1e-7
    assert default.statistics.methods[0][1] == "RadauIIA9"
    assert tried(default) < tried(implicit) + 1300


@pytest.mark.parametrize("name", ["four-bar", "strong mount", "mounts"])
def test_round_off_that_limits_steps_is_no_reason_to_stay_explicit(name):
    """At tight tolerances explicit steps are far below the bound of stability, and nothing has decayed at a look."""
    make, duration = STIFF[name]
    options = {"rtol": 1e-11, "atol": 1e-13, "output": [duration]}
    implicit = quirk.simulate(make(), duration, method="RadauIIA9", **options)
    auto = quirk.simulate(make(), duration, method="auto", **options)
    print(name, auto.statistics, implicit.statistics)
    assert tried(auto) < 2 * tried(implicit) + 500
    np.testing.assert_allclose(auto.state.position, implicit.state.position, atol=1e-8)


def ticking(system, duration, count):
    """A system on which a small force is switched on and off again and again."""
    times = np.linspace(0, duration, count + 2)[1:-1]
    light = quirk.Force("light", system.bodies[0], [0.0, 0.0, 1e-3])
    flips = [quirk.switch_off("light"), quirk.switch_on("light")]
    ticks = [quirk.Event(f"tick {k}", "time", level=t, action=flips[k % 2]) for k, t in enumerate(times)]
    return system.with_parts(light, *ticks)


def test_parts_that_switch_often_do_not_keep_a_run_from_changing_its_method(tmp_path):
    """What is known of the progress of steps goes on over events, and over the legs of a checkpoint."""
    system = ticking(elbow(1e3, 1e2), 3.0, 40)
    options = {"rtol": 1e-6, "atol": 1e-8, "output": [3.0]}
    explicit = quirk.simulate(system, 3.0, method="Tsit5", **options)
    default = quirk.simulate(system, 3.0, **options)
    print(default.statistics, explicit.statistics)
    assert len(default.events) == 40
    assert default.statistics.methods[0][1] == "RadauIIA9"
    assert tried(default) < 0.5 * tried(explicit)
    written, again = (quirk.simulate(system, 3.0, checkpoint=tmp_path / "run", **options) for _ in range(2))
    for one in (written, again):
        np.testing.assert_array_equal(one.state.position, default.state.position)


def test_the_default_is_explicit_where_nothing_is_stiff(monkeypatch):
    """Bit by bit, and without anything of implicit methods, whose machine code takes long to write."""
    monkeypatch.setitem(steppers.STEPPERS, RadauIIA, None)
    for name in ("pendulum", "gyrostat", "ball_chain10"):
        system = build(load(name))
        default, explicit = (quirk.simulate(system, 10.0, **how) for how in ({}, {"method": "Vern9"}))
        for one, other in ((default.time, explicit.time), (default.state.position, explicit.state.position)):
            np.testing.assert_array_equal(one, other)
        assert default.statistics.methods == []


@pytest.mark.parametrize(
    "how", [{"step": 1e-3}, {"solver": "dense"}, {"sensitivities": ["gravity"], "objective": True}]
)
@pytest.mark.parametrize("method", study([{}, {"method": "auto"}], 1))
def test_what_no_implicit_method_takes_part_in_is_explicit_by_default(how, method):
    if "objective" in how:
        how = how | {"objective": quirk.Objective(["b.position.z"], lambda x: (np.sum(x), np.ones_like(x)))}
    system = elbow(2.0, 0.3)
    found, known = (quirk.simulate(system, 0.1, output=0.05, **how, **m) for m in (method, {"method": "Vern9"}))
    np.testing.assert_array_equal(found.state.position, known.state.position)


def test_an_explicit_run_that_stalls_advises_what_helps():
    with pytest.raises(quirk.SimulationError, match='if the system is stiff, use method="auto" or "RadauIIA9"'):
        quirk.simulate(creeping(1e-9), 1e3, method="Tsit5", output=[1e3])
    result = quirk.simulate(creeping(1e-9), 1e3, output=[1e3])
    assert result.status == "completed"
