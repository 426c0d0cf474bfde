"""Plots of root loci and of paths of equilibria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .figures import drawing

OWNER = "RootLocus.plot"


def draw_roots(values: np.ndarray, eigenvalues: np.ndarray, options: Mapping[str, Any]) -> Any:
    """Draw a root locus: the F eigenvalues (p, F) of a linear system, colored by the p values of a parameter."""
    with drawing(OWNER, (7, 6), options) as sheet:
        (ax,) = sheet.axes(over_time=False)
        ax.plot(eigenvalues.real, eigenvalues.imag, color="#cccccc", linewidth=0.8, zorder=1)
        every = np.broadcast_to(values[:, None], eigenvalues.shape)
        dots = ax.scatter(eigenvalues.real, eigenvalues.imag, c=every, s=12, zorder=2)
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.axhline(0.0, color="black", linewidth=0.4)
        ax.set_xlabel("Real part (1/s)")
        ax.set_ylabel("Imaginary part (rad/s)")
        ax.grid(alpha=0.3)
        sheet.figure.colorbar(dots, ax=ax, label="Parameter")
        return sheet.figure


def draw_equilibria(
    values: np.ndarray,
    quantity: np.ndarray,
    stable: np.ndarray,
    turning: list[int],
    name: str,
    options: Mapping[str, Any],
) -> Any:
    """Draw a quantity of p equilibria over a parameter, with unstable parts dashed and dots at turning points.

    Parameters
    ----------
    values, quantity : (p,) values of the parameter and of the quantity
    stable : (p,) bool, stability of each equilibrium
    turning : indices of the turning points
    name : name of the quantity
    options : options of the plot
    """
    with drawing("EquilibriumPath.plot", (7, 5), options) as sheet:
        (ax,) = sheet.axes(over_time=False)
        # The part between two points has the stability of the first; after a turning point, that of the second.
        kinds = np.array([stable[k + 1] if k in turning else stable[k] for k in range(len(values) - 1)], dtype=bool)
        for held, line, color in ((True, "-", "#1f77b4"), (False, "--", "#d62728")):
            own = np.flatnonzero(kinds == held)
            ends = np.zeros(len(values), dtype=bool)
            ends[own] = ends[own + 1] = True
            if own.size:
                label = "stable" if held else "unstable"
                ax.plot(
                    np.where(ends, values, np.nan), np.where(ends, quantity, np.nan), line, color=color, label=label
                )
        if turning:
            ax.plot(values[turning], quantity[turning], "o", color="black", markersize=4, label="turning point")
        ax.set_xlabel("Parameter")
        ax.set_ylabel(name)
        ax.grid(alpha=0.3)
        sheet.legend(ax)
        return sheet.figure
