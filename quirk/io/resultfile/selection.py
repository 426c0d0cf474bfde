"""Selection of groups of variables, and of bodies, constraints and forces of a result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quirk.bodies.body import Body
from quirk.constraints import Constraint
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.result.joint_views import LOAD_FRAMES
from quirk.util import validate

if TYPE_CHECKING:
    from quirk.result.result import Result

# Groups of quantities, ordered by cost; the last two are expensive, and not available for all systems and runs.
GROUPS = (
    "motion",
    "activity",
    "events",
    "joints",
    "accelerations",
    "loads",
    "forces",
    "energy",
    "power",
    "momentum",
    "residuals",
    "sensitivities",
    "load_sensitivities",
    "derivatives",
)
USUAL = GROUPS[:-2]


@dataclass(frozen=True)
class Chosen:
    """The user's selection of variables, and of bodies, constraints and forces of a result.

    Attributes
    ----------
    result : Result
    groups : selected members of `GROUPS`
    bodies, constraints, forces : selected parts
    frame : axes in which joint loads are expressed
    """

    result: Result
    groups: tuple[str, ...]
    bodies: list[Body]
    constraints: list[Constraint]
    forces: list[ForceElement]
    frame: str

    @classmethod
    def of(cls, owner: str, result: Result, quantities: Any, only: Any, frame: str = "inertial") -> Chosen:
        """Return the selection for the arguments of a method, or raise an InputError.

        Parameters
        ----------
        owner : name of the method, for messages
        result : Result
        quantities : groups of variables, None for the default groups
        only : parts or names of parts, None for all
        frame : axes in which joint loads are expressed
        """
        system = result.system
        validate.choice(owner, "frame", frame, LOAD_FRAMES)
        groups = groups_named(owner, quantities)
        if only is None:
            return cls(result, groups, system.bodies, system.constraints, system.forces, frame)
        given: list[Any] = (
            [only] if isinstance(only, str | Body | Constraint | ForceElement) else _listed(owner, "only", only)
        )
        parts = list(dict.fromkeys(system[name] for name in given))
        for part in parts:
            if not isinstance(part, Body | Constraint | ForceElement):
                raise InputError(f"{owner}: only must name bodies, constraints and forces; got {part}")
        bodies = [part for part in parts if isinstance(part, Body)]
        constraints = [part for part in parts if isinstance(part, Constraint)]
        return cls(result, groups, bodies, constraints, [p for p in parts if isinstance(p, ForceElement)], frame)


def groups_named(owner: str, quantities: Any) -> tuple[str, ...]:
    """Return the groups of variables named in the argument `quantities`, in the order of `GROUPS`."""
    if quantities is None:
        return USUAL
    named = [quantities] if isinstance(quantities, str) else _listed(owner, "quantities", quantities)
    for name in named:
        validate.choice(owner, "quantities", name, GROUPS)
    return tuple(group for group in GROUPS if group in named)


def _listed(owner: str, argument: str, selection: Any) -> list[Any]:
    if not isinstance(selection, Iterable):
        raise InputError(f"{owner}: {argument} must be a name or a list of names; got {selection!r}")
    return list(selection)


def check_names(owner: str, result: Result) -> None:
    """Raise an InputError if the name of a body, constraint or force cannot be stored in files.

    `owner` is the name of the writing method.
    """
    names = [part.name for part in result.system] + result.events.name
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(f"{owner}: the name {name!r} cannot be stored in files: rename the part") from None
        if "\0" in name:
            raise InputError(f"{owner}: the name {name!r} contains a null character: rename the part")
