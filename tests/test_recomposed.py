"""Who is joined in a system, and systems with parts more or less."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body


def craft():
    """Three modules in a row, hinged, with a boom on a spring, and a probe that nothing holds."""
    at = {name: [x, 0, 0] for name, x in (("one", 0), ("two", 1), ("three", 2), ("boom", 3), ("probe", 9))}
    bodies = {name: Body.box(name, 1.0, [0.8, 0.8, 0.8], position=r) for name, r in at.items()}
    one, two, three, boom, _ = bodies.values()
    hinges = [quirk.Revolute("a", one, two, point=[0.5, 0, 0], axis=[0, 0, 1]),
              quirk.Revolute("b", two, three, point=[1.5, 0, 0], axis=[0, 0, 1])]  # fmt: skip
    return quirk.System([
        *bodies.values(), *hinges, quirk.Free("docking", three, boom),
        quirk.Spring("spring", three, boom, stiffness=5.0),
        quirk.Drive("drive", hinges[0], quirk.Motion.polynomial([0, 0, 0.1]), active=False),
        quirk.TorsionSpring("closer", hinges[1], stiffness=2.0),
        quirk.Damping("damping", translational=0.1),
    ])  # fmt: skip


class TestWhoIsJoined:
    def test_groups(self):
        system = craft()
        assert system.groups() == [["one", "two", "three"], ["boom"], ["probe"]]
        assert system.groups(forces=True) == [["one", "two", "three", "boom"], ["probe"]]
        system.deactivate("b")
        assert system.groups() == [["one", "two"], ["three"], ["boom"], ["probe"]]

    def test_orphans(self):
        system = craft()
        assert system.orphans() == ["probe"]
        system.deactivate("a")
        assert system.orphans() == ["one", "probe"]  # a field joins nothing, and the other hinge stays

    def test_the_ground_holds_but_joins_nothing(self):
        balls = [Body.sphere(name, 1.0, 0.1, position=[x, 0, 0]) for name, x in (("left", -1), ("right", 1))]
        pins = [quirk.Spherical(f"{b.name} pin", GROUND, b, point=b.position) for b in balls]
        system = quirk.System([*balls, *pins])
        assert system.groups() == [["left"], ["right"]]
        assert system.orphans() == []
        assert quirk.System([*balls, quirk.Spring("s", GROUND, balls[0], stiffness=1.0)]).orphans() == ["right"]

    def test_a_gear_joins_its_carrier(self):
        arm, sun, planet = (Body.sphere(name, 1.0, 0.1) for name in ("arm", "sun", "planet"))
        gear = quirk.Gear("gear", sun, planet, ratio=-2.0, axis=[0, 0, 1], carrier=arm)
        assert quirk.System([arm, sun, planet, gear]).groups() == [["arm", "sun", "planet"]]

    def test_a_plane_joins_nothing(self):
        bars = [quirk.planar.PlanarBody.bar(name, [x, 0], [x + 1, 0], 1.0) for name, x in (("p", 0), ("q", 1))]
        assert quirk.System(bars).orphans() == ["p", "q"]
        pin = quirk.planar.Revolute("pin", *bars, point_i=[0.5, 0], point_j=[-0.5, 0])
        assert quirk.System([*bars, pin]).groups() == [["p", "q"]]

    def test_two_large_groups_meet(self):
        """Joined in any order, all of a ring are one group."""
        rng = np.random.default_rng(2)
        bodies = [Body.sphere(f"{k}", 1.0, 0.1, position=[k, 0, 0]) for k in range(12)]
        links = [quirk.Distance(f"link {k}", bodies[k], bodies[k - 1]) for k in rng.permutation(12)]
        assert quirk.System([*bodies, *links]).groups() == [[f"{k}" for k in range(12)]]


class TestParts:
    def test_added_parts_leave_the_others_as_they_are(self):
        system = craft()
        system.deactivate("b")
        system.assemble(coordinates={"a": 0.3}, rates={"a": 1.0})
        tank = Body.sphere("tank", 3.0, 0.2, position=[0, 5, 0], velocity=[0, 1, 0])
        more = system.with_parts(tank, quirk.Distance("rope", tank, system["one"]),
                                 quirk.Distance("slack", tank, system["two"], active=False))  # fmt: skip
        assert [body.name for body in more.bodies] == ["one", "two", "three", "boom", "probe", "tank"]
        before, after = system.initial_state(), more.initial_state()
        for old, new in zip(before.parts, after.parts, strict=True):
            np.testing.assert_array_equal(new[:5], old)
        np.testing.assert_array_equal(after.velocity[5], [0, 1, 0])
        assert after.angles["a"][2] == pytest.approx(0.3)
        assert [more.is_active(name) for name in ("a", "b", "drive", "rope", "slack")] == [
            True,
            False,
            False,
            True,
            False,
        ]
        assert len(more["damping"].bodies) == 6
        assert "tank" not in system

    def test_planar_bodies_bring_their_plane(self):
        bar, other = (quirk.planar.PlanarBody.bar(name, [x, 0], [x + 1, 0], 1.0) for name, x in (("p", 0), ("q", 1)))
        system = quirk.System([bar]).with_parts(other)
        assert system.is_active("q in plane")
        assert [part.name for part in system.without("p")] == ["q", "q in plane"]
        with pytest.raises(quirk.InputError, match='"q in plane" belongs to Body "q"'):
            system.without("q in plane")

    def test_parts_taken_out(self):
        system = craft()
        system.deactivate("b")
        system.assemble(coordinates={"a": 0.3})
        less = system.without("probe", "spring")
        assert [part.name for part in less] == [part.name for part in system if part.name not in ("probe", "spring")]
        for old, new in zip(system.initial_state().parts, less.initial_state().parts, strict=True):
            np.testing.assert_array_equal(new, old[:4])
        assert (less.is_active("a"), less.is_active("b")) == (True, False)
        assert len(less["damping"].bodies) == 4
        back = less.with_parts(system["probe"])
        np.testing.assert_array_equal(back.initial_state().position, system.initial_state().position)

    def test_parts_that_others_need(self):
        system = craft()
        with pytest.raises(quirk.InputError, match='Revolute "a", Revolute "b", Drive "drive", TorsionSpring "closer" '
                           'requires Body "two"'):  # fmt: skip
            system.without("two")
        with pytest.raises(quirk.InputError, match='TorsionSpring "closer" requires Revolute "b"'):
            system.without("b")
        less = system.without("two", dependents=True)
        assert [part.name for part in less] == ["one", "three", "boom", "probe", "docking", "spring", "damping"]
        assert [part.name for part in system.without("b", "closer", "probe", system["a"], "drive")] == [
            "one", "two", "three", "boom", "docking", "spring", "damping"]  # fmt: skip

    def test_a_run_goes_on_with_a_part_less(self):
        """A spacecraft jettisons its boom: the others move on as they were."""
        system = craft()
        run = quirk.simulate(system, 1.0, initial_state=system.remove_disallowed_velocity())
        system.assemble(run.state_at())
        went = quirk.simulate(system.without("boom", dependents=True), 0.5)
        for name in ("one", "two", "three", "probe"):
            for quantity in ("position", "orientation", "velocity", "angular_velocity"):
                start, end = getattr(went[name], quantity)[0], getattr(run[name], quantity)[-1]
                np.testing.assert_allclose(start, end, atol=1e-12)

    def test_what_cannot_be_taken_out(self):
        system = craft()
        with pytest.raises(quirk.UnknownNameError, match='did you mean "probe"'):
            system.without("prob")
        with pytest.raises(quirk.InputError, match="at least one body"):
            system.without(*(body.name for body in system.bodies), dependents=True)
        with pytest.raises(quirk.InputError, match="dependents must be True or False"):
            system.without("probe", dependents="yes")
        with pytest.raises(quirk.InputError, match="names must be unique"):
            system.with_parts(Body.sphere("one", 1.0, 0.1))

    def test_internal_variables_stay(self):
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1])
        hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 0, 1])
        servo = quirk.Controller("servo", hinge, 1.0, kp=1.0, ki=1.0)
        ball = Body.sphere("ball", 1.0, 0.1)
        system = quirk.System([rod, hinge, servo, ball])
        state = system.initial_state()
        state.internal = {"servo": [0.4]}
        system.assemble(state)
        kept = system.initial_state().internal
        assert dict(system.without("ball").initial_state().internal) == kept
        assert not system.without("servo").initial_state().internal
