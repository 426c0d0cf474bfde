"""Model files that something has happened to: bytes, lines, keys, values and types, at random."""

from __future__ import annotations

import re

VALUES = [
    "0", "-1", "1", "2", "7", "1e308", "-1e308", "1e-320", "inf", "-inf", "nan", "true", "false", '""', '"ground"', '"x"',
    '"sin(t)"', '"2*"', '"t" ', "[]", "{}", "[[]]", "[1, 2, 3]", "[0, 0, 0]", "[0.0, 0.0, 0.0, 0.0]", "[nan, 1, 2]",
    '["a", 2, 3]', "[[1, 2], [3]]", "[1e200, 1e200, 1e200]", "1979-05-27", "07:32:00", "99999999999999999999999999",
    "1" + "0" * 400, "0x1F", '{kind = "Frame"}', '{kind = "Motion.constant_rate", rate = 1.0}', '{kind = "Body"}',
    "{origin = [0, 0, 1]}", '{kind = "surface.sphere", radius = 1.0}', '{kind = "engage", names = ["a"]}', "[" * 30 + "]" * 30,
    '{kind = "Motion.spline", times = [0, 1], values = [0, 1e308]}', '{kind = "Expression", text = "1/t"}', "'''a\nb'''",
    '"__import__(\'os\').system(\'false\')"', '{kind = "Drive"}', '{kind = 3}', '"\\u0000"', '"\\U0001F600"', "[true, false, true]",
]  # fmt: skip
KEY = re.compile(r"[A-Za-z_]+(?= = )")
VALUE = re.compile(r"(?<= = )(\[[^\[\]{}\n]*\]|\"[^\"\n]*\"|[-+.\w]+)")
NAME = re.compile(r"\"[A-Za-z_. ]+\"")


def mutated(text, rng):
    """A text with one to three mutations."""
    for _ in range(rng.integers(1, 4)):
        text = MUTATIONS[rng.integers(len(MUTATIONS))](text, rng)
    return text


def _place(matches, rng):
    matches = list(matches)
    return matches[rng.integers(len(matches))].span() if matches else (0, 0)


def _with(text, span, replacement):
    return text[: span[0]] + replacement + text[span[1] :]


def other_value(text, rng):
    return _with(text, _place(VALUE.finditer(text), rng), VALUES[rng.integers(len(VALUES))])


def value_from_elsewhere(text, rng):
    one, two = (_place(VALUE.finditer(text), rng) for _ in range(2))
    return _with(text, one, text[slice(*two)])


def key_from_elsewhere(text, rng):
    one, two = (_place(KEY.finditer(text), rng) for _ in range(2))
    return _with(text, one, text[slice(*two)])


def name_from_elsewhere(text, rng):
    one, two = (_place(NAME.finditer(text), rng) for _ in range(2))
    return _with(text, one, text[slice(*two)])


def kind_of_another(text, rng, kinds=()):
    from quirk.io.modelfile.kinds import makers

    kinds = list(makers())
    span = _place(re.finditer(r"(?<=kind = )\"[^\"]*\"", text), rng)
    return _with(text, span, f'"{kinds[rng.integers(len(kinds))]}"') if span != (0, 0) else text


def bytes_changed(text, rng):
    raw = bytearray(text.encode())
    for _ in range(rng.integers(1, 4)):
        raw[rng.integers(len(raw))] = rng.integers(256)
    return raw.decode(errors="replace")


def cut(text, rng):
    a, b = sorted(rng.integers(len(text), size=2))
    return text[:a] + text[min(b, a + 40) :]


def doubled(text, rng):
    a, b = sorted(rng.integers(len(text), size=2))
    b = min(b, a + 60)
    return text[:b] + text[a:b] + text[b:]


def line_moved(text, rng):
    lines = text.split("\n")
    line = lines.pop(rng.integers(len(lines)))
    lines.insert(rng.integers(len(lines) + 1), line)
    return "\n".join(lines)


def line_left_out(text, rng):
    lines = text.split("\n")
    lines.pop(rng.integers(len(lines)))
    return "\n".join(lines)


def line_doubled(text, rng):
    lines = text.split("\n")
    lines.insert(rng.integers(len(lines) + 1), lines[rng.integers(len(lines))])
    return "\n".join(lines)


MUTATIONS = [
    other_value, other_value, other_value, value_from_elsewhere, key_from_elsewhere, name_from_elsewhere, kind_of_another,
    bytes_changed, cut, doubled, line_moved, line_left_out, line_doubled,
]  # fmt: skip
