"""Systems exported as FMUs move in a master as in `simulate`."""

import gc
import sys

import numpy as np
import pytest
from studies import study
from test_run import pendulum

import quirk

pytest.importorskip("pythonfmu")
pytest.importorskip("pythonfmu3")
fmpy = pytest.importorskip("fmpy")
validate_fmu = pytest.importorskip("fmpy.validation").validate_fmu


def bouncing_ball():
    ball = quirk.Body.sphere("ball", 2.0, 0.1, position=[0, 0, 0.6])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=quirk.surface.plane([0, 0, 0], [0, 0, 1]),
                          on_j=quirk.surface.sphere(0.1), restitution=0.7)  # fmt: skip
    return quirk.System([ball, floor, quirk.Force("push", ball, [0.5, 0, 0])], gravity=[0, 0, -9.81])


def simulated(path, duration, **options):
    """Return the results of a master, with the interval of communication 0.01 s, by name."""
    found = fmpy.simulate_fmu(str(path), stop_time=duration, output_interval=0.01, step_size=0.01, **options)
    return {name: np.array(found[name]) for name in found.dtype.names}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("case", ["pendulum", "ball"])
def test_the_motion_is_that_of_simulate(case, version, tmp_path):
    system, inputs, outputs = {
        "pendulum": (pendulum(rate=2.0), ["motor"], ["hinge.angle", "hinge.angle_rate", "energy.total"]),
        "ball": (bouncing_ball(), ["push"], ["ball.position.x", "ball.position.z", "ball.velocity.z"]),
    }[case]
    path = tmp_path / f"{case}.fmu"
    quirk.export_fmu(path, system, inputs=inputs, outputs=outputs, fmi_version=version, rtol=1e-8)
    assert not validate_fmu(str(path))
    found = simulated(path, 1.0)
    times = found["time"]
    run = quirk.Run(system, rtol=1e-8)
    observe, rows = run.observe(outputs), []
    for t in times:
        if t > run.time:
            run.advance_to(t)
        rows.append(observe())
    np.testing.assert_array_equal(np.stack([found[name] for name in outputs]).T, rows)
    result = quirk.simulate(system, 2.0, output=np.append(times, 2.0), rtol=1e-8)
    rows = np.searchsorted(result.time, times, side="right") - 1
    want = result["hinge"].angle if case == "pendulum" else result["ball"].position[:, 0]
    np.testing.assert_allclose(found[outputs[0]], want[rows], rtol=0, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("version", study([3, 2], 1))
def test_a_unit_is_instantiated_many_times(version, tmp_path):
    path = tmp_path / "pendulum.fmu"
    quirk.export_fmu(path, pendulum(), outputs=["hinge.angle"], fmi_version=version)
    found = []
    for _ in range(3):
        found.append(simulated(path, 0.05)["hinge.angle"].tolist())
        gc.collect()
    assert found == [found[0]] * 3


def test_inputs_are_set_by_the_master(tmp_path):
    ball = quirk.Body.sphere("my ball", 2.0, 0.1)
    system = quirk.System([ball, quirk.Force("push", ball, [0.0, 0, 0])])
    path = tmp_path / "2 balls.fmu"
    quirk.export_fmu(path, system, inputs=["push"], outputs=["my ball.velocity.x", "my ball.velocity.z"], step=0.01,
                     method="RK4", communication_step=0.1)  # fmt: skip
    description = fmpy.read_model_description(str(path))
    assert description.modelName == "model_2_balls" and description.defaultExperiment.stepSize == "0.1"
    assert [variable.name for variable in description.modelVariables] == [
        "push.x", "push.y", "push.z", "'my ball.velocity.x'", "'my ball.velocity.z'",
    ]  # fmt: skip
    values = np.array([(0.0, 1.0), (0.5, 3.0)], dtype=[("time", float), ("push.z", float)])
    found = simulated(path, 1.0, input=values, start_values={"push.x": 4.0})
    np.testing.assert_allclose(found["'my ball.velocity.x'"], 2.0 * found["time"], atol=1e-12)
    rows = np.searchsorted(found["time"], [0.5, 1.0])
    # The master holds its value at the start of each interval.
    np.testing.assert_allclose(found["'my ball.velocity.z'"][rows[0]], 0.5 * (0.5 + (0.5 - 0.01)), atol=1e-9)


def test_targets_are_an_input_for_each_joint(tmp_path):
    arm = quirk.Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    boom = quirk.Body.box("boom", 1.0, [0.5, 0.1, 0.1], position=[1, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis="y")
    slide = quirk.Prismatic("my slide", arm, boom, axis="x")
    control = quirk.ComputedTorque("control", [hinge, slide], [0, 0], kp=4.0, kd=5.0, gravity=[0, 0, -9.81])
    system = quirk.System([arm, boom, hinge, slide, control], gravity=[0, 0, -9.81])
    path = tmp_path / "arm.fmu"
    quirk.export_fmu(path, system, inputs=["control", "control.rates"], outputs=["hinge.angle", "my slide.travel"])
    names = [variable.name for variable in fmpy.read_model_description(str(path)).modelVariables]
    assert names[:4] == ["control.hinge", "'control.my slide'", "control.rates.hinge", "'control.rates.my slide'"]
    found = simulated(path, 1.0, start_values={"control.hinge": 0.3, "'control.rates.my slide'": 0.2})
    t = found["time"]  # both errors are sums of exp(-t) and exp(-4 t)
    np.testing.assert_allclose(found["hinge.angle"], 0.3 * (1 - (4 * np.exp(-t) - np.exp(-4 * t)) / 3), atol=1e-6)
    rest = 0.2 * 5.0 / 4.0
    want = rest * (1 - (4 * np.exp(-t) - np.exp(-4 * t)) / 3)
    np.testing.assert_allclose(found["'my slide.travel'"], want, atol=1e-6)


def test_a_master_goes_back(tmp_path):
    path = tmp_path / "pendulum.fmu"
    quirk.export_fmu(path, pendulum(rate=2.0), inputs=["motor"], outputs=["hinge.angle"])
    folder = fmpy.extract(str(path))
    description = fmpy.read_model_description(str(path))
    motor, angle = (variable.valueReference for variable in description.modelVariables)
    fmu = fmpy.fmi2.FMU2Slave(guid=description.guid, unzipDirectory=folder,
                              modelIdentifier=description.coSimulation.modelIdentifier, instanceName="one")  # fmt: skip
    fmu.instantiate()
    fmu.setupExperiment(startTime=1.0, tolerance=1e-7)
    fmu.enterInitializationMode()
    fmu.setReal([motor], [0.5])
    fmu.exitInitializationMode()
    fmu.doStep(1.0, 0.1)
    state = fmu.getFMUstate()
    found = []
    for _ in range(2):
        fmu.doStep(1.1, 0.2)
        found.append(fmu.getReal([angle]))
        fmu.setFMUstate(state)
    fmu.freeFMUstate(state)
    fmu.terminate()
    fmu.freeInstance()
    run = quirk.Run(pendulum(rate=2.0), inputs=["motor"], start=1.0, rtol=1e-7)
    run.inputs["motor"] = 0.5
    run.advance_to(1.0 + 0.1)
    run.advance_to(1.1 + 0.2)
    assert found == [[run["hinge"].angle]] * 2


@pytest.mark.parametrize("version", [2, 3])
def test_an_event_ends_the_simulation(version, tmp_path):
    low = quirk.Event("low", "hinge.angle", level=0.5)
    stop = quirk.Event("stop", "hinge.angle", level=0.7, action="stop")
    path = tmp_path / "pendulum.fmu"
    system = pendulum(lambda *_: low, lambda *_: stop)
    quirk.export_fmu(path, system, outputs=["hinge.angle"], fmi_version=version)
    found = simulated(path, 2.0)
    assert 0.5 < found["hinge.angle"].max() <= 0.7 + 1e-9 and found["time"][-1] < 1.0


def test_wrong_arguments_are_named(tmp_path, monkeypatch):
    path = tmp_path / "pendulum.fmu"
    for options, message in [
        ({"inputs": ["engine"]}, "inputs names 'engine', which is no part of it; .*motor"),
        ({"outputs": ["hinge.angel"]}, 'no quantity is called "hinge.angel"; did you mean "hinge.angle"'),
        ({"outputs": ["hinge.angle", "hinge.angle"]}, "names a quantity twice"),
        ({"outputs": ["time"]}, 'a variable cannot be called "time"'),
        ({"outputs": 3}, "outputs must be a list of quantities"),
        ({"fmi_version": 1}, "fmi_version must be one of '2', '3'; got '1'"),
        ({"communication_step": 0.0}, "communication_step must be positive"),
        ({"method": "BDF"}, "is not compiled"),
    ]:
        with pytest.raises(quirk.QuirkError, match=message):
            quirk.export_fmu(path, pendulum(), **options)
    with pytest.raises(quirk.InputError, match=r"path must end in \.fmu"):
        quirk.export_fmu(tmp_path / "pendulum.zip", pendulum())
    with pytest.raises(quirk.InputError, match=r"system must be a quirk\.System"):
        quirk.export_fmu(path, 3)
    gust = pendulum(lambda rod, hinge: quirk.JointTorque("gust", hinge, lambda t, x, v: 1.0))
    with pytest.raises(quirk.InputError, match=r'JointTorque "gust": torque.*quirk\.Expression'):
        quirk.export_fmu(path, gust)
    monkeypatch.setitem(sys.modules, "pythonfmu.builder", None)
    with pytest.raises(quirk.InputError, match=r"needs pythonfmu, which is not installed: pip install .*\[fmi\]"):
        quirk.export_fmu(path, pendulum())
    assert not path.exists()
