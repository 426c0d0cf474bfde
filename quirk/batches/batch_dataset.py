"""The Dataset of all members of a batch, in the form of `quirk.sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .members import MemberRun
from .variation import VariedNumber

if TYPE_CHECKING:
    import xarray


def outcome_of(quantities: Any, times: np.ndarray, run: MemberRun) -> Any:
    """Return the stored data of a member at the output times `times` (nt,), s, in the form of one run of a sweep.

    `run` is the computed member, and `quantities` are the stored groups.
    """
    from ..sweeps.run import Outcome, said
    from ..sweeps.table import SweepTable, of_result

    table = SweepTable() if run.result is None else of_result(run.result, quantities, times)
    return Outcome(run.number, run.status, "" if run.error is None else said(run.error), table)


def dataset_of(
    varied: Sequence[VariedNumber], outcomes: Sequence[Any], times: np.ndarray, duration: float
) -> xarray.Dataset:
    """Return the data of all members as one Dataset.

    The values that differ between members are its coordinates; vectors have a dimension of their own. `varied` are
    these values, `outcomes` the stored data of each member.
    """
    from ..sweeps.dataset import RUN, dataset

    numbers = {one.title: one.values for one in varied if one.values.ndim == 1}
    data = dataset([{}] * len(outcomes), outcomes, times, numbers, {"duration": duration})
    arrays = {
        one.title: ((RUN, *(f"{one.title}_{axis}" for axis in range(one.values.ndim - 1))), one.values)
        for one in varied
        if one.values.ndim > 1
    }
    return data.assign_coords(arrays)
