"""Points on curves and curves on curves: closed forms, energies, units, searches, and what is refused."""

import numpy as np
import pytest
from mechanisms import random_quaternion
from quirk.constraints.curve_on_curve import TOUCHING
from quirk.constraints.on_curve import NEAREST
from quirk.constraints.spline import Spline
from studies import study

import quirk
from quirk import GROUND, Body, Frame, Motion, rotation

G = 9.81
UNITS = pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3], ids=["mm", "m", "km"])


def circle(radius, count):
    """In a plane, to the left around its inside."""
    a = 2 * np.pi * np.arange(count) / count
    return radius * np.column_stack([np.cos(a), np.sin(a)])


def upright(points):
    """Points of a plane in that of x and z."""
    return np.column_stack([points[:, 0], 0 * points[:, 0], points[:, 1]])


def coaster(t):
    """A closed track in space with a loop."""
    return np.column_stack([2 * np.cos(t), np.sin(t) + 0.6 * np.sin(2 * t), 0.8 * np.cos(2 * t) + 0.3 * np.sin(3 * t)])


COASTER = coaster(2 * np.pi * np.arange(80) / 80)


def bead_on(points, at, velocity=(0, 0, 0), closed=True, gravity=(0, 0, -G), **options):
    bead = Body.sphere("bead", 1.0, 0.05, position=at, velocity=velocity)
    wire = quirk.PointOnCurve("wire", GROUND, bead, points=points, closed=closed, **options)
    return quirk.System([bead, wire], gravity=gravity)


class TestSpline:
    @pytest.mark.parametrize("degree", [3, 5])
    @pytest.mark.parametrize("closed", [True, False])
    def test_it_passes_its_points_smoothly(self, closed, degree):
        curve = Spline("x", "points", COASTER, closed, 3, degree)
        s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(COASTER, axis=0), axis=1))])
        np.testing.assert_allclose(curve.derivatives(s)[0], COASTER, atol=1e-13)
        joints = [*curve.breaks[1:-1], *([curve.breaks[-1]] if closed else [])]
        for part in range(3):
            before, after = (curve.derivatives(np.add(joints, h))[part] for h in (-1e-12, 1e-12))
            np.testing.assert_allclose(before, after, atol=1e-9)

    def test_a_closed_one_may_name_its_first_point_twice(self):
        one = Spline("x", "points", COASTER, True, 3, 5)
        for end in (COASTER[0], COASTER[0] * (1 + 3e-16)):
            assert Spline("x", "points", [*COASTER, end], True, 3, 5).table == one.table

    @pytest.mark.parametrize("closed", [True, False])
    def test_the_nearest_place_is_that_of_all(self, closed):
        """Against a search over many places, for points on, beside and far from the curve."""
        rng = np.random.default_rng(1)
        curve = Spline("x", "points", COASTER, closed, 3, 3)
        s = np.linspace(0, curve.breaks[-1], 200001)
        places, table = curve.derivatives(s)[0], np.array(curve.table)
        for size in (0.0, 1e-3, 0.3, 5.0):
            for _ in range(20):
                point = places[rng.integers(5000, len(s) - 5000)] + size * rng.normal(size=3)
                u, *piece = NEAREST(table, 0, *point)
                found = [np.polynomial.polynomial.polyval(u, c) for c in np.reshape(piece, (3, -1))]
                least = np.linalg.norm(places - point, axis=1)
                if not closed and least.argmin() in (0, len(s) - 1):
                    assert np.isnan(u)
                    continue
                assert np.linalg.norm(np.subtract(found, point)) <= least.min() + 1e-14


