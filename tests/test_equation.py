"""The dense Udwadia-Kalaba equation against an independent solver, Gauss' principle and Newton-Euler balances."""

import numpy as np
import pytest
from mechanisms import random_body, random_state, random_system
from scipy.optimize import minimize
from studies import study

import quirk
from quirk import rotation

SEEDS = study(range(6), 2)


def newton_euler(system, state):
    """Mass matrix (6 n, 6 n), applied generalized forces and rows over (v, omega), built body by body."""
    n = len(system.bodies)
    M, Q = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    for k, body in enumerate(system.bodies):
        omega = state.angular_velocity[k]
        M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = body.mass * np.eye(3)
        M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = body.inertia
        Q[6 * k : 6 * k + 3] = body.mass * system.gravity
        Q[6 * k + 3 : 6 * k + 6] = -np.cross(omega, body.inertia @ omega)
    rows = system.constraint_rows(state)
    A = rows.A.reshape(-1, n, 7)
    # qdd = T^T omega_dot / 4 - |qdot|^2 q; A_q q = 0.
    A_omega = 0.25 * np.einsum("mnj,nij->mni", A[..., 3:], rotation.T_matrix(state.orientation))
    return M, Q, np.concatenate([A[..., :3], A_omega], axis=2).reshape(-1, 6 * n), rows.b


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_equal_those_of_a_null_space_solution(seed):
    rng = np.random.default_rng(seed)
    system = random_system(rng, bodies=4, loops=seed % 3)
    state = system.initial_state()
    M, Q, A, b = newton_euler(system, state)
    U, s, Vt = np.linalg.svd(A)
    rank = int((s > 1e-9 * s[0]).sum())
    particular = Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank])
    N = Vt[rank:].T
    want = particular + N @ np.linalg.solve(N.T @ M @ N, N.T @ (Q - M @ particular))
    got = system.acceleration(state)
    np.testing.assert_allclose(np.concatenate([got.linear, got.angular], axis=1).ravel(), want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_quaternion_acceleration_agrees_with_angular_acceleration_and_norm(seed):
    system = random_system(np.random.default_rng(seed))
    state = system.initial_state()
    got = system.acceleration(state)
    q, omega = state.orientation, state.angular_velocity
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rotation.T_matrix(q), got.quaternion), got.angular, atol=1e-12)
    along = np.einsum("ni,ni->n", q, got.quaternion)
    np.testing.assert_allclose(along, -0.25 * (omega**2).sum(axis=1), atol=1e-11)


