"""The scene of viser: one node (viser's term for an object in a scene) for each displayed part and trail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .labels import Label
from .parts import Arrow, AxisMarker, BeamSurface, BodyPart, Cord, Look, Marker, Part, PathTrail, Track

ROOT = "/N"
# Number of animation frames per piece of a trail. A completed piece is sent to the browser once; only the last piece is
# sent in each frame.
STRETCHES = 30
TRAIL_WIDTH, CORD_WIDTH = 2.5, 3.5
# Font size of names relative to that of other texts.
NAME_SIZE = 0.75


def path_of(kind: str, *names: str) -> str:
    """Return the path of a node in the scene; slashes in names are replaced."""
    return "/".join([ROOT, kind, *(name.replace("/", "\N{DIVISION SLASH}") for name in names)])


def node_name(part: Part) -> str:
    """Return the path of the node of a part in the scene.

    It starts with "bodies" for bodies and parts fixed to them, otherwise with "ground" or "between".
    """
    if isinstance(part, BodyPart):
        return path_of("bodies", part.name)
    if part.parent is not None:
        return path_of("bodies", part.parent.name, part.name)
    return path_of("ground" if isinstance(part, Marker) else "between", part.name)


def label_of(part: Part) -> str:
    """Return the displayed name of a part.

    The string is empty for arrows, bodies of beams, and all symbols of a joint except one.
    """
    if isinstance(part, Arrow) or (isinstance(part, BodyPart) and not part.labeled):
        return ""
    if isinstance(part, Marker):
        return part.of if part.labeled else ""
    return part.name


def rgb(color: Any) -> tuple[int, int, int]:
    """Return a color (r, g, b, ...) with components from 0 to 1 as three integers from 0 to 255."""
    r, g, b = (round(255 * float(x)) for x in color[:3])
    return r, g, b


class PartNode:
    """Scene node of a displayed part, moved in each animation frame.

    Parameters
    ----------
    scene : viser's SceneApi
    part : the displayed part
    unit : scene units per meter
    label : the placed name, or None
    labels : whether the name is shown
    axes : whether joint axes are shown
    """

    def __init__(self, scene: Any, part: Part, unit: float, label: Label | None, labels: bool, axes: bool) -> None:
        self.part, self._enabled = part, axes or not isinstance(part, AxisMarker)
        self._name, self._unit = node_name(part), unit
        self._frame = scene.add_frame(self._name, show_axes=False)
        self._meshes = [self._mesh(scene, look, k, unit) for k, look in enumerate(part.looks)]
        self._label = (
            None
            if label is None
            else scene.add_label(
                f"{self._name}/name", label.text, anchor=label.anchor, visible=labels, font_screen_scale=NAME_SIZE
            )
        )
        self._now: dict[str, Any] = {"shown": True}

    def _mesh(self, scene: Any, look: Look, k: int, unit: float) -> Any:
        surface, opacity = look.surface.scaled(unit), float(look.color[3])
        return scene.add_mesh_simple(
            f"{self._name}/surface {k + 1}",
            surface.vertices,
            surface.triangles,
            color=rgb(look.color),
            opacity=None if opacity >= 1.0 else opacity,
            side="front" if surface.closed else "double",
            cast_shadow=opacity >= 1.0,
        )

    def show(self, track: Track, k: int) -> None:
        """Move the part to its pose in animation frame k; only changed values are sent to the browser.

        `track` contains the poses of the part in all frames.
        """
        shown = self._enabled and bool(_at(track.shown, k))
        if shown != self._now["shown"]:
            self._frame.visible = self._now["shown"] = shown
        if not shown:
            return
        for key, values in (("position", track.position), ("wxyz", track.orientation)):
            value = _at(values, k)
            if key not in self._now or not np.array_equal(value, self._now[key]):
                setattr(self._frame, key, value)
                self._now[key] = value
        if track.scale is not None and not np.array_equal(_at(track.scale, k), self._now.get("scale", 0.0)):
            self._now["scale"] = _at(track.scale, k)
            for mesh in self._meshes:
                mesh.scale = tuple(self._now["scale"].tolist())
            if self._label is not None:
                self._label.position = (0.0, 0.0, 0.5 * self._unit * self._now["scale"][2])

    def enable_axis(self, enabled: bool) -> None:
        """Show or hide the part if it is a joint axis."""
        if isinstance(self.part, AxisMarker):
            self._enabled = enabled

    def fade(self, opacity: float) -> None:
        """If the part is a body, multiply its opacity by a factor from 0 to 1."""
        for mesh, look in zip(self._meshes, self.part.looks if isinstance(self.part, BodyPart) else (), strict=False):
            whole = opacity * float(look.color[3])
            mesh.opacity = None if whole >= 1.0 else whole
            mesh.cast_shadow = whole >= 1.0

    def on_click(self, callback: Callable[[Part], None]) -> None:
        """Call `callback` with the part whenever the part is clicked."""
        for mesh in self._meshes:
            mesh.on_click(lambda event: callback(self.part))

    def show_label(self, visible: bool) -> None:
        """Show or hide the name of the part."""
        if self._label is not None:
            self._label.visible = visible


class CordNode:
    """Scene node of the rope of a pulley; its line is sent to the browser in each animation frame."""

    def __init__(self, scene: Any, cord: Cord) -> None:
        self._line = scene.add_line_segments(
            path_of("between", cord.name),
            np.zeros((1, 2, 3)),
            rgb(cord.color),
            thickness=CORD_WIDTH,
            thickness_units="screen",
        )

    def show(self, path: np.ndarray, visible: np.ndarray, k: int) -> None:
        """Show the rope in animation frame k.

        `path` (nt, c, 3) are c points of the rope in all frames, and `visible` (nt,) is a mask of the frames in which
        it is visible.
        """
        self._line.visible = bool(_at(visible, k))
        self._line.points = np.stack([path[k, :-1], path[k, 1:]], axis=1).astype(np.float32)


class BeamNode:
    """Scene node of an elastic beam; the vertices of its surface are sent to the browser in each animation frame."""

    def __init__(self, scene: Any, surface: BeamSurface, vertices: np.ndarray, triangles: np.ndarray) -> None:
        self._opacity = float(surface.color[3])
        self._mesh = scene.add_mesh_simple(
            path_of("beams", surface.name),
            vertices.astype(np.float32),
            triangles,
            color=rgb(surface.color),
            opacity=None if self._opacity >= 1.0 else self._opacity,
            flat_shading=not surface.smooth,
            side="double",
        )

    def show(self, vertices: np.ndarray, k: int) -> None:
        """Show the surface in animation frame k; `vertices` (nt, n, 3) are its n vertices in all frames."""
        self._mesh.vertices = vertices[k].astype(np.float32)

    def fade(self, opacity: float) -> None:
        """Multiply the opacity of the color by a factor from 0 to 1."""
        whole = opacity * self._opacity
        self._mesh.opacity = None if whole >= 1.0 else whole


class TrailNodes:
    """Scene nodes of the path of a point up to the present time: completed pieces, and the incomplete last one."""

    def __init__(self, scene: Any, trail: PathTrail, number: int, path: np.ndarray) -> None:
        name = path_of("trails", f"{trail.name} {number + 1}")
        self._path = np.stack([path[:, :-1], path[:, 1:]], axis=2)  # (nt, k, 2, 3)
        self._shown = 0

        def lines(part: str, points: np.ndarray, visible: bool) -> Any:
            color = rgb(trail.color)
            return scene.add_line_segments(
                f"{name}/{part}",
                points.reshape(-1, 2, 3),
                color,
                thickness=TRAIL_WIDTH,
                thickness_units="screen",
                visible=visible,
            )

        starts = range(0, len(path) - STRETCHES, STRETCHES)
        self._behind = [lines(f"{k // STRETCHES + 1}", self._path[k : k + STRETCHES], False) for k in starts]
        self._head = lines("head", self._path[:1], True)

    def show(self, k: int) -> None:
        """Show the path up to animation frame k."""
        done = k // STRETCHES
        for number in range(min(done, self._shown), max(done, self._shown)):
            self._behind[number].visible = number < done
        self._shown = done
        self._head.points = self._path[done * STRETCHES : k + 1].reshape(-1, 2, 3).astype(np.float32)


def _at(values: np.ndarray, k: int) -> Any:
    """Return the value for animation frame k from an array with one row per frame, or one row for all frames."""
    return values[k if len(values) > 1 else 0]
