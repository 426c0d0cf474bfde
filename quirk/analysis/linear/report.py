"""Text report of an equilibrium: coordinates, residuals, stability and loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.constraints import Joint
from quirk.dynamics.dense.rows import residuals
from quirk.errors import InputError
from quirk.util.rounding import loads_rounded_off, rounded_off

from ..joint_coordinates import coordinate
from .equilibrium import GROWS

if TYPE_CHECKING:
    from .equilibrium import Equilibrium

# Maximum number of joints, bodies and loads that are listed, and of eigenvalues and names in one line.
MOST_LINES, MOST_NAMED = 12, 4
# Maximum number of bodies for which the report computes stability, and of constraint rows for which it computes the
# uniqueness of loads. For larger systems both are computed only on request.
MOST_BODIES, MOST_ROWS = 60, 500

FREE = (("angle", "rotation", "rad"), ("travel", "translation", "m"))


def report(equilibrium: Equilibrium) -> str:
    """Return the text that `print(equilibrium)` shows, at most about thirty lines."""
    model, count = equilibrium.system.model, len(equilibrium.position)
    errors = residuals(model, Kinematics.of(equilibrium), equilibrium.time, 0)[:, 0] if model.rows else np.zeros(0)
    lines = [
        f"equilibrium of {count} {'body' if count == 1 else 'bodies'} at t = {equilibrium.time:g} s",
        f"accelerations left     {equilibrium.residual:.1e} of those due to the loads alone",
        f"constraint residual    {np.abs(errors).max(initial=0.0):.1e} at position level",
        f"stability              {_stability(equilibrium)}",
    ]
    return "\n".join([*lines, *_pose(equilibrium), *_loads(equilibrium)])


def _stability(equilibrium: Equilibrium) -> str:
    if len(equilibrium.position) > MOST_BODIES:
        return "ask for .stable"
    try:
        values = equilibrium.eigenvalues
    except InputError as error:
        return f"not known: {error}"
    if not len(values):
        return "nothing is free to move"
    said = "stable" if equilibrium.stable else "not stable"
    # The same threshold as for `stable`.
    least = GROWS * float(np.abs(values).max())
    real, imaginary = (np.where(np.abs(part) > least, part, 0.0) for part in (values.real, values.imag))
    # One of each pair, in decreasing order of growth.
    pairs = sorted({(-a, b) for a, b in zip(real, imaginary, strict=True) if b >= 0})
    return f"{said}: eigenvalues {_listed([_number(-a, b) for a, b in pairs])} 1/s"


def _number(real: float, imaginary: float) -> str:
    """Return a real eigenvalue or a conjugate pair of eigenvalues as text."""
    if not imaginary:
        return f"{real:.4g}"
    return f"{real:.4g} ± {imaginary:.4g}i" if real else f"± {imaginary:.4g}i"


def _pose(equilibrium: Equilibrium) -> list[str]:
    """Return lines with the free joint coordinates, or with positions of bodies if there are no joints."""
    system = equilibrium.system
    joints = [c for c in system.constraints if isinstance(c, Joint) and system.is_active(c.name)]
    free = [
        (joint, *names) for joint in joints for names in FREE if getattr(joint, f"{names[1]}_axis") is not None
    ]  # fmt: skip
    if not free:
        names = [body.name for body in system.bodies]
        places = rounded_off(equilibrium.position, system.model.length)
        rows = [(name, _vector(place)) for name, place in zip(names, places, strict=True)]
        return _table("body", "position (m)", rows, "bodies")
    shown = []
    for joint, name, kind, unit in free[:MOST_LINES]:
        value = rounded_off(coordinate(system, equilibrium, joint, kind), system.model.length if unit == "m" else 1.0)
        shown.append((f"{joint.name}.{name}", f"{value:12.6g} {unit}"))
    return _table("joint coordinate", "", [*shown, *[("", "")] * (len(free) - len(shown))], "joint coordinates")


def _loads(equilibrium: Equilibrium) -> list[str]:
    """Return lines with the loads of the constraints, and whether they are unique.

    If there are many constraints, only the largest loads are listed.
    """
    loads, model = equilibrium.loads, equilibrium.system.model
    if not loads:
        return []
    both = np.stack([[load.force, load.torque] for load in loads.values()])
    both = loads_rounded_off(both, model.length)
    sizes = np.linalg.norm(both, axis=2) @ [1.0, 1.0 / model.length]
    names = list(loads)
    order = range(len(names)) if len(names) <= MOST_LINES else np.argsort(-sizes, kind="stable")
    rows = [(names[k], f"{_vector(both[k, 0])}   {_vector(both[k, 1])}") for k in order]
    head = f"{'force (N)':>38}   {'torque (N m)':>38}"
    return [*_table("load on body j, inertial", head, rows, "loads, smaller"), _uniqueness(equilibrium)]


def _uniqueness(equilibrium: Equilibrium) -> str:
    if equilibrium.system.model.rows > MOST_ROWS:
        return "which loads are unique, system.mobility(equilibrium) tells"
    shared = equilibrium.system.mobility(equilibrium, equilibrium.time).shared
    if not shared:
        return "all joint loads are unique"
    return f"not unique, shared by least squares: {_listed(shared)}"


def _table(title: str, values_title: str, rows: Sequence[tuple[str, str]], omitted: str) -> list[str]:
    """Return lines with names and values; the last line states the number of omitted entries.

    `rows` are pairs of name and value as text, `title` and `values_title` are the titles of both columns, and `omitted`
    is the noun for the omitted entries.
    """
    shown = rows[:MOST_LINES]
    width = max(len(title), *(len(name) for name, _ in shown))
    lines = [f"{title:<{width}}   {values_title}".rstrip(), *(f"{name:<{width}}   {said}" for name, said in shown)]
    return lines if len(rows) == len(shown) else [*lines, f"and {len(rows) - len(shown)} more {omitted}"]


def _vector(values: np.ndarray) -> str:
    return " ".join(f"{value + 0.0:12.6g}" for value in values)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
