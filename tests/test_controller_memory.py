"""Memory of sampled controllers: attributes that share memory, methods or references, in several runs and snapshots."""

import array
import collections
import functools
import pickle
import random
import weakref

import numpy as np
import pytest

import quirk
from quirk.simulation.memory_copies import CopyError, copies

T = 0.1


def system_with(*controllers):
    """Return a cart on a rail that each controller pushes by its own motor."""
    body = quirk.Body.box("cart", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, point=[0, 0, 0], axis="x")
    motors = [quirk.JointForce(f"motor {k}", rail, 0.0) for k in range(len(controllers))]
    sampled = [quirk.Sampled(f"controller {k}", T, one, inputs=[f"motor {k}"]) for k, one in enumerate(controllers)]
    return quirk.System([body, rail, *motors, *sampled])


class Views:
    """A count in the last element of an array, written by the view of a part of it."""

    def reset(self):
        self.all = np.zeros(6)
        self.part = self.all[1:]

    def __call__(self, t, state):
        self.part[-1] += 1.0
        return self.all[5]


class Shapes(Views):
    def reset(self):
        base = np.zeros((2, 3))  # no attribute itself
        self.all, self.part = base.reshape(6), base[::-1, ::-1][0, :1]


class Diagonal:
    def reset(self):
        matrix = np.eye(2)
        self.diagonal, self.nested = np.einsum("ii->i", matrix), {"transposed": [matrix.T]}

    def __call__(self, t, state):
        self.diagonal += 0.5
        return 2.0 * self.nested["transposed"][0][1, 1] - 2.0


class Windows:
    def reset(self):
        self.last = np.zeros(5)
        self.windows = np.lib.stride_tricks.sliding_window_view(self.last, 3)

    def __call__(self, t, state):
        self.last[:-1] = self.last[1:]
        self.last[-1] += 1.0
        return self.windows[-1, -1]


class Push:
    """A count by a method of a list."""

    def reset(self):
        self.values = [0.0]
        self.push = self.values.append

    def __call__(self, t, state):
        self.push(self.values[-1] + 1.0)
        return self.values[-1]


class Partial(Push):
    def reset(self):
        self.values = collections.deque([0.0])
        self.push = functools.partial(self.values.append)


class Get:
    def reset(self):
        self.counts = {"calls": 0.0}
        self.read = [self.counts.get]

    def __call__(self, t, state):
        self.counts["calls"] += 1.0
        return self.read[0]("calls")


class Draw:
    def reset(self):
        self.draw = random.Random(3).random

    def __call__(self, t, state):
        return self.draw()


class Count:
    def __init__(self):
        self.value = 0.0

    def step(self):
        self.value += 1.0
        return self.value


class Step:
    def reset(self):
        self.step = Count().step

    def __call__(self, t, state):
        return self.step()


class PrivateSlots:
    """Slots without values before the first run."""

    __slots__ = ("__count", "other")

    def reset(self):
        self.__count = 0.0

    def __call__(self, t, state):
        self.__count += 1.0
        return self.__count


class AnyName:
    """An object that answers to any name."""

    __slots__ = ()

    def __getattr__(self, name):
        if name.startswith("__") and name != "__dict__":
            raise AttributeError(name)
        return 1.0


class WithAnyName:
    def reset(self):
        self.any, self.count = AnyName(), 0.0

    def __call__(self, t, state):
        self.count += self.any.step
        return self.count


KEPT = [Views, Shapes, Diagonal, Windows, Push, Partial, Get, Draw, Step, PrivateSlots, WithAnyName]


@pytest.mark.parametrize("kind", KEPT)
def test_each_run_has_its_own_memory(kind):
    exact = quirk.simulate(system_with(kind()), 0.5)["rail"].travel[-1]
    if kind is not Draw:
        assert exact == pytest.approx(0.275)  # forces of 1 to 5 N
    system = system_with(kind())
    first, second = quirk.Run(system), quirk.Run(system)
    first.advance(0.2)
    second.advance(0.5)
    first.advance(0.3)
    assert [first["rail"].travel, second["rail"].travel] == pytest.approx([exact, exact], abs=1e-12)


