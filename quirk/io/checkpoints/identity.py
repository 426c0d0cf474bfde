"""Identity of a run: digests that determine whether a checkpoint belongs to the run."""

from __future__ import annotations

from collections.abc import Mapping

from quirk.bodies.state import State
from quirk.simulation.hybrid.run_factory import RunFactory
from quirk.simulation.identity import part_digests, part_names, system_digest
from quirk.system.system import System
from quirk.util.digest import digest


def identity(system: System, state: State, factory: RunFactory) -> dict[str, str]:
    """Return digests of the bodies, constraints, forces, initial state and options of a run, by name.

    `factory` contains the options of the run.
    """
    names, changed = part_names(system), [state.angles, state.internal, state.switched, state.replaced]
    whole = {
        "initial state": [*state.parts, *map(dict, changed)],
        "output": factory.output_times,
        "solver": factory.solver,
        "method": factory.method,
        "breaks": factory.breaks.times,
        **factory.settings._asdict(),
    }
    return {
        **part_digests(system, factory.events),
        "gravity and active parts": system_digest(system),
        **{name: digest(value, names) for name, value in whole.items()},
    }


def differences(saved: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """Return the names of the digests that differ between the identities `saved` and `current`."""
    return [name for name in {**saved, **current} if saved.get(name) != current.get(name)]
