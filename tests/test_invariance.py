"""The laws of mechanics do not depend on how they are written down: random mechanisms, trees and loops."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mechanisms import random_quaternion, random_system
from studies import study

import quirk
from quirk import rotation

seeds = st.integers(0, 10**6)
examples = settings(
    max_examples=20, deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)


def mechanism(seed):
    rng = np.random.default_rng(seed)
    return random_system(rng, bodies=int(rng.integers(1, 5) + 1), loops=int(rng.integers(0, 3))), rng


def rebuilt(system, pose, gravity=None, order=None):
    """The same mechanism with every body's state passed through `pose`, its parts in another order."""
    state = system.initial_state()
    bodies = {}
    for k, body in enumerate(system.bodies):
        r, q, v, w = pose(state.position[k], state.orientation[k], state.velocity[k], state.angular_velocity[k])
        bodies[body.name] = quirk.Body(
            body.name, body.mass, body.inertia, position=r, orientation=q, velocity=v, angular_velocity=w
        )
    return bodies


def joint_copy(joint, end_i, end_j, frame_i=None, frame_j=None):
    frame_i, frame_j = frame_i or joint.frame_i, frame_j or joint.frame_j
    if isinstance(joint, quirk.Distance):
        return quirk.Distance(
            joint.name, end_i, end_j, point_i=frame_i.origin, point_j=frame_j.origin, length=joint.length
        )
    return type(joint)(joint.name, end_i, end_j, frame_i=frame_i, frame_j=frame_j)


def transformed(system, rng, *, turn=None, shift=(0, 0, 0), boost=(0, 0, 0), flip=False, shuffle=False):
    """Rotate, move and boost bodies, ground and gravity alike; flip signs of quaternions; shuffle the parts."""
    turn = rotation.IDENTITY if turn is None else turn
    R, shift, boost = rotation.matrix(turn), np.asarray(shift), np.asarray(boost)

    def pose(r, q, v, w):
        q = rotation.multiply(turn, q)
        return R @ r + shift, -q if flip else q, R @ v + boost, w

    bodies = rebuilt(system, pose)
    joints = []
    for joint in system.constraints:
        ends, frames = [], []
        for body, frame in ((joint.body_i, joint.frame_i), (joint.body_j, joint.frame_j)):
            if body is quirk.GROUND:
                frame = quirk.Frame(R @ frame.origin + shift, rotation.multiply(turn, frame.rotation))
            ends.append(body if body is quirk.GROUND else bodies[body.name])
            frames.append(frame)
        joints.append(joint_copy(joint, *ends, *frames))
    items = [*bodies.values(), *joints]
    if shuffle:
        items = [items[k] for k in rng.permutation(len(items))]
    return quirk.System(items, gravity=R @ system.gravity), R


def compare(one, other, R):
    """Accelerations and loads of `other` are those of `one` turned by R."""
    a, b = one.acceleration(one.initial_state()), other.acceleration(other.initial_state())
    order = [[x.name for x in other.bodies].index(body.name) for body in one.bodies]
    scale = 1 + max(np.abs(a.linear).max(), np.abs(a.angular).max())
    np.testing.assert_allclose(b.linear[order], a.linear @ R.T, atol=1e-8 * scale)
    np.testing.assert_allclose(b.angular[order], a.angular, atol=1e-8 * scale)
    forces, others = one.constraint_forces(one.initial_state()), other.constraint_forces(other.initial_state())
    np.testing.assert_allclose(others.force[order], forces.force @ R.T, atol=1e-8 * scale)


@examples
@given(seeds)
def test_rotation_and_translation(seed):
    system, rng = mechanism(seed)
    other, R = transformed(system, rng, turn=random_quaternion(rng), shift=rng.normal(size=3))
    compare(system, other, R)


@examples
@given(seeds)
def test_sign_of_quaternions(seed):
    system, rng = mechanism(seed)
    compare(system, *transformed(system, rng, flip=True))


@examples
@given(seeds)
def test_order_of_bodies_and_joints(seed):
    system, rng = mechanism(seed)
    compare(system, *transformed(system, rng, shuffle=True))


@examples
@given(seeds)
def test_boost(seed):
    """Without joints to the ground, a uniform velocity of everything changes nothing."""
    system, rng = mechanism(seed)
    free = quirk.System(
        [*system.bodies, *(c for c in system.constraints if quirk.GROUND not in (c.body_i, c.body_j))],
        gravity=system.gravity,
    )
    free.assemble()
    compare(free, *transformed(free, rng, boost=10 * rng.normal(size=3)))


@examples
@given(seeds)
def test_lower_and_upper_body_exchanged(seed):
    """Exchanging i and j turns the sign of the load, for joints that are symmetric in both bodies."""
    system, _ = mechanism(seed)
    joints = []
    for c in system.constraints:
        if isinstance(c, quirk.Spherical):
            joints.append(joint_copy(c, c.body_j, c.body_i, c.frame_j, c.frame_i))
        else:
            joints.append(c)
    other = quirk.System([*system.bodies, *joints], gravity=system.gravity)
    other.assemble(system.initial_state())
    one, two = (s.joint_loads(system.initial_state()) for s in (system, other))
    rank = np.linalg.matrix_rank(system.constraint_rows(system.initial_state()).A, tol=1e-8)
    if rank == system.model.rows:  # otherwise loads are not unique
        scale = 1 + max(np.abs(load.force).max() for load in one.values())
        for c in system.constraints:
            sign = -1 if isinstance(c, quirk.Spherical) else 1
            np.testing.assert_allclose(two[c.name].force, sign * one[c.name].force, atol=1e-7 * scale)


@settings(parent=examples, max_examples=6)
@given(seeds)
def test_energy_of_conservative_motion(seed):
    system, _ = mechanism(seed)
    result = quirk.simulate(system, 0.5, rtol=1e-11, atol=1e-13, output=0.1)
    scale = 1 + result.energy.kinetic.max()
    np.testing.assert_allclose(result.energy.total, result.energy.total[0], atol=1e-8 * scale)
    assert result.residual.position.max() < 1e-11


@settings(parent=examples, max_examples=6)
@given(seeds)
def test_motion_runs_back_in_time(seed):
    system, _ = mechanism(seed)
    end = quirk.simulate(system, 0.3, rtol=1e-11, atol=1e-13, output=[0.3]).state_at()
    back = quirk.State(end.position, end.orientation, -end.velocity, -end.angular_velocity)
    start = quirk.simulate(system, 0.3, rtol=1e-11, atol=1e-13, output=[0.3], initial_state=back).state_at()
    np.testing.assert_allclose(start.position, system.initial_state().position, atol=1e-6)


@pytest.mark.parametrize("seed", study(range(3), 1))
def test_momentum_of_free_mechanisms(seed):
    system, _ = mechanism(seed + 50)
    free = quirk.System([*system.bodies, *(c for c in system.constraints if quirk.GROUND not in (c.body_i, c.body_j))])
    free.assemble()
    result = quirk.simulate(free, 1.0, rtol=1e-11, atol=1e-13, output=0.2)
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-8)
