"""Members of a batch that are set back, or to another state, move as single systems from there."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body
from quirk.forces.joint_actuation import OfJoint

WAYS = {
    "reset": lambda batch, state: batch.reset([1]),
    "put": lambda batch, state: batch.state.put(1, state),
    "reset and put": lambda batch, state: (batch.reset([1]), batch.state.put(1, state)),
}
METHODS = [{}, {"method": "RK4", "step": 0.01}]


def wheel_on_spring():
    """A wheel that winds a weak spring by several turns."""
    wheel = Body.cylinder("wheel", 1.0, 0.1, 0.1, angular_velocity=[0, 0, 40.0])
    axle = quirk.Revolute("axle", GROUND, wheel, point=[0, 0, 0], axis="z")
    return quirk.System([wheel, axle, quirk.TorsionSpring("spring", axle, stiffness=0.02)])


class Motor(OfJoint):
    """A motor whose winding has a current of 5 A at the start."""

    internal = ("current",)

    def __init__(self, name, joint):
        self.current = 5.0
        super().__init__(name, joint, axis=2, rotates=True)

    def along(self, t, x, rate):
        return 0.3 * self.current

    def internal_rates(self, t, x, rate):
        return (12.0 - self.current - 0.3 * rate) / 0.5


def wheel_with(element):
    """A wheel on an axle, on which a controller or a motor acts."""
    wheel = Body.cylinder("wheel", 1.0, 0.1, 0.1)
    axle = quirk.Revolute("axle", GROUND, wheel, point=[0, 0, 0], axis="z")
    return quirk.System([wheel, axle, element(axle)])


def controlled_wheel():
    return wheel_with(lambda axle: quirk.Controller("drive", axle, 0.5, kp=0.5, ki=0.2, kd=0.1))


def driven_wheel():
    return wheel_with(lambda axle: Motor("drive", axle))


@pytest.mark.parametrize("method", METHODS, ids=["adaptive", "fixed steps"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("build", [wheel_on_spring, controlled_wheel, driven_wheel])
def test_turns_and_integrals_begin_anew(build, way, method):
    system = build()
    state = system.initial_state()
    batch = quirk.Batch(system, 3, **method)
    batch.advance(1.3)
    WAYS[way](batch, state)
    batch.advance(1.0)
    observe = batch.observe(["axle.angle", "axle.angle_rate"])
    found = observe()
    for member, duration in ((0, 2.3), (1, 1.0), (2, 2.3)):
        run = quirk.Run(system, **method)
        run.advance(duration)
        np.testing.assert_allclose(found[member], [run["axle"].angle, run["axle"].angle_rate], atol=1e-6)
        for name, numbers in run.state.internal.items():
            np.testing.assert_allclose(batch.state.internal[name][member], numbers, atol=1e-7)


@pytest.mark.parametrize("build", [controlled_wheel, driven_wheel])
def test_a_state_with_internal_variables_concerns_its_member_only(build):
    """The variables of the other members have their initial values, before the first step, too."""
    system = build()
    later = quirk.simulate(system, 1.3, output=[1.3]).state_at()
    batch = quirk.Batch(system, 3)
    batch.state.put(1, later)
    batch.advance(0.5)
    for member, state in ((0, system.initial_state()), (1, later), (2, system.initial_state())):
        run = quirk.Run(system, initial_state=state)
        run.advance(0.5)
        np.testing.assert_allclose(batch.state.internal["drive"][member], run.state.internal["drive"], atol=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=["adaptive", "fixed steps"])
@pytest.mark.parametrize("build", [wheel_on_spring, controlled_wheel])
def test_a_state_of_a_member_is_kept_while_the_batch_goes_on(build, method):
    """From the state at 1 s, the member moves in the same way again."""
    batch = quirk.Batch(build(), 2, **method)
    observe = batch.observe(["axle.angle", "axle.angle_rate"])
    batch.advance(1.0)
    kept = batch.state.member(0)
    batch.advance(1.0)
    once = observe()[0].copy()
    batch.state.put(0, kept)
    batch.advance(1.0)
    np.testing.assert_allclose(observe()[0], once, atol=1e-9)
