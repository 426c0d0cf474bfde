"""Sampled functions: digital controllers as parts of a system."""

import pickle
import threading

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Sampled

T = 0.1
# Options of `simulate` for all kinds of step loops.
METHODS = {
    "auto": {},
    "RK4": {"method": "RK4", "step": 0.03},
    "Taylor": {"method": "Taylor"},
    "RadauIIA9": {"method": "RadauIIA9"},
    "dense": {"method": "DOP853", "solver": "dense"},
}


def cart(*more, mass=2.0, speed=1.0):
    """Return a cart on a rail with a motor, as a double integrator, and further parts."""
    body = Body.box("cart", mass, [0.1, 0.1, 0.1], velocity=[speed, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, body, point=[0, 0, 0], axis="x")
    return quirk.System([body, rail, quirk.JointForce("motor", rail, 0.0), *more])


def law(t, state):
    return -3.0 * state["rail"].travel - 2.5 * state["rail"].travel_rate


def exact(count, mass=2.0, speed=1.0, push=lambda k: 0.0):
    """Return position and velocity (count + 1, 2) at multiples of T, and forces (count,), of the cart under `law`."""
    x, v, states, forces = 0.0, speed, [(0.0, speed)], []
    for k in range(count):
        forces.append(-3.0 * x - 2.5 * v)
        u = (forces[-1] + push(k)) / mass
        x, v = x + T * v + 0.5 * T * T * u, v + T * u
        states.append((x, v))
    return np.array(states), np.array(forces)


def along(result):
    """Return position and velocity (nt, 2) of the cart."""
    return np.column_stack([result["cart"].position[:, 0], result["cart"].velocity[:, 0]])


class Integral:
    """PI control of the speed, with memory."""

    def __init__(self):
        self.sum, self.resets = 0.0, 0

    def reset(self):
        self.sum, self.resets = 0.0, self.resets + 1

    def __call__(self, t, state):
        error = 0.5 - state["cart"].velocity[0]
        self.sum += error
        return 4.0 * error + 0.7 * self.sum


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", study([1.0, 1e3], {1e3}))
def test_double_integrator_follows_the_discrete_time_solution(method, scale):
    system = cart(Sampled("controller", T, law, inputs=["motor"]), speed=scale)
    count = 10 if method == "dense" else 50  # of periods; the dense solver takes long
    result = quirk.simulate(system, count * T, output=T, **METHODS[method])
    states, forces = exact(count, speed=scale)
    np.testing.assert_allclose(along(result), states, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(result["motor"].effort, [*forces, forces[-1]], rtol=0, atol=1e-12 * scale)


def test_functions_are_called_at_multiples_of_their_periods():
    slow, fast = [], []
    parts = [
        Sampled("fast", 0.1, lambda t, state: fast.append(t) or law(t, state), inputs=["motor"]),
        Sampled("slow", 0.3, lambda t, state: slow.append(t) or [0.2 * len(slow), 0, 0], inputs=["push"]),
    ]
    plain = cart()
    system = plain.with_parts(quirk.Force("push", plain["cart"], [0, 0, 0]), *parts)
    result = quirk.simulate(system, 3.0, output=0.05)
    assert fast == [k * 0.1 for k in range(30)]
    assert slow == [k * 0.3 for k in range(10)]
    states, forces = exact(30, push=lambda k: 0.2 * (1 + k // 3))
    np.testing.assert_allclose(along(result)[::2], states, rtol=0, atol=1e-12)
    # At the instant of a call the new value holds.
    np.testing.assert_allclose(result["motor"].effort[:-1:2], forces, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result["motor"].effort[1::2], forces, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result["push"].force()[:-1:2, 0], [0.2 * (1 + k // 3) for k in range(30)])


def test_start_counts_from_the_start_of_the_run():
    times = []
    system = cart(Sampled("controller", 0.7, lambda t, state: times.append(t) or 0.0, inputs=["motor"]))
    quirk.simulate(system, 3.0, start=100.3, output=0.1)
    assert times == [100.3 + k * 0.7 for k in range(5)]


@pytest.mark.parametrize("interval", [0.01, 0.07])
def test_run_moves_as_simulate(interval):
    system = cart(Sampled("controller", T, law, inputs=["motor"]))
    run = quirk.Run(system, keep=0.05)
    while run.time < 2.0 - 1e-9:
        run.advance(interval)
    states, forces = exact(20)
    result = run.result()
    np.testing.assert_allclose(along(result)[:40:2], states[:20], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result["motor"].effort[:40:2], forces, rtol=0, atol=1e-12)
    assert "controller" not in result.system
    again = quirk.simulate(result.system, 1.9, output=0.05)
    np.testing.assert_allclose(along(again), along(result)[: len(again.time)], rtol=0, atol=1e-12)


def test_new_value_holds_at_the_instant_of_a_call():
    run = quirk.Run(cart(Sampled("controller", T, law, inputs=["motor"])))
    forces = exact(4)[1]
    for k in range(3):
        np.testing.assert_allclose(run["motor"].effort, forces[k], rtol=0, atol=1e-12)
        np.testing.assert_allclose(run["cart"].acceleration[0], forces[k] / 2.0, rtol=0, atol=1e-12)
        for _ in range(10):
            run.advance(0.01)


def test_loop_may_set_other_inputs():
    plain = cart()
    push = quirk.Force("push", plain["cart"], [0, 0, 0])
    run = quirk.Run(plain.with_parts(push, Sampled("controller", T, law, inputs=["motor"])), inputs=["push"], keep=T)
    for k in range(20):
        run.inputs["push"] = [0.1 * k, 0, 0]
        run.advance(T)
    np.testing.assert_allclose(along(run.result()), exact(20, push=lambda k: 0.1 * k)[0], rtol=0, atol=1e-12)


def test_work_is_that_of_the_held_values():
    result = quirk.simulate(cart(Sampled("controller", T, law, inputs=["motor"])), 3.0, output=T)
    states, forces = exact(30)
    work = np.concatenate([[0.0], np.cumsum(forces * np.diff(states[:, 0]))])
    np.testing.assert_allclose(result.energy.kinetic - result.energy.kinetic[0], work, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.segments[0].work["motor"], work, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result["motor"].power[:-1], forces * states[:-1, 1], rtol=0, atol=1e-12)


def test_resting_contact_opens_when_an_input_lifts_the_body():
    box = Body.sphere("ball", 2.0, 0.1, position=[0, 0, 0.1])
    floor = quirk.Contact("floor", GROUND, box, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    lift = quirk.Force("lift", box, [0, 0, 0])
    winch = Sampled("winch", T, lambda t, state: [0, 0, 30.0 if t > 0.25 else 10.0], inputs=["lift"])
    system = quirk.System([box, floor, lift, winch], gravity=[0, 0, -10.0])
    result = quirk.simulate(system, 1.0, output=0.05)
    since = np.maximum(result.time - 0.3, 0.0)
    np.testing.assert_allclose(result["ball"].position[:, 2], 0.1 + 0.5 * 5.0 * since**2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result["floor"].force()[result.time < 0.29, 2], 10.0, rtol=0, atol=1e-9)


def test_events_that_change_parts_do_not_disturb_the_calls():
    """An event doubles the speed at an instant of a call, another one in between."""
    times = []
    events = [
        quirk.Event("twice", "time", level=0.5, action=quirk.set_velocity("cart", [2.0, 0, 0])),
        quirk.Event("again", "time", level=0.74, action=quirk.set_velocity("cart", [4.0, 0, 0])),
    ]
    hold = Sampled("hold", T, lambda t, state: times.append(t) or -state["cart"].velocity[0], inputs=["motor"])
    result = quirk.simulate(cart(hold, *events), 1.0, output=T)
    assert times == [k * T for k in range(10)]
    efforts = dict(zip(result.time.round(9).tolist(), result["motor"].effort.tolist(), strict=True))
    v = 1.0
    for k in range(10):
        v = 2.0 if k == 5 else v
        np.testing.assert_allclose(efforts[round(k * T, 9)], -v, rtol=0, atol=1e-9)
        v = 4.0 - 0.5 * v * 0.06 if k == 7 else v - 0.5 * v * T


def test_targets_and_vectors_are_inputs():
    rotor = Body("rotor", 1.0, [1, 1, 2])
    axle = quirk.Revolute("axle", GROUND, rotor, point=[0, 0, 0], axis="z")
    servo = quirk.Controller("servo", axle, 0.0, kp=8.0, kd=4.0)
    brake = quirk.Torque("brake", rotor, [0, 0, 0])
    both = Sampled("both", 0.5, lambda t, state: ([0, 0, -1.0], 0.5 if t < 0.7 else 1.0), inputs=[brake, servo])
    system = quirk.System([rotor, axle, servo, brake, both])
    for options in METHODS.values():
        if "step" in options or "solver" in options:  # the dense solver takes long
            continue
        result = quirk.simulate(system, 8.0, output=0.5, **options)
        angle, rate, target = result["axle"].angle, result["axle"].angle_rate, np.where(result.time < 0.7, 0.5, 1.0)
        np.testing.assert_allclose(result["servo"].effort, 8.0 * (target - angle) - 4.0 * rate, rtol=0, atol=1e-9)
        np.testing.assert_allclose(angle[-1], 1.0 - 1.0 / 8.0, rtol=0, atol=2e-3)


def test_expressions_are_written_to_model_files(tmp_path):
    system = cart(Sampled("controller", T, "-3*rail.travel - 2.5*rail.travel_rate", inputs=["motor"]))
    system.save(tmp_path / "model.toml")
    loaded = quirk.load(tmp_path / "model.toml")
    for one in (system, loaded):
        result = quirk.simulate(one, 2.0, output=T)
        np.testing.assert_allclose(along(result), exact(20)[0], rtol=0, atol=1e-12)
    with pytest.raises(quirk.InputError, match='Sampled "controller": function'):
        cart(Sampled("controller", T, law, inputs=["motor"])).save(tmp_path / "function.toml")


def test_results_are_saved_with_the_values(tmp_path):
    result = quirk.simulate(cart(Sampled("controller", T, law, inputs=["motor"])), 1.0, output=0.05)
    result.save(tmp_path / "result.nc")
    loaded = quirk.Result.load(tmp_path / "result.nc")
    np.testing.assert_array_equal(loaded["motor"].effort, result["motor"].effort)
    assert np.unique(result["motor"].effort).size == 10


def test_memory_is_reset_and_restored(tmp_path):
    controller = Integral()
    system = cart(Sampled("controller", T, controller, inputs=["motor"]))
    first, second = (quirk.simulate(system, 2.0, output=T) for _ in range(2))
    np.testing.assert_array_equal(along(first), along(second))
    assert controller.resets == 2
    run = quirk.Run(system)
    for _ in range(7):
        run.advance(0.05)
    saved = pickle.loads(pickle.dumps(run.save()))
    found = []
    for _ in range(2):
        run.restore(saved)
        for _ in range(9):
            run.advance(0.05)
        found.append(run["cart"].position)
    np.testing.assert_array_equal(found[0], found[1])


def test_memory_outside_of_objects_is_not_saved():
    total = 0.0

    def remembering(t, state):
        nonlocal total
        total += 1.0
        return total

    run = quirk.Run(cart(Sampled("controller", T, remembering, inputs=["motor"])))
    with pytest.raises(quirk.InputError, match="reads variables that it sets itself"):
        run.save()


class Filter:
    """Controller with an array, a number and a list as memory, in attributes or in slots."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.array, self.count, self.times = np.zeros(2), 0, []

    def __call__(self, t, state):
        self.array += [1.0, t]
        self.count += 1
        self.times.append(t)
        return 0.1 * self.array[0] - 0.3 * self.array[1] + 0.01 * len(self.times) + 0.02 * self.count


class SlottedFilter(Filter):
    __slots__ = ("array", "count")


class OnlySlots:
    __slots__ = ("array", "count", "times")
    __init__, reset, __call__ = Filter.__init__, Filter.reset, Filter.__call__


def filtered(kind=Filter):
    controller = kind()
    return controller, cart(Sampled("controller", T, controller, inputs=["motor"]))


def whole(duration=2.0):
    run = quirk.Run(filtered()[1])
    run.advance(duration)
    return run["cart"].position


@pytest.mark.parametrize("kind", [Filter, SlottedFilter, OnlySlots])
def test_runs_of_one_system_have_their_own_memory(kind):
    controller, system = filtered(kind)
    first, second = quirk.Run(system), quirk.Run(system)
    for _ in range(20):
        first.advance(0.1)
        second.advance(0.05)
    np.testing.assert_array_equal(first["cart"].position, whole(), strict=True)
    np.testing.assert_array_equal(second["cart"].position, whole(1.0))
    assert controller.count == 11  # of the run that called it last


def test_a_model_that_looks_ahead_does_not_disturb_the_plant():
    _, system = filtered()
    plant, model = quirk.Run(system), quirk.Run(system)
    plant.advance(0.55)
    for _ in range(3):
        model.restore(plant.save())
        model.advance(0.85)
    plant.advance(1.45)
    np.testing.assert_array_equal(plant["cart"].position, whole())


@pytest.mark.parametrize(
    "between",
    [
        lambda system: quirk.simulate(system, 1.0),
        lambda system: quirk.Run(system.with_parts()).advance(0.3),
        lambda system: quirk.Run(system).advance(0.3),
    ],
)
def test_other_runs_in_between_do_not_disturb(between):
    controller, system = filtered()
    run = quirk.Run(system)
    run.advance(1.0)
    between(system)
    saved = run.save()
    run.advance(1.0)
    np.testing.assert_array_equal(run["cart"].position, whole())
    assert controller.count == 21
    between(system)
    run.restore(saved)
    assert controller.count == 11
    run.advance(1.0)
    np.testing.assert_array_equal(run["cart"].position, whole())


class TwoRates(Filter):
    def slow(self, t, state):
        return 0.5 * self(t, state)


def test_methods_of_one_object_share_its_memory():
    def system():
        controller, base = TwoRates(), cart()
        push = quirk.JointForce("push", base["rail"], 0.0)
        return base.with_parts(
            push,
            Sampled("fast", T, controller.__call__, inputs=["motor"]),
            Sampled("slow", 2 * T, controller.slow, inputs=["push"]),
        )

    shared, alone = system(), quirk.Run(system())
    alone.advance(1.0)
    first, second = quirk.Run(shared), quirk.Run(shared)
    first.advance(0.5)
    second.advance(0.3)
    first.advance(0.5)
    np.testing.assert_array_equal(first["cart"].position, alone["cart"].position)


def test_a_beginning_run_keeps_the_objects_that_the_caller_knows():
    times, (controller, system) = [], filtered()
    controller.reset = lambda: None
    controller.times = times
    first, second = quirk.Run(system), quirk.Run(system)
    second.advance(0.5)
    assert controller.times is times and times[-1] == 0.5
    assert first.time == 0.0


def test_memory_that_cannot_be_kept_ends_the_run_that_was_interrupted():
    total = 0.0

    def remembering(t, state):
        nonlocal total
        total += 1.0
        return total

    controller, locked = filtered()
    controller.lock = threading.Lock()
    for system, message in [
        (locked, r"another run has called its function since, which cannot be copied \(TypeError"),
        (cart(Sampled("controller", T, remembering, inputs=["motor"])), "which reads variables that it sets itself"),
    ]:
        first = quirk.Run(system)
        second = quirk.Run(system)
        second.advance(0.5)
        with pytest.raises(quirk.SimulationError, match=message):
            first.advance(0.5)
        second.advance(0.5)


def test_sweeps_call_sampled_functions():
    data = quirk.sweep(
        lambda mass: cart(Sampled("controller", T, law, inputs=["motor"]), mass=mass), {"mass": [1.0, 2.0]}, 2.0,
        output=T, workers=1,
    )  # fmt: skip
    for k, mass in enumerate((1.0, 2.0)):
        np.testing.assert_allclose(data["position"][k, :, 0, 0], exact(20, mass)[0][:, 0], rtol=0, atol=1e-12)


def test_values_that_other_functions_read_may_be_changed():
    gain = {"value": 0.0}

    def switch(t, state):
        gain["value"] = 1.0 if t > 0.45 else 0.0
        return 0.0

    plain = cart()
    push = quirk.Force("push", plain["cart"], lambda t, r, q, v, w: [gain["value"], 0.0, 0.0])
    system = plain.with_parts(push, Sampled("switch", T, switch, inputs=["motor"]))
    result = quirk.simulate(system, 1.0, output=T)
    np.testing.assert_allclose(result["cart"].velocity[-1, 0], 1.0 + 0.5 * 0.5, rtol=0, atol=1e-9)
    with pytest.warns(quirk.ChangedFunctionWarning, match="push"):
        result["push"].force()


def test_a_gap_with_a_point_of_its_own_is_no_value_that_may_change():
    floor = [0.0, 0.0, 1.0]
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.3])
    gap = quirk.OneSided(
        "gap", ball, lambda t, a: floor[2] * a.position[2] - 0.1,
        point=lambda t, a: [a.position[0], a.position[1], a.position[2] - 0.1], restitution=0.3,
    )  # fmt: skip
    items = [ball, gap, quirk.Friction("friction", gap, 0.3), quirk.Force("push", ball, [0.0, 0.0, 0.0])]
    control = quirk.Sampled("control", 0.2, lambda t, state: [t, 0.0, 0.0], inputs=["push"])
    result = quirk.simulate(quirk.System([*items, control], gravity=[0, 0, -9.81]), 0.8, output=0.1)
    assert result.status == "completed"
    assert result["ball"].position[-1, 2] == pytest.approx(0.1)


def test_state_has_views_and_arrays():
    seen = {}

    def look(t, state):
        seen.update(
            point=state["cart"].orientation, effort=state["motor"].effort, load=state["rail"].force(),
            array=state.position, rate=state["rail"].travel_rate, frame=state["rail"].displacement,
        )  # fmt: skip
        return 1.0

    quirk.simulate(cart(Sampled("controller", T, look, inputs=["motor"])), 0.15, output=0.05)
    assert seen["array"].shape == (1, 3) and seen["point"].shape == (4,) and seen["load"].shape == (3,)
    assert seen["effort"] == 1.0
    np.testing.assert_allclose(seen["rate"], 1.05, atol=1e-12)
    np.testing.assert_allclose(seen["frame"], [0, 0, 0.1 + 0.5 * 0.5 * 0.01], atol=1e-12)


def test_turns_are_counted():
    rotor = Body("rotor", 1.0, [1, 1, 2], angular_velocity=[0, 0, 20.0])
    axle = quirk.Revolute("axle", GROUND, rotor, point=[0, 0, 0], axis="z")
    angles = []
    look = Sampled("look", T, lambda t, state: angles.append(state["axle"].angle) or 0.0, inputs=["motor"])
    quirk.simulate(quirk.System([rotor, axle, quirk.JointTorque("motor", axle, 0.0), look]), 2.0, output=0.5)
    np.testing.assert_allclose(angles, 20.0 * T * np.arange(20), rtol=0, atol=1e-8)


def failing(t, state):
    if t > 0.25:
        raise ZeroDivisionError("no more")
    return 0.0


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (failing, "its function failed: ZeroDivisionError: no more"),
        (lambda t, state: np.nan if t > 0.25 else 0.0, "must be finite"),
        (lambda t, state: [1.0, 2.0] if t > 0.25 else 0.0, "a value for each of its inputs, motor"),
    ],
)
def test_failures_end_the_run_with_the_result_so_far(function, said):
    system = cart(Sampled("controller", T, function, inputs=["motor"]))
    with pytest.raises(quirk.SimulationError, match=f'Sampled "controller", at t = 0.3 s.*{said}') as caught:
        quirk.simulate(system, 1.0, output=T)
    np.testing.assert_allclose(caught.value.result.time[-1], 0.3)
    run = quirk.Run(system)
    with pytest.raises(quirk.SimulationError, match=said):
        for _ in range(10):
            run.advance(0.05)
    np.testing.assert_allclose(run.time, 0.3)


def test_refusals():
    def sampled(**changes):
        return Sampled(**{"name": "controller", "period": T, "function": law, "inputs": ["motor"], **changes})

    for changes, said in [
        ({"period": 0.0}, "period must be positive"),
        ({"function": 3.0}, "function must be a function"),
        ({"function": ["1", "2"]}, "an Expression for each of its 1 inputs; got 2"),
        ({"inputs": []}, "one or more names"),
        ({"inputs": ["motor", "motor"]}, "names an element twice"),
    ]:
        with pytest.raises(quirk.InputError, match=said):
            sampled(**changes)
    for part, said in [
        (sampled(inputs=["moter"]), 'no object is named "moter".*motor'),
        (sampled(inputs=["cart"]), "not a force element"),
        (sampled(function="-wheel.angle"), 'no body or joint "wheel"'),
    ]:
        with pytest.raises(quirk.QuirkError, match=said):
            cart(part)
    with pytest.raises(quirk.InputError, match='Sampled "controller" sets, too'):
        cart(sampled(), sampled(name="other"))
    system = cart(sampled())
    with pytest.raises(quirk.InputError, match='"controller" requires JointForce "motor"'):
        system.without("motor")
    assert "controller" not in system.without("motor", dependents=True)
    with pytest.raises(quirk.InputError, match="which Sampled"):
        quirk.Run(system, inputs=["motor"])
    with pytest.raises(quirk.InputError, match="members have no sampled functions"):
        quirk.Batch(system, 2)
    with pytest.raises(quirk.InputError, match="sensitivities cannot be combined"):
        quirk.simulate(system, 1.0, sensitivities=[("cart", "mass")])
    with pytest.raises(quirk.InputError, match="checkpoint cannot be combined"):
        quirk.simulate(system, 1.0, checkpoint="unused")
    plain = cart()
    timed = quirk.Force("push", plain["cart"], [quirk.Motion.sinusoid(1.0, 1.0), 0, 0])
    with pytest.raises(quirk.InputError, match="function of time"):
        quirk.simulate(plain.with_parts(timed, sampled(inputs=["push"])), 1.0)


def test_a_diverging_feedback_is_explained():
    """Feedback of the rate of a light carriage whose gain times the period exceeds twice its mass."""
    carriage = quirk.Body.sphere("carriage", 1e-3, 0.01, velocity=[0.1, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, carriage, point=[0, 0, 0], axis="x")
    motor = quirk.JointForce("motor", rail, 0.0)
    brake = quirk.Sampled("brake", 0.1, lambda t, state: -1.0 * state["rail"].travel_rate, inputs=["motor"])
    system = quirk.System([carriage, rail, motor, brake])
    text = r'feedback of Sampled "brake" makes the motion diverge.*shorter period or a lower gain, or add armature='
    with pytest.raises(quirk.SimulationError, match=text) as error:
        quirk.simulate(system, 60.0)
    assert error.value.time < 20.0  # 99 times faster after each interval
    run = quirk.Run(system)
    with pytest.raises(quirk.SimulationError, match=text):
        run.advance(60.0)


def test_an_input_cannot_be_replaced():
    """The controller would set values of an element that no longer acts."""
    cart = quirk.Body.box("cart", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", quirk.GROUND, cart, point=[0, 0, 0], axis="x")
    event = quirk.Event("fail", "time", level=0.5, action=quirk.replace("push", quirk.JointForce("push", rail, -2.0)))
    controller = quirk.Sampled("controller", 0.1, lambda t, state: 1.0, inputs=["push"])
    system = quirk.System([cart, rail, quirk.JointForce("push", rail, 0.0), controller])
    with pytest.raises(quirk.InputError, match=r'Event "fail": JointForce "push" cannot be replaced, because Sampled'):
        quirk.simulate(system, 1.0, events=[event])


class Estimate:
    """An estimate, which an observer writes and a feedback reads."""

    value = 0.0


class Observer:
    def __init__(self, estimate):
        self.estimate = estimate

    def reset(self):
        self.estimate.value = 0.0

    def __call__(self, t, state):
        self.estimate.value = 0.7 * self.estimate.value + 0.3 * state["rail"].travel
        return 0.0


class Feedback:
    def __init__(self, estimate, observer):
        self.estimate, self.observer = estimate, observer

    def __call__(self, t, state):
        assert self.observer.estimate is self.estimate
        return 9.0 * (0.8 - self.observer.estimate.value) - 5.0 * state["rail"].travel_rate


def observed():
    estimate = Estimate()
    observer = Observer(estimate)
    parts = cart(speed=0.0)
    none = quirk.JointForce("none", parts["rail"], 0.0)
    first = Sampled("observer", 0.02, observer, inputs=["none"])
    return parts.with_parts(none, first, Sampled("feedback", 0.02, Feedback(estimate, observer), inputs=["motor"]))


def test_controllers_that_share_objects_go_on_sharing_them():
    """Also after a return to a saved state, and where two runs call them in turn."""
    end = quirk.simulate(observed(), 2.0)["rail"].travel[-1]
    run = quirk.Run(observed())
    run.advance_to(0.3)
    saved = run.save()
    run.advance_to(1.0)
    run.restore(saved)
    run.advance_to(2.0)
    assert run["rail"].travel == pytest.approx(end, abs=1e-9)
    system = observed()
    one, other = quirk.Run(system), quirk.Run(system)
    for k in range(1, 21):
        one.advance_to(0.1 * k)
        other.advance_to(0.05 * k)
    other.advance_to(2.0)
    assert [one["rail"].travel, other["rail"].travel] == pytest.approx([end, end], abs=1e-9)


class Sum:
    """A sum of errors, which another controller reads."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.value, self.past = 0.0, [0.0]

    def __call__(self, t, state):
        self.past.append(1.0 - state["rail"].travel)
        self.value += 0.05 * self.past.pop(0)
        return self.value


class Reader:
    def __init__(self, read):
        self.read = read

    def __call__(self, t, state):
        return 5.0 * self.read.value


class ReaderOfList(Reader):
    def __init__(self, read):
        self.read = [read]

    def __call__(self, t, state):
        return 5.0 * self.read[0].value


class ReaderByMethod(Reader):
    def __init__(self, read):
        self.read = read.__getattribute__

    def __call__(self, t, state):
        return 5.0 * self.read("value")


class Pushing(Reader):
    """A function of a force that reads the memory of a controller."""

    def __call__(self, t, state):
        return [self.read.value, 0.0, 0.0]


def reading(kind, period):
    total, base = Sum(), cart(speed=0.0)
    parts = [Sampled("sum", 0.05, total, inputs=["motor"])]
    if kind is Pushing:
        parts += [quirk.Force("push", base["cart"], Pushing(total))]
    else:
        parts += [
            quirk.JointForce("push", base["rail"], 0.0),
            Sampled("reader", period, kind(total), inputs=["push"]),
        ]
    return base.with_parts(*parts)


@pytest.mark.parametrize("period", [0.05, 0.03])
@pytest.mark.parametrize("kind", [Reader, ReaderOfList, ReaderByMethod, Pushing])
def test_functions_read_the_memory_of_a_controller_of_their_run(kind, period):
    exact = quirk.simulate(reading(kind, period), 1.0)["rail"].travel[-1]
    system = reading(kind, period)
    first, second = quirk.Run(system), quirk.Run(system)
    for k in range(100):
        first.advance(0.01)
        second.advance(0.003)
        assert second["rail"].travel < first["rail"].travel or k < 10
    assert first["rail"].travel == pytest.approx(exact, abs=1e-9)
    first.advance(0.1)
    second.advance_to(1.0)
    assert second["rail"].travel == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("kind", [Reader, ReaderOfList, ReaderByMethod, Pushing])
def test_pickled_memory_that_another_controller_reads(kind):
    exact = quirk.simulate(reading(kind, 0.03), 1.0)["rail"].travel[-1]
    system = reading(kind, 0.03)
    run, other = quirk.Run(system), quirk.Run(system)
    run.advance(0.5)
    pickled = pickle.dumps(run.save())
    for following in (run, other, quirk.Run(system), quirk.Run(reading(kind, 0.03))):
        following.restore(pickle.loads(pickled))
        following.advance(0.5)
        assert following["rail"].travel == pytest.approx(exact, abs=1e-9)
    assert quirk.simulate(system, 1.0)["rail"].travel[-1] == pytest.approx(exact, abs=1e-9)
