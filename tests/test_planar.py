"""Planar bodies and constraints: against the notes, numerical differentiation, spatial joints, and any plane."""

import numpy as np
import pytest
from pairs import moved, qdot
from planar_cases import EVERY_CASE, FAR, PLANES, POINTS, ROUNDING, SLOT, TILTED, TWO_ROWS, F, body, state_of, system_of
from planar_notes import NOTES, right_hand_side
from quirk.constraints.planar import PlanarBody, Plane
from studies import study

import quirk
from quirk import GROUND, Body, Motion, planar, rotation

T = 0.3


def joint_rows(system, state, t=T):
    rows, mine = system.constraint_rows(state, t), system.model.joint_rows["joint"]
    return rows.A[mine], rows.b[mine], rows.phi[mine], rows.phi_dot[mine]


def period(kind, parameters):
    """By what Phi is known only."""
    if "radius" in parameters:
        return 2 * np.pi * abs(parameters["radius"])
    teeth = {-5 / 12: 12, 7 / 3: 3, 2 / 3: 3}
    angular = kind in ("AngleDriver", "GearPair", "GearOnLink") or parameters.get("coordinate") == "angle"
    return 2 * np.pi / teeth.get(parameters.get("ratio"), 1) if angular else np.inf


class TestTheNotes:
    """The formulas of planar_notes by themselves, along random polynomial motions, by Cauchy's integral formula."""

    @staticmethod
    def derivative(function, order, radius=0.2, points=32):
        """Of an analytic function at T, exact to round-off."""
        circle = radius * np.exp(2j * np.pi * np.arange(points) / points)
        values = np.array([function(T + step) for step in circle])
        return [1, 1, 2, 6, 24][order] * np.tensordot(circle**-order, values, 1).real / points

    @staticmethod
    def motion(seed):
        """Towers (3, 5, 3) and derivatives (5,) of f, as functions of time."""
        c = 0.5 * np.random.default_rng(seed).normal(size=(6, 3, 3))

        def derivatives(coefficients, t):
            polynomials = [np.polynomial.polynomial.polyder(coefficients, k) for k in range(5)]
            return np.array([np.polynomial.polynomial.polyval(t, p) for p in polynomials])

        return lambda t: np.moveaxis(derivatives(c, t), 0, 1), lambda t: derivatives(F, t)

    @EVERY_CASE
    @pytest.mark.parametrize("seed", study(range(2), 1))
    def test_right_hand_sides_of_all_orders(self, kind, parameters, seed):
        towers, f = self.motion(seed)
        count = 3 if kind == "GearOnLink" else 2

        def notes(t):
            return NOTES[kind](towers(t)[:count], f(t), **parameters)

        for order in (1, 2, 3, 4):
            want = np.atleast_1d(self.derivative(lambda t: notes(t).phi(), order))
            highest = towers(T)[:count, order]
            moving = sum(np.atleast_1d(part @ q) for part, q in zip(notes(T).jacobian(), highest, strict=True))
            known = towers(T)[:count, :order]  # nothing of the order itself may enter
            got = moving - right_hand_side(kind, order, known, parameters, f(T))
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)

    @EVERY_CASE
    def test_kappa_is_the_rate_of_the_transposed_jacobian(self, kind, parameters):
        towers, f = self.motion(3)
        count = 3 if kind == "GearOnLink" else 2
        multipliers = np.array([0.7, -1.3]) if kind in TWO_ROWS else 0.7

        def loads(t):
            parts = NOTES[kind](towers(t)[:count], f(t), **parameters).jacobian()
            return np.array([part.T @ multipliers if kind in TWO_ROWS else part * multipliers for part in parts])

        kappa = NOTES[kind](towers(T)[:count], f(T), **parameters).kappa(multipliers)
        np.testing.assert_allclose(kappa, self.derivative(loads, 1), rtol=1e-9, atol=1e-9)


