"""Tapes: what comes to the same line shares it, signs apart."""

import numpy as np
import pytest

from quirk.autodiff.tape import ADD, CONSTANT, DIVIDE, INPUT, MULTIPLY, NEGATE, SCALE, SQUARE, SUBTRACT, Tape

OPERATIONS = {
    ADD: lambda a, b: a + b, SUBTRACT: lambda a, b: a - b, MULTIPLY: lambda a, b: a * b, SCALE: lambda a, b: a * b,
    DIVIDE: lambda a, b: a / b, NEGATE: lambda a: -a, SQUARE: lambda a: a * a,
}  # fmt: skip


def value(tape, place, inputs):
    """What a line comes to."""
    code, *operands = tape.lines[place]
    if code == CONSTANT:
        return tape.constants[place]
    if code == INPUT:
        return inputs[operands[0]]
    return OPERATIONS[code](*(value(tape, p, inputs) for p in operands))


def signed(tape, x):
    """The line of a number, or of that of which it is the negative."""
    code, *operands = tape.lines[x.place]
    return operands[0] if code == NEGATE else x.place


def test_what_differs_in_sign_is_one_line():
    tape = Tape()
    a, b = tape.input(0, steady=False), tape.input(1, steady=False)
    f = tape.input(2, steady=True)
    assert len({signed(tape, x) for x in (a - b, b - a, (-b) + a, -(a + -b))}) == 1
    assert len({signed(tape, x) for x in (a + b, (-a) - b, -(b + a))}) == 1
    assert len({signed(tape, x) for x in (a * b, (-b) * a, (-a) * (-b))}) == 1
    assert len({signed(tape, x) for x in (a * f, (-f) * a, f * -a)}) == 1
    assert len({signed(tape, x) for x in (a * -2.5, 2.5 * a)}) == 1
    assert len({signed(tape, x) for x in (a / b, (-a) / b, a / -b)}) == 1
    assert signed(tape, a * -a) == signed(tape, a * a)
    assert signed(tape, a + b) != signed(tape, a - b)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_what_was_asked_for(seed):
    rng = np.random.default_rng(seed)
    tape, inputs = Tape(), rng.normal(size=6)
    known = [(tape.input(k, steady=k % 3 == 0), x) for k, x in enumerate(inputs)]
    for _ in range(300):
        (a, x), (b, y) = (known[k] for k in rng.integers(len(known), size=2))
        code = rng.choice([ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE])
        scaled = rng.choice([-1.5, 1.0, 0.25])
        with np.errstate(all="ignore"):
            made = OPERATIONS[code](*((a, b) if code != NEGATE else (a,))) * float(scaled)
            wanted = OPERATIONS[code](*((x, y) if code != NEGATE else (x,))) * scaled
            if not 1e-3 < abs(wanted) < 1e3:
                continue
        known.append((made, wanted))
        assert value(tape, made.place, inputs) == pytest.approx(wanted, rel=1e-9, abs=1e-9), f"seed {seed}"
    assert len(known) > 50
