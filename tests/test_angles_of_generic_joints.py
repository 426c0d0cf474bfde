"""The angle of a Generic joint with offsets is one number for springs, rotors, quantities by name and results."""

import numpy as np
import pytest

import quirk

INERTIA, STIFFNESS, REST = 2.0, 3.0, 4.5
PLACES = [[0, 0, 0], [0.1, 0.2, 0.3]]


def swinging(axis, offset):
    """Return the result of a body on a torsion spring about one free rotation of a Generic joint."""
    body = quirk.Body("body", 1.0, INERTIA * np.eye(3))
    free = [1, 1, 1, *(int(k != axis) for k in range(3))]
    joint = quirk.Generic("joint", quirk.GROUND, body, constrained=free, offset=offset)
    spring = quirk.TorsionSpring("spring", joint, stiffness=STIFFNESS, rest_angle=REST)
    system = quirk.System([body, joint, spring])
    system.assemble()
    return quirk.simulate(system, 6.0, output=0.5)


def swing(time, start):
    """Return the angles of the undamped oscillation that starts at rest at an angle `start`, rad."""
    return REST + (start - REST) * np.cos(np.sqrt(STIFFNESS / INERTIA) * time)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("axis", range(3))
def test_offsets_of_the_position_leave_the_angle_free_to_pass_any_turn(axis, place):
    result = swinging(axis, [*place, 0, 0, 0])
    right = swing(result.time, 0.0)
    assert right.max() > 1.4 * np.pi  # beyond the quarter turn of a second 1-2-3 angle
    assert np.abs(result["joint"].rotation[:, axis] - right).max() < 1e-6
    energy = 0.5 * STIFFNESS * (right - REST) ** 2
    assert np.abs(result["spring"].energy - energy).max() < 1e-5


@pytest.mark.parametrize("place", PLACES)
def test_an_angle_about_z_is_counted_from_the_turned_frames(place):
    turned = [*place, 0.3, -0.4, 0.0]
    result = swinging(2, turned)
    angles = result["joint"].rotation
    assert np.abs(angles[:, :2] - turned[3:5]).max() < 1e-9
    assert np.abs(angles[:, 2] - swing(result.time, angles[0, 2])).max() < 1e-6


@pytest.mark.parametrize("axis", [0, 1])
def test_rotations_about_x_and_y_of_turned_frames_have_no_angle(axis):
    offset = np.array([0, 0, 0, 0.3, -0.4, 0.5])
    offset[3 + axis] = 0.0
    with pytest.raises(quirk.InputError, match="turns about a single axis"):
        swinging(axis, offset)


def test_a_rotor_starts_with_the_angle_and_rate_of_turned_frames():
    def parts(pose=None):
        given = {} if pose is None else {"orientation": pose.orientation[0], "angular_velocity": [0.0, 0.2, 0.0]}
        body = quirk.Body("body", 1.0, INERTIA * np.eye(3), **given)
        joint = quirk.Generic(
            "joint",
            quirk.GROUND,
            body,
            frame_i=quirk.Frame(),
            frame_j=quirk.Frame(),
            constrained=[1, 1, 1, 1, 1, 0],
            offset=[0, 0, 0, 0.3, -0.4, 0.0],
        )
        return body, joint

    pose = quirk.System(parts()).assemble()
    body, joint = parts(pose)
    motor = quirk.JointTorque("motor", joint, 1.0, armature=1.0)
    system = quirk.System([body, joint, motor])
    system.assemble()
    result = quirk.simulate(system, 1.0, output=1.0)
    angle, rate = result["joint"].rotation[:, 2], result["joint"].rotation_rate[0, 2]
    assert abs(angle[-1] - angle[0] - rate - 0.5 / (INERTIA + 1.0)) < 1e-7


def test_sliding_friction_is_refused_where_frames_are_turned():
    body = quirk.Body("body", 1.0, INERTIA * np.eye(3))
    joint = quirk.Generic("joint", quirk.GROUND, body, constrained=[1, 1, 1, 1, 1, 0], offset=[0, 0, 0, 0.3, -0.4, 0.0])
    with pytest.raises(quirk.InputError, match='got <Generic "joint"'):
        quirk.Friction("friction", joint, coefficient=0.1)