class TestPointOnCurve:
    @UNITS
    def test_a_bead_on_a_ring_is_a_pendulum(self, unit):
        ring = bead_on(unit * upright(circle(1, 100)), [unit, 0, 0], gravity=[0, 0, -G * unit])
        bead = ring["bead"]
        rod = quirk.Distance("rod", GROUND, bead)
        guide = quirk.PointOnPlane("guide", GROUND, bead, point=[0, 0, 0], axis=[0, 1, 0])
        pendulum = quirk.System([bead, rod, guide], gravity=[0, 0, -G * unit])
        found, want = (quirk.simulate(s, 3.0, rtol=1e-11, atol=1e-13, output=0.1) for s in (ring, pendulum))
        np.testing.assert_allclose(found["bead"].position, want["bead"].position, atol=1e-8 * unit)
        force = want["rod"].force() + want["guide"].force()
        np.testing.assert_allclose(found["wire"].force(), force, atol=1e-5 * np.abs(force).max())
        assert np.abs(found["wire"].torque()).max() == 0
        assert np.ptp(found.energy.total) < 1e-10 * found.energy.kinetic.max()

    def test_a_bead_slides_down_a_helix(self):
        """theta'' = -g p / (r^2 + p^2) for (r cos theta, r sin theta, p theta); along x, too, on a body at rest."""
        r, p = 0.5, 0.2
        a = np.linspace(-12, 2, 281)
        helix = np.column_stack([r * np.cos(a), r * np.sin(a), p * a])
        turn = random_quaternion(np.random.default_rng(3))
        Q = rotation.matrix(turn)
        bead = Body.box("bead", 2.0, [0.1, 0.2, 0.3], position=Q @ [r, 0, 0])
        wire = quirk.PointOnCurve("wire", GROUND, bead, points=helix, frame_i=Frame([0, 0, 0], turn))
        result = quirk.simulate(quirk.System([bead, wire], gravity=Q @ [0, 0, -G]), 1.5, rtol=1e-11, output=0.1)
        angle = -0.5 * G * p / (r**2 + p**2) * result.time**2
        want = np.column_stack([r * np.cos(angle), r * np.sin(angle), p * angle])
        np.testing.assert_allclose(result["bead"].position @ Q, want, atol=1e-8)
        assert angle[-1] < -7

    @pytest.mark.parametrize(("degree", "drift"), [(3, 1e-8), (5, 3e-10)])
    def test_a_roller_coaster_keeps_its_energy(self, degree, drift):
        start = coaster(np.array([0.0]))[0]
        system = bead_on(COASTER, start, degree=degree)
        tangent = system["wire"].curve.derivatives([0.0])[1, 0]
        state = system.initial_state()
        state.velocity[0] = 6.0 * tangent / np.linalg.norm(tangent)
        result = quirk.simulate(system, 8.0, initial_state=state, rtol=1e-11, atol=1e-13, output=0.02)
        assert np.ptp(result.energy.total) < drift * result.energy.kinetic.max()
        assert result.residual.position.max() < 1e-13
        # It went all around, several times.
        x, y, _ = result["bead"].position.T
        assert np.unwrap(np.arctan2(y, x))[-1] > 4 * np.pi

    def test_a_point_beside_the_center_on_a_body_that_moves(self):
        """No loads from without: momentum, angular momentum and energy stay."""
        rng = np.random.default_rng(5)
        track = Body.box("track", 3.0, [1, 2, 3], velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3),
                         orientation=random_quaternion(rng))  # fmt: skip
        arm = np.array([0.1, -0.2, 0.05])
        q = random_quaternion(rng)
        at = rotation.matrix(track.orientation) @ COASTER[7]
        car = Body.box("car", 1.0, [0.3, 0.2, 0.1], position=at - rotation.matrix(q) @ arm, orientation=q,
                       velocity=[1, 0, 2], angular_velocity=rng.normal(size=3))  # fmt: skip
        system = quirk.System(
            [track, car, quirk.PointOnCurve("rail", track, car, points=COASTER, closed=True, point=arm)]
        )
        system.assemble()
        result = quirk.simulate(system, 3.0, rtol=1e-11, atol=1e-13, output=0.1)

        def momenta(view, body):
            R = rotation.matrix(view.orientation)
            spin = np.einsum("tij,jk,tk->ti", R, body.inertia, view.angular_velocity)
            return body.mass * view.velocity, spin + body.mass * np.cross(view.position, view.velocity)

        both = [momenta(result[b.name], b) for b in (track, car)]
        for part in range(2):
            total = both[0][part] + both[1][part]
            np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), atol=1e-9)
        assert np.ptp(result.energy.total) < 1e-9
        arms = result["car"].position + np.einsum("tij,j->ti", rotation.matrix(result["car"].orientation), arm)
        local = np.einsum("tji,tj->ti", rotation.matrix(result["track"].orientation), arms - result["track"].position)
        assert np.linalg.norm(local[-1] - local[0]) > 0.5

    def test_through_a_crossing(self):
        """A figure of eight goes straight on where it meets itself."""
        a = 2 * np.pi * np.arange(60) / 60 + 0.03
        eight = np.column_stack([np.sin(a), np.sin(2 * a), 0 * a])
        system = bead_on(eight, eight[10], gravity=(0, 0, 0))
        curve = system["wire"].curve
        state = system.initial_state()
        state.velocity[0] = curve.derivatives([curve.breaks[10]])[1, 0]
        state.velocity[0] /= np.linalg.norm(state.velocity[0])
        result = quirk.simulate(system, 3 * curve.breaks[-1], initial_state=state, rtol=1e-11, atol=1e-13, output=0.01)
        # At the same speed all along; both lobes are visited in turn.
        np.testing.assert_allclose(np.linalg.norm(result["bead"].velocity, axis=1), 1.0, atol=1e-9)
        x = result["bead"].position[:, 0]
        assert np.count_nonzero(np.diff(np.sign(x))) in (5, 6)

    def test_two_points_make_a_line(self):
        bead = Body.sphere("bead", 1.0, 0.1, position=[0.3, 0.3, 0], velocity=[1, 1, 0])
        wire = quirk.PointOnCurve("wire", GROUND, bead, points=[[-1, -1, 0], [2, 2, 0]])
        line = quirk.PointOnLine("line", GROUND, bead, point=[0.3, 0.3, 0], axis=[1, 1, 0])
        found, want = (quirk.System([bead, one], gravity=[1, 2, 3]) for one in (wire, line))
        np.testing.assert_allclose(
            found.acceleration(found.initial_state()).linear,
            want.acceleration(want.initial_state()).linear,
            rtol=1e-13,
            atol=1e-14,
        )

    def test_derivatives_up_to_snap_agree(self):
        system = bead_on(COASTER, COASTER[3])
        state = system.initial_state()
        state.velocity[0] = system["wire"].curve.derivatives([system["wire"].curve.breaks[3] + 1e-9])[1, 0]
        dense, sparse = (system.derivatives(state, order=3, solver=solver) for solver in ("dense", "sparse"))
        np.testing.assert_allclose(sparse.linear, dense.linear, rtol=1e-9, atol=1e-9 * np.abs(dense.linear).max())


