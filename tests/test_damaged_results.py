"""Result files that are damaged, cut short, or written by somebody else: the same result, or a clear error."""

import hashlib
import json
import shutil

import netCDF4
import numpy as np
import pytest
from mechanisms import pendulum
from studies import study

import quirk
from quirk import InputError, Result
from quirk.io.resultfile import checksum


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    system = pendulum(lambda rod, hinge: quirk.Stop("stop", hinge, upper=0.2, restitution=0.5))
    result = quirk.simulate(system, 0.3, output=0.1, sensitivities=[("rod", "mass"), ("hinge", "frame_j.origin")])
    assert result.events
    return result.save(tmp_path_factory.mktemp("damaged") / "r.nc", quantities="motion")


def outcome(path):
    """Load a file and use what comes; None if it is refused with a clear error."""
    try:
        result = Result.load(path)
    except InputError as error:
        assert str(error).startswith("Result.load")
        return None
    result.to_xarray()
    result["hinge"].force()
    assert result.sensitivity["rod", "mass"]["rod"].position.shape == (len(result.time), 3)
    result.state_at()
    return result


@pytest.mark.parametrize("seed", study(range(12), 4))
def test_bytes_that_changed(path, tmp_path, seed):
    rng, data = np.random.default_rng(seed), path.read_bytes()
    damaged = np.frombuffer(data, dtype=np.uint8).copy()
    where = rng.integers(len(damaged), size=rng.integers(1, 5))
    damaged[where] ^= rng.integers(1, 256, size=len(where)).astype(np.uint8)
    (tmp_path / "r.nc").write_bytes(damaged.tobytes())
    assert outcome(tmp_path / "r.nc") is None


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_files_cut_short_or_grown(path, tmp_path, part):
    data = path.read_bytes()
    for changed in (data[: int(part * len(data))], data + data[: int(part * 100) + 1]):
        (tmp_path / "r.nc").write_bytes(changed)
        assert outcome(tmp_path / "r.nc") is None


def changed(path, target, change):
    """A copy of a file in which `change` does something to the open file, with a checksum that fits."""
    data = path.read_bytes()
    target.write_bytes(data[: data.rindex(checksum.MARK)])
    with netCDF4.Dataset(target, "a") as file:
        change(file)
    checksum.append(target)
    return target


def set_variable(group, name, values):
    def change(file):
        (file[group] if group else file)[name][...] = values

    return change


def set_details(**more):
    def change(file):
        told = json.loads(str(file["run"]["details"][...]))
        told.update(more)
        file["run"]["details"][...] = np.array(json.dumps(told), dtype=object)

    return change


def renamed(group, name):
    def change(file):
        (file[group] if group else file).renameVariable(name, f"no_{name}")

    return change


