"""Display of force elements in the viewer, and arrows of forces and torques."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba

from quirk.constraints import Constraint
from quirk.constraints.constraint import initial_point
from quirk.errors import InputError
from quirk.result import pose_interpolation as in_between
from quirk.util.si_prefixes import prefixed

from ..scene.force_shapes import POINTS_OF_A_TURN, STRAIGHT, TURNS
from .parts import Arrow, Look, Part, Span
from .surfaces import SurfaceMesh, arrow, tube

if TYPE_CHECKING:
    from quirk.forces import ForceElement
    from quirk.result.result import Result
    from quirk.system.system import System

STEEL, LINE = to_rgba("#6f7378"), to_rgba("#555555", 0.7)
FORCE, TORQUE = to_rgba("#cc3311"), to_rgba("#882255")
# Radius of a coil relative to its length; its smallest and largest value relative to the size of the mechanism; radius
# of the wire relative to that of the coil; radius of a straight line relative to the size of the mechanism.
COIL, LEAST, MOST, WIRE, THIN = 0.07, 0.008, 0.04, 0.15, 0.003
# Length of the longest arrow relative to the size of the mechanism; radii of shaft and head and length of the head
# relative to the length of the arrow.
LONGEST, SHAFT, HEAD, HEAD_LENGTH = 0.45, 0.02, 0.055, 0.18
# Torques below this fraction of the largest force times the size of the mechanism, and forces below the corresponding
# bound, are round-off.
ROUND_OFF = 1e-9


def element_parts(elements: Sequence[ForceElement], size: float) -> list[Part]:
    """Return coils for springs, and lines for other force elements between two points.

    `size` is the size of the mechanism, m.
    """
    found: list[Part] = []
    for element in elements:
        if element.drawing not in ("coil", "line"):
            continue
        for number, (one, two) in enumerate(element.lines):
            length = float(np.linalg.norm(initial_point(*one) - initial_point(*two))) or size
            look = Look(_coil(size, length), STEEL) if element.drawing == "coil" else Look(_line(size), LINE)
            name = element.name + (f" span {number + 1}" if number else "")
            found.append(Span(name, [look], (one, two), element.name))
    return found


def checked_arrows(system: System, elements: Mapping[str, ForceElement], arrows: Any) -> list[str]:
    """Return the names of constraints and forces whose loads are shown, from the user's argument `arrows`.

    "all" selects all constraints and forces.
    """
    known = [c.name for c in system.constraints if not _keeps_plane(system, c)] + list(elements)
    if isinstance(arrows, str) and arrows == "all":
        return known
    names = [arrows] if isinstance(arrows, str) else arrows
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(f'arrows must be names of constraints and forces, or "all"; got {arrows!r}')
    for name in names:
        if name not in elements and not isinstance(system[name], Constraint):
            raise InputError(f"arrows: loads are those of constraints and forces; got {system[name]}")
    return list(dict.fromkeys(names))


def arrow_parts(result: Result, names: Sequence[str], size: float) -> tuple[list[Part], list[str]]:
    """Return arrows of the loads of constraints and forces, and strings with the magnitudes of the longest ones.

    The arrows start at the joint point on body j, or on the last body. Forces have a common scale, and so have torques;
    `size` is the size of the mechanism, m.
    """
    loads: dict[tuple[str, str], np.ndarray] = {}
    for name in names:
        loads[name, "force"] = result[name].force()
        loads[name, "torque"] = result[name].torque()
    most = {
        kind: max((_largest(v) for (_, k), v in loads.items() if k == kind), default=0.0)
        for kind in ("force", "torque")
    }
    scale = max(most["force"], most["torque"] / size)
    found: list[Part] = []
    for (name, kind), vectors in loads.items():
        unit = scale if kind == "force" else scale * size
        if _largest(vectors) <= ROUND_OFF * unit:
            continue
        part: Any = result._elements.get(name) or result.system[name]
        body, frame = part.ends[1] if isinstance(part, Constraint) else part.acting_ends[-1]
        longest = LONGEST * size
        look = Look(arrow(SHAFT, HEAD, HEAD_LENGTH, 1 if kind == "force" else 2), FORCE if kind == "force" else TORQUE)
        drawn = _drawn(result, vectors * (longest / most[kind]))
        found.append(Arrow(f"{name} {kind}", [look], body, frame.origin, name, drawn, longest))
    kinds = [kind for kind in most if any(part.name.endswith(f" {kind}") for part in found)]
    return found, [f"longest {kind} {_in_unit(most[kind], kind)}" for kind in kinds]


def _in_unit(value: float, kind: str) -> str:
    factor, unit = prefixed("N" if kind == "force" else "N m", value)
    return f"{value / factor:.3g} {unit}"


def _drawn(result: Result, vectors: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: in_between.linear(result, vectors, times)


def _largest(vectors: np.ndarray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())


def _keeps_plane(system: System, constraint: Constraint) -> bool:
    return any(constraint is companion for companion in system.companions)


def _coil(size: float, length: float) -> SurfaceMesh:
    """Return the surface of a coil spring of length 1 along z, with straight ends.

    The surface is later scaled along z to the length `length`, m; the cross section of the wire is then round. `size`
    is the size of the mechanism, m, which limits the radius of the coil.
    """
    s = np.linspace(0.0, 1.0, TURNS * POINTS_OF_A_TURN + 1)
    angle = 2 * np.pi * TURNS * s
    radius = float(np.clip(COIL * length, LEAST * size, MOST * size))
    turns = np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius
    middle = np.column_stack([turns, length * (STRAIGHT + (1 - 2 * STRAIGHT) * s)])
    foot, top = np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, length])
    path = np.vstack([foot, STRAIGHT * 0.9 * top, middle, (1 - STRAIGHT * 0.9) * top, top])
    return tube(path, radius * WIRE, 6).scaled(np.array([1, 1, 1 / length]))


def _line(size: float) -> SurfaceMesh:
    return tube(np.array([[0, 0, 0], [0, 0, 1.0]]), THIN * size, 6)