class TestEnds:
    X = np.linspace(-1, 1, 9)
    SLOT = np.column_stack([X, 0 * X, 0.2 * X**2])

    @pytest.mark.parametrize(
        "options", study([{}, {"method": "RK4", "step": 1e-3}, {"solver": "dense"}, {"method": "Radau"}], 2)
    )
    def test_a_run_that_leaves_an_end_says_which(self, options):
        system = bead_on(self.SLOT, [0.9, 0, 0.162], [3, 0, 1.08], closed=False)
        system.assemble()
        with pytest.raises(quirk.SimulationError, match='PointOnCurve "wire": its point is at the end') as caught:
            quirk.simulate(system, 1.0, **options)
        assert caught.value.result["bead"].position[-1, 0] == pytest.approx(1.0, abs=5e-3)

    @pytest.mark.slow
    def test_an_analysis_that_leaves_an_end_says_so_too(self):
        bead = Body.sphere("bead", 1.0, 0.05)
        slot = quirk.PointOnCurve("slot", GROUND, bead, points=self.SLOT)
        pose = quirk.Free("pose", GROUND, bead, frame_i=Frame(), frame_j=Frame())
        drives = [quirk.Drive("x", pose, Motion.constant_rate(1.0), "translation x")]
        drives += [
            quirk.Drive(c, pose, Motion.constant_rate(0.0), c) for c in ("rotation x", "rotation y", "rotation z")
        ]
        system = quirk.System([bead, slot, pose, *drives])
        system.assemble()
        motion = quirk.kinematics(system, np.linspace(0, 0.9, 10))
        np.testing.assert_allclose(motion["bead"].position[:, 2], 0.2 * motion.time**2, atol=1e-5)
        with pytest.raises(quirk.SimulationError, match=r'no position beyond t = 1.0.*"slot": its point is at the end'):
            quirk.kinematics(system, np.linspace(0, 1.5, 16))

    @pytest.mark.parametrize("degree", [3, 5])
    @UNITS
    def test_curves_that_turn_back_are_refused(self, unit, degree):
        rng = np.random.default_rng(5)
        bead = Body.sphere("bead", 1.0, 0.05 * unit)
        for places in ([0, 1, 0], [0, 1, 2, 1], [0, 1, 2, 3, 4, 5, 4, 3, 2], [0, 1, 0, 1], [0, 2, 1, 3]):
            for line in (np.eye(3)[0], rng.normal(size=3)):
                points = unit * (np.outer(places, line) + rng.normal(size=3))
                print(points.tolist())
                with pytest.raises(quirk.InputError, match='"wire": points define a curve that turns back'):
                    quirk.PointOnCurve("wire", GROUND, bead, points=points, degree=degree)
        for points in ([[0, 0, 0], [1, 0, 0], [1, 1e-3, 0], [0, 1e-3, 0]], [[0, 0, 0], [1, 0, 0], [1e-3, 1e-3, 0]]):
            quirk.PointOnCurve("wire", GROUND, bead, points=unit * np.array(points), degree=degree)

    def test_a_body_placed_beyond_an_end_is_refused(self):
        system = bead_on(self.SLOT, [1.5, 0, 0.2], closed=False)
        with pytest.raises(quirk.InconsistentStateError, match=r'"wire": its point is at the end.*correct the initial'):
            quirk.simulate(system, 1.0)
        with pytest.raises(quirk.AssemblyError, match='"wire": its point is at the end'):
            system.assemble()

    def test_one_beside_it_is_brought_there(self):
        system = bead_on(self.SLOT, [0.3, 0.1, 0.4], closed=False)
        with pytest.raises(quirk.InconsistentStateError, match='"wire": the initial poses violate it by'):
            quirk.simulate(system, 1.0)
        position = system.assemble().position[0]
        s = np.linspace(0, system["wire"].curve.breaks[-1], 100001)
        nearest = np.linalg.norm(system["wire"].curve.derivatives(s)[0] - position, axis=1).min()
        assert nearest < 1e-5
        assert abs(position[1]) < 1e-12

    def test_it_may_rest_at_an_end(self):
        system = bead_on(self.SLOT, self.SLOT[0], closed=False, gravity=(0, 0, 0))
        result = quirk.simulate(system, 1.0, output=0.5)
        np.testing.assert_allclose(result["bead"].position, [self.SLOT[0]] * 3, atol=1e-12)


