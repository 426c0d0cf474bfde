"""Interface of an exported system: its inputs and outputs, and the options of its runs."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Pattern of names that the naming convention of FMI allows without quotes.
STRUCTURED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True)
class Interface:
    """Inputs, outputs and run options of an exported system, stored as a resource in the FMU.

    Attributes
    ----------
    inputs : names of force elements
    outputs : names of quantities
    options : arguments of `Run`
    communication_step : default communication interval, s, or None
    """

    inputs: list[str]
    outputs: list[str]
    options: dict[str, Any]
    communication_step: float | None

    @property
    def text(self) -> str:
        """The interface as JSON."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def read(cls, path: Path) -> Interface:
        """Return the interface stored in a file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def variable_name(name: str) -> str:
    """Return the name of an FMU variable; a name that is not made of identifiers is quoted."""
    if STRUCTURED.fullmatch(name):
        return name
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
