"""Mobility, joint coordinates, constraints switched on and off, health along a run, named frames."""

import time

import numpy as np
import pytest
from mechanisms import closed_loop, random_system

import quirk
from benchmarks.references import build, load
from quirk import GROUND, Body, Motion, rotation

G = [0, 0, -9.81]


def door():
    leaf = Body.box("leaf", 20.0, [0.9, 0.04, 2.0], position=[0.45, 0, 1.0])
    hinges = [
        quirk.Revolute(name, GROUND, leaf, point=[0, 0, height], axis=[0, 0, 1])
        for name, height in (("lower", 0.3), ("upper", 1.7))
    ]
    return quirk.System([leaf, *hinges], gravity=G)


def four_bar():
    corners = [[0, 0, 0], [0, 0, 1.0], [2.0, 0, 1.5], [2.0, 0, 0]]
    rods, hinges = closed_loop(corners, ("crank", "coupler", "rocker"), "abcd", thickness=0.02)
    return quirk.System([*rods, *hinges], gravity=G)


class TestMobility:
    def test_a_door_on_two_hinges(self):
        report = door().mobility()
        assert (report.degrees_of_freedom, report.rows, report.rank, report.gruebler) == (1, 10, 5, -4)
        assert len(report.redundant) == 5
        assert all(label.startswith("upper: ") for label in report.redundant)
        assert report.redundant_constraints == report.shared == ["lower", "upper"]
        assert {x for load in report.loads.values() for x in (load.force, load.torque)} == {"unique only in sum"}
        # The one motion left: about the hinges' axis.
        linear, angular = report.null_motions[0, 0, :3], report.null_motions[0, 0, 3:]
        np.testing.assert_allclose(angular[:2], 0, atol=1e-12)
        np.testing.assert_allclose(linear, np.cross(angular, [0.45, 0, 0]), atol=1e-12)
        assert "degrees of freedom: 1 = 6 x 1 - rank 5 of 10 rows" in str(report)

    def test_loops(self):
        report = build(load("bricard")).mobility()
        assert (report.degrees_of_freedom, report.rank, report.gruebler, len(report.redundant)) == (1, 29, 0, 1)
        assert {load.force for load in report.loads.values()} == {"indeterminate"}
        planar = four_bar().mobility()
        assert (planar.degrees_of_freedom, planar.rank, planar.gruebler) == (1, 17, -2)
        # Forces in the plane are unique; across it, and about axes in it, the bars share.
        assert build(load("slider_crank3d_driven")).mobility().degrees_of_freedom == 0

    @pytest.mark.parametrize("seed", range(3))
    def test_against_the_rows(self, seed):
        system = random_system(np.random.default_rng(seed), bodies=4, loops=1)
        state, report = system.initial_state(), system.mobility()
        rows = system.constraint_rows(state)
        A = rows.A.reshape(-1, 4, 7)
        T = rotation.T_matrix(state.orientation)
        over_omega = np.concatenate([A[..., :3], 0.25 * np.einsum("mni,nji->mnj", A[..., 3:], T)], axis=2)
        assert report.rank == np.linalg.matrix_rank(over_omega.reshape(len(rows.A), -1), tol=1e-9)
        assert report.null_motions.shape == (report.degrees_of_freedom, 4, 6)
        np.testing.assert_allclose(np.einsum("mnk,fnk->mf", over_omega, report.null_motions), 0, atol=1e-9)

    @pytest.mark.parametrize("seed", range(3))
    def test_null_motions_are_orthonormal_in_the_mass_metric(self, seed):
        system = random_system(np.random.default_rng(10 + seed), bodies=5, loops=1)
        motions = system.mobility().null_motions
        mass, inertia = system.model.mass, system.model.inertia
        products = np.einsum("n,anc,bnc->ab", mass, motions[..., :3], motions[..., :3])
        products += np.einsum("anc,ncd,bnd->ab", motions[..., 3:], inertia, motions[..., 3:])
        np.testing.assert_allclose(products, np.eye(len(motions)), atol=1e-10)
        other = system.virtual_displacements().reshape(len(motions), -1)
        assert np.linalg.matrix_rank(np.concatenate([motions.reshape(len(motions), -1), other]), 1e-9) == len(motions)

    def test_many_planar_bodies(self):
        """In seconds of a processor: rows of relations evaluated in Python, again and again, would take many."""
        bars = [quirk.planar.PlanarBody.bar(f"bar {k}", [k, 0], [k + 1, 0], mass=1.0) for k in range(85)]
        ends = zip([GROUND, *bars], bars, strict=False)
        pins = [quirk.planar.Revolute(f"pin {k}", i, j, point=[k, 0]) for k, (i, j) in enumerate(ends)]
        system = quirk.System([*bars, *pins])
        system.assemble()  # loads machine code
        began = time.process_time()
        assert system.mobility().degrees_of_freedom == 85
        assert time.process_time() - began < 2.0

    def test_a_system_without_constraints(self):
        report = quirk.System([Body.sphere("ball", 1.0, 0.1)]).mobility()
        assert (report.degrees_of_freedom, report.rank, report.redundant) == (6, 0, [])
        assert "all joint loads are unique" in str(report)

    def test_results_flag_what_is_not_unique(self):
        result = quirk.simulate(door(), 0.1)
        assert result["upper"].unique == quirk.analysis.mobility.Uniqueness("unique only in sum", "unique only in sum")
        assert "not unique, shared by least squares: lower, upper" in result.summary()
        total = result["lower"].force() + result["upper"].force()
        np.testing.assert_allclose(total, np.tile([0, 0, 20 * 9.81], (len(total), 1)), atol=1e-9)