def cam_and_follower(profile, follower, height, unit=1.0, rate=None, rod=None, **options):
    """A cam about the origin, turning about z, and a follower on a guide along y; a rod instead if it has a length."""
    cam = Body.cylinder("cam", 1.0, 0.06 * unit, 0.02 * unit, position=[0.02 * unit, 0, 0])
    body = Body.sphere("follower", 0.3, 0.015 * unit, position=[0, height, 0])
    pivot = quirk.Revolute("pivot", GROUND, cam, point=[0, 0, 0], axis=[0, 0, 1])
    guide = quirk.Prismatic("guide", GROUND, body, axis=[0, 1, 0])
    frame = Frame([-0.02 * unit, 0, 0])
    contact = quirk.CurveOnCurve("contact", cam, body, points_i=profile, points_j=follower, frame_i=frame, **options)
    if rod is not None:
        contact = quirk.Distance("contact", cam, body, length=rod)
    motor = quirk.JointTorque("motor", pivot, 0.5 * unit**2) if rate is None else quirk.Drive("motor", pivot, rate)
    return quirk.System([cam, body, pivot, guide, contact, motor], gravity=[0, -G * unit, 0])


class TestCurveOnCurve:
    E, R, ROLLER = 0.02, 0.06, 0.015

    def eccentric(self, unit=1.0, count=80):
        return unit * (circle(self.R, count) + np.array([self.E, 0]))

    @UNITS
    def test_circles_are_a_rod_between_their_centers(self, unit):
        """An eccentric cam with a roller, over many turns; the roller slides."""
        height = unit * np.sqrt((self.R + self.ROLLER) ** 2 - self.E**2)
        given = self.eccentric(unit), unit * circle(self.ROLLER, 40), height, unit
        found = cam_and_follower(*given)
        want = cam_and_follower(*given, rod=(self.R + self.ROLLER) * unit)
        for system in (found, want):
            system.assemble()
        one, other = (quirk.simulate(s, 0.8, rtol=1e-11, atol=1e-13, output=0.02) for s in (found, want))
        np.testing.assert_allclose(one["follower"].position, other["follower"].position, atol=1e-8 * unit)
        largest = np.abs(other["contact"].force()).max()
        np.testing.assert_allclose(one["contact"].force(), other["contact"].force(), atol=1e-5 * largest)
        assert one["pivot"].rotation[-1, 2] > 19 * np.pi

    def test_inside_a_ring(self):
        """A small disk that slides in a ring is a pendulum of the difference of radii."""
        disk = Body.cylinder("disk", 1.0, 0.1, 0.05, position=[0.3, 0, 0])
        flat = quirk.Planar("flat", GROUND, disk, point=[0, 0, 0], normal=[0, 0, 1])
        still = quirk.Drive("still", flat, Motion.constant_rate(0.0))
        ring = quirk.CurveOnCurve("ring", GROUND, disk, points_i=circle(0.4, 80), points_j=circle(0.1, 80))
        rod = quirk.Distance("ring", GROUND, disk)
        runs = [
            quirk.simulate(quirk.System([disk, flat, still, one], gravity=[0, -G, 0]), 2.0, rtol=1e-11, output=0.1)
            for one in (ring, rod)
        ]
        np.testing.assert_allclose(runs[0]["disk"].position, runs[1]["disk"].position, atol=1e-8)
        assert np.ptp(runs[0].energy.total) < 1e-9

    def test_a_flat_follower(self):
        """y = R + e sin(angle), wherever it touches."""
        flat = [[-0.1, 0], [0.1, 0]]
        system = cam_and_follower(self.eccentric(), flat, self.R, closed_j=False, rate=Motion.constant_rate(10.0))
        system.assemble()
        motion = quirk.kinematics(system, np.linspace(0, 1, 41))
        angle = motion["pivot"].rotation[:, 2]
        wave = np.sin(angle)
        np.testing.assert_allclose(motion["follower"].position[:, 1], self.R + self.E * wave, atol=1e-9)
        np.testing.assert_allclose(motion["follower"].acceleration[:, 1], -100 * self.E * wave, atol=1e-4)
        np.testing.assert_allclose(motion["follower"].jerk[:, 1], -1000 * self.E * np.cos(angle), atol=0.02)

    def test_a_cam_with_hollow_flanks(self):
        """Against the least height at which no point of the roller is inside, found by search."""
        a = 2 * np.pi * np.arange(120) / 120
        r = 0.05 + 0.008 * np.cos(3 * a)
        profile = np.column_stack([r * np.cos(a), r * np.sin(a)])
        system = cam_and_follower(profile, circle(0.01, 60), 0.06, rate=Motion.constant_rate(2.0))
        system.assemble()
        motion = quirk.kinematics(system, np.linspace(0, 3, 31))
        curve = system["contact"].curve_i
        points = curve.derivatives(np.linspace(0, curve.breaks[-1], 200001))[0]
        for k, angle in enumerate(motion["pivot"].rotation[:, 2]):
            x, y = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ points.T
            above = np.abs(x) < 0.01
            height = (y[above] + np.sqrt(0.01**2 - x[above] ** 2)).max()
            assert motion["follower"].position[k, 1] == pytest.approx(height, abs=1e-8)

    def test_the_nearest_pair_is_that_of_all(self):
        """Two convex curves apart: the common normal is where they are nearest."""
        rng = np.random.default_rng(2)
        one = Spline("x", "points", circle(1.0, 50) * [1, 0.6], True, 2, 5)
        two = Spline("x", "points", circle(0.4, 23) * [1, 0.7], True, 2, 5)
        table = np.array(one.table + two.table)
        s, r = (np.linspace(0, c.breaks[-1], 4001) for c in (one, two))
        a, b = one.derivatives(s)[0], two.derivatives(r)[0]
        for _ in range(20):
            angle, where = rng.uniform(0, 2 * np.pi), rng.uniform(0, 2 * np.pi)
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            origin = 1.6 * np.array([np.cos(where), np.sin(where)])
            found = TOUCHING(table, 0, *np.column_stack([turn, origin]).ravel())
            places = np.array([np.polynomial.polynomial.polyval(found[k], np.reshape(found[k + 1 : k + 13], (2, 6)).T)
                               for k in (0, 13)])  # fmt: skip
            moved = b @ turn.T + origin
            least = np.linalg.norm(a[::8, None] - moved[None, ::8], axis=2).min()
            apart = np.linalg.norm(places[0] - (turn @ places[1] + origin))
            assert least - 5e-3 < apart <= least

    def test_a_run_that_leaves_an_end_says_which(self):
        system = cam_and_follower(
            self.eccentric(), [[-0.01, 0], [0.1, 0]], self.R, closed_j=False, rate=Motion.constant_rate(10.0)
        )
        system.assemble()
        with pytest.raises(quirk.SimulationError, match='CurveOnCurve "contact": its profiles have no common normal'):
            quirk.simulate(system, 1.0)


