"""Forces whose functions take the whole state."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body

METHODS = {
    "Vern9": {"method": "Vern9"},
    "Taylor": {"method": "Taylor"},
    "RadauIIA9": {"method": "RadauIIA9"},
    "Rodas5P": {"method": "Rodas5P", "rtol": 1e-10},
    "dense": {"method": "RK4", "step": 5e-3, "solver": "dense"},
}


def chain(torque, force=(0, 0, 0)):
    """Return two rods on hinges, with a torque at the first hinge and a force on the second rod."""
    one = Body.box("one", 1.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    two = Body.box("two", 0.7, [0.6, 0.1, 0.1], position=[1.3, 0, 0])
    first = quirk.Revolute("first", GROUND, one, point=[0, 0, 0], axis="y")
    second = quirk.Revolute("second", one, two, point=[1.0, 0, 0], axis="y")
    parts = [quirk.JointTorque("motor", first, torque), quirk.Force("push", two, force)]
    return quirk.System([one, two, first, second, *parts], gravity=[0, 0, -9.81])


def law(t, state):
    second, two = state["second"], state["two"]
    return -3.0 * second.angle - 0.5 * second.angle_rate + np.sin(t) * two.position[2] + 0.1 * state["one"].spin[1]


def branching(t, state):
    """Return the same, but in Python."""
    return law(t, state) if state["two"].position[0] < 1e9 else 0.0


def drag(t, state):
    return -0.4 * state["one"].velocity_of([0.5, 0, 0]) - 0.2 * state["two"].velocity


def moved(system, seed=1):
    """Return a state of the chain in motion."""
    q, v = np.random.default_rng(seed).normal(size=(2, 2))
    state = system.initial_state()
    angle, rate = np.cumsum(q), np.cumsum(v)
    ends = [np.zeros(3), np.zeros(3)]
    for k, half in enumerate((0.5, 0.3)):
        along = np.array([np.cos(angle[k]), 0, -np.sin(angle[k])])
        across = rate[k] * np.array([-np.sin(angle[k]), 0, -np.cos(angle[k])])
        state.position[k], state.velocity[k] = ends[0] + half * along, ends[1] + half * across
        ends = [ends[0] + 2 * half * along, ends[1] + 2 * half * across]
        state.orientation[k] = [np.cos(angle[k] / 2), 0, np.sin(angle[k] / 2), 0]
        state.angular_velocity[k] = [0, rate[k], 0]
    return state, q, v


@pytest.mark.parametrize("function", [law, branching])
def test_accelerations_are_those_of_the_values(function):
    for seed in range(3):
        system = chain(function, drag)
        state, q, v = moved(system, seed)
        angle = (q[1] + np.pi) % (2 * np.pi) - np.pi
        torque = -3.0 * angle - 0.5 * v[1] + np.sin(0.7) * state.position[1, 2] + 0.1 * v[0]
        tip = state.velocity[0] + np.cross([0, v[0], 0], state.position[0])
        constant = chain(torque, -0.4 * tip - 0.2 * state.velocity[1])
        for solver in ("sparse", "dense"):
            found, want = (s.acceleration(state, 0.7, solver=solver) for s in (system, constant))
            np.testing.assert_allclose(found.linear, want.linear, rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.angular, want.angular, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", study(METHODS, {*METHODS} - {"dense", "Taylor"}))
def test_all_methods_honor_them(method):
    """The torque is that of the second joint's angle, as of an element at that joint."""
    coil = chain(0.0)
    second = coil["second"]
    springs = [
        quirk.JointTorque("coil", second, lambda t, angle, rate: -3.0 * angle - 0.5 * rate),
        quirk.JointTorque("counter", coil["first"], lambda t, angle, rate: 0.3 * rate),
    ]
    want = quirk.simulate(coil.with_parts(*springs), 1.0, output=0.1, method="Vern9", rtol=1e-11)
    system = chain(lambda t, state: 0.3 * state["first"].angle_rate)
    by_state = quirk.JointTorque(
        "coil", system["second"], lambda t, state: -3.0 * state["second"].angle - 0.5 * state["second"].angle_rate
    )
    end = 0.3 if method == "dense" else 1.0  # s; the dense solver takes long
    result = quirk.simulate(system.with_parts(by_state), end, output=0.1, **METHODS[method])
    np.testing.assert_allclose(result["two"].position, want["two"].position[: len(result.time)], rtol=0, atol=1e-7)
    assert method == "dense" or not result.statistics.in_python


def test_python_functions_move_as_compiled_ones():
    compiled, called = (quirk.simulate(chain(f), 0.5, output=0.1, rtol=1e-8) for f in (law, branching))
    np.testing.assert_allclose(called["two"].position, compiled["two"].position, rtol=0, atol=1e-9)
    assert not compiled.statistics.in_python and called.statistics.in_python


def test_results_show_the_loads():
    result = quirk.simulate(chain(law, drag), 0.5, output=0.1)
    view = result["motor"]
    angle, rate = result["second"].angle, result["second"].angle_rate
    want = -3.0 * angle - 0.5 * rate + np.sin(result.time) * result["two"].position[:, 2]
    want = want + 0.1 * result["one"].angular_velocity[:, 1]
    np.testing.assert_allclose(view.effort, want, rtol=0, atol=1e-9)
    np.testing.assert_allclose(view.torque()[:, 1], want, rtol=0, atol=1e-9)
    np.testing.assert_allclose(view.torque(end=0), -view.torque(), rtol=0, atol=1e-12)
    data = result.to_xarray()
    assert [str(x) for x in data["force_end"].values] == ["motor.ground", "motor.one", "push.two"]


