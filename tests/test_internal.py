"""Internal variables of forces, and work, integrated with the motion."""

from dataclasses import replace

import numpy as np
import pytest
from force_systems import FINE, hinged
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.linalg import expm
from studies import study

import quirk
from quirk import GROUND, Body, Frame, Motion
from quirk.forces.joint_actuation import OfJoint

J = 0.5


class Motor(OfJoint):
    """A DC motor at a hinge: L di/dt = U - R i - k w, torque k i."""

    parameters = ("k", "R", "L")
    motions = ("voltage",)
    internal = ("current",)

    def __init__(self, name, joint, voltage, k=0.8, R=1.5, L=0.4, current=0.0):
        self.voltage, self.k, self.R, self.L, self.current = voltage, k, R, L, current
        super().__init__(name, joint, axis=2, rotates=True)

    def along(self, t, x, rate):
        return self.k * self.current

    def internal_rates(self, t, x, rate):
        return (self.voltage - self.R * self.current - self.k * rate) / self.L


class Sloshing(quirk.ForceElement):
    """A mass on a spring within a body, in one direction of N: displacement u and speed w are internal."""

    internal = ("u", "w")

    def __init__(self, name, body, u=0.0, w=0.0):
        self.u, self.w = u, w
        super().__init__(name, (body, Frame()))

    def load(self, t, i):
        return np.array([3.0 * self.u, 0, 0]), 0

    def internal_rates(self, t, i):
        return [self.w, -5.0 * self.u - 0.3 * i.velocity[0]]


def pid(**options):
    settings = {"kp": 8.0, "ki": 5.0, "kd": 1.5, **options}
    return hinged(lambda hinge: quirk.Controller("pid", hinge, Motion.constant_rate(0.7, 0.3), **settings), inertia=J)


def angle(result):
    return result["hinge"].rotation[:, 2]


def linear(A, b, x, times):
    """Solution of x' = A x + b."""
    whole = np.block([[A, b[:, None]], [np.zeros((1, len(x) + 1))]])
    return np.array([(expm(whole * t) @ np.append(x, 1.0))[:-1] for t in times])


def test_controller_with_integral_part():
    """With the error e: J e'' + kd e' + kp e + ki z = 0, z' = e."""
    result = quirk.simulate(pid(integral=0.2), 6.0, output=0.1, **FINE)
    A = np.array([[0, 1, 0], [-8.0 / J, -1.5 / J, -5.0 / J], [1, 0, 0]])
    want = linear(A, np.zeros(3), np.array([0.3, 0.7, 0.2]), result.time)
    np.testing.assert_allclose(0.3 + 0.7 * result.time - angle(result), want[:, 0], atol=1e-11)
    np.testing.assert_allclose(result["pid"].internal("integral"), want[:, 2], atol=1e-11)
    np.testing.assert_allclose(result["pid"].along(), 8 * want[:, 0] + 1.5 * want[:, 1] + 5 * want[:, 2], atol=1e-10)


def test_limits_wind_the_integral_back():
    """Against the scalar equations, integrated by themselves; and the integral stays small at the limit."""
    limit, kp, ki, kd = 0.3, 8.0, 5.0, 1.5
    system = hinged(lambda hinge: quirk.Controller("pid", hinge, 4.0, kp=kp, ki=ki, kd=kd, limits=limit), inertia=J)
    result = quirk.simulate(system, 20.0, output=0.5, rtol=1e-11, atol=1e-13)
    tracking = max(kp / ki, np.sqrt(kd / ki))

    def rates(t, y):
        x, v, z = y
        asked = kp * (4.0 - x) - kd * v + ki * z
        given = np.clip(asked, -limit, limit)
        return [v, given / J, 4.0 - x - (asked - given) / (ki * tracking)]

    want = solve_ivp(rates, (0, 20), [0, 0, 0], rtol=1e-11, atol=1e-13, t_eval=result.time, max_step=0.05).y
    np.testing.assert_allclose(angle(result), want[0], atol=1e-7)
    np.testing.assert_allclose(result["pid"].internal(), want[2], atol=1e-7)
    assert np.abs(result["pid"].along()).max() <= limit


@pytest.fixture(scope="module")
def best():
    return quirk.simulate(pid(), 0.4, output=[0.4], **FINE)


