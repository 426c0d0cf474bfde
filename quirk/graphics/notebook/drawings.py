"""Small SVG drawings for notebooks, in the text color of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .tables import escaped

# Width and height of a plot, pixels, and maximum number of points of each line.
WIDTH, HEIGHT, MOST_POINTS = 420, 120, 200
# Colors readable on white and on black; the first is the text color of the page.
COLORS = ("currentColor", "#3b8bd0", "#e07b39", "#3fa567")

# Maximum number of rows of a matrix and of bodies that are drawn; size of an entry and width of a row label, pixels.
MOST_DRAWN_ROWS, MOST_DRAWN_BODIES = 40, 12
CELL, LABEL = 7, 230
LABEL_CHARACTERS = 36


def curves(title: str, x: np.ndarray, lines: Mapping[str, np.ndarray], unit: str) -> str:
    """Return a plot of quantities over `x` (nt,) as SVG, with a title, names, and the range of values.

    `lines` are the quantities (nt,) by name, and `unit` is their unit. The string is empty for fewer than two points.
    """
    if len(x) < 2 or not x[-1] > x[0]:
        return ""
    kept = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(int))
    values = np.array([line[kept] for line in lines.values()])
    low, high = float(values.min()), float(values.max())
    across = WIDTH * (x[kept] - x[0]) / (x[-1] - x[0])
    # A constant line is drawn at mid-height.
    up = HEIGHT * (0.5 + 0 * values if high == low else (high - values) / (high - low))
    paths = "".join(
        f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{_points(across, line)}"/>'
        for color, line in zip(COLORS, up, strict=False)
    )
    names = ", ".join(
        f'<span style="color: {color}">{escaped(name)}</span>' for color, name in zip(COLORS, lines, strict=False)
    )
    ranges = escaped(f"from {low:.6g} to {high:.6g} {unit}, over {x[0]:g} to {x[-1]:g} s")
    return (
        f'<div><svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 -2 {WIDTH} {HEIGHT + 4}" '
        f'xmlns="http://www.w3.org/2000/svg">{paths}</svg>'
        f'<div style="font-size: 90%">{escaped(title)}: {names}, {ranges}</div></div>'
    )


def _points(across: np.ndarray, up: np.ndarray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))


def pattern(A: np.ndarray, labels: Sequence[str]) -> str:
    """Return an SVG drawing of the sparsity pattern of a matrix A (m, 7 n), limited to its first rows.

    The 7 n columns belong to n bodies; `labels` are the names of the m rows.
    """
    m, n = min(len(A), MOST_DRAWN_ROWS), min(A.shape[1] // 7, MOST_DRAWN_BODIES)
    width, height = LABEL + 7 * n * CELL, (m + 2) * CELL * 2
    parts = [
        f'<text x="{LABEL + 7 * CELL * k + 2}" y="10" font-size="10" fill="currentColor">body {k}</text>'
        f'<line x1="{LABEL + 7 * CELL * k}" y1="0" x2="{LABEL + 7 * CELL * k}" y2="{height}" '
        'stroke="currentColor" stroke-opacity="0.4"/>'
        for k in range(n)
    ]
    for row in range(m):
        y = (row + 1) * CELL * 2
        label = labels[row] if len(labels[row]) <= LABEL_CHARACTERS else f"{labels[row][: LABEL_CHARACTERS - 1]}…"
        parts.append(f'<text x="0" y="{y + 9}" font-size="10" fill="currentColor">{escaped(label)}</text>')
        parts += [
            f'<rect x="{LABEL + CELL * int(k)}" y="{y + 1}" width="{CELL - 1}" height="{CELL * 2 - 3}" '
            f'fill="{COLORS[1] if k % 7 < 3 else COLORS[2]}"/>'
            for k in np.flatnonzero(A[row, : 7 * n])
        ]
    left = f"; the first {m} rows and {n} bodies" if (m, 7 * n) != A.shape else ""
    return (
        f'<svg width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
        f'<div style="font-size: 90%"><span style="color: {COLORS[1]}">over accelerations of positions</span>, '
        f'<span style="color: {COLORS[2]}">of quaternions</span>{left}</div>'
    )
