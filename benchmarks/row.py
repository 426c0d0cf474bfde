"""A row of the table: one case, both sides, and what is aimed at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """One case.

    Attributes
    ----------
    case, peer : str
    quirk, other : str
        Both measurements, ready to print; empty where not measured.
    ratio : float or None
        Peer over QuIRK; for rows without a peer what the target is about.
    bound : str
        ">" if the ratio is at least so much, as where a peer did not get there in the time it had.
    target : float or None
        None for rows that only inform.
    below : bool
        Whether the ratio should stay below the target.
    judged : bool
        False in smoke tests, whose times mean nothing.
    note : str
        What to know about this row.
    details : dict
        Everything measured, for the stored record.
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
        """Whether the target is met; None if there is none or it cannot be told."""
        if self.ratio is None or self.target is None or not self.judged:
            return None
        if self.below:
            return self.ratio <= self.target
        # A bound from below that misses the target tells nothing.
        return True if self.ratio >= self.target else (None if self.bound else False)

    def record(self) -> dict[str, object]:
        """Return what is stored of it."""
        return {**asdict(self), "met": self.met}

    def cells(self) -> list[str]:
        """Return the columns of the printed table."""
        ratio = "" if self.ratio is None else f"{self.bound}{self.ratio:.3g}"
        target = "" if self.target is None else f"{'<' if self.below else '>'} {self.target:g}"
        verdict = {True: "met", False: "missed", None: ""}[self.met]
        return [self.case, self.quirk, f"{self.peer} {self.other or '-'}" if self.peer else "", ratio, target, verdict]


def in_units(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def printed(rows: list[Row]) -> str:
    """Return the table as text, notes below it."""
    head = ["case", "QuIRK", "peer", "ratio", "target", ""]
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    text = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    text.insert(1, "-|-".join("-" * width for width in widths))
    notes = [f"  {row.case}: {row.note}" for row in rows if row.note]
    return "\n".join([*text, *notes])
