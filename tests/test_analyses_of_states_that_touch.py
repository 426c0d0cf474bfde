"""Accelerations, loads and small motions at states in which contacts, stops and ropes touch, and friction acts.

A run from the state decides in its own code what closes and sticks; closed forms are the other reference.
"""

import pickle
import warnings

import numpy as np
import pytest

import quirk

surface = quirk.surface
G = 9.81
DOWN = [0, 0, -G]
pytestmark = pytest.mark.filterwarnings("error::quirk.ImpactWarning", "error::quirk.ContactLoadWarning")


def ball_on_floor(height=0.1, speed=0.0, friction=None, gravity=G, unit=1.0, mass=1.0):
    """A ball of radius 0.1 `unit`, with its center at `height` times `unit` above a floor."""
    ball = quirk.Body.sphere("ball", mass, 0.1 * unit, position=[0, 0, height * unit], velocity=[0, 0, speed * unit])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=surface.plane(), on_j=surface.sphere(0.1 * unit))
    more = [] if friction is None else [quirk.Friction("rub", floor, friction)]
    return quirk.System([ball, floor, *more], gravity=[0, 0, -gravity * unit])


def box_on_corners(corners, friction=None, push=(0, 0, 0), at=(0, 0, 0), tilt=0.0, **motion):
    box = quirk.Body.box("box", 2.0, [1.0, 0.6, 0.4], position=[0, 0, 0.2], **motion)
    feet = [
        quirk.Contact(
            f"foot {k}", quirk.GROUND, box, on_i=surface.plane(), on_j=surface.point([0.5 * x, 0.3 * y, -0.2])
        )
        for k, (x, y) in enumerate(corners)
    ]
    rubs = [] if friction is None else [quirk.Friction(f"rub {k}", foot, friction) for k, foot in enumerate(feet)]
    gravity = G * np.array([np.sin(tilt), 0, -np.cos(tilt)])
    return quirk.System([box, *feet, *rubs, quirk.Force("push", box, push, point=at)], gravity=gravity)


FOUR = [(-1, -1), (1, -1), (1, 1), (-1, 1)]


@pytest.mark.parametrize("friction", [None, 0.3])
@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_a_ball_at_rest_on_a_floor_does_not_fall(friction, solver):
    system = ball_on_floor(friction=friction)
    state = system.initial_state()
    assert np.abs(system.acceleration(state, solver=solver).linear).max() < 1e-12 * G
    assert np.allclose(system.joint_loads(state, solver=solver)["floor"].force, [0, 0, G], rtol=1e-12)
    assert np.allclose(system.constraint_forces(state, solver=solver).force, [[0, 0, G]], rtol=1e-12)
    motion = system.derivatives(state, solver=solver)
    assert np.abs(motion.linear).max() < 1e-12 * G
    assert np.allclose(motion.loads["floor"].force[0], [0, 0, G])
    assert system.mobility().degrees_of_freedom == 5
    assert system.constraint_rows(state).labels[0] == "floor: gap"


def test_a_ball_in_the_air_or_on_its_way_up_falls():
    for system in (ball_on_floor(height=1.0), ball_on_floor(speed=1.0)):
        state = system.initial_state()
        assert np.allclose(system.acceleration(state).linear, [[0, 0, -G]], rtol=1e-14)
        assert system.joint_loads(state) == {}
        assert system.mobility().degrees_of_freedom == 6


@pytest.mark.parametrize(("unit", "mass"), [(1e3, 1e3), (1e-6, 1e-9), (1e6, 1e9)])
def test_analyses_do_not_depend_on_units(unit, mass):
    """For example in mm and g."""
    system = ball_on_floor(friction=0.3, unit=unit, mass=mass)
    state = system.initial_state()
    assert np.abs(system.acceleration(state).linear).max() < 1e-12 * G * unit
    assert np.allclose(system.joint_loads(state)["floor"].force, [0, 0, mass * G * unit], rtol=1e-12)


