"""A state belongs to the bodies that it names, wherever it comes from and wherever it is given."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from mechanisms import chain

import quirk
from quirk import planar


def hanging(*names, mass=1.0):
    """Rods that hang on each other in the order of their names, in the system in a given order."""
    rods, hinges = chain(sorted(names), mass=mass)
    return quirk.System([*sorted(rods, key=lambda rod: names.index(rod.name)), *hinges], gravity=[0, 0, -9.81])


SYSTEM, TURNED = hanging("a", "b"), hanging("b", "a")


@pytest.fixture(scope="module")
def run():
    return quirk.simulate(SYSTEM, 0.2, output=0.1)


SOURCES = {
    "initial": lambda run, path: SYSTEM.initial_state(),
    "assembled": lambda run, path: hanging("a", "b").assemble(coordinates={"hinge a": 0.1}),
    "velocity removed": lambda run, path: SYSTEM.remove_disallowed_velocity(),
    "equilibrium": lambda run, path: SYSTEM.equilibrium(),
    "row of a result": lambda run, path: run.state_at(1),
    "between outputs": lambda run, path: run.at(0.05).state_at(0),
    "copy": lambda run, path: copy.deepcopy(run.state_at().copy()),
    "pickled": lambda run, path: pickle.loads(pickle.dumps(run.state_at())),
    "loaded": lambda run, path: quirk.Result.load(run.save(path / "run.nc")).state_at(),
    "edited system": lambda run, path: SYSTEM.with_parts(quirk.Damping("drag", translational=1.0)).initial_state(),
}  # fmt: skip

ENTRIES = {
    "simulate": lambda s, state: quirk.simulate(s, 0.1, initial_state=state),
    "assemble": lambda s, state: s.assemble(state),
    "acceleration": lambda s, state: s.acceleration(state),
    "constraint_forces": lambda s, state: s.constraint_forces(state),
    "joint_loads": lambda s, state: s.joint_loads(state),
    "derivatives": lambda s, state: s.derivatives(state),
    "constraint_derivatives": lambda s, state: s.constraint_derivatives(state),
    "constraint_rows": lambda s, state: s.constraint_rows(state),
    "mobility": lambda s, state: s.mobility(state),
    "linearize": lambda s, state: s.linearize(state),
    "modes": lambda s, state: s.modes(state),
    "equilibrium": lambda s, state: s.equilibrium(state),
    "virtual_displacements": lambda s, state: s.virtual_displacements(state),
    "virtual_work": lambda s, state: s.virtual_work(state, 0.0, np.zeros((2, 6))),
    "joint_space": lambda s, state: s.joint_space(state, coordinates=["hinge a", "hinge b"]),
    "remove_disallowed_velocity": lambda s, state: s.remove_disallowed_velocity(state),
    "root_locus": lambda s, state: quirk.root_locus(lambda k: (s, state), [1.0, 2.0]),
    "equilibrium_path": lambda s, state: quirk.equilibrium_path(lambda k: (s, state), 0.0, 1.0),
}


@pytest.mark.parametrize("source", SOURCES)
def test_states_know_their_bodies(source, run, tmp_path):
    state = SOURCES[source](run, tmp_path)
    assert state.bodies == ("a", "b")
    quirk.simulate(
        hanging("a", "b", mass=2.0), 0.1, initial_state=state, output=0.1
    )  # another system of the same bodies
    with pytest.raises(quirk.InputError, match=r'another system: it has "a", "b", the system "b", "a"'):
        quirk.simulate(TURNED, 0.1, initial_state=state)


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_refuses_them(entry):
    with pytest.raises(quirk.InputError, match="another system"):
        ENTRIES[entry](TURNED, SYSTEM.initial_state())


def test_other_names_are_named():
    state = SYSTEM.initial_state()
    with pytest.raises(quirk.InputError, match='"c" is not in the state, "a" is not in the system'):
        hanging("b", "c").acceleration(state)
    with pytest.raises(quirk.InputError, match='"c" is not in the state; take'):
        hanging("a", "b", "c").acceleration(state)
    many = hanging(*"bcdefghi").initial_state()
    with pytest.raises(quirk.InputError, match=r'"b", "c", "d", "e", "f", and 3 more is not'):
        hanging("a").acceleration(many)


def test_bodies_of_a_plane():
    plane = planar.Plane()
    a, b = (planar.PlanarBody(name, mass=1.0, inertia=0.1, plane=plane) for name in ("a", "b"))
    state = quirk.System([a, b]).initial_state()
    assert state.bodies == ("a", "b")
    with pytest.raises(quirk.InputError, match="another system"):
        quirk.System([b, a]).acceleration(state)


def test_states_made_by_hand():
    """Without names, rows are in the order of the system; names that are given are checked."""
    start = SYSTEM.initial_state()
    bare = quirk.State(*start.parts)
    assert bare.bodies is None
    same = SYSTEM.acceleration(bare).linear
    np.testing.assert_array_equal(same, SYSTEM.acceleration(start).linear)
    np.testing.assert_array_equal(same, SYSTEM.acceleration(quirk.State(*start.parts, bodies=["a", "b"])).linear)
    TURNED.constraint_rows(bare)
    for bodies in ("ab", ["a"], ["a", "a"], [1, 2], 3):
        with pytest.raises(quirk.InputError, match="State: "):
            SYSTEM.acceleration(quirk.State(*start.parts, bodies=bodies))
    del bare.__dict__["bodies"]  # as of a state that an older version has pickled
    np.testing.assert_array_equal(same, SYSTEM.acceleration(bare).linear)


def test_an_event_gets_a_state_with_names():
    seen = []
    event = quirk.Event("look", "time", level=0.05, action=[lambda t, state: seen.append(state.bodies)])
    quirk.simulate(SYSTEM, 0.1, events=[event])
    assert seen == [("a", "b")]


def following():
    """A driven puck whose driver follows another motion from 0.4 s on, and no sooner."""
    puck = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[-0.5, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, puck, axis="x")
    motor = quirk.Drive("motor", rail, quirk.Motion.constant_rate(-0.5))
    action = quirk.follow("motor", quirk.Motion.polynomial([-0.16, -0.1]))
    return [puck, rail, motor, quirk.Event("slower", "time", level=0.4, action=action)]


def winding():
    """As `following`, of a distance."""
    load = quirk.Body.box("load", 1.0, [0.1, 0.1, 0.1], position=[0, 0, -2], velocity=[0, 0, 0.5])
    winch = quirk.DistanceDrive("winch", quirk.GROUND, load, quirk.Motion.polynomial([2.0, -0.5]))
    action = quirk.follow("winch", quirk.Motion.polynomial([1.88, -0.2]))
    return [load, winch, quirk.Event("slower", "time", level=0.4, action=action)]


def hardening():
    """A puck on a spring that another spring replaces."""
    puck = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[1.5, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, puck, axis="x")
    soft, hard = (
        quirk.Spring("spring", quirk.GROUND, puck, point_i=[-1, 0, 0], stiffness=k, damping=0.2, rest_length=1.0)
        for k in (5.0, 40.0)
    )
    return [puck, rail, soft, quirk.Event("harder", "time", level=0.4, action=quirk.replace("spring", hard))]


def latching():
    """Two pucks that an event holds where they are."""
    pucks = [quirk.Body.box(f"puck {v}", 1.0, [0.1, 0.1, 0.1], position=[0, v, 0], velocity=[v, 0, 0]) for v in (1, 2)]
    rails = [quirk.Prismatic(f"rail {k}", quirk.GROUND, puck, axis="x") for k, puck in enumerate(pucks)]
    latch = quirk.Fixed("latch", *pucks, active=False)
    return [*pucks, *rails, latch, quirk.Event("meet", "time", level=0.4, action=quirk.enable(latch, keep_offset=True))]


REPLACING = [following, winding, hardening, latching]


@pytest.mark.parametrize("parts", REPLACING)
def test_replaced_parts_in_a_system_made_anew(parts, tmp_path):
    """The run goes on from the state after the event as it would have without a break."""
    whole = quirk.simulate(quirk.System(parts()), 1.0, output=0.1)
    state = quirk.simulate(quirk.System(parts()), 0.5, output=0.1).state_at()
    assert state.replaced
    options = {"initial_state": state, "start": 0.5, "output": 0.1}
    found = [
        quirk.simulate(quirk.System(parts()), 0.5, **options),
        quirk.simulate(quirk.System(parts()), 0.5, **options | {"initial_state": pickle.loads(pickle.dumps(state))}),
        *(quirk.simulate(quirk.System(parts()), 0.5, **options, checkpoint=tmp_path / "run") for _ in range(2)),
    ]
    found[0].save(tmp_path / "result.nc")
    for result in (*found, quirk.Result.load(tmp_path / "result.nc")):
        for one, other in zip(result.state.parts, whole.state.parts, strict=True):
            np.testing.assert_allclose(one[-1], other[-1], atol=1e-9)
    for system in (quirk.System(parts()), whole.system):
        acceleration = system.acceleration(state, 0.5).linear
        np.testing.assert_allclose(acceleration, found[0].segments[0].dynamics.linear[0], atol=1e-12)


@pytest.mark.parametrize("parts", REPLACING)
def test_runs_are_restored_after_parts_were_replaced(parts):
    whole = quirk.simulate(quirk.System(parts()), 1.0, output=0.1)
    run = quirk.Run(quirk.System(parts()))
    while run.time < 0.5:
        run.advance_to(0.5)
    saved = run.save()
    for again in (saved, pickle.loads(pickle.dumps(saved))):
        other = quirk.Run(quirk.System(parts()))
        other.restore(again)
        other.advance_to(1.0)
        np.testing.assert_allclose(other.state.position, whole.state.position[-1], atol=1e-9)


def test_replaced_parts_that_do_not_fit():
    state = quirk.simulate(quirk.System(hardening()), 0.5, output=0.1).state_at()
    puck, rail, *_ = hardening()
    with pytest.raises(quirk.InputError, match=r'State: replaced\["spring"\]: .* has no part of this name to replace'):
        quirk.simulate(quirk.System([puck, rail]), 0.5, initial_state=state, start=0.5)
    with pytest.raises(quirk.InputError, match="cannot be made again for this one: start from its own system"):
        quirk.System([puck, quirk.Prismatic("spring", quirk.GROUND, puck, axis="x")]).acceleration(state)


def test_replaced_parts_of_no_event_in_a_checkpoint(tmp_path):
    parts = hardening()
    state = quirk.simulate(quirk.System(parts), 0.5, output=0.1).state_at()
    without = quirk.System(parts[:-1])
    with pytest.raises(quirk.InputError, match=r'Spring "spring" is not .* and no action of an event of this run'):
        quirk.simulate(without, 0.5, initial_state=state, start=0.5, output=0.1, checkpoint=tmp_path / "run")


def test_states_without_names_keep_what_events_have_replaced():
    parts = hardening()
    state = quirk.simulate(quirk.System(parts), 0.5, output=0.1).state_at()
    system = quirk.System(parts)
    named, bare = (system.acceleration(one, 0.5).linear for one in (state, replace(state, bodies=None)))
    np.testing.assert_array_equal(named, bare)
    assert replace(state, bodies=None).bodies is None
