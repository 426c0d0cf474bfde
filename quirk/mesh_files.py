"""Meshes from files, read by trimesh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError

KINDS = (".stl", ".obj", ".glb", ".gltf", ".ply", ".off")


def triangles_of(owner: str, path: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return all vertices (n, 3) and triangles (k, 3) of a file, in the file's own units; parts are put in place.

    Raises
    ------
    InputError
        If there is no such file, it is of another kind or damaged, or has no triangles; if trimesh is not installed.
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
        # Colours and pictures of the file are not read, nor anything from the network.
        scene = trimesh.load_scene(str(file), process=False, skip_materials=True, allow_remote=False)
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        vertices = [np.asarray(part.vertices, dtype=float) for part in parts]
        faces = [np.asarray(part.faces, dtype=np.int64) for part in parts]
    except Exception as error:  # a damaged file makes readers fail in any way
        raise InputError(f"{owner}: {str(path)!r} cannot be read as a mesh: {type(error).__name__}: {error}") from error
    if not parts:
        raise InputError(f"{owner}: {str(path)!r} has no triangles")
    starts = np.cumsum([0, *(len(part) for part in vertices[:-1])])
    return np.concatenate(vertices), np.concatenate([part + start for part, start in zip(faces, starts, strict=True)])
