"""`quirk view`: display of a model or a result in the browser."""

from __future__ import annotations

import argparse
from typing import Any

from ..result.result import Result
from .models import existing, model_at


def command(options: argparse.Namespace) -> str:
    """Show a model or a saved result in the browser until Control-C."""
    saved = options.model.lower().endswith(".nc")
    shown: Any = Result.load(existing(options.model)) if saved else model_at(options.model).system
    shown.view(block=True)
    return "completed"
