"""Search for the files to which robot descriptions refer, such as meshes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quirk.errors import InputError

SCHEMES = ("", "file", "package", "model")


@dataclass(frozen=True)
class Addresses:
    """Folders in which the files of a robot description are searched for.

    A robot description refers to a file as meshes/arm.stl, package://robot/arm.stl or model://robot.

    Attributes
    ----------
    packages : folders by name of the package
    folders : folders that contain packages
    """

    packages: Mapping[str, Path] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()

    def find(self, name: str, folder: Path, exists: Callable[[Path], bool] = Path.is_file) -> Path | None:
        """Return the path of the file that a robot description in `folder` calls `name`, or None if it is missing.

        `exists` is a function that returns whether a path exists.
        """
        scheme, _, rest = name.strip().rpartition("://")
        if scheme not in SCHEMES:
            return None
        for path in self._candidates(rest, folder, scheme in ("package", "model")):
            try:
                if exists(path):
                    return path
            except (OSError, ValueError):
                continue
        return None

    def _candidates(self, path: str, folder: Path, of_package: bool) -> Iterator[Path]:
        package, _, inside = path.partition("/")
        if of_package and package in self.packages:
            yield self.packages[package] / inside
        yield from (outer / path for outer in (folder, *self.folders))
        if of_package:
            # Without an explicit folder, the package is the folder of this file or one of its parents.
            around = folder.resolve().parents
            yield from (outer / path for outer in around[:3])
            yield from (outer / inside for outer in (folder, *around[:2]) if inside)


def checked_packages(owner: str, value: Any) -> Addresses:
    """Return the argument `packages` of an import as Addresses.

    `value` is a dict from names of packages to folders, or a list of folders that contain packages. `owner` is the name
    of the importing function, for error messages.
    """
    if value is None:
        return Addresses()
    if isinstance(value, Mapping) and all(isinstance(k, str) and isinstance(v, str | Path) for k, v in value.items()):
        return Addresses({name: Path(folder) for name, folder in value.items()})
    if isinstance(value, list | tuple) and all(isinstance(folder, str | Path) for folder in value):
        return Addresses(folders=tuple(map(Path, value)))
    raise InputError(
        f'{owner}: packages must map names of packages to folders, {{"arm": "/robots/arm"}}, or list folders that '
        f'contain packages, ["/robots"]; got {value!r}'
    )
