"""Fixed steps while bodies slide in a plane: slip ends, sticks and begins where it does with adaptive steps.

Slow slip turns into the direction of the driving loads faster than a fixed step follows.
"""

import warnings

import numpy as np
import pytest

import quirk
from quirk import GROUND, Motion

STEPS = {"RK4": 2.5e-4, "Vern9": 2.5e-4, "RK45": 1e-4, "RadauIIA9": 5e-4}


def puck(seed, on):
    """A puck of 1 kg on a plane, with a load that varies in time; the static limit is a quarter above the sliding one."""
    rng = np.random.default_rng(seed)
    coefficient, (vx, vy) = rng.uniform(0.2, 0.7), rng.uniform(-1.0, 1.0, 2)
    loads = [
        Motion.sinusoid(rng.uniform(1, 8), rng.uniform(2, 9), rng.uniform(0, 6), rng.uniform(-1, 1)) for _ in range(2)
    ]
    body = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[vx, vy, 0])
    if on == "joint":
        guide = quirk.Planar("guide", GROUND, body, point=[0, 0, 0], normal="z")
    else:
        guide = quirk.Contact("guide", GROUND, body, on_i=quirk.surface.plane(), on_j=quirk.surface.point())
    friction = quirk.Friction("friction", guide, coefficient, static=1.25 * coefficient)
    return quirk.System([body, guide, friction, quirk.Force("load", body, [*loads, 0])], gravity=[0, 0, -10])


@pytest.mark.parametrize("method", STEPS)
@pytest.mark.parametrize("on", ["joint", "contact"])
def test_slides_end_and_begin_where_they_do_with_adaptive_steps(on, method):
    for seed in range(12 if method == "RK4" else 4):
        system = puck(seed, on)
        exact = quirk.simulate(system, 1.5, output=0.1)
        found = quirk.simulate(system, 1.5, output=0.1, method=method, step=STEPS[method])
        assert [event.direction for event in found.events] == [event.direction for event in exact.events], seed
        np.testing.assert_allclose(found.events.time, exact.events.time, atol=5e-3, err_msg=f"{seed}")
        np.testing.assert_allclose(found["puck"].position, exact["puck"].position, atol=1e-4, err_msg=f"{seed}")


@pytest.mark.parametrize("method", ["RK4", "Vern9", "Tsit5"])
@pytest.mark.parametrize("load", [[0.0, 2.0], [1.0, 1.8], [-1.5, 1.5], [0.0, 3.3]])
def test_a_constant_load_below_the_limit_lets_the_puck_stop(load, method):
    body = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[1.0, 0.3, 0])
    plane = quirk.Planar("plane", GROUND, body, point=[0, 0, 0], normal="z")
    push = quirk.Force("push", body, [*load, 0])
    for friction in (
        quirk.Friction("friction", plane, 0.343, static=0.429),
        quirk.Friction("friction", plane, 0.343),
    ):
        system = quirk.System([body, plane, friction, push], gravity=[0, 0, -10])
        exact = quirk.simulate(system, 9.0, output=[9.0])
        found = quirk.simulate(system, 9.0, output=[9.0], method=method, step=1e-3)
        assert found["friction"].sticking[-1] and exact["friction"].sticking[-1]
        np.testing.assert_allclose(found["puck"].position[-1], exact["puck"].position[-1], atol=1e-5)
        np.testing.assert_allclose(found.events.time, exact.events.time, atol=1e-3)