@EVERY_CASE
class TestEveryConstraint:
    @pytest.mark.parametrize("ground", [None, "i", "j"])
    @pytest.mark.parametrize("where", PLANES)
    def test_phi_jacobian_nu_and_gamma_are_those_of_the_notes(self, kind, parameters, where, ground):
        plane, atol = PLANES[where], ROUNDING[where]
        system = system_of(kind, parameters, plane, ground)
        towers = np.random.default_rng(4).normal(size=(len(system.bodies), 2, 3))
        state = state_of(plane, towers)
        A, b, phi, phi_dot = joint_rows(system, state)
        members = towers.copy()
        if ground:
            members["ij".index(ground)] = 0.0
        f = Motion.polynomial(F).derivatives(T, 4)
        notes = NOTES[kind](members, f, **parameters)
        of_velocities = system.model.relations and system.model.relations[0].relation.of_velocities
        apart, whole = phi - (0 * phi if of_velocities else notes.phi()), period(kind, parameters)
        apart -= whole * np.round(apart / whole) if np.isfinite(whole) else 0.0
        np.testing.assert_allclose(apart, 0, atol=4 * atol)
        jacobian = [np.atleast_2d(part) for part in notes.jacobian()]
        for n, part in enumerate(jacobian):
            if members[n].any():
                for c in range(3):
                    unit = np.zeros_like(towers)
                    unit[n, 1, c] = 1.0
                    column = qdot(state_of(plane, np.concatenate([towers[:, :1], unit[:, 1:]], axis=1)))
                    np.testing.assert_allclose(A @ column, part[:, c], atol=4 * atol)
        rate = sum(part @ tower[1] for part, tower in zip(jacobian, members, strict=True))
        np.testing.assert_allclose(phi_dot, rate - right_hand_side(kind, 1, members, parameters, f), atol=10 * atol)
        np.testing.assert_allclose(b, right_hand_side(kind, 2, members, parameters, f), atol=10 * atol)

    @pytest.mark.parametrize("ground", [None, "i", "j"])
    def test_rates_and_b_are_derivatives_off_the_plane_too(self, kind, parameters, ground):
        system = system_of(kind, parameters, ground=ground)
        rng = np.random.default_rng(5)
        n = len(system.bodies)
        q = rng.normal(size=(n, 4))
        parts = rng.normal(size=(3, n, 3))
        state = quirk.State(parts[0], q / np.linalg.norm(q, axis=1, keepdims=True), parts[1], parts[2])
        linear, angular = rng.normal(size=(2, n, 3))
        A, b, _, phi_dot = joint_rows(system, state)
        qdd = rotation.rate(state.orientation, angular)
        xdd = np.concatenate([linear, qdd], axis=1).ravel()
        h = 1e-5
        ahead, behind = (joint_rows(system, moved(state, s * h, (linear, angular)), T + s * h) for s in (1, -1))
        np.testing.assert_allclose(A @ xdd - b, (ahead[3] - behind[3]) / (2 * h), atol=1e-6)
        if not (system.model.relations and system.model.relations[0].relation.of_velocities):
            np.testing.assert_allclose(phi_dot, (ahead[2] - behind[2]) / (2 * h), atol=1e-7)

    def test_rows_and_labels(self, kind, parameters):
        joint = system_of(kind, parameters)["joint"]
        assert len(set(joint.labels)) == joint.row_count
        assert "notes" in type(joint).__doc__
        assert str(joint) == f'planar.{kind} "joint"'
        np.testing.assert_allclose(rotation.matrix(joint.body_j.orientation) @ joint.frame_j.matrix[:, 2], [0, 0, 1])

    def test_dense_and_sparse_agree_and_no_load_leaves_the_plane(self, kind, parameters):
        system = system_of(kind, parameters, TILTED, gravity=TILTED.vector([1, -9]))
        state = system.assemble(t=T)
        dense, sparse = (system.acceleration(state, T, solver) for solver in ("dense", "sparse"))
        scale = 1 + np.abs(dense.linear).max() + np.abs(dense.angular).max()
        np.testing.assert_allclose(sparse.linear, dense.linear, atol=1e-10 * scale)
        np.testing.assert_allclose(sparse.angular, dense.angular, atol=1e-10 * scale)
        load, normal = system.joint_loads(state, T)["joint"], TILTED.axes[:, 2]
        assert abs(load.force @ normal) < 1e-9 * scale
        np.testing.assert_allclose(np.cross(load.torque, normal), 0, atol=1e-9 * scale)


