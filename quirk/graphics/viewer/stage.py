"""Scene of a mechanism on a viser server: floor and displayed parts, moved from frame to frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import GROUND

from . import camera
from .contents import Contents
from .labels import Label, laid_out, on_screen, place_of
from .nodes import ROOT, BeamNode, CordNode, PartNode, TrailNodes, label_of, path_of
from .parts import Part, Track
from .poses import Poses

# Value of `follow` for the mean position of all bodies.
ALL = "all bodies"
# Half the width of the displayed region, scene units; viser's light, shadows and navigation suit this size.
HALF = 2.0
# Approximate number of grid squares across the displayed region.
SQUARES = 10
# Distance of the grid below the lowest point, relative to HALF; without it the grid would cover bodies on the floor.
BELOW = 0.004


class ViewerStage:
    """Scene of a mechanism on a viser server.

    Parameters
    ----------
    server : viser.ViserServer
    contents : displayed parts, with the poses in all animation frames
    follow : object that stays fixed in the view: the name of a body, ALL for all bodies, or "ground"; None for ALL if
        the mechanism travels far, otherwise "ground"
    labels : whether the names of bodies and joints are shown
    axes : whether the axes of joints are shown
    opacity : opacity of bodies, from 0 to 1
    """

    def __init__(
        self,
        server: Any,
        contents: Contents,
        *,
        follow: str | None = None,
        labels: bool = False,
        axes: bool = False,
        opacity: float = 1.0,
    ) -> None:
        self._scene, self._contents = server.scene, contents
        self._parts = [*contents.parts, *contents.axes]
        usual = ALL if contents.extent.is_wide else GROUND.name
        self.follow, self._shown = usual if follow is None else follow, 0
        self._middle, half = contents.extent.view(self.follow != GROUND.name)
        self._unit = HALF / half
        self._axes = camera.axes_of(contents.extent)
        self._scene.set_up_direction("+z")
        self._scene.world_axes.visible = False
        self._root = self._scene.add_frame(ROOT, show_axes=False, wxyz=rotation.from_matrix(self._axes.T))
        self._viewer = HALF * camera.DISTANCE * camera.direction(contents.extent)
        self._camera(server)
        self._ground(half)
        written = self._labels()
        self._nodes = [
            PartNode(self._scene, part, self._unit, written.get(k), labels, axes) for k, part in enumerate(self._parts)
        ]
        self._cords = [CordNode(self._scene, cord) for cord in contents.cords]
        self._beams = [
            BeamNode(
                self._scene,
                beam,
                self._in_scene_units(beam.vertices(contents.poses)[0]),
                beam.triangles(contents.poses),
            )
            for beam in contents.beams
        ]
        self._trails = [
            TrailNodes(self._scene, trail, k, self._in_scene_units(trail.path))
            for k, trail in enumerate(contents.trails)
        ]
        if opacity < 1.0:
            self.fade(opacity)
        self.move(contents.poses)

    def move(self, poses: Poses) -> None:
        """Replace the poses of all bodies, and show the first animation frame."""
        self._poses = poses
        self._tracks = [self._in_scene(part, part.track(poses)) for part in self._parts]
        self._swept = [self._in_scene_units(beam.vertices(poses)) for beam in self._contents.beams]
        self._paths = [(self._in_scene_units(cord.path(poses)), cord.shown(poses)) for cord in self._contents.cords]
        self.show(0)

    def show(self, k: int) -> None:
        """Show animation frame k, with trails up to its time."""
        self._shown = k
        for node, track in zip(self._nodes, self._tracks, strict=True):
            node.show(track, k)
        for cord, (path, acts) in zip(self._cords, self._paths, strict=True):
            cord.show(path, acts, k)
        for beam, vertices in zip(self._beams, self._swept, strict=True):
            beam.show(vertices, k)
        for trail in self._trails:
            trail.show(k)
        shift = self._unit * self._axes.T @ self._follow_displacement(k)
        self._root.position = -shift

    def _follow_displacement(self, k: int) -> np.ndarray:
        """Return the displacement (3,) of the followed body from the first frame to frame k, inertial frame, m."""
        if self.follow == GROUND.name:
            return np.zeros(3)
        paths = self._poses.position
        path = np.mean(list(paths.values()), axis=0) if self.follow == ALL else paths[self.follow]
        return np.asarray(path[k] - path[0])

    def show_labels(self, visible: bool) -> None:
        """Show or hide the names of parts."""
        for node in self._nodes:
            node.show_label(visible)

    def show_axes(self, visible: bool) -> None:
        """Show or hide the axes of joints."""
        for node in self._nodes:
            node.enable_axis(visible)
        self.show(self._shown)

    def fade(self, opacity: float) -> None:
        """Set the opacity of all bodies, from 0 to 1."""
        for node in self._nodes:
            node.fade(opacity)
        for beam in self._beams:
            beam.fade(opacity)

    def on_click(self, callback: Callable[[Part], None]) -> None:
        """Register `callback`, which is called with each part that is clicked."""
        for node in self._nodes:
            node.on_click(callback)

    def _in_scene_units(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3), inertial frame, m, in scene units from the center of the displayed region."""
        return (points - self._middle) * self._unit

    def _in_scene(self, part: Part, track: Track) -> Track:
        position = self._in_scene_units(track.position) if part.parent is None else track.position * self._unit
        return Track(position, track.orientation, track.shown, track.scale)

    def _labels(self) -> dict[int, Label]:
        """Return the placed names of parts, by index of the part."""
        parts = self._parts
        named = {k: text for k, part in enumerate(parts) if (text := label_of(part))}
        places = np.array([place_of(parts[k], self._contents.poses) for k in named]).reshape(-1, 3)
        dots = on_screen(self._in_scene_units(places) @ self._axes, self._viewer)
        found = laid_out(list(named.values()), dots, on_screen(self._letters @ self._axes, self._viewer))
        return dict(zip(named, found, strict=True))

    def _camera(self, server: Any) -> None:
        start = server.initial_camera
        start.fov = np.radians(camera.FIELD)
        start.position = tuple(self._viewer)
        start.look_at = (0.0, 0.0, 0.0)
        start.up = (0.0, 0.0, 1.0)

    def _ground(self, half: float) -> None:
        """Draw the inertial axes, the scale and, with gravity, a grid below all parts.

        `half` is half the width of the displayed region, m.
        """
        extent = self._contents.extent
        square = _rounded(2 * half / SQUARES)
        # Grid lines in both directions pass through the inertial origin.
        origin = self._axes.T @ self._in_scene_units(np.zeros(3))
        cell = square * self._unit
        nearest = origin[:2] - cell * np.round(origin[:2] / cell)
        height = self._unit * float(extent.floor - self._middle @ extent.up) - BELOW * HALF
        if self._contents.grounded:
            self._grid(cell, half, np.array([*nearest, height]))
        scale = f"1 square = {in_meters(square)}" if self._contents.grounded else f"axes of {in_meters(square)}"
        front = self._axes @ np.array([nearest[0], nearest[1] - np.ceil(HALF / cell) * cell, height])
        text = "\n".join([scale, *self._contents.notes])
        self._scene.add_label(path_of("square"), text, position=front, anchor="bottom-left")
        near = bool((np.abs(origin) <= 2.5 * HALF).all())
        corner = np.array([-HALF, -HALF, height])
        place = self._axes @ (origin if near else corner)
        self._scene.add_frame(
            path_of("axes"), axes_length=cell, axes_radius=0.006 * HALF, origin_radius=0.01 * HALF, position=place
        )
        tips = (cell + 0.03 * HALF) * np.eye(3)
        self._letters = place + tips
        for letter, tip in zip("xyz", tips, strict=True):
            self._scene.add_label(path_of("axes", letter), letter, position=tip, anchor="center-center")

    def _grid(self, cell: float, half: float, place: np.ndarray) -> None:
        """Draw a horizontal grid around the point `place` (3,), large enough for the whole motion.

        `cell` is the size of a square, scene units, and `half` half the width of the displayed region, m.
        """
        extent = self._contents.extent
        width = 2.5 * 2 * half + float((extent.high - extent.low).max())
        squares = 2 * int(np.ceil(0.5 * width * self._unit / cell))
        self._scene.add_grid(
            path_of("grid"),
            width=squares * cell,
            height=squares * cell,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(215, 215, 215),
            section_color=(170, 170, 170),
            fade_distance=30 * HALF,
            wxyz=rotation.from_matrix(self._axes),
            position=self._axes @ place,
        )


def _rounded(length: float) -> float:
    """Return the number among 1, 2 and 5 times powers of ten that is nearest to a length on a logarithmic scale."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(np.log(length / (digit * power)))))


def in_meters(length: float) -> str:
    """Return a length (m) as a string with a suitable unit."""
    for unit, size in (("km", 1e3), ("m", 1.0), ("mm", 1e-3), ("µm", 1e-6), ("nm", 1e-9)):
        if 1e3 * (1 - 1e-9) > length / size >= (1 - 1e-9) * (1.0 if unit != "m" else 0.1):
            return f"{length / size:.6g} {unit}"
    return f"{length:.6g} m"
