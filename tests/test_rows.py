"""Constraint rows: against the ball-joint notes, numerical differentiation, and themselves."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mechanisms import VARIANTS, random_body, random_quaternion, random_state
from pairs import CARRIED, KINDS, declared_rows, moved, pair, qdot
from quirk.constraints.primitives import constraint_time_derivatives, constraint_wrenches
from studies import study

import quirk
from quirk import constraints, planar, rotation
from quirk.bodies.state import Kinematics
from quirk.dynamics.dense.rows import residuals

# What does not vanish at some time is not only right at the start.
T = 0.3


def of_joint(system, rows):
    """The part of all rows that the joint has."""
    return quirk.dynamics.dense.rows.ConstraintRows(
        *(part[system.model.joint_rows["joint"]] for part in (rows.A, rows.b, rows.phi, rows.phi_dot, rows.labels))
    )


def rows_at(system, state, t=T):
    return of_joint(system, system.constraint_rows(state, t))


def of_velocities(system):
    """Which rows of the joint have no Phi: they relate velocities."""
    whole = np.zeros(system.model.rows, dtype=bool)
    for placed in system.model.relations:
        whole[placed.rows] = placed.relation.of_velocities
    return whole[system.model.joint_rows["joint"]]


@pytest.mark.parametrize("seed", study(range(3), 1))
def test_ball_joint_equals_the_notes(seed):
    """A and b of the ball joint in Udwadia-Kalaba form, with B = body j and C = body i, without T's rate."""
    system, state = pair(quirk.Spherical, seed)
    joint = system["joint"]
    rows = system.constraint_rows(state)
    (Q_C, Q_B), (T_C, T_B) = rotation.matrix(state.orientation), rotation.T_matrix(state.orientation)
    p_BC, p_CB = Q_B @ joint.frame_j.origin, Q_C @ joint.frame_i.origin
    I = np.eye(3)
    A_B = np.hstack([I, -rotation.skew(p_BC) @ Q_B @ T_B])
    A_C = np.hstack([-I, rotation.skew(p_CB) @ Q_C @ T_C])
    np.testing.assert_allclose(rows.A, np.hstack([A_C, A_B]), atol=1e-12)
    w_C, w_B = (rotation.skew(Q @ w) for Q, w in zip((Q_C, Q_B), state.angular_velocity, strict=True))
    np.testing.assert_allclose(rows.b, -w_B @ w_B @ p_BC + w_C @ w_C @ p_CB, atol=1e-12)


@pytest.mark.parametrize("package", [constraints, planar], ids=["constraints", "planar"])
def test_descriptions_say_how_many_rows_there_are(package):
    for name in package.__all__:
        kind = getattr(package, name)
        if isinstance(kind, type) and issubclass(kind, constraints.Constraint) and kind.row_count is not None:
            (said,) = re.findall(r"(\d+) rows?\b", kind.__doc__.partition("\n")[0])
            assert int(said) == kind.row_count, name