def test_what_is_not_given_follows_from_the_initial_poses():
    rng = np.random.default_rng(6)
    a, b, link = (body(rng, name) for name in ("a", "b", "link"))
    made = [
        planar.Revolute("pin", a, b, point=(0.2, 0.7)),
        planar.DoubleRevolute("rod", a, b, **POINTS),
        planar.GearPair("gears", a, b, ratio=-5 / 12),
        planar.GearOnLink("planet", a, b, link, ratio=7 / 3),
        planar.Rolling("wheel", a, b, radius=0.3, **SLOT),
    ]
    system = quirk.System([a, b, link, *made])
    np.testing.assert_allclose(system.constraint_rows(system.initial_state()).phi, 0, atol=1e-14)
    np.testing.assert_allclose(system["pin"].frame_j.origin[:2] @ [1, 1], system["pin"].frame_j.origin.sum())


def test_a_line_in_the_plane_is_that_in_body_coordinates():
    rng = np.random.default_rng(7)
    a, b = (body(rng, name) for name in ("a", "b"))
    axis, point = np.array([0.6, -1.3]), np.array([0.4, 0.9])

    def in_axes(of, vector):
        c, s = np.cos(of.coordinates[2]), np.sin(of.coordinates[2])
        return np.array([[c, s], [-s, c]]) @ vector

    frames = {}
    for given, start in ((False, None), (True, None), (False, point), (True, point)):
        arguments = {"vector_i": in_axes(a, axis), "vector_j": in_axes(b, axis)} if given else {"axis": axis}
        if start is not None:
            places = [in_axes(of, start - of.coordinates[:2]) for of in (a, b)]
            arguments |= dict(zip(("point_i", "point_j"), places, strict=True)) if given else {"point": start}
        rail = planar.Prismatic("rail", a, b, **arguments)
        frames[given, start is None] = [*rail.frame_i.origin, *rail.frame_j.origin, *rail.frame_i.matrix.ravel(),
                                        *rail.frame_j.matrix.ravel()]  # fmt: skip
    for default in (True, False):
        np.testing.assert_allclose(frames[True, default], frames[False, default], atol=1e-14)


def axle(wheel):
    return planar.Revolute(f"axle {wheel.name}", GROUND, wheel, point=wheel.coordinates[:2])


def ten_turns():
    """Gears, a planet, a wheel on a rail and a chain, each driven for ten turns in two seconds."""
    one, two, arm, planet, wheel, chain = (
        PlanarBody(name, 1.0, 0.02, position=(2.0 * k, 0), angle=0.3 * k)
        for k, name in enumerate(("one", "two", "arm", "planet", "wheel", "chain"))
    )
    turns, along = Motion.constant_rate(10 * np.pi, start=0.0), {"vector_i": (1, 0), "point_i": (8, 0)}
    fast = {"offset": 0.6}
    return quirk.System([
        one, two, arm, planet, wheel, chain, axle(one), axle(two), axle(arm), axle(chain),
        planar.AngleDriver("motor", GROUND, one, turns),
        planar.GearPair("pair", one, two, ratio=-17 / 43),
        planar.AngleDriver("arm motor", GROUND, arm, turns, **fast),
        planar.Revolute("pin", arm, planet, point=(6, 0)),
        planar.GearOnLink("sun", GROUND, planet, arm, ratio=-2),
        planar.PinInSlot("rail", GROUND, wheel, **along),
        planar.SlotDriver("pull", GROUND, wheel, Motion.constant_rate(-4 * np.pi), **along),
        planar.Rolling("roll", GROUND, wheel, radius=-0.4, **along),
        planar.CoordinateDriver("chain drive", two, chain, turns, coordinate="angle", ratio=2 / 3,
                                offset=1.5 - 0.3 * 2 / 3),
    ])  # fmt: skip


