"""Reading of mesh files with trimesh."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError

KINDS = (".stl", ".obj", ".dae", ".glb", ".gltf", ".ply", ".off")
# Factor by which the cell size grows in each pass of the simplification; passes are repeated until few enough triangles
# remain.
COARSER = 1.25


def triangles_of(owner: str, path: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices (n, 3) and triangles (k, 3) of a mesh file; all parts of the file are combined.

    Coordinates are in the unit of the file, except those of Collada files, which state their unit: they are in meters.

    Raises
    ------
    InputError
        If the file does not exist, is damaged, has an unknown format or no triangles, or if trimesh is not installed.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"{owner}: path must be the name of a file; got {path!r}")
    file = Path(path)
    if file.suffix.lower() not in KINDS:
        raise InputError(f"{owner}: path must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}; got {str(path)!r}")
    try:
        if not file.is_file():
            raise InputError(f"{owner}: there is no file {str(path)!r}")
    except (OSError, ValueError) as error:
        raise InputError(f"{owner}: there is no file {str(path)!r}: {error}") from None
    try:
        import trimesh
    except ImportError:
        raise InputError(
            f'{owner}: meshes are read by trimesh, which is not installed: pip install "quirk-dynamics[mesh]"'
        ) from None
    try:
        scene = _scene(trimesh, owner, file)
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        vertices = [_meters(part) * np.asarray(part.vertices, dtype=float) for part in parts]
        faces = [np.asarray(part.faces, dtype=np.int64) for part in parts]
    except InputError:
        raise
    except Exception as error:  # a damaged file may cause any error in a reader
        raise InputError(f"{owner}: {str(path)!r} cannot be read as a mesh: {type(error).__name__}: {error}") from error
    if not parts:
        raise InputError(f"{owner}: {str(path)!r} has no triangles")
    starts = np.cumsum([0, *(len(part) for part in vertices[:-1])])
    return np.concatenate(vertices), np.concatenate([part + start for part, start in zip(faces, starts, strict=True)])


def _scene(trimesh: Any, owner: str, file: Path) -> Any:
    """Return the trimesh scene of a file, without colors and textures, and without network access."""
    if file.suffix.lower() != ".dae":
        return trimesh.load_scene(str(file), process=False, skip_materials=True, allow_remote=False)
    try:
        import collada  # noqa: F401
    except ImportError:
        raise InputError(
            f'{owner}: Collada files are read by pycollada, which is not installed: pip install "quirk-dynamics[mesh]"'
        ) from None
    data = file.read_bytes()
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise InputError(f"{owner}: {str(file)!r} declares a document type or an entity, which is not read")
    return trimesh.load_scene(io.BytesIO(data), file_type="dae", process=False)


def _meters(part: Any) -> float:
    """Return the length of the unit of coordinates in a Collada file, m, or 1 for formats that do not state a unit.

    `part` is one mesh of a trimesh scene.
    """
    words = str(part.metadata.get("units", "")).split(" * ")
    return float(words[0]) if len(words) == 2 and words[1] == "meters" else 1.0


def simplified(vertices: np.ndarray, triangles: np.ndarray, max_triangles: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a coarser mesh with at most `max_triangles` triangles, as vertices (n, 3) and triangles (k, 3).

    Space is divided into cubic cells, and all vertices in one cell are replaced by their mean. Triangles with fewer
    than three distinct vertices are removed. A closed surface stays closed.
    """
    if len(triangles) <= max_triangles:
        return vertices, triangles
    corners = vertices[triangles]
    low, size = vertices.min(axis=0), float(np.ptp(vertices, axis=0).max())
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    # A flat surface of this area has two triangles per cell.
    cell = max(float(np.sqrt(areas.sum() / max_triangles)), 1e-5 * size)
    while True:
        cells = np.floor((vertices - low) / cell).astype(np.int64)
        x, y, z = cells.T
        _, place = np.unique((x * (y.max() + 1) + y) * (z.max() + 1) + z, return_inverse=True)
        place = place.reshape(-1)
        kept = place[triangles]
        kept = kept[(kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])]
        if len(kept) <= max_triangles:
            counts = np.bincount(place)
            merged = np.stack([np.bincount(place, weights=vertices[:, k]) / counts for k in range(3)], axis=1)
            return merged, kept
        cell *= COARSER
