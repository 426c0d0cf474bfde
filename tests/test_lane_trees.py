"""Trees of joints of all kinds in vector lanes: members against single runs, the dense solver and the constraints."""

import numpy as np
import pytest
from mechanisms import random_inertia, random_quaternion
from studies import study
from test_lanes import compared

import quirk
from quirk import GROUND, Batch, Body
from quirk.batches.lanes.links import suits

KINDS = [quirk.Revolute, quirk.Spherical, quirk.Fixed, quirk.Prismatic, quirk.Cylindrical, quirk.Universal]
MEMBERS = 9


class Tree:
    """A random tree of bodies that at first move as one rigid body, so that joints may be anywhere.

    Masses, inertias, all frames of joints, and loads differ between members: `vary` are their values.
    """

    def __init__(self, seed, held=None, kinds=KINDS, bodies=6, length=1.0):
        rng = self.rng = np.random.default_rng(seed)
        held = bool(rng.integers(2)) if held is None else held
        self.velocity, self.spin = ((0.0 if held else 1.0) * rng.normal(size=3) for _ in range(2))
        self.velocity *= length
        self.length, self.vary, self.parts, placed = length, {}, [], []
        order = rng.permutation(len(kinds))
        for k in range(bodies):
            body = self.body(f"body {k}")
            parent = placed[rng.integers(k)] if k else GROUND
            if k or held:
                pair = (parent, body) if rng.random() < 0.5 else (body, parent)
                self.joint(kinds[order[k % len(kinds)]], f"joint {k}", *pair)
            placed.append(body)
        ends = {f"point_{side}": 0.1 * length * rng.normal(size=3) for side in "ij"}
        self.parts += [
            quirk.Spring("spring", placed[0], placed[-1], stiffness=20.0, damping=0.5, **ends),
            quirk.Torque("torque", placed[1], 0.1 * length**2 * rng.normal(size=3)),
        ]
        self.vary["spring", "stiffness"] = rng.uniform(10.0, 30.0, MEMBERS)
        self.vary["gravity"] = length * rng.normal(0.0, 3.0, (MEMBERS, 3))
        self.system = quirk.System(self.parts, gravity=self.vary["gravity"][0])

    def body(self, name):
        rng, length = self.rng, self.length
        position, q = length * rng.uniform(-1, 1, 3), random_quaternion(rng)
        mass = rng.uniform(0.5, 2.0, MEMBERS)
        inertia = 0.1 * length**2 * np.array([random_inertia(rng) for _ in range(MEMBERS)])
        self.vary[name, "mass"], self.vary[name, "inertia"] = mass, inertia
        velocity, spin = self.velocity + np.cross(self.spin, position), quirk.rotation.matrix(q).T @ self.spin
        body = Body(
            name, mass[0], inertia[0], position=position, orientation=q, velocity=velocity, angular_velocity=spin
        )
        self.parts.append(body)
        return body

    def joint(self, kind, name, *bodies):
        """Add a joint whose frames differ between members; those of joints that slide are apart along the axis."""
        rng, frames = self.rng, {}
        points = self.length * rng.uniform(-1, 1, (MEMBERS, 3))
        axes = np.array([random_quaternion(rng) for _ in range(MEMBERS)])
        travel = self.length * rng.uniform(-1, 1, MEMBERS) * (kind in (quirk.Prismatic, quirk.Cylindrical))
        slid = points + quirk.rotation.matrix(axes)[:, :, 2] * travel[:, None]
        for side, body, origins in zip("ij", bodies, (points, slid), strict=True):
            q, position = ([1.0, 0, 0, 0], np.zeros(3)) if body is GROUND else (body.orientation, body.position)
            origins = (origins - position) @ quirk.rotation.matrix(np.asarray(q))
            rotations = quirk.rotation.multiply(quirk.rotation.conjugate(np.asarray(q)), axes)
            self.vary[name, f"frame_{side}.origin"], self.vary[name, f"frame_{side}.rotation"] = origins, rotations
            frames[f"frame_{side}"] = quirk.Frame(origins[0], rotations[0])
        self.parts.append(kind(name, *bodies, **frames))


def assert_members_equal_single_runs(seed, method, **options):
    tree = Tree(seed, **options)
    compared(tree.system, tree.vary, {"method": method, "step": 2e-3}, (0, 3, 8), duration=0.2)
    assert suits(tree.system.plant.solver())


@pytest.mark.parametrize("method", ["RK4", "RK45"])
@pytest.mark.parametrize("seed", study(range(4), 2))
def test_members_equal_single_runs(seed, method):
    assert_members_equal_single_runs(seed, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK4", "RK45"])
@pytest.mark.parametrize("seed", range(4, 60))
def test_many_trees(seed, method):
    assert_members_equal_single_runs(seed, method, bodies=4 + seed % 7)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_trees_of_one_kind(kind, held):
    assert_members_equal_single_runs(5, "RK4", kinds=[kind], held=held, bodies=4)


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_members_equal_single_runs_at_any_scale(length):
    assert_members_equal_single_runs(6, "RK4", length=length)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 8])
