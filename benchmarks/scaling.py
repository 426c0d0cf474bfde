"""Time of a step against the number of bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import quirk

from . import models, quirk_side
from .measure import Effort, Task, timed
from .peers.installed import peer
from .row import Row, in_units

SIZES = (10, 100, 1_000, 10_000, 100_000)
GROWTH = (1_000, 100_000)  # the sizes whose times per body are compared
PEER_SIZES = (10, 30, 100, 300, 1_000, 10_000)
TOO_LONG = 0.05  # s for a step of a peer: larger systems are not tried
STEP = 1e-4  # s: long chains under their own weight are stiff


@dataclass
class Line:
    """Time per step, s, of one mechanism in one simulator, for each number of bodies."""

    side: str
    mechanism: str
    bodies: list[int]
    seconds: list[float]

    def record(self) -> dict[str, object]:
        """Return the line as plain data for the record."""
        return asdict(self)

    def per_body(self, size: int) -> float | None:
        """Return the time per step and body, s, for about `size` bodies; None if not measured."""
        near = [s / n for n, s in zip(self.bodies, self.seconds, strict=True) if abs(n - size) <= 0.02 * size]
        return near[0] if near else None


MECHANISMS: dict[str, Callable[[int], quirk.System]] = {
    "ball chain": models.ball_chain,
    "revolute tree": models.revolute_tree,
    "hub with arms": lambda n: models.hub(n // 3),
    "four-bar ladder": lambda n: models.ladder(n // 2),
}


def step_times(small: bool, effort: Effort) -> tuple[list[Row], list[Line]]:
    """Return rows for the growth of QuIRK's time per body, and the lines of the diagram, including those of MuJoCo."""
    lines = []
    for name, build in MECHANISMS.items():
        lines.append(_line("QuIRK", name, build, (10, 20) if small else SIZES, quirk_side.steps, effort))
    if module := peer("MuJoCo"):
        for name in ("ball chain", "revolute tree"):
            sizes = (10, 20) if small else PEER_SIZES
            lines.append(_line("MuJoCo", name, MECHANISMS[name], sizes, module.steps, effort))
    return [_row(line, small) for line in lines if line.side == "QuIRK"], lines


def _line(
    side: str,
    name: str,
    build: Callable[[int], quirk.System],
    sizes: tuple[int, ...],
    steps: Callable[..., Task],
    effort: Effort,
) -> Line:
    line = Line(side, name, [], [])
    for size in sizes:
        system = build(size)
        few = Effort(effort.batch, min(effort.batches, 5))
        line.bodies.append(len(system.bodies))
        line.seconds.append(timed(steps(system, step=STEP), few).median)
        if side != "QuIRK" and line.seconds[-1] > TOO_LONG:
            break
    return line


def _row(line: Line, small: bool) -> Row:
    few, many = (line.per_body(size) for size in GROWTH)
    row = Row(
        f"step per body, {line.mechanism}, growth 1e3 to 1e5",
        target=3.0,
        below=True,
        judged=not small,
        details=line.record(),
    )
    if few and many:
        row.quirk, row.ratio = f"{in_units(few)} -> {in_units(many)}", many / few
    return row
