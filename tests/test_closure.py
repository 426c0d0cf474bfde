"""Loops of redundant joints that do not close by what their coordinates are rounded to."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Frame, planar, rotation
from quirk.bodies.frame import axes_with_z
from quirk.io.modelfile import system_of, text_of


def turned(rng):
    q = rng.normal(size=4)
    return rotation.matrix(q / np.linalg.norm(q))


def planar_loop(rng):
    """Four parallel axes."""
    points = [[0, 0, 0], [0.2, 0.9, 0], [1.5, 1.2, 0], [1.8, 0, 0]] + 0.1 * rng.normal(size=(4, 3)) * [1, 1, 0]
    return points, np.tile([0.0, 0, 1], (4, 1))


def spherical_loop(rng):
    """Four axes through one point."""
    axes = np.array([[0, 0, 1], [0.6, 0, 1], [0.7, 0.8, 1], [-0.1, 0.9, 1]]) + 0.1 * rng.normal(size=(4, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return axes, axes


def bricard_loop(rng):
    """Six axes, of which a half turn about z carries three to the others."""
    half_turn = np.diag([-1.0, -1, 1])
    points = np.array([[1, 0, 0], [1, 1, 0.5], [0, 1, 1]]) + 0.1 * rng.normal(size=(3, 3))
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]) + 0.2 * rng.normal(size=(3, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return np.concatenate([points, points @ half_turn]), np.concatenate([axes, axes @ half_turn])


LOOPS = {"planar": planar_loop, "spherical": spherical_loop, "bricard": bricard_loop}


def rounded(loop, digits, seed, scale=1.0, **options):
    """Hinges in a loop; points and axes rounded in the coordinates of each of the two bodies."""
    rng = np.random.default_rng(seed)
    points, axes = LOOPS[loop](rng)
    tilt = turned(rng)
    points, axes = scale * points @ tilt.T, axes @ tilt.T
    bodies = [
        Body(f"b{k}", rng.uniform(0.5, 2), scale**2 * np.diag([0.02, 0.1, 0.1]),
             position=0.5 * (points[k] + points[k + 1]), orientation=rotation.from_matrix(turned(rng)))
        for k in range(len(points) - 1)
    ]  # fmt: skip
    ends = [GROUND, *bodies, GROUND]

    def frame(body, point, axis):
        R = rotation.matrix(body.orientation)
        axis = np.round(R.T @ axis, digits)
        origin = scale * np.round(R.T @ (point - body.position) / scale, digits)
        return Frame(origin, rotation.from_matrix(axes_with_z(axis / np.linalg.norm(axis))))

    joints = [
        quirk.Revolute(f"j{k}", ends[k], ends[k + 1], frame_i=frame(ends[k], p, a), frame_j=frame(ends[k + 1], p, a))
        for k, (p, a) in enumerate(zip(points, axes, strict=True))
    ]
    return quirk.System([*bodies, *joints], gravity=[0, 0, -9.81 * scale], **options)


@pytest.mark.parametrize("scale", study([1e-3, 1.0, 1e3], {1e-3}))
@pytest.mark.parametrize("digits", [4, 5, 7])
@pytest.mark.parametrize("loop", LOOPS)
def test_rounded_loops_move_as_drawn(loop, digits, scale):
    tolerance = 30 * scale * 10.0**-digits
    for seed in range(2):
        system = rounded(loop, digits, seed, scale)
        assert system.closure is None
        state = system.assemble(closure_tolerance=tolerance)
        print(seed, system.closure)
        assert system.mobility().degrees_of_freedom == 1
        amounts = [abs(x.amount) * (1 if x.unit == "m" else system.model.length) for x in system.closure.errors]
        assert 0 < max(amounts) <= tolerance
        assert np.abs(system.constraint_rows(state).phi).max() < 1e-12 * max(scale, 1)
        assert np.abs(state.position - [body.position for body in system.bodies]).max() < 100 * tolerance
        result = quirk.simulate(system, 0.2)
        assert result.status == "completed"
        quirk.simulate(system, 0.05, initial_state=result.state_at())
        # What is kept is kept: another assembly changes nothing.
        np.testing.assert_allclose(system.assemble().position, state.position, atol=1e-11 * scale)


@pytest.mark.parametrize("off", [1e-9, 1e-8, 1e-6, 1e-5])
def test_a_hinge_off_the_plane(off):
    """The one case in which all is known: the bodies stay, and one joint takes all of it."""
    bars = (("a", [0, 0, 0], [0, 0, 1]), ("b", [0, 0, 1], [1, 0, 1]), ("c", [1, 0, 0], [1, 0, 1]))
    a, b, c = (Body.bar(n, p, q, mass=1.0) for n, p, q in bars)
    places = (("A", GROUND, a, [0, 0, 0]), ("B", a, b, [0, 0, 1]), ("C", b, c, [1, 0, 1]), ("D", GROUND, c, [1, 0, 0]))
    A, B, C, D = (quirk.Revolute(n, i, j, point=p, axis="y") for n, i, j, p in places)
    D = quirk.Revolute(
        "D", GROUND, c, frame_i=Frame(D.frame_i.origin + np.array([0, off, 0]), D.frame_i.rotation), frame_j=D.frame_j
    )
    system = quirk.System([a, b, c, A, B, C, D], gravity=[0, 0, -9.81])
    if off > 2e-8:
        with pytest.raises(quirk.InconsistentStateError, match="closure_tolerance"):
            quirk.simulate(system, 0.1)
        with pytest.raises(quirk.AssemblyError, match=r"closure_tolerance=1?0?\.?0*1?e?-?\d*"):
            system.assemble()
        with pytest.raises(quirk.AssemblyError, match="more than closure_tolerance"):
            system.assemble(closure_tolerance=0.3 * off)
        assert system.closure is None
    state = system.assemble(closure_tolerance=1e-4)
    assert sum(abs(error.amount) for error in system.closure.errors) == pytest.approx(off, rel=1e-6)
    assert "coincidence along y" in str(system.closure)
    np.testing.assert_allclose(state.orientation, [body.orientation for body in (a, b, c)], atol=1e-12)
    assert system.mobility().degrees_of_freedom == 1
    exact = quirk.System(
        [a, b, c, A, B, C, quirk.Revolute("D", GROUND, c, point=[1, 0, 0], axis="y")], gravity=[0, 0, -9.81]
    )
    one, two = (quirk.simulate(each, 1.0, output=0.1, rtol=1e-9, atol=1e-12) for each in (system, exact))
    np.testing.assert_allclose(one["b"].position, two["b"].position, atol=2 * off + 1e-8)
    np.testing.assert_allclose(one.residual.position, 0, atol=1e-9)


def overhung(error, kind):
    """A parallelogram in a plane with a third leg, pinned or a rod, whose foot or length is off."""
    x, y, places = np.cos(0.7), -np.sin(0.7), (0.0, 0.3, 1.0)
    top = planar.PlanarBody.bar("top", [x, y], [1 + x, y], mass=1.0)
    parts = [top]
    for k, s in enumerate(places):
        if k == 2 and kind == "rod":
            points = {"point_i": [s, 0, 0], "point_j": [0.5, 0, 0]}
            parts.append(quirk.Distance("rod", GROUND, top, **points, length=1 + error))
            continue
        leg = planar.PlanarBody.bar(f"leg{k}", [s, 0], [s + x, y], mass=1.0)
        foot = [s + (error if k == 2 else 0.0), 0]
        parts += [leg, planar.Revolute(f"foot{k}", GROUND, leg, point_i=foot, point_j=[-0.5, 0])]
        parts.append(planar.Revolute(f"head{k}", leg, top, point_i=[0.5, 0], point_j=[s - 0.5, 0]))
    return quirk.System(parts, gravity=[0, -9.81, 0])


@pytest.mark.parametrize("error", [1e-4, 1e-7])
@pytest.mark.parametrize("kind", ["leg", "rod"])
def test_relations_and_distances_are_offset(kind, error):
    """Over a large motion: exactly where it is a length, and within the error itself where it is a place."""
    system = overhung(error, kind)
    system.assemble(closure_tolerance=10 * error)
    assert system.closure.errors and system.mobility().degrees_of_freedom == 1
    result = quirk.simulate(system, 1.0)
    assert np.ptp(result["foot0"].rotation[:, 2]) > 0.5
    assert result.residual.position.max() < (3 * error if kind == "leg" else 1e-4 * error + 1e-11)


def test_both_solvers_and_derivatives_know_the_offsets():
    system = rounded("planar", 4, 0)
    state = system.assemble(closure_tolerance=3e-3, rates={"j0": 1.0})
    for solver in ("dense", "sparse"):
        acceleration = system.acceleration(state, solver=solver)
        np.testing.assert_allclose(acceleration.linear, system.acceleration(state).linear, rtol=1e-9, atol=1e-9)
    system.linearize(system.equilibrium())


def test_offsets_are_kept_in_files_and_other_systems(tmp_path):
    for system, tolerance in ((rounded("planar", 4, 1), 3e-3), (overhung(1e-4, "rod"), 3e-3)):
        state = system.assemble(closure_tolerance=tolerance)
        text = text_of(system)
        again = system_of(text)
        assert text_of(again) == text
        assert again.closure == system.closure
        one, two = (quirk.simulate(each, 0.1) for each in (system, again))
        np.testing.assert_array_equal(one.state.position, two.state.position)
        one.save(tmp_path / "run.nc")
        assert quirk.Result.load(tmp_path / "run.nc").system.closure == system.closure
        tank = Body("tank", 1.0, [1, 1, 1], position=[9, 9, 9])
        more = system.with_parts(tank)
        np.testing.assert_array_equal(more.constraint_rows(more.initial_state()).phi, system.constraint_rows(state).phi)
        name = system.closure.errors[0].constraint
        assert name not in system.without(name).closure.offsets


def run_with_events(system, name):
    """Return a run in which a joint is released, and engages again as the bodies then stand."""
    release = quirk.Event("release", "time", level=0.05, action=quirk.disable(name))
    engage = quirk.Event("engage", "time", level=0.1, action=quirk.enable(name, keep_offset=True))
    return quirk.simulate(system, 0.2, output=0.05, events=[release, engage])


@pytest.mark.parametrize("make", study([*LOOPS, "leg", "rod"], 2))
def test_offsets_are_kept_in_results_and_checkpoints(make, tmp_path):
    loop = make in LOOPS
    system = rounded(make, 4, 0) if loop else overhung(1e-4, make)
    system.assemble(closure_tolerance=1e-2)
    written = quirk.simulate(system, 0.1, output=0.05, checkpoint=tmp_path / "run")
    results = [(written, quirk.read_checkpoint(tmp_path / "run"))]
    switched = [run_with_events(system, name) for name in (system.closure.offsets if loop else ())]
    for k, result in enumerate([written, *switched]):
        result.save(tmp_path / f"{k}.nc")
        results += [(result, quirk.Result.load(tmp_path / f"{k}.nc", *given)) for given in ((), (system,))]
    for result, again in results:
        np.testing.assert_array_equal(again.residual.position, result.residual.position)
        for joint in system.constraints:
            np.testing.assert_array_equal(again[joint.name].force(), result[joint.name].force())
            np.testing.assert_array_equal(again[joint.name].torque(), result[joint.name].torque())


@pytest.mark.parametrize("loop", LOOPS)
def test_joints_that_engage_as_bodies_stand_have_no_offset(loop):
    system = rounded(loop, 4, 1)
    system.assemble(closure_tolerance=1e-2)
    assert system.closure.offsets
    for name in [joint.name for joint in system.constraints]:
        result = run_with_events(system, name)
        before, after = np.flatnonzero(result.time == result.events.of("engage")[0].time)
        assert np.abs(result.state.position[after] - result.state.position[before]).max() < 1e-12
        assert result.residual.position[after] < 1e-12


def test_drives_that_follow_another_motion_keep_their_offset():
    loop = rounded("planar", 4, 0)
    loop.assemble(closure_tolerance=1e-2)
    start = quirk.simulate(loop, 1e-3)["j1"].angle[0]
    for error in (1e-3, -1e-4):
        starts = {"motor": start, "again": start + error}
        drives = [quirk.Drive(name, loop["j1"], quirk.Motion.constant_rate(1.0, at)) for name, at in starts.items()]
        driven = loop.with_parts(*drives)
        driven.assemble(closure_tolerance=1e-2)
        assert set(starts) & set(driven.closure.offsets)
        # The same value and rate at 0.1 s.
        follows = [quirk.follow(name, quirk.Motion.polynomial([at + 0.01, 0.8, 1.0])) for name, at in starts.items()]
        event = quirk.Event("faster", "time", level=0.1, action=follows)
        result = quirk.simulate(driven, 0.2, output=0.05, events=[event])
        jump = np.flatnonzero(result.time == result.events.of("faster")[0].time)
        assert np.ptp(result.state.position[jump], axis=0).max() < 1e-9
        assert np.ptp(result["j1"].angle - result.time) > 0.009
        print(result.residual.position)
        assert result.residual.position.max() < 1e-3 * abs(error) + 1e-12


def test_what_a_file_may_say_of_offsets():
    text = text_of(rounded("planar", 4, 1))
    for table, said in (
        ("{tolerance = 1e-3, offsets = {none = [0.0]}}", "no constraint"),
        ("{tolerance = 1e-3, offsets = {j0 = [0.0]}}", "shape"),
        ("{tolerance = -1.0, offsets = {}}", "tolerance"),
        ("3", "tolerance and offsets"),
    ):
        with pytest.raises(quirk.InputError, match=said):
            system_of(text.replace("[system]\n", f"[system]\nclosure = {table}\n", 1))


def test_bad_tolerances():
    system = rounded("planar", 4, 0)
    for value in (0, -1.0, np.nan, "1"):
        with pytest.raises(quirk.InputError, match="closure_tolerance"):
            system.assemble(closure_tolerance=value)