class TestJointCoordinates:
    def test_a_loop_is_closed(self):
        system = four_bar()
        state = system.assemble(coordinates={"a": 0.7}, rates={"a": 2.0})
        result = quirk.simulate(system, 1e-6, initial_state=state, step=1e-6, method="RK4")
        assert result["a"].rotation[0, 2] == pytest.approx(0.7, abs=1e-12)
        assert result["a"].angular_velocity[0, 2] == pytest.approx(2.0, abs=1e-12)
        rows = system.constraint_rows(state)
        assert np.abs(rows.phi).max() < 1e-12
        assert np.abs(rows.phi_dot).max() < 1e-12

    def test_several_coordinates_and_large_angles(self):
        body = Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
        tip = Body.box("tip", 1.0, [0.5, 0.1, 0.1], position=[1.25, 0, 0])
        ball = quirk.Spherical("ball", GROUND, body, point=[0, 0, 0])
        sleeve = quirk.Cylindrical("sleeve", body, tip, point=[1, 0, 0], axis=[1, 0, 0])
        system = quirk.System([body, tip, ball, sleeve])
        want = {"ball": {"rotation x": 0.4, "rotation y": -0.3, "rotation z": 1.2},
                "sleeve": {"rotation": 2.9, "translation": 0.3}}  # fmt: skip
        system.assemble(coordinates=want, rates={"sleeve": {"translation": -0.5}})
        result = quirk.simulate(system, 1e-6, step=1e-6, method="RK4")
        np.testing.assert_allclose(result["ball"].rotation[0], [0.4, -0.3, 1.2], atol=1e-10)
        assert result["sleeve"].rotation[0, 2] == pytest.approx(2.9, abs=1e-10)
        assert result["sleeve"].displacement[0, 2] == pytest.approx(0.3, abs=1e-10)
        assert result["sleeve"].velocity[0, 2] == pytest.approx(-0.5, abs=1e-10)

    def test_a_coordinate_that_a_driver_prescribes_may_be_given(self):
        arm = Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
        hinge = quirk.Revolute("hinge", GROUND, arm, point=[0, 0, 0], axis="z")
        system = quirk.System([arm, hinge, quirk.Drive("motor", hinge, quirk.Motion.polynomial([0.3, 1.0]))])
        state = system.assemble(coordinates={"hinge": 0.3})
        np.testing.assert_allclose(state.position[0], [0.5 * np.cos(0.3), 0.5 * np.sin(0.3), 0], atol=1e-12)
        np.testing.assert_allclose(state.angular_velocity[0], [0, 0, 1.0], atol=1e-12)
        with pytest.raises(quirk.AssemblyError, match=r'hinge rotation z = 0\.2 cannot be reached.*Drive "motor"'):
            system.assemble(coordinates={"hinge": 0.2})

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"coordinates": {"d": 3.0}}, quirk.AssemblyError, "d rotation z = 3 cannot be reached"),
            ({"coordinates": {"q": 1}}, quirk.UnknownNameError, 'no object is named "q"'),
            ({"coordinates": {"a": "x"}}, quirk.InputError, "must be a number"),
            ({"coordinates": {"crank": 1}}, quirk.InputError, "is not a joint"),
            ({"coordinates": [1]}, quirk.InputError, "must be a dict"),
            ({"rates": {"a": 1.0, "d": 5.0}}, quirk.AssemblyError, "contradict each other"),
            ({"coordinates": {"a": {"turn": 1}}}, quirk.InputError, "coordinate must be"),
        ],
    )
    def test_errors(self, options, error, message):
        with pytest.raises(error, match=message):
            four_bar().assemble(**options)