@pytest.mark.parametrize("function", [law, branching])
def test_linearization_is_the_derivative(function):
    system = chain(function, drag)
    state, *_ = moved(system, 4)
    small = system.linearize(state, 0.7, coordinates=["first.angle", "second.angle"])
    q, v = np.random.default_rng(4).normal(size=(2, 2))
    here = torque_at(np.array([*q, *v]))
    constant = chain(here, drag).linearize(state, 0.7, inputs=["motor"], coordinates=["first.angle", "second.angle"])
    # The torque changes by its derivatives with respect to the angles and rates.
    gains = np.zeros(4)
    for k in range(4):
        values = []
        for sign in (1.0, -1.0):
            q, v = np.random.default_rng(4).normal(size=(2, 2))
            x = np.array([*q, *v])
            x[k] += sign * 1e-5
            values.append(torque_at(x))
        gains[k] = (values[0] - values[1]) / 2e-5
    np.testing.assert_allclose(small.A, constant.A + np.outer(constant.B[:, 0], gains), rtol=0, atol=1e-6)


def torque_at(x):
    """Return the torque of `law` at angles and rates, t = 0.7 s."""
    angle = np.cumsum(x[:2])
    height = -1.0 * np.sin(angle[0]) - 0.3 * np.sin(angle[1])
    wrapped = (x[1] + np.pi) % (2 * np.pi) - np.pi
    return -3.0 * wrapped - 0.5 * x[3] + np.sin(0.7) * height + 0.1 * x[2]


def of_results(result):
    """Return motion and loads of all parts, (nt, q)."""
    two, motor = result["two"], result["motor"]
    parts = [two.position, two.acceleration, motor.torque(), result["push"].force()]
    return np.concatenate([*parts, result["first"].force(), result["second"].force()], axis=1)


@pytest.mark.parametrize("function", [law, branching])
def test_sensitivities_are_derivatives(function):
    def with_mass(mass):
        one = Body.box("one", mass, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
        two = Body.box("two", 0.7, [0.6, 0.1, 0.1], position=[1.3, 0, 0])
        first = quirk.Revolute("first", GROUND, one, point=[0, 0, 0], axis="y")
        second = quirk.Revolute("second", one, two, point=[1.0, 0, 0], axis="y")
        parts = [quirk.JointTorque("motor", first, function), quirk.Force("push", two, drag)]
        return quirk.System([one, two, first, second, *parts], gravity=[0, 0, -9.81])

    result = quirk.simulate(with_mass(1.0), 1.0, output=0.5, rtol=1e-11, sensitivities=[("one", "mass")])
    found = result.sensitivity["one", "mass"]
    two, motor = found["two"], found["motor"]
    derivatives = [two.position, two.acceleration, motor.torque(), found["push"].force()]
    derivatives = np.concatenate([*derivatives, found["first"].force(), found["second"].force()], axis=1)
    more, less = (
        of_results(quirk.simulate(with_mass(1.0 + change), 1.0, output=0.5, rtol=1e-11)) for change in (1e-4, -1e-4)
    )
    np.testing.assert_allclose(derivatives, (more - less) / 2e-4, rtol=0, atol=1e-6)


@pytest.mark.parametrize("function", [law, branching])
def test_jerk_is_the_rate_of_the_acceleration(function):
    interval = 1e-3
    result = quirk.simulate(chain(function, drag), 0.1, output=interval, rtol=1e-12, atol=1e-14)
    one, two, hinge = result["one"], result["two"], result["first"]
    values = np.concatenate([one.angular_acceleration, two.acceleration, hinge.force()], axis=1)
    rates = np.concatenate([one.angular_jerk, two.jerk, hinge.force_rate()], axis=1)
    more = np.concatenate([one.angular_snap, two.snap], axis=1)
    first = (values[:-4] - 8 * values[1:-3] + 8 * values[3:-1] - values[4:]) / (12 * interval)
    second = (rates[:-4] - 8 * rates[1:-3] + 8 * rates[3:-1] - rates[4:])[:, : more.shape[1]] / (12 * interval)
    np.testing.assert_allclose(rates[2:-2], first, rtol=0, atol=1e-7 * np.abs(rates).max())
    np.testing.assert_allclose(more[2:-2], second, rtol=0, atol=1e-7 * np.abs(more).max())


def test_parts_that_are_read_are_needed():
    system = chain(lambda t, state: state["two"].position[0])
    assert [body.name for body in system["motor"].bodies] == ["ground", "one", "two"]
    with pytest.raises(quirk.InputError, match="motor"):
        system.without("two", "second", "push")


def test_refusals():
    with pytest.raises(
        quirk.InputError, match=r'JointTorque "motor": its torque function.*no body or constraint "thre"'
    ):
        chain(lambda t, state: state["thre"].position[0])
    with pytest.raises(
        quirk.InputError, match=r"called as f\(t, state\), failed at the initial state: ZeroDivisionError"
    ):
        chain(lambda t, state: 1 / 0)
    with pytest.raises(quirk.InputError, match="function of the time t alone"):
        quirk.Motion.function(lambda t, state: 0.0, lambda t: 0.0, lambda t: 0.0)
    system = chain(0.0)
    other = quirk.JointTorque("motor", system["first"], lambda t, state: 0.0)
    event = quirk.Event("swap", "time", level=0.5, action=quirk.replace("motor", other))
    with pytest.raises(quirk.InputError, match="function of the state"):
        quirk.simulate(system, 1.0, events=[event])