def ellipsoid(seed):
    """A ball with unequal moments of inertia, whose slip on an inclined plane becomes slow again and again."""
    rng = np.random.default_rng(seed)
    body = quirk.Body(
        "body", 1.0, 4e-3 * rng.permutation([1.0, 0.3, 0.9]), position=[0, 0, 0.1], velocity=[*rng.normal(size=2), 0],
        angular_velocity=rng.normal(size=3) * 10,
    )  # fmt: skip
    contact = quirk.Contact("contact", GROUND, body, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    slope = rng.uniform(0, 0.8)
    gravity = [9.81 * np.sin(slope), 0, -9.81 * np.cos(slope)]
    return quirk.System([body, contact, quirk.Friction("friction", contact, 0.3, static=0.4)], gravity=gravity)


def plate(seed):
    """A narrow plate on four corners that turns, slides and stops."""
    rng = np.random.default_rng(seed)
    body = quirk.Body.box(
        "body", 1.0, [0.6, 0.05, 0.04], position=[0, 0, 0.02], velocity=[*rng.normal(size=2) * 0.5, 0],
        angular_velocity=[0, 0, rng.normal() * 8],
    )  # fmt: skip
    parts = [body, quirk.Force("load", body, [Motion.sinusoid(rng.uniform(0, 4), rng.uniform(2, 8)), 0, 0])]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        corner = quirk.surface.point([0.3 * x, 0.025 * y, -0.02])
        contact = quirk.Contact(f"corner {k}", GROUND, body, on_i=quirk.surface.plane(), on_j=corner)
        parts += [contact, quirk.Friction(f"friction {k}", contact, 0.3, static=0.4)]
    return quirk.System(parts, gravity=[0, 0, -9.81])


def plate_on_a_table(seed):
    """A square plate on four corners, on a table that is driven about the vertical axis."""
    rng = np.random.default_rng(seed)
    top = quirk.Body("top", 10.0, [1.0, 1.0, 1.0])
    axle = quirk.Revolute("axle", GROUND, top, point=[0, 0, 0], axis="z")
    drive = quirk.Drive("drive", axle, Motion.polynomial([0, rng.uniform(-1, 1), rng.uniform(-0.3, 0.3)]))
    body = quirk.Body.box(
        "body", rng.uniform(0.5, 3), [0.4, 0.4, 0.04], position=[*rng.uniform(-0.5, 0.5, 2), 0.02],
        velocity=[*rng.uniform(-0.3, 0.3, 2), 0], angular_velocity=[0, 0, rng.uniform(-2, 2)],
    )  # fmt: skip
    parts = [top, axle, drive, body]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        corner = quirk.surface.point([0.2 * x, 0.2 * y, -0.02])
        contact = quirk.Contact(f"corner {k}", top, body, on_i=quirk.surface.plane(), on_j=corner)
        parts += [contact, quirk.Friction(f"friction {k}", contact, 0.3, static=0.4)]
    system = quirk.System(parts, gravity=[0, 0, -9.81])
    system.assemble()
    return system


@pytest.mark.parametrize("method", ["RadauIIA9", "RK4"])
def test_all_corners_of_a_plate_stop_in_one_event(method):
    for seed in range(6):
        system = plate_on_a_table(seed)
        exact = quirk.simulate(system, 1.0, output=[1.0])
        found = quirk.simulate(system, 1.0, output=[1.0], method=method, step=5e-4)
        assert len(found.events) == len(exact.events) == 1, seed
        np.testing.assert_allclose(found.events.time, exact.events.time, atol=1e-3, err_msg=f"{seed}")
        assert all(found[f"friction {k}"].sticking[-1] for k in range(4)), seed
        np.testing.assert_allclose(found["body"].position[-1], exact["body"].position[-1], atol=1e-7, err_msg=f"{seed}")


@pytest.mark.parametrize("method", ["RadauIIA9", "RK4"])
def test_plates_stop_on_a_table_that_tilts(method):
    """The points of contact accelerate a little, in proportion to their distances, when the plate comes to rest."""
    rng = np.random.default_rng(0)
    for seed in range(6):
        table = quirk.Body.box("table", 5.0, [2, 2, 0.1], position=[0, 0, -0.05])
        rail = quirk.Revolute("rail", GROUND, table, point=[0, 0, 0], axis="y")
        body = quirk.Body.box("body", 1.0, [0.6, 0.4, 0.1], position=[-0.07, 0.06, 0.05], angular_velocity=[0, 0, 0.8])
        parts = [table, rail, quirk.Drive("drive", rail, Motion.polynomial([0, 0, 0.2])), body]
        for k, angle in enumerate(np.arange(3) * 2 * np.pi / 3 + rng.uniform(-0.4, 0.4, 3)):
            corner = quirk.surface.point([0.3 * np.cos(angle), 0.3 * np.sin(angle), -0.05])
            plane = quirk.surface.plane(point=[0, 0, 0.05])
            contact = quirk.Contact(f"corner {k}", table, body, on_i=plane, on_j=corner)
            parts += [contact, quirk.Friction(f"friction {k}", contact, 0.2)]
        system = quirk.System(parts, gravity=[0, 0, -9.81])
        exact = quirk.simulate(system, 0.25, output=[0.25])
        found = quirk.simulate(system, 0.25, output=[0.25], method=method, step=1e-3)
        assert all(found[f"friction {k}"].sticking[-1] for k in range(3)), seed
        np.testing.assert_allclose(found["body"].position[-1], exact["body"].position[-1], atol=1e-5, err_msg=f"{seed}")


@pytest.mark.parametrize("method", ["RadauIIA9", "RK4"])
@pytest.mark.parametrize("kind", [ellipsoid, plate])
def test_errors_of_bodies_that_turn_while_they_slide_fall_with_the_step(kind, method):
    for seed in range(5):
        system = kind(seed)
        exact = quirk.simulate(system, 1.5, output=[1.5])["body"].position[-1]
        for step, bound in ((1e-3, 2e-3), (2.5e-4, 1e-4)):
            found = quirk.simulate(system, 1.5, output=[1.5], method=method, step=step)["body"].position[-1]
            np.testing.assert_allclose(found, exact, atol=bound, err_msg=f"{seed}, {step}")


@pytest.mark.parametrize("speed", [0.05, 0.004, 1e-4])
@pytest.mark.parametrize("method", ["RK4", "RadauIIA9"])
def test_slow_slip_that_becomes_faster_does_not_stick(method, speed):
    """The load is above the sliding limit and below the static one."""
    body = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[speed, 0, 0])
    plane = quirk.Planar("plane", GROUND, body, point=[0, 0, 0], normal="z")
    friction = quirk.Friction("friction", plane, 0.3, static=0.5)
    system = quirk.System([body, plane, friction, quirk.Force("push", body, [4.0, 0, 0])], gravity=[0, 0, -10])
    for step in (2e-3, 1e-3, 2e-4):
        found = quirk.simulate(system, 2.0, output=[2.0], method=method, step=step)
        np.testing.assert_allclose(found["puck"].position[-1, 0], 2.0 * speed + 2.0, rtol=1e-9)
        assert len(found.events) == 0


