"""A state belongs to the bodies that it names, wherever it comes from and wherever it is given."""

import copy
import pickle

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
