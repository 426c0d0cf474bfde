"""Drawing of the frames of an animation one after the other, and writing of GIF and MP4 files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ..scene.camera import Camera, usual_view, vertical_of
from ..scene.scene import Scene
from .framing import anchor_of, box_of, grounds_of
from .painter import Painter
from .stage import Stage

if TYPE_CHECKING:
    from quirk.result.result import Result

DPI = 100
# Margins for tick labels beside the box, and above and below it, inches; largest margin relative to the image size.
MARGIN, MARGIN_ABOVE, PART_OF_MARGIN = 0.45, 0.6, 0.12
# Number of colors of a GIF, and number of animation frames from which they are chosen.
COLORS, SAMPLES = 256, 6
# Minimum number of decimals of displayed times; more are shown if the interval between frames requires it.
DECIMALS = 2


class Film:
    """Square matplotlib figure that shows one frame of an animation at a time.

    `size` is the edge length of the figure, inches, `view` the elevation and azimuth, degrees, and `follow` the name of
    the body that stays in the center; see `Result.animate`.
    """

    def __init__(
        self, result: Result, scene: Scene, view: tuple[float, float] | None, follow: str | None, size: float
    ) -> None:
        self._scene = scene
        self._figure = Figure(figsize=(size, size), dpi=DPI)
        self._canvas = FigureCanvasAgg(self._figure)
        ax = self._figure.add_axes((0, 0, 1, 1))
        ax.set_axis_off()
        self._anchor = anchor_of(scene, follow)
        self._moves = bool(np.ptp(self._anchor, axis=0).any())
        grounds = grounds_of(result)
        box, arrows = box_of(scene, self._anchor, follow, grounds)
        vertical = vertical_of(scene.gravity)
        self._camera = Camera.at(*(view or usual_view(box[1] - box[0], vertical)), vertical)
        middle, half = self._fit(box, size)
        ax.set_xlim(middle[0] - half, middle[0] + half)
        ax.set_ylim(middle[1] - half, middle[1] + half)
        self._stage = Stage(ax, self._camera, box, grounds, 2 * half / size, self._moves)
        self._painter = Painter(ax, scene, self._camera, half, arrows, box)
        self._caption = ax.text(0.03, 0.95, "", transform=ax.transAxes, animated=True)
        step = scene.times[1] - scene.times[0] if len(scene.times) > 1 else 1.0
        self._decimals = max(DECIMALS, int(np.ceil(-np.log10(step))))
        self._ax, self._background = ax, None

    def _fit(self, box: tuple[np.ndarray, np.ndarray], size: float) -> tuple[np.ndarray, float]:
        """Return the center (2,) of the image of a box, and the half width of the view, m.

        The view has margins for tick labels. `box` consists of the lowest and highest corner (3,), m; `size` is the
        edge length of the image, inches.
        """
        corners = np.array(np.meshgrid(*np.transpose(box))).reshape(3, -1).T
        seen = self._camera.to_view(corners)[:, :2]
        drawable = [size - 2 * min(margin, PART_OF_MARGIN * size) for margin in (MARGIN, MARGIN_ABOVE)]
        half = 0.5 * size * float((np.ptp(seen, axis=0) / drawable).max())
        return 0.5 * (seen.min(axis=0) + seen.max(axis=0)), half

    def draw(self, frame: int) -> None:
        """Draw the animation frame with index `frame`."""
        self._place(frame)
        if self._moves or self._background is None:
            self._canvas.draw()  # everything except animated artists
            self._background = self._canvas.copy_from_bbox(self._figure.bbox)
        else:
            self._canvas.restore_region(self._background)
        self._ax.draw_artist(self._painter.artist)
        self._ax.draw_artist(self._caption)

    def _place(self, frame: int) -> None:
        if self._moves or self._background is None:
            self._stage.draw(self._anchor[frame])
        self._painter.draw(frame, self._anchor[frame])
        said = [f"t = {self._scene.times[frame]:.{self._decimals}f} s", self._stage.caption]
        self._caption.set_text(", ".join(filter(None, said)))

    def pixels(self, frame: int) -> np.ndarray:
        """Return the animation frame with index `frame` as an array of bytes (height, width, 3)."""
        self.draw(frame)
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()

    def write_gif(self, path: Path, fps: int) -> None:
        """Write all frames to a GIF file that plays in a loop; `fps` is the number of frames per second."""
        count = len(self._scene.times)
        samples = [self.pixels(frame) for frame in np.unique(np.linspace(0, count - 1, SAMPLES).astype(int)).tolist()]
        palette = Image.fromarray(np.concatenate(samples)).quantize(COLORS, dither=Image.Dither.NONE)

        def pictures() -> Iterator[Image.Image]:
            for frame in range(count):
                yield Image.fromarray(self.pixels(frame)).quantize(palette=palette, dither=Image.Dither.NONE)

        each = pictures()
        next(each).save(path, "GIF", save_all=True, append_images=each, duration=round(1000 / fps), loop=0)

    def write_mp4(self, path: Path, fps: int) -> None:
        """Write all frames to an MP4 file with the program ffmpeg; `fps` is the number of frames per second."""
        writer = FFMpegWriter(fps=fps)
        with mpl.rc_context({"savefig.bbox": None}):  # a tight box would crop the pictures to different sizes
            writer.setup(self._figure, path, dpi=DPI)
            try:
                for frame in range(len(self._scene.times)):
                    self._place(frame)
                    writer.grab_frame()
            except BaseException:
                with contextlib.suppress(Exception):
                    writer.finish()  # terminates the program
                raise
            writer.finish()
