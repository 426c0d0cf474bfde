"""Random functions give the same bits in machine code as in Python, or run in Python."""

import builtins
import math
import types

import function_grammar as grammar
import numpy as np
import pytest

import quirk

# Numbers at which signs of zeros, and results that are not finite, show.
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1e-310, 1e200, -1e-9, 2.0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2))
def test_machine_code_gives_the_bits_of_python(seed):
    generator = grammar.Grammar(seed)
    made = [generator.function() for _ in range(60)]
    code, written = grammar.compiled([function for function, _ in made])
    assert len(written) > 25
    rng, equal = np.random.default_rng(seed), 0
    with np.errstate(all="ignore"):
        for numbers in (rng.normal(size=8), rng.choice(SPECIAL, size=8), rng.choice(SPECIAL, size=8)):
            for number, found in zip(written, grammar.run(code, len(written), numbers), strict=True):
                function, text = made[number]
                if not np.isfinite(found).all():  # Python is called in its place
                    continue
                right = grammar.in_python(function, numbers)
                assert right is not None, f"{text} at {numbers.tolist()}: Python raises an error"
                assert right.tobytes() == found[:3].tobytes(), f"{text} at {numbers.tolist()}: {found[:3]}, not {right}"
                equal += 1
    assert equal > 40


# Functions of numpy that numpy computes in ways of its own: sums of products, by whatever is fastest, and many others by
# instructions of the processor, with at most four units in the last place.
LAST_DIGITS = 4 * 2.2e-16
NEARLY = {
    "arcus": lambda t, r, v, x: [np.arcsin(np.sin(t)), np.arccos(np.cos(x)), np.arctan(r[0])],
    "sinh": lambda t, r, v, x: [np.sinh(t), np.cosh(r[0]), np.tan(x)],
    "exp": lambda t, r, v, x: [np.exp(t), np.log(abs(x)), np.arctan2(r[0], v[1])],
    "np.tanh": lambda t, r, v, x: [np.tanh(t), np.tanh(r[0]), np.tanh(x)],
    "math.hypot": lambda t, r, v, x: [math.hypot(t, x), math.hypot(r[1], v[0]), 0.0],
    "dot": lambda t, r, v, x: [np.dot(r, v), r @ r, r.dot(v)],
    "norm": lambda t, r, v, x: [np.linalg.norm(r), np.sqrt(np.sum(v * v)), np.sum(r)],
    "matrix": lambda t, r, v, x: np.array([[t, 1, 2], [0.1, x, 3], [1, 2, 0.5]]) @ r,
    "power": lambda t, r, v, x: [(r**3)[0], np.power(abs(v), 1.5)[1], np.hypot(t, x)],
}  # fmt: skip


@pytest.mark.parametrize("name", NEARLY)
def test_functions_of_numpy_differ_in_the_last_digits_at_most(name):
    code, written = grammar.compiled([NEARLY[name]])
    assert written == [0]
    for numbers in np.random.default_rng(5).normal(size=(200, 8)):
        right = grammar.in_python(NEARLY[name], numbers)
        size = np.abs(right) + (np.linalg.norm(numbers) ** 2 if name in ("dot", "norm", "matrix") else 0.0)
        np.testing.assert_array_less(np.abs(grammar.run(code, 1, numbers)[0, :3] - right), LAST_DIGITS * size + 1e-320)


def force_of(function):
    body = quirk.Body("body", 1.0, [0.1, 0.1, 0.1], position=[0.3, -0.1, 0.2])
    return quirk.System([body, quirk.Force("force", body, function)])


def test_signs_of_zeros_in_what_is_read():
    """atan2(z, -1) is pi or -pi: closures, defaults, lists, arrays and settings of equal functions."""
    for zero in (0.0, -0.0):
        values, table, box = [zero], np.array([zero]), {"zero": zero}
        functions = [
            lambda t, r, q, v, w, zero=zero: [math.atan2(zero, -1.0) + 0 * t, 0, 0],
            (lambda z: lambda t, r, q, v, w: [math.atan2(z, -1.0) + 0 * t, 0, 0])(zero),
            (lambda z: lambda t, r, q, v, w: [math.atan2(z[0], -1.0) + 0 * t, 0, 0])(values),
            (lambda z: lambda t, r, q, v, w: [np.arctan2(z[0], -1.0) + 0 * t, 0, 0])(table),
            (lambda z: lambda t, r, q, v, w: [math.atan2(z["zero"], -1.0) + 0 * t, 0, 0])(box),
        ]
        for function in functions:
            system = force_of(function)
            found = system.acceleration(system.initial_state()).linear[0, 0]
            assert found == math.copysign(math.pi, zero)


@pytest.mark.parametrize("module", [math, np])
def test_functions_that_somebody_has_replaced(monkeypatch, module):
    def function(t, r, q, v, w):
        return [module.sin(t + 1.0), 0.0, 0.0]

    def found():
        system = force_of(function)
        return system.acceleration(system.initial_state()).linear[0, 0]

    assert found() == math.sin(1.0)
    monkeypatch.setattr(module, "sin", lambda x: 7.0)
    assert found() == 7.0
    monkeypatch.undo()
    assert found() == math.sin(1.0)


def test_builtins_that_somebody_has_replaced():
    def function(t, r, q, v, w):
        return [max(t, 0.5), 0.0, 0.0]

    own = types.FunctionType(function.__code__, {"__builtins__": {**vars(builtins), "max": lambda *x: 3.0}})
    for given, right in ((function, 0.5), (own, 3.0), (function, 0.5)):
        system = force_of(given)
        assert system.acceleration(system.initial_state()).linear[0, 0] == right


def test_errors_in_between_are_those_of_python():
    """1 / (1 + 1 / t) has a finite limit at zero, where Python raises an error; numpy's numbers raise none."""
    with pytest.raises(quirk.InputError, match="ZeroDivisionError"):
        system = force_of(lambda t, r, q, v, w: [1 / (1 + 1 / t), 0, 0])
        system.acceleration(system.initial_state())
    with pytest.raises(quirk.InputError, match="math domain error"):
        system = force_of(lambda t, r, q, v, w: [np.where(t < 1, 1.0, math.sqrt(t - 0.5)), 0, 0])
        system.acceleration(system.initial_state())
    with np.errstate(all="ignore"):
        system = force_of(lambda t, r, q, v, w: [1 / (1 + 1 / (r[0] - r[0])), 0, 0])
        assert system.acceleration(system.initial_state()).linear[0, 0] == 0.0
