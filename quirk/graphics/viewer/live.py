"""View of a running `Run` in the browser, with sliders for its inputs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.errors import InputError
from quirk.util import validate

from . import contents
from .handle import View
from .poses import Poses
from .serving import announced, server_at, stopped
from .stage import ViewerStage

if TYPE_CHECKING:
    from quirk.simulation.run import Run

# Default range of a slider to each side of zero, relative to the absolute initial value of its input or, if larger, 1.
REACH = 5.0
# Number of steps of a slider over its range.
STEPS = 1000


def view(run: Run, *, ranges: Mapping[str, Any] | None, fps: float, labels: bool, host: str, port: int) -> LiveView:
    """Show a run in the browser; see `Run.view`."""
    labels, fps = validate.flag("view", "labels", labels), validate.positive("view", "fps", fps)
    checked = _ranges(run, {} if ranges is None else ranges)
    server = server_at(host, port)
    try:
        live = LiveView(server, run, checked, fps, labels)
    except BaseException:
        stopped(server)
        raise
    announced("the run", live.url, False)
    return live


class LiveView(View):
    """View of the present state of a run, updated at most `fps` times per second.

    Attributes
    ----------
    url : address for browsers on this machine
    """

    def __init__(
        self, server: Any, run: Run, ranges: Mapping[str, tuple[float, float]], fps: float, labels: bool
    ) -> None:
        super().__init__(server)
        self._interval, self._due, self._t = 1.0 / fps, 0.0, np.nan
        self._stage = ViewerStage(server, contents.of_state(run.system, run.state), labels=labels)
        self.add_looks(self._stage, labels, False, 1.0)
        self._clock = server.gui.add_markdown("")
        self._moved: dict[tuple[str, int | None], float] = {}
        self._components = {name: one.components for name, one in run.inputs.slots.items()}
        self._sliders = {
            (name, k): self._slider(server.gui, name, k, value, ranges[name])
            for name in run.inputs
            for k, value in _components(run.inputs[name])
        }
        self.show(run)

    def _slider(self, gui: Any, name: str, k: int | None, value: float, limits: tuple[float, float]) -> Any:
        low, high = limits
        label = name if k is None else f"{name}.{self._components[name][k]}"
        slider = gui.add_slider(label, low, high, (high - low) / STEPS, float(np.clip(value, low, high)))

        @slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # a person moved it
                self._moved[name, k] = float(slider.value)

        return slider

    def set_inputs(self, run: Run) -> None:
        """Set the inputs of the run to the values of the sliders that were moved since the last call."""
        while self._moved:
            (name, k), value = self._moved.popitem()
            if k is None:
                run.inputs[name] = value
            else:
                vector = np.array(run.inputs[name])
                vector[k] = value
                run.inputs[name] = vector

    def show(self, run: Run) -> None:
        """Show the present state of the run, unless less than one frame interval has passed since the last update."""
        now = time.monotonic()
        if self.closed or now < self._due or run.time == self._t:
            return
        self._due, self._t = now + self._interval, run.time
        self._stage.move(Poses.of_state(run.system.as_computed_by(run.plant), run.state))
        self._clock.content = f"t = {run.time:.3f} s"
        for (name, k), slider in self._sliders.items():
            if (name, k) not in self._moved:
                value = run.inputs[name] if k is None else run.inputs[name][k]
                slider.value = float(np.clip(value, slider.min, slider.max))


def _components(value: Any) -> list[tuple[int | None, float]]:
    return list(enumerate(value.tolist())) if isinstance(value, np.ndarray) else [(None, value)]


def _ranges(run: Run, user_ranges: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of the slider of each input, by name.

    `user_ranges` are the ranges specified by the user.
    """
    unknown = [name for name in user_ranges if name not in run.inputs]
    if unknown:
        raise InputError(f"view: ranges names {unknown[0]!r}, which is no input of the run: {', '.join(run.inputs)}")
    found = {}
    for name in run.inputs:
        largest = REACH * max(1.0, float(np.abs(run.inputs[name]).max()))
        limits = run.inputs.slots[name].limits
        usual = (-largest, largest) if limits is None else limits
        low, high = validate.array("view", f"ranges[{name!r}]", user_ranges.get(name, usual), (2,))
        if not low < high:
            raise InputError(f"view: ranges[{name!r}] must be a least and a largest value; got ({low:g}, {high:g})")
        found[name] = float(low), float(high)
    return found
