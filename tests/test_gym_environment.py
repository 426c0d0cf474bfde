"""Environments of Gymnasium move as runs do."""

import sys
import warnings

import numpy as np
import pytest
from test_run import pendulum

import quirk

pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env

OBSERVATIONS = ["hinge.angle", "hinge.angle_rate"]


def minus_square(observation, action):
    return -(observation[0] ** 2)


def environment(system=None, **options):
    arguments = {"actions": {"motor": (-20, 20)}, "observations": OBSERVATIONS, "reward": minus_square, "period": 0.02}
    return quirk.gym_environment(pendulum() if system is None else system, **(arguments | options))


def test_the_checker_of_gymnasium_passes():
    system = pendulum(lambda rod, hinge: quirk.Force("push", rod, [0, 0, 0]))

    start = system.initial_state()

    def initial(rng):
        return system.assemble(start, coordinates={"hinge": rng.uniform(-0.5, 0.5)})

    for options in ({}, {"initial": initial, "actions": {"motor": (-20, 20), "push": (-1, 1)}}):
        with warnings.catch_warnings():
            # Observations are not bounded, and actions are in N m.
            warnings.filterwarnings("ignore", message=".*(infinity|symmetric|spec).*")
            check_env(environment(system, duration=1.0, **options), skip_render_check=True)


@pytest.mark.parametrize("given", [False, True])
def test_the_motion_is_that_of_a_run(given):
    system, state = pendulum(), pendulum().assemble(coordinates={"hinge": 0.4})
    env = environment(rtol=1e-7, initial=(lambda rng: state) if given else None)
    for _ in range(2):
        observation, info = env.reset(seed=3)
        run = quirk.Run(system, inputs=["motor"], rtol=1e-7, initial_state=state if given else None)
        np.testing.assert_array_equal(observation, [run["hinge"].angle, run["hinge"].angle_rate])
        assert info == {"time": 0.0, "reason": "reset", "events": []}
        for k in range(30):
            run.inputs["motor"] = float(k % 3)
            run.advance(0.02)
            observation, reward, terminated, truncated, info = env.step([k % 3])
            np.testing.assert_array_equal(env.run.state.pack(), run.state.pack())
            assert reward == -(observation[0] ** 2) and not terminated and not truncated
            assert info["time"] == run.time


def test_episodes_end():
    """By time, by a condition, and by an event that stops the run; other events are listed."""
    low = quirk.Event("low", "hinge.angle", level=0.2)
    stop = quirk.Event("stop", "hinge.angle", level=0.7, action="stop")
    env = environment(pendulum(lambda *_: low, lambda *_: stop))
    env.reset()
    happened, terminated = [], False
    while not terminated:
        observation, _, terminated, truncated, info = env.step([0.0])
        happened += info["events"]
        assert not truncated
    assert happened == ["low", "stop"] and info["reason"] == "stopped"
    assert observation[0] == pytest.approx(0.7, abs=1e-9)
    with pytest.raises(quirk.InputError, match=r"call reset\(\)"):
        env.step([0.0])
    env = environment(duration=0.1)
    env.reset()
    found = [env.step([0.0])[2:4] for _ in range(5)]
    assert found == [(False, False)] * 4 + [(False, True)]
    env = environment(terminated=lambda observation: observation[0] > 0.2)
    env.reset()
    assert not env.step([20.0])[2]
    while not env.step([20.0])[2]:
        assert env.run["hinge"].angle <= 0.2
    assert env.run["hinge"].angle > 0.2


def test_vectors_limits_and_the_order_of_actions():
    base = pendulum()
    drive = quirk.Actuator("drive", base["hinge"], 0.0, limits=[-3, 4])
    system = quirk.System([*base, drive, quirk.Force("push", base["rod"], [0, 0, 0])], gravity=base.gravity)
    env = environment(system, actions={"push": ([-1, -2, -3], 3.0), "motor": (-5, 5)})
    assert env.action_space.low.tolist() == [-1, -2, -3, -5] and env.action_space.high.tolist() == [3, 3, 3, 5]
    env.reset()
    env.step([1.0, 2.0, -9.0, 4.0])
    assert env.run.inputs["push"].tolist() == [1, 2, -3] and env.run.inputs["motor"] == 4.0
    env = environment(system, actions=["drive"])
    assert (env.action_space.low, env.action_space.high) == (-3, 4)


def test_wrong_arguments_are_named(monkeypatch):
    for options, message in [
        ({"actions": ["motor"]}, r'bounds of JointTorque "motor" in actions must be given: actions=\{\'motor\''),
        ({"actions": {"engine": (0, 1)}}, "inputs names 'engine', which is no part of it; .*motor"),
        ({"actions": {"motor": (1, 0)}}, "the lower bound less than the upper"),
        ({"actions": {"motor": 3}}, r"must be a pair \(low, high\); got 3"),
        ({"actions": "motor"}, "actions must be bounds by name"),
        ({"actions": {}}, "actions names no input"),
        ({"observations": ["hinge.angel"]}, 'no quantity is called "hinge.angel"'),
        ({"reward": 3}, "reward must be a function; got 3"),
        ({"period": 0.0}, "period must be positive"),
        ({"render_mode": "rgb"}, "render_mode must be one of"),
    ]:
        with pytest.raises(quirk.QuirkError, match=message):
            environment(**options)
    env = environment(reward=lambda observation, action: np.nan, initial=lambda rng: 3)
    with pytest.raises(quirk.InputError, match=r"call reset\(\)"):
        env.step([0.0])
    with pytest.raises(quirk.InputError, match=r"initial must return a quirk\.State; got 3"):
        env.reset()
    env.reset(options={"initial_state": pendulum().initial_state()})
    with pytest.raises(quirk.InputError, match=r"action must have shape \(1,\)"):
        env.step([0.0, 1.0])
    with pytest.raises(quirk.InputError, match="the reward must be finite"):
        env.step([0.0])
    monkeypatch.setitem(sys.modules, "quirk.simulation.environment", None)
    with pytest.raises(quirk.InputError, match=r"Gymnasium is not installed: pip install .*\[gym\]"):
        environment()
