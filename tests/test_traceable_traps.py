"""Functions that look like arithmetic and are not: each comes out as in Python, written as machine code or not."""

import enum
import math
from fractions import Fraction

import numpy as np
import pytest

import quirk
from quirk.functions.fingerprint import fingerprint

FLAG = True
WEIGHTS = [1, 2]
TRUTHS = np.array([True, False, True])
INTEGERS = np.eye(3, dtype=int)
LARGE_ONES = np.array([2**40, 2**41])


def filled(a, x):
    a[:] = x
    return a


def alias_set(a, x):
    np.asarray(a)[0] = x
    return a


def alias_set_as_floats(a, x):
    b = np.asarray(a, dtype=float)
    b[0] = x
    return a


def doubled_alias(a):
    b = np.asarray(a)
    b *= 2
    return a


LARGE = 5972 * 10**21
NUMBERS = np.array([1, 2])
EMPTY = set()


class Mode(enum.Enum):
    UP, DOWN = 1, 2


UP = MODE = Mode.UP


class Counter:
    def __init__(self):
        self.n = 0

    @property
    def gain(self):
        self.n += 1
        return 1.0

    def push(self, t, x, v):
        return -self.gain * x


def caught(t, x, v):
    try:
        return -5 * x if x > 0.2 else 0.0
    except:  # noqa: E722
        return 7.0


def caught_overflow(t, x, v):
    try:
        return 1 / (1 + math.exp(1000 + 0 * x))
    except OverflowError:
        return 5.0


def altering(t, x, v):
    force = np.zeros(1, int)
    force[0] = x
    return float(force[0])


class Half:
    """A number of its own kind, which is equal to what is near a half."""

    __hash__ = None

    def __eq__(self, other):
        return abs(float(other) - 0.5) < 0.6


class Shifted(list):
    def __getitem__(self, index):
        return list.__getitem__(self, index) + 1.0


class Computing:
    """Objects that compute what they are asked for, each in another way."""

    def __init__(self):
        self.plain = 2.0

    def __getattribute__(self, name):
        return 7.0 if name == "value" else object.__getattribute__(self, name)


class Missing:
    def __getattr__(self, name):
        return 5.0


class Described:
    class Descriptor:
        def __get__(self, owner, kind=None):
            return 3.0

        def __set__(self, owner, value):
            raise AttributeError

    value = Descriptor()


class Slotted:
    __slots__ = ("gain",)

    def __init__(self):
        self.gain = 4.0


class Weighted(float):
    def __mul__(self, other):
        return 9.0

    __rmul__ = __mul__


class Table(np.ndarray):
    def __getitem__(self, index):
        return 11.0


def noting(t, x, v):
    return list.append(NOTES, 1) or float(len(NOTES) > 0)


def noting_default(t, x, v, notes=[]):  # noqa: B006
    notes.append(t)
    return float(len(notes) > 0)


HALF, SHIFTED, COMPUTING, MISSING, DESCRIBED = Half(), Shifted([1.0]), Computing(), Missing(), Described()
SLOTTED, WEIGHTED, TABLE, NOTES = Slotted(), Weighted(2.0), np.ones(2).view(Table), []