def test_a_box_on_four_corners_shares_its_weight():
    """With the least sum of squares, an affine function of the corner that has the same resultant."""
    system = box_on_corners(FOUR, push=[0, 0, -4.0], at=[0.1, 0.06, 0.0])
    state = system.initial_state()
    loads = system.joint_loads(state)
    expected = (2.0 * G + 4.0) / 4 + 4.0 / 4 * (
        np.array([x for x, _ in FOUR]) * 0.2 + np.array([y for _, y in FOUR]) * 0.2
    )
    assert np.allclose([loads[f"foot {k}"].force[2] for k in range(4)], expected, rtol=1e-12)
    assert np.abs(system.acceleration(state).angular).max() < 1e-12
    assert list(loads) == [f"foot {k}" for k in range(4)]
    mobility = system.mobility()
    assert mobility.degrees_of_freedom == 3 and mobility.rank == 3
    assert len(system.constraint_rows(state).labels) == 4
    linear = system.linearize(state, outputs=[f"foot {k}.force.z" for k in range(4)])
    assert np.allclose(linear.output_values, expected, rtol=1e-12)


def test_a_box_on_two_corners_tips():
    """About the edge at the left: the right corners open, the moment about the edge is m g a / 2."""
    system = box_on_corners([(-1, -1), (-1, 1)])
    spin = system.acceleration(system.initial_state()).angular[0]
    inertia = 2.0 * (1.0**2 + 0.4**2) / 12
    # The edge slides without friction: the center moves down by the tilt alone.
    assert np.allclose(spin, [0, 2.0 * G * 0.5 / (inertia + 2.0 * 0.5**2), 0], rtol=1e-12, atol=1e-12)


def test_a_pendulum_on_a_taut_rope_swings():
    ball = quirk.Body.sphere("ball", 2.0, 0.05, position=[0, 0, -1.0])
    system = quirk.System([ball, quirk.Rope("rope", quirk.GROUND, ball, length=1.0)], gravity=DOWN)
    modes = system.modes()
    assert np.allclose(modes.eigenvalues[-2:].imag, np.sqrt(G), rtol=1e-12)
    assert system.mobility().degrees_of_freedom == 5
    assert np.allclose(system.joint_loads(system.initial_state())["rope"].force, [0, 0, 2.0 * G], rtol=1e-12)
    moving = quirk.State(*system.initial_state().parts)
    moving.velocity[0] = [3.0, 0, 0]
    assert np.allclose(system.acceleration(moving).linear, [[0, 0, 9.0]], rtol=1e-12)
    assert np.allclose(system.joint_loads(moving)["rope"].force, [0, 0, 2.0 * (G + 9.0)], rtol=1e-12)


def test_a_rod_rests_on_a_stop_or_leaves_it():
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    stop = quirk.Stop("stop", hinge, upper=0.0)
    system = quirk.System([rod, hinge, stop], gravity=DOWN)
    state = system.initial_state()
    assert np.allclose(system.joint_loads(state)["stop"].torque, [0, -0.5 * G, 0], rtol=1e-12)
    assert np.abs(system.acceleration(state).angular).max() < 1e-12
    assert len(system.modes().eigenvalues) == 0 and system.mobility().degrees_of_freedom == 0
    linear = system.linearize(state, outputs=["stop.torque.y", "hinge.force.z"])
    assert np.allclose(linear.output_values, [-0.5 * G, G], rtol=1e-12)
    upward = quirk.System([rod, hinge, stop], gravity=[0, 0, G])
    assert np.allclose(upward.acceleration(state).angular[0, 1], -0.5 * G / (1.01 / 12 + 0.25), rtol=1e-12)
    assert list(upward.joint_loads(state)) == ["hinge"]
    with pytest.raises(quirk.InputError, match='Stop "stop" touches without a load'):
        upward.linearize(state, outputs=["stop.torque.y"])


def test_loads_of_open_contacts_are_outputs():
    system = ball_on_floor(height=0.3)
    linear = system.linearize(outputs=["floor.force.z", "ball.position.z"])
    assert np.array_equal(linear.output_values, [0.0, 0.3]) and not linear.C[0].any()
    system.disable("floor")
    with pytest.raises(quirk.InputError, match='Contact "floor" is disabled, and has no load'):
        system.linearize(outputs=["floor.force.z"])


