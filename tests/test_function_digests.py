"""Digests of functions: different where functions act differently, equal in every process and after runs."""

import ctypes
import dataclasses
import functools
import json
import operator
import os
import pickle
import subprocess
import sys
import threading
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import quirk
from quirk.functions.digest import Digests, digest
from quirk.simulation.identity import PartDigests


class Law:
    scale = 1.0

    def __init__(self, k):
        self.k, self.unread = k, object()

    def __call__(self, t, x, v):
        return self.scale * self.k

    def method(self, t, x, v):
        return self.helped()

    def helped(self):
        return -self.k


class Twice(Law):
    def __init__(self, k):
        super().__init__(k)
        self.twice = 2.0

    def __call__(self, t, x, v):
        return self.twice * super().__call__(t, x, v)

    def method(self, t, x, v):
        return self.twice * Law.method(self, t, x, v)


class Slots:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def __call__(self, t, x, v):
        return self.k


@dataclasses.dataclass
class Data:
    k: float

    def __call__(self, t, x, v):
        return self.k


class Several(list):
    def __call__(self, t, x, v):
        return self[0] * self.factor


class Push(quirk.ForceElement):
    def __init__(self, name, body, k):
        super().__init__(name, (quirk.GROUND, quirk.Frame()), (body, quirk.Frame()))
        self.k = k

    def load(self, t, i, j):
        return [0, 0, 0], 0, [self.k.k, 0, 0], 0


class Tagged(np.ndarray):
    """An array with an attribute."""


class Labels(set):
    """A set with an attribute."""


def matching(k):
    held = Law(k)

    def law(t, x, v):
        match held:
            case Law(k=found):
                return found

    return law


def matching_by_position(k):
    held = Data(k)

    def law(t, x, v):
        match held:
            case Data(found):
                return found

    return law


def marked(x, k):
    x.k = k
    return x


def over(held, read):
    return lambda t, x, v: read(held)


def several(k):
    found = Several([k])
    found.factor = 2.0
    return found


def by_keyword(k):
    def law(t, x, v, *, k=k):
        return k

    return law


def with_attribute(k):
    def law(t, x, v):
        return law.k

    law.k = k
    return law


def dynamic(k):
    held = Law(k)
    return lambda t, x, v: getattr(held, "".join(["k"]))


def of_globals(k):
    outside = {"__builtins__": __builtins__, "held": Law(k)}
    return types.FunctionType((lambda t, x, v: held.k).__code__, outside)  # noqa: F821


def of_class(k):
    kind = type("Kind", (Law,), {"scale": k})
    return kind(1.0)


def in_cycle(k):
    first, second = Law(k), Law(1.0)
    first.other, second.other = second, first
    return lambda t, x, v: second.other.k