A, B = Body.sphere("a", 1.0, 0.1), Body.sphere("b", 1.0, 0.1, position=[1, 0, 0])
TILTED = Body.sphere("tilted", 1.0, 0.1, orientation=[np.cos(0.1), np.sin(0.1), 0, 0])
LINE = [[0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quirk.PointOnCurve("p", A, B, points=[[0, 0], [1, 1]]), r'PointOnCurve "p": points must be an array \(n, 3\)'),
        (lambda: quirk.PointOnCurve("p", A, B, points=[[0, 0, 0], [1, 1, np.nan]]), "array .* of finite numbers"),
        (lambda: quirk.PointOnCurve("p", A, B, points=LINE[:1]), "at least 2 points for an open curve; got 1"),
        (lambda: quirk.PointOnCurve("p", A, B, points=[*LINE, LINE[0]], closed=True), "at least 3 .* closed .*; got 2"),
        (lambda: quirk.PointOnCurve("p", A, B, points=[*LINE, LINE[1]]), r"points\[1\] and the point after it coincide"),
        (lambda: quirk.PointOnCurve("p", A, B, points=LINE, closed="yes"), "closed must be True or False"),
        (lambda: quirk.PointOnCurve("p", A, B, points=LINE, degree=4), "degree must be 3 or 5; got 4"),
        (lambda: quirk.PointOnCurve("p", A, B, points=LINE, point=[0, 0]), r"point must have shape \(3,\)"),
        (lambda: quirk.PointOnCurve("p", A, B, points=LINE, frame_i=[0, 0, 0]), "frame_i must be a quirk.Frame"),
        (lambda: quirk.PointOnCurve("p", A, A, points=LINE), "body_i and body_j must differ"),
        (lambda: quirk.CurveOnCurve("c", A, B, points_i=LINE, points_j=LINE), r'"c": points_i must be an array \(n, 2\)'),
        (lambda: quirk.CurveOnCurve("c", A, B, points_i=circle(1, 9), points_j="x"), "points_j must be an array"),
        (lambda: quirk.CurveOnCurve("c", A, TILTED, points_i=circle(1, 9), points_j=circle(1, 9)),
         "parallel planes.* z axes are 11.46 degrees apart"),
        (lambda: quirk.CurveOnCurve("c", A, B, points_i=circle(1, 9), points_j=circle(1, 9), frame_j=3),
         "frame_j must be a quirk.Frame"),
    ],
)  # fmt: skip
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()
