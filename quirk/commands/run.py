"""`quirk run`: simulate a model."""

from __future__ import annotations

import argparse

from ..errors import SimulationError
from ..simulation.simulate import simulate
from .files import checked, write
from .models import model_at, run_options


def command(options: argparse.Namespace) -> str:
    """Simulate a model, write the results, and return the status of the run."""
    model = model_at(options.model)
    given = run_options(options, model.run)
    paths = checked("run", options.out)
    try:
        result = simulate(model.system, **given)
    except SimulationError as error:
        if error.result is not None and paths:
            write(error.result, paths)
        raise
    print(result.summary())
    write(result, paths)
    return result.status
