"""Draws the pictures of docs/constraints.md: `python docs/draw_constraints.py [NAME ...]`.

Body i is gray, body j blue, the joint axis a dash-dot line; free motions are orange, driven ones green. Parts are drawn
one over the other, in the order in which they are named.
"""

from __future__ import annotations

from pathlib import Path

from drawings import curves_and_surfaces, drives, inequalities, joints, transmissions  # noqa: F401 (they hold scenes)
from drawings.scenes import save_scenes

if __name__ == "__main__":
    save_scenes(Path(__file__).parent / "images" / "constraints")