@pytest.mark.parametrize("method", study(["RK45", "RK4", "Vern9", "Radau", "BDF", "LSODA"], {"RK4", "LSODA", "RK45"}))
@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_every_method_carries_internal_variables(method, solver, best):
    how = {"step": 0.01} if method == "RK4" else {"rtol": 1e-8, "atol": 1e-10}
    result = quirk.simulate(pid(), 0.4, output=[0.1, 0.4], method=method, solver=solver, **how)
    assert abs(angle(result)[-1] - angle(best)[-1]) < 1e-5
    assert abs(result["pid"].internal()[-1] - best["pid"].internal()[-1]) < 1e-5
    assert abs(result.power.balance[-1]) < 1e-5


def test_run_goes_on_exactly_from_a_state():
    system = pid(limits=2.0)
    whole = quirk.simulate(system, 2.0, output=[1.0, 2.0], method="RK4", step=1 / 128)
    first = quirk.simulate(system, 1.0, output=[1.0], method="RK4", step=1 / 128)
    rest = quirk.simulate(
        system, 1.0, start=1.0, initial_state=first.state_at(), output=[2.0], method="RK4", step=1 / 128
    )
    np.testing.assert_allclose(rest["pid"].internal(), whole["pid"].internal()[1:], rtol=1e-14)
    np.testing.assert_allclose(angle(rest), angle(whole)[1:], rtol=1e-14)
    forgotten = replace(first.state_at(), internal={})
    other = quirk.simulate(system, 1.0, start=1.0, initial_state=forgotten, output=[2.0])
    assert abs(angle(other)[0] - angle(whole)[1]) > 1e-4


def test_current_of_a_motor():
    k, R, L, U = 0.8, 1.5, 0.4, 6.0
    system = hinged(lambda hinge: Motor("motor", hinge, Motion.polynomial([U]), current=0.5), inertia=J)
    result = quirk.simulate(system, 3.0, output=0.1, **FINE)
    want = linear(np.array([[0, k / J], [-k / L, -R / L]]), np.array([0, U / L]), np.array([0, 0.5]), result.time)
    np.testing.assert_allclose(result["hinge"].rotation_rate[:, 2], want[:, 0], atol=1e-11)
    np.testing.assert_allclose(result["motor"].internal(), want[:, 1], atol=1e-11)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_derivatives_see_the_rates_of_internal_variables(order):
    """J w' = k i, so that its derivatives follow from those of the current; dense and compiled alike."""
    k, R, L = 0.8, 1.5, 0.4
    system = hinged(
        lambda hinge: Motor("motor", hinge, Motion.sinusoid(2.0, 3.0)), inertia=J, angular_velocity=[0, 0, 0.7]
    )
    state = replace(system.initial_state(), internal={"motor": [0.9]})
    w, i = [0.7], [0.9]
    voltage = Motion.sinusoid(2.0, 3.0).derivatives(0.2, order)
    for n in range(order):
        w.append(k * i[n] / J)
        i.append((voltage[n] - R * i[n] - k * w[n]) / L)
    for solver in ("dense", "sparse"):
        found = system.derivatives(state, 0.2, order=order, solver=solver)
        np.testing.assert_allclose(found.angular[:, 0, 2], w[1:], rtol=1e-11)


