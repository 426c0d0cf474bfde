"""Drives by motions that are given with two derivatives only, in runs that use an implicit method."""

import numpy as np
import pytest

import quirk

ACCELERATION, PUSH, FRICTION, GRAVITY = 4.0, 1.0, 0.3, 9.81


def box_on_a_belt(third, push):
    """A box on three feet, pushed across a belt that leaves it behind by a force `push`, as for `quirk.Force`.

    `third` is the third derivative of the motion of the belt, or None.
    """
    belt = quirk.Body.box("belt", 1.0, [1, 1, 0.1], position=[0, 0, -0.05])
    guide = quirk.Prismatic("guide", quirk.GROUND, belt, axis="x", point=[0, 0, 0])
    motion = quirk.Motion.function(
        lambda t: 0.5 * ACCELERATION * t * t, lambda t: ACCELERATION * t, lambda t: ACCELERATION, third
    )
    box = quirk.Body.box("box", 1.0, [4.0, 4.0, 0.1], position=[0, 0, 0.05])
    parts = [belt, guide, quirk.Drive("motor", guide, motion), box, quirk.Force("push", box, push)]
    for k in range(3):
        angle = 2 * np.pi * k / 3
        foot = quirk.surface.point([2 * np.cos(angle), 2 * np.sin(angle), -0.05])
        on = quirk.surface.plane([0, 0, 0.05], [0, 0, 1])
        contact = quirk.Contact(f"foot {k}", belt, box, on_i=on, on_j=foot)
        parts += [contact, quirk.Friction(f"friction {k}", contact, FRICTION)]
    return quirk.System(parts, gravity=[0, 0, -GRAVITY])


def test_friction_on_a_driven_belt():
    """Slip is along a constant direction: friction is against it, and force, slip and acceleration are parallel."""
    result = quirk.simulate(box_on_a_belt(None, [0.0, PUSH, 0.0]), 0.5, output=0.05, method="RadauIIA9")
    driving = np.array([-ACCELERATION, PUSH])  # per mass, in the frame of the belt
    slip = driving * (1 - FRICTION * GRAVITY / np.linalg.norm(driving))
    right = np.outer(0.5 * result.time**2, slip + np.array([ACCELERATION, 0.0]))
    np.testing.assert_allclose(result["box"].position[:, :2], right, atol=1e-7)


def test_slow_slip_that_turns_on_a_driven_belt():
    """The default method changes to an implicit one while the slip is slow; the third derivative is of no effect."""

    def push(t, *state):
        return [4 + 2.3 * t * np.cos(4.8 * t), 2.3 * t * np.sin(4.8 * t), 0.0]

    moved = [
        quirk.simulate(box_on_a_belt(third, push), 2.5, output=0.1, **options)["box"].position
        for third, options in ((None, {}), (lambda t: 0.0, {}), (None, {"method": "RadauIIA9"}))
    ]
    np.testing.assert_array_equal(moved[0], moved[1])
    np.testing.assert_allclose(moved[0], moved[2], atol=1e-6)


def test_rodas5p_needs_the_third_derivative():
    belt = quirk.Body.box("belt", 1.0, [1, 1, 0.1])
    guide = quirk.Prismatic("guide", quirk.GROUND, belt, axis="x")
    motor = quirk.Drive("motor", guide, quirk.Motion.function(np.sin, np.cos, lambda t: -np.sin(t)))
    system = quirk.System([belt, guide, motor])
    system.assemble()
    with pytest.raises(quirk.InputError, match=r'Drive "motor".*no f_ttt'):
        quirk.simulate(system, 1.0, method="Rodas5P")
