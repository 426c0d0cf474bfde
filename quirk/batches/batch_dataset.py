"""Dataset of the motions of all members of a batch, in the format of `quirk.sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .members import MemberRun
from .variation import VariedNumber

if TYPE_CHECKING:
    import xarray

# Components of each variable in the state of a body.
COMPONENTS = {
    "position": slice(0, 3), "orientation": slice(3, 7), "velocity": slice(7, 10), "angular_velocity": slice(10, 13),
}  # fmt: skip


def outcome_of(quantities: Any, times: np.ndarray, run: MemberRun) -> Any:
    """Return the data of one member, in the format of one run of `quirk.sweep`.

    Parameters
    ----------
    quantities : groups of `Result.to_xarray` to store
    times : (nt,) output times, s
    run : the simulation of the member
    """
    from ..sweeps.run import Outcome, error_text
    from ..sweeps.table import SweepTable, of_result

    table = SweepTable() if run.result is None else of_result(run.result, quantities, times)
    return Outcome(run.number, run.status, "" if run.error is None else error_text(run.error), table)


def outcomes_of_lanes(states: np.ndarray, completed: np.ndarray, sample: Any) -> dict[int, Any]:
    """Return the data of members computed in SIMD lanes, by index of the member.

    Parameters
    ----------
    states : (count, nt, n, 13) states at the output times
    completed : (count,) mask of the members whose data are returned
    sample : data of a member that was simulated separately; its names, units and labels are used for all members
    """
    from ..sweeps.run import Outcome
    from ..sweeps.table import SweepTable, SweepVariable

    if sample.status != "completed":
        return {}
    outcomes = {sample.number: sample}
    for k in np.flatnonzero(completed):
        variables = {
            name: SweepVariable(variable.dims, states[k][..., COMPONENTS[name]], variable.attributes)
            for name, variable in sample.table.variables.items()
        }
        table = SweepTable(variables, sample.table.labels, sample.table.coordinates)
        outcomes.setdefault(int(k), Outcome(int(k), "completed", "", table))
    return outcomes


def dataset_of(
    varied: Sequence[VariedNumber], outcomes: Sequence[Any], times: np.ndarray, duration: float
) -> xarray.Dataset:
    """Return the data of all members as one Dataset.

    Parameters
    ----------
    varied : parameters that differ between members; they become coordinates, and vectors get an additional dimension
    outcomes : data of each member
    times : (nt,) output times, s
    duration : duration of the runs, s
    """
    from ..sweeps.dataset import RUN, dataset

    data = dataset([{}] * len(outcomes), outcomes, times, {}, {"duration": duration})
    return data.assign_coords(_coordinates(varied, RUN))


def dataset_of_lanes(
    varied: Sequence[VariedNumber], states: np.ndarray, sample: Any, times: np.ndarray, duration: float
) -> xarray.Dataset:
    """Return the data of members that were all computed in SIMD lanes as one Dataset.

    `varied` are the parameters that differ between members, `states` (count, nt, n, 13) the states at the output times
    `times` (nt,), s, and `duration` the duration of the runs, s. `sample` is the data of a member that was simulated
    separately; its names, units and labels are used for all members.
    """
    import xarray

    from ..sweeps.dataset import RUN, dataset

    count, template = len(states), dataset([{}], [sample], times, {}, {"duration": duration})
    variables = {
        str(name): (variable.dims, np.ascontiguousarray(states[..., COMPONENTS[str(name)]]), variable.attrs)
        for name, variable in template.data_vars.items()
    }
    shared = {name: one for name, one in template.coords.items() if RUN not in one.dims}
    own = {"status": (RUN, np.full(count, sample.status)), "error": (RUN, np.full(count, "")), RUN: np.arange(count)}
    data = xarray.Dataset(variables, {**shared, **own}, template.attrs)
    return data.assign_coords(_coordinates(varied, RUN))


def _coordinates(varied: Sequence[VariedNumber], run: str) -> dict[str, Any]:
    """Return the values of the varied parameters as coordinates along the members, the dimension named `run`."""
    return {
        one.title: ((run, *(f"{one.title}_{axis}" for axis in range(one.values.ndim - 1))), one.values)
        for one in varied
    }