FUNCTIONS = {
    "equal to a fraction": lambda t, x, v: 1.0 if x + 0.5 == Fraction(1, 2) else 2.0,
    "own equality": lambda t, x, v: 1.0 if x == HALF else 2.0,
    "own equality first": lambda t, x, v: 1.0 if x == HALF else 2.0,
    "own equality in a list": lambda t, x, v: 1.0 if x in [HALF] else 2.0,
    "type of an array": lambda t, x, v: 1.0 if np.array([x]).dtype == np.float64 else 2.0,
    "class": lambda t, x, v: 1.0 if x.__class__ is float else 2.0,
    "name of the class": lambda t, x, v: float(len(x.__class__.__name__)),
    "isinstance": lambda t, x, v: 1.0 if isinstance(x, float) else 2.0,
    "type": lambda t, x, v: 1.0 if type(x) == float else 2.0,  # noqa: E721
    "formatted": lambda t, x, v: float(f"{x}"[:1] == "0") + 1.0,
    "formatted by percent": lambda t, x, v: float(("%s" % x)[:1] == "0") + 1.0,  # noqa: UP031
    "formatted by a method": lambda t, x, v: float("{}".format(x)[:1] == "0") + 1.0,  # noqa: UP032
    "text": lambda t, x, v: float(repr(x)[:1] == "0") + 1.0,
    "hashed": lambda t, x, v: {0.0: 4.0}.get(x, 3.0),
    "subclass of list": lambda t, x, v: SHIFTED[0] + 0 * x,
    "subclass of float": lambda t, x, v: WEIGHTED * x,
    "subclass of ndarray": lambda t, x, v: TABLE[0] + 0 * x,
    "getattribute": lambda t, x, v: COMPUTING.value + 0 * x,
    "getattr": lambda t, x, v: MISSING.anything + 0 * x,
    "descriptor": lambda t, x, v: DESCRIBED.value + 0 * x,
    "slots": lambda t, x, v: SLOTTED.gain + 0 * x,
    "dict of an object": lambda t, x, v: COMPUTING.__dict__["plain"] + 0 * x,
    "side effect": noting,
    "side effect on a default": noting_default,
    "inverted truth": lambda t, x, v: np.where(~(x > 0.2), 1.0, 2.0),
    "integer zero": lambda t, x, v: math.atan2(-max(x - 5.0, 0), -1.0),
    "chosen integers": lambda t, x, v: math.atan2(-np.where(x > 5.0, 1, 0) + 0.0, -1.0),
    "absolute zero": lambda t, x, v: math.atan2(abs(-0.0 * (x + 1.0)), -1.0),
    "added zero": lambda t, x, v: math.atan2(-0.0 * (x + 1.0) + 0, -1.0),
    "near one": lambda t, x, v: math.acos(1.0 - 1e-12 * (x + 1.0)),
    "hypotenuse of large numbers": lambda t, x, v: math.hypot(1e200 * (x + 1.0), 1.0) * 1e-200,
    "written by a result": lambda t, x, v: float(np.add(x, 1.0, out=np.zeros(1))[0]),
    "truncated to an integer": lambda t, x, v: float(int(x * 10)),
    "clipped above": lambda t, x, v: np.clip(x, None, 0.1),
    "clipped below": lambda t, x, v: np.clip(x, -0.1, None),
    "large integer": lambda t, x, v: -LARGE * x * 1e-24,
    "larger integer": lambda t, x, v: 3.0 if x > -(10**19) else 1.0,
    "is True": lambda t, x, v: 2.0 if (x > 0.2) is True else 1.0,
    "equal comparisons": lambda t, x, v: np.where((x > 0.2) == (v > 5), 1.0, 2.0),
    "looked up": lambda t, x, v: {True: -5.0}.get(x > 0.2, 3.0),
    "caught": caught,
    "caught overflow": caught_overflow,
    "not of a flag": lambda t, x, v: np.where(np.logical_not(FLAG), 1.0, x),
    "and of integers": lambda t, x, v: np.where(np.logical_and(1, 2), 1.0, x),
    "modes": lambda t, x, v: -x if MODE is UP else x,
    "equal modes": lambda t, x, v: -x if MODE == UP else x,
    "empty set": lambda t, x, v: -x if EMPTY else x,
    "equal lists": lambda t, x, v: -x if WEIGHTS == [1, 2] else x,
    "lists": lambda t, x, v: -x if isinstance(WEIGHTS, list) else x,
    "property": Counter().push,
    "equal to an integer of numpy": lambda t, x, v: np.where(x == NUMBERS[0], 2.0, x),
    "truncated": altering,
    "not a number passed on": lambda t, x, v: 1.0 if np.isnan(np.minimum(1.0, np.sqrt(-1.0 - x))) else 0.0,
    "power of a jet": lambda t, x, v: max(0.0, (x - 5) ** (2 + 0 * v)),
    "norm of a matrix": lambda t, x, v: np.sum(np.linalg.norm(np.array([[x, 1.0], [2.0, v]]))),
    "small hyperbolic sine": lambda t, x, v: np.sinh(1e-13 + 0 * x) / 1e-13,
    "truth times": lambda t, x, v: FLAG * x + FLAG + max(FLAG, x) + (3 > 2) * v,
    "arrays to choose from": lambda t, x, v: np.where(x > 0.2, np.array([1.0, x]), np.zeros(2)).sum(),
    "reciprocal of an integer": lambda t, x, v: np.reciprocal(max(x, v, 7)) + 0.0,
    "truths chosen by quirk": lambda t, x, v: (np.ones(1) * (quirk.where(v > -5, True, False) + (v > -5)))[0] + x,
    "product of truths": lambda t, x, v: (TRUTHS @ TRUTHS) * 1.0 + x,
    "product of integers": lambda t, x, v: filled(INTEGERS @ np.array([1, 2, 3]), 1.7)[0] + x,
    "overflow of a product of integers": lambda t, x, v: (LARGE_ONES @ LARGE_ONES) * 1e-20 + x,
    "reciprocal of a product": lambda t, x, v: np.reciprocal(np.array([1, 2, 3]) @ TRUTHS) + x,
    "the same array": lambda t, x, v: alias_set(np.zeros(3), 1.5)[0] + x,
    "the same array of integers": lambda t, x, v: alias_set(np.array([1, 2, 3]), 7.9)[0] + x,
    "the same array by its type": lambda t, x, v: alias_set_as_floats(np.ones(3), 1.5)[0] + x,
    "another array by its type": lambda t, x, v: alias_set_as_floats(np.array([1, 2, 3]), 1.5)[0] + x,
    "the same array doubled": lambda t, x, v: doubled_alias(np.array([1.0, 2.0]))[1] + x,
    "array without dimensions": lambda t, x, v: np.where(WEIGHTS[0] > 0, 1.5, 2.0).ndim + x,
    "lists to choose from": lambda t, x, v: np.sum(np.where(x > 0.2, [1.0, x], [0.0, 0.0])),
}  # fmt: skip


