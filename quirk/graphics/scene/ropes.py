"""Lines of ropes and rods between points, over time."""

from __future__ import annotations

import itertools
from typing import Any, Protocol

import numpy as np

from quirk.bodies.body import Body
from quirk.bodies.frame import axes_with_z
from quirk.constraints import Distance, DistanceDrive, Pulley, Rope, TendonStop
from quirk.constraints.drum import rope_at_drum

# Color of ropes and rods, and width of their lines, points.
ROD_COLOR, ROD_WIDTH = "#333333", 1.8
# Number of points that represent the arc of a rope around a drum.
ARC = 12


class Paths(Protocol):
    """Interface of a scene for ropes: motion of bodies and points at nt times.

    `times` are (nt,), s. `poses` are positions (nt, 3) and rotation matrices (nt, 3, 3) by name of body. `path_of`
    returns the path (nt, 3) of a point of a body.
    """

    @property
    def times(self) -> np.ndarray: ...  # noqa: D102
    @property
    def poses(self) -> dict[str, tuple[np.ndarray, np.ndarray]]: ...  # noqa: D102
    def path_of(self, body: Any, local: np.ndarray, /) -> np.ndarray: ...  # noqa: D102


def rods(scene: Paths, constraints: Any) -> list[tuple[Any, np.ndarray]]:
    """Return the constraints that are drawn as ropes or rods, with the points (nt, k, 3) of their lines.

    The points are in the inertial frame, m.
    """
    found: list[tuple[Any, np.ndarray]] = []
    for constraint in constraints:
        if isinstance(constraint, Pulley):
            found.append((constraint, _over_drums(scene, constraint)))
        elif isinstance(constraint, Distance | DistanceDrive | Rope):
            ends = [scene.path_of(body, frame.origin) for body, frame in constraint.ends]
            found.append((constraint, np.stack(ends, axis=1)))
        elif isinstance(constraint, TendonStop):
            spans = [[scene.path_of(*point) for point in span] for span in constraint.spans]
            found += [(constraint, np.stack(span, axis=1)) for span in spans]
    return found


def _over_drums(scene: Paths, pulley: Pulley) -> np.ndarray:
    centers = [scene.path_of(body, place) for body, place in zip(pulley.met, pulley.places, strict=True)]
    axes = [None if drum is None else _axes(scene, drum) for drum in pulley.drums]
    return np.array([_pulley_path(pulley, [c[t] for c in centers], axes, t) for t in range(len(scene.times))])


def _axes(scene: Paths, drum: Any) -> np.ndarray:
    """Return the axes (nt, 3, 3) of a drum in the inertial frame, as columns; the third is its axis of rotation."""
    own = axes_with_z(drum.axis)
    if not isinstance(drum.body, Body):
        return np.tile(own, (len(scene.times), 1, 1))
    return np.asarray(scene.poses[drum.body.name][1] @ own)


def _pulley_path(pulley: Pulley, centers: list[np.ndarray], axes: list[Any], t: int) -> np.ndarray:
    """Return the points (k, 3) of a rope over sheaves, inertial frame, m, at the time with index `t`.

    The rope consists of straight parts and arcs. `pulley` is its constraint; `centers` are the centers of the sheaves
    over time, and `axes` their axes.
    """
    parts, count = [], len(centers)
    for k, drum in enumerate(pulley.drums):
        if drum is None:
            parts.append(centers[k][None])
            continue
        own = axes[k][t]
        neighbors = ((n % count if pulley.closed else n) for n in (k - 1, k, k + 1))
        radii = [_radius(pulley, axes, own, t, n) for n in neighbors]
        _, _, ends = rope_at_drum(*pulley.path.around(centers, k), own, *radii)
        if k in pulley.path.inner:
            parts.append(_arc(centers[k], own, drum.radius, ends))
        else:
            parts.append(ends[1 if k == 0 else 0][None])
    return np.concatenate([*parts, *([parts[0][:1]] if pulley.closed else [])])


def _radius(pulley: Pulley, axes: list[Any], body_axes: np.ndarray, picture: int, sheave: int) -> float:
    """Return the radius (m) of a sheave, negative if its axis is opposite to the third column of `body_axes` (3, 3).

    `axes` are the axes of all sheaves over time, `sheave` is the index of the sheave, and `picture` the index of the
    time.
    """
    drum = pulley.drums[sheave] if 0 <= sheave < len(pulley.drums) else None
    return 0.0 if drum is None else float(np.copysign(drum.radius, axes[sheave][picture][:, 2] @ body_axes[:, 2]))


def _arc(center: np.ndarray, axes: np.ndarray, radius: float, end_points: list[np.ndarray]) -> np.ndarray:
    start, end = (np.angle(complex(*(axes[:, :2].T @ (point - center)))) for point in end_points)
    angle = start + np.linspace(0.0, (end - start) % (2 * np.pi), ARC)
    return np.asarray(center + radius * (np.outer(np.cos(angle), axes[:, 0]) + np.outer(np.sin(angle), axes[:, 1])))


def chunks(points: np.ndarray, size: int) -> list[np.ndarray]:
    """Return a line (k, 3) divided into pieces of `size` points.

    Each piece begins at the last point of the previous one.
    """
    starts = range(0, max(len(points) - 1, 1), size - 1)
    return [points[a : a + size] for a in itertools.takewhile(lambda a: a < len(points), starts)]
