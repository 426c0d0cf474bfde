"""Systems written as URDF: the same motion when they are read again, and what stands in the way."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from mechanisms import random_body, random_unit

import quirk
from quirk import importers

DATA = Path(__file__).parent / "data" / "import"


def exported(system, folder):
    """The system as read again, with the warnings on the way out and what was left out on the way in."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        importers.to_urdf(system, folder / "out.urdf")
    imported = importers.load_urdf(folder / "out.urdf", gravity=system.gravity)
    return imported.system, [str(one.message) for one in caught], imported.left_out


def assert_same_motion(one, two, duration=0.2):
    runs = [quirk.simulate(system, duration, output=duration / 2, rtol=1e-11) for system in (one, two)]
    for body in one.bodies:
        for quantity in ("position", "velocity", "acceleration"):
            a, b = (getattr(run[body.name], quantity) for run in runs)
            assert np.abs(a - b).max() <= 1e-9 * np.abs(a).max() + 1e-12, (body, quantity)


def test_the_arm_comes_back_the_same(tmp_path):
    system = importers.load_urdf(DATA / "arm.urdf", gravity=[1.0, 0, -9.81]).system
    again, warned, left_out = exported(system, tmp_path)
    assert [part.name for part in again] == [part.name for part in system]
    assert left_out == () and len(warned) == 1 and warned[0].endswith("gravity: 1.0 0.0 -9.81")
    assert_same_motion(system, again)
    for part in system:
        if isinstance(part, quirk.Stop):
            assert [gap.numbers for gap in again[part.name].gaps] == [gap.numbers for gap in part.gaps]
    for body in system.bodies:
        for mine, other in zip(body.shapes, again[body.name].shapes, strict=True):
            assert mine.color == other.color
            assert np.allclose(np.concatenate(mine.faces()).mean(axis=0), np.concatenate(other.faces()).mean(axis=0))


def random_tree(rng):
    """Joints of all kinds that URDF has, in both directions, from frames that stand anywhere; one body floats."""
    bodies = [random_body(rng, f"b{k}") for k in range(7)]
    bodies = [quirk.Body(b.name, b.mass, b.inertia, position=b.position, orientation=b.orientation) for b in bodies]
    place = {"point": rng.normal(size=3), "axis": random_unit(rng)}
    joints = [
        quirk.Revolute("hinge", bodies[0], quirk.GROUND, **place),
        quirk.Prismatic("slide", bodies[1], bodies[0], **place),
        quirk.Fixed("weld", bodies[1], bodies[2]),
        quirk.Planar("table", bodies[2], bodies[3], **place),
        quirk.Revolute("elbow", bodies[1], bodies[4], point=rng.normal(size=3), axis=random_unit(rng)),
        quirk.Free("air", bodies[4], bodies[5]),
    ]
    forces = [
        quirk.JointFriction("slide friction", joints[1], viscous=0.3),
        quirk.JointFriction("elbow friction", joints[4], viscous=0.2, coulomb=0.1, sticking=True),
    ]
    follows = quirk.Coupling("elbow mimic", joints[0], joints[4], coefficients=[0, -0.75])
    return quirk.System([*bodies, *joints, *forces, follows], gravity=[0, 0, -3.0])


@pytest.mark.parametrize("seed", range(2))
def test_trees_of_all_joints(tmp_path, seed):
    system = random_tree(np.random.default_rng(seed))
    again, warned, _ = exported(system, tmp_path)
    assert "the start" not in warned[0]
    merged = {"b1", "b2"}  # which one joint fixes to each other
    mobilities = [one.mobility().degrees_of_freedom for one in (system, again)]
    assert mobilities[0] == mobilities[1]
    state, other = system.initial_state(), again.initial_state()
    found, expected = again.acceleration(other), system.acceleration(state)
    for k, body in enumerate(system.bodies):
        if body.name in merged:
            continue
        j = again.bodies.index(again[body.name])
        assert np.allclose(other.position[j], state.position[k], atol=1e-12)
        assert np.allclose(found.linear[j], expected.linear[k], atol=1e-9 * np.abs(expected.linear).max())


def chain(*more, **options):
    a = quirk.Body.box("a", mass=1.0, size=[0.1, 0.2, 0.3])
    b = quirk.Body.ellipsoid("b", mass=1.0, semi_axes=[0.1, 0.2, 0.3], position=[1, 0, 0])
    one = quirk.Revolute("one", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 0, 1])
    two = quirk.Revolute("two", a, b, point=[1, 0, 0], axis=[0, 0, 1])
    return quirk.System([a, b, one, two, *(make(a, b, one, two) for make in more)], **options)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (lambda a, b, one, two: quirk.Revolute("three", b, quirk.GROUND, point=[1, 0, 0], axis=[0, 0, 1]),
         'Revolute "two" closes a loop with "one", "three"; a URDF must be a tree'),
        (lambda a, b, one, two: quirk.Spherical("ball", b, quirk.Body("c", 1.0, [1, 1, 1]), point=[1, 0, 0]), "not in the system"),
        (lambda a, b, one, two: quirk.Distance("rod", b, quirk.GROUND), 'Distance "rod" cannot be exported'),
        (lambda a, b, one, two: quirk.Coupling("cam", one, two, coefficients=[0, 1, 2]), "only supports linear relations"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_named(tmp_path, more, message):
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        importers.to_urdf(chain(more), tmp_path / "out.urdf")
    assert not list(tmp_path.iterdir())


def test_another_joint_is_named(tmp_path):
    body = quirk.Body.box("a", mass=1.0, size=[0.1, 0.2, 0.3])
    ball = quirk.Spherical("ball", quirk.GROUND, body, point=[1, 0, 0])
    with pytest.raises(quirk.InputError, match='Spherical "ball" cannot be exported: URDF only supports'):
        importers.to_urdf(quirk.System([body, ball]), tmp_path / "out.urdf")


def test_what_urdf_does_not_have_is_listed(tmp_path):
    system = chain(
        lambda a, b, one, two: quirk.TorsionSpring("spring", one, stiffness=1.0),
        lambda a, b, one, two: quirk.Spherical("open", b, quirk.GROUND, point=[1, 0, 0], active=False),
        lambda a, b, one, two: quirk.Stop("stop", two, upper=0.4),
        gravity=[0, 0, -1],
    )
    system.assemble(coordinates={"one": 0.3}, rates={"two": 0.2})
    again, (warned,), _ = exported(system, tmp_path)
    for text in ('TorsionSpring "spring"', 'Spherical "open"', "the initial state", "gravity", "Ellipsoid of Body"):
        assert text in warned, text
    assert again["two limits"].gaps[0].numbers == (-1.0, 0.4)


def test_names_that_xml_cannot_hold(tmp_path):
    body = quirk.Body("a\x00b", 1.0, [1, 1, 1])
    with pytest.raises(quirk.InputError, match="characters that XML does not allow"):
        importers.to_urdf(quirk.System([body]), tmp_path / "out.urdf")
    odd = quirk.Body('<a & "b">', 1.0, [1, 1, 1], position=[1, 2, 3])
    again, _, _ = exported(quirk.System([odd]), tmp_path)
    assert again.bodies[0].name == odd.name and np.allclose(again.bodies[0].position, [1, 2, 3])


def test_arguments_are_checked(tmp_path):
    with pytest.raises(quirk.InputError, match="system must be a"):
        importers.to_urdf(3, tmp_path / "out.urdf")
    with pytest.raises(quirk.InputError, match=r"path must end in \.urdf"):
        importers.to_urdf(chain(), tmp_path / "out.xml")