@pytest.mark.parametrize("ground", [None, "i", "j"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
class TestEveryConstraint:
    def test_rows_and_labels(self, kind, ground):
        system, state = pair(kind, 1, ground)
        rows = rows_at(system, state)
        m = declared_rows(kind)
        assert rows.A.shape == (m, 14)
        assert rows.b.shape == rows.phi.shape == rows.phi_dot.shape == (m,)
        assert len(rows.labels) == len(set(rows.labels)) == m
        assert all(label.startswith("joint: ") for label in rows.labels)

    def test_satisfied_where_it_was_declared_and_of_full_rank(self, kind, ground):
        system, _ = pair(kind, 2, ground)
        rows = rows_at(system, system.initial_state(), 0.0)
        np.testing.assert_allclose(rows.phi, 0, atol=1e-14)
        assert np.linalg.matrix_rank(rows.A) == declared_rows(kind)

    @pytest.mark.parametrize("seed", study(range(2), 1))
    def test_rate_is_A_qdot_and_the_difference_of_phi(self, kind, ground, seed):
        system, state = pair(kind, seed, ground)
        rows = rows_at(system, state)
        at_rest = quirk.State(state.position, state.orientation, 0 * state.velocity, 0 * state.angular_velocity)
        # What is left at rest is how the motions of drivers move on.
        prescribed = rows_at(system, at_rest).phi_dot
        np.testing.assert_allclose(rows.phi_dot, rows.A @ qdot(state) + prescribed, atol=1e-13)
        if not (hasattr(system["joint"], "motion") or hasattr(system["joint"], "motions") or kind in VARIANTS[:2]):
            np.testing.assert_allclose(prescribed, 0, atol=1e-15)
        h = 1e-5
        ahead, behind = (rows_at(system, moved(state, s * h), T + s * h).phi for s in (1, -1))
        want = np.where(of_velocities(system), rows.phi_dot, (ahead - behind) / (2 * h))
        np.testing.assert_allclose(rows.phi_dot, want, atol=1e-8)

    @pytest.mark.parametrize("seed", study(range(2), 1))
    def test_b_is_what_A_leaves_of_the_second_derivative(self, kind, ground, seed):
        """With any accelerations, the second derivative of Phi is A xdd - b."""
        system, state = pair(kind, seed, ground)
        rng = np.random.default_rng(seed)
        linear, angular = rng.normal(size=(2, 2, 3))
        rows = rows_at(system, state)
        q, omega = state.orientation, state.angular_velocity
        # omega_dot = T qdd; along q, qdd has -|qdot|^2.
        qdd = rotation.rate(q, angular) - 0.25 * (omega**2).sum(axis=1, keepdims=True) * q
        xdd = np.concatenate([linear, qdd], axis=1).ravel()
        h = 1e-5
        ahead, behind = (rows_at(system, moved(state, s * h, (linear, angular)), T + s * h).phi_dot for s in (1, -1))
        np.testing.assert_allclose(rows.A @ xdd - rows.b, (ahead - behind) / (2 * h), atol=2e-7)

    def test_a_turned_quaternion_sign_changes_nothing_but_A(self, kind, ground):
        system, state = pair(kind, 5, ground)
        flipped = quirk.State(state.position, -state.orientation, state.velocity, state.angular_velocity)
        one, other = rows_at(system, state), rows_at(system, flipped)
        for part in ("b", "phi", "phi_dot"):
            np.testing.assert_allclose(getattr(one, part), getattr(other, part), atol=1e-14)

    def test_dense_and_sparse_agree_and_loads_balance_each_body(self, kind, ground):
        """Newton and Euler for each body, with what the joint and the ground exert on it."""
        system, state = pair(kind, 6, ground)
        system = quirk.System(list(system), gravity=[1.0, 2.0, -3.0])
        state = system.assemble(t=T)
        dense, sparse = (system.acceleration(state, T, solver) for solver in ("dense", "sparse"))
        scale = 1 + np.abs(dense.linear).max() + np.abs(dense.angular).max()
        np.testing.assert_allclose(sparse.linear, dense.linear, atol=1e-11 * scale)
        np.testing.assert_allclose(sparse.angular, dense.angular, atol=1e-11 * scale)
        loads = system.joint_loads(state, T)
        R = rotation.matrix(state.orientation)
        for n, body in enumerate(system.bodies):
            J, w = body.inertia, state.angular_velocity[n]
            force = body.mass * (sparse.linear[n] - system.gravity)
            moment = R[n] @ (J @ sparse.angular[n] + np.cross(w, J @ w))
            for joint in system.constraints:
                # What a gear does to gear i and the carrier is not the opposite of what it does to gear j.
                if len(joint.ends) > 2 and body is not joint.body_j:
                    exerted = system.constraint_forces(state, T)
                    force, moment = force - exerted.force[n], moment - R[n] @ exerted.torque[n]
                    continue
                sign = {joint.body_j: 1, joint.body_i: -1}.get(body, 0)
                load, at = loads[joint.name], point_now(system, state, joint)
                force = force - sign * load.force
                moment = moment - sign * (load.torque + np.cross(at - state.position[n], load.force))
            np.testing.assert_allclose(force, 0, atol=1e-9 * scale)
            np.testing.assert_allclose(moment, 0, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in CARRIED], ids=lambda kind: kind.__name__)
def test_a_rigid_motion_of_the_whole_system_changes_nothing(kind):
    """Turned and moved, with all velocities; not a gear, whose carrier is the ground here."""
    system, _ = pair(kind, 7)
    state = system.assemble(t=T)
    turn = random_quaternion(np.random.default_rng(8))
    Q = rotation.matrix(turn)
    other = quirk.State(
        state.position @ Q.T + [3.0, -2.0, 5.0],
        rotation.multiply(turn, state.orientation),
        state.velocity @ Q.T,
        state.angular_velocity,
    )
    for solver in ("dense", "sparse"):
        here, there = (system.acceleration(s, T, solver) for s in (state, other))
        scale = 1 + np.abs(here.linear).max() + np.abs(here.angular).max()
        np.testing.assert_allclose(there.linear, here.linear @ Q.T, atol=1e-10 * scale)
        np.testing.assert_allclose(there.angular, here.angular, atol=1e-10 * scale)


def point_now(system, state, joint):
    """Where the joint point of body j is."""
    if joint.body_j is quirk.GROUND:
        return joint.frame_j.origin
    n = system.bodies.index(joint.body_j)
    return state.position[n] + rotation.matrix(state.orientation[n]) @ joint.frame_j.origin


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind is not quirk.CustomRows], ids=lambda kind: kind.__name__
)
def test_towers_of_any_order_are_derivatives(kind):
    """With constant velocity and spin, Phi is analytic in time; orders 0 to 5 against Chebyshev differentiation."""
    system, state = pair(kind, 3)
    order, radius = 5, 0.1
    joint = system.model.joint_rows["joint"]
    phi = residuals(system.model, Kinematics.of(state), T, order)[joint]
    t = radius * np.cos(np.pi * (np.arange(24) + 0.5) / 24)
    samples = [rows_at(system, moved(state, h), T + h) for h in t]
    np.testing.assert_allclose(phi[:, 0], rows_at(system, state).phi, atol=1e-14)
    for row in range(len(phi)):
        # Those of Phi itself jump where whole turns are taken off; that its rate is right is tested above.
        rates = [s.phi_dot[row] for s in samples]
        series = np.polynomial.Chebyshev.fit(t, rates, 20, domain=[-radius, radius])
        for k in range(1, order + 1):
            want = series.deriv(k - 1)(0.0) if k > 1 else series(0.0)
            assert abs(phi[row, k] - want) < 1e-13 * 200**k * (1 + np.abs(rates).max()), (row, k)