@pytest.mark.parametrize(("coefficient", "sticks"), [(0.9, True), (0.2, False)])
@pytest.mark.parametrize("constant", [False, True])
def test_a_block_on_a_slope_sticks_or_begins_to_slide(coefficient, sticks, constant):
    """The slope, of 0.3 rad, has friction in proportion to the load, or of constant size."""
    down = np.array([np.cos(0.3), 0, -np.sin(0.3)])
    block = quirk.Body.box("block", 2.0, [0.2, 0.2, 0.1])
    slope = quirk.Prismatic("slope", quirk.GROUND, block, point=[0, 0, 0], axis=down)
    normal = 2.0 * G * np.cos(0.3)
    friction = (
        quirk.JointFriction("rub", slope, coulomb=coefficient * normal, sticking=True)
        if constant
        else quirk.Friction("rub", slope, coefficient)
    )
    system = quirk.System([block, slope, friction], gravity=DOWN)
    state = system.initial_state()
    expected = 0.0 if sticks else G * (np.sin(0.3) - coefficient * np.cos(0.3))
    assert np.allclose(system.acceleration(state).linear, [expected * down], atol=1e-12 * G)
    assert np.allclose(system.acceleration(state, solver="dense").linear, [expected * down], atol=1e-11 * G)
    assert ("rub" in system.joint_loads(state)) is sticks
    if sticks:
        assert np.allclose(system.joint_loads(state)["rub"].force, -2.0 * G * np.sin(0.3) * down, rtol=1e-12)
    # Small motions leave out friction that sticks.
    assert system.mobility().degrees_of_freedom == 1
    with pytest.raises(quirk.InputError, match="nothing slides in this state"):
        system.linearize()
    assert len(system.without("rub").linearize().A) == 2


def test_modes_of_a_ball_that_has_come_to_rest_in_a_bowl():
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0.2, 0, -0.8])
    bowl = quirk.Contact("bowl", quirk.GROUND, ball, on_i=surface.bowl(1.0), on_j=surface.sphere(0.1))
    system = quirk.System([ball, bowl], gravity=DOWN)
    damped = system.with_parts(quirk.Damping("air", ball, translational=5.0))
    state = quirk.simulate(damped, 40.0, output=40.0).state_at()
    assert np.allclose(np.sort(system.modes(state).eigenvalues.imag)[-2:], np.sqrt(G / 0.9), rtol=1e-9)
    assert system.linearize(state).about == "equilibrium"
    found = system.equilibrium()
    for one in (state, found, quirk.State(*found.parts)):
        linear = system.linearize(one, outputs=["bowl.force.z"])
        assert np.allclose(linear.output_values, G, rtol=1e-12)
        assert system.constraint_rows(one).labels == ["bowl: gap"]
        assert len(system.virtual_displacements(one)) == 5


def test_sliding_friction_of_contacts_is_differentiated():
    """The loads of the feet are outputs, and their sum is the weight."""
    system = box_on_corners([(-1, -1), (1, -1), (0, 1)], friction=0.3, velocity=[1.0, 0, 0])
    state = system.initial_state()
    assert np.allclose(system.acceleration(state).linear, [[-0.3 * G, 0, 0]], rtol=1e-9, atol=1e-12)
    linear = system.linearize(state, outputs=["foot 0.force.z", "foot 1.force.z", "foot 2.force.z"])
    loads = system.joint_loads(state)
    assert np.allclose(linear.output_values, [loads[f"foot {k}"].force[2] for k in range(3)], rtol=1e-9)
    assert np.allclose(linear.output_values.sum(), 2.0 * G, rtol=1e-9)


