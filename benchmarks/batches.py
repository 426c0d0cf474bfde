"""Fixed RK4 steps of batches of many members, compared with `mujoco.rollout`, single runs, and a single thread."""

from __future__ import annotations

from collections.abc import Callable

import quirk

from . import models, quirk_side
from .cases import ROBOTS, compare, same
from .measure import Effort, Task
from .peers.installed import peer
from .row import Row

# Members of a batch, and steps that each of them takes in one repetition.
MEMBERS, STEPS = 1024, 100
STEP = 1e-3  # s


def rows(small: bool, effort: Effort) -> list[Row]:
    """Return rows with the time per member and step on one thread, with projection, and the gain by a second thread."""
    members = 16 if small else MEMBERS
    against = [_against_rollout(name, build, n, target, members, small, effort) for name, build, n, target in TREES]
    ladder = models.ladder(5)
    single = Row(f"batch of {members}, ladder {len(ladder.bodies)}", "QuIRK, single runs", target=5.0, judged=not small)
    compare(single, ladder, task(ladder, members), _single_runs(ladder, members), effort, members * STEPS)
    chain = models.revolute_chain(10)
    two = Row(f"batch of {members}, revolute chain 10, two threads", "QuIRK, one thread", target=1.8, judged=not small)
    compare(two, chain, task(chain, members, threads=2), task(chain, members), effort, members * STEPS)
    return [*against, single, two]


TREES: tuple[tuple[str, Callable[[int], quirk.System], int, float | None], ...] = (
    ("ball chain", models.ball_chain, 10, 10.0),
    ("revolute chain", models.revolute_chain, 10, 8.0),
    ("revolute tree", models.revolute_tree, 15, 8.0),
    *((name, build, n, None) for name, build, n, _ in ROBOTS),
)


def _against_rollout(
    name: str,
    build: Callable[[int], quirk.System],
    n: int,
    target: float | None,
    members: int,
    small: bool,
    effort: Effort,
) -> Row:
    mujoco, system = peer("MuJoCo"), build(n)
    row = Row(f"batch of {members}, {name} {n}", "MuJoCo rollout", target=target, judged=not small)
    theirs = mujoco and mujoco.rollouts(system, members, STEPS, STEP)
    compare(row, system, task(system, members), theirs, effort, members * STEPS)
    if mujoco:
        same(row, mujoco.error(system))
    return row


def task(system: quirk.System, members: int, threads: int = 1) -> Task:
    """Return the task of STEPS steps of all members from the initial state; the members have different masses."""
    masses = system.bodies[0].mass * (1.0 + 0.1 * models.spread(members))
    vary = {(system.bodies[0].name, "mass"): masses}
    batch = quirk.Batch(system, members, vary=vary, method="RK4", step=STEP, threads=threads)

    def run(count: int) -> None:
        for _ in range(count):
            batch.reset()
            batch.advance(STEPS * STEP)

    return run


def _single_runs(system: quirk.System, members: int) -> Task:
    """Return the task of `members` times STEPS steps of a single run, which starts from the initial state each time."""

    def run(count: int) -> None:
        for _ in range(count):
            quirk_side.steps(system)(members * STEPS)

    return run
