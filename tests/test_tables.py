"""Results as data sets, data frames, CSV and NPZ: complete, with units, and read back without QuIRK."""

import csv

import numpy as np
import pandas as pd
import pytest

import quirk
from quirk import GROUND, Body, InputError
from quirk.io.resultfile import dataset
from quirk.io.resultfile.selection import GROUPS

OF_ANY_RUN = [group for group in GROUPS if "sensitivities" not in group]


@pytest.fixture(scope="module")
def result():
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    tip = Body.box("tip, no. 2", 0.2, [0.2, 0.05, 0.05], position=[1.1, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0.1, 1, 0])
    hold = quirk.Fixed("hold", rod, tip, point=[1, 0, 0])
    spring = quirk.Spring("spring", GROUND, tip, point_i=[0, 0, 1], stiffness=5.0, damping=0.1)
    motor = quirk.Controller("motor", hinge, quirk.Motion.polynomial([0.0]), kp=1.0, ki=1.0)
    stop = quirk.Stop("stop", hinge, upper=0.3, restitution=0.5)
    cut = quirk.Event("cut", "time", level=0.15, action=quirk.release("hold"))
    return quirk.simulate(
        quirk.System([rod, tip, hinge, hold, spring, motor, stop, cut], gravity=[0, 0, -9.81]), 0.5, output=0.02
    )


def test_data_sets_have_everything(result):
    data = result.to_xarray(OF_ANY_RUN)
    assert data.sizes["time"] == len(result.time) and list(data.body.values) == ["rod", "tip, no. 2"]
    for name, view in (
        ("position", "position"), ("orientation", "orientation"), ("velocity", "velocity"),
        ("angular_velocity", "angular_velocity"), ("acceleration", "acceleration"),
        ("angular_acceleration", "angular_acceleration"), ("jerk", "jerk"), ("angular_snap", "angular_snap"),
    ):  # fmt: skip
        np.testing.assert_array_equal(data[name].sel(body="rod"), getattr(result["rod"], view))
    hinge = data.sel(joint="hinge")
    for name in ("displacement", "rotation", "velocity", "angular_velocity", "rotation_rate"):
        np.testing.assert_array_equal(hinge[f"joint_{name}"], getattr(result["hinge"], name))
    np.testing.assert_array_equal(hinge.joint_force, result["hinge"].force())
    np.testing.assert_array_equal(hinge.joint_torque, result["hinge"].torque())
    np.testing.assert_array_equal(hinge.joint_point_j, result["hinge"].point)
    np.testing.assert_array_equal(data.joint_active.sel(joint="hold"), result.active("hold"))
    on_tip = data.sel(force_end="spring.tip, no. 2")
    np.testing.assert_array_equal(on_tip.force_end_applied_force, result["spring"].force())
    np.testing.assert_array_equal(data.force_energy.sel(force="spring"), result["spring"].energy)
    np.testing.assert_array_equal(
        data.force_coordinate_value.sel(force_coordinate="motor.angle"), result["motor"].coordinate()
    )
    np.testing.assert_array_equal(data.internal_value[:, 0], result["motor"].internal())
    assert data.internal_value.units == "rad s"
    np.testing.assert_array_equal(data.total_energy, result.energy.total)
    np.testing.assert_array_equal(data.power.sel(source="motor"), result.power["motor"])
    np.testing.assert_array_equal(data.angular_momentum, result.momentum.angular)
    np.testing.assert_array_equal(data.position_residual, result.residual.position)
    assert data.event_name.values.tolist() == result.events.name and data.sizes["impulse"] > 0
    struck = data.isel(impulse=data.impulse_joint == "stop")
    impulse = result.events.of("stop")[0].impulse["stop"]
    np.testing.assert_array_equal(struck.impulse_torque[0], impulse.torque)


def test_every_variable_says_what_it_is(result):
    data = result.to_xarray(OF_ANY_RUN)
    for name, variable in data.variables.items():
        if name not in data.dims or name == "time":
            assert variable.attrs["long_name"], name
        if variable.dtype.kind == "f":
            assert variable.attrs["units"], name
        if "axis" in variable.dims and name != "axis":
            assert "axes" in variable.attrs["frame"] or "inertial" in variable.attrs["frame"], name
    assert data.attrs["gravity"] == [0, 0, -9.81] and "body i exerts on body j" in data.attrs["convention_joint_loads"]