def test_the_motion_is_the_closest_to_the_free_one():
    """Gauss: of all accelerations that satisfy the constraints, the least (x - a).M (x - a)."""
    system = random_system(np.random.default_rng(3), bodies=2, loops=0)
    state = system.initial_state()
    M, Q, A, b = newton_euler(system, state)
    a = np.linalg.solve(M, Q)
    found = minimize(
        lambda x: (x - a) @ M @ (x - a), a, jac=lambda x: 2 * M @ (x - a),
        constraints={"type": "eq", "fun": lambda x: A @ x - b, "jac": lambda x: A}, options={"ftol": 1e-15},
    )  # fmt: skip
    got = system.acceleration(state)
    np.testing.assert_allclose(np.concatenate([got.linear, got.angular], axis=1).ravel(), found.x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_constraint_forces_close_the_equation_of_motion(seed):
    system = random_system(np.random.default_rng(seed))
    state = system.initial_state()
    M, Q, A, _ = newton_euler(system, state)
    acceleration, forces = system.acceleration(state), system.constraint_forces(state)
    xdd = np.concatenate([acceleration.linear, acceleration.angular], axis=1).ravel()
    Q_c = np.concatenate([forces.force, forces.torque], axis=1).ravel()
    np.testing.assert_allclose(M @ xdd, Q + Q_c, atol=1e-9)
    # They do no work on motions that the constraints allow.
    velocity = np.concatenate([state.velocity, state.angular_velocity], axis=1).ravel()
    np.testing.assert_allclose(A @ velocity, 0, atol=1e-10)
    assert abs(Q_c @ velocity) < 1e-9 * np.linalg.norm(Q_c)
    assert forces.generalized.shape == (7 * len(system.bodies),)


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_loads_balance_every_body(seed):
    """Newton and Euler for each body with the loads of its joints, action and reaction at the joint point of j."""
    system = random_system(np.random.default_rng(seed), bodies=5, loops=2)
    state = system.initial_state()
    acceleration, loads = system.acceleration(state), system.joint_loads(state)
    R = rotation.matrix(state.orientation)
    for k, body in enumerate(system.bodies):
        force, torque = body.mass * system.gravity, np.zeros(3)
        for joint in system.constraints:
            load = loads[joint.name]
            if joint.body_j in system.bodies:
                j = system.bodies.index(joint.body_j)
                point = state.position[j] + R[j] @ joint.frame_j.origin
            else:
                point = joint.frame_j.origin
            for end, sign in ((joint.body_j, 1), (joint.body_i, -1)):
                if end is body:
                    force = force + sign * load.force
                    torque = torque + sign * (load.torque + np.cross(point - state.position[k], load.force))
        J, omega = body.inertia, state.angular_velocity[k]
        np.testing.assert_allclose(force, body.mass * acceleration.linear[k], atol=1e-9)
        euler = R[k] @ (J @ acceleration.angular[k] + np.cross(omega, J @ omega))
        np.testing.assert_allclose(torque, euler, atol=1e-9)


def test_joint_loads_have_no_component_along_what_is_free():
    """A revolute passes no torque about its axis, a ball no torque, a slider no force along its axis."""
    rng = np.random.default_rng(11)
    a, b, c = (random_body(rng, name) for name in "abc")
    axis = np.array([1.0, 2.0, 2.0]) / 3
    system = quirk.System(
        [
            a, b, c,
            quirk.Revolute("hinge", quirk.GROUND, a, point=[0, 0, 0.3], axis=axis),
            quirk.Spherical("ball", a, b, point=[0.3, 0, 0]),
            quirk.Prismatic("slider", b, c, axis=axis),
        ],
        gravity=[0, 0, -9.81],
    )  # fmt: skip
    system.assemble()
    state = system.initial_state()
    loads = system.joint_loads(state)
    scale = max(np.abs(load.force).max() for load in loads.values())
    assert abs(loads["hinge"].torque @ axis) < 1e-12 * scale
    np.testing.assert_allclose(loads["ball"].torque, 0, atol=1e-12 * scale)
    slide = rotation.matrix(state.orientation[1]) @ system["slider"].frame_i.matrix[:, 2]
    assert abs(loads["slider"].force @ slide) < 1e-12 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_duplicated_joints_change_no_acceleration(seed):
    rng = np.random.default_rng(seed)
    system = random_system(rng, bodies=3, loops=1)
    doubled = []
    for joint in system.constraints:
        if not isinstance(joint, quirk.Distance):
            copy = type(joint)(joint.name + " again", joint.body_i, joint.body_j,
                               frame_i=joint.frame_i, frame_j=joint.frame_j)  # fmt: skip
            doubled.append(copy)
    other = quirk.System([*system, *doubled], gravity=system.gravity)
    state = system.initial_state()
    one, two = system.acceleration(state), other.acceleration(state)
    scale = np.abs(one.linear).max()
    np.testing.assert_allclose(two.linear, one.linear, atol=1e-9 * scale)
    np.testing.assert_allclose(two.angular, one.angular, atol=1e-9 * np.abs(one.angular).max())
    loads, shared = system.joint_loads(state), other.joint_loads(state)
    for joint in doubled:
        name = joint.name.removesuffix(" again")
        total = shared[name].force + shared[joint.name].force
        np.testing.assert_allclose(total, loads[name].force, atol=1e-8 * scale)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
def test_scale_free(size, mass):
    """The same mechanism in millimeters or kilometers, grams or tonnes: only units change."""

    def scaled(size, mass):
        return random_system(
            np.random.default_rng(2), bodies=4, loops=2, size=size, mass=mass, gravity=size * np.array([0, 0, -9.81])
        )

    one, other = scaled(1.0, 1.0), scaled(size, mass)
    a, b = one.acceleration(one.initial_state()), other.acceleration(other.initial_state())
    np.testing.assert_allclose(b.linear / size, a.linear, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(b.angular, a.angular, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("ratio", [1e-6, 1e6])
def test_mass_ratios_of_a_million(ratio):
    """A chain of light and heavy rods: exact against the null-space solution."""
    rods = [
        quirk.Body(f"rod{k}", (ratio if k % 2 else 1.0), np.array([0.01, 0.08, 0.08]) * (ratio if k % 2 else 1.0),
                   position=[k + 0.5, 0, 0], angular_velocity=[0.1, 0.2 * (-1) ** k, 0.3])
        for k in range(4)
    ]  # fmt: skip
    ends = [quirk.GROUND, *rods]
    joints = [quirk.Spherical(f"ball{k}", ends[k], ends[k + 1], point=[k, 0, 0]) for k in range(4)]
    system = quirk.System([*rods, *joints], gravity=[0, 0, -9.81])
    system.assemble()
    state = system.initial_state()
    M, Q, A, b = newton_euler(system, state)
    N = np.linalg.svd(A)[2][len(b) :].T
    particular = np.linalg.lstsq(A, b, rcond=None)[0]
    want = particular + N @ np.linalg.solve(N.T @ M @ N, N.T @ (Q - M @ particular))
    got = system.acceleration(state)
    xdd = np.concatenate([got.linear, got.angular], axis=1).ravel()
    np.testing.assert_allclose(xdd, want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


@pytest.mark.parametrize("amount", [1e-9, 1e-7, 1e-6, 1e-4])
def test_redundant_rows_of_an_inexact_state(amount):
    """A door on two coaxial hinges: a state rounded to a few digits gives accelerations to as many digits."""
    door = quirk.Body("door", 1.0, [0.1, 0.1, 0.1], position=[0.5, 0, 0], angular_velocity=[0, 0, 3.0],
                      velocity=[0, 1.5, 0])  # fmt: skip
    hinges = [quirk.Revolute(f"h{z}", quirk.GROUND, door, point=[0, 0, z], axis="z") for z in (0, 1)]
    system = quirk.System([door, *hinges], gravity=[0, -9.81, 0])
    state = system.initial_state()
    state.orientation[0] += amount * np.array([0, 1, -0.7, 0])
    alpha = -9.81 * 0.5 / (0.1 + 0.25)
    assert system.acceleration(state).angular[0, 2] == pytest.approx(alpha, abs=100 * amount)
    loads = system.joint_loads(state)
    total = loads["h0"].force + loads["h1"].force
    np.testing.assert_allclose(total, [-4.5, 0.5 * alpha + 9.81, 0], atol=1000 * amount)


def test_the_solver_asked_for_must_exist():
    system = random_system(np.random.default_rng(0))
    with pytest.raises(quirk.InputError, match=r"solver must be one of 'sparse', 'dense'; got 'fast'"):
        system.acceleration(system.initial_state(), solver="fast")


def test_a_state_is_not_altered_and_normalized_on_the_way_in():
    system = random_system(np.random.default_rng(0))
    state = random_state(np.random.default_rng(1), 4)
    scaled = quirk.State(state.position, 3 * state.orientation, state.velocity, state.angular_velocity)
    before = scaled.orientation.copy()
    np.testing.assert_allclose(system.acceleration(scaled).linear, system.acceleration(state).linear, rtol=1e-12)
    np.testing.assert_array_equal(scaled.orientation, before)
