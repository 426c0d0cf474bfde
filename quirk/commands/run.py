"""`quirk run`: simulate a model."""

from __future__ import annotations

import argparse

from ..simulation.simulate import simulate
from .files import checked, write_result
from .models import model_at, run_options


def command(options: argparse.Namespace) -> str:
    """Simulate a model, write the results, and return the status of the run."""
    model = model_at(options.model)
    given = run_options(options, model.run)
    paths = checked("run", options.out)
    return write_result(lambda: simulate(model.system, **given), paths)
