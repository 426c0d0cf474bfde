"""Which arguments functions are called with: positional ones without defaults; defaults keep their values."""

import functools

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, InputError

PUCK = Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
RAIL = quirk.Prismatic("rail", GROUND, PUCK, axis="x", point=[0, 0, 0])
PATH = [(GROUND, [-1.0, 0, 0]), (PUCK, [0, 0, 0])]
ENDS = {"body_i": GROUND, "body_j": PUCK, "point_i": [-1.0, 0, 0]}


def joint(law):
    return quirk.JointForce("push", RAIL, law)


def spring(law):
    return quirk.Spring("spring", law=law, **ENDS)


@pytest.mark.parametrize("element", [
    lambda: joint(lambda t, state, k=2.0: -k * state["rail"].travel),
    lambda: joint(lambda t, state, *, k=2.0: -k * state["rail"].travel),
    lambda: joint(functools.partial(lambda t, state, k: -k * state["rail"].travel, k=2.0)),
    lambda: joint(lambda t, x, v, k=2.0: -k * x),
    lambda: joint(lambda t, x, v, *, k=2.0: -k * x),
    lambda: joint(functools.partial(lambda t, x, v, k: -k * x, k=2.0)),
    lambda: joint(functools.partial(lambda k, t, x, v: -k * x, 2.0)),
    lambda: joint(lambda t, *motion, k=2.0: -k * motion[0]),
    lambda: quirk.Force("push", PUCK, lambda t, state, k=2.0: np.array([-k * state["rail"].travel, 0.0, 0.0])),
    lambda: quirk.Tendon("push", PATH, tension=lambda t, length, rate, k=2.0: k * (length - 1.0)),
    lambda: spring(lambda length, rate, k=2.0: k * (length - 1.0)),
])  # fmt: skip
def test_defaults_keep_their_values(element):
    result = quirk.simulate(quirk.System([PUCK, RAIL, element()]), 1.0, rtol=1e-10)
    assert result["puck"].position[-1, 0] == pytest.approx(np.sin(np.sqrt(2)) / np.sqrt(2), abs=1e-8)


FORM = r"f\(t, displacement, rate\) or f\(t, state\)"


@pytest.mark.parametrize(("make", "says"), [
    (lambda: joint(lambda t, k=2.0: k), rf'JointForce "push": force must be a function {FORM}; got a function with 1 arg'),
    (lambda: joint(lambda t, x, v, a: x), rf"force must be a function {FORM}; got a function with 4 arguments without"),
    (lambda: spring(lambda length, k=2.0: k * length), r'Spring "spring": law must be a function f\(length, rate\); got'),
    (lambda: quirk.Drag("drag", PUCK, 0.1, density=lambda t: 1.0), r"density must be a function f\(t, position\); got"),
    (lambda: quirk.Motion.function(lambda t, x, v: x, lambda t: 1, lambda t: 0), r"f must be a function f\(t\); got"),
    (lambda: quirk.Event("e", "time", level=1.0, action=lambda t, k=2: None), r"action must be a function f\(t, state\)"),
    (lambda: quirk.Sampled("s", 0.1, lambda t: 1.0, inputs=["push"]), r"function must be a function f\(t, state\); got"),
    (lambda: quirk.Implicit("i", [PUCK], lambda t: 0.0), r"phi must be a function phi\(t, puck\); got a function with 1"),
    (lambda: quirk.OneSided("o", [PUCK], lambda t, a, b: 0.0), r"gap must be a function gap\(t, a, b, ...\) of moving"),
])  # fmt: skip
def test_other_numbers_of_arguments_name_the_forms(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_events_of_another_number_of_arguments():
    event = quirk.Event("e", lambda t: t - 0.5)
    with pytest.raises(InputError, match=r'Event "e": function must be a function f\(t, state\); got'):
        quirk.simulate(quirk.System([PUCK, RAIL]), 1.0, events=[event])


def test_a_default_in_place_of_the_rate_is_an_error():
    """The rate does not overwrite it; the function is one of the state, and the message has all forms."""
    says = r"called as f\(t, state\), failed at the initial state.*f\(t, displacement, rate\) has 3 arguments without"
    with pytest.raises(InputError, match=says):
        quirk.System([PUCK, RAIL, joint(lambda t, x, k=2.0: -k * x)])


@pytest.mark.parametrize("law", [
    lambda x, v: -2.0 * x,
    lambda x, v, k=2.0: -k * x,
    lambda displacement, rate: -2.0 * displacement,
])  # fmt: skip
def test_two_arguments_that_are_no_time_and_state_are_refused(law):
    with pytest.raises(
        InputError, match=r"(x, v|displacement, rate)\)\. A function of two .*: write f\(t, displacement, rate\)"
    ):
        joint(law)


@pytest.mark.parametrize(("law", "effort"), [
    (lambda time, now: -2.0 * np.sin(time), lambda t, x: -2.0 * np.sin(t)),
    (lambda _t, state: 3.0, lambda t, x: np.full_like(t, 3.0)),
    (lambda x, v: -2.0 * v["rail"].travel, lambda t, x: -2.0 * x),
    (lambda x, v: (lambda: -2.0 * v["rail"].travel)(), lambda t, x: -2.0 * x),
])  # fmt: skip
def test_two_arguments_of_which_one_may_be_a_time_or_state_are_accepted(law, effort):
    result = quirk.simulate(quirk.System([PUCK, RAIL, joint(law)]), 0.1)
    expected = effort(result.time, result["rail"].travel)
    assert result["push"].along() == pytest.approx(expected, abs=1e-12)
