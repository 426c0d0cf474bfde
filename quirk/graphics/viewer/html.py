"""Export of a motion as one self-contained HTML file."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import GROUND, Body
from quirk.errors import InputError
from quirk.util import validate
from quirk.util.output import atomic_output

from ..plot.body_points import checked_points
from . import contents
from .page import checked_plots, with_panel
from .serving import server_at, stopped
from .stage import ViewerStage

if TYPE_CHECKING:
    from quirk.result.result import Result

# Maximum number of poses in a file, about 300 MB, and maximum number of animation frames per second.
MOST_POSES = 5_000_000
MOST_PER_SECOND = 120


def to_html(
    result: Result,
    path: str | Path,
    *,
    fps: float = 30,
    speed: float = 1.0,
    follow: str | None = None,
    arrows: Any = (),
    trails: Any = (),
    labels: bool = False,
    dark: bool = False,
    axes: bool = False,
    opacity: float = 1.0,
    plots: Any = None,
) -> Path:
    """Write a motion as one HTML file that any browser plays; see `Result.to_html`."""
    file = validate.output_file("to_html", path, (".html", ".htm"))
    fps, speed = checked_rates("to_html", fps, speed)
    labels, dark = validate.flag("to_html", "labels", labels), validate.flag("to_html", "dark", dark)
    axes, opacity = checked_display_options("to_html", axes, opacity)
    follow, plotted = checked_follow("to_html", result, follow), checked_plots(result, plots)
    times = picture_times("to_html", result, fps, speed)
    drawn = contents.of_result(result, times, arrows, checked_trails("to_html", result, trails))
    server = server_at()
    try:
        stage = ViewerStage(server, drawn, follow=follow, labels=labels, axes=axes, opacity=opacity)
        serializer = server.get_scene_serializer()
        for k in range(len(times)):
            stage.show(k)
            serializer.insert_sleep(1.0 / fps)
        page = serializer.as_html(dark_mode=dark)
    finally:
        stopped(server)
    page = with_panel(page, result, times, fps, plotted, dark)
    bodies = ", ".join(body.name for body in result.system.bodies[:3])
    title = f"<title>{html.escape(bodies)}: {times[0]:g} to {times[-1]:g} s</title>"
    with atomic_output("to_html", file) as aside:
        aside.write_text(page.replace("<title>Viser</title>", title, 1), encoding="utf-8")
    return Path(path)


def checked_rates(owner: str, fps: Any, speed: Any) -> tuple[float, float]:
    """Return the number of frames per second and the playback speed, or raise an InputError."""
    fps, speed = validate.positive(owner, "fps", fps), validate.positive(owner, "speed", speed)
    if fps > MOST_PER_SECOND:
        raise InputError(f"{owner}: fps must not be above {MOST_PER_SECOND}; got {fps:g}")
    return fps, speed


def checked_display_options(owner: str, axes: Any, opacity: Any) -> tuple[bool, float]:
    """Return whether joint axes are shown, and the opacity of bodies.

    Raises
    ------
    InputError
        If the opacity is not above 0 and at most 1.
    """
    opacity = validate.positive(owner, "opacity", opacity)
    if opacity > 1:
        raise InputError(f"{owner}: opacity must be above 0 and up to 1; got {opacity:g}")
    return validate.flag(owner, "axes", axes), opacity


def checked_follow(owner: str, result: Result, follow: Any) -> str | None:
    """Return the name of the followed body, "ground", or None if `follow` is None."""
    if follow is None or (isinstance(follow, str) and follow == GROUND.name):
        return follow
    if not isinstance(follow, str) or not isinstance(result.system[follow], Body):
        raise InputError(f'{owner}: follow must be the name of a body, or "{GROUND.name}"; got {follow!r}')
    return follow


def checked_trails(owner: str, result: Result, trails: Any) -> list[tuple[str, np.ndarray]]:
    """Return the body points whose paths are shown, as pairs (body name, point (3,) in body coordinates, m).

    `trails` is the user's argument.
    """
    given = [trails] if isinstance(trails, str) else trails
    if not isinstance(given, list | tuple):
        raise InputError(f"{owner}: trails must be names of bodies, or pairs (name, point); got {trails!r}")
    pairs = [(trail, (0.0, 0.0, 0.0)) if isinstance(trail, str) else trail for trail in given]
    return checked_points(owner, "trails", pairs, result.system)


def picture_times(owner: str, result: Result, fps: float, speed: float) -> np.ndarray:
    """Return the times of the animation frames (nt,), s; the last one is the end of the result."""
    start, end = float(result.time[0]), float(result.time[-1])
    count = (end - start) * fps / speed
    bodies = len(result.system.bodies)
    if count * bodies > MOST_POSES:
        raise InputError(
            f"{owner}: {end - start:g} s with fps={fps:g} and speed={speed:g} would be {np.ceil(count):.9g} pictures "
            f"of {bodies} bodies; at most {MOST_POSES} poses are kept: choose a higher speed or a lower fps"
        )
    if count <= 1 and end > start:
        raise InputError(
            f"{owner}: {end - start:g} s with fps={fps:g} and speed={speed:g} would be {np.ceil(count):g} pictures, in "
            f"which show no motion: choose a lower speed, such as {(end - start) / 10:.2g}"
        )
    times = start + np.arange(int(np.floor(count * (1 + 1e-12))) + 1) * (speed / fps)
    return np.append(times[times < end - 1e-9 * (end - start)], end) if end > start else np.array([start])
