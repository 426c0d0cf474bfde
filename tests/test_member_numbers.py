"""Numbers of members of a batch that are filled in equal those of constructed members to the last bit."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Batch, Body
from quirk.batches import member_numbers
from quirk.batches.lanes.plan import planned
from quirk.batches.variation import checked_variation

COUNT = 30


def random_body(rng, name, position):
    mass, initial = rng.uniform(0.5, 2.0), {"position": position}
    kind = rng.integers(6)
    if kind == 0:
        return Body(name, mass, rng.uniform(0.1, 0.15, 3), **initial)
    if kind == 1:
        return Body.box(name, mass, rng.uniform(0.1, 1.0, 3), **initial)
    if kind == 2:
        return Body.cylinder(name, mass, *rng.uniform(0.1, 1.0, 2), axis=rng.normal(size=3), **initial)
    if kind == 3:
        return Body.sphere(name, mass, rng.uniform(0.1, 1.0), **initial)
    if kind == 4:
        return Body.ellipsoid(name, mass, rng.uniform(0.1, 1.0, 3), **initial)
    ahead = rng.normal(size=3)
    return Body.bar(name, position - 0.5 * ahead, position + 0.5 * ahead, mass)


def random_force(rng, name, joint, before, body):
    """Return a force element at a joint or at its second body; none of them depends on a mass."""
    points = {"point_i": rng.normal(size=3), "point_j": rng.normal(size=3)}
    kind = rng.integers(8)
    if kind == 0:
        return quirk.Spring(name, before, body, **points, stiffness=rng.uniform(1, 5), rest_length=1.0)
    if kind == 1:
        return quirk.Damper(name, before, body, **points, damping=rng.uniform(1, 5))
    if kind == 2:
        return quirk.TorsionSpring(name, joint, stiffness=rng.uniform(1, 5), damping=0.1)
    if kind == 3:
        return quirk.JointTorque(name, joint, rng.normal())
    if kind == 4:
        return quirk.Force(name, body, rng.normal(size=3), point=rng.normal(size=3))
    if kind == 5:
        return quirk.Torque(name, body, rng.normal(size=3))
    if kind == 6:
        return quirk.Controller(name, joint, rng.normal(), kp=2.0, kd=0.3)
    return quirk.JointFriction(name, joint, viscous=0.1, coulomb=0.2, creep=0.01)


def random_system(rng):
    """Return a chain of two to four bodies on hinges, with force elements, and parameters that differ in members."""
    parts, vary, before, at = [], {}, GROUND, np.zeros(3)
    for k in range(rng.integers(2, 5)):
        body = random_body(rng, f"body {k}", at + rng.normal(size=3))
        hinge = quirk.Revolute(f"hinge {k}", before, body, point=at, axis=rng.normal(size=3))
        parts += [body, hinge]
        forces = [random_force(rng, f"force {k}{m}", hinge, before, body) for m in range(rng.integers(1, 4))]
        parts += forces
        if k == 0 or rng.uniform() < 0.7:
            vary[body.name, "mass"] = rng.uniform(0.3, 3.0, COUNT)
        for force in forces:
            if isinstance(force, quirk.TorsionSpring) and rng.uniform() < 0.5:
                vary[force.name, "stiffness"] = rng.uniform(1.0, 5.0, COUNT)
        before, at = body, body.position + rng.normal(size=3)
    return quirk.System(parts, gravity=[0.5, 0.2, -9.81]), vary


def numbers_of(system, vary, monkeypatch, *, fill=True):
    """Return the numbers of all members, and how many members have been constructed."""
    solver, made = system.plant.solver(), []
    plan = planned(system.model, solver, system.initial_state(), 0.0, True)
    construct = member_numbers._try_construct
    with monkeypatch.context() as changed:
        changed.setattr(member_numbers, "_try_construct", lambda *given: made.append(given[-1]) or construct(*given))
        if not fill:
            changed.setattr(member_numbers, "_try_fill", lambda *given: False)
        numbers = member_numbers.member_numbers(system, solver, plan, checked_variation(system, COUNT, vary), COUNT)
    return numbers, len(made)


@pytest.mark.parametrize("seed", study(range(20), 5))
def test_members_with_forces_are_filled_in(seed, monkeypatch):
    system, vary = random_system(np.random.default_rng(seed))
    filled, some = numbers_of(system, vary, monkeypatch)
    constructed, every = numbers_of(system, vary, monkeypatch, fill=False)
    assert filled.equals(constructed)
    assert some <= 2 * len(vary) + 2 and every == COUNT


def reads_mass(kind):
    """Return a system with a force element whose law depends on the mass of body "outer"."""
    inner = Body.box("inner", 1.0, [1, 0.1, 0.2], position=[0.5, 0, 0])
    outer = Body("outer", 2.0, [0.2, 0.3, 0.4], position=[1.5, 0, 0])
    hinges = [quirk.Revolute("first", GROUND, inner, point=[0, 0, 0], axis="y")]
    hinges.append(quirk.Revolute("second", inner, outer, point=[1, 0, 0], axis="y"))
    forces = {
        "field": lambda: quirk.UniformField("field", acceleration=[0, 0.1, -3.0]),
        "attraction": lambda: quirk.PointGravity("attraction", GROUND, outer, mu=3.0, point=[0, 0, 5]),
        "center": lambda: quirk.PointGravity("center", outer, inner),
        "compensation": lambda: quirk.GravityCompensation("compensation", hinges, gravity=[0, 0, -9.81]),
    }
    return quirk.System([inner, outer, *hinges, forces[kind]()], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("kind", ["field", "attraction", "center", "compensation"])
def test_laws_that_depend_on_a_mass_have_that_of_the_member(kind, monkeypatch):
    system, vary = reads_mass(kind), {("outer", "mass"): np.linspace(1.0, 3.0, COUNT)}
    numbers, _ = numbers_of(system, vary, monkeypatch)
    constructed, _ = numbers_of(system, vary, monkeypatch, fill=False)
    assert numbers.equals(constructed) and not np.array_equal(numbers.inputs[0], numbers.inputs[-1])
    options = {"method": "RK4", "step": 0.01}
    batch = Batch(system, COUNT, vary=vary, threads=1, **options)
    assert "lanes" in batch.summary()
    batch.advance(0.2)
    for k in (0, COUNT // 2, COUNT - 1):
        single = quirk.simulate(batch.member(k), 0.2, output=[0.2], **options).state_at(-1)
        np.testing.assert_allclose(batch.state.angular_velocity[k], single.angular_velocity, rtol=0, atol=1e-12)


def test_a_mass_that_is_no_mass_is_refused():
    system, _ = random_system(np.random.default_rng(0))
    masses = np.linspace(1.0, 2.0, COUNT)
    masses[7] = -1.0
    with pytest.raises(quirk.InputError, match="mass must be"):
        Batch(system, COUNT, vary={("body 0", "mass"): masses}, method="RK4", step=0.01)