class TestActivation:
    def test_constraints_are_switched_by_name_between_runs(self):
        system = door()
        both = quirk.simulate(system, 0.1)
        system.disable("upper")
        assert not system.is_active("upper")
        one = quirk.simulate(system, 0.1)
        np.testing.assert_array_equal(one["upper"].force(), 0)
        np.testing.assert_allclose(one["lower"].force()[-1], [0, 0, 20 * 9.81], atol=1e-9)
        # What was computed before stays what it was.
        assert both["upper"].force()[-1, 2] == pytest.approx(98.1)
        system.enable("upper")
        assert system.model.rows == 10

    def test_a_state_that_violates_what_is_switched_on_is_refused(self):
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
        latch = quirk.PointOnPlane("latch", GROUND, rod, point=[0.5, 0, 0], axis=[0, 0, 1], active=False)
        system = quirk.System([rod, quirk.Spherical("ball", GROUND, rod, point=[0, 0, 0]), latch], gravity=G)
        fallen = quirk.simulate(system, 0.3).state_at()
        system.enable("latch")
        with pytest.raises(quirk.InconsistentStateError, match='PointOnPlane "latch"'):
            quirk.simulate(system, 0.1, initial_state=fallen)
        system.assemble(fallen)
        assert quirk.simulate(system, 0.1)["rod"].position[-1, 2] == pytest.approx(0, abs=1e-12)

    def test_only_constraints_and_forces(self):
        with pytest.raises(quirk.InputError, match=r'System.disable: Body "leaf" is not a constraint or force'):
            door().disable("leaf")
        with pytest.raises(quirk.UnknownNameError):
            door().enable("uper")


def test_health_of_a_passage_through_a_singular_configuration():
    data = load("fourbar2")
    result = quirk.simulate(build(data), 2.0, rtol=1e-9, output=0.02)
    health = result.health()
    assert health.smallest_singular_value.min() < 0.1 * health.smallest_singular_value.max()
    assert health.position.max() < 1e-11
    assert health.norm.max() < 1e-14
    assert np.abs(health.power).max() < 1e-6  # no driver: constraints do no work
    assert np.abs(health.power_balance).max() < 1e-6
    assert "smallest singular value" in str(health)


def test_named_frames():
    arm = Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0], frames={"base": quirk.Frame([-0.5, 0, 0])})
    tip = arm.add_frame("tip", quirk.Frame([0.5, 0, 0], [0, 1, 0, 0]))
    hinge = quirk.Revolute("hinge", GROUND, arm, frame_i=quirk.Frame(), frame_j="base")
    assert hinge.frame_j is arm.frame("base")
    system = quirk.System([arm, hinge, quirk.Drive("motor", hinge, Motion.constant_rate(2.0))])
    system.assemble()
    result = quirk.simulate(system, 1.0, output=0.25)
    moving, t = result["arm"].frame("tip"), result.time
    np.testing.assert_allclose(moving.origin, np.stack([np.cos(2 * t), np.sin(2 * t), 0 * t], axis=1), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(moving.velocity, axis=1), 2.0)
    np.testing.assert_allclose(moving.spin, np.tile([0, 0, 2.0], (5, 1)), atol=1e-12)
    assert tip is arm.frames["tip"]
    for make, message in (
        (lambda: arm.frame("top"), "has no frame 'top'; there are: base, tip"),
        (lambda: arm.add_frame("tip", quirk.Frame()), "already"),
        (lambda: arm.add_frame("x", [0, 0, 0]), "must be a quirk.Frame"),
    ):
        with pytest.raises(quirk.InputError, match=message):
            make()


def test_turns_are_counted_between_outputs_that_are_far_apart():
    wheel = Body.sphere("wheel", 1.0, 0.1, angular_velocity=[0, 0, -100.0])
    system = quirk.System([wheel, quirk.Revolute("axle", GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])])
    result = quirk.simulate(system, 5.0, output=1.0)
    np.testing.assert_allclose(result["axle"].rotation[:, 2], -100 * result.time, rtol=1e-12)
    np.testing.assert_allclose(result["axle"].rotation_rate[:, 2], -100.0)