def test_both_sides_of_an_event_are_there(result):
    data = result.to_xarray("motion")
    t = result.events.of("cut")[0].time
    assert (data.time == t).sum() >= 2 and data.segment.values[-1] == len(result.segments) - 1
    after = data.drop_duplicates("time", keep="last")
    assert after.sel(time=t).segment == data.segment[data.time == t][-1]


def test_what_is_not_asked_for_is_not_computed():
    ball = Body.sphere("ball", 1.0, 0.1)
    result = quirk.simulate(quirk.System([ball], gravity=[0, 0, -9.81]), 0.1, output=0.05)
    result.to_xarray(["motion", "activity", "events", "joints", "momentum"])
    assert "dynamics" not in vars(result.segments[0]) and "kinematics" not in vars(result)


def test_frames_and_parts_can_be_chosen(result):
    data = result.to_xarray(["motion", "loads"], only=["rod", "hinge"], frame="joint j")
    assert list(data.body.values) == ["rod"] and list(data.joint.values) == ["hinge"]
    np.testing.assert_array_equal(data.joint_force[:, 0], result["hinge"].force("joint j"))
    assert data.joint_force.attrs["frame"] == "axes of joint frame j"
    assert result.to_xarray("forces", only="spring").sizes["force_end"] == 2
    assert result.to_xarray("joints", only="rod").sizes["joint"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"quantities": "speed"}, "quantities must be one of 'motion'"),
        ({"quantities": 3}, "quantities must be a name"),
        ({"only": "rot"}, 'did you mean "rod"'),
        ({"only": ["cut"]}, "only must name bodies"),
        ({"only": 3}, "only must be a name"),
        ({"frame": "k"}, "frame must be one of"),
    ],
)
@pytest.mark.parametrize("method", ["to_xarray", "to_pandas"])
def test_choices_that_are_refused(result, method, arguments, says):
    with pytest.raises((InputError, quirk.UnknownNameError), match=says):
        getattr(result, method)(**arguments)


def test_frames_of_pandas(result):
    table = result.to_pandas()
    assert table.index.name == "time [s]" and len(table) == len(result.time)
    np.testing.assert_array_equal(table["rod.position.x [m]"], result["rod"].position[:, 0])
    np.testing.assert_array_equal(table["hinge.force.z [N]"], result["hinge"].force()[:, 2])
    np.testing.assert_array_equal(table["spring.tip, no. 2.applied_force.y [N]"], result["spring"].force()[:, 1])
    np.testing.assert_array_equal(table["spring.length.value [m]"], result["spring"].length)
    np.testing.assert_array_equal(table["motor.angle.rate [rad/s]"], result["motor"].rate())
    assert table["total_energy [J]"].notna().all() and table["hold.active"].dtype == bool
    assert table.columns.is_unique


def test_csv_files_are_read_back_with_pandas_alone(result, tmp_path):
    path = result.to_csv(tmp_path / "r.csv", only=["rod", "tip, no. 2", "hinge"])
    table = pd.read_csv(path, index_col=0)
    pd.testing.assert_frame_equal(table, result.to_pandas(only=["rod", "tip, no. 2", "hinge"]), rtol=1e-15)
    assert path.read_text().startswith("time [s],segment [1],rod.position.x [m],")


def test_npz_files_are_read_back_with_numpy_alone(result, tmp_path):
    with np.load(result.to_npz(tmp_path / "r.npz"), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["time [s]"], result.time)
        np.testing.assert_array_equal(arrays["rod.position [m]"], result["rod"].position)
        np.testing.assert_array_equal(arrays["rod.orientation [1]"], result["rod"].orientation)
        np.testing.assert_array_equal(arrays["hinge.torque [N m]"], result["hinge"].torque())
        assert arrays["event_name"].tolist() == result.events.name


def test_names_that_would_be_the_same():
    one, two = (Body.sphere(name, 1.0, 0.1, position=[k, 0, 0]) for k, name in enumerate(["a", "a.velocity"]))
    ball = Body.sphere("a.velocity.x [m/s]", 1.0, 0.1)
    system = quirk.System([one, two, ball])
    result = quirk.simulate(system, 0.1, output=0.1)
    assert result.to_pandas("motion").columns.is_unique