@pytest.mark.parametrize("feet", [3, 4])
def test_linear_systems_of_boxes_that_slide(feet):
    """Against differences of accelerations, along all motions on the floor."""
    system = box_on_corners(FOUR[:feet], friction=0.3, velocity=[1.0, 0.3, 0], angular_velocity=[0, 0, 0.7])
    state, step = system.initial_state(), 1e-6
    linear = system.linearize(state)

    def accelerations(x):
        shift, turn, faster, spin = linear.motion(x)[0].reshape(4, 3)
        angle = np.linalg.norm(turn)
        turned = [np.cos(angle / 2), *(turn * (np.sin(angle / 2) / angle if angle > 0 else 0.5))]
        found = system.acceleration(
            quirk.State(state.position + shift, [turned], state.velocity + faster, state.angular_velocity + spin)
        )
        return np.concatenate([found.linear[0], found.angular[0]])

    for k, unit in enumerate(np.eye(len(linear.A))):
        slope = (accelerations(step * unit) - accelerations(-step * unit)) / (2 * step)
        assert np.allclose(linear.motion(linear.A[:, k])[0, 6:], slope, atol=1e-7)
    if feet == 4:
        for foot in range(4):
            with pytest.raises(quirk.InputError, match=f'Contact "foot {foot}" .* shares it with others'):
                system.linearize(state, outputs=[f"foot {foot}.force.z"])


def test_surfaces_that_approach_are_open_with_a_warning():
    """As in the row of a result before the impact."""
    system = ball_on_floor(speed=-1.0)
    state = system.initial_state()
    for analysis in (system.acceleration, system.joint_loads, system.modes, system.mobility):
        with pytest.warns(quirk.ImpactWarning, match='Contact "floor": the surfaces touch and approach') as told:
            analysis(state)
        assert len(told) == 1 and told[0].filename == __file__
    result = quirk.simulate(ball_on_floor(height=1.0), 0.6, output=0.1)
    row = int(np.flatnonzero(np.diff(result.time) == 0)[0])
    with pytest.warns(quirk.ImpactWarning):
        before = system.acceleration(result.state_at(row), result.time[row])
    assert np.allclose(before.linear, [result["ball"].acceleration[row]], rtol=1e-12)
    after = system.acceleration(result.state_at(row + 1), result.time[row + 1])
    assert np.allclose(after.linear, [result["ball"].acceleration[row + 1]], atol=1e-12 * G)


def test_contacts_at_rest_carry_load_while_others_approach():
    ball = [
        quirk.Body.sphere(f"ball {k}", 1.0, 0.1, position=[0, 0, 0.1 + 0.2 * k], velocity=[0, 0, -k]) for k in (0, 1)
    ]
    floor = quirk.Contact("floor", quirk.GROUND, ball[0], on_i=surface.plane(), on_j=surface.sphere(0.1))
    pair = quirk.Contact("pair", *ball, on_i=surface.sphere(0.1), on_j=surface.sphere(0.1))
    system = quirk.System([*ball, floor, pair], gravity=DOWN)
    with pytest.warns(quirk.ImpactWarning, match='System: Contact "pair": the'):
        loads = system.joint_loads(system.initial_state())
    assert list(loads) == ["floor"] and np.allclose(loads["floor"].force, [0, 0, G], rtol=1e-12)


