"""Results saved and read back: the same numbers, runs that go on, and errors that say what is missing."""

import warnings

import numpy as np
import pytest
import xarray
from mechanisms import level_rod, pendulum
from quirk.constraints.sticking import Sticking

import quirk
from quirk import GROUND, Body, Motion, Result
from quirk.forces import Friction

pytestmark = pytest.mark.filterwarnings("ignore::quirk.SaveWarning")


def cut(**more):
    """A double pendulum with a spring, of which the lower rod is cut off by an event."""
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    tip = Body.box("tip", 0.2, [0.2, 0.05, 0.05], position=[1.1, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0.1, 1, 0])
    hold = quirk.Fixed("hold", rod, tip, point=[1, 0, 0])
    spring = quirk.Spring("spring", GROUND, tip, point_i=[0, 0, 1], stiffness=5.0, damping=0.1)
    event = quirk.Event("cut", "time", level=0.15, action=quirk.release("hold"))
    return quirk.System([rod, tip, hinge, hold, spring, event], gravity=[0, 0, -9.81])


def bounce():
    """A ball that hops onto a floor with friction, slides and rolls."""
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.12], velocity=[0.5, 0, 0])
    floor = quirk.Contact(
        "floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1), restitution=0.3
    )
    return quirk.System([ball, floor, quirk.Friction("rub", floor, 0.05)], gravity=[0, 0, -9.81])


def switched():
    """A driven slider, of which events change the drive, replace a spring and catch a second body as it stands."""
    slider = Body.sphere("slider", 1.0, 0.1, velocity=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, slider, axis=[1, 0, 0])
    free = Body.sphere("free", 0.5, 0.1, position=[0.3, 0.02, 0], angular_velocity=[0.1, 0.2, 0.3])
    hold = quirk.Fixed("hold", slider, free, point=[0, 0, 0], active=False)
    drive = quirk.Drive("drive", rail, Motion.polynomial([0.0, 1.0]))
    spring = quirk.Spring("spring", GROUND, free, stiffness=3.0, rest_length=0.1)
    stiffer = quirk.Spring("spring", GROUND, free, stiffness=30.0, rest_length=0.2)
    return quirk.System(
        [
            slider, rail, free, hold, drive, spring,
            quirk.Event("swap", "time", level=0.05, action=quirk.replace("spring", stiffer)),
            quirk.Event("catch", "time", level=0.1, action=quirk.engage("hold", keep_offset=True)),
            quirk.Event("slow", "time", level=0.15, action=[quirk.follow("drive", Motion.polynomial([0.1125, 0.25]))]),
        ]
    )  # fmt: skip


