"""Branches of a run, which tell whether the states that it has stored lead to a snapshot."""

from __future__ import annotations

from uuid import uuid4


class Branches:
    """Branches of a run: the motion from its start, or from one restored snapshot, to where the next one was restored.

    Snapshots refer to the branch on which they were made. The names of branches differ between all runs, also of other
    processes.

    Parameters
    ----------
    start : time of the first stored state, s

    Attributes
    ----------
    begin : time of the first stored state, s
    """

    def __init__(self, start: float) -> None:
        self.begin_at(start)

    @property
    def present(self) -> str:
        """Name of the present branch."""
        return self._names[-1]

    def lead_to(self, branch: str, t: float, now: float) -> bool:
        """Whether the motion so far has passed a snapshot made at time t (s) on a branch.

        `branch` is the name of this branch, and `now` (s) the present time of the run.
        """
        if branch not in self._names:
            return False
        ends = [*self._starts[1:], now]
        return t <= ends[self._names.index(branch)]

    def return_to(self, branch: str, t: float) -> None:
        """Begin a new branch at a snapshot to which the motion led, made at time t (s) on the branch with this name."""
        kept = self._names.index(branch) + 1
        self._names[kept:], self._starts[kept:] = [uuid4().hex], [t]

    def begin_at(self, t: float) -> None:
        """Begin a new branch at time t (s), and forget all others, because the motion so far does not lead there."""
        self.begin = t
        self._names, self._starts = [uuid4().hex], [t]
