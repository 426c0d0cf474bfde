"""Playback of a motion in the browser by the running Python process."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import GROUND
from quirk.util import validate

from . import contents
from .handle import View
from .html import checked_display_options, checked_follow, checked_rates, checked_trails, picture_times
from .parts import Part
from .serving import announced, server_at, stopped
from .stage import ALL, ViewerStage
from .values import values_of

if TYPE_CHECKING:
    from quirk.result.result import Result

# Interval, s, between checks for user input while the playback is paused.
IDLE = 0.1


def view(
    result: Result,
    *,
    fps: float = 30,
    speed: float = 1.0,
    follow: str | None = None,
    arrows: Any = (),
    trails: Any = (),
    labels: bool = False,
    axes: bool = False,
    opacity: float = 1.0,
    host: str = "127.0.0.1",
    port: int = 0,
    block: bool = False,
) -> View:
    """Show a motion in the browser; see `Result.view`."""
    fps, speed = checked_rates("view", fps, speed)
    labels, block = validate.flag("view", "labels", labels), validate.flag("view", "block", block)
    axes, opacity = checked_display_options("view", axes, opacity)
    follow = checked_follow("view", result, follow)
    times = picture_times("view", result, fps, speed)
    drawn = contents.of_result(result, times, arrows, checked_trails("view", result, trails))
    server = server_at(host, port)
    try:
        stage = ViewerStage(server, drawn, follow=follow, labels=labels, axes=axes, opacity=opacity)
        player = Player(server, result, drawn, stage, fps)
        player.add_looks(stage, labels, axes, opacity)
    except BaseException:
        stopped(server)
        raise
    announced("the motion", player.url, block)
    if block:
        player.wait()
    return player


class Player(View):
    """Playback of the frames of an animation, in which a separate thread moves the bodies."""

    def __init__(
        self, server: Any, result: Result, scene_contents: contents.Contents, stage: ViewerStage, fps: float
    ) -> None:
        super().__init__(server)
        self._stage, self._result = stage, result
        self._times, self._fps = scene_contents.poses.time, fps
        gui, last = server.gui, len(self._times) - 1
        self._play = gui.add_checkbox("play", last > 0, disabled=last < 1)
        start, end = float(self._times[0]), float(self._times[-1])
        step = float(np.diff(self._times[:2])[0]) if last > 0 else 1.0
        top = end if last > 0 else start + step
        self._slider = gui.add_slider("time (s)", start, top, step, start, disabled=last < 1)
        self._rate = gui.add_number("times the speed", 1.0, min=0.01, max=100.0, step=0.01)
        self._follow = gui.add_dropdown(
            "follow", [GROUND.name, ALL, *scene_contents.poses.position], initial_value=self._stage.follow
        )
        self._values = gui.add_markdown("Click on a part for its values.")
        self._chosen: Part | None = None
        self._wanted: int | None = None

        @self._slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # set by a user, not by the program
                self._play.value = False
                self._wanted = int(np.abs(self._times - float(self._slider.value)).argmin())

        stage.on_click(self._choose)
        self._thread = threading.Thread(target=self._run, name="quirk view", daemon=True)
        self._thread.start()

    def _choose(self, part: Part) -> None:
        """Select a clicked part; its values are shown in the current and all later animation frames."""
        self._chosen = part
        self._update_values(int(np.abs(self._times - float(self._slider.value)).argmin()))

    def _update_values(self, picture: int) -> None:
        if self._chosen is not None:
            self._values.content = values_of(self._result, self._chosen, float(self._times[picture]))

    def _run(self) -> None:
        """Show one animation frame after the other until the view is closed."""
        last, place, shown = len(self._times) - 1, 0.0, (-1, "")
        before = time.monotonic()
        while not self._closed.is_set():
            now = time.monotonic()
            if self._wanted is not None:
                place, self._wanted = float(self._wanted), None
            elif self._play.value:
                place += (now - before) * self._fps * float(self._rate.value)
                place = place if place <= last else 0.0
            before = now
            picture = int(np.clip(place, 0, last))
            wanted = picture, str(self._follow.value)
            if wanted != shown:
                self._stage.follow = wanted[1]
                self._stage.show(picture)
                self._slider.value, shown = float(self._times[picture]), wanted
                self._update_values(picture)
            self._closed.wait(1.0 / self._fps if self._play.value else IDLE)
