"""Result of an import: a system, a list of omissions, and the body of each link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quirk.errors import InputError
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained

from .bodies import Bodies
from .description import DescriptionNames, at
from .left_out import LeftOut


@explained
@dataclass(frozen=True)
class Imported:
    """A system read from a file.

    Attributes
    ----------
    system : System
    left_out : tuple of str
        Omissions: contents of the file that the system lacks or represents differently, one line for each kind.
    links : dict of str
        Name of the body, or "ground", that contains each link of the file. Links that are fixed to each other form one
        body with a named frame for each link.
    """

    system: System
    left_out: tuple[str, ...]
    links: Mapping[str, str]


def finished(
    file: str, bodies: Bodies, parts: Iterable[Any], gravity: Any, names: DescriptionNames, left_out: LeftOut
) -> Imported:
    """Return the imported system, with its list of omissions.

    Parameters
    ----------
    file : name of the file, for messages
    bodies : bodies of the links
    parts : all other parts of the system
    gravity : (3,) m/s^2, inertial frame
    names : names in the system, including renamed ones
    left_out : omissions, which are contents of the file that are not imported exactly
    """
    for link in bodies.on_ground:
        if link.shapes:
            left_out.note("shapes of massless links fixed to the ground", f'link "{link.name}"')
    if not any(body.name != "ground" for body in bodies.of_link.values()):
        raise InputError(f"{file}: it has no moving link and no link with mass, so that there is no body to simulate")
    with at(file):
        system = System([*bodies.parts, *parts], gravity=gravity)
    lines = left_out.lines
    if names.changed:
        lines.append("names already in use: " + "; ".join(names.changed))
    return Imported(system, tuple(lines), {link: body.name for link, body in bodies.of_link.items()})


def checked_path(owner: str, value: Any) -> Path:
    """Return the path of an existing file; `owner` is the name of the importing function, for error messages."""
    if not isinstance(value, str | Path):
        raise InputError(f"{owner}: path must be the name of a file; got {value!r}")
    try:
        if not Path(value).is_file():
            raise InputError(f"{owner}: there is no file {str(value)!r}")
    except (OSError, ValueError) as error:
        raise InputError(f"{owner}: path {str(value)!r} cannot be used: {error}") from None
    return Path(value)


def checked_shapes(owner: str, value: Any) -> str | None:
    """Return the option `shapes`: "visual", "collision" or None; other values raise an InputError."""
    found: str | None = validate.choice(owner, "shapes", value, ("visual", "collision", None))
    return found


def checked_limits(owner: str, value: Any) -> bool:
    """Return the option `limits`; values other than True and False raise an InputError."""
    return validate.flag(owner, "limits", value)