def test_slip_that_friction_stops_at_once_is_an_impact():
    """With infinite friction; the spin about the normal goes on."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1], velocity=[1.0, 0, 0])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=surface.plane(), on_j=surface.sphere(0.1))
    system = quirk.System([ball, floor, quirk.Friction("rub", floor, np.inf)], gravity=DOWN)
    with pytest.warns(quirk.ImpactWarning, match='"rub": the surfaces touch and slip, which friction stops at once'):
        system.acceleration(system.initial_state())
    system.acceleration(quirk.Run(system).state)


def test_bodies_that_have_come_almost_to_rest_touch():
    """Approach speeds below the default `rest_speed`, such as those of rounded states, are no impacts."""
    system = ball_on_floor(speed=-1e-7)
    assert np.abs(system.acceleration(system.initial_state()).linear).max() < 1e-12 * G


def test_negative_gaps_are_errors():
    system = ball_on_floor(height=0.09)
    for analysis in (system.acceleration, system.joint_loads, system.modes, system.mobility):
        with pytest.raises(quirk.InputError, match=r'Contact "floor": its gap .* is -0\.01 in this state, at t = 0 s'):
            analysis(system.initial_state())
    system.disable("floor")
    assert np.allclose(system.acceleration(system.initial_state()).linear, [DOWN])


def test_switched_contacts_and_friction_of_states():
    system = ball_on_floor(friction=0.3)
    state = system.initial_state()
    state.switched["floor"] = False
    assert np.allclose(system.acceleration(state).linear, [DOWN])
    assert np.abs(system.acceleration(system.initial_state()).linear).max() < 1e-12 * G
    again = pickle.loads(pickle.dumps(system))
    assert np.abs(again.acceleration(again.initial_state()).linear).max() < 1e-12 * G


def test_switched_parts_in_joint_space_and_in_velocities_that_constraints_allow():
    cart = quirk.Body.box("cart", 2.0, [0.2, 0.2, 0.1], velocity=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, cart, point=[0, 0, 0], axis=[1, 0, 0])
    brake = quirk.Fixed("brake", quirk.GROUND, cart, active=False)
    motor = quirk.JointForce("motor", rail, 3.0)
    system = quirk.System([cart, rail, brake, motor])
    state = system.initial_state()
    state.switched |= {"brake": True}
    stopped = system.remove_disallowed_velocity(state)
    assert np.abs(stopped.velocity).max() < 1e-14 and stopped.switched == state.switched
    state = system.initial_state()
    state.switched |= {"motor": False}
    assert np.allclose(system.joint_space(state, coordinates=["rail"]).applied, 0.0)
    assert np.allclose(system.joint_space(system.initial_state(), coordinates=["rail"]).applied, 3.0)
    weaker = quirk.JointForce("motor", rail, 1.0)
    replaced = quirk.State(*state.parts, replaced={"motor": weaker})
    with pytest.raises(quirk.InputError, match='events have replaced JointForce "motor"'):
        system.joint_space(replaced, coordinates=["rail"])


def test_gaps_of_user_functions_are_read_anew():
    """Also where a function reads a value that has changed since the last analysis."""
    level = {"floor": 0.0}
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1])
    floor = quirk.OneSided("floor", [ball], lambda t, a: a.position[2] - 0.1 - level["floor"])
    system = quirk.System([ball, floor], gravity=DOWN)
    for height, expected in ((0.0, 0.0), (-1.0, -G), (0.0, 0.0)):
        level["floor"] = height
        assert np.allclose(system.acceleration(system.initial_state()).linear, [[0, 0, expected]], atol=1e-12)


def random_box(rng):
    """Box on three to five feet on a slope, at rest or sliding, pushed."""
    points = [*FOUR, (0, 0)][: rng.integers(3, 6)]
    moves = rng.integers(2, size=2)
    return box_on_corners(
        points,
        rng.choice([None, 0.2, 0.5, 1.5]),
        push=rng.choice([0, 3]) * rng.normal(size=3),
        at=rng.uniform(-0.1, 0.1, 3),
        tilt=rng.uniform(0, 0.6),
        velocity=moves[0] * np.array([*rng.normal(size=2), 0]),
        angular_velocity=moves[1] * np.array([0, 0, rng.normal()]),
    )


def random_stack(rng):
    """Two or three balls on each other, some of which are lifted or pushed aside."""
    balls = [
        quirk.Body.sphere(f"ball {k}", rng.uniform(1, 3), 0.1, position=[0, 0, 0.1 + 0.2 * k])
        for k in range(rng.integers(2, 4))
    ]
    touching = [
        quirk.Contact(
            f"touch {k}", *(pair), on_i=surface.plane() if k == 0 else surface.sphere(0.1), on_j=surface.sphere(0.1)
        )
        for k, pair in enumerate(zip([quirk.GROUND, *balls], balls, strict=False))
    ]
    friction = rng.choice([None, 0.3])
    rubs = [] if friction is None else [quirk.Friction(f"rub {k}", one, friction) for k, one in enumerate(touching)]
    side = rng.choice([0.0, 0.5])
    pushes = [
        quirk.Force(f"push {k}", ball, [*side * rng.normal(size=2), 15 * rng.normal()]) for k, ball in enumerate(balls)
    ]
    return quirk.System([*balls, *touching, *rubs, *pushes], gravity=DOWN)


def random_linkage(rng):
    """Three rods in a row, with brakes, friction and stops at their hinges, and a rope at the end."""
    parts, before = [], quirk.GROUND
    for k in range(3):
        rod = quirk.Body.box(f"rod {k}", rng.uniform(0.5, 2), [1, 0.1, 0.1], position=[k + 0.5, 0, 0])
        hinge = quirk.Revolute(f"hinge {k}", before, rod, point=[k, 0, 0], axis=[0, 1, 0])
        at_hinge = [
            quirk.JointFriction(f"brake {k}", hinge, coulomb=rng.uniform(0, 30), sticking=True),
            quirk.Friction(f"rub {k}", hinge, rng.uniform(0.1, 3), radius=0.2),
            quirk.Stop(f"stop {k}", hinge, **{rng.choice(["lower", "upper"]): 0.0}),
            quirk.JointTorque(f"torque {k}", hinge, rng.normal()),
        ][rng.integers(4)]
        parts += [rod, hinge, at_hinge]
        before = rod
    rope = quirk.Rope("rope", quirk.GROUND, before, point_i=[2.5, 0, 1.0], length=1.0)
    return quirk.System([*parts, *([rope] if rng.random() < 0.5 else [])], gravity=DOWN)


@pytest.mark.parametrize("family", [random_box, random_stack, random_linkage])
@pytest.mark.parametrize("seed", range(6))
def test_random_systems_agree_with_runs_that_start_there(family, seed):
    """Accelerations and all loads, in a run and in the first row of a result; rows and loads of the dense solver."""
    system = family(np.random.default_rng(seed))
    state = system.initial_state()
    run, result = quirk.Run(system, initial_state=state), quirk.simulate(system, 1e-4, output=1e-4, initial_state=state)
    found, dense = (system.acceleration(state, solver=solver) for solver in ("sparse", "dense"))
    loads, loads_of_dense = (system.joint_loads(state, solver=solver) for solver in ("sparse", "dense"))
    for k, body in enumerate(system.bodies):
        for linear, angular in (
            (run[body.name].acceleration, run[body.name].angular_acceleration),
            (result[body.name].acceleration[0], result[body.name].angular_acceleration[0]),
            (dense.linear[k], dense.angular[k]),
        ):
            assert np.allclose(found.linear[k], linear, atol=1e-10 * G)
            assert np.allclose(found.angular[k], angular, atol=1e-10 * G)
    size = max(np.abs([load.force for load in loads.values()]).max(initial=0.0), G)
    for constraint in system.constraints:
        zero = quirk.system.quantities.JointLoad(np.zeros(3), np.zeros(3))
        load, of_dense = (one.get(constraint.name, zero) for one in (loads, loads_of_dense))
        view = run[constraint.name]
        assert np.allclose([load.force, load.torque], [view.force(), view.torque()], atol=1e-10 * size)
        assert np.allclose([load.force, load.torque], [of_dense.force, of_dense.torque], atol=1e-10 * size)
    rows = system.constraint_rows(state)
    motion = np.concatenate([found.linear, found.quaternion], axis=1).ravel()
    assert np.allclose(rows.A @ motion, rows.b, atol=1e-10 * G)


def test_virtual_work_of_closed_contacts():
    system = ball_on_floor(friction=0.3)
    work = system.virtual_work(system.initial_state(), 0.0, [[0, 0, 2.0, 0, 0, 0]])
    assert np.allclose([work.applied["gravity"], work.constraints["floor"]], [-2.0 * G, 2.0 * G], rtol=1e-12)


def test_states_with_open_gaps_leave_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system = ball_on_floor(height=0.2, speed=-3.0, friction=0.3)
        assert np.allclose(system.acceleration(system.initial_state()).linear, [DOWN])
