"""Animations of results as GIF or MP4 files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from quirk.errors import InputError, QuirkError
from quirk.util import validate
from quirk.util.output import atomic_output

from ..plot.body_points import checked_points
from ..scene.scene import Scene
from .film import DPI, Film
from .framing import checked_follow

if TYPE_CHECKING:
    from quirk.result.result import Result

# Smallest and largest size of an image, inches.
SMALLEST, LARGEST = 0.5, 40.0
# Maximum number of animation frames per second. The GIF format stores durations in hundredths of a second, and many
# programs slow down GIFs whose frames last only one hundredth.
MOST_PER_SECOND_OF_GIF, MOST_PER_SECOND = 50, 1000
# Maximum number of animation frames, which take about an hour to draw. Maximum memory for the frames of a GIF, bytes:
# all frames are kept in memory until the file is written. Number of bytes per pixel.
MOST_PICTURES, MOST_MEMORY, BYTES_OF_A_DOT = 100_000, 2**32, 4


def animate(
    result: Result,
    path: str | Path,
    *,
    fps: int = 25,
    speed: float = 1.0,
    view: tuple[float, float] | None = None,
    trails: Sequence[tuple[str, ArrayLike | str]] = (),
    size: float = 5.0,
    follow: str | None = None,
) -> Path:
    """Write an animation of a result; see `Result.animate`."""
    file = validate.output_file("animate", path, (".gif", ".mp4"))
    gif = file.suffix.lower() == ".gif"
    if not gif and shutil.which("ffmpeg") is None:
        raise InputError("animate: MP4 needs the program ffmpeg, which was not found: install it or write a .gif")
    fps = _checked_fps(fps, gif)
    speed = validate.positive("animate", "speed", speed)
    size = validate.positive("animate", "size", size)
    if not SMALLEST <= size <= LARGEST:
        raise InputError(f"animate: size must be from {SMALLEST:g} to {LARGEST:g} inches; got {size:g}")
    if view is not None:
        elevation, azimuth = validate.array("animate", "view", view, (2,))
        view = float(elevation), float(azimuth)
    points = checked_points("animate", "trails", trails, result.system)
    follow = checked_follow(result, follow)
    times = _times(result, fps, speed, size if gif else 0.0)
    film = Film(result, Scene(result, times, points), view, follow, size)
    with atomic_output("animate", file) as aside:
        try:
            film.write_gif(aside, fps) if gif else film.write_mp4(aside, fps)
        except (BrokenPipeError, CalledProcessError) as error:
            raise QuirkError("animate: the program ffmpeg failed; see its message, or write a .gif") from error
    return Path(path)


def _checked_fps(fps: Any, gif: bool) -> int:
    """Return the validated number of frames per second, an integer that GIF (if `gif` is True) or MP4 files support."""
    value = validate.positive("animate", "fps", fps)
    most = MOST_PER_SECOND_OF_GIF if gif else MOST_PER_SECOND
    if value != round(value) or value > most:
        kind = "a GIF" if gif else "an MP4"
        raise InputError(f"animate: fps must be a whole number, for {kind} not above {most}; got {value:g}")
    return round(value)


def _times(result: Result, fps: int, speed: float, gif_size: float) -> np.ndarray:
    """Return the times of the animation frames (nt,), s.

    `gif_size` is the edge length of a GIF image, inches; 0 for MP4 files.

    Raises
    ------
    InputError
        If there would be too few or too many frames.
    """
    if len(result.time) < 2:
        raise InputError("animate: the result has a single time; simulate with more output")
    start, end = float(result.time[0]), float(result.time[-1])
    count = (end - start) * (fps / speed)
    would_be = f"animate: {end - start:g} s with fps={fps} and speed={speed:g} would be {np.ceil(count):.9g} pictures"
    if count <= 1:
        raise InputError(f"{would_be}, which show no motion: choose a lower speed or a higher fps")
    if count > MOST_PICTURES:
        raise InputError(f"{would_be}; at most {MOST_PICTURES} are drawn: choose a higher speed or a lower fps")
    memory = count * (gif_size * DPI) ** 2 * BYTES_OF_A_DOT
    if memory > MOST_MEMORY:
        raise InputError(
            f"{would_be}, for which a GIF needs {memory / 2**30:.1f} GiB of memory; at most {MOST_MEMORY / 2**30:g} "
            "GiB are used: choose a higher speed, a lower fps or a smaller size, or write an .mp4"
        )
    return np.arange(start, end, speed / fps)