def test_slip_of_slender_bodies_gives_a_warning():
    """The direction of slip turns far faster about the axis of a rod than a fixed step follows."""
    spin = np.array([1.0, 1.0, 1.0])
    rod = quirk.Body.box(
        "rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0], velocity=np.cross(spin, [0.5, 0, 0]), angular_velocity=spin
    )
    ball = quirk.Spherical("ball", GROUND, rod, point=[0, 0, 0])
    system = quirk.System(
        [rod, ball, quirk.JointFriction("friction", ball, coulomb=3.0, sticking=True)], gravity=[0, 0, -9.81]
    )
    with pytest.warns(quirk.StiffnessWarning, match='JointFriction "friction": fixed steps of 0.001 s are too long'):
        quirk.simulate(system, 0.5, output=[0.5], method="RK4", step=1e-3)


def test_slip_that_a_guide_blocks_in_one_direction_gives_no_warning():
    body = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    plane = quirk.Planar("plane", GROUND, body, point=[0, 0, 0], normal="z")
    guide = quirk.PointOnPlane("guide", GROUND, body, point=[0, 0, 0], axis="y")
    system = quirk.System([body, plane, guide, quirk.Friction("friction", plane, 0.3)], gravity=[0, 0, -10])
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.StiffnessWarning)
        found = quirk.simulate(system, 1.0, output=[1.0], method="RK4", step=1e-3)
    np.testing.assert_allclose(found["puck"].position[-1, 0], 1.0 / 6.0, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::quirk.StiffnessWarning")
def test_an_error_of_slender_bodies_says_what_helps():
    """A flywheel on a thin pin: friction turns its slip a thousand times faster than it stops the wheel."""
    rotor = quirk.Body("rotor", 1.0, [0.1, 0.1, 0.1], velocity=[0, 0, 0.5], angular_velocity=[0, 0, 1.0])
    shaft = quirk.Cylindrical("shaft", GROUND, rotor, point=[0, 0, 0], axis="z")
    friction = quirk.Friction("friction", shaft, 0.3, radius=0.01)
    push = quirk.Force("push", rotor, [0, 0, Motion.sinusoid(1.0, 2.0)])
    system = quirk.System([rotor, shaft, friction, push], gravity=[9.81, 0, 0])
    found = quirk.simulate(system, 6.0, output=[6.0])
    assert found["friction"].sticking[-1] and len(found.events) == 1
    with pytest.raises(quirk.SimulationError, match='"friction": each causes the next at once; leave out "step"'):
        quirk.simulate(system, 6.0, output=[6.0], method="RK4", step=1e-3)
