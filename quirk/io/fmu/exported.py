"""Run of an exported system, controlled by the simulation program (FMI master) that has loaded the FMU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from quirk.simulation.run import Run
from quirk.simulation.run_inputs import checked_inputs
from quirk.simulation.run_saved import SavedRun

from ..modelfile import read
from .interface import Interface, variable_name


class Exported:
    """Co-simulation slave that runs an exported system; a mixin for the base classes of pythonfmu and pythonfmu3.

    The run begins when a value or a step is first requested, with the inputs set until then.
    """

    # Provided by the class of the FMU and its base class: the classes of variables, causalities and experiments.
    variable: Any
    causality: Any
    experiment: Any
    resources: str
    register_variable: Callable[..., None]

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        folder = Path(self.resources)
        self._interface, self._system = Interface.read(folder / "interface.json"), read(folder / "system.toml").system
        inputs = checked_inputs(self._system, self._interface.inputs)
        self._values = {one.name: one.initial_value for one in inputs}
        self._start, self._rtol = 0.0, self._interface.options["rtol"]
        self._run: Run | None = None
        self._observed: tuple[Any, np.ndarray] = None, np.zeros(0)
        self.description = f"{len(self._system.bodies)} bodies, simulated by QuIRK"
        step = self._interface.communication_step
        self.default_experiment = self.experiment(start_time=0.0, step_size=step, tolerance=self._rtol)
        for one in inputs:
            for k, suffix in enumerate([f".{component}" for component in one.components] or [""]):
                self._declare(
                    one.name + suffix, self.causality.input, description=f"{one.element}",
                    getter=partial(self._input, one.name, k), setter=partial(self._set_input, one.name, k),
                )  # fmt: skip
        for k, name in enumerate(self._interface.outputs):
            self._declare(name, self.causality.output, getter=partial(self._output, k))

    def _declare(self, name: str, causality: Any, **options: Any) -> None:
        """Declare a variable of the FMU called `name`."""
        self.register_variable(self.variable(variable_name(name), causality=causality, **options))

    def to_xml(self, *options: Any) -> Element:
        """Return the model description; for FMI 2.0 it lists the variables that are computed initially."""
        root: Element = super().to_xml(*options)  # type: ignore[misc]
        structure = root.find("ModelStructure")
        outputs = None if structure is None else structure.find("Outputs")
        if structure is not None and outputs is not None and structure.find("InitialUnknowns") is None:
            SubElement(structure, "InitialUnknowns").extend(Element("Unknown", one.attrib) for one in outputs)
        return root

    def _input(self, name: str, k: int) -> float:
        """Return component k of the input called `name`."""
        return float(self._values[name].flat[k])

    def _set_input(self, name: str, k: int, value: float) -> None:
        """Set component k of the input called `name`."""
        self._values[name].flat[k] = value
        if self._run is not None:
            self._run.inputs[name] = self._values[name]

    def _output(self, k: int) -> float:
        """Return the present value of output k."""
        run = self._begun()
        version = run.time, run.inputs.version
        if version != self._observed[0]:
            self._observed = version, self._observe()
        return float(self._observed[1][k])

    def _begun(self) -> Run:
        """Return the run, which the first call starts."""
        if self._run is None:
            options = self._interface.options | {"rtol": self._rtol}
            self._run = Run(self._system, inputs=self._interface.inputs, start=self._start, **options)
            self._run.inputs.update(self._values)
            if self._interface.outputs:
                self._observe = self._run.observe(self._interface.outputs)
        return self._run

    @property
    def time(self) -> float:
        """Present time, s."""
        return self._start if self._run is None else self._run.time

    def setup_experiment(
        self, start_time: float, stop_time: float | None = None, tolerance: float | None = None
    ) -> None:
        """Set the initial time, s, and the relative tolerance, if the master specifies them."""
        self._start, self._run = start_time, None
        if tolerance and self._interface.options["step"] is None:
            self._rtol = tolerance

    def exit_initialization_mode(self) -> None:
        """Begin the run."""
        self._begun()

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance the run by one communication step (s), including events; return False if an event has stopped it."""
        run, end = self._begun(), current_time + step_size
        while run.time < end:
            if run.advance_to(end) == "stopped":
                return False
        return True

    def _get_fmu_state(self) -> tuple[SavedRun, dict[str, np.ndarray]]:
        """Return a copy of the run and of its inputs, from which the run can be continued."""
        return self._begun().save(), {name: value.copy() for name, value in self._values.items()}

    def _set_fmu_state(self, state: tuple[SavedRun, dict[str, np.ndarray]]) -> None:
        """Restore a state returned by `_get_fmu_state`."""
        saved, values = state
        self._begun().restore(saved)
        self._values = {name: value.copy() for name, value in values.items()}
        self._observed = None, np.zeros(0)
