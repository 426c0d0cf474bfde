"""Contacts and friction of a run whose inputs or functions have changed since its last step."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.model.joint_angles import Turns
from ..dynamics.plant import CompiledModel
from ..errors import SimulationError, SwitchingError
from ..system.system import System
from .hybrid.contact_events import Contacts
from .hybrid.hybrid_run import HybridRun
from .hybrid.run_factory import RunFactory


class PendingContacts:
    """Contacts and friction of a run after its inputs or functions have changed and before it is advanced.

    When an input or a function changes, resting contacts may open and sticking friction may slip. The run determines
    this only when it is advanced; loads and accelerations that are read before then are evaluated with the contacts and
    friction computed here. Solvers and gap functions are separate from those of the run, which is not changed.

    Parameters
    ----------
    system : System
    factory : factory of the run, whose settings apply
    run : the run
    """

    def __init__(self, system: System, factory: RunFactory, run: HybridRun) -> None:
        self._system, self._run = system, run
        self._contacts = Contacts(system, replace(factory))
        self._known: tuple[tuple[float, Any, CompiledModel], CompiledModel] | None = None

    def plant(self, version: Any, gaps: np.ndarray | None = None) -> CompiledModel:
        """Return the compiled model with the contacts and friction that are active with the present inputs.

        `version` changes with the inputs and functions, and `gaps` (c,) are the gaps, m or rad, before functions of
        gaps have changed, or None if none has.

        Raises
        ------
        SimulationError
            If contact and friction have no solution with the present inputs.
        """
        run, current = self._run, self._run.current
        t = current.present_time
        if not self._contacts:
            return run.plant
        key = t, version, run.plant
        if self._known is not None and self._known[0] == key:
            return self._known[1]
        y = run.plant.tables.slots.state_from_lanes(current.present_lanes.copy().reshape(1, -1))
        turns = Turns(run.plant.model.joints, current.present_quadrants.copy().reshape(1, -1, 2), current.whole)
        angles = turns.angles(run.plant.model.auxiliary.state(y).orientation)[0]
        contact_state = run.contact_state
        if gaps is not None:
            with suppress(SwitchingError):  # of a gap that has become negative: the next step raises it
                contact_state = self._contacts.after_gap_jump(t, y[0], angles, run.configuration, contact_state, gaps)
        try:
            outcome = self._contacts.resolve_impacts(t, y[0], angles, run.configuration, contact_state)
        except SwitchingError as error:
            raise SimulationError(f"Run: at t = {t:.9g} s: {error}", time=t) from error
        plant = self._system.plant_for(self._contacts.configured(run.configuration, outcome.contact_state))
        self._known = key, plant
        return plant