@pytest.mark.parametrize("kind", KEPT)
def test_saved_memory(kind):
    """Also restored more than once, in another run, and after it has been pickled."""
    exact = quirk.simulate(system_with(kind()), 0.5)["rail"].travel[-1]
    system = system_with(kind())
    run, other = quirk.Run(system), quirk.Run(system)
    run.advance(0.2)
    saved = run.save()
    for kept in (saved, saved, pickle.loads(pickle.dumps(saved))):
        for following in (run, other, quirk.Run(system_with(kind()))):
            following.restore(kept if following is not run else saved)
            following.advance(0.1)
            following.restore(following.save())
            following.restore(pickle.loads(pickle.dumps(following.save())))
            following.advance_to(0.5)
            assert following["rail"].travel == pytest.approx(exact, abs=1e-12)


class Weak:
    def reset(self):
        self.count = Count()
        self.weak = weakref.ref(self.count)

    def __call__(self, t, state):
        return self.weak().step()


class Proxy(Weak):
    def reset(self):
        self.count = Count()
        self.weak = [weakref.proxy(self.count)]

    def __call__(self, t, state):
        return self.count.step()


class WeakValues(Proxy):
    def reset(self):
        self.count = Count()
        self.weak = weakref.WeakValueDictionary(count=self.count)


class WeakKeys(Proxy):
    def reset(self):
        self.count = Count()
        self.weak = weakref.WeakKeyDictionary({self.count: 0.0})


class OtherMemory(Step):
    def reset(self):
        super().reset()
        self.values = array.array("d", [0.0, 0.0])
        self.view = np.frombuffer(self.values)


class Objects(Step):
    def reset(self):
        super().reset()
        self.all = np.array([{}, None])
        self.part = self.all[1:]


class Records(Step):
    def reset(self):
        super().reset()
        self.all = np.zeros(3)
        self.part = self.all.view(np.recarray)


class Longer(list):
    def append(self, value):
        super().append(2.0 * value)


class BaseMethod(Step):
    def reset(self):
        super().reset()
        self.values = Longer()
        self.push = super(Longer, self.values).append


class Cached(Step):
    def reset(self):
        super().reset()
        self.cached = functools.lru_cache(self.step)


class List(list):
    def __call__(self, t, state):
        self.append(1.0)
        return float(len(self))


class Deque(collections.deque):
    def __call__(self, t, state):
        self.append(1.0)
        return float(len(self))


class Dict(dict):
    def __call__(self, t, state):
        self["calls"] = self.get("calls", 0.0) + 1.0
        return self["calls"]


class Holding:
    """A controller that predicts by a run of its own."""

    def reset(self):
        self.model, self.count = quirk.Run(system_with(List())), 0.0

    def __call__(self, t, state):
        self.count += 1.0
        self.model.advance(0.01)
        return self.count


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        *((kind, "cannot be copied.* weak reference to an object of Count") for kind in (Weak, Proxy, WeakValues)),
        (WeakKeys, "cannot be copied.* weak reference to an object of Count"),
        (OtherMemory, "cannot be copied.*an object of type array shares memory with an array"),
        (Objects, "cannot be copied.*an array of objects shares memory"),
        (Records, "cannot be copied.*an object of type recarray shares memory"),
        (BaseMethod, "cannot be copied.*the method append of a base class of Longer"),
        (Cached, "cannot be copied"),
        (List, "is a list, whose contents are no attributes"),
        (Deque, "is a deque, whose contents are no attributes"),
        (Dict, "is a dict, whose contents are no attributes"),
        (Holding, "cannot be copied.*a run cannot be copied or pickled"),
    ],
)
def test_memory_that_cannot_be_kept(kind, reason):
    """One run alone is right; a second one ends the first with an error."""
    system = system_with(kind())
    run = quirk.Run(system)
    run.advance(0.5)
    assert run["rail"].travel == pytest.approx(0.275)
    with pytest.raises(quirk.InputError, match=f'Run.save: the function of Sampled "controller 0" {reason}'):
        run.save()
    second = quirk.Run(system)
    with pytest.raises(quirk.SimulationError, match=f"another run has called its function since, which {reason}"):
        run.advance(0.2)
    second.advance(0.1)


