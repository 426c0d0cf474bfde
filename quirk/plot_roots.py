"""Root loci in the complex plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .figures import drawing

OWNER = "RootLocus.plot"


def draw_roots(values: np.ndarray, eigenvalues: np.ndarray, options: Mapping[str, Any]) -> Any:
    """Draw eigenvalues (p, F) over a parameter (p,), coloured by it; the left half plane is stable."""
    with drawing(OWNER, (7, 6), options) as sheet:
        (ax,) = sheet.axes(over_time=False)
        ax.plot(eigenvalues.real, eigenvalues.imag, color="#cccccc", linewidth=0.8, zorder=1)
        every = np.broadcast_to(values[:, None], eigenvalues.shape)
        dots = ax.scatter(eigenvalues.real, eigenvalues.imag, c=every, s=12, zorder=2)
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.axhline(0.0, color="black", linewidth=0.4)
        ax.set_xlabel("real part (1/s)")
        ax.set_ylabel("imaginary part (rad/s)")
        ax.grid(alpha=0.3)
        sheet.figure.colorbar(dots, ax=ax, label="parameter")
        return sheet.figure