def test_gears_and_drivers_hold_over_ten_turns_and_after_a_restart():
    system = ten_turns()
    system.assemble()
    whole = quirk.simulate(system, 2.0, output=0.1)
    first = quirk.simulate(system, 1.06, output=0.02)
    rest = quirk.simulate(system, 0.94, output=0.02, initial_state=first.state_at(), start=first.time[-1])
    for result in (whole, first, rest):
        assert result.residual.position.max() < 1e-9
        turned = 10 * np.pi * (result.time - result.time[0])
        spins = {"axle one": 1, "axle two": -17 / 43, "axle arm": 1, "pin": 2, "axle chain": 1 - 17 / 43 * 2 / 3}
        for name, ratio in spins.items():
            angle = result[name].rotation[:, 2]
            np.testing.assert_allclose(angle - angle[0], ratio * turned, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(result["wheel"].angular_velocity[:, 2], 10 * np.pi, atol=1e-9)
    np.testing.assert_allclose(rest.state_at().pack(), whole.state_at().pack(), atol=1e-9)


def test_a_wheel_rolls_down_an_incline():
    """a = g sin(slope) / (1 + I / (m r^2)); the friction is I a / r^2."""
    slope, g, r = 0.3, 9.81, 0.5
    wheel = PlanarBody.cylinder("wheel", 2.0, r, 0.1, position=(0, r))
    rail = {"point_i": (0, r), "vector_i": (3, 0)}
    system = quirk.System(
        [wheel, planar.PinInSlot("floor", GROUND, wheel, **rail),
         planar.Rolling("roll", GROUND, wheel, radius=-r, **rail)],
        gravity=[g * np.sin(slope), -g * np.cos(slope), 0],
    )  # fmt: skip
    a = g * np.sin(slope) / 1.5
    result = quirk.simulate(system, 3.0, output=0.5)
    np.testing.assert_allclose(result["wheel"].position[:, 0], 0.5 * a * result.time**2, atol=1e-9)
    np.testing.assert_allclose(result["wheel"].angular_velocity[:, 2], -a * result.time / r, atol=1e-9)
    np.testing.assert_allclose(result["roll"].force()[:, 0], -0.25 * a * 2.0 / 0.5, atol=1e-9)
    np.testing.assert_allclose(result["roll"].torque()[:, 2], -0.5 * a * 2.0 * r, atol=1e-9)
    np.testing.assert_allclose(result["floor"].force()[:, 1], 2 * g * np.cos(slope), atol=1e-9)


def test_a_ratio_without_teeth_holds_for_rates():
    one, two = PlanarBody("one", 1.0, 0.02, angular_velocity=20.0), PlanarBody("two", 1.0, 0.02, position=(1, 0))
    system = quirk.System([one, two, axle(one), axle(two), planar.GearPair("mesh", one, two, ratio=-np.sqrt(0.5))])
    system.assemble()
    result = quirk.simulate(system, 5.0, rtol=1e-12, output=0.1)
    first, second = (result[f"axle {name}"].rotation[:, 2] for name in ("one", "two"))
    np.testing.assert_allclose(second, -np.sqrt(0.5) * first, atol=1e-9)


@pytest.mark.parametrize("where", PLANES)
def test_a_double_pendulum_is_that_of_spatial_hinges(where):
    plane, atol = PLANES[where], 1e3 * ROUNDING[where]
    upper = PlanarBody.bar("upper", (0, 0), (1, 0), 1.0, plane=plane)
    lower = PlanarBody.bar("lower", (1, 0), (1, -0.8), 0.7, plane=plane)
    pins = [planar.Revolute("top", GROUND, upper, point=(0, 0)), planar.Revolute("elbow", upper, lower, point=(1, 0))]
    space = [
        Body("upper", 1.0, upper.inertia, position=[0.5, 0, 0]),
        Body("lower", 0.7, lower.inertia, position=[1, -0.4, 0], orientation=[1, 0, 0, -1]),
    ]
    hinges = [
        quirk.Revolute("top", GROUND, space[0], point=[0, 0, 0], axis=[0, 0, 1]),
        quirk.Revolute("elbow", *space, point=[1, 0, 0], axis=[0, 0, 1]),
    ]
    one = quirk.System([upper, lower, *pins], gravity=plane.vector([0, -9.81]))
    other = quirk.System([*space, *hinges], gravity=[0, -9.81, 0])
    one, other = (quirk.simulate(s, 2.0, rtol=1e-12, atol=1e-13, output=0.1) for s in (one, other))
    for name in ("upper", "lower"):
        in_plane = (one[name].position - plane.origin) @ plane.axes
        np.testing.assert_allclose(in_plane, other[name].position, atol=atol)
        np.testing.assert_allclose(one[name].angular_velocity, other[name].angular_velocity, atol=10 * atol)
    for name in ("top", "elbow"):
        np.testing.assert_allclose(one[name].force() @ plane.axes, other[name].force(), atol=100 * atol)
        turned, want = (result[name].rotation[:, 2] for result in (one, other))
        np.testing.assert_allclose(turned - turned[0], want, atol=10 * atol)
    # The angle of a planar joint is that between the bodies' x axes.
    assert one["elbow"].rotation[0, 2] == pytest.approx(-np.pi / 2)


def quick_return(plane):
    """A crank whose pin slides in a swinging arm, and a strut from the arm to a block that is kept parallel."""
    crank = PlanarBody.bar("crank", (0, 0), (0.4, 0.1), 1.0, plane=plane)
    arm = PlanarBody.bar("arm", (0, -1), (0.8, 0.2), 2.0, plane=plane)
    block = PlanarBody.box("block", 1.5, [0.2, 0.1, 0.1], plane=plane, position=(1.5, 0.2), angle=0.4)
    end = np.hypot(0.8, 1.2) / 2
    pivot = planar.Revolute("crank pivot", GROUND, crank, point=(0, 0))
    slot = planar.PinInSlot("slot", arm, crank, vector_i=(2, 0), point_j=(np.hypot(0.4, 0.1) / 2, 0))
    return quirk.System([
        crank, arm, block, pivot, slot,
        planar.Revolute("arm pivot", GROUND, arm, point=(0, -1)),
        planar.DoubleRevolute("strut", arm, block, point_i=(end, 0)),
        planar.PinInSlot("guide", GROUND, block, point_i=(0, 0.2), vector_i=(1, 0)),
        planar.ParallelVectors("straight", GROUND, block, vector_i=(1, 0), vector_j=(np.cos(0.4), -np.sin(0.4))),
        quirk.JointTorque("motor", pivot, 3.0),
        quirk.JointForce("friction", slot, lambda t, displacement, rate: -2.0 * rate),
    ], gravity=plane.vector([0.5, -9.81]))  # fmt: skip


def test_any_plane_gives_the_same_planar_motion():
    found = []
    for plane in (Plane(), TILTED):
        system = quick_return(plane)
        state = system.assemble(rates={"crank pivot": 2.0})
        acceleration = system.acceleration(state)
        in_plane = acceleration.linear @ plane.axes
        np.testing.assert_allclose(in_plane[:, 2], 0, atol=1e-9)
        np.testing.assert_allclose(acceleration.angular[:, :2], 0, atol=1e-9)
        turn = np.column_stack([in_plane[:, :2], acceleration.angular[:, 2], (state.velocity @ plane.axes)[:, :2]])
        assert np.abs(turn).max() > 1
        found.append(turn)
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)


