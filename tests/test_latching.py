"""Constraints that engage and let go along a run: momentum, energy, impulses."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk.dynamics.contact.impulse import velocity_jump
from quirk.errors import SimulationError


def swarm(seed, count, events, *constraints):
    """Boxes that float about, with fixed joints between neighbors that are open."""
    rng = np.random.default_rng(seed)
    boxes = [
        quirk.Body.box(
            f"box {k}", mass=rng.uniform(0.5, 3), size=rng.uniform(0.3, 1.5, 3), position=3 * rng.normal(size=3),
            orientation=rng.normal(size=4), velocity=0.2 * rng.normal(size=3), angular_velocity=0.3 * rng.normal(size=3),
        )
        for k in range(count)
    ]  # fmt: skip
    kinds = [quirk.Fixed, quirk.Spherical, quirk.Revolute, quirk.Prismatic]
    latches = []
    for k in range(count - 1):
        kind = kinds[rng.integers(len(kinds))]
        where = {"point": 3 * rng.normal(size=3)} | ({} if kind is quirk.Spherical else {"axis": rng.normal(size=3)})
        latches.append(kind(f"latch {k}", boxes[k], boxes[k + 1], **where, active=False))
    return quirk.System([*boxes, *latches, *constraints, *events])


def test_a_hundred_latchings_and_releases():
    """Momenta to 1e-12; each latching loses half its impulses times the rates that they end."""
    count = 20
    rng = np.random.default_rng(1)
    events, closed = [], set()
    for number in range(100):
        k = int(rng.integers(count - 1))
        action = quirk.release(f"latch {k}") if k in closed else quirk.engage(f"latch {k}", keep_offset=True)
        closed ^= {k}
        events.append(quirk.Event(f"{number}", "time", level=0.02 * (number + 1), action=action))
    result = quirk.simulate(swarm(2, count, events), 2.1, output=0.1, rtol=1e-11)
    assert len(result.events) == 100
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum - momentum[0], 0, atol=1e-12 * np.abs(momentum).max())
    assert result.energy.total[-1] < result.energy.total[0]
    # The energy lost is M (v- - v+).(v- - v+) / 2, from both sides of each event.
    model = result._model
    for event in result.events:
        rows = np.flatnonzero(result.time == event.time)
        before, after = (result.state_at(int(row)) for row in rows[[0, -1]])
        dv, dw = before.velocity - after.velocity, before.angular_velocity - after.angular_velocity
        lost = 0.5 * (model.mass @ (dv**2).sum(axis=1) + np.einsum("ni,nij,nj->", dw, model.inertia, dw))
        np.testing.assert_allclose(event.energy_loss, lost, rtol=0, atol=1e-11 * event.energy_before)
        assert bool(event.impulse) == (lost > 0)


def test_energy_is_lost_by_half_the_impulses_times_rates():
    """From the multipliers of all rows, with redundant ones among them."""
    system = swarm(3, 5, [])
    names = [f"latch {k}" for k in range(4)]
    doubled = system.with_parts(*(
        type(system[name])(f"{name} again", system[name].body_i, system[name].body_j, frame_i=system[name].frame_i,
                           frame_j=system[name].frame_j) for name in names[:2]
    ))  # fmt: skip
    doubled.activate(*names)
    state = doubled.initial_state()
    solver = doubled.plant.solver()
    y = doubled.model.auxiliary.flat(state)
    solver.settle(solver.slots.state_to_lanes(y), 0.0)
    assert solver.redundant
    after, impulse = velocity_jump(solver, y, 0.0)
    rates = doubled.constraint_rows(state).phi_dot
    moved = doubled.model.auxiliary.state(after)
    np.testing.assert_allclose(doubled.constraint_rows(moved).phi_dot, 0, atol=1e-13)
    # Each body's momentum changes by the impulses on it.
    for row, body in enumerate(doubled.bodies):
        total = np.zeros(3)
        for name, one in impulse.items():
            total += one.force * (int(doubled[name].body_j is body) - int(doubled[name].body_i is body))
        np.testing.assert_allclose(total, body.mass * (moved.velocity[row] - state.velocity[row]), atol=1e-12)
    # Twins share their loads equally.
    np.testing.assert_allclose(impulse[names[0]].force, impulse[f"{names[0]} again"].force, atol=1e-12)
    assert np.abs(rates).max() > 0.1


def two_boxes(*more, gap=0.0, speed=0.5):
    a = quirk.Body.box("a", mass=1.0, size=[1, 1, 1], velocity=[speed, 0, 0])
    b = quirk.Body.box("b", mass=3.0, size=[1, 1, 1], position=[2.0, 0.1 + gap, 0], angular_velocity=[0.1, 0.2, 0])
    latch = quirk.Fixed("latch", a, b, frame_i=quirk.Frame([0.5, 0, 0]), frame_j=quirk.Frame([-0.5, -0.1, 0]),
                        active=False)  # fmt: skip
    return quirk.System([a, b, latch, *more])


def test_poses_are_assembled_within_a_tolerance():
    """The boxes do not quite fit when they meet: they are moved, and no momentum is lost for it."""
    meet = quirk.Event("meet", "latch.displacement.x", direction=-1, action=quirk.engage("latch", tolerance=0.4))
    result = quirk.simulate(two_boxes(meet, gap=0.01), 4.0, output=0.1, rtol=1e-11)
    (event,) = result.events
    latch = result["latch"]
    rows = np.flatnonzero(result.time == event.time)
    assert np.abs(latch.displacement[rows[0]]).max() > 0.01
    np.testing.assert_allclose(latch.displacement[rows[-1] :], 0, atol=1e-12)
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum - momentum[0], 0, atol=1e-12 * np.abs(momentum).max())
    assert result.active("latch").tolist() == [False] * int(rows[-1]) + [True] * (len(result.time) - int(rows[-1]))


def test_an_offset_is_kept_or_refused():
    keep = quirk.Event("keep", "time", level=1.0, action=quirk.engage("latch", keep_offset=True))
    result = quirk.simulate(two_boxes(keep), 2.0, output=0.25)
    row = np.flatnonzero(result.time == 1.0)[0]
    offset = result["latch"].displacement[row]
    assert np.abs(offset).max() > 0.1
    np.testing.assert_allclose(
        result["latch"].displacement[row:], np.tile(offset, (len(result.time) - row, 1)), atol=1e-10
    )
    refuse = quirk.Event("refuse", "time", level=1.0, action=quirk.engage("latch"))
    with pytest.raises(
        SimulationError, match=r'Event "refuse": Fixed "latch" cannot engage: bodies would have to'
    ) as caught:
        quirk.simulate(two_boxes(refuse), 2.0, output=0.25)
    assert caught.value.time == 1.0
    assert caught.value.result.time[-1] == 1.0


def test_a_latch_that_breaks_at_a_load():
    """A weight hangs on a latch, and a second is added until the load is too much."""
    a = quirk.Body.sphere("a", mass=1.0, radius=0.1)
    hook = quirk.Fixed("hook", quirk.GROUND, a, point=[0, 0, 0])
    pull = quirk.Force("pull", a, lambda t, r, q, v, w: np.array([0.0, 0.0, -3.0 * t]))
    broken = quirk.Event("broken", "hook.force", level=5.0, direction=1, action=quirk.release("hook"))
    result = quirk.simulate(quirk.System([a, hook, pull, broken]), 3.0, output=0.5, rtol=1e-12)
    np.testing.assert_allclose(result["broken"].time, [5 / 3], rtol=1e-12)
    np.testing.assert_allclose(result["a"].velocity[-1, 2], -1.5 * (9 - 25 / 9), rtol=1e-11)
    assert not result.active("hook")[-1]
    np.testing.assert_allclose(result["hook"].force()[result.active("hook"), 2], 3 * result.time[result.active("hook")],
                               rtol=1e-12)  # fmt: skip


def test_plants_are_made_once_for_a_mechanism_that_goes_back_and_forth():
    a = quirk.Body.box("a", mass=1.0, size=[1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 1, 0])
    brake = quirk.Fixed("brake", quirk.GROUND, a, point=[0, 0, 0], active=False)
    events = []
    for k in range(1, 20):
        action = quirk.engage("brake", tolerance=10.0) if k % 2 else quirk.release("brake")
        events.append(quirk.Event(f"{k}", "time", level=0.1 * k, action=action))
    system = quirk.System([a, hinge, brake, *events], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 2.0, output=0.1)
    assert len(result.segments) == 20
    assert len({id(segment.plant) for segment in result.segments}) == 2
    assert result.statistics.steps > 20


def test_contradictory_latches():
    """Two drives that turn the same joint at different rates."""
    a = quirk.Body.box("a", mass=1.0, size=[1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 1, 0])
    one = quirk.Drive("one", hinge, quirk.Motion.constant_rate(1.0))
    two = quirk.Drive("two", hinge, quirk.Motion.polynomial([-0.5, 2.0]), active=False)
    event = quirk.Event("both", "time", level=0.5, action=quirk.engage("two"))
    system = quirk.System([a, hinge, one, two, event])
    system.assemble()
    with pytest.raises(SimulationError, match=r'Event "both": .*contradict each other: Drive') as caught:
        quirk.simulate(system, 1.0, output=0.1)
    assert caught.value.time == 0.5


@pytest.mark.parametrize("stops", [0.75, 1.25])
def test_a_run_goes_on_from_where_an_event_has_stopped_it(stops):
    """What was latched stays so, and a force that was switched off too; the same from a copy of the state."""

    def system():
        a = quirk.Body.box("a", mass=1.0, size=[1, 1, 1], velocity=[0.5, 0.1, 0])
        b = quirk.Body.box("b", mass=3.0, size=[1, 1, 1], position=[2.0, 0.1, 0], angular_velocity=[0.1, 0.2, 0])
        latch = quirk.Fixed("latch", a, b, frame_i=quirk.Frame([0.5, 0, 0]), frame_j=quirk.Frame([-0.5, -0.1, 0]),
                            active=False)  # fmt: skip
        push = quirk.Force("push", a, [0.3, 0, 0.2])
        return quirk.System([
            a, b, latch, push,
            quirk.Event("join", "time", level=0.5, action=quirk.engage("latch", keep_offset=True)),
            quirk.Event("off", "time", level=1.0, action=quirk.switch_off("push")),
        ])  # fmt: skip

    options = {"output": 0.25, "rtol": 1e-12}
    whole = quirk.simulate(system(), 2.0, **options)
    stop = quirk.Event("stop", "time", level=stops, action="stop")
    one = system()
    first = quirk.simulate(one, 2.0, events=[stop], **options)
    assert first.status == "stopped"
    state = first.state_at()
    assert state.switched == ({"latch": True} if stops < 1 else {"latch": True, "push": False})
    second = quirk.simulate(one, 2.0 - stops, start=stops, initial_state=state, **options)
    np.testing.assert_allclose(second.state.position[-1], whole.state.position[-1], atol=1e-11)
    assert second.active("latch").all()
    again = quirk.simulate(one, 2.0 - stops, start=stops, initial_state=state.copy(), **options)
    np.testing.assert_array_equal(second.state.position, again.state.position)


@pytest.mark.parametrize("seed", study(range(12), 2))
@pytest.mark.parametrize("method", ["Vern9", "Taylor"])
def test_a_joint_that_has_closed_does_not_close_again(seed, method):
    """Though what is left of the rate of its gap is round-off of either sign."""
    rng = np.random.default_rng(seed)
    speed, masses, distance = rng.uniform(1, 5), rng.uniform(1, 500, 2), 10.0 ** rng.uniform(-6, -3)
    place = rng.normal(size=3)
    first = quirk.Body.box("first", mass=masses[0], size=[1, 0.5, 0.4], position=place, velocity=[speed, 0, 0])
    second = quirk.Body.box("second", mass=masses[1], size=[1, 0.5, 0.4], position=place + 3.0 * np.eye(3)[0])
    tracks = [
        quirk.Prismatic(f"track {body.name}", quirk.GROUND, body, point=place, axis=[1, 0, 0])
        for body in (first, second)
    ]
    forward = [np.sqrt(0.5), 0, np.sqrt(0.5), 0]  # turns z into x
    hook, eye = quirk.Frame([0.5, 0, 0], forward), quirk.Frame([-0.5, 0, 0], forward)
    coupling = quirk.PointOnPlane("coupling", first, second, frame_i=hook, frame_j=eye, active=False)
    brakes = [quirk.Friction(f"brake {track.name}", track, 0.02) for track in tracks]
    latch = quirk.Latch("latch", coupling, distance=distance)
    train = quirk.System([first, second, *tracks, coupling, latch, *brakes], gravity=[0, 0, -9.81])
    result = quirk.simulate(train, 4.0 / speed, output=0.1, method=method)
    assert [event.name for event in result.events if event.name == "latch"] == ["latch"], (speed, masses, distance)


@pytest.mark.parametrize("seed", study(range(30), 4))
@pytest.mark.parametrize("strength", [None, 5.0])
def test_a_latch_that_keeps_the_offset_closes_once(strength, seed):
    """It stands at its limits, up to round-off, while it is closed, and where it has broken under a thrust."""
    rng = np.random.default_rng(seed)
    place, reach, distance = rng.choice([1.0, 30.0]), rng.uniform(0.3, 0.6), rng.uniform(0.01, 0.05)
    first = quirk.Body.box("first", rng.uniform(0.5, 3), [0.2, 0.1, 0.1], position=[place, 0, 0])
    second = quirk.Body.box(
        "second", rng.uniform(0.5, 3), [0.2, 0.1, 0.1], position=[place + 1.0, 0, 0], velocity=[-1.0, 0, 0]
    )
    rails = [quirk.Prismatic(f"rail of {body}", quirk.GROUND, body, axis="x") for body in (first, second)]
    dock = quirk.Generic(
        "dock", first, second, frame_i=quirk.Frame([reach, 0, 0]), frame_j=quirk.Frame(),
        constrained=[1, 0, 0, 0, 0, 0], active=False,
    )  # fmt: skip
    latch = quirk.Latch("latch", dock, distance=distance, keep_offset=True, strength=strength)
    thrust = quirk.Force("thrust", second, [quirk.Motion.polynomial([0.0, -8.0]), 0, 0])
    brake = quirk.JointFriction("brake", rails[0], coulomb=1.0, sticking=True)
    train = quirk.System([first, second, *rails, dock, latch, thrust, brake])
    result = quirk.simulate(train, 3.0, output=0.1)
    breaks = ["latch breaks"] if strength else []
    names = [event.name for event in result.events if event.name.startswith("latch")]
    assert names[: 1 + len(breaks)] == ["latch", *breaks], (seed, names)
    # The hook has passed its eye by then, so that the latch may close once more where they meet again.
    assert len(names) <= 1 + 2 * len(breaks), (seed, names)


def held_block(force):
    """A block of 1 kg that a joint with a strength of 10 N holds against a force."""
    block = quirk.Body.box("block", 1.0, [0.1, 0.1, 0.1])
    joint = quirk.Fixed("joint", quirk.GROUND, block, point=[0, 0, 0])
    latch = quirk.Latch("latch", joint, distance=0.01, strength=10.0)
    return quirk.System([block, joint, latch, quirk.Force("push", block, [force, 0, 0])])


@pytest.mark.parametrize("force", [9.0, 20.0])
def test_a_joint_that_is_overloaded_at_the_start_breaks_at_once(force):
    result = quirk.simulate(held_block(force), 1.0, output=0.5)
    breaks = force > 10.0
    assert [event.time for event in result.events] == [0.0] * breaks
    assert abs(result["block"].velocity[-1, 0] - force * breaks) < 1e-9


def test_an_input_of_a_batch_breaks_a_joint_between_two_calls():
    batch = quirk.Batch(held_block(0.0), 2, inputs=["push"])
    batch.advance(0.3)
    batch.inputs["push"] = [[9.0, 0, 0], [20.0, 0, 0]]
    batch.advance(0.7)
    assert np.abs(batch.state.velocity[:, 0, 0] - [0.0, 14.0]).max() < 1e-9


@pytest.mark.parametrize("side", [1, -1])
def test_poses_moved_by_an_engagement_open_contacts_and_do_not_close_them(side):
    """A cart at a stop is pulled to a block of equal mass by half of what their distance differs: off the stop, or into it."""
    cart, block = (
        quirk.Body.box(name, 1.0, [0.1] * 3, position=[x, 0, 0], velocity=[v, 0, 0])
        for name, x, v in (("cart", -0.05 * side, -0.2 * side), ("block", 1.0, 0.0))
    )
    rails = [quirk.Prismatic(f"rail of {body}", quirk.GROUND, body, axis="x") for body in (cart, block)]
    stop = quirk.Stop("stop", rails[0], **({"lower": -0.05} if side > 0 else {"upper": 0.05}))
    hook = quirk.Distance("hook", cart, block, length=0.85, active=False)
    caught = quirk.Event("caught", "time", level=0.5, action=quirk.enable(hook, tolerance=0.2))
    push = quirk.Force("push", cart, [-1.0 * side, 0, 0])
    system = quirk.System([cart, block, *rails, stop, hook, push, caught])
    if side > 0:
        result = quirk.simulate(system, 0.6, output=0.1)
        # From -0.1 m at the stop, with the acceleration of both by the push for 0.1 s.
        moved = -0.1 + (1.1 - 0.85) / 2 - 0.5 * 0.5 * 0.1**2
        assert result["cart"].position[-1, 0] == pytest.approx(moved, abs=1e-12)
        assert not result.active("stop")[-1]
        return
    with pytest.raises(SimulationError, match=r'Stop "stop": its gap .* jumps from .* and cannot be negative'):
        quirk.simulate(system, 0.6, output=0.1)