def cart(function):
    body = quirk.Body("cart", 1.0, [1, 1, 1], position=[0.7, 0, 0], velocity=[0.3, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, point=[0, 0, 0], axis=[1, 0, 0])
    return quirk.System([body, rail, quirk.JointForce("push", rail, function)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_as_in_python(name):
    function = FUNCTIONS[name]
    system = cart(function)
    state = system.initial_state()
    with np.errstate(all="ignore"):
        for speed in (0.3, -0.4):
            state.velocity[0, 0] = speed
            expected = float(function(0.0, 0.0, speed))
            found = system.acceleration(state).linear[0, 0]
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), name
        state.position[0, 0] += 0.4
        assert system.acceleration(state).linear[0, 0] == pytest.approx(float(function(0.0, 0.4, -0.4)), rel=1e-12)


def test_keys_that_python_cannot_hash():
    """An array without dimensions is no key of a dict, though a number of its value is."""
    system = cart(lambda t, x, v: {1.5: 4.0}.get(np.where(WEIGHTS[0] > 0, 1.5, 2.0), 3.0) + x)
    with pytest.raises(quirk.InputError, match="unhashable"):
        system.acceleration(system.initial_state())


def test_choices_of_whole_forces():
    b = quirk.Body("b", 1.0, [1, 1, 1])
    force = quirk.Force("push", b, lambda t, p, q, v, w: np.where(t > 0.5, np.array([2.0, 0, 0]), np.zeros(3)))
    result = quirk.simulate(quirk.System([b, force]), 1.0)
    assert result["b"].velocity[-1, 0] == pytest.approx(1.0, rel=1e-9)
    assert result.statistics.in_python == {}


def test_functions_told_apart_by_the_order_of_what_they_call():
    def made(a, b, c):
        return lambda t, x, v: a(x) + 2 * b(x) + 3 * c(x)

    def one(x):
        return 0.1 + x

    def two(x):
        return 0.2 - x

    assert fingerprint(made(one, two, one)) != fingerprint(made(one, two, two))
    for functions in ((one, two, one), (one, two, two)):
        system = cart(made(*functions))
        found = system.acceleration(system.initial_state()).linear[0, 0]
        assert found == pytest.approx(made(*functions)(0, 0.0, 0))


def test_whatever_changes_a_value_in_mid_run():
    """By a function called, by globals(), by an object's method: what reads it elsewhere must see it."""
    gain = 1.0

    def change(value):
        nonlocal gain
        gain = value

    def by_a_function(t, p, q, v, w):
        if t > 0.5:
            change(-1.0)
        return 0.0, 0.0, 0.0

    def by_a_comprehension(t, p, q, v, w):
        [change(-1.0) for _ in range(1 if t > 0.5 else 0)]
        return 0.0, 0.0, 0.0

    def reading(t, p, q, v, w):
        return gain, 0.0, 0.0

    for changing in (by_a_function, by_a_comprehension):
        gain = 1.0
        a, b = quirk.Body("a", 1.0, [1, 1, 1]), quirk.Body("b", 1.0, [1, 1, 1], position=[1, 0, 0])
        forces = quirk.Force("change", a, changing), quirk.Force("read", b, reading)
        result = quirk.simulate(quirk.System([a, b, *forces]), 1.0, method="RK4", step=0.1)
        assert abs(result["b"].velocity[-1, 0]) < 0.3


def test_long_functions_are_called():
    coefficients = np.linspace(0, 1, 3000)
    system = cart(lambda t, x, v: sum(c * math.sin(c * t + x) for c in coefficients) * 1e-3)
    result = quirk.simulate(system, 1e-3, method="RK4", step=1e-3)
    assert list(result.statistics.in_python) == ['JointForce "push", force']


def test_elements_of_users_become_machine_code_and_are_made_anew():
    class Pull(quirk.forces.ForceElement):
        """A constant pull towards the origin beyond a distance."""

        parameters = ("size",)

        def __init__(self, name, body, size, settings):
            self.size, self.settings = size, settings
            super().__init__(name, (body, quirk.Frame()))

        def load(self, t, place):
            far = place.position @ place.position > self.settings["from"] ** 2
            return quirk.where(far, -self.size * place.position, 0.0 * place.position), 0

    settings = {"from": 0.5}
    b = quirk.Body("b", 1.0, [1, 1, 1], position=[1, 0, 0])
    system = quirk.System([b, Pull("pull", b, 3.0, settings)])
    result = quirk.simulate(system, 0.1)
    assert result.statistics.in_python == {}
    assert system.acceleration(system.initial_state()).linear[0, 0] == pytest.approx(-3.0)
    settings["from"] = 2.0
    assert system.acceleration(system.initial_state()).linear[0, 0] == 0.0


def test_many_functions_start_soon():
    bodies = [quirk.Body(f"b{k}", 1.0, [1, 1, 1], position=[k, 0, 0]) for k in range(150)]
    forces = [quirk.Force(f"f{k}", b, lambda t, p, q, v, w, gain=1.0 + k: [gain, 0, 0]) for k, b in enumerate(bodies)]
    result = quirk.simulate(quirk.System([*bodies, *forces]), 0.01, method="RK4", step=0.01)
    np.testing.assert_allclose(result.state.velocity[-1, :, 0], 0.01 * (1.0 + np.arange(150)), rtol=1e-12)
    assert len(result.statistics.in_python) == 50