def test_libraries_that_are_not_there(result, tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(dataset, "import_module", missing)
    for method, arguments in (
        ("to_xarray", ()),
        ("to_pandas", ()),
        ("to_csv", (tmp_path / "r.csv",)),
        ("save", (tmp_path / "r.nc",)),
    ):
        with pytest.raises(ImportError, match=r'pip install "quirk-dynamics\[io\]"'):
            getattr(result, method)(*arguments)
    result.to_npz(tmp_path / "r.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["r.npz"]


@pytest.mark.parametrize(("method", "suffix"), [("to_csv", ".csv"), ("to_npz", ".npz")])
def test_paths_that_are_refused(result, method, suffix, tmp_path):
    with pytest.raises(InputError, match=rf"must end in \{suffix}"):
        getattr(result, method)(tmp_path / "r.txt")


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=x", "\r=x", "\n=x", "'=x", "x=1", "a-b", 'x",=1'])
def test_names_that_spreadsheets_would_compute(name, tmp_path):
    """They are text in CSV files, and as they are elsewhere."""
    body = quirk.Body(name, 1.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    result = quirk.simulate(quirk.System([body]), 0.2, output=0.1)
    path = result.to_csv(tmp_path / "r.csv", "motion")
    with path.open(newline="") as file:
        cells = next(csv.reader(file))
    assert len(cells) > 10
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r\n"]
    columns = [f"{name}.position.{axis} [m]" for axis in "xyz"]
    assert set(columns) <= {cell.removeprefix("'") for cell in cells} | set(cells)
    assert set(columns) <= set(result.to_pandas("motion").columns)


def test_loads_along_coordinates_are_complete():
    """Those of springs include stored forces; what does not act along its coordinates alone has no such column."""
    arm = Body.box("arm", 1.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    block = Body.box("block", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 1])
    hinge = quirk.Revolute("hinge", GROUND, arm, point=[0, 0, 0], axis="y")
    rail = quirk.Prismatic("rail", GROUND, block, axis="z")
    items = [
        arm, block, hinge, rail,
        quirk.TorsionSpring("coil", hinge, stiffness=10.0, damping=1.0, rest_angle=0.2),
        quirk.Spring("tire", GROUND, block, points=[[0, 0, 0], [0, 0, 1]], stiffness=100.0, damping=3.0),
        quirk.Friction("rub", rail, coefficient=0.1),
    ]  # fmt: skip
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -9.81]), 0.2, output=0.1)
    frame = result.to_pandas("forces")
    for name, stiffness, rest, damping in (("coil.angle", 10.0, 0.2, 1.0), ("tire.length", 100.0, 1.0, 3.0)):
        unit, along = ("rad", "N m") if name == "coil.angle" else ("m", "N")
        value, rate = frame[f"{name}.value [{unit}]"], frame[f"{name}.rate [{unit}/s]"]
        np.testing.assert_allclose(
            frame[f"{name}.load [{along}]"], stiffness * (rest - value) - damping * rate, atol=1e-12
        )
    assert not [column for column in frame if column.startswith("rub.") and "load" in column]
    with pytest.raises(InputError, match='Friction "rub": it does not act only along its coordinates; use force'):
        result["rub"].load("ahead")


def test_internal_variables_have_the_units_of_their_elements(tmp_path):
    """An elastic rope that creeps over a drum, and controllers of a hinge and of a slide."""
    drum = quirk.Body.cylinder("drum", 1.0, 0.2, 0.1, axis="y")
    load = quirk.Body.sphere("load", 1.0, 0.05, position=[0.2, 0, -1])
    axle = quirk.Revolute("axle", quirk.GROUND, drum, point=[0, 0, 0], axis="y")
    rail = quirk.Prismatic("rail", quirk.GROUND, load, point=[0.2, 0, -1], axis="z")
    held = quirk.Controller("held", axle, 0.0, kp=50.0, ki=5.0, kd=5.0)
    lifted = quirk.Controller("lifted", rail, 0.0, kp=50.0, ki=5.0, kd=5.0)
    ends = [(quirk.GROUND, [-0.2, 0, -1]), quirk.Drum(drum, [0, 0, 0], "y", 0.2), (load, [0, 0, 0])]
    rope = quirk.Pulley("rope", ends, stiffness=1e4, friction=0.2)
    system = quirk.System([drum, load, axle, rail, held, lifted, rope], gravity=[0, 0, -9.81])
    data = quirk.simulate(system, 0.02, output=0.01).to_xarray(["forces"])
    units = dict(zip(data.internal.values.tolist(), data.internal_unit.values.tolist(), strict=True))
    assert units.pop("held.integral") == "rad s" and units.pop("lifted.integral") == "m s"
    assert units and set(units.values()) == {"m"} and all(name.startswith("rope") for name in units)
    assert data.internal_value.units == "follows from internal_unit"
