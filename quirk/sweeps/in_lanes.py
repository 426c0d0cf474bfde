"""Computation of the runs of a sweep by SIMD: eight systems at a time, with fixed steps.

The systems may differ only in numerical parameters; each one occupies one lane of the vector registers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..batches.batch_dataset import COMPONENTS
from ..batches.built_members import BuiltMembers, structure_of
from ..bodies.state import State
from ..dynamics.model.joint_angles import Turns
from ..integrators import Statistics
from ..result.result import Result
from ..result.segment import Segment
from ..simulation.arguments import checked_method, checked_settings
from ..system.system import System
from .run import Job, Outcome, SweepRun, built, guarded, outcome, simulated
from .table import SweepTable, SweepVariable, of_result

# Maximum number of system structures with a cached integrator.
MOST_STRUCTURES = 8


@dataclass(frozen=True)
class Built:
    """A run whose system has been constructed, with its options and initial state."""

    run: SweepRun
    system: System
    own: Mapping[str, Any]
    state: State


class Computer:
    """Computes the runs of one job in a process: in SIMD lanes where possible, otherwise one by one."""

    def __init__(self, job: Job) -> None:
        self._job = job
        options = job.lanes
        if options is not None:
            check = partial(checked_method, "sweep", options["method"], options["step"], "sparse")
            method = guarded(SweepRun(0, {}), check)
            options = None if isinstance(method, Outcome) else {**options, "method": method}
        self._options = options
        self._members: dict[Hashable, tuple[BuiltMembers, SweepTable] | None] = {}

    def outcomes(self, runs: Sequence[SweepRun]) -> Iterator[Outcome]:
        """Compute several runs and yield their outcomes; an error in one run does not affect the others."""
        if self._options is None:
            yield from (outcome(self._job, run) for run in runs)
            return
        groups: dict[Hashable, list[Built]] = {}
        outcomes: dict[int, Outcome] = {}
        for run in runs:
            found = guarded(run, partial(self._constructed, run))
            if isinstance(found, Outcome):
                outcomes[run.number] = found
            else:
                groups.setdefault(found[0], []).append(found[1])
        for key, group in groups.items():
            outcomes.update({one.number: one for one in self._of_group(key, group)})
        yield from (outcomes[run.number] for run in runs)

    def _constructed(self, run: SweepRun) -> tuple[Hashable, Built]:
        """Construct the system of a run; return a key for its structure, and the run with its system.

        The key is equal for systems that differ only in numerical parameters; it is None if SIMD lanes do not support
        the run.
        """
        system, own = built(self._job, run)
        one = Built(run, system, own, system.initial_state())
        alone = set(own) - {"progress"} or system.sampled or one.state.switched or one.state.replaced
        return None if alone or system.closure is not None else structure_of(system), one

    def _of_group(self, key: Hashable, group: list[Built]) -> Iterator[Outcome]:
        """Compute the runs of a group and yield their outcomes: in SIMD lanes or, if `key` is None, one by one.

        The systems of the runs have the same structure, identified by `key`.
        """
        job, good = self._job, np.zeros(len(group), dtype=bool)
        known = None if key is None else self._known(key, group[0])
        if known is not None:
            members, table = known
            suited = [k for k, one in enumerate(group) if members.fits(one.system)]
            for chosen in (part for part in _by_axes(group, suited) if part):
                motions, valid = self._motions(members, [group[k] for k in chosen])
                good[chosen] = valid
                for k, motion in zip(chosen, motions, strict=True):
                    if good[k]:
                        yield Outcome(group[k].run.number, "completed", "", _with(table, motion, self._times))
        for k, one in enumerate(group):
            if not good[k]:
                yield guarded(one.run, partial(simulated, job, one.run, one.system, one.own))

    def _motions(self, members: BuiltMembers, chosen: Sequence[Built]) -> tuple[np.ndarray, np.ndarray]:
        """Return the motions (runs, nt, n, 13) of the runs `chosen`, and a mask (runs,) of the valid motions.

        The motion consists of the states of n bodies at nt output times. `members` is the SIMD integrator of the
        systems.
        """
        assert self._options is not None
        systems, states = [one.system for one in chosen], [one.state for one in chosen]
        start, duration = float(self._options["start"]), self._job.duration
        found = members.motions(systems, states, start, start + duration, self._times)
        return (np.empty((len(chosen), 0)), np.zeros(len(chosen), dtype=bool)) if found is None else found

    @property
    def _times(self) -> np.ndarray:
        assert self._job.times is not None
        return self._job.times

    def _known(self, key: Hashable, example: Built) -> tuple[BuiltMembers, SweepTable] | None:
        """Return the SIMD integrator for systems with the structure `key`, and a table that shows how data are stored.

        The table contains the data of the run `example` at one time. Returns None if SIMD lanes do not support the
        structure.
        """
        if key not in self._members:
            while len(self._members) >= MOST_STRUCTURES:
                del self._members[next(iter(self._members))]
            found = guarded(example.run, lambda: self._prepared(example))
            self._members[key] = None if isinstance(found, Outcome) else found
        return self._members[key]

    def _prepared(self, example: Built) -> tuple[BuiltMembers, SweepTable] | None:
        assert self._options is not None
        checked_settings(
            "sweep", example.system, self._options["method"], self._options["start"], self._job.duration, rtol=None,
            atol=None, baumgarte=(0.0, 0.0), every=False,
            **{name: self._options[name] for name in ("step", "stabilization", "projection_interval")},
        )  # fmt: skip
        members = BuiltMembers.of(example.system, example.state, self._options)
        if members is None:
            return None
        model, time = example.system.model, self._times[:1]
        flat = model.auxiliary.flat(example.state)[None]
        segment = Segment(example.system.plant, time, flat, Turns.of_state(model.joints, example.state), 0)
        result = Result(example.system, [segment], Statistics(), "completed", options=[{}])
        return members, of_result(result, self._job.quantities, time)


def _by_axes(group: Sequence[Built], suited: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the indices of the runs in which all body axes are principal axes of inertia, and those of the others.

    `suited` are the indices in `group` to be divided in this way. SIMD lanes are faster for the former runs.
    """
    principal = [k for k in suited if not group[k].system.model.inertia[..., *np.triu_indices(3, 1)].any()]
    return principal, [k for k in suited if k not in set(principal)]


def _with(table: SweepTable, motion: np.ndarray, times: np.ndarray) -> SweepTable:
    """Return the data of a run with the motion (nt, n, 13) of n bodies at the nt `times`, s.

    Names, units and labels are those of `table`.
    """
    variables = {
        name: SweepVariable(variable.dims, motion[..., COMPONENTS[name]], variable.attributes)
        for name, variable in table.variables.items()
    }
    return SweepTable(variables, {**table.labels, "time": times}, table.coordinates)
