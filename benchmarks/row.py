"""Rows of the benchmark table: one benchmark, both simulators, and the target."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """One row of the benchmark table.

    Attributes
    ----------
    case, peer : str
        Names of the benchmark and of the other simulator.
    quirk, other : str
        Both measurements as text; empty if not measured.
    ratio : float or None
        Time of the peer divided by that of QuIRK; for rows without a peer the quantity that has a target.
    bound : str
        ">" if the ratio is a lower bound, as for a peer that did not reach the required accuracy.
    target : float or None
        None for rows without target.
    below : bool
        Whether the target is an upper bound of the ratio.
    judged : bool
        Whether the ratio is compared with the target; False in smoke tests, whose times are not meaningful.
    note : str
        Remark on this row.
    details : dict
        All measurements, for the record.
    """

    case: str
    peer: str = ""
    quirk: str = ""
    other: str = ""
    ratio: float | None = None
    bound: str = ""
    target: float | None = None
    below: bool = False
    judged: bool = True
    note: str = ""
    details: dict[str, object] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is no target or no measurement."""
        if self.ratio is None or self.target is None or not self.judged:
            return None
        if self.below:
            return self.ratio <= self.target
        # A bound from below that misses the target tells nothing.
        return True if self.ratio >= self.target else (None if self.bound else False)

    def record(self) -> dict[str, object]:
        """Return the row as plain data for the record."""
        return {**asdict(self), "met": self.met}

    def cells(self) -> list[str]:
        """Return the cells of the printed row."""
        ratio = "" if self.ratio is None else f"{self.bound}{self.ratio:.3g}"
        target = "" if self.target is None else f"{'<' if self.below else '>'} {self.target:g}"
        verdict = {True: "met", False: "missed", None: ""}[self.met]
        return [self.case, self.quirk, f"{self.peer} {self.other or '-'}" if self.peer else "", ratio, target, verdict]


def in_units(seconds: float) -> str:
    """Return a time as text with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def printed(rows: list[Row]) -> str:
    """Return the table as text, followed by notes."""
    head = ["case", "QuIRK", "peer", "ratio", "target", ""]
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    text = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    text.insert(1, "-|-".join("-" * width for width in widths))
    notes = [f"  {row.case}: {row.note}" for row in rows if row.note]
    return "\n".join([*text, *notes])
