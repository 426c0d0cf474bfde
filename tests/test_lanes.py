"""Members computed eight at a time in vector lanes move as in single runs, to round-off."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Batch, Body
from quirk.batches import member_numbers, variation

PARTS = ("position", "orientation", "velocity", "angular_velocity")
TILTED = [0.4, 0.7, -9.81]


def chain(joint, count=4, length=1.0):
    parts, before = [], GROUND
    for k in range(count):
        size = [length, 0.1 * length, 0.2 * length]
        link = Body.box(f"link {k}", mass=1.0 + k, size=size, position=[(k + 0.5) * length, 0, 0])
        parts += [link, joint(f"joint {k}", before, link, point=[k * length, 0, 0])]
        before = link
    return quirk.System(parts, gravity=np.multiply(TILTED, length))


def balls(length=1.0):
    return chain(quirk.Spherical, length=length)


def hinges(length=1.0):
    def hinge(name, i, j, point):
        return quirk.Revolute(name, i, j, point=point, axis=[0.1 * (int(name[-1]) - 1), 1, 0.3])

    return chain(hinge, length=length)


def forest():
    """Hinges, ball joints and welds on the ground and on a body that is free, with loads, and another free body."""
    velocity, spin = np.array([1.0, 0, 0.5]), np.array([0.1, 2.0, 0.3])
    inertia = [[1.0, 0.1, 0.05], [0.1, 2.0, 0], [0.05, 0, 2.5]]

    def rigid(name, position, make=Body.box, sizes=(0.7, [0.5, 0.2, 0.1])):
        here = velocity + np.cross(spin, position)
        return make(name, *sizes, position=position, velocity=here, angular_velocity=spin)

    base = rigid("base", [0, 0, 0], Body, (2.0, inertia))
    arms = [rigid(f"arm {k}", at) for k, at in enumerate([[0.5, 0.2, 0], [1, 0, 0.3], [-0.5, 0.1, 0], [0, 0.8, 0.1]])]
    arms += [rigid("tool", [-0.6, 0.3, 0.4]), rigid("cap", [-0.6, 0.3, 0.7])]
    stand = Body("stand", 1.0, [1, 1.5, 0.7], position=[0, 5, 0.5])
    root, tip = (Body.box(name, 1.0, [0.2, 0.3, 1], position=[0, 5, z]) for name, z in (("root", -0.5), ("tip", -1.5)))
    return quirk.System([
        base, *arms, stand, root, tip, Body("alone", 1.0, [1, 1.5, 0.7], position=[9, 0, 0], angular_velocity=[1, 2, 3]),
        quirk.Revolute("left", arms[0], base, point=[0.2, 0.1, 0], axis=[0.2, 1, 0.4]),
        quirk.Spherical("hand", arms[0], arms[1], point=[0.8, 0, 0.1]),
        quirk.Revolute("right", base, arms[2], point=[-0.3, 0.1, 0], axis=[1, 0.3, 0.1]),
        quirk.Spherical("tail", arms[3], base, point=[0, 0.5, 0]),
        quirk.Fixed("grip", arms[4], arms[2], point=[-0.5, 0.2, 0.2], axis=[0.2, 0.3, 1]),
        quirk.Fixed("lid", arms[4], arms[5], point=[-0.6, 0.3, 0.5]),
        quirk.Fixed("foot", stand, GROUND, point=[0, 5, 0.8], axis=[1, 0.2, 0.1]),
        quirk.Spherical("pivot", stand, root, point=[0, 5, 0]), quirk.Revolute("knee", tip, root, point=[0, 5, -1], axis="y"),
        quirk.Torque("twist", arms[3], [0.1, 0.2, -0.3]), quirk.Force("push", arms[1], [1, 2, 3], point=[0.1, 0.1, 0]),
    ], gravity=TILTED)  # fmt: skip


def reversed_tree():
    """A tree whose joints have the child as body i, with a cross joint, a rigid joint, and a body that is free."""
    root = Body.box("root", 1.0, [0.2, 0.3, 1.0], position=[0, 0, -0.5])
    arms = [Body.box(f"arm {k}", 0.5, [0.6, 0.1, 0.2], position=[0.3 * s, 0, -1.0]) for k, s in enumerate((1, -1))]
    tool = Body("tool", 0.2, [[0.01, 0.002, 0], [0.002, 0.02, 0], [0, 0, 0.015]], position=[0.6, 0.1, -1.0])
    free = Body("free", 2.0, [1.0, 2.0, 2.5], position=[3, 0, 0], angular_velocity=[0.1, 2.0, 0.3])
    return quirk.System([
        root, *arms, tool, free,
        quirk.Universal("cross", root, GROUND, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0]),
        quirk.Revolute("left", arms[0], root, point=[0, 0, -1.0], axis="y"),
        quirk.Spherical("right", arms[1], root, point=[0, 0, -1.0]),
        quirk.Fixed("grip", tool, arms[0], point=[0.6, 0, -1.0]),
    ], gravity=TILTED)  # fmt: skip


def sliding():
    """A robot with a slider and a cylindrical joint, on a cross."""
    base = Body.box("base", 2.0, [0.4, 0.5, 0.3], position=[0, 0, -0.2])
    arm = Body.box("arm", 1.0, [1.0, 0.1, 0.2], position=[0.5, 0.1, -0.3])
    quill = Body.box("quill", 0.5, [0.1, 0.2, 0.6], position=[1.0, 0.2, -0.5])
    return quirk.System([
        base, arm, quill,
        quirk.Universal("cross", GROUND, base, point=[0, 0, 0], axis_i="x", axis_j="y"),
        quirk.Prismatic("rail", arm, base, axis=[1, 0.2, 0.1]),
        quirk.Cylindrical("quill axis", arm, quill, point=[1.0, 0.1, -0.3], axis=[0.1, 0.2, 1]),
    ], gravity=TILTED)  # fmt: skip


def ladder():
    """Two four-bars side by side, whose hinges have redundant rows."""
    posts = [Body.box(f"post {k}", 1.0 + 0.1 * k, [0.1, 0.1, 1], position=[k, 0, 0.5]) for k in range(3)]
    feet = [quirk.Revolute(f"foot {k}", GROUND, post, point=[k, 0, 0], axis="y") for k, post in enumerate(posts)]
    parts = [*posts, *feet]
    for k in range(2):
        rail = Body.box(f"rail {k}", 0.7, [1, 0.1, 0.1], position=[k + 0.5, 0, 1])
        parts += [
            rail,
            quirk.Revolute(f"near {k}", posts[k], rail, point=[k, 0, 1], axis="y"),
            quirk.Revolute(f"far {k}", rail, posts[k + 1], point=[k + 1, 0, 1], axis="y"),
        ]
    return quirk.System(parts, gravity=TILTED)


def loaded():
    """Rows of all kinds that close loops, with springs, dampers, a motor and constant loads."""
    slide = Body.box("slide", 0.8, [0.4, 0.3, 0.2], position=[-1, 0, 0.5])
    bob = Body.sphere("bob", 0.6, 0.2, position=[-1, 0, 1.5])
    rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis="y")
    return quirk.System([
        slide, bob, rod, hinge,
        quirk.Prismatic("rail", GROUND, slide, point=[-1, 0, 0.5], axis=[1, 0.3, 0.2]),
        quirk.Distance("rope", slide, bob, point_i=[0.1, 0, 0.05], point_j=[0, 0.1, 0]),
        quirk.Spring("spring", rod, bob, point_i=[0.5, 0, 0], point_j=[0, 0, 0.1], stiffness=30.0, damping=0.5),
        quirk.JointTorque("motor", hinge, 1.5),
        quirk.TorsionSpring("coil", hinge, stiffness=3.0, damping=0.1),
        quirk.Force("push", bob, [1.0, 2.0, 3.0]),
        quirk.Torque("twist", bob, [0.1, -0.2, 0.3]),
    ], gravity=TILTED)  # fmt: skip


def compared(system, vary, options, members, duration=0.5, tolerance=1e-13):
    """Advance a batch, and compare members with single runs; return the batch."""
    count = len(next(iter(vary.values())))
    batch = Batch(system, count, vary=vary, threads=1, **options)
    assert "lanes" in batch.summary(), batch.summary()
    states = {k: batch.state.member(k, {}, {}) for k in members}
    batch.advance(duration)
    assert batch.status.tolist() == ["completed"] * count, batch.error
    assert "by one" not in batch.summary()
    length = system.model.length
    for k in members:
        single = quirk.simulate(batch.member(k), duration, output=[duration], initial_state=states[k], **options)
        last = single.state_at(-1)
        units = (
            length + np.abs(last.position).max(),
            1.0,
            np.abs(last.velocity).max(),
            np.abs(last.angular_velocity).max(),
        )
        for name, unit in zip(PARTS, units, strict=True):
            assert np.abs(getattr(batch.state, name)[k] - getattr(last, name)).max() <= tolerance * max(
                unit, 1e-3 * length
            )
    return batch


def compared_with_masses(system, method):
    masses = np.random.default_rng(3).uniform(0.5, 2.0, 11)
    compared(
        system, {(system.bodies[0].name, "mass"): masses}, {"method": method, "step": 5e-3}, (0, 7, 10), tolerance=1e-12
    )


@pytest.mark.parametrize("system", [balls, hinges, forest, reversed_tree, sliding, ladder, loaded])
@pytest.mark.parametrize("method", ["RK4", "RK45"])
def test_members_equal_single_runs(system, method):
    compared_with_masses(system(), method)


@pytest.mark.parametrize("system", [balls, hinges, reversed_tree, sliding])
def test_members_equal_single_runs_by_rows(system, monkeypatch):
    """Where single runs compute forests by constraint rows, lanes use a spanning forest."""
    monkeypatch.setattr("quirk.dynamics.sparse.symbolic.tables.forest_with_closings", lambda *_: (None, [], None))
    compared_with_masses(system(), "RK4")


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_members_equal_single_runs_at_any_scale(length):
    gravity = np.multiply(length, np.random.default_rng(4).normal(size=(3, 3)))
    compared(hinges(length), {"gravity": gravity}, {"method": "RK4", "step": 5e-3}, (0, 2), tolerance=1e-12)


def test_parameters_of_loads_and_joints_differ_between_members():
    rng = np.random.default_rng(6)
    vary = {
        ("spring", "stiffness"): rng.uniform(10, 50, 9), ("spring", "damping"): rng.uniform(0, 1, 9),
        ("motor", "torque"): rng.uniform(-2, 2, 9), ("push", "force"): rng.normal(size=(9, 3)),
    }  # fmt: skip
    batch = compared(loaded(), vary, {"method": "RK4", "step": 5e-3}, (0, 3, 8), tolerance=1e-12)
    before = batch.state.member(4, {}, {})
    batch.inputs["motor"] = np.linspace(-3, 3, 9)
    batch.advance(0.1)
    options = {"method": "RK4", "step": 5e-3}
    single = quirk.simulate(batch.member(4), 0.1, start=0.5, output=[0.6], initial_state=before, **options).state_at(-1)
    np.testing.assert_allclose(batch.state.angular_velocity[4], single.angular_velocity, rtol=0, atol=1e-12)
    np.testing.assert_allclose(batch.state.position[4], single.position, rtol=0, atol=1e-12)


def test_bodies_of_members_are_not_constructed_where_their_masses_differ(monkeypatch):
    rod = Body("rod", 2.0, [0.3, 0.2, 0.1], position=[0, 0, -1])
    box = Body.box("box", 1.0, [0.1, 0.2, 0.3], position=[0, 0, -2])
    upper = quirk.Spherical("upper", GROUND, rod, point=[0, 0, 0])
    lower = quirk.Spherical("lower", rod, box, point=[0, 0, -1.5])
    system = quirk.System([rod, box, upper, lower], gravity=[0.5, 0.2, -9.81])
    masses, made = np.linspace(1.0, 3.0, 40), []
    monkeypatch.setattr(member_numbers, "changes_of", lambda *given: made.append(given) or variation.changes_of(*given))
    vary = {("rod", "mass"): masses, ("box", "mass"): masses[::-1].copy()}
    compared(system, vary, {"method": "RK4", "step": 5e-3}, (0, 20, 39))
    assert len(made) < 10  # those with the smallest and largest values are, as a check


def test_turns_are_counted_from_call_to_call():
    spin = {"angular_velocity": [0, 20.0, 0], "velocity": [0, 0, -10.0]}
    rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0], **spin)
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis="y")
    system = quirk.System([rod, hinge, quirk.TorsionSpring("coil", hinge, stiffness=0.5)])
    options = {"method": "RK4", "step": 0.01}
    batch = Batch(system, 3, threads=1, **options)
    assert "lanes" in batch.summary()
    state = None
    for start in (0.0, 0.5, 1.0):
        batch.advance(0.5)
        result = quirk.simulate(system, 0.5, start=start, output=[start + 0.5], initial_state=state, **options)
        state = result.state_at(-1)
    assert abs(state.angles["hinge"][2]) > 2 * np.pi
    np.testing.assert_allclose(batch.state.angles["hinge"][1], state.angles["hinge"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(batch.state.angular_velocity[1], state.angular_velocity, rtol=0, atol=1e-11)


def test_data_sets_of_lanes_are_those_of_single_runs():
    masses = np.linspace(0.5, 2.0, 10)
    options = {"method": "RK4", "step": 0.01}
    batch = Batch(balls(), 10, vary={("link 1", "mass"): masses}, threads=1, **options)
    data = batch.simulate(0.4, output=0.1)
    assert data.sizes["run"] == 10
    assert data.sizes["time"] == 5
    for k in (1, 9):
        single = quirk.simulate(batch.member(k), 0.4, output=0.1, **options)
        for name in ("link 0", "link 3"):
            np.testing.assert_allclose(data.position.sel(run=k, body=name), single[name].position, rtol=0, atol=1e-13)
            np.testing.assert_allclose(data.velocity.sel(run=k, body=name), single[name].velocity, rtol=0, atol=1e-12)
    between = batch.simulate(0.4, output=[0.105, 0.4])
    single = quirk.simulate(batch.member(9), 0.4, output=[0.105, 0.4], **options)
    np.testing.assert_array_equal(between.position.sel(run=9, body="link 3"), single["link 3"].position)


def test_a_member_that_cannot_continue_does_not_affect_its_neighbors():
    options = {"method": "RK4", "step": 5e-3}
    batch, whole = (Batch(hinges(), 8, threads=1, **options) for _ in range(2))
    batch.state.position[3, 1] = np.nan
    batch.state.velocity[5, 0] += [0.0, 5.0, 0.0]  # against the hinge
    batch.advance(0.1)
    whole.advance(0.1)
    assert batch.status.tolist() == ["failed" if k in (3, 5) else "completed" for k in range(8)]
    assert "finite" in batch.error[3]
    assert "joint 0" in batch.error[5]
    assert "2 runs of members were computed one by one" in batch.summary()
    others = [k for k in range(8) if k not in (3, 5)]
    np.testing.assert_array_equal(batch.state.position[others], whole.state.position[others])


def test_a_joint_turned_over_is_refused_as_in_single_runs():
    rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis="y")
    batch = Batch(quirk.System([rod, hinge]), 2, method="RK4", step=0.01, threads=1)
    batch.state.orientation[1, 0] = [0.0, 1.0, 0.0, 0.0]  # half a turn about the rod
    batch.advance(0.01)
    assert batch.status.tolist() == ["completed", "failed"]
    assert "opposite directions" in batch.error[1]


@pytest.mark.parametrize("count", [1, 9, 203])
def test_threads_give_the_same_bits_in_lanes(count):
    masses = np.linspace(0.5, 2.0, count)
    one, *others = (
        Batch(hinges(), count, vary={("link 2", "mass"): masses}, method="RK4", step=0.01, threads=threads)
        for threads in (1, 2, 3)
    )
    one.advance(0.5)
    for other in others:
        other.advance(0.5)
        np.testing.assert_array_equal(one.state.position, other.state.position)
        np.testing.assert_array_equal(one.state.angular_velocity, other.state.angular_velocity)


def test_what_lanes_do_not_cover_is_named():
    system = hinges()
    hinge = system["joint 0"]
    assert "fixed step" in Batch(system, 2).summary()
    event = quirk.Event("low", "joint 0.angle", level=0.5, action="stop")
    assert "low" in Batch(system.with_parts(event), 2, method="RK4", step=0.01).summary()
    control = quirk.Controller("control", hinge, 1.0, kp=1.0, ki=1.0)
    assert "control" in Batch(system.with_parts(control), 2, method="RK4", step=0.01).summary()
    drive = quirk.Drive("drive", hinge, quirk.Motion.constant_rate(0.0))
    assert "drive" in Batch(system.with_parts(drive), 2, method="RK4", step=0.01).summary()
