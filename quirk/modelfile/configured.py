"""Which parts of a system are active, and what stands in the place of others, as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quirk.body import GROUND
from quirk.configuration import Configuration
from quirk.constraints.slip import OfSurfaces
from quirk.constraints.sticking import Sticking
from quirk.constraints.unilateral import Unilateral
from quirk.errors import InputError
from quirk.forces import Friction
from quirk.system import System

from .mistakes import Mistakes
from .parts import FLAWED, PartMaker
from .written import UnwritableError, table_of_part


def configuration_table(configuration: Configuration, system: System) -> dict[str, Any]:
    """Return a configuration of a system as texts, numbers, lists and dicts.

    Raises
    ------
    InputError
        If a part that stands in the place of another cannot be written, such as one with a Python function.
    """
    names = {id(part): part.name for part in [GROUND, *system]}
    others = {}
    for name, part in configuration.others:
        try:
            others[name] = _other(part, system[name], names)
        except UnwritableError as error:
            raise InputError(f"{part}, which an event has put in its place, cannot be written: {error}") from None
    return {"active": sorted(configuration.active), "idle": sorted(configuration.idle), "others": others}


def configuration_of_table(table: Mapping[str, Any], system: System, where: str) -> Configuration:
    """Return what `configuration_table` has written; `where` says for messages what the table is of.

    Raises
    ------
    InputError
        If the table names what the system does not have, or describes what cannot be made.
    """
    try:
        others = {str(name): _part(other, system, str(name), where) for name, other in table["others"].items()}
        named = frozenset(map(str, table["active"])), frozenset(map(str, table["idle"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{where}: its active parts are damaged ({type(error).__name__}: {error})") from None
    for name in sorted(named[0] | named[1]):
        if name not in system:
            raise InputError(f'{where}: there is no part "{name}" in the system')
    return Configuration(*named, tuple(others.items()))


def _other(part: Any, original: Any, names: Mapping[int, str]) -> dict[str, Any]:
    """Return what makes a part of the one in whose place it stands."""
    if isinstance(original, Unilateral):
        return {"gap": original.gaps.index(part.primitives[0])}
    if isinstance(part, Sticking):
        (relation,) = part.primitives
        return {"sticking": list(part.which), "side": _side(relation.function.slip)}
    if isinstance(part, Friction):
        return {"sliding": part.direction.tolist(), "floor": float(part.floor), "side": _side(part.slip)}
    return {"part": table_of_part(part, names)}


def _side(slip: Any) -> int:
    return slip.side if isinstance(slip, OfSurfaces) else 1


def _part(table: Mapping[str, Any], system: System, name: str, where: str) -> Any:
    original = system[name]
    if "gap" in table:
        return original.closed[table["gap"]]
    if "sticking" in table:
        return original.sticking(tuple(table["sticking"]), table["side"])
    if "sliding" in table:
        return original.sliding(tuple(table["sliding"]), table["floor"], table["side"])
    mistakes = Mistakes(where, {})
    maker = PartMaker({}, mistakes)
    maker.made.update({part.name: part for part in system})
    made = maker.object(table["part"], (), f'{where}: "{name}"')
    mistakes.check()
    assert made is not FLAWED
    return made
