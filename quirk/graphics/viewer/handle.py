"""Handle of a browser view, to close the view or wait until it is closed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .serving import stopped

if TYPE_CHECKING:
    from .stage import ViewerStage

# Interval, s, between checks of whether the view has been closed; Ctrl-C is handled after each interval.
LOOK = 0.2
HEIGHT = 560
OPACITY_STEP = 0.05


class View:
    """A view in the browser, returned by `result.view()` and `system.view()`.

    Attributes
    ----------
    url : address for browsers on this machine
    """

    def __init__(self, server: Any) -> None:
        self._server: Any = server
        self._closed = threading.Event()
        self.url = f"http://{server.get_host()}:{server.get_port()}"
        server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")

    def add_looks(self, stage: ViewerStage, labels: bool, axes: bool, opacity: float) -> None:
        """Add controls to the page that show or hide names and joint axes, and set the opacity of bodies.

        `stage` is the displayed scene; `labels`, `axes` and `opacity` are the initial settings.
        """
        gui = self._server.gui
        names, lines = gui.add_checkbox("names", labels), gui.add_checkbox("axes of joints", axes)
        faint = gui.add_slider("opacity", OPACITY_STEP, 1.0, OPACITY_STEP, opacity)
        names.on_update(lambda event: stage.show_labels(bool(names.value)))
        lines.on_update(lambda event: stage.show_axes(bool(lines.value)))
        faint.on_update(lambda event: stage.fade(float(faint.value)))

    @property
    def closed(self) -> bool:
        """Whether the view has been closed."""
        return self._closed.is_set()

    def close(self) -> None:
        """Close the view; browsers keep the last image. Closing it again has no effect."""
        if not self._closed.is_set():
            self._closed.set()
            stopped(self._server)

    def wait(self) -> None:
        """Wait until the view is closed; Ctrl-C closes it.

        A view opened by a script is closed at the end of the script.
        """
        try:
            while not self._closed.wait(LOOK):
                pass
        except KeyboardInterrupt:
            self.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View: {'closed' if self.closed else self.url}>"

    def _repr_html_(self) -> str:
        """Return HTML that shows the view in a notebook."""
        if self.closed:
            return "<p>This view is closed.</p>"
        return f'<iframe src="{self.url}" width="100%" height="{HEIGHT}" style="border: none"></iframe>'