class Writer:
    def __init__(self, values):
        self.values = values

    def reset(self):
        self.values[:] = 0.0

    def __call__(self, t, state):
        self.values += 1.0
        return 0.0


class Follower:
    def __init__(self, values):
        self.values = values

    def __call__(self, t, state):
        return self.values[0, 0]


def test_arrays_of_two_controllers_share_memory():
    def system():
        values = np.zeros(6)
        return system_with(Writer(values), Follower(values.reshape(2, 3)))

    shared = system()
    run, other = quirk.Run(shared), quirk.Run(shared)
    run.advance(0.2)
    other.advance(0.3)
    saved = run.save()
    run.restore(saved)
    run.advance(0.3)
    other.restore(pickle.loads(pickle.dumps(saved)))
    other.advance(0.3)
    assert [run["rail"].travel, other["rail"].travel] == pytest.approx([0.275, 0.275])


class Reader:
    def __init__(self, read):
        self.read = read

    def __call__(self, t, state):
        return self.read.count


class Counting:
    def reset(self):
        self.count = 0.0

    def __call__(self, t, state):
        self.count += 1.0
        return 0.0


def test_a_run_of_one_controller_leaves_the_other_run_both():
    read = Counting()
    reader = Reader(read)
    run = quirk.Run(system_with(read, reader))
    run.advance(0.2)
    quirk.Run(system_with(reader)).advance(0.2)
    run.advance(0.3)
    assert run["rail"].travel == pytest.approx(0.275)


def test_views_keep_their_form():
    base = np.arange(24.0).reshape(2, 3, 4)
    views = {
        "base": base, "transposed": base.T, "reversed": base[::-1, :, ::-2], "bytes": base.view(np.uint8)[0],
        "constant": np.broadcast_to(base[0, 0], (5, 4)), "empty": base[1, 1:1], "number": base[1, 1, 1:2].reshape(()),
        "integers": base.view(np.int64)[1], "times": base.view("M8[s]")[0], "fortran": np.asfortranarray(base),
    }  # fmt: skip
    base[0, 0, 0] = 7.0
    base.flags.writeable = False
    views["locked"] = base[1]
    (found,) = copies([views], [])
    for name, view in views.items():
        copy = found[name]
        assert copy.dtype == view.dtype and copy.flags.writeable == view.flags.writeable
        assert copy.size == 0 or copy.strides == view.strides
        np.testing.assert_array_equal(copy, view)
        for other, one in views.items():
            assert np.shares_memory(copy, found[other]) == np.shares_memory(view, one)
            assert not np.shares_memory(copy, one)
    found["transposed"][0, 0, 0] = 5.0
    assert found["base"][0, 0, 0] == found["integers"].base.view(float)[0] == 5.0 and base[0, 0, 0] == 7.0


def test_copies_share_what_was_shared():
    kept, listed = Count(), [1.0]
    owner = Count()
    owner.self, owner.method, owner.listed = owner, owner.step, listed
    first, second = copies([{"owner": owner, "kept": kept, "kind": Count, "f": np.sin}, {"of": owner.listed}], [kept])
    assert first["kept"] is kept and first["kind"] is Count and first["f"] is np.sin
    copy = first["owner"]
    assert copy is not owner and copy.self is copy and copy.method.__self__ is copy
    assert second["of"] is copy.listed is not listed
    with pytest.raises(CopyError, match="generator") as caught:
        copies([{}, {"values": (k for k in range(3))}], [])
    assert caught.value.index == 1
