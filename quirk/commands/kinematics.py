"""`quirk kinematics`: motion of a fully driven mechanism."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from ..io.modelfile import ModelText
from ..simulation.output_schedule import output_times
from ..simulation.prescribed.kinematics import kinematics
from .files import checked, write_result
from .models import model_at
from .parser import UsageError
from .values import values_of


def command(options: argparse.Namespace) -> str:
    """Run a kinematic analysis of a model, write the results, and return the status of the analysis."""
    model = model_at(options.model)
    times = _times(options, model)
    paths = checked("kinematics", options.out)
    return write_result(lambda: kinematics(model.system, times, progress=sys.stderr.isatty()), paths)


def _times(options: argparse.Namespace, model: ModelText) -> np.ndarray:
    """Return the output times (s) from the option --times or from the section [run] of the model file."""
    if options.times is not None:
        return np.array(values_of("--times", options.times))
    start, duration, output = model.run.get("start", 0.0), model.run.get("duration"), model.run.get("output")
    if duration is None or output is None:
        raise UsageError(f"{options.model} has no duration and output in a section [run]: use --times A:B:N")
    times = output_times(output, start, start + duration)
    assert times is not None
    return times