NOTHING = {"active": [], "idle": [], "others": [], "switched": {}, "replaced": []}
HELD = {"by": "sticking", "which": [0], "side": 1}
CHANGES = {
    "nothing is not a number": set_variable(None, "position", np.nan),
    "infinite": set_variable(None, "velocity", np.inf),
    "no quaternions": set_variable(None, "orientation", 0.0),
    "time runs back": lambda file: file["time"].__setitem__(..., file["time"][::-1]),
    "counts": set_variable("run", "count", 7),
    "negative counts": set_variable("run", "count", -1),
    "no such configuration": set_variable("run", "configuration", 99),
    "no version": set_details(format=None),
    "other version": set_details(format=2),
    "no kind": set_details(kind="nonsense"),
    "kinematics": set_details(kind="kinematics"),
    "no dict": set_details(configurations=[3]),
    "unknown names": set_details(configurations=[{**NOTHING, "active": ["x"]}] * 9),
    "unknown part": set_details(configurations=[{**NOTHING, "others": [{"name": "hinge", "by": "x"}]}] * 9),
    "gap": set_details(configurations=[{**NOTHING, "others": [{"name": "stop", "by": "closed", "gap": 9}]}] * 9),
    "no friction": set_details(configurations=[{**NOTHING, "others": [{**HELD, "name": "rod"}]}] * 9),
    "switched": set_details(switched_on={"rod": True}),
    "statistics": set_details(statistics={}),
    "likeness": set_details(likeness={}),
    "options": set_details(options=3),
    "deep": lambda file: set_text(file, "details", "[" * 100000),
    "text": lambda file: set_text(file, "details", "\ud7ff{"),
    "model": lambda file: set_text(file, "model", "[[body]]\nname = 3\n"),
    "no model": lambda file: set_text(file, "model", "nonsense = [ 1"),
    "events": set_variable(None, "impulse_event", 99),
    "event directions": lambda file: other_type(file, "event_direction", 1e300),
    "event times": set_variable(None, "event_time", np.nan),
    "parameters": set_details(parameters=3),
    "no parameter": set_details(parameters=[{"key": ["rod", "x"], "shape": [], "numbers": [[]]}]),
    "fewer parameters": set_details(parameters=[]),
    "other shape": set_details(parameters=[{"key": ["rod", "mass"], "shape": [3], "numbers": [[]] * 3}]),
    "objective": set_details(objective={"value": 1.0, "parameters": [{"key": "gravity", "shape": [3]}]}),
    **{
        f"no {name}": renamed(None, name)
        for name in ("position", "event_name", "impulse_force", "velocity_by", "event_time_by")
    },
    **{
        f"no {name}": renamed("run", name)
        for name in ("carried", "quadrants", "whole", "details", "model", "rank", "carried_by")
    },
}  # fmt: skip


def other_type(file, name, value):
    """The same array as floats, of which each has a value."""
    dimensions = file[name].dimensions
    file.renameVariable(name, f"no_{name}")
    file.createVariable(name, float, dimensions)[...] = value


def set_text(file, name, text):
    file["run"][name][...] = np.array(text, dtype=object)


@pytest.mark.parametrize("name", CHANGES)
def test_content_that_is_no_result(path, tmp_path, name):
    assert outcome(changed(path, tmp_path / "r.nc", CHANGES[name])) is None


def test_a_checksum_that_fits_is_accepted(path, tmp_path):
    assert outcome(changed(path, tmp_path / "r.nc", lambda file: None)) is not None


def test_attributes_are_no_content(path, tmp_path):
    def change(file):
        file.title = "x" * 1000
        file["position"].units = "furlong"

    assert outcome(changed(path, tmp_path / "r.nc", change)) is not None


@pytest.mark.parametrize("seed", study(range(24), 6))
def test_numbers_that_changed_below_the_checksum(path, tmp_path, seed):
    """What a program may write that knows of the checksum: any number in any variable."""
    rng = np.random.default_rng(seed)

    def change(file):
        group = file if rng.random() < 0.5 else file["run"]
        arrays = [v for v in group.variables.values() if v.dtype is not str and v.size]
        one = arrays[rng.integers(len(arrays))]
        values = one[...].filled().ravel()
        values[rng.integers(values.size)] = rng.choice([-1, 0, 2**31 - 1, 1e300]).astype(values.dtype)
        one[...] = values.reshape(one.shape)

    with np.errstate(all="ignore"):
        result = outcome(changed(path, tmp_path / "r.nc", change))
    # Refused, or a result of the same shape.
    assert result is None or result.state.position.shape == (len(result.time), 1, 3)


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n", b"CDF\x01" + bytes(100), b"x" * 1000])
def test_other_files(content, tmp_path):
    place = tmp_path / "r.nc"
    place.write_bytes(content)
    assert outcome(place) is None
    place.write_bytes(content + checksum.MARK + hashlib.sha256(content).hexdigest().encode() + b"\n")
    assert outcome(place) is None


def test_a_file_of_other_arrays(tmp_path):
    place = tmp_path / "r.nc"
    with netCDF4.Dataset(place, "w") as file:
        file.createDimension("time", 2**40)  # which would take 8 TB
        file.createVariable("position", float, ("time",))
        file.createGroup("run")
    checksum.append(place)
    assert outcome(place) is None
    shutil.rmtree(tmp_path)
    with pytest.raises(InputError, match="the file does not exist"):
        Result.load(place)
