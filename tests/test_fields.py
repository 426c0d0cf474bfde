"""Forces and energies on all bodies of a system, each by its own motion."""

import numpy as np
import pytest
from mechanisms import random_body

import quirk


def bodies():
    rng = np.random.default_rng(11)
    return [random_body(rng, name) for name in "abc"]


def lift(t, r, q, v, w):
    return np.cross(v, [0, 0, np.cos(t)]) - 0.1 * r


def twist(t, r, q, v, w):
    return -0.2 * w + 0.1 * q[1:]


def branching(t, r, q, v, w):
    return [1.0, 0.0, 0.0] if r[0] > 0 else [-1.0, float(t), 0.0]  # which machine code cannot be made of


@pytest.mark.parametrize("frame", ["inertial", "body"])
@pytest.mark.parametrize("force", [lift, branching, (1.0, -2.0, 3.0)], ids=["lift", "branching", "constant"])
def test_a_force_field_is_a_force_and_a_torque_on_each(force, frame):
    parts = bodies()
    field = quirk.ForceField("field", force=force, torque=twist, frame=frame)
    each = [quirk.Force(f"force on {b.name}", b, force, frame=frame) for b in parts]
    each += [quirk.Torque(f"torque on {b.name}", b, twist, frame=frame) for b in parts]
    one, other = (quirk.System([*parts, *forces]) for forces in ([field], each))
    state = one.initial_state()
    for solver in ("sparse", "dense"):
        got, want = (system.acceleration(state, 0.3, solver) for system in (one, other))
        np.testing.assert_allclose(got.linear, want.linear, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(got.angular, want.angular, rtol=1e-13, atol=1e-13)
    got, want = (quirk.simulate(system, 0.5, output=0.1) for system in (one, other))
    for part in ("position", "orientation"):
        # Both are the same motion, to the tolerance of the runs.
        np.testing.assert_allclose(getattr(got.state, part), getattr(want.state, part), atol=1e-8)
    for k, body in enumerate(parts):
        np.testing.assert_allclose(got["field"].force(end=k), want[f"force on {body.name}"].force(), atol=1e-7)
        np.testing.assert_allclose(got["field"].torque(end=k), want[f"torque on {body.name}"].torque(), atol=1e-7)


def test_steps_end_where_a_field_jumps():
    """Pushed with 2 N for half a second: each body gains 1 N s over its mass."""
    parts = bodies()
    push = quirk.ForceField("push", force=lambda t, r, q, v, w: [2.0 if t < 0.5 else 0.0, 0.0, 0.0])
    result = quirk.simulate(quirk.System([*parts, push]), 1.0, output=[1.0])
    for body in parts:
        gained = result[body.name].velocity[-1] - body.velocity
        np.testing.assert_allclose(gained, [1.0 / body.mass, 0, 0], atol=1e-9)


def test_a_force_field_of_some_bodies():
    a, b, c = bodies()
    field = quirk.ForceField("field", [a, c], force=[0, 0, 1.0])
    linear = quirk.System([a, b, c, field]).acceleration(quirk.System([a, b, c]).initial_state()).linear
    np.testing.assert_allclose(linear[:, 2], [1 / a.mass, 0, 1 / c.mass])


def test_a_field_of_all_bodies_acts_on_those_that_there_are():
    a, b, c = bodies()
    system = quirk.System([a, b, quirk.ForceField("field", force=lambda t, r, q, v, w: [0, 0, 1.0])])
    for changed in (system.with_parts(c), system.with_parts(c).without("a")):
        linear = changed.acceleration(changed.initial_state()).linear
        np.testing.assert_allclose(linear[:, 2], [1 / body.mass for body in changed.bodies], rtol=1e-12)


def well(t, r):
    return 3.0 * np.exp(-(r @ r)) * np.cos(t) + r[0] * r[1]


def test_a_potential_field_is_a_potential_of_each():
    parts = bodies()
    field = quirk.PotentialField("field", energy=well)
    each = [quirk.Potential(f"of {b.name}", b, lambda t, r, R: well(t, r)) for b in parts]
    one, other = (quirk.System([*parts, *forces]) for forces in ([field], each))
    state, h = one.initial_state(), 1e-5
    got, want = (system.acceleration(state, 0.7) for system in (one, other))
    np.testing.assert_allclose(got.linear, want.linear, rtol=1e-13)
    np.testing.assert_allclose(got.angular, want.angular, atol=1e-13)
    for row, body in enumerate(parts):
        slope = [(well(0.7, body.position + h * e) - well(0.7, body.position - h * e)) / (2 * h) for e in np.eye(3)]
        # Central differences: h^2 times third derivatives.
        np.testing.assert_allclose(body.mass * got.linear[row], -np.array(slope), atol=1e-8)


def test_a_constant_potential_field_keeps_energy():
    field = quirk.PotentialField("field", energy=lambda t, r: 2.0 * np.sqrt(1.0 + r @ r))
    result = quirk.simulate(quirk.System([*bodies(), field]), 3.0, output=0.1)
    assert result.conservative
    assert result.energy.drift < 1e-8
    assert np.ptp(result.energy.potential_of["field"]) > 0.1


@pytest.mark.parametrize(("made", "said"), [
    (lambda a: quirk.ForceField("field", a), "needs force, torque or both"),
    (lambda a: quirk.ForceField("field", a, force=[1, 2]), "force must have shape"),
    (lambda a: quirk.ForceField("field", a, force=[1, 2, 3], frame="i"), "frame"),
    (lambda a: quirk.ForceField("field", [], force=[1, 2, 3]), "bodies must be at least one body"),
    (lambda a: quirk.ForceField("field", [a, a], force=[1, 2, 3]), "bodies must differ"),
    (lambda a: quirk.PotentialField("field", a, energy=3.0), "energy must be a function that returns J"),
    (lambda a: quirk.PotentialField("field", quirk.GROUND, energy=well), "bodies must be quirk.Body objects"),
    (lambda a: quirk.Potential("field", 3, lambda t, r, R: 0.0), "body must be a quirk.Body or quirk.GROUND; got 3"),
])  # fmt: skip
def test_what_is_no_field(made, said):
    with pytest.raises(quirk.InputError, match=said):
        made(bodies()[0])


def test_functions_that_return_the_wrong_shape():
    a, *_ = bodies()
    system = quirk.System([a, quirk.ForceField("field", force=lambda t, r, q, v, w: v[:2])])
    with pytest.raises(quirk.InputError, match=r'ForceField "field".*force function returns'):
        system.acceleration(system.initial_state())