MAKERS = {
    "instance": Law,
    "bound method": lambda k: Law(k).method,
    "method of a base": Twice,
    "method of a class": lambda k: Twice(k).method,
    "method called by its class": lambda k: over(Law(k), lambda x: Law.helped(x)),
    "new objects beside an old one": lambda k: over(Law(k), lambda x: x.k + Law(0.0).k),
    "pattern of a class": matching,
    "pattern by position": matching_by_position,
    "attribute of an array": lambda k: over(marked(np.zeros(2).view(Tagged), k), lambda x: x.k),
    "attribute of a set": lambda k: over(marked(Labels(), k), lambda x: x.k),
    "attribute of a partial": lambda k: over(marked(functools.partial(abs, 1.0), k), lambda x: x.k),
    "array of C": lambda k: over((ctypes.c_double * 2)(1.0, k), lambda x: x[1]),
    "order of a dict": lambda k: over({"b": 1, "a": 2} if k > 1.5 else {"a": 2, "b": 1}, lambda x: next(iter(x))),
    "slots": Slots,
    "dataclass": Data,
    "list with attributes": several,
    "closure": lambda k: over(k, lambda x: x),
    "object in a closure": lambda k: over(Law(k), lambda x: x.k),
    "namespace": lambda k: over(types.SimpleNamespace(k=k), lambda x: x.k),
    "nested": lambda k: over({"a": Law([k])}, lambda x: x["a"].k[0]),
    "array": lambda k: over(Law(np.array([0.0, k])), lambda x: x.k[1]),
    "partial": lambda k: functools.partial(lambda k, t, x, v: k, k),
    "object in a partial": lambda k: functools.partial(lambda h, t, x, v: h.k, Law(k)),
    "keyword": by_keyword,
    "attribute of a function": with_attribute,
    "cached": lambda k: functools.lru_cache(over(Law(k), lambda x: x.k)),
    "read by name": dynamic,
    "getter": lambda k: over((operator.attrgetter("k"), Law(k)), lambda x: x[0](x[1])),
    "global object": of_globals,
    "class attribute": of_class,
    "cycle": in_cycle,
    "spline of a library": lambda k: over(CubicSpline([0.0, 1.0, 2.0], [0.0, k, 1.0]), lambda x: x(0.5)),
    "fields": lambda k: over(Data(k), lambda x: dataclasses.astuple(x)[0]),
    "set": lambda k: over({1.0, 5.0, k}, max),
    "generator": lambda k: over(np.random.default_rng(int(k)), lambda x: x.normal()),
    "method of a dict": lambda k: over({1: k}.get, lambda x: x(1)),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_values_that_functions_read_are_told_apart(make):
    assert digest(make(1.0), {}) == digest(make(1.0), {})
    assert digest(make(1.0), {}) != digest(make(2.0), {})
    digests = Digests({})
    digests(make(1.0))
    assert not digests.unknown


def parts(k):
    """Return parts of all kinds that take functions."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    rail = quirk.Prismatic("rail", quirk.GROUND, ball, axis="x")
    held = Law(k)
    return [
        quirk.JointForce("force", rail, lambda t, state: held.k),
        quirk.Drive("drive", rail, quirk.Motion.function(lambda t: held.k * t, lambda t: held.k, lambda t: 0.0)),
        quirk.Event("watched", lambda t, state: t - held.k, action="stop"),
        quirk.Event("acting", "time", level=0.5, action=lambda t, state: quirk.set_velocity(ball, [held.k, 0, 0])),
        quirk.Implicit("implicit", ball, lambda t, ball: ball.position[1] - held.k * t),
        quirk.OneSided("gap", ball, lambda t, ball: ball.position[2] + held.k),
        quirk.Sampled("sampled", 0.1, lambda t, state: held.method(t, 0.0, 0.0), inputs=["force"]),
        Push("push", ball, held),
    ]


def test_parts_are_told_apart():
    for one, same, other in zip(parts(1.0), parts(1.0), parts(2.0), strict=True):
        named = {id(quirk.GROUND): "ground"}
        assert digest(one, named) == digest(same, named)
        assert digest(one, named) != digest(other, named), one


def test_own_elements_are_told_apart_by_what_their_methods_do():
    def made(factor, code):
        class Pull(quirk.ForceElement):
            def __init__(self, name, body):
                super().__init__(name, (body, quirk.Frame()))

            if code == "one":

                def load(self, t, place):
                    return [factor[0], 0, 0], 0

            else:

                def load(self, t, place):
                    return [3 * factor[0], 0, 0], 0

        return Pull("pull", quirk.Body.sphere("ball", 1.0, 0.1))

    first = digest(made([1.0], "one"), {})
    assert first == digest(made([1.0], "one"), {})
    assert first != digest(made([2.0], "one"), {})
    assert first != digest(made([1.0], "other"), {})


def test_equal_in_another_process():
    code = (
        "import json; from test_function_digests import MAKERS, digest, parts; import quirk; "
        "print(json.dumps([digest(make(1.0), {}) for make in MAKERS.values()] "
        "+ [digest(part, {id(quirk.GROUND): 'ground'}) for part in parts(1.0)]))"
    )
    where = Path(__file__).parent
    found = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=where,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert json.loads(found[0]) == json.loads(found[1])


class Remembering:
    def __init__(self):
        self.memo, self.calls, self.times, self.last, self.k = {}, 0, [], types.SimpleNamespace(t=0.0), 1.0

    @functools.cached_property
    def table(self):
        return np.arange(3) * self.k

    def __call__(self, t, x, v):
        if t not in self.memo:
            self.memo[t] = self.k
        self.calls += 1
        self.times.append(t)
        self.last.t = t
        self.later = self.table[0]
        return self.memo[t] + self.later


def test_what_a_function_sets_is_not_compared():
    law = Remembering()
    before = digest(law, {})
    law(0.5, 0.0, 0.0)
    assert digest(law, {}) == before
    law.k = 2.0
    assert digest(law, {}) != before


def test_local_arrays_do_not_hide_values():
    gains, held = [1.0], Law([1.0])

    def law(t, x, v):
        found = np.zeros(2)
        found[0] = gains[0]
        found[1] += held.k[0]
        return found

    before = digest(law, {})
    gains[0] = 2.0
    changed = digest(law, {})
    held.k[0] = 2.0
    assert len({before, changed, digest(law, {})}) == 3


def test_what_an_action_sets_is_not_compared():
    counter, on, total, held = [0], types.SimpleNamespace(value=False, k=1.0), 0.0, {"on": 0.0}

    def action(t, state):
        nonlocal total
        counter[0] += 1
        on.value = True
        total = total + on.k
        held.update(on=1.0)

    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    push = quirk.Force("push", ball, lambda t, r, q, v, w: [on.value + counter[0] + total + held["on"], on.k, 0.0])
    system = quirk.System([ball, push, quirk.Event("on", "time", level=0.5, action=action)])
    before = PartDigests(system, system.events).by_name
    action(0.5, None)
    assert PartDigests(system, system.events).by_name == before
    on.k = 2.0
    after = PartDigests(system, system.events).by_name
    assert [name for name in before if before[name] != after[name]] == ['Force "push"', 'Event "on"']


def test_what_cannot_be_compared_is_named(tmp_path):
    lock = threading.Lock()

    def law(t, r, q, v, w):
        return [float(lock.locked()), 0.0, 0.0]

    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    with pytest.warns(
        quirk.CheckpointWarning, match='Force "push": its functions read objects of type _thread.lock, which'
    ):
        quirk.simulate(quirk.System([ball, quirk.Force("push", ball, law)]), 1.0, output=0.5, checkpoint=tmp_path / "a")


def test_vectorized_functions_are_unknown():
    digests = Digests({})
    digests(over(np.sin, lambda f: f(0.5)))
    assert not digests.unknown
    digests(over(np.frompyfunc(Law(1.0), 3, 1), lambda f: f(0.5, 0.0, 0.0)))
    assert digests.unknown == {"numpy.ufunc"}


def test_checkpoints_of_other_values_are_refused(tmp_path):
    def run(k, folder):
        ball = quirk.Body.sphere("ball", 1.0, 0.1)
        rail = quirk.Prismatic("rail", quirk.GROUND, ball, axis="x")
        system = quirk.System([ball, rail, quirk.JointForce("push", rail, Law(k))])
        return quirk.simulate(system, 1.0, output=0.5, checkpoint=folder)["ball"].position[-1, 0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(1.0, tmp_path / "a") == run(1.0, tmp_path / "a") == pytest.approx(0.5)
    with pytest.raises(quirk.InputError, match='differences: JointForce "push"'):
        run(2.0, tmp_path / "a")


def test_saved_runs_of_other_values_are_refused():
    def run(law):
        ball = quirk.Body.sphere("ball", 1.0, 0.1)
        rail = quirk.Prismatic("rail", quirk.GROUND, ball, axis="x")
        return quirk.Run(quirk.System([ball, rail, quirk.JointForce("push", rail, law)]))

    law = Law(1.0)
    begun = run(law)
    begun.advance(0.5)
    law.k = 3.0  # a value that the loop sets is not part of the run's identity
    saved = pickle.loads(pickle.dumps(begun.save()))
    run(Law(1.0)).restore(saved)
    with pytest.raises(quirk.InputError, match='differs in JointForce "push"'):
        run(Law(2.0)).restore(saved)
