"""Ways in which functions read numbers: loops that set them are followed, and checkpoints with others are not resumed.

Each way returns a function that reads a number, and a function that changes it.
"""

import array
import builtins
import collections
import ctypes
import enum
import functools
import importlib
import operator
import os
import sys
import types
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest

import quirk
from quirk import GROUND
from quirk.functions.digest import Digests

LEVEL = 1.0
SETTINGS = types.ModuleType("settings_of_this_test")
sys.modules["settings_of_this_test"] = SETTINGS


class Length(float):
    """A number that is a float with an attribute."""


def setter(owner, name="k"):
    return lambda value: setattr(owner, name, value)


def namespace(k, read):
    held = types.SimpleNamespace(k=k)
    return lambda: read(held), setter(held)


def module(k, read):
    SETTINGS.k = k
    return read, setter(SETTINGS)


def member(k):
    kind = enum.Enum("Kind", {"A": k})
    return lambda: kind.A.value, setter(kind.A, "_value_")


def member_of_another(k):
    kind = enum.Enum("Kind", {"A": 1.0, "B": 2.0, "C": 3.0})
    held = types.SimpleNamespace(k=kind(k))
    return lambda: held.k.value, lambda value: setattr(held, "k", kind(value))


def of_globals(k):
    def change(value):
        globals()["LEVEL"] = value

    change(k)
    return lambda: globals()["LEVEL"], change


def of_builtins(k):
    builtins.level_of_this_test = k
    return lambda: level_of_this_test, setter(builtins, "level_of_this_test")  # noqa: F821


def imported(k):
    def read():
        import settings_of_this_test

        return settings_of_this_test.k

    return module(k, read)


def lazy_module(k):
    held = {"k": k}
    lazy = types.ModuleType("lazy")
    lazy.__getattr__ = lambda name: held[name]  # KeyError for all other names
    return lambda: lazy.k, lambda value: held.update(k=value)


def metaclass(k):
    kind = type("Meta", (type,), {"k": k})
    made = kind("Made", (), {})
    return lambda: made.k, setter(kind)


def default_of_a_dict(k):
    held = [k]
    found = collections.defaultdict(lambda: held[0])
    return lambda: found.default_factory(), lambda value: held.__setitem__(0, value)


def keyword_of_a_partial(k):
    read = functools.partial(lambda k: k, k=k)
    return read, lambda value: read.keywords.update(k=value)


def attribute_of_a_function(k):
    def read():
        return read.k

    read.k = k
    return read, setter(read)


def typed_array(k):
    held = array.array("d", [k])
    return lambda: held[0], lambda value: held.__setitem__(0, value)


def c_number(k):
    held = ctypes.c_double(k)
    return lambda: held.value, setter(held, "value")


def reference(k):
    held = Length(1.0)
    held.k, found = k, weakref.ref(held)
    return lambda: found().k, lambda value, held=held: setattr(held, "k", value)


def environment(k):
    def change(value):
        os.environ["LEVEL_OF_A_TEST"] = str(value)

    change(k)
    return lambda: float(os.environ["LEVEL_OF_A_TEST"]), change


def ufunc(k):
    held = [k]
    double = np.frompyfunc(lambda x: x * held[0], 1, 1)
    return lambda: float(double(1.0)), lambda value: held.__setitem__(0, value)


def attribute_of_a_number(k):
    held = Length(1.0)
    held.k = k
    return lambda: held.k, setter(held)


