"""HTML representations of systems, mobility reports and constraint rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .drawings import pattern
from .tables import MOST_ROWS, box, counted, facts, listed, note, table, written

if TYPE_CHECKING:
    from quirk.analysis.mobility import Mobility
    from quirk.dynamics.dense.rows import ConstraintRows
    from quirk.system.system import System


def of_system(system: System) -> str:
    """Return HTML that lists the bodies, constraints, forces and events of a system.

    The rank of the constraint rows is omitted, because it requires compiled code.
    """
    bodies, constraints, forces, events = system.bodies, system.constraints, system.forces, system.events
    rows = system.model.rows
    start = system.initial_state()
    return box(
        f"System: {in_words(system)}",
        facts(
            {
                "gravity": f"{written(system.gravity)} m/s²",
                "mass": f"{sum(body.mass for body in bodies):.6g} kg",
                "6 × bodies − rows": f"6 × {len(bodies)} − {rows} = {6 * len(bodies) - rows}; degrees of freedom, "
                "unless rows are redundant: mobility() tells",
            }
        ),
        table(
            ["body", "mass (kg)", "principal moments (kg m²)", "position (m)"],
            (
                (body.name, body.mass, np.linalg.eigvalsh(body.inertia), start.position[k])
                for k, body in enumerate(bodies)
            ),
            len(bodies),
            "system.bodies",
        ),
        table(
            ["constraint", "kind", "body i", "body j", "rows", "active"],
            (
                (c.name, type(c).__name__, c.body_i.name, c.body_j.name, len(c.labels), _yes(system.is_active(c.name)))
                for c in constraints
            ),
            len(constraints),
            "system.constraints",
        ),
        table(
            ["force", "kind", "on"],
            ((f.name, type(f).__name__, listed([end.name for end in f.bodies])) for f in forces),
            len(forces),
            "system.forces",
        ),
        table(
            ["event", "kind"],
            ((event.name, type(event).__name__) for event in events),
            len(events),
            "system.events",
        ),
    )


def in_words(system: System) -> str:
    """Return a phrase with the numbers of bodies, constraints, forces and events of a system."""
    kinds: list[tuple[Sequence[object], str, str]] = [
        (system.bodies, "body", "bodies"),
        (system.constraints, "constraint", "constraints"),
        (system.forces, "force", "forces"),
        (system.events, "event", "events"),
    ]
    return ", ".join(counted(len(parts), one, many) for parts, one, many in kinds if parts)


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def of_mobility(mobility: Mobility) -> str:
    """Return HTML with a mobility report, including the loads that are not determined by the motion."""
    loads, shared = mobility.loads, mobility.shared
    near = [f"{label} ({distance:.1e})" for label, distance in mobility.nearly_dependent.items()]
    entries: dict[str, object] = {
        "degrees of freedom": f"{mobility.degrees_of_freedom} = 6 × {mobility.bodies} − rank {mobility.rank} "
        f"of {mobility.rows} rows",
        "by counting rows (Grübler)": mobility.gruebler,
        "redundant rows": listed(mobility.redundant),
        "smallest singular values": ", ".join(f"{value:.3g}" for value in mobility.singular_values) or "none",
        "joint loads": f"{len(loads) - len(shared)} of {len(loads)} are unique",
    }
    if mobility.blocked:
        entries["rigid to second order"] = f"{mobility.blocked} of the freedoms are velocities that lead nowhere"
    if near:
        entries["nearly redundant rows (distance from others)"] = listed(near)
    if mobility.held_motors:
        entries["motors on coordinates that constraints hold"] = listed(mobility.held_motors)
    return box(
        "Mobility",
        facts(entries),
        table(
            ["load that is not unique", "force", "torque"],
            ((name, loads[name].force, loads[name].torque) for name in shared),
            len(shared),
            "mobility.loads",
        ),
    )


def of_rows(rows: ConstraintRows) -> str:
    """Return HTML with constraint rows: sparsity pattern of A, and label, b and residuals of each row."""
    m, n = rows.A.shape[0], rows.A.shape[1] // 7
    title = f"Constraint rows: A of {m} × {7 * n}, {np.count_nonzero(rows.A)} entries that are not zero"
    if not m:
        return box(title)
    residual = f"largest |Φ| {np.abs(rows.phi).max():.1e}, largest |Φ'| {np.abs(rows.phi_dot).max():.1e}"

    def lines() -> Iterator[tuple[object, ...]]:
        yield from zip(rows.labels, rows.b, rows.phi, rows.phi_dot, strict=True)

    return box(
        title,
        note(residual),
        pattern(rows.A, rows.labels),
        table(["row", "b", "Φ", "Φ'"], lines(), m, "the arrays .b, .phi and .phi_dot") if m <= MOST_ROWS else "",
    )