def test_kernels_are_the_same_compiled_and_plain():
    """The whole evaluation once more in a process where kernels run as plain Python."""
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import test_rows as t\n"
        "print(json.dumps([t.signature(kind) for kind in t.KINDS]))"
    )
    plain = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    got = json.loads(plain.stdout)
    np.testing.assert_allclose(got, [signature(kind) for kind in KINDS], rtol=1e-13)
    assert hasattr(constraint_time_derivatives, "py_func")
    assert hasattr(constraint_wrenches, "py_func")


def signature(kind):
    system, state = pair(kind, 4)
    rows = system.constraint_rows(state, T)
    return float(np.abs(rows.A).sum() + np.abs(rows.b).sum() + np.abs(rows.phi).sum())


def test_frames_and_point_with_axis_say_the_same():
    rng = np.random.default_rng(7)
    a, b = random_body(rng, "a"), random_body(rng, "b")
    one = quirk.Revolute("hinge", a, b, point=[0.1, 0.2, 0.3], axis=[1, 2, 3])
    other = quirk.Revolute("hinge", a, b, frame_i=one.frame_i, frame_j=one.frame_j)
    state = random_state(rng, 2)
    x, y = (quirk.System([a, b, j]).constraint_rows(state) for j in (one, other))
    np.testing.assert_array_equal(x.A, y.A)
    np.testing.assert_array_equal(x.b, y.b)


def test_inactive_and_free_joints_have_no_rows():
    rng = np.random.default_rng(8)
    a, b = random_body(rng, "a"), random_body(rng, "b")
    open_hinge = quirk.Revolute("open", a, b, point=[0, 0, 0], axis=[0, 0, 1], active=False)
    system = quirk.System([a, b, open_hinge, quirk.Free("free", a, b)])
    assert system.constraint_rows(system.initial_state()).A.shape == (0, 14)