def test_several_internal_variables_without_a_coordinate():
    body = Body("b", 2.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    system = quirk.System([body, Sloshing("tank", body, u=0.2)])
    A = np.array([[0, 1.5, 0], [0, 0, 1], [-0.3, -5.0, 0]])
    for solver in ("sparse", "dense"):
        result = quirk.simulate(system, 2.0, output=0.2, solver=solver, **FINE)
        want = linear(A, np.zeros(3), np.array([1.0, 0.2, 0.0]), result.time)
        np.testing.assert_allclose(result["b"].velocity[:, 0], want[:, 0], atol=1e-11)
        np.testing.assert_allclose(result["tank"].internal("w"), want[:, 2], atol=1e-11)


def test_many_internal_variables_and_much_work():
    """More numbers beside the motion than one block of bodies holds."""
    bodies = [Body(f"b{k}", 2.0, [0.1, 0.1, 0.1], velocity=[0.1 * k, 0, 0]) for k in range(60)]
    tanks = [Sloshing(f"t{k}", body, u=0.01 * k) for k, body in enumerate(bodies)]
    result = quirk.simulate(quirk.System([*bodies, *tanks]), 1.0, output=[0.0, 1.0], **FINE)
    A = np.array([[0, 1.5, 0], [0, 0, 1], [-0.3, -5.0, 0]])
    for k in range(60):
        want = linear(A, np.zeros(3), np.array([0.1 * k, 0.01 * k, 0]), [1.0])[0]
        np.testing.assert_allclose(result[f"b{k}"].velocity[-1, 0], want[0], atol=1e-11)
        np.testing.assert_allclose(result[f"t{k}"].internal("u")[-1], want[1], atol=1e-11)
        assert abs(result.power.work[f"t{k}"][-1] - (want[0] ** 2 - (0.1 * k) ** 2)) < 1e-10


def test_error_control_heeds_internal_variables():
    """A fast variable that hardly moves the body."""

    class Ringing(Sloshing):
        def load(self, t, i):
            return np.array([1e-9 * self.u, 0, 0]), 0

        def internal_rates(self, t, i):
            return [self.w, -1e4 * self.u]

    body = Body("b", 2.0, [0.1, 0.1, 0.1])
    system = quirk.System([body, Ringing("ring", body, u=1.0)])
    for solver in ("sparse", "dense"):
        result = quirk.simulate(system, 0.1, output=[0.1], rtol=1e-10, atol=1e-12, solver=solver)
        assert abs(result["ring"].internal("u")[-1] - np.cos(10.0)) < 1e-6


def books():
    """A mechanism with everything that does work."""
    cart = Body("cart", 3.0, [0.1, 0.1, 0.1])
    arm = Body("arm", 2.0, [0.02, 0.1, 0.1], position=[0.5, 0, 0])
    fore = Body("fore", 1.0, [0.01, 0.05, 0.05], position=[1.3, 0, 0])
    tip = Body("tip", 0.5, [0.01, 0.02, 0.02], position=[1.7, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, cart, point=[0, 0, 0], axis=[1, 0, 0])
    shoulder = quirk.Revolute("shoulder", cart, arm, point=[0, 0, 0], axis=[0, 1, 0])
    elbow = quirk.Revolute("elbow", arm, fore, point=[1, 0, 0], axis=[0, 1, 0])
    stiffness, damping = (2e3, 2e3, 2e3, 20, 20, 20), (5, 5, 5, 0.05, 0.05, 0.05)
    system = quirk.System([
        cart, arm, fore, tip, rail, shoulder, elbow,
        quirk.Drive("drive", rail, Motion.sinusoid(0.2, 3.0)),
        quirk.Controller("pid", shoulder, Motion.sinusoid(0.5, 1.5), kp=60.0, ki=80.0, kd=6.0),
        quirk.JointFriction("friction", elbow, viscous=0.05, coulomb=0.3, static=0.4, stribeck=0.2, creep=0.05),
        quirk.Bushing("bushing", fore, tip, point=[1.6, 0, 0], stiffness=stiffness, damping=damping),
        quirk.Spring("spring", GROUND, fore, points=([0, 0, 1.5], [1.3, 0, 0]), stiffness=30.0),
        quirk.Damper("damper", GROUND, tip, points=([2, 0, -1], [1.7, 0, 0]), damping=0.8),
    ])  # fmt: skip
    system.assemble()
    return system


def test_power_balances_to_the_tolerance_of_the_run():
    for rtol, allowed in ((1e-8, 1e-9), (1e-11, 1e-12)):
        power = quirk.simulate(books(), 10.0, output=0.1, rtol=rtol, atol=1e-13).power
        largest = max(np.abs(work).max() for work in power.work.values())
        assert np.abs(power.balance).max() < allowed * largest
        assert power.uncertainty == 0


def test_what_dampers_take_out_only_grows():
    system = books()
    passive = quirk.System([part for part in system if part.name not in ("pid", "drive")], gravity=[0, 0, -9.81])
    power = quirk.simulate(passive, 3.0, output=0.01).power
    assert (np.diff(power.dissipated) > -1e-9).all()
    assert power.dissipated[-1] > 1.0


def test_work_is_the_integral_of_power():
    result = quirk.simulate(books(), 1.0, output=0.002, rtol=1e-11, atol=1e-13)
    for name, power in result.power.items():
        want = make_interp_spline(result.time, power, k=5).antiderivative()(result.time)
        np.testing.assert_allclose(result.power.work[name], want - want[0], atol=1e-5, err_msg=name)
        if name in ("rail", "shoulder", "elbow"):
            assert not result.power.work[name].any()


def test_dense_and_compiled_do_the_same_work():
    both = [quirk.simulate(books(), 0.01, output=0.005, solver=s, method="RK4", step=1e-3) for s in ("dense", "sparse")]
    for name in both[0].power:
        np.testing.assert_allclose(both[0].power.work[name], both[1].power.work[name], atol=1e-8, err_msg=name)


def test_work_of_a_potential_that_depends_on_time():
    body = Body("b", 2.0, [0.1, 0.1, 0.1])
    pull = quirk.Potential("pull", body, lambda t, r, R: -np.sin(3 * t) * r[0])
    result = quirk.simulate(quirk.System([body, pull]), 2.0, output=0.1, **FINE)
    assert np.abs(result.power.balance).max() < 1e-11


def test_kinematics_sums_work_up_between_times_and_integrates_nothing():
    crank = Body("crank", 1.0, [0.1, 0.1, 0.1], position=[0.3, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, crank, point=[0, 0, 0], axis=[0, 1, 0])
    motor = quirk.Drive("motor", hinge, Motion.constant_rate(2.0))
    servo = quirk.Controller("servo", hinge, 0.0, kp=1.0)
    system = quirk.System([crank, hinge, motor, servo], gravity=[0, 0, -9.81])
    result = quirk.kinematics(system, np.linspace(0, 1, 201))
    assert np.abs(result.power.balance).max() < 1e-6
    assert 0 < result.power.uncertainty < 1e-6
    forgetful = quirk.System([crank, hinge, motor, quirk.Controller("servo", hinge, 0.0, kp=1.0, ki=0.5)])
    with pytest.raises(quirk.InputError, match=r'Controller "servo" has internal variables \(integral\)'):
        quirk.kinematics(forgetful, [0.0, 1.0])


def test_what_does_not_fit_is_named():
    class Silent(OfJoint):
        internal = ("z",)

        def along(self, t, x, rate):
            return self.z

    class Wrong(Motor):
        def internal_rates(self, t, x, rate):
            return [0.0, 1.0]

    class Lost(Motor):
        def internal_rates(self, t, x, rate):
            return np.sqrt(-1.0 - rate * rate)

    with pytest.raises(quirk.InputError, match="but no rates: define internal_rates"):
        hinged(lambda hinge: Silent("s", hinge, 2, True))
    with pytest.raises(quirk.InputError, match='"m": current must be'):
        hinged(lambda hinge: Motor("m", hinge, Motion.polynomial([1.0]), current="much"))
    with pytest.raises(
        quirk.InputError, match="internal_rates must return 1 rate, one for each name in internal; got 2"
    ):
        quirk.simulate(hinged(lambda hinge: Wrong("m", hinge, Motion.polynomial([1.0]))), 1.0)
    with pytest.raises(quirk.QuirkError, match='Lost "m"'):
        quirk.simulate(hinged(lambda hinge: Lost("m", hinge, Motion.polynomial([1.0]))), 1.0)
    with pytest.raises(quirk.InputError, match="limits cannot be used with ki alone"):
        pid(kp=0.0, kd=0.0, limits=1.0)
    system = pid()
    with pytest.raises(quirk.InputError, match=r"internal\['pid'\]"):
        quirk.simulate(system, 1.0, initial_state=replace(system.initial_state(), internal={"pid": [1.0, 2.0]}))
    result = quirk.simulate(system, 0.1, output=[0.1])
    with pytest.raises(quirk.InputError, match="no internal variable 'x'; its internal variables: 'integral'"):
        result["pid"].internal("x")


class Pulse(quirk.ForceElement):
    """An internal variable that grows by one in a short time."""

    parameters = ("begin", "width")
    internal = ("u",)

    def __init__(self, name, body, begin, width):
        self.u, self.begin, self.width = 0.0, begin, width
        super().__init__(name, (body, Frame()))

    def load(self, t, i):
        return np.array([self.u, 0, 0]), 0

    def internal_rates(self, t, i):
        within = (t > self.begin) & (t < self.begin + self.width)
        return quirk.where(within, 1 / self.width, 0.0)


@pytest.mark.parametrize("begin", [5.003, 7.9, 3.217])
def test_short_pulses_of_internal_rates_are_found(begin):
    body = Body("b", 1.0, [1, 1, 1])
    result = quirk.simulate(quirk.System([body, Pulse("p", body, begin, 0.02)]), 10.0, output=[10.0])
    assert abs(result["p"].internal()[0] - 1.0) < 1e-8


def test_internal_variables_cost_no_needless_steps():
    class Lag(Sloshing):
        internal = ("u",)

        def internal_rates(self, t, i):
            return 1.0 - self.u

    body = Body("b", 1.0, [1, 1, 1])
    result = quirk.simulate(quirk.System([body, Lag("l", body)]), 10.0, output=[10.0])
    assert abs(result["l"].internal()[0] - (1 - np.exp(-10))) < 1e-9
    assert result.statistics.steps < 80


def test_energies_that_change_by_themselves_are_not_conserved():
    body = Body("b", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    for energy, constant in ((lambda t, r, R: -np.sin(3 * t) * r[0], False), (lambda t, r, R: 2 * r[0] ** 2, True)):
        result = quirk.simulate(quirk.System([body, quirk.Potential("p", body, energy)]), 2.0, output=0.1)
        assert result.conservative == constant
        assert ("power balance" in result.summary()) == (not constant)


def test_states_of_other_systems_are_refused():
    system = pid()
    state = replace(system.initial_state(), internal={"servo": [0.1]})
    with pytest.raises(quirk.InputError, match=r'names "servo".*they are: "pid"'):
        quirk.simulate(system, 0.1, initial_state=state)


class Faulty(quirk.ForceElement):
    """Along one coordinate; what the methods return is given."""

    coordinates = ("x",)

    def __init__(self, name, body, **returned):
        self.returned = returned
        super().__init__(name, (GROUND, Frame()), (body, Frame()))

    def coordinate(self, t, i, j):
        return self.returned.get("coordinate", j.position[0])

    def along(self, t, x, rate):
        return self.returned.get("along", 0.0)


class Pushing(quirk.ForceElement):
    def __init__(self, name, body, force):
        self.force = force
        super().__init__(name, (body, Frame()))

    def load(self, t, i):
        return np.array(self.force, dtype=object), 0


def test_what_laws_return_is_counted():
    body = Body("b", 1.0, [1, 1, 1])
    for element, what in (
        (Faulty("f", body, coordinate=[1.0, 2.0]), "its coordinate must return a number; got 2"),
        (Faulty("f", body, along=[1.0, 2.0]), "its along must return a number; got 2"),
        (Faulty("f", body, along=None), "its along must return a number; got 1"),
        (Pushing("f", body, [1, 0]), "a force of three components, or 0"),
        (Pushing("f", body, 5.0), "a force of three components, or 0"),
    ):
        for solver in ("sparse", "dense"):
            with pytest.raises(quirk.InputError, match=f'"f": .*{what}'):
                quirk.simulate(quirk.System([body, element]), 0.1, solver=solver)


def test_what_classes_name_must_be_there():
    body = Body("b", 1.0, [1, 1, 1])

    def made(**attributes):
        return quirk.System([body, type("Odd", (Pushing,), attributes)("o", body, [0, 0, 0])])

    with pytest.raises(quirk.InputError, match="parameters must be a tuple of names"):
        made(parameters="stiffness")
    with pytest.raises(quirk.InputError, match=r"parameters names 'nope'.*set self.nope in __init__"):
        made(parameters=("nope",))
    with pytest.raises(quirk.InputError, match=r"target must be a quirk.Motion.*Motion.polynomial"):
        made(motions=("target",), target=1.0)
    with pytest.raises(quirk.InputError, match="no internal variables: name them in internal"):
        made(internal_rates=lambda self, t, i: 0.0)
    with pytest.raises(quirk.InputError, match=r"a Odd has no name: its __init__ must call super"):
        made(__init__=lambda self, *arguments: None)
    with pytest.raises(quirk.InputError, match=r"each end must be a pair \(body, quirk.Frame\)"):
        quirk.ForceElement.__init__(Pushing("p", body, [0, 0, 0]), "p", GROUND)


def test_laws_that_give_no_numbers_are_named():
    class Ending(Faulty):
        def along(self, t, x, rate):
            return np.log(0.05 - t)

    body = Body("b", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    for solver in ("sparse", "dense"):
        with pytest.raises(quirk.SimulationError, match=r'at t = 0\.0\d* s.*Ending "e": its loads'):
            quirk.simulate(quirk.System([body, Ending("e", body)]), 1.0, solver=solver)


def test_power_of_nobody_is_an_error_that_says_whose_there_is():
    result = quirk.simulate(pid(), 0.1, output=0.1)
    with pytest.raises(quirk.UnknownNameError, match="named 'pdi'; there are: gravity, pid, hinge"):
        result.power["pdi"]
    assert "pid" in result.power and "pdi" not in result.power


class Rod(quirk.ForceElement):
    """A spring and damper at a telescopic rod that grows by itself."""

    parameters = ("k", "c", "a")
    internal = ("s",)
    coordinates = ("x",)

    def __init__(self, name, body, k, c, a):
        self.k, self.c, self.a, self.s = k, c, a, 0.0
        super().__init__(name, (GROUND, Frame()), (body, Frame()))

    def coordinate(self, t, i, j):
        return j.position[0] - self.s

    def along(self, t, x, rate):
        return -self.k * x - self.c * rate

    def internal_rates(self, t, x, rate):
        return self.a * (1 - self.s)


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_rates_of_coordinates_know_those_of_internal_variables(solver):
    k, c, a = 3.0, 0.7, 2.0
    body = Body("m", 1.0, [1, 1, 1], position=[0.5, 0, 0])
    system = quirk.System([body, Rod("rod", body, k, c, a)])
    result = quirk.simulate(system, 2.0, output=[0, 2.0], solver=solver, **FINE)

    def rates(t, y):
        growing = a * (1 - y[2])
        return [y[1], -k * (y[0] - y[2]) - c * (y[1] - growing), growing]

    want = solve_ivp(rates, (0, 2), [0.5, 0, 0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    assert abs(result["m"].position[-1, 0] - want[0]) < 1e-11
    np.testing.assert_allclose(result["rod"].rate(), [-2.0, want[1] - a * (1 - want[2])], atol=1e-10)
    assert np.abs(result.power.balance).max() < 1e-11


def test_rates_that_depend_on_themselves_are_refused():
    class Loop(Rod):
        def internal_rates(self, t, x, rate):
            return rate - self.s

    body = Body("m", 1.0, [1, 1, 1])
    for solver in ("sparse", "dense"):
        with pytest.raises(quirk.InputError, match=r'Loop "rod": .*depend on themselves'):
            quirk.simulate(quirk.System([body, Loop("rod", body, 1.0, 1.0, 1.0)]), 1.0, solver=solver)


def test_names_stand_for_one_thing():
    body = Body("m", 1.0, [1, 1, 1])
    for attributes, what in (
        ({"internal": ("u", "u")}, "'u' is named twice"),
        ({"internal": ("u", "w"), "parameters": ("u",)}, "'u' is named twice"),
        ({"internal": "speed"}, "internal must be a tuple of names"),
    ):
        with pytest.raises(quirk.InputError, match=what):
            quirk.System([body, type("Odd", (Sloshing,), attributes)("o", body)])


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_rows_that_depend_on_velocities_do_the_work_that_their_power_says(solver):
    """The speed of a falling body is to stay what it was: v.v' = 0, with A = v."""
    body = Body("b", 2.0, [0.1, 0.1, 0.1], velocity=[3.0, 0, 0])

    def rows(t, r, q, v, w):
        return np.append(v[0], [0, 0, 0])[None], [0.0]

    rule = quirk.CustomRows("rule", body, rows)
    system = quirk.System([body, rule], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 0.5, output=0.05, solver=solver, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(result["b"].velocity, axis=1), 3.0, rtol=1e-9)
    fallen = 2.0 * 9.81 * -result["b"].position[:, 2]
    np.testing.assert_allclose(result.power.work["rule"], -fallen, atol=1e-8)
    np.testing.assert_allclose(result.power["rule"], 2.0 * 9.81 * result["b"].velocity[:, 2], atol=1e-8)
    assert np.abs(result.power.balance).max() < 1e-8
