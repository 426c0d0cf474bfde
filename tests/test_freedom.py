"""Coordinates that joints or systems hold, and values that are hardly meant."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion

BODY = Body.box("body", 1.0, [1, 0.1, 0.1])
AT = {"point": [0, 0, 0]}
STILL = Motion.constant_rate(0.0)

# What each joint leaves free.
JOINTS = {
    "revolute": (quirk.Revolute("joint", GROUND, BODY, axis=[0, 1, 1], **AT), "rotation z"),
    "cylindrical": (quirk.Cylindrical("joint", GROUND, BODY, axis=[0, 1, 0], **AT), "translation z, rotation z"),
    "prismatic": (quirk.Prismatic("joint", GROUND, BODY, axis=[0, 0, 1]), "translation z"),
    "spherical": (quirk.Spherical("joint", GROUND, BODY, **AT), "rotation x, rotation y, rotation z"),
    "fixed": (quirk.Fixed("joint", GROUND, BODY), "nothing"),
    "universal": (
        quirk.Universal("joint", GROUND, BODY, axis_i=[1, 0, 0], axis_j=[0, 1, 0], **AT),
        "rotation x, rotation y",
    ),
    "screw": (quirk.Screw("joint", GROUND, BODY, axis=[0, 0, 1], lead=0.01, **AT), "translation z, rotation z"),
    "planar": (
        quirk.Planar("joint", GROUND, BODY, normal=[0, 0, 1], **AT),
        "translation x, translation y, rotation z",
    ),
    "point on line": (
        quirk.PointOnLine("joint", GROUND, BODY, axis=[0, 0, 1], **AT),
        "translation z, rotation x, rotation y, rotation z",
    ),
    "flags": (quirk.Generic("joint", GROUND, BODY, constrained=[0, 1, 1, 1, 0, 1]), "translation x, rotation y"),
    "offsets": (
        quirk.Generic("joint", GROUND, BODY, constrained=[1, 1, 1, 1, 1, 0], offset=[0, 0, 1, 0.5, -0.3, 0]),
        "rotation z",
    ),
    "other rows": (
        quirk.Generic("joint", GROUND, BODY, constrained=[1, 0, 1, 1, 1, 1], alternative=True),
        "translation y",
    ),
}  # fmt: skip
EVERY = [f"{kind} {c}" for kind in ("rotation", "translation") for c in "xyz"]


@pytest.mark.parametrize("case", JOINTS)
def test_drivers_of_what_a_joint_holds_are_refused(case):
    joint, free = JOINTS[case]
    for coordinate in EVERY:
        if coordinate in free:
            assert quirk.Drive("drive", joint, STILL, coordinate).coordinate == coordinate
            continue
        with pytest.raises(quirk.InputError) as caught:
            quirk.Drive("drive", joint, STILL, coordinate)
        kind = type(joint).__name__
        assert str(caught.value) == (
            f'Drive "drive": {kind} "joint" holds its {coordinate}, so nothing can drive it; it leaves free: {free}'
        )


def test_a_joint_of_ones_own_says_by_its_rows_what_it_holds():
    from quirk.constraints.primitives import X, Y, Z, dot1, dot2

    class PinInSlot(quirk.Joint):
        primitives = (dot1(Z, X), dot1(Z, Y), dot2(Y), dot2(Z))

    pin = PinInSlot("pin", GROUND, BODY, axis=[0, 0, 1], **AT)
    quirk.Drive("drive", pin, STILL, "translation x")
    with pytest.raises(quirk.InputError, match="leaves free: translation x, rotation z"):
        quirk.Drive("drive", pin, STILL, "translation y")


class TestAssembly:
    SYSTEM = quirk.System([BODY, JOINTS["revolute"][0]])

    def test_held_coordinates_are_refused(self):
        with pytest.raises(
            quirk.InputError, match=r"System.assemble: coordinates\['joint'\]: Revolute \"joint\" holds"
        ):
            self.SYSTEM.assemble(coordinates={"joint": {"translation z": 0.1}})

    def test_degrees_are_recognized(self):
        with pytest.raises(quirk.InputError, match=r"45 rad is more than a whole turn.*np.radians\(45\) = 0.785398"):
            self.SYSTEM.assemble(coordinates={"joint": 45})

    @pytest.mark.parametrize("angle", [-6.28, 3.5, 2 * np.pi])
    def test_angles_up_to_a_turn_are_kept_as_given(self, angle):
        self.SYSTEM.assemble(coordinates={"joint": angle})
        result = quirk.simulate(self.SYSTEM, 0.1, output=[0.0])
        assert result["joint"].rotation[0, 2] == pytest.approx(angle)


class TestMotors:
    def test_on_a_welded_body(self):
        hinge, weld = JOINTS["revolute"][0], quirk.Fixed("weld", GROUND, BODY)
        motor = quirk.JointTorque("motor", hinge, 3.0)
        system = quirk.System([BODY, hinge, weld, motor])
        assert system.mobility().held_motors == ["motor"]
        assert "motors on coordinates that constraints hold: motor" in str(system.mobility())
        result = quirk.simulate(system, 0.1, output=[0.1])
        assert "motors that move nothing, constraints hold their coordinates: motor" in result.summary()
        np.testing.assert_allclose(result["joint"].rotation, 0, atol=1e-12)
        # The constraints carry the torque.
        total = result["joint"].torque("joint i") + result["weld"].torque() @ result["joint"].frames[0].axes[0]
        np.testing.assert_allclose(total, [[0, 0, -3.0]], atol=1e-9)

    def test_beside_others_that_move(self):
        """Of two hinges one is driven: a torque there moves nothing, and one on the other does."""
        tip = Body.box("tip", 1.0, [1, 0.1, 0.1], position=[1, 0, 0])
        one = quirk.Revolute("one", GROUND, BODY, axis=[0, 1, 0], **AT)
        two = quirk.Revolute("two", BODY, tip, axis=[0, 1, 0], point=[0.5, 0, 0])
        rail = quirk.Prismatic("rail", GROUND, Body.sphere("bead", 1.0, 0.1), axis=[1, 0, 0])
        motors = [quirk.JointTorque(f"on {j.name}", j, 1.0) for j in (one, two)]
        push = quirk.JointForce("push", rail, 1.0)
        drive = quirk.Drive("drive", one, STILL)
        system = quirk.System([BODY, tip, rail.body_j, one, two, rail, drive, *motors, push])
        assert system.mobility().held_motors == ["on one"]
        stop = quirk.Drive("stop", rail, STILL)
        assert system.with_constraints([stop]).mobility().held_motors == ["on one", "push"]
        system.deactivate("drive")
        assert system.mobility().held_motors == []
        assert "move nothing" not in quirk.simulate(system, 0.1).summary()


class TestInertia:
    SHEET = (0.0601, 0.0350, 0.0249)

    def test_rounded_moments_can_be_allowed_for(self):
        with pytest.raises(
            quirk.InputError, match=r"allow for the 0\.0033 of the largest that is too much by inertia_t"
        ):
            Body("body", 1.0, self.SHEET)
        body = Body("body", 1.0, self.SHEET, inertia_tolerance=0.01)
        np.testing.assert_array_equal(np.diag(body.inertia), self.SHEET)
        flat = quirk.planar.PlanarBody("flat", 1.0, self.SHEET[::-1], inertia_tolerance=0.01)
        np.testing.assert_array_equal(np.diag(flat.inertia), self.SHEET[::-1])

    @pytest.mark.parametrize(
        ("moments", "tolerance", "message"),
        [
            ((0.0601, 0.0350, 0.0249), 0.001, "violates the triangle inequality"),
            ((0.1, 0.1, 0.0), 0.1, "must be positive definite"),
            ((0.1, 0.1, -0.001), 0.1, "must be positive definite"),
            ((0.1, 0.1, 0.1), -1, "inertia_tolerance must not be negative"),
            ((0.1, 0.1, 0.1), 10, "inertia_tolerance is a part of the largest moment, at most 0.1; got 10"),
        ],
    )
    def test_what_cannot(self, moments, tolerance, message):
        with pytest.raises(quirk.InputError, match=message):
            Body("body", 1.0, moments, inertia_tolerance=tolerance)


def test_relative_velocity_is_that_of_the_joint_points_in_frame_i():
    """R_i^T (v_j - v_i) of the frames' origins, and the rate of the displacement, which turns with frame i."""
    random = np.random.default_rng(3)
    a, b = (
        Body(c, 1.0, [1, 1.2, 1.4], velocity=random.normal(size=3), angular_velocity=random.normal(size=3))
        for c in "ab"
    )
    frames = {f"frame_{c}": quirk.Frame(random.normal(size=3), random.normal(size=4)) for c in "ij"}
    result = quirk.simulate(quirk.System([a, b, quirk.Free("pair", a, b, **frames)]), 1.0, output=0.25)
    view = result["pair"]
    points = [result[c].path(frame.origin).velocity for c, frame in zip("ab", frames.values(), strict=True)]
    axes = view.frames[0].axes
    np.testing.assert_allclose(view.relative_velocity, np.einsum("tki,tk->ti", axes, points[1] - points[0]), atol=1e-12)
    spin = np.einsum("tki,tk->ti", axes, view.frames[0].spin)
    np.testing.assert_allclose(view.relative_velocity - view.velocity, np.cross(spin, view.displacement), atol=1e-12)
    assert np.abs(view.relative_velocity - view.velocity).max() > 0.1