def controlled():
    """A rod that a controller with an integral part turns to an angle, over more than one turn."""
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0], angular_velocity=[0, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    motor = quirk.Controller("motor", hinge, Motion.polynomial([0.0, 30.0]), kp=60.0, ki=20.0)
    return quirk.System([rod, hinge, motor], gravity=[0, 0, -9.81])


SYSTEMS = {"cut": cut, "bounce": bounce, "switched": switched, "controlled": controlled}


@pytest.fixture(scope="module", params=SYSTEMS)
def saved(request, tmp_path_factory):
    result = quirk.simulate(SYSTEMS[request.param](), 0.3, output=0.02)
    return result, result.save(tmp_path_factory.mktemp("results") / f"{request.param}.nc")


def check_same(one, other):
    """Every quantity that data sets have, bit for bit, and what they do not."""
    assert one.to_xarray().identical(other.to_xarray())
    assert len(one.segments) == len(other.segments)
    for a, b in zip(one.segments, other.segments, strict=True):
        assert a.active == b.active and a.switched == b.switched and list(a.replaced) == list(b.replaced)
        np.testing.assert_array_equal(a.flat, b.flat)
        np.testing.assert_array_equal(a.angles, b.angles)
    assert (one.status, one.statistics.steps, one.rank) == (other.status, other.statistics.steps, other.rank)


def test_what_is_loaded_is_the_same_result(saved):
    result, path = saved
    loaded = Result.load(path)
    assert type(loaded) is Result
    check_same(result, loaded)
    assert str(loaded.events) == str(result.events)
    assert loaded.summary() == result.summary()


def test_the_systems_do_what_they_are_here_for():
    """So that the tests of files mean something: all kinds of parts that stand in the place of others."""
    result = quirk.simulate(bounce(), 0.6, output=0.1)
    kinds = {type(part) for s in result.segments for part, _ in s.model.joint_bodies}
    assert Sticking in kinds and any(isinstance(e, Friction) for s in result.segments for e, _ in s.model.forces)
    replaced = quirk.simulate(switched(), 0.2, output=0.1).segments[-1].replaced
    assert set(replaced) == {"spring", "hold", "drive"}


def test_runs_go_on_from_what_was_loaded(saved):
    result, path = saved
    for given in (None, result.system):
        loaded = Result.load(path, system=given)
        both = [
            quirk.simulate(one.system, 0.05, output=0.01, initial_state=one.state_at(), start=one.time[-1])
            for one in (result, loaded)
        ]
        check_same(*both)
    joined = quirk.join(result, both[1])
    assert joined.time[-1] == pytest.approx(0.35) and len(joined.options) == 2


def test_a_loaded_result_can_be_saved_and_asked_between_outputs(saved, tmp_path):
    result, path = saved
    loaded = Result.load(path)
    again = Result.load(loaded.save(tmp_path / "again.nc"))
    check_same(result, again)
    at = [one.at([0.111, 0.222]).state for one in (result, again)]
    np.testing.assert_array_equal(at[0].position, at[1].position)


def test_a_file_makes_sense_with_xarray_alone(saved):
    result, path = saved
    with xarray.open_dataset(path) as data:
        data.load()
    assert data.identical(result.to_xarray())
    assert data.position.attrs["units"] == "m" and "inertial" in data.position.attrs["frame"]
    name = result.system.constraints[0].name
    np.testing.assert_array_equal(data.joint_force.sel(joint=name), result[name].force())
    assert data.event_time.values.tolist() == result.events.time.tolist()
    assert all("long_name" in data[name].attrs for name in data.data_vars)


def test_kinematic_results(tmp_path):
    crank = Body.box("crank", 1.0, [0.2, 0.05, 0.05], position=[0.1, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1])
    drive = quirk.Drive("drive", hinge, Motion.sinusoid(7.0, 3.0))
    system = quirk.System([crank, hinge, drive])
    system.assemble()
    result = quirk.kinematics(system, np.linspace(0, 1, 11))
    loaded = Result.load(result.save(tmp_path / "crank.nc"))
    assert type(loaded) is type(result)
    check_same(result, loaded)
    np.testing.assert_array_equal(result["crank"].snap, loaded["crank"].snap)
    assert abs(result["hinge"].rotation[:, 2]).max() > 2 * np.pi


def test_events_of_one_run_travel_too(tmp_path):
    system = cut()
    other = quirk.Spring("spring", GROUND, system["tip"], point_i=[0, 0, 1], stiffness=50.0)
    swap = quirk.Event("swap", "time", level=0.05, action=quirk.after(1, quirk.replace("spring", other)))
    result = quirk.simulate(system, 0.1, output=0.02, events=[swap])
    loaded = Result.load(result.save(tmp_path / "r.nc"))
    assert "swap" not in loaded.system
    check_same(result, loaded)
    check_same(result, Result.load(loaded.save(tmp_path / "again.nc")))
    with pytest.raises(quirk.InputError, match='event "swap"'):
        Result.load(tmp_path / "r.nc", system=cut())


def wind(t, position, orientation, velocity, angular_velocity):
    """A force that no text can say."""
    return [0.1 * sum(divmod(t, 0.3)), 0.0, 0.0]


def blown():
    ball = Body.sphere("ball", 1.0, 0.1)
    return quirk.System([ball, quirk.Force("wind", ball, wind)], gravity=[0, 0, -9.81])


def test_python_functions_come_from_the_script(tmp_path):
    result = quirk.simulate(blown(), 0.2, output=0.1)
    path = result.save(tmp_path / "r.nc")
    with pytest.raises(quirk.InputError, match=r"(?s)wind.*system="):
        Result.load(path)
    check_same(result, Result.load(path, system=blown()))
    with xarray.open_dataset(path) as data:
        np.testing.assert_array_equal(data.force_end_applied_force.sel(force_end="wind.ball"), result["wind"].force())


def test_another_system_is_refused(tmp_path):
    path = quirk.simulate(blown(), 0.1, output=0.1).save(tmp_path / "r.nc")
    heavy = quirk.System([Body.sphere("ball", 2.0, 0.1)], gravity=[0, 0, -9.81])
    with pytest.raises(quirk.InputError, match=r'mass of "ball": 1\.0 was saved, 2\.0 is given'):
        Result.load(path, system=heavy)
    with pytest.raises(quirk.InputError, match="wind"):
        Result.load(path, system=blown().without("wind"))
    with pytest.raises(quirk.InputError, match=r"quirk\.System"):
        Result.load(path, system=3)


def test_parts_that_functions_have_put_in_are_told(tmp_path):
    system = cut()
    other = quirk.Spring("spring", GROUND, system["tip"], point_i=[0, 0, 1], stiffness=50.0)
    swap = quirk.Event("swap", "time", level=0.05, action=lambda t, state: quirk.replace("spring", other))
    path = quirk.simulate(system, 0.1, output=0.02, events=[swap]).save(tmp_path / "r.nc")
    with pytest.raises(quirk.InputError, match=r'replacement of "spring".*xarray'):
        Result.load(path)


def test_what_a_file_lacks_is_told_as_it_is_written(tmp_path):
    """Names of all parts with functions in Python; nothing where everything is kept."""
    result = quirk.simulate(blown(), 0.1, output=0.1)
    with pytest.warns(quirk.SaveWarning, match=r'(?s)r\.nc contains the numbers.*"wind": force.*system=system') as told:
        result.save(tmp_path / "r.nc")
    assert told[0].filename == __file__ and len(told) == 1
    system = cut()
    other = quirk.Spring("spring", GROUND, system["tip"], point_i=[0, 0, 1], stiffness=50.0)
    swap = quirk.Event("swap", "time", level=0.05, action=lambda t, state: quirk.replace("spring", other))
    with pytest.warns(quirk.SaveWarning, match=r'cannot be written: Spring "spring".*by actions of events'):
        quirk.simulate(system, 0.1, output=0.02, events=[swap]).save(tmp_path / "r.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quirk.simulate(cut(), 0.1, output=0.02).save(tmp_path / "r.nc")


def test_what_is_left_out_is_not_written(tmp_path):
    result = quirk.simulate(blown(), 0.1, output=0.05)
    path = result.save(tmp_path / "r.nc", quantities="energy")
    with xarray.open_dataset(path) as data:
        assert {"position", "total_energy", "event_time"} <= set(data) and "joint_force" not in data
    check_same(result, Result.load(path, system=blown()))


def test_a_failed_write_harms_nothing(tmp_path, monkeypatch):
    result = quirk.simulate(blown(), 0.1, output=0.05)
    path = result.save(tmp_path / "r.nc")
    before = path.read_bytes()

    def broken(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr("quirk.io.resultfile.checksum.append", broken)
    with pytest.raises(OSError, match="full"):
        result.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no.nc", "the file does not exist"),
        (".", "the file does not exist"),
        (3, "name of a file"),
        ("\0.nc", "cannot be read|does not exist"),
    ],
)
def test_paths_that_cannot_be_read(path, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(quirk.InputError, match=says):
        Result.load(path)


def test_instants_are_not_saved(tmp_path):
    result = quirk.simulate(blown(), 0.1, output=0.05)
    with pytest.raises(quirk.InputError, match="save the run"):
        result.at(0.07).save(tmp_path / "r.nc")
    with pytest.raises(quirk.InputError, match=r"\.nc"):
        result.save(tmp_path / "r.txt")


def test_a_system_that_is_switched_otherwise_is_refused(tmp_path):
    path = quirk.simulate(cut(), 0.05, output=0.05).save(tmp_path / "r.nc")
    other = cut()
    other.disable("hold")
    with pytest.raises(quirk.InputError, match=r"system\.enable\('hold'\)"):
        Result.load(path, system=other)
    system = cut()
    system.deactivate("hold")
    result = quirk.simulate(system, 0.05, output=0.05)
    loaded = Result.load(result.save(path))
    assert not loaded.system.is_active("hold")
    check_same(result, loaded)


def test_runs_that_failed_travel_too(tmp_path):
    last = [0.5]

    def gives_out(t, position, orientation, velocity, angular_velocity):
        return [1, 0, 0] if t < last[0] else [1, 0]

    ball = Body.sphere("ball", 1.0, 0.1)
    system = quirk.System([ball, quirk.Force("push", ball, gives_out)])
    with pytest.raises(quirk.SimulationError) as error:
        quirk.simulate(system, 1.0, output=0.1)
    result, last[0] = error.value.result, 0.0
    loaded = Result.load(result.save(tmp_path / "r.nc"), system=system)
    assert loaded.status == "failed"
    np.testing.assert_array_equal(loaded["ball"].position, result["ball"].position)
    with xarray.open_dataset(tmp_path / "r.nc") as data:
        assert "position" in data and "acceleration" not in data
        assert 'Force "push"' in data.attrs["left_out_accelerations"]
    with pytest.raises(quirk.InputError, match='Force "push"'):
        result.save(tmp_path / "r.nc", quantities="accelerations")


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_names_that_files_cannot_hold(name, tmp_path):
    result = quirk.simulate(quirk.System([Body.sphere(name, 1.0, 0.1)]), 0.1, output=0.1)
    for method, suffix in (("save", "nc"), ("to_csv", "csv"), ("to_npz", "npz")):
        with pytest.raises(quirk.InputError, match="rename the part"):
            getattr(result, method)(tmp_path / f"r.{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["körper 1/2", "a.b [m]", "time", "x" * 300])
def test_names_that_files_can_hold(name, tmp_path):
    result = quirk.simulate(quirk.System([Body.sphere(name, 1.0, 0.1)]), 0.1, output=0.1)
    check_same(result, Result.load(result.save(tmp_path / "r.nc")))
    with np.load(result.to_npz(tmp_path / "r.npz")) as arrays:
        np.testing.assert_array_equal(arrays[f"{name}.position [m]"], result[name].position)
    assert f"{name}.position.x [m]" in result.to_pandas()


def stopped(made=Body.box, **given):
    """A pendulum on a spring with internal variables, off a stop, under a load that swings."""
    given = given or {"size": [1.0, 0.05, 0.05]}
    rod = made("rod", 1.0, position=[0.5, 0, 0], **given)
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    motor = quirk.Controller("motor", hinge, Motion.sinusoid(0.1, 3.0), kp=6.0, ki=2.0)
    stop = quirk.Stop("stop", hinge, upper=0.2, restitution=0.5)
    return quirk.System([rod, hinge, motor, stop], gravity=[0, 0, -9.81])


KEYS = [("rod", "mass"), ("rod", "angular_velocity"), ("motor", "ki"), ("motor", "target.amplitude"),
        ("hinge", "frame_j.origin"), ("stop", "upper"), "gravity"]  # fmt: skip


@pytest.fixture(scope="module")
def varied(tmp_path_factory):
    result = quirk.simulate(stopped(), 0.4, output=0.1, sensitivities=KEYS)
    assert result.events
    return result, result.save(tmp_path_factory.mktemp("varied") / "varied.nc", quantities="motion")


def test_sensitivities_are_kept(varied, tmp_path):
    result, path = varied
    for given in (None, result.system):
        loaded = Result.load(path, system=given)
        assert loaded.sensitivity.parameters == KEYS
        for key in KEYS:
            one, other = result.sensitivity[key], loaded.sensitivity[key]
            assert one.shape == other.shape
            for what in ("position", "orientation", "turn", "velocity", "angular_velocity", "angular_acceleration"):
                np.testing.assert_array_equal(getattr(one["rod"], what), getattr(other["rod"], what))
            np.testing.assert_array_equal(one["hinge"].force(), other["hinge"].force())
            np.testing.assert_array_equal(one.of("hinge.angle"), other.of("hinge.angle"))
            np.testing.assert_array_equal(one.event_times, other.event_times)
    check_same(loaded, Result.load(loaded.save(tmp_path / "again.nc")))


def test_sensitivities_by_another_parameter_of_the_same_name(varied):
    """With the mass of a box its inertia changes; not so with that of a body with the same inertia."""
    box = stopped().bodies[0]
    other = stopped(Body, inertia=np.diag(box.inertia))
    with pytest.raises(quirk.InputError, match=r"\('rod', 'mass'\) has another meaning"):
        Result.load(varied[1], system=other)


def test_sensitivities_in_tables(varied, tmp_path):
    """As the result shows them: by body, joint and parameter."""
    result, data = varied[0], varied[0].to_xarray()
    velocity = data.velocity_by.sel(body="rod", parameter="rod.angular_velocity[1]")
    np.testing.assert_array_equal(velocity, result.sensitivity["rod", "angular_velocity"]["rod"].velocity[..., 1])
    np.testing.assert_array_equal(
        data.event_time_by.sel(parameter="stop.upper"), result.sensitivity["stop", "upper"].event_times
    )
    loads = result.to_xarray("load_sensitivities").joint_force_by.sel(joint="hinge", parameter="gravity[2]")
    np.testing.assert_array_equal(loads, result.sensitivity["gravity"]["hinge"].force()[..., 2])
    column = "rod.position.x by motor.ki [m per unit of the parameter]"
    by_ki = result.sensitivity["motor", "ki"]["rod"].position
    np.testing.assert_array_equal(result.to_pandas("sensitivities", only="rod")[column], by_ki[:, 0])
    arrays = np.load(result.to_npz(tmp_path / "r.npz", "sensitivities"))
    np.testing.assert_array_equal(arrays[column.replace(".x", "")], by_ki)
    assert "event_time by stop.upper [s per unit of the parameter]" in arrays
    without = quirk.simulate(stopped(), 0.1, output=0.1)
    assert "position_by" not in without.to_xarray("motion")
    with pytest.raises(quirk.InputError, match="the run has none"):
        without.to_xarray("sensitivities")


def test_gradients_are_kept(tmp_path):
    system = pendulum()
    objective = quirk.Objective(["hinge.angle"], lambda x: (np.sum(x**2), 2 * x))
    result = quirk.simulate(system, 0.2, output=0.1, objective=objective, sensitivities=["gravity", ("rod", "mass")])
    loaded = Result.load(result.save(tmp_path / "judged.nc"))
    assert loaded.gradient.value == result.gradient.value and loaded.gradient.parameters == result.gradient.parameters
    for key in result.gradient:
        np.testing.assert_array_equal(loaded.gradient[key], result.gradient[key])


def test_sensitivities_without_events_are_kept(tmp_path):
    rod = quirk.Body("rod", 1.2, [0.1, 0.1, 0.005], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    system = quirk.System([rod, hinge], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 0.2, output=0.1, sensitivities=[("rod", "mass")])
    result.save(tmp_path / "run.nc")
    back = Result.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(back.sensitivity.states, result.sensitivity.states)


def test_efforts_found_are_kept(tmp_path):
    rod, hinge = level_rod()
    drive = quirk.Drive("drive", hinge, Motion.sinusoid(0.4, 2.0))
    system = quirk.System([rod, hinge, drive, quirk.Actuator("motor", hinge, 0.0)], gravity=[0, 0, -9.81])
    found = quirk.inverse_dynamics(system, np.linspace(0, 1, 11), ["motor"])
    found.save(tmp_path / "efforts.nc")
    back = Result.load(tmp_path / "efforts.nc")
    assert type(back) is type(found)
    assert list(back.effort) == ["motor"]
    np.testing.assert_array_equal(back.effort["motor"], found.effort["motor"])
    np.testing.assert_array_equal(back["rod"].acceleration, found["rod"].acceleration)
