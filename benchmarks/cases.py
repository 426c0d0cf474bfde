"""Benchmarks of single evaluations of the equations of motion, and of single steps."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import quirk

from . import models, quirk_side
from .measure import Effort, Task, in_turn, timed
from .net import net
from .peers.installed import peer
from .row import Row, in_units

# A peer's model that is further from QuIRK's accelerations than this, over the largest, is another mechanism.
SAME = 1e-8

# Relative tolerance of runs by Taylor series; and for how long, s, chaos leaves digits to compare.
SERIES, CALM = 1e-12, 2.0

Builder = Callable[[int], quirk.System]

# Real robots, each with the number of its hinges, which is given, and the ratio that its steps should reach.
ROBOTS: tuple[tuple[str, Builder, int, float], ...] = (
    ("Panda", lambda n: models.panda(), 7, 1.5),
    ("Baxter", lambda n: models.baxter(), 15, 1.5),
)


def evaluations(small: bool, effort: Effort) -> list[Row]:
    """Compare evaluations of the accelerations of chains with Pinocchio's articulated-body algorithm."""
    pinocchio = peer("Pinocchio")
    rows = []
    chains: tuple[tuple[str, Builder, float], ...] = (
        ("ball chain", models.ball_chain, 3.0),
        ("revolute chain", models.revolute_chain, 2.5),
    )
    for name, build, target in chains:
        for n in (5, 10) if small else (10, 100):
            system = build(n)
            row = Row(f"evaluation, {name} {n}", "Pinocchio ABA", target=target, judged=not small)
            compare(row, system, quirk_side.evaluations(system), pinocchio and pinocchio.evaluations(system), effort)
            if pinocchio:
                same(row, pinocchio.model_error(system))
                row.details["peer_error"] = error = pinocchio.error(system)
                if error > SAME:
                    row.note = f"Pinocchio's ABA is off by {error:.0e} here, its mass matrix is not"
                row.details["peer_with_call"] = timed(pinocchio.calls(system), effort).record()
                row.details["empty_call"] = timed(pinocchio.overhead(), effort).record()
            rows.append(row)
    return rows


def ladder(small: bool, effort: Effort) -> list[Row]:
    """Compare evaluations of the redundant four-bar ladder with Pinocchio's algorithms for closed loops."""
    pinocchio = peer("Pinocchio")
    windows = 3 if small else 40
    system = models.ladder(windows)
    rows = []
    for algorithm, target in (("constraintDynamics", 10.0), ("lcaba", None)):
        row = Row(f"evaluation, ladder {windows}", f"Pinocchio {algorithm}", target=target, judged=not small)
        task = pinocchio and pinocchio.loop_evaluations(system, algorithm)
        compare(row, system, quirk_side.evaluations(system), task, effort)
        if pinocchio:
            row.details["peer_error"] = error = pinocchio.loop_error(system, algorithm)
            row.details["peer_settings"] = pinocchio.LOOP_SETTINGS[algorithm]
            row.note = f"{algorithm} is right to {error:.0e}"
            if target:
                same(row, error)
        rows.append(row)
    return rows


def steps(small: bool, effort: Effort) -> list[Row]:
    """Compare RK4 steps, in QuIRK with projection onto the constraints, with those of MuJoCo."""
    mujoco = peer("MuJoCo")
    rows = []
    mechanisms: tuple[tuple[str, Builder, int, float], ...] = (
        ("ball chain", models.ball_chain, 10, 2.0),
        ("ball chain", models.ball_chain, 100, 40.0),
        ("revolute chain", models.revolute_chain, 10, 1.5),
        ("revolute tree", models.revolute_tree, 15, 1.5),
        ("revolute tree", models.revolute_tree, 1000, 1.5),
        *ROBOTS,
    )
    for name, build, n, target in mechanisms[::2] if small else mechanisms:
        system = build(min(n, 10) if small else n)
        row = Row(f"RK4 step, {name} {len(system.bodies)}", "MuJoCo RK4", target=target, judged=not small)
        compare(row, system, quirk_side.steps(system), mujoco and mujoco.steps(system), effort)
        if mujoco:
            same(row, mujoco.error(system))
        rows.append(row)
    return rows


def rods(small: bool, effort: Effort) -> list[Row]:
    """Measure an evaluation of a net of rods, per rod."""
    n = 3 if small else 20
    count = 2 * n * (n - 1)
    row = Row(f"evaluation, net {n} x {n}, us per rod", target=2.5, below=True, judged=not small)
    row.details["bodies"] = count
    timing = timed(quirk_side.evaluations(net(n)), effort)
    row.details["quirk"] = timing.record()
    row.quirk = in_units(timing.median)
    row.ratio = timing.median / count * 1e6
    return [row]


def series(small: bool, effort: Effort) -> list[Row]:
    """Compare Taylor-series runs of plane chains at rtol 1e-12 with those of heyoka, with equations derived by hand."""
    heyoka = peer("heyoka")
    rows = []
    for n, duration, target in ((2, 1.0, None),) if small else ((2, 20.0, 1 / 6), (10, 5.0, 1.0)):
        system = models.hinged_chain(n)
        row = Row(f"{duration:g} s by Taylor series, planar chain {n}", "heyoka", target=target, judged=not small)
        theirs = None
        if heyoka:
            chain = heyoka.Chain(n, SERIES)
            row.details["apart_m"] = apart = quirk_side.apart(system, models.chain_positions(chain.run(CALM)), CALM)
            if not apart < SAME:
                raise AssertionError(f"{row.case}: heyoka is {apart:.3g} m away after {CALM:g} s")
            theirs = chain.task(duration)
            row.note = "heyoka is given equations in angles, derived by hand, and tells no joint loads"
        compare(row, system, quirk_side.runs(system, duration, "Taylor", SERIES), theirs, effort)
        rows.append(row)
    return rows


def compare(
    row: Row, system: quirk.System, ours: Task, theirs: Task | ModuleType | None, effort: Effort, per: int = 1
) -> None:
    """Set the times of both simulators and their ratio in a row.

    The two tasks alternate if both are available. One repetition of a task consists of `per` steps.
    """
    bodies = row.details["bodies"] = len(system.bodies)
    if theirs:
        one, other, row.ratio = in_turn(ours, theirs, effort)
        a, b = one.over(per), other.over(per)
    else:
        a, b = timed(ours, effort).over(per), None
    row.quirk, row.details["quirk"] = in_units(a.median), a.record()
    if b:
        row.other, row.details["peer"] = in_units(b.median), b.record()
        row.details["peer_ns_per_body"] = b.median / bodies * 1e9


def same(row: Row, error: float) -> None:
    """Record the relative difference of the peer's accelerations; an error is raised if the mechanisms differ."""
    row.details["model_error"] = error
    if not error < SAME:
        raise AssertionError(f"{row.case}: {row.peer} has accelerations of another mechanism, off by {error:.3g}")