class TestPlanesAndBodies:
    def test_axes(self):
        np.testing.assert_array_equal(Plane().axes, np.eye(3))
        np.testing.assert_array_equal(Plane().orientation, [1, 0, 0, 0])
        np.testing.assert_allclose(FAR.axes.T @ FAR.axes, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(rotation.matrix(FAR.orientation), FAR.axes, atol=1e-15)
        assert FAR.axes[:, 0] @ [1, 0, 1] > 0
        np.testing.assert_allclose(FAR.point((1, 2)) - FAR.origin, FAR.vector((1, 2)), atol=1e-10)

    def test_a_body_in_a_plane(self):
        spinning = PlanarBody("a", 2.0, 0.3, plane=FAR, position=(1, 2), angle=0.5, velocity=(3, 4), angular_velocity=5)
        np.testing.assert_allclose(spinning.inertia, np.diag([0.15, 0.15, 0.3]))
        np.testing.assert_allclose(spinning.position, FAR.point((1, 2)))
        np.testing.assert_allclose(spinning.velocity, FAR.vector((3, 4)))
        np.testing.assert_allclose(rotation.matrix(spinning.orientation)[:, 0], FAR.vector((np.cos(0.5), np.sin(0.5))))
        system = quirk.System([spinning], gravity=[0, 0, -9.81])
        assert [constraint.name for constraint in system.constraints] == ["a in plane"]
        rows = system.constraint_rows(system.initial_state())
        np.testing.assert_allclose(rows.phi, 0, atol=1e-10)
        np.testing.assert_allclose(rows.phi_dot, 0, atol=1e-14)
        assert system.mobility().degrees_of_freedom == 3

    def test_shapes(self):
        bar = PlanarBody.bar("bar", (1, 1), (1, 3), 2.0, width=0.1, thickness=0.2, angular_velocity=1.0)
        np.testing.assert_allclose(bar.coordinates, [1, 2, np.pi / 2])
        np.testing.assert_allclose(np.diag(bar.inertia), 2 / 12 * np.array([0.05, 4.04, 4.01]))
        disk = PlanarBody.cylinder("disk", 2.0, 0.5, 0.1, position=(1, 0))
        assert disk.inertia[2, 2] == pytest.approx(0.25)
        assert disk.shape.radius == 0.5


A, B = PlanarBody("a", 1.0, 0.1), PlanarBody("b", 1.0, 0.1, position=(1, 0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: planar.Revolute("x", A, Body("c", 1, [1, 1, 1]), point=(0, 0)), 'x": body_j must be a quirk.planar'),
        (lambda: planar.Revolute("x", A, PlanarBody("c", 1, 1, plane=FAR), point=(0, 0)),
         'Body "a" and Body "c" must move in the same plane'),
        (lambda: planar.Revolute("x", GROUND, GROUND, point=(0, 0)), "the ground twice"),
        (lambda: planar.Revolute("x", A, B), r'planar.Revolute "x": give either point, in the plane'),
        (lambda: planar.Revolute("x", A, B, point=(0, 0), point_i=(0, 0)), "give either point"),
        (lambda: planar.Revolute("x", A, B, point_i=(0, 0)), "point_j must be 2 numbers; got None"),
        (lambda: planar.Revolute("x", A, B, point=(0, 0, 0)), r"point must have shape \(2,\)"),
        (lambda: planar.DoubleRevolute("x", A, B, point_i=(1, 0)), "its pins coincide"),
        (lambda: planar.DoubleRevolute("x", A, B, length=-1), "length must be positive"),
        (lambda: planar.PinInSlot("x", A, B, vector_i=(0, 0)), "vector_i must be a direction; got the zero vector"),
        (lambda: planar.Prismatic("x", A, B), "give either axis, in the plane at the initial poses, or vector_i"),
        (lambda: planar.Prismatic("x", A, B, axis=(1, 0), vector_i=(1, 0)), "give either axis"),
        (lambda: planar.Prismatic("x", A, B, axis=(1, 0), point=(0, 0), point_j=(0, 0)), "give either point"),
        (lambda: planar.Prismatic("x", A, B, axis=(0, 0)), "must be a direction; got the zero vector"),
        (lambda: planar.ParallelVectors("x", A, B, vector_i=(1, 0), vector_j=(0, 0)), "vector_j must be a direction"),
        (lambda: planar.GearPair("x", A, B, ratio=0), "ratio must not be zero"),
        (lambda: planar.GearOnLink("x", A, B, A, ratio=1), "link must be neither of the gears"),
        (lambda: planar.GearOnLink("x", A, B, Body("c", 1, [1, 1, 1]), ratio=1), "link must be a quirk.planar"),
        (lambda: planar.Rolling("x", A, B, radius=0, vector_i=(1, 0)), "radius must not be zero"),
        (lambda: planar.AngleDriver("x", A, B, 3.0), "motion must be a quirk.Motion"),
        (lambda: planar.CoordinateDriver("x", A, B, Motion.polynomial([0]), ratio=0), "ratio must not be zero"),
        (lambda: planar.CoordinateDriver("x", A, B, Motion.polynomial([0]), coordinate="z"), "coordinate must be one"),
        (lambda: planar.DistanceDriver("x", A, B, Motion.polynomial([0, 1])), "motion must be a positive distance"),
        (lambda: planar.AngleDriver("x", A, B, Motion.polynomial([0]), active=1), "active must be True or False"),
        (lambda: Plane(x=(0, 0, 2)), "x must not be along the normal"),
        (lambda: Plane(normal=(0, 0, 0)), "normal must be a direction"),
        (lambda: PlanarBody("c", 1, 1, plane="xy"), "plane must be a quirk.planar.Plane"),
        (lambda: PlanarBody("c", 1, -1), "inertia must be positive"),
        (lambda: PlanarBody("c", 1, 1, position=(0, 0, 0)), r"position must have shape \(2,\)"),
        (lambda: PlanarBody.bar("c", (1, 0), (1, 0), 1), "start and end must differ"),
    ],
)  # fmt: skip
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()
