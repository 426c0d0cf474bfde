"""Functions that several threads compile at the same time: limits and settings of one do not reach another."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from llvmlite import ir

import quirk
from quirk.autodiff.jet import Jet
from quirk.functions.tracer import Tracer, checking
from quirk.jit.llvm_functions import FUNCTION, TracedPointer
from quirk.jit.traced_value import bounded, exactly

COUNT = 24


def in_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def written():
    """LLVM code of x * y + z."""
    made = ir.Function(ir.Module("module"), FUNCTION, "written")
    builder = ir.IRBuilder(made.append_basic_block())
    x = TracedPointer(builder, made.args[1])
    _ = x[0] * x[1] + x[2]
    return str(made)


def test_limit_and_flags_belong_to_one_thread():
    expected = written()
    assert "contract" in expected
    with bounded(0), exactly():
        assert in_thread(written) == expected
        with exactly():
            assert in_thread(written) == expected


def test_blocks_that_end_in_any_order_leave_nothing_behind():
    """The second thread enters its blocks within those of the first, and leaves them later."""
    expected = written()
    entered, ended = threading.Event(), threading.Event()

    def second():
        with bounded(10), exactly():
            entered.set()
            ended.wait(60)

    thread = threading.Thread(target=second)
    with bounded(5), exactly():
        thread.start()
        entered.wait(60)
    ended.set()
    thread.join()
    assert written() == expected
    with bounded(1000):
        assert written() == expected


def test_checks_belong_to_one_thread():
    def divided():
        with checking() as checks:
            _ = 1.0 / Tracer(Jet([2.0], []), False)
        return len(checks)

    with checking() as checks:
        assert in_thread(divided) == 1
        assert not checks


def system(k):
    puck = quirk.Body.box("puck", 1.0 + 0.1 * k, [0.1, 0.1, 0.1], velocity=[0.2, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, puck, axis="x", point=[0, 0, 0])
    law = [
        lambda t, x, v: np.sin(3 * t + k) - 2 * x**3 + 1 / (2 + k + x),
        lambda t, state: k - state["rail"].travel * 2.0 + state["puck"].velocity[0] * 0.1 * x_of(state),
    ][k % 2]
    return quirk.System([puck, rail, quirk.JointForce("f", rail, law)])


def x_of(state):
    return state["puck"].position[0] ** 2


def position(k):
    return quirk.simulate(system(k), 1.0, output=[1.0])["puck"].position[-1, 0]


def test_runs_in_many_threads_equal_runs_one_by_one():
    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(position, range(COUNT)))
    assert parallel == [position(k) for k in range(COUNT)]


def test_members_on_many_threads_equal_single_runs():
    masses = np.linspace(0.5, 2, 8)
    for k in range(3):
        batch = quirk.Batch(system(k), 8, vary={("puck", "mass"): masses}, threads=8)
        last = batch.simulate(1.0, output=1.0).position.sel(body="puck", axis="x").values[:, -1]
        single = [quirk.simulate(batch.member(m), 1.0, output=1.0)["puck"].position[-1, 0] for m in range(8)]
        assert last.tolist() == single
