"""Identity of a run: digests that determine whether a checkpoint belongs to the run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from quirk.bodies.state import State
from quirk.errors import CheckpointWarning, outside
from quirk.functions.digest import Digests
from quirk.simulation.hybrid.event_functions import other_called_functions
from quirk.simulation.hybrid.run_factory import RunFactory
from quirk.simulation.identity import PartDigests, part_names, system_digest
from quirk.system.system import System


def identity(system: System, state: State, factory: RunFactory) -> dict[str, str]:
    """Return digests of the bodies, constraints, forces, initial state and options of a run, by name.

    `factory` contains the options of the run. A `CheckpointWarning` names functions that read objects which cannot be
    compared.
    """
    parts = PartDigests(system, factory.events)
    for part, unknown in parts.unknown.items():
        warnings.warn(
            f"simulate: checkpoint: {part}: its functions read {unknown}, which cannot be "
            "compared: differences in them are not noticed when the run is continued; read their values before the run",
            CheckpointWarning,
            stacklevel=outside(),
        )
    digest = Digests(part_names(system), other_called_functions(system, factory.events))
    changed = [state.angles, state.internal, state.switched, state.replaced]
    whole = {
        "initial state": [*state.parts, *map(dict, changed)],
        "output": factory.output_times,
        "solver": factory.solver,
        "method": factory.method,
        "impacts": factory.options.get("impacts"),
        "breaks": factory.breaks.times,
        **factory.settings._asdict(),
    }
    return {
        **parts.by_name,
        "gravity and active parts": system_digest(system),
        **{name: digest(value) for name, value in whole.items()},
    }


def differences(saved: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """Return the names of the digests that differ between the identities `saved` and `current`."""
    return [name for name in {**saved, **current} if saved.get(name) != current.get(name)]
