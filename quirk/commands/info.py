"""`quirk info`: parts of a model, degrees of freedom and violated constraints."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..analysis.assembly import check_consistent
from ..errors import InconsistentStateError, InputError
from ..system.system import System
from .models import model_at

# Maximum number of names listed for each kind of part; maximum number of constraint rows for which the mobility is
# analyzed, at a cost that grows with the cube of the number.
MOST_NAMED, MOST_ROWS = 20, 3000


def command(options: argparse.Namespace) -> str:
    """Print a summary of a model, and return "completed", or "failed" if the initial state violates a constraint."""
    model = model_at(options.model)
    system, start = model.system, float(model.run.get("start", 0.0))
    for kind in ("bodies", "constraints", "forces", "events"):
        print(_named(kind, getattr(system, kind)))
    idle = [constraint.name for constraint in system.constraints if not system.is_active(constraint.name)]
    if idle:
        print(f"disabled: {_listed(idle)}")
    print(f"gravity: {system.gravity.tolist()} m/s^2")
    print(f"mass: {sum(body.mass for body in system.bodies):.6g} kg")
    if system.model.rows <= MOST_ROWS:
        try:
            print(system.mobility(t=start))
        except InputError as error:  # the gap of a contact is negative, or contacts have no solution
            print(f"initial state: {error}")
            return "failed"
    else:
        print(f"mobility: not analyzed, there are more than {MOST_ROWS} rows")
    if len(system.bodies) > 1:
        print(_joined(system))
    if model.run:
        print(f"run: {', '.join(f'{name} = {value}' for name, value in model.run.items())}")
    try:
        check_consistent(system, system.initial_state(), start)
    except InconsistentStateError as error:
        print(f"initial state: {error}")
        return "failed"
    print("initial state: satisfies all constraints")
    return "completed"


def _named(kind: str, parts: Sequence[object]) -> str:
    return f"{kind}: {len(parts)}" + (f" ({_listed([str(part) for part in parts])})" if parts else "")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _joined(system: System) -> str:
    """Return a line of text with the groups of bodies that constraints connect."""
    groups = [_listed(group) for group in system.groups()]
    return f"groups of bodies connected by constraints: {len(groups)} ({'; '.join(groups[:MOST_NAMED])})"
