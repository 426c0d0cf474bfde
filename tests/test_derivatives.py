"""Higher derivatives: right-hand sides of constraints, kappa, jerk, snap and load rates of constrained motion."""

import itertools
import math

import numba
import numpy as np
import pytest
from along_motion import AlongMotion
from mechanisms import random_system
from pairs import KINDS, LONG, pair
from planar_cases import CASES, PLANES, ROUNDING, F, state_of, system_of
from planar_notes import NOTES, right_hand_side
from quirk.demos import bricard, heavy_top
from studies import study

import quirk

T = 0.3


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize(("kind", "parameters"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_planar_right_hand_sides_and_kappa_are_those_of_the_notes(kind, parameters, plane):
    system = system_of(kind, parameters, PLANES[plane])
    axes, n = PLANES[plane].axes, len(system.bodies)
    towers = np.random.default_rng(5).normal(size=(n, 5, 3))
    higher = np.swapaxes(towers, 0, 1)[2:4]
    linear, angular = higher[..., :2] @ axes[:, :2].T, higher[..., 2:] * [0, 0, 1.0]
    mine = system.model.joint_rows["joint"]
    got = system.constraint_derivatives(state_of(PLANES[plane], towers), T, linear, angular)
    f = [np.polynomial.polynomial.polyval(T, np.polynomial.polynomial.polyder(F, k)) for k in range(5)]
    for order in range(1, 5):
        want = right_hand_side(kind, order, towers, parameters, f)
        # Far from the origin positions are rounded to more than the notes allow.
        limit = max(1e-11, ROUNDING[plane] if plane == "far" else 0) * (1 + np.abs(want).max())
        np.testing.assert_allclose(got.right_hand_sides[mine, order - 1], want, atol=limit)
    multipliers = np.zeros(system.model.rows)
    multipliers[mine] = np.linspace(0.7, -1.1, mine.stop - mine.start)
    kappa = got.kappa(multipliers).reshape(n, 6)
    given = multipliers[mine] if mine.stop - mine.start > 1 else multipliers[mine][0]
    for body, want in enumerate(NOTES[kind](towers, f, **parameters).kappa(given)):
        planar = [*(kappa[body, :3] @ axes[:, :2]), kappa[body, 5]]
        np.testing.assert_allclose(planar, want, atol=1e-11 if plane == "xy" else ROUNDING[plane])


@pytest.mark.parametrize(
    "kind", study([k for k in KINDS if k is not quirk.CustomRows], {*KINDS} - LONG), ids=lambda kind: kind.__name__
)
def test_right_hand_sides_of_all_orders_are_what_differentiation_leaves(kind):
    """nu, gamma, eta, sigma: A times the next derivative of the velocities, less that of Phi."""
    check_right_hand_sides(pair(kind, 3)[0], AlongMotion(11))


@pytest.mark.parametrize(("kind", "parameters"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_planar_right_hand_sides_along_spatial_motions(kind, parameters):
    system = system_of(kind, parameters)
    check_right_hand_sides(system, AlongMotion(12, len(system.bodies)))


def check_right_hand_sides(system, motion):
    mine = system.model.joint_rows["joint"]
    v, w = motion.velocities()
    got = system.constraint_derivatives(motion.at(0.0), T, v[1:], w[1:])
    A = got.A[mine]

    def phi(t):
        rows = system.constraint_rows(motion.at(t), T + t)
        return np.stack([rows.phi[mine], rows.phi_dot[mine]])

    found = motion.differentiated(phi, 4)
    # Phi itself, and its rate where there is nothing else or whole turns are taken off on the way.
    smooth = np.abs(found[1, 0] - found[0, 1]) < 1e-6 * (1 + np.abs(found[0, 1]))
    for order in range(1, 5):
        want = np.where(smooth, found[order, 0], found[order - 1, 1])
        have = A @ np.concatenate([v[order - 1], w[order - 1]], axis=1).ravel() - got.right_hand_sides[mine, order - 1]
        scale = 1 + np.abs(want).max()
        np.testing.assert_allclose(have, want, atol=1e-7 * scale)
    rates = motion.differentiated(lambda t: system.constraint_derivatives(motion.at(t), T + t, order=1).A[mine], 1)
    np.testing.assert_allclose(got.A_dot[mine], rates[1], atol=1e-9 * (1 + np.abs(rates[1]).max()))


def forces(system):
    """Springs and functions of all kinds: of numpy, of math, of numba."""
    a, b, c = system.bodies[:3]

    @numba.njit
    def wind(t, position, orientation, velocity, angular_velocity):
        return np.array([np.sin(3 * t) * velocity[0], position[1] * orientation[2], angular_velocity[1]])

    def of_math(t, position, orientation, velocity, angular_velocity):
        return [math.sin(3 * t) * velocity[0], math.exp(-position[1]), angular_velocity[1]]

    def of_numpy(t, position, orientation, velocity, angular_velocity):
        return np.array([np.linalg.norm(velocity), abs(angular_velocity[0]), -velocity[2]])

    return [
        quirk.Spring("spring", quirk.GROUND, c, [1, 1, 1], [0.1, 0, 0.1], stiffness=20, damping=0.3),
        quirk.Force("wind", a, wind, point=[0.1, 0.2, 0], frame="body"),
        quirk.Force("of math", b, of_math, point=[0.1, 0.2, 0]),
        quirk.Torque("of numpy", c, of_numpy),
    ]


@pytest.mark.parametrize("seed", study(range(3), 1))
def test_dense_and_sparse_derivatives_agree(seed):
    """Of any order, with loops, redundant rows and forces."""
    rng = np.random.default_rng(seed)
    bare = random_system(rng, bodies=5, loops=1 + seed)
    for system in (bare, quirk.System([*bare, *forces(bare)], gravity=bare.gravity)):
        state = bare.initial_state()
        dense, sparse = (system.derivatives(state, 0.2, 5 if system is bare else 3, solver)
                         for solver in ("dense", "sparse"))  # fmt: skip
        for one, other in ((dense.linear, sparse.linear), (dense.angular, sparse.angular)):
            assert_same(other, one, 1e-10)
        assert_same(sparse.multipliers, dense.multipliers, 1e-9)
        # Moments count over one meter; errors spread from the largest loads to all.
        scale = sum(np.abs(load.force).max(axis=1) + np.abs(load.torque).max(axis=1) for load in dense.loads.values())
        for name, load in dense.loads.items():
            for one, other in ((load.force, sparse.loads[name].force), (load.torque, sparse.loads[name].torque)):
                assert (np.abs(other - one).max(axis=1) < 1e-9 * scale).all(), name


def assert_same(got, want, tolerance):
    for k in range(len(want)):
        np.testing.assert_allclose(got[k], want[k], atol=tolerance * (1e-3 + np.abs(want[k]).max()), err_msg=str(k))


@pytest.mark.parametrize(
    "kind",
    study([k for k in KINDS if k is not quirk.CustomRows], {*KINDS} - LONG),
    ids=lambda kind: kind.__name__,
)
def test_dense_and_sparse_derivatives_agree_for_every_constraint(kind):
    system, _ = pair(kind, 6)
    system = quirk.System(list(system), gravity=[1.0, 2.0, -3.0])
    state = system.assemble(t=T)
    dense, sparse = (system.derivatives(state, T, 3, solver) for solver in ("dense", "sparse"))
    assert_same(sparse.linear, dense.linear, 1e-10)
    assert_same(sparse.angular, dense.angular, 1e-10)
    scale = sum(np.abs(x).max() for load in dense.loads.values() for x in (load.force, load.torque))
    for name, load in dense.loads.items():
        np.testing.assert_allclose(sparse.loads[name].force, load.force, atol=1e-9 * scale)
        np.testing.assert_allclose(sparse.loads[name].torque, load.torque, atol=1e-9 * scale)


class Richardson:
    """Differences of a run's quantities, over shorter and shorter intervals, extrapolated to none."""

    CENTERS, LEVELS = np.array([0.3, 0.7, 1.1]), 5

    def __init__(self, system, widest):
        self.steps = widest / 2.0 ** np.arange(self.LEVELS)
        times = np.unique([c + s * h for c in self.CENTERS for h in [0.0, *self.steps] for s in (-1, 1)])
        self.result = quirk.simulate(system, 1.5, output=times, rtol=1e-13, atol=1e-14)
        self.rows = {t: k for k, t in enumerate(times)}

    def at_centers(self, values):
        return np.array([values[self.rows[c]] for c in self.CENTERS])

    def derivative(self, values, order):
        """First or second derivative (centers, ...) of values at all times."""
        found = []
        for c in self.CENTERS:
            table = []
            for h in self.steps:
                behind, here, ahead = (values[self.rows[t]] for t in (c - h, c, c + h))
                table.append((ahead - behind) / (2 * h) if order == 1 else (ahead - 2 * here + behind) / h**2)
            for level in range(1, self.LEVELS):
                weight = 4.0**level
                table = [(weight * fine - coarse) / (weight - 1)
                         for coarse, fine in itertools.pairwise(table)]  # fmt: skip
            found.append(table[0])
        return np.array(found)


def ball_chain():
    rods = [quirk.Body.box(f"rod{k}", 1.0 + 0.2 * k, [1, 0.1, 0.2], position=[k + 0.5, 0, 0],
                           angular_velocity=[0.5, 0.1 * k, 0]) for k in range(4)]  # fmt: skip
    balls = [quirk.Spherical(f"ball{k}", rods[k - 1] if k else quirk.GROUND, rod, point=[k, 0, 0])
             for k, rod in enumerate(rods)]  # fmt: skip
    system = quirk.System([*rods, *balls], gravity=[0, 0, -9.81])
    system.assemble()
    return system


def hinge_chain():
    """Hinges whose axes turn along the chain, with a spring and a motor."""
    rods = [quirk.Body.box(f"rod{k}", 1.0, [1, 0.1, 0.2], position=[k + 0.5, 0, 0]) for k in range(3)]
    hinges = [quirk.Revolute(f"hinge{k}", rods[k - 1] if k else quirk.GROUND, rod, point=[k, 0, 0], axis=axis)
              for k, (rod, axis) in enumerate(zip(rods, ([0, 1, 0], [0, 1, 1], [0, 0, 1]), strict=True))]  # fmt: skip
    spring = quirk.Spring("spring", quirk.GROUND, rods[2], [2, 1, 1], stiffness=10, damping=0.5)
    motor = quirk.JointTorque("motor", hinges[1], lambda t, angle, rate: np.sin(2 * t) - 0.1 * rate - angle**3)
    return quirk.System([*rods, *hinges, spring, motor], gravity=[0, 0, -9.81])


@pytest.mark.parametrize(
    ("build", "widest"),
    [(ball_chain, 0.02), (hinge_chain, 0.02), (heavy_top.build, 2e-3), (bricard.build, 0.04)],
    ids=["ball chain", "hinge chain", "heavy top", "Bricard"],
)
def test_jerk_and_snap_are_derivatives_of_accelerations_along_the_run(build, widest):
    system = build()
    run = Richardson(system, widest)
    for body in system.bodies:
        view = run.result[body.name]
        point = view.path([0.3, -0.2, 0.1])
        for of, first, second in (
            (view.acceleration, view.jerk, view.snap),
            (view.angular_acceleration, view.angular_jerk, view.angular_snap),
            (point.acceleration, point.jerk, point.snap),
        ):
            for order, have in ((1, first), (2, second)):
                want = run.derivative(of, order)
                np.testing.assert_allclose(run.at_centers(have), want, atol=1e-6 * np.abs(want).max())
    for constraint in system.constraints:
        view = run.result[constraint.name]
        for frame in ("inertial", "i", "joint j"):
            scale = np.abs(run.derivative(view.force(), 1)).max()  # a moment's over one meter
            for of, rate in ((view.force, view.force_rate), (view.torque, view.torque_rate)):
                want = run.derivative(of(frame), 1)
                np.testing.assert_allclose(run.at_centers(rate(frame)), want, atol=1e-6 * scale)


def free(*elements, **gravity):
    body = quirk.Body("body", 1.0, [1.0, 1.0, 1.0])
    return quirk.System([body, *(make(body) for make in elements)], **gravity)


def along_x(f):
    """A force that is a function of time."""
    return lambda body: quirk.Force("push", body, lambda t, *motion: [f(t), 0, 0])


@pytest.mark.parametrize(("rate", "tolerance"), [(1e-3, 1e-6), (1.0, 1e-7), (1e3, 1e-7), (3e5, 1e-6)])
def test_functions_of_floats_are_differentiated_at_their_own_pace(rate, tolerance):
    system = free(along_x(lambda t: math.sin(rate * t)))
    got = system.derivatives(system.initial_state(), 0.4 / rate, 4).linear[:, 0, 0]
    sine, cosine = np.sin(0.4), np.cos(0.4)
    want = [sine, rate * cosine, -(rate**2) * sine, -(rate**3) * cosine]
    np.testing.assert_allclose(got[:3], want[:3], rtol=tolerance)
    np.testing.assert_allclose(got[3], want[3], rtol=1e3 * tolerance)


def test_functions_that_end_nearby_are_differentiated_where_they_are_defined():
    result = quirk.simulate(free(along_x(lambda t: math.log(t + 0.2))), 3.0, output=0.75)
    np.testing.assert_allclose(result["body"].jerk[:, 0], 1 / (result.time + 0.2), rtol=1e-8)


def test_functions_with_a_case_for_rest():
    """Guards against division by zero see the values of jets."""

    def drag(t, position, orientation, velocity, angular_velocity):
        speed = np.linalg.norm(velocity)
        return [0, 0, 0] if speed == 0 else -0.1 * speed * velocity

    system = free(lambda body: quirk.Force("drag", body, drag), gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.0, output=0.5)
    v, a = result["body"].velocity[:, 2], result["body"].acceleration[:, 2]
    np.testing.assert_allclose(result["body"].jerk[:, 2], 0.2 * np.abs(v) * a * -1, atol=1e-12)


def test_failures_of_functions_are_not_lost():
    def table(t, *motion):
        if t > 0.9 and isinstance(t, float) and table.closed:
            raise ValueError("the table ends at 0.9 s")
        return [math.sin(t), 0, 0]

    table.closed = False
    result = quirk.simulate(free(lambda body: quirk.Force("table", body, table)), 1.0, output=0.25)
    table.closed = True
    with pytest.raises(quirk.InputError, match="the table ends"):
        _ = result["body"].jerk


def test_functions_that_are_defined_nowhere_around_are_named():
    system = free(along_x(lambda t: {0.5: 1.0}[t]))
    with pytest.raises(quirk.InputError, match=r'Force "push".*KeyError'):
        system.derivatives(system.initial_state(), 0.5, order=2)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_a_spring_without_direction_is_named(solver):
    system = free(lambda body: quirk.Spring("spring", quirk.GROUND, body, stiffness=5.0, rest_length=1.0))
    with pytest.raises(quirk.InputError, match='Spring "spring": its ends coincide'):
        system.derivatives(system.initial_state(), solver=solver)


def test_where_branches_of_motion_meet_there_is_no_jerk():
    """A parallelogram that lies flat: accelerations of least constraint there are, but not where they lead."""
    ends = [([0, 0], [1, 0]), ([1, 0], [3, 0]), ([2, 0], [3, 0])]
    bars = [quirk.planar.PlanarBody.bar(name, *end, mass=1.0) for name, end in zip("abc", ends, strict=True)]
    pins = [quirk.planar.Revolute(f"pin {k}", i, j, point=point) for k, (i, j, point) in enumerate((
        (quirk.GROUND, bars[0], (0, 0)), (bars[0], bars[1], (1, 0)), (bars[1], bars[2], (3, 0)),
        (quirk.GROUND, bars[2], (2, 0))))]  # fmt: skip
    system = quirk.System([*bars, *pins], gravity=[0, -9.81, 0])
    found = system.derivatives(system.initial_state(), order=2)
    assert np.isfinite(found.linear[0]).all()
    assert np.isnan(found.linear[1]).all()


def test_wrong_derivatives_of_motions_are_refused():
    body = quirk.Body("body", 1.0, [1.0, 1.0, 1.0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    motion = quirk.Motion.function(np.sin, np.cos, lambda t: -np.sin(t), lambda t: np.cos(t))
    with pytest.raises(quirk.InputError, match=r"f_ttt of Motion\(sin\) is not the derivative of f_tt"):
        quirk.kinematics(quirk.System([body, hinge, quirk.Drive("motor", hinge, motion)]), [0.0, 1.0])


def test_rows_given_as_they_are_have_no_jerk():
    system, _ = pair(quirk.CustomRows, 6)
    state = system.assemble()
    one, other = (system.derivatives(state, order=1, solver=solver) for solver in ("dense", "sparse"))
    np.testing.assert_allclose(other.linear, one.linear, atol=1e-11)
    np.testing.assert_allclose(one.linear[0], system.acceleration(state).linear, atol=1e-11)
    result = quirk.simulate(system, 0.1)
    with pytest.raises(quirk.InputError, match=r'"joint": rows given as A and b have no derivatives.*jerk.*Implicit'):
        _ = result[system.bodies[0].name].jerk


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": 0}, "order must be a positive whole number"),
        ({"solver": "fast"}, "solver must be one of"),
    ],
)
def test_errors_of_derivatives(arguments, message):
    system = ball_chain()
    with pytest.raises(quirk.InputError, match=message):
        system.derivatives(system.initial_state(), **arguments)
    with pytest.raises(quirk.InputError, match=r"linear must have shape \(k, 4, 3\)"):
        system.constraint_derivatives(system.initial_state(), linear=[3.0])
