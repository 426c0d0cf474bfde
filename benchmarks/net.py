"""A net of rods, with many bodies joined at each point and many loops."""

from __future__ import annotations

import numpy as np

import quirk

from .models import GRAVITY

MASS = 0.05
THICKNESS = 0.01
MESH = 0.1  # length of a rod


def net(n: int) -> quirk.System:
    """Return a net of n x n points joined by 2 n (n - 1) rods, which hangs from the ground at its two upper corners.

    Point (i, j) is at A_i + B_j: A is an arc in the xz plane that sags between the corners, B is a zigzag in the yz
    plane that hangs down. The velocity of the point is w_i y + u_j x, where w vanishes at the corners and u along the
    upper edge. Each rod is a step of A, which moves along y, or a step of B, which moves along x, so that all lengths
    are constant for any w and u.
    """
    rng = np.random.default_rng(5)
    slope = np.linspace(-0.8, 0.8, n - 1)
    A = _path(np.column_stack([np.cos(slope), 0 * slope, np.sin(slope)]))
    lean = 0.5 * np.cos(2.0 * np.arange(n - 1))
    B = _path(np.column_stack([0 * lean, np.sin(lean), -np.cos(lean)]))
    w, u = rng.uniform(-0.1, 0.1, n), rng.uniform(-0.1, 0.1, n)
    w[[0, -1]], u[0] = 0.0, 0.0
    point = A[:, None] + B[None, :]
    velocity = np.zeros((n, n, 3))
    velocity[..., 0], velocity[..., 1] = u[None, :], w[:, None]

    rods: list[quirk.Body] = []
    ends: dict[tuple[int, int], list[tuple[quirk.Body, float]]] = {}
    for i in range(n):
        for j in range(n):
            for other in ((i + 1, j), (i, j + 1)):
                if max(other) < n:
                    rod = _rod(f"rod{len(rods)}", point[i, j], point[other], velocity[i, j], velocity[other])
                    rods.append(rod)
                    ends.setdefault((i, j), []).append((rod, -0.5))
                    ends.setdefault(other, []).append((rod, 0.5))
    joints = [
        _ball(f"point{i}-{j}-{k}", first, end)
        for (i, j), (first, *others) in ends.items()
        for k, end in enumerate(others)
    ]
    corners = [
        quirk.Spherical(
            f"corner{i}", quirk.GROUND, ends[i, 0][0][0], frame_i=quirk.Frame(point[i, 0]), frame_j=_end(ends[i, 0][0])
        )
        for i in (0, n - 1)
    ]
    return quirk.System([*rods, *corners, *joints], gravity=GRAVITY)


def _path(direction: np.ndarray) -> np.ndarray:
    """Return points (m + 1, 3) of a path with steps of length MESH along m given directions."""
    return np.vstack([np.zeros(3), np.cumsum(MESH * direction, axis=0)])


def _rod(name: str, start: np.ndarray, end: np.ndarray, v_start: np.ndarray, v_end: np.ndarray) -> quirk.Body:
    """Return a thin rod along its x axis between two points with given velocities."""
    x = (end - start) / MESH
    # x in the xz plane or in the yz plane, so never along this vector.
    y = np.cross([1.0, 1.0, 0.0] if abs(x[2]) > 0.9 else [0.0, 0.0, 1.0], x)
    y /= np.linalg.norm(y)
    R = np.column_stack([x, y, np.cross(x, y)])
    spin = np.cross(x, v_end - v_start) / MESH
    return quirk.Body(
        name,
        MASS,
        (MASS * THICKNESS**2 / 2, MASS * MESH**2 / 12, MASS * MESH**2 / 12),
        position=0.5 * (start + end),
        orientation=quirk.rotation.from_matrix(R),
        velocity=0.5 * (v_start + v_end),
        angular_velocity=R.T @ spin,
    )


def _end(end: tuple[quirk.Body, float]) -> quirk.Frame:
    return quirk.Frame([end[1] * MESH, 0, 0])


def _ball(name: str, rod_i: tuple[quirk.Body, float], rod_j: tuple[quirk.Body, float]) -> quirk.Spherical:
    return quirk.Spherical(name, rod_i[0], rod_j[0], frame_i=_end(rod_i), frame_j=_end(rod_j))
