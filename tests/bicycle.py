"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007) 1955-1982, table 1."""

import numpy as np

import quirk

GRAVITY = 9.81
WHEEL_BASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10
REAR_RADIUS, FRONT_RADIUS = 0.3, 0.35


def tensor(xx, yy, zz, xz=0.0):
    return np.array([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])


def bicycle(speed):
    """Upright and straight at a speed, m/s; x forward, y to the right, z down, the origin at the rear contact."""
    forward = {"velocity": [speed, 0, 0]}

    def wheel(name, mass, inertia, place, radius):
        spin = [0, -speed / radius, 0]
        return quirk.Body(name, mass, inertia, position=place, angular_velocity=spin, **forward)

    rear = wheel("rear", 2.0, tensor(0.0603, 0.12, 0.0603), [0, 0, -REAR_RADIUS], REAR_RADIUS)
    front = wheel("front", 3.0, tensor(0.1405, 0.28, 0.1405), [WHEEL_BASE, 0, -FRONT_RADIUS], FRONT_RADIUS)
    frame = quirk.Body("frame", 85.0, tensor(9.2, 11.0, 2.8, 2.4), position=[0.3, 0, -0.9], **forward)
    fork = quirk.Body("fork", 4.0, tensor(0.05892, 0.06, 0.00708, -0.00756), position=[0.9, 0, -0.7], **forward)
    # The steering axis meets the ground a trail before the front contact.
    axis = [np.sin(TILT), 0, np.cos(TILT)]
    ground = [WHEEL_BASE + TRAIL, 0, 0]
    disks = [
        quirk.RollingDisk(f"{wheel.name} contact", quirk.GROUND, wheel, radius=radius, disk_axis=[0, 1, 0],
                          plane_point=[0, 0, 0], plane_normal=[0, 0, -1])
        for wheel, radius in ((rear, REAR_RADIUS), (front, FRONT_RADIUS))
    ]  # fmt: skip
    joints = [
        quirk.Revolute("rear hub", frame, rear, point=rear.position, axis=[0, 1, 0]),
        quirk.Revolute("front hub", fork, front, point=front.position, axis=[0, 1, 0]),
        quirk.Revolute("steering", frame, fork, point=ground, axis=axis),
    ]
    return quirk.System([rear, frame, fork, front, *joints, *disks], gravity=[0, 0, GRAVITY])


# Linear equations M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 of the roll and the steering angle, by the same authors.
M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])


def published_matrix(speed):
    """The state matrix over (roll, steering angle, their rates)."""
    solved = np.linalg.solve(M, np.hstack([-(GRAVITY * K0 + speed**2 * K2), -speed * C1]))
    return np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), solved])