RESOLVED = {
    "member": member,
    "member of another": member_of_another,
    "module": lambda k: module(k, lambda: SETTINGS.k),
    "lazy module": lazy_module,
    "import": imported,
    "vars": lambda k: namespace(k, lambda held: vars(held)["k"]),
    "getattr": lambda k: namespace(k, lambda held: getattr(held, "".join(["k"]))),
    "attrgetter": lambda k: namespace(k, operator.attrgetter("k")),
    "builtins": of_builtins,
    "metaclass": metaclass,
    "default of a dict": default_of_a_dict,
    "keyword of a partial": keyword_of_a_partial,
    "attribute of a function": attribute_of_a_function,
    "attribute of a number": attribute_of_a_number,
    "typed array": typed_array,
    "C number": c_number,
}
UNRESOLVED = {
    "globals": (of_globals, "values by globals"),
    "__import__": (lambda k: module(k, lambda: __import__("settings_of_this_test").k), "values by __import__"),
    "importlib": (
        lambda k: module(k, lambda: importlib.import_module("settings_of_this_test").k),
        "values by importlib.import_module",
    ),
    "sys.modules": (lambda k: module(k, lambda: sys.modules["settings_of_this_test"].k), "values by sys.modules"),
    "eval": (lambda k: module(k, lambda: eval("SETTINGS.k")), "values by eval"),
    "environment": (environment, "values by os.environ"),
    "ufunc": (ufunc, "objects of type numpy.ufunc"),
    "reference": (reference, "objects of type .*ReferenceType"),
}


def system(read):
    body = quirk.Body("cart", 1.0, [1, 1, 1])
    rail = quirk.Prismatic("rail", GROUND, body, axis="x")
    return quirk.System([body, rail, quirk.JointForce("push", rail, lambda t, x, v: read())])


@pytest.mark.parametrize("way", RESOLVED | {name: way for name, (way, _) in UNRESOLVED.items()})
def test_loops_that_set_the_number_are_followed(way):
    make = RESOLVED.get(way) or UNRESOLVED[way][0]
    read, change = make(1.0)
    run = quirk.Run(system(read), rtol=1e-6)
    run.advance(0.1)
    assert run["cart"].acceleration[0] == pytest.approx(1.0, abs=1e-12)
    change(3.0)
    assert run["cart"].acceleration[0] == pytest.approx(3.0, abs=1e-12)
    run.advance(0.1)
    assert run["cart"].velocity[0] == pytest.approx(0.1 + 0.3, abs=1e-12)


@pytest.mark.parametrize("make", RESOLVED.values(), ids=RESOLVED)
def test_digests_tell_numbers_apart(make):
    digests = Digests({})
    first = digests(make(1.0)[0])
    assert first == digests(make(1.0)[0])
    assert first != digests(make(2.0)[0])
    assert not digests.take_unknown()


@pytest.mark.parametrize(("make", "name"), UNRESOLVED.values(), ids=UNRESOLVED)
def test_checkpoints_name_what_they_cannot_compare(make, name, tmp_path):
    read, _change = make(1.0)  # which holds what `read` refers to
    with pytest.warns(quirk.CheckpointWarning, match=rf'JointForce "push": its functions read .*{name}, which cannot'):
        quirk.simulate(system(read), 0.1, output=0.1, checkpoint=tmp_path / "run")


def test_checkpoints_name_files(tmp_path):
    path = tmp_path / "level.txt"
    path.write_text("1.0")

    def by_open():
        with open(path) as file:
            return float(file.read())

    ways = {"open": by_open, "numpy.loadtxt": lambda: float(np.loadtxt(path)), "pathlib": lambda: path.stat().st_size}
    ways["pathlib.Path"] = lambda: float(Path("level.txt").read_text())
    for name, read in ways.items():
        digests = Digests({})
        digests(read)
        assert any(name in phrase for phrase in digests.take_unknown()), name


def test_functions_of_values_alone_are_not_warned_of(tmp_path):
    scale = np.float64(2.0)
    limits = {"a": [1.0, (2.0, None)], "size": sys.maxsize}

    def law():
        return float(np.interp(0.5, [0, 1], [0, scale])) + max(limits["a"][0], 0.0) * isinstance(scale, float)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            quirk.simulate(system(law), 0.1, output=0.1, checkpoint=tmp_path / "run")


def test_runs_restored_with_what_cannot_be_compared_are_warned_of():
    one, other = (quirk.Run(system(environment(1.0)[0])) for _ in range(2))
    one.advance(0.1)
    one.restore(one.save())
    with pytest.warns(
        quirk.CheckpointWarning, match=r'Run\.restore: JointForce "push": .* values by os\.environ, which'
    ):
        other.restore(one.save())
    assert other.time == 0.1