def test_members_differ_from_the_dense_solver_by_less_than_the_error_of_the_steps(seed):
    """Stages off the constraints differ from those by rows, by an amount that is of the fourth order, too."""
    tree, apart, members = Tree(seed), [], (0, 8)
    for step in (0.04, 0.02):
        batch = Batch(tree.system, MEMBERS, vary=tree.vary, method="RK4", step=step, threads=1)
        options = [{"output": [0.4], "initial_state": batch.state.member(k, {}, {})} for k in members]
        batch.advance(0.4)
        assert "lanes" in batch.summary()
        for k, own in zip(members, options, strict=True):
            dense = quirk.simulate(batch.member(k), 0.4, method="RK4", step=step, solver="dense", **own)
            true = quirk.simulate(batch.member(k), 0.4, rtol=1e-12, **own).state_at(-1).position
            dense = dense.state_at(-1).position
            apart.append(np.abs(batch.state.position[k] - dense).max())
            assert apart[-1] < np.abs(dense - true).max(), k
    assert apart[2] < apart[0] / 12 and apart[3] < apart[1] / 12


@pytest.mark.parametrize("seed", [1, 2])
def test_projection_keeps_all_constraints(seed):
    tree = Tree(seed)
    batch = Batch(tree.system, MEMBERS, vary=tree.vary, method="RK4", step=5e-3, threads=1)
    batch.advance(2.0)
    assert "by one" not in batch.summary() and batch.status.tolist() == ["completed"] * MEMBERS
    for k in range(MEMBERS):
        state = batch.state.member(k, {}, {})
        rows = batch.member(k).constraint_rows(state, 2.0)
        reach = 1.0 + np.abs(state.position).max()
        assert np.abs(rows.phi).max() < 1e-14 * reach, k
        speed = 1.0 + np.abs(state.velocity).max() + reach * np.abs(state.angular_velocity).max()
        assert np.abs(rows.phi_dot).max() < 1e-14 * speed, k


def scara():
    """An arm of two hinges with a spring at each, and a quill that a spring holds."""
    arm = Body.box("arm", 3.0, [0.4, 0.1, 0.1], position=[0.2, 0, 0.5])
    fore = Body.box("fore", 2.0, [0.3, 0.1, 0.1], position=[0.55, 0, 0.5])
    quill = Body.cylinder("quill", 0.5, 0.02, 0.4, "z", position=[0.7, 0, 0.5], angular_velocity=[0, 0, 5.0])
    shoulder = quirk.Revolute("shoulder", GROUND, arm, point=[0, 0, 0.5], axis=[0, 0.1, 1])
    elbow = quirk.Revolute("elbow", arm, fore, point=[0.4, 0, 0.5], axis=[0, 0, 1])
    return quirk.System([
        arm, fore, quill, shoulder, elbow, quirk.Cylindrical("spindle", fore, quill, point=[0.7, 0, 0.5], axis="z"),
        quirk.TorsionSpring("at shoulder", shoulder, stiffness=8.0, rest_angle=0.4),
        quirk.TorsionSpring("at elbow", elbow, stiffness=3.0, rest_angle=-0.8),
        quirk.Spring("at quill", fore, quill, point_i=[0.15, 0, 1], point_j=[0, 0, 0.2], stiffness=400.0, damping=1.0),
    ], gravity=[0, 0, -9.81])  # fmt: skip


@pytest.mark.parametrize("method", ["RK4", "RK45"])
def test_an_arm_over_a_thousand_steps(method):
    masses = np.random.default_rng(1).uniform(0.4, 0.6, MEMBERS)
    compared(scara(), {("quill", "mass"): masses}, {"method": method, "step": 1e-3}, (0, 8), duration=1.0)


def test_a_body_that_slides_far():
    """The positions along the axis grow to 1e6 lengths; those across it, and the orientation, have no round-off."""
    cart = Body.box("cart", 1.0, [0.5, 0.2, 0.3], velocity=[1e6, 0, 0])
    bob = Body.box("bob", 0.5, [0.1, 0.1, 0.4], position=[0, 0, -0.3], velocity=[1e6, 0, 0])
    system = quirk.System([
        cart, bob, quirk.Prismatic("rail", GROUND, cart, axis="x"),
        quirk.Universal("cross", cart, bob, point=[0, 0, -0.1], axis_i="x", axis_j="y"),
    ], gravity=[0, 2.0, -9.81])  # fmt: skip
    compared(system, {("bob", "mass"): np.linspace(0.4, 0.6, 8)}, {"method": "RK4", "step": 1e-3}, (0, 7))
    batch = Batch(system, 8, method="RK4", step=1e-3)
    batch.advance(1.0)
    assert batch.state.position[0, 0, 0] > 0.99e6
    np.testing.assert_array_equal(batch.state.position[:, 0, 1:], 0.0)
    np.testing.assert_array_equal(batch.state.orientation[:, 0], [[1.0, 0, 0, 0]] * 8)


@pytest.mark.parametrize("end", [[1, 0, 0], [0, 0, 1]])
def test_universal_joints_of_slender_rods(end):
    """A moment of inertia that is 1e-4 of the others amplifies round-off; joints turn first about the rod, or last."""
    across = np.roll(end, 1)
    inertia = np.diag(0.08 - (0.08 - 8e-6) * np.square(end))
    parts, lower = [], GROUND
    for k in range(5):
        rod = Body(f"rod {k}", 1.0, inertia, position=(k + 0.5) * np.array(end))
        axes = (end, across) if k % 2 else (across, end)
        parts += [
            rod,
            quirk.Universal(f"cross {k}", lower, rod, point=k * np.array(end), axis_i=axes[0], axis_j=axes[1]),
        ]
        lower = rod
    system = quirk.System(parts, gravity=[1.0, 2.0, -9.81])
    masses, options = {("rod 2", "mass"): np.linspace(0.4, 0.6, 8)}, {"method": "RK4", "step": 1e-4}
    compared(system, masses, options, (0, 7), duration=0.01, tolerance=1e-11)
