"""Plots over time: overview, bodies and joints, energies, residuals and rank.

A sheet is a figure, or the user's axes, on which a plot is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from quirk.errors import InputError
from quirk.result.body_views import BodyView
from quirk.result.constraint_health import health
from quirk.result.curves import Curve, quantity_of
from quirk.result.joint_views import FREE, JointView
from quirk.result.named_quantities import curve
from quirk.result.result import Result

from .figures import draw_largest, literal_text
from .line_styles import OF_SUMS
from .sheet import Sheet

LETTERS = "xyz"
# Maximum number of constraint rows for dense computations, whose cost grows with the cube of the number.
MOST_ROWS = 500


def draw_overview(sheet: Sheet, result: Result) -> None:
    """Draw four axes: energies, residuals, displacements of bodies, and joint forces."""
    axes = sheet.axes(2, 2)
    draw_energy(sheet, axes[0], result)
    draw_residuals(sheet, axes[1], result)
    moved = np.linalg.norm(result.state.position - result.state.position[0], axis=2)
    draw_largest(axes[2], result.time, {body.name: moved[:, b] for b, body in enumerate(result.system.bodies)})
    sheet.finish(axes[2], "displacement of the centers of mass", "Displacement", "m")
    loads = result._joint_loads
    forces = {c.name: np.linalg.norm(loads[c.name][:, 0], axis=1) for c in result._loaded if c.name in loads}
    draw_largest(axes[3], result.time, forces)
    sheet.finish(axes[3], "joint forces", "Force", "N")


def draw_motion(sheet: Sheet, result: Result, name: str, view: BodyView) -> None:
    """Draw position, velocity, orientation and angular velocity of the body `name`."""
    axes = sheet.axes(2, 2, sharex=True)
    sheet.title(literal_text(name))
    for ax, values, letters, title, what, unit in (
        (axes[0], view.position, LETTERS, "position, inertial axes", "Position", "m"),
        (axes[1], view.velocity, LETTERS, "velocity, inertial axes", "Velocity", "m/s"),
        (axes[2], view.orientation, "wxyz", "orientation (quaternion)", "Quaternion", ""),
        (axes[3], view.angular_velocity, LETTERS, "angular velocity, body axes", "Angular velocity", "rad/s"),
    ):
        draw_components(ax, result.time, values, letters)
        sheet.finish(ax, title, what, unit)


def draw_joint(sheet: Sheet, result: Result, name: str, view: JointView) -> None:
    """Draw displacement and rotation of the joint `name`, and their rates."""
    axes = sheet.axes(2, 2, sharex=True)
    sheet.title(f"{literal_text(name)}: frame j from frame i, in the axes of joint frame i (z is the joint axis)")
    for ax, values, title, what, unit in (
        (axes[0], view.displacement, "displacement", "Displacement", "m"),
        (axes[1], view.velocity, "rate of displacement", "Velocity", "m/s"),
        (axes[2], view.rotation, "1-2-3 angles", "Angle", "rad"),
        (axes[3], view.angular_velocity, "relative angular velocity", "Angular velocity", "rad/s"),
    ):
        draw_components(ax, result.time, values, LETTERS)
        sheet.finish(ax, title, what, unit)


def draw_coordinates(sheet: Sheet, result: Result, owner: str, joints: Any) -> None:
    """Draw the free coordinates of joints above their rates, angles in the left column and travels in the right.

    `joints` is the user's selection, or None.
    """
    names = _free_joints(result, owner, joints)
    kinds = [kind for kind in FREE if names[kind]]
    axes = sheet.axes(2, len(kinds), sharex=True)
    for column, kind in enumerate(kinds):
        for row, what in enumerate((kind, f"{kind}_rate")):
            found = {name: curve(owner, result, f"{name}.{what}") for name in names[kind]}
            ax = axes[row * len(kinds) + column]
            draw_largest(ax, result.time, {name: one.values for name, one in found.items()})
            title = f"{kind}s of joints" if row == 0 else f"rates of {kind}s"
            drawn = list(found.values())
            sheet.finish(ax, title, quantity_of(drawn), drawn[0].unit)


def _free_joints(result: Result, owner: str, joints: Any) -> dict[str, list[str]]:
    """Return the names of joints by kind of free coordinate: "angle", or "travel" along a single axis.

    `joints` is the user's selection, or None.
    """
    every = [c for c in result.system.constraints if any(getattr(c, axis, None) is not None for axis in FREE.values())]
    if joints is None:
        chosen = every
    else:
        named = [result.system[name] for name in ([joints] if isinstance(joints, str) else joints)]
        for one in named:
            if one not in every:
                raise InputError(f"{owner}: joints must have a free rotation or translation; got {one}")
        chosen = [one for one in every if one in named]
    if not chosen:
        raise InputError(f"{owner}: there is no joint with a free rotation or translation")
    return {kind: [c.name for c in chosen if getattr(c, axis, None) is not None] for kind, axis in FREE.items()}


def draw_quantities(sheet: Sheet, result: Result, curves: list[Curve]) -> None:
    """Draw the quantities `curves` over time; quantities with the same unit share axes."""
    units = list(dict.fromkeys(one.unit for one in curves))
    for ax, unit in zip(sheet.axes(len(units), 1, sharex=True), units, strict=True):
        own = [one for one in curves if one.unit == unit]
        for one in own:
            ax.plot(result.time, one.values, label=literal_text(one.name))
        sheet.finish(ax, literal_text(own[0].name) if len(own) == 1 else "", quantity_of(own), unit)


def draw_energy(sheet: Sheet, ax: Axes, result: Result) -> None:
    """Draw kinetic, potential and total energy."""
    for label in ("kinetic", "potential", "total"):
        ax.plot(result.time, getattr(result.energy, label), label=label)
    sheet.finish(ax, "energy", "Energy", "J")


def draw_energies(sheet: Sheet, result: Result) -> None:
    """Draw the kinetic energy of each body, and the potential energy of each force and of gravity."""
    above, below = sheet.axes(2, 1, sharex=True)
    state, model = result.state, result._model
    spin = state.angular_velocity
    kinetic = 0.5 * model.mass * (state.velocity**2).sum(axis=2)
    kinetic = kinetic + 0.5 * np.einsum("tni,nij,tnj->tn", spin, model.inertia, spin)
    draw_largest(above, result.time, {body.name: kinetic[:, b] for b, body in enumerate(result.system.bodies)})
    sheet.finish(above, "kinetic energy", "Energy", "J", "")
    draw_largest(below, result.time, result.energy.potential_of)
    sheet.finish(below, "potential energy", "Energy", "J")


def draw_residuals(sheet: Sheet, ax: Axes, result: Result) -> None:
    """Draw the largest residual over all constraints, and the largest rate of a residual."""
    residual = result.residual
    levels = ((residual.position, ".", "position level"), (residual.velocity, "x", "velocity level"))
    for values, marker, label in levels:
        # Exact zeros cannot be drawn on a logarithmic axis.
        ax.semilogy(result.time, np.where(values > 0, values, np.nan), marker, markersize=2, label=label)
    ax.set_ylim(1e-18, max(1e-12, 10 * residual.position.max(), 10 * residual.velocity.max()))
    sheet.finish(ax, "largest constraint residual", "Residual", "SI units")


def draw_rank(sheet: Sheet, result: Result) -> None:
    """Draw the number of constraint rows, the number of independent rows, and their smallest singular value."""
    above, below = sheet.axes(2, 1, sharex=True)
    rows = np.concatenate([np.full(len(s.time), s.model.rows) for s in result.segments])
    small = rows.max(initial=0) <= MOST_ROWS
    found = health(result) if small and rows.any() else None
    rank = np.concatenate([np.full(len(s.time), s.rank) for s in result.segments]) if found is None else found.rank
    above.step(result.time, rows, where="post", label="rows", **OF_SUMS)
    above.step(result.time, rank, where="post", label="independent")
    above.yaxis.get_major_locator().set_params(integer=True)
    sheet.finish(above, "constraint rows", "Rows", "", "")
    if found is not None:
        least = found.smallest_singular_value
        below.semilogy(result.time, np.where(least > 0, least, np.nan))
    left_out = f": not computed for more than {MOST_ROWS} rows" if found is None else ", over the largest"
    sheet.finish(below, f"smallest singular value of the independent rows{left_out}", "Singular value", "")


def draw_components(ax: Axes, time: np.ndarray, values: np.ndarray, letters: str) -> None:
    """Draw the columns of `values` (nt, k) over `time` (nt,), labeled by the k characters of `letters`."""
    for column, letter in enumerate(letters):
        ax.plot(time, values[:, column], label=letter)
